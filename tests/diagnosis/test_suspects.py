"""Suspects: planted faults are named with their size, and clean logs name nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from steelyard.diagnosis.checked_log import check_log
from steelyard.diagnosis.hypotheses.finite_motion import resized
from steelyard.diagnosis.hypotheses.hypothesis import finding_of
from steelyard.diagnosis.hypotheses.samples import spread_rows
from steelyard.diagnosis.hypotheses.search import physics_of, suspects
from steelyard.logs.log import Log
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.robot.robot import Robot
from steelyard.robot.rotations import rotation_about
from steelyard.robot.transmission import Motor, Transmission
from steelyard.signals.processing import Processing
from steelyard.simulation.builtin_arm import builtin_arm
from steelyard.simulation.likely_truth import likely_truth

Array = NDArray[np.float64]

RATE_HZ, SECONDS = 250.0, 16.0
STEP_RAD, NOISE = 2e-5, 0.01


@dataclass(frozen=True)
class Recording:
    """A clean log of a robot that differs from its file, with its truth."""

    robot: Robot
    theta: Array
    time: Array
    motion: tuple[Array, Array, Array]
    q: Array
    tau: Array

    def log(self, **changed: Array) -> Log:
        """The log with some signals replaced."""
        q, tau = changed.get("q", self.q), changed.get("tau", self.tau)
        return Log.from_arrays(self.time, q, tau, joints=self.robot.joint_names)


@cache
def recording(seed: int = 0, joints: int = 4) -> Recording:
    """Joints of the built-in arm with the true parameters of this seed, along sines."""
    arm = builtin_arm()
    robot = arm.lock({name: 0.3 for name in arm.joint_names[joints:]})
    model = Model(robot)
    rng = np.random.default_rng(seed)
    n = model.nv
    theta = likely_truth(
        model,
        torque_range=np.array([60.0, 80.0, 40.0, 40.0, 8.0, 6.0, 4.0])[:joints],
        velocity=np.full(n, 2.0),
        acceleration=np.full(n, 8.0),
        seed=seed,
    )
    time = np.arange(round(SECONDS * RATE_HZ)) / RATE_HZ
    q, v, a = (np.zeros((len(time), n)) for _ in range(3))
    for share in (1.0, 0.6, 0.4):
        omega = 2.0 * np.pi * rng.uniform(0.1, 0.6, size=n)
        size = share * rng.uniform(0.4, 0.8, size=n)
        phase = omega * time[:, None] + rng.uniform(0.0, 6.0, size=n)
        q += size * np.sin(phase)
        v += size * omega * np.cos(phase)
        a -= size * omega**2 * np.sin(phase)
    tau = torque(model, theta, q, v, a)
    noise = NOISE * np.sqrt(np.mean(tau**2, axis=0))
    measured = tau + noise * rng.normal(size=tau.shape)
    steps = np.round(q / STEP_RAD) * STEP_RAD
    return Recording(robot, theta, time, (q, v, a), steps, measured)


def found(one: Recording, **changed: Array):
    """The suspects of the log with some signals replaced."""
    return suspects(Model(one.robot), one.log(**changed))


def swapped(table: Array, i: int, k: int) -> Array:
    """Two columns exchanged."""
    out = table.copy()
    out[:, [i, k]] = table[:, [k, i]]
    return out


def column_times(table: Array, joint: int, factor: float) -> Array:
    """One column multiplied."""
    out = table.copy()
    out[:, joint] *= factor
    return out


def ahead(one: Recording) -> Array:
    """The reference that a robot with a lag of 40 ms follows: q + 0.04 v, without noise."""
    q, v, _ = one.motion
    return q + 0.04 * v


def test_a_simulation_without_noise_is_not_taken_for_commanded() -> None:
    """Positions without noise that fit the torques are those of a simulation."""
    one = recording()
    assert found(one, q=one.motion[0]) == ()


@pytest.mark.parametrize("seed", range(4))
def test_a_clean_log_names_nothing(seed: int) -> None:
    """Masses that differ by 15 % from the file are no fault of the log."""
    assert found(recording(seed)) == ()


@pytest.mark.parametrize("samples", [3.4, -1.7])
def test_a_delay_is_within_its_interval(samples: float) -> None:
    """All torques are late by a fraction of samples; the estimate is close and says how close."""
    one = recording()
    late = CubicSpline(one.time, one.tau)(np.clip(one.time - samples / RATE_HZ, 0.0, one.time[-1]))
    (suspect,) = found(one, tau=late)
    assert (suspect.code, suspect.joints, suspect.unit) == ("delay", (), "s")
    assert suspect.interval is not None
    low, high = suspect.interval
    assert low - 1e-4 <= samples / RATE_HZ <= high + 1e-4
    assert high - low < 1.0 / RATE_HZ
    assert ("late" if samples > 0 else "early") in finding_of(suspect).words


def test_a_delay_of_one_joint_is_named_with_the_joint() -> None:
    """Only the elbow's torque is late, by five samples."""
    one = recording()
    tau = one.tau.copy()
    tau[5:, 3] = one.tau[:-5, 3]
    (suspect,) = found(one, tau=tau)
    assert (suspect.code, suspect.joints) == ("delay", (one.robot.joint_names[3],))
    assert suspect.size == pytest.approx(5 / RATE_HZ, abs=0.3 / RATE_HZ)


