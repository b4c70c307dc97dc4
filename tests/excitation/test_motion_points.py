"""Points of a motion as files that other programs read."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from seeds import every

from steelyard.errors import SignalError
from steelyard.excitation.fourier import multisine
from steelyard.excitation.joint_trajectory import joint_trajectory_json, joint_trajectory_yaml
from steelyard.excitation.limits import MotionLimits, motion_limits
from steelyard.excitation.motion_points import csv_text, motion_points, npz_bytes
from steelyard.excitation.polynomial import PolynomialTrajectory
from steelyard.excitation.sampled import trajectory_from_log
from steelyard.logs.reading import read_log
from steelyard.testing.random_robots import random_robot

yaml = pytest.importorskip("yaml")


def case(seed: int, rate_hz: float = 250.0) -> tuple:
    """A random robot with turning and sliding joints, its motion, and the points of it."""
    robot = random_robot(np.random.default_rng(seed), 4, prismatic=0.4)
    motion = multisine(robot, period_s=3.0, seed=seed)
    # the order of a motion's joints need not be that of the robot
    back = slice(None, None, -1)
    turned = type(motion)(
        motion.joints[back], motion.omega, motion.a[back], motion.b[back], motion.q0[back]
    )
    return robot, motion, motion_points(turned, robot, rate_hz=rate_hz)


@every("seed", range(6))
def test_csv_and_npz_read_as_logs_give_the_motion_back(tmp_path_factory, seed):
    """Both files name joints and units as logs do; positions and derivatives are the motion's."""
    robot, motion, points = case(seed)
    folder = tmp_path_factory.mktemp("points")
    (folder / "motion.csv").write_text(csv_text(points))
    (folder / "motion.npz").write_bytes(npz_bytes(points))
    exact = motion.evaluate(points.time)
    for name in ("motion.csv", "motion.npz"):
        log = read_log(folder / name)
        np.testing.assert_array_equal(log.time, points.time)
        assert sorted(log.joints) == sorted(robot.joint_names)
        for j, joint in enumerate(motion.joints):
            for quantity, values in zip(
                ("position", "velocity", "acceleration"), (exact.q, exact.v, exact.a), strict=True
            ):
                np.testing.assert_allclose(
                    log.signal(joint, quantity), values[:, j], atol=6e-13, rtol=0
                )
    log = read_log(folder / "motion.csv")
    for joint in robot.free_joints:
        slides = joint.kind == "prismatic"
        assert log.units[joint.name, "velocity"] == ("m/s" if slides else "rad/s")
    again = trajectory_from_log(log)
    assert again.duration_s == pytest.approx(3.0, abs=1e-9)


@every("seed", range(4))
def test_the_ros_message_has_the_fields_and_numbers_of_the_points(seed):
    """YAML and JSON hold the same message; its times are whole seconds and nanoseconds."""
    robot, _, points = case(seed, rate_hz=30.0)
    from_yaml = yaml.safe_load(joint_trajectory_yaml(points))
    assert from_yaml == json.loads(joint_trajectory_json(points))
    assert set(from_yaml) == {"header", "joint_names", "points"}
    assert from_yaml["joint_names"] == list(robot.joint_names)
    assert len(from_yaml["points"]) == len(points)
    for k, point in enumerate(from_yaml["points"]):
        assert set(point) == {
            "positions",
            "velocities",
            "accelerations",
            "effort",
            "time_from_start",
        }
        numbers = [*point["positions"], *point["velocities"], *point["accelerations"]]
        assert all(isinstance(number, float) for number in numbers)
        assert point["positions"] == points.q[k].tolist()
        assert point["accelerations"] == points.a[k].tolist()
        stamp = point["time_from_start"]
        assert 0 <= stamp["nanosec"] < 10**9
        assert stamp["sec"] * 10**9 + stamp["nanosec"] == round(k * Fraction(10**9, 30))


