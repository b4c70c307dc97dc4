"""What a design task refuses before anything is searched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from steelyard.errors import SignalError
from steelyard.excitation.design import design_findings
from steelyard.excitation.design_settings import DesignSettings
from steelyard.excitation.design_task import DesignTask
from steelyard.excitation.limits import MotionLimits, motion_limits
from steelyard.excitation.motions.fourier import multisine
from steelyard.model.model import Model
from steelyard.testing.random_robots import random_robot

MODEL = Model(random_robot(np.random.default_rng(0), 3, chain=True, prismatic=0.0))
FIRST, SECOND, _ = MODEL.channels


def task(
    *,
    start: list[float] | None = None,
    end: list[float] | None = None,
    still: Mapping[str, float] | None = None,
) -> DesignTask:
    one = np.ones(3)
    limits = MotionLimits(MODEL.channels, -one, one, one, one, one, one)
    poses = (None if pose is None else np.array(pose) for pose in (start, end))
    return DesignTask(
        MODEL, limits, DesignSettings(), None, None, *poses, {} if still is None else still
    )


def test_a_file_that_states_a_torque_limit_of_zero_is_noted():
    """No limit is used, and a warning names the joints; with a given limit there is none."""
    joints = [
        replace(joint, limits=replace(joint.limits, effort=0.0)) for joint in MODEL.robot.joints
    ]
    model = Model(replace(MODEL.robot, joints=tuple(joints)))
    core = SimpleNamespace(whole=True, run=multisine(model.robot, period_s=5.0))
    codes = []
    for torque in (None, 50.0):
        limits = motion_limits(model.robot, torque=torque)
        found = design_findings(DesignTask(model, limits, DesignSettings()), core)
        codes.append([one.code for one in found if one.code == "torque-limit-of-zero"])
        if torque is None:
            assert np.isinf(limits.torque).all()
            (words,) = [one.words for one in found if one.code == "torque-limit-of-zero"]
            assert all(f"'{name}'" in words for name in model.robot.joint_names)
    assert codes == [["torque-limit-of-zero"], []]


def test_an_unknown_joint_cannot_stand_still() -> None:
    """The refusal has the name that was given, and the joints that there are."""
    with pytest.raises(SignalError, match=f"no joint '{FIRST}x'.*{FIRST}.*{SECOND}"):
        task(still={f"{FIRST}x": 0.0})


def test_poses_of_another_robot_are_refused() -> None:
    """A pose with too many or too few positions is refused with its shape."""
    for pose in ([0.0] * 6, [0.0], []):
        with pytest.raises(SignalError, match=r"start pose has shape \(\d,\) for 3 joints"):
            task(start=pose)
        with pytest.raises(SignalError, match=r"end pose has shape"):
            task(end=pose)


def test_a_joint_cannot_stand_still_away_from_a_pose() -> None:
    """The start and the end have joints that stand still where they stand."""
    still = {SECOND: 0.25}
    task(start=[0.1, 0.25, 0.0], end=[0.2, 0.25, 0.3], still=still)
    with pytest.raises(
        SignalError, match=f"start pose has joint '{SECOND}' at 0.3.* still at 0.25"
    ):
        task(start=[0.1, 0.3, 0.0], still=still)
    with pytest.raises(SignalError, match=f"end pose has joint '{SECOND}' at nan"):
        task(end=[0.1, np.nan, 0.0], still=still)
