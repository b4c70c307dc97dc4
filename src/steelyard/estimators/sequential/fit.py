"""Sequential fits of a robot from the compressed factors: the sound one and the published one.

Both minimise the objective of `steelyard.estimators.feasible`, the weighted residuals with a weak
pull of what the data do not determine, and say how far they are from its optimum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import Block
from steelyard.conic.settle import settle
from steelyard.errors import EstimationError, listed
from steelyard.estimators.constrained import (
    ConstrainedFit,
    Refit,
    System,
    fit_problem,
    squares,
    weighted_system,
)
from steelyard.estimators.feasible import PULL
from steelyard.estimators.optimum_distance import OptimumDistance
from steelyard.estimators.prior_fit import fit_with_prior
from steelyard.estimators.prior_weight import GammaChoice, GammaRule
from steelyard.estimators.sequential.inward import LinkwiseFit
from steelyard.estimators.sequential.links import (
    Link,
    LinkLayout,
    PriorPull,
    WeakPull,
    layout_of,
    links_of,
)
from steelyard.estimators.sequential.paper import fit_paper, joint_rows
from steelyard.estimators.sequential.refined import Refined, Stage, check_sweeps, refine
from steelyard.estimators.sequential.resampled import paper_solver, sequential_solver
from steelyard.estimators.solver_names import SolverName, Weighting
from steelyard.findings import Finding
from steelyard.knowledge.conflicts import check_constraints
from steelyard.knowledge.constraint_blocks import blocks
from steelyard.knowledge.constraints import Constraints
from steelyard.knowledge.prior import Prior
from steelyard.model.base_map import BaseMap
from steelyard.model.model import Model
from steelyard.model.typical_sizes import parameter_scale, placing_weights, typical_parameters
from steelyard.regression.regression import Regression

Array = NDArray[np.float64]
SEEN = 1.0
"""A link about which a change of typical size alters the residuals by less than this share of their
noise has no data of its own.
"""


@dataclass(frozen=True, eq=False)
class SequentialFit:
    """A sequential fit and what is known about it.

    fit : with parameters that meet every condition exactly. refined : its stages.
    reached : objective of these parameters, and the lower bound of the simultaneous optimum.
    unseen : links without data of their own. published : whether it is the published method.
    floating : name of the body that is a floating base, if any.
    """

    fit: ConstrainedFit
    refined: Refined
    reached: Stage
    unseen: tuple[str, ...]
    published: bool = False
    floating: str | None = None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The distance from the simultaneous optimum; links without data."""
        return (*self._unseen(), self.distance.finding)

    @property
    def distance(self) -> OptimumDistance:
        """How far the fit is from the simultaneous optimum, at most."""
        system, n = self.fit.system, self.refined.n_sweeps
        rest = float(system.factor[-1, -1] / system.sigma) ** 2
        gap = self.reached.gap
        return OptimumDistance(
            max(gap, 0.0) if np.isfinite(gap) else np.inf,
            0.5 * (self.fit.squares + rest),
            "the published sequential method"
            if self.published
            else f"the sequential fit with {n} sweep{'' if n == 1 else 's'}",
            self.published,
        )

    def _unseen(self) -> tuple[Finding, ...]:
        if not self.unseen:
            return ()
        cures = []
        if self.floating in self.unseen:
            cures.append(
                f"measure the wrench that holds '{self.floating}', or all contact forces (joint "
                "torques alone do not show a floating base)"
            )
        if set(self.unseen) - {self.floating}:
            others = "the others' joints" if cures else "their joints"
            cures.append(f"record a motion of {others}")
        return (
            Finding(
                "warning",
                "links-without-data",
                f"the data hold nothing about {listed(self.unseen)} that the inner links could not "
                "explain as well: only sums with the links that carry them are determined, and "
                "their own parameters are placed by the prior or the weak pull; "
                + "; ".join(cures),
            ),
        )


