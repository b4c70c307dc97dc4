"""Torques that were recorded late: read at the moments at which they acted."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import SignalError, listed
from steelyard.signals._timebase import HOLE_PERIODS
from steelyard.signals.processing import Processing

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Key = tuple[str, str]


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
    time: Array, signals: Mapping[Key, Array], delays: Mapping[str, float], max_gap_s: float
) -> dict[Key, Array]:
    """The signals, by joint and quantity, with each late torque at time + delay.

    time : (n,) s. NaN where nothing was recorded at that moment: before the first and after the
    last sample, beside samples that are missing, and in holes of the recording.
    """
    out = dict(signals)
    for joint, delay in delays.items():
        values = signals.get((joint, "torque"))
        if values is not None:
            out[joint, "torque"] = read_at(time, values, time + delay, max_gap_s)
    return out


def undelayed_masks(
    time: Array, masks: Mapping[Key, Mask], delays: Mapping[str, float]
) -> dict[Key, Mask]:
    """Masks (n,) of torque samples, as `undelayed` moves the samples: true beside any that is."""
    return {
        (joint, quantity): np.interp(time + delays.get(joint, 0.0), time, mask.astype(float)) > 0.0
        for (joint, quantity), mask in masks.items()
    }


def read_at(time: Array, values: Array, when: Array, max_gap_s: float) -> Array:
    """Values (n,) recorded at ``time``, at other moments, by a cubic spline; see `undelayed`."""
    from scipy.interpolate import CubicSpline

    known = np.isfinite(values)
    if np.count_nonzero(known) < 4:
        return np.full(len(when), np.nan)
    out = np.asarray(CubicSpline(time[known], values[known])(when))
    # a moment that is a stamp but for rounding needs this sample alone
    slack = 1e-6 * float(np.median(np.diff(time)))
    before = np.clip(np.searchsorted(time, when + slack, side="right") - 1, 0, len(time) - 1)
    after = np.clip(np.searchsorted(time, when - slack, side="left"), 0, len(time) - 1)
    hole = max(HOLE_PERIODS * float(np.median(np.diff(time))), max_gap_s)
    lost = ~known[before] | ~known[after] | (time[after] - time[before] > hole)
    lost |= (when < time[0] - slack) | (when > time[-1] + slack)
    return np.where(lost, np.nan, out)
