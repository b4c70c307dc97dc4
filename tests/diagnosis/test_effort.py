"""An effort that cannot be a torque: named, and left out where that predicts the others better."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from robot_files import example_urdfs

from steelyard.diagnosis.checked_log import accepted_log, check_log
from steelyard.diagnosis.hypotheses.effort import CODE
from steelyard.errors import SignalError
from steelyard.identification.identify import identify
from steelyard.logs.log import Log
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.robot.robot import Robot
from steelyard.signals.prepare import prepare
from steelyard.signals.processing import Processing

LIFT = "torso_lift_joint"
QUICK = {
    "n_resamples": 0,
    "ranges": False,
    "compare_terms": False,
    "certify": False,
    "friction_width": 0.01,
}


@cache
def tiago() -> Robot:
    """A TIAGo's lift and arm, its wheels and head locked."""
    path = next(one for one in example_urdfs() if one.name == "tiago_no_hand.urdf")
    robot = Robot.from_urdf(path)
    keep = (LIFT, *(f"arm_{k}_joint" for k in range(1, 8)))
    return robot.lock({joint: 0.0 for joint in robot.joint_names if joint not in keep})


def sines(n: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Time (s) and q, v, a (n_samples, n) of sums of sines; the lift moves a tenth as far."""
    time = np.arange(2000) / 100.0
    q, v, a = (np.zeros((len(time), n)) for _ in range(3))
    for _ in range(5):
        omega = 2.0 * np.pi * rng.uniform(0.05, 0.6, n)
        size = rng.uniform(0.1, 0.3, n)
        size[0] *= 0.1
        phase = omega * time[:, None] + rng.uniform(0.0, 6.3, n)
        q += size * np.sin(phase)
        v += size * omega * np.cos(phase)
        a -= size * omega**2 * np.sin(phase)
    return time, q, v, a


@cache
def truth(seed: int = 0):
    """Torques from Pinocchio for a TIAGo whose links differ from its file, with friction."""
    pin = pytest.importorskip("pinocchio")
    path = next(one for one in example_urdfs() if one.name == "tiago_no_hand.urdf")
    whole = pin.buildModelFromUrdf(str(path))
    names = tiago().joint_names
    locked = [whole.getJointId(name) for name in whole.names[1:] if name not in names]
    model = pin.buildReducedModel(whole, locked, pin.neutral(whole))
    assert tuple(model.names[1:]) == names
    rng = np.random.default_rng(seed)
    for body in range(1, model.njoints):
        old = model.inertias[body]
        mass, inertia = (np.exp(0.15 * rng.normal()) for _ in range(2))
        model.inertias[body] = pin.Inertia(old.mass * mass, old.lever, old.inertia * inertia)
    fv, fc = rng.uniform(0.2, 2.0, (2, len(names)))
    fv[0], fc[0] = 100.0, 20.0
    data = model.createData()

    def torques(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        rigid = np.array([pin.rnea(model, data, *row) for row in zip(q, v, a, strict=True)])
        return rigid + fv * v + fc * np.tanh(v / 0.01)

    return torques, rng


@cache
def recording(effort: str = "torque") -> Log:
    """A log in which the lift's effort is its torque, or about 1 N."""
    torques, _ = truth()
    rng = np.random.default_rng(7)
    time, q, v, a = sines(8, rng)
    tau = torques(q, v, a)
    tau = tau + 0.01 * tau.std(axis=0) * rng.normal(size=tau.shape)
    if effort == "steady":
        tau[:, 0] = 0.98 + 0.05 * rng.normal(size=len(time))
    if effort == "friction":
        tau[:, 0] = 0.98 + 0.6 * np.sign(v[:, 0]) + 0.05 * rng.normal(size=len(time))
    q = q + 1e-5 * rng.normal(size=q.shape)
    return Log.from_arrays(time, q, tau, joints=tiago().joint_names, name=effort)


@pytest.mark.parametrize("effort", ["steady", "friction"])
def test_the_lift_of_a_tiago(effort: str) -> None:
    """1 N where the arm weighs 180 N: the lift is left out, and the arm as good as without it."""
    found = identify(tiago(), recording(effort), **QUICK)
    (told,) = [one for one in found.findings if one.code == CODE]
    assert (told.level, told.joints, told.corrected) == ("warning", (LIFT,), True)
    assert "(rms), and the links of the robot file weigh 179 N there; it is left out" in told.words
    assert found.estimate.runs[0].processing_as_used.without_torque == (LIFT,)
    assert not [one for one in found.findings if one.level == "severe"]
    _, q, v, a = sines(8, np.random.default_rng(8))
    wanted = truth()[0](q, v, a)
    got = torque(found.model, found.estimate.standard.theta, q, v, a)
    errors = np.sqrt(np.mean((got - wanted) ** 2, axis=0) / np.mean(wanted**2, axis=0))
    assert errors[1:].mean() < 0.01
    used = identify(
        tiago(),
        recording(effort),
        processing=Processing(without_torque=()),
        accept=["torque-gain", "currents"],
        **QUICK,
    )
    (told,) = [one for one in used.findings if one.code == CODE]
    assert (told.corrected, told.option) == (False, f"--without-torque {LIFT}")
    assert "it is used" in told.words
    worse = torque(used.model, used.estimate.standard.theta, q, v, a)
    spoilt = np.sqrt(np.mean((worse - wanted) ** 2, axis=0) / np.mean(wanted**2, axis=0))
    assert spoilt[1:].mean() > 5.0 * errors[1:].mean()


def test_a_right_lift_is_used() -> None:
    """The torque of the lift itself is no such effort."""
    model = Model(tiago())
    checked = accepted_log(recording(), model)
    assert checked.processing.without_torque == "auto"
    assert not [one for one in checked.findings if one.code == CODE]


@pytest.mark.parametrize("gain", [None, 0.01])
def test_an_elbow_that_shows_next_to_nothing(gain: float | None) -> None:
    """A dead elbow is named, and so is one that is a hundred times too small, with the reason."""
    log = recording()
    joint = "arm_4_joint"
    rng = np.random.default_rng(3)
    tau = log.signal(joint, "torque")
    small = 0.02 + 0.005 * rng.normal(size=len(log)) if gain is None else gain * tau
    changed = Log(log.time, {**log.signals, (joint, "torque"): small})
    (told,) = [one for one in check_log(changed, tiago()).findings if one.code == CODE]
    assert told.joints == (joint,)
    assert told.size < 0.05
    assert ("another unit" if gain else "counterweight") in told.could_be[0]


def test_torques_are_left_out_on_request() -> None:
    """The channel has no torque then, the record says so and reads back, strangers are refused."""
    robot, log = tiago(), recording()
    asked = Processing(without_torque=("arm_4_joint", LIFT))
    done = prepare(log, robot, asked)
    missing = np.isnan(done.measurements.tau).all(axis=0)
    assert [name for name, gone in zip(robot.joint_names, missing, strict=True) if gone] == [
        LIFT,
        "arm_4_joint",
    ]
    assert Processing.from_record(asked.as_record()) == asked
    with pytest.raises(SignalError, match="without_torque names 'elbow', which is no joint"):
        prepare(log, robot, Processing(without_torque=("elbow",)))
    with pytest.raises(SignalError, match="names all joints; no torque would be left"):
        prepare(log, robot, Processing(without_torque=robot.joint_names))
    with pytest.raises(SignalError, match="must be 'auto' or joint names"):
        Processing(without_torque="elbow")  # type: ignore[arg-type]
    without = Log(log.time, {key: x for key, x in log.signals.items() if key != (LIFT, "torque")})
    assert np.isnan(prepare(without, robot, asked).measurements.tau[:, 0]).all()
