"""Least squares of a payload from compressed joint torques."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from experiments import multisine_motion

from steelyard.errors import EstimationError
from steelyard.model.base_map import base_map
from steelyard.model.kernels import torque_regressor
from steelyard.model.model import Model
from steelyard.payload.joint_columns import FrictionColumns, PayloadColumns, loaded_columns
from steelyard.payload.joint_fit import KnownArm, fit_payload, no_change_probability
from steelyard.regression.compress import compress
from steelyard.signals.motion import Measurements
from steelyard.testing.random_robots import random_body, random_robot

SIGMA = np.array([0.3, 0.2, 0.1, 0.05])


@cache
def arm_of(seed):
    """A random arm of four joints, its base parameters, and two motions with their regressors."""
    rng = np.random.default_rng([21, seed])
    robot = random_robot(rng, 4, chain=True, prismatic=0.0, fixed=0.0)
    model = Model(replace(robot, gravity=np.array([1.0, 2.0, -9.0])))
    base = base_map(model)
    motions = [multisine_motion(rng, 4, 1500, 100.0, f"run{k}") for k in range(2)]
    W = [torque_regressor(model, motion.q, motion.v, motion.a) for motion in motions]
    return model, base, motions, W


@dataclass(frozen=True)
class World:
    """Runs of an arm without and with a body on its last link, and their dense rows.

    change : of all friction terms while it is carried. noise : as a share of SIGMA.
    """

    arm: int
    seed: int = 0
    change: float = 0.0
    noise: float = 1.0

    def made(self):
        rng = np.random.default_rng([22, self.arm, self.seed])
        model, base, motions, regressors = arm_of(self.arm)
        friction = FrictionColumns(model)
        payload = PayloadColumns(model, model.robot.links[-1].name)
        phi = 0.3 * random_body(rng)
        theta = model.prior_theta()
        theta[model.term_arrays.column] = rng.uniform(0.5, 1.0, len(model.terms))
        runs, dense = [], []
        for motion, W, loaded in zip(motions, regressors, (False, True), strict=True):
            extra = loaded_columns(payload, friction, loaded=loaded)
            X = extra.of(motion)
            tau = W @ theta + X[:, :, :10] @ phi + self.change * X[:, :, 10:].sum(axis=2)
            tau = tau + self.noise * SIGMA * rng.normal(size=tau.shape)
            measured = Measurements(model.channels, tau)
            runs.append(compress(model, motion, measured, base=base, extra=extra))
            dense.append((W[:, :, list(base.independent)], X, tau))
        return phi, friction, runs, dense, base.K @ theta


def columns_of_terms(D, friction):
    """D (n, nv, width) spread to one column per friction term."""
    out = np.zeros((*D.shape[:2], len(friction.terms)))
    for row, terms in enumerate(friction.of_row):
        for k, term in enumerate(terms):
            out[:, row, friction.terms.index(term)] = D[:, row, k]
    return out


def solved(blocks, tau):
    """Weighted least squares of dense rows: each joint by the noise of its own fit."""
    A = np.concatenate(blocks, axis=2)
    sigma = []
    for row in range(A.shape[1]):
        own = A[:, row][:, np.abs(A[:, row]).max(axis=0) > 0]
        left = tau[:, row] - own @ np.linalg.lstsq(own, tau[:, row], rcond=None)[0]
        sigma.append(np.sqrt(left @ left / (len(left) - np.linalg.matrix_rank(own))))
    weighted = (A / np.array(sigma)[:, None]).reshape(-1, A.shape[2])
    scale = np.linalg.norm(weighted, axis=0)
    return np.linalg.lstsq(weighted / scale, (tau / sigma).ravel(), rcond=None)[0] / scale


@pytest.mark.parametrize("known", [False, True], ids=["logs", "known arm"])
@pytest.mark.parametrize("changing", [False, True], ids=["same friction", "changed friction"])
def test_the_factors_give_the_dense_least_squares(known, changing):
    """On factors or on all samples, payload and changes of friction are the same."""
    _, friction, runs, dense, beta = World(1, change=0.3).made()
    terms = friction.terms if changing else ()
    arm = KnownArm(beta, np.zeros((len(beta), len(beta)))) if known else None
    fit = fit_payload(runs[1:] if known else runs, friction.of_row, terms, arm)
    W, X, tau = (np.concatenate(parts) for parts in zip(*dense, strict=True))
    if known:
        W, X, tau = (part[1500:] for part in (W, X, tau))
        tau = tau - W @ beta
    blocks = ([] if known else [W]) + [X[:, :, :10]]
    if changing:
        blocks.append(columns_of_terms(X[:, :, 10:], friction))
    x = solved(blocks, tau)
    first = 0 if known else W.shape[2]
    np.testing.assert_allclose(fit.pi, x[first : first + 10], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(fit.delta, x[first + 10 :], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(np.linalg.lstsq(fit.R, fit.z, rcond=None)[0], fit.pi, atol=1e-7)
    np.testing.assert_allclose(fit.by_joint.sum(axis=0), fit.pi, atol=1e-8)


def test_errors_are_as_large_as_stated():
    """Over 9 runs of three arms the errors of payload and friction are those stated."""
    payload, changes = [], []
    for seed in range(9):
        phi, friction, runs, _, _ = World(seed % 3, seed, change=0.2).made()
        fit = fit_payload(runs, friction.of_row, friction.terms)
        assert fit.kind == "cluster"
        payload.append((fit.pi - phi) / np.sqrt(np.diag(fit.covariance)))
        changes.append((fit.delta - 0.2) / np.sqrt(np.diag(fit.delta_covariance)))
    # CR3 is a little too large by intention
    assert 0.75 < np.std(payload) < 1.1
    assert 0.75 < np.std(changes) < 1.1


def test_the_uncertainty_of_the_arm_is_carried_over():
    """Errors of a known arm move the payload by no more than stated; blind to them, by far more."""
    phi, friction, runs, _, beta = World(2, noise=1e-6).made()
    rng = np.random.default_rng(5)
    L = 1e-3 * np.abs(beta).mean() * rng.normal(size=(len(beta), len(beta)))
    aware, blind = [], []
    for _ in range(20):
        wrong = beta + L @ rng.normal(size=len(beta))
        for covariance, shares in ((L @ L.T, aware), (0.0 * L, blind)):
            fit = fit_payload(runs[1:], friction.of_row, (), KnownArm(wrong, covariance))
            shares.append((fit.pi - phi) / np.sqrt(np.diag(fit.covariance)))
    assert 0.5 < np.sqrt(np.mean(np.square(aware))) < 1.1
    assert np.sqrt(np.mean(np.square(blind))) > 1.5


def test_changes_of_friction_are_tested():
    """Where friction is the same, p values are spread over 0 to 1; where it is not, they are 0."""
    same, changed = [], []
    for seed in range(4):
        for change, values in ((0.0, same), (0.3, changed)):
            if change and seed:
                continue
            _, friction, runs, _, _ = World(seed % 3, seed, change).made()
            fit = fit_payload(runs, friction.of_row, friction.terms)
            place = {term: k for k, term in enumerate(friction.terms)}
            values += [
                no_change_probability(fit, [place[term] for term in row]) for row in friction.of_row
            ]
    assert max(changed) < 1e-6
    assert 0.3 < np.mean(same) < 0.75
    assert np.mean(np.array(same) < 0.05) <= 0.15


def test_runs_that_tell_nothing_are_refused():
    """No runs, and no run with the payload, are refused."""
    _, friction, runs, _, _ = World(3).made()
    with pytest.raises(EstimationError, match="no run"):
        fit_payload([], friction.of_row, ())
    with pytest.raises(EstimationError, match="do not determine anything of the payload"):
        fit_payload(runs[:1], friction.of_row, ())