def fit_sequential(
    model: Model,
    regression: Regression,
    constraints: Constraints | None = None,
    *,
    towards: Array | None = None,
    weighting: Weighting = "wls",
    pull: float = PULL,
    sweeps: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SequentialFit:
    """The sound sequential fit, refined.

    towards : (n_columns,) values for what the data do not determine; typical bodies if None.
    pull : their weight, as in `steelyard.estimators.feasible.fit_feasible`.
    sweeps : 0 for the sequential pass alone; None for as many as prove the fit optimal to 0.1 %.
    """
    check_sweeps(sweeps)
    task = _Task.of(model, regression, constraints, towards, weighting, pull)
    try:
        links = task.links()
        found = refine(task.R, task.z, regression.base.K, links, sweeps=sweeps, progress=progress)
        fit = task.settled("sequential", found.theta, solver_of(found.fit))
    except EstimationError:
        check_constraints(model, constraints or Constraints())  # raises if they contradict
        raise
    drawn = Refit(partial(sequential_solver, regression, fit, links))
    return SequentialFit(
        replace(fit, refit=drawn),
        found,
        found.stage_of(fit.theta),
        unseen_links(task.R, regression.base, links),
        floating=_floating(model),
    )


def fit_sequential_paper(
    model: Model,
    regression: Regression,
    constraints: Constraints | None = None,
    *,
    towards: Array | None = None,
    weighting: Weighting = "wls",
    pull: float = PULL,
) -> SequentialFit:
    """The published method; its distance from the optimum is proven by refining a sound fit.

    towards : (n_columns,) centre of the regularisation; zero if None, as published.
    """
    rows = joint_rows(model, regression)
    towards = np.zeros(len(model.columns)) if towards is None else towards
    task = _Task.of(model, regression, constraints, towards, weighting, pull)
    K = regression.base.K
    columns = [group.columns for group in regression.groups]
    factors = {
        g: factor * (task.system.weights[g] / task.system.sigma)
        for g, factor in enumerate(regression.group_factors)
    }
    try:
        links = task.links()
        published = fit_paper(rows, columns, factors, K, links)
        fit = task.settled("sequential-paper", published.theta(links), solver_of(published))
        best = refine(task.R, task.z, K, links)
    except EstimationError:
        check_constraints(model, constraints or Constraints())
        raise
    drawn = Refit(partial(paper_solver, regression, fit, links, rows))
    found = Refined(best.whole, published, best.stages)
    return SequentialFit(
        replace(fit, refit=drawn),
        found,
        found.stage_of(fit.theta),
        unseen_links(task.R, regression.base, links),
        published=True,
        floating=_floating(model),
    )


def fit_sequential_with_prior(
    model: Model,
    regression: Regression,
    prior: Prior,
    constraints: Constraints | None = None,
    *,
    gamma: float | GammaRule = "leave-blocks-out",
    sweeps: int | None = None,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> SequentialFit:
    """The sound sequential fit with gamma times the entropic divergence from a prior, refined.

    gamma : as in `steelyard.estimators.prior_fit.fit_with_prior`; the rules that choose it from the
    data fit left-out blocks simultaneously.
    """
    check_sweeps(sweeps)
    layout, typical = layout_of(model, regression.base), typical_parameters(model)
    kept: list[Refined] = []

    def place(
        system: System, given: tuple[Block, ...], scale: Array, choice: GammaChoice
    ) -> tuple[Array, int]:
        pull = PriorPull(prior, choice.gamma, choice.terms, scale)
        links = links_of(layout, typical, given, pull)
        R, z = system.factor[:-1, :-1] / system.sigma, system.factor[:-1, -1] / system.sigma
        kept.append(refine(R, z, regression.base.K, links, sweeps=sweeps))
        return kept[-1].theta, kept[-1].n_sweeps

    fit = fit_with_prior(
        model,
        regression,
        prior,
        constraints,
        gamma=gamma,
        threads=threads,
        progress=progress,
        place=place,
    )
    found = kept[-1]
    fit = replace(fit, method="sequential-entropic", solver=solver_of(found.fit))
    R = fit.system.factor[:-1, :-1] / fit.sigma
    unseen = unseen_links(R, regression.base, found.whole.links)
    reached = found.stage_of(fit.theta)
    return SequentialFit(fit, found, reached, unseen, floating=_floating(model))


def _floating(model: Model) -> str | None:
    """Name of the body that is a floating base."""
    body = model.mechanism.bodies[0]
    return body.name if body.joint is None else None


def solver_of(fit: LinkwiseFit) -> SolverName:
    """What solved the steps of a fit."""
    return "linkwise-clarabel" if fit.n_clarabel else "linkwise"


def unseen_links(R: Array, base: BaseMap, links: tuple[Link, ...]) -> tuple[str, ...]:
    """Links about which the data say nothing beyond what inner links could explain.

    R : in units of the noise. Links that have no free parameters are left out.
    """
    out = []
    for link in links:
        if not link.size:
            continue
        block = R[link.rows, link.rows] @ base.K[link.rows, link.columns] @ link.turn
        if not len(block) or np.linalg.norm(block, 2) < SEEN:
            out.append(link.name)
    return tuple(out)


@dataclass(frozen=True, eq=False)
class _Task:
    """The input of a fit, prepared."""

    regression: Regression
    system: System
    given: tuple[Block, ...]
    layout: LinkLayout
    typical: Array
    pull: WeakPull

    @staticmethod
    def of(
        model: Model,
        regression: Regression,
        constraints: Constraints | None,
        towards: Array | None,
        weighting: Weighting,
        pull: float,
    ) -> _Task:
        scale, typical = parameter_scale(model), typical_parameters(model)
        towards = typical if towards is None else np.asarray(towards, dtype=float)
        if towards.shape != scale.shape or not np.isfinite(towards).all():
            raise EstimationError(
                f"a centre of the pull needs one finite number for each of {len(scale)} columns"
            )
        return _Task(
            regression,
            weighted_system(model, regression, weighting),
            blocks(model, constraints or Constraints()),
            layout_of(model, regression.base),
            typical,
            WeakPull(pull * placing_weights(model) / scale**2, towards, scale),
        )

    @property
    def R(self) -> Array:
        return np.asarray(self.system.factor[:-1, :-1] / self.system.sigma)

    @property
    def z(self) -> Array:
        return np.asarray(self.system.factor[:-1, -1] / self.system.sigma)

    def links(self) -> tuple[Link, ...]:
        return links_of(self.layout, self.typical, self.given, self.pull)

    def settled(self, method: str, theta: Array, solver: SolverName) -> ConstrainedFit:
        """The fit with parameters that meet every condition exactly."""
        pull, K = self.pull, self.regression.base.K
        weights = pull.weights * pull.scale**2
        problem = fit_problem(
            self.system.factor, self.system.sigma, K, self.given, pull.scale, weights, pull.towards
        )
        found = settle(theta, self.given, pull.scale)
        return ConstrainedFit(
            method=method,
            theta=found.theta,
            beta=K @ found.theta,
            system=self.system,
            blocks=self.given,
            problem=problem,
            settled=found,
            squares=squares(problem, found.theta),
            solver=solver,
        )
