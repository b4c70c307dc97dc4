"""Signals that stand still: a frozen channel, a dead one, and one that never changes.

A run of exactly equal values is suspicious of a torque while the robot moves, since its noise would
change it. A joint may rest: a position is frozen only where it stops or starts within one sample.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.inspection.held import resolution
from steelyard.diagnosis.inspection.recorded import Recorded
from steelyard.findings import Finding

Array = NDArray[np.float64]

SHORTEST_S, SHORTEST = 0.15, 20
"""Shortest time (s) and fewest samples for which a signal is called frozen."""
LONGER = 10.0
"""A frozen run is this many times as long as other runs of equal values of the signal."""
ABRUPT, DECELERATION, FAR = 0.15, 40.0, 3.0
"""A position stops abruptly from this share of its rms speed, if that takes a deceleration of more
than this (rad/s² or m/s²); a step of ``FAR`` times the usual one is abrupt in any log."""


def runs_of_equals(x: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First index and length of each run of exactly equal values (n,); NaN equals nothing."""
    first = np.concatenate([[0], np.flatnonzero(x[1:] != x[:-1]) + 1])
    return first, np.diff(np.concatenate([first, [len(x)]]))


def standing(recorded: Recorded) -> tuple[Finding, ...]:
    """Positions and torques that stand still for a part of the log, or for all of it."""
    findings: list[Finding] = []
    for quantity in ("position", "torque"):
        for joint, x in recorded.of_quantity(quantity):
            found = _of_signal(recorded, joint.name, quantity, x)
            findings += [] if found is None else [found]
    return tuple(findings)


def _of_signal(recorded: Recorded, joint: str, quantity: str, x: Array) -> Finding | None:
    known = x[np.isfinite(x)]
    if len(known) < SHORTEST:
        return None
    what = f"log '{recorded.name}': the {quantity} of '{joint}'"
    if known.min() == known.max():
        if quantity == "torque" and (known[0] != 0.0 or not recorded.faster(joint, 0.1).any()):
            return None
        could_be = ("a joint that rests: lock it",) if quantity == "position" else ()
        return Finding(
            "info" if known[0] != 0.0 else "warning",
            "dead-channel",
            f"{what} is {known[0]:.6g} in all samples, as that of a dead channel; leave the "
            "joint's column out, or lock the joint",
            joints=(joint,),
            could_be=could_be,
            option=f"--lock {joint}={known[0]:.6g}" if quantity == "position" else "",
        )
    first, length = runs_of_equals(x)
    least = max(SHORTEST, SHORTEST_S / recorded.period_s)
    candidates = np.flatnonzero(length >= least)
    candidates = candidates[np.argsort(-length[candidates])][:20]
    squares, total = float(np.sum(length.astype(float) ** 2)), float(np.sum(length))
    frozen = []
    for k in candidates.tolist():
        rows = slice(int(first[k]), int(first[k] + length[k]))
        squares, total = squares - float(length[k]) ** 2, total - float(length[k])
        usual = squares / total if total > 0.0 else 1.0
        if length[k] < LONGER * max(usual, 1.0):
            break
        value = float(x[rows.start])
        if value in (known.min(), known.max()) and value != 0.0:
            continue  # cut off at the end of a range
        if quantity == "torque" and np.mean(recorded.in_motion[rows]) < 0.5:
            continue
        if quantity == "position" and not _abrupt(recorded, joint, x, rows):
            continue
        frozen.append(rows)
    if not frozen:
        return None
    seconds = sum(rows.stop - rows.start for rows in frozen) * recorded.period_s
    start, end = min(rows.start for rows in frozen), max(rows.stop for rows in frozen) - 1
    value = float(x[frozen[0].start])
    code = "dead-channel" if value == 0.0 else "frozen"
    return Finding(
        "warning",
        code,
        f"{what} stands still at {value:.6g} for {seconds:.3g} s "
        f"({recorded.time[start]:.6g} to {recorded.time[end]:.6g} s) while the robot moves; "
        "cut this part out of the log",
        joints=(joint,),
        span_s=(float(recorded.time[start]), float(recorded.time[end])),
        size=seconds,
        unit="s",
    )


def _abrupt(recorded: Recorded, joint: str, x: Array, rows: slice) -> bool:
    """Whether the position (n_samples,) stops or starts within one sample."""
    usual = recorded.usual_speeds[joint]
    steps = [
        abs(float(x[b] - x[a])) / max(float(recorded.stamps[b] - recorded.stamps[a]), 1.0)
        for a, b in ((rows.start - 1, rows.start), (rows.stop - 1, rows.stop))
        if a >= 0 and b < len(x)
    ]
    limit = max(ABRUPT * usual, DECELERATION * recorded.period_s**2)
    limit = min(limit, FAR * usual) + resolution(x)[0]
    return usual > 0.0 and any(step > limit for step in steps)
