"""Choosing the cutoff of the low-pass filter from the positions themselves.

Differentiating twice multiplies the power spectrum of a position by ω⁴. The resulting spectrum
of the acceleration has a valley between the motion, which falls with frequency, and the noise,
which rises. The valley splits the spectrum: below it, power above the noise level is motion; the
noise level is estimated just above it. Both together predict the error of the acceleration for
any cutoff: motion that the filter removes, and noise that it lets through,

    E(f_c) = Σ_f ω⁴ [(1 - G(f))² S(f) + G(f)² N],

with G the gain of the filter (Wiener's argument, restricted to Butterworth filters).

A motion that repeats is a set of lines. The longer the log, the narrower they are: in the end most
frequencies between them hold noise alone, and the motion is not seen. The spectrum is therefore the
mean over windows that overlap by half, as long as they can be without losing the motion.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import SignalError
from steelyard.signals.filters import gain, settling_time_s

Array = NDArray[np.float64]

TOLERATED_ERROR = 0.01
"""Relative acceleration error (rms) that does no harm to a regression."""
TOLERATED_GROWTH = 1.25
"""Otherwise the error may be up to this many times the least possible one."""
BANDWIDTHS = 10.0
"""The cutoff never needs to exceed this many bandwidths of the motion."""
LEAST_BANDWIDTHS = 3.0
"""A cutoff below this many bandwidths spoils a fit."""
MOTION_SHARE = 0.99
"""Share of the velocity's energy that lies within the bandwidth of the motion."""
HIGHEST = 0.4
"""Highest automatic cutoff, as a share of the sample rate."""
FEWEST_SAMPLES = 64
CLIMB = 10.0  # the valley ends where the acceleration spectrum rises by this factor in power
STANDS_OUT = 4.0  # motion is what exceeds the noise by this factor in power
LONGEST_WINDOW_S = 128.0
"""A longer log is taken in windows."""
SHORTEST_WINDOW_S = 2.0
MOST_WINDOWS = 32
"""Windows of one length; of a longer log they are spread evenly."""
LOST_SHARE = 1.5
"""Windows lose the motion if shorter ones show a bandwidth this many times as large ..."""
RESOLVED_BINS = 8
"""... that has at least so many bins of the shorter window."""


@dataclass(frozen=True)
class CutoffChoice:
    """An automatic cutoff and the estimates from which it was chosen.

    relative_error : predicted rms error of the acceleration, relative to its rms value,
        geometric mean over the joints that move.
    least_error_hz, least_error : the cutoff with the least predicted error, and that error.
    bandwidth_hz : frequency below which 99 % of the energy of every velocity lies.
    noise : per joint, the estimated rms of white position noise (rad or m); NaN where the
        joint does not move.
    """

    cutoff_hz: float
    relative_error: float
    least_error_hz: float
    least_error: float
    bandwidth_hz: float
    noise: tuple[float, ...]


def automatic_cutoff(
    q: Array, rate_hz: float, order: int, name: str = "log", *, others: Sequence[Array] = ()
) -> CutoffChoice:
    """The highest cutoff that keeps the acceleration good, up to ten motion bandwidths.

    q : (n_samples, n_joints) rad or m, sampled at ``rate_hz``. others : more pieces of the log that
        are as long, all of which count alike.

    Of all cutoffs whose predicted acceleration error is at most 1.25 times the least
    possible one, or at most 1 %, the highest is taken, but no higher than ten times the
    bandwidth of the motion unless the least error itself lies higher. Where noise matters
    the cutoff is thus near the best one for the acceleration; where it does not, the filter
    keeps the harmonics in the torques that come from products of joint motions and friction.
    """
    pieces = tuple((one.shape, one.tobytes()) for one in (q, *others))
    return _choice(pieces, rate_hz, order, name)


