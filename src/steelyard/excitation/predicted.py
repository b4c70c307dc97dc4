"""How well a motion will determine each parameter, before it is recorded.

With noise of rms s_j on the torque of joint j, independent from sample to sample, weighted least
squares on the base regressor W has the covariance (Gautier and Venture 2013, eqs 8-12)

    C = (sum_j W_jᵀ W_j / s_j²)⁻¹       and      sigma_k = sqrt(C_kk)

Noise is assumed to be white at the rate of the log, or first-order low-pass noise
(`steelyard.excitation.torque_noise`). A filter that is applied to both sides of tau = W theta and
passes the motion changes the noise and its correlation by the same amount: the sum over samples
keeps its variance, and so does the estimate. Decimation after such a filter keeps it too. So the
rate that counts is that of the log. What is not in these figures: position noise, which enters
through W, and errors of the model itself.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import SignalError
from steelyard.excitation.motion_factors import (
    MotionFactors,
    model_motion,
    motion_factors,
    standard_deviations,
)
from steelyard.excitation.torque_noise import TorqueNoise
from steelyard.excitation.trajectory import Trajectory
from steelyard.model.base_map import BaseMap
from steelyard.model.kernels import parameter_array
from steelyard.model.model import Model
from steelyard.model.typical_sizes import parameter_scale
from steelyard.signals.motion import Motion

Array = NDArray[np.float64]
Verdict = Literal["well", "roughly", "not"]
VERDICTS: tuple[Verdict, ...] = ("well", "roughly", "not")
VERDICT_WORDS = {
    "well": "determined well",
    "roughly": "determined roughly",
    "not": "not determined",
}

ENOUGH_SAMPLES = 4000
"""Samples of a planned motion that are computed; where there are more, each counts as several."""
QUANTILE = 1.96
"""Half width of a 95 % interval in standard deviations."""
WELL_WITHIN = 0.1
"""A parameter is determined well if the half width is at most this share of its size."""
LEAST_SIZE = 0.1
"""The size of a parameter is at least this share of what is typical for the robot."""
RULE = (
    f"determined well: the 95 % interval is within ± {WELL_WITHIN:.0%} of the parameter's size; "
    "roughly: within ± 100 %; not: wider. The size is the absolute reference value, and at least "
    f"{LEAST_SIZE:.0%} of what is typical for the robot's links"
)


@dataclass(frozen=True)
class PredictedParameter:
    """One base parameter: its combination, reference value, and predicted standard deviation.

    size : what sigma is compared with, see `RULE`. sigma is infinite where the motion does not
    determine it. before : standard deviation that was known before, infinite where nothing was;
    None where no earlier knowledge was given.
    """

    name: str
    unit: str
    combination: str
    reference: float
    sigma: float
    size: float
    before: float | None = None

    @property
    def relative(self) -> float:
        """Half width of the 95 % interval as a share of the parameter's size."""
        return QUANTILE * self.sigma / self.size

    @property
    def verdict(self) -> Verdict:
        """How well it will be determined, by `RULE`."""
        if self.relative <= WELL_WITHIN:
            return "well"
        return "roughly" if self.relative <= 1.0 else "not"


@dataclass(frozen=True)
class StandardVerdict:
    """What a motion will say about one standard parameter.

    kind : "alone", "combination" or "never", as in `steelyard.model.base_map.Fate`.
    verdict : of the base parameter that it is, or the worst of those that it is part of; None for
        one without effect.
    """

    name: str
    unit: str
    kind: Literal["alone", "combination", "never", "not excited"]
    verdict: Verdict | None
    words: str


