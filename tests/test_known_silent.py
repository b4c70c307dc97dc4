"""Kinds of wrong input that still give a wrong result in silence: a list that may only shrink.

A reduced version of ``benchmarks/run.py faults``: one seed of the built-in arm, each log alone.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
SEED = 0  # one of those for tuning
KNOWN_SILENT: frozenset[str] = frozenset()
"""As `python benchmarks/faults.py --robots arm --seeds 0 --alone` shows them."""
AT_FIRST = 39
"""How many there were before the first detector."""
RUN_HERE = (
    "torque-frozen",
    "degrees",
    "time-in-ms",
    "torque-gain",
    "position-offset",
    "gravity-removed",
    "commanded-torques",
)


@pytest.fixture(scope="module")
def faults() -> Iterator[SimpleNamespace]:
    """The campaign's kinds and runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield SimpleNamespace(
            kinds=importlib.import_module("fault_kinds"), runs=importlib.import_module("fault_runs")
        )


def test_the_list_only_shrinks(faults: SimpleNamespace) -> None:
    """It names kinds that a detective could tell, and not more than there were."""
    tellable = {kind.name for kind in faults.kinds.KINDS if not kind.untellable}
    assert tellable >= KNOWN_SILENT
    assert len(KNOWN_SILENT) <= AT_FIRST


@pytest.mark.parametrize("name", RUN_HERE)
def test_silent_kinds_are_those_on_the_list(faults: SimpleNamespace, name: str) -> None:
    """A kind that is silent is on the list, and one that is no longer silent is taken off it."""
    (run,) = faults.runs.runs_of("arm", SEED, faults.kinds.kind_named(name), ("alone",))
    assert not run.traceback
    if name in KNOWN_SILENT:
        assert run.silent, f"{name} is {run.outcome} now: take it off the list"
    else:
        assert not run.silent, f"{name} came through in silence: {run}"
