"""What an estimator returns: parameters with intervals, and findings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import Statement
from steelyard.estimators.estimate_record import (
    EssentialPath,
    MergedBodies,
    PriorRecord,
    TermComparison,
)
from steelyard.estimators.measurement_advice import MeasurementAdvice
from steelyard.estimators.quantiles import t_quantile
from steelyard.estimators.solver_names import SolverName
from steelyard.findings import Finding
from steelyard.model.base_map import BaseMap, Fate
from steelyard.regression.equation import TORQUE, Equation
from steelyard.signals.run_record import RunRecord, content_hashes

Array = NDArray[np.float64]
CovarianceKind = Literal["classical", "cluster", "resampling"]
BaseKind = Literal["confidence", "mostly prior", "undetermined", "held"]
StandardKind = Literal[
    "confidence", "mostly prior", "feasible range", "closest to prior", "prior only"
]
Limits = tuple[float | None, float | None]
NO_MASS = 1e-6
"""If the mass may be smaller than this share of it, the centre of mass is unbounded."""
MOSTLY_PRIOR = 0.5
"""A parameter is called mostly prior if less than this share of its variance is from the data."""


@dataclass(frozen=True)
class Spread:
    """A covariance of the base parameters and how it was obtained.

    kind : "classical" assumes independent residuals (Sousa and Cortesão 2014, eqs 81-82);
        "cluster" allows dependence within a time block (CR3); "resampling" is the covariance of
        estimates from resampled time blocks.
    covariance : (n_base, n_base); rows and columns of undetermined parameters are NaN.
    degrees_of_freedom : of the t distribution that its intervals use.
    """

    kind: CovarianceKind
    covariance: Array
    degrees_of_freedom: float

    @cached_property
    def sigma(self) -> Array:
        """Standard deviation (n_base,) of each base parameter, in its unit."""
        return np.sqrt(np.diag(self.covariance))

    def half_width(self, level: float = 0.95) -> Array:
        """Half width (n_base,) of the confidence interval of each parameter."""
        return np.asarray(t_quantile(0.5 + level / 2.0, self.degrees_of_freedom) * self.sigma)


NEVER_NEGATIVE = ("m", "Ixx", "Iyy", "Izz")
"""Symbols of a body's parameters that no physical body has below 0."""


@dataclass(frozen=True, eq=False)
class Credible:
    """Standard deviations given data and prior; NaN for what has no prior. See
    `steelyard.estimators.credible`.

    sigma : (n_columns,) of the parameters of bodies, each in its unit; NaN for other terms.
    com_sigma : (n_bodies, 3) of the coordinates of centres of mass, m.
    degrees_of_freedom : of the t distribution that the ranges use.
    """

    sigma: Array
    com_sigma: Array
    degrees_of_freedom: float

    def limits(self, value: float, sigma: float, level: float, cut: Array | None) -> Limits:
        """The range around a value, cut to a feasible range (2,) where that is known."""
        if not np.isfinite(sigma):
            return None, None
        half = t_quantile(0.5 + level / 2.0, self.degrees_of_freedom) * sigma
        lower, upper = value - half, value + half
        if cut is not None:
            # the feasible range is computed to some accuracy: it does not exclude the estimate
            lower = max(lower, min(float(cut[0]), value)) if np.isfinite(cut[0]) else lower
            upper = min(upper, max(float(cut[1]), value)) if np.isfinite(cut[1]) else upper
        return lower, upper


@dataclass(frozen=True)
class ChannelFit:
    """How well the estimate fits one torque channel.

    rms, sigma : root mean square of the residual, and the standard deviation of the channel's
        noise that the weights used (N m or N). torque_rms : of the torque itself.
    relative_error : |residual| / |torque| (Sousa and Cortesão 2014, eq 84).
    """

    name: str
    n_rows: int
    rms: float
    torque_rms: float
    sigma: float

    @property
    def relative_error(self) -> float:
        """Norm of the residual over the norm of the torque."""
        return self.rms / self.torque_rms if self.torque_rms > 0 else float("nan")


@dataclass(frozen=True)
class ParameterEstimate:
    """One base parameter.

    sigma : classical standard deviation. sigma_cluster : the one from the time blocks.
    relative_sigma_percent : the one that the interval uses, in percent of the value.
    interval_kind : "confidence" (determined by data), "mostly prior" (more by a prior than by
        data), "undetermined", or "held": not estimated but held at its value by a selection of
        essential parameters.
    """

    name: str
    combination: str
    unit: str
    value: float
    sigma: float
    relative_sigma_percent: float
    sigma_cluster: float | None
    lower: float
    upper: float
    interval_kind: BaseKind