@dataclass(frozen=True, eq=False)
class PredictedPrecision:
    """Predicted standard deviations of all base parameters.

    reference : (n_base,) values of the base parameters in the reference model.
    sigma : (n_base,) in the units of the parameters; infinite where not determined.
    sizes : (n_base,) that the verdicts compare with.
    noise : of the torque that was assumed. rate_hz, n_samples : of the log that was assumed.
    before : (n_base,) what sigma was before the motion, infinite where nothing was known; None
        where no earlier knowledge was given.
    """

    base: BaseMap
    reference: Array
    sigma: Array
    sizes: Array
    noise: TorqueNoise
    rate_hz: float
    n_samples: int
    before: Array | None = None

    def __repr__(self) -> str:
        counts = self.counts
        return (
            f"<PredictedPrecision of {self.base.rank} base parameters: {counts['well']} well, "
            f"{counts['roughly']} roughly, {counts['not']} not determined>"
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the base parameters."""
        return self.base.names

    @property
    def units(self) -> tuple[str, ...]:
        """Their units."""
        return self.base.units

    @property
    def parameters(self) -> tuple[PredictedParameter, ...]:
        """Every base parameter."""
        rows = zip(
            self.names,
            self.units,
            self.base.combinations(),
            self.reference.tolist(),
            self.sigma.tolist(),
            self.sizes.tolist(),
            [None] * self.base.rank if self.before is None else self.before.tolist(),
            strict=True,
        )
        return tuple(PredictedParameter(*row) for row in rows)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdict of each base parameter."""
        relative = QUANTILE * self.sigma / self.sizes
        return tuple(
            "well" if x <= WELL_WITHIN else "roughly" if x <= 1.0 else "not" for x in relative
        )

    @property
    def counts(self) -> dict[Verdict, int]:
        """Number of base parameters with each verdict."""
        found = Counter(self.verdicts)
        return {verdict: found[verdict] for verdict in VERDICTS}

    @property
    def mean_sigma(self) -> float:
        """Geometric mean of all sigma relative to the sizes; infinite if one is."""
        if not np.isfinite(self.sigma).all():
            return np.inf
        return float(np.exp(np.mean(np.log(self.sigma / self.sizes))))

    def standard(self) -> tuple[StandardVerdict, ...]:
        """What the motion will say about each standard parameter."""
        found = []
        verdicts = self.verdicts
        for k, column in enumerate(self.base.columns):
            fate = self.base.fate(k)
            rows = np.flatnonzero(self.base.K[:, k])
            worst = max((verdicts[row] for row in rows), key=VERDICTS.index, default=None)
            words = fate.words
            if fate.kind == "alone" and worst is not None:
                words = VERDICT_WORDS[worst]
            elif worst is not None:
                names = ", ".join(self.names[row] for row in rows)
                words = f"only in combinations: {names} ({VERDICT_WORDS[worst]}"
                words += ")" if len(rows) == 1 else " at worst)"
            found.append(StandardVerdict(column.name, column.unit, fate.kind, worst, words))
        return tuple(found)


def predicted_precision(
    model: Model,
    trajectory: Trajectory,
    noise: TorqueNoise,
    *,
    rate_hz: float,
    duration_s: float | None = None,
    reference: ArrayLike | None = None,
    known: ArrayLike | None = None,
) -> PredictedPrecision:
    """Predicted precision of weighted least squares on a log of this trajectory.

    rate_hz : of the log. duration_s : of the log (s), by default that of the trajectory.
    reference : theta (n_columns,) of the reference values, by default the file's.
    known : information (n_base, n_base) that there is already, such as of earlier runs: the
        inverse of a covariance of the base parameters.
    """
    seconds = trajectory.duration_s if duration_s is None else duration_s
    # a planned motion is smooth: a few thousand samples stand for all of them
    thin_hz = min(rate_hz, ENOUGH_SAMPLES / seconds)
    motion = model_motion(model, trajectory, rate_hz=thin_hz, duration_s=seconds)
    factors = motion_factors(model, motion).counted(rate_hz / thin_hz)
    return factor_precision(
        model, factors, noise, rate_hz=rate_hz, reference=reference, known=known
    )


def motion_precision(
    model: Model,
    motion: Motion,
    noise: TorqueNoise,
    *,
    rate_hz: float,
    reference: ArrayLike | None = None,
    known: ArrayLike | None = None,
) -> PredictedPrecision:
    """As `predicted_precision`, for samples in the order of ``model.channels``."""
    factors = motion_factors(model, motion)
    return factor_precision(
        model, factors, noise, rate_hz=rate_hz, reference=reference, known=known
    )


def factor_precision(
    model: Model,
    factors: MotionFactors,
    noise: TorqueNoise,
    *,
    rate_hz: float,
    reference: ArrayLike | None = None,
    known: ArrayLike | None = None,
) -> PredictedPrecision:
    """As `predicted_precision`, for a motion whose triangular factors are there already."""
    if noise.joints != model.channels:
        raise SignalError(
            f"torque noise is for {', '.join(noise.joints)}, but the joints are "
            f"{', '.join(model.channels)}"
        )
    base = factors.base
    R = factors.weighted(noise.per_sample(rate_hz))
    before = None
    if known is not None:
        earlier = _root(np.asarray(known, dtype=float), base.rank)
        before = standard_deviations(earlier)
        R = np.vstack([R, earlier])
    theta = model.prior_theta() if reference is None else parameter_array(model, reference)
    beta = base.K @ theta
    typical = parameter_scale(model)[list(base.independent)]
    return PredictedPrecision(
        base,
        beta,
        standard_deviations(R),
        np.maximum(np.abs(beta), LEAST_SIZE * typical),
        noise,
        rate_hz,
        factors.n_samples,
        before,
    )


def _root(information: Array, n_base: int) -> Array:
    """Rows (n_base, n_base) whose product with themselves is this information."""
    if information.shape != (n_base, n_base):
        raise SignalError(
            f"known information has shape {information.shape}; ({n_base}, {n_base}) is needed"
        )
    # scaled first, so that small but real entries are not taken for rounding
    scale = np.sqrt(np.maximum(np.diag(information), 0.0))
    safe = np.where(scale > 0.0, scale, 1.0)
    values, vectors = np.linalg.eigh(information / np.outer(safe, safe))
    if values.min() < -1e-6 * max(1.0, values.max()):
        raise SignalError(
            "known information is not positive semidefinite: its smallest eigenvalue, with a unit "
            f"diagonal, is {values.min():.3g}"
        )
    rows = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T * safe
    return np.asarray(rows)
