"""Random constrained identification problems, and an exact check of their solutions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from experiments import multisine_motion

from steelyard.conic.settle import failing
from steelyard.errors import EstimationError
from steelyard.estimators.feasible import fit_feasible
from steelyard.estimators.intervals import edge_findings
from steelyard.knowledge.constraint_blocks import moment_weights
from steelyard.knowledge.constraints import Constraints
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.model.typical_sizes import default_bound, parameter_scale
from steelyard.regression.compress import compress
from steelyard.regression.regression import Regression
from steelyard.robot.parts import Link
from steelyard.robot.rotations import frozen_array
from steelyard.signals.motion import Measurements, Motion
from steelyard.testing.random_robots import random_robot


@dataclass(frozen=True)
class Problem:
    """A model with data, its constraints, and which difficulties it has."""

    model: Model
    regression: Regression
    constraints: Constraints
    kind: str


@dataclass(frozen=True)
class Judgement:
    """Counts for one problem (0 or 1 each), and sizes in units of the prior's scale.

    runaways : a physical robot was measured, and without any bound on its bodies the fit goes
        farther than `FAR` where the data say nothing. bounded : the fit to the data of a physical
        robot is at the default bound. untold : a fit at that bound does not say so.
    """

    violations: int = 0
    unexplained_failures: int = 0
    runaways: int = 0
    bounded: int = 0
    untold: int = 0
    refusals: int = 0
    largest: float = 0.0
    share_of_bound: float = 0.0
    moved: float = 0.0


FAR = 40.0
"""Typical parameters. The default bound, 25 times all masses, allows 50 to 175 mean masses here."""


def random_problem(seed: int) -> Problem:
    """Two to seven links, 0 to 60 dB, some under-excited, unphysical or massless."""
    rng = np.random.default_rng([seed, 77])
    n_joints = int(rng.integers(2, 8))
    robot = random_robot(rng, n_joints, chain=True, prismatic=0.2, fixed=0.1)
    kind = "plain"
    constraints = Constraints()
    if rng.random() < 0.15:
        kind = "massless"
        empty = f"link_{int(rng.integers(1, n_joints + 1))}"
        gone = {empty, empty.replace("link", "tool")}
        links = tuple(
            Link(link.name, frozen_array(np.zeros(10), (10,))) if link.name in gone else link
            for link in robot.links
        )
        robot = replace(robot, links=links)
        constraints = Constraints(massless=(empty,))
    model = Model(robot)
    theta = model.prior_theta()
    terms = [column.kind != "rigid_body" for column in model.columns]
    theta[terms] = rng.uniform(0.0, 1.0, size=sum(terms))
    if kind == "plain" and rng.random() < 0.15:
        kind = "impossible"
        theta = theta + 2.0 * parameter_scale(model) * rng.normal(size=len(theta))
    n_samples = int(rng.integers(400, 1200))
    under = rng.random() < 0.3
    if under and rng.random() < 0.5:
        n_samples = int(rng.integers(30, 80))
    motion = multisine_motion(rng, n_joints, n_samples, 100.0)
    if under:
        kind += "_under_excited"
        q, v, a = motion.q.copy(), motion.v.copy(), motion.a.copy()
        still = int(rng.integers(n_joints))
        q[:, still], v[:, still], a[:, still] = 0.4, 0.0, 0.0
        motion = Motion(motion.time, q, v, a)
    tau = torque(model, theta, motion.q, motion.v, motion.a)
    decibel = rng.uniform(0.0, 60.0)
    noise = np.sqrt(np.mean(tau**2, axis=0)) * 10.0 ** (-decibel / 20.0)
    noisy = tau + rng.normal(size=tau.shape) * noise
    regression = compress(model, motion, Measurements(model.channels, noisy))
    return Problem(model, regression, constraints, kind)


def judge(problem: Problem) -> Judgement:
    """Solve, and check every claim of the answer exactly.

    That undetermined parameters stay near the prior is tested without the default bound, which
    would keep them finite whatever the fit does. True parameters that are not physical are left
    out there: the closest physical ones may be infinitely far away.
    """
    model = problem.model
    prior = model.prior_theta()
    physical = "impossible" not in problem.kind
    try:
        fit = fit_feasible(model, problem.regression, problem.constraints, prior=prior)
        free = None
        if physical:
            without = replace(problem.constraints, second_moment=None)
            free = fit_feasible(model, problem.regression, without, prior=prior)
    except EstimationError as refusal:
        explained = "record more samples" in str(refusal)
        return Judgement(unexplained_failures=int(not explained), refusals=1)
    far = 0.0
    if free is not None:
        far = float(np.max(np.abs(drift(problem, free.theta - prior)), initial=0.0))
    bound, length = default_bound(model)
    weights = moment_weights(length)
    share = max(weights @ fit.theta[k : k + 10] for k in model.first_column_of_body) / bound
    told = any(finding.code == "default-bound-active" for finding in edge_findings(fit))
    at_bound = share > 1.0 - 1e-6
    return Judgement(
        violations=int(bool(failing(fit.blocks, fit.theta))),
        runaways=int(far > FAR),
        bounded=int(physical and at_bound),
        untold=int(at_bound and not told),
        largest=far,
        share_of_bound=float(share) if physical else 0.0,
        moved=fit.settled.moved,
    )


def drift(problem: Problem, step: np.ndarray) -> np.ndarray:
    """The part of a step from the prior in directions that the data do not determine, in units
    of typical parameters.
    """
    base = problem.regression.base
    scale = parameter_scale(problem.model)
    R = problem.regression.system()[:-1, :-1] @ base.K
    _, s, Vt = np.linalg.svd(R * scale)
    rank = int(np.count_nonzero(s > 1e-8 * s[0]))
    return Vt[rank:].T @ (Vt[rank:] @ (step / scale))