@dataclass(frozen=True, eq=False)
class Standard:
    """Standard parameters, where the method gives them.

    theta : (n_columns,) values with K theta = beta.
    feasible : whether theta satisfies every constraint exactly, on these digits. False where the
        method is unconstrained: theta may not be physical.
    active : the conditions that hold with no slack.
    moved : how far, in units of typical parameters, the solver's answer was moved to be feasible.
    ranges : (n_columns, 2) smallest and largest value that constraints and fit allow.
    com_ranges : (n_bodies, 3, 2) the same for the coordinates (m) of each centre of mass.
    merged : bodies of several links; None if there are none.
    credible : how far the parameters may be from theta, given the prior; None without one.
    """

    theta: Array
    active: tuple[Statement, ...]
    moved: float
    ranges: Array | None = None
    feasible: bool = True
    com_ranges: Array | None = None
    merged: MergedBodies | None = None
    credible: Credible | None = None

    def __repr__(self) -> str:
        kind = "feasible" if self.feasible else "not checked"
        return f"<Standard: {len(self.theta)} parameters, {kind}>"


@dataclass(frozen=True)
class StandardEstimate:
    """One standard parameter.

    interval_kind : "confidence" where the data determine it individually, "mostly prior" where a
        prior determines it more than the data do, "feasible range" where the data determine only
        a combination and constraints limit it, "closest to prior" where they determine only a
        combination and the value is the closest to the prior, "prior only" where no measured
        torque depends on it or it was not estimated.
    at_boundary : whether a condition on its body or joint is active.
    credible_lower, credible_upper : the range that is credible given the prior, for the parameters
        of bodies that have one; see `steelyard.estimators.credible`.
    """

    name: str
    unit: str
    value: float
    lower: float | None
    upper: float | None
    interval_kind: StandardKind
    at_boundary: bool
    credible_lower: float | None = None
    credible_upper: float | None = None


