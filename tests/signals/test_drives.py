"""Logs of motors: torques, currents and positions converted to those of joints."""

from __future__ import annotations

import csv
import gzip
import json
from math import pi

import numpy as np
import pytest
from paper_robots import TX40
from robot_files import dataset
from small_arm import URDF, arm_log, write_run

from steelyard.cli import main
from steelyard.errors import LogError, SignalError
from steelyard.identification.identify import identify
from steelyard.knowledge.overlay.apply import apply_overlay
from steelyard.knowledge.overlay.toml_file import parse_overlay
from steelyard.logs.log import Log
from steelyard.logs.reading import read_log
from steelyard.logs.writer_csv import write_csv
from steelyard.model.base_map import base_map
from steelyard.robot.parts import Joint, Link
from steelyard.robot.robot import Robot
from steelyard.signals.prepare import prepare
from steelyard.signals.processing import Processing

RAW = Processing(cutoff_hz=None, decimate=1, trim_s=(0.0, 0.0), dead_band=None)
WRIST = """
[motor.a]
ratio = { j0 = 45.0 }
torque_constant = 0.1
[motor.b]
ratio = { j0 = 32.0, j1 = 32.0 }
torque_constant = 0.2
gain = 1.25
[motor.c]
ratio = { j2 = -300.0 }
"""


def wrist(text: str = WRIST) -> Robot:
    """Two turning joints and a slide, with motors."""
    kinds = ("revolute", "revolute", "prismatic")
    links = tuple(Link(f"l{k}") for k in range(4))
    joints = tuple(Joint(f"j{k}", kind, f"l{k}", f"l{k + 1}") for k, kind in enumerate(kinds))
    return apply_overlay(Robot("wrist", links, joints), parse_overlay(text))


def signals(seed: int = 0, n: int = 400) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Time, joint positions and motor torques (n, 3)."""
    rng = np.random.default_rng(seed)
    time = np.arange(n) / 100.0
    q = np.sin(np.outer(time, [1.0, 1.7, 2.3]) + rng.uniform(0, 6, 3)) * [1.0, 0.8, 0.1]
    return time, q, rng.normal(size=(n, 3))


def motor_log(**changes: np.ndarray | None) -> Log:
    """Positions of the motors; torque of a and c, current of b."""
    time, q, tau = signals()
    columns = {
        "a.position": 45 * q[:, 0],
        "b.position": 32 * (q[:, 0] + q[:, 1]),
        "c.position": -300 * q[:, 2],
        "a.torque": tau[:, 0],
        "b.current": tau[:, 1],
        "c.torque": tau[:, 2],
        **{name.replace("_", "."): x for name, x in changes.items()},
    }
    given = {tuple(name.split(".")): x for name, x in columns.items() if x is not None}
    return Log(time, given)


def test_motor_signals_become_joint_signals():
    """Positions go through the inverse of T, torques through its transpose, currents to torque."""
    time, q, tau = signals()
    done = prepare(motor_log(), wrist(), RAW)
    inside = np.searchsorted(time, done.motion.time)
    np.testing.assert_allclose(done.motion.q, q[inside], atol=1e-12)
    b = 1.25 * 0.2 * tau[:, 1]
    expected = np.column_stack([45 * tau[:, 0] + 32 * b, 32 * b, -300 * tau[:, 2]])
    np.testing.assert_allclose(done.measurements.tau, expected[inside], rtol=1e-13)


def test_the_record_says_what_was_computed():
    """The record holds how each signal was computed, the motors, and the log's own hash."""
    log = motor_log()
    record = prepare(log, wrist(), RAW).record.as_json()
    assert record["computed_from_motors"]["j0.torque"] == (
        "45 × a.torque + 32 × 1.25 × 0.2 N m/A × b.current"
    )
    assert record["computed_from_motors"]["j1.position"] == (
        "-0.0222222 × a.position + 0.03125 × b.position"
    )
    assert record["transmission"]["b"] == {
        "ratio": {"j0": 32.0, "j1": 32.0},
        "torque_constant": 0.2,
        "gain": 1.25,
    }
    assert record["ignored_joints"] == []
    assert record["content_sha256"] == log.content_hash
    json.dumps(record, allow_nan=False)


