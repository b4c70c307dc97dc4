"""A joint whose torque has the wrong sign is named."""

from __future__ import annotations

from dataclasses import replace

from given_signals import FEW
from small_arm import URDF, arm_log

from steelyard.identification.identify import identify
from steelyard.logs.log import Log
from steelyard.robot.robot import Robot

CODE = "poor-fit-of-a-joint"


def codes(log: Log) -> dict[str, str]:
    """Findings by code, with a prior that the data hardly move and no friction to move instead."""
    found = identify(
        Robot.from_urdf_text(URDF),
        log,
        certify=False,
        accept=["torque-sign"],
        terms=(),
        **{**FEW, "gamma": 1e7},
    )
    return {finding.code: finding.words for finding in found.findings}


def test_a_torque_with_the_wrong_sign_is_named() -> None:
    """With the true sign there is no such finding."""
    log = arm_log(Robot.from_urdf_text(URDF), 1)
    assert not {CODE, "torque-sign"} & set(codes(log))
    key = ("shoulder", "torque")
    flipped = replace(log, signals={**log.signals, key: -log.signals[key]})
    found = codes(flipped)
    assert "torques of 'shoulder' have the wrong sign" in found["torque-sign"]
    words = found[CODE]
    assert "the torque of 'shoulder' is explained worse than by no torque at all" in words
    assert "check the sign" in words