@lru_cache(maxsize=2)
def _choice(
    pieces: tuple[tuple[tuple[int, ...], bytes], ...], rate_hz: float, order: int, name: str
) -> CutoffChoice:
    """The choice for pieces of a log, by shape and content: several steps look at the same."""
    q, *others = (np.frombuffer(content).reshape(shape) for shape, content in pieces)
    n = len(q)
    if n < FEWEST_SAMPLES:
        raise SignalError(
            f"log '{name}': an automatic cutoff needs at least {FEWEST_SAMPLES} samples, not {n}; "
            "give cutoff_hz as a number, or None for no filter"
        )
    n_window, frequency, splits = _spectra([q, *others], rate_hz)
    # a filter that settles within a quarter of the window leaves half of it after trimming
    lowest = 4.0 * settling_time_s(1.0, order) / (n_window / rate_hz)
    cutoffs = np.geomspace(min(lowest, 0.2 * rate_hz), HIGHEST * rate_hz, 300)
    bins = _fine_bins(frequency)
    count = np.diff([*bins, len(frequency)])
    centre = np.add.reduceat(frequency, bins) / count
    passed = np.array([gain(centre, cutoff, order, rate_hz) for cutoff in cutoffs])
    stopped2, passed2 = (1.0 - passed) ** 2, passed**2
    log_error: list[Array] = []
    noise: list[float] = []
    for motion, level in splits:
        weight = (2.0 * np.pi * frequency) ** 4
        energy = float(np.sum(weight * motion))
        noise.append(float(np.sqrt(level)) if energy > 0 else float("nan"))
        if energy <= 0:
            continue
        lost, let_in = (np.add.reduceat(weight * one, bins) for one in (motion, level))
        error = stopped2 @ lost + passed2 @ let_in
        # a signal without any noise would give the logarithm of zero
        log_error.append(0.5 * np.log(np.maximum(error / energy, 1e-30)))
    if not log_error:
        raise SignalError(
            f"log '{name}': no joint moves enough to choose a cutoff from its positions; "
            "give cutoff_hz as a number, or None for no filter"
        )
    # the geometric mean keeps a single noisy joint from deciding for all
    error = np.exp(np.mean(log_error, axis=0))
    best = int(np.argmin(error))
    tolerated = max(TOLERATED_GROWTH * error[best], TOLERATED_ERROR)
    bandwidth = _bandwidth(frequency, splits)
    ceiling = max(BANDWIDTHS * bandwidth, cutoffs[best])
    chosen = int(np.flatnonzero((error <= tolerated) & (cutoffs <= ceiling))[-1])
    return CutoffChoice(
        cutoff_hz=float(cutoffs[chosen]),
        relative_error=float(error[chosen]),
        least_error_hz=float(cutoffs[best]),
        least_error=float(error[best]),
        bandwidth_hz=float(bandwidth),
        noise=tuple(noise),
    )


def at_recorded_rate(q: Array, rate_hz: float, recorded_hz: float | None) -> tuple[Array, float]:
    """Signals (n_samples, k) at the rate at which they were sampled, and that rate (Hz).

    recorded_hz : of the sampling, before the signals were interpolated to ``rate_hz``; None or a
        higher rate leaves them as they are. Interpolated samples hold no noise of their own: the
        spectrum above the recorded rate would be taken for that of a sensor without noise.
    """
    if recorded_hz is None or recorded_hz >= rate_hz or q.size == 0:
        return q, rate_hz
    time = np.arange(len(q)) / rate_hz
    # half a sample of slack, since the rate of stamps is known only so well
    n = int(np.floor((time[-1] + 0.5 / rate_hz) * recorded_hz)) + 1
    at = np.arange(n) / recorded_hz
    return np.column_stack([np.interp(at, time, x) for x in q.T]), recorded_hz


BLACKMAN_HARRIS = (0.35875, 0.48829, 0.14128, 0.01168)
"""Weights of the cosines of the four-term window."""


Split = tuple[Array, float]
"""The motion's part S (n_frequencies,) of a power spectrum, and its noise N."""


