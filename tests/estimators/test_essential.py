"""Essential parameters: what is removed, when it stops, and what it says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from experiments import chain_experiment, multisine_motion
from recorded import (
    tx40_log,
    tx40_overlay,
    tx40_processing,
    tx40_published,
    tx40_robot,
)
from seeds import every

from steelyard.errors import EstimationError
from steelyard.estimators.essential import essential_path, estimate_essential
from steelyard.estimators.least_squares import joint_noise, triangular_fit, wls
from steelyard.estimators.result_file import read_schema, result_document
from steelyard.estimators.significance import significance_test
from steelyard.identification.identify import identify
from steelyard.model.base_map import base_map
from steelyard.model.kernels import torque, torque_regressor
from steelyard.regression.compress import compress
from steelyard.regression.regression import merge
from steelyard.signals.motion import Measurements, Motion
from steelyard.validation.held_out import validate_logs


def world_with_zeros(seed, names):
    """A chain in which these base parameters are zero, their columns' values taken away."""
    world = chain_experiment(seed)
    base = base_map(world.model)
    beta = world.beta.copy()
    beta[[base.names.index(name) for name in names]] = 0.0
    theta = np.zeros(len(world.theta))
    theta[list(base.independent)] = beta
    motion = world.motion
    tau = torque(world.model, theta, motion.q, motion.v, motion.a)
    return replace(world, theta=theta, tau=tau)


@every("seed", range(6))
def test_parameters_that_are_zero_are_removed_and_the_others_are_right(seed):
    """With little noise, exactly what is zero goes (the rest is far above the ceiling's noise),
    and the rest agrees with least squares on the columns that remain.
    """
    zeros = ("joint_1.fo", "joint_2.fv", "link_3.Ixy", "joint_3.fo")
    world = world_with_zeros(seed, zeros)
    noise = 1e-4 * np.random.default_rng(seed).normal(size=world.tau.shape)
    measured = world.measured(noise)
    regression = compress(world.model, world.motion, measured)
    estimate, path = estimate_essential(regression, multiple=1e9, ceiling=0.2)
    assert {step.name for step in path.removals} == set(zeros)
    kept = list(path.essential)
    W = torque_regressor(world.model, world.motion.q, world.motion.v, world.motion.a)
    W = W[:, :, [regression.base.independent[k] for k in kept]]
    sigma = joint_noise(regression)
    rows = (W / sigma[:, None]).reshape(-1, len(kept))
    beta = np.linalg.lstsq(rows, (measured.tau / sigma).reshape(-1), rcond=None)[0]
    assert np.allclose(estimate.beta[kept], beta, rtol=1e-7, atol=1e-10)
    removed = np.setdiff1d(np.arange(regression.base.rank), kept)
    assert np.all(estimate.beta[removed] == 0.0)
    assert estimate.held == tuple(removed)


@every("seed", range(6))
def test_nothing_that_matters_is_removed_without_noise(seed):
    """Noise-free torques of a robot whose parameters all matter: all stay, and are the truth."""
    world = chain_experiment(seed)
    regression = compress(world.model, world.motion, world.measured(np.zeros_like(world.tau)))
    estimate, path = estimate_essential(regression)
    assert not path.removals
    assert np.allclose(estimate.beta, world.beta, rtol=1e-6, atol=1e-8)


def test_each_step_drops_the_largest_relative_sigma():
    """The path is that of plain linear algebra on the stacked, weighted rows, step by step."""
    world = chain_experiment(5)
    noise = np.random.default_rng(1).normal(size=world.tau.shape) * [20.0, 10.0, 5.0]
    measured = world.measured(noise)
    regression = compress(world.model, world.motion, measured)
    path = essential_path(regression)
    assert len(path.removals) >= 3
    sigma = joint_noise(regression)
    W = torque_regressor(world.model, world.motion.q, world.motion.v, world.motion.a)
    W = (W / sigma[:, None])[:, :, list(regression.base.independent)]
    rows, tau = W.reshape(-1, W.shape[2]), (measured.tau / sigma).reshape(-1)
    kept = list(range(rows.shape[1]))
    for step in path.removals:
        A = rows[:, kept]
        beta = np.linalg.lstsq(A, tau, rcond=None)[0]
        relative = np.sqrt(np.diag(np.linalg.inv(A.T @ A))) / np.abs(beta)
        worst = int(np.argmax(relative))
        assert regression.base.names[kept[worst]] == step.name
        assert np.isclose(step.relative_sigma / step.smallest, relative[worst] / relative.min())
        del kept[worst]
        left = np.linalg.lstsq(rows[:, kept], tau, rcond=None)[0]
        residual = ((tau - rows[:, kept] @ left).reshape(-1, 3) * sigma).ravel()
        error = np.linalg.norm(residual) / np.linalg.norm(measured.tau)
        assert np.isclose(step.relative_error, error)
        assert step.n_left == len(kept)
    assert tuple(kept) == path.essential


