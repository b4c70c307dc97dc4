"""Signals that stand still: a frozen channel, a dead one, and one that never changes."""

from __future__ import annotations

from steelyard.findings import Finding
from steelyard.signals.recorded.frozen import Frozen, frozen_of
from steelyard.signals.recorded.mended import dead_throughout
from steelyard.signals.recorded.recorded import Recorded


def standing(recorded: Recorded) -> tuple[Finding, ...]:
    """Positions and torques that stand still for a part of the log, or for all of it."""
    findings = []
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
                findings.append(_dead_torque(recorded, joint.name))
    return tuple(findings)


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


def _dead_torque(recorded: Recorded, joint: str) -> Finding:
    return Finding(
        "warning",
        "dead-channel",
        f"log '{recorded.name}': the torque of '{joint}' is zero in all samples although it moves, "
        "as that of a dead channel; it is left out: friction and drive inertia of this joint "
        "cannot be identified, and links only as far as other torques show them",
        joints=(joint,),
    )
