"""Torques that were recorded late: read at the moments at which they acted."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import SignalError, listed
from steelyard.signals._timebase import HOLE_PERIODS
from steelyard.signals.cubic_spline import cubic_spline
from steelyard.signals.processing import Processing

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
IntArray = NDArray[np.int64]
Key = tuple[str, str]

SLACK = 1e-6
"""Share of a period by which a moment may miss a stamp by rounding."""


def delays_of(processing: Processing, joints: tuple[str, ...], log: str) -> dict[str, float]:
    """Delay (s) of each joint's torque, without those that are zero; refuses unknown names.

    Which delays "auto" means is found by :func:`steelyard.identify`; here it means none.
    """
    given = processing.torque_delay
    if given is None or given == "auto":
        return {}
    if not isinstance(given, Mapping):
        given = dict.fromkeys(joints, float(given))
    unknown = [name for name in given if name not in joints]
    if unknown:
        raise SignalError(
            f"log '{log}': torque_delay names {listed(unknown)}, of which there is no torque; "
            f"joints are {listed(joints)}"
        )
    return {name: float(delay) for name, delay in given.items() if delay != 0.0}


def undelayed(
    time: Array,
    signals: Mapping[Key, Array],
    wrong: Mapping[Key, Mask],
    delays: Mapping[str, float],
    max_gap_s: float,
) -> tuple[dict[Key, Array], dict[Key, Mask]]:
    """The signals, by joint and quantity, with each late torque at time + delay.

    time : (n,) s. wrong : (n,) samples of some signals that are not to be used; it is returned for
    the same moments. NaN where nothing was recorded at that moment: before the first and after
    the last sample, beside samples that are missing, and in holes of the recording.
    """
    out, masks = dict(signals), dict(wrong)
    for joint, delay in delays.items():
        key = joint, "torque"
        if key in signals:
            out[key] = read_at(time, signals[key], time + delay, max_gap_s)
        if key in wrong:
            before, after = _around(time, time + delay)
            masks[key] = wrong[key][before] | wrong[key][after]
    return out, masks


def read_at(time: Array, values: Array, when: Array, max_gap_s: float) -> Array:
    """Values (n,) recorded at ``time``, at other moments, by a cubic spline; see `undelayed`."""
    known = np.isfinite(values)
    if np.count_nonzero(known) < 4:
        return np.full(len(when), np.nan)
    out = cubic_spline(time[known], values[known])(when)
    before, after = _around(time, when)
    period = float(np.median(np.diff(time)))
    lost = ~known[before] | ~known[after]
    lost |= time[after] - time[before] > max(HOLE_PERIODS * period, max_gap_s)
    lost |= (when < time[0] - SLACK * period) | (when > time[-1] + SLACK * period)
    return np.where(lost, np.nan, out)


def _around(time: Array, when: Array) -> tuple[IntArray, IntArray]:
    """The samples before and after each moment; the same one where it is a stamp but for
    rounding.
    """
    slack = SLACK * float(np.median(np.diff(time)))
    before = np.searchsorted(time, when + slack, side="right") - 1
    after = np.searchsorted(time, when - slack, side="left")
    return np.clip(before, 0, len(time) - 1), np.clip(after, 0, len(time) - 1)
