"""Inverse dynamics of robot texts in other programs: Pinocchio, MuJoCo, iDynTree; Drake apart.

Every engine loads the text alone, with every joint free: where joints follow others, the torques
are combined by virtual work. Friction and damping are left out everywhere. Positions, speeds and
torques are in Steelyard's order and conventions (a floating base has its velocity in its own
frame, and its quaternion as x, y, z, w).
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.export.identified_robot import IdentifiedRobot
from steelyard.model.kernels import torque
from steelyard.model.random_states import random_states
from steelyard.robot.robot import Robot
from steelyard.robot.rotations import rotation_quaternion

Array = NDArray[np.float64]
SHAPES = re.compile(r"<(visual|collision)\b(?:[^>]*/>|.*?</\1>)", re.DOTALL)
N_STATES = 50


class RejectedError(Exception):
    """An engine refused a text, or warned about an inertia."""


@dataclass(frozen=True, eq=False)
class Export:
    """A written robot and the states at which engines are compared.

    form : "urdf", "mjcf" or "sdf". q, v, a : (n_states, ...) of Steelyard's coordinates.
    """

    name: str
    form: str
    text: str
    found: IdentifiedRobot
    q: Array
    v: Array
    a: Array

    @property
    def robot(self) -> Robot:
        """The robot that was written."""
        return self.found.robot

    @property
    def armature(self) -> Array:
        """Drive inertia (n_joints,) of the free joints, kg m² or kg."""
        values = self.found.term_values("drive_inertia")
        return np.array([values.get(name, 0.0) for name in self.robot.joint_names])


@dataclass(frozen=True, eq=False)
class FreeStates:
    """States with every moving joint free: G (n_moving, n_joints) maps speeds of joints to them.

    base : pose of the base as position (n, 3) and rotation (n, 3, 3), its velocity and acceleration
    (n, 6) in its own frame; zeros for a fixed base.
    """

    names: tuple[str, ...]
    G: Array
    q: Array
    v: Array
    a: Array
    position: Array
    rotation: Array
    base_v: Array
    base_a: Array

    def combined(self, base: Array, joints: Array) -> Array:
        """Torques (n, nv) in Steelyard's order from base wrenches and free joint torques."""
        return np.hstack([base, joints @ self.G])


def export_at(
    name: str, form: str, text: str, found: IdentifiedRobot, rng: np.random.Generator
) -> Export:
    """An export with random states."""
    return Export(name, form, text, found, *random_states(rng, found.robot, N_STATES))


def free_states(export: Export) -> FreeStates:
    """The states of an export with every moving joint free."""
    robot = export.robot
    column = {name: i for i, name in enumerate(robot.joint_names)}
    moving = robot.moving_joints
    G, g0 = np.zeros((len(moving), len(column))), np.zeros(len(moving))
    for row, joint in enumerate(moving):
        if joint.mimic is None:
            G[row, column[joint.name]] = 1.0
        else:
            G[row, column[joint.mimic.joint]], g0[row] = joint.mimic.multiplier, joint.mimic.offset
    nq, nv, n = (7, 6, len(export.q)) if robot.floating_base else (0, 0, len(export.q))
    position, rotation = np.zeros((n, 3)), np.tile(np.eye(3), (n, 1, 1))
    base_v, base_a = np.zeros((n, 0)), np.zeros((n, 0))
    if robot.floating_base:
        position = export.q[:, :3]
        rotation = np.array([rotation_quaternion(w, *xyz) for *xyz, w in export.q[:, 3:7]])
        base_v, base_a = export.v[:, :6], export.a[:, :6]
    return FreeStates(
        tuple(joint.name for joint in moving),
        G,
        export.q[:, nq:] @ G.T + g0,
        export.v[:, nv:] @ G.T,
        export.a[:, nv:] @ G.T,
        position,
        rotation,
        base_v,
        base_a,
    )


def our_torque(export: Export, *, armature: bool) -> Array:
    """Steelyard's torques (n, nv) of the estimate: rigid bodies, and drive inertia if asked."""
    model = export.found.model
    kept = [
        column.term_kind is None or (armature and column.kind == "drive_inertia")
        for column in model.columns
    ]
    theta = np.where(kept, export.found.theta, 0.0)
    return np.asarray(torque(model, theta, export.q, export.v, export.a))


