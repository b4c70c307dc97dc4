"""Intervals of small perturbations: delays, gains, offsets.

A perturbation is a column c beside the model's. With the model's columns taken out of c and of the
residual r, its size is c·r / c·c; the interval comes from the spread of the sums of c (r - size c)
over blocks of time, so that correlated residuals count as what they are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.suspects.evidence import Fit, Samples, solver_of
from steelyard.signals.cubic_spline import cubic_spline

Array = NDArray[np.float64]

BLOCKS = 20
SCREENED = 5.0
"""Gain of the score below which a small perturbation is not looked at closely."""


def perturbation(samples: Samples, W: Array, fit: Fit, column: Array) -> tuple[float, float]:
    """Size and half width of its 95 % interval, of a column (n, n_joints) beside the model's."""
    c, residual = _beside_the_model(samples, W, fit, column)
    square = float(np.sum(c * c))
    if square <= 0.0:
        return 0.0, float("inf")
    size = float(np.sum(c * residual)) / square
    left = c * (residual - size * c)
    sums = [block.sum() for block in np.array_split(left, BLOCKS)]
    spread = float(np.sqrt(np.sum(np.square(sums)) * BLOCKS / (BLOCKS - 1))) / square
    from scipy.special import stdtrit  # quantile of Student's t; scipy.stats takes long to load

    return size, float(stdtrit(BLOCKS - 1, 0.975)) * spread


def sizes_by_part(samples: Samples, W: Array, fit: Fit, column: Array, n_parts: int) -> Array:
    """The size of the same column in each of some parts (n_parts,) of the log."""
    c, residual = _beside_the_model(samples, W, fit, column)
    products, squares = (
        np.array([part.sum() for part in np.array_split(one, n_parts)])
        for one in (c * residual, c * c)
    )
    return np.asarray(products / np.maximum(squares, 1e-300))


def _beside_the_model(samples: Samples, W: Array, fit: Fit, column: Array) -> tuple[Array, Array]:
    """What the model does not explain of a column and of the torques, (n, n_joints), weighted."""
    weights, moving = fit.weights, samples.moving
    A = W * weights[:, None] * fit.spread
    A = A.reshape(-1, A.shape[2])
    residual = (samples.tau * moving - W @ fit.theta) * weights
    c = (column * moving * weights).ravel()
    c = c - A @ solver_of(fit.H)(A.T @ c)
    return c.reshape(moving.shape), residual


class Screen:
    """What columns beside the model's would gain, to first order: one product with W for each."""

    def __init__(self, samples: Samples, W: Array, fit: Fit) -> None:
        self.moving, self.fit = samples.moving, fit
        self.rows = [fit.weights[i] * np.ascontiguousarray(W[:, i]) for i in range(W.shape[1])]
        self.residual = (samples.tau * samples.moving - W @ fit.theta) * fit.weights
        self.solve = solver_of(fit.H)
        self.of_residual = self._shadow(self.residual)

    def _shadow(self, column: Array) -> Array:
        """Products (p,) of a weighted column with the model's; zero columns cost nothing."""
        used = np.flatnonzero(np.any(column != 0.0, axis=0))
        return np.asarray(self.fit.spread * sum(self.rows[i].T @ column[:, i] for i in used))

    def gain(self, column: Array) -> tuple[float, float]:
        """By how much a column (n, n_joints) makes the score smaller, and its size then."""
        c = column * self.moving * self.fit.weights
        whole = float(np.sum(c * c))
        shadow = self._shadow(c)
        z = self.solve(shadow)
        square = whole - float(shadow @ z)
        if square <= 1e-9 * whole + 1e-30:
            return 0.0, 0.0
        slope = float(np.sum(c * self.residual) - z @ self.of_residual)
        return slope**2 / square, slope / square


def torque_slopes(samples: Samples, joint: int | None = None) -> Array:
    """Derivative (n, n_joints) of all torques, or of one: the column of a delay is minus this."""
    slope = cubic_spline(samples.time, samples.tau).slopes
    return slope if joint is None else only(slope, joint)


def only(table: Array, joint: int) -> Array:
    """The table with zeros in the columns of all other joints."""
    return np.where(np.arange(table.shape[1]) == joint, table, 0.0)
