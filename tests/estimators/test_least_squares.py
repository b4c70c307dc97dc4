"""Least squares on factors against plain linear algebra, and error bars against the truth."""

from __future__ import annotations

import numpy as np
import pytest
from experiments import chain_experiment, multisine_motion
from seeds import every

from steelyard.errors import EstimationError
from steelyard.estimators.least_squares import (
    NOT_MEASURED,
    check_torques,
    joint_noise,
    ols,
    own_noise,
    solve,
    triangular_fit,
    wls,
)
from steelyard.model.base_map import base_map
from steelyard.model.kernels import torque, torque_regressor
from steelyard.regression.compress import compress
from steelyard.regression.equation import TORQUE, Equation
from steelyard.regression.regression import Regression, RowGroup, triangle
from steelyard.signals.motion import Measurements, Motion


def stacked(world, measurements):
    """W_b (n_samples, n_joints, n_base) and tau."""
    W = torque_regressor(world.model, world.motion.q, world.motion.v, world.motion.a)
    return W[:, :, list(base_map(world.model).independent)], measurements.tau


@every("seed", range(10))
def test_ols_is_lstsq_of_all_rows(seed):
    """Values, sigma, condition numbers and errors equal those of the stacked system."""
    world = chain_experiment(seed, n_joints=1 + seed % 4, n_samples=400)
    noise = np.random.default_rng(seed).normal(size=world.tau.shape)
    measurements = world.measured(noise)
    estimate = ols(compress(world.model, world.motion, measurements))
    W, tau = stacked(world, measurements)
    W, tau = W.reshape(-1, W.shape[2]), tau.reshape(-1)
    beta = np.linalg.lstsq(W, tau, rcond=None)[0]
    assert np.allclose(estimate.beta, beta, rtol=1e-8, atol=1e-10)
    residual = tau - W @ beta
    variance = residual @ residual / (len(tau) - len(beta))
    sigma = np.sqrt(np.diag(variance * np.linalg.inv(W.T @ W)))
    assert np.allclose(estimate.spreads[0].sigma, sigma, rtol=1e-7)
    assert np.isclose(estimate.condition, np.linalg.cond(W), rtol=1e-7)
    scaled = W / np.linalg.norm(W, axis=0)
    assert np.isclose(estimate.condition_scaled, np.linalg.cond(scaled), rtol=1e-7)
    assert np.isclose(estimate.relative_error, np.linalg.norm(residual) / np.linalg.norm(tau))
    by_joint = residual.reshape(-1, world.model.nv)
    rms = [channel.rms for channel in estimate.channels]
    assert np.allclose(rms, np.sqrt(np.mean(by_joint**2, axis=0)))


def test_wls_divides_each_joint_by_its_own_noise():
    """IDIM-WLS: sigma_j from joint j's own least squares, then one weighted system."""
    world = chain_experiment(1, n_samples=800)
    noise = np.random.default_rng(0).normal(size=world.tau.shape) * [5.0, 0.5, 0.05]
    measurements = world.measured(noise)
    regression = compress(world.model, world.motion, measurements)
    estimate = wls(regression)
    W, tau = stacked(world, measurements)
    sigma = []
    for j in range(3):
        mine = W[:, j, list(regression.groups[j].columns)]
        left, residual, rank, _ = np.linalg.lstsq(mine, tau[:, j], rcond=None)
        del left
        sigma.append(np.sqrt(residual[0] / (len(mine) - rank)))
    sigma = np.array(sigma)
    assert np.allclose([channel.sigma for channel in estimate.channels], sigma, rtol=1e-8)
    assert np.allclose(sigma, [5.0, 0.5, 0.05], rtol=0.1)
    weighted = (W / sigma[:, None]).reshape(-1, W.shape[2])
    beta = np.linalg.lstsq(weighted, (tau / sigma).reshape(-1), rcond=None)[0]
    assert np.allclose(estimate.beta, beta, rtol=1e-7, atol=1e-9)


def test_cluster_covariance_is_the_leave_one_block_out_one():
    """CR3 equals refitting without each block, by brute force."""
    world = chain_experiment(2, n_joints=2, n_samples=600)
    noise = np.random.default_rng(3).normal(size=world.tau.shape)
    measurements = world.measured(noise)
    regression = compress(world.model, world.motion, measurements, block_s=0.5)
    estimate = ols(regression)
    W, tau = stacked(world, measurements)
    number = np.floor(world.motion.time / 0.5).astype(int)
    n_blocks = len(set(number))
    steps = []
    for k in sorted(set(number)):
        keep = number != k
        rows, rest = W[keep].reshape(-1, W.shape[2]), tau[keep].reshape(-1)
        steps.append(estimate.beta - np.linalg.lstsq(rows, rest, rcond=None)[0])
    covariance = (n_blocks - 1) / n_blocks * np.array(steps).T @ np.array(steps)
    assert estimate.spreads[1].kind == "cluster"
    assert estimate.spreads[1].degrees_of_freedom == n_blocks - 1
    assert np.allclose(estimate.spreads[1].covariance, covariance, rtol=1e-6, atol=1e-12)