def disagreement(export: Export, theirs: Array, *, armature: bool) -> float:
    """Largest difference of a torque from ours, relative to the largest torque of its joint.

    Torques of joints that hardly feel anything count relative to a millionth of the largest
    torque of all.
    """
    ours = our_torque(export, armature=armature)
    size = np.abs(ours).max(axis=0)
    size = np.maximum(size, 1e-6 * size.max())
    return float((np.abs(theirs - ours).max(axis=0) / size).max())


def without_shapes(text: str) -> str:
    """A URDF text without visual and collision shapes, whose meshes may not be there."""
    return SHAPES.sub("", text)


def pinocchio_torque(export: Export) -> Array:
    """By ``rnea``; reads URDF and MJCF. Armature is set from the estimate."""
    import pinocchio as pin

    states = free_states(export)
    floating = export.robot.floating_base
    root = (pin.JointModelFreeFlyer(),) if floating and export.form == "urdf" else ()
    if export.form == "urdf":
        model = pin.buildModelFromXML(without_shapes(export.text), *root)
    else:
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
            file.write(export.text)
            file.flush()
            model = pin.buildModelFromMJCF(file.name)
            if isinstance(model, tuple):
                model = model[0]
    model.gravity.linear = np.array(export.robot.gravity)
    ids = [model.joints[model.getJointId(name)] for name in states.names]
    index = np.array([joint.idx_v for joint in ids], dtype=int)
    armature = np.zeros(model.nv)
    model.armature = armature
    data = model.createData()
    n = len(states.q)
    base, joints = np.zeros((n, 6 if floating else 0)), np.empty((n, len(ids)))
    for s in range(n):
        q, v, a = np.zeros(model.nq), np.zeros(model.nv), np.zeros(model.nv)
        if floating:
            q[:7], v[:6], a[:6] = export.q[s, :7], states.base_v[s], states.base_a[s]
        v[index], a[index] = states.v[s], states.a[s]
        for joint, angle in zip(ids, states.q[s], strict=True):
            if joint.nq == 2:
                q[joint.idx_q], q[joint.idx_q + 1] = np.cos(angle), np.sin(angle)
            else:
                q[joint.idx_q] = angle
        tau = pin.rnea(model, data, q, v, a)
        base[s], joints[s] = tau[: base.shape[1]], tau[index]
    tau = states.combined(base, joints)
    start = base.shape[1]
    tau[:, start:] += export.armature * export.a[:, start:]
    return tau


def mujoco_torque(export: Export) -> Array:
    """By ``mj_inverse`` without constraints; reads URDF and MJCF, whose armature it has itself."""
    import mujoco

    states = free_states(export)
    floating = export.robot.floating_base
    text = export.text
    if export.form == "urdf":
        settings = '<mujoco><compiler boundmass="1e-12" boundinertia="1e-12"/></mujoco>'
        text = re.sub(r"(<robot\b[^>]*>)", rf"\1{settings}", without_shapes(text), count=1)
    warnings: list[str] = []
    handler = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(warnings.append)
    try:
        spec = mujoco.MjSpec.from_string(text)
        if export.form == "urdf" and floating:
            spec.worldbody.bodies[0].add_freejoint()
        model = spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        raise RejectedError(f"MuJoCo: {error}") from None
    finally:
        mujoco.set_mju_user_warning(handler)
    if any("inertia" in warning for warning in warnings):
        raise RejectedError(f"MuJoCo: {warnings}")
    model.opt.gravity[:] = export.robot.gravity
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    model.dof_damping[:] = 0.0
    model.jnt_stiffness[:] = 0.0
    data = mujoco.MjData(model)
    dof = np.array([model.joint(name).dofadr[0] for name in states.names], dtype=int)
    address = np.array([model.joint(name).qposadr[0] for name in states.names], dtype=int)
    n = len(states.q)
    base, joints = np.zeros((n, 6 if floating else 0)), np.empty((n, len(dof)))
    for s in range(n):
        R = states.rotation[s]
        if floating:
            speed, turn = states.base_v[s, :3], states.base_v[s, 3:]
            data.qpos[:3] = states.position[s]
            data.qpos[3:7] = np.roll(export.q[s, 3:7], 1)
            data.qvel[:3], data.qvel[3:6] = R @ speed, turn
            data.qacc[:3] = R @ (states.base_a[s, :3] + np.cross(turn, speed))
            data.qacc[3:6] = states.base_a[s, 3:]
        data.qpos[address], data.qvel[dof], data.qacc[dof] = states.q[s], states.v[s], states.a[s]
        mujoco.mj_inverse(model, data)
        joints[s] = data.qfrc_inverse[dof]
        if floating:
            base[s] = np.concatenate([R.T @ data.qfrc_inverse[:3], data.qfrc_inverse[3:6]])
    return states.combined(base, joints)


