"""Distances along a designed motion, by Pinocchio's kinematics and MuJoCo's closest points.

The solids and the pairs are those of the collision model; poses and distances are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steelyard import Robot
from steelyard.excitation.collision.collision_distances import CollisionModel
from steelyard.excitation.trajectory import Trajectory

Array = NDArray[np.float64]

FAR_M = 10.0
"""Distances are measured up to this."""


def smallest_distance(
    urdf: Path, robot: Robot, collision: CollisionModel, run: Trajectory, rate_hz: float
) -> float:
    """Smallest distance (m) of any pair along a run, looked at so often."""
    time = np.append(np.arange(0.0, run.duration_s, 1.0 / rate_hz), run.duration_s)
    positions = run.derivative(time, 0)
    scene = Scene(collision)
    kinematics = Kinematics(urdf, robot)
    smallest = np.inf
    for row in positions:
        values = dict(zip(run.joints, row.tolist(), strict=True))
        smallest = min(smallest, scene.smallest(kinematics.link_poses(values)))
    return smallest


class Kinematics:
    """Poses of links by Pinocchio, from the file; joints that are locked or mimic others too."""

    def __init__(self, urdf: Path, robot: Robot) -> None:
        import pinocchio as pin

        self.pin, self.robot = pin, robot
        self.model = pin.buildModelFromUrdf(str(urdf))
        self.data = self.model.createData()

    def link_poses(self, values: Mapping[str, float]) -> dict[str, Array]:
        """Pose (4, 4) of each link in the root link's frame, for positions (rad or m) by joint."""
        model, data = self.model, self.data
        known = {**values, **self.robot.locked}
        for joint in self.robot.moving_joints:
            if joint.mimic is not None:
                known[joint.name] = (
                    joint.mimic.multiplier * known[joint.mimic.joint] + joint.mimic.offset
                )
        q = self.pin.neutral(model)
        for k in range(1, model.njoints):
            if model.names[k] in known:
                value, joint = known[model.names[k]], model.joints[k]
                turns_endlessly = joint.nq == 2
                part = [np.cos(value), np.sin(value)] if turns_endlessly else [value]
                q[joint.idx_q : joint.idx_q + joint.nq] = part
        self.pin.framesForwardKinematics(model, data, q)
        # joints and links may have the same name
        kind = self.pin.FrameType.BODY
        root = data.oMf[model.getFrameId(self.robot.root, kind)].inverse()
        return {
            link.name: (root * data.oMf[model.getFrameId(link.name, kind)]).homogeneous
            for link in self.robot.links
        }


class Scene:
    """The solids in MuJoCo, each a body that is placed by hand."""

    def __init__(self, collision: CollisionModel) -> None:
        import mujoco

        self.mujoco, self.shapes, self.pairs = mujoco, collision.shapes, collision.pairs
        kinds = mujoco.mjtGeom
        spec = mujoco.MjSpec()
        for k, shape in enumerate(self.shapes):
            body = spec.worldbody.add_body(name=f"s{k}", mocap=True)
            half = 0.5 * shape.size
            if shape.kind == "hull":
                spec.add_mesh(name=f"m{k}", uservert=shape.points.ravel())
                body.add_geom(name=f"s{k}", type=kinds.mjGEOM_MESH, meshname=f"m{k}")
                continue
            kind, size = {
                "box": (kinds.mjGEOM_BOX, half),
                "cylinder": (kinds.mjGEOM_CYLINDER, [half[0], half[2], 0.0]),
                "sphere": (kinds.mjGEOM_SPHERE, [half[0], 0.0, 0.0]),
                "half_space": (kinds.mjGEOM_PLANE, [0.0, 0.0, 1.0]),
            }[shape.kind]
            body.add_geom(name=f"s{k}", type=kind, size=size)
        spec.option.ccd_tolerance = 1e-9
        spec.option.ccd_iterations = 200
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.mocap = [self.model.body(f"s{k}").mocapid[0] for k in range(len(self.shapes))]
        self.geoms = [self.model.geom(f"s{k}").id for k in range(len(self.shapes))]

    def smallest(self, poses: Mapping[str, Array]) -> float:
        """Smallest distance (m) of any pair with the links at these poses."""
        mujoco = self.mujoco
        for shape, mocap in zip(self.shapes, self.mocap, strict=True):
            T = poses.get(shape.owner, np.eye(4)) @ shape.pose
            self.data.mocap_pos[mocap] = T[:3, 3]
            mujoco.mju_mat2Quat(self.data.mocap_quat[mocap], T[:3, :3].ravel())
        mujoco.mj_kinematics(self.model, self.data)
        return min(
            mujoco.mj_geomDistance(
                self.model, self.data, self.geoms[pair.first], self.geoms[pair.second], FAR_M, None
            )
            for pair in self.pairs
        )