def coverage(world, estimator, draw, n_runs):
    """Pooled shares of truths inside the classical and the cluster 95 % intervals, and how
    often the result calls the classical ones overconfident.
    """
    inside = np.zeros((2, n_runs))
    said = 0
    for k in range(n_runs):
        estimate = estimator(compress(world.model, world.motion, world.measured(draw())))
        for i, spread in enumerate(estimate.spreads):
            inside[i, k] = np.mean(np.abs(estimate.beta - world.beta) <= spread.half_width(0.95))
        said += any(f.code == "classical-overconfident" for f in estimate.findings)
    return inside[0].mean(), inside[1].mean(), said / n_runs


@pytest.mark.parametrize(("estimator", "noise"), [(ols, (0.5, 0.5, 0.5)), (wls, (1.0, 0.3, 0.1))])
def test_intervals_cover_under_white_noise(estimator, noise):
    """With independent noise, 95 % intervals cover 93 to 97 % (100 of the 1,000 runs of the
    coverage benchmark), and nobody is called overconfident.
    """
    world = chain_experiment(0)
    rng = np.random.default_rng(1)
    classical, _, said = coverage(
        world, estimator, lambda: rng.normal(size=world.tau.shape) * noise, 100
    )
    assert 0.93 <= classical <= 0.97
    assert said == 0.0


def test_cluster_intervals_cover_under_filtered_noise():
    """With filtered noise classical intervals fail, the cluster ones do not, and it is said."""
    from scipy.signal import butter, sosfiltfilt

    world = chain_experiment(0)
    rng = np.random.default_rng(2)
    low_pass = butter(2, 5.0, fs=100.0, output="sos")

    def draw():
        return sosfiltfilt(low_pass, rng.normal(size=world.tau.shape), axis=0)

    classical, cluster, said = coverage(world, wls, draw, 75)
    assert classical < 0.8
    assert 0.90 <= cluster <= 0.98
    assert said == 1.0


def test_what_the_data_leave_open_is_said():
    """A joint that stands still leaves parameters open; the others are still right."""
    world = chain_experiment(3)
    rng = np.random.default_rng(0)
    moving = multisine_motion(rng, 3, 2000, 100.0)
    q, v, a = moving.q.copy(), moving.v.copy(), moving.a.copy()
    q[:, 2], v[:, 2], a[:, 2] = 0.3, 0.0, 0.0
    motion = Motion(moving.time, q, v, a)
    tau = torque(world.model, world.theta, q, v, a)
    noisy = Measurements(world.model.channels, tau + 0.01 * rng.normal(size=tau.shape))
    estimate = ols(compress(world.model, motion, noisy))
    known = estimate.determined
    names = np.array(estimate.base.names)
    assert {"joint_3.fv", "joint_3.fc"} <= set(names[~known])
    assert {"joint_1.fv", "joint_1.fc", "joint_2.fv"} <= set(names[known])
    half = estimate.spread.half_width(0.9999)
    assert np.all(np.abs(estimate.beta - world.beta)[known] <= half[known])
    assert [f.code for f in estimate.findings if f.level == "warning"].count("not-excited") == 1
    fates = {fate.name: fate.kind for fate in estimate.fates()}
    assert fates["joint_3.fv"] == "not excited"
    assert fates["joint_1.fv"] == "alone"
    values = {p.name: p for p in estimate.parameters()}
    assert np.isnan(values["joint_3.fv"].value)
    assert values["joint_3.fv"].interval_kind == "undetermined"
    again = torque_regressor(world.model, q, v, a)[:, :, list(estimate.base.independent)]
    assert np.allclose(again @ estimate.beta, tau, atol=0.02)


def test_noise_free_data_give_the_truth():
    """Without noise both estimators return the true base parameters."""
    for seed in range(5):
        world = chain_experiment(seed, n_joints=4, n_samples=1500)
        regression = compress(world.model, world.motion, world.measured(np.zeros(1)))
        for estimator in (ols, wls):
            assert np.allclose(estimator(regression).beta, world.beta, rtol=1e-6, atol=1e-7)


