"""A payload stream whose arm is a saved result."""

from __future__ import annotations

import numpy as np
from small_arm import arm_log, write_arm

from steelyard import identify
from steelyard.estimators.result_file import read_result
from steelyard.payload.stream_sources import JointTorques
from steelyard.robot.robot import Robot


def test_arm_of_a_result_file(tmp_path):
    """Parameters and noise are those that the file states."""
    robot = Robot.from_urdf(write_arm(tmp_path))
    log = arm_log(robot, 1)
    found = identify(robot, log, method="feasible")
    found.save(tmp_path / "out")
    path = tmp_path / "out" / "result.json"
    source = JointTorques.of_result(robot, path, "fore", dead_band=0.02)
    result = read_result(path)
    assert np.array_equal(source.theta, result.theta)
    assert np.all((source.sigma > 0.05) & (source.sigma < 0.2))
    assert source.channels == robot.joint_names
