"""The cubic spline through samples, with the same cubic on both sides of the second and the last
but one ("not-a-knot").

As scipy.interpolate has it, whose import takes longer than checking a log. Its slopes s at the
samples solve a tridiagonal system: with steps h and chords c,

    h_i s_{i-1} + 2 (h_{i-1} + h_i) s_i + h_{i-1} s_{i+1} = 3 (h_i c_{i-1} + h_{i-1} c_i)

de Boor, A Practical Guide to Splines, 1978, chapter IV.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CubicSpline:
    """A cubic between samples, with continuous second derivatives.

    time : (n,) s, increasing. values : (n, ...). slopes : (n, ...) derivatives at the samples.
    Of three samples it is a parabola, of two a straight line, of one a constant.
    """

    time: Array
    values: Array
    slopes: Array

    def __call__(self, at: Array) -> Array:
        """Values (n_out, ...) at any times (n_out,); beyond the ends the outermost cubics go on."""
        if len(self.time) == 1:
            return np.repeat(self.values, len(at), axis=0)
        before = np.clip(np.searchsorted(self.time, at, "right") - 1, 0, len(self.time) - 2)
        shape = (-1, *(1,) * (self.values.ndim - 1))
        h = np.diff(self.time).reshape(shape)
        chord = np.diff(self.values, axis=0) / h
        first, last = self.slopes[:-1], self.slopes[1:]
        bend = (first + last - 2.0 * chord) / h
        d = (at - self.time[before]).reshape(shape)
        # Horner's rule
        out = (bend / h)[before] * d
        out += ((chord - first) / h - bend)[before]
        out *= d
        out += first[before]
        out *= d
        out += self.values[before]
        return out


def cubic_spline(time: Array, values: Array) -> CubicSpline:
    """The spline through values (n, ...) at times (n,) s, which increase."""
    y = np.asarray(values, dtype=float)
    h = np.diff(time)
    if np.any(h <= 0.0):
        raise ValueError(f"times have to increase; see sample {int(np.argmax(h <= 0.0)) + 1}")
    if len(time) < 4:
        return CubicSpline(time, y, _slopes_of_few(h, y))
    from scipy.linalg.lapack import dgtsv

    chord = np.diff(y.reshape(len(y), -1), axis=0) / h[:, None]
    below, above = np.append(h[1:], h[-1] + h[-2]), np.append(h[0] + h[1], h[:-1])
    middle = np.concatenate([[h[1]], 2.0 * (h[:-1] + h[1:]), [h[-2]]])
    right = np.empty((len(y), chord.shape[1]))
    right[1:-1] = 3.0 * (h[1:, None] * chord[:-1] + h[:-1, None] * chord[1:])
    right[0] = _outermost(h[0], h[1], chord[0], chord[1])
    right[-1] = _outermost(h[-1], h[-2], chord[-1], chord[-2])
    *_, slopes, _ = dgtsv(below, middle, above, right)
    return CubicSpline(time, y, slopes.reshape(y.shape))


def _outermost(h0: float, h1: float, chord0: Array, chord1: Array) -> Array:
    """Right side of h1 s0 + (h0 + h1) s1, at an end where two steps share one cubic."""
    whole = h0 + h1
    return np.asarray(((h0 + 2.0 * whole) * h1 * chord0 + h0**2 * chord1) / whole)


def _slopes_of_few(h: Array, y: Array) -> Array:
    """Slopes of the polynomial through one, two or three samples."""
    if len(y) == 1:
        return np.zeros_like(y)
    chord = np.diff(y, axis=0) / h.reshape(-1, *(1,) * (y.ndim - 1))
    if len(y) == 2:
        return np.concatenate([chord, chord])
    bend = (chord[1] - chord[0]) / (h[0] + h[1])
    middle = chord[0] + h[0] * bend
    return np.stack([chord[0] - h[0] * bend, middle, chord[1] + h[1] * bend])
