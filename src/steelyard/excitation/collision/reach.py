"""How far geometry can move against other geometry when joints move: bounds for all positions.

If joint j changes by dq and no other moves, what it carries turns about its axis, and a point at
the distance r from the axis moves by at most r |dq| (a slide moves all points by |dq|). So the
distance of two solids changes by at most

    sum over the joints between them of reach_j |dq_j|

where reach_j bounds the distance from axis j to every point of one of the two solids, whichever
is smaller, at all positions of the joints in between. For these positions the solid is somewhere
inside the body of revolution that it sweeps about each axis in turn: a cylinder, which is all
that is kept of it on the way from its own frame to that of axis j.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.excitation.collision.body_poses import ancestors, joints_between
from steelyard.excitation.collision.collision_distances import CollisionModel, ShapePair
from steelyard.model.mechanism import PRISMATIC, Mechanism

Array = NDArray[np.float64]

RIM = 24
"""Corners of the polygons around the ends of a cylinder."""
OUTWARD = 1.0 + 1e-9
"""Factor that covers rounding."""
UPRIGHT = 1e-3
"""Tilt (rad) of an axis from the vertical below which it counts as turning the ground into
itself, up to that tilt."""


@dataclass(frozen=True, eq=False)
class _Region:
    """The convex hull of points (n, 3) m, widened by a radius (m)."""

    points: Array
    radius: float


def reach_bounds(model: CollisionModel, lower: Array, upper: Array) -> Array:
    """Bounds (n_pairs, n_joints) in m/rad, or 1 for slides, of how distances change with q.

    lower, upper : (n_joints,) range of positions; only those of slides matter.
    """
    seen: dict[tuple[int, int], _Region] = {}
    mechanism = model.mechanism
    slides = _slide_ranges(mechanism, lower, upper)

    def region(shape: int, frame: int) -> _Region:
        """Where a solid can be, seen from a body."""
        if (shape, frame) in seen:
            return seen[shape, frame]
        own = model.bodies[shape]
        if frame == own:
            T = model.placements[shape]
            corners = model.shapes[shape].corners @ T[:3, :3].T + T[:3, 3]
            found = _Region(corners, model.shapes[shape].rounding)
        elif frame in ancestors(mechanism, own) or frame < 0:
            # seen from a body nearer to the root: through the last joint on the way
            way = ancestors(mechanism, own)
            last = way[way.index(frame) - 1] if frame >= 0 else way[-1]
            found = _seen_from_parent(mechanism, last, region(shape, last), slides[last])
        else:
            parent = int(mechanism.parent[frame])
            found = _seen_from_child(mechanism, frame, region(shape, parent), slides[frame])
        seen[shape, frame] = found
        return found

    bounds = np.zeros((len(model.pairs), len(model.joints)))
    for k, pair in enumerate(model.pairs):
        towards = joints_between(mechanism, model.bodies[pair.first], model.bodies[pair.second])
        for bodies, beyond, before in (
            (towards[0], pair.first, pair.second),
            (towards[1], pair.second, pair.first),
        ):
            for body in bodies:
                size = abs(float(mechanism.scale[body]))
                if mechanism.kind[body] != PRISMATIC:
                    far = _from_axis(mechanism, body, region(beyond, body))
                    if model.shapes[before].is_bounded:
                        near = region(before, int(mechanism.parent[body]))
                        far = min(far, _from_axis(mechanism, body, _at_rest(mechanism, body, near)))
                    else:
                        far *= _tilt(model, pair, body)
                    size *= far
                bounds[k, mechanism.coordinate[body]] += OUTWARD * size
    return bounds


def _slide_ranges(mechanism: Mechanism, lower: Array, upper: Array) -> list[tuple[float, float]]:
    """Smallest and largest position (m) of each body's slide."""
    ranges = []
    for scale, k in zip(mechanism.scale, mechanism.coordinate, strict=True):
        ends = sorted((float(scale * lower[k]), float(scale * upper[k])))
        ranges.append((ends[0], ends[1]))
    return ranges


