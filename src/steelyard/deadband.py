"""Leave out torques at speeds where Coulomb friction has no sign.

Near standstill sign(v) chatters with the noise, and friction takes any value between its two
signs, while a filter smears the jump of the torque at a reversal: a few such rows bias friction
and inertia by more than their error bars. A torque row is dropped where a Coulomb term that acts
on it has a speed inside the band.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import SignalError
from steelyard.findings import Finding
from steelyard.model import Model
from steelyard.motion import Measurements, Motion
from steelyard.signals import DeadBand, Prepared
from steelyard.signals.prepare import dead_band_record

Array = NDArray[np.float64]

SHARE_OF_SPEED = 0.1
"""Automatic dead band of a Coulomb term, as a share of the root mean square of its speed."""

PERIODS_OF_SMEAR = 1.5
"""How far a filter smears a reversal to each side, in periods of its cutoff."""

SMEARED_SHARE = 0.2
"""Share of smeared torques from which friction is biased by more than its error bars."""


def leave_out_slow(model: Model, prepared: Prepared, dead_band: DeadBand) -> Prepared:
    """A run that was prepared without a dead band, with this one.

    The dead band belongs to the Coulomb terms of the model, which may act along a coupling;
    ``"auto"`` is a tenth of the root mean square of the speed that each of them sees.
    """
    bands = dead_bands(model, prepared.motion, dead_band)
    measurements = apply_dead_band(model, prepared.motion, prepared.measurements, bands)
    before, after = (
        np.isnan(given.tau).sum(axis=0) for given in (prepared.measurements, measurements)
    )
    entry = dead_band_record(dead_band, bands, measurements.channels, after - before)
    choices = prepared.record.get("processing")
    record = {
        **prepared.record,
        "processing": {
            **(choices if isinstance(choices, Mapping) else {}),
            "dead_band": entry["asked"],
        },
        "dead_band": entry,
        "torque_samples_missing": {
            name: int(count) for name, count in zip(measurements.channels, after, strict=True)
        },
    }
    return replace(prepared, measurements=measurements, record=record)


def dead_bands(model: Model, motion: Motion, dead_band: DeadBand) -> dict[str, float]:
    """Dead band (rad/s or m/s) of each joint or coupling with Coulomb friction."""
    coulomb = [term for term in model.terms if term.kind == "coulomb"]
    if isinstance(dead_band, Mapping):
        return {name: float(band) for name, band in dead_band.items()}
    if dead_band != "auto":
        return {term.owner: float(dead_band or 0.0) for term in coulomb}
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
    coulomb = [term for term in model.terms if term.kind == "coulomb"]
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
    return Measurements(measurements.channels, tau)


def smear_findings(model: Model, prepared: Prepared) -> tuple[Finding, ...]:
    """Say so where a filtered torque makes friction look other than it is.

    A low-pass filter smears the jump of the torque at a reversal over a time, while sign(v) in
    the model jumps at once. A dead band in speed removes little of it when the filter is slow.
    """
    choices, cutoff = prepared.record.get("processing"), prepared.record.get("cutoff_hz")
    filtered = isinstance(choices, Mapping) and choices.get("torque_filter") == "same"
    if not filtered or not isinstance(cutoff, float):
        return ()
    rows = {name: row for row, name in enumerate(model.channels)}
    time, v, measurements = prepared.motion.time, prepared.motion.v, prepared.measurements
    shares = {}
    for term in model.terms:
        if term.kind != "coulomb":
            continue
        speed = np.zeros(len(time))
        for joint, weight in term.direction:
            speed += weight * v[:, rows[joint]]
        near = near_reversal(time, speed, PERIODS_OF_SMEAR / cutoff)
        for joint, _ in term.direction:
            if joint in measurements.channels:
                used = np.isfinite(measurements.tau[:, measurements.channels.index(joint)])
                shares[joint] = float(np.mean(near[used])) if used.any() else 0.0
    worst = [name for name, share in shares.items() if share > SMEARED_SHARE]
    if not worst:
        return ()
    largest = max(worst, key=lambda name: shares[name])
    return (
        Finding(
            "warning",
            "friction-smeared",
            f"the {cutoff:.3g} Hz filter smears friction at reversals in "
            f"{100 * shares[largest]:.0f} % of the torques of {largest} ({len(worst)} of "
            f"{len(shares)} joints are above {100 * SMEARED_SHARE:.0f} %): their friction is "
            "biased by more than its error bars say; leave the torque unfiltered "
            "(torque_filter 'none') or raise the cutoff",
        ),
    )


def near_reversal(time: Array, speed: Array, smear_s: float) -> NDArray[np.bool_]:
    """Whether each sample lies within ``smear_s`` of a change of the speed's sign."""
    change = np.flatnonzero(np.sign(speed[1:]) != np.sign(speed[:-1]))
    if len(change) == 0:
        return np.zeros(len(time), dtype=bool)
    reversals = 0.5 * (time[change] + time[change + 1])
    after = np.searchsorted(reversals, time)
    previous = reversals[np.maximum(after - 1, 0)]
    following = reversals[np.minimum(after, len(reversals) - 1)]
    return np.minimum(np.abs(time - previous), np.abs(time - following)) <= smear_s