def test_it_ends_when_all_are_alike_or_when_the_fit_would_suffer():
    """Both reasons to stop occur, and each says what it says."""
    world = chain_experiment(5)
    noise = 10.0 * np.random.default_rng(1).normal(size=world.tau.shape)
    regression = compress(world.model, world.motion, world.measured(noise))
    lenient = essential_path(regression, multiple=1e6, ceiling=0.6)
    assert lenient.stopped == "all essential"
    assert "are essential" in lenient.reason
    assert "60 %" in lenient.reason
    strict = essential_path(regression, multiple=1.0)
    assert strict.stopped == "fit would be worse"
    assert "significantly worse" in strict.reason
    assert len(strict.essential) < len(lenient.essential)
    assert all(step.p_value >= 0.05 for step in strict.removals)
    assert lenient.text().splitlines()[-1] == lenient.reason
    assert len(lenient.text().splitlines()) == len(lenient.removals) + 3


def test_the_path_does_not_depend_on_the_order_of_merging():
    """The same runs merged in another order give the same path to the last name."""
    world = chain_experiment(7)
    rng = np.random.default_rng(0)
    parts = []
    for run in range(3):
        motion = multisine_motion(rng, 3, 1500, 100.0, f"run {run}")
        tau = torque(world.model, world.theta, motion.q, motion.v, motion.a)
        noisy = Measurements(world.model.channels, tau + rng.normal(size=tau.shape))
        parts.append(compress(world.model, motion, noisy))
    one, path = estimate_essential(merge(parts))
    two, other = estimate_essential(merge(parts[::-1]))
    assert [s.name for s in path.removals] == [s.name for s in other.removals]
    assert path.removals
    assert path.essential == other.essential
    assert np.allclose(one.beta, two.beta, rtol=1e-9, atol=1e-12)


def test_removing_everything_is_refused_with_the_reason():
    """Torques that have nothing to do with the motion leave nothing to keep."""
    world = chain_experiment(3)
    noise = np.random.default_rng(4).normal(size=world.tau.shape)
    regression = compress(world.model, world.motion, Measurements(world.model.channels, noise))
    with pytest.raises(EstimationError, match="would remove all parameters: a model without"):
        estimate_essential(regression)
    with pytest.raises(EstimationError, match="would remove all parameters: the last one"):
        estimate_essential(regression, significance=0.0, ceiling=1e-3)


def test_a_standing_robot_leaves_nothing():
    """Where the data determine no single parameter, that is the reason."""
    world = chain_experiment(3, n_joints=1)
    still = np.zeros((100, 1))
    motion = Motion(np.arange(100) / 100.0, still, still, still)
    tau = 0.1 * np.random.default_rng(0).normal(size=(100, 1))
    regression = compress(world.model, motion, Measurements(world.model.channels, tau))
    # an offset and gravity are one number here: the later one goes, the other is no more than noise
    with pytest.raises(EstimationError, match="would remove all parameters"):
        estimate_essential(regression)


def test_what_the_data_leave_open_goes_first():
    """Undetermined parameters are removed before any other, without changing the fit."""
    world = chain_experiment(3)
    q, v, a = world.motion.q.copy(), world.motion.v.copy(), world.motion.a.copy()
    q[:, 2], v[:, 2], a[:, 2] = 0.3, 0.0, 0.0
    motion = Motion(world.motion.time, q, v, a)
    tau = torque(world.model, world.theta, q, v, a)
    tau = tau + 0.05 * np.random.default_rng(0).normal(size=tau.shape)
    regression = compress(world.model, motion, Measurements(world.model.channels, tau))
    estimate, path = estimate_essential(regression)
    open_ones = [step for step in path.removals if step.p_value is None]
    assert {"joint_3.fv", "joint_3.fc"} <= {step.name for step in open_ones}
    assert path.removals[: len(open_ones)] == tuple(open_ones)
    assert np.isclose(open_ones[-1].relative_error, path.relative_error, rtol=1e-9)
    rank = triangular_fit(regression.system(1.0 / joint_noise(regression))).rank
    assert open_ones[-1].n_left == rank
    kinds = {p.name: p.interval_kind for p in estimate.parameters()}
    assert kinds["joint_3.fv"] == "held"