def test_small_numbers_of_the_message_are_no_text():
    """YAML 1.1 reads 1e-05 as text; the message has plain decimals."""
    robot = random_robot(np.random.default_rng(0), 1)
    tiny = PolynomialTrajectory(
        robot.joint_names, np.array([0.0, 1.0]), np.array([[[0.0, 0.0, 0.0, 2e-5]]])
    )
    message = yaml.safe_load(joint_trajectory_yaml(motion_points(tiny, robot, rate_hz=10.0)))
    assert message["points"][-1]["positions"] == [2e-5]
    assert message["points"][1]["positions"] == [2e-8]


@every("seed", range(20))
def test_rounding_never_exceeds_a_limit_that_the_motion_reaches(seed):
    """Where the motion touches its limits exactly, written numbers are at most the limit."""
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 3, prismatic=0.3)
    motion = multisine(robot, period_s=4.0, seed=seed)
    grid = np.arange(401) / 100.0
    q, v, a = (motion.derivative(grid, order) for order in range(3))
    limits = MotionLimits(
        motion.joints,
        q.min(axis=0),
        q.max(axis=0),
        np.abs(v).max(axis=0),
        np.abs(a).max(axis=0),
        np.full(3, np.inf),
        np.full(3, np.inf),
    )
    points = motion_points(motion, robot, rate_hz=100.0, limits=limits)
    order = [limits.joints.index(name) for name in points.joints]
    assert (points.q >= limits.lower[order]).all()
    assert (points.q <= limits.upper[order]).all()
    assert (np.abs(points.v) <= limits.velocity[order]).all()
    assert (np.abs(points.a) <= limits.acceleration[order]).all()
    assert all(
        len(repr(x).partition(".")[2]) <= 12 or "e" in repr(x) for x in points.q.ravel().tolist()
    )
    np.testing.assert_allclose(points.q, q[:, order], atol=3e-12)


def test_points_beyond_a_limit_are_refused():
    """A motion that exceeds its limits is not rounded into them: the joint is named."""
    robot, motion, _ = case(0)
    whole = motion_limits(robot, acceleration=1e3)
    fast = replace(whole, velocity=0.01 * whole.velocity)
    with pytest.raises(SignalError, match=r"joint 'joint_\d': velocity .* beyond its limit"):
        motion_points(motion, robot, rate_hz=100.0, limits=fast)
    with pytest.raises(SignalError, match="choose a lower rate"):
        motion_points(replace(motion, omega=1e-5), robot, rate_hz=1e5)
    with pytest.raises(SignalError, match="at most 1 MHz"):
        motion_points(motion, robot, rate_hz=np.inf)


def test_the_last_point_is_the_end_of_the_motion():
    """Where the duration is no multiple of the period, one more point is at rest at the end."""
    robot = random_robot(np.random.default_rng(0), 1)
    from steelyard.excitation.polynomial import quintic

    move = quintic(robot.joint_names, 1.05, [[0.0]] * 3, [[1.0], [0.0], [0.0]])
    points = motion_points(move, robot, rate_hz=10.0)
    assert points.time[-1] == 1.1
    assert points.q[-1, 0] == 1.0
    assert points.v[-1, 0] == 0.0
    assert len(motion_points(replace_duration(move), robot, rate_hz=10.0)) == 11


def replace_duration(move: PolynomialTrajectory) -> PolynomialTrajectory:
    """The same coefficients for one second."""
    return PolynomialTrajectory(move.joints, np.array([0.0, 1.0]), move.coefficients)


def test_an_npz_is_the_same_bytes_each_time():
    """Writing has no time stamp."""
    _, _, points = case(1)
    assert npz_bytes(points) == npz_bytes(points)
    with np.load(io.BytesIO(npz_bytes(points)), allow_pickle=False) as archive:
        assert set(archive) == {"time", "joint_names", "position", "velocity", "acceleration"}
