"""Damping, friction and armature as URDF and MJCF files state them."""

from __future__ import annotations

import pytest
from small_arm import URDF, write_arm

from steelyard.errors import RobotError
from steelyard.robot.formats.dynamics import read_dynamics
from steelyard.robot.joint_dynamics import JointDynamics

MJCF = """
<mujoco><default><joint damping="0.7"/></default><worldbody>
  <body name="upper"><joint name="shoulder" armature="0.3" frictionloss="1.5"/>
    <inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
    <body name="fore"><joint name="elbow" type="slide" damping="2"/>
      <inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body>
  </body></worldbody></mujoco>"""


def test_urdf(tmp_path):
    """Both numbers of <dynamics>, zero where a joint states none, and no armature."""
    text = URDF.replace('effort="50"/>', 'effort="50"/><dynamics damping="0.5" friction=" 2 "/>', 1)
    found = read_dynamics(write_arm(tmp_path, text))
    assert found == {"shoulder": JointDynamics(0.5, 2.0), "elbow": JointDynamics()}


def test_mjcf(tmp_path):
    """MuJoCo's numbers, those of defaults included."""
    pytest.importorskip("mujoco")
    found = read_dynamics(write_arm(tmp_path, MJCF, "arm.xml"))
    assert found == {
        "shoulder": JointDynamics(0.7, 1.5, 0.3),
        "elbow": JointDynamics(2.0, 0.0, 0.0),
    }


def test_text_that_is_no_number_is_refused(tmp_path):
    """A damping that is no number is refused, naming file and joint."""
    text = URDF.replace('effort="50"/>', 'effort="50"/><dynamics damping="much"/>', 1)
    with pytest.raises(RobotError, match=r"arm\.urdf': joint 'shoulder': dynamics damping is"):
        read_dynamics(write_arm(tmp_path, text))
