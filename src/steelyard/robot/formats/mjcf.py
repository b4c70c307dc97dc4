"""Robots from MJCF files, through MuJoCo's own compiler.

Read: the tree of bodies, hinge and slide joints with position, axis and reference, a free
joint at the root (a floating base), gravity, ranges, effort limits, inertials, and joint
equalities that are linear in another joint (they become mimics) or hold one joint fixed.
Several joints on a body become a chain of massless links. Positions q are MuJoCo's qpos,
except that the base quaternion is x, y, z, w here and the base's linear velocity is in
the base frame.

Refused with an error: ball joints, loops (connect, weld and tendon equalities), include,
plugins, replicated and composite bodies, several free bodies. Not read: armature, damping,
friction loss and springs of joints, tendons, contacts, fluid forces, gravity compensation;
state drive inertia and friction as terms of the model. In a file with a floating base,
bodies fixed to the world are left out.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.errors import (
    LONGEST_NAME,
    MissingDependencyError,
    RobotError,
    is_name,
    listed,
    one_line,
    shown,
    shown_path,
)
from steelyard.robot.description import RobotDescription
from steelyard.robot.formats._mimics import resolve_mimics
from steelyard.robot.formats._mjcf_source import MjcfSource, read_mjcf_source
from steelyard.robot.inertia import from_com
from steelyard.robot.joint_dynamics import JointDynamics
from steelyard.robot.parts import Array, Joint, JointKind, Limits, Link, Mimic, Origin, lock_joints
from steelyard.robot.rotations import (
    frozen_array,
    pose,
    rotation_about,
    rotation_quaternion,
    rpy_of,
)


def read_mjcf(path: str | Path, content: bytes | None = None) -> RobotDescription:
    """The robot in an MJCF file; needs MuJoCo, the extra ``[mujoco]``.

    content : bytes to read in place of the file's; meshes are looked up beside ``path``.
    """
    source = read_mjcf_source(path, content)
    where = shown_path(path)
    model = _compile(source, where)
    try:
        found = _robot(model, str(path))
    except RobotError as error:
        raise RobotError(f"{where}: {error}") from None
    return replace(found, source_sha256=source.sha256)


def mjcf_dynamics(path: str | Path, content: bytes | None = None) -> dict[str, JointDynamics]:
    """Damping, friction loss and armature of every hinge and slide, with defaults applied, by the
    names that :func:`read_mjcf` gives them.

    content : bytes to read in place of the file's.
    """
    model = _compile(read_mjcf_source(path, content), shown_path(path))
    from mujoco import mjtJoint

    names = numbered_names([model.joint(i).name for i in range(model.njnt)], "joint")
    found = {}
    for index, name in enumerate(names):
        if model.jnt_type[index] == mjtJoint.mjJNT_FREE:
            continue
        dof = int(model.jnt_dofadr[index])
        found[name] = JointDynamics(
            float(np.ravel(model.dof_damping[dof])[0]),
            float(model.dof_frictionloss[dof]),
            float(model.dof_armature[dof]),
        )
    return found


def _compile(source: MjcfSource, where: str) -> Any:
    """The mjModel of a checked source."""
    try:
        import mujoco
    except ImportError:
        raise MissingDependencyError("mujoco", "mujoco", "reading MJCF") from None
    # Without a handler MuJoCo prints its warnings and writes MUJOCO_LOG.TXT to the working
    # directory. They concern simulation; the compiled model is checked below.
    handler = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda warning: None)
    try:
        return mujoco.MjModel.from_xml_string(source.text, source.meshes)
    except (ValueError, RuntimeError, mujoco.FatalError) as error:
        raise RobotError(f"MuJoCo cannot compile {where}: {one_line(error)}") from None
    finally:
        mujoco.set_mju_user_warning(handler)


def _robot(model: Any, path: str) -> RobotDescription:
    from mujoco import mjtDisableBit

    link_names = numbered_names([model.body(i).name for i in range(model.nbody)], "body")
    joint_names = numbered_names([model.joint(i).name for i in range(model.njnt)], "joint")
    root, bodies = _root_and_bodies(model, link_names)
    links = [Link(link_names[root], *_inertial(model, root, link_names[root]))]
    joints: list[Joint] = []
    taken = set(link_names)
    for body in bodies:
        parent = link_names[model.body_parentid[body]]
        T_parent_body = _placement(model, body, link_names[body])
        first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        if count == 0:
            name = _unused(f"{link_names[body]}_fixed", set(joint_names))
            joint_names.append(name)
            joints.append(
                Joint(
                    name,
                    "fixed",
                    parent,
                    link_names[body],
                    T_parent_body,
                    origin=_origin(T_parent_body),
                )
            )
        for index in range(first, first + count):
            last = index == first + count - 1
            child = link_names[body]
            if not last:
                child = _unused(f"{link_names[body]}_{joint_names[index]}", taken)
                taken.add(child)
                links.append(Link(child))
            joints.append(_joint(model, index, joint_names[index], parent, child, T_parent_body))
            parent, T_parent_body = child, pose()
        links.append(Link(link_names[body], *_inertial(model, body, link_names[body])))
    robot_joints, held = _equalities(model, tuple(joints), joint_names)
    off = int(model.opt.disableflags) & int(mjtDisableBit.mjDSBL_GRAVITY)
    name = model.names.split(b"\0", 1)[0].decode("utf-8", "replace")
    return RobotDescription(
        name=name if is_name(name) else Path(path).stem,
        links=tuple(links),
        joints=lock_joints(resolve_mimics(robot_joints), held),
        gravity=np.zeros(3) if off else np.array(model.opt.gravity),
        floating_base=root != 0,
        source=path,
        notes=_unused_dynamics(model, joint_names),
    )


def _unused_dynamics(model: Any, names: list[str]) -> tuple[str, ...]:
    """A note on drive inertia, friction and springs that the file states and nothing uses."""
    from mujoco import mjtJoint

    stated: dict[str, list[str]] = {}
    for index in range(model.njnt):
        if model.jnt_type[index] == mjtJoint.mjJNT_FREE:
            continue
        dof = int(model.jnt_dofadr[index])
        for what, value in (
            ("armature", model.dof_armature[dof]),
            ("damping", model.dof_damping[dof]),
            ("frictionloss", model.dof_frictionloss[dof]),
            ("stiffness", model.jnt_stiffness[index]),
        ):
            if np.any(value):
                stated.setdefault(what, []).append(names[index])
    if not stated:
        return ()
    words = "; ".join(f"{what} of {listed(joints)}" for what, joints in stated.items())
    return (
        f"the file states {words}, which is not used: drive inertia and friction come from "
        "recorded torques alone, and the file's inertials are compared without them",
    )


def numbered_names(given: list[str], kind: str) -> list[str]:
    """Names, checked; bodies or joints without a name are numbered."""
    for name in given:
        if name and not is_name(name):
            raise RobotError(
                f"a {kind} has the name {shown(name)}; a name is 1 to {LONGEST_NAME} visible "
                "characters on one line"
            )
    taken = set(given)
    names = []
    for i, name in enumerate(given):
        chosen = name or _unused(f"{kind}_{i}", taken)
        taken.add(chosen)
        names.append(chosen)
    return names


def _unused(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _root_and_bodies(model: Any, names: list[str]) -> tuple[int, list[int]]:
    """The root body and the bodies below it: all, or those of the one free body."""
    from mujoco import mjtJoint

    free = [int(b) for b in model.jnt_bodyid[model.jnt_type == mjtJoint.mjJNT_FREE]]
    if not free:
        return 0, list(range(1, model.nbody))
    moving = sorted({int(model.body_rootid[model.jnt_bodyid[j]]) for j in range(model.njnt)})
    if len(moving) > 1:
        raise RobotError(
            f"bodies {listed(names[b] for b in moving)} move independently, "
            f"{listed(names[b] for b in free)} freely; keep one robot in the file"
        )
    root = free[0]
    return root, [b for b in range(1, model.nbody) if model.body_rootid[b] == root and b != root]


def _placement(model: Any, body: int, name: str) -> Array:
    position, quaternion = model.body_pos[body], model.body_quat[body]
    if not (np.all(np.isfinite(position)) and np.all(np.isfinite(quaternion))):
        raise RobotError(f"body {shown(name)}: its position or orientation is not finite")
    return pose(rotation_quaternion(*quaternion.tolist()), position)


def _origin(T_parent_body: Array) -> Origin:
    x, y, z = (float(value) for value in T_parent_body[:3, 3])
    return Origin((x, y, z), rpy_of(T_parent_body[:3, :3]))


def _inertial(model: Any, body: int, name: str) -> tuple[Array | None, Array | None]:
    """The 10-vector and the inertia (3, 3) about the centre of mass; None if all zero."""
    mass, moments = float(model.body_mass[body]), np.array(model.body_inertia[body])
    if mass == 0.0 and not moments.any():
        return None, None
    R = rotation_quaternion(*model.body_iquat[body].tolist())
    with np.errstate(over="ignore", invalid="ignore"):
        inertia_com = R @ np.diag(moments) @ R.T
        inertial = from_com(mass, np.array(model.body_ipos[body]), inertia_com)
    if not np.all(np.isfinite(inertial)):
        raise RobotError(f"body {shown(name)}: its mass or inertia is not finite")
    return frozen_array(inertial, (10,)), frozen_array(inertia_com, (3, 3))


def _joint(
    model: Any, index: int, name: str, parent: str, child: str, T_parent_body: Array
) -> Joint:
    """A joint at ``pos`` in the body frame, moving it by q - ref about or along ``axis``.

    T_parent_child(q) = T_parent_body Tr(pos) motion(axis, q - ref) Tr(-pos)
    """
    from mujoco import mjtJoint

    if model.jnt_type[index] == mjtJoint.mjJNT_BALL:
        raise RobotError(
            f"joint {shown(name)} is a ball joint, which cannot be read; use three hinges"
        )
    axis = np.array(model.jnt_axis[index])
    position = np.array(model.jnt_pos[index])
    reference = float(model.qpos0[model.jnt_qposadr[index]])
    if not np.all(np.isfinite([*axis, *position, reference])) or not axis.any():
        raise RobotError(
            f"joint {shown(name)}: its axis, position or reference is not finite, or its axis is 0"
        )
    axis = axis / np.linalg.norm(axis)
    limited = bool(model.jnt_limited[index])
    kind: JointKind
    if model.jnt_type[index] == mjtJoint.mjJNT_SLIDE:
        kind, back = "prismatic", pose(None, -reference * axis)
    else:
        kind = "revolute" if limited else "continuous"
        back = pose(rotation_about(axis, -reference))
    lower, upper = (float(x) for x in model.jnt_range[index])
    return Joint(
        name=name,
        kind=kind,
        parent=parent,
        child=child,
        placement=frozen_array(T_parent_body @ pose(None, position) @ back, (4, 4)),
        axis=frozen_array(axis, (3,)),
        child_offset=pose(None, -position),
        limits=Limits(
            lower=lower if limited else None,
            upper=upper if limited else None,
            effort=_effort(model, index),
        ),
        origin=_origin(T_parent_body),
    )


def _effort(model: Any, joint: int) -> float | None:
    """Largest force of the joint's actuators together, or the joint's own limit if smaller."""
    efforts = []
    if model.jnt_actfrclimited[joint]:
        efforts.append(float(np.abs(model.jnt_actfrcrange[joint]).max()))
    # The source keeps joint and jointinparent actuators only, alike on hinges and slides.
    acting = np.flatnonzero(model.actuator_trnid[:, 0] == joint)
    total = 0.0
    for i in acting:
        gear = abs(float(model.actuator_gear[i, 0]))
        plain = not (model.actuator_gaintype[i] or model.actuator_biastype[i])
        if model.actuator_forcelimited[i]:
            total += gear * float(np.abs(model.actuator_forcerange[i]).max())
        elif plain and model.actuator_dyntype[i] == 0 and model.actuator_ctrllimited[i]:
            gain = abs(float(model.actuator_gainprm[i, 0]))
            total += gear * gain * float(np.abs(model.actuator_ctrlrange[i]).max())
        else:
            total = np.inf
    if len(acting) and np.isfinite(total):
        efforts.append(total)
    return min(efforts) if efforts else None


def _equalities(
    model: Any, joints: tuple[Joint, ...], names: list[str]
) -> tuple[tuple[Joint, ...], dict[str, float]]:
    """Linear joint equalities as mimics, and positions (rad or m) of joints held by one.

    MuJoCo holds y - y0 = a0 + a1 (x - x0) + ... + a4 (x - x0)^4, with x0, y0 the references.
    """
    from mujoco import mjtEq

    mimics: dict[str, Mimic] = {}
    held: dict[str, float] = {}
    for i in range(model.neq):
        if model.eq_type[i] != mjtEq.mjEQ_JOINT or not model.eq_active0[i]:
            continue
        follower, leader = int(model.eq_obj1id[i]), int(model.eq_obj2id[i])
        a0, a1, *higher = (float(x) for x in model.eq_data[i, :5])
        name = names[follower]
        y0 = float(model.qpos0[model.jnt_qposadr[follower]])
        if name in mimics or name in held:
            raise RobotError(f"joint {shown(name)} follows two joint equalities; keep one")
        if leader < 0:
            held[name] = y0 + a0
            continue
        if any(higher):
            raise RobotError(
                f"joint {shown(name)} follows {shown(names[leader])} by a polynomial of degree "
                "above 1, which cannot be read; lock it or make it linear"
            )
        x0 = float(model.qpos0[model.jnt_qposadr[leader]])
        mimics[name] = Mimic(names[leader], a1, y0 + a0 - a1 * x0)
    followers = tuple(replace(j, mimic=mimics[j.name]) if j.name in mimics else j for j in joints)
    return followers, held