def test_few_blocks_fall_back_to_nothing_silently():
    """With too few blocks only the classical covariance is given, and the result says why."""
    world = chain_experiment(1, n_samples=300)
    noise = np.random.default_rng(0).normal(size=world.tau.shape)
    estimate = ols(compress(world.model, world.motion, world.measured(noise), block_s=1.0))
    assert [spread.kind for spread in estimate.spreads] == ["classical"]
    words = [f.words for f in estimate.findings if f.code == "no-cluster-covariance"]
    assert len(words) == 1
    assert "3 time blocks" in words[0]


def test_too_few_samples_are_refused():
    """Fewer torque values than parameters cannot give a noise level."""
    world = chain_experiment(1, n_samples=4)
    regression = compress(world.model, world.motion, world.measured(np.zeros(1)))
    with pytest.raises(EstimationError, match="record more samples"):
        wls(regression)
    with pytest.raises(EstimationError, match="12 torque values"):
        ols(regression)


def test_impossible_values_are_named():
    """A drive whose sign is wrong gives friction that no robot has, and the result says so."""
    world = chain_experiment(1)
    noise = 0.01 * np.random.default_rng(0).normal(size=world.tau.shape)
    upright = wls(compress(world.model, world.motion, world.measured(noise)))
    assert not [f for f in upright.findings if f.code == "impossible-values"]
    flipped = Measurements(world.model.channels, (world.tau + noise) * [1.0, 1.0, -1.0])
    estimate = wls(compress(world.model, world.motion, flipped))
    words = [f.words for f in estimate.findings if f.code == "impossible-values"]
    assert len(words) == 1
    assert "joint_3.Ia" in words[0]


def test_a_negative_rounding_error_is_no_impossible_value():
    """Without noise, a drive inertia of zero comes out as rounding, of either sign."""
    world = chain_experiment(1)
    k = world.model.column_names.index("joint_3.Ia")
    theta = world.theta.copy()
    for value, named in ((-1e-9, False), (-0.05, True)):
        theta[k] = value
        tau = torque(world.model, theta, world.motion.q, world.motion.v, world.motion.a)
        estimate = wls(compress(world.model, world.motion, Measurements(world.model.channels, tau)))
        words = [f.words for f in estimate.findings if f.code == "impossible-values"]
        assert any("joint_3.Ia" in one for one in words) == named


def test_a_joint_that_never_reverses_is_named():
    """Coulomb friction and offset cannot be told apart without a reversal."""
    world = chain_experiment(2)
    moving = world.motion
    q, v, a = moving.q.copy(), moving.v.copy(), moving.a.copy()
    v[:, 1] = 1.0 + 0.5 * np.sin(moving.time)
    q[:, 1] = moving.time - 0.5 * np.cos(moving.time)
    a[:, 1] = 0.5 * np.cos(moving.time)
    tau = torque(world.model, world.theta, q, v, a)
    motion = Motion(moving.time, q, v, a)
    estimate = ols(compress(world.model, motion, Measurements(world.model.channels, tau)))
    words = [f.words for f in estimate.findings if f.code == "not-excited"]
    assert len(words) == 1
    assert "does not excite 1 direction" in words[0]
    assert "joint_2 moves in one direction only" in words[0]
    assert estimate.condition < 1e6


def regression_of(factors, columns, counts, *, equation=TORQUE, names=None):
    """A regression of one time block with these factors."""
    base = base_map(chain_experiment(1).model)
    names = names or [f"joint_{g + 1}" for g in range(len(factors))]
    groups = tuple(RowGroup(name, tuple(own)) for name, own in zip(names, columns, strict=True))
    stacks = tuple(np.asarray(factor, dtype=float)[None] for factor in factors)
    return Regression(
        base, groups, 1.0, (("run", 0),), stacks, np.array([counts]), equation=equation
    )


