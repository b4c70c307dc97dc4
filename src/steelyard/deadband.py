"""Leave out torques at speeds where Coulomb friction has no sign.

Near standstill sign(v) chatters with the noise, and friction takes any value between its two
signs. A torque row is dropped where a Coulomb term that acts on it has a speed inside the band.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steelyard.errors import SignalError
from steelyard.model import Model
from steelyard.motion import Measurements, Motion


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
