"""Signals: filters, derivatives, cutoff, time base, and all steps from log to motion."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from seeds import every

from steelyard.errors import LogError, SignalError
from steelyard.logs.log import Log
from steelyard.model.model import Model
from steelyard.robot.parts import Joint, Link, Mimic
from steelyard.robot.robot import Robot
from steelyard.signals._matching import match_joints, unwrap
from steelyard.signals._samples import _following
from steelyard.signals._timebase import time_base
from steelyard.signals.cutoff import automatic_cutoff
from steelyard.signals.derivatives import differentiate, half_width
from steelyard.signals.filters import gain, low_pass, samples_needed, settling_time_s
from steelyard.signals.prepare import prepare
from steelyard.signals.processing import Processing
from steelyard.signals.run_record import DeadBandRecord

Array = NDArray[np.float64]
RAW = Processing(cutoff_hz=None, decimate=1, trim_s=(0.0, 0.0), dead_band=None)


def chain(*kinds: str) -> Robot:
    """A chain of joints j0, j1, ... of these kinds."""
    links = tuple(Link(f"l{k}") for k in range(len(kinds) + 1))
    joints = tuple(
        Joint(f"j{k}", kind, f"l{k}", f"l{k + 1}")  # type: ignore[arg-type]
        for k, kind in enumerate(kinds)
    )
    return Robot("chain", links, joints)


class MultiSine:
    """Sums of sines with known derivatives, one row per joint."""

    def __init__(self, rng: np.random.Generator, n_joints: int, base_hz: float, n: int) -> None:
        self.w = 2 * np.pi * base_hz * np.arange(1, n + 1)
        self.a = rng.normal(size=(n, n_joints)) / self.w[:, None]
        self.b = rng.normal(size=(n, n_joints)) / self.w[:, None]

    def __call__(self, t: Array, order: int = 0) -> Array:
        phase = np.outer(t, self.w) + order * np.pi / 2
        scale = (self.w**order)[:, None]
        return np.asarray(np.sin(phase) @ (scale * self.a) + np.cos(phase) @ (scale * self.b))


def log_of(t: Array, q: Array, tau: Array | None = None, **more: Array) -> Log:
    """A log of joints j0, j1, ... from tables (n_samples, n_joints)."""
    tau = np.cos(3 * q) if tau is None else tau
    tables = {"position": q, "torque": tau, **more}
    return Log(
        t, {(f"j{k}", name): x[:, k] for name, x in tables.items() for k in range(q.shape[1])}
    )


def smooth_log(n: int = 2000, rate: float = 200.0, n_joints: int = 2) -> tuple[Log, MultiSine]:
    wave = MultiSine(np.random.default_rng(1), n_joints, 0.2, 4)
    t = np.arange(n) / rate
    return log_of(t, wave(t)), wave


# --- derivatives -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "order", "degree"),
    [
        ("central3", 1, 2),
        ("central3", 2, 3),
        ("central5", 1, 4),
        ("central5", 2, 5),
        ("savgol", 1, 4),
        ("savgol", 2, 5),
        ("savgol", 0, 5),
    ],
)
def test_derivatives_are_exact_for_polynomials(method: str, order: int, degree: int) -> None:
    """Each stencil is exact up to its degree, and not beyond."""
    h = 0.1
    t = h * (np.arange(31) - 15.0)
    processing = Processing(derivative=method)  # type: ignore[arg-type]
    for power in range(degree + 2):
        coefficients = np.zeros(power + 1)
        coefficients[power] = 1.0
        truth = np.polynomial.polynomial.polyval(
            t, np.polynomial.polynomial.polyder(coefficients, order)
        )
        error = differentiate(t**power, h, order, processing) - truth
        largest = np.nanmax(np.abs(error))
        # an even derivative is exact one degree further where the error term is odd
        assert (largest < 1e-9) == (power <= degree), (power, largest)


@pytest.mark.parametrize(
    ("method", "order", "rate"),
    [("central3", 1, 2), ("central3", 2, 2), ("central5", 1, 4), ("central5", 2, 4)],
)
def test_order_of_accuracy(method: str, order: int, rate: int) -> None:
    """Halving the period divides the error by 2 to the order of the scheme."""
    processing = Processing(derivative=method)  # type: ignore[arg-type]
    errors = []
    for h in (0.04, 0.02):
        t = np.arange(0.0, 3.0, h)
        truth = np.cos(t) if order == 1 else -np.sin(t)
        errors.append(np.nanmax(np.abs(differentiate(np.sin(t), h, order, processing) - truth)))
    assert math.log2(errors[0] / errors[1]) == pytest.approx(rate, abs=0.1)


@pytest.mark.parametrize("method", ["central3", "central5", "savgol"])
def test_ends_are_nan(method: str) -> None:
    """Where the stencil does not fit the derivative is NaN, and only there."""
    processing = Processing(derivative=method, savgol_window=7)  # type: ignore[arg-type]
    k = half_width(processing)
    assert k == {"central3": 1, "central5": 2, "savgol": 3}[method]
    v = differentiate(np.arange(20.0)[:, None], 1.0, 1, processing)
    assert np.isnan(v[:k]).all()
    assert np.isnan(v[20 - k :]).all()
    np.testing.assert_allclose(v[k : 20 - k], 1.0, atol=1e-12)
    assert np.isnan(differentiate(np.arange(2.0 * k), 1.0, 1, processing)).all()


# --- filter ----------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2, 4, 6])
@pytest.mark.parametrize("frequency", [1.0, 5.0, 12.0])
def test_filter_has_the_stated_gain_and_no_phase(order: int, frequency: float) -> None:
    """A sine comes out in phase, scaled by the stated gain, which is 1/2 at the cutoff."""
    rate, cutoff = 100.0, 5.0
    t = np.arange(3000) / rate
    x = np.sin(2 * np.pi * frequency * t)
    y = low_pass(x, cutoff, order, rate)[1000:2000]
    expected = gain(np.array([frequency]), cutoff, order, rate)[0]
    np.testing.assert_allclose(y, expected * x[1000:2000], atol=1e-6)
    if frequency == cutoff:
        assert expected == pytest.approx(0.5)


def test_filter_keeps_lines_and_constants() -> None:
    """A constant and a steady motion pass unchanged, up to the ends."""
    t = np.arange(400.0)
    for x in (np.full(400, 3.0), 3.0 + 0.5 * t):
        np.testing.assert_allclose(low_pass(x, 0.05, 4, 1.0), x, atol=1e-7)


def test_filter_is_linear_and_per_column() -> None:
    """Columns are filtered alone, and sums pass as sums."""
    x = np.random.default_rng(0).normal(size=(500, 3))
    y = low_pass(x, 5.0, 4, 100.0)
    np.testing.assert_allclose(low_pass(x[:, 1], 5.0, 4, 100.0), y[:, 1], atol=1e-12)
    np.testing.assert_allclose(low_pass(x.sum(1), 5.0, 4, 100.0), y.sum(1), atol=1e-10)


@pytest.mark.parametrize("order", [2, 3, 4, 8])
def test_settling_time(order: int) -> None:
    """The response to an impulse is below 1 % of its peak, times its degree, once settled."""
    rate, cutoff = 1000.0, 4.0
    x = np.zeros(8001)
    x[4000] = 1.0
    y = np.abs(low_pass(x, cutoff, order, rate)) / np.max(low_pass(x, cutoff, order, rate))
    behind = y[4000 + math.ceil(settling_time_s(cutoff, order) * rate) :]
    assert behind.max() < 0.02 * order
    assert y[4000 + int(0.2 * settling_time_s(cutoff, order) * rate)] > 0.02


def test_filter_refuses() -> None:
    """A cutoff beyond half the rate and a log that is too short are refused with numbers."""
    with pytest.raises(SignalError, match="60 Hz is not below 50 Hz"):
        low_pass(np.zeros(1000), 60.0, 4, 100.0)
    needed = samples_needed(1.0, 4, 100.0)
    with pytest.raises(SignalError, match=f"{needed - 1} samples .* needs {needed}"):
        low_pass(np.zeros(needed - 1), 1.0, 4, 100.0)
    assert low_pass(np.zeros(needed), 1.0, 4, 100.0).shape == (needed,)


# --- automatic cutoff ------------------------------------------------------------------


def acceleration_error(q: Array, truth: Array, rate: float, cutoff: float) -> float:
    """Relative rms error of the acceleration, away from the ends, geometric mean of joints."""
    x = low_pass(q, cutoff, 4, rate)
    a = differentiate(x, 1 / rate, 2, Processing())
    inner = slice(len(q) // 8, -(len(q) // 8))
    error = np.sqrt(np.mean((a - truth)[inner] ** 2, axis=0) / np.mean(truth**2, axis=0))
    return float(np.exp(np.mean(np.log(error))))


def noisy_case(seed: int) -> tuple[float, Array, Array]:
    """Rate, noisy positions and true accelerations of a random multi-sine recording."""
    rng = np.random.default_rng(seed)
    rate = float(rng.choice([50, 100, 200, 500, 1000]))
    duration = rng.uniform(10, 30)
    base = max(math.exp(rng.uniform(math.log(0.08), math.log(0.4))), 2 / duration)
    wave = MultiSine(rng, int(rng.integers(1, 5)), base, int(rng.integers(1, 8)))
    t = np.arange(int(duration * rate)) / rate
    size = 10 ** rng.uniform(-5, -0.5)
    q = wave(t)
    if rng.random() < 0.5:  # an encoder
        return rate, np.round((q + 0.3 * size * rng.normal(size=q.shape)) / size) * size, wave(t, 2)
    return rate, q + size * rng.normal(size=q.shape), wave(t, 2)


@every("block", range(4))
def test_automatic_cutoff_is_near_the_best(block: int) -> None:
    """The acceleration is within a factor 2 of the best fixed cutoff's, or within 1.5 %."""
    matters = 0
    for seed in range(15 * block, 15 * (block + 1)):
        rate, q, truth = noisy_case(seed)
        choice = automatic_cutoff(q, rate, 4)
        lowest = 4 * settling_time_s(1.0, 4) / (len(q) / rate)
        fixed = [
            acceleration_error(q, truth, rate, cutoff)
            for cutoff in np.geomspace(lowest, 0.4 * rate, 25)
        ]
        found = acceleration_error(q, truth, rate, choice.cutoff_hz)
        assert found <= max(2.0 * min(fixed), 0.015), (seed, found, min(fixed), choice)
        matters += min(fixed) > 0.006
    assert matters >= 2  # else the factor would not have been tested


