"""Bodies of several links in an estimate: how each is spread over its links, and whether it fits.

The rules are in `steelyard.model.attached_links`, the condition that the rest is physical in
`steelyard.knowledge.attached_rest`.

The rest of a small link is often at the edge of what is physical by chance: its own inertia is
smaller than what the noise resolves. The file's inertials of the attached links are contradicted
only if the best fit without the condition is significantly better than the best fit with it,

    (|z - R K theta_with|² - |z - R K theta_without|²) / dependence  >  quantile of chi-squared,

both without a prior, with one degree of freedom for each of the body's ten parameters (the
condition fixes fewer, so that a right file is called wrong less often than `CHANCE`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import Block
from steelyard.conic.solver import solve
from steelyard.errors import quoted_list
from steelyard.estimators.constrained import ConstrainedFit, fit_problem, squares
from steelyard.estimators.estimate import Estimate
from steelyard.estimators.estimate_record import MergedBodies, MergedBody, verb
from steelyard.estimators.feasible import PULL
from steelyard.estimators.quantiles import chi2_quantile
from steelyard.findings import Finding
from steelyard.knowledge.statements import AttachedRest
from steelyard.model.attached_links import AttachedLinks, AttachedRule, attached_links
from steelyard.model.model import Model
from steelyard.model.typical_sizes import parameter_scale, placing_weights
from steelyard.regression.regression import Regression

Array = NDArray[np.float64]
CHANCE = 0.01
"""Probability with which a file with the right inertials of attached links is called wrong."""
N_PARAMETERS = 10


def merged_bodies(model: Model, theta: Array, rule: AttachedRule) -> MergedBodies | None:
    """The bodies of several links at the parameters theta (n_columns,); None without any."""
    found = attached_links(model, rule)
    if not found:
        return None
    mass = {
        body.name: float(theta[first])
        for body, first in zip(model.mechanism.bodies, model.first_column_of_body, strict=True)
    }
    return MergedBodies(rule, tuple(_merged(one, mass[one.body]) for one in found))


def _merged(one: AttachedLinks, mass: float) -> MergedBody:
    known = float(one.known[0]) if one.kept else 0.0
    return MergedBody(one.body, one.receiver, one.kept, one.emptied, mass, known)


def with_merged_bodies(
    estimate: Estimate,
    model: Model,
    rule: AttachedRule,
    regression: Regression,
    fit: ConstrainedFit | None,
) -> Estimate:
    """The estimate with its bodies of several links, as data and in findings.

    fit : of the estimate; None for a method without constraints.

    Unchanged where there are none, or no standard parameters.
    """
    if estimate.standard is None:
        return estimate
    merged = merged_bodies(model, estimate.standard.theta, rule)
    if merged is None:
        return estimate
    findings = (*_emptied_findings(merged), *_edge_findings(model, regression, fit, merged))
    return replace(
        estimate,
        standard=replace(estimate.standard, merged=merged),
        findings=(*estimate.findings, *findings),
    )


def _emptied_findings(merged: MergedBodies) -> Iterable[Finding]:
    """Links that cannot keep their inertials although they should."""
    if merged.rule != "keep":
        return
    for one in merged.bodies:
        if one.emptied:
            yield Finding(
                "warning",
                "attached-not-physical",
                f"{quoted_list(one.emptied)} of body '{one.body}' "
                f"{verb(one.emptied, 'is', 'are')} not physical in the robot file and cannot "
                f"keep {verb(one.emptied, 'its inertial', 'their inertials')}: "
                f"{verb(one.emptied, 'its', 'their')} mass is part of '{one.receiver}' in this "
                "estimate; to write the robot file, correct it first ('steelyard check --fix'), or "
                "give --attached lump",
            )


def _edge_findings(
    model: Model, regression: Regression, fit: ConstrainedFit | None, merged: MergedBodies
) -> Iterable[Finding]:
    """Bodies of which the data would take more than the attached links leave."""
    if fit is None:
        return
    active = {s.body for s in fit.active() if isinstance(s, AttachedRest)}
    contradicted = contradicted_bodies(model, regression, fit, active)
    for one in merged.bodies:
        if one.body in contradicted:
            yield Finding(
                "warning",
                "attached-rest-at-edge",
                f"the data contradict the inertials of {quoted_list(one.kept)} in the robot file: "
                f"it gives them {one.kept_mass:.4g} kg, with an inertia for which the whole body "
                f"'{one.body}' of {one.mass:.4g} kg has no room; without the condition that the "
                "rest of the body is physical, the fit is better by more than chance explains. "
                f"Correct these inertials in the file, or let '{one.body}' have the whole body "
                "(--attached lump)",
            )


def contradicted_bodies(
    model: Model, regression: Regression, fit: ConstrainedFit, active: Collection[str]
) -> tuple[str, ...]:
    """Of these bodies, those of which the data contradict the inertials of attached links."""
    return tuple(body for body in active if _contradicted(model, regression, fit, body))


def _contradicted(model: Model, regression: Regression, fit: ConstrainedFit, body: str) -> bool:
    """Whether the condition on the rest of this body makes the fit significantly worse."""
    without = tuple(
        block
        for block in fit.blocks
        if not (isinstance(block.statement, AttachedRest) and block.statement.body == body)
    )
    lost = _smallest_squares(model, regression, fit, fit.blocks) - _smallest_squares(
        model, regression, fit, without
    )
    # NaN, where a fit did not converge, counts as a contradiction: the warning is not withheld
    return not lost <= fit.system.dependence * chi2_quantile(1.0 - CHANCE, N_PARAMETERS)


def _smallest_squares(
    model: Model, regression: Regression, fit: ConstrainedFit, given: tuple[Block, ...]
) -> float:
    """|z - R K theta|² of the best fit within these conditions; NaN if it was not found.

    What the data do not determine is drawn slightly to the estimate.
    """
    problem = fit_problem(
        fit.system.factor,
        fit.system.sigma,
        regression.base.K,
        given,
        parameter_scale(model),
        PULL * placing_weights(model),
        fit.theta,
    )
    solution = solve(problem)
    return squares(problem, solution.theta) if solution.status == "solved" else float("nan")