def test_zero_of_the_motors():
    """The joint's position where its motors are at zero is added to the converted position."""
    _, q, _ = signals()
    text = WRIST + f"[joint.j1]\nmotor_zero = {-pi / 2}"
    done = prepare(motor_log(), wrist(text), RAW)
    np.testing.assert_allclose(done.motion.q[:, 1], q[2:-2, 1] - pi / 2, atol=1e-12)
    np.testing.assert_allclose(done.motion.q[:, 0], q[2:-2, 0], atol=1e-12)


def test_a_joints_own_column_goes_before_its_motors():
    """Where the log has the joint's own signals, motors and their gains are not used."""
    _, q, tau = signals()
    done = prepare(motor_log(j0_position=q[:, 0] + 0.5, j0_torque=7.0 * tau[:, 0]), wrist(), RAW)
    np.testing.assert_array_equal(done.measurements.tau[:, 0], 7.0 * tau[2:-2, 0])
    np.testing.assert_allclose(done.motion.q[:, 0], q[2:-2, 0] + 0.5)
    assert "j0.torque" not in done.record.computed_from_motors


def test_measured_velocities_of_motors():
    """Measured speeds of motors become speeds of joints."""
    time, q, _ = signals()
    v = np.gradient(q, time, axis=0)
    log = motor_log(
        a_velocity=45 * v[:, 0], b_velocity=32 * (v[:, 0] + v[:, 1]), c_velocity=-300 * v[:, 2]
    )
    done = prepare(log, wrist(), Processing(cutoff_hz=None, decimate=1, velocity="measured"))
    np.testing.assert_allclose(done.motion.v, v[2:-2], atol=1e-12)
    assert set(done.record.velocity_from.values()) == {"measured"}


@pytest.mark.parametrize(
    ("motor", "joints"), [("a.torque", [0]), ("b.current", [0, 1]), ("c.torque", [2])]
)
def test_a_missing_sample_of_a_motor_is_missing_for_its_joints(motor, joints):
    """NaN in one motor marks every joint that it drives, and no other."""
    log = motor_log()
    key = tuple(motor.split("."))
    values = log.signals[key].copy()
    values[100:103] = np.nan
    log = Log(log.time, {**log.signals, key: values})
    done = prepare(log, wrist(), Processing(**{**RAW.as_record(), "max_gap_s": 0.1}))
    gone = np.isnan(done.measurements.tau)
    assert sorted(set(np.argwhere(gone)[:, 1])) == joints
    assert gone.sum() == 3 * len(joints)
    cut = prepare(log, wrist(), Processing(**{**RAW.as_record(), "max_gap_s": 0.0}))
    assert len(cut.record.time.starts_s) == 2
    values[:] = np.nan
    log = Log(log.time, {**log.signals, key: values})
    with pytest.raises(SignalError, match=rf"j{joints[0]}.torque \(= .*{motor}.*NaN .* all 400"):
        prepare(log, wrist(), RAW)


