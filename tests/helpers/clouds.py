"""Bodies made of point masses, computed without any formula of the package."""

from __future__ import annotations

import numpy as np

from steelyard.robot.parts import Joint, Link
from steelyard.robot.robot import Robot


def parameters(masses, points):
    """m, h and the inertia tensor about the origin (10,), summed point by point."""
    x, y, z = np.asarray(points, dtype=float).T
    m = np.asarray(masses, dtype=float)
    return np.array(
        [m.sum(), m @ x, m @ y, m @ z,
         m @ (y**2 + z**2), -m @ (x * y), m @ (x**2 + z**2), -m @ (x * z), -m @ (y * z),
         m @ (x**2 + y**2)]
    )  # fmt: skip


def in_ball(rng, n):
    """Points uniform in the unit ball."""
    points = rng.normal(size=(n, 3))
    return points / np.linalg.norm(points, axis=1)[:, None] * rng.random((n, 1)) ** (1 / 3)


def pendulums(n=2, **merged):
    """A chain of revolute links l1, l2, ... on a base; ``merged`` fixes named links to them."""
    links = [Link("base"), *(Link(f"l{i}") for i in range(1, n + 1))]
    axis = np.array([0.0, 1.0, 0.0])
    joints = [
        Joint(f"j{i}", "revolute", "base" if i == 1 else f"l{i - 1}", f"l{i}", axis=axis)
        for i in range(1, n + 1)
    ]
    for name, (parent, inertial, placement) in merged.items():
        links.append(Link(name, inertial))
        joints.append(Joint(f"{name}_mount", "fixed", parent, name, placement=np.array(placement)))
    return Robot("pendulums", tuple(links), tuple(joints))
