"""Suspects of logs that real robots recorded: their files are poor, and nothing is wrong."""

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
def test_good_recordings_have_no_suspects(name: str) -> None:
    """Unmodelled friction and placeholder links are no fault of the log."""
    log, robot = RECORDED[name]()
    assert physics_of(Model(robot), log).findings == ()
