"""Ordinary and per-joint weighted least squares on the compressed factors.

OLS is Sousa and Cortesão (2014), eqs 72 and 81-83. WLS is IDIM-WLS of Gautier and Venture (2013),
section III: the rows of joint j are divided by sigma_j, the standard deviation of the residual in a
least-squares fit of joint j alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import EstimationError, listed
from steelyard.estimators.cluster import cluster_spread, overconfidence
from steelyard.estimators.estimate import ChannelFit, Estimate, Spread
from steelyard.findings import Finding
from steelyard.model.mechanism import BASE_WRENCH, row_words
from steelyard.regression.regression import Regression

Array = NDArray[np.float64]

# Singular values of the column-scaled factor below this share of the largest: directions that the
# data do not determine. Where noise raises one above it, sigma is large instead.
RANK_TOLERANCE = 1e-9
NEGLIGIBLE_SHARE = 1e-5
"""Share of the torque below which a negative parameter is rounding, and not impossible."""
NOT_MEASURED = "not-measured"
"""Code of the warning about parameters of torques that were not recorded."""


def ols(regression: Regression) -> Estimate:
    """Ordinary least squares: all torque rows have the same weight."""
    return solve(regression, np.ones(len(regression.groups)), "ols")


def wls(regression: Regression) -> Estimate:
    """Least squares with each joint's rows divided by that joint's own noise."""
    return solve(regression, 1.0 / joint_noise(regression), "wls")


def joint_noise(regression: Regression) -> Array:
    """sigma_j (n_groups,) N m or N, from each joint's own least squares.

    It is 1 for a joint without rows. Rows of energy or power have one sigma, in J or W. Where time
    blocks are pooled, it is the noise with which they were weighted.
    """
    check_torques(regression)
    if regression.pooled is not None:
        return np.asarray(1.0 / regression.pooled.weights)
    kind = regression.equation.kind
    sigma = np.ones(len(regression.groups))
    for g, (group, factor) in enumerate(
        zip(regression.groups, regression.group_factors, strict=True)
    ):
        n_rows = int(regression.counts[:, g].sum())
        if n_rows == 0:
            continue
        solved = triangular_fit(factor)
        freedom = n_rows - solved.rank
        if freedom <= 0:
            where = f"joint '{group.name}' has" if regression.equation.of_joints else "there are"
            raise EstimationError(
                f"{where} {n_rows} {kind.values} for {solved.rank} parameters: "
                "its noise cannot be estimated; record more samples"
            )
        sigma[g] = np.sqrt(solved.residual_square / freedom)
        torque_rms = np.linalg.norm(factor[:, -1]) / np.sqrt(n_rows)
        # noise-free data would get infinite weights
        sigma[g] = max(sigma[g], 1e-12 * torque_rms, np.finfo(float).tiny)
    return sigma


def own_noise(name: str, factor: Array, n_rows: int) -> float:
    """sigma of the torque of one joint or motor, N m or N, from its own least squares.

    factor : triangular, of [W tau]. A torque that is missing or zero is refused.
    """
    size = float(np.linalg.norm(factor[:, -1]))
    if n_rows == 0 or not size > 1e-150:
        raise EstimationError(
            f"the torque of '{name}' is missing or zero in all rows; check the log, or leave its "
            "column out and lock the joint"
        )
    own = triangular_fit(factor)
    if n_rows <= own.rank:
        raise EstimationError(
            f"'{name}' has {n_rows} torque values for {own.rank} parameters: record more samples"
        )
    # noise-free data would get infinite weights
    least = 1e-12 * size / np.sqrt(n_rows)
    return float(max(np.sqrt(own.residual_square / (n_rows - own.rank)), least))


@dataclass(frozen=True, eq=False)
class Fit:
    """Least squares on one triangular factor.

    beta : (n,) solution, of smallest column-scaled norm where it is not unique.
    inverse : (n, rank) with (RᵀR)⁺ = inverse inverseᵀ.
    determined : (n,) whether each entry of beta is unique. seen : (n,) whether any row depends on
        it.
    condition, condition_scaled : over the directions that the data determine.
    """

    beta: Array
    inverse: Array
    determined: NDArray[np.bool_]
    seen: NDArray[np.bool_]
    rank: int
    residual_square: float
    condition: float
    condition_scaled: float


def triangular_fit(factor: Array) -> Fit:
    """Solve min |tau - W beta| from the triangular factor (n + 1, n + 1) of [W tau]."""
    R, z = factor[:, :-1], factor[:, -1]
    n = R.shape[1]
    if n == 0:
        empty = np.zeros(0)
        none = empty.astype(bool)
        return Fit(empty, np.zeros((0, 0)), none, none, 0, float(z @ z), 1.0, 1.0)
    size = np.linalg.norm(R, axis=0)
    scale = np.where(size > 0, size, 1.0)
    U, s, Vt = np.linalg.svd(R / scale, full_matrices=False)
    rank = int(np.count_nonzero(s > RANK_TOLERANCE * s[0])) if s[0] > 0 else 0
    inverse = (Vt[:rank].T / s[:rank]) / scale[:, None]
    beta = inverse @ (U[:, :rank].T @ z)
    # a column with a part in the null space is not determined
    determined = np.linalg.norm(Vt[rank:], axis=0) < 1e-6
    residual = z - R @ beta
    raw = np.linalg.svd(R, compute_uv=False)
    return Fit(
        beta,
        inverse,
        determined,
        size > 0.0,
        rank,
        float(residual @ residual),
        # columns of very different sizes are independent, and still have the singular value 0
        float(raw[0] / raw[rank - 1]) if rank and raw[rank - 1] > 0.0 else float("inf"),
        float(s[0] / s[rank - 1]) if rank else float("inf"),
    )


def check_torques(regression: Regression) -> None:
    """Refuse a joint whose torque is zero in all rows: it was not measured; and joints that do no
    work in any interval.
    """
    for g, (group, factor) in enumerate(
        zip(regression.groups, regression.group_factors, strict=True)
    ):
        n_rows = int(regression.counts[:, g].sum())
        if n_rows and not np.linalg.norm(factor[:, -1]) > 1e-150:
            if not regression.equation.of_joints:
                raise EstimationError(
                    f"the torques do no work in any of {n_rows} intervals: no joint moves, or no "
                    "torque was measured; record a motion of all joints"
                )
            if group.name in BASE_WRENCH:
                raise EstimationError(
                    f"the {row_words(group.name)} is zero in all {n_rows} rows, as if it had "
                    "not been measured, or as if nothing turned or moved the base there: give all "
                    "columns of the wrenches on the robot, or, with the joint torques alone, "
                    "--base-wrench unmeasured"
                )
            raise EstimationError(
                f"the torque of '{group.name}' is zero in all {n_rows} rows, as if it had not been "
                "measured: leave its column out of the log, or mark it missing"
            )


def solve(
    regression: Regression,
    weights: Array,
    method: str,
    *,
    moving: Sequence[int] | None = None,
    fixed: Array | None = None,
) -> Estimate:
    """Least squares with these weights of the row groups, in 1/(N m) or 1/N.

    moving : the base parameters (by index) to estimate, all if None; the others are held at
        their values in ``fixed`` (n_base,), zero if None; covariances are conditional on these.
    """
    check_torques(regression)
    n = regression.base.rank
    chosen = list(range(n)) if moving is None else list(moving)
    held = tuple(sorted(set(range(n)) - set(chosen)))
    factor = regression.system(weights)
    beta = np.zeros(n) if fixed is None else np.array(fixed, dtype=float)
    beta[chosen] = 0.0
    target = factor[:, -1] - factor[:, :-1] @ beta if held else factor[:, -1]
    fit = triangular_fit(np.column_stack([factor[:, chosen], target]))
    beta[chosen] = fit.beta
    freedom = regression.n_rows - fit.rank
    if freedom <= 0:
        raise EstimationError(
            f"{regression.n_rows} {regression.equation.kind.values} cannot give {len(chosen)} base "
            "parameters and their noise: record more samples"
        )
    inverse = np.zeros((n, fit.rank))
    inverse[chosen] = fit.inverse
    known = np.zeros(n, dtype=bool)
    known[chosen] = fit.determined
    variance = fit.residual_square / freedom
    classical = Spread("classical", masked(variance * inverse @ inverse.T, known), freedom)
    spreads = [classical]
    whole = triangular_fit(factor) if held else fit
    findings = list(excitation_findings(regression, whole))
    cluster, why_not = cluster_spread(regression, weights, beta, inverse)
    if cluster is None:
        findings.append(
            Finding(
                "warning",
                "no-cluster-covariance",
                f"only classical error bars, which filtered residuals make too small: {why_not}",
            )
        )
    else:
        spreads.append(Spread("cluster", masked(cluster, known), len(regression.keys) - 1))
        findings.extend(overconfidence(classical, spreads[1]))
    estimate = Estimate(
        method=method,
        base=regression.base,
        beta=beta,
        determined=whole.determined,
        seen=whole.seen,
        spreads=tuple(spreads),
        channels=channel_fits(regression, beta, weights),
        relative_error=relative_error(regression, beta),
        condition=fit.condition,
        condition_scaled=fit.condition_scaled,
        n_rows=regression.n_rows,
        n_blocks=len(regression.keys),
        solver="triangular",
        runs=regression.runs,
        held=held,
        equation=regression.equation,
    )
    size = np.linalg.norm(factor[:, -1])
    share = np.linalg.norm(factor[:, :-1], axis=0) * np.abs(beta) / (size if size > 0 else 1.0)
    findings.extend(impossible_findings(estimate, share))
    return replace(estimate, findings=tuple(findings))


def masked(covariance: Array, determined: NDArray[np.bool_]) -> Array:
    """The covariance with NaN where a parameter is not determined."""
    known = determined[:, None] & determined[None, :]
    return np.where(known, covariance, np.nan)


def channel_fits(regression: Regression, beta: Array, weights: Array) -> tuple[ChannelFit, ...]:
    """Residual of each torque channel under ``beta``, from the factors."""
    fits = []
    for g, (group, factor) in enumerate(
        zip(regression.groups, regression.group_factors, strict=True)
    ):
        n_rows = int(regression.counts[:, g].sum())
        residual = factor[:, -1] - factor[:, :-1] @ beta[list(group.columns)]
        root = np.sqrt(max(n_rows, 1))
        fits.append(
            ChannelFit(
                group.name,
                n_rows,
                float(np.linalg.norm(residual) / root),
                float(np.linalg.norm(factor[:, -1]) / root),
                float(1.0 / weights[g]),
            )
        )
    return tuple(fits)


def relative_error(regression: Regression, beta: Array) -> float:
    """|tau - W beta| / |tau| over all rows, unweighted (Sousa and Cortesão 2014, eq 84)."""
    squares = [
        (fit.n_rows * fit.rms**2, fit.n_rows * fit.torque_rms**2)
        for fit in channel_fits(regression, beta, np.ones(len(regression.groups)))
    ]
    residual, torque = np.sum(squares, axis=0)
    return float(np.sqrt(residual / torque)) if torque > 0 else float("nan")


def excitation_findings(regression: Regression, fit: Fit) -> tuple[Finding, ...]:
    """A warning that names the base parameters that the data do not determine."""
    open_ones = [
        name for name, known in zip(regression.base.names, fit.determined, strict=True) if not known
    ]
    if not open_ones:
        return ()
    n_open = regression.base.rank - fit.rank
    measured = {
        name
        for group, n in zip(regression.groups, regression.counts.sum(axis=0), strict=True)
        if n > 0
        for name in (regression.base.names[k] for k in group.columns)
    }
    blind = [name for name in open_ones if name not in measured]
    if blind:
        # no motion helps: the rows in which these parameters appear have no values
        return (
            Finding(
                "warning",
                NOT_MEASURED,
                f"{len(blind)} of {regression.base.rank} base parameters appear only in torques "
                f"that were not recorded, so they cannot be estimated: {listed(blind)}"
                + (
                    f"; {len(open_ones) - len(blind)} more are not determined by what was recorded"
                    if len(open_ones) > len(blind)
                    else ""
                ),
            ),
        )
    advice = "record a motion that moves these joints together"
    owners = sorted({name.rpartition(".")[0] for name in open_ones})
    if {name.rpartition(".")[2] for name in open_ones} <= {"fc", "fo"}:
        one = len(owners) == 1
        advice = (
            f"{listed(owners)} {'moves' if one else 'move'} in one direction only: record a "
            f"motion that reverses {'it' if one else 'them'}"
        )
    return (
        Finding(
            "warning",
            "not-excited",
            f"the motion does not excite {n_open} direction{'s' if n_open > 1 else ''}, so "
            f"{len(open_ones)} of {regression.base.rank} base parameters cannot be estimated: "
            f"{listed(open_ones)}; {advice}",
        ),
    )


def impossible_findings(estimate: Estimate, share: Array) -> tuple[Finding, ...]:
    """A warning that names parameters whose whole interval is physically impossible.

    share : (n_base,) of the torque that each parameter explains.
    """
    base = estimate.base
    signed = ("m", "Ixx", "Iyy", "Izz", "Ia", "fv", "fc")
    names = []
    for k, parameter in enumerate(estimate.parameters()):
        alone = np.count_nonzero(base.K[k]) == 1 and share[k] > NEGLIGIBLE_SHARE
        if alone and base.columns[base.independent[k]].symbol in signed and parameter.upper < 0.0:
            names.append(f"{parameter.name} {parameter.value:.3g} {parameter.unit}")
    if not names:
        return ()
    return (
        Finding(
            "warning",
            "impossible-values",
            f"{_negative(len(names))} with the whole interval, which is not "
            f"physical: {listed(names)}; look for a wrong sign, unit or term, or use a method "
            "with physical constraints",
        ),
    )


def _negative(count: int) -> str:
    return "1 parameter is negative" if count == 1 else f"{count} parameters are negative"