def _from_axis(mechanism: Mechanism, body: int, region: _Region) -> float:
    """Largest distance (m) from a body's axis to a region seen from that body."""
    across, _ = _about_axis(mechanism, body, region)
    return across


def _about_axis(mechanism: Mechanism, body: int, region: _Region) -> tuple[float, Array]:
    """Largest distance (m) from a body's axis, and the range (2,) along it."""
    axis = mechanism.screw[body, 3:]
    from_centre = region.points - mechanism.centre[body]
    along = from_centre @ axis
    across = np.linalg.norm(from_centre - np.outer(along, axis), axis=1).max() + region.radius
    return float(across), np.array([along.min() - region.radius, along.max() + region.radius])


def _revolved(mechanism: Mechanism, body: int, region: _Region) -> _Region:
    """The cylinder that a region sweeps about a body's axis, seen from that body."""
    across, ends = _about_axis(mechanism, body, region)
    axis = mechanism.screw[body, 3:]
    side = np.cross(axis, np.eye(3)[np.abs(axis).argmin()])
    side /= np.linalg.norm(side)
    angle = 2.0 * np.pi * np.arange(RIM) / RIM
    radius = OUTWARD * across / np.cos(np.pi / RIM)
    rim = radius * (np.outer(np.cos(angle), side) + np.outer(np.sin(angle), np.cross(axis, side)))
    centre = mechanism.centre[body]
    return _Region(np.vstack([rim + centre + end * axis for end in ends]), 0.0)


def _swept(mechanism: Mechanism, body: int, region: _Region, slide: tuple[float, float]) -> _Region:
    """What a region covers as a slide moves it from one end to the other."""
    axis = mechanism.screw[body, :3]
    return _Region(np.vstack([region.points + end * axis for end in slide]), region.radius)


def _seen_from_parent(
    mechanism: Mechanism, body: int, region: _Region, slide: tuple[float, float]
) -> _Region:
    """A region that a body carries, seen from its parent, at all positions of the joint."""
    if mechanism.kind[body] == PRISMATIC:
        moved = _swept(mechanism, body, region, slide)
    else:
        moved = _revolved(mechanism, body, region)
    R, p = mechanism.rest_rotation[body], mechanism.rest_position[body]
    return _Region(moved.points @ R.T + p, moved.radius)


def _seen_from_child(
    mechanism: Mechanism, body: int, region: _Region, slide: tuple[float, float]
) -> _Region:
    """A region seen from a body's parent, seen from the body, at all positions of the joint."""
    at_rest = _at_rest(mechanism, body, region)
    if mechanism.kind[body] == PRISMATIC:
        return _swept(mechanism, body, at_rest, (-slide[1], -slide[0]))
    return _revolved(mechanism, body, at_rest)


def _at_rest(mechanism: Mechanism, body: int, region: _Region) -> _Region:
    """A region seen from a body's parent, seen from the body at position zero of its joint."""
    R, p = mechanism.rest_rotation[body], mechanism.rest_position[body]
    return _Region((region.points - p) @ R, region.radius)


def _tilt(model: CollisionModel, pair: ShapePair, body: int) -> float:
    """Share of the motion about a body's axis that changes heights: the sine of its tilt.

    A turn about an upright axis leaves heights as they are. The tilt is known for all positions
    where every joint before it is upright too.
    """
    mechanism = model.mechanism
    up = model.placements[pair.first][:3, 2]
    R, before = np.eye(3), 0.0
    for one in reversed(ancestors(mechanism, body)):
        R = R @ mechanism.rest_rotation[one]
        if mechanism.kind[one] == PRISMATIC:
            continue
        axis = R @ mechanism.screw[one, 3:]
        sine = float(np.linalg.norm(np.cross(up, axis)))
        angle = float(np.arcsin(min(1.0, sine))) + 2.0 * before
        if one == body:
            return float(np.sin(min(angle, 0.5 * np.pi)))
        if angle > UPRIGHT:
            return 1.0
        before += angle
    return 1.0
