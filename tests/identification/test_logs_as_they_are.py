"""Logs as people record them: idle ends, standstill, holes, through the plain `identify`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from wrong_files import arm, recorded

from steelyard.identification.identify import identify
from steelyard.logs.log import Log


def plain(robot, log, gamma="leave-blocks-out"):
    few = {"ranges": False, "certify": False, "compare_terms": False, "n_resamples": 20}
    return identify(robot, log, gamma=gamma, **few)


@pytest.fixture(scope="module")
def world():
    robot, truth = arm(2)
    return robot, truth, recorded(robot, truth, 10.0, 7)


def friction_errors(found, truth) -> np.ndarray:
    base = found.estimate.base
    beta = base.K @ truth
    chosen = [k for k, name in enumerate(base.names) if name.endswith(".fc")]
    return np.abs(found.estimate.beta[chosen] / beta[chosen] - 1.0)


def with_rest(log: Log, seconds: float, *, at: str) -> Log:
    """The log with a robot at rest before or behind, or in the middle of it."""
    period = float(np.median(np.diff(log.time)))
    n = round(seconds / period)
    rng = np.random.default_rng(0)
    where = {"start": 0, "end": len(log), "middle": len(log) // 2}[at]
    signals = {}
    for (joint, quantity), values in log.signals.items():
        rest = np.full(n, values[min(where, len(log) - 1)])
        if quantity == "torque":
            rest = rest + 0.05 * rng.normal(size=n)
        signals[joint, quantity] = np.insert(values, where, rest)
    time = log.time[0] + period * np.arange(len(log) + n)
    return Log(time, signals, name=f"rest at the {at}")


@pytest.mark.parametrize(
    ("at", "gamma"), [("start", 100.0), ("end", 100.0), ("middle", "leave-blocks-out")]
)
def test_a_robot_at_rest_for_a_while_is_no_reason_to_stop(world, at, gamma):
    """Blocks without usable torque, wholly inside the dead band, join their neighbours."""
    robot, truth, log = world
    found = plain(robot, with_rest(log, 6.0, at=at), gamma)
    assert found.signals is not None
    assert found.signals.chosen is not None
    assert np.max(friction_errors(found, truth)) < 0.1


def test_a_hole_of_a_second_cuts_the_log(world):
    """Both pieces are used, and the estimate is as good as without the hole."""
    robot, truth, log = world
    keep = (log.time < 4.0) | (log.time > 5.0)
    cut = Log(log.time[keep], {k: v[keep] for k, v in log.signals.items()}, name="hole")
    found = plain(robot, cut)
    cut_there = [one.words for one in found.findings if one.code == "log-cut"]
    assert len(cut_there) == 1
    assert "3.998 to 5.002 s" in cut_there[0]
    record = found.estimate.runs[0]
    assert record.time is not None
    assert len(record.time.starts_s) == 2
    assert np.max(friction_errors(found, truth)) < 0.05


def test_missing_samples_cut_the_log_too(world):
    """A signal that is NaN for half a second is a hole."""
    robot, truth, log = world
    joint = robot.joint_names[1]
    values = log.signals[joint, "torque"].copy()
    values[(log.time > 4.0) & (log.time < 4.5)] = np.nan
    broken = replace(log, signals={**log.signals, (joint, "torque"): values})
    found = plain(robot, broken, gamma=100.0)
    assert any(one.code == "log-cut" for one in found.findings)
    assert np.max(friction_errors(found, truth)) < 0.05
