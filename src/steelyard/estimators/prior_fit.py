"""The default estimate: weighted, fully consistent, drawn to a prior with a weight chosen by data.

The problem and its solution are in `steelyard.estimators.entropic`, the choice of gamma in
`steelyard.estimators.prior_weight`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import Block
from steelyard.conic.settle import settle
from steelyard.errors import EstimationError
from steelyard.estimators.constrained import (
    ConstrainedFit,
    System,
    fit_problem,
    squares,
    weighted_system,
)
from steelyard.estimators.credible import credible
from steelyard.estimators.drawn_fits import DrawnFits, drawn_factors
from steelyard.estimators.entropic import (
    LEAST_PULL,
    METRICS,
    TERM_WEIGHT,
    Metric,
    Placed,
    PriorProblem,
    prior_problem,
    usual_gamma,
    usual_term_weight,
)
from steelyard.estimators.parallel.workers import solve_all
from steelyard.estimators.prior_influence import ALLOWED, influence
from steelyard.estimators.prior_weight import (
    GAMMA_RULES,
    GRID,
    GammaChoice,
    GammaRule,
    groups_of,
    l_curve,
    leave_blocks_out,
    parts_of,
    search_for,
)
from steelyard.estimators.pull import Pull
from steelyard.estimators.size_rules import FEWER_PARTS, has_many
from steelyard.estimators.solver_names import Weighting
from steelyard.knowledge.conflicts import check_constraints
from steelyard.knowledge.constraint_blocks import blocks
from steelyard.knowledge.constraints import Constraints
from steelyard.knowledge.prior import Prior
from steelyard.model.model import Model
from steelyard.model.term_kinds import TermKind
from steelyard.model.typical_sizes import (
    parameter_scale,
    prior_scale,
    typical_parameters,
)
from steelyard.regression.regression import Regression

Array = NDArray[np.float64]
Place = Callable[[System, tuple[Block, ...], Array, GammaChoice], tuple[Array, int]]
"""Parameters (n_columns,) and number of iterations, from the weighted data, the conditions, typical
sizes (n_columns,) and the weights of the prior.
"""
SMALLEST_GAMMA, LARGEST_GAMMA = 1e-6, 1e8
"""Allowed weights of a prior."""
USUAL = 100.0
"""Weight of the prior where none is chosen, as in the fit that shows the sizes of terms."""
LEAST_SHOWN = 3e-4
"""Smallest share of its torques for which a term is sized."""
TO_RMS = 1.4826
"""Rms value of a normal variable over the median of its size."""


def fit_with_prior(
    model: Model,
    regression: Regression,
    prior: Prior,
    constraints: Constraints | None = None,
    *,
    gamma: float | GammaRule = "leave-blocks-out",
    metric: Metric = "entropic",
    weighting: Weighting = "wls",
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
    place: Place | None = None,
) -> ConstrainedFit:
    """Minimise the residuals plus gamma times the divergence from the prior, with constraints.

    gamma : weight of the prior, or the rule by which the data choose it.
    metric : "entropic" (log-det divergence) or "pullback" (its second-order part).
    place : another way to the optimum for the chosen gamma; the simultaneous one if None.
    """
    constraints = constraints or Constraints()
    _check(model, prior, constraints, gamma, metric)
    system = weighted_system(model, regression, weighting)
    given = blocks(model, constraints)
    scale = parameter_scale(model)
    first = model.first_column_of_body
    try:
        sizes = sizes_of(model, system, prior, given)
        problem = problem_of(model, sizes, given, prior)
        # fail early, before the search for gamma, if there is no solution
        if place is None or isinstance(gamma, str):
            _solve(problem, system, regression, usual_gamma(system.dependence), metric)
        fits = DrawnFits(
            problem,
            drawn_factors(regression, system.weights, system.factor),
            system.sigma,
            regression.base.K,
            metric,
        )
        choice = _choose(regression, system, fits, gamma, threads, progress)
        if place is None:
            placed = _solve(problem, system, regression, choice.gamma, metric, choice.terms)
            theta, iterations = placed.theta, placed.solution.iterations
        else:
            theta, iterations = place(system, given, sizes, choice)
        settled = settle(theta, given, scale)
    except EstimationError:
        check_constraints(model, constraints)  # raises if they contradict each other
        raise
    K = regression.base.K
    plain = fit_problem(system.factor, system.sigma, K, given, scale, 0.0, prior.theta)
    divergence = problem.divergence(settled.theta, metric)
    here = (
        problem,
        system,
        K,
        settled.theta,
        choice.gamma,
        choice.terms,
        metric,
        system.dependence,
    )
    found = influence(*here)
    share = found.data_share
    share[~(_depends_on_prior(K, first, prior.trust) | system.free.determined)] = np.nan
    names = {start: body.name for start, body in zip(first, model.mechanism.bodies, strict=True)}
    return ConstrainedFit(
        method=metric,
        theta=settled.theta,
        beta=K @ settled.theta,
        system=system,
        blocks=given,
        problem=plain,
        settled=settled,
        squares=squares(plain, settled.theta),
        solver="interior-point" if place is None else "linkwise",
        pull=Pull(
            prior,
            metric,
            choice,
            {
                names[start]: float(value)
                for start, value in zip(problem.first, divergence, strict=True)
                if np.isfinite(value)
            },
            sizes,
            found.covariance,
            share,
            iterations,
            fits,
            tuple(
                names[start]
                for start, strain, limit in zip(
                    problem.first, found.strain, found.limit, strict=True
                )
                if strain > ALLOWED * limit
            ),
            credible(*here, found, first) if choice.gamma > 0.0 else None,
        ),
    )


def _check(
    model: Model, prior: Prior, constraints: Constraints, gamma: float | str, metric: str
) -> None:
    if prior.theta.shape != (len(model.columns),):
        raise EstimationError(
            f"the prior has {len(prior.theta)} values, but the model {len(model.columns)} columns"
        )
    if constraints.consistency != "full":
        raise EstimationError(
            f"consistency is '{constraints.consistency}', but a fit with a prior needs "
            "'full'; use the method 'feasible' for weaker conditions"
        )
    if metric not in METRICS:
        raise EstimationError(f"there is no metric '{metric}'; there are {', '.join(METRICS)}")
    if isinstance(gamma, str) and gamma not in GAMMA_RULES:
        raise EstimationError(
            f"gamma is '{gamma}'; it must be a number or {' or '.join(GAMMA_RULES)}"
        )
    if not isinstance(gamma, str) and not SMALLEST_GAMMA <= gamma <= LARGEST_GAMMA:
        raise EstimationError(
            f"gamma is {gamma:g}; it must be between {SMALLEST_GAMMA:g} and {LARGEST_GAMMA:g}. For "
            "a fit without a prior use the method 'feasible'"
        )


def _solve(
    problem: PriorProblem,
    system: System,
    regression: Regression,
    gamma: float,
    metric: Metric,
    terms: float | None = None,
) -> Placed:
    R, z = system.factor[:-1, :-1] / system.sigma, system.factor[:-1, -1] / system.sigma
    return problem.solve(R @ regression.base.K, z, gamma, metric, terms)


def _choose(
    regression: Regression,
    system: System,
    fits: DrawnFits,
    gamma: float | GammaRule,
    threads: int,
    progress: Callable[[int, int], None] | None,
) -> GammaChoice:
    problem, metric = fits.problem, fits.metric
    if not problem.trust.any():
        return GammaChoice(0.0, "no prior", usual_term_weight(0.0))
    if not isinstance(gamma, str):
        return GammaChoice(float(gamma), "given", usual_term_weight(float(gamma)))
    if gamma == "l-curve":
        # a pull on terms that grew with gamma would make a corner of its own
        terms = TERM_WEIGHT * system.dependence
        found = [_solve(problem, system, regression, value, metric, terms) for value in GRID]
        K, sigma = regression.base.K, system.sigma
        misfits = [
            float(np.sum((system.factor @ np.append(K @ one.theta, -1.0)) ** 2)) / sigma**2
            for one in found
        ]
        return l_curve(
            misfits,
            [float(np.nansum(problem.divergence(one.theta, metric))) for one in found],
            terms,
        )
    search = search_for(len(problem.origin))
    counts = regression.counts.sum(axis=1).astype(float)
    if has_many(len(problem.origin)):
        parts = parts_of(counts, most=FEWER_PARTS)
        fits = replace(fits, factors=fits.factors.joined(parts))
        counts = np.array([counts[part].sum() for part in parts])
    before = 0

    def betas(tasks: Array) -> Array:
        nonlocal before
        earlier = before

        def done(count: int) -> None:
            if progress is not None:
                progress(min(earlier + count, search.n_fits), search.n_fits)

        before += len(tasks)
        return solve_all(fits.base_parameters, tasks, threads, done)

    small, groups = fits.factors.small, groups_of(fits.factors, counts, search.n_groups)
    d = system.dependence
    choice = leave_blocks_out(small, counts, system.sigma, groups, betas, d, search)
    if progress is not None:
        progress(search.n_fits, search.n_fits)
    return choice


def _depends_on_prior(K: Array, first: tuple[int, ...], trust: Array) -> NDArray[np.bool_]:
    """Which base parameters (n_base,) depend on a body with a prior."""
    columns = [
        start + j for start, own in zip(first, trust, strict=True) if own > 0 for j in range(10)
    ]
    return np.asarray(np.any(K[:, columns] != 0.0, axis=1))


def problem_of(model: Model, sizes: Array, given: tuple[Block, ...], prior: Prior) -> PriorProblem:
    """The fit of a model to any data with this prior. sizes : (n_columns,) as `sizes_of` gives."""
    return prior_problem(
        model.first_column_of_body,
        sizes,
        typical_parameters(model),
        given,
        prior.theta,
        prior.trust,
    )


def sizes_of(model: Model, system: System, prior: Prior, given: tuple[Block, ...] = ()) -> Array:
    """Size (n_columns,) of each parameter: of bodies from the prior, of terms from the data.

    Masses say little of friction, and nothing of drive inertia, which gears multiply by the square
    of their ratio. A kind of term is therefore as large as a fit with hardly any pull makes it: as
    a share of what the prior's bodies leave of the torques that it acts on, the same for all joints
    (1.48 times the median). Drive inertia may take all of that: it shares its torque with the links
    next to it, so that a loose fit shows little. A term that moves nothing, such as friction of a
    joint at rest, has the size that the prior's masses suggest.
    """
    sizes = prior_scale(model, prior.theta, prior.trust)
    regression = system.regression
    terms = np.array([column.term_kind is not None for column in model.columns])
    bodies = regression.base.K @ np.where(terms, 0.0, prior.theta)
    torque, shown = np.zeros(len(sizes)), np.zeros(len(sizes))
    for group, factor in zip(regression.groups, regression.group_factors, strict=True):
        own = list(group.columns)
        column = np.sum((factor[:, :-1] @ regression.base.K[own]) ** 2, axis=0)
        rest = np.sum((factor @ np.append(bodies[own], -1.0)) ** 2)
        torque += np.where(column > 0.0, rest, 0.0)
        shown += column
    unit = np.sqrt(torque / np.where(shown > 0.0, shown, np.inf))
    problem = problem_of(model, sizes, given, prior)
    R, z = system.factor[:-1, :-1] / system.sigma, system.factor[:-1, -1] / system.sigma
    loose = problem.without_conditions(problem.data(R @ regression.base.K, z), USUAL, LEAST_PULL)
    kinds: dict[tuple[TermKind, str], list[int]] = {}
    for k, column_of in enumerate(model.columns):
        if column_of.term_kind is not None and unit[k] > 0.0:
            kinds.setdefault((column_of.term_kind, column_of.unit), []).append(k)
    for (kind, _), own in kinds.items():
        share = TO_RMS * float(np.median(np.abs(loose[own]) / unit[own]))
        sizes[own] = max(share, 1.0 if kind.is_inertia else LEAST_SHOWN) * unit[own]
    return sizes
