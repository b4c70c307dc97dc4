"""The description of a log from the columns that a reader has found."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError, shown
from steelyard.logs.columns import LogColumn
from steelyard.logs.description import Key, LogDescription

Array = NDArray[np.float64]


def assemble(
    found: Iterable[tuple[str, LogColumn, Array]],
    name: str,
    source: str | None,
    ignored: tuple[str, ...],
) -> LogDescription:
    """The content of these columns: names in the file, what they hold, and values as in the file.

    A stamp in seconds and nanoseconds counts from its first second, since the time since 1970
    is too large a number to keep nanoseconds.
    """
    where = f"log '{name}'" if source is None else f"'{source}'"
    times: dict[str, Array] = {}
    signals: dict[Key, Array] = {}
    units: dict[Key, str] = {}
    columns: dict[Key, str] = {}
    for title, column, values in found:
        if column.quantity == "seconds":
            with np.errstate(invalid="ignore"):  # infinite stamps are refused below
                values = values - values[:1]
        scaled = values if column.factor == 1.0 else values * column.factor
        if not column.joint:
            times[column.quantity] = scaled
            continue
        key = (column.joint, column.quantity)
        if key in signals:
            raise LogError(
                f"{where}: {shown(columns[key])} and {shown(title)} both give the "
                f"{column.quantity} of {shown(column.joint)}"
            )
        signals[key], columns[key] = scaled, title
        if column.unit:
            units[key] = column.unit
    parts = list(times.values())
    if len({len(part) for part in parts}) > 1:
        raise LogError(f"{where}: seconds and nanoseconds have different numbers of samples")
    time = np.sum(parts, axis=0) if len(parts) > 1 else parts[0]
    return LogDescription(time, signals, name, source, units, ignored, columns)