def idyntree_torque(export: Export) -> Array:
    """By iDynTree's inverse dynamics; reads URDF. Every link must be physical in its own eyes."""
    import idyntree.bindings as idyntree

    states = free_states(export)
    loader = idyntree.ModelLoader()
    with _standard_error() as said:
        loaded = loader.loadModelFromString(without_shapes(export.text))
    if not loaded or "inertia" in said():
        raise RejectedError(f"iDynTree: {said() or 'not loaded'}")
    model = loader.model()
    for k in range(model.getNrOfLinks()):
        inertia = model.getLink(k).getInertia()
        if inertia.getMass() != 0.0 and not inertia.isPhysicallyConsistent():
            raise RejectedError(f"iDynTree: link {model.getLinkName(k)} is not physical")
    computer = idyntree.KinDynComputations()
    computer.loadRobotModel(model)
    if export.robot.floating_base:
        computer.setFloatingBase(export.robot.root)
    # iDynTree starts at the first link with a mass, which may be fixed to the root
    T_root_base = _fixed_pose(export.robot, computer.getFloatingBase())
    dof = [model.getJoint(model.getJointIndex(name)).getDOFsOffset() for name in states.names]
    n = len(states.q)
    floating = export.robot.floating_base
    base, joints = np.zeros((n, 6 if floating else 0)), np.empty((n, len(dof)))
    wrenches = idyntree.LinkWrenches(model)
    wrenches.zero()
    result = idyntree.FreeFloatingGeneralizedTorques(model)
    for s in range(n):
        q, v, a = (np.zeros(model.getNrOfDOFs()) for _ in range(3))
        q[dof], v[dof], a[dof] = states.q[s], states.v[s], states.a[s]
        R = states.rotation[s]
        twist, acceleration = np.zeros(6), np.zeros(6)
        if floating:
            speed, turn = states.base_v[s, :3], states.base_v[s, 3:]
            twist = np.concatenate([R @ speed, R @ turn])
            acceleration = np.concatenate(
                [
                    R @ (states.base_a[s, :3] + np.cross(turn, speed)),
                    R @ states.base_a[s, 3:],
                ]
            )
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = R, states.position[s]
        computer.setRobotState(T @ T_root_base, q, twist, v, np.array(export.robot.gravity))
        computer.inverseDynamics(acceleration, a, wrenches, result)
        joints[s] = result.jointTorques().toNumPy()[dof]
        if floating:
            wrench = result.baseWrench().asVector().toNumPy()
            base[s] = np.concatenate([R.T @ wrench[:3], R.T @ wrench[3:]])
    return states.combined(base, joints)


def _fixed_pose(robot: Robot, link: str) -> Array:
    """T_root_link (4, 4) of a link that fixed joints hold to the root."""
    T = np.eye(4)
    while link != robot.root:
        joint = next(joint for joint in robot.joints if joint.child == link)
        T, link = joint.pose(0.0) @ T, joint.parent
    return T


@contextlib.contextmanager
def _standard_error() -> Iterator[Callable[[], str]]:
    """What compiled libraries print on standard error, as text."""
    with tempfile.TemporaryFile() as file:
        sys.stderr.flush()
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)

        def said() -> str:
            return caught

        caught = ""
        try:
            yield said
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            caught = file.read().decode("utf-8", "replace")


@dataclass(frozen=True)
class Engine:
    """A program that reads robot texts; with_armature : forms in which it adds drive inertia."""

    name: str
    forms: tuple[str, ...]
    torque: Callable[[Export], Array]
    with_armature: tuple[str, ...]


ENGINES = (
    Engine("pinocchio", ("urdf", "mjcf"), pinocchio_torque, ("urdf", "mjcf")),
    Engine("mujoco", ("urdf", "mjcf"), mujoco_torque, ("mjcf",)),
    Engine("idyntree", ("urdf",), idyntree_torque, ()),
)
