"""Rows of energy and power, against Pinocchio and against the work of the torques."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from experiments import chain_experiment, multisine_motion
from oracles import pinocchio_model, pinocchio_q, pinocchio_velocity_index
from scipy.integrate import simpson as scipy_simpson
from seeds import every

from steelyard.errors import EstimationError, RegressionError
from steelyard.estimators.least_squares import ols, wls
from steelyard.model.base_map import base_map
from steelyard.model.kernels import torque, torque_regressor
from steelyard.model.model import Model
from steelyard.model.random_states import random_states
from steelyard.model.term_kinds import term_kind
from steelyard.model.term_signals import TermSignals
from steelyard.model.terms import coupled_terms, default_terms
from steelyard.regression.compress import compress, compress_stream
from steelyard.regression.energy_rows import EnergyRows, intervals, simpson
from steelyard.regression.equation import Equation
from steelyard.regression.extra_columns import ExtraColumns
from steelyard.regression.factor_file import read_regression, write_regression
from steelyard.regression.fewer_terms import with_fewer_terms
from steelyard.regression.regression import merge
from steelyard.signals.motion import Measurements, Motion
from steelyard.testing.random_robots import random_robot

ENERGY, POWER = Equation("energy", 0.1), Equation("power", 0.1)


LAWS = ("drive_inertia", "viscous", "coulomb", "offset")
"""Kinds of terms whose laws need the speed and acceleration alone."""


def random_model(seed, *, floating_base=False):
    """A tree with slides, mimics, all terms and, with two joints, a coupling; some Coulomb terms
    have a width.
    """
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, int(rng.integers(1, 6)), mimic=0.2, floating_base=floating_base)
    terms, names = default_terms(robot), robot.joint_names
    if len(names) > 1:
        terms += coupled_terms("coupling", {names[0]: 1.0, names[-1]: -0.7}, LAWS)
    return Model(robot, terms).with_widths({t.owner: 0.2 for t in terms if rng.random() < 0.5})


def motion_of(seed, model, n_samples, rate_hz):
    """The same motion for the same seed, on any grid."""
    return multisine_motion(np.random.default_rng([seed, 1]), model.nv, n_samples, rate_hz)


def without_accelerations(motion):
    """The motion with NaN for its accelerations."""
    return replace(motion, a=np.full_like(motion.a, np.nan))


def rows_of(model, motion, tau, equation):
    """Start times, and [W y] (n_intervals, n_base + 1)."""
    maker = EnergyRows(model, base_map(model), equation)
    start, part = maker.take(motion, tau)
    return start, maker.tables(part(slice(None)), ())[0].T


@every("seed", range(12))
def test_rows_have_the_energy_of_pinocchio(seed):
    """Without terms, W beta is the difference of kinetic plus potential energy."""
    import pinocchio as pin

    rng = np.random.default_rng(seed)
    robot = random_robot(rng, int(rng.integers(1, 7)))
    model = Model(robot, ())
    motion = motion_of(seed, model, 41, 100.0)
    start, rows = rows_of(model, motion, np.zeros_like(motion.v), ENERGY)
    found = rows[:, :-1] @ (base_map(model).K @ model.prior_theta())
    pin_model = pinocchio_model(robot)
    data = pin_model.createData()
    order = pinocchio_velocity_index(robot, pin_model)
    at = pinocchio_q(robot, pin_model, motion.q)
    energy = []
    for k in range(0, 41, 10):
        speed = np.zeros(pin_model.nv)
        speed[order] = motion.v[k]
        kinetic = pin.computeKineticEnergy(pin_model, data, at[k], speed)
        energy.append(kinetic + pin.computePotentialEnergy(pin_model, data, at[k]))
    np.testing.assert_allclose(start, [0.0, 0.1, 0.2, 0.3], atol=1e-12)
    np.testing.assert_allclose(found, np.diff(energy), rtol=1e-8, atol=1e-8)


@every("seed", range(16))
def test_rows_have_the_work_of_the_torques(seed):
    """Both sides are the integral of torque times speed, by another rule on a fine grid, with every
    kind of term; power is the mean. The motion of the rows has no accelerations.
    """
    model = random_model(seed)
    theta = np.random.default_rng([seed, 2]).normal(size=len(model.columns))
    motion, fine = motion_of(seed, model, 101, 200.0), motion_of(seed, model, 20_001, 40_000.0)
    tau = torque(model, theta, fine.q, fine.v, fine.a)
    power = np.sum(fine.v * tau, axis=1)
    cuts = [slice(a, a + 4001) for a in range(0, 20_000, 4000)]
    work = np.array([np.trapezoid(power[cut], fine.time[cut]) for cut in cuts])
    beta = base_map(model).K @ theta
    for equation, divisor in ((ENERGY, 1.0), (POWER, 0.1)):
        _, rows = rows_of(model, without_accelerations(motion), tau[::200], equation)
        size = 0.1 * np.abs(power).max() / divisor
        np.testing.assert_allclose(rows[:, -1], work / divisor, atol=3e-4 * size)
        np.testing.assert_allclose(rows[:, :-1] @ beta, work / divisor, atol=3e-4 * size)


@every("seed", range(8))
def test_energy_determines_as_many_parameters_as_the_torques(seed):
    """The rank of many rows of energy is that of the torque regressor, in exact base columns."""
    model = random_model(seed)
    base = base_map(model)
    n_columns = len(model.columns)
    q, v, a = random_states(np.random.default_rng([seed, 3]), model.robot, 4 * n_columns)
    W = torque_regressor(model, q, v, a).reshape(-1, n_columns)
    # pieces of three samples at unrelated states; between them there are holes
    n = 6 * n_columns
    q, v, a = random_states(np.random.default_rng([seed, 4]), model.robot, n)
    step = 0.02
    time = np.arange(3 * n) // 3 * 10.0 + np.arange(3 * n) % 3 * step
    offset = np.tile([-step, 0.0, step], n)[:, None]
    q, v, a = (np.repeat(x, 3, axis=0) for x in (q, v, a))
    motion = Motion(time, q + offset * v + 0.5 * offset**2 * a, v + offset * a, a)
    _, rows = rows_of(model, motion, np.zeros_like(v), Equation("power", step))
    assert len(rows) == n
    assert rank(rows[:, :-1]) == base.rank == rank(W[:, list(base.independent)]) == rank(W)


def rank(W):
    """Rank of a matrix, columns scaled."""
    size = np.linalg.norm(W, axis=0)
    return np.linalg.matrix_rank(W / np.where(size > 0.0, size, 1.0), tol=1e-7)


@every("seed", range(6))
def test_noise_free_samples_give_the_true_parameters(seed):
    """Energy and power, with every term but a jump, recover the base parameters."""
    case = chain_experiment(seed, n_joints=2, n_samples=4000)
    assert not np.isnan(case.motion.a).any()
    model = case.model.with_widths(dict.fromkeys(case.model.channels, 0.5))
    tau = torque(model, case.theta, case.motion.q, case.motion.v, case.motion.a)
    for equation in (Equation("energy"), Equation("power")):
        found = ols(
            compress(
                model,
                without_accelerations(case.motion),
                Measurements(model.channels, tau),
                equation=equation,
            )
        )
        assert found.equation == equation
        assert found.relative_error < 1e-4
        np.testing.assert_allclose(found.beta, case.beta, rtol=0.01, atol=0.01)


def test_accelerations_are_not_used():
    """Factors are the same to the last bit with NaN, and torque rows refuse it."""
    case = chain_experiment(1, n_samples=500)
    measured = case.measured(np.zeros(1))
    given = compress(case.model, case.motion, measured, equation=ENERGY)
    motion = without_accelerations(case.motion)
    assert_same(compress(case.model, motion, measured, equation=ENERGY), given)
    with pytest.raises(RegressionError, match="a is not a number at sample 0"):
        compress(case.model, motion, measured)


def assert_same(one, other):
    """The same factors, to the last bit."""
    assert one.keys == other.keys
    assert np.array_equal(one.counts, other.counts)
    assert all(np.array_equal(a, b) for a, b in zip(one.factors, other.factors, strict=True))


@every("equation", [ENERGY, Equation("power", 0.02)])
def test_chunks_do_not_change_a_single_bit(equation):
    """Intervals go on across chunks, holes and missing torques included, on any threads."""
    case = chain_experiment(1, n_samples=3000)
    time = case.motion.time + np.where(np.arange(3000) > 1234, 1.7, 0.0)
    motion = replace(case.motion, time=time)
    rng = np.random.default_rng(0)
    tau = np.where(rng.random(case.tau.shape) < 0.01, np.nan, case.tau)
    measured = Measurements(case.model.channels, tau)
    whole = compress(case.model, motion, measured, block_s=4.0, equation=equation)
    cuts = [0, *np.sort(rng.choice(np.arange(1, 3000), size=400, replace=False)), 3000]
    chunks = ((motion[i:j], measured[i:j]) for i, j in pairwise(cuts))
    streamed = compress_stream(case.model, chunks, block_s=4.0, threads=2, equation=equation)
    assert 50 < whole.n_rows < 1500
    assert_same(streamed, whole)


@every("seed", range(30))
def test_intervals_bridge_nothing(seed):
    """They have an even number of steps, are long enough but no longer than needed, share only
    their ends, and contain neither a hole nor a sample that is missing.
    """
    rng = np.random.default_rng(seed)
    n, interval_s = 400, float(rng.uniform(0.005, 0.3))
    steps = 0.01 * rng.uniform(0.8, 1.2, size=n) + 5.0 * (rng.random(n) < 0.02)
    time, missing = np.cumsum(steps), rng.random(n) < 0.03
    starts, ends, rest = intervals(time, missing, interval_s)
    assert len(starts) > 0
    assert np.all(starts[1:] >= ends[:-1])
    assert rest >= ends[-1]
    for start, end in zip(starts, ends, strict=True):
        assert (end - start) % 2 == 0
        assert not missing[start : end + 1].any()
        assert np.diff(time[start : end + 1]).max() < 1.0
        assert time[end] - time[start] >= (1.0 - 1e-5) * interval_s
        if end - start > 2:
            assert time[end - 2] - time[start] < interval_s


def test_intervals_of_a_uniform_grid_miss_nothing():
    """Rounded time stamps do not lengthen intervals; each starts where the one before ends."""
    time = np.round(np.arange(1001) * 0.01, 9) + 1e-10 * np.sin(np.arange(1001))
    starts, ends, rest = intervals(time, np.zeros(1001, dtype=bool), 0.1)
    assert np.array_equal(starts, np.arange(0, 1000, 10))
    assert np.array_equal(ends, starts + 10)
    assert rest == 1000


@every("seed", range(10))
def test_integrals_are_those_of_scipy(seed):
    """Simpson's rule on uneven steps; halving the steps divides the error by about sixteen."""
    rng = np.random.default_rng(seed)
    time = np.cumsum(rng.uniform(0.5, 1.5, size=61))
    values = rng.normal(size=(3, 61))
    starts, ends = np.array([0, 10, 30]), np.array([10, 12, 60])
    found = simpson(time, values, starts, ends)
    for k, (a, b) in enumerate(zip(starts, ends, strict=True)):
        expected = scipy_simpson(values[:, a : b + 1], x=time[a : b + 1])
        np.testing.assert_allclose(found[:, k], expected, rtol=1e-12)
    errors = []
    for n in (20, 40):
        t = np.linspace(0.0, 3.0, n + 1)
        whole = simpson(t, np.exp(t)[None], np.array([0]), np.array([n]))
        errors.append(abs(float(whole[0, 0]) - (np.exp(3.0) - 1.0)))
    assert 14.0 < errors[0] / errors[1] < 18.0


