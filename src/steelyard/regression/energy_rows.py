"""Rows of energy or mean power: one for each interval of time (Gautier and Khalil 1992, eqs 1-10).

Over an interval from t_a to t_b the joint torques do the work

    ∫ tauᵀ v dt = [h(q_b, v_b) - h(q_a, v_a)] theta + Σ_k theta_k ∫ law_k(s_k) s_k dt,

with the energy h theta of the bodies and drive inertias, and for every other term its law times its
speed s = d·v: ∫ s² dt for viscous friction, ∫ |s| dt for Coulomb friction, d·Δq for an offset.
Accelerations do not occur. A row of power is the same, divided by t_b - t_a.

Intervals follow one another. Each has an even number of steps of the time base and ends at the
first sample at which it is long enough. Integrals are by Simpson's rule on the samples, of order 4:
each pair of steps is integrated by the parabola through its three samples. The work of the torques
and that of friction are integrated alike, so that the kink of |s| at a reversal gives both the same
error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.model.base_map import BaseMap
from steelyard.model.energy import energy_regressor
from steelyard.model.model import Model
from steelyard.regression.equation import Equation
from steelyard.regression.regression import RowGroup
from steelyard.regression.row_maker import Parts
from steelyard.signals.motion import Motion

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]

AT_REST = 1e-9
"""Speed (rad/s or m/s) up to which a joint does no work, so that its torque may be missing."""
HOLE = 3.0
"""A step of more than this many times the smallest step of its interval, or the length that the
interval should have, is a hole."""
ROUNDING = 1e-6
"""Share of its length that an interval may be too short, for rounded time stamps."""


def energy_groups(equation: Equation, base: BaseMap) -> tuple[RowGroup, ...]:
    """One group, on which all base parameters act."""
    return (RowGroup(equation.name, tuple(range(base.rank))),)


@dataclass(frozen=True, eq=False)
class _Samples:
    """Samples of one run of which the intervals are not complete yet.

    work : (n_terms + 1, n_samples) W, of each term per unit of its parameter, and of the torques.
    missing : (n_samples,) whether the torque of a moving joint is missing.
    """

    time: Array
    q: Array
    v: Array
    work: Array
    missing: NDArray[np.bool_]

    def after(self, earlier: _Samples | None) -> _Samples:
        """These samples behind earlier ones."""
        if earlier is None:
            return self
        return _Samples(
            np.concatenate([earlier.time, self.time]),
            np.concatenate([earlier.q, self.q]),
            np.concatenate([earlier.v, self.v]),
            np.concatenate([earlier.work, self.work], axis=1),
            np.concatenate([earlier.missing, self.missing]),
        )

    def since(self, first: int) -> _Samples:
        """A copy of the samples from this one on."""
        return _Samples(
            self.time[first:].copy(),
            self.q[first:].copy(),
            self.v[first:].copy(),
            self.work[:, first:].copy(),
            self.missing[first:].copy(),
        )


class EnergyRows:
    """Makes rows of energy or power; see `steelyard.regression.row_maker.RowMaker`."""

    extra: tuple[str, ...] = ()
    needs_acceleration = False

    def __init__(self, model: Model, base: BaseMap, equation: Equation) -> None:
        assert equation.interval_s is not None
        self.model, self.base, self.equation = model, base, equation
        self.interval_s = equation.interval_s
        self.groups = energy_groups(equation, base)
        self.waiting: dict[str, _Samples] = {}
        self.n_samples, self.n_missing = 0, 0

    def take(self, motion: Motion, tau: Array) -> tuple[Array, Callable[[slice], Parts]]:
        """The intervals that are complete; the samples of the last one wait for the next chunk."""
        moving = np.abs(motion.v) > AT_REST
        unknown = np.isnan(tau)
        missing = np.any(unknown & moving, axis=1)
        # entry by entry, so that the sum does not depend on the number of samples
        power = np.sum(np.where(unknown, 0.0, tau) * motion.v, axis=1)
        q = motion.q[:, -self.model.nv :]
        terms = self.model.term_arrays.powers(motion.v, motion.friction, q)
        new = _Samples(motion.time, motion.q, motion.v, np.vstack([terms, power]), missing)
        self.n_samples += len(missing)
        self.n_missing += int(np.count_nonzero(missing))
        samples = new.after(self.waiting.get(motion.run))
        starts, ends, rest = intervals(samples.time, samples.missing, self.interval_s)
        self.waiting[motion.run] = samples.since(rest)
        time, q, v = samples.time, samples.q, samples.v
        integrals = np.ascontiguousarray(simpson(time, samples.work, starts, ends).T)

        def part(rows: slice) -> Parts:
            """q and v at start and end, the integrals (n, n_terms + 1) and the length (n,) s."""
            a, b = starts[rows], ends[rows]
            return q[a], v[a], q[b], v[b], integrals[rows], time[b] - time[a]

        return time[starts], part

    def tables(self, parts: Parts, filtered: tuple[str, ...]) -> list[Array]:
        """[W y] of the intervals."""
        q_a, v_a, q_b, v_b, integrals, length = parts
        h = energy_regressor(self.model, q_b, v_b) - energy_regressor(self.model, q_a, v_a)
        h[:, self.model.term_arrays.column] += integrals[:, :-1]
        rows = np.column_stack([h[:, list(self.base.independent)], integrals[:, -1]])
        if self.equation.name == "power":
            rows /= length[:, None]
        return [np.ascontiguousarray(rows.T)]

    def why_none(self) -> str:
        """Why there is no interval."""
        what = f"no interval of {self.interval_s:g} s is complete"
        if self.n_samples == 0:
            return "there are no samples to compress"
        if self.n_missing:
            return (
                f"{what}: at {self.n_missing} of {self.n_samples} samples the torque of a moving "
                "joint is missing; choose a shorter interval_s, or record all torques"
            )
        return (
            f"{what}: the runs have {self.n_samples} samples, and an interval needs at least three "
            "without a hole; choose an interval_s from the sample period to a small part of the "
            "run, or record longer"
        )


def intervals(
    time: Array, missing: NDArray[np.bool_], interval_s: float
) -> tuple[IntArray, IntArray, int]:
    """First and last sample (n,) of each complete interval, and the sample where the next starts.

    time : (n_samples,) s. missing : (n_samples,) samples that no interval may contain. Where one is
    in the way, or a hole, the next interval starts behind it: nothing is bridged.
    """
    starts: list[int] = []
    ends: list[int] = []
    first, n = 0, len(time)
    next_missing = _next_of(missing)
    enough = interval_s * (1.0 - ROUNDING)
    while first < n:
        end = max(first + 2, int(np.searchsorted(time, time[first] + enough)))
        end += (end - first) % 2
        gone = int(next_missing[first])
        if gone <= min(end, n - 1):
            first = gone + 1
            continue
        if end >= n:
            break
        steps = np.diff(time[first : end + 1])
        wide = steps > HOLE * min(steps.min(), interval_s)
        if wide.any():
            first += int(np.argmax(wide)) + 1
            continue
        starts.append(first)
        ends.append(end)
        first = end
    return np.array(starts, dtype=np.int64), np.array(ends, dtype=np.int64), first


def _next_of(marked: NDArray[np.bool_]) -> IntArray:
    """The marked sample (n_samples,) at or after each one; n_samples where there is none."""
    n = len(marked)
    places = np.where(marked, np.arange(n), n)
    return np.asarray(np.minimum.accumulate(places[::-1])[::-1])


def simpson(time: Array, values: Array, starts: IntArray, ends: IntArray) -> Array:
    """Integrals (n_signals, n_intervals) of values (n_signals, n_samples) over intervals with an
    even number of steps, by Simpson's rule; steps may differ.
    """
    if len(starts) == 0:
        return np.zeros((len(values), 0))
    n_pairs = (ends - starts) // 2
    first_pair = np.cumsum(n_pairs) - n_pairs
    within = np.arange(n_pairs.sum()) - np.repeat(first_pair, n_pairs)
    p = np.repeat(starts, n_pairs) + 2 * within
    one, two = time[p + 1] - time[p], time[p + 2] - time[p + 1]
    share = (one + two) / 6.0
    areas = (
        share * (2.0 - two / one) * values[:, p]
        + share * (one + two) ** 2 / (one * two) * values[:, p + 1]
        + share * (2.0 - one / two) * values[:, p + 2]
    )
    return np.asarray(np.add.reduceat(areas, first_pair, axis=1))
