"""Signals that stand still: frozen and dead channels, torques that never change, a robot at rest.

A run of exactly equal values is suspicious of a torque while the robot moves, since its noise would
change it. A joint may rest: a position is frozen only where it stops or starts within one sample.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import quoted_list
from steelyard.findings import Finding
from steelyard.signals.recorded.columns import time_units
from steelyard.signals.recorded.recorded import Recorded, runs_of

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

SHORTEST_S, SHORTEST = 0.15, 20
"""Shortest time (s) and fewest samples for which a signal is called frozen."""
LONGER = 10.0
"""A frozen run is this many times as long as other runs of equal values of the signal."""
ABRUPT, DECELERATION, FAR = 0.15, 40.0, 3.0
"""A position stops abruptly from this share of its rms speed, if that takes a deceleration of more
than this (rad/s² or m/s²); a step of ``FAR`` times the usual one is abrupt in any log."""
MOST = 20
"""Runs of a signal, the longest ones, that are looked at."""
FEW_STEPS = 0.02
"""A torque whose resolution is more than this share of its span stays on a value for long."""
RESTS_S, RESTS_SAMPLES, RESTS_SHARE = 0.5, 50, 0.05
"""A robot that rests for this time (s) and these samples in a row, and for this share of the log,
is worth a note."""
NOTHING = 1e-9
"""Torques (N m or N) below it were not recorded; those of the smallest robots are a thousand times
as large."""


@dataclass(frozen=True, eq=False)
class Frozen:
    """A signal that stands still: where (n_samples,), and the value of its longest run.

    throughout : whether it is the same in all samples.
    """

    mask: Mask
    value: float
    throughout: bool = False


def resolution(x: Array) -> tuple[float, bool]:
    """Smallest change of a signal (n,) between samples, and whether all are multiples of it."""
    change = np.abs(np.diff(x[np.isfinite(x)]))
    change = change[change > 1e-9 * float(np.max(change, initial=0.0))]
    if len(change) < 4:
        return 0.0, False
    least = float(change.min())
    ratio = change / least
    return least, bool(np.all(np.abs(ratio - np.round(ratio)) < 0.05))


def coarse_steps(x: Array) -> bool:
    """Whether a signal (n,) has but few values between its extremes."""
    step, on_grid = resolution(x)
    return on_grid and step > FEW_STEPS * float(np.nanmax(x) - np.nanmin(x))


def frozen_of(recorded: Recorded, joint: str, quantity: str, x: Array) -> Frozen | None:
    """Where a position or torque (n_samples,) stands still; None where nothing is wrong."""
    known = x[np.isfinite(x)]
    if len(known) < SHORTEST:
        return None
    low, high = float(known.min()), float(known.max())
    if low == high:
        return Frozen(np.ones(len(x), bool), low, throughout=True)
    least = max(SHORTEST, SHORTEST_S / recorded.period_s)
    n = int(np.ceil(least)) - 1
    # a run that long has equal values at its ends
    if n >= len(x) or not np.any(x[n:] == x[: len(x) - n]):
        return None
    # NaN equals nothing
    first = np.concatenate([[0], np.flatnonzero(x[1:] != x[:-1]) + 1])
    length = np.diff(np.concatenate([first, [len(x)]]))
    candidates = np.flatnonzero(length >= least)
    candidates = candidates[np.argsort(-length[candidates], kind="stable")][:MOST]
    squares, total = float(np.sum(length.astype(float) ** 2)), float(np.sum(length))
    mask, values = np.zeros(len(x), bool), []
    for k in candidates.tolist():
        rows = slice(int(first[k]), int(first[k] + length[k]))
        squares, total = squares - float(length[k]) ** 2, total - float(length[k])
        usual = squares / total if total > 0.0 else 1.0
        if length[k] < LONGER * max(usual, 1.0):
            break
        value = float(x[rows.start])
        if value in (low, high) and value != 0.0:
            continue  # cut off at the end of a range
        if quantity == "torque" and np.mean(recorded.in_motion[rows]) < 0.5:
            continue
        if quantity == "position" and not _abrupt(recorded, joint, x, rows):
            continue
        mask[rows] = True
        values.append(value)
    if not values or (quantity == "torque" and coarse_steps(x)):
        return None
    return Frozen(mask, values[0])


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


def dead_throughout(recorded: Recorded, joint: str, value: float) -> bool:
    """Whether a torque that is ``value`` in all samples is that of a dead channel."""
    return value == 0.0 and bool(recorded.faster(joint, 0.1).any())


def standing(recorded: Recorded) -> Iterator[Finding]:
    """Positions and torques that stand still for a part of the log, or for all of it."""
    dead = []
    for joint, quantity, x in recorded.used:
        frozen = frozen_of(recorded, joint.name, quantity, x)
        if frozen is None:
            continue
        if not frozen.throughout:
            yield _for_a_part(recorded, joint.name, quantity, frozen)
        elif quantity == "position":
            yield recorded.finding(
                "info" if frozen.value != 0.0 else "warning",
                "dead-channel",
                f"the position of '{joint.name}' is {frozen.value:.6g} in all samples, as that of "
                "a dead channel; leave the joint's columns out, and lock the joint",
                (joint.name,),
                could_be=("a joint that rests: lock it",),
                option=f"--lock {joint.name}={frozen.value:.6g}",
            )
        elif dead_throughout(recorded, joint.name, frozen.value):
            dead.append(joint.name)
    if not dead:
        return
    every = len(dead) == sum(1 for _ in recorded.of_quantity("torque"))
    what = (
        "there is nothing to identify from: was another column meant?"
        if every
        else "it is left out: friction and drive inertia of this joint cannot be identified, and "
        "links only as far as other torques show them"
    )
    words = (
        f"the torque of {quoted_list(dead)} is zero in all samples although the joint moves, as "
        f"that of a dead channel; {what}"
    )
    yield recorded.finding("severe" if every else "warning", "dead-channel", words, tuple(dead))


def _for_a_part(recorded: Recorded, joint: str, quantity: str, frozen: Frozen) -> Finding:
    rows = np.flatnonzero(frozen.mask)
    start, end = recorded.time[rows[0]], recorded.time[rows[-1]]
    seconds = len(rows) * recorded.period_s
    what = (
        "this torque is left out there"
        if quantity == "torque"
        else "the log is cut, and these rows are left out"
    )
    return recorded.finding(
        "warning",
        "dead-channel" if frozen.value == 0.0 else "frozen",
        f"the {quantity} of '{joint}' stands still at {frozen.value:.6g} for {seconds:.3g} s "
        f"({start:.6g} to {end:.6g} s) while the robot moves; {what} ({len(rows)} samples): check "
        "the channel",
        (joint,),
        rows,
        size=(seconds, "s"),
    )


def standing_still(recorded: Recorded) -> Iterator[Finding]:
    """A note if no joint moves for a part of the log."""
    rests = runs_of(~recorded.in_motion)
    length = rests[:, 1] - rests[:, 0]
    long = length >= max(RESTS_S / recorded.period_s, RESTS_SAMPLES)
    n = int(np.sum(length[long]))
    if n < RESTS_SHARE * len(recorded) or n == len(recorded) or any(time_units(recorded)):
        return
    first, end = rests[np.argmax(length)]
    rows = np.arange(first, end)
    yield recorded.finding(
        "info",
        "standing-still",
        f"the robot stands still for {n * recorded.period_s:.3g} s, "
        f"{100 * n / len(recorded):.3g} % of the log, the longest from "
        f"{recorded.time[first]:.6g} to {recorded.time[end - 1]:.6g} s: friction at rest says "
        "nothing of that in motion, and torques near standstill are left out as the dead band says",
        rows=rows,
        size=(n * recorded.period_s, "s"),
        option="--dead-band tenth",
    )


def torque_size(recorded: Recorded) -> Iterator[Finding]:
    """A severe finding if the torques of all joints are as good as zero, or never change."""
    torques = {joint.name: tau[np.isfinite(tau)] for joint, tau in recorded.of_quantity("torque")}
    if not torques:
        return
    if all(tau[0] != 0.0 and np.ptp(tau) == 0.0 for tau in torques.values()):
        if recorded.in_motion.any():
            yield recorded.finding(
                "severe",
                "constant-torque",
                "no torque changes from the first row to the last, although the robot moves: there "
                "is nothing to identify from; was another column meant?",
                tuple(torques),
                option="--map JOINT.torque=COLUMN",
            )
        return
    largest = max(float(np.max(np.abs(tau))) for tau in torques.values())
    if 0.0 < largest < NOTHING:  # of channels at zero `standing` tells
        yield recorded.finding(
            "severe",
            "no-torque",
            f"no torque is above {largest:.2g} N m: they were not recorded, or are in another unit",
            tuple(torques),
            size=(largest, "N m"),
            could_be=("torques in shares of another quantity", "a column of something else"),
            option="--map JOINT.torque=COLUMN",
        )