def test_automatic_cutoff_predicts_its_error() -> None:
    """Where noise is white, the predicted error and noise are the real ones."""
    rng = np.random.default_rng(5)
    rate, noise = 500.0, 2e-3
    wave = MultiSine(rng, 3, 0.15, 5)
    t = np.arange(10_000) / rate
    q = wave(t) + noise * rng.normal(size=(len(t), 3))
    choice = automatic_cutoff(q, rate, 4)
    found = acceleration_error(q, wave(t, 2), rate, choice.cutoff_hz)
    assert choice.relative_error == pytest.approx(found, rel=0.3)
    np.testing.assert_allclose(choice.noise, noise, rtol=0.5)
    assert choice.bandwidth_hz == pytest.approx(0.75, rel=0.15)


def test_automatic_cutoff_does_not_depend_on_units_or_joint_order() -> None:
    """Scaling a joint's unit, or reordering joints, changes nothing."""
    rate, q, _ = noisy_case(3)
    q = np.column_stack([q, q[:, ::-1] ** 2])
    choice = automatic_cutoff(q, rate, 4).cutoff_hz
    scaled = q * 10.0 ** np.arange(q.shape[1])
    assert automatic_cutoff(scaled, rate, 4).cutoff_hz == pytest.approx(choice)
    assert automatic_cutoff(q[:, ::-1], rate, 4).cutoff_hz == pytest.approx(choice)


