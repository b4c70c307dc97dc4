"""Readings of friction: it follows a change of direction over some travel, instead of at once.

Presliding is no fault of a log, but beside friction that jumps it looks like one: torques that are
late, or went through a filter. It competes with these, and where it explains a log better than they
do, the rest of the search has it in its friction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.suspects.evidence import Samples, fit_of, moments, term_columns
from steelyard.diagnosis.suspects.reading import Reading

Array = NDArray[np.float64]

CODE = "friction-travel"
COST = 30.0
"""The travel of every joint is free."""


def travel_readings(samples: Samples, W: Array) -> list[Reading]:
    """Friction with a travel of its own at every joint, the one that explains its torque best.

    W : of the samples, with friction that jumps.
    """
    columns = term_columns(samples.model)[:, 2]
    jumps, errors = [samples.jump], [fit_of(moments(samples, W)).error]
    for jump in samples.slower:
        rows = W.copy()
        for i, column in enumerate(columns):
            rows[:, i, column] = jump[:, i] * samples.moving[:, i]
        jumps.append(jump)
        errors.append(fit_of(moments(samples, rows)).error)
    best = np.argmin(errors, axis=0)
    if not best.any():
        return []
    mended = _with(np.column_stack([jumps[k][:, i] for i, k in enumerate(best)]))
    fit = fit_of(moments(mended(samples)))
    return [Reading(CODE, (), float(np.median(best)), "", fit, mended, COST)]


def _with(jump: Array) -> Callable[[Samples], Samples]:
    def mended(samples: Samples) -> Samples:
        return replace(samples, jump=jump, slower=())

    return mended
