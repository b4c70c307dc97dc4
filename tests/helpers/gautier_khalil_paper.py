"""The simulations of Gautier and Khalil (1992): their robot, their tables, and their noise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from paper_robots import puma_arm

from steelyard.excitation.limits import MotionLimits, motion_limits
from steelyard.excitation.points.conditioning import condition_number
from steelyard.excitation.points.perturbation import (
    least_squares_error_bound,
    matrix_error_bound,
    measurement_error_bound,
)
from steelyard.excitation.points.point_design import PointSequence, random_points
from steelyard.model.base_map import base_map
from steelyard.model.energy import energy_regressor
from steelyard.model.model import Model

HALF_RANGE, SPEED = np.pi / 2, 0.7
"""The paper states no limits; with these, and g = 9.81, its random sequences come out."""

PARAMETERS = (
    "ZZR1", "XXR2", "XY2", "XZR2", "YZ2", "ZZR2", "MXR2", "MY2",
    "XXR3", "XY3", "XZ3", "YZ3", "ZZ3", "MX3", "MY3",
)  # fmt: skip
COLUMNS = (
    "link_1.Izz", "link_2.Ixx", "link_2.Ixy", "link_2.Ixz", "link_2.Iyz", "link_2.Izz",
    "link_2.mx", "link_2.my", "link_3.Ixx", "link_3.Ixy", "link_3.Ixz", "link_3.Iyz",
    "link_3.Izz", "link_3.mx", "link_3.my",
)  # fmt: skip
X = np.array(
    [5.0186, -2.05, 0.7, -1.07, 0.65, 6.55, 4.3, 0.6,
     0.7634, 0.6872, 0.55, -0.6, 0.9646, 0.528, 1.14]
)  # fmt: skip
"""Base parameters of Table 6; Table 7 misprints XXR2 as -2.0550."""

RANDOM = {
    15: (5.6650e3, 2.7994e4, 9.4585e4),
    20: (9.3734e2, 1.9450e3, 2.9600e3),
    30: (4.0261e2, 9.5398e2, 1.6989e3),
    50: (4.7723e2, 5.8609e2, 7.5051e2),
    100: (4.0985e2, 4.9641e2, 6.9085e2),
    200: (3.8291e2, 4.3867e2, 5.1616e2),
    300: (3.6296e2, 4.1815e2, 4.8995e2),
    500: (3.8040e2, 4.2205e2, 4.6090e2),
}
"""Table 2: smallest, mean and largest condition number of ten random sequences of r rows."""
OPTIMUM = {15: (53.0, 968.0), 20: (30.0, None), 30: (11.0, 175.0)}
"""Condition number (Table 2) and equilibrium S (Tables 3 and 8) of optimum sequences."""
RANDOM_USED = {30: 1.0208e3, 15: 3.079e4}
"""Condition number of the random sequences of Tables 3 to 5 and 7, and of 8 to 10 and 12."""

NOISE = (0.001, 0.01, 0.1)
# By k: relative errors of Y, of W and of X; for optimum, then for random points.
TABLES_3_4_5 = {
    "Y": (((5.35e-4, 0.0, 4.7e-4), (0.0047, 0.0, 0.007), (0.05, 0.0, 0.059)),
          ((6.48e-4, 0.0, 0.018), (0.0071, 0.0, 0.161), (0.0649, 0.0, 1.796))),
    "W": (((0.0, 0.005, 0.0041), (0.0, 0.055, 0.0384), (0.0, 0.5767, 0.4691)),
          ((0.0, 5.26e-4, 0.013), (0.0, 0.004, 0.1853), (0.0, 0.056, 2.0129))),
    "YW": (((3.68e-4, 0.0063, 0.0042), (0.007, 0.056, 0.0559), (0.054, 0.633, 0.4749)),
           ((4.97e-4, 4.64e-4, 0.010), (0.0055, 0.0057, 0.129), (0.0717, 0.053, 1.662))),
}  # fmt: skip
TABLES_8_9_10 = {
    "Y": (((7.9e-4, 0.0, 0.0047), (0.008, 0.0, 0.05), (0.076, 0.0, 0.53)),
          ((4.25e-4, 0.0, 0.39), (0.0055, 0.0, 5.35), (0.055, 0.0, 53.55))),
    "W": (((0.0, 0.0012, 0.0057), (0.0, 0.0231, 0.0923), (0.0, 0.1697, 0.7935)),
          ((0.0, 4.7e-4, 0.75), (0.0, 0.037, 1.57), (0.0, 0.068, 104.5))),
    "YW": (((5.9e-4, 0.002, 0.016), (0.007, 0.014, 0.121), (0.067, 0.231, 0.677)),
           ((6.8e-4, 4.15e-4, 0.548), (0.006, 0.055, 3.64), (0.05, 0.05, 86.0))),
}  # fmt: skip
NOISE_TABLES = {30: TABLES_3_4_5, 15: TABLES_8_9_10}
SIGMA = {
    (30, "optimum"): (  # Table 6, k = 0.01
        0.0281, 0.0290, 0.0209, 0.0148, 0.0191, 0.0388, 0.0066, 0.0069,
        0.0301, 0.0253, 0.0135, 0.0140, 0.0134, 0.0075, 0.0064,
    ),
    (30, "random"): (  # Table 7, k = 0.01
        0.4688, 0.4544, 0.4379, 0.8755, 0.5830, 1.5245, 0.0159, 0.0075,
        0.4319, 0.1364, 0.1346, 0.2298, 0.0600, 0.0087, 0.0167,
    ),
    (15, "optimum"): (  # Table 11, k = 0.001
        0.0155, 0.0180, 0.0162, 0.0056, 0.0105, 0.0204, 0.0019, 0.0012,
        0.0159, 0.0170, 0.0076, 0.0127, 0.0166, 0.0027, 0.0014,
    ),
    (15, "random"): (  # Table 12, k = 0.001
        3.1098, 1.7504, 2.4889, 0.2432, 3.8134, 0.6424, 0.0206, 0.0138,
        5.0252, 0.3235, 0.3292, 1.2149, 0.2598, 0.0073, 0.0375,
    ),
}  # fmt: skip
SIGMA_NOISE = {30: 0.01, 15: 0.001}


@cache
def model() -> Model:
    """The three-joint robot of Table 1, without friction or drives."""
    return Model(puma_arm(), ())


def limits(acceleration: float = 3.0) -> MotionLimits:
    """The same limits for each joint; acceleration in rad/s²."""
    return motion_limits(
        puma_arm(),
        lower=-HALF_RANGE,
        upper=HALF_RANGE,
        velocity=SPEED,
        acceleration=acceleration,
    )


def matrix(robot_model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """W (n_rows, 15) of points, eq 9."""
    columns = list(base_map(robot_model).independent)
    return np.diff(energy_regressor(robot_model, q, v)[:, columns], axis=0)


def random_conditions(n_rows: int, count: int, seed: int) -> np.ndarray:
    """Condition numbers (count,) of random sequences."""
    rng = np.random.default_rng(seed)
    robot_model, bounds = model(), limits()
    return np.array(
        [condition_number(random_points(robot_model, bounds, n_rows, rng)[1]) for _ in range(count)]
    )


@cache
def random_sequence_like(n_rows: int, condition: float, count: int = 60) -> PointSequence:
    """Of many random sequences, the one whose condition number is closest."""
    rng = np.random.default_rng(n_rows)
    robot_model, bounds = model(), limits()
    drawn = [random_points(robot_model, bounds, n_rows, rng) for _ in range(count)]
    return min(drawn, key=lambda pair: abs(np.log(condition_number(pair[1]) / condition)))[0]


@dataclass(frozen=True)
class NoiseRow:
    """One simulated identification: relative sizes of errors in the 2-norm.

    bound : of |dX| / |X|, or of |dX| / |X + dX| where only W has errors and r = b; infinite where
    none exists. error : what the bound is for.
    """

    dY: float
    dW: float
    dX: float
    error: float
    bound: float
    condition: float


def noisy_identification(
    points: PointSequence, kind: str, k: float, rng: np.random.Generator
) -> NoiseRow:
    """Least squares with noise on Y, on W through q and v, or on both ("YW").

    The standard deviation is k / 4 of the largest |Y|, of the range and of the largest speed.
    """
    robot_model = model()
    W = matrix(robot_model, points.q, points.v)
    Y = W @ X
    dY, dW = np.zeros_like(Y), np.zeros_like(W)
    if "Y" in kind:
        dY = 0.25 * k * np.abs(Y).max() * rng.normal(size=Y.shape)
    if "W" in kind:
        q = points.q + 0.25 * k * 2.0 * HALF_RANGE * rng.normal(size=points.q.shape)
        v = points.v + 0.25 * k * SPEED * rng.normal(size=points.v.shape)
        dW = matrix(robot_model, q, v) - W
    found = np.linalg.lstsq(W + dW, Y + dY, rcond=None)[0]
    dX = np.linalg.norm(found - X) / np.linalg.norm(X)
    error = dX
    if kind == "Y":
        bound = measurement_error_bound(W, Y, dY)
    elif kind == "W" and W.shape[0] == W.shape[1]:
        bound = matrix_error_bound(W, dW)
        error = np.linalg.norm(found - X) / np.linalg.norm(found)
    else:
        bound = least_squares_error_bound(W, Y, dW, dY)
    return NoiseRow(
        float(np.linalg.norm(dY) / np.linalg.norm(Y)),
        float(np.linalg.norm(dW, 2) / np.linalg.norm(W, 2)),
        float(dX),
        float(error),
        float(bound),
        condition_number(W + dW),
    )
