"""Signals that stand still: a frozen channel, a dead one, one that never changes, and a robot that
rests.
"""

from __future__ import annotations

import numpy as np

from steelyard.diagnosis.inspection.stamps import time_units
from steelyard.findings import Finding
from steelyard.signals.recorded.frozen import Frozen, frozen_of
from steelyard.signals.recorded.mended import dead_throughout
from steelyard.signals.recorded.recorded import Recorded

RESTS_S, RESTS_SAMPLES, RESTS_SHARE = 0.5, 50, 0.05
"""A robot that rests for this time (s) and these samples in a row, and for this share of the log,
is worth a note."""


def standing(recorded: Recorded) -> tuple[Finding, ...]:
    """Positions and torques that stand still for a part of the log, or for all of it."""
    findings, dead = [], []
    for quantity in ("position", "torque"):
        for joint, x in recorded.of_quantity(quantity):
            frozen = frozen_of(recorded, joint.name, quantity, x)
            if frozen is None:
                continue
            if not frozen.throughout:
                findings.append(_for_a_part(recorded, joint.name, quantity, frozen))
            elif quantity == "position":
                findings.append(_never_moves(recorded, joint.name, frozen.value))
            elif dead_throughout(recorded, joint.name, frozen.value):
                dead.append(joint.name)
    return (*findings, *_dead_torques(recorded, dead))


def standing_still(recorded: Recorded) -> tuple[Finding, ...]:
    """A note if no joint moves for a part of the log."""
    at_rest = np.concatenate([[False], ~recorded.in_motion, [False]])
    edges = np.flatnonzero(at_rest[1:] != at_rest[:-1]).reshape(-1, 2)
    shortest = max(RESTS_S / recorded.period_s, RESTS_SAMPLES)
    long = edges[edges[:, 1] - edges[:, 0] >= shortest]
    n = int(np.sum(long[:, 1] - long[:, 0]))
    if n < RESTS_SHARE * len(recorded) or n == len(recorded) or time_units(recorded):
        return ()
    longest = long[np.argmax(long[:, 1] - long[:, 0])]
    start, end = (float(recorded.time[row]) for row in (longest[0], longest[1] - 1))
    return (
        Finding(
            "info",
            "standing-still",
            f"log '{recorded.name}': the robot stands still for {n * recorded.period_s:.3g} s, "
            f"{100 * n / len(recorded):.3g} % of the log, the longest from {start:.6g} to "
            f"{end:.6g} s: friction at rest says nothing of that in motion, and torques near "
            "standstill are left out as the dead band says",
            span_s=(start, end),
            size=n * recorded.period_s,
            unit="s",
            option="--dead-band tenth",
        ),
    )


def _for_a_part(recorded: Recorded, joint: str, quantity: str, frozen: Frozen) -> Finding:
    n = sum(rows.stop - rows.start for rows in frozen.runs)
    start = float(recorded.time[min(rows.start for rows in frozen.runs)])
    end = float(recorded.time[max(rows.stop for rows in frozen.runs) - 1])
    seconds = n * recorded.period_s
    what = (
        "this torque is left out there"
        if quantity == "torque"
        else "the log is cut, and these rows are left out"
    )
    return Finding(
        "warning",
        "dead-channel" if frozen.value == 0.0 else "frozen",
        f"log '{recorded.name}': the {quantity} of '{joint}' stands still at {frozen.value:.6g} "
        f"for {seconds:.3g} s ({start:.6g} to {end:.6g} s) while the robot moves; {what} "
        f"({n} samples): check the channel",
        joints=(joint,),
        span_s=(start, end),
        size=seconds,
        unit="s",
    )


def _never_moves(recorded: Recorded, joint: str, value: float) -> Finding:
    return Finding(
        "info" if value != 0.0 else "warning",
        "dead-channel",
        f"log '{recorded.name}': the position of '{joint}' is {value:.6g} in all samples, as that "
        "of a dead channel; leave the joint's columns out, and lock the joint",
        joints=(joint,),
        could_be=("a joint that rests: lock it",),
        option=f"--lock {joint}={value:.6g}",
    )


def _dead_torques(recorded: Recorded, joints: list[str]) -> tuple[Finding, ...]:
    if not joints:
        return ()
    names = ", ".join(f"'{joint}'" for joint in joints)
    every = len(joints) == sum(1 for _ in recorded.of_quantity("torque"))
    what = (
        "there is nothing to identify from: was another column meant?"
        if every
        else "it is left out: friction and drive inertia of this joint cannot be identified, and "
        "links only as far as other torques show them"
    )
    return (
        Finding(
            "severe" if every else "warning",
            "dead-channel",
            f"log '{recorded.name}': the torque of {names} is zero in all samples although the "
            f"joint moves, as that of a dead channel; {what}",
            joints=tuple(joints),
        ),
    )