def test_the_gain_of_one_joint_is_estimated() -> None:
    """The second torque is 20 % too large."""
    one = recording()
    (suspect,) = found(one, tau=column_times(one.tau, 1, 1.2))
    assert (suspect.code, suspect.joints) == ("torque-gain", (one.robot.joint_names[1],))
    assert suspect.size == pytest.approx(1.2, abs=0.03)


def test_an_offset_of_a_joint_is_estimated() -> None:
    """The zero of the third joint is off by ten degrees."""
    one = recording()
    q = one.q.copy()
    q[:, 2] += np.radians(10.0)
    (suspect,) = found(one, q=q)
    assert (suspect.code, suspect.joints) == ("position-offset", (one.robot.joint_names[2],))
    assert suspect.size == pytest.approx(10.0, abs=0.7)


def test_a_small_offset_of_the_last_joint_but_one_is_named() -> None:
    """Its links absorb most of it; what is left has the same size throughout the log."""
    for seed, degrees in ((0, 5.0), (3, 3.0)):
        one = recording(seed, joints=7)
        assert found(one) == ()
        q = one.q.copy()
        q[:, 5] += np.radians(degrees)
        (suspect,) = found(one, q=q)
        assert (suspect.code, suspect.joints) == ("position-offset", (one.robot.joint_names[5],))
        assert suspect.size == pytest.approx(degrees, abs=0.3 * degrees)
        assert finding_of(suspect).level == "warning"


@pytest.mark.parametrize("gain", [0.85, 1.2])
def test_the_gain_of_the_last_joint_is_named(gain: float) -> None:
    """Friction, drive and most of the last link scale with it; what the other torques say about
    that link has the same size throughout the log.
    """
    for seed in (0, 1):
        one = recording(seed, joints=7)
        (suspect,) = found(one, tau=column_times(one.tau, 6, gain))
        assert (suspect.code, suspect.joints) == ("torque-gain", (one.robot.joint_names[6],))
        assert suspect.size == pytest.approx(gain, abs=0.06)


@pytest.mark.parametrize(
    ("code", "joints", "changed"),
    [
        ("torque-sign", (2,), lambda one: {"tau": column_times(one.tau, 2, -1.0)}),
        ("torque-sign", (), lambda one: {"tau": -one.tau}),
        ("position-sign", (1,), lambda one: {"q": column_times(one.q, 1, -1.0)}),
        ("torques-swapped", (0, 1), lambda one: {"tau": swapped(one.tau, 0, 1)}),
        ("positions-swapped", (2, 3), lambda one: {"q": swapped(one.q, 2, 3)}),
        (
            "joints-swapped",
            (1, 2),
            lambda one: {"q": swapped(one.q, 1, 2), "tau": swapped(one.tau, 1, 2)},
        ),
        ("joints-reversed", (), lambda one: {"q": one.q[:, ::-1], "tau": one.tau[:, ::-1]}),
        ("torque-scale", (), lambda one: {"tau": 0.01 * one.tau}),
        ("commanded-signals", (), lambda one: {"q": ahead(one)}),
        ("commanded-signals", (), lambda one: {"q": np.round(ahead(one), 6)}),
        ("position-unit", (), lambda one: {"q": np.degrees(one.q)}),
        ("position-unit", (), lambda one: {"q": one.q / (2.0 * np.pi)}),
        ("position-unit", (1,), lambda one: {"q": column_times(one.q, 1, 180.0 / np.pi)}),
    ],
)
def test_what_is_mixed_up_is_named(code, joints, changed) -> None:
    """Signs, exchanged columns, order, scale: one suspect, severe, with its joints."""
    one = recording()
    (suspect,) = found(one, **changed(one))
    names = tuple(one.robot.joint_names[k] for k in joints)
    assert (suspect.code, suspect.joints) == (code, names)
    finding = finding_of(suspect)
    assert finding.level == ("warning" if code == "commanded-signals" else "severe")
    assert finding.joints == names
    assert finding.could_be or code.startswith(("torques-", "positions-", "joints-"))