@pytest.mark.parametrize(
    ("changes", "text", "expected"),
    [
        (
            {"a_torque": None, "c_torque": None, "c_current": np.ones(400), "a_current": None},
            WRIST,
            "has the current of motor 'c', but no torque; add torque_constant (N m/A) to [motor.c]",
        ),
        (
            {"b_current": None},
            WRIST,
            "neither the torque of joint 'j0' nor those of all motors that drive it; a column "
            "j0.torque is needed, or a torque or current of b (such as b.torque or b.current)",
        ),
        (
            {"b_position": None},
            WRIST,
            "has neither the position of joint 'j1' nor those of its motors; a column "
            "j1.position, or a.position, b.position, is needed (of these, b lack one)",
        ),
        (
            {},
            'torque = "link"\n' + WRIST,
            "no torque of joint 'j0', which the overlay states to be measured at the link",
        ),
    ],
)
def test_missing_columns_and_constants_are_named(changes, text, expected):
    """A motor without constant or column is named, with what to add."""
    with pytest.raises(LogError) as caught:
        prepare(motor_log(**changes), wrist(text), RAW)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_currents_without_motors_are_refused():
    """The error for currents of joints or unknown motors says what the overlay must state."""
    robot = wrist("")
    time, q, tau = signals()
    table = {(f"j{k}", "position"): q[:, k] for k in range(3)}
    own = {(f"j{k}", "current"): tau[:, k] for k in range(3)}
    with pytest.raises(LogError, match=r"state \[motor.j0\] with torque_constant"):
        prepare(Log(time, table | own), robot, RAW)
    others = {(f"m{k}", "current"): tau[:, k] for k in range(3)}
    with pytest.raises(LogError, match=r"currents of m0, m1, m2; if these are motors, state them"):
        prepare(Log(time, table | others), robot, RAW)


def test_units_of_motors_are_checked():
    """Newtons or metres are refused for a rotating motor, and accepted for one of slides only."""
    log = motor_log()
    for key, unit in ((("a", "torque"), "N"), (("b", "position"), "m")):
        wrong = Log(log.time, log.signals, units={key: unit})
        with pytest.raises(LogError, match=rf"{key[0]}.{key[1]} is given in \[{unit}\], but motor"):
            prepare(wrong, wrist(), RAW)
    prepare(Log(log.time, log.signals, units={("c", "torque"): "N"}), wrist(), RAW)


def test_currents_of_joints():
    """A motor with a joint's name makes torque of the joint's current, and scales its torque."""
    text = "[motor.j0]\ntorque_constant = 13.5\ngain = 2.0\n[motor.j1]\ngain = 1.5\n[motor.j2]\n"
    time, q, tau = signals()
    log = Log(
        time,
        {(f"j{k}", "position"): q[:, k] for k in range(3)}
        | {("j0", "current"): tau[:, 0], ("j1", "torque"): tau[:, 1], ("j2", "torque"): tau[:, 2]},
    )
    done = prepare(log, wrist(text), RAW)
    np.testing.assert_allclose(done.measurements.tau, tau[2:-2] * [27.0, 1.5, 1.0], rtol=1e-14)
    assert set(done.record.computed_from_motors) == {"j0.torque", "j1.torque"}


def test_the_same_estimate_from_motors_and_from_joints(tmp_path):
    """Motor currents and joint torques of an arm give the same estimates."""
    path = tmp_path / "arm.urdf"
    path.write_text(URDF, encoding="utf-8")
    robot = Robot.from_urdf(path)
    overlay = parse_overlay(
        "[motor.m1]\nratio = {shoulder = 100}\ntorque_constant = 0.05\n"
        "[motor.m2]\nratio = {shoulder = -50, elbow = 80}\ntorque_constant = 0.07\n"
    )
    log = arm_log(robot, 3)
    T = np.array([[100.0, 0.0], [-50.0, 80.0]])
    q, tau = (
        np.column_stack([log.signal(j, what) for j in ("shoulder", "elbow")])
        for what in ("position", "torque")
    )
    q_motor, tau_motor = q @ T.T, tau @ np.linalg.inv(T)
    motors = {}
    for k, constant in enumerate((0.05, 0.07)):
        motors[f"m{k + 1}", "position"] = q_motor[:, k]
        motors[f"m{k + 1}", "current"] = tau_motor[:, k] / constant
    processing = Processing(dead_band=None, cutoff_hz=20.0)
    found = identify(
        robot, Log(log.time, motors), overlay=overlay, method="wls", processing=processing
    )
    terms = found.model.terms
    same = identify(robot, log, terms=terms, method="wls", processing=processing)
    assert found.estimate.base.names == same.estimate.base.names
    np.testing.assert_allclose(found.estimate.beta, same.estimate.beta, rtol=1e-6, atol=1e-8)
    assert {"m1.Ia", "m2.fc"} <= set(found.model.column_names)


