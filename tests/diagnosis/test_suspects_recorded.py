"""What is found in logs that real robots recorded: their files are poor, and no log is wrong."""

from __future__ import annotations

import pytest
from recorded import kuka_log, kuka_robot, tx40_log, tx40_robot, ur10_log, ur10_robot

from steelyard.diagnosis.hypotheses.search import physics_of
from steelyard.model.model import Model

RECORDED = {
    "kuka 1": lambda: (kuka_log(1, 0), kuka_robot()),
    "kuka 3": lambda: (kuka_log(3, 0), kuka_robot()),
    "ur10": lambda: (ur10_log("first two thirds"), ur10_robot()),
    "tx40": lambda: (tx40_log(), tx40_robot()),
}


@pytest.mark.dataset
@pytest.mark.parametrize("name", RECORDED)
def test_no_fault_is_found_in_good_recordings(name: str) -> None:
    """Unmodelled friction and placeholder links are no fault of the log. The wrist of the TX-40 is
    coupled (Gautier and Venture 2013), which its file does not say.
    """
    log, robot = RECORDED[name]()
    told = [one for one in physics_of(Model(robot), log).findings if one.alarming]
    coupled = [one for one in told if one.code == "coupled-joints"]
    assert told == coupled
    assert all({*one.joints} == {"joint_5", "joint_6"} for one in coupled)
    assert bool(coupled) == (name == "tx40")
