"""`identify` with all defaults on robots with many joints, and what it says of its rules."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from steelyard.estimators._ranges import Quantities
from steelyard.estimators.affordable_intervals import affordable
from steelyard.estimators.prior_weight import QUICK_SEARCH, USUAL_SEARCH, search_for
from steelyard.estimators.size_rules import (
    FEWER_LEFT_OUT,
    FEWER_RESAMPLES,
    MASS_RANGES_UP_TO,
    USUAL_UP_TO,
    n_parts,
)
from steelyard.identification.identify import identify
from steelyard.robot.inertia import violations
from steelyard.robot.robot import Robot

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def long_chain(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The generator of robots and logs that the benchmark uses."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("long_chain")


def test_defaults_on_a_chain_of_eighteen_joints(long_chain: ModuleType, tmp_path):
    """From files to a physical estimate that fits, with the steps told and the rules stated."""
    robot, log = long_chain.write_case(tmp_path, 18, duration_s=8.0, seed=3)
    steps: dict[str, int] = {}

    def progress(step: str, done: int, total: int) -> None:
        assert 0 <= done <= total
        steps.setdefault(step, total)

    found = identify(robot, log, threads=2, progress=progress)
    told = ["check of the log", "base parameters", "signals", "compression", "estimate"]
    assert list(steps)[:6] == [*told, "weight of the prior"]
    assert steps["weight of the prior"] == QUICK_SEARCH.n_fits
    assert "measurements" not in steps
    estimate, model = found.estimate, found.model
    assert len(model.columns) > USUAL_UP_TO
    words = {one.code: one.words for one in found.findings}
    assert "feasible ranges of 18 masses" in words["many-parameters"]
    assert "joints that carry the fewest links" in words["signals-chosen"]
    assert found.signals is not None
    assert 0 < len(found.signals.channels) < 18
    assert found.signals.as_json()["channels"] == list(found.signals.channels)
    assert estimate.relative_error < 0.05
    assert found.certificate is not None
    assert found.certificate.verdict.valid
    for first in model.first_column_of_body:
        assert not violations(estimate.standard.theta[first : first + 10])
    ranges = estimate.standard.ranges
    masses = list(model.first_column_of_body)
    assert np.isfinite(ranges[masses]).all()
    assert np.isnan(np.delete(ranges, masses, axis=0)).all()
    assert np.all(ranges[masses, 0] <= estimate.standard.theta[masses] * (1 + 1e-6))
    assert estimate.standard.com_ranges is None


def test_rules_by_size():
    """Everything up to 240 parameters, then masses only, then no ranges; each says so."""
    wanted = Quantities(tuple(range(20)), (0, 10))
    usual = affordable(USUAL_UP_TO, 200, wanted, with_prior=True)
    assert (usual.n_resamples, usual.ranges, usual.findings) == (200, wanted, ())
    more = affordable(USUAL_UP_TO + 1, 200, wanted, with_prior=True)
    assert more.ranges == Quantities((0, 10), ())
    assert more.n_resamples == FEWER_LEFT_OUT
    assert "2 masses" in more.findings[0].words
    most = affordable(MASS_RANGES_UP_TO + 1, 200, wanted, with_prior=False)
    assert most.ranges.n_problems == 0
    assert most.n_resamples == FEWER_RESAMPLES
    assert "no feasible ranges of the 20 parameters" in most.findings[0].words
    assert affordable(10**4, 20, Quantities((), ()), with_prior=False).findings == ()
    assert search_for(USUAL_UP_TO) is USUAL_SEARCH
    assert search_for(USUAL_UP_TO + 1) is QUICK_SEARCH
    assert (USUAL_SEARCH.n_fits, QUICK_SEARCH.n_fits) == (248, 72)
    assert (n_parts(USUAL_UP_TO), n_parts(USUAL_UP_TO + 1)) == (8, 4)


@pytest.mark.parametrize("n_branches", [1, 3])
def test_generated_robots(long_chain: ModuleType, tmp_path, n_branches):
    """The robot of the benchmark is read back with all joints, limits and chains."""
    robot, _ = long_chain.write_case(tmp_path, 9, duration_s=1.0, n_branches=n_branches)
    found = Robot.from_urdf(robot)
    assert len(found.joint_names) == 9
    assert sum(joint.parent == "base" for joint in found.joints) == n_branches
    assert all(joint.limits.velocity == 3.0 for joint in found.joints)
