"""Readings in time: torques that are late, filtered, or on a clock of another rate.

A torque that is late by d reads tau(t + d); the regressor stays, so that all delays are evaluated
from products with shifted torques. A torque behind a first-order filter of time constant T reads
tau + T dtau/dt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from steelyard.diagnosis.suspects.evidence import (
    Fit,
    Moments,
    Samples,
    every,
    fit_of,
    fitted,
    moments,
)
from steelyard.diagnosis.suspects.reading import Reading
from steelyard.diagnosis.suspects.torque_readings import lowest

Array = NDArray[np.float64]

LONGEST_S = 0.12
"""Delays up to this are looked for first."""
FAR_S, FAR_STEP_S = 6.0, 0.04
"""Delays up to this, in such steps, where torques and motion hardly fit."""
LEAST_S = 3e-4
FAR_THINNED = 4
"""Every fourth sample is used there."""
FAST, FAST_MARGIN = 0.5, 50.0
"""A delay has to explain a log better by this much with samples of joints faster than this share
of their rms speed alone."""
DRIFTS = (3e-4, 6e-4, 1e-3, 2e-3, 3e-3, 5e-3, 8e-3, 0.012)
"""Shares by which one clock may be faster."""


class Shifted:
    """Products of the regressor with torques at other times."""

    def __init__(self, samples: Samples, W: Array, given: Moments) -> None:
        self.samples, self.W, self.given = samples, W, given
        self.spline = CubicSpline(samples.time, samples.tau)
        self.ends = samples.time[0], samples.time[-1]
        self.found: dict[float, tuple[Array, Array]] = {}

    def tau_at(self, time: Array) -> Array:
        """Torques (n, n_joints) at these times, those of the ends beyond them."""
        return np.asarray(self.spline(np.clip(time, *self.ends)))

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


def delay_readings(shifted: Shifted, least_s: float) -> list[Reading]:
    """All torques late, and the torque of one joint late.

    least_s : delays below this do not matter.
    """
    names = shifted.given.model.channels
    half = LONGEST_S * np.array([0.05, 0.2, 0.5, 1.0])
    grid = np.concatenate([-half[::-1], [0.0], half])
    out = []
    best = lowest(shifted.fit_all, grid, least_s)
    if abs(best) >= least_s:
        out.append(Reading("delay", (), best, "s", shifted.fit_all(best), late_mended(best), 10.0))
    for k, name in enumerate(names):

        def at(delay: float, k: int = k) -> Fit:
            return shifted.fit_one(k, delay)

        best = lowest(at, grid, least_s)
        if abs(best) >= least_s:
            out.append(Reading("delay", (name,), best, "s", at(best), late_mended(best, k), 20.0))
    return out


def late_mended(delay: float, joint: int | None = None) -> Callable[[Samples], Samples]:
    """Takes a delay (s) out of all torques, or out of that of one joint."""

    def mended(samples: Samples) -> Samples:
        spline = CubicSpline(samples.time, samples.tau)
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
    given, read = (fit_of(moments(one)).score for one in (fast, reading.mended(fast)))
    return given - read >= FAST_MARGIN + reading.cost


def filter_readings(shifted: Shifted) -> list[Reading]:
    """All torques behind a first-order filter."""
    slope = np.asarray(shifted.spline(shifted.samples.time, 1))
    tau = shifted.samples.tau

    def at(log_constant: float) -> Fit:
        return fitted(shifted.given, *shifted.products(tau + np.exp(log_constant) * slope))

    best = lowest(at, np.log([0.003, 0.006, 0.012, 0.025, 0.05, 0.1, 0.2]))
    constant = float(np.exp(best))

    def mended(samples: Samples) -> Samples:
        derivative = CubicSpline(samples.time, samples.tau)(samples.time, 1)
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
        spline = CubicSpline(samples.time, samples.tau)
        when = samples.time - best * (samples.time - samples.time[0])
        return replace(samples, tau=spline(np.clip(when, samples.time[0], samples.time[-1])))

    return [Reading("clock-drift", (), best, "share", at(best), mended, 20.0)]


def far_delay(samples: Samples, W: Array) -> list[Reading]:
    """All torques late or early by much more than any bus delays them.

    The samples that torque and motion have in common are compared.
    """
    step = float(np.median(np.diff(samples.time)))
    n = len(samples.time)
    best: tuple[float, int] | None = None
    for rows in range(
        -round(FAR_S / step), round(FAR_S / step) + 1, max(1, round(FAR_STEP_S / step))
    ):
        if n - abs(rows) < n // 2:
            continue
        cut, rows_of_motion = _overlap(samples, rows)
        fit = _fit_of_overlap(cut, W[rows_of_motion], step=FAR_THINNED)
        if best is None or fit.score < best[0]:
            best = fit.score, rows
    if best is None or abs(best[1]) * step < LONGEST_S:
        return []
    rows = best[1]
    cut, rows_of_motion = _overlap(samples, rows)
    fit = _fit_of_overlap(cut, W[rows_of_motion])
    return [Reading("delay", (), rows * step, "s", fit, lambda one: _overlap(one, rows)[0], 30.0)]


def _overlap(samples: Samples, rows: int) -> tuple[Samples, slice]:
    """Motion with the torques of this many rows later, and the rows of that motion."""
    n = len(samples.time)
    motion = slice(0, n - rows) if rows >= 0 else slice(-rows, n)
    torque = slice(rows, n) if rows >= 0 else slice(0, n + rows)
    kept = {
        name: getattr(samples, name)[motion] for name in ("time", "q", "v", "a", "jump", "moving")
    }
    return replace(samples, tau=samples.tau[torque], **kept), motion


def _fit_of_overlap(cut: Samples, W: Array, step: int = 1) -> Fit:
    return fit_of(moments(every(cut, step), W[::step]))
