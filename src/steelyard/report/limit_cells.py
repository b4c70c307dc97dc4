"""Bounds on a motion beside limits, as cells of a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.excitation.extremes import Extremes, Quantity
from steelyard.excitation.limits import MotionLimits
from steelyard.model.model import Model
from steelyard.report.numbers import significant

RATES: tuple[Quantity, ...] = ("velocity", "acceleration", "jerk")
BOUNDED = ("position", *RATES, "torque")
"""What the cells of a row are of."""
UNITS = {"rad": ("rad", "rad/s", "rad/s²", "rad/s³"), "m": ("m", "m/s", "m/s²", "m/s³")}


@dataclass(frozen=True)
class LimitCell:
    """A proven bound and its limit, as a table shows them; used : share of the limit, or None."""

    text: str
    used: float | None

    @property
    def percent(self) -> str:
        """The share of the limit in per cent, never rounded to 100 % from below."""
        if self.used is None:
            return ""
        shown = math.floor(1000.0 * self.used) / 10.0 if self.used < 1.0 else 100.0 * self.used
        return f"{shown:.5g} %"

    @property
    def width(self) -> float:
        """Width of its bar, per cent."""
        return 0.0 if self.used is None else min(100.0, round(100.0 * self.used, 1))


def bound_rows(
    model: Model, limits: MotionLimits, extremes: Extremes, torques: Sequence[float]
) -> list[tuple[str, list[LimitCell]]]:
    """Per joint: bounds of position, velocity, acceleration, jerk and torque.

    torques : (n_joints,) of the absolute values, N m or N, joints as in the model; infinite where
    nothing is known.
    """
    rows = []
    for k, joint in enumerate(model.channels):
        j, p = limits.joints.index(joint), extremes.joints.index(joint)
        units = UNITS["m" if model.robot.joint(joint).kind == "prismatic" else "rad"]
        low, high = float(extremes.lower[p]), float(extremes.upper[p])
        middle, half = float(limits.middle[j]), float(limits.half_range[j])
        cells = [
            LimitCell(
                f"{significant(low)} to {significant(high)} of {significant(limits.lower[j])} to "
                f"{significant(limits.upper[j])} {units[0]}",
                max(high - middle, middle - low) / half,
            )
        ]
        for number, quantity in enumerate(RATES, start=1):
            bound, limit = float(extremes.of(quantity)[p]), float(limits.of(quantity)[j])
            cells.append(limit_cell(bound, limit, units[number]))
        limit = float(limits.torque[j])
        cells.append(limit_cell(float(torques[k]), limit, model.channel_units[k]))
        rows.append((joint, cells))
    return rows


def limit_cell(bound: float, limit: float, unit: str) -> LimitCell:
    """One bound beside its limit, where there is one."""
    shown = significant(bound) if math.isfinite(bound) else "not proven"
    if not math.isfinite(limit):
        return LimitCell(f"{shown} {unit}, no limit" if math.isfinite(bound) else shown, None)
    used = bound / limit if math.isfinite(bound) else None
    return LimitCell(f"{shown} of {significant(limit)} {unit}", used)
