"""Standard parameters closest to a priori values, by SVD: Gautier and Venture (2013), section IV.

Of all parameters that fit the torques equally well, take those closest to known ones (CAD):

    theta = prior + V1 S1⁻¹ U1ᵀ (Y - W prior)             W = U1 S1 V1ᵀ        (eqs 26-30)

and, with S = diag(chi_e) of the essential parameters, chi_e zero at all other columns,

    theta = prior + S V1e S1e⁻¹ U1eᵀ (Y - W prior)        W S = U1e S1e V1eᵀ    (eqs 31-33)

Both are one computation on the triangular factor R of the base columns, since W = Q R K: the
change of the base parameters, delta = beta - K prior, is a least-squares fit, and ``columns``
chooses which standard parameters change:

    "all"          theta = prior + Kᵀ (K Kᵀ)⁻¹ delta: eq 30, the change of smallest norm
    "independent"  only the base columns change and all others stay at the prior, as in the
                   paper's Table II

Rank truncation (eq 15) needs no tolerance for structural dependencies of the columns, since K
states them exactly. Beyond that, singular values of R K (of R, for "independent") below
``RANK_TOLERANCE`` of the largest are directions that the data do not excite; there the values of
the prior are kept.

The norm is the paper's: plain numbers in SI units. It depends on units and on link frames, as
does which columns are base columns. The result is not constrained to be physical
(``Standard.feasible`` is False).
:mod:`steelyard.estimators.physical_counts` counts how many links are physical.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import EstimationError, listed
from steelyard.estimators.essential import (
    CEILING,
    MULTIPLE,
    SIGNIFICANCE,
    essential_path,
    with_path,
)
from steelyard.estimators.estimate import Estimate, Standard
from steelyard.estimators.estimate_record import EssentialPath
from steelyard.estimators.estimator import Columns, DriveTerms, check_columns
from steelyard.estimators.least_squares import (
    channel_fits,
    joint_noise,
    relative_error,
    solve,
    wls,
)
from steelyard.estimators.physical_counts import consistency_of
from steelyard.findings import Finding
from steelyard.knowledge.prior import Prior
from steelyard.model.base_map import BaseMap
from steelyard.model.model import Model
from steelyard.regression.regression import Regression

Array = NDArray[np.float64]
RANK_TOLERANCE = 1e-9
"""Singular values below this share of the largest: directions that the data do not determine."""


@dataclass(frozen=True, eq=False)
class Closest:
    """Standard parameters closest to a prior.

    theta : (n_columns,). prior : (n_columns,).
    rank : number of directions that the data determine, of ``n_moving``.
    distance : |theta - prior| / |prior|, as below the paper's Table II; infinite where the
        prior is zero.
    """

    theta: Array
    prior: Array
    rank: int
    n_moving: int

    @property
    def distance(self) -> float:
        """|theta - prior| / |prior|, plain numbers in SI units."""
        return relative_distance(self.theta, self.prior)


def relative_distance(theta: ArrayLike, prior: ArrayLike) -> float:
    """|theta - prior| / |prior|; infinite where the prior is zero."""
    known = np.asarray(prior, dtype=float)
    size = float(np.linalg.norm(known))
    away = float(np.linalg.norm(np.asarray(theta, dtype=float) - known))
    return away / size if size > 0.0 else float("inf")


def closest_to_prior(
    regression: Regression,
    prior: ArrayLike,
    *,
    columns: Columns = "all",
    essential: Sequence[int] | None = None,
    weights: ArrayLike | None = None,
    held: Sequence[int] = (),
) -> Closest:
    """Eq 30, or eq 32 where ``essential`` names the base parameters (by index) that may move.

    prior : (n_columns,) a priori values. columns : which standard parameters change.
    weights : (n_groups,) of the torque rows, 1/(N m); by default those of IDIM-WLS.
    held : indices of standard parameters that keep the prior's values.

    With "all", the other base parameters keep the prior's values as well: the change of the
    essential ones is spread over all columns without changing any other base parameter. For
    "independent" this is eq 32 itself, in which diag(chi_e) cancels, since the columns are
    independent.
    """
    check_columns(columns)
    known = prior_values(prior, len(regression.base.columns))
    given = 1.0 / joint_noise(regression) if weights is None else np.asarray(weights, dtype=float)
    factor, K = regression.system(given), regression.base.K
    R = factor[:, :-1]
    misfit = factor[:, -1] - R @ (K @ known)
    independent = list(regression.base.independent)
    theta = known.copy()
    free = [k for k in range(K.shape[1]) if k not in held]
    if essential is None and columns == "all":
        change, rank = least_change(R @ K[:, free], misfit)
        theta[free] += change
        return Closest(theta, known, rank, len(free))
    moving = list(range(R.shape[1]) if essential is None else essential)
    moving = [k for k in moving if independent[k] not in held]
    change, rank = least_change(R[:, moving], misfit)
    if columns == "independent":
        theta[[independent[k] for k in moving]] += change
        return Closest(theta, known, rank, len(moving))
    of_base = np.zeros(R.shape[1])
    of_base[moving] = change
    spread, _ = least_change(K[:, free], of_base)
    theta[free] += spread
    return Closest(theta, known, rank, len(free))


def least_change(A: Array, b: Array) -> tuple[Array, int]:
    """The x of smallest norm that minimises |b - A x|, and the rank that was used."""
    if A.shape[1] == 0:
        return np.zeros(0), 0
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    rank = int(np.count_nonzero(s > RANK_TOLERANCE * s[0])) if s[0] > 0.0 else 0
    return Vt[:rank].T @ ((U[:, :rank].T @ b) / s[:rank]), rank


def closest_weighted(A: Array, b: Array, scale: ArrayLike) -> Array:
    """Eq 32 as the paper writes it: S (A S)⁺ b with S = diag(scale); zero keeps a parameter.

    A : (n_rows, n) regressor. b : (n_rows,) torque that the prior does not explain.
    """
    S = np.asarray(scale, dtype=float)
    change, _ = least_change(A * S, b)
    return np.asarray(S * change)


def drive_terms_from_fit(
    model: Model, regression: Regression, prior: ArrayLike, *, keep: Collection[str] = ()
) -> Array:
    """The prior (n_columns,) with drive inertia and friction of a first IDIM-WLS (section V-B).

    keep : names of terms that stay as they were, since their values are stated.

    Manufacturers state neither. Terms that the data determine individually are replaced by their
    values in the fit of all base parameters, negative ones by zero. The others (such as a drive
    inertia that acts only together with its link's) and offsets stay as they were.
    """
    estimate = wls(regression)
    known = prior_values(prior, len(regression.base.columns)).copy()
    alone = {fate.name for fate in estimate.fates() if fate.kind == "alone"}
    for value, column in zip(estimate.beta, regression.base.independent, strict=True):
        stated = model.columns[column]
        kind = stated.term_kind
        if stated.name in keep or kind is None or kind.may_be_negative:
            continue
        if stated.name in alone:
            known[column] = max(float(value), 0.0)
    return known


def prior_with_drive_terms(
    model: Model, regression: Regression, prior: Prior, drive_terms: DriveTerms
) -> tuple[Array, tuple[int, ...], Finding]:
    """The prior's values (n_columns,) with drive terms by this rule, the indices of those that the
    estimate must keep, and which are from where.
    """
    stated = prior.terms_stated(model) if drive_terms != "first fit" else frozenset()
    known = prior_values(prior.theta, len(regression.base.columns))
    if drive_terms != "given":
        known = drive_terms_from_fit(model, regression, known, keep=stated)
    terms = [
        (column.name, known[k] != prior.theta[k])
        for k, column in enumerate(model.columns)
        if column.term_kind is not None
    ]
    fitted = [name for name, changed in terms if changed]
    kept = [name for name, changed in terms if not changed and name in stated]
    rest = [name for name, changed in terms if not changed and name not in stated]
    parts = [
        f"{words} {listed(names)}"
        for words, names in (
            ("kept as stated:" if drive_terms == "kept" else "as stated:", kept),
            ("from a first weighted fit:", fitted),
            (f"as {prior.source} has them, mostly zero:", rest),
        )
        if names
    ]
    words = f"friction, drive inertia and offsets of the prior are {'; '.join(parts) or 'none'}"
    held = [column.name in kept and drive_terms == "kept" for column in model.columns]
    return (
        known,
        tuple(np.flatnonzero(held).tolist()),
        Finding("info", "drive-terms-of-prior", words),
    )


def estimate_cad(
    model: Model,
    regression: Regression,
    prior: ArrayLike,
    *,
    columns: Columns = "all",
    drive_terms: Literal["given", "first fit"] = "given",
    held: Sequence[int] = (),
) -> Estimate:
    """The WLS estimate with the standard parameters closest to a prior (eq 30).

    prior : (n_columns,) such as ``model.prior_theta()``. drive_terms : whether those of the
        prior are used, or taken from a first fit; see :func:`drive_terms_from_fit`. held : indices
        of standard parameters that keep the prior's values.

    Base parameters and their intervals are those of WLS; in directions that the data do not
    determine, the prior's values are used.
    """
    known = _prior(model, regression, prior, drive_terms)
    found = closest_to_prior(regression, known, columns=columns, held=held)
    weights = 1.0 / joint_noise(regression)
    base = regression.base
    moving = _not_held(base, range(base.rank), held)
    fixed = base.K @ known if held else None
    estimate = solve(regression, weights, "cad", moving=moving if held else None, fixed=fixed)
    return _with_standard(estimate, model, regression, weights, found)


def _not_held(base: BaseMap, moving: Sequence[int], held: Sequence[int]) -> list[int]:
    """The base parameters that are more than one standard parameter that is held."""
    return [k for k in moving if base.independent[k] not in held or np.count_nonzero(base.K[k]) > 1]


def estimate_cad_essential(
    model: Model,
    regression: Regression,
    prior: ArrayLike,
    *,
    columns: Columns = "all",
    drive_terms: Literal["given", "first fit"] = "given",
    multiple: float = MULTIPLE,
    ceiling: float = CEILING,
    significance: float = SIGNIFICANCE,
    held: Sequence[int] = (),
) -> tuple[Estimate, EssentialPath]:
    """Standard parameters that differ from the prior only by essential parameters (eqs 31-33).

    The essential base parameters are selected as in
    :func:`steelyard.estimators.essential.estimate_essential`, and fitted again with all others
    held at the prior's values. held : indices of standard parameters that keep these, too.
    """
    known = _prior(model, regression, prior, drive_terms)
    path = essential_path(regression, multiple=multiple, ceiling=ceiling, significance=significance)
    found = closest_to_prior(
        regression, known, columns=columns, essential=path.essential, held=held
    )
    weights = 1.0 / joint_noise(regression)
    fixed = regression.base.K @ known
    moving = _not_held(regression.base, path.essential, held)
    estimate = solve(regression, weights, "cad-essential", moving=moving, fixed=fixed)
    estimate = with_path(estimate, path, "the prior")
    return _with_standard(estimate, model, regression, weights, found), path


def prior_values(prior: ArrayLike, n_columns: int) -> Array:
    """The prior as an array (n_columns,); raises EstimationError if it is not one."""
    known = np.asarray(prior, dtype=float)
    if known.shape != (n_columns,) or not np.isfinite(known).all():
        raise EstimationError(
            f"a prior needs one finite number for each of {n_columns} columns, not an array of "
            f"shape {known.shape}" + ("" if np.isfinite(known).all() else " with NaN or infinity")
        )
    return known


def _prior(model: Model, regression: Regression, prior: ArrayLike, drive_terms: str) -> Array:
    if regression.model_hash != model.hash:
        raise EstimationError("the regression belongs to another model")
    if drive_terms == "first fit":
        return drive_terms_from_fit(model, regression, prior)
    if drive_terms != "given":
        raise EstimationError(f"drive_terms is '{drive_terms}'; it is 'given' or 'first fit'")
    return prior_values(prior, len(model.columns))


def _with_standard(
    estimate: Estimate, model: Model, regression: Regression, weights: Array, found: Closest
) -> Estimate:
    """The estimate with its standard parameters, labelled as not constrained to be physical.

    Its base parameters are K theta: the same optimum, with the prior's values in place of the
    smallest ones in directions that the data do not determine.
    """
    report = consistency_of(model, found.theta)
    beta = regression.base.K @ found.theta
    bad = [body.link for body in report.bodies if not body.within_rounding]
    words = (
        f"standard parameters are the closest to the prior (|change| is "
        f"{100 * found.distance:.3g} % of the prior's norm), not constrained to be physical; "
    )
    words += (
        f"{len(bad)} of {len(report.bodies)} links are not physical ({', '.join(bad)})"
        if bad
        else f"all {len(report.bodies)} links are physical"
    )
    finding = Finding("warning" if bad else "info", "closest-to-prior", words)
    return replace(
        estimate,
        beta=beta,
        channels=channel_fits(regression, beta, weights),
        relative_error=relative_error(regression, beta),
        standard=Standard(found.theta, (), 0.0, None, feasible=False),
        findings=(*estimate.findings, finding),
    )