def test_an_order_beyond_limits_is_named_and_a_clean_log_beyond_them_is_not() -> None:
    """The order with which positions are within the limits; limits alone may be wrong."""
    one = recording()
    ends = one.q.min(axis=0), one.q.max(axis=0)
    ends[0][0] += 4.0
    ends[1][0] += 4.0
    shifted = one.q + np.array([4.0, 0.0, 0.0, 0.0])
    joints = [
        replace(joint, limits=replace(joint.limits, lower=float(low), upper=float(high)))
        for joint, low, high in zip(one.robot.free_joints, *ends, strict=True)
    ]
    limited = {joint.name: joint for joint in joints}
    robot = replace(
        one.robot, joints=tuple(limited.get(joint.name, joint) for joint in one.robot.joints)
    )
    log = one.log(q=shifted[:, ::-1], tau=one.tau[:, ::-1])
    (suspect,) = suspects(Model(robot), log)
    assert suspect.code == "joints-reversed"
    codes = {one.code for one in check_log(log, robot).findings}
    assert codes >= {"joints-reversed", "beyond-limits"}
    assert suspects(Model(robot), one.log(q=shifted + np.array([0.0, 0.0, 0.0, 0.3]))) == ()


@pytest.mark.parametrize("factor", [1.7, 0.6])
def test_a_wrong_rate_of_the_stamps_is_estimated(factor: float) -> None:
    """Stamps that run too far or not far enough, by factors that are on no grid."""
    one = recording()
    log = Log.from_arrays(factor * one.time, one.q, one.tau, joints=one.robot.joint_names)
    (suspect,) = suspects(Model(one.robot), log)
    assert suspect.code == "time-rate"
    assert suspect.size == pytest.approx(factor, rel=0.05)


@pytest.mark.parametrize("factor", [1.33, 0.76])
def test_the_size_of_another_robot_is_found(factor: float) -> None:
    """The file is of a robot of the same shape and another size."""
    one = recording()
    (suspect,) = suspects(Model(resized(one.robot, factor)), one.log())
    assert suspect.code == "other-robot"
    assert suspect.size == pytest.approx(1.0 / factor, rel=0.06)


def test_torques_of_another_recording_are_unrelated() -> None:
    """No reading explains torques of another motion."""
    codes = [suspect.code for suspect in found(recording(), tau=other_motion(recording(3).tau))]
    assert codes[0] == "unrelated-torque"


def other_motion(tau: Array) -> Array:
    """Torques in another order of time and of joints: nothing of the motion is left in them."""
    rng = np.random.default_rng(5)
    blocks = rng.permutation(np.array_split(np.arange(len(tau)), 40)[:-1])
    rows = np.concatenate([*blocks, np.arange(len(tau) - blocks.size)])
    return tau[rows]


@pytest.mark.parametrize("joint", [None, 2])
def test_a_sure_delay_is_corrected(joint: int | None) -> None:
    """By 3.3 samples; the finding is a warning that says so, and no delay is left."""
    one = recording(1)
    late = CubicSpline(one.time, one.tau)(np.clip(one.time - 3.3 / RATE_HZ, 0.0, one.time[-1]))
    tau = late if joint is None else np.where(np.arange(4) == joint, late, one.tau)
    model = Model(one.robot)
    physics = physics_of(model, one.log(tau=tau))
    (finding,) = physics.findings
    assert (finding.level, finding.code) == ("warning", "delay")
    assert "corrected: these torques are read that much earlier" in finding.words
    assert finding.corrected
    delay = physics.processing.torque_delay
    name = one.robot.joint_names[2]
    size = delay if joint is None else delay[name]
    assert size == pytest.approx(3.3 / RATE_HZ, abs=0.2 / RATE_HZ)
    assert physics_of(model, one.log(tau=tau), physics.processing).findings == ()
    asis = physics_of(model, one.log(tau=tau), Processing(torque_delay=None))
    assert asis.processing.torque_delay is None
    assert asis.findings[0].code == "delay"
    assert not asis.findings[0].corrected


