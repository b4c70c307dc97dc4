"""Joints that a log does not record are locked."""

from __future__ import annotations

import numpy as np
import pytest
from small_arm import URDF, arm_log

from steelyard.errors import LogError, RobotError
from steelyard.identification.identify import identify
from steelyard.knowledge.overlay.apply import apply_overlay
from steelyard.knowledge.overlay.toml_file import parse_overlay
from steelyard.logs.log import Log
from steelyard.model.model import Model
from steelyard.robot.parts import Joint, Limits
from steelyard.robot.robot import Robot
from steelyard.signals.prepare import prepare
from steelyard.signals.unrecorded import lock_unrecorded, rest_position


def only(log: Log, *joints: str) -> Log:
    """The log with the columns of these joints alone."""
    kept = {key: values for key, values in log.signals.items() if key[0] in joints}
    return Log(log.time, kept, log.name)


@pytest.fixture(scope="module")
def arm() -> Robot:
    return Robot.from_urdf_text(URDF)


@pytest.fixture(scope="module")
def half(arm) -> Log:
    """A log without the elbow, which rested at 0."""
    return only(arm_log(arm.lock({"elbow": 0.0}), 3), "shoulder")


@pytest.mark.parametrize(
    ("limits", "position"),
    [
        (Limits(), 0.0),
        (Limits(-1.0, 2.0), 0.0),
        (Limits(0.0, 2.0), 0.0),
        (Limits(0.5, 2.5), 1.5),
        (Limits(-3.0, -1.0), -2.0),
        (Limits(0.5, None), 0.5),
        (Limits(None, -0.5), -0.5),
    ],
)
def test_where_a_joint_rests(limits, position):
    """At 0, or at the middle of limits that exclude it, or at the only limit."""
    assert rest_position(Joint("j", "revolute", "a", "b", limits=limits)) == position


def test_joints_without_a_column_are_locked(arm, half):
    """And nothing else changes; a log with all joints locks none."""
    locked = lock_unrecorded(arm, half)
    assert locked.joint_names == ("shoulder",)
    assert dict(locked.locked) == {"elbow": 0.0}
    assert Model(locked).hash == Model(arm.lock({"elbow": 0.0})).hash
    assert lock_unrecorded(arm, arm_log(arm, 3)) is arm


def test_a_log_of_another_robot_is_refused(arm, half):
    """All joints would be locked."""
    with pytest.raises(LogError, match=r"records no joint of robot 'small arm'.*name the columns"):
        lock_unrecorded(arm, Log(half.time, {("knee", "position"): half.time}, "other"))


def test_motors_count_as_records_of_their_joints(arm, half):
    """A motor of a recorded joint stays, one that drives a locked joint is left out."""
    text = "[motor.m1]\nratio = { shoulder = 10.0 }\n[motor.m2]\nratio = { elbow = 20.0 }"
    robot = apply_overlay(arm, parse_overlay(text))
    quantities = ("position", "torque")
    signals = {("m1", quantity): half.signal("shoulder", quantity) for quantity in quantities}
    log = Log(half.time, signals, "motors")
    locked = lock_unrecorded(robot, log)
    assert locked.joint_names == ("shoulder",)
    assert locked.transmission.motor_names == ("m1",)
    assert prepare(log, locked).measurements.channels == ("shoulder",)


def test_a_motor_of_two_joints_is_named(arm):
    """One of its joints cannot be locked alone."""
    text = "[motor.m1]\nratio = { shoulder = 10.0, elbow = 1.0 }\n[motor.m2]\nratio = { elbow = 2 }"
    robot = apply_overlay(arm, parse_overlay(text))
    with pytest.raises(RobotError, match="'elbow' cannot be locked alone: motor 'm1' drives"):
        robot.lock({"elbow": 0.0})


def test_the_refusal_names_the_options(arm, half):
    """A log that lacks a joint is refused with what to write."""
    with pytest.raises(LogError, match=r"lacks joints.*--lock unrecorded.*--lock elbow=POSITION"):
        identify(arm, half, method="ols")


@pytest.mark.parametrize("lock", ["unrecorded", {"elbow": 0.0}])
def test_identify_locks_and_says_so(arm, half, lock):
    """By name or by the log: the same estimate, and a note with the position."""
    found = identify(arm, iter([half]), method="ols", lock=lock)
    expected = identify(arm.lock({"elbow": 0.0}), half, method="ols")
    assert np.array_equal(found.estimate.beta, expected.estimate.beta)
    (finding,) = [f for f in found.findings if f.code == "locked-joints"]
    assert finding.level == "info"
    assert "elbow at 0" in finding.words


def test_wrong_locks_are_refused(arm, half):
    """An unknown word, an unknown joint, a joint that is locked already, and no log to look at."""
    with pytest.raises(RobotError, match="lock is 'all'; it must be"):
        identify(arm, half, method="ols", lock="all")
    with pytest.raises(RobotError, match=r"no joint 'elbo' \(did you mean 'elbow'\?\)"):
        identify(arm, half, method="ols", lock={"elbo": 0.0})
    with pytest.raises(RobotError, match=r"at 1: it is locked at 0\.5 already"):
        arm.lock({"elbow": 0.5}).lock({"elbow": 1.0})
    with pytest.raises(LogError, match="there is no log to look at"):
        identify(arm, [], method="ols", lock="unrecorded")
