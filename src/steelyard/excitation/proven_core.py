"""What every way to design a motion returns: the motion, made ready to run and proven."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.excitation.designed import Measure
from steelyard.excitation.trajectory import Trajectory
from steelyard.excitation.verified import Verified


@dataclass(frozen=True, eq=False)
class DesignedCore:
    """A motion, made ready to run and proven.

    core : what was optimised. run : from rest to rest. attempts : until all was proven.
    criterion : what was optimised. value : its value. start_value : of the first motion.
    evaluations : of it, in all attempts. measures : of what was optimised, besides its value.
    whole : False where the budget ended so soon that the result depends on the machine's speed.
    """

    core: Trajectory
    run: Trajectory
    verified: Verified
    criterion: str
    value: float
    start_value: float
    rounds: int
    attempts: int
    whole: bool
    seconds: float
    evaluations: int
    measures: tuple[Measure, ...] = ()


def missed(verified: Verified) -> str:
    """What a proof missed, in words."""
    words = [
        f"{check.quantity} of joint '{check.joint}' may be {check.bound:.6g}, its limit is "
        f"{check.limit:.6g}"
        for check in verified.broken
    ]
    if verified.torque_use > 1.0:
        words.append(
            f"the torque of joint '{verified.worst_joint}' may be {verified.torque_use:.1%} of "
            "its limit"
        )
    if verified.missing_m > 0.0 and verified.clearance is not None:
        first, second = verified.clearance.pair or ("two links", "others")
        words.append(
            f"{first} and {second} may be {verified.clearance.smallest_m:.3g} m apart at "
            f"{verified.clearance.time_s:.3g} s; {verified.clearance.clearance_m:g} m are asked for"
        )
    return "; ".join(words)
