"""The constrained fits that all contenders of the sdp benchmark solve."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.problem import ConicProblem, conic_problem
from steelyard.knowledge.constraint_blocks import blocks
from steelyard.knowledge.constraints import Constraints
from steelyard.model.base_map import BaseMap, base_map
from steelyard.model.kernels import torque_regressor
from steelyard.model.model import Model
from steelyard.model.random_states import random_states
from steelyard.model.typical_sizes import parameter_scale
from steelyard.testing.random_robots import random_robot

Array = NDArray[np.float64]
NOISE = 0.3
PULL = 1e-2
FIGAROH_MASS_MIN = 1e-6
# FIGAROH's symbols of the joint terms, by Steelyard's
FIGAROH_TERMS = {"Ia": "Ia", "fv": "fv", "fc": "fs", "fo": "off"}


@dataclass(frozen=True)
class Chain:
    """A chain and its data: W (n_samples, n_joints, n_columns), tau (n_samples, n_joints)."""

    model: Model
    base: BaseMap
    W: Array
    tau: Array
    noise: float


def chain(n_links: int) -> Chain:
    """A chain with drive inertia and friction, and 30 % noise so that constraints bind."""
    rng = np.random.default_rng(n_links)
    model = Model(random_robot(rng, n_links, chain=True, prismatic=0.0, fixed=0.0))
    base = base_map(model)
    theta = model.prior_theta()
    theta[[column.kind != "rigid_body" for column in model.columns]] = 0.5
    n_samples = max(60, 8 * len(model.columns) // n_links)
    W = torque_regressor(model, *random_states(rng, model.robot, n_samples))
    tau = W[..., list(base.independent)] @ (base.K @ theta)
    noise = NOISE * float(np.sqrt(np.mean(tau**2)))
    tau = tau + noise * rng.normal(size=tau.size).reshape(tau.shape)
    return Chain(model, base, W, tau, noise)


def sdp_problem(n_links: int) -> ConicProblem:
    """A chain's fit in units of its noise."""
    it = chain(n_links)
    F, g = factors(it)
    scale = parameter_scale(it.model)
    return conic_problem(
        len(scale),
        blocks(it.model, Constraints()),
        scale,
        F=F,
        g=g,
        pull=PULL / scale**2,
        towards=it.model.prior_theta(),
    )


def fresh(problem: ConicProblem) -> ConicProblem:
    """The same problem without cached results of an earlier solution."""
    return replace(problem, blocks=tuple(replace(block) for block in problem.blocks))


def figaroh_names(it: Chain) -> list[str]:
    """FIGAROH's names of the columns: m_joint, ..., fv_joint."""
    joint_of = {joint.child: joint.name for joint in it.model.robot.joints}
    names = []
    for column in it.model.columns:
        owner, _, symbol = column.name.rpartition(".")
        names.append(f"{FIGAROH_TERMS.get(symbol, symbol)}_{joint_of.get(owner, owner)}")
    return names


def figaroh_problem(it: Chain, coordinate_scale: Array) -> ConicProblem:
    """What `figaroh.identification.physical_fit.solve_direct_effort_fit` solves on these data.

    Its conditions (a 4×4 pseudo-inertia and a least mass per link; friction is free), its units
    and its pull towards the prior. coordinate_scale : (n_columns,) FIGAROH's own.
    """
    lightest = {body.name: (FIGAROH_MASS_MIN, None) for body in it.model.mechanism.bodies}
    conditions = Constraints(mass=lightest, nonnegative_terms=False, second_moment=None)
    F, g = factors(it)
    return conic_problem(
        len(coordinate_scale),
        blocks(it.model, conditions),
        coordinate_scale,
        F=F,
        g=g,
        pull=PULL / coordinate_scale**2,
        towards=it.model.prior_theta(),
    )


def factors(it: Chain) -> tuple[Array, Array]:
    """F and g of the fit in units of the noise."""
    W = it.W.reshape(it.tau.size, -1)[:, list(it.base.independent)]
    factor = np.linalg.qr(np.column_stack([W, it.tau.ravel()]), mode="r")
    R, z = factor[:-1, :-1] / it.noise, factor[:-1, -1] / it.noise
    return R @ it.base.K, z
