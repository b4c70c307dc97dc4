"""The constrained fit that all contenders of the sdp benchmark solve."""

from __future__ import annotations

import numpy as np

from steelyard.conic import ConicProblem, conic_problem
from steelyard.constraints import Constraints, blocks
from steelyard.identifiability import base_map
from steelyard.kernels import torque_regressor
from steelyard.model import Model
from steelyard.scales import parameter_scale
from steelyard.states import random_states
from steelyard.testing import random_robot

NOISE = 0.3
PULL = 1e-2


def sdp_problem(n_links: int) -> ConicProblem:
    """A chain's fit in units of its noise, with 30 % noise so that constraints bind."""
    rng = np.random.default_rng(n_links)
    model = Model(random_robot(rng, n_links, chain=True, prismatic=0.0, fixed=0.0))
    base = base_map(model)
    theta = model.prior_theta()
    theta[[column.kind != "rigid_body" for column in model.columns]] = 0.5
    n_samples = max(60, 8 * len(model.columns) // n_links)
    W = torque_regressor(model, *random_states(rng, model.robot, n_samples))
    W = W.reshape(-1, len(model.columns))[:, list(base.independent)]
    tau = W @ (base.K @ theta)
    noise = NOISE * np.sqrt(np.mean(tau**2))
    tau = tau + noise * rng.normal(size=len(tau))
    factor = np.linalg.qr(np.column_stack([W, tau]), mode="r")
    R, z = factor[:-1, :-1] / noise, factor[:-1, -1] / noise
    scale = parameter_scale(model)
    return conic_problem(
        len(scale),
        blocks(model, Constraints()),
        scale,
        F=R @ base.K,
        g=z,
        pull=PULL / scale**2,
        towards=model.prior_theta(),
    )
