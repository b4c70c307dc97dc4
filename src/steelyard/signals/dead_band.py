"""The dead band: leave out torques at speeds too small to know the sign of Coulomb friction.

Near standstill sign(v) chatters with the noise, friction takes any value between its positive and
negative limit, and a filter smears the jump of the torque at a reversal: a few such rows bias
friction and inertia by more than their error bars. A torque is left out where a Coulomb term that
acts on it has a speed inside the band.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import SignalError
from steelyard.model.model import Model
from steelyard.signals._pieces import gaps
from steelyard.signals.motion import Measurements, Motion
from steelyard.signals.processing import DeadBand
from steelyard.signals.run_record import DeadBandRecord
from steelyard.signals.term_speeds import term_speeds, usual_or_rms

Mask = NDArray[np.bool_]

SHARE_OF_SPEED = 0.1
"""Dead band "tenth" of a Coulomb term, as a share of the root mean square of its speed."""
REST_SHARE = 0.02
"""A joint is at rest if it stays below this share of its rms speed ..."""
REST_S = 0.25
"""... for at least this long (s)."""
UNSURE = 3.0
"""Speeds below this many times their uncertainty may have any sign. On an arm of MuJoCo that sticks
for milliseconds, 1 still takes sticking for a width of friction; from 2 on it is none."""


def without_slow_torques(
    model: Model,
    motion: Motion,
    measurements: Measurements,
    dead_band: DeadBand,
    usual: Mapping[str, float] | None = None,
) -> tuple[Measurements, DeadBandRecord]:
    """Measurements with NaN inside the dead band, and a record of what was left out.

    The dead band applies to the Coulomb terms of the model, which may act along a coupling;
    ``"tenth"`` is a tenth of the root mean square of each term's speed; ``"rest"`` leaves out only
    torques of joints that stand still for a while, and so does ``"auto"``.

    usual : rms speed by owner of the term, where the motion is a part of a longer one.
    """
    bands = dead_bands(model, motion, dead_band, usual)
    used = apply_dead_band(model, motion, measurements, bands)
    if dead_band in ("rest", "auto"):
        used = _without_rest(model, motion, measurements, usual)
    before, after = (np.isnan(given.tau).sum(axis=0) for given in (measurements, used))
    left_out = {name: int(count) for name, count in zip(used.channels, after - before, strict=True)}
    return used, DeadBandRecord(dead_band, bands, left_out)


def error_band(
    model: Model,
    motion: Motion,
    measurements: Measurements,
    used: DeadBandRecord,
    usual: Mapping[str, float] | None = None,
) -> tuple[Measurements, dict[str, float]]:
    """Measurements outside the dead band, and its speeds; a tenth of the rms speed without one."""
    bands = dict(used.speeds)
    if not any(bands.values()):
        bands = dead_bands(model, motion, "tenth", usual)
    return apply_dead_band(model, motion, measurements, bands), bands


def dead_bands(
    model: Model, motion: Motion, dead_band: DeadBand, usual: Mapping[str, float] | None = None
) -> dict[str, float]:
    """Dead band (rad/s or m/s) of each joint or coupling with Coulomb friction."""
    if isinstance(dead_band, Mapping):
        return {name: float(band) for name, band in dead_band.items()}
    owners = [term.owner for term in model.jumping_terms]
    if dead_band in (None, "auto", "rest"):
        return dict.fromkeys(owners, 0.0)
    if dead_band != "tenth":
        return dict.fromkeys(owners, float(dead_band))
    rms = usual_or_rms(model, term_speeds(model, motion.v), usual)
    return dict(zip(owners, (SHARE_OF_SPEED * rms).tolist(), strict=True))


def _without_rest(
    model: Model, motion: Motion, measurements: Measurements, usual: Mapping[str, float] | None
) -> Measurements:
    """Measurements with NaN where a Coulomb term rests: friction may then have any value."""
    speeds = np.abs(term_speeds(model, motion.v))
    rests = speeds < REST_SHARE * usual_or_rms(model, speeds, usual)
    for slow in rests.T:
        for start, end in gaps(slow):
            if motion.time[end - 1] - motion.time[start] < REST_S:
                slow[start:end] = False
    return _without(model, measurements, rests)


def without_unsure_torques(
    model: Model, motion: Motion, other: Motion, measurements: Measurements, cutoff_hz: float
) -> Measurements:
    """Measurements with NaN where the speed of a Coulomb term is uncertain even in its sign.

    other : the same motion with another cutoff: how far its speeds differ, at most within half a
        period of the cutoff to either side, is what noise and filter do to them.
    """
    from scipy.ndimage import maximum_filter1d

    speeds = term_speeds(model, motion.v)
    half = math.ceil(0.5 / cutoff_hz / float(np.median(np.diff(motion.time))))
    differ = np.abs(speeds - term_speeds(model, other.v))
    uncertain = maximum_filter1d(differ, 2 * half + 1, axis=0)
    return _without(model, measurements, np.abs(speeds) < UNSURE * uncertain)


def _without(model: Model, measurements: Measurements, left_out: Mask) -> Measurements:
    """Measurements with NaN where a term that acts on them is left out (n_samples, n_terms)."""
    tau = np.array(measurements.tau, dtype=float)
    columns = {name: column for column, name in enumerate(measurements.channels)}
    for term, rows in zip(model.jumping_terms, left_out.T, strict=True):
        for joint, _ in term.direction:
            if joint in columns:
                tau[rows, columns[joint]] = np.nan
    tau.setflags(write=False)
    return Measurements(measurements.channels, tau)


def apply_dead_band(
    model: Model,
    motion: Motion,
    measurements: Measurements,
    dead_band: float | Mapping[str, float],
) -> Measurements:
    """Measurements with NaN where a Coulomb term's speed |d·v| is below the band.

    dead_band : rad/s or m/s, for all or by the term's owner (a joint or a coupling); an owner
        that is not named has no band.
    """
    owners = [term.owner for term in model.jumping_terms]
    if isinstance(dead_band, Mapping):
        unknown = [name for name in dead_band if name not in owners]
        if unknown:
            raise SignalError(
                f"a dead band is given for {', '.join(unknown)}, but Coulomb friction acts on "
                f"{', '.join(owners) or 'nothing'}"
            )
        bands = {owner: float(dead_band.get(owner, 0.0)) for owner in owners}
    else:
        bands = {owner: float(dead_band) for owner in owners}
    for owner, band in bands.items():
        if not (np.isfinite(band) and band >= 0.0):
            raise SignalError(f"the dead band of '{owner}' must be a speed >= 0, not {band!r}")
    limits = np.array([bands[owner] for owner in owners])
    return _without(model, measurements, np.abs(term_speeds(model, motion.v)) < limits)
