"""Positions, velocities and accelerations from the signals on one uniform time base."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.signals._timebase import TimeBase
from steelyard.signals.derivatives import differentiate
from steelyard.signals.filters import low_pass
from steelyard.signals.processing import Processing

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Kinematics:
    """q, v, a : (n_samples, n_joints) rad or m, and its derivatives with respect to time.

    velocity_from, acceleration_from : how those of each joint were obtained, as text.
    """

    q: Array
    v: Array
    a: Array
    velocity_from: dict[str, str]
    acceleration_from: dict[str, str]


def smooth(
    x: Array, base: TimeBase, cutoff: float | None, processing: Processing, name: str
) -> Array:
    """``x`` (n_samples, ...) filtered and smoothed as positions are."""
    if cutoff is not None:
        x = low_pass(x, cutoff, processing.filter_order, base.rate_hz, name)
    if processing.derivative == "savgol":
        x = differentiate(x, 1.0 / base.rate_hz, 0, processing)
    return x


def kinematics(
    joints: tuple[str, ...],
    even: Mapping[tuple[str, str], Array],
    base: TimeBase,
    cutoff: float | None,
    processing: Processing,
    name: str,
) -> Kinematics:
    """Filtered positions and their derivatives, or measured ones where they are asked for."""
    period = 1.0 / base.rate_hz
    columns: list[tuple[Array, Array, Array]] = []
    velocity_from, acceleration_from = {}, {}

    def filtered(joint: str, quantity: str) -> Array:
        x = even[joint, quantity]
        if cutoff is None:
            return x
        return low_pass(x, cutoff, processing.filter_order, base.rate_hz, name)

    for joint in joints:
        q = filtered(joint, "position")
        if (joint, "velocity") in even:
            speed = filtered(joint, "velocity")
            v = differentiate(speed, period, 0, processing)
            velocity_from[joint] = "measured"
        else:
            v = differentiate(q, period, 1, processing)
            velocity_from[joint] = "derivative of the position"
        if processing.acceleration == "none":
            a = np.full_like(v, np.nan)
            acceleration_from[joint] = "not used"
        elif (joint, "acceleration") in even:
            a = differentiate(filtered(joint, "acceleration"), period, 0, processing)
            acceleration_from[joint] = "measured"
        elif (joint, "velocity") in even:
            a = differentiate(speed, period, 1, processing)
            acceleration_from[joint] = "derivative of the measured velocity"
        else:
            a = differentiate(q, period, 2, processing)
            acceleration_from[joint] = "second derivative of the position"
        columns.append((differentiate(q, period, 0, processing), v, a))
    if not joints:  # a floating body without joints
        none = np.zeros((len(base.grid), 0))
        return Kinematics(none, none, none, {}, {})
    q_all, v_all, a_all = (np.column_stack(part) for part in zip(*columns, strict=True))
    return Kinematics(q_all, v_all, a_all, velocity_from, acceleration_from)
