"""Outside implementations that the tests compare with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard.robot.inertia import to_com
from steelyard.robot.robot import Robot


def rpy_of(R: np.ndarray) -> tuple[float, float, float]:
    """Roll, pitch, yaw of a rotation matrix (URDF's fixed-axis order)."""
    pitch = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    return float(np.arctan2(R[2, 1], R[2, 2])), float(pitch), float(np.arctan2(R[1, 0], R[0, 0]))


def numbers(values) -> str:
    """Numbers as text that reads back to the same digits."""
    return " ".join(repr(float(x)) for x in values)


def urdf_text(robot: Robot) -> str:
    """A minimal URDF of a robot whose link frames are at its joints."""
    lines = [f'<robot name="{robot.name}">']
    for link in robot.links:
        lines.append(f'<link name="{link.name}">')
        if link.inertial is not None:
            mass, com, inertia = to_com(link.inertial)
            entries = {
                "ixx": (0, 0),
                "ixy": (0, 1),
                "ixz": (0, 2),
                "iyy": (1, 1),
                "iyz": (1, 2),
                "izz": (2, 2),
            }
            tensor = " ".join(f'{k}="{float(inertia[ij])!r}"' for k, ij in entries.items())
            lines.append(
                f'<inertial><origin xyz="{numbers(com)}"/><mass value="{float(mass)!r}"/>'
                f"<inertia {tensor}/></inertial>"
            )
        lines.append("</link>")
    for joint in robot.joints:
        assert np.array_equal(joint.child_offset, np.eye(4))
        T = joint.placement
        lines.append(
            f'<joint name="{joint.name}" type="{joint.kind}"><parent link="{joint.parent}"/>'
            f'<child link="{joint.child}"/>'
            f'<origin xyz="{numbers(T[:3, 3])}" rpy="{numbers(rpy_of(T[:3, :3]))}"/>'
        )
        if joint.moves:
            lines.append(
                f'<axis xyz="{numbers(joint.axis)}"/>'
                '<limit lower="-9" upper="9" effort="100" velocity="10"/>'
            )
        if joint.mimic is not None:
            lines.append(
                f'<mimic joint="{joint.mimic.joint}" multiplier="{joint.mimic.multiplier}"'
                f' offset="{joint.mimic.offset}"/>'
            )
        lines.append("</joint>")
    return "\n".join([*lines, "</robot>"])


def pinocchio_model(robot: Robot):
    """Pinocchio's model of the same robot, read by Pinocchio from URDF text."""
    import pinocchio as pin

    text = urdf_text(robot)
    arguments = (text, pin.JointModelFreeFlyer()) if robot.floating_base else (text,)
    model = pin.buildModelFromXML(*arguments)
    model.gravity.linear = np.array(robot.gravity)
    return model


def pinocchio_q(robot: Robot, pin_model, q: np.ndarray) -> np.ndarray:
    """Our positions in Pinocchio's layout (continuous joints as cosine and sine)."""
    out = np.zeros((len(q), pin_model.nq))
    base = 7 if robot.floating_base else 0
    out[:, :base] = q[:, :base]
    for i, name in enumerate(robot.joint_names):
        joint = pin_model.joints[pin_model.getJointId(name)]
        angle = q[:, base + i]
        if joint.nq == 2:
            out[:, joint.idx_q], out[:, joint.idx_q + 1] = np.cos(angle), np.sin(angle)
        else:
            out[:, joint.idx_q] = angle
    return out


def pinocchio_velocity_index(robot: Robot, pin_model) -> np.ndarray:
    """For each of our velocity coordinates, Pinocchio's index."""
    index = list(range(6)) if robot.floating_base else []
    for name in robot.joint_names:
        index.append(pin_model.joints[pin_model.getJointId(name)].idx_v)
    return np.array(index, dtype=int)


def pinocchio_torque(robot: Robot, q, v, a, armature=None) -> np.ndarray:
    """Torques by Pinocchio's ``rnea``, in our coordinate order.

    A robot with mimic joints is released into one where every joint is free, and the
    torques are combined by virtual work, so that the oracle does not depend on mimic joints.
    """
    import pinocchio as pin

    released = replace(robot, joints=tuple(replace(j, mimic=None) for j in robot.joints))
    G, g0 = release_map(robot, released)
    base_q, base_v = (7, 6) if robot.floating_base else (0, 0)
    q_full = np.hstack([q[:, :base_q], q[:, base_q:] @ G.T + g0])
    v_full = np.hstack([v[:, :base_v], v[:, base_v:] @ G.T])
    a_full = np.hstack([a[:, :base_v], a[:, base_v:] @ G.T])
    pin_model = pinocchio_model(released)
    index = pinocchio_velocity_index(released, pin_model)
    data = pin_model.createData()
    if armature is not None and len(G) == G.shape[1]:
        pin_armature = np.zeros(pin_model.nv)
        pin_armature[index] = armature
        pin_model.armature = pin_armature
        armature = None
    pin_q = pinocchio_q(released, pin_model, q_full)
    tau = np.empty_like(v)
    for s in range(len(q)):
        pin_v, pin_a = np.zeros(pin_model.nv), np.zeros(pin_model.nv)
        pin_v[index], pin_a[index] = v_full[s], a_full[s]
        full = pin.rnea(pin_model, data, pin_q[s], pin_v, pin_a)[index]
        tau[s] = np.concatenate([full[:base_v], G.T @ full[base_v:]])
    return tau if armature is None else tau + armature * a


def release_map(robot: Robot, released: Robot) -> tuple[np.ndarray, np.ndarray]:
    """G, g0 with joint positions of the released robot = G q + g0."""
    column = {name: i for i, name in enumerate(robot.joint_names)}
    G = np.zeros((len(released.joint_names), len(column)))
    g0 = np.zeros(len(released.joint_names))
    for row, name in enumerate(released.joint_names):
        mimic = robot.joint(name).mimic
        if mimic is None:
            G[row, column[name]] = 1.0
        else:
            G[row, column[mimic.joint]], g0[row] = mimic.multiplier, mimic.offset
    return G, g0
