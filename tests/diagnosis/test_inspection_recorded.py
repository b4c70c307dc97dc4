"""The inspection on logs that real robots recorded: what is wrong with them is named, no more."""

from __future__ import annotations

import numpy as np
import pytest
from paper_robots import panda
from recorded import (
    emps_log,
    emps_robot,
    kinova_log,
    kinova_robot,
    kuka_log,
    kuka_robot,
    panda_log,
    tx40_log,
    tx40_robot,
    ur10_log,
    ur10_robot,
)

from steelyard.diagnosis.inspection import inspect_log
from steelyard.findings import Finding
from steelyard.logs.log import Log
from steelyard.robot.robot import Robot

CLEAN = {
    "emps": lambda: (emps_log("DATA_EMPS.mat"), emps_robot()),
    "emps pulses": lambda: (emps_log("DATA_EMPS_PULSES.mat"), emps_robot()),
    "kuka 1": lambda: (kuka_log(1, 0), kuka_robot()),
    "kuka 2": lambda: (kuka_log(2, 0), kuka_robot()),
    "kuka 3": lambda: (kuka_log(3, 0), kuka_robot()),
    "ur10 first": lambda: (ur10_log("first two thirds"), ur10_robot()),
    "ur10 last": lambda: (ur10_log("last third"), ur10_robot()),
    "tx40": lambda: (tx40_log(), tx40_robot()),
    "kinova": lambda: (kinova_log("Trajectory1"), kinova_robot()),
}
KINOVA_FILES = (
    "opti_traj_testing1",
    "opti_traj_testing2",
    "RunTrajectory1",
    "Trajectory1",
    "RecordTrajectory_quadratic",
    *(f"joint_{k}_trapez" for k in range(1, 8)),
)


def alarms(log: Log, robot: Robot) -> list[Finding]:
    """Findings that are more than notes."""
    return [one for one in inspect_log(log, robot).findings if one.alarming]


@pytest.mark.dataset
@pytest.mark.parametrize("name", CLEAN)
def test_nothing_is_found_in_good_recordings(name: str) -> None:
    """A false alarm is worse than a miss."""
    assert alarms(*CLEAN[name]()) == []


@pytest.mark.dataset
def test_jitter_and_repeated_rows_of_the_panda_are_named() -> None:
    """About one row in seventeen, as the data's description counts them; both are repaired."""
    log = panda_log()
    finding, jitter = alarms(log, panda())
    assert (jitter.code, finding.code) == ("stamp-jitter", "held-samples")
    assert jitter.corrected
    assert finding.corrected
    q = np.column_stack([log.signal(joint, "position") for joint in panda().joint_names])
    repeated = 100.0 * np.mean(np.all(q[1:] == q[:-1], axis=1))
    assert finding.size == pytest.approx(repeated, rel=0.15)


@pytest.mark.dataset
def test_the_rest_of_the_tx40_is_named() -> None:
    """Its last second and a half, as a note."""
    (note,) = inspect_log(tx40_log(), tx40_robot()).findings
    assert (note.code, note.level) == ("standing-still", "info")
    assert note.span_s == pytest.approx((7.46, 9.0), abs=0.05)


@pytest.mark.dataset
def test_lost_rows_of_the_kinova_are_named() -> None:
    """Single samples of currents, and rows that its counted stamps hide; of one log, not of all."""
    assert alarms(kinova_log("opti_traj_testing1"), kinova_robot()) == []
    lost = alarms(kinova_log("RecordTrajectory_quadratic"), kinova_robot())
    assert {one.code for one in lost} == {"outliers", "dropped-rows"}
    assert all(one.level == "warning" for one in lost)


@pytest.mark.dataset
@pytest.mark.parametrize("file", KINOVA_FILES)
def test_nothing_in_the_kinova_logs_is_severe(file: str) -> None:
    """Short and dirty as they are; rows that repeat are named in all that move on meanwhile."""
    found = inspect_log(kinova_log(file), kinova_robot()).findings
    assert [one for one in found if one.level == "severe"] == []
    named = "held-samples" in {one.code for one in found}
    assert named or file in ("opti_traj_testing1", "Trajectory1")


@pytest.mark.dataset
def test_dead_channels_of_the_kinova_are_named() -> None:
    """The first torque sensor of one log, and all of another."""
    one = next(
        one
        for one in inspect_log(kinova_log("RunTrajectory1", "TorqueSm"), kinova_robot()).findings
        if one.code == "dead-channel"
    )
    assert (one.level, one.joints) == ("warning", ("joint_1",))
    whole = kinova_log("Trajectory1", "TorqueSm")
    (every,) = (one for one in alarms(whole, kinova_robot()) if one.code == "dead-channel")
    assert (every.level, len(every.joints)) == ("severe", 7)


@pytest.mark.dataset
def test_nan_of_the_kinova_is_named() -> None:
    """Two samples of its computed positions."""
    log = kinova_log("opti_traj_testing1", position="PositionCmptd")
    found = {one.code: one for one in inspect_log(log, kinova_robot()).findings}
    assert found["missing-samples"].joints == ("joint_2", "joint_3")
    assert found["missing-samples"].level == "info"