def test_automatic_cutoff_refuses() -> None:
    """Too few samples, and positions in which nothing moves, are refused."""
    with pytest.raises(SignalError, match="at least 64 samples, not 63"):
        automatic_cutoff(np.zeros((63, 1)), 100.0, 4)
    for still in (np.ones((500, 2)), np.arange(1000.0).reshape(500, 2) * 1e-3):
        with pytest.raises(SignalError, match="no joint moves enough"):
            automatic_cutoff(still, 100.0, 4)


# --- options ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cutoff_hz": 0.0}, "cutoff_hz is 0.0; it must be a number from 1e-9 to 1e9"),
        ({"cutoff_hz": "low"}, "cutoff_hz is 'low'"),
        ({"cutoff_hz": math.nan}, "cutoff_hz is nan"),
        ({"cutoff_hz": True}, "cutoff_hz is True"),
        ({"sample_rate_hz": -1.0}, "sample_rate_hz is -1.0"),
        ({"filter_order": 0}, "filter_order is 0; it must be a whole number from 1"),
        ({"filter_order": 2.5}, "filter_order is 2.5"),
        ({"derivative": "spline"}, "one of 'central3', 'central5', 'savgol'"),
        ({"velocity": "guess"}, "one of 'auto', 'differentiate', 'measured', 'if-measured'"),
        ({"torque_filter": "other"}, "one of 'auto', 'same', 'none'"),
        ({"interpolation": "sinc"}, "one of 'linear', 'cubic'"),
        ({"still_joints": "drop"}, "one of 'refuse', 'keep'"),
        ({"trim_s": 3.0}, r"it must be 'auto' or \(start, end\)"),
        ({"trim_s": "none"}, "it must be 'auto'"),
        ({"trim_s": (1.0,)}, "trim_s has 1 entries"),
        ({"trim_s": (1.0, -1.0)}, "trim_s is -1.0"),
        ({"decimate": 0}, "decimate is 0"),
        ({"decimate": True}, "decimate is True"),
        ({"dead_band": -0.1}, "dead_band is -0.1"),
        ({"friction_smear": {"elbow": -0.1}}, "friction_smear of 'elbow' is -0.1"),
        ({"friction_smear": 0.1}, "friction_smear is 0.1; it must be speeds by name, or None"),
        ({"without_torque": 3}, "without_torque is 3; it must be 'auto' or joint names"),
        ({"dead_band": {"elbow": math.inf}}, "dead_band of joint 'elbow' is inf"),
        ({"max_gap_s": -1}, "max_gap_s is -1"),
        ({"unwrap": 1}, "unwrap is 1"),
        ({"savgol_window": 10}, "must be odd"),
        ({"savgol_window": 3, "savgol_order": 4}, "savgol_window is 3"),
    ],
)
def test_options_are_checked(options: dict[str, object], message: str) -> None:
    """An invalid option is refused when Processing is created."""
    with pytest.raises(SignalError, match=message):
        Processing(**options)  # type: ignore[arg-type]


def test_preset_of_sousa() -> None:
    """The preset is the published processing: its options, and its effect on a 1 kHz log."""
    preset = Processing.sousa2014()
    assert (preset.cutoff_hz, preset.filter_order, preset.torque_filter) == (2.5, 3, "none")
    wave = MultiSine(np.random.default_rng(0), 2, 0.1, 3)
    t = np.arange(20_000) / 1000.0
    tau = np.random.default_rng(1).normal(size=(len(t), 2))
    done = prepare(log_of(t, wave(t), tau), chain("revolute", "revolute"), preset)
    assert len(done.motion) == 16_000
    np.testing.assert_array_equal(done.motion.time, t[3000:19_000])
    np.testing.assert_array_equal(done.measurements.tau, tau[3000:19_000])
    np.testing.assert_allclose(done.motion.a, wave(t, 2)[3000:19_000], atol=2e-3)


# --- matching --------------------------------------------------------------------------


def test_joint_names_that_do_not_match() -> None:
    """Missing joints are an error that lists both sides; extra ones are reported."""
    log, _ = smooth_log()
    with pytest.raises(LogError, match=r"lacks joints .*: j2; in the log but not .*: none"):
        match_joints(log, chain("revolute", "revolute", "revolute"))
    renamed = Log(log.time, {(f"arm/{j}", q): x for (j, q), x in log.signals.items()})
    with pytest.raises(LogError, match=r"j0, j1; in the log but not in the robot: arm/j0, arm/j1"):
        match_joints(renamed, chain("revolute", "revolute"))
    joints, extra = match_joints(log, chain("revolute"))
    assert (joints, extra) == (("j0",), ("j1",))
    assert prepare(log, chain("revolute")).record.ignored_joints == ("j1",)