def test_a_delay_that_grows_is_not_corrected() -> None:
    """Clocks that drift apart by 0.2 % are no delay."""
    one = recording(1)
    tau = CubicSpline(one.time, one.tau)(0.998 * one.time)
    physics = physics_of(Model(one.robot), one.log(tau=tau))
    assert [finding.code for finding in physics.findings][:1] == ["clock-drift"]
    assert physics.processing.torque_delay == "auto"


@pytest.mark.parametrize(("n", "rate_hz"), [(2000, 100.0), (9000, 500.0), (90_000, 100.0)])
def test_thinned_rows_keep_their_neighbours(n: int, rate_hz: float) -> None:
    """At most 4000 rows from all over the log, never slower than 40 Hz within a stretch."""
    rows = spread_rows(n, rate_hz)
    assert len(rows) <= 4000
    assert rows[0] == 0
    assert rows[-1] >= 0.97 * n
    assert np.all(np.diff(rows) > 0)
    assert np.median(np.diff(rows)) <= rate_hz / 40.0 + 1e-9


def test_a_tilted_base_gives_the_gravity_that_mends_it() -> None:
    """The arm stands on a slope of 12 degrees; the option turns gravity by as much."""
    one = recording()
    model = Model(one.robot)
    g = rotation_about(np.array([1.0, 0.0, 0.0]), np.radians(12.0)) @ one.robot.gravity
    tilted = replace(model, robot=replace(one.robot, gravity=g))
    noise = one.tau - torque(model, one.theta, *one.motion)
    (suspect,) = found(one, tau=torque(tilted, one.theta, *one.motion) + noise)
    assert suspect.code == "gravity-direction"
    assert suspect.size == pytest.approx(12.0, abs=0.5)
    assert [float(x) for x in suspect.option.split()[1:]] == pytest.approx(list(g), abs=0.1)


def test_a_payload_that_is_picked_up_is_weighed_and_timed() -> None:
    """Two kilograms at the last link from half of the log on."""
    one = recording()
    model = Model(one.robot)
    loaded = one.theta.copy()
    loaded[model.first_column_of_body[-1]] += 2.0
    more = torque(model, loaded, *one.motion) - torque(model, one.theta, *one.motion)
    later = one.time >= 0.5 * SECONDS
    (suspect,) = found(one, tau=one.tau + later[:, None] * more)
    assert suspect.code == "payload-change"
    assert suspect.size == pytest.approx(2.0, abs=0.1)
    assert suspect.span_s is not None
    assert suspect.span_s[0] == pytest.approx(0.5 * SECONDS, abs=0.05 * SECONDS)


@pytest.mark.parametrize("seed", range(3))
def test_a_pendulum_with_little_friction_is_no_fault(seed: int) -> None:
    """The inertia of its drive is one with that of its link, and says nothing of gears."""
    one = recording(seed)
    joint = "shoulder_pitch"
    pendulum = one.robot.lock({name: 0.3 for name in one.robot.joint_names if name != joint})
    model = Model(pendulum)
    theta = model.prior_theta()
    for symbol, value in (("Ia", 1.0), ("fv", 0.2)):
        theta[model.column_names.index(f"{joint}.{symbol}")] = value
    q, v, a = (table[:, [1]] for table in one.motion)
    tau = torque(model, theta, q, v, a)
    tau += NOISE * float(np.std(tau)) * np.random.default_rng(seed).normal(size=tau.shape)
    steps = np.round(q / STEP_RAD) * STEP_RAD
    log = Log.from_arrays(one.time, steps, tau, joints=pendulum.joint_names)
    assert suspects(model, log) == ()


def test_friction_that_was_taken_out_of_several_joints_is_named() -> None:
    """Where the inertia of drives is there."""
    one = recording()
    model = Model(one.robot)
    friction = one.theta.copy()
    for k, column in enumerate(model.columns):
        friction[k] *= column.symbol in ("fv", "fc")
    _, v, _ = one.motion
    taken = torque(model, friction, 0.0 * v, v, 0.0 * v)
    (suspect,) = found(one, tau=one.tau - 0.95 * taken)
    assert suspect.code == "friction-removed"


