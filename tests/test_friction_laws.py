"""The benchmark `friction-laws`: a law that matters is admitted, and a plain robot stays plain."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The benchmark."""
    pytest.importorskip("mujoco")
    pytest.importorskip("pinocchio")  # with which the robot files come
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("friction_laws")


def test_a_law_that_matters_is_admitted(bench):
    """Load-dependent friction of an arm in MuJoCo enters the model, and the error halves."""
    found = bench.outcome("load", 0)
    assert found.counts
    assert found.right
    assert found.added < 0.5 * found.plain


def test_a_plain_robot_stays_plain(bench):
    """MuJoCo's own friction asks for no other law."""
    found = bench.outcome("plain", 1)
    assert found.admitted == ()
    assert found.added == found.plain


def test_figures_count_the_runs_in_which_the_law_matters(bench):
    """A run in which the law hardly matters is neither a hit nor a miss."""
    runs = [
        bench.Outcome("load", 1, ("load",), 0.10, 0.05, 0.05),
        bench.Outcome("load", 2, (), 0.10, 0.10, 0.05),
        bench.Outcome("load", 3, (), 0.10, 0.10, 0.0999),
    ]
    figures = bench.figures_of("load", runs)
    assert (figures["load_counted"], figures["load_admitted"]) == (2.0, 0.5)
    assert bench.Outcome("spring", 4, ("counterbalance",), 0.1, 0.1, 0.05).right


@pytest.mark.parametrize("law", ["load", "stribeck", "rising", "asymmetric"])
def test_friction_takes_energy(bench, law):
    """The torque of each law has the sign of the speed, whatever the load."""
    rng = np.random.default_rng(4)
    truth = bench.Truth(law, np.array([0.5, 0.2]), np.array([0.3, 0.1]))
    for _ in range(50):
        q, v, load = rng.normal(size=(3, 2))
        assert (bench.law_torque(truth, q, v, load) * v >= 0.0).all()
