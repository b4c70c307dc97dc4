"""The share of the time budget that is left for the search."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from steelyard.excitation import search_time
from steelyard.excitation.design_settings import DesignSettings
from steelyard.excitation.design_task import DesignTask
from steelyard.excitation.limits import motion_limits
from steelyard.excitation.search_time import search_seconds
from steelyard.model.model import Model
from steelyard.testing.random_robots import random_robot


@pytest.mark.parametrize(("seconds", "left"), [(0.5, 8.0), (1.0, 6.0), (20.0, 5.0)])
def test_the_search_has_what_four_proofs_leave_and_half_at_least(monkeypatch, seconds, left):
    """Of ten seconds; without limits of torque or distance there is nothing to reserve for."""
    model = Model(random_robot(np.random.default_rng(0), 2, prismatic=0.0))
    limits = motion_limits(model.robot, torque=1e4)
    monkeypatch.setattr(search_time, "proof_seconds", lambda task: seconds)
    task = DesignTask(model, limits, DesignSettings(budget_s=10.0))
    assert search_seconds(task) == pytest.approx(left)
    free = replace(task, limits=replace(limits, torque=np.full(2, np.inf)))
    assert search_seconds(free) == 10.0


def test_the_proof_that_is_timed_is_that_of_a_motion_within_the_limits(monkeypatch):
    """The trial motion is proven, not refused early, so that its time counts."""
    model = Model(random_robot(np.random.default_rng(1), 2, prismatic=0.0))
    task = DesignTask(model, motion_limits(model.robot, torque=1e4), DesignSettings())
    proven = []
    whole = search_time.verify_run
    monkeypatch.setattr(search_time, "verify_run", lambda *a: proven.append(whole(*a)))
    assert search_time.proof_seconds(task) > 0.0
    assert [one.holds for one in proven] == [True]
