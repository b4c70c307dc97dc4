"""Motions through points (q, v), joined by polynomials of fifth degree.

Gautier and Khalil (1992), section 5: between two points the acceleration is zero at both ends, and
the time is the shortest that keeps the limits of all joints, so that one limit of one joint is met
exactly. Positions may overshoot between points, and more so the longer a move takes; then the
points are searched for again in smaller ranges of position and speed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import SignalError, did_you_mean, listed, shown
from steelyard.excitation.extremes import Extremes
from steelyard.excitation.limits import MotionLimits
from steelyard.excitation.motions.polynomial import PolynomialTrajectory, quintic_coefficients
from steelyard.excitation.points._easy_order import easy_directions, easy_positions
from steelyard.excitation.points._interval_time import RATES, Rate, shortest_move
from steelyard.excitation.points._point_search import Progress
from steelyard.excitation.points.point_design import (
    PointDesign,
    PointSequence,
    PointSettings,
    design_points,
)
from steelyard.model.model import Model

Array = NDArray[np.float64]

ROUNDING = 1e-9
"""Limits are met up to this share, which leaves room for rounding in the proof of the bounds."""
NEXT_BUDGET = 0.25
"""Share of the budget for each search after the first, which starts from good points."""
LEAST_SHRINKING = 0.02
"""Ranges shrink by the overshoot and this share of the range: new points in the smaller range may
overshoot a little again."""
SPEED_PER_RANGE = 0.25
"""Speed limits of points shrink by this share of what ranges of position do: speeds matter more
for the condition number than positions."""
SMALLEST_SHARE = 0.05
"""Ranges are not shrunk below this share."""


@dataclass(frozen=True)
class Interval:
    """One move between two points. joint, rate : the limit that is met exactly."""

    duration_s: float
    joint: str
    rate: Rate


@dataclass(frozen=True, eq=False)
class PointMotion:
    """A motion from rest through points to rest.

    nodes : rest, the points, and rest again; those of moves without any distance or speed left out.
    intervals : one per move. extremes : bounds that hold at every time.
    """

    trajectory: PolynomialTrajectory
    nodes: PointSequence
    intervals: tuple[Interval, ...]
    extremes: Extremes

    @property
    def duration_s(self) -> float:
        """Time (s) from rest to rest."""
        return self.trajectory.duration_s


@dataclass(frozen=True, eq=False)
class ShrinkRound:
    """One search for points and the motion through them.

    position_share, velocity_share : (n_joints,) of the limits that the points were searched in.
    condition : condition number of the points.
    overshoot : (n_joints,) by how much the motion leaves each range, rad or m.
    """

    position_share: Array
    velocity_share: Array
    condition: float
    overshoot: Array


@dataclass(frozen=True, eq=False)
class PointMotionDesign:
    """Points, the motion through them within all limits, and how often ranges were shrunk."""

    design: PointDesign
    motion: PointMotion
    limits: MotionLimits
    rounds: tuple[ShrinkRound, ...]


def motion_through(
    points: PointSequence,
    limits: MotionLimits,
    rest: ArrayLike | None = None,
    *,
    end: ArrayLike | None = None,
    choose_directions: bool = False,
    idle: Sequence[str] = (),
) -> PointMotion:
    """The quickest motion of fifth-degree moves from rest through the points to rest.

    It keeps the limits of speed, acceleration and jerk; whether it keeps those of position, its
    ``extremes`` tell. rest, end : (n_joints,) where it starts and where it ends, rad or m, both at
    rest; the middle of the ranges, and the start again, when not given.

    choose_directions : whether a point may be passed with all speeds reversed, which does not
        change its energy, where that makes moves shorter or keeps them inside the ranges.
    idle : joints whose positions at the points are free: they go where their speeds carry them.
    """
    _check_points(points, limits, idle)
    start = _rest(limits, rest)
    nodes = _with_rest(points, start, start if end is None else _rest(limits, end, "end"))
    rates = (1.0 - ROUNDING) * np.stack([limits.of(rate) for rate in RATES])
    v = np.clip(nodes.v, -rates[0], rates[0])
    free = np.isin(limits.joints, list(idle))
    if choose_directions:
        v = easy_directions(nodes.q, v, limits, rates, free)
    nodes = replace(nodes, q=easy_positions(nodes.q, v, limits, rates, free))
    intervals: list[Interval] = []
    kept = [0]
    for k in range(1, len(v)):
        at = kept[-1]
        move = shortest_move(nodes.q[k] - nodes.q[at], v[at], v[k], rates)
        if move is not None:
            intervals.append(Interval(move.duration_s, limits.joints[move.joint], move.rate))
            kept.append(k)
    if not intervals:
        raise SignalError("all points are at rest where the motion starts; there is no motion")
    q, v = nodes.q[kept], v[kept]
    durations = np.array([interval.duration_s for interval in intervals])
    still = np.zeros_like(v)
    coefficients = quintic_coefficients(
        durations, np.stack([q, v, still])[:, :-1], np.stack([q, v, still])[:, 1:]
    )
    breaks = np.concatenate([[0.0], np.cumsum(durations)])
    trajectory = PolynomialTrajectory(limits.joints, breaks, coefficients)
    return PointMotion(
        trajectory, PointSequence(limits.joints, q, v), tuple(intervals), trajectory.extremes()
    )


def design_point_motion(
    model: Model,
    limits: MotionLimits,
    settings: PointSettings,
    *,
    rest: ArrayLike | None = None,
    end: ArrayLike | None = None,
    rounds: int = 12,
    row_weights: Array | None = None,
    column_scale: Array | None = None,
    progress: Progress | None = None,
) -> PointMotionDesign:
    """Points whose energy differences are well conditioned, and a motion through them that keeps
    all limits at every time.

    Points are passed in the directions, and joints without effect on the matrix are put to the
    positions, that make the motion easy. Where it still leaves a range of positions, the points
    are searched for again, from where they were, in a range that is smaller by the overshoot and
    with lower speeds. The budget is that of the first search; each of the others has a quarter of
    it. rest, end : (n_joints,) where the motion starts and ends, as for `motion_through`;
    rounds : searches at most. Other arguments are those of `design_points`.
    """
    at_rest = _rest(limits, rest)
    share = np.ones((2, len(limits.joints)))
    start = None
    done: list[ShrinkRound] = []
    searches: list[PointDesign] = []
    while len(done) < rounds:
        ranges = _shrunk(limits, share)
        design = design_points(
            model,
            ranges,
            settings
            if start is None
            else replace(settings, budget_s=NEXT_BUDGET * settings.budget_s),
            start=start,
            row_weights=row_weights,
            column_scale=column_scale,
            progress=progress,
        )
        motion = motion_through(
            design.points, limits, at_rest, end=end, choose_directions=True, idle=design.idle
        )
        outside = overshoots(motion.extremes, limits)
        done.append(ShrinkRound(share[0], share[1], design.condition, outside))
        searches.append(design)
        if not outside.any():
            return PointMotionDesign(_of_all(searches), motion, limits, tuple(done))
        less = np.where(outside > 0.0, outside / limits.half_range + LEAST_SHRINKING, 0.0)
        share = np.maximum(share - np.stack([less, SPEED_PER_RANGE * less]), SMALLEST_SHARE)
        start = _moved(design.points, ranges, _shrunk(limits, share))
    worst = int(done[-1].overshoot.argmax())
    raise SignalError(
        f"joint '{limits.joints[worst]}' still leaves its range by {outside[worst]:.3g} after "
        f"{len(done)} searches, the last in {100.0 * done[-1].position_share[worst]:.3g} % of its "
        "range; allow more rounds or larger accelerations, or a rest position farther from the "
        "limits"
    )


def _of_all(searches: list[PointDesign]) -> PointDesign:
    """The last design, with the first start and what all searches have spent."""
    return replace(
        searches[-1],
        start_value=searches[0].start_value,
        evaluations=sum(design.evaluations for design in searches),
        seconds=sum(design.seconds for design in searches),
        cut_short=any(design.cut_short for design in searches),
    )


def overshoots(extremes: Extremes, limits: MotionLimits) -> Array:
    """By how much (n_joints,) a motion leaves the range of each joint, rad or m."""
    outside = np.maximum(limits.lower - extremes.lower, extremes.upper - limits.upper)
    return np.asarray(np.maximum(outside, 0.0))


def _shrunk(limits: MotionLimits, share: Array) -> MotionLimits:
    """Smaller ranges of position and speed, shares (2, n_joints); other limits do not bind
    points.
    """
    half = share[0] * limits.half_range
    return replace(
        limits,
        lower=limits.middle - half,
        upper=limits.middle + half,
        velocity=share[1] * limits.velocity,
    )


def _moved(points: PointSequence, old: MotionLimits, new: MotionLimits) -> PointSequence:
    """Points at the same places of other ranges."""
    return replace(
        points,
        q=new.middle + (points.q - old.middle) * new.half_range / old.half_range,
        v=points.v * new.velocity / old.velocity,
    )


def _rest(limits: MotionLimits, rest: ArrayLike | None, what: str = "rest") -> Array:
    if rest is None:
        return limits.middle
    at = np.asarray(rest, dtype=float)
    if at.shape != limits.lower.shape:
        raise SignalError(
            f"the {what} position has shape {at.shape}; it needs one value for each of "
            f"{listed(limits.joints)}"
        )
    for joint, value, low, high in zip(limits.joints, at, limits.lower, limits.upper, strict=True):
        if not low < value < high:
            raise SignalError(
                f"the {what} position of joint '{joint}' is {value:g}, which is not between its "
                f"limits {low:g} and {high:g}"
            )
    return at


def _check_points(points: PointSequence, limits: MotionLimits, idle: Sequence[str]) -> None:
    if points.joints != limits.joints:
        raise SignalError(
            f"the points are those of {listed(points.joints)}, the limits those of "
            f"{listed(limits.joints)}"
        )
    for joint in idle:
        if joint not in limits.joints:
            raise SignalError(
                f"there is no joint {shown(joint)}{did_you_mean(joint, limits.joints)}; the joints "
                f"are {listed(limits.joints)}"
            )
    _refuse_first(
        ~np.isfinite(limits.acceleration),
        limits.joints,
        "has no acceleration limit, so that no shortest move exists; give one",
    )
    too_fast = np.abs(points.v).max(axis=0) > limits.velocity * (1.0 + ROUNDING)
    _refuse_first(too_fast, limits.joints, "is faster at a point than its speed limit allows")


def _refuse_first(wrong: Any, joints: Sequence[str], what: str) -> None:
    if wrong.any():
        raise SignalError(f"joint '{joints[int(wrong.argmax())]}' {what}")


def _with_rest(points: PointSequence, start: Array, end: Array) -> PointSequence:
    still = np.zeros((1, len(points.joints)))
    return PointSequence(
        points.joints,
        np.concatenate([start[None], points.q, end[None]]),
        np.concatenate([still, points.v, still]),
    )
