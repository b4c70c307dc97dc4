"""Stamps in other units than seconds: rates that no robot is sampled at are refused."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard.errors import SignalError
from steelyard.signals._timebase import RATES_HZ, time_base
from steelyard.signals.processing import Processing


@pytest.mark.parametrize("period", [1e-300, 1e-100, 1e-12, 1e9, 1e100])
def test_impossible_rates_are_refused(period: float) -> None:
    """The message says how far the stamps are apart, and how to state their unit."""
    with pytest.raises(SignalError, match=r"log 'run': its stamps are .* s apart.*time\[ns\]"):
        time_base(period * np.arange(100.0), Processing(), "run")


@pytest.mark.parametrize("rate", [*RATES_HZ, 1e-3, 1.0, 1e6])
def test_possible_rates_are_kept(rate: float) -> None:
    """Even stamps within the limits are their own grid."""
    time = np.arange(100.0) * (1.0 / rate)
    base = time_base(time[1:], Processing(), "run")
    assert base.rate_hz == pytest.approx(rate)
    assert not base.resampled