@pytest.mark.parametrize(
    ("name", "equation", "message"),
    [
        ("joint_2", TORQUE, r"^the torque of 'joint_2' is zero in all 7 rows, as if it had not"),
        (
            "base.fx",
            TORQUE,
            r"^the base force x is zero in all 7 rows, .*--base-wrench unmeasured$",
        ),
        (
            "base.nz",
            TORQUE,
            r"^the base torque z is zero in all 7 rows, .*--base-wrench unmeasured$",
        ),
        ("energy", Equation("energy"), r"^the torques do no work in any of 7 intervals"),
    ],
)
def test_a_torque_that_is_zero_throughout_is_refused(name, equation, message):
    """Each kind of row in its own words; a channel without rows is none that is zero, and the
    smallest torque is one.
    """
    good, zero = np.triu(np.ones((2, 2))), np.array([[1.0, 0.0], [0.0, 0.0]])
    tiny = np.array([[1.0, 1e-140], [0.0, 0.0]])

    def of(second, count):
        return regression_of(
            [good, second], [[0], [1]], [5, count], equation=equation, names=["joint_1", name]
        )

    with pytest.raises(EstimationError, match=message):
        check_torques(of(zero, 7))
    with pytest.raises(EstimationError, match=message):
        joint_noise(of(zero, 7))
    with pytest.raises(EstimationError, match=message):
        solve(of(zero, 7), np.ones(2), "ols")
    check_torques(of(zero, 0))
    check_torques(of(tiny, 7))


def test_the_noise_of_a_joint_needs_more_rows_than_parameters():
    """One more is enough; joints without rows have the noise 1, and of energy the words differ."""
    factor = np.array([[2.0, 0.5, 1.0], [0.0, 1.0, 2.0], [0.0, 0.0, 3.0]])
    for count, sigma in ((3, 3.0), (11, 1.0)):
        found = joint_noise(regression_of([factor, factor], [[0, 1], [0, 1]], [count, 0]))
        assert found == pytest.approx([sigma, 1.0])
    with pytest.raises(
        EstimationError, match="joint 'joint_1' has 2 torque values for 2 parameters"
    ):
        joint_noise(regression_of([factor], [[0, 1]], [2]))
    with pytest.raises(EstimationError, match="there are 2 differences of energy for 2 parameters"):
        joint_noise(regression_of([factor], [[0, 1]], [2], equation=Equation("energy")))
    # without noise it is 1e-12 of the torque, not zero
    exact = np.array([[2.0, 4.0], [0.0, 0.0]])
    assert joint_noise(regression_of([exact], [[0]], [4])) == pytest.approx([2e-12])
    assert own_noise("j", exact, 4) == pytest.approx(2e-12)


def test_the_noise_of_one_motor():
    """The residual over rows minus parameters; missing, zero and too few are refused."""
    factor = np.array([[2.0, 0.5, 1.0], [0.0, 1.0, 2.0], [0.0, 0.0, 3.0]])
    assert own_noise("j", factor, 11) == pytest.approx(1.0)
    assert own_noise("j", factor, 3) == pytest.approx(3.0)
    with pytest.raises(EstimationError, match="'j' has 2 torque values for 2 parameters: record"):
        own_noise("j", factor, 2)
    zero = factor * [1.0, 1.0, 0.0]
    for table, rows in ((factor, 0), (zero, 10)):
        with pytest.raises(EstimationError, match="torque of 'j' is missing or zero in all rows"):
            own_noise("j", table, rows)


