"""Whether links behind fixed joints keep the inertials of the robot file: decided by prediction.

With "keep", the rest of a body must be physical beside the links that keep their inertials, which
costs accuracy where these are wrong in the file, such as a hand that was changed. Both rules
predict left-out parts of the data, by the method of the estimate: the moving links get everything
("lump") only if that is clearly better, or if it is better and the data contradict the condition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import Block
from steelyard.conic.solver import solve
from steelyard.errors import EstimationError, quoted_list
from steelyard.estimators.constrained import ConstrainedFit, fit_problem
from steelyard.estimators.drawn_fits import DrawnFactors, DrawnFits, drawn_factors
from steelyard.estimators.estimate import Estimate
from steelyard.estimators.estimator import EstimationOptions
from steelyard.estimators.feasible import PULL
from steelyard.estimators.merged_bodies import contradicted_bodies
from steelyard.estimators.parallel.workers import solve_all
from steelyard.estimators.prior_fit import problem_of
from steelyard.estimators.prior_weight import MIN_GROUPS, left_out_scores, parts_of
from steelyard.estimators.registry import estimate_by
from steelyard.findings import Finding
from steelyard.knowledge.constraints import Constraints
from steelyard.knowledge.prior import Prior
from steelyard.knowledge.statements import AttachedRest
from steelyard.model.attached_links import AttachedOption, AttachedRule, attached_links
from steelyard.model.model import Model
from steelyard.model.typical_sizes import parameter_scale, placing_weights
from steelyard.regression.regression import Regression

Array = NDArray[np.float64]
MUCH = 0.1
"""Decrease of the squared error (5 % in the error) that is clear."""
WEAKER = (1.0, 0.1, 0.01)
"""Shares of the chosen weight of the prior that are tried without the condition: a wrong condition
makes the data prefer a strong prior, with which it holds."""


@dataclass(frozen=True)
class AttachedEvidence:
    """Errors on left-out parts, rms in units of the noise, with both rules.

    better : whether "lump" is better by more than one standard error of the difference over the
    parts. contradicted : bodies of which the data contradict the inertials that are kept.
    """

    keep: float
    lump: float
    better: bool
    contradicted: tuple[str, ...] = ()

    @property
    def for_lump(self) -> bool:
        """Whether the bodies should get everything."""
        much = self.keep**2 > (1.0 + MUCH) * self.lump**2
        return self.better and (much or bool(self.contradicted))


@dataclass(frozen=True, eq=False)
class AttachedEstimate:
    """An estimate, and the rule for attached links that it was made with.

    constraints : with that rule. findings : why it was chosen, where it was.
    """

    estimate: Estimate
    fit: ConstrainedFit | None
    rule: AttachedRule
    constraints: Constraints
    findings: tuple[Finding, ...] = ()


def estimate_with_attached(
    options: EstimationOptions,
    model: Model,
    regression: Regression,
    attached: AttachedOption,
    *,
    prior: Prior | None,
    constraints: Constraints,
    threads: int = 1,
    progress: Callable[[str, int, int], None] | None = None,
) -> AttachedEstimate:
    """The estimate by a method, with the stated rule for attached links or, with "auto", by that
    which predicts left-out parts better.
    """

    def by(rule: AttachedRule) -> AttachedEstimate:
        given = replace(constraints, keep_attached=rule == "keep")
        estimate, fit = estimate_by(
            options,
            model,
            regression,
            prior=prior,
            constraints=given,
            threads=threads,
            progress=progress,
        )
        return AttachedEstimate(estimate, fit, rule, given)

    if attached != "auto":
        return by(attached)
    try:
        kept = by("keep")
    except EstimationError as refused:
        # conditions of the user may leave no room for the links that keep their inertials
        if not any(one.kept for one in attached_links(model)):
            raise
        try:
            lumped = by("lump")
        except EstimationError:
            raise refused from None
        if lumped.fit is None:
            raise
        return replace(lumped, findings=(_no_room(model, str(refused)),))
    evidence = attached_evidence(model, regression, kept.fit, threads)
    if evidence is None:
        return kept
    if not evidence.for_lump:
        return replace(kept, findings=(_kept_finding(model, evidence),))
    return replace(by("lump"), findings=(_lumped_finding(model, evidence),))


def attached_evidence(
    model: Model, regression: Regression, fit: ConstrainedFit | None, threads: int = 1
) -> AttachedEvidence | None:
    """How well both rules predict left-out parts; None where the condition that the rest of a body
    is physical does not matter, or is not there, or where there are too few parts.

    fit : with that condition. Sequential fits are not compared.
    """
    if fit is None or fit.solver in ("linkwise", "linkwise-clarabel"):
        return None
    kept = [block for block in fit.blocks if isinstance(block.statement, AttachedRest)]
    if not kept or len(regression.keys) < MIN_GROUPS:
        return None
    free = tuple(block for block in fit.blocks if not isinstance(block.statement, AttachedRest))
    active = {one.body for one in fit.active() if isinstance(one, AttachedRest)}
    if fit.pull is None or fit.pull.gamma <= 0.0:
        found = _without_prior(model, regression, fit, free) if active else None
    else:
        found = _with_prior(model, regression, fit, free, kept, threads)
    if found is None:
        return None
    keep, *others = found
    lump = min(others, key=lambda one: float(np.mean(one)))
    if not (np.isfinite(keep).all() and np.isfinite(lump).all()):
        return None
    better = keep - lump
    spread = float(np.std(better, ddof=1)) / np.sqrt(len(better))
    return AttachedEvidence(
        float(np.sqrt(keep.mean())),
        float(np.sqrt(lump.mean())),
        bool(better.mean() > spread),
        contradicted_bodies(model, regression, fit, active),
    )


def _with_prior(
    model: Model,
    regression: Regression,
    fit: ConstrainedFit,
    free: tuple[Block, ...],
    kept: list[Block],
    threads: int,
) -> list[Array] | None:
    """Scores (n_parts,) with the condition, and without it for each of `WEAKER`."""
    assert fit.pull is not None
    pull, fits = fit.pull, fit.pull.fits
    gamma, terms = pull.gamma, pull.choice.terms
    problem = problem_of(model, pull.sizes, free, pull.prior)
    whole = fit.system.factor / fit.sigma
    data = problem.data(whole[:-1, :-1] @ fits.K, whole[:-1, -1])
    weakest = problem.solve_data(data, WEAKER[-1] * gamma, pull.metric, terms).theta
    if all(block.margin(weakest) >= 0.0 for block in kept):
        return None
    parts, factors, counts = _parts(regression, fits.factors)
    scored = []
    for of, shares in ((fits.problem, (1.0,)), (problem, WEAKER)):
        tried = DrawnFits(of, factors, fits.sigma, fits.K, fits.metric)
        for share in shares:
            tasks = np.ones((len(parts), 2 + len(parts)))
            tasks[:, 0], tasks[:, 1] = share * gamma, terms
            tasks[:, 2:] -= np.eye(len(parts))
            betas = solve_all(tried.base_parameters, tasks, threads)
            scored.append(_scores(factors, counts, fits.sigma, betas))
    return scored


def _without_prior(
    model: Model, regression: Regression, fit: ConstrainedFit, free: tuple[Block, ...]
) -> list[Array]:
    """Scores (n_parts,) with the condition and without it."""
    small = drawn_factors(regression, fit.weights, fit.system.factor)
    parts, factors, counts = _parts(regression, small)
    K, scale, weight = regression.base.K, parameter_scale(model), PULL * placing_weights(model)
    scored = []
    for given in (fit.blocks, free):
        betas = np.full((len(parts), len(K)), np.nan)
        for k in range(len(parts)):
            factor = factors.factor(1.0 - np.eye(len(parts))[k])
            problem = fit_problem(factor, fit.sigma, K, given, scale, weight, fit.theta)
            solution = solve(problem)
            if solution.status == "solved":
                betas[k] = K @ solution.theta
        scored.append(_scores(factors, counts, fit.sigma, betas))
    return scored


def _parts(
    regression: Regression, factors: DrawnFactors
) -> tuple[list[NDArray[np.int64]], DrawnFactors, Array]:
    """Parts of neighbouring blocks, with one factor each, and their numbers of torque values."""
    counts = regression.counts.sum(axis=1).astype(float)
    parts = parts_of(counts)
    return parts, factors.joined(parts), np.array([counts[part].sum() for part in parts])


def _scores(factors: DrawnFactors, counts: Array, sigma: float, betas: Array) -> Array:
    each = [np.array([k]) for k in range(len(counts))]
    return np.array(left_out_scores(factors.small, counts, sigma, each, betas))


def _kept_links(model: Model) -> str:
    names = [name for one in attached_links(model) for name in one.kept]
    return f"{quoted_list(names[:4])}{' and others' if len(names) > 4 else ''}"


def _kept_finding(model: Model, evidence: AttachedEvidence) -> Finding:
    return Finding(
        "info",
        "attached-kept",
        f"links that fixed or locked joints hold ({_kept_links(model)}) keep the inertials of the "
        f"robot file: left-out parts of the data are predicted with {evidence.keep:.3g} times the "
        f"noise, and with {evidence.lump:.3g} times if the moving links get everything "
        "(--attached lump)",
    )


def _lumped_finding(model: Model, evidence: AttachedEvidence) -> Finding:
    why = " (the data contradict them)" if evidence.contradicted else ""
    return Finding(
        "warning",
        "attached-lumped",
        "the moving links get everything that fixed or locked joints hold to them: left-out parts "
        f"of the data are predicted with {evidence.lump:.3g} times the noise, and with "
        f"{evidence.keep:.3g} times if {_kept_links(model)} keep the inertials of the robot file"
        f"{why}; correct these inertials in the file, or keep them anyway (--attached keep)",
    )


def _no_room(model: Model, refused: str) -> Finding:
    return Finding(
        "warning",
        "attached-lumped",
        "the moving links get everything that fixed or locked joints hold to them, since no "
        f"estimate leaves room for the inertials that {_kept_links(model)} have in the robot file "
        f"({refused}); correct these inertials in the file",
    )