def test_missing_channels() -> None:
    """A joint without torque or position is named, with the columns that were ignored."""
    log, _ = smooth_log()
    for gone in ("torque", "position"):
        signals = {key: x for key, x in log.signals.items() if key != ("j1", gone)}
        partial = Log(log.time, signals, ignored=("j1.trq",))
        with pytest.raises(LogError, match=f"no {gone} of joint 'j1'.*ignored columns: 'j1.trq'"):
            prepare(partial, chain("revolute", "revolute"))


def test_units_must_fit_the_joint() -> None:
    """Metres for a revolute joint and newton metres for a sliding one are refused."""
    log, _ = smooth_log()
    wrong = replace_units(log, {("j0", "position"): "m"})
    with pytest.raises(LogError, match=r"j0.position is given in \[m\], but joint 'j0' .*revolute"):
        prepare(wrong, chain("revolute", "revolute"))
    wrong = replace_units(log, {("j1", "torque"): "N*m"})
    with pytest.raises(LogError, match=r"j1.torque is given in \[N\*m\].*prismatic"):
        prepare(wrong, chain("revolute", "prismatic"))
    right = replace_units(log, {("j0", "position"): "rad", ("j1", "torque"): "N"})
    prepare(right, chain("continuous", "prismatic"))


def replace_units(log: Log, units: dict[tuple[str, str], str]) -> Log:
    return Log(log.time, log.signals, units=units)


def test_floating_base_and_mimics() -> None:
    """A base that floats needs a motion; a joint that mimics another needs no own column."""
    log, _ = smooth_log()
    robot = chain("revolute", "revolute")
    with pytest.raises(LogError, match=r"no motion of the base 'l0'.*floats"):
        prepare(log, replace(robot, floating_base=True))
    follower = replace(robot.joints[1], mimic=Mimic("j0", 2.0))
    done = prepare(log, replace(robot, joints=(robot.joints[0], follower)))
    assert done.measurements.channels == ("j0",)
    assert done.record.ignored_joints == ("j1",)


def test_reordered_columns_give_the_same_motion() -> None:
    """The order of columns in the log does not matter; joints follow the robot."""
    log, _ = smooth_log()
    robot = chain("revolute", "revolute")
    turned = Log(log.time, dict(reversed(list(log.signals.items()))))
    one, two = prepare(log, robot), prepare(turned, robot)
    np.testing.assert_array_equal(one.motion.a, two.motion.a)
    np.testing.assert_array_equal(one.measurements.tau, two.measurements.tau)
    assert two.measurements.channels == robot.joint_names


@pytest.mark.parametrize(("kind", "unit"), [("revolute", "rad"), ("prismatic", "m")])
def test_a_joint_that_never_moves(kind: str, unit: str) -> None:
    """A still joint is named, with its range and what to do; it may be kept on request."""
    log, wave = smooth_log()
    q = wave(log.time)
    q[:, 1] = 0.25 + 1e-5 * np.sin(log.time)
    still = log_of(log.time, q, np.ones_like(q))
    robot = chain("revolute", kind)
    with pytest.raises(SignalError, match=rf"'j1' never moves: .* 2e-05 {unit} .*--lock j1=0.25"):
        prepare(still, robot)
    done = prepare(still, robot, Processing(still_joints="keep"))
    assert np.abs(done.motion.v[:, 1]).max() < 1e-4


def test_all_joints_that_never_move_are_named_at_once() -> None:
    """Several still joints come with the one option that locks them all; all of them have none."""
    log, wave = smooth_log()
    q = np.repeat(wave(log.time), 2, axis=1)
    q[:, 1], q[:, 3] = -0.25, 0.5
    robot = chain("revolute", "prismatic", "revolute", "revolute")
    words = "joints 'j1', 'j3' never move: .*lock them with --lock j1=-0.25 --lock j3=0.5, record"
    with pytest.raises(SignalError, match=words):
        prepare(log_of(log.time, q, np.ones_like(q)), robot)
    prepare(log_of(log.time, q, np.ones_like(q)), robot.lock({"j1": -0.25, "j3": 0.5}))
    with pytest.raises(SignalError, match="nothing can be identified from a robot at rest"):
        prepare(log_of(log.time, np.ones_like(q), np.ones_like(q)), robot)


def test_joints_that_were_not_recorded_and_others_that_never_move() -> None:
    """One message has the options for both."""
    log, wave = smooth_log()
    q = wave(log.time)
    q[:, 1] = 0.25
    robot = chain("revolute", "revolute", "revolute")
    with pytest.raises(LogError, match=r"--lock unrecorded --lock j1=0\.25 \(these do not move\)"):
        prepare(log_of(log.time, q, np.ones_like(q)), robot)


# --- prepare ---------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), jitter=st.floats(0.0, 0.3), start=st.floats(-1e3, 1e9))
def test_clean_motion_is_recovered(seed: int, jitter: float, start: float) -> None:
    """From clean positions, with or without jitter, q, v and a are within 2 % of the truth."""
    rng = np.random.default_rng(seed)
    rate = float(rng.choice([100, 250, 1000]))
    n = int(12 * rate)
    even = start + np.arange(n) / rate
    t = np.sort(even + jitter * rng.uniform(-1, 1, n) / rate)
    wave = MultiSine(rng, 2, 0.2, 4)
    log = log_of(t, wave(t - start))
    done = prepare(log, chain("revolute", "continuous"))
    m = done.motion
    for order, x in enumerate((m.q, m.v, m.a)):
        truth = wave(m.time - start, order)
        assert np.abs(x - truth).max() < 0.02 * np.abs(truth).max()
    json.dumps(done.record.as_json())


