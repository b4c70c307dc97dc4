"""The noise of torques, from the torques themselves.

A motion and the torque that it needs lie below the cutoff of the low-pass filter; what a torque
holds above it, between the cutoff f_c and half the sample rate f_n, is noise. White noise with the
rms value h above the cutoff has

    h sqrt(f_c / (f_n - f_c))   below it: what is left in a filtered torque,
    h sqrt(f_n / (f_n - f_c))   altogether: what an unfiltered torque has.

Friction that reverses has parts above the cutoff, too: h is 1.48 times the median size, which a
few reversals do not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.signals.prepare import Prepared

Array = NDArray[np.float64]

TO_RMS = 1.4826
"""Rms value of a normal variable over the median of its size."""
LEAST_BAND = 0.1
"""Smallest share of the spectrum, above the cutoff, that a noise is estimated from."""
FEWEST = 50
"""Samples of a torque that a noise is estimated from."""


@dataclass(frozen=True, eq=False)
class ChannelNoise:
    """Noise of the torques of one run, as they are used.

    rms : (n_channels,) N m or N; NaN where it cannot be told: without a filter, and where its
    cutoff leaves nothing above it. counts : (n_channels,) torque values.
    """

    rms: Array
    counts: Array


def torque_noise(runs: Sequence[Prepared]) -> Array:
    """Noise (n_channels,) in N m or N of the torques of some runs together."""
    return over_all([channel_noise(run) for run in runs])


def over_all(runs: Sequence[ChannelNoise]) -> Array:
    """Noise (n_channels,) of several runs together."""
    counts = np.sum([run.counts for run in runs], axis=0)
    squares = np.sum([run.counts * run.rms**2 for run in runs], axis=0)
    return np.asarray(np.sqrt(squares / np.maximum(counts, 1.0)))


def channel_noise(run: Prepared) -> ChannelNoise:
    """The noise of one run."""
    counts = np.isfinite(run.all_measurements.tau).sum(axis=0).astype(float)
    return ChannelNoise(_noise(run), counts)


def _noise(run: Prepared) -> Array:
    record, raw = run.record, run.unfiltered.tau
    out = np.full(raw.shape[1], np.nan)
    if record.cutoff_hz is None or record.time is None:
        return out
    half = 0.5 * record.time.rate_hz
    above = half - record.cutoff_hz
    if above < LEAST_BAND * half:
        return out
    filtered = record.torque_is_filtered
    band = record.cutoff_hz if filtered else half
    for k, torque in enumerate(raw.T):
        if filtered:
            smooth = run.all_measurements.tau[:, k]
        else:
            smooth = _smoothed(torque, record.cutoff_hz, record.rate_out_hz)
        rest = torque - smooth
        rest = rest[np.isfinite(rest)]
        if len(rest) >= FEWEST:
            out[k] = TO_RMS * float(np.median(np.abs(rest))) * np.sqrt(band / above)
    return out


def _smoothed(torque: Array, cutoff_hz: float, rate_hz: float) -> Array:
    """A torque (n_samples,) without what is above the cutoff; NaN near its missing samples."""
    from scipy.signal import savgol_filter

    # a local parabola over w samples passes frequencies up to about 1.8 / w of the sample rate
    width = 2 * int(0.9 * rate_hz / cutoff_hz) + 1
    if width < 5 or width > len(torque):
        return np.full(len(torque), np.nan)
    return np.asarray(savgol_filter(torque, width, 2, mode="nearest"))
