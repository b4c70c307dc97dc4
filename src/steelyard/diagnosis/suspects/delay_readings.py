"""Readings in time: torques that are late, filtered, or on a clock of another rate; and friction
that looks so.

A torque that is late by d reads tau(t + d); the regressor stays, so that all delays are evaluated
from products with shifted torques. A torque behind a first-order filter of time constant T reads
tau + T dtau/dt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.suspects.evidence import (
    FIRST_ERROR,
    INDEPENDENT,
    Fit,
    Moments,
    Samples,
    fit_of,
    fitted,
    moments,
    rows_of,
    solver_of,
    term_columns,
)
from steelyard.diagnosis.suspects.intervals import SCREENED, Screen, only, torque_slopes
from steelyard.diagnosis.suspects.reading import Reading
from steelyard.diagnosis.suspects.torque_readings import lowest
from steelyard.signals.cubic_spline import cubic_spline

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]

LONGEST_S = 0.12
"""Delays up to this are looked for first."""
FAR_S, FAR_STEP_S = 6.0, 0.04
"""Delays up to this, in such steps, where torques and motion hardly fit."""
LEAST_S = 3e-4
FAR_SHARE, FAR_SAMPLES = 0.3, 800
"""Far delays are at most this share of the log; samples of the motion that they are tried on."""
FAST, FAST_MARGIN = 0.5, 50.0
"""A delay has to explain a log better by this much with samples of joints faster than this share
of their rms speed alone."""
SHORTER = (0.5, 0.75)
"""Shares of a delay that are tried with these samples, too."""
LONG_S, LONG_MARGIN = 5e-3, 20.0
"""The same for delays of all joints that are longer than this: friction hardly looks so late."""
TRAVEL, TRAVEL_COST = "friction-travel", 30.0
"""The reading that friction follows over a travel, and its cost: every joint has its own."""
DRIFTS = (3e-4, 6e-4, 1e-3, 2e-3, 3e-3, 5e-3, 8e-3, 0.012)
"""Shares by which one clock may be faster."""


class Shifted:
    """Products of the regressor with torques at other times."""

    def __init__(self, samples: Samples, W: Array, given: Moments) -> None:
        self.samples, self.W, self.given = samples, W, given
        self.spline = cubic_spline(samples.time, samples.tau)
        self.ends = samples.time[0], samples.time[-1]
        self.found: dict[float, tuple[Array, Array]] = {}

    def tau_at(self, time: Array) -> Array:
        """Torques (n, n_joints) at these times, those of the ends beyond them."""
        return self.spline(np.clip(time, *self.ends))

    def products(self, tau: Array) -> tuple[Array, Array]:
        """C (n_joints, p) and S (n_joints,) of other torques in the place of the log's."""
        C = np.array([self.W[:, i].T @ tau[:, i] for i in range(tau.shape[1])])
        return C, np.sum(self.samples.moving * tau**2, axis=0)

    def late(self, delay: float) -> tuple[Array, Array]:
        """The products of torques that are this late (s)."""
        if delay not in self.found:
            self.found[delay] = self.products(self.tau_at(self.samples.time + delay))
        return self.found[delay]

    def fit_all(self, delay: float) -> Fit:
        """All torques are this late."""
        return fitted(self.given, *self.late(delay))

    def fit_one(self, joint: int, delay: float) -> Fit:
        """One torque is this late."""
        C, S = (one.copy() for one in self.late(0.0))
        late_C, late_S = self.late(delay)
        C[joint], S[joint] = late_C[joint], late_S[joint]
        return fitted(self.given, C, S)


