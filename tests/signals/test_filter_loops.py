"""The compiled zero-phase filter is scipy's, to the last bit for even orders."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import butter, sosfilt_zi, sosfiltfilt
from scipy.signal.windows import blackmanharris

from steelyard.signals.cutoff import BLACKMAN_HARRIS
from steelyard.signals.filters import _forward_and_backward, _steady_states, butterworth_sections


@pytest.mark.parametrize("order", [2, 4, 8])
@pytest.mark.parametrize("cutoff_hz", [0.7, 13.0, 111.1, 240.0])
def test_even_orders_are_scipys_to_the_last_bit(order, cutoff_hz):
    """Sections, their steady states and filtered samples: signs of speeds at rest depend on it."""
    theirs = butter(order, cutoff_hz, fs=500.0, output="sos")
    ours = butterworth_sections(order, cutoff_hz, 500.0)
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(_steady_states(ours), sosfilt_zi(theirs))
    x = np.cumsum(np.random.default_rng(order).normal(size=(900, 3)), axis=0)
    wanted = sosfiltfilt(theirs, x, axis=0, padtype="odd", padlen=200)
    np.testing.assert_array_equal(_forward_and_backward(x, ours, 200), wanted)
    np.testing.assert_array_equal(_forward_and_backward(x[:, 1], ours, 200), wanted[:, 1])


@pytest.mark.parametrize("order", [1, 3, 5])
def test_odd_orders_are_scipys_up_to_rounding(order):
    """The sections may come in another order."""
    x = np.cumsum(np.random.default_rng(order).normal(size=(900, 2)), axis=0)
    theirs = butter(order, 20.0, fs=500.0, output="sos")
    wanted = sosfiltfilt(theirs, x, axis=0, padtype="odd", padlen=200)
    ours = _forward_and_backward(x, butterworth_sections(order, 20.0, 500.0), 200)
    np.testing.assert_allclose(ours, wanted, atol=1e-11 * np.max(np.abs(x)))


def test_the_window_is_scipys():
    """Four-term Blackman-Harris."""
    turn = np.linspace(-np.pi, np.pi, 501)
    ours = sum(weight * np.cos(k * turn) for k, weight in enumerate(BLACKMAN_HARRIS))
    np.testing.assert_array_equal(ours, blackmanharris(501))
