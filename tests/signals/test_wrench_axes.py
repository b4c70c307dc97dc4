"""A wrench in the axes of a link that does not move: the base of a controller."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from steelyard.errors import SignalError
from steelyard.logs.log import Log
from steelyard.robot.parts import Joint, Link
from steelyard.robot.robot import Robot
from steelyard.robot.rotations import frozen_array
from steelyard.signals.prepared_frame import PreparedFrame, prepare_frame
from steelyard.testing.random_robots import random_robot

TURN = Rotation.from_euler("xyz", [0.3, -0.5, 3.0]).as_matrix()


def with_turned_link(name: str) -> Robot:
    """A robot of three joints, with a link of this name fixed to the root, turned by TURN."""
    robot = random_robot(np.random.default_rng(4), 3, chain=True, prismatic=0.0, fixed=0.0)
    pose = np.eye(4)
    pose[:3, :3] = TURN
    turned = Joint("turned", "fixed", "root", name, frozen_array(pose, (4, 4)))
    first = replace(robot.joints[0], parent="root")
    links = (replace(robot.links[0], name="root"), *robot.links[1:], Link(name))
    return replace(robot, links=links, joints=(first, *robot.joints[1:], turned))


def log_of(robot: Robot, R_axes: np.ndarray) -> tuple[Log, np.ndarray]:
    """Poses at rest with a force in axes that are turned by R_axes, and the force in the world."""
    rng = np.random.default_rng(1)
    time, force = np.arange(9.0), rng.normal(size=(9, 3))
    positions = {(name, "position"): rng.uniform(-2, 2, 9) for name in robot.joint_names}
    forces = {("", "force"): force @ R_axes, ("", "torque"): 0.1 * force @ R_axes}
    return Log(time, positions, "rests", frame_signals=forces), force


def prepared(robot: Robot, log: Log, axes: str) -> PreparedFrame:
    frame = robot.links[3].name
    return prepare_frame(log, robot, frame, at_rest=True, wrench_axes=axes)


@pytest.mark.parametrize("name", ["base", "controller"])
def test_a_link_states_the_axes(name):
    """Of its name, or `base`, which means that link if there is one; a finding says so."""
    robot = with_turned_link(name)
    log, force = log_of(robot, TURN)
    found = prepared(robot, log, name)
    R = found.motion.R_world_frame
    np.testing.assert_allclose(found.wrench.force, np.einsum("nij,ni->nj", R, force), atol=1e-12)
    np.testing.assert_allclose(found.wrench.torque, 0.1 * found.wrench.force, atol=1e-12)
    assert [one.code for one in found.findings] == ["wrench-axes-of-link"]


def test_the_root_is_the_base_where_no_link_has_that_name():
    """And can be stated by its own name."""
    robot = with_turned_link("controller")
    log, force = log_of(robot, np.eye(3))
    for axes in ("base", robot.links[0].name):
        found = prepared(robot, log, axes)
        R = found.motion.R_world_frame
        expected = np.einsum("nij,ni->nj", R, force)
        np.testing.assert_allclose(found.wrench.force, expected, atol=1e-12)
        assert not found.findings


def test_other_names_and_links_that_move_are_refused():
    robot = with_turned_link("base")
    log, _ = log_of(robot, TURN)
    with pytest.raises(SignalError, match="'nowhere'; it must be 'sensor', 'base', or a link"):
        prepared(robot, log, "nowhere")
    with pytest.raises(SignalError, match=f"link '{robot.links[2].name}' moves with joint"):
        prepared(robot, log, robot.links[2].name)
