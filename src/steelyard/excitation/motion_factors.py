"""The regressor of a motion as one triangular factor for each joint.

    W_j = Q_j R_j      so that, with noise of rms s_j on the torque of joint j, the information is
    sum_j W_jᵀ W_j / s_j² = sum_j R_jᵀ R_j / s_j²

Samples are taken in chunks and forgotten: memory does not grow with the length of the motion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import SignalError, listed
from steelyard.excitation.points.conditioning import condition_number
from steelyard.excitation.trajectory import Trajectory, motion_of
from steelyard.model.base_map import BaseMap, base_map
from steelyard.model.kernels import torque_regressor
from steelyard.model.model import Model
from steelyard.signals.motion import Motion

Array = NDArray[np.float64]

SAMPLES_AT_ONCE = 512
RANK_TOLERANCE = 1e-9
"""Singular values of the factor with columns of unit norm that count as zero, relative to the
largest.
"""


@dataclass(frozen=True, eq=False)
class MotionFactors:
    """Triangular factors of the base columns, one for each torque channel.

    factors : (nv, n_base, n_base). n_samples : number of samples of the motion.
    """

    base: BaseMap
    factors: Array
    n_samples: int

    def weighted(self, noise: ArrayLike) -> Array:
        """One factor (n_base, n_base) of all rows, those of each channel divided by its noise
        (nv,), N m or N.
        """
        noise = np.asarray(noise, dtype=float)
        n_base = self.base.rank
        return _triangle((self.factors / noise[:, None, None]).reshape(-1, n_base))

    def counted(self, times: float) -> MotionFactors:
        """The factors if every sample were there this many times."""
        if times == 1.0:
            return self
        n_samples = round(times * self.n_samples)
        return MotionFactors(self.base, np.sqrt(times) * self.factors, n_samples)

    @property
    def unweighted(self) -> Array:
        """One factor (n_base, n_base) of all rows as they are."""
        return self.weighted(np.ones(len(self.factors)))


def motion_factors(model: Model, motion: Motion, base: BaseMap | None = None) -> MotionFactors:
    """The factors of a motion whose columns are in the order of ``model.channels``."""
    base = base_map(model) if base is None else base
    columns = list(base.independent)
    factors = np.zeros((model.nv, base.rank, base.rank))
    for begin in range(0, len(motion), SAMPLES_AT_ONCE):
        part = motion[begin : begin + SAMPLES_AT_ONCE]
        W = torque_regressor(model, part.q, part.v, part.a)[:, :, columns]
        for j in range(model.nv):
            factors[j] = _triangle(np.vstack([factors[j], W[:, j]]))
    return MotionFactors(base, factors, len(motion))


def model_motion(
    model: Model, trajectory: Trajectory, *, rate_hz: float, duration_s: float | None = None
) -> Motion:
    """The trajectory sampled at a rate, its joints in the order of the model's.

    The samples are those of a log: the first at 0 s, the last not after the end.
    """
    if sorted(trajectory.joints) != sorted(model.channels):
        raise SignalError(
            f"the motion moves {listed(trajectory.joints)}, but the joints of robot "
            f"'{model.robot.name}' are {listed(model.channels)}"
        )
    if not (np.isfinite(rate_hz) and rate_hz > 0.0):
        raise SignalError(f"rate_hz is {rate_hz}; it must be positive")
    seconds = trajectory.duration_s if duration_s is None else duration_s
    time = np.arange(int(seconds * rate_hz * (1.0 + 1e-12)) + 1) / rate_hz
    motion = motion_of(trajectory, time, "planned")
    order = [trajectory.joints.index(name) for name in model.channels]
    q, v, a = (np.ascontiguousarray(x[:, order]) for x in (motion.q, motion.v, motion.a))
    return Motion(time, q, v, a, motion.run)


def standard_deviations(R: Array) -> Array:
    """sqrt(diag((RᵀR)⁻¹)) (n,) of a factor (n_rows, n) whose rows have unit noise.

    Infinite where the rows do not determine a parameter.
    """
    scale = np.linalg.norm(R, axis=0)
    seen = scale > 0.0
    out = np.full(R.shape[1], np.inf)
    if not seen.any():
        return out
    _, singular, Vt = np.linalg.svd(R[:, seen] / scale[seen], full_matrices=True)
    singular = np.pad(singular, (0, len(Vt) - len(singular)))
    small = singular <= RANK_TOLERANCE * singular[0]
    spread = np.sqrt(np.sum((Vt[~small] / singular[~small, None]) ** 2, axis=0))
    # a parameter with a share in what the rows do not see is not determined
    open_share = np.sum(Vt[small] ** 2, axis=0)
    out[seen] = np.where(open_share > RANK_TOLERANCE, np.inf, spread / scale[seen])
    return out


def condition_numbers(R: Array) -> tuple[float, float]:
    """Condition number of a factor as it is, and with columns scaled to unit norm; infinite where
    a column is zero.
    """
    scale = np.linalg.norm(R, axis=0)
    if not (scale > 0.0).all():
        return np.inf, np.inf
    return condition_number(R), condition_number(R / scale)


def log_determinant(R: Array) -> float:
    """log det(RᵀR); minus infinity where the columns are dependent."""
    sign, value = np.linalg.slogdet(_triangle(R))
    return 2.0 * float(value) if sign != 0.0 else -np.inf


def _triangle(rows: Array) -> Array:
    """The triangular factor (n, n) of rows (n_rows, n), filled with zeros where rows are few."""
    R = np.asarray(np.linalg.qr(rows, mode="r"))
    if len(R) < R.shape[1]:
        R = np.vstack([R, np.zeros((R.shape[1] - len(R), R.shape[1]))])
    return R