def delay_readings(shifted: Shifted, least_s: float, screen: Screen | None) -> list[Reading]:
    """All torques late, and the torque of one joint late.

    least_s : delays below this do not matter. screen : where small delays alone are possible, only
    those are looked at closely that it finds.
    """
    names = shifted.given.model.channels
    half = LONGEST_S * np.array([0.05, 0.2, 0.5, 1.0])
    grid = np.concatenate([-half[::-1], [0.0], half])
    out = []
    slopes = np.zeros(0) if screen is None else torque_slopes(shifted.samples)

    def possible(joint: int | None) -> bool:
        if screen is None:
            return True
        column = slopes if joint is None else only(slopes, joint)
        return screen.gain(column)[0] > SCREENED

    best = lowest(shifted.fit_all, grid, least_s) if possible(None) else 0.0
    if abs(best) >= least_s:
        out.append(Reading("delay", (), best, "s", shifted.fit_all(best), late_mended(best), 10.0))
    for k, name in enumerate(names):

        def at(delay: float, k: int = k) -> Fit:
            return shifted.fit_one(k, delay)

        best = lowest(at, grid, least_s) if possible(k) else 0.0
        if abs(best) >= least_s:
            out.append(Reading("delay", (name,), best, "s", at(best), late_mended(best, k), 20.0))
    return out


def late_mended(delay: float, joint: int | None = None) -> Callable[[Samples], Samples]:
    """Takes a delay (s) out of all torques, or out of that of one joint."""

    def mended(samples: Samples) -> Samples:
        spline = cubic_spline(samples.time, samples.tau)
        tau = spline(np.clip(samples.time + delay, samples.time[0], samples.time[-1]))
        if joint is not None:
            tau = np.where(np.arange(tau.shape[1]) == joint, tau, samples.tau)
        return replace(samples, tau=tau)

    return mended


def lags_in_motion(reading: Reading, samples: Samples) -> bool:
    """Whether late or filtered torques show away from where joints turn back.

    Friction there follows over a small angle, or a joint sticks for a while: beside friction that
    jumps this looks like a delay, but it is none.
    """
    rms = np.sqrt(np.mean(samples.v**2, axis=0))
    fast = replace(samples, moving=np.abs(samples.v) > FAST * rms)
    ways = [reading.mended]
    if reading.code == "delay":
        joint = samples.model.channels.index(reading.joints[0]) if reading.joints else None
        # friction that is late, too, makes a delay seem longer
        ways += [late_mended(share * reading.size, joint) for share in SHORTER]
    given, *read = (fit_of(moments(one)).score for one in (fast, *(way(fast) for way in ways)))
    long = reading.code == "delay" and not reading.joints and abs(reading.size) > LONG_S
    return given - min(read) >= (LONG_MARGIN if long else FAST_MARGIN) + reading.cost


def filter_readings(shifted: Shifted) -> list[Reading]:
    """All torques behind a first-order filter."""
    slope = shifted.spline.slopes
    tau = shifted.samples.tau

    def at(log_constant: float) -> Fit:
        return fitted(shifted.given, *shifted.products(tau + np.exp(log_constant) * slope))

    best = lowest(at, np.log([0.003, 0.006, 0.012, 0.025, 0.05, 0.1, 0.2]))
    constant = float(np.exp(best))

    def mended(samples: Samples) -> Samples:
        derivative = cubic_spline(samples.time, samples.tau).slopes
        return replace(samples, tau=samples.tau + constant * derivative)

    cutoff = 1.0 / (2.0 * np.pi * constant)
    return [Reading("torque-filtered", (), cutoff, "Hz", at(best), mended, 30.0)]


def drift_readings(shifted: Shifted) -> list[Reading]:
    """The clock of all torques is faster or slower than that of the positions."""
    time = shifted.samples.time

    def tau_of(share: float, start: float) -> Array:
        return shifted.tau_at(time - share * (time - time[0]) - start)

    def at(share: float) -> Fit:
        return fitted(shifted.given, *shifted.products(tau_of(share, 0.0)))

    shares = np.array(DRIFTS)
    best = lowest(at, np.concatenate([-shares[::-1], shares]))

    def mended(samples: Samples) -> Samples:
        spline = cubic_spline(samples.time, samples.tau)
        when = samples.time - best * (samples.time - samples.time[0])
        return replace(samples, tau=spline(np.clip(when, samples.time[0], samples.time[-1])))

    return [Reading("clock-drift", (), best, "share", at(best), mended, 20.0)]


