"""Proof that a motion keeps its distance from collisions at every time, not only at samples.

Time is cut into intervals. At the centre of one, the distance of two solids is bounded from below
by a plane between them: with any unit vector n, every point of the second is farther along n than
every point of the first by at least

    d = min n·x (second) - max n·x (first)

coal proposes n; the bound holds whatever it proposes. On the interval the distance falls by at
most sum_j reach_j max |q_j(t) - q_j(c)| (see `reach`), and the change of q_j is bounded by its
speed at the centre and the proven bound on its acceleration. Intervals that do not decide are
halved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import CollisionError, SignalError, listed
from steelyard.excitation.collision.collision_distances import ClosestPoints, CollisionModel
from steelyard.excitation.collision.reach import reach_bounds
from steelyard.excitation.extremes import Extremes
from steelyard.excitation.torque.torque_bounds import joint_columns
from steelyard.excitation.trajectory import Trajectory

Array = NDArray[np.float64]
Verdict = Literal["holds", "not proven", "violated"]

TOLERANCE_M = 0.002
"""How far the proven distance may be below the smallest one found before intervals are halved."""
TOO_CLOSE_PART = 0.02
"""Of that tolerance, for a pair that is closer than the clearance: a design needs to know by how
much."""
MOST_HALVINGS = 12
ROUNDING_M = 1e-9
"""Rounding of poses and of planes between solids (m), with a wide margin."""
INTERVALS_AT_ONCE = 1024


@dataclass(frozen=True)
class ClearanceProof:
    """Smallest distance of a motion that is proven, and the smallest that was found.

    smallest_m : no pair is ever closer than this (m). pair, time_s : names and time (s) of the
    interval where that bound is attained. sampled_m, sampled_pair, sampled_time_s : the smallest
    distance that was computed. clearance_m : what was asked for. resolution_s : length of the
    intervals to start from. finest_s : length of the shortest. n_intervals : how many were
    examined. n_pairs : of solids. missing_m : by how much each pair may be closer than the
    clearance (m), in the order of the pairs; 0 where it keeps it.
    """

    smallest_m: float
    pair: tuple[str, str] | None
    time_s: float
    sampled_m: float
    sampled_pair: tuple[str, str] | None
    sampled_time_s: float
    clearance_m: float
    resolution_s: float
    finest_s: float
    n_intervals: int
    n_pairs: int
    missing_m: tuple[float, ...]

    @property
    def holds(self) -> bool:
        """Whether the clearance is proven."""
        return self.smallest_m >= self.clearance_m

    @property
    def verdict(self) -> Verdict:
        """Proven, refuted by a sample, or neither at the finest intervals."""
        if self.holds:
            return "holds"
        return "violated" if self.sampled_m < self.clearance_m else "not proven"


def refuse_collision(model: CollisionModel, q: ArrayLike, clearance_m: float, what: str) -> None:
    """Raise an error if links are closer than the clearance (m) at one position q (n_joints,).

    what : how the message names the position, such as "the start pose".
    """
    distance = model.distances(np.atleast_2d(np.asarray(q, dtype=float)), within_m=clearance_m)[0]
    close = np.flatnonzero(distance < clearance_m)
    if len(close) == 0:
        return
    k = int(distance.argmin())
    first, second = model.pairs[k].names
    how = (
        f"overlap by {-distance[k]:.3g} m"
        if distance[k] < 0.0
        else f"are {distance[k]:.3g} m apart"
    )
    names = dict.fromkeys(" and ".join(model.pairs[i].names) for i in close if i != k)
    others = f" (and {listed(names)} are too close)" if names else ""
    raise CollisionError(
        f"{what} is in collision: {first} and {second} {how}, and {clearance_m:g} m are asked "
        f"for{others}; choose another pose, a smaller --clearance, or an SRDF file (--srdf) whose "
        "disable_collisions names the pair"
    )


def prove_clearance(
    model: CollisionModel,
    trajectory: Trajectory,
    clearance_m: float | None = None,
    *,
    resolution_s: float = 0.02,
    tolerance_m: float = TOLERANCE_M,
    refuse_start: bool = True,
) -> ClearanceProof:
    """The smallest distance between solids that a motion is proven to keep.

    clearance_m : the distance asked for; that of the model if it is not given. resolution_s :
    length (s) of the intervals to start from. tolerance_m : intervals are halved, up to twelve
    times, while their bound is below the smallest distance found so far by more than this, or
    below a clearance that the samples keep. refuse_start : whether a motion whose first position
    is closer than the clearance is an error that names the links; otherwise it is as any other.
    """
    clearance = model.clearance_m if clearance_m is None else clearance_m
    if not (np.isfinite(clearance) and clearance >= 0.0):
        raise SignalError(f"clearance_m is {clearance}; it must be 0 or more")
    if not (np.isfinite(resolution_s) and resolution_s > 0.0):
        raise SignalError(f"resolution_s is {resolution_s}; it must be positive")
    motion = _Motion(trajectory, model)
    if refuse_start:
        refuse_collision(model, motion.at(np.zeros(1))[0][0], clearance, "the start pose")
    n = max(1, int(np.ceil(trajectory.duration_s / resolution_s)))
    length = trajectory.duration_s / n
    centre: Array = length * (np.arange(n, dtype=float) + 0.5)
    search = _Search(model, motion, clearance, tolerance_m)
    open_pairs = np.ones((n, len(model.pairs)), dtype=bool)
    for depth in range(MOST_HALVINGS + 1):
        again = []
        for begin in range(0, len(centre), INTERVALS_AT_ONCE):
            rows = slice(begin, begin + INTERVALS_AT_ONCE)
            last = depth == MOST_HALVINGS
            again.append(search.examine(centre[rows], length, open_pairs[rows], last))
        undecided = np.concatenate(again)
        halved = undecided.any(axis=1)
        if not halved.any():
            break
        length *= 0.5
        centre = (centre[halved, None] + 0.5 * length * np.array([-1.0, 1.0])).ravel()
        open_pairs = np.repeat(undecided[halved], 2, axis=0)
    return search.proof(resolution_s, length)


class _Motion:
    """Positions and speeds of a trajectory in the joint order of a collision model."""

    def __init__(self, trajectory: Trajectory, model: CollisionModel) -> None:
        self.trajectory = trajectory
        self.columns = joint_columns(trajectory, model.joints)
        found: Extremes = trajectory.extremes()
        self.lower, self.upper = found.lower[self.columns], found.upper[self.columns]
        self.speed = found.velocity[self.columns]
        self.acceleration = found.acceleration[self.columns]

    def at(self, time: Array) -> tuple[Array, Array]:
        """Positions and speeds (n, n_joints)."""
        q, v = (self.trajectory.derivative(time, order)[:, self.columns] for order in range(2))
        return q, v

    def change(self, v: Array, half: float) -> Array:
        """Bound (n, n_joints) of |q(t) - q(c)| for |t - c| <= half, with the speeds v at c."""
        by_speed = np.broadcast_to(self.speed * half, v.shape)
        by_acceleration = np.abs(v) * half + 0.5 * self.acceleration * half**2
        return np.minimum(by_speed, by_acceleration) * (1.0 + 1e-9) + 1e-12


class _Search:
    """The smallest distances so far, proven and found, and the intervals that decide them."""

    def __init__(
        self, model: CollisionModel, motion: _Motion, clearance: float, tolerance: float
    ) -> None:
        self.model, self.motion = model, motion
        self.clearance, self.tolerance = clearance, tolerance
        self.reach = reach_bounds(model, motion.lower, motion.upper)
        self.proven = self.found = (np.inf, -1, 0.0)
        self.n_intervals = 0
        self.bounds = np.full(len(model.pairs), np.inf)
        self.closest = np.full(len(model.pairs), np.inf)

    @property
    def enough(self) -> Array:
        """The lower bound (n_pairs,) m that an interval must have to be done with.

        Every pair that is too close is told by how much, not only the closest one.
        """
        kept = max(self.found[0] - self.tolerance, self.clearance)
        too_close = self.closest < self.clearance
        return np.where(too_close, self.closest - TOO_CLOSE_PART * self.tolerance, kept)

    def examine(
        self, centre: Array, length: float, open_pairs: NDArray[np.bool_], last: bool
    ) -> NDArray[np.bool_]:
        """Which pairs (n, n_pairs) of these intervals do not decide yet; none at the ``last``."""
        self.n_intervals += len(centre)
        q, v = self.motion.at(centre)
        fall = self.motion.change(v, 0.5 * length) @ self.reach.T + ROUNDING_M
        rotations, positions = self.model.shape_poses(self.model.poses(q))
        bound = self.model.ball_distances(rotations, positions) - fall
        bound[~open_pairs] = np.inf
        # the most promising interval of each pair first: a small distance spares the others
        first = np.zeros_like(open_pairs)
        first[bound.argmin(axis=0), np.arange(open_pairs.shape[1])] = True
        for chosen in (first, ~first):
            wanted = chosen & open_pairs & (bound < self.enough)
            if wanted.any():
                closest = self.model.closest(rotations, positions, wanted)
                self._remember(closest, centre)
                planes = plane_distances(self.model, closest, rotations, positions)
                bound = np.where(wanted, np.maximum(bound, planes - fall), bound)
        undecided = open_pairs & (bound < self.enough) & (not last)
        done = np.where(undecided, np.inf, bound)
        self.bounds = np.minimum(self.bounds, done.min(axis=0, initial=np.inf))
        if done.size and done.min() < self.proven[0]:
            row, k = np.unravel_index(int(done.argmin()), done.shape)
            self.proven = (float(done[row, k]), int(k), float(centre[row]))
        return np.asarray(undecided)

    def _remember(self, closest: ClosestPoints, centre: Array) -> None:
        distance = closest.distance
        self.closest = np.minimum(self.closest, distance.min(axis=0))
        row, k = np.unravel_index(int(distance.argmin()), distance.shape)
        if distance[row, k] < self.found[0]:
            self.found = (float(distance[row, k]), int(k), float(centre[row]))

    def proof(self, resolution_s: float, finest_s: float) -> ClearanceProof:
        """The result."""
        names = [pair.names for pair in self.model.pairs]
        proven, found = self.proven, self.found
        return ClearanceProof(
            smallest_m=proven[0],
            pair=names[proven[1]] if proven[1] >= 0 else None,
            time_s=proven[2],
            sampled_m=found[0],
            sampled_pair=names[found[1]] if found[1] >= 0 else None,
            sampled_time_s=found[2],
            clearance_m=self.clearance,
            resolution_s=resolution_s,
            finest_s=finest_s,
            n_intervals=self.n_intervals,
            n_pairs=len(names),
            missing_m=tuple(np.maximum(self.clearance - self.bounds, 0.0).tolist()),
        )


def plane_distances(
    model: CollisionModel, closest: ClosestPoints, rotations: Array, positions: Array
) -> Array:
    """Lower bounds (n, n_pairs) of distances, by a plane across the line of closest points.

    They hold whatever the closest points are: both solids are convex, and each is on its side.
    Minus infinity where no closest points were computed.
    """
    out = np.full(closest.distance.shape, -np.inf)
    for k, pair in enumerate(model.pairs):
        rows = np.flatnonzero(closest.exact[:, k])
        if len(rows) == 0:
            continue
        normal = closest.normal[rows, k]
        size = np.linalg.norm(normal, axis=1)
        normal = normal / np.where(size > 0.0, size, 1.0)[:, None]
        ends = []
        for shape, sign in ((pair.first, 1.0), (pair.second, -1.0)):
            R, p = rotations[shape][rows], positions[shape][rows]
            own = np.einsum("nij,ni->nj", R, sign * normal)
            point = p + np.einsum("nij,nj->ni", R, model.shapes[shape].farthest(own))
            ends.append(np.einsum("ni,ni->n", normal, point))
        out[rows, k] = np.where(size > 0.5, ends[1] - ends[0], -np.inf)
    return out