def test_robots_without_masses_are_not_judged() -> None:
    """Without masses in the file there is nothing to compare with."""
    one = recording()
    bare = replace(
        one.robot,
        links=tuple(replace(link, inertial=None, inertia_com=None) for link in one.robot.links),
    )
    assert suspects(Model(bare), one.log()) == ()


@pytest.mark.parametrize("stated", [0.02, {"shoulder_pitch": 0.02}])
def test_the_option_against_a_delay_counts_what_is_taken_out_already(stated) -> None:
    """Typed instead of the wrong one, it reads the torques where they belong."""
    one = recording()
    model = Model(one.robot)
    (finding,) = physics_of(model, one.log(), Processing(torque_delay=stated)).findings
    assert (finding.code, finding.size) == ("delay", pytest.approx(-0.02, abs=2e-3))
    assert finding.words.startswith("log 'log': torques of ")
    assert "early beyond the delay that is taken out already" in finding.words
    option = finding.option.removeprefix("--torque-delay ").removeprefix("shoulder_pitch=")
    assert float(option) == pytest.approx(0.0, abs=2e-3)


def with_motors(one: Recording, *, apart: bool, wrong: float = 1.0) -> tuple[Robot, Log]:
    """The robot with a motor for each joint, and its log of motor currents.

    apart : whether motors have names of their own and positions before their gears. wrong : factor
    of the torque constant that is stated for the second motor.
    """
    joints = one.robot.joint_names
    names = [f"m{k}" for k in range(len(joints))] if apart else joints
    ratios = np.array([50.0, -80.0, 100.0, 30.0])[: len(joints)] if apart else np.ones(len(joints))
    constants = np.array([0.21, 0.34, 0.11, 0.05])[: len(joints)] * (1.0 if apart else 60.0)
    stated = constants * np.where(np.arange(len(joints)) == 1, wrong, 1.0)
    robot = replace(
        one.robot,
        transmission=Transmission(
            tuple(
                Motor(name, ((joint, float(ratio)),), float(constant))
                for name, joint, ratio, constant in zip(names, joints, ratios, stated, strict=True)
            )
        ),
    )
    current = one.tau / ratios / constants
    signals = {(name, "current"): current[:, k] for k, name in enumerate(names)}
    signals |= {(name, "position"): one.q[:, k] * ratios[k] for k, name in enumerate(names)}
    return robot, Log(one.time, signals)


@pytest.mark.parametrize("apart", [False, True])
def test_currents_are_judged_as_torques(apart: bool) -> None:
    """Motor currents name what the same torques do: nothing, a delay, or a wrong constant."""
    one = recording(2)
    robot, log = with_motors(one, apart=apart)
    assert suspects(Model(robot), log) == ()
    assert not [one for one in check_log(log, robot).findings if one.code == "physics-not-checked"]
    late = replace(one, tau=np.roll(one.tau, 4, axis=0))
    (delay,) = suspects(*_model_and_log(with_motors(late, apart=apart)))
    assert (delay.code, delay.joints) == ("delay", ())
    assert delay.size == pytest.approx(0.016, abs=1e-3)
    (gain,) = suspects(*_model_and_log(with_motors(one, apart=apart, wrong=1.4)))
    assert (gain.code, gain.joints) == ("torque-gain", (one.robot.joint_names[1],))
    assert gain.size == pytest.approx(1.4, rel=0.05)
    assert "torque constants, gains or gear ratios in the overlay" in gain.could_be[-1]


def _model_and_log(given: tuple[Robot, Log]) -> tuple[Model, Log]:
    return Model(given[0]), given[1]


def test_motors_of_several_joints_are_not_judged() -> None:
    """A motor that turns two joints brings friction along both: the check says why it stops."""
    one = recording(2)
    a, b, *rest = one.robot.joint_names
    motors = (Motor(a, ((a, 1.0),)), Motor(b, ((a, 1.0), (b, 1.0))))
    robot = replace(
        one.robot, transmission=Transmission((*motors, *(Motor(j, ((j, 1.0),)) for j in rest)))
    )
    told = check_log(one.log(), robot).findings
    (note,) = [one for one in told if one.code == "physics-not-checked"]
    assert "because some of its motors turn several joints" in note.words
