"""Essential parameters: weighted least squares on the few base parameters that the data determine.

IDIM-WLS of Gautier and Venture (2013), section III, with the reduction of Pham and Gautier (1991):
the base parameter with the largest relative standard deviation is set to zero, the rest are fitted
again, and so on until both hold,

    sigma_i / |beta_i| <= limit   for all that remain,
    limit = min(multiple · smallest sigma_i / |beta_i|,  ceiling)

or until the next removal would make the fit significantly worse than that of all base
parameters. The order uses the classical standard deviations (eqs 11-12), to which the noise
level is one common factor.

The test is an F-test with the effective number of rows from the time blocks; see
:mod:`steelyard.estimators.significance`. All is computed from the triangular factors, without
reading the samples again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import EstimationError, listed
from steelyard.estimators.estimate import Estimate
from steelyard.estimators.estimate_record import EssentialPath, Removal, Stop
from steelyard.estimators.estimator import EssentialLimits
from steelyard.estimators.least_squares import (
    Fit,
    joint_noise,
    relative_error,
    solve,
    triangular_fit,
)
from steelyard.estimators.significance import significance_test
from steelyard.findings import Finding
from steelyard.regression.regression import Regression

Array = NDArray[np.float64]

MULTIPLE = EssentialLimits.multiple
"""Largest allowed ratio of the largest to the smallest relative standard deviation."""

CEILING = EssentialLimits.ceiling
"""Largest allowed relative standard deviation: above it, a 95 % interval contains zero."""

SIGNIFICANCE = EssentialLimits.significance
"""Level of the F-test."""


def estimate_essential(
    regression: Regression,
    *,
    multiple: float = MULTIPLE,
    ceiling: float = CEILING,
    significance: float = SIGNIFICANCE,
) -> tuple[Estimate, EssentialPath]:
    """Essential parameters and how they were found.

    multiple : largest allowed ratio between relative standard deviations.
    ceiling : largest relative standard deviation that may remain.
    significance : a removal is refused where the F-test's p-value is below it; 0 never refuses.

    Parameters that were removed are ``held`` at zero. Intervals are those of the reduced fit and
    do not account for the selection. Raises EstimationError if no parameter would remain.
    """
    path = essential_path(regression, multiple=multiple, ceiling=ceiling, significance=significance)
    weights = 1.0 / joint_noise(regression)
    estimate = solve(regression, weights, "essential", moving=path.essential)
    return with_path(estimate, path, "zero"), path


def essential_path(
    regression: Regression,
    *,
    multiple: float = MULTIPLE,
    ceiling: float = CEILING,
    significance: float = SIGNIFICANCE,
) -> EssentialPath:
    """Remove base parameters one by one; see :func:`estimate_essential`.

    Of equal ones the last column is removed, so that the first columns stay, as with base
    parameters.
    """
    _check_limits(multiple, ceiling, significance)
    weights = 1.0 / joint_noise(regression)
    factor = regression.system(weights)
    names, n = regression.base.names, regression.base.rank
    whole = triangular_fit(factor)
    kept, removals = list(range(n)), []

    def error_of(fit: Fit, columns: Sequence[int]) -> float:
        return relative_error(regression, placed(fit.beta, columns, n))

    fit = whole
    # undetermined parameters first: removing them changes no torque
    while not fit.determined.all():
        gone = kept.pop(int(np.flatnonzero(~fit.determined)[-1]))
        fit = triangular_fit(factor[:, [*kept, n]])
        error = error_of(fit, kept)
        removals.append(Removal(names[gone], math.inf, math.nan, len(kept), error, None, None))
    if not kept:
        raise EstimationError(
            "an essential reduction would remove all parameters: the data determine none of "
            f"{listed(names)}; record a motion that moves the joints"
        )
    test = significance_test(regression, weights, kept, fit)
    removed: list[int] = []
    p_of_none, effective = test.p_value(kept, float(factor[:, -1] @ factor[:, -1]))
    if significance and p_of_none >= significance:
        raise EstimationError(
            "an essential reduction would remove all parameters: a model without parameters fits "
            f"the torques not significantly worse (p = {p_of_none:.2g}, not below "
            f"{significance:g}; {regression.n_rows} {regression.equation.kind.values} "
            f"are worth {effective:.0f} independent ones); check that torques and positions belong "
            "together, or record more"
        )
    while True:
        # the noise level is a common factor: use that of the full fit throughout
        sigma = np.sqrt(test.variance * np.sum(fit.inverse**2, axis=1))
        with np.errstate(divide="ignore"):
            relative = sigma / np.abs(fit.beta)
        smallest = float(relative.min())
        limit = min(multiple * smallest, ceiling)
        worst = len(kept) - 1 - int(np.argmax(relative[::-1]))
        name, share = names[kept[worst]], float(relative[worst])
        stopped: Stop
        if share <= limit:
            stopped = "all essential"
            reason = (
                f"{len(kept)} of {n} base parameters are essential: relative standard deviations "
                f"are from {100 * smallest:.2g} % to {100 * share:.2g} % ({name}), and the "
                f"limit is {100 * limit:.2g} %"
            )
            break
        rest = [*kept[:worst], *kept[worst + 1 :]]
        if not rest:
            raise EstimationError(
                f"an essential reduction would remove all parameters: the last one, {name}, has "
                f"a relative standard deviation of {100 * share:.2g} %, above the limit of "
                f"{100 * limit:.2g} %; raise ceiling, or record more"
            )
        lighter = triangular_fit(factor[:, [*rest, n]])
        p_value, effective = test.p_value([*removed, kept[worst]], lighter.residual_square)
        if p_value < significance:
            stopped = "fit would be worse"
            reason = (
                f"{len(kept)} of {n} base parameters remain: {name} has a relative standard "
                f"deviation of {100 * share:.2g} %, above the limit of {100 * limit:.2g} %, but "
                f"without it the fit is significantly worse than with all (p = {p_value:.2g})"
            )
            break
        removals.append(
            Removal(name, share, smallest, len(rest), error_of(lighter, rest), p_value, effective)
        )
        removed.append(kept[worst])
        kept, fit = rest, lighter
    return EssentialPath(
        tuple(kept),
        tuple(names[k] for k in kept),
        tuple(removals),
        relative_error(regression, whole.beta),
        stopped,
        reason,
        "independent" if test.cluster is None else "cluster",
    )


def with_path(estimate: Estimate, path: EssentialPath, held_at: str) -> Estimate:
    """The estimate with the path of its selection and the findings about it."""
    return replace(
        estimate,
        selection=path,
        findings=(*estimate.findings, *selection_findings(path, held_at)),
    )


def placed(values: Array, columns: Sequence[int], n: int) -> Array:
    """(n,) with ``values`` at ``columns`` and zeros elsewhere."""
    out = np.zeros(n)
    out[list(columns)] = values
    return out


def selection_findings(path: EssentialPath, held_at: str) -> tuple[Finding, ...]:
    """Findings: what was selected, and what that means for the intervals."""
    gone = path.removals
    findings = []
    if gone:
        findings.append(
            Finding(
                "info",
                "conditional-on-selection",
                f"{path.reason}; {len(gone)} are held at {held_at}. Intervals of the others do "
                "not account for this selection, which the same data made",
            )
        )
    if path.test == "independent":
        findings.append(
            Finding(
                "warning",
                "selection-takes-rows-as-independent",
                "the time blocks give no covariance, so that the test of the selection assumes "
                "independent residuals: it keeps more parameters than the data justify",
            )
        )
    return tuple(findings)


def _check_limits(multiple: float, ceiling: float, significance: float) -> None:
    if not multiple >= 1.0:
        raise EstimationError(f"multiple is {multiple}; it must be at least 1")
    if not ceiling > 0.0:
        raise EstimationError(f"ceiling is {ceiling}; it must be above 0")
    if not 0.0 <= significance < 1.0:
        raise EstimationError(f"significance is {significance}; it must be at least 0, below 1")