def _spectra(pieces: Sequence[Array], rate_hz: float) -> tuple[int, Array, list[Split]]:
    """Samples of a window, frequencies (Hz), and the split spectrum of every signal of pieces
    (n_samples, k), from windows as long as they can be without losing the motion.

    A log no longer than `LONGEST_WINDOW_S` that does not repeat itself often is one window.
    """
    n_samples = min(len(piece) for piece in pieces)
    shortest = max(FEWEST_SAMPLES, SHORTEST_WINDOW_S * rate_hz)
    longest = max(LONGEST_WINDOW_S * rate_hz, shortest)
    n_windows = max(1, math.ceil(2 * n_samples / longest) - 1)
    tried: list[tuple[float, int, Array, list[Split]]] = []
    while not tried or _window_length(n_samples, n_windows) >= shortest:
        n = _window_length(n_samples, n_windows)
        frequency = np.asarray(np.fft.rfftfreq(n, 1.0 / rate_hz), dtype=float)
        most = max(1, MOST_WINDOWS // len(pieces))
        starts = np.linspace(0, n_samples - n, min(n_windows, most)).round().astype(int).tolist()
        windows = [piece[k : k + n] for piece in pieces for k in starts]
        splits = [
            split_spectrum(np.array([one[:, j] for one in windows]), frequency)
            for j in range(pieces[0].shape[1])
        ]
        tried.append((_bandwidth(frequency, splits), n, frequency, splits))
        n_windows = 2 * n_windows + 1  # half as long
    resolved = [width for width, _, bins, _ in tried[1:] if width >= RESOLVED_BINS * bins[1]]
    needed = max(resolved, default=0.0) / LOST_SHARE
    return next(one for one in tried if one[0] >= needed)[1:]


def _window_length(n_samples: int, n_windows: int) -> int:
    """Samples of each of so many windows that overlap by half and cover all samples."""
    return 2 * n_samples // (n_windows + 1)


def _bandwidth(frequency: Array, splits: list[Split]) -> float:
    """Frequency (Hz) below which 99 % of the energy of every velocity lies."""
    bandwidth = 0.0
    for motion, _ in splits:
        speed = np.cumsum(frequency**2 * motion)
        if speed[-1] > 0.0:
            last = np.searchsorted(speed, MOTION_SHARE * speed[-1])
            bandwidth = max(bandwidth, float(frequency[last]))
    return bandwidth


def split_spectrum(windows: Array, frequency: Array) -> Split:
    """The motion's part S of the mean power spectrum of windows (n_windows, n) of one signal, and
    its noise N.

    Both are scaled so that white noise of variance s² has N = s². The linear trend is removed
    and a four-term Blackman-Harris window applied, whose side lobes (-92 dB) do not hide the
    noise floor, even if the motion does not end where it began.
    """
    power = np.mean([_power(x) for x in windows], axis=0)
    if not power.any():
        return power, 0.0
    edges = _band_edges(len(frequency))
    bands = list(pairwise(edges))
    # power in a band is distributed exponentially, with the median log(2) times the mean; a mean
    # of several has a gamma distribution
    n_windows = len(windows)
    share = np.log(2.0) if n_windows == 1 else 1.0 - 1.0 / (3.0 * n_windows)
    level = np.array([np.median(power[a:b]) for a, b in bands]) / share
    centre = np.array([np.sqrt(frequency[a] * frequency[b - 1]) for a, b in bands])
    acceleration = level * centre**4
    valley = len(bands) - 1
    for band in range(len(bands) - 1, -1, -1):
        if acceleration[band] < acceleration[valley]:
            valley = band
        elif acceleration[band] > CLIMB * acceleration[valley]:
            break
    above = (centre >= centre[valley]) & (centre <= 4.0 * centre[valley])
    noise = float(np.mean(level[above]))
    is_motion = (frequency <= centre[valley]) & (power > STANDS_OUT * noise)
    return np.where(is_motion, power - noise, 0.0), noise


def _power(x: Array) -> Array:
    """The power spectrum of one window (n,)."""
    window = _window(len(x))
    span = np.linspace(-1.0, 1.0, len(x))
    line = np.polynomial.polynomial.polyfit(span, x, 1)
    wave = x - line[0] - line[1] * span
    if np.max(np.abs(wave)) <= 1e-12 * np.max(np.abs(x)):  # rounding errors, not motion
        return np.zeros(len(x) // 2 + 1)
    return np.asarray(np.abs(np.fft.rfft(window * wave)) ** 2 / np.sum(window**2))


@lru_cache(maxsize=4)
def _window(n: int) -> Array:
    """The four-term Blackman-Harris window (n,), which all signals of a log share."""
    turn = np.linspace(-np.pi, np.pi, n)
    return np.asarray(sum(weight * np.cos(k * turn) for k, weight in enumerate(BLACKMAN_HARRIS)))


def _band_edges(n: int) -> list[int]:
    """Edges of bands 25 % wide (but at least four bins), from the fourth bin to the last."""
    edges = [4]
    while edges[-1] < n:
        edges.append(max(int(np.ceil(1.25 * edges[-1])), edges[-1] + 4))
    edges[-1] = n
    if len(edges) > 2 and edges[-1] - edges[-2] < 4:
        del edges[-2]
    return edges


def _fine_bins(frequency: Array) -> NDArray[np.int64]:
    """Starts of bins 1 % wide (but at least one frequency), for sums over the spectrum."""
    starts, width = [0], 1.0
    while starts[-1] + max(int(width), 1) < len(frequency):
        starts.append(starts[-1] + max(int(width), 1))
        width = 0.01 * starts[-1]
    return np.array(starts)