def test_uniform_stamps_are_untouched() -> None:
    """Without a filter, uniform samples and their stamps are unchanged, bit by bit."""
    log, _ = smooth_log()
    done = prepare(log, chain("revolute", "revolute"), RAW)
    np.testing.assert_array_equal(done.motion.time, log.time[2:-2])
    np.testing.assert_array_equal(done.motion.q[:, 1], log.signal("j1", "position")[2:-2])
    np.testing.assert_array_equal(done.measurements.tau[:, 0], log.signal("j0", "torque")[2:-2])
    assert done.record.time.resampled is False


def test_rounded_stamps_are_uniform() -> None:
    """A 400 Hz log with stamps in whole milliseconds is even; a jittery one is not."""
    wave = MultiSine(np.random.default_rng(2), 1, 0.2, 4)
    t = np.arange(4000) / 400.0
    rounded = np.round(t, 3)
    assert set(np.round(np.diff(rounded) * 1e3).astype(int)) == {2, 3}
    done = prepare(log_of(rounded, wave(t)), chain("revolute"))
    assert done.record.time.resampled is False
    assert done.record.time.rate_hz == pytest.approx(400.0, rel=1e-4)
    assert np.abs(done.motion.a - wave(done.motion.time, 2)).max() < 0.1
    jittery = np.round(t + np.random.default_rng(3).uniform(-1e-3, 1e-3, 4000), 4)
    done = prepare(log_of(jittery, wave(jittery)), chain("revolute"))
    assert done.record.time.resampled is True


@pytest.mark.parametrize("kind", ["linear", "cubic"])
def test_resampling(kind: str) -> None:
    """Jittery stamps go to an even grid at the median rate; the spline is the closer one."""
    rng = np.random.default_rng(2)
    wave = MultiSine(rng, 1, 0.2, 4)
    t = np.sort(np.arange(2000) / 100.0 + rng.uniform(-0.003, 0.003, 2000))
    processing = replace(RAW, interpolation=kind, sample_rate_hz=100.0)  # type: ignore[arg-type]
    done = prepare(log_of(t, wave(t)), chain("revolute"), processing)
    np.testing.assert_allclose(np.diff(done.motion.time), 0.01, rtol=1e-9)
    error = np.abs(done.motion.q - wave(done.motion.time)).max()
    assert error < (2e-3 if kind == "linear" else 2e-6)
    assert error > 1e-12
    record = done.record.time
    assert record.resampled is True
    assert record.period_s.max == pytest.approx(np.diff(t).max())


def test_another_rate_does_not_alias_noise() -> None:
    """A slower rate low-passes first: a tone above the new half rate does not come through."""
    wave = MultiSine(np.random.default_rng(2), 1, 0.2, 3)
    t = np.arange(20_000) / 1000.0
    tone = 0.01 * np.sin(2 * np.pi * 95.0 * t)[:, None]  # would fold to 5 Hz
    done = prepare(log_of(t, wave(t) + tone), chain("revolute"), replace(RAW, sample_rate_hz=100.0))
    assert done.record.time.rate_hz == 100.0
    error = (done.motion.q - wave(done.motion.time))[200:-200]
    assert np.abs(error).max() < 1e-4


def test_filtering_torque_or_not() -> None:
    """Torques are filtered like positions, or not at all."""
    log, _ = smooth_log()
    robot = chain("revolute", "revolute")
    tau = log.signal("j1", "torque")
    chosen = Processing(cutoff_hz=8.0, decimate=1, torque_filter="same")
    same = prepare(log, robot, chosen)
    expected = low_pass(tau, 8.0, 4, 200.0)
    first = int(np.searchsorted(log.time, same.motion.time[0]))
    kept = slice(first, first + len(same.motion))
    np.testing.assert_allclose(same.measurements.tau[:, 1], expected[kept], atol=1e-12)
    np.testing.assert_array_equal(same.unfiltered.tau[:, 1], tau[kept])
    for other in ("none", "auto"):  # what is automatic is chosen by identify
        none = prepare(log, robot, replace(chosen, torque_filter=other))
        np.testing.assert_array_equal(none.measurements.tau[:, 1], tau[kept])
        np.testing.assert_array_equal(none.unfiltered.tau, none.all_measurements.tau)
        assert none.motion.friction is None


@pytest.mark.parametrize("torque_filter", ["same", "none"])
def test_friction_is_smeared_along_the_motion_alone(torque_filter: str) -> None:
    """Up to the given speed, or the wider law; the unfiltered torque has a friction of its own."""
    robot = chain("revolute", "revolute")
    log, _ = smooth_log()
    model = Model(robot).with_widths({"j1": 0.4})
    options = Processing(
        cutoff_hz=None if torque_filter == "none" else 20.0,
        torque_filter=torque_filter,  # type: ignore[arg-type]
        friction_smear={"j0": 0.3, "j1": 0.2},
        decimate=1,
    )
    run = prepare(log, model, options)
    plain = run.unfiltered_motion
    assert plain.friction is not None
    assert run.motion.friction is not None
    assert plain.friction.names == ("j0.fc", "j1.fc")
    expected = np.clip(run.motion.v / [0.3, 0.4], -1.0, 1.0)
    assert np.allclose(plain.friction.values, expected, atol=1e-12)
    same = np.array_equal(run.motion.friction.values, plain.friction.values)
    assert same == (torque_filter == "none")
    assert Processing.from_record(options.as_record()) == options
    assert [term.width for term in model.jumping_terms] == [0.0, 0.4]


