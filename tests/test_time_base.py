"""A part of `benchmarks/run.py time-base`, on seeds of its own."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from steelyard.diagnosis.inspection import inspect_log
from steelyard.signals.recorded.clock import clock_of

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def campaign() -> Iterator[ModuleType]:
    """The benchmark's module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield importlib.import_module("time_base")


@pytest.mark.parametrize("seed", [305, 308])
def test_every_fault_is_named(campaign: ModuleType, seed: int) -> None:
    """By the signals alone; logs with holes are not blamed."""
    arm = campaign.arm_of(seed)
    for fault, (make, names) in campaign.FAULTS.items():
        rng = np.random.default_rng([seed, *fault.encode()])
        clean = campaign.sampled(arm, seed, campaign.even_times(rng), rng, velocity=True)
        log = make(clean, rng, arm, seed).log(arm)
        found = {one.code for one in inspect_log(log, arm.given).findings}
        assert found & set(names) if names else not found & set(campaign.ALARMS), (fault, found)


@pytest.mark.parametrize("seed", range(12))
def test_right_stamps_are_not_repaired(campaign: ModuleType, seed: int) -> None:
    """Logs of several rates and robots, with and without velocities."""
    log, arm = campaign.clean_log(7000 + 3 * seed + 2)
    assert clock_of(log, arm.given) is None


def test_a_repaired_log_is_as_good_as_the_clean_one(campaign: ModuleType) -> None:
    """A clock that is fast: without the repair, inertias are wrong."""
    one = campaign.outcome("rate", 302)
    assert one.named
    assert one.ratio <= 1.15
    assert not one.as_stamped < 2.0 * one.clean_error + campaign.EQUAL