def far_delay(samples: Samples, W: Array) -> list[Reading]:
    """All torques late or early by much more than any bus delays them.

    The motion in the middle of the log is compared with torques before and after it: its products
    are the same for every delay. The best delay is then fitted to all samples that torque and
    motion have in common.
    """
    steps = np.diff(samples.time)
    step = float(np.median(steps))
    if steps.max() > 10.0 * step:
        return []  # of stretches of a long log
    n = len(samples.time)
    most = min(round(FAR_S / step), round(FAR_SHARE * n))
    apart = max(1, round(FAR_STEP_S / step))
    lags = np.arange(-(most // apart), most // apart + 1) * apart
    if len(lags) < 3:
        return []
    middle = np.arange(most, n - most, max(1, (n - 2 * most) // FAR_SAMPLES))
    given = moments(rows_of(samples, middle), W[middle])
    size = np.sqrt(np.mean(samples.tau**2, axis=0)) + 1e-12
    fit = fit_of(given)
    weights = np.sqrt(INDEPENDENT / given.counts) / (size * FIRST_ERROR)
    D = fit.spread
    H = np.tensordot(weights**2, given.G, axes=1) * D[:, None] * D + np.eye(len(D))
    solve = solver_of(H)
    pulled = given.G @ given.theta
    scores = []
    for lag in lags:
        tau = samples.tau[middle + lag]
        C = np.array([W[middle, i].T @ tau[:, i] for i in range(tau.shape[1])])
        theta = given.theta + D * solve(D * (weights**2 @ (C - pulled)))
        squares = np.sum(samples.moving[middle] * tau**2, axis=0) - 2.0 * C @ theta
        squares += (given.G @ theta) @ theta
        scores.append(float(np.sum(squares / given.counts / size**2)))
    rows = int(lags[int(np.argmin(scores))])
    if abs(rows) * step < LONGEST_S:
        return []
    cut, rows_of_motion = _overlap(samples, rows)
    fit = fit_of(moments(cut, W[rows_of_motion]))
    return [Reading("delay", (), rows * step, "s", fit, lambda one: _overlap(one, rows)[0], 30.0)]


def _overlap(samples: Samples, rows: int) -> tuple[Samples, slice]:
    """Motion with the torques of this many rows later, and the rows of that motion."""
    n = len(samples.time)
    motion = slice(0, n - rows) if rows >= 0 else slice(-rows, n)
    torque = slice(rows, n) if rows >= 0 else slice(0, n + rows)
    return replace(rows_of(samples, motion), tau=samples.tau[torque]), motion


def travel_readings(samples: Samples, W: Array) -> list[Reading]:
    """Friction that follows a change of direction over a travel, at every joint the one of
    ``slower`` that explains its torque best.

    It is no fault of a log, but beside friction that jumps it looks like torques that are late, or
    went through a filter. W : of the samples, with friction that jumps.
    """
    columns = term_columns(samples.model)[:, 2]
    jumps, errors = [samples.jump], [fit_of(moments(samples, W)).error]
    for jump in samples.slower:
        rows = W.copy()
        for i, column in enumerate(columns):
            rows[:, i, column] = jump[:, i] * samples.moving[:, i]
        jumps.append(jump)
        errors.append(fit_of(moments(samples, rows)).error)
    best = np.argmin(errors, axis=0)
    if not best.any():
        return []
    mended = _with_friction(np.column_stack([jumps[k][:, i] for i, k in enumerate(best)]))
    fit = fit_of(moments(mended(samples)))
    return [Reading(TRAVEL, (), float(np.median(best)), "", fit, mended, TRAVEL_COST)]


def _with_friction(jump: Array) -> Callable[[Samples], Samples]:
    def mended(samples: Samples) -> Samples:
        return replace(samples, jump=jump, slower=())

    return mended