def test_friction_follows_over_a_travel() -> None:
    """Step by step along the motion, Dahl has the same factors; a short travel is the sign."""
    robot = chain("revolute", "revolute")
    log, _ = smooth_log()
    options = Processing(torque_filter="same", cutoff_hz=40.0, decimate=1, trim_s=(0.0, 0.0))
    run = prepare(log, robot, options, other_travels=(1e-6, 0.05, 0.3))
    raw = _following(Model(robot), run.motion.q, (1e-6, 0.05, 0.3))
    for share, one in zip((1e-6, 0.05, 0.3), raw, strict=True):
        x = share * np.std(run.motion.q, axis=0)
        moved = np.diff(run.motion.q, axis=0)
        state = [np.sign(moved[0])]
        for step in moved:
            turn = np.sign(step)
            state.append(turn + (state[-1] - turn) * np.exp(-abs(step) / x))
        assert np.allclose(one.values, state, atol=1e-9)
    assert np.mean(raw[0].values[1:] == np.sign(np.diff(run.motion.q, axis=0))) > 0.99
    # filtered as the law that jumps is
    assert run.motion.friction is not None
    apart = np.abs(run.other_friction[0].values - run.motion.friction.values)
    assert np.mean(apart) < 0.01


def test_parallel_filtering_keeps_a_linear_model() -> None:
    """For torque linear in a and v, filtering both sides leaves the model exactly true."""
    wave = MultiSine(np.random.default_rng(3), 1, 0.5, 8)
    t = np.arange(4000) / 400.0
    log = log_of(t, wave(t), 3.0 * wave(t, 2) + 0.7 * wave(t, 1))
    done = prepare(log, chain("prismatic"), Processing(cutoff_hz=4.0, torque_filter="same"))
    W = np.column_stack([done.motion.a, done.motion.v])
    found, *_ = np.linalg.lstsq(W, done.measurements.tau[:, 0], rcond=None)
    np.testing.assert_allclose(found, [3.0, 0.7], rtol=2e-3)


def test_measured_derivatives() -> None:
    """Measured velocity and acceleration are used where present, and this is recorded."""
    log, wave = smooth_log()
    t = log.time
    v, a = wave(t, 1) + 0.5, wave(t, 2) - 2.0
    signals = {**log.signals, ("j0", "velocity"): v[:, 0], ("j0", "acceleration"): a[:, 0]}
    robot = chain("revolute", "revolute")
    both = replace(RAW, velocity="measured", acceleration="measured")
    done = prepare(Log(t, signals), robot, both)
    np.testing.assert_array_equal(done.motion.v[:, 0], v[2:-2, 0])
    np.testing.assert_array_equal(done.motion.a[:, 0], a[2:-2, 0])
    np.testing.assert_allclose(done.motion.v[:, 1], v[2:-2, 1] - 0.5, atol=1e-5)
    assert done.record.velocity_from == {
        "j0": "measured",
        "j1": "derivative of the position",
    }
    only_v = prepare(Log(t, signals), robot, replace(both, acceleration="differentiate"))
    np.testing.assert_allclose(only_v.motion.a[:, 0], wave(t, 2)[2:-2, 0], atol=1e-4)
    assert only_v.record.acceleration_from["j0"].startswith("derivative of the measured")
    with pytest.raises(SignalError, match="no measured velocity of any joint"):
        prepare(log, robot, both)


def test_savitzky_golay_smooths_all_alike() -> None:
    """With Savitzky-Golay, positions and torques go through the same polynomial."""
    from scipy.signal import savgol_filter

    log, wave = smooth_log()
    processing = replace(
        RAW, derivative="savgol", savgol_window=15, savgol_order=3, torque_filter="same"
    )
    done = prepare(log, chain("revolute", "revolute"), processing)
    for found, name in ((done.motion.q, "position"), (done.measurements.tau, "torque")):
        expected = savgol_filter(log.signal("j0", name), 15, 3)[7:-7]
        np.testing.assert_allclose(found[:, 0], expected, atol=1e-12)
    np.testing.assert_allclose(done.motion.a, wave(done.motion.time, 2), atol=0.02)


def test_trimming() -> None:
    """The ends are cut as asked; automatically, by the settling time of the filter."""
    log, _ = smooth_log()
    robot = chain("revolute", "revolute")
    done = prepare(log, robot, replace(RAW, trim_s=(1.5, 0.5)))
    np.testing.assert_array_equal(done.motion.time, log.time[300:-100])
    done = prepare(log, robot, Processing(cutoff_hz=5.0, decimate=1))
    settle = math.ceil(settling_time_s(5.0, 4) * 200.0)
    np.testing.assert_array_equal(done.motion.time, log.time[settle:-settle])
    assert done.record.trimmed_s == pytest.approx((settle / 200, settle / 200))
    with pytest.raises(SignalError, match=r"leaves fewer than two of 2000; at least 2202"):
        prepare(log, robot, replace(RAW, trim_s=(6.0, 5.0)))


def test_decimation() -> None:
    """Every n-th sample is kept; automatically about ten per cutoff period."""
    log, _ = smooth_log()
    robot = chain("revolute", "revolute")
    full = prepare(log, robot, RAW)
    done = prepare(log, robot, replace(RAW, decimate=7))
    np.testing.assert_array_equal(done.motion.a, full.motion.a[::7])
    np.testing.assert_array_equal(done.measurements.tau, full.measurements.tau[::7])
    filtered = Processing(cutoff_hz=4.0, torque_filter="same")
    auto = prepare(log, robot, filtered)
    assert (auto.record.decimation, auto.record.rate_out_hz) == (5, pytest.approx(40.0))
    assert prepare(log, robot, replace(filtered, cutoff_hz=30.0)).record.decimation == 1
    unfiltered = Processing(cutoff_hz=4.0, torque_filter="none")
    assert prepare(log, robot, unfiltered).record.decimation == 1