def test_the_torque_of_a_joint_at_rest_may_be_missing():
    """It does no work; that of a moving joint is needed, and its intervals are left out."""
    case = chain_experiment(2, n_joints=2, n_samples=401)
    model = case.model
    q, v = case.motion.q.copy(), case.motion.v.copy()
    q[:, 1], v[:, 1] = 0.3, 0.0
    motion = Motion(case.motion.time, q, v, np.full_like(v, np.nan))
    tau = torque(model, case.theta, q, v, np.zeros_like(v))
    gone = tau.copy()
    gone[100:200, 1] = np.nan
    whole = rows_of(model, motion, tau, ENERGY)[1]
    assert np.array_equal(rows_of(model, motion, gone, ENERGY)[1], whole)
    gone[150, 0] = np.nan
    start, rows = rows_of(model, motion, gone, ENERGY)
    # the interval from 1.5 s, and the shift of all later ones by a sample, cost one interval each
    assert len(rows) == len(whole) - 2
    assert not np.any((start > 1.401) & (start < 1.509))
    np.testing.assert_array_equal(rows[:14], whole[:14])


@every("kind", [term_kind(name) for name in LAWS])
def test_terms_take_the_power_of_their_torque(kind):
    """Power is law times speed, also where the law comes filtered; an inertia stores energy."""
    rng = np.random.default_rng(0)
    model = random_model(3)
    assert model.nv > 1
    v = rng.normal(size=(50, model.nv))
    powers = model.term_arrays.powers(v)
    given = TermSignals(tuple(t.name for t in model.jumping_terms), rng.normal(size=(50, 9)))
    filtered = model.term_arrays.powers(v, given)
    rows = {name: row for row, name in enumerate(model.channels)}
    for k, term in enumerate(model.terms):
        if term.term_kind is not kind:
            continue
        speed = sum(weight * v[:, rows[joint]] for joint, weight in term.direction)
        law = {
            "drive_inertia": np.zeros(50),
            "viscous": speed,
            "coulomb": np.clip(speed / term.width, -1, 1) if term.width else np.sign(speed),
            "offset": np.ones(50),
        }[kind.name]
        np.testing.assert_allclose(powers[k], law * speed, atol=1e-14)
        if term.name in given.names:
            law = given.values[:, given.names.index(term.name)]
        np.testing.assert_allclose(filtered[k], law * speed, atol=1e-14)


