"""The description of a log from the columns that a reader has found."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from steelyard._files.limits import LARGEST_SIGNAL
from steelyard.errors import LogError, shown
from steelyard.logs.columns import LogColumn
from steelyard.logs.description import Key, LogDescription
from steelyard.logs.frame_columns import FRAME_QUANTITIES, frame_column_name

Array = NDArray[np.float64]


def assemble(
    found: Iterable[tuple[str, LogColumn, Array]],
    name: str,
    source: str | None,
    ignored: tuple[str, ...],
) -> LogDescription:
    """The content of these columns: names in the file, what they hold, and values as in the file.

    A stamp in seconds and nanoseconds counts from its first second, since the time since 1970
    is too large a number to keep nanoseconds. Without time, the number of each row stands for it.
    """
    where = f"log '{name}'" if source is None else f"'{source}'"
    times: dict[str, Array] = {}
    signals: dict[Key, Array] = {}
    units: dict[Key, str] = {}
    columns: dict[Key, str] = {}
    components: dict[tuple[str, str, str], tuple[str, Array]] = {}
    for title, column, values in found:
        if column.quantity == "seconds":
            with np.errstate(invalid="ignore"):  # infinite stamps are refused below
                values = values - values[:1]
        scaled = values if column.factor == 1.0 else values * column.factor
        _refuse_huge(scaled, title, where)
        if column.is_time:
            times[column.quantity] = scaled
            continue
        key = (column.joint, column.quantity)
        component = (column.frame, column.quantity, column.axis)
        if key in signals or component in components:
            other = columns[key] if column.joint else components[component][0]
            raise LogError(f"{where}: {shown(other)} and {shown(title)} both give {column.words}")
        if column.axis:
            components[component] = (title, scaled)
            continue
        signals[key], columns[key] = scaled, title
        if column.unit:
            units[key] = column.unit
    parts = list(times.values())
    if len({len(part) for part in parts}) > 1:
        raise LogError(f"{where}: seconds and nanoseconds have different numbers of samples")
    if not parts:
        columns_read = [*signals.values(), *(values for _, values in components.values())]
        parts = [np.arange(len(columns_read[0]), dtype=float)]
    time = np.sum(parts, axis=0) if len(parts) > 1 else parts[0]
    frame_signals, lacking, unused = _vectors(components, where)
    return LogDescription(
        time, signals, name, source, units, (*ignored, *unused), columns, frame_signals, lacking
    )


def _refuse_huge(values: Array, title: str, where: str) -> None:
    """Refuse numbers (in SI units) whose squares would overflow; a missing one is NaN."""
    huge = np.flatnonzero(np.isfinite(values) & (np.abs(values) > LARGEST_SIGNAL))
    if len(huge):
        row = int(huge[0])
        raise LogError(
            f"{where}: column {shown(title)} is {values[row]:g} in SI units at sample {row + 1}; "
            f"at most {LARGEST_SIGNAL:g} is read; leave a cell empty where there is no value"
        )


def _vectors(
    components: dict[tuple[str, str, str], tuple[str, Array]], where: str
) -> tuple[dict[Key, Array], dict[Key, tuple[str, ...]], list[str]]:
    """Quantities of frames whose axes are all there; the axes that others lack, and the columns
    that these have.
    """
    vectors: dict[Key, Array] = {}
    lacking: dict[Key, tuple[str, ...]] = {}
    unused: list[str] = []
    for frame, quantity in dict.fromkeys((frame, quantity) for frame, quantity, _ in components):
        found = {
            axis: components[frame, quantity, axis]
            for axis in FRAME_QUANTITIES[quantity]
            if (frame, quantity, axis) in components
        }
        if len(found) < len(FRAME_QUANTITIES[quantity]):
            lacking[frame, quantity] = tuple(
                axis for axis in FRAME_QUANTITIES[quantity] if axis not in found
            )
            unused += [title for title, _ in found.values()]
            continue
        lengths = {axis: len(values) for axis, (_, values) in found.items()}
        if len(set(lengths.values())) > 1:
            counts = ", ".join(
                f"{frame_column_name(frame, quantity, axis)} {n}" for axis, n in lengths.items()
            )
            raise LogError(f"{where}: columns have different numbers of samples: {counts}")
        vectors[frame, quantity] = np.column_stack([values for _, values in found.values()])
    return vectors, lacking, unused