@pytest.mark.parametrize("band", [0.3, {"j1": 0.3}])
def test_dead_band(band: float | dict[str, float]) -> None:
    """Torque of a slow joint is not used, per joint; motion is kept."""
    log, _ = smooth_log()
    robot = chain("revolute", "revolute")
    done = prepare(log, robot, replace(RAW, dead_band=band))
    slow = np.abs(done.motion.v) < 0.3
    if isinstance(band, dict):
        slow[:, 0] = False
    assert 0 < slow[:, 1].sum() < len(slow)
    np.testing.assert_array_equal(np.isnan(done.measurements.tau), slow)
    assert np.isfinite(done.motion.q).all()
    assert done.record.dead_band == DeadBandRecord(
        asked=band,
        speeds=band if isinstance(band, dict) else {"j0": 0.3, "j1": 0.3},
        samples={"j0": int(slow[:, 0].sum()), "j1": int(slow[:, 1].sum())},
    )
    assert np.isfinite(done.all_measurements.tau).all()
    np.testing.assert_array_equal(done.all_measurements.tau[~slow], done.measurements.tau[~slow])
    with pytest.raises(SignalError, match=r"given for elbow, but Coulomb .* j0, j1"):
        prepare(log, robot, replace(RAW, dead_band={"elbow": 0.1}))


def test_unwrapping() -> None:
    """Jumps by 2 pi of revolute joints are removed, also across gaps; prismatic ones are kept."""
    t = np.arange(1000) / 100.0
    q = 1.2 * t[:, None] + np.zeros(2)
    wrapped = (q + np.pi) % (2 * np.pi) - np.pi
    smooth, count = unwrap(wrapped[:, 0])
    assert count == 2
    np.testing.assert_allclose(smooth, q[:, 0], atol=1e-12)
    gap = wrapped[:, 0].copy()
    gap[259:265] = np.nan
    np.testing.assert_allclose(unwrap(gap)[0][265:], q[265:, 0], atol=1e-12)
    log = log_of(t, wrapped)
    done = prepare(log, chain("continuous", "prismatic"), RAW)
    np.testing.assert_allclose(done.motion.v[:, 0], 1.2, atol=1e-9)
    assert np.abs(done.motion.v[:, 1]).max() > 100
    assert done.record.unwrapped_jumps == {"j0": 2}
    kept = prepare(log, chain("continuous", "prismatic"), replace(RAW, unwrap=False))
    assert np.abs(kept.motion.v[:, 0]).max() > 100


# --- missing samples -------------------------------------------------------------------


def with_missing(rows: slice, quantity: str, value: float = math.nan) -> tuple[Log, MultiSine]:
    log, wave = smooth_log()
    x = log.signal("j1", quantity).copy()
    x[rows] = value
    return Log(log.time, {**log.signals, ("j1", quantity): x}), wave


