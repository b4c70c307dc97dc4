"""Where bodies and joint axes are, for many positions at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.excitation.torque.time_enclosure import cross_matrix
from steelyard.model.mechanism import PRISMATIC, Mechanism

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BodyPoses:
    """Poses of the bodies of a mechanism in the root link's frame at n positions.

    rotation : (n_bodies, n, 3, 3). position : (n_bodies, n, 3) m.
    """

    rotation: Array
    position: Array

    def of(self, body: int) -> tuple[Array, Array]:
        """Rotation (n, 3, 3) and position (n, 3) of a body; -1 is the root link."""
        if body >= 0:
            return self.rotation[body], self.position[body]
        n = self.rotation.shape[1]
        return np.broadcast_to(np.eye(3), (n, 3, 3)), np.zeros((n, 3))


def body_poses(mechanism: Mechanism, q: Array) -> BodyPoses:
    """Poses at positions q (n, nv) of a robot with a fixed base."""
    n = len(q)
    rotation = np.empty((len(mechanism.bodies), n, 3, 3))
    position = np.empty((len(mechanism.bodies), n, 3))
    poses = BodyPoses(rotation, position)
    for i in range(len(mechanism.bodies)):
        R, p = poses.of(int(mechanism.parent[i]))
        p = p + R @ mechanism.rest_position[i]
        R = R @ mechanism.rest_rotation[i]
        along = mechanism.scale[i] * q[:, mechanism.coordinate[i]]
        screw = mechanism.screw[i]
        if mechanism.kind[i] == PRISMATIC:
            rotation[i] = R
            position[i] = p + np.einsum("nij,j->ni", R, screw[:3]) * along[:, None]
            continue
        K = cross_matrix(screw[3:])
        turn = (
            np.eye(3)
            + np.sin(along)[:, None, None] * K
            + (1.0 - np.cos(along))[:, None, None] * (K @ K)
        )
        rotation[i] = R @ turn
        # a turn about an axis away from the origin moves the origin
        moved = mechanism.centre[i] - turn @ mechanism.centre[i]
        position[i] = p + np.einsum("nij,nj->ni", R, moved)
    return poses


def ancestors(mechanism: Mechanism, body: int) -> tuple[int, ...]:
    """A body and those that carry it, from it to the root; empty for the root link (-1)."""
    found = []
    while body >= 0:
        found.append(body)
        body = int(mechanism.parent[body])
    return tuple(found)


def joints_between(mechanism: Mechanism, first: int, second: int) -> tuple[list[int], list[int]]:
    """Bodies whose joints move two bodies against each other: towards the first, the second."""
    of_first, of_second = ancestors(mechanism, first), ancestors(mechanism, second)
    shared = set(of_first) & set(of_second)
    return (
        [body for body in of_first if body not in shared],
        [body for body in of_second if body not in shared],
    )
