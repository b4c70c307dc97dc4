"""Robots with collision solids, and distances between these by Pinocchio and MuJoCo."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from oracles import numbers, pinocchio_model, pinocchio_q, rpy_of, urdf_text

from steelyard.excitation.collision.collision import CollisionModel
from steelyard.excitation.collision.collision_shapes import Shape
from steelyard.robot.formats.urdf_shapes import Primitive
from steelyard.robot.robot import Robot
from steelyard.testing.random_robots import random_pose, random_robot


def collision_text(solid: Primitive) -> str:
    """The <collision> element of a solid."""
    xyz, rpy = numbers(solid.pose[:3, 3]), numbers(rpy_of(solid.pose[:3, :3]))
    x, _, z = solid.size.tolist()
    geometry = {
        "box": f'<box size="{numbers(solid.size)}"/>',
        "cylinder": f'<cylinder radius="{x / 2!r}" length="{z!r}"/>',
        "sphere": f'<sphere radius="{x / 2!r}"/>',
    }[solid.kind]
    return (
        f'<collision><origin xyz="{xyz}" rpy="{rpy}"/><geometry>{geometry}</geometry></collision>'
    )


def random_solid(rng: np.random.Generator, kinds=("box", "cylinder", "sphere")) -> Primitive:
    """A solid of a few centimetres near the origin of its link."""
    kind = str(rng.choice(kinds))
    size = rng.uniform(0.04, 0.16, size=3)
    if kind != "box":
        size[1] = size[0]
    if kind == "sphere":
        size[2] = size[0]
    return Primitive(kind, size, random_pose(rng, 0.1))


def write_solids(folder: Path, robot: Robot, solids: dict[str, list[Primitive]]) -> Path:
    """A URDF of the robot whose links have these solids."""
    text = urdf_text(robot)
    for link, found in solids.items():
        start = f'<link name="{link}">'
        assert text.count(start) == 1
        text = text.replace(start, start + "".join(collision_text(solid) for solid in found))
    path = folder / f"{robot.name}.urdf"
    path.write_text(text)
    return path


def random_solid_robot(
    rng: np.random.Generator, folder: Path, n_joints: int, **options
) -> tuple[Path, Robot]:
    """A random tree whose links have random solids, and its URDF."""
    robot = random_robot(rng, n_joints, **options)
    solids = {link.name: [random_solid(rng)] for link in robot.links}
    path = write_solids(folder, robot, solids)
    return path, Robot.from_urdf(path)


def link_poses(robot: Robot, q: np.ndarray, links: set[str]) -> list[dict[str, np.ndarray]]:
    """Poses (4, 4) of links at positions q (n, n_joints), by Pinocchio; no mimic joints."""
    import pinocchio as pin

    model = pinocchio_model(robot)
    data = model.createData()
    out = []
    for row in pinocchio_q(robot, model, q):
        pin.framesForwardKinematics(model, data, row)
        out.append({name: data.oMf[model.getFrameId(name)].homogeneous.copy() for name in links})
    return out


class MujocoDistances:
    """Distances of the same solids by MuJoCo, each a body that is placed by hand."""

    def __init__(self, shapes: tuple[Shape, ...]) -> None:
        import mujoco

        self.mujoco, self.shapes = mujoco, shapes
        spec = mujoco.MjSpec()
        for k, shape in enumerate(shapes):
            body = spec.worldbody.add_body(name=f"s{k}", mocap=True)
            half = 0.5 * shape.size
            if shape.kind == "hull":
                spec.add_mesh(name=f"m{k}", uservert=shape.points.ravel())
                body.add_geom(name=f"s{k}", type=mujoco.mjtGeom.mjGEOM_MESH, meshname=f"m{k}")
                continue
            kind, size = {
                "box": (mujoco.mjtGeom.mjGEOM_BOX, half),
                "cylinder": (mujoco.mjtGeom.mjGEOM_CYLINDER, [half[0], half[2], 0]),
                "sphere": (mujoco.mjtGeom.mjGEOM_SPHERE, [half[0], 0, 0]),
                "half_space": (mujoco.mjtGeom.mjGEOM_PLANE, [0, 0, 1]),
            }[shape.kind]
            body.add_geom(name=f"s{k}", type=kind, size=size)
        spec.option.ccd_tolerance = 1e-9
        spec.option.ccd_iterations = 200
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)

    def at(self, poses: dict[str, np.ndarray], pairs) -> np.ndarray:
        """Distances (n_pairs,) with the links at these poses; others are where they stand."""
        mujoco = self.mujoco
        for k, shape in enumerate(self.shapes):
            T = poses.get(shape.owner, np.eye(4)) @ shape.pose
            mocap = self.model.body(f"s{k}").mocapid[0]
            self.data.mocap_pos[mocap] = T[:3, 3]
            mujoco.mju_mat2Quat(self.data.mocap_quat[mocap], T[:3, :3].ravel())
        mujoco.mj_kinematics(self.model, self.data)
        return np.array(
            [
                mujoco.mj_geomDistance(
                    self.model,
                    self.data,
                    self.model.geom(f"s{pair.first}").id,
                    self.model.geom(f"s{pair.second}").id,
                    10.0,
                    None,
                )
                for pair in pairs
            ]
        )


def oracle_distances(model: CollisionModel, robot: Robot, q: np.ndarray) -> np.ndarray:
    """Distances (n, n_pairs) by Pinocchio's kinematics and MuJoCo's closest points."""
    links = {shape.owner for shape in model.shapes} & {link.name for link in robot.links}
    measured = MujocoDistances(model.shapes)
    return np.array([measured.at(poses, model.pairs) for poses in link_poses(robot, q, links)])
