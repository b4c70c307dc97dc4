"""Splines through positions, as polynomials between each two points."""

from __future__ import annotations

from math import factorial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import SignalError
from steelyard.excitation.motions.polynomial import PolynomialTrajectory

Array = NDArray[np.float64]
Ends = Literal["rest", "natural", "free"]


def spline(
    joints: tuple[str, ...], time: Array, q: Array, degree: Literal[3, 5], ends: Ends = "rest"
) -> PolynomialTrajectory:
    """The spline of third or fifth degree through positions q (n_points, n_joints) rad or m.

    time : (n_points,) s, increasing; the motion begins at the first.
    ends : what makes the spline unique. "rest" for zero velocity, and of fifth degree zero
        acceleration, at both ends; "natural" for zeros of the highest even derivatives but one;
        "free" for as few pieces as the points allow, without a condition (not-a-knot).
    """
    from scipy.interpolate import make_interp_spline

    if len(time) < (2 if ends != "free" else degree + 1):
        raise SignalError(
            f"a motion of {len(time)} points is too short for a spline of degree {degree}"
        )
    orders = {
        "rest": range(1, (degree + 1) // 2),
        "natural": range((degree + 1) // 2, degree),
        "free": range(0),
    }[ends]
    zeros = [(order, np.zeros(q.shape[1])) for order in orders]
    conditions: Any = (zeros, zeros) if zeros else None
    breaks = time - time[0]
    found = make_interp_spline(breaks, q, k=degree, bc_type=conditions)
    rows = [np.asarray(found(breaks[:-1], nu=k)) / factorial(k) for k in range(degree + 1)]
    return PolynomialTrajectory(joints, breaks, np.stack(rows, axis=-1))
