"""The motion of a floating base, as the columns of a `Motion`, from what a log has of it.

The equations of motion see the base only through its angular velocity and acceleration and through
the acceleration of its origin minus gravity, all in its own axes. So every source gives a
`FrameMotion`, and of the states that have this one, the one whose origin is momentarily at rest is
taken: v = 0 with the same proper acceleration. An IMU that does not know its orientation is treated
alike: any orientation gives the same equations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError, SignalError, listed
from steelyard.logs.log import Log
from steelyard.robot.robot import Robot
from steelyard.signals._frame_sources import Even, Key, RecordedSource, recorded_source
from steelyard.signals._timebase import TimeBase
from steelyard.signals.frame_kinematics import at_another_frame, joints_to
from steelyard.signals.orientation import quaternions_of_matrices
from steelyard.signals.processing import Processing
from steelyard.signals.sensing import BaseAxes, BaseMotion, TwistAxes

Array = NDArray[np.float64]
IN_WORDS = {"pose": "poses", "twist": "velocities", "imu": "an IMU"}


@dataclass(frozen=True, eq=False)
class BaseRecording:
    """What a log has of the base's motion.

    T_recorded_root : (4, 4) pose of the root in the frame that is recorded; None where that is the
    root. gravity : (3,) m/s² in the world.
    """

    stated: BaseMotion
    source: RecordedSource
    T_recorded_root: Array | None
    gravity: Array

    @property
    def needed(self) -> Mapping[Key, Array]:
        """The signals (n_samples,) that are used."""
        return self.source.needed

    @property
    def in_words(self) -> str:
        """Where the motion comes from, for the record."""
        return f"{IN_WORDS[self.source.kind]} of '{self.source.frame}'"

    def columns(
        self, base: TimeBase, even: Even, cutoff: float | None, processing: Processing, run: str
    ) -> tuple[Array, Array, Array]:
        """q (n_samples, 7), v and a (n_samples, 6) of the base; see the module's docstring."""
        motion = self.source.motion(base, even, cutoff, processing, run)
        if self.T_recorded_root is not None:
            motion = at_another_frame(motion, self.T_recorded_root, "root")
        n = len(motion)
        q, v, a = np.zeros((n, 7)), np.zeros((n, 6)), np.zeros((n, 6))
        gravity = np.broadcast_to(self.gravity, (n, 3))
        if motion.R_world_frame is None:
            q[:, 6] = 1.0
        else:
            q[:, 3:] = quaternions_of_matrices(motion.R_world_frame)
            gravity = gravity_in(motion.R_world_frame, self.gravity)
        v[:, 3:] = motion.angular_velocity
        a[:, :3] = motion.proper_acceleration + gravity
        a[:, 3:] = motion.angular_acceleration
        return q, v, a

    def orientation(self, base: TimeBase, even: Even) -> Array | None:
        """Measured orientation (n_samples, 3, 3) of the root; None where it is not known."""
        R = self.source.orientation(base, even)
        if R is None or self.T_recorded_root is None:
            return R
        return np.asarray(R @ self.T_recorded_root[:3, :3])

    def position_like(self, even: Even, rate_hz: float) -> Array:
        """Signals (n_samples, k) that are differentiated, to choose a cutoff from."""
        return self.source.position_like(even, rate_hz)


def gravity_in(R: Array, gravity: Array) -> Array:
    """Gravity (n_samples, 3) in the axes of frames with orientations R (n_samples, 3, 3)."""
    return np.asarray(np.einsum("nij,i->nj", R, gravity))


def base_recording(log: Log, robot: Robot, stated: BaseMotion) -> BaseRecording:
    """What the log has of the base's motion; refuses a frame that is not fixed to the base."""
    frame = robot.root if stated.frame is None else stated.frame
    T = pose_on_base(robot, frame, "the motion of the base")
    columns = frame if stated.columns is None else stated.columns
    gravity = np.asarray(robot.gravity, dtype=float)
    if stated.source == "pose" and (columns, "position") in log.incomplete:
        raise LogError(log.lacks_of_frame(columns, "position"))
    assert stated.source is not None  # a sensing that is complete has one
    source = recorded_source(
        log,
        stated.source,
        columns,
        gravity,
        _axes(stated.twist_axes),
        stated.quaternion_order,
        _axes(stated.angular_axes or stated.twist_axes),
    )
    inverse = None
    if not np.array_equal(T, np.eye(4)):
        inverse = np.eye(4)
        inverse[:3, :3] = T[:3, :3].T
        inverse[:3, 3] = -T[:3, :3].T @ T[:3, 3]
    return BaseRecording(stated, source, inverse, gravity)


def _axes(stated: BaseAxes) -> TwistAxes:
    """The same in the words of the source, for which the world is the base."""
    return "frame" if stated == "frame" else "base"


def pose_on_base(robot: Robot, frame: str, what: str) -> Array:
    """Pose (4, 4) in the root of a link that is fixed to it; refuses one that moves against it."""
    T = np.eye(4)
    for joint in joints_to(robot, frame):
        if joint.moves:
            raise SignalError(
                f"{what} is given by frame '{frame}', which moves against the base "
                f"'{robot.root}' by joint '{joint.name}'; a link that is fixed to the base is "
                f"needed: {listed(base_links(robot))}"
            )
        T = T @ joint.pose(0.0)
    return T


def base_links(robot: Robot) -> tuple[str, ...]:
    """The root and the links that fixed or locked joints hold to it."""
    found = [robot.root]
    for joint in robot.joints_from_root:
        if joint.parent in found and not joint.moves:
            found.append(joint.child)
    return tuple(found)
