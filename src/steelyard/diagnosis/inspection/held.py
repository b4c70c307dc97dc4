"""Signals that are updated less often than rows are written, and signals with coarse steps."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from steelyard.findings import Finding
from steelyard.signals.recorded.frozen import resolution
from steelyard.signals.recorded.held import REPEATED, held_signals
from steelyard.signals.recorded.recorded import Recorded

Array = NDArray[np.float64]

REPEATED_ROWS, FEWEST_ROWS = 0.02, 5
"""Share of rows, while the robot moves, that repeat the row before in every signal and are more
than a note; fewer than so many rows are not worth one."""
COARSE_POSITION = {"prismatic": 5e-4}
"""Steps (m) of a position that are coarse; for angles `COARSE_ANGLE`."""
COARSE_ANGLE = 3e-3
COARSE_TORQUE = 0.03
"""Rounding error of a torque over its standard deviation that is coarse."""


def held_samples(recorded: Recorded) -> tuple[Finding, ...]:
    """A warning if signals repeat their values while the robot moves, a note for few of them."""
    findings = list(_repeated_rows(recorded))
    for held in held_signals(recorded):
        findings.append(
            Finding(
                "warning",
                "held-samples",
                f"log '{recorded.name}': the {held.quantity} of {_names(held.joints)} changes only "
                f"every {held.rows:.3g} rows: a slower signal was held; what is between new values "
                "is interpolated, and what happened there is lost: log it at a higher rate",
                joints=held.joints,
                size=held.rows,
                unit="rows",
            )
        )
    return tuple(findings)


def _repeated_rows(recorded: Recorded) -> tuple[Finding, ...]:
    """Rows that repeat the row before: in every signal, or in the positions of all joints."""
    n_moving = int(np.count_nonzero(recorded.in_motion))
    for what, stale in (
        ("every signal", ~recorded.fresh & recorded.in_motion),
        ("the positions of all joints", ~recorded.fresh_positions & recorded.fast),
    ):
        n_stale = int(np.count_nonzero(stale))
        if n_stale < FEWEST_ROWS:
            continue
        share = n_stale / n_moving
        if what != "every signal" and share > REPEATED:
            continue  # positions of a slower bus
        return (
            Finding(
                "warning" if share > REPEATED_ROWS else "info",
                "held-samples",
                f"log '{recorded.name}': {n_stale} rows ({100 * share:.3g} %) repeat the row "
                f"before in {what} while the robot moves: the last known state was written where "
                "a message was lost; leave these rows out of the log",
                span_s=_span(recorded, stale),
                size=100.0 * share,
                unit="% of rows",
            ),
        )
    return ()


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
