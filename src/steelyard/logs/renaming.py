"""Columns that the user names: which column of the file is which signal.

A mapping has signals and the columns that hold them: ``{"elbow.position[deg]": "PosElbow",
"time[ms]": "Zeit"}``. One ``*`` on both sides stands for the same text: ``{"tau*": "TorqueCur*"}``
names the columns of all joints.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from steelyard.errors import LogError, described, did_you_mean, quoted_list, shown
from steelyard.logs.columns import TIME_UNITS, UNITS, parse_column, parse_table, split_unit
from steelyard.logs.frame_columns import FRAME_UNITS

ColumnNames = Mapping[str, str] | Sequence[str]
"""Columns by signal, or the names of all columns of a file without a header line."""


@dataclass(frozen=True)
class NamedColumn:
    """A column of a file, and the name that tells what it holds.

    source : its name in the file. meaning : a name of the schema, where the user has stated
    one; otherwise the same.
    """

    source: str
    meaning: str
    stated: bool = False


def check_column_names(columns: object) -> None:
    """Refuse what is neither a mapping of names nor a list of names."""
    texts: list[object] = []
    if isinstance(columns, Mapping):
        texts = [*columns.keys(), *columns.values()]
    elif isinstance(columns, Sequence) and not isinstance(columns, str | bytes):
        texts = list(columns)
    elif columns is not None:
        raise LogError(
            f"columns must be names by signal, such as {{'elbow.position': 'PosElbow'}}, or a list "
            f"of names, not {described(columns)}"
        )
    for text in texts:
        if not isinstance(text, str):
            raise LogError(f"columns must be named by texts, not by {described(text)}")


def renamed(
    names: Sequence[str], columns: Mapping[str, str] | None, where: str, *, tables: bool = False
) -> tuple[NamedColumn, ...]:
    """The columns of a file, those in ``columns`` with their stated meaning.

    tables : whether a signal may be a quantity alone, for all joints.
    """
    meanings: dict[str, str] = {}
    for signal, column in (columns or {}).items():
        for source, meaning in _pairs(signal.strip(), column.strip(), names, where):
            if source in meanings:
                raise LogError(
                    f"{where}: column {shown(source)} is given for {shown(meanings[source])} and "
                    f"for {shown(meaning)}; a column holds one signal"
                )
            meanings[source] = _with_unit(meaning, source, where, tables)
    return tuple(NamedColumn(name, meanings.get(name, name), name in meanings) for name in names)


def _pairs(signal: str, column: str, names: Sequence[str], where: str) -> Iterator[tuple[str, str]]:
    """Columns of the file and the signals that they hold."""
    # the star of N*m stands for itself
    bare, bare_column = split_unit(signal)[0], split_unit(column)[0]
    if "*" not in bare:
        yield _found(column, names, where), signal
        return
    if bare.count("*") != 1 or bare_column.count("*") != 1:
        raise LogError(
            f"{where}: {shown(signal)} = {shown(column)} must have one * on both sides, as in "
            "tau*=TorqueCur*"
        )
    start, _, end = column.partition("*")
    middles = {name: _middle(name, start, end) for name in names}
    if not any(middles.values()):
        raise LogError(
            f"{where}: no column is named like {shown(column)}"
            f"{did_you_mean(start + end, names)}; the columns are {quoted_list(names)}"
        )
    for name, middle in middles.items():
        if middle:
            yield name, signal.replace("*", middle, 1)


def _middle(name: str, start: str, end: str) -> str:
    """What a name, with or without its unit, has between start and end; empty if it has not."""
    for text in (name, split_unit(name)[0]):
        long_enough = len(text) > len(start) + len(end)
        if long_enough and text.startswith(start) and text.endswith(end):
            return text[len(start) : len(text) - len(end)]
    return ""


def _found(column: str, names: Sequence[str], where: str) -> str:
    """The name in the file: the same, or the same without its unit."""
    if column in names:
        return column
    bare = [name for name in names if split_unit(name)[0] == column]
    if len(bare) == 1:
        return bare[0]
    if bare:
        raise LogError(
            f"{where}: {shown(column)} may be {quoted_list(bare)}; name it with its unit"
        )
    raise LogError(
        f"{where}: no column is named {shown(column)}{did_you_mean(column, names)}; the columns "
        f"are {quoted_list(names)}"
    )


def _with_unit(signal: str, source: str, where: str, tables: bool) -> str:
    """The signal with its unit: that which is stated for it, or that of the column."""
    table = parse_table(signal) if tables else None
    parsed = None if table is not None else parse_column(signal, where)
    if table is None and (parsed is None or parsed.quantity in ("seconds", "nanoseconds")):
        raise LogError(
            f"{where}: {shown(signal)} is not a signal, which column {shown(source)} could hold; "
            "signals are named like elbow.position[deg], elbow.torque, wrist.force_x "
            "or time[ms]"
        )
    quantity = table[0] if table is not None else parsed.quantity if parsed is not None else ""
    stated, own = split_unit(signal)[1], split_unit(source)[1]
    known: Mapping[str, object] = TIME_UNITS if quantity == "time" else UNITS.get(quantity, {})
    if parsed is not None and parsed.axis:
        known = FRAME_UNITS[quantity]
    if own is None or own not in known:
        return signal
    if stated is None:
        return f"{signal}[{own}]"
    if stated in known and known[stated] != known[own]:
        raise LogError(
            f"{where}: column {shown(source)} states its unit, [{own}], and cannot be taken as "
            f"{shown(signal)}"
        )
    return signal
