"""Measured wrenches on the robot, as generalised forces: Jᵀ wrench in every row that they touch.

For a wrench (f, n) at the origin of a frame, in its axes, a joint that turns about s gets
f·(s × p) + n·s, with p from the joint to the origin; a slide along s gets f·s; the base gets the
wrench itself, moved to its own frame.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError, SignalError, listed
from steelyard.logs.frame_columns import frame_column_name
from steelyard.logs.log import Log
from steelyard.robot.robot import Robot
from steelyard.signals._frame_sources import Even, Key
from steelyard.signals.frame_kinematics import joints_to, turns
from steelyard.signals.sensing import MeasuredWrench

Array = NDArray[np.float64]
FORCE, TORQUE = ("force_x", "force_y", "force_z"), ("torque_x", "torque_y", "torque_z")


@dataclass(frozen=True, eq=False)
class WrenchRecording:
    """A wrench that a log has, and the rows of the robot that it touches.

    needed : (columns, component) -> (n_samples,), by the name in the log: a link may have several
        wrenches. rows : of v: those of the base, if it floats, and of the joints between root and
        frame.
    """

    stated: MeasuredWrench
    robot: Robot
    needed: dict[Key, Array]
    rows: tuple[int, ...]

    def torques(self, q: Array, R_world_root: Array | None, even: Even) -> Array:
        """Generalised forces (n_samples, nv) of the wrench.

        q : (n_samples, n_joints) positions of the joints. R_world_root : (n_samples, 3, 3)
        orientation of the root, for wrenches in the axes of the world; None where the root is the
        world.
        """
        force, torque = self._in_frame(even, q, R_world_root)
        return wrench_torques(self.robot, self.stated.frame, q, force, torque)

    def _in_frame(self, even: Even, q: Array, R_world_root: Array | None) -> tuple[Array, Array]:
        """Force and torque (n_samples, 3) that act on the robot, in the axes of the frame."""
        columns = self.stated.name_in_log
        sign = -1.0 if self.stated.sign == "by-robot" else 1.0
        f = sign * np.column_stack([even[columns, axis] for axis in FORCE])
        n = np.zeros_like(f)
        if (columns, TORQUE[0]) in self.needed:
            n = sign * np.column_stack([even[columns, axis] for axis in TORQUE])
        if self.stated.axes == "frame":
            return f, n
        R = frame_orientations(self.robot, q, self.stated.frame)
        R = R if R_world_root is None else R_world_root @ R
        return np.einsum("nij,ni->nj", R, f), np.einsum("nij,ni->nj", R, n)


def wrench_torques(robot: Robot, frame: str, q: Array, force: Array, torque: Array) -> Array:
    """Generalised forces Jᵀ wrench (n_samples, nv) of a wrench on the robot at a link's origin.

    q : (n_samples, n_joints) positions of the joints. force, torque : (n_samples, 3) N and N m, in
    the axes of the link ``frame``. The six rows of a floating base come first.
    """
    n_base = 6 if robot.floating_base else 0
    out = np.zeros((len(q), n_base + len(robot.joint_names)))
    R, p = np.broadcast_to(np.eye(3), (len(q), 3, 3)), np.zeros((len(q), 3))
    column = {name: k for k, name in enumerate(robot.joint_names)}
    for joint in reversed(joints_to(robot, frame)):
        R, p = _placed(joint.child_offset, R, p)
        if joint.moves:
            leader = joint.name if joint.mimic is None else joint.mimic.joint
            scale = 1.0 if joint.mimic is None else joint.mimic.multiplier
            offset = 0.0 if joint.mimic is None else joint.mimic.offset
            k, s = column[leader], joint.axis
            f = np.einsum("nij,nj->ni", R, force)
            if joint.kind == "prismatic":
                out[:, n_base + k] += scale * (f @ s)
                p = p + (scale * q[:, k] + offset)[:, None] * s
            else:
                n = np.einsum("nij,nj->ni", R, torque) + np.cross(p, f)
                out[:, n_base + k] += scale * (n @ s)
                turned = turns(s, scale * q[:, k] + offset)
                R, p = turned @ R, np.einsum("nij,nj->ni", turned, p)
        R, p = _placed(joint.placement, R, p)
    if n_base:
        f = np.einsum("nij,nj->ni", R, force)
        out[:, :3] = f
        out[:, 3:6] = np.einsum("nij,nj->ni", R, torque) + np.cross(p, f)
    return out


def wrench_recording(log: Log, robot: Robot, stated: MeasuredWrench) -> WrenchRecording:
    """The wrench of a frame; refuses a frame that robot or log do not have."""
    path = joints_to(robot, stated.frame)  # names the links of the robot where it is none of them
    columns = stated.name_in_log
    needed: dict[Key, Array] = {}
    turned = (
        (columns, "torque") in log.frame_signals
        if stated.torque == "where recorded"
        else stated.torque
    )
    wanted = ("force", "torque") if turned else ("force",)
    for quantity in wanted:
        if (columns, quantity) not in log.frame_signals:
            names = [frame_column_name(columns, quantity, axis) for axis in "xyz"]
            there = [one for one, kind in log.frame_signals if kind == quantity and one]
            raise LogError(
                f"log '{log.name}': no {quantity} of the wrench at frame '{stated.frame}'; columns "
                f"named {listed(names)} are needed"
                + (f"; frames that have one: {listed(there)}" if there else "")
            )
        values = log.frame_signals[columns, quantity]
        for axis, part in zip("xyz", values.T, strict=True):
            needed[columns, f"{quantity}_{axis}"] = part
    n_base = 6 if robot.floating_base else 0
    column = {name: n_base + k for k, name in enumerate(robot.joint_names)}
    leaders = [one.name if one.mimic is None else one.mimic.joint for one in path if one.moves]
    rows = dict.fromkeys([*range(n_base), *(column[name] for name in leaders)])
    if not rows:
        raise SignalError(
            f"the wrench at frame '{stated.frame}' of robot '{robot.name}' acts on no joint: no "
            "joint moves that frame"
        )
    return WrenchRecording(stated, robot, needed, tuple(rows))


def frame_orientations(robot: Robot, q: Array, frame: str) -> Array:
    """Orientations (n_samples, 3, 3) of a link in the root, at joint positions q."""
    R = np.broadcast_to(np.eye(3), (len(q), 3, 3))
    column = {name: k for k, name in enumerate(robot.joint_names)}
    for joint in joints_to(robot, frame):
        R = R @ joint.placement[:3, :3]
        if joint.moves and joint.kind != "prismatic":
            leader = joint.name if joint.mimic is None else joint.mimic.joint
            scale = 1.0 if joint.mimic is None else joint.mimic.multiplier
            offset = 0.0 if joint.mimic is None else joint.mimic.offset
            R = R @ turns(joint.axis, scale * q[:, column[leader]] + offset)
        R = R @ joint.child_offset[:3, :3]
    return np.asarray(R)


def _placed(T: Array, R: Array, p: Array) -> tuple[Array, Array]:
    """Pose of the frame before a fixed transform T (4, 4), from its pose (R, p) behind it."""
    return np.asarray(T[:3, :3] @ R), np.asarray(p @ T[:3, :3].T + T[:3, 3])
