"""A periodic motion made ready to run: from rest, a whole number of periods, to rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import SignalError
from steelyard.excitation.limits import MotionLimits
from steelyard.excitation.motions.fourier import FourierTrajectory
from steelyard.excitation.motions.joint_moves import later_start
from steelyard.excitation.motions.leads import lead_in
from steelyard.excitation.motions.polynomial import PolynomialTrajectory
from steelyard.excitation.motions.rest_poses import pose_within
from steelyard.excitation.motions.sequence import SequenceTrajectory
from steelyard.excitation.motions.shortest_move import LimitUse
from steelyard.excitation.trajectory import Trajectory

Array = NDArray[np.float64]

PHASES = (16, 64)
"""Numbers of times of a period at which a run may begin, if it cannot at time 0; the second only
if none of the first will do."""

CLEARLY = 1e-3
"""Bounds on sums of sines may be above their values, by less than this share."""


def periodic_run(
    fourier: FourierTrajectory,
    limits: MotionLimits,
    *,
    periods: int = 1,
    start: ArrayLike | None = None,
    end: ArrayLike | None = None,
) -> SequenceTrajectory:
    """The motion from rest, for a whole number of periods, and to rest again.

    A polynomial of fifth degree leads each joint from rest at `start` (n_joints,) rad or m into
    the motion, with continuous position, velocity and acceleration; another one leads to rest at
    `end`. Each takes the shortest time that the limits allow, by proven bounds (see
    `steelyard.excitation.motions.shortest_move`); joints that need less begin later, or end sooner.
    Without `start` or `end` each joint rests where its lead is shortest. A joint that cannot keep
    its limits in one move first goes to such a rest; if that does not help either, the periods
    begin at another time of the motion. A pose on a position limit is moved inside by 2e-9 of half
    the range, which is for rounding.
    """
    refusals: list[tuple[LimitUse, str]] = []
    for run in periodic_runs(
        fourier, limits, periods=periods, start=start, end=end, refusals=refusals
    ):
        return run
    use, what = min(refusals, key=lambda refusal: refusal[0].share)
    raise SignalError(
        f"no {what} keeps the limits: joint '{use.joint}' needs {100.0 * use.share:.6g} % of its "
        f"{use.measure} limit at best, wherever the periods begin; make the motion smaller or "
        "slower, or widen that limit"
    )


def periodic_runs(
    fourier: FourierTrajectory,
    limits: MotionLimits,
    *,
    periods: int = 1,
    start: ArrayLike | None = None,
    end: ArrayLike | None = None,
    lead_share: float = 1.0,
    refusals: list[tuple[LimitUse, str]] | None = None,
) -> Iterator[SequenceTrajectory]:
    """Runs as `periodic_run` gives, one for each time of the motion at which the periods may
    begin, made when asked for.

    lead_share : share of the limits of speed, acceleration and jerk that the leads may use, or
        what the motion has at its beginning, if that is more. refusals : gets the limits that the
        leads of other times do not keep.
    """
    if periods < 1:
        raise SignalError(f"a run of {periods} periods; there must be at least 1")
    limits = limits.of_joints(fourier.joints)
    first = None if start is None else pose_within(start, limits, "start")
    final = None if end is None else pose_within(end, limits, "end")
    for phase_s in _phases(fourier, limits):
        state = np.stack([fourier.derivative([phase_s], order)[0] for order in range(3)])
        gentle = _gentle(limits, state, lead_share)
        before = lead_in(state, first, gentle)
        if isinstance(before, LimitUse):
            if refusals is not None:
                refusals.append((before, "lead-in"))
            continue
        # run backwards in time, a lead-out is a lead-in to the state with the opposite speed
        after = lead_in(state * np.array([[1.0], [-1.0], [1.0]]), final, gentle)
        if isinstance(after, LimitUse):
            if refusals is not None:
                refusals.append((after, "lead-out"))
            continue
        yield _run(fourier, float(phase_s), periods, before, after)


def _gentle(limits: MotionLimits, state: Array, share: float) -> MotionLimits:
    """Limits of a lead into a state (3, n_joints) that uses this share of speed and more."""
    limits = replace(limits, jerk=limits.gentle_jerk)
    if share == 1.0:
        return limits

    def reduced(limit: Array, at_least: Array) -> Array:
        return np.minimum(limit, np.maximum(share * limit, 1.2 * np.abs(at_least)))

    return replace(
        limits,
        velocity=reduced(limits.velocity, state[1]),
        acceleration=reduced(limits.acceleration, state[2]),
    )


def _run(
    fourier: FourierTrajectory,
    phase_s: float,
    periods: int,
    before: PolynomialTrajectory | None,
    after: PolynomialTrajectory | None,
) -> SequenceTrajectory:
    parts: list[Trajectory] = [fourier]
    durations, starts = [periods * fourier.period_s], [phase_s]
    if before is not None:
        parts, durations, starts = (
            [before, *parts],
            [before.duration_s, *durations],
            [0.0, *starts],
        )
    if after is not None:
        parts, durations, starts = (
            [*parts, _reversed(after)],
            [*durations, after.duration_s],
            [*starts, 0.0],
        )
    run = SequenceTrajectory(tuple(parts), tuple(durations), tuple(starts))
    run.check_smooth()
    return run


def _check_motion(fourier: FourierTrajectory, limits: MotionLimits) -> None:
    """Refuse a motion that is clearly outside its limits, into which no lead can go."""
    found = fourier.extremes()
    middle, half = limits.middle, limits.half_range
    shares = {
        "position": np.maximum(found.upper - middle, middle - found.lower) / half,
        "velocity": found.velocity / limits.velocity,
        "acceleration": found.acceleration / limits.acceleration,
    }
    for name, share in shares.items():
        worst = int(share.argmax())
        if share[worst] > 1.0 + CLEARLY:
            raise SignalError(
                f"the motion needs {100.0 * share[worst]:.4g} % of the {name} limit of joint "
                f"'{limits.joints[worst]}'; make it smaller or slower, or widen that limit"
            )


def _phases(fourier: FourierTrajectory, limits: MotionLimits) -> Array:
    """Times (s) at which the periods may begin: 0, then others from the gentlest on; there are none
    for a motion outside its limits, which is refused.
    """
    _check_motion(fourier, limits)
    tried = [np.zeros(1)]
    for n_times in PHASES:
        times = np.setdiff1d(np.arange(n_times) * fourier.period_s / n_times, np.concatenate(tried))
        effort = np.maximum(
            (np.abs(fourier.derivative(times, 1)) / limits.velocity).max(axis=1),
            (np.abs(fourier.derivative(times, 2)) / limits.acceleration).max(axis=1),
        )
        tried.append(times[np.argsort(effort, kind="stable")])
    return np.concatenate(tried)


def _reversed(motion: PolynomialTrajectory) -> PolynomialTrajectory:
    """The same motion backwards in time."""
    lengths = np.diff(motion.breaks)
    signs = (-1.0) ** np.arange(motion.degree + 1)
    rows = np.stack(
        [
            later_start(motion.coefficients[:, j], lengths) * signs
            for j in range(len(motion.joints))
        ],
        axis=1,
    )
    breaks = np.concatenate([[0.0], np.cumsum(lengths[::-1])])
    return PolynomialTrajectory(motion.joints, breaks, rows[::-1])
