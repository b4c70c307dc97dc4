"""Whether a recorded angular velocity is the derivative of the recorded orientation.

Both are in a log with a twist, or with an IMU that knows its orientation. Where they differ, the
inertia and the centre of mass would be wrong, though mass and fit may look right.
"""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.errors import WeighingError
from steelyard.findings import Finding
from steelyard.payload.sensor_factors import usable_samples
from steelyard.signals.frame_motion import FrameMotion, Wrench, part_of
from steelyard.signals.turning import Reading, turning_mismatch


def check_turning(recordings: Sequence[tuple[FrameMotion, Wrench]]) -> tuple[Finding, ...]:
    """Refuse an angular velocity that fits the orientation in another unit or other axes only.

    A difference that nothing explains is a finding.
    """
    found = []
    for motion, wrench in recordings:
        differs = turning_mismatch(part_of(motion, usable_samples(motion, wrench)))
        if differs is not None and differs.reading is not None:
            code, words = _explanation(differs.reading)
            raise WeighingError(code, f"run '{motion.run}': {differs.words}: {words}")
        if differs is not None:
            found.append(
                Finding(
                    "warning",
                    "turning-differs",
                    f"run '{motion.run}': the angular velocity of frame '{motion.frame}' differs "
                    f"from the derivative of its orientation by {100 * differs.share:.0f} % (rms): "
                    "check the unit (rad/s) and the axes of the angular velocity, the orientation, "
                    "and the clocks of both",
                )
            )
    return tuple(found)


def _explanation(best: Reading) -> tuple[str, str]:
    if best == "degrees":
        return "angular-velocity-unit", "it appears to be in deg/s; convert it to rad/s"
    if best == "base":
        return "twist-in-base-axes", (
            "it appears to be in the base's axes; state the axes of the twist "
            "(twist_axes='base', --twist-axes base)"
        )
    if best == "degrees-base":
        return "angular-velocity-unit", (
            "it appears to be in deg/s and in the base's axes; convert it to rad/s, and state the "
            "axes of the twist (twist_axes='base', --twist-axes base)"
        )
    if best == "sign":
        return "angular-velocity-sign", "its sign appears to be the opposite; check it"
    return "orientation-inverted", (
        "the orientations appear to be those of the world in the frame; invert them"
    )
