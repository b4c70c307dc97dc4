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
    if cutoff_hz >= rate_hz / 2:
        raise SignalError(
            f"log '{name}': the cutoff of {cutoff_hz:g} Hz is not below {rate_hz / 2:g} Hz, half "
            f"the sample rate of {rate_hz:g} Hz; choose a lower cutoff_hz, or None for no filter"
        )
    needed = check_length(len(x), cutoff_hz, order, rate_hz, name)
    return _forward_and_backward(
        np.asarray(x, dtype=float),
        butterworth_sections(order, cutoff_hz, rate_hz),
        min(3 * needed, len(x) - 1),
    )


def _forward_and_backward(x: Array, sections: Array, reflected: int) -> Array:
    """Zero-phase filter of x (n_samples, ...), extended by ``reflected`` samples at each end."""
    from steelyard.signals._filter_loops import run_sections

    table = x.reshape(len(x), -1)
    before = 2.0 * table[0] - table[reflected:0:-1]
    behind = 2.0 * table[-1] - table[-2 : -reflected - 2 : -1]
    out = np.ascontiguousarray(np.vstack([before, table, behind]))
    steady = _steady_states(sections)
    run_sections(sections, steady, out, False)
    run_sections(sections, steady, out, True)
    return np.asarray(out[reflected : reflected + len(x)].reshape(x.shape))


def _steady_states(sections: Array) -> Array:
    """State (n, 2) of each section when the input of the first is one at all times."""
    out, level = np.empty((len(sections), 2)), 1.0
    for row, (b0, b1, b2, _, a1, a2) in zip(out, sections, strict=True):
        change = np.array([[1.0 + a1, -1.0], [a2, 1.0]])
        row[:] = level * np.linalg.solve(change, np.array([b1 - a1 * b0, b2 - a2 * b0]))
        level *= ((b0 + b1) + b2) / ((1.0 + a1) + a2)
    return out


@lru_cache(maxsize=64)
def butterworth_sections(order: int, cutoff_hz: float, rate_hz: float) -> Array:
    """Butterworth low-pass as second-order sections (n, 6): b0 b1 b2 1 a1 a2.

    The bilinear transform s = 4 (z - 1) / (z + 1) of the poles -w exp(i pi m / 2 N), m = 1 - N,
    3 - N, ..., N - 1, with w = 4 tan(pi f_c / r); all zeros are at z = -1. Poles near the unit
    circle come last, and the gain is in the first section, as scipy.signal.butter has them.
    """
    warped = float(4.0 * np.tan(np.pi * (2 * cutoff_hz / rate_hz) / 2.0))
    analog = -np.exp(1j * np.pi * np.arange(-order + 1, order, 2) / (2 * order)) * warped
    poles = (4.0 + analog) / (4.0 - analog)
    gain_at_rest = warped**order * float(np.real(1.0 / np.prod(4.0 - analog)))
    sections = [
        [1.0, 2.0, 1.0, 1.0, -2.0 * z.real, z.real * z.real + z.imag * z.imag]
        for z in poles[: order // 2].tolist()
    ]
    if order % 2:
        sections.append([1.0, 1.0, 0.0, 1.0, -float(poles[order // 2].real), 0.0])
    out = np.array(sections[::-1])
    out[0, :3] *= gain_at_rest
    return out