def test_a_floating_base_does_work_too():
    """The wrench on the base times its velocity is part of the work; without it, rows are left
    out.
    """
    rng = np.random.default_rng(5)
    model = Model(random_robot(rng, 2, floating_base=True))
    q, v, _ = random_states(rng, model.robot, 3)
    motion = Motion(np.arange(3) * 0.01, q, v, np.full_like(v, np.nan))
    tau = rng.normal(size=v.shape)
    _, rows = rows_of(model, motion, tau, Equation("energy", 0.01))
    power = np.sum(tau * v, axis=1)
    np.testing.assert_allclose(rows[0, -1], 0.02 / 6 * (power @ [1, 4, 1]))
    tau[1, 2] = np.nan
    assert len(rows_of(model, motion, tau, Equation("energy", 0.01))[1]) == 0


@every("seed", range(8))
def test_fewer_terms_are_as_if_compressed_anew(seed):
    """Factors of energy of a wide model give the narrow model's."""
    rng = np.random.default_rng(seed)
    case = chain_experiment(seed, n_joints=2, n_samples=2000)
    measured = case.measured(0.1 * rng.normal(size=case.tau.shape))
    wide = case.model
    narrow = Model(wide.robot, tuple(term for term in wide.terms if rng.random() < 0.6))
    equation = Equation("energy")
    quick = with_fewer_terms(compress(wide, case.motion, measured, equation=equation), wide, narrow)
    slow = compress(narrow, case.motion, measured, equation=equation)
    assert quick.equation == slow.equation == equation
    np.testing.assert_allclose(wls(quick).beta, wls(slow).beta, rtol=1e-7, atol=1e-8)


