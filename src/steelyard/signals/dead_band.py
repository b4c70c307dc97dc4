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
from steelyard.signals.motion import Measurements, Motion
from steelyard.signals.processing import DeadBand
from steelyard.signals.run_record import DeadBandRecord

Array = NDArray[np.float64]

SHARE_OF_SPEED = 0.1
"""Automatic dead band of a Coulomb term, as a share of the root mean square of its speed."""


def without_slow_torques(
    model: Model, motion: Motion, measurements: Measurements, dead_band: DeadBand
) -> tuple[Measurements, DeadBandRecord]:
    """Measurements with NaN inside the dead band, and a record of what was left out.

    The dead band applies to the Coulomb terms of the model, which may act along a coupling;
    ``"tenth"`` is a tenth of the root mean square of each term's speed.
    """
    bands = dead_bands(model, motion, dead_band)
    used = apply_dead_band(model, motion, measurements, bands)
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
    if dead_band in (None, "auto"):
        return {term.owner: 0.0 for term in coulomb}
    if dead_band != "tenth":
        return {term.owner: float(dead_band) for term in coulomb}
    rows = {name: row for row, name in enumerate(model.channels)}
    bands = {}
    for term in coulomb:
        speed = np.zeros(len(motion))
        for joint, weight in term.direction:
            speed += weight * motion.v[:, rows[joint]]
        bands[term.owner] = SHARE_OF_SPEED * float(np.sqrt(np.mean(speed**2)))
    return bands


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
    rows = {name: row for row, name in enumerate(model.channels)}
    columns = {name: column for column, name in enumerate(measurements.channels)}
    for term in coulomb:
        speed = sum(weight * motion.v[:, rows[joint]] for joint, weight in term.direction)
        slow = np.abs(speed) < bands[term.owner]
        for joint, _ in term.direction:
            if joint in columns:
                tau[slow, columns[joint]] = np.nan
    tau.setflags(write=False)
    return Measurements(measurements.channels, tau)