@dataclass(frozen=True, eq=False)
class Estimate:
    """Base parameters of a model from data.

    beta : (n_base,) values that predict torques; undetermined ones are the smallest that fit.
    determined : (n_base,) whether the data determine each. seen : (n_base,) whether any measured
        row depends on it; all of them if None.
    spreads : the classical covariance first, then the cluster-robust or resampled one if the time
        blocks allow it. Intervals use the last.
    condition, condition_scaled : of the weighted regressor, raw and with columns of norm one.
    relative_error : |residual| / |torque| over all channels, unweighted.
    runs : what was done to the log of each run.
    prior : the prior and its weight, where the method takes one.
    term_comparison : how well other sets of terms fit, where they were tried.
    selection : how the essential parameters were selected, where the method does so.
    standard : the standard parameters, where the method gives them.
    held : base parameters (by index) that were not estimated but held at their value in beta:
        at zero by a selection, or at a prior's value. They have no interval, and the intervals
        of the others are conditional on these values.
    data_share : (n_base,) share of each base parameter's variance that comes from the data and
        not from a prior, NaN for those without a prior; None if the method has no prior.
    measurement_advice : which measurement would close most of the open masses; None if none is
        open, or ranges were not computed.
    equation : what was fitted. Of energy or power, ``channels`` has a single entry in J or W, and
        ``relative_error`` is that of energy or power.
    solver : what solved the problem, see `steelyard.estimators.solver_names`.
    """

    method: str
    base: BaseMap
    beta: Array
    determined: NDArray[np.bool_]
    spreads: tuple[Spread, ...]
    channels: tuple[ChannelFit, ...]
    relative_error: float
    condition: float
    condition_scaled: float
    n_rows: int
    n_blocks: int
    solver: SolverName
    findings: tuple[Finding, ...] = ()
    runs: tuple[RunRecord, ...] = ()
    prior: PriorRecord | None = None
    term_comparison: TermComparison | None = None
    selection: EssentialPath | None = None
    standard: Standard | None = None
    held: tuple[int, ...] = ()
    data_share: Array | None = None
    measurement_advice: MeasurementAdvice | None = None
    equation: Equation = TORQUE
    seen: NDArray[np.bool_] | None = None

    def __repr__(self) -> str:
        also = "" if self.standard is None else f" and {len(self.standard.theta)} standard"
        return (
            f"<Estimate by '{self.method}': {len(self.beta)} base{also} parameters "
            f"from {self.n_rows} {self.equation.kind.values}, "
            f"relative error {self.relative_error:.2%}>"
        )

    @property
    def spread(self) -> Spread:
        """The covariance that the intervals use."""
        return self.spreads[-1]

    @property
    def log_hashes(self) -> frozenset[str]:
        """Content hashes of the logs that the estimate was made from."""
        return content_hashes(self.runs)

    def parameters(self, level: float = 0.95) -> tuple[ParameterEstimate, ...]:
        """Every base parameter with its interval at this confidence level."""
        classical = self.spreads[0]
        cluster = self.spreads[1].sigma if len(self.spreads) > 1 else None
        half = self.spread.half_width(level)
        used = self.spread.sigma
        out = []
        for k, name in enumerate(self.base.names):
            value, sigma = float(self.beta[k]), float(classical.sigma[k])
            relative = 100.0 * float(used[k]) / abs(value) if value else float("inf")
            kind = self._kind(k)
            known = kind != "undetermined"
            out.append(
                ParameterEstimate(
                    name=name,
                    combination=self.base.combination(k),
                    unit=self.base.units[k],
                    value=value if known else float("nan"),
                    sigma=sigma,
                    relative_sigma_percent=relative,
                    sigma_cluster=None if cluster is None else float(cluster[k]),
                    lower=value - float(half[k]) if known else float("nan"),
                    upper=value + float(half[k]) if known else float("nan"),
                    interval_kind=kind,
                )
            )
        return tuple(out)

    def _kind(self, k: int) -> BaseKind:
        """Kind of the interval of base parameter k."""
        if k in self.held:
            return "held"
        share = float("nan") if self.data_share is None else float(self.data_share[k])
        if np.isfinite(share) and not (self.determined[k] and share >= MOSTLY_PRIOR):
            return "mostly prior"
        return "confidence" if self.determined[k] else "undetermined"

    def fates(self) -> tuple[Fate, ...]:
        """Whether the data determine each standard parameter, and in which combination."""
        fates = []
        for column, fate in enumerate(self.base.fates()):
            rows = np.flatnonzero(self.base.K[:, column])
            lost = [self.base.names[row] for row in rows if not self.determined[row]]
            if lost:
                words = f"not excited by this data: {', '.join(lost)} cannot be estimated"
                fate = Fate(fate.name, "not excited", words)
            fates.append(fate)
        return tuple(fates)

    @property
    def not_estimated(self) -> frozenset[str]:
        """Names of the standard parameters that come neither from data nor from a prior, which has
        values for bodies and none for joint terms.
        """
        with_prior = self.prior is not None
        return frozenset(
            one.name
            for one, column in zip(self.standard_parameters(), self.base.columns, strict=True)
            if one.interval_kind == "prior only" and not (with_prior and column.term_kind is None)
        )

    def _measured_columns(self) -> NDArray[np.bool_]:
        """Whether a measured row depends on each standard parameter (n_columns,)."""
        K = self.base.K if self.seen is None else self.base.K[self.seen]
        return np.asarray((K != 0.0).any(axis=0))

    def standard_parameters(self, level: float = 0.95) -> tuple[StandardEstimate, ...]:
        """Every standard parameter with its interval; empty where the method gives none."""
        if self.standard is None:
            return ()
        half = self.spread.half_width(level)
        alone = {fate.name for fate in self.fates() if fate.kind == "alone"}
        owners = {name for statement in self.standard.active for name in statement.owners}
        bound = {name for statement in self.standard.active for name in statement.parameters}
        row_of = {name: row for row, name in enumerate(self.base.names)}
        held = {self.base.names[row] for row in self.held}
        measured = self._measured_columns()
        between: StandardKind = "feasible range" if self.standard.feasible else "closest to prior"
        out = []
        for i, column in enumerate(self.base.columns):
            value = float(self.standard.theta[i])
            lower = upper = None
            kind = between
            if column.name in held:
                kind = "prior only"
            elif column.name in alone and column.name in row_of:
                own = self._kind(row_of[column.name])
                kind = "mostly prior" if own == "mostly prior" else "confidence"
                lower = value - float(half[row_of[column.name]])
                upper = value + float(half[row_of[column.name]])
            else:
                if not measured[i]:
                    kind = "prior only"
                if self.standard.ranges is not None:
                    lower, upper = (float(x) for x in self.standard.ranges[i])
            given, cut = self.standard.credible, self.standard.ranges
            believed: Limits = (None, None)
            if given is not None:
                own_cut = None if cut is None else cut[i]
                if cut is None and self.standard.feasible and column.symbol in NEVER_NEGATIVE:
                    own_cut = np.array([0.0, np.inf])
                believed = given.limits(value, float(given.sigma[i]), level, own_cut)
            out.append(
                StandardEstimate(
                    column.name,
                    column.unit,
                    value,
                    lower,
                    upper,
                    kind,
                    column.owner in owners or column.name in bound,
                    *believed,
                )
            )
        return tuple(out)
