"""Existing motions beside limits: positions, speeds, accelerations, torques and distances."""

from __future__ import annotations

import numpy as np
import pytest
from seeds import every

from steelyard.excitation.collision.collision import collision_model
from steelyard.excitation.kept_limits import closest_approach
from steelyard.excitation.limits import MotionLimits, motion_limits
from steelyard.excitation.motions.fourier import multisine
from steelyard.excitation.scored import ScoredMotion, scored_log, scored_trajectory
from steelyard.excitation.torque_noise import given_noise
from steelyard.logs.log import Log
from steelyard.model.model import Model
from steelyard.robot.robot import Robot
from steelyard.signals.motion import Motion
from steelyard.simulation.sensors import Sensors
from steelyard.simulation.simulate import Controller, simulate
from steelyard.testing.random_robots import random_robot

RATE_HZ = 200.0


def score_of(model: Model, log: Log, limits: MotionLimits) -> ScoredMotion:
    """The score of a log beside limits."""
    return scored_log(
        model, log, given_noise(model, 0.1), reference=model.prior_theta(), limits=limits
    )


@every("seed", range(3))
def test_a_plan_and_a_recording_reach_what_differences_of_the_motion_show(seed):
    """Extremes of both agree with finite differences of the motion at 10 kHz, and the torque of
    the recording is the measured one.
    """
    model = Model(random_robot(np.random.default_rng(seed), 2, prismatic=0.5))
    motion = multisine(model.robot, period_s=5.0, seed=seed)
    time = np.arange(0.0, 10.0, 1e-4)
    q = motion.derivative(time, 0)
    v = np.abs(np.diff(q, axis=0) / 1e-4).max(axis=0)
    a = np.abs(np.diff(q, 2, axis=0) / 1e-8).max(axis=0)
    log = simulate(
        model,
        model.prior_theta(),
        motion,
        duration_s=10.0,
        rate_hz=RATE_HZ,
        controller=Controller(kind="ideal"),
        sensors=Sensors(),
        seed=seed,
    )
    plan = Log(log.time, {key: x for key, x in log.signals.items() if key[1] == "position"}, "plan")
    limits = motion_limits(model.robot)
    for one, exact in ((plan, True), (log, False)):
        kept = score_of(model, one, limits).kept
        assert kept.at_every_time is exact
        place = [kept.extremes.joints.index(joint) for joint in motion.joints]
        np.testing.assert_allclose(kept.extremes.upper[place], q.max(axis=0), atol=0.02)
        np.testing.assert_allclose(kept.extremes.lower[place], q.min(axis=0), atol=0.02)
        np.testing.assert_allclose(kept.extremes.velocity[place], v, rtol=0.05)
        np.testing.assert_allclose(kept.extremes.acceleration[place], a, rtol=0.1)
        tau = [np.abs(log.signal(joint, "torque")).max() for joint in limits.joints]
        np.testing.assert_allclose(kept.torque, tau, rtol=0.05)


def test_what_is_beyond_a_limit_is_named_and_nothing_else():
    """A lower speed limit, range, torque limit or acceleration limit breaks that one alone; an
    acceleration limit that was assumed is noted only.
    """
    model = Model(random_robot(np.random.default_rng(1), 2, prismatic=0.0))
    robot = model.robot
    motion = multisine(robot, period_s=5.0, seed=1, share=0.9)
    noise = given_noise(model, 0.1)
    joint = robot.joint_names[1]

    def kept(**changes: dict[str, float]):
        limits = motion_limits(robot, **{"acceleration": 1e3, "torque": 1e4, **changes})
        return scored_trajectory(
            model, motion, noise, rate_hz=RATE_HZ, reference=model.prior_theta(), limits=limits
        ).kept

    good = kept()
    assert good.holds
    assert good.findings == ()
    j = good.limits.joints.index(joint)
    for quantity in ("lower", "upper", "velocity", "acceleration", "torque"):
        reached = good.torque if quantity == "torque" else good.extremes.of(quantity)
        value = float(reached[j])
        short = value + 0.01 if quantity == "lower" else value - 0.01
        # a limit by name leaves the others to the file, which states none of these two
        others = {robot.joint_names[0]: 1e4} if quantity in ("acceleration", "torque") else {}
        bad = kept(**{quantity: {joint: short, **others}})
        assert not bad.holds
        assert [one.level for one in bad.findings] == ["warning"]
        words = bad.findings[0].words
        assert f"joint '{joint}'" in words
        assert ("position" if quantity in ("lower", "upper") else quantity) in words
    slow = motion_limits(robot)
    assumed = MotionLimits(
        slow.joints, slow.lower, slow.upper, slow.velocity, 0.01 * good.extremes.acceleration,
        slow.jerk, 1e4 + 0.0 * slow.velocity, assumed=slow.joints,
    )  # fmt: skip
    noted = scored_trajectory(model, motion, noise, rate_hz=RATE_HZ, limits=assumed).kept
    assert noted.holds
    assert {one.code for one in noted.findings} == {"beyond-assumed-limit"}


BALL_URDF = """<robot name="ball"><link name="base"/><link name="arm">
<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
<collision><origin xyz="0.5 0 0"/><geometry><sphere radius="0.1"/></geometry></collision></link>
<joint name="swing" type="revolute"><parent link="base"/><child link="arm"/>
<axis xyz="0 1 0"/><limit lower="-3" upper="3" velocity="2" effort="20"/></joint></robot>"""


def test_the_smallest_distance_to_the_floor_is_that_of_the_lowest_ball(tmp_path):
    """A ball on a swinging arm: its height over the floor is known by a formula."""
    pytest.importorskip("coal")
    path = tmp_path / "ball.urdf"
    path.write_text(BALL_URDF)
    robot = Robot.from_urdf(path)
    time = np.linspace(0.0, 5.0, 5000)
    q = 0.3 * np.sin(time)[:, None]
    motion = Motion(time, q, np.zeros_like(q), np.zeros_like(q), "swing")
    heights = -0.5 * np.sin(q[:, 0]) - 0.1 + 0.4
    for clearance in (0.01, 0.2):
        model = collision_model(path, robot, ground=-0.4, clearance_m=clearance)
        found = closest_approach(model, motion)
        assert found.smallest_m == pytest.approx(heights.min(), abs=1e-4)
        assert found.time_s == pytest.approx(time[np.argmin(heights)], abs=0.02)
        assert found.holds is bool(heights.min() >= clearance)
        assert found.n_poses == 1000
    assert found.pair is not None
    assert "arm" in found.pair
