"""The dead band: leave out torques at speeds too small to know the sign of Coulomb friction.

Near standstill sign(v) chatters with the noise, friction takes any value between its positive and
negative limit, and a filter smears the jump of the torque at a reversal: a few such rows bias
friction and inertia by more than their error bars. A torque is left out where a Coulomb term that
acts on it has a speed inside the band.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import SignalError
from steelyard.model.model import Model
from steelyard.model.terms import Term
from steelyard.signals.motion import Measurements, Motion
from steelyard.signals.processing import DeadBand
from steelyard.signals.run_record import DeadBandRecord

Array = NDArray[np.float64]

SHARE_OF_SPEED = 0.1
"""Dead band "tenth" of a Coulomb term, as a share of the root mean square of its speed."""
REST_SHARE = 0.02
"""A joint is at rest if it stays below this share of its rms speed ..."""
REST_S = 0.25
"""... for at least this long (s)."""


def without_slow_torques(
    model: Model, motion: Motion, measurements: Measurements, dead_band: DeadBand
) -> tuple[Measurements, DeadBandRecord]:
    """Measurements with NaN inside the dead band, and a record of what was left out.

    The dead band applies to the Coulomb terms of the model, which may act along a coupling;
    ``"tenth"`` is a tenth of the root mean square of each term's speed; ``"rest"`` leaves out only
    torques of joints that stand still for a while, and so does ``"auto"``.
    """
    bands = dead_bands(model, motion, dead_band)
    used = apply_dead_band(model, motion, measurements, bands)
    if dead_band in ("rest", "auto"):
        used = _without_rest(model, motion, measurements)
    before, after = (np.isnan(given.tau).sum(axis=0) for given in (measurements, used))
    left_out = {name: int(count) for name, count in zip(used.channels, after - before, strict=True)}
    return used, DeadBandRecord(dead_band, bands, left_out)


def error_band(
    model: Model, motion: Motion, measurements: Measurements, used: DeadBandRecord
) -> tuple[Measurements, dict[str, float]]:
    """Measurements outside the dead band, and its speeds; a tenth of the rms speed without one."""
    bands = dict(used.speeds) if any(used.speeds.values()) else dead_bands(model, motion, "tenth")
    return apply_dead_band(model, motion, measurements, bands), bands


def dead_bands(model: Model, motion: Motion, dead_band: DeadBand) -> dict[str, float]:
    """Dead band (rad/s or m/s) of each joint or coupling with Coulomb friction."""
    coulomb = [term for term in model.terms if term.term_kind.jumps_at_zero_speed]
    if isinstance(dead_band, Mapping):
        return {name: float(band) for name, band in dead_band.items()}
    if dead_band in (None, "auto", "rest"):
        return {term.owner: 0.0 for term in coulomb}
    if dead_band != "tenth":
        return {term.owner: float(dead_band) for term in coulomb}
    speeds = [_speed(model, motion, term) for term in coulomb]
    return {
        term.owner: SHARE_OF_SPEED * float(np.sqrt(np.mean(speed**2)))
        for term, speed in zip(coulomb, speeds, strict=True)
    }


def _speed(model: Model, motion: Motion, term: Term) -> Array:
    """Speed (n_samples,) along a term's direction, rad/s or m/s."""
    rows = {name: row for row, name in enumerate(model.channels)}
    speed = np.zeros(len(motion))
    for joint, weight in term.direction:
        speed += weight * motion.v[:, rows[joint]]
    return speed


def _without_rest(model: Model, motion: Motion, measurements: Measurements) -> Measurements:
    """Measurements with NaN where a Coulomb term rests: friction may then have any value."""
    tau = np.array(measurements.tau, dtype=float)
    columns = {name: column for column, name in enumerate(measurements.channels)}
    for term in model.terms:
        if not term.term_kind.jumps_at_zero_speed:
            continue
        speed = np.abs(_speed(model, motion, term))
        slow = speed < REST_SHARE * float(np.sqrt(np.mean(speed**2)))
        edges = np.flatnonzero(np.diff(np.concatenate([[False], slow, [False]]).astype(np.int8)))
        for start, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            if motion.time[end - 1] - motion.time[start] >= REST_S:
                for joint, _ in term.direction:
                    if joint in columns:
                        tau[start:end, columns[joint]] = np.nan
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
    coulomb = [term for term in model.terms if term.term_kind.jumps_at_zero_speed]
    owners = [term.owner for term in coulomb]
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
    tau = np.array(measurements.tau, dtype=float)
    columns = {name: column for column, name in enumerate(measurements.channels)}
    for term in coulomb:
        slow = np.abs(_speed(model, motion, term)) < bands[term.owner]
        for joint, _ in term.direction:
            if joint in columns:
                tau[slow, columns[joint]] = np.nan
    tau.setflags(write=False)
    return Measurements(measurements.channels, tau)
