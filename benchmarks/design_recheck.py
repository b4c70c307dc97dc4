"""Looking at a designed motion again at 10 kHz: limits and proven bounds, quantity by quantity."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from steelyard import Model, torque
from steelyard.excitation.designed import DesignedMotion
from steelyard.excitation.torque.torque_bounds import joint_columns
from steelyard.model.typical_sizes import known_parameters

Array = NDArray[np.float64]

RATE_HZ = 10_000.0
CHUNK = 20_000
DIFFERENCE_ERROR = 1e-6
"""Share of a limit that rounding may add to differences of positions at 10 kHz."""


def violations(model: Model, motion: DesignedMotion) -> list[str]:
    """What is outside a limit or a proven bound at 10 kHz; empty if nothing is.

    Positions and their derivatives as the trajectory gives them, and also speeds and accelerations
    from differences of positions alone, which by the mean value theorem cannot exceed the largest
    ones in between.
    """
    limits, bounds = motion.limits, motion.extremes
    columns = joint_columns(motion.trajectory, limits.joints)
    place = [bounds.joints.index(joint) for joint in limits.joints]
    worst: dict[tuple[str, str], float] = {}

    def compare(what: str, size: Array, limit: Array, error: float = 0.0) -> None:
        """size (n_samples, n_joints) must be at most the limits (n_joints,)."""
        over = size.max(axis=0) - limit * (1.0 + error)
        for joint, by in zip(limits.joints, over, strict=True):
            if not by <= 0.0:
                worst[what, joint] = max(float(by), worst.get((what, joint), 0.0))

    for time in chunks(motion.duration_s):
        q, v, a, jerk = (motion.trajectory.derivative(time, k)[:, columns] for k in range(4))
        for name, lower, upper, speed, rate, jolt in (
            (
                "limit",
                limits.lower,
                limits.upper,
                limits.velocity,
                limits.acceleration,
                limits.jerk,
            ),
            (
                "bound",
                *(bounds.of(quantity)[place] for quantity in ("lower", "upper", "velocity")),
                *(bounds.of(quantity)[place] for quantity in ("acceleration", "jerk")),
            ),
        ):
            compare(f"lower {name}", -q, -lower)
            compare(f"upper {name}", q, upper)
            compare(f"speed {name}", abs(v), speed)
            compare(f"acceleration {name}", abs(a), rate)
            compare(f"jerk {name}", abs(jerk), jolt)
        if len(time) > 2:
            step = 1.0 / RATE_HZ
            first, second = np.diff(q, axis=0) / step, np.diff(q, n=2, axis=0) / step**2
            compare("speed by differences", abs(first), limits.velocity, DIFFERENCE_ERROR)
            # the rounding of positions of several rad, twice divided by 1e-4 s
            rounding = 4e-16 * (1.0 + abs(q).max(axis=0)) * 4.0 / step**2
            rate = limits.acceleration + rounding
            compare("acceleration by differences", abs(second), rate, DIFFERENCE_ERROR)
        if motion.torque is not None:
            tau = torque(model, known_parameters(model), q, v, a)
            compare("torque limit", abs(tau), limits.torque)
            compare("torque bound", abs(tau), np.asarray(motion.torque.bound))
    return [f"{what} of '{joint}' by {by:.3g}" for (what, joint), by in worst.items()]


def chunks(duration_s: float) -> Iterator[Array]:
    """Times (s) of a run at 10 kHz, in parts that overlap by two samples, and its end."""
    count = int(np.floor(duration_s * RATE_HZ)) + 1
    for begin in range(0, count, CHUNK):
        yield np.arange(begin, min(begin + CHUNK + 2, count)) / RATE_HZ
    yield np.array([duration_s])