def test_a_triangular_fit_by_hand():
    """Columns of any size are scaled; zero and dependent ones are not determined; no column at all
    leaves the torque.
    """
    rng = np.random.default_rng(3)
    sizes = np.array([1.0, 1e-7, 1e4])
    W, y = rng.normal(size=(30, 4)) * [*sizes, 1.0], rng.normal(size=30)
    W[:, 3] = 0.0
    fit = triangular_fit(triangle(np.column_stack([W, y])))
    beta, left, _, _ = np.linalg.lstsq(W[:, :3] / sizes, y, rcond=None)
    assert fit.beta == pytest.approx([*(beta / sizes), 0.0])
    assert fit.residual_square == pytest.approx(left[0])
    assert fit.rank == 3
    assert fit.determined.tolist() == [True, True, True, False]
    assert fit.seen.tolist() == [True, True, True, False]
    # two columns that are one: the fit exists, its parameters do not
    W[:, 3] = 2.0 * W[:, 0]
    fit = triangular_fit(triangle(np.column_stack([W, y])))
    assert fit.rank == 3
    assert fit.determined.tolist() == [False, True, True, False]
    assert fit.seen.all()
    assert W @ fit.beta == pytest.approx(W[:, :3] / sizes @ beta)
    scaled = np.linalg.svd(W / np.linalg.norm(W, axis=0), compute_uv=False)
    assert fit.condition_scaled == pytest.approx(scaled[0] / scaled[2])
    raw = np.linalg.svd(W, compute_uv=False)
    assert fit.condition == pytest.approx(raw[0] / raw[2], rel=1e-4)
    # nearly one: 1e-8 apart is enough, 1e-10 is not
    for apart, rank in ((1e-8, 4), (1e-10, 3)):
        W[:, 3] = 2.0 * W[:, 0] + apart * rng.normal(size=30)
        assert triangular_fit(triangle(np.column_stack([W, y]))).rank == rank
    none = triangular_fit(np.array([[-3.0]]))
    assert (none.rank, none.residual_square, len(none.beta)) == (0, 9.0, 0)
    assert (none.condition, none.condition_scaled) == (1.0, 1.0)
    flat = triangular_fit(np.array([[0.0, 2.0], [0.0, 1.0]]))
    assert (flat.rank, flat.residual_square, flat.condition) == (0, 5.0, np.inf)
    assert flat.condition_scaled == np.inf
    assert not flat.seen.any()


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_a_share_of_the_torque_decides_what_is_impossible(unit):
    """A negative drive inertia counts if it explains more than 1e-5 of the torque, in any unit."""
    world = chain_experiment(1)
    motion = world.motion
    k = world.model.column_names.index("joint_3.Ia")
    W = torque_regressor(world.model, motion.q, motion.v, motion.a)
    for estimator in (ols, wls):
        for share, named in ((0.3e-5, False), (3e-5, True)):
            theta = world.theta.copy()
            theta[k] = 0.0
            column, tau = W[:, :, k], torque(world.model, theta, motion.q, motion.v, motion.a)
            # weights of noise-free data are those of the torques
            weight = 1.0 if estimator is ols else 1.0 / np.sqrt(np.mean(tau**2, axis=0))
            size = np.linalg.norm(tau * weight) / np.linalg.norm(column * weight)
            noisy = unit * (tau - share * size * column)
            estimate = estimator(
                compress(world.model, motion, Measurements(world.model.channels, noisy))
            )
            words = [f.words for f in estimate.findings if f.code == "impossible-values"]
            assert any("joint_3.Ia" in one for one in words) == named


def test_parameters_that_are_held_are_subtracted():
    """The others are least squares of what the held ones leave; covariances are conditional."""
    world = chain_experiment(2, n_joints=2, n_samples=400)
    noise = np.random.default_rng(3).normal(size=world.tau.shape)
    measurements = world.measured(noise)
    regression = compress(world.model, world.motion, measurements)
    n = regression.base.rank
    moving = [k for k in range(n) if k % 3]
    W, tau = stacked(world, measurements)
    W, tau = W.reshape(-1, n), tau.reshape(-1)
    for fixed in (None, np.linspace(-1.0, 1.0, n)):
        found = solve(regression, np.ones(2), "some", moving=moving, fixed=fixed)
        held = np.zeros(n) if fixed is None else fixed.copy()
        held[moving] = 0.0
        left = tau - W @ held
        beta, square, *_ = np.linalg.lstsq(W[:, moving], left, rcond=None)
        held[moving] = beta
        assert found.beta == pytest.approx(held, rel=1e-7, abs=1e-9)
        assert found.held == tuple(range(0, n, 3))
        freedom = len(tau) - len(moving)
        assert found.spreads[0].degrees_of_freedom == freedom
        covariance = square[0] / freedom * np.linalg.inv(W[:, moving].T @ W[:, moving])
        own = np.ix_(moving, moving)
        assert found.spreads[0].covariance[own] == pytest.approx(covariance, rel=1e-6, abs=1e-12)
        assert np.isnan(np.delete(found.spreads[0].covariance, moving, axis=0)).all()
        # what the data show is that of all parameters
        assert found.determined.all()
        assert found.seen.all()


def test_what_was_not_recorded_is_told_from_what_was_not_excited():
    """Parameters that appear only in torques without values cannot be estimated by any motion."""
    world = chain_experiment(3, n_samples=600)
    noise = np.zeros_like(world.tau)
    noise[:, 2] = np.nan
    estimate = ols(compress(world.model, world.motion, world.measured(noise)))
    (finding,) = [f for f in estimate.findings if f.code == NOT_MEASURED]
    assert "joint_3.fv" in finding.words
    assert not [f for f in estimate.findings if f.code == "not-excited"]
    n_blind = int(finding.words.split(" of ")[0])
    names = np.array(estimate.base.names)
    blind = [n for n in names if n.startswith("joint_3.")]
    assert n_blind == len(blind)
    n_open = int(np.count_nonzero(~estimate.determined))
    more = f"{n_open - n_blind} more are not determined"
    assert (more in finding.words) == (n_open > n_blind)
    assert estimate.channels[2].n_rows == 0
    assert estimate.channels[2].rms == 0.0
    assert np.isnan(estimate.channels[2].relative_error)
