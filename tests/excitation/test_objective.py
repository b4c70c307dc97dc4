"""The criterion of a motion and its gradient, against finite differences and plain formulas."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from steelyard.errors import SignalError
from steelyard.excitation.extremes import check_limits
from steelyard.excitation.limits import MotionLimits
from steelyard.excitation.search._objective import Objective, Safety, price
from steelyard.excitation.search.criteria import CRITERIA, condition_of_information, criterion_named
from steelyard.excitation.search.fourier_basis import FourierBasis
from steelyard.excitation.search.information import Information
from steelyard.model.base_map import base_map
from steelyard.model.kernels import torque, torque_regressor
from steelyard.model.model import Model
from steelyard.testing.random_robots import random_robot


def random_limits(rng: np.random.Generator, joints: tuple[str, ...]) -> MotionLimits:
    n = len(joints)
    low = rng.uniform(-2.0, 0.0, n)
    rates = [np.exp(rng.uniform(-0.5, 1.5, n)) for _ in range(2)]
    jerk = np.full(n, np.inf) if rng.random() < 0.5 else np.exp(rng.uniform(1.0, 3.0, n))
    return MotionLimits(joints, low, low + rng.uniform(1.0, 3.0, n), *rates, jerk, np.ones(n))


def random_information(rng: np.random.Generator, model: Model) -> Information:
    base = base_map(model)
    n = base.rank
    prior = np.diag(np.exp(rng.normal(size=n))) * 1e-3
    noise = np.exp(rng.normal(size=model.nv))
    return Information(model, base, tuple(range(n)), noise, np.exp(rng.normal(size=n)), prior)


def direct_matrix(information: Information, q, v, a) -> np.ndarray:
    """M by forming the whole regressor."""
    base = list(information.base.independent)
    W = torque_regressor(information.model, q, v, a)[:, :, base]
    W = W[:, :, list(information.columns)] * information.scale / information.noise[:, None]
    rows = W.reshape(-1, len(information.columns))
    prior = 0.0 if information.prior is None else information.prior
    return rows.T @ rows + prior


@pytest.mark.parametrize("seed", range(30))
def test_information_is_that_of_the_whole_regressor(seed):
    rng = np.random.default_rng(seed)
    model = Model(random_robot(rng, int(rng.integers(1, 7)), mimic=0.1))
    information = random_information(rng, model)
    states = [rng.normal(size=(60, model.nv)) for _ in range(3)]
    expected = direct_matrix(information, *states)
    table = information.table(*states)
    np.testing.assert_allclose(
        information.matrix(table), expected, atol=1e-12 * np.abs(expected).max()
    )
    theta = rng.normal(size=len(model.columns))
    tau = information.torque(table, information.base.K @ theta)
    expected = torque(model, theta, *states).T
    np.testing.assert_allclose(tau, expected, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("criterion", CRITERIA, ids=lambda criterion: criterion.name)
def test_slopes_of_criteria(criterion):
    """dvalue/dM of every stage, along random directions, against finite differences."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        rows = rng.normal(size=(40, 8)) * np.exp(rng.normal(size=8))
        M, direction = rows.T @ rows, rng.normal(size=(8, 8))
        direction = direction + direction.T
        for evaluate in criterion.stages:
            slope = np.sum(evaluate(M)[1] * direction)
            step = 1e-5
            values = [evaluate(M + k * step * direction)[0] for k in (-2, -1, 1, 2)]
            expected = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step)
            assert slope == pytest.approx(expected, rel=1e-5, abs=1e-8)


def test_criteria_mean_what_their_names_say():
    rng = np.random.default_rng(1)
    W = rng.normal(size=(50, 6)) * np.array([1.0, 2.0, 5.0, 0.1, 1.0, 3.0])
    M = W.T @ W
    covariance = np.linalg.inv(M)
    exact = {criterion.name: criterion.exact(M) for criterion in CRITERIA}
    assert exact["d-optimal"] == pytest.approx(np.linalg.slogdet(covariance)[1] / 6)
    assert exact["a-optimal"] == pytest.approx(np.log(np.trace(covariance) / 6))
    assert exact["e-optimal"] == pytest.approx(np.log(np.linalg.norm(covariance, 2)))
    assert exact["condition"] == pytest.approx(np.log(np.linalg.cond(W)))
    frobenius = np.linalg.norm(M) * np.linalg.norm(covariance)
    assert exact["frobenius"] == pytest.approx(0.5 * np.log(frobenius))
    assert condition_of_information(M) == pytest.approx(np.linalg.cond(W))
    # what is optimised is never better than the truth, and close to it at the end
    sharp = criterion_named("condition").evaluate(M)[0]
    assert 0.0 <= sharp - exact["condition"] < 0.06


def test_a_regressor_without_full_rank_has_no_value():
    M = np.diag([1.0, 0.0])
    for criterion in CRITERIA:
        assert criterion.exact(M) == np.inf
        assert criterion.evaluate(M)[0] == np.inf
    with pytest.raises(SignalError, match="did you mean 'condition'"):
        criterion_named("conditon")