def test_a_file_keeps_the_equation(tmp_path):
    """Factors of energy are read back as such, and merge only with their like."""
    case = chain_experiment(0, n_samples=900)
    measured = case.measured(np.zeros(1))
    made = [
        compress(case.model, case.motion, measured, block_s=1.0, equation=one)
        for one in (ENERGY, POWER, Equation("energy", 0.2), Equation())
    ]
    write_regression(tmp_path / "energy.npz", made[0])
    again = read_regression(tmp_path / "energy.npz", case.model)
    assert_same(again, made[0])
    assert again.equation == ENERGY
    both = merge([made[0], again])
    assert both.equation == ENERGY
    assert both.n_rows == 2 * made[0].n_rows
    for other in made[1:]:
        with pytest.raises(RegressionError, match=r"energy over intervals of 0\.1 s, and "):
            merge([made[0], other])


def test_a_file_with_an_unknown_equation_is_refused(tmp_path):
    """Wrong names and entries are named with the file."""
    case = chain_experiment(0, n_samples=300)
    regression = compress(case.model, case.motion, case.measured(np.zeros(1)), equation=ENERGY)
    path = tmp_path / "energy.npz"
    for wrong, words in (
        ({"name": "momentum", "interval_s": 0.1}, "there is no equation 'momentum'"),
        ({"name": "energy", "interval_s": -1.0}, "interval_s is -1.0"),
        ({"name": "energy"}, "is not a regression file"),
        ("energy", "is not a regression file"),
    ):
        write_regression(path, regression)
        with np.load(path) as archive:
            arrays = dict(archive)
        header = json.loads(arrays["header"].tobytes())
        header["equation"] = wrong
        arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
        np.savez(path, **arrays)
        with pytest.raises(RegressionError, match=rf"energy\.npz.*{words}"):
            read_regression(path)


