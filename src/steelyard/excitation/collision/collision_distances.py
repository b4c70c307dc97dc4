"""Distances between solids of a robot, the ground and obstacles, and how they change.

Closest points of two solids are found by coal, the collision library of Pinocchio, which is loaded
when distances are first computed; the distance to the ground is that of the lowest point.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import SignalError, listed
from steelyard.excitation.collision.body_poses import BodyPoses, body_poses, joints_between
from steelyard.excitation.collision.collision_shapes import Shape
from steelyard.excitation.collision.mesh_points import load_coal
from steelyard.excitation.collision.surroundings import Surroundings
from steelyard.findings import Finding
from steelyard.model.mechanism import PRISMATIC, Mechanism

Array = NDArray[np.float64]

GJK_TOLERANCE = 1e-9
"""Of coal's search for closest points (m); its default of 1e-6 is coarser than gradients need."""


@dataclass(frozen=True)
class ShapePair:
    """Two solids whose distance matters, by their number; the names of their links."""

    first: int
    second: int
    names: tuple[str, str]


@dataclass(frozen=True, eq=False)
class CollisionModel:
    """The solids of a robot and its surroundings, and the pairs that must stay apart.

    joints : names of the columns of q. shapes : the solids. bodies : the body of the mechanism
    that carries each solid, -1 where it does not move. placements : (n_shapes, 4, 4) pose of each
    solid in the frame of its body, or in that of the root link. pairs : what is checked.
    clearance_m : the distance that pairs are to keep. findings : which pairs are left out, and why.
    surroundings : floor and obstacles, as they were given; their solids are among the shapes.
    """

    joints: tuple[str, ...]
    mechanism: Mechanism
    shapes: tuple[Shape, ...]
    bodies: tuple[int, ...]
    placements: Array
    pairs: tuple[ShapePair, ...]
    clearance_m: float
    findings: tuple[Finding, ...]
    surroundings: Surroundings = field(default_factory=Surroundings)

    def distances(self, q: ArrayLike, *, within_m: float | Array = np.inf) -> Array:
        """Distance (n_samples, n_pairs) in m of every pair at positions q (n_samples, n_joints);
        negative where two solids overlap.

        within_m : pairs that balls around their solids show to be farther apart than this get
        that lower bound in place of their distance, which takes less time; one for all pairs, or
        (n_pairs,).
        """
        return self._closest_within(self.poses(q), within_m, points=False).distance

    def distance_gradients(
        self, q: ArrayLike, *, within_m: float | Array = np.inf
    ) -> tuple[Array, Array]:
        """Distances as above, and their gradient (n_samples, n_pairs, n_joints) by q in m/rad, or
        1 for slides.

        The distance changes as the closest points move along the line that joins them. Where the
        closest points jump (two faces that are parallel), this is one of several slopes. It is
        zero where only a lower bound was computed.
        """
        poses = self.poses(q)
        found = self._closest_within(poses, within_m)
        gradient = np.zeros((*found.distance.shape, len(self.joints)))
        for body, sides in enumerate(self._sides):
            for points, of_side in zip((found.first, found.second), sides, strict=True):
                # of all pairs that the joint moves, at once
                rows, columns = np.nonzero(found.exact[:, of_side])
                pairs = of_side[columns]
                normal = found.normal[rows, pairs]
                speed = self._point_speed(poses, body, rows, points[rows, pairs])
                sign = -1.0 if points is found.first else 1.0
                along = sign * np.einsum("ni,ni->n", normal, speed)
                gradient[rows, pairs, self.mechanism.coordinate[body]] += along
        return found.distance, gradient

    @cached_property
    def _sides(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """For each body, the pairs whose first solid its joint moves against the second, and those
        whose second solid it moves against the first.
        """
        between = [
            joints_between(self.mechanism, self.bodies[pair.first], self.bodies[pair.second])
            for pair in self.pairs
        ]

        def of(body: int, side: int) -> NDArray[np.int64]:
            return np.array([k for k, way in enumerate(between) if body in way[side]], dtype=int)

        return [(of(body, 0), of(body, 1)) for body in range(len(self.mechanism.bodies))]

    def poses(self, q: ArrayLike) -> BodyPoses:
        """Poses of the bodies at positions q (n_samples, n_joints) rad or m."""
        positions = np.atleast_2d(np.asarray(q, dtype=float))
        if positions.ndim != 2 or positions.shape[1] != len(self.joints):
            raise SignalError(
                f"q has shape {np.shape(q)}; it must be (n_samples, {len(self.joints)}) for "
                f"{listed(self.joints)}"
            )
        return body_poses(self.mechanism, positions)

    def shape_poses(self, poses: BodyPoses) -> tuple[Array, Array]:
        """Rotation (n_shapes, n_samples, 3, 3) and position (n_shapes, n_samples, 3) of solids."""
        rotations, positions = [], []
        for body, T in zip(self.bodies, self.placements, strict=True):
            R, p = poses.of(body)
            rotations.append(R @ T[:3, :3])
            positions.append(p + R @ T[:3, 3])
        return np.stack(rotations), np.stack(positions)

    def ball_distances(self, rotations: Array, positions: Array) -> Array:
        """Lower bounds (n_samples, n_pairs) of the distances: those of balls around the solids."""
        middles = [p + R @ shape.ball[0] for shape, R, p in zip(self.shapes, rotations, positions)]
        radii = [shape.ball[1] for shape in self.shapes]
        out = np.empty((positions.shape[1], len(self.pairs)))
        for k, pair in enumerate(self.pairs):
            if not self.shapes[pair.first].is_bounded:
                up, height = rotations[pair.first][:, :, 2], positions[pair.first]
                above = np.einsum("ni,ni->n", up, middles[pair.second] - height)
                out[:, k] = above - radii[pair.second]
                continue
            apart = np.linalg.norm(middles[pair.second] - middles[pair.first], axis=1)
            out[:, k] = apart - radii[pair.first] - radii[pair.second]
        return out

    def _closest_within(
        self, poses: BodyPoses, within_m: float | Array, *, points: bool = True
    ) -> ClosestPoints:
        """Closest points of pairs within a distance (m), and lower bounds for the others."""
        rotations, positions = self.shape_poses(poses)
        balls = self.ball_distances(rotations, positions)
        found = self.closest(rotations, positions, balls <= within_m, points=points)
        return replace(found, distance=np.where(found.exact, found.distance, balls))

    def closest(
        self,
        rotations: Array,
        positions: Array,
        wanted: NDArray[np.bool_],
        *,
        points: bool = True,
    ) -> ClosestPoints:
        """Closest points where they are ``wanted`` (n_samples, n_pairs), of solids with these
        poses (see `shape_poses`); the distance of other pairs is infinite.

        points : whether points and directions are needed; without, they stay zero.
        """
        shape = (*wanted.shape, 3)
        found = ClosestPoints(
            np.full(wanted.shape, np.inf), wanted, np.zeros(shape), np.zeros(shape), np.zeros(shape)
        )
        placed = _Placed(rotations, positions)
        for k, pair in enumerate(self.pairs):
            rows = np.flatnonzero(wanted[:, k])
            if len(rows) == 0:
                continue
            if self.shapes[pair.first].is_bounded:
                self._measure(pair, k, rows, placed, found, points)
                continue
            d, first, second, normal = self._above_ground(
                pair, rotations[:, rows], positions[:, rows]
            )
            found.distance[rows, k] = d
            found.first[rows, k], found.second[rows, k] = first, second
            found.normal[rows, k] = normal
        return found

    def _measure(
        self,
        pair: ShapePair,
        k: int,
        rows: NDArray[np.int64],
        placed: _Placed,
        found: ClosestPoints,
        points: bool,
    ) -> None:
        """Write what coal finds for pair k into these rows."""
        coal = load_coal()
        request, result = coal.DistanceRequest(), coal.DistanceResult()
        request.gjk_tolerance = GJK_TOLERANCE
        first, second = self.shapes[pair.first].geometry, self.shapes[pair.second].geometry
        for s in rows.tolist():
            result.clear()
            found.distance[s, k] = coal.distance(
                first,
                placed.of(coal, pair.first, s),
                second,
                placed.of(coal, pair.second, s),
                request,
                result,
            )
            if points:
                found.first[s, k] = result.getNearestPoint1()
                found.second[s, k] = result.getNearestPoint2()
                found.normal[s, k] = result.normal

    def _above_ground(
        self, pair: ShapePair, rotations: Array, positions: Array
    ) -> tuple[Array, Array, Array, Array]:
        """Distance (n,) of a solid from a half space below it, the closest points (n, 3) of both,
        and the direction (n, 3) between them: by the solid's lowest point.
        """
        up = rotations[pair.first][:, :, 2]
        R, p = rotations[pair.second], positions[pair.second]
        lowest = self.shapes[pair.second].farthest(-np.einsum("nij,ni->nj", R, up))
        point = p + np.einsum("nij,nj->ni", R, lowest)
        distance = np.einsum("ni,ni->n", up, point - positions[pair.first])
        return distance, point - distance[:, None] * up, point, up

    def _point_speed(
        self, poses: BodyPoses, body: int, rows: NDArray[np.int64], points: Array
    ) -> Array:
        """Speed (n, 3) of points of what a joint carries, per unit of its coordinate."""
        R, p = poses.rotation[body][rows], poses.position[body][rows]
        screw = self.mechanism.screw[body] * self.mechanism.scale[body]
        if self.mechanism.kind[body] == PRISMATIC:
            return np.asarray(R @ screw[:3])
        centre = p + R @ self.mechanism.centre[body]
        return np.cross(R @ screw[3:], points - centre)


class _Placed:
    """Poses of solids as coal takes them, each made once: a solid is part of many pairs."""

    def __init__(self, rotations: Array, positions: Array) -> None:
        self.rotations, self.positions = rotations, positions
        self.made: dict[tuple[int, int], Any] = {}

    def of(self, coal: Any, shape: int, sample: int) -> Any:
        """The pose of a solid in one sample."""
        key = (shape, sample)
        if key not in self.made:
            self.made[key] = coal.Transform3s(self.rotations[key], self.positions[key])
        return self.made[key]


@dataclass(frozen=True, eq=False)
class ClosestPoints:
    """Closest points of pairs of solids.

    distance : (n_samples, n_pairs) m. exact : (n_samples, n_pairs) whether it is a distance, and
    not a lower bound. first, second : (n_samples, n_pairs, 3) m, in the root link's frame.
    normal : (n_samples, n_pairs, 3) unit vector from the first solid to the second.
    """

    distance: Array
    exact: NDArray[np.bool_]
    first: Array
    second: Array
    normal: Array
