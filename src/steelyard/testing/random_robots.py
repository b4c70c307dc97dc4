"""Random robots and bodies, for testing estimators and kernels against oracles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.robot.inertia import from_com
from steelyard.robot.parts import Joint, JointKind, Limits, Link, Mimic
from steelyard.robot.robot import Robot
from steelyard.robot.rotations import frozen_array

Array = NDArray[np.float64]


def random_rotation(rng: np.random.Generator) -> Array:
    """A rotation matrix (3, 3), uniform over all rotations."""
    Q, R = np.linalg.qr(rng.normal(size=(3, 3)))
    Q = Q * np.sign(np.diag(R))
    return Q if np.linalg.det(Q) > 0 else -Q


def random_pose(rng: np.random.Generator, reach_m: float = 0.5) -> Array:
    """A pose (4, 4) with a uniform rotation and a position within ± reach_m."""
    T = np.eye(4)
    T[:3, :3] = random_rotation(rng)
    T[:3, 3] = rng.uniform(-reach_m, reach_m, size=3)
    return T


def random_body(
    rng: np.random.Generator, mass_kg: tuple[float, float] = (0.1, 10.0), size_m: float = 0.3
) -> Array:
    """Parameters (10,) of a physical body: a cloud of at least four point masses."""
    points = rng.normal(scale=size_m, size=(6, 3)) + rng.uniform(-size_m, size_m, size=3)
    weights = rng.dirichlet(np.ones(6)) * np.exp(rng.uniform(*np.log(mass_kg)))
    mass = weights.sum()
    com = weights @ points / mass
    r = points - com
    second = np.einsum("k,ki,kj->ij", weights, r, r)
    return from_com(mass, com, np.trace(second) * np.eye(3) - second)


def random_robot(
    rng: np.random.Generator,
    n_joints: int,
    *,
    chain: bool = False,
    prismatic: float = 0.3,
    fixed: float = 0.2,
    mimic: float = 0.0,
    floating_base: bool = False,
    name: str = "random",
) -> Robot:
    """A tree with ``n_joints`` moving joints and random geometry and bodies.

    prismatic : share of prismatic joints.
    fixed : probability that a moving link carries another link on a fixed joint.
    mimic : probability that a joint mimics an earlier one.
    """
    links = [Link("base", frozen_array(random_body(rng), (10,)))]
    joints: list[Joint] = []
    free: list[str] = []
    tips = ["base"]
    for i in range(1, n_joints + 1):
        kind: JointKind = "revolute" if rng.random() < 0.5 else "continuous"
        if rng.random() < prismatic:
            kind = "prismatic"
        axis = rng.normal(size=3)
        child = f"link_{i}"
        follows = (
            Mimic(str(rng.choice(free)), float(rng.uniform(-2, 2)), 0.1)
            if (free and rng.random() < mimic)
            else None
        )
        joint = Joint(
            name=f"joint_{i}",
            kind=kind,
            parent=tips[-1] if chain else str(rng.choice(tips)),
            child=child,
            placement=frozen_array(random_pose(rng), (4, 4)),
            axis=frozen_array(axis / np.linalg.norm(axis), (3,)),
            limits=Limits(-3.0, 3.0, 5.0, 100.0, None),
            mimic=follows,
        )
        joints.append(joint)
        if follows is None:
            free.append(joint.name)
        links.append(Link(child, frozen_array(random_body(rng), (10,))))
        tips.append(child)
        if rng.random() < fixed:
            links.append(Link(f"tool_{i}", frozen_array(random_body(rng), (10,))))
            joints.append(
                Joint(
                    name=f"mount_{i}",
                    kind="fixed",
                    parent=child,
                    child=f"tool_{i}",
                    placement=frozen_array(random_pose(rng), (4, 4)),
                )
            )
            if not chain:
                tips.append(f"tool_{i}")
    return Robot(
        name,
        tuple(links),
        tuple(joints),
        gravity=frozen_array(rng.normal(scale=6.0, size=3), (3,)),
        floating_base=floating_base,
    )