def test_time_blocks_hold_several_rows():
    """A block is no shorter than four intervals, unless it is asked for."""
    case = chain_experiment(0, n_samples=2001)
    measured = case.measured(np.zeros(1))
    equation = Equation("energy", 0.25)
    assert compress(case.model, case.motion, measured, equation=equation).block_s == 1.0
    streamed = compress_stream(case.model, [(case.motion, measured)], equation=equation)
    assert streamed.block_s == 1.0
    assert streamed.n_rows == 76  # 26 steps each, the even number from 0.25 s on


def test_bad_input_is_named():
    """One sample, joints that stand still, lost torques, a wrong name and a wrong length."""
    case = chain_experiment(0, n_samples=300)
    model, measured = case.model, case.measured(np.zeros(1))
    with pytest.raises(RegressionError, match="the runs have 1 samples, and an interval needs"):
        compress(model, case.motion[:1], measured[:1], equation=ENERGY)
    with pytest.raises(RegressionError, match="there are no samples to compress"):
        compress(model, case.motion[:0], measured[:0], equation=ENERGY)
    lost = Measurements(model.channels, np.full_like(case.tau, np.nan))
    with pytest.raises(RegressionError, match="at 300 of 300 samples the torque of a moving joint"):
        compress(model, case.motion, lost, equation=ENERGY)
    still = replace(case.motion, v=np.zeros_like(case.motion.v))
    for estimator in (ols, wls):
        with pytest.raises(EstimationError, match="no work in any of 37 intervals: no joint moves"):
            estimator(compress(model, still, measured, equation=Equation("energy", 0.08)))
    with pytest.raises(EstimationError, match="there are 14 differences of energy for 14 param"):
        wls(compress(model, case.motion[:150], measured[:150], equation=ENERGY))
    with pytest.raises(RegressionError, match=r"no equation 'energi' .did you mean 'energy'"):
        Equation("energi")
    with pytest.raises(RegressionError, match="rows of torque have no intervals"):
        Equation("torque", 0.1)
    for wrong in (0.0, -1.0, float("nan"), True, "long"):
        with pytest.raises(RegressionError, match="interval_s is "):
            Equation("energy", wrong)
    extra = ExtraColumns(("sine",), lambda motion: motion.v[..., None])
    with pytest.raises(RegressionError, match="rows of energy have no extra columns"):
        compress(model, case.motion, measured, equation=ENERGY, extra=extra)
