"""Poses and joints that are sampled more slowly than the wrench beside them."""

from __future__ import annotations

import numpy as np
import pytest
from moving_frames import COM, body_wrench, moving_frame
from scipy.spatial.transform import Rotation

from steelyard.identification.payload import weigh_payload_ft
from steelyard.logs.log import Log
from steelyard.robot.robot import Robot
from steelyard.signals.cutoff import at_recorded_rate
from steelyard.signals.frame_kinematics import frame_motion_from_joints
from steelyard.signals.join_logs import join_logs
from steelyard.signals.motion import Motion
from steelyard.testing.random_robots import random_robot

MASS = 1.4
INERTIA = np.array([[0.02, 0.003, 0.0], [0.003, 0.03, -0.002], [0.0, -0.002, 0.025]])


def recorded(seed: int, rate_hz: float, noise: float, offset_s: float) -> tuple[Log, Log]:
    """Poses at a rate, with noise (m, and twice as many rad), and wrenches at 500 Hz."""
    rng = np.random.default_rng(seed + 100)
    time = np.arange(0.0, 20.0, 0.002)
    force, torque = body_wrench(moving_frame(np.random.default_rng(seed), time), MASS, COM, INERTIA)
    force = force + 0.2 * rng.normal(size=force.shape) + [2.0, -3.0, 5.0]
    torque = torque + 0.01 * rng.normal(size=torque.shape)
    wrenches = Log(time, {}, "w", frame_signals={("", "force"): force, ("", "torque"): torque})
    stamps = np.arange(offset_s, 20.0, 1.0 / rate_hz)
    moved = moving_frame(np.random.default_rng(seed), stamps)
    turned = Rotation.from_matrix(moved.R) * Rotation.from_rotvec(
        2.0 * noise * rng.normal(size=(len(stamps), 3))
    )
    poses = {
        ("tool", "position"): moved.p + noise * rng.normal(size=moved.p.shape),
        ("tool", "quaternion"): turned.as_quat(),
    }
    return Log(stamps, {}, "p", frame_signals=poses), wrenches


@pytest.mark.parametrize("how", ["linear", "cubic"])
@pytest.mark.parametrize("noise", [1e-5, 2e-4])
@pytest.mark.parametrize("rate_hz", [250.0, 125.0, 50.0])
def test_the_mass_is_right_whatever_the_rate_of_the_poses(rate_hz, noise, how):
    """With stamps of their own, 0.6 ms late; a cutoff chosen on interpolated poses halves it."""
    poses, wrenches = recorded(3, rate_hz, noise, 0.0006)
    joined = join_logs(poses, wrenches, interpolation=how).log
    assert joined.motion_rate_hz == pytest.approx(rate_hz)
    found = weigh_payload_ft(None, joined, "tool", level=0.999)
    mass = found.value("m")
    assert mass.lower <= MASS <= mass.upper
    assert abs(mass.value - MASS) < 2e-3
    assert found.runs[0].cutoff_hz <= 0.4 * rate_hz


def test_signals_return_to_the_rate_of_their_samples():
    """Samples that were interpolated in between are the first ones again."""
    x = np.random.default_rng(0).normal(size=(201, 2))
    fine = np.column_stack([np.interp(np.arange(801) / 4.0, np.arange(201), c) for c in x.T])
    back, rate = at_recorded_rate(fine, 500.0, 125.0)
    assert rate == 125.0
    np.testing.assert_allclose(back, x, atol=1e-12)
    assert at_recorded_rate(fine, 500.0, None)[0] is fine
    assert at_recorded_rate(fine, 500.0, 1000.0) == (fine, 500.0)


def one_table(first: Log, second: Log) -> Log:
    """A row for each stamp of both, with empty cells for the other."""
    time = np.union1d(first.time, second.time)

    def spread(log: Log, values: np.ndarray) -> np.ndarray:
        out = np.full((len(time), *values.shape[1:]), np.nan)
        out[np.searchsorted(time, log.time)] = values
        return out

    signals = {key: spread(log, x) for log in (first, second) for key, x in log.signals.items()}
    frames = {
        key: spread(log, x) for log in (first, second) for key, x in log.frame_signals.items()
    }
    return Log(time, signals, "table", frame_signals=frames)


@pytest.mark.parametrize("offset_s", [0.0, 0.0006])
def test_a_table_with_empty_cells_is_joined_by_time(offset_s):
    """As two files are, whether some rows hold both or none does."""
    poses, wrenches = recorded(3, 125.0, 5e-5, offset_s)
    found = weigh_payload_ft(None, one_table(poses, wrenches), "tool")
    two = weigh_payload_ft(None, wrenches, "tool", poses=poses)
    assert found.value("m").value == pytest.approx(two.value("m").value, rel=1e-12)
    assert abs(found.value("m").value - MASS) < 2e-3
    assert "joined-rates" in [one.code for one in found.findings]


def joints_and_wrenches(seed: int) -> tuple[Robot, str, Log, Log]:
    """Joints at 125 Hz that pass half a turn, and the wrench of a body on the last link."""
    robot = random_robot(np.random.default_rng(seed), 6, chain=True, prismatic=0.0, fixed=0.0)
    frame = robot.links[-1].name

    def moved(time: np.ndarray) -> Motion:
        rng = np.random.default_rng(seed)
        w, phase = 2.0 * np.pi * rng.uniform(0.1, 0.4, 6), rng.uniform(0.0, 6.0, 6)
        angle = time[:, None] * w + phase
        q = np.pi + 0.8 * np.sin(angle)
        return Motion(time, q, 0.8 * w * np.cos(angle), -0.8 * w * w * np.sin(angle))

    time, stamps = np.arange(0.0, 20.0, 0.002), np.arange(0.0006, 20.0, 0.008)
    at = frame_motion_from_joints(robot, moved(time), frame)
    a, w, alpha, h = at.proper_acceleration, at.angular_velocity, at.angular_acceleration, COM
    rng = np.random.default_rng(seed + 1)
    force = MASS * (a + np.cross(alpha, h) + np.cross(w, np.cross(w, h)))
    torque = MASS * np.cross(h, a) + alpha @ INERTIA + np.cross(w, w @ INERTIA)
    signals = {
        ("", "force"): force + 0.2 * rng.normal(size=force.shape),
        ("", "torque"): torque + 0.01 * rng.normal(size=force.shape),
    }
    q = moved(stamps).q + 2e-5 * rng.normal(size=(len(stamps), 6))
    q = np.mod(q + np.pi, 2.0 * np.pi) - np.pi
    joints = {(name, "position"): q[:, k] for k, name in enumerate(robot.joint_names)}
    wrenches = Log(time, {}, "wrenches", frame_signals=signals)
    return robot, frame, Log(stamps, joints, "joints"), wrenches


@pytest.mark.parametrize("how", ["linear", "cubic"])
def test_joints_in_a_table_of_their_own_are_joined_too(how):
    """The robot tells that joints are meant; turns of 2 pi are taken out before."""
    robot, frame, joints, wrenches = joints_and_wrenches(5)
    found = weigh_payload_ft(
        robot, wrenches, frame, poses=joints, interpolation=how, keep_angles=True, level=0.999
    )
    mass = found.value("m")
    assert mass.lower <= MASS <= mass.upper
    assert abs(mass.value - MASS) < 3e-3
    table = one_table(joints, wrenches)
    again = weigh_payload_ft(robot, table, frame, keep_angles=True, level=0.999).value("m")
    assert again.lower <= MASS <= again.upper
