"""The header of a log: what each column holds, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steelyard.errors import LogError, did_you_mean, quoted_list, shown
from steelyard.logs._frame_context import with_context
from steelyard.logs.columns import TIME_NAMES, LogColumn, parse_column
from steelyard.logs.frame_columns import frame_column_name
from steelyard.logs.likely_names import likely_quantity, map_option
from steelyard.logs.renaming import NamedColumn, renamed

Columns = tuple[LogColumn | None, ...]


def parse_header(
    names: Sequence[str],
    where: str,
    columns: Mapping[str, str] | None = None,
    *,
    count_rows: bool = False,
) -> tuple[Columns, tuple[str, ...]]:
    """One entry per column (None: not known), and the names of those ignored.

    columns : which column holds which signal, where the names do not tell.
    count_rows : whether there may be no time, so that the rows are counted instead.

    Refuses a header without time, without any signal, or with two columns for the same
    signal; ``where`` (the file) starts each message.
    """
    named = renamed(names, columns, where)
    found = recognised(named, where, names, count_rows=count_rows)
    if all(column is None or column.is_time for column in found):
        raise LogError(
            f"{where}: no column is named like elbow.position[rad], elbow.torque[N*m], q1 or "
            f"wrist.force_x[N]; the columns are {quoted_list(names)}{_nearly_named(names)}"
        )
    pairs = zip(names, found, strict=True)
    return found, tuple(name for name, column in pairs if column is None)


def recognised(
    named: Sequence[NamedColumn], where: str, names: Sequence[str], *, count_rows: bool = False
) -> Columns:
    """One entry per column, time among them; a column that the user names goes before others.

    names : of all columns of the file, for messages. count_rows : whether time may be missing.
    """
    meanings = [one.meaning for one in named]
    columns = with_context([parse_column(name, where) for name in meanings], meanings, where)
    stated = {
        column.key
        for one, column in zip(named, columns, strict=True)
        if column is not None and one.stated
    }
    for index, (one, column) in enumerate(zip(named, columns, strict=True)):
        if column is not None and not one.stated and column.key in stated:
            columns[index] = None
    has_time = any(column is not None and column.quantity == "time" for column in columns)
    stamps = {column.quantity for column in columns if column is not None and column.is_time}
    if has_time or not {"seconds", "nanoseconds"} <= stamps:
        columns = [None if _is_stamp(column) else column for column in columns]
    _refuse_repeats(named, columns, where)
    if not count_rows and not any(column is not None and column.is_time for column in columns):
        raise LogError(_no_time(names, where))
    return tuple(columns)


def _is_stamp(column: LogColumn | None) -> bool:
    return column is not None and column.quantity in ("seconds", "nanoseconds")


def _refuse_repeats(
    named: Sequence[NamedColumn], columns: Sequence[LogColumn | None], where: str
) -> None:
    seen: dict[tuple[str, ...], str] = {}
    for one, column in zip(named, columns, strict=True):
        if column is None:
            continue
        key = column.key
        if key in seen:
            signal = f"{column.joint}.{column.quantity}" if column.joint else "time"
            if column.axis:
                signal = frame_column_name(column.frame, column.quantity, column.axis)
            choice = f"choose one with {map_option(signal, seen[key])}"
            if seen[key] == one.source:
                choice = "give them different names"
            raise LogError(
                f"{where}: columns {shown(seen[key])} and {shown(one.source)} both give "
                f"{column.words}; {choice}"
            )
        seen[key] = one.source


def _no_time(names: Sequence[str], where: str) -> str:
    close = next((hint for name in names[:1000] if (hint := _like_time(name))), "")
    return (
        f"{where}: no time column; the columns are {quoted_list(names)}; one must be named time, "
        f"time[ms] or time[us]{close}, or be named with --map time=COLUMN; a table of poses at "
        "rest needs none with --at-rest (in Python, read_log with count_rows=True)"
    )


def _like_time(name: str) -> str:
    close = did_you_mean(name.strip().lower(), ("time", "timestamp"))
    return f" ({shown(name)} is not{close})" if close and name.lower() not in TIME_NAMES else ""


def _nearly_named(names: Sequence[str]) -> str:
    """What to type for the first column that looks like a signal."""
    for name in names[:1000]:
        quantity = likely_quantity(name)
        if quantity is not None:
            option = map_option(f"JOINT.{quantity}", name)
            return f"; {shown(name)} looks like a {quantity}: name it with {option}"
    return "; name them with --map JOINT.position=COLUMN"
