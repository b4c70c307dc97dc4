"""Mistakes with floating bases: forgotten options, missing axes and contacts, wrong axes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from humanoid import humanoid, humanoid_log, humanoid_text

from steelyard.errors import LogError, SignalError
from steelyard.logs.log import Log
from steelyard.robot.robot import Robot
from steelyard.signals.orientation import rotations_of
from steelyard.signals.prepare import Prepared, prepare
from steelyard.signals.processing import Processing
from steelyard.signals.sensing import BaseMotion, MeasuredWrench, Sensing
from steelyard.simulation.floating_log import BaseSensors

FEET = ("left_foot", "right_foot")


@pytest.fixture(scope="module")
def standing() -> Log:
    return humanoid_log(1, feet=FEET)


def prepared(log: Log, sensing: Sensing | None = None, *, floats: bool = True) -> Prepared:
    robot = humanoid() if floats else Robot.from_urdf_text(humanoid_text())
    return prepare(log, robot, Processing(cutoff_hz=12.0, sensing=sensing))


def warned(done: Prepared) -> dict[str, str]:
    return {one.code: one.words for one in done.findings if one.level == "warning"}


def test_a_forgotten_floating_base_is_noticed(standing):
    """A root that moves, and forces at links, are named where the base is taken as fixed."""
    said = warned(prepared(standing, floats=False))
    assert "--floating-base" in said["base-motion-not-used"]
    assert "'left_foot', 'right_foot'" in said["force-not-used"]
    one = Sensing(contacts=(MeasuredWrench("left_foot"),))
    said = warned(prepared(standing, one, floats=False))
    assert "'right_foot'" in said["force-not-used"]
    assert "'left_foot'" not in said["force-not-used"]
    hung = warned(prepared(humanoid_log(1), floats=False))
    assert set(hung) == {"base-motion-not-used"}  # a force at a fixed root acts on no joint


def test_a_root_that_stands_still_is_no_doubt(standing):
    """The pose of a base that never moves says what is assumed."""
    frames = {
        ("torso", quantity): np.broadcast_to(x[:1], x.shape)
        + 1e-4 * np.sin(np.arange(len(x)))[:, None]
        for (frame, quantity), x in standing.frame_signals.items()
        if frame == "torso"
    }
    assert not warned(prepared(replace(standing, frame_signals=frames), floats=False))


@pytest.mark.parametrize("gone", ["force_z", "force_x", "torque_y"])
def test_a_wrench_without_an_axis_is_refused(gone, standing):
    """It is named with the column that it lacks, and not left out; stated contacts too."""
    frames = {
        "time": standing.time,
        **{f"{joint}.{quantity}": x for (joint, quantity), x in standing.signals.items()},
    }
    for (frame, quantity), x in standing.frame_signals.items():
        for axis, part in zip("xyzw", x.T, strict=False):
            frames[f"{frame}.{quantity}_{axis}"] = part
    for axis in "xyz":
        frames[f"right_foot.torque_{axis}"] = np.zeros(len(standing))
    del frames[f"right_foot.{gone}"]
    log = Log.from_frame(frames)
    stated = Sensing(contacts=tuple(MeasuredWrench(foot) for foot in FEET))
    for sensing in (None, stated):
        with pytest.raises(LogError, match=f"lacks right_foot.{gone}"):
            prepared(log, sensing)
    others = Sensing(contacts=(MeasuredWrench("left_foot"),))
    if gone.startswith("force"):
        assert "'right_foot'" in warned(prepared(log, others))["force-not-used"]


def test_forces_that_do_not_carry_the_robot(standing):
    """A missing foot is noticed by the mass of the file; a robot of unknown mass is not doubted."""
    frames = {key: x for key, x in standing.frame_signals.items() if key[0] != "left_foot"}
    log = replace(standing, frame_signals=frames)
    said = warned(prepared(log))
    assert "is a contact missing" in said["forces-differ-from-weight"]
    assert not {"forces-differ-from-weight", "wrench-axes"} & set(warned(prepared(standing)))


def test_options_change_what_is_found_by_name(standing):
    """Axes and sign of wrenches, and axes of velocities, without naming the columns again."""
    right = prepared(standing).measurements.tau
    flipped = {
        key: -x if key[1] in ("force", "torque") else x for key, x in standing.frame_signals.items()
    }
    log = replace(standing, frame_signals=flipped)
    assert "--wrench-sign by-robot" in warned(prepared(log))["wrench-sign"]
    found = prepared(log, Sensing(wrench_sign="by-robot"))
    assert np.allclose(found.measurements.tau, right, equal_nan=True)
    with pytest.raises(SignalError, match="no wrench of log 'log'"):
        prepared(
            replace(log, name="log", frame_signals={}), Sensing(wrench_axes="world"), floats=False
        )


@pytest.mark.parametrize("linear", ["frame", "world"])
@pytest.mark.parametrize("angular", ["frame", "world"])
def test_linear_and_angular_axes(linear, angular):
    """Every pair of axes gives the same motion, and a wrong pair is named by what explains it."""
    log = humanoid_log(1, base=BaseSensors("twist"))
    poses = humanoid_log(1, base=BaseSensors("pose"))
    right = prepared(log).motion
    frames = dict(log.frame_signals)
    R = rotations_of(frames["torso", "quaternion"])
    for (frame, quantity), x in log.frame_signals.items():
        axes = {"linear": linear, "angular": angular}.get(quantity.partition("_")[0])
        if axes == "world":
            frames[frame, quantity] = np.einsum("nij,nj->ni", R, x)
    turned = replace(log, frame_signals=frames)
    stated = BaseMotion(twist_axes=linear, angular_axes=angular)
    motion = prepared(turned, Sensing(base=stated)).motion
    assert np.abs(motion.a[20:-20] - right.a[20:-20]).max() < 0.03 * np.abs(right.a).max()
    assert BaseMotion("twist", twist_axes="base") == BaseMotion("twist", twist_axes="world")
    position = {("torso", "position"): poses.frame_signals["torso", "position"]}
    both = replace(turned, frame_signals={**frames, **position})
    other = "world" if linear == "frame" else "frame"
    wrong = BaseMotion("twist", twist_axes=other, angular_axes=angular)
    with pytest.raises(
        SignalError, match=f"--base-twist-axes {linear} --base-angular-axes {angular}"
    ):
        prepared(both, Sensing(base=wrong))
    prepared(both, Sensing(base=replace(stated, source="twist")))
