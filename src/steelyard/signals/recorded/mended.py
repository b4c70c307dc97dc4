"""Signals with what is wrong in them left out, taken back or interpolated, before they are used.

- single samples far from their neighbours: left out (`steelyard.signals.outliers`);
- slips of an encoder: taken back, so that all positions count from the zero of the first sample;
- positions and torques that stand still or are cut off while the robot moves: left out;
- signals that are updated less often than rows are written: a spline through their new values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from steelyard.signals.recorded.clipped import clipped_rows
from steelyard.signals.recorded.held import between_updates, held_signals
from steelyard.signals.recorded.jumps import FEWEST_SAMPLES, Slips, without_slips
from steelyard.signals.recorded.recorded import USED, Recorded
from steelyard.signals.recorded.stuck import dead_throughout, frozen_of

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Key = tuple[str, str]

MOST_LEFT_OUT = 0.9
"""A position of which more than this share would be left out is used as it is."""


@dataclass(frozen=True, eq=False)
class Mended:
    """The signals of a log as they are used.

    signals : joint and quantity -> (n_samples,), with NaN in the place of outliers.
    stuck : joint and quantity -> (n_samples,) samples that stand still or are cut off; they are
        still in ``signals``. slips : by joint, taken back in ``signals``.
    held : joint and quantity of those that are interpolated between new values.
    """

    signals: Mapping[Key, Array]
    stuck: Mapping[Key, Mask] = field(default_factory=dict)
    slips: Mapping[str, Slips] = field(default_factory=dict)
    held: tuple[Key, ...] = ()


def mended(recorded: Recorded) -> Mended:
    """The signals of a log without what can be mended in them."""
    if len(recorded) < FEWEST_SAMPLES or not recorded.joints:
        return Mended(recorded.signals)
    recorded, slips = without_slips(recorded)
    signals = dict(recorded.signals)
    stuck = stuck_samples(recorded)
    held = tuple((joint, name) for name in USED for joint in held_signals(recorded, name))
    for key in held:
        signals[key] = between_updates(recorded.time, signals[key])
    return Mended(signals, stuck, slips, held)


def stuck_samples(recorded: Recorded) -> dict[Key, Mask]:
    """Samples (n_samples,) of positions and torques that stand still or are cut off, and are
    therefore left out.
    """
    found: dict[Key, Mask] = {}
    for joint, quantity, x in recorded.used:
        frozen = frozen_of(recorded, joint.name, quantity, x)
        if frozen is not None and frozen.throughout:
            # a torque of zero is that of a channel that is dead; other constants may be true
            if quantity == "torque" and dead_throughout(recorded, joint.name, frozen.value):
                found[joint.name, quantity] = frozen.mask
            continue
        mask = np.zeros(len(x), bool) if frozen is None else frozen.mask
        mask[clipped_rows(recorded, joint.name, quantity, x)] = True
        if mask.any() and (quantity == "torque" or np.mean(mask) <= MOST_LEFT_OUT):
            found[joint.name, quantity] = mask
    return found


def without_stuck(
    signals: Mapping[Key, Array], stuck: Mapping[Key, Mask]
) -> tuple[dict[Key, Array], dict[Key, Mask]]:
    """The signals (n_samples,) without stuck samples, and the masks of torques that are left out.

    Positions are NaN there, so that the log is cut. Torques are interpolated, so that it is not;
    a torque that is stuck throughout is taken away, unless all are.
    """
    kept, wrong = dict(signals), {}
    torques = [key for key in signals if key[1] == "torque"]
    whole = [key for key in torques if key in stuck and stuck[key].all()]
    for key, mask in stuck.items():
        values = signals[key]
        if key[1] == "position":
            kept[key] = np.where(mask, np.nan, values)
        elif key in whole:
            if len(whole) < len(torques):
                del kept[key]
        else:
            good = np.flatnonzero(~mask & np.isfinite(values))
            if len(good):
                bridged = np.interp(np.flatnonzero(mask), good, values[good])
                kept[key] = values.copy()
                kept[key][mask] = bridged
                wrong[key] = mask
    return kept, wrong