@pytest.mark.parametrize("quantity", ["position", "torque"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_long_gaps_cut_the_log(quantity: str, value: float) -> None:
    """Each piece is prepared as a log of its own, and a finding says where the log was cut."""
    robot = chain("revolute", "revolute")
    log, _ = with_missing(slice(800, 815), quantity, value)
    filtered = Processing(cutoff_hz=8.0, torque_filter="same", decimate=1)
    for processing in (RAW, filtered):
        done = prepare(log, robot, processing)
        parts = [
            prepare(Log(log.time[rows], {key: x[rows] for key, x in log.signals.items()}), robot,
                    processing)
            for rows in (slice(0, 800), slice(815, 2000))
        ]  # fmt: skip
        for name in ("time", "q", "v", "a"):
            expected = np.concatenate([getattr(part.motion, name) for part in parts])
            np.testing.assert_array_equal(getattr(done.motion, name), expected)
        for kind in ("measurements", "unfiltered"):
            expected = np.concatenate([getattr(part, kind).tau for part in parts])
            np.testing.assert_array_equal(getattr(done, kind).tau, expected)
        (finding,) = done.findings
        assert finding.code == "log-cut"
        assert "cut into 2 pieces" in finding.words
        assert "3.995 to 4.075 s" in finding.words
        assert done.record.time.holes == 1
        assert done.record.time.starts_s == pytest.approx((0.0, 4.075))
        assert done.record.time.ends_s == pytest.approx((3.995, 9.995))


def test_pieces_that_are_too_short_are_left_out() -> None:
    """A piece shorter than the filter needs is not used; a log of such pieces is refused."""
    robot = chain("revolute", "revolute")
    log, _ = with_missing(slice(20, 40), "torque")
    done = prepare(log, robot, Processing(cutoff_hz=4.0))
    assert "1 of them are too short for the filter and not used" in done.findings[0].words
    assert len(done.record.time.starts_s) == 1
    tau = log.signal("j1", "torque").copy()
    tau[np.arange(2000) % 40 < 20] = np.nan
    pieces = Log(log.time, {**log.signals, ("j1", "torque"): tau})
    with pytest.raises(SignalError, match=r"20 samples .* are too few .* needs 97"):
        prepare(pieces, robot, Processing(cutoff_hz=4.0))


def test_short_gaps_are_bridged() -> None:
    """A bridged position is close to the truth; a bridged torque is marked as missing."""
    robot = chain("revolute", "revolute")
    log, wave = with_missing(slice(100, 105), "position")
    done = prepare(log, robot, Processing(max_gap_s=0.031))
    assert done.record.samples_bridged == {"j1.position": 5}
    np.testing.assert_allclose(done.motion.q, wave(done.motion.time), atol=2e-3)
    log, _ = with_missing(slice(100, 105), "torque")
    done = prepare(log, robot, replace(RAW, max_gap_s=0.031))
    np.testing.assert_array_equal(
        np.flatnonzero(np.isnan(done.measurements.tau[:, 1])) + 2, np.arange(100, 105)
    )
    assert len(prepare(log, robot).record.time.starts_s) == 1  # 0.03 s, of 0.05 s
    assert len(prepare(log, robot, Processing(max_gap_s=0.02)).record.time.starts_s) == 2


def test_gaps_at_the_ends_are_cut() -> None:
    """Missing samples at the ends cannot be interpolated, so these rows are cut."""
    robot = chain("revolute", "revolute")
    log, _ = with_missing(slice(0, 3), "position")
    done = prepare(log, robot, replace(RAW, max_gap_s=0.1))
    assert done.record.rows_cut_at_ends == (3, 0)
    assert done.motion.time[0] == log.time[5]
    log, _ = with_missing(slice(1990, 2000), "torque")
    assert prepare(log, robot, replace(RAW, max_gap_s=0.1)).record.rows_cut_at_ends == (0, 10)
    log, _ = with_missing(slice(None), "torque")
    with pytest.raises(SignalError, match=r"j1.torque is NaN or infinite in all 2000 rows"):
        prepare(log, robot, Processing(max_gap_s=100.0))


def test_gaps_in_unused_channels_do_not_matter() -> None:
    """A joint that the robot does not have may be missing altogether."""
    log, _ = with_missing(slice(None), "position")
    assert prepare(log, chain("revolute")).record.samples_bridged == {}


def test_holes_between_stamps() -> None:
    """A short hole is bridged without torque; the log is cut at a long one."""
    wave = MultiSine(np.random.default_rng(1), 1, 0.2, 4)
    t = np.arange(2000) / 200.0
    robot = chain("revolute")
    short = np.delete(t, slice(700, 708))
    done = prepare(log_of(short, wave(short)), robot, RAW)
    record = done.record.time
    assert (record.holes, record.samples_in_holes) == (1, 8)
    gone = done.motion.time[np.isnan(done.measurements.tau[:, 0])]
    np.testing.assert_allclose(gone, t[700:708], atol=1e-9)
    long = np.delete(t, slice(700, 900))
    cut = prepare(log_of(long, wave(long)), robot, RAW)
    assert cut.record.time.starts_s == pytest.approx((0.0, 4.5))
    assert not np.isnan(cut.measurements.tau).any()
    assert [finding.code for finding in cut.findings] == ["log-cut"]
    whole = prepare(log_of(long, wave(long)), robot, replace(RAW, max_gap_s=2.0))
    assert len(whole.record.time.starts_s) == 1
    assert np.isnan(whole.measurements.tau).sum() == 200


def test_short_logs() -> None:
    """The error for a log too short for its filter or stencil says how long it must be."""
    t = np.arange(40) / 100.0
    log = log_of(t, np.sin(t)[:, None])
    robot = chain("revolute")
    with pytest.raises(SignalError, match=r"40 samples .* needs 97 "):
        prepare(log, robot, Processing(cutoff_hz=2.0))
    with pytest.raises(SignalError, match="at least 64 samples, not 40"):
        prepare(log, robot)
    with pytest.raises(SignalError, match="not below 50 Hz"):
        prepare(log, robot, Processing(cutoff_hz=50.0))
    two = log_of(t[:2], np.array([[0.0], [1.0]]))
    with pytest.raises(SignalError, match="at least 6 samples are needed"):
        prepare(two, robot, RAW)


def test_the_record_is_complete() -> None:
    """The record is plain JSON and holds every option and every automatic choice."""
    log, _ = smooth_log()
    named = Log(log.time, log.signals, "run", "run.csv", ignored=("mode",))
    done = prepare(named, chain("revolute", "revolute"), Processing(dead_band={"j0": 0.1}))
    record = json.loads(json.dumps(done.record.as_json()))
    assert record == done.record.as_json()
    assert record["processing"]["cutoff_hz"] == "auto"
    assert record["processing"]["dead_band"] == {"j0": 0.1}
    assert record["cutoff_hz"] == record["cutoff_choice"]["cutoff_hz"] > 0.8
    assert (record["log"], record["source"]) == ("run", "run.csv")
    assert record["ignored_columns"] == ["mode"]
    assert (record["samples_in"], record["samples_out"]) == (2000, len(done.motion))
    assert done.motion.run == "run"
    assert set(Processing.__dataclass_fields__) == set(record["processing"])


@pytest.mark.parametrize(
    "choice",
    [
        {"sample_rate_hz": 1e300},
        {"cutoff_hz": 1e-320},
        {"cutoff_hz": 10**400},
        {"trim_s": (1e308, 0.0)},
        {"max_gap_s": 1e12},
    ],
)
def test_absurd_numbers_are_refused_when_they_are_given(choice):
    """Options that are far too large or too small are refused in one line."""
    with pytest.raises(SignalError, match="must be a number from"):
        Processing(**choice)


def test_a_grid_of_too_many_samples_is_refused():
    """A rate that would need billions of samples is refused with that number."""
    time = np.arange(500) * 0.1
    with pytest.raises(SignalError, match="samples; at most 10000000 are made"):
        time_base(time, Processing(sample_rate_hz=1e8), "log")
