"""Noise of torques: white, and slow beside it, such as drift with temperature.

A hypothesis is judged by rows that are independent of each other. The residual of each joint is
taken as white noise and an Ornstein-Uhlenbeck process,

    cov(t, t') = sigma² (1 if t = t' else 0 + slow exp(-|t - t'| / memory_s)),

whose parameters are the most likely of a grid. One pass of its Kalman filter gives innovations,
which are white; applied to columns and torques alike it is generalised least squares.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

SLOW = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
MEMORIES_S = (0.05, 0.15, 0.5, 1.5, 5.0)
"""Variances of slow noise over those of white noise, and its time constants, that are compared."""


@dataclass(frozen=True, eq=False)
class Noise:
    """The noise of each joint's torque, see the module; arrays (n_joints,)."""

    sigma: Array
    slow: Array
    memory_s: Array


@dataclass(frozen=True, eq=False)
class Whitening:
    """The Kalman filter that makes rows independent, for the times and rows of one log.

    gain, decay, scale : (n, n_joints); rows that are not used have a scale of zero.
    """

    gain: Array
    decay: Array
    scale: Array

    def __call__(self, table: Array) -> Array:
        """Rows of a table (n, n_joints, k) in units of their noise, independent of each other."""
        out, state = np.empty_like(table), np.zeros(table.shape[1:])
        gain, decay = self.gain[:, :, None], self.decay[:, :, None]
        for i, row in enumerate(table):
            state *= decay[i]
            np.subtract(row, state, out=out[i])
            state += gain[i] * out[i]
        out *= self.scale[:, :, None]
        return out


def whitening_of(noise: Noise, time: Array, used: Mask) -> Whitening:
    """The filter for samples at these times (n,) s, of rows that are used (n, n_joints)."""
    gain, decay, spread = _filter(noise.slow, noise.memory_s, time, used)
    return Whitening(gain, decay, used / (np.sqrt(spread) * noise.sigma))


def _filter(slow: Array, memory_s: Array, time: Array, used: Mask) -> tuple[Array, Array, Array]:
    """Gain, decay and variance of the innovation, in units of sigma, each (n, *slow.shape).

    used : (n, n_joints), the last axis of ``slow``.
    """
    steps = np.diff(time, prepend=time[:1])
    decay = np.exp(-steps[(..., *[None] * slow.ndim)] / memory_s)
    gain, spread = np.empty_like(decay), np.empty_like(decay)
    variance = np.array(slow)
    for i in range(len(time)):
        variance = decay[i] ** 2 * (variance - slow) + slow
        spread[i] = variance + 1.0
        gain[i] = used[i] * variance / spread[i]
        variance = variance - gain[i] * variance
    return gain, decay, spread


def noise_of(residual: Array, time: Array, used: Mask, least: Array) -> Noise:
    """The most likely noise of residuals (n, n_joints).

    least : (n_joints,) sigma that is never gone below.
    """
    grid = [(0.0, 1.0), *((slow, memory) for slow in SLOW for memory in MEMORIES_S)]
    slow, memory = (np.repeat(np.array(one)[:, None], len(least), axis=1) for one in zip(*grid))
    gain, decay, spread = _filter(slow, memory, time, used)
    state, squares = np.zeros_like(slow), np.zeros_like(slow)
    for i, row in enumerate(residual):
        state = decay[i] * state
        innovation = row - state
        squares += used[i] * innovation**2 / spread[i]
        state += gain[i] * innovation
    count = np.maximum(used.sum(axis=0), 1)
    variance = squares / count + least**2
    logs = np.einsum("nj,ngj->gj", used.astype(float), np.log(spread))
    best = np.argmin(count * np.log(variance) + logs, axis=0), np.arange(len(least))
    return Noise(np.sqrt(variance[best]), slow[best], memory[best])
