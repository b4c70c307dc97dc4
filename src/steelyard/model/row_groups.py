"""Errors of the rows of a floating robot by unit: base force (N), base torque (N m), joints.

A norm over all rows adds N to N m: the weight of the robot decides it. Errors of the groups, each a
share of its own group, do not depend on that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Protocol

from steelyard.model.mechanism import BASE_WRENCH

JOINTS = "joint torques"


class RowError(Protocol):
    """Error and torque (rms) of one torque row, over its samples that were measured."""

    @property
    def name(self) -> str:
        """Name of the row, as in ``Model.channels``."""
        ...

    @property
    def n_rows(self) -> int:
        """Samples that were measured."""
        ...

    @property
    def rms(self) -> float:
        """Root mean square of the error, N or N m."""
        ...

    @property
    def torque_rms(self) -> float:
        """Root mean square of what was measured."""
        ...


def group_of(channel: str) -> str:
    """The group of a torque row: "base force", "base torque" or "joint torques"."""
    if channel not in BASE_WRENCH:
        return JOINTS
    return "base force" if BASE_WRENCH.index(channel) < 3 else "base torque"


def errors_by_group(rows: Iterable[RowError]) -> dict[str, float]:
    """|error| / |torque| of each group that was measured; of a fixed base there is one group."""
    squares: dict[str, tuple[float, float]] = {}
    for row in rows:
        if row.n_rows:
            error, size = squares.get(group_of(row.name), (0.0, 0.0))
            squares[group_of(row.name)] = (
                error + row.n_rows * row.rms**2,
                size + row.n_rows * row.torque_rms**2,
            )
    return {
        name: math.sqrt(error / size) if size > 0.0 else math.nan
        for name, (error, size) in squares.items()
    }


def balanced_error(rows: Iterable[RowError]) -> float:
    """Root mean square of the groups' relative errors, so that every group counts alike."""
    errors = [one for one in errors_by_group(rows).values() if not math.isnan(one)]
    return math.sqrt(sum(one**2 for one in errors) / len(errors)) if errors else math.nan


def group_words(rows: Iterable[RowError]) -> str:
    """The errors of the groups in words; empty where there is one group."""
    errors = errors_by_group(rows)
    if len(errors) < 2:
        return ""
    return ", ".join(f"{name} {error:.2%}" for name, error in errors.items())