def test_the_command_takes_currents_and_where_torque_is_measured(tmp_path, capsys):
    """Currents and an overlay of two lines go through the command line; so does the side."""
    path = write_run(tmp_path, 1)
    log = read_log(path)
    renamed = {
        (joint, "current" if quantity == "torque" else quantity): x
        for (joint, quantity), x in log.signals.items()
    }
    write_csv(Log(log.time, renamed), tmp_path / "currents.csv")
    overlay = tmp_path / "arm.toml"
    overlay.write_text(
        "[motor.shoulder]\ntorque_constant = 1\n[motor.elbow]\ntorque_constant = 1\n"
    )
    command = ["identify", str(tmp_path / "arm.urdf"), "--method", "wls", "--json"]
    assert main([*command, str(tmp_path / "currents.csv")]) == 2
    assert "[motor.shoulder] with torque_constant" in capsys.readouterr().err
    documents = []
    for more in ([str(path)], [str(tmp_path / "currents.csv"), "--overlay", str(overlay)]):
        assert main([*command, *more]) == 0
        documents.append(json.loads(capsys.readouterr().out))
    one, two = (document["estimate"]["parameters"] for document in documents)
    assert [p["value"] for p in one] == [p["value"] for p in two]
    # torques of the motors, said to be of the links, are not to be used
    assert main([*command, str(path), "--torque", "link"]) == 1
    terms = json.loads(capsys.readouterr().out)["model"]["terms"]
    assert {term["kind"] for term in terms} == {"coulomb", "offset"}


def tx40_log() -> Log:
    """Motor positions (rad) and motor torques (N m), 9 s at 5 kHz."""
    folder = dataset("staubli_tx40_figaroh")
    table = {}
    for quantity, file in (("position", "pos_read_data"), ("torque", "curr_data")):
        with gzip.open(folder / f"{file}.csv.gz", "rt") as stream:
            values = np.loadtxt(stream, delimiter=",", skiprows=1)
        for k in range(6):
            table[f"motor_{k + 1}", quantity] = values[:, k]
    return Log(np.arange(len(values)) * 2e-4, table, "tx40")


def test_recorded_tx40_from_its_motors():
    """Friction of the TX-40, from its motors and an overlay alone, is within 5 % of published."""
    folder = dataset("staubli_tx40_figaroh")
    zeros = f"[joint.joint_2]\nmotor_zero = {-pi / 2}\n[joint.joint_3]\nmotor_zero = {pi / 2}\n"
    facts = json.loads((folder / "drive_model_and_prior.json").read_text())
    bands = {f"motor_{k + 1}": x for k, x in enumerate(facts["velocity_deadband_rad_s"])}
    robot = Robot.from_urdf(folder / "tx40_mdh_modified.urdf")
    found = identify(
        robot,
        tx40_log(),
        overlay=parse_overlay(TX40 + zeros),
        method="wls",
        processing=Processing(cutoff_hz=100.0, torque_filter="same", decimate=10, dead_band=bands),
    )
    assert base_map(found.model).rank == 60
    with (folder / "published_base_parameters_TX40_bp_5.csv").open() as stream:
        published = {row[0]: float(row[1]) for row in csv.reader(stream)}
    ours = dict(zip(found.estimate.base.names, found.estimate.beta, strict=True))
    for k in range(1, 6):
        # the published fv5 includes the share of motor 6
        fv = ours[f"motor_{k}.fv"] + (ours["motor_6.fv"] if k == 5 else 0.0)
        assert abs(fv / published[f"fv{k}"] - 1.0) < 0.05
        assert abs(ours[f"motor_{k}.fc"] / published[f"fs{k}"] - 1.0) < 0.05
    assert abs(ours["motor_6.fv"] / published["fvm6"] - 1.0) < 0.05
    assert abs(ours["motor_6.fc"] / published["fsm6"] - 1.0) < 0.05
    assert found.estimate.relative_error < 0.08
