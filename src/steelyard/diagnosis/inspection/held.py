"""Signals that are updated less often than rows are written, and signals with coarse steps."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.inspection.recorded import FAST, Recorded
from steelyard.findings import Finding

Array = NDArray[np.float64]

REPEATED = 0.05
"""Share of repeated values above which a signal is held."""
REPEATED_ROWS = 0.02
"""Share of rows, while the robot moves, that repeat the row before in every signal."""
NEW_VALUES = 0.5
"""Share of the changes of a held torque that give a value that it never had."""
FROZEN_S = 0.15
"""Runs of equal values longer than this (s) are another matter."""
COARSE_POSITION = {"prismatic": 5e-4}
"""Steps (m) of a position that are coarse; for angles `COARSE_ANGLE`."""
COARSE_ANGLE = 3e-3
COARSE_TORQUE = 0.03
"""Rounding error of a torque over its standard deviation that is coarse."""


@dataclass(frozen=True)
class Held:
    """A quantity of some joints whose values repeat.

    rows : rows for each new value, on average over the joints.
    """

    quantity: str
    joints: tuple[str, ...]
    rows: float


def resolution(x: Array) -> tuple[float, bool]:
    """Smallest change of a signal (n,) between samples, and whether all are multiples of it."""
    change = np.abs(np.diff(x[np.isfinite(x)]))
    change = change[change > 1e-9 * float(np.max(change, initial=0.0))]
    if len(change) < 4:
        return 0.0, False
    least = float(change.min())
    ratio = change / least
    return least, bool(np.all(np.abs(ratio - np.round(ratio)) < 0.05))


def held_samples(recorded: Recorded) -> tuple[Finding, ...]:
    """A warning if signals repeat their values while the robot moves."""
    stale = ~recorded.fresh & recorded.in_motion
    n_moving = int(np.count_nonzero(recorded.in_motion))
    findings = []
    if n_moving and np.count_nonzero(stale) > REPEATED_ROWS * n_moving:
        share = np.count_nonzero(stale) / n_moving
        findings.append(
            Finding(
                "warning",
                "held-samples",
                f"log '{recorded.name}': {100 * share:.3g} % of the rows repeat the row before in "
                "every signal while the robot moves: the last known state was written where a "
                "message was lost; leave these rows out of the log",
                span_s=_span(recorded, stale),
                size=100.0 * share,
                unit="% of rows",
            )
        )
    for held in held_signals(recorded):
        findings.append(
            Finding(
                "warning",
                "held-samples",
                f"log '{recorded.name}': the {held.quantity} of {_names(held.joints)} changes only "
                f"every {held.rows:.3g} rows: a slower signal was held; write one row for each new "
                "value, or log it at its own rate",
                joints=held.joints,
                size=held.rows,
                unit="rows",
            )
        )
    return tuple(findings)


def held_signals(recorded: Recorded) -> tuple[Held, ...]:
    """The quantities whose values repeat, apart from rows that repeat as a whole."""
    found = []
    for quantity in ("position", "torque"):
        rows = {}
        for joint, x in recorded.of_quantity(quantity):
            share = _repeated(recorded, joint.name, quantity, x)
            if share > 0.0:
                rows[joint.name] = 1.0 / max(1.0 - share, 1e-3)
        if rows:
            found.append(Held(quantity, tuple(rows), float(np.mean(list(rows.values())))))
    return tuple(found)


def _repeated(recorded: Recorded, joint: str, quantity: str, x: Array) -> float:
    """Share of values that repeat although the signal should change; 0 if that is natural."""
    moving = recorded.faster(joint, FAST) if quantity == "position" else recorded.in_motion
    judged = moving[1:] & recorded.fresh[1:] & np.isfinite(x[1:])
    same = x[1:] == x[:-1]
    if np.count_nonzero(same & judged) <= REPEATED * max(int(np.count_nonzero(judged)), 200):
        return 0.0
    # a signal that is cut off repeats its extremes, which is another matter
    judged &= (x[1:] != np.nanmax(x)) & (x[1:] != np.nanmin(x))
    judged &= ~_in_long_runs(same, FROZEN_S / recorded.period_s)
    n_judged = np.count_nonzero(judged)
    if n_judged < 50:
        return 0.0
    share = float(np.count_nonzero(same & judged)) / float(n_judged)
    if share <= REPEATED:
        return 0.0
    if quantity == "position":
        least, on_grid = resolution(x)
        return 0.0 if on_grid and recorded.usual_speeds[joint] < 6.0 * least else share
    # the few values of a coarse torque come back; those of one that is held do not
    n_new = np.count_nonzero(~same)
    return share if len(np.unique(x)) > NEW_VALUES * n_new else 0.0


def _in_long_runs(same: NDArray[np.bool_], longest: float) -> NDArray[np.bool_]:
    """Steps (n,) that are in a run of more than ``longest`` equal values."""
    edge = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]]).astype(np.int8)))
    out = np.zeros(len(same), bool)
    for first, end in zip(edge[::2].tolist(), edge[1::2].tolist(), strict=True):
        if end - first > longest:
            out[first:end] = True
    return out


def quantised(recorded: Recorded) -> tuple[Finding, ...]:
    """A warning for positions and torques whose steps are coarse."""
    findings = []
    for quantity in ("position", "torque"):
        coarse = {}
        for joint, x in recorded.of_quantity(quantity):
            least, on_grid = resolution(x)
            if on_grid and least > _coarse(joint.kind, quantity, x):
                coarse[joint.name] = least
        if coarse:
            step = max(coarse.values())
            unit = {"position": "rad (or m)", "torque": "N m (or N)"}[quantity]
            findings.append(
                Finding(
                    "warning",
                    "quantised",
                    f"log '{recorded.name}': the {quantity} of {_names(tuple(coarse))} has steps "
                    f"of {step:.3g} {unit}, coarse beside what it shows; export more digits",
                    joints=tuple(coarse),
                    size=step,
                    unit=unit,
                )
            )
    return tuple(findings)


def _coarse(kind: str, quantity: str, x: Array) -> float:
    """The smallest step of a signal (n_samples,) that is too coarse."""
    if quantity == "position":
        return COARSE_POSITION.get(kind, COARSE_ANGLE)
    return COARSE_TORQUE * math.sqrt(12.0) * float(np.nanstd(x))


def _names(joints: tuple[str, ...]) -> str:
    shown = ", ".join(f"'{joint}'" for joint in joints[:7])
    return shown + (f" and {len(joints) - 7} more" if len(joints) > 7 else "")


def _span(recorded: Recorded, rows: NDArray[np.bool_]) -> tuple[float, float]:
    at = np.flatnonzero(rows)
    return float(recorded.time[at[0]]), float(recorded.time[at[-1]])
