"""Read a log from an untrusted NPZ file.

Nothing is unpickled, and nothing is allocated before the header of every array has been
checked: its dtype, and its shape against the size limits and against the bytes that are
in the archive. See ``docs/logs.md`` for the names of the arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steelyard._files.limits import MAX_COLUMNS
from steelyard._files.limits import MAX_LOG_VALUES as MAX_VALUES
from steelyard._files.npz import Archive, Member, open_npz
from steelyard.errors import LogError, quoted_list, shown
from steelyard.logs._assembly import assemble
from steelyard.logs.columns import LogColumn, parse_table, quantity_column, split_unit
from steelyard.logs.description import LogDescription, without_first_row
from steelyard.logs.frame_columns import component_names
from steelyard.logs.header import parse_header, recognised
from steelyard.logs.log import Log
from steelyard.logs.renaming import ColumnNames, NamedColumn, renamed

Array = NDArray[np.float64]
NAMES_KEY = "joint_names"


def read_npz(
    path: Path, name: str, columns: ColumnNames | None = None, *, count_rows: bool = False
) -> Log:
    """Read a ``.npz`` file whose arrays are named like CSV columns, or in 2-D form.

    2-D form: ``time`` (n_samples,), ``joint_names`` (n_joints,) and ``position``,
    ``velocity``, ``acceleration``, ``torque`` (n_samples, n_joints). Without ``joint_names``,
    the joints are numbered from 1: ``#1``, ``#2``, ...

    A quantity of a frame may be an array (n_samples, n_axes), such as ``wrist.force``.

    columns : signals and the arrays that hold them; a quantity alone for a table.
    count_rows : whether the number of each sample is its time, where there is no array of time.
    """
    with _opened(path, columns) as archive:
        content = _described(archive, columns, name, str(path), count_rows)
    return Log.from_description(content)


def values_in(path: Path) -> int:
    """How many numbers the arrays of a file have, by their headers."""
    with open_npz(path, LogError, MAX_VALUES) as archive:
        return sum(one.n_values for one in archive.members.values() if one.dtype.kind in "fiub")


def npz_blocks(
    path: Path, name: str, columns: ColumnNames | None, n_rows: int
) -> Iterator[LogDescription]:
    """The log of :func:`read_npz`, so many rows at a time."""
    with _opened(path, columns) as archive:
        used = set[str]()
        _described(replace(archive, block=_Noted(archive, used)), columns, name, str(path), False)
        first = True
        for block in archive.in_blocks(sorted(used), n_rows):
            content = _described(block, columns, name, str(path), False)
            yield content if first else without_first_row(content)
            first = False


class _Noted(dict[str, NDArray[np.generic]]):
    """No row of any array of numbers, and which were asked for."""

    def __init__(self, archive: Archive, used: set[str]) -> None:
        rows = ((key, one) for key, one in archive.members.items() if one.dtype.kind in "fiub")
        super().__init__(
            (key, np.empty((0, *one.shape[1:]), one.dtype)) for key, one in rows if one.shape
        )
        self.used = used

    def __getitem__(self, name: str) -> NDArray[np.generic]:
        self.used.add(name)
        return super().__getitem__(name)


@contextmanager
def _opened(path: Path, columns: ColumnNames | None) -> Iterator[Archive]:
    if columns is not None and not isinstance(columns, Mapping):
        raise LogError(
            f"'{path}': the arrays of an NPZ file have names; a list of names is for CSV files "
            "without a header line"
        )
    with open_npz(path, LogError, MAX_VALUES) as archive:
        yield archive


def _described(
    archive: Archive, columns: ColumnNames | None, name: str, source: str, count_rows: bool
) -> LogDescription:
    """The log in the rows that are loaded."""
    assert columns is None or isinstance(columns, Mapping)
    named = renamed(list(_columns(archive)), columns, archive.where, tables=True)
    tables = [one for one in named if parse_table(one.meaning) is not None]
    if tables:
        return _from_tables(archive, named, tables, name, source, count_rows)
    return _from_columns(archive, columns, name, source, count_rows)


def _check_total(members: list[Member], where: str) -> None:
    total = sum(member.n_values for member in members)
    if total > MAX_VALUES:
        raise LogError(f"{where}: {total} numbers; at most {MAX_VALUES} are read")


def _numbers(archive: Archive, member: Member, n_dims: tuple[int, ...]) -> Array:
    what = f"{archive.where}: array {shown(member.name)}"
    if member.dtype.kind not in "fiub":
        raise LogError(f"{what} is not numeric (dtype {member.dtype})")
    if len(member.shape) not in n_dims:
        form = "one value per sample" if 1 in n_dims else "(n_samples, n_joints)"
        raise LogError(f"{what} has shape {member.shape}; {form} is needed")
    return np.asarray(archive.load(member.name), dtype=float)


def _from_columns(
    archive: Archive,
    columns: Mapping[str, str] | None,
    name: str,
    source: str,
    count_rows: bool,
) -> LogDescription:
    """One 1-D array per column, named as in a CSV header."""
    names = _columns(archive)
    found, ignored = parse_header(list(names), archive.where, columns, count_rows=count_rows)
    used = {key: one for key, one in zip(names, found, strict=True) if one is not None}
    _check_total(_members(archive, used), archive.where)
    return assemble(_single(archive, used), name, source, ignored)


def _single(
    archive: Archive, used: Mapping[str, LogColumn]
) -> Iterator[tuple[str, LogColumn, Array]]:
    columns = _columns(archive)
    table, loaded = "", np.zeros((0, 0))
    for key, column in used.items():
        member, index = columns[key]
        if index is None:
            yield key, column, _numbers(archive, archive.members[member], (1,))
            continue
        if member != table:
            table, loaded = member, _numbers(archive, archive.members[member], (2,))
        yield key, column, loaded[:, index]


def _columns(archive: Archive) -> dict[str, tuple[str, int | None]]:
    """Names of columns: those of the arrays, or of each axis of a frame's quantity.

    With the array that holds each, and which of its columns that is.
    """
    names: dict[str, tuple[str, int | None]] = {}
    for key, member in archive.members.items():
        width = member.shape[1] if len(member.shape) == 2 else 0
        for index, name in enumerate(component_names(*split_unit(key), width) or ()):
            names.setdefault(name, (key, index))
    taken = {member for member, _ in names.values()}
    return names | {key: (key, None) for key in archive.members if key not in taken}


def _members(archive: Archive, names: Iterable[str]) -> list[Member]:
    """The arrays that hold these columns, each once."""
    columns = _columns(archive)
    return [archive.members[key] for key in dict.fromkeys(columns[name][0] for name in names)]


def _from_tables(
    archive: Archive,
    named: tuple[NamedColumn, ...],
    tables: list[NamedColumn],
    name: str,
    source: str,
    count_rows: bool,
) -> LogDescription:
    """One (n_samples, n_joints) array per quantity, and joint names where they are stated."""
    where = archive.where
    stated = {parse_table(one.meaning) for one in tables if one.stated}
    quantities = {table[0] for table in stated if table is not None}
    passed_over = [
        one for one in tables if not one.stated and _table(one, where).quantity in quantities
    ]
    tables = [one for one in tables if one not in passed_over]
    others = [one for one in named if one not in tables and one.source != NAMES_KEY]
    others = [one for one in others if one not in passed_over]
    found = recognised(others, where, list(archive.members), count_rows=count_rows)
    used = {one.source: column for one, column in zip(others, found) if column is not None}
    _check_total(_members(archive, (*(one.source for one in tables), *used)), where)
    joints = _joint_names(archive, tables)
    ignored = tuple(one.source for one in (*others, *passed_over) if one.source not in used)

    def all_columns() -> Iterator[tuple[str, LogColumn, Array]]:
        yield from _single(archive, used)
        for one in tables:
            yield from _of_table(archive, one, joints)

    content = assemble(all_columns(), name, source, ignored)
    # a joint of a table has no array of its own
    own = {(column.joint, column.quantity): key for key, column in used.items() if column.joint}
    return replace(content, columns=own)


def _of_table(
    archive: Archive, one: NamedColumn, joints: tuple[str, ...]
) -> Iterator[tuple[str, LogColumn, Array]]:
    """The columns of a table, one for each joint."""
    column = _table(one, archive.where)
    table = _numbers(archive, archive.members[one.source], (2, 1) if len(joints) == 1 else (2,))
    table = table if table.ndim == 2 else table[:, None]
    if table.shape[1] != len(joints):
        turned = "; are its rows and columns exchanged?" if len(table) == len(joints) else ""
        counted = f"'{NAMES_KEY}'" if NAMES_KEY in archive.members else "the first table"
        raise LogError(
            f"{archive.where}: array {shown(one.source)} has {table.shape[1]} columns, but "
            f"{counted} has {len(joints)} joints{turned}"
        )
    for number, joint in enumerate(joints):
        whole = LogColumn(joint, column.quantity, column.factor, column.unit)
        yield f"{one.source}[:, {number}]", whole, table[:, number]


def _table(one: NamedColumn, where: str) -> LogColumn:
    """Quantity and unit of a table, for all joints."""
    parsed = parse_table(one.meaning)
    assert parsed is not None
    return quantity_column("", *parsed, f"{where}: array {shown(one.source)}")


def _joint_names(archive: Archive, tables: list[NamedColumn]) -> tuple[str, ...]:
    """The names that the file states; where it states none, numbers from 1."""
    where, members = archive.where, archive.members
    if NAMES_KEY not in members:
        shape = members[tables[0].source].shape
        n_joints = shape[1] if len(shape) == 2 else 1
        if n_joints > MAX_COLUMNS:
            raise LogError(
                f"{where}: array {shown(tables[0].source)} has {n_joints} columns; at most "
                f"{MAX_COLUMNS} are read"
            )
        return tuple(f"#{number}" for number in range(1, n_joints + 1))
    member = members[NAMES_KEY]
    if member.dtype.kind != "U" or len(member.shape) != 1:
        raise LogError(
            f"{where}: '{NAMES_KEY}' must be a 1-D array of text, "
            f"not of dtype {member.dtype} and shape {member.shape}"
        )
    joints = archive.load_texts(member.name)
    if len(set(joints)) != len(joints):
        raise LogError(f"{where}: '{NAMES_KEY}' names a joint twice: {quoted_list(joints)}")
    return joints