@pytest.mark.parametrize("seed", range(100))
def test_gradient_by_the_coefficients(seed):
    """Criterion and price of torque of 100 random robots and motions."""
    rng = np.random.default_rng(1000 + seed)
    model = Model(random_robot(rng, int(rng.integers(1, 7)), mimic=0.1))
    joints = model.channels
    # so wide that no sample is at a corner, where there is no gradient
    widths = {name: 50.0 for name in joints}
    model = model.with_widths(widths)
    still = {joints[-1]: -0.0} if len(joints) > 2 and rng.random() < 0.3 else {}
    limits = random_limits(rng, joints)
    if still:
        still = {joints[-1]: float(limits.middle[-1])}
    basis = FourierBasis(limits, 6.0, int(rng.integers(1, 5)), still)
    information = random_information(rng, model)
    x = basis.random_start(rng, limits.middle, 0.6)
    # well conditioned by scale and prior, or rounding would spoil the differences
    states = Objective(basis, information, CRITERIA[0].evaluate, 40, 0.0)(x).states
    matrix = information.matrix(information.table(*states))
    scale = information.scale / np.sqrt(np.diag(matrix))
    information = replace(information, scale=scale, prior=0.1 * np.eye(len(scale)))
    criterion = CRITERIA[seed % len(CRITERIA)]
    beta = information.base.K @ model.prior_theta()
    plain = Objective(basis, information, criterion.stages[0], 40, 0.1)
    tau = information.torque(information.table(*plain(x).states), beta)
    safety = Safety(beta, 1.1 * np.abs(tau).max(axis=1) + 0.01)
    objective = Objective(basis, information, criterion.stages[0], 40, 0.1, safety)
    point = objective(x)
    assert np.isfinite(point.value)
    assert point.value >= plain(x).value
    gradient = point.gradient()
    direction = rng.normal(size=x.shape)
    step = 1e-5
    values = [objective(x + k * step * direction).value for k in (-2, -1, 1, 2)]
    expected = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step)
    size = np.linalg.norm(gradient) * np.linalg.norm(direction)
    assert abs(np.sum(gradient * direction) - expected) <= 1e-6 * size


def test_the_price_of_a_limit():
    """Zero where there is room, infinite beyond the limit, smooth where it begins."""
    room = np.array([2.0, 1.0, 1.0 - 1e-4, 0.5, 1e-9, 0.0, -1.0])
    value, slope = price(room)
    assert list(value[:2]) == [0.0, 0.0]
    assert value[2] < 1e-11
    assert value[3] == pytest.approx(np.log(2.0) - 0.5 - 0.125)
    assert value[4] > 15.0
    assert np.isinf(value[5:]).all()
    assert (slope[2:5] < 0.0).all()


@pytest.mark.parametrize("seed", range(60))
def test_motions_inside_have_proven_limits(seed):
    """rows @ x < 1 implies the limits at every time, jerk included."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    limits = random_limits(rng, tuple(f"j{k}" for k in range(n)))
    basis = FourierBasis(limits, float(rng.uniform(1.0, 30.0)), int(rng.integers(1, 7)))
    centre = rng.uniform(limits.lower, limits.upper)
    x = basis.inside(1e3 * basis.random_start(rng, centre, 0.9), 1.0 - 1e-12)
    assert basis.slack(x).min() > -1e-12
    trajectory = basis.trajectory(x)
    for check in check_limits(trajectory.extremes(), limits):
        size = limits.half_range.max() if check.quantity in ("lower", "upper") else check.limit
        excess = (check.limit - check.bound) * (1.0 if check.quantity == "lower" else -1.0)
        assert excess <= 1e-9 * size, check
    # dense samples agree, and some limit is nearly used
    time = np.linspace(0.0, basis.period_s, 20_001)
    used = [
        np.abs(trajectory.derivative(time, 0) - limits.middle).max(axis=0) / limits.half_range,
        np.abs(trajectory.derivative(time, 1)).max(axis=0) / limits.velocity,
        np.abs(trajectory.derivative(time, 2)).max(axis=0) / limits.acceleration,
        np.abs(trajectory.derivative(time, 3)).max(axis=0) / limits.jerk,
    ]
    largest = np.max(used, axis=0)
    assert (largest <= 1.0 + 1e-12).all()
    assert (largest >= 0.98).all()


def test_still_joints_are_checked():
    limits = random_limits(np.random.default_rng(0), ("a", "b"))
    with pytest.raises(SignalError, match="outside its range"):
        FourierBasis(limits, 5.0, 2, {"a": 9.0})
    with pytest.raises(SignalError, match="no joint 'c'"):
        FourierBasis(limits, 5.0, 2, {"c": 0.0})
    middle = limits.middle
    with pytest.raises(SignalError, match="every joint"):
        FourierBasis(limits, 5.0, 2, {"a": float(middle[0]), "b": float(middle[1])})
