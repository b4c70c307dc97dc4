"""Polynomials of single joints, each with its own times, as one motion of all joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from steelyard.excitation.motions.polynomial import PolynomialTrajectory

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class JointMove:
    """One polynomial of one joint. coefficients : (degree + 1,) of ascending powers of s."""

    duration_s: float
    coefficients: Array


def waiting_first(
    joints: tuple[str, ...], moves: Sequence[Sequence[JointMove]], rest: Array
) -> PolynomialTrajectory:
    """The moves of each joint, one after the other, so that all joints end at the same time.

    A joint whose moves are shorter waits at its pose of rest (n_joints,) rad or m first.
    """
    totals = [sum(move.duration_s for move in own) for own in moves]
    whole = max(totals)
    degree = max(len(move.coefficients) for own in moves for move in own) - 1
    begins, polynomials = [], []
    for own, total, pose in zip(moves, totals, rest, strict=True):
        steps = np.cumsum([move.duration_s for move in own])[:-1]
        begin = np.concatenate([[whole - total], whole - total + steps])[: len(own)]
        rows = [np.pad(move.coefficients, (0, degree + 1 - len(move.coefficients))) for move in own]
        if total < whole:
            begin = np.concatenate([[0.0], begin])
            rows.insert(0, np.pad([pose], (0, degree)))
        begins.append(begin)
        polynomials.append(np.array(rows))
    breaks = np.append(np.unique(np.concatenate(begins)), whole)
    coefficients = np.empty((len(breaks) - 1, len(joints), degree + 1))
    for j, (begin, own_rows) in enumerate(zip(begins, polynomials, strict=True)):
        piece = np.searchsorted(begin, breaks[:-1], "right") - 1
        coefficients[:, j] = later_start(own_rows[piece], breaks[:-1] - begin[piece])
    return PolynomialTrajectory(joints, breaks, coefficients)


def later_start(coefficients: Array, later_s: Array) -> Array:
    """The same polynomials (n_rows, degree + 1) of the time since (n_rows,) s later."""
    n_powers = coefficients.shape[1]
    out = np.zeros_like(coefficients)
    for k in range(n_powers):
        for m in range(k, n_powers):
            out[:, k] += comb(m, k) * coefficients[:, m] * later_s ** (m - k)
    return out
