"""The zero-phase low-pass filter."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import SignalError

Array = NDArray[np.float64]

SETTLED = 0.01
"""A filter has settled when its slowest mode has decayed to this share."""


def settling_time_s(cutoff_hz: float, order: int) -> float:
    """Time (s) in which the slowest mode of a Butterworth low-pass decays to 1 %.

    Its slowest pole pair has the real part -2 pi f_c sin(pi / 2N): 1.91 / f_c for order 4.
    """
    slowest = 2.0 * math.pi * cutoff_hz * math.sin(math.pi / (2 * order))
    return -math.log(SETTLED) / slowest


def gain(frequency_hz: Array, cutoff_hz: float, order: int, rate_hz: float) -> Array:
    """Gain of the filter run forward and backward, at frequencies up to rate_hz / 2.

    |H|² = 1 / (1 + (tan(pi f / r) / tan(pi f_c / r))^2N): the gain at the cutoff is 1/2.
    """
    # the tangent grows without bound at the Nyquist frequency, where the gain is zero
    angle = np.minimum(np.pi * frequency_hz / rate_hz, 0.4999999 * np.pi)
    ratio = np.tan(angle) / math.tan(math.pi * cutoff_hz / rate_hz)
    return np.asarray(1.0 / (1.0 + ratio ** (2 * order)))


def samples_needed(cutoff_hz: float, order: int, rate_hz: float) -> int:
    """Fewest samples that the filter can work on: its settling time."""
    return max(math.ceil(settling_time_s(cutoff_hz, order) * rate_hz), 3 * (order + 1)) + 1


def check_length(n: int, cutoff_hz: float, order: int, rate_hz: float, name: str) -> int:
    """The fewest samples that the filter can work on; refuses fewer."""
    needed = samples_needed(cutoff_hz, order, rate_hz)
    if n < needed:
        raise SignalError(
            f"log '{name}': {n} samples at {rate_hz:g} Hz are too few for a filter at "
            f"{cutoff_hz:g} Hz, which needs {needed} ({needed / rate_hz:g} s); choose a higher "
            "cutoff_hz, or None for no filter"
        )
    return needed


def low_pass(x: Array, cutoff_hz: float, order: int, rate_hz: float, name: str = "log") -> Array:
    """Butterworth low-pass run forward and backward: no delay, gain 1/2 at the cutoff.

    x : (n_samples, ...), sampled at ``rate_hz``. The signal is extended at both ends by an
    odd reflection (2 x_0 - x) of three settling times, or as much as there is, so that a
    steady trend passes unchanged.
    ``name`` says in errors which log it is.
    """
    from scipy.signal import sosfiltfilt

    if cutoff_hz >= rate_hz / 2:
        raise SignalError(
            f"log '{name}': the cutoff of {cutoff_hz:g} Hz is not below {rate_hz / 2:g} Hz, half "
            f"the sample rate of {rate_hz:g} Hz; choose a lower cutoff_hz, or None for no filter"
        )
    needed = check_length(len(x), cutoff_hz, order, rate_hz, name)
    sections = _sections(order, cutoff_hz, rate_hz)
    reflected = min(3 * needed, len(x) - 1)
    filtered = sosfiltfilt(sections, x, axis=0, padtype="odd", padlen=reflected)
    return np.asarray(filtered, dtype=float)


@lru_cache(maxsize=64)
def _sections(order: int, cutoff_hz: float, rate_hz: float) -> Array:
    from scipy.signal import butter

    return np.asarray(butter(order, cutoff_hz, fs=rate_hz, output="sos"), dtype=float)
