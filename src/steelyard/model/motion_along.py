"""Motion along the directions of terms: what their laws read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import ModelError

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class MotionAlong:
    """Motion along the directions of some terms; speed and acceleration are computed on access.

    v, a : (nv, n_samples) joint speeds and accelerations.
    rows, weights : (n_terms, n_entries) the rows that a direction involves, and their weights; a
        direction with fewer entries than others is padded with weights of zero.
    widths : (n_terms,) rad/s or m/s, see :attr:`steelyard.model.terms.Term.width`.
    q : (nv, n_samples) joint positions, where a law reads them.
    shape_speeds : (n_terms,) rad/s or m/s, see :attr:`steelyard.model.terms.Term.speed`.
    loads : (nv, n_samples) torque that the gears carry, where a law reads it.
    states : (n_terms, n_samples) what replaces the sign of the speed, where history decides it.
    """

    v: Array
    a: Array
    rows: IntArray
    weights: Array
    widths: Array
    q: Array | None = None
    shape_speeds: Array | None = None
    loads: Array | None = None
    states: Array | None = None

    @property
    def speed(self) -> Array:
        """s = d·v (n_terms, n_samples), rad/s or m/s."""
        return self._along(self.v)

    @property
    def acceleration(self) -> Array:
        """d·a (n_terms, n_samples), rad/s² or m/s²."""
        return self._along(self.a)

    @property
    def position(self) -> Array:
        """x = d·q (n_terms, n_samples), rad or m."""
        if self.q is None:
            raise ModelError("a term that depends on the position needs the joint positions")
        return self._along(self.q)

    @property
    def load(self) -> Array:
        """|d·tau| / |d|² (n_terms, n_samples) of the torque that the gears carry, N m or N."""
        if self.loads is None:
            raise ModelError(
                "load-dependent friction needs positions and accelerations, from which the load "
                "of the gears is computed"
            )
        squares = np.sum(self.weights**2, axis=1)
        return np.asarray(np.abs(self._along(self.loads)) / squares[:, None])

    @property
    def way(self) -> Array:
        """The sign of s (n_terms, n_samples), whatever the term's width or travel."""
        return np.asarray(np.sign(self.speed))

    @property
    def per_shape_speed(self) -> Array:
        """s over the speed that shapes the law (n_terms, n_samples)."""
        if self.shape_speeds is None:
            raise ModelError("a term needs a speed that shapes its law")
        return np.asarray(self.speed / self.shape_speeds[:, None])

    @property
    def sign(self) -> Array:
        """The sign of s (n_terms, n_samples), or clip(s / width, -1, 1) of a term with a width, or
        the given states.
        """
        if self.states is not None:
            return self.states
        speed = self.speed
        out = np.sign(speed)
        for k in np.flatnonzero(self.widths):
            out[k] = np.clip(speed[k] / self.widths[k], -1.0, 1.0)
        return out

    @property
    def sign_slope(self) -> Array:
        """Derivative of `sign` by the speed (n_terms, n_samples); zero where it jumps."""
        width = self.widths[:, None]
        inside = np.abs(self.speed) < width
        return np.where(inside, 1.0 / np.where(inside, width, 1.0), 0.0)

    @property
    def shape_column(self) -> Array:
        """The speeds that shape the laws, (n_terms, 1)."""
        assert self.shape_speeds is not None
        return self.shape_speeds[:, None]

    def _along(self, motion: Array) -> Array:
        # entry by entry and not as a matrix product, whose last digits depend on the number of
        # samples: triangular factors must not depend on how samples are cut into chunks
        total = motion.take(self.rows[:, 0], axis=0)
        total *= self.weights[:, 0, None]
        for k in range(1, self.rows.shape[1]):
            total += self.weights[:, k, None] * motion.take(self.rows[:, k], axis=0)
        return total

    @property
    def ones(self) -> Array:
        """One (n_terms, n_samples), for a law that does not depend on the motion."""
        return np.ones((len(self.rows), self.v.shape[1]))

    @property
    def zeros(self) -> Array:
        """Zero (n_terms, n_samples), the slope of such a law."""
        return np.zeros((len(self.rows), self.v.shape[1]))
