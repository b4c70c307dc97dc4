"""The points of a motion that are sent to a robot: rounded numbers, as CSV and NPZ.

Times are whole nanoseconds, and every number has twelve decimals at most. The motion is evaluated
at the rounded times, and a number that rounding would take beyond its limit is rounded inward, so
that what a file states is within the limits. What a controller makes of the points is proven for
these very numbers (`steelyard.excitation.sent_points`).
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import SignalError
from steelyard.excitation.limits import MotionLimits
from steelyard.excitation.sent_points import DECIMALS, SentPoints
from steelyard.excitation.trajectory import Trajectory
from steelyard.robot.robot import Robot

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]

MOST_POINTS = 5_000_000
QUANTITIES = ("position", "velocity", "acceleration")
TURNING = ("rad", "rad/s", "rad/s^2")
SLIDING = ("m", "m/s", "m/s^2")


@dataclass(frozen=True, eq=False)
class MotionPoints:
    """Points of a motion at even times, as they are written.

    units : of the positions, "rad" or "m" for each joint. nanoseconds : (n_points,) from 0.
    q, v, a : (n_points, n_joints) rad or m, and derivatives.
    """

    joints: tuple[str, ...]
    units: tuple[str, ...]
    nanoseconds: IntArray
    q: Array
    v: Array
    a: Array

    def __len__(self) -> int:
        return len(self.nanoseconds)

    @property
    def time(self) -> Array:
        """Times (n_points,) in s."""
        return np.asarray(self.nanoseconds / 1e9)

    @property
    def sent(self) -> SentPoints:
        """The same points, for proofs of what a controller makes of them."""
        return SentPoints(self.joints, self.time, self.q, self.v, self.a)

    def unit(self, joint: int, quantity: int) -> str:
        """The unit of position (0), velocity (1) or acceleration (2) of a joint."""
        return (SLIDING if self.units[joint] == "m" else TURNING)[quantity]


def motion_points(
    trajectory: Trajectory,
    robot: Robot,
    *,
    rate_hz: float,
    limits: MotionLimits | None = None,
) -> MotionPoints:
    """The trajectory at even times from 0 until its end is reached.

    limits : that no rounded number exceeds; numbers that exceed them by more than rounding are an
        error. The joints are in the order of the robot's, by name.
    """
    if not (np.isfinite(rate_hz) and 0.0 < rate_hz <= 1e6):
        raise SignalError(f"the rate is {rate_hz:g} Hz; it must be above 0 and at most 1 MHz")
    order = _order(trajectory, robot)
    # a whole number of steps must not get one more by rounding
    n_points = max(1, int(np.ceil(trajectory.duration_s * rate_hz - 1e-6))) + 1
    if n_points > MOST_POINTS:
        raise SignalError(
            f"{trajectory.duration_s:.6g} s at {rate_hz:g} Hz are {n_points} points; at most "
            f"{MOST_POINTS} are written; choose a lower rate"
        )
    nanoseconds = np.round(np.arange(n_points) * (1e9 / rate_hz)).astype(np.int64)
    # the last point is where the motion ends, also if rounding puts it a nanosecond before
    time = np.minimum(nanoseconds / 1e9, trajectory.duration_s)
    q, v, a = (trajectory.derivative(time, k)[:, order] for k in range(3))
    if limits is not None:
        place = [limits.joints.index(name) for name in robot.joint_names]
        names = robot.joint_names
        q = _inside(q, limits.lower[place], limits.upper[place], names, "position")
        v = _inside(v, -limits.velocity[place], limits.velocity[place], names, "velocity")
        rates = limits.acceleration[place]
        a = _inside(a, -rates, rates, names, "acceleration")
    units = tuple("m" if joint.kind == "prismatic" else "rad" for joint in robot.free_joints)
    # adding zero turns -0.0 into 0.0
    rounded = (np.round(x, DECIMALS) + 0.0 for x in (q, v, a))
    return MotionPoints(robot.joint_names, units, nanoseconds, *rounded)


def csv_text(points: MotionPoints) -> str:
    """The points as CSV with the header of a log: time, then position, velocity and acceleration
    of each joint.
    """
    header = ["time[s]"]
    arrays = []
    for j, joint in enumerate(points.joints):
        for k, (quantity, values) in enumerate(
            zip(QUANTITIES, (points.q, points.v, points.a), strict=True)
        ):
            header.append(f"{joint}.{quantity}[{points.unit(j, k)}]")
            arrays.append(values[:, j])
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerow(header)
    table = np.column_stack(arrays).tolist()
    for nanoseconds, row in zip(points.nanoseconds.tolist(), table, strict=True):
        stream.write(f"{nanoseconds / 1e9!r},{','.join(map(repr, row))}\n")
    return stream.getvalue()


def npz_bytes(points: MotionPoints) -> bytes:
    """The points as an NPZ archive: time, joint_names, and one table for each quantity."""
    stream = io.BytesIO()
    np.savez(
        stream,
        time=points.time,
        joint_names=np.array(points.joints, dtype=np.str_),
        position=points.q,
        velocity=points.v,
        acceleration=points.a,
    )
    return stream.getvalue()


def _order(trajectory: Trajectory, robot: Robot) -> list[int]:
    if sorted(trajectory.joints) != sorted(robot.joint_names):
        raise SignalError(
            f"the motion moves {', '.join(trajectory.joints)}, but the joints of robot "
            f"'{robot.name}' are {', '.join(robot.joint_names)}"
        )
    return [trajectory.joints.index(name) for name in robot.joint_names]


def _inside(
    values: Array, lower: Array, upper: Array, joints: tuple[str, ...], quantity: str
) -> Array:
    """Values (n_points, n_joints) that are within the limits also after rounding."""
    unit = 10.0**-DECIMALS
    size = np.maximum(1.0, np.abs(values))
    beyond = np.maximum(lower - values, values - upper)
    wrong = np.argwhere(beyond > 1e-12 * size)
    if len(wrong):
        row, j = (int(i) for i in wrong[0])
        limit = upper[j] if values[row, j] > upper[j] else lower[j]
        raise SignalError(
            f"joint '{joints[j]}': {quantity} {values[row, j]:.9g} is beyond its limit "
            f"{limit:.9g} by {beyond[row, j]:.3g}"
        )
    rounded = np.round(values, DECIMALS)
    rounded = np.where(rounded > upper, np.round(rounded - unit, DECIMALS), rounded)
    return np.where(rounded < lower, np.round(rounded + unit, DECIMALS), rounded)
