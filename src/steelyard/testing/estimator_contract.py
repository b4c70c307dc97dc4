"""The contract of every estimator: shapes, names, its promises, independence of threads.

`broken_promises` checks a `steelyard.estimators.estimator.Estimator` against it; the tests do so
for every estimator of the registry.
"""

from __future__ import annotations

import numpy as np

from steelyard.errors import EstimationError
from steelyard.estimators.estimate import Estimate
from steelyard.estimators.estimator import EstimationOptions, EstimationTask, Estimator
from steelyard.estimators.registry import refuse_needless_prior
from steelyard.estimators.solver_names import SOLVER_WORDS
from steelyard.knowledge.prior import Prior
from steelyard.model.kernels import body_parameters
from steelyard.model.model import Model
from steelyard.regression.regression import Regression
from steelyard.robot.inertia import pseudo_inertia

ROUNDING = 1e-9


def broken_promises(
    estimator: Estimator, model: Model, regression: Regression, prior: Prior
) -> tuple[str, ...]:
    """Violations of the contract on these data, in words; empty if there are none.

    prior : passed to the estimator only if it takes one.
    """
    options = EstimationOptions(estimator.name, n_resamples=20, ranges=False)
    given = prior if estimator.takes_prior else None
    one, two = (
        estimator.run(EstimationTask(model, regression, options, given, threads=threads))
        for threads in (1, 2)
    )
    estimate, fit = one
    broken = [
        *_base_parameters(estimator, regression, estimate),
        *_standard_parameters(estimator, model, regression, estimate),
    ]
    if estimator.physical and fit is None:
        broken.append("promises physical parameters, but gives no fit to make a certificate of")
    if not np.array_equal(estimate.beta, two[0].beta):
        broken.append("gives other parameters with two threads than with one")
    if not estimator.takes_prior:
        try:
            refuse_needless_prior(estimator, prior)
            broken.append("does not refuse a prior, though it takes none")
        except EstimationError:
            pass
    return tuple(broken)


def _base_parameters(estimator: Estimator, regression: Regression, estimate: Estimate) -> list[str]:
    broken = []
    if estimate.method != estimator.name:
        broken.append(f"is registered as '{estimator.name}', but says '{estimate.method}'")
    if estimate.solver not in SOLVER_WORDS:
        broken.append(f"names a solver that there is not: '{estimate.solver}'")
    if estimate.base.names != regression.base.names:
        broken.append("names other base parameters than the regression")
    if estimate.beta.shape != (regression.base.rank,) or not np.isfinite(estimate.beta).all():
        return [*broken, "gives base parameters of a wrong shape, or not finite"]
    if not 0.0 <= estimate.relative_error < np.inf or not estimate.channels:
        broken.append("gives no relative error")
    for k, parameter in enumerate(estimate.parameters()):
        if not estimate.determined[k] or k in estimate.held:
            continue
        if not (np.isfinite(parameter.value) and parameter.lower <= parameter.upper):
            broken.append(f"gives '{parameter.name}' no value or no interval")
    return broken


def _standard_parameters(
    estimator: Estimator, model: Model, regression: Regression, estimate: Estimate
) -> list[str]:
    standard = estimate.standard
    if (standard is not None) != estimator.gives_standard:
        what = "no standard parameters" if standard is None else "standard parameters"
        return [f"gives {what}, unlike its registry entry"]
    if standard is None:
        return ["promises physical parameters, but gives none"] if estimator.physical else []
    broken = []
    beta = regression.base.K @ standard.theta
    if not np.allclose(beta, estimate.beta, rtol=ROUNDING, atol=ROUNDING * np.abs(beta).max()):
        broken.append("gives standard parameters that do not match its base parameters")
    if standard.feasible != estimator.physical:
        broken.append("labels its standard parameters (feasible or not) unlike its registry entry")
    if estimator.physical:
        smallest = np.linalg.eigvalsh(pseudo_inertia(body_parameters(model, standard.theta))).min()
        kinds = [column.term_kind for column in model.columns]
        signs = [k is not None and not k.may_be_negative for k in kinds]
        if smallest < 0.0 or standard.theta[signs].min(initial=0.0) < 0.0:
            broken.append("promises physical parameters, but gives some that are not")
    return broken
