"""What a log holds of a frame's motion: joints, poses, a twist or an IMU, as signals to process.

A source names the signals (n_samples,) that it needs, and makes the motion of the frame of them
once they are on an even time grid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError, SignalError, listed
from steelyard.findings import Finding
from steelyard.logs.frame_columns import FRAME_QUANTITIES, ORIENTATIONS
from steelyard.logs.log import Log
from steelyard.logs.suggestions import suggestion
from steelyard.robot.robot import Robot
from steelyard.signals._kinematics import kinematics
from steelyard.signals._matching import unwrap
from steelyard.signals._timebase import TimeBase
from steelyard.signals.drives import joint_side
from steelyard.signals.frame_from_poses import frame_motion_from_poses
from steelyard.signals.frame_from_twist import (
    frame_motion_from_imu,
    frame_motion_from_twist,
)
from steelyard.signals.frame_kinematics import frame_motion_from_joints, joints_to
from steelyard.signals.frame_motion import FrameMotion
from steelyard.signals.motion import Motion
from steelyard.signals.numbered_joints import name_numbered_joints
from steelyard.signals.orientation import (
    READINGS,
    QuaternionOrder,
    rotations_of,
    unit_quaternions,
)
from steelyard.signals.processing import Processing
from steelyard.signals.sensing import TwistAxes

Array = NDArray[np.float64]
Key = tuple[str, str]
Even = Mapping[Key, Array]
Needs = Literal["required", "optional"]

MOVES = 1e-3
"""A signal that stays within this range (rad, m, rad/s, ...) does not move."""


class FrameSource(Protocol):
    """Signals of a log from which the motion of a frame is made."""

    @property
    def needed(self) -> Mapping[Key, Array]:
        """The signals (n_samples,) of the log that are used, NaN where not measured."""
        ...

    def motion(
        self, base: TimeBase, even: Even, cutoff: float | None, processing: Processing, run: str
    ) -> FrameMotion:
        """The motion on the grid of ``base``; NaN at the ends that a derivative does not reach."""
        ...

    def orientation(self, base: TimeBase, even: Even) -> Array | None:
        """Orientation (n_samples, 3, 3) as measured, not filtered; None where it is not known."""
        ...

    def at_rest(self, time: Array, even: Even, run: str) -> FrameMotion:
        """The motion of samples at rest: gravity alone."""
        ...

    def position_like(self, even: Even, rate_hz: float) -> Array:
        """Signals (n_samples, k) that are differentiated twice, to choose a cutoff from."""
        ...


@dataclass(frozen=True, eq=False)
class JointSource:
    """Positions of the joints between the root and the frame."""

    robot: Robot
    frame: str
    joints: tuple[str, ...]
    needed: Mapping[Key, Array]

    def motion(
        self, base: TimeBase, even: Even, cutoff: float | None, processing: Processing, run: str
    ) -> FrameMotion:
        if not self.joints:
            return self.at_rest(base.grid, even, run)
        moved = kinematics(self.joints, even, base, cutoff, processing, run)
        return self._of(base.grid, moved.q, moved.v, moved.a, run)

    def orientation(self, base: TimeBase, even: Even) -> Array | None:
        return self.at_rest(base.grid, even, "").R_world_frame

    def at_rest(self, time: Array, even: Even, run: str) -> FrameMotion:
        q = [even[joint, "position"] for joint in self.joints]
        positions = np.column_stack(q) if q else np.zeros((len(time), 0))
        still = np.zeros_like(positions)
        return self._of(time, positions, still, still, run)

    def position_like(self, even: Even, rate_hz: float) -> Array:
        return _moving([even[joint, "position"] for joint in self.joints])

    def _of(self, time: Array, q: Array, v: Array, a: Array, run: str) -> FrameMotion:
        names = self.robot.joint_names
        whole = [np.zeros((len(time), len(names))) for _ in range(3)]
        for k, joint in enumerate(self.joints):
            column = names.index(joint)
            for array, part in zip(whole, (q, v, a), strict=True):
                array[:, column] = part[:, k]
        return frame_motion_from_joints(
            self.robot, Motion(time, whole[0], whole[1], whole[2], run), self.frame
        )


@dataclass(frozen=True, eq=False)
class RecordedSource:
    """Quantities of a frame: a pose, a twist or an IMU.

    axes, angular_axes : of the linear and of the angular quantities of a twist.
    """

    kind: Literal["pose", "twist", "imu"]
    frame: str
    gravity: Array
    axes: TwistAxes
    needed: Mapping[Key, Array]
    angular_axes: TwistAxes

    def motion(
        self, base: TimeBase, even: Even, cutoff: float | None, processing: Processing, run: str
    ) -> FrameMotion:
        q = _table(even, "quaternion")
        q = None if q is None else q / np.linalg.norm(q, axis=1)[:, None]
        time = _even(base)
        w, a = _table(even, "angular_velocity"), _table(even, "proper_acceleration")
        turned = _table(even, "angular_acceleration")
        if self.kind == "imu":
            assert w is not None
            assert a is not None
            return frame_motion_from_imu(
                time,
                w,
                a,
                q,
                angular_acceleration=turned,
                frame=self.frame,
                cutoff_hz=cutoff,
                processing=processing,
                run=run,
            )
        assert q is not None
        if self.kind == "pose":
            return frame_motion_from_poses(
                time,
                q,
                _table(even, "position"),
                frame=self.frame,
                gravity=self.gravity,
                cutoff_hz=cutoff,
                processing=processing,
                run=run,
            )
        assert w is not None
        return frame_motion_from_twist(
            time,
            q,
            w,
            _table(even, "linear_velocity"),
            linear_acceleration=_table(even, "linear_acceleration"),
            angular_acceleration=turned,
            axes=self.axes,
            angular_axes=self.angular_axes,
            frame=self.frame,
            gravity=self.gravity,
            cutoff_hz=cutoff,
            processing=processing,
            run=run,
        )

    def orientation(self, base: TimeBase, even: Even) -> Array | None:
        q = _table(even, "quaternion")
        return None if q is None else rotations_of(q)

    def at_rest(self, time: Array, even: Even, run: str) -> FrameMotion:
        q, still = _table(even, "quaternion"), np.zeros((len(time), 3))
        R = None if q is None else rotations_of(q)
        measured = _table(even, "proper_acceleration")
        if self.kind == "imu":
            assert measured is not None
            return FrameMotion(self.frame, time, measured, still, still, R, run)
        assert R is not None
        return FrameMotion(self.frame, time, -(self.gravity @ R), still, still, R, run)

    def position_like(self, even: Even, rate_hz: float) -> Array:
        if self.kind == "pose":
            return _moving([x for (_, name), x in even.items() if _is_pose(name)])
        # velocities are differentiated once; their integrals are what corresponds to positions
        speeds = [x for (_, name), x in even.items() if _quantity(name).endswith("_velocity")]
        return _moving([np.cumsum(x - x.mean()) / rate_hz for x in speeds])


def joint_source(
    log: Log, robot: Robot, frame: str, processing: Processing
) -> tuple[JointSource, tuple[Finding, ...]]:
    """The joints that move the frame; refuses a log that lacks one of them."""
    if robot.floating_base:
        raise SignalError(
            f"robot '{robot.name}' has a floating base: joints alone do not tell the motion of "
            f"frame '{frame}'; use --kinematics pose, twist or imu (source in Python)"
        )
    path = joints_to(robot, frame)
    leaders = [one.name if one.mimic is None else one.mimic.joint for one in path if one.moves]
    joints = tuple(dict.fromkeys(leaders))
    notes: tuple[Finding, ...] = ()
    if any((joint, "position") not in log.signals for joint in joints):
        log, notes = name_numbered_joints(log, robot, fewer=True)
        log, _ = joint_side(log, robot, torques=False)
    lacking = [joint for joint in joints if (joint, "position") not in log.signals]
    if lacking:
        wanted = [(joint, "position") for joint in lacking]
        raise LogError(
            f"log '{log.name}' lacks the position of {listed(lacking)}, on which frame '{frame}' "
            f"of robot '{robot.name}' depends; the log has {listed(log.joints)}"
            f"{suggestion(log, wanted, robot.joint_names)}"
        )
    needed = {(joint, "position"): log.signal(joint, "position") for joint in joints}
    for joint in joints:
        if processing.unwrap and robot.joint(joint).kind != "prismatic":
            needed[joint, "position"] = unwrap(needed[joint, "position"])[0]
    for quantity in ("velocity", "acceleration"):
        if getattr(processing, quantity) == "measured":
            keys = [(joint, quantity) for joint in joints]
            needed |= {key: log.signals[key] for key in keys if key in log.signals}
    return JointSource(robot, frame, joints, needed), notes


def recorded_source(
    log: Log,
    kind: Literal["pose", "twist", "imu"],
    columns: str,
    gravity: Array,
    axes: TwistAxes,
    order: QuaternionOrder,
    angular_axes: TwistAxes | None = None,
) -> RecordedSource:
    """The quantities of the frame that the log calls ``columns``; refuses one that lacks some.

    axes : of velocities and accelerations; angular_axes : of the angular ones, if others.
    """
    needed: dict[Key, Array] = {}

    def take(quantity: str, needs: Needs) -> bool:
        if needs == "optional" and not log.has_frame_signal(columns, quantity):
            return False
        values = log.frame_signal(columns, quantity)
        for axis, part in zip(FRAME_QUANTITIES[quantity], values.T, strict=True):
            needed["", f"{quantity}_{axis}"] = part
        return True

    found = next((one for one in ORIENTATIONS if log.has_frame_signal(columns, one)), None)
    if found is None and kind != "imu":
        raise LogError(
            f"{log.lacks_of_frame(columns, 'quaternion')}; without an orientation (quaternion, "
            "r11 to r33, or roll, pitch and yaw) the direction of gravity is not known"
            f"{_or_its_imu(log, columns)}"
        )
    if found is not None:
        needed |= _oriented(log, columns, found, order)
    if kind == "pose":
        take("position", "optional")
    elif kind == "twist":
        take("angular_velocity", "required")
        accelerated = take("linear_acceleration", "optional")
        take("linear_velocity", "optional" if accelerated else "required")
        take("angular_acceleration", "optional")
    else:
        take("angular_velocity", "required")
        take("proper_acceleration", "required")
        take("angular_acceleration", "optional")
    return RecordedSource(kind, columns, gravity, axes, needed, angular_axes or axes)


def position_findings(source: FrameSource, log: Log, frame: str) -> tuple[Finding, ...]:
    """A warning about poses that are orientations alone."""
    if not isinstance(source, RecordedSource) or source.kind != "pose":
        return ()
    if ("", "position_x") in source.needed:
        return ()
    words = (
        f"log '{log.name}' has orientations of frame '{frame}', but no positions: its origin is "
        "taken to move without acceleration, which holds for slow motions only; record positions, "
        "or an accelerometer"
    )
    return (Finding("warning", "no-positions", words),)


def _or_its_imu(log: Log, columns: str) -> str:
    """How to use the IMU that the log has, for a message; empty where it has none."""
    parts = {"proper_acceleration", "angular_velocity"}
    there = [one for one in log.frames if parts <= set(log.frame_quantities(one))]
    if not there:
        return ""
    if columns in there or "" in there:
        return "; the log has an IMU: --kinematics imu (source='imu' in Python)"
    return (
        f"; the log has an IMU: --kinematics imu --motion-columns {there[0]} (in Python "
        f"source='imu', columns={there[0]!r})"
    )


def _oriented(log: Log, columns: str, quantity: str, order: QuaternionOrder) -> dict[Key, Array]:
    """The orientation as the four components of unit quaternions."""
    values = log.frame_signal(columns, quantity)
    what = f"log '{log.name}': the {quantity.replace('_', ' ')} of frame '{columns}'"
    if quantity == "quaternion":
        q = unit_quaternions(values, order, what)
    else:
        q = READINGS[quantity](values, what)
    return {("", f"quaternion_{axis}"): part for axis, part in zip("xyzw", q.T, strict=True)}


def _table(even: Even, quantity: str) -> Array | None:
    """A quantity (n_samples, n_axes) of its components; None where it is not there."""
    axes = FRAME_QUANTITIES[quantity]
    if ("", f"{quantity}_{axes[0]}") not in even:
        return None
    return np.column_stack([even["", f"{quantity}_{axis}"] for axis in axes])


def _quantity(component: str) -> str:
    return component.rpartition("_")[0]


def _is_pose(component: str) -> bool:
    return _quantity(component) in ("quaternion", "position")


def _moving(columns: list[Array]) -> Array:
    moving = [x for x in columns if np.ptp(x) > MOVES]
    return np.column_stack(moving) if moving else np.zeros((0, 0))


def _even(base: TimeBase) -> Array:
    """The grid without the rounding of recorded stamps, which has no part in derivatives."""
    return np.asarray(base.grid[0] + np.arange(len(base.grid)) / base.rate_hz)