def test_the_test_holds_its_level_where_the_plain_one_does_not():
    """Filtered noise, four parameters that are truly zero: the blocks' test rejects about one
    time in twenty, the one that counts rows nearly always.
    """
    from scipy.signal import butter, sosfiltfilt

    zeros = ("joint_1.fo", "joint_2.fv", "link_3.Ixy", "joint_3.fo")
    world = world_with_zeros(0, zeros)
    rng = np.random.default_rng(2)
    low_pass = butter(2, 5.0, fs=100.0, output="sos")
    removed = [base_map(world.model).names.index(name) for name in zeros]
    kept = [k for k in range(base_map(world.model).rank) if k not in removed]
    everything = list(range(len(kept) + len(removed)))
    said = np.zeros(2)
    n_runs = 150
    for _ in range(n_runs):
        noise = sosfiltfilt(low_pass, rng.normal(size=world.tau.shape), axis=0)
        regression = compress(world.model, world.motion, world.measured(noise))
        weights = 1.0 / joint_noise(regression)
        factor = regression.system(weights)
        test = significance_test(regression, weights, everything, triangular_fit(factor))
        squares = triangular_fit(factor[:, [*kept, len(everything)]]).residual_square
        robust, effective = test.p_value(removed, squares)
        plain, rows = replace(test, cluster=None).p_value(removed, squares)
        assert rows == regression.n_rows
        assert effective < 0.5 * regression.n_rows
        said += [robust < 0.05, plain < 0.05]
    robust_share, plain_share = said / n_runs
    assert robust_share <= 0.10
    assert plain_share >= 0.5


def test_few_blocks_are_said():
    """Without enough time blocks the plain test stands in, and a finding says so."""
    world = chain_experiment(5, n_samples=400)
    noise = np.random.default_rng(1).normal(size=world.tau.shape)
    regression = compress(world.model, world.motion, world.measured(noise), block_s=1.0)
    estimate, path = estimate_essential(regression)
    assert path.test == "independent"
    codes = {finding.code for finding in estimate.findings}
    assert {"selection-takes-rows-as-independent", "conditional-on-selection"} <= codes


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"multiple": 0.5}, "multiple"),
        ({"ceiling": 0.0}, "ceiling"),
        ({"significance": 1.0}, "sig"),
    ],
)
def test_criteria_without_sense_are_refused(given, word):
    """Each criterion is named with the value that it may not have."""
    world = chain_experiment(5, n_samples=400)
    regression = compress(world.model, world.motion, world.measured(np.ones_like(world.tau)))
    with pytest.raises(EstimationError, match=word):
        estimate_essential(regression, **given)


def test_a_result_says_what_was_held():
    """The document obeys the schema; removed parameters are zero, held, without interval."""
    jsonschema = pytest.importorskip("jsonschema")
    world = chain_experiment(5)
    noise = np.random.default_rng(1).normal(size=world.tau.shape)
    regression = compress(world.model, world.motion, world.measured(noise))
    estimate, path = estimate_essential(regression)
    document = result_document(world.model, estimate)
    jsonschema.validate(document, read_schema())
    held = [p for p in document["estimate"]["parameters"] if p["interval_kind"] == "held"]
    assert {p["name"] for p in held} == {step.name for step in path.removals}
    assert all(p["value"] == 0.0 and p["lower"] is None and p["sigma"] is None for p in held)
    record = document["record"]["essential"]
    assert record["essential"] == list(path.names)
    assert [step["name"] for step in record["removals"]] == [step.name for step in path.removals]
    assert record["reason"] == path.reason


@pytest.mark.dataset
def test_tx40_friction_and_essential_parameters():
    """Friction of joints 1 to 5 within 5 % of the published values; 25 to 40 essential parameters
    whose fit is within half a percentage point of the full one.
    """
    found = identify(
        tx40_robot(),
        [tx40_log()],
        overlay=tx40_overlay(),
        method="wls",
        processing=tx40_processing(),
    )
    full = found.estimate
    assert (full.base.rank, len(found.model.columns)) == (60, 86)
    value = dict(zip(full.base.names, full.beta, strict=True))
    published = tx40_published()
    for k in range(1, 6):
        # the published fv5 holds motor 6's share
        viscous = value[f"joint_{k}.fv"] + (value["motor_6.fv"] if k == 5 else 0.0)
        assert viscous == pytest.approx(published[f"fv{k}"][1], rel=0.05)
        assert value[f"joint_{k}.fc"] == pytest.approx(published[f"fs{k}"][1], rel=0.05)
    assert value["motor_6.fv"] == pytest.approx(published["fvm6"][1], rel=0.05)
    assert value["motor_6.fc"] == pytest.approx(published["fsm6"][1], rel=0.05)
    estimate, path = estimate_essential(found.regression)
    assert 25 <= len(path.essential) <= 40
    assert estimate.relative_error - full.relative_error <= 0.005
    assert path.test == "cluster"


@pytest.mark.dataset
def test_tx40_first_half_predicts_the_second():
    """Chosen and fitted on the first half, the essential parameters predict the second about as
    well as all 60 do.
    """
    settings = tx40_processing()
    found = identify(
        tx40_robot(),
        [tx40_log(0, 22_500, "first half")],
        overlay=tx40_overlay(),
        method="wls",
        processing=settings,
    )
    second = tx40_log(22_500, None, "second half")

    def error(beta):
        held_out = validate_logs(found.model, found.regression.base, beta, [second], settings)
        return held_out.overall.prediction.relative_error

    estimate, _ = estimate_essential(found.regression)
    assert error(wls(found.regression).beta) <= 0.11
    assert error(estimate.beta) <= 0.11
