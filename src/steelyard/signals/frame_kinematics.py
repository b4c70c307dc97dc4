"""Motion of a frame from the motion of the joints: forward kinematics down to accelerations.

Each joint on the way from the root to the frame adds to the velocity and acceleration of the link
before it. In the axes of the link, with ω, α and the proper acceleration a (acceleration of the
origin minus gravity):

    another point p of the same link    a + α × p + ω × (ω × p)
    a joint that turns about s by q     ω + s q',  α + s q'' + ω × s q'
    a joint that slides along s by q    a + α × s q + ω × (ω × s q) + 2 ω × s q' + s q''
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import SignalError
from steelyard.model.model import Model
from steelyard.robot.parts import Joint
from steelyard.robot.robot import Robot
from steelyard.signals.frame_motion import FrameMotion
from steelyard.signals.motion import Motion
from steelyard.signals.orientation import rotations_of

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Carried:
    """Motion of a link, in its own axes, for all samples.

    R (n_samples, 3, 3) is its orientation in the world; a, w and alpha (n_samples, 3) are its
    proper acceleration, angular velocity and angular acceleration.
    """

    R: Array
    a: Array
    w: Array
    alpha: Array

    def moved(self, R: Array, p: Array) -> _Carried:
        """The same body at the point ``p`` (3,) or (n_samples, 3), in axes turned by R."""
        a = self.a + np.cross(self.alpha, p) + np.cross(self.w, np.cross(self.w, p))
        return _Carried(self.R @ R, _in_axes(R, a), _in_axes(R, self.w), _in_axes(R, self.alpha))


def frame_motion_from_joints(model: Model | Robot, motion: Motion, frame: str) -> FrameMotion:
    """Motion of a link's frame from q, v and a of the joints, and the robot's gravity.

    frame : name of a link, one on fixed joints included. The world is the robot's root link, or
    that of the base's pose if the base floats. Samples with NaN in q, v or a give NaN.
    """
    robot = model.robot if isinstance(model, Model) else model
    path = joints_to(robot, frame)
    n_base = 6 if robot.floating_base else 0
    n_joints = len(robot.joint_names)
    if motion.v.shape[1] != n_base + n_joints or motion.q.shape[1] != motion.v.shape[1] + (
        1 if robot.floating_base else 0
    ):
        raise SignalError(
            f"motion '{motion.run}' has {motion.q.shape[1]} positions and {motion.v.shape[1]} "
            f"velocities, but robot '{robot.name}' needs {n_joints + (7 if n_base else 0)} and "
            f"{n_joints + n_base}"
        )
    row = {name: k for k, name in enumerate(robot.joint_names)}
    carried = _of_the_base(robot, motion)
    q, v, a = (array[:, array.shape[1] - n_joints :] for array in (motion.q, motion.v, motion.a))
    for joint in path:
        carried = carried.moved(joint.placement[:3, :3], joint.placement[:3, 3])
        if joint.moves:
            leader = joint.name if joint.mimic is None else joint.mimic.joint
            scale = 1.0 if joint.mimic is None else joint.mimic.multiplier
            offset = 0.0 if joint.mimic is None else joint.mimic.offset
            k = row[leader]
            carried = _past(
                joint, carried, scale * q[:, k] + offset, scale * v[:, k], scale * a[:, k]
            )
        carried = carried.moved(joint.child_offset[:3, :3], joint.child_offset[:3, 3])
    return FrameMotion(
        frame, motion.time, carried.a, carried.w, carried.alpha, carried.R, motion.run
    )


def at_another_frame(motion: FrameMotion, T_here_there: ArrayLike, frame: str) -> FrameMotion:
    """Motion of another frame of the same rigid body.

    T_here_there : (4, 4) its pose in the frame of ``motion``, in m.
    """
    T = checked_pose(T_here_there, f"the pose of frame '{frame}' in frame '{motion.frame}'")
    identity = np.broadcast_to(np.eye(3), (len(motion), 3, 3))
    R = identity if motion.R_world_frame is None else motion.R_world_frame
    here = _Carried(
        R, motion.proper_acceleration, motion.angular_velocity, motion.angular_acceleration
    )
    there = here.moved(T[:3, :3], T[:3, 3])
    turned = None if motion.R_world_frame is None else there.R
    return FrameMotion(frame, motion.time, there.a, there.w, there.alpha, turned, motion.run)


def checked_pose(pose: ArrayLike, what: str) -> Array:
    """A homogeneous matrix (4, 4) whose rotation is one; anything else is refused."""
    T = np.array(pose, dtype=float)
    if T.shape != (4, 4) or not np.isfinite(T).all():
        raise SignalError(f"{what} must be a (4, 4) matrix of finite numbers, not {T.shape}")
    R = T[:3, :3]
    error = float(np.abs(R.T @ R - np.eye(3)).max())
    if error > 1e-6 or np.linalg.det(R) < 0.0 or not np.array_equal(T[3], [0.0, 0.0, 0.0, 1.0]):
        raise SignalError(
            f"{what} is no pose: RᵀR differs from the identity by {error:.3g}, the determinant is "
            f"{np.linalg.det(R):.3g}, the last row is {T[3].tolist()}"
        )
    return T


def joints_to(robot: Robot, frame: str) -> tuple[Joint, ...]:
    """The joints from the root to the link ``frame``, moving and fixed, in this order."""
    robot.link(frame)  # refuses a frame that the robot does not have, with the names that it has
    above = {joint.child: joint for joint in robot.joints}
    path: list[Joint] = []
    link = frame
    while link in above:
        path.append(above[link])
        link = above[link].parent
    return tuple(reversed(path))


def _of_the_base(robot: Robot, motion: Motion) -> _Carried:
    """The motion of the root link."""
    n = len(motion)
    still = np.zeros((n, 3))
    if not robot.floating_base:
        R = np.broadcast_to(np.eye(3), (n, 3, 3))
        return _Carried(R, still - robot.gravity, still, still)
    R = rotations_of(motion.q[:, 3:7])
    linear, w = motion.v[:, :3], motion.v[:, 3:6]
    # the columns of a are derivatives of components in axes that turn
    a = motion.a[:, :3] + np.cross(w, linear) - _in_axes(R, still + robot.gravity)
    return _Carried(R, a, w, motion.a[:, 3:6])


def _past(joint: Joint, before: _Carried, q: Array, v: Array, a: Array) -> _Carried:
    """The motion behind a joint at q (n_samples,) rad or m, with its derivatives v and a."""
    s = joint.axis
    speed, acceleration = v[:, None] * s, a[:, None] * s
    if joint.kind == "prismatic":
        moved = before.moved(np.eye(3), q[:, None] * s)
        along = moved.a + 2.0 * np.cross(before.w, speed) + acceleration
        return _Carried(moved.R, along, moved.w, moved.alpha)
    turned = before.moved(turns(s, q), np.zeros(3))
    alpha = turned.alpha + acceleration + np.cross(turned.w, speed)
    return _Carried(turned.R, turned.a, turned.w + speed, alpha)


def turns(axis: Array, angle: Array) -> Array:
    """Rotations (n_samples, 3, 3) by the angles (n_samples,) rad about a unit axis."""
    x, y, z = axis
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    sine, versine = np.sin(angle)[:, None, None], 2.0 * np.sin(0.5 * angle)[:, None, None] ** 2
    turns: Array = np.eye(3) + sine * skew + versine * (skew @ skew)
    return turns


def _in_axes(R: Array, x: Array) -> Array:
    """Vectors x (n_samples, 3) in the axes that R (3, 3) or (n_samples, 3, 3) turns to: Rᵀ x."""
    if R.ndim == 2:
        return np.asarray(x @ R)
    return np.asarray(np.einsum("nij,ni->nj", R, x))
