"""Payloads on a force/torque sensor, from logs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from moving_frames import COM, body_wrench, full_log, moving_frame, pose_log
from oracles import pinocchio_model, pinocchio_q

from steelyard.errors import LogError, RobotError, SteelyardError
from steelyard.excitation.motions.fourier import multisine
from steelyard.identification.payload import weigh_payload_ft
from steelyard.logs.log import Log
from steelyard.logs.writer_csv import write_csv
from steelyard.model.model import Model
from steelyard.robot.inertia import to_com
from steelyard.simulation.builtin_arm import builtin_arm
from steelyard.simulation.simulate import reference

MASS = 1.5
INERTIA_COM = np.array([[0.010, 0.001, 0.0], [0.001, 0.012, -0.002], [0.0, -0.002, 0.015]])
INERTIA = INERTIA_COM + MASS * (COM @ COM * np.eye(3) - np.outer(COM, COM))
TIME = np.arange(0.0, 10.0, 0.005)
MOVED = moving_frame(np.random.default_rng(2), TIME)


def noisy(log, seed=0, force=0.05, torque=0.003):
    rng = np.random.default_rng(seed)
    signals = dict(log.frame_signals)
    for key, values in signals.items():
        size = {"force": force, "torque": torque}.get(key[1])
        if size is not None:
            signals[key] = values + size * rng.normal(size=values.shape)
    return replace(log, frame_signals=signals)


def loaded_log(moved):
    """Poses, twists, an IMU and the wrench of the body."""
    force, torque = body_wrench(moved, MASS, COM, INERTIA)
    log = full_log(moved)
    wrench = {("tool", "force"): force, ("tool", "torque"): torque}
    return replace(log, frame_signals={**log.frame_signals, **wrench})


def assert_body(found):
    """Mass, centre of mass and inertia are those of the body that made the wrench."""
    mass, com, inertia = to_com(found.phi)
    assert abs(mass - MASS) < 0.01
    np.testing.assert_allclose(com, COM, atol=1e-3)
    np.testing.assert_allclose(inertia, INERTIA_COM, atol=2e-3)
    assert found.mode == "ft"


@pytest.mark.parametrize("source", ["pose", "twist", "imu"])
def test_motions_that_the_log_has(source):
    """From poses, twists or an IMU of the sensor's frame the body is the same."""
    found = weigh_payload_ft(None, noisy(loaded_log(MOVED)), "tool", source=source)
    assert_body(found)
    assert found.frame == "tool"
    (run,) = found.runs
    assert run.cutoff_hz is not None
    assert run.name == "run"


def test_joints_and_a_robot():
    """From joint positions and the robot, beside a wrench that Pinocchio made, in base axes."""
    import pinocchio as pin

    robot = builtin_arm()
    joints = reference(Model(robot), multisine(robot, period_s=10.0, seed=3), TIME)
    model = pinocchio_model(robot)
    data, frame = model.createData(), model.getFrameId("tool")
    force, torque = np.zeros((2, len(TIME), 3))
    body = pin.Inertia(MASS, COM, INERTIA_COM)
    for k, q in enumerate(pinocchio_q(robot, model, joints.q)):
        pin.forwardKinematics(model, data, q, joints.v[k], joints.a[k])
        placed = pin.updateFramePlacement(model, data, frame)
        v = pin.getFrameVelocity(model, data, frame)
        a = pin.getFrameAcceleration(model, data, frame)
        a.linear -= placed.rotation.T @ np.array(robot.gravity)
        f = body * a + v.cross(body * v)
        force[k], torque[k] = placed.rotation @ f.linear, placed.rotation @ f.angular
    log = Log(
        TIME,
        {(name, "position"): joints.q[:, k] for k, name in enumerate(robot.joint_names)},
        "run",
        frame_signals={("tool", "force"): -force, ("tool", "torque"): -torque},
    )
    found = weigh_payload_ft(robot, noisy(log), "tool", axes="base", sign="by-body")
    assert_body(found)


def test_poses_in_another_file(tmp_path):
    """A table of poses, w first, beside a table of wrenches, both as files."""
    force, torque = body_wrench(MOVED, MASS, COM, INERTIA)
    wrenches = Log(
        TIME, {}, "wrench", frame_signals={("tool", "force"): force, ("tool", "torque"): torque}
    )
    slow = moving_frame(np.random.default_rng(2), np.arange(0.0, 10.0, 0.01))
    poses = pose_log(slow)
    rolled = np.roll(slow.quaternions, 1, axis=1)
    poses = replace(poses, frame_signals={**poses.frame_signals, ("tool", "quaternion"): rolled})
    for name, log in (("wrench", noisy(wrenches)), ("poses", poses)):
        write_csv(log, tmp_path / f"{name}.csv")
    given = {"poses": tmp_path / "poses.csv", "interpolation": "cubic"}
    table = (None, tmp_path / "wrench.csv", "tool")
    found = weigh_payload_ft(*table, quaternion="w-first", **given)
    assert_body(found)
    with pytest.raises(SteelyardError, match="quaternion_order='w-first'"):
        weigh_payload_ft(*table, **given)
    assert "joined-rates" in {finding.code for finding in found.findings}


def test_runs_are_weighed_together():
    """Two recordings give narrower intervals than one, and are both listed."""
    one = noisy(loaded_log(MOVED))
    other = noisy(loaded_log(moving_frame(np.random.default_rng(5), TIME)), seed=1)
    single = weigh_payload_ft(None, one, "tool")
    both = weigh_payload_ft(None, [one, other], "tool")
    assert [run.name for run in both.runs] == ["run", "run_2"]
    assert both.value("m").sigma < single.value("m").sigma


def test_bad_input_is_named():
    """No logs, the same twice, a frame that is not there, and options without a robot."""
    log = noisy(loaded_log(MOVED))
    with pytest.raises(LogError, match="no log to weigh the payload from"):
        weigh_payload_ft(None, [], "tool")
    with pytest.raises(LogError, match="have the same content"):
        weigh_payload_ft(None, [log, log], "tool")
    with pytest.raises(SteelyardError, match="'wrist'"):
        weigh_payload_ft(None, log, "wrist")
    with pytest.raises(RobotError, match="no link 'wrost'"):
        weigh_payload_ft(builtin_arm(), log, "wrost", source="pose")
    with pytest.raises(RobotError, match="but no robot"):
        weigh_payload_ft(None, log, "tool", lock={"elbow": 0.0})
    with pytest.raises(SteelyardError, match="with a robot"):
        weigh_payload_ft(None, log, "tool", source="joints")
