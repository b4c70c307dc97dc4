"""Read a log from an untrusted NPZ file.

Nothing is unpickled, and nothing is allocated before the header of every array has been
checked: its dtype, and its shape against the size limits and against the bytes that are
in the archive. See ``docs/logs.md`` for the names of the arrays.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steelyard._files.npz import Archive, Member, open_npz
from steelyard.errors import LogError, quoted_list, shown
from steelyard.logs._limits import MAX_VALUES
from steelyard.logs.columns import (
    QUANTITY_OF,
    LogColumn,
    parse_column,
    parse_header,
    quantity_column,
    split_unit,
)
from steelyard.logs.log import Log

NAMES_KEY = "joint_names"


def read_npz(path: Path, name: str) -> Log:
    """Read a ``.npz`` file whose arrays are named like CSV columns, or in 2-D form.

    2-D form: ``time`` (n_samples,), ``joint_names`` (n_joints,) and ``position``,
    ``velocity``, ``acceleration``, ``torque`` (n_samples, n_joints).
    """
    with open_npz(path, LogError, MAX_VALUES) as archive:
        tables = _table_columns(archive.members)
        if tables:
            return _from_tables(archive, tables, name, str(path))
        return _from_columns(archive, name, str(path))


def _check_total(members: list[Member], where: str) -> None:
    total = sum(member.n_values for member in members)
    if total > MAX_VALUES:
        raise LogError(f"{where}: {total} numbers; at most {MAX_VALUES} are read")


def _numbers(archive: Archive, member: Member, column: LogColumn, ndim: int) -> NDArray[np.float64]:
    what = f"{archive.where}: array {shown(member.name)}"
    if member.dtype.kind not in "fiub":
        raise LogError(f"{what} is not numeric (dtype {member.dtype})")
    if len(member.shape) != ndim:
        form = "one value per sample" if ndim == 1 else "(n_samples, n_joints)"
        raise LogError(f"{what} has shape {member.shape}; {form} is needed")
    return np.asarray(archive.load(member.name), dtype=float) * column.factor


def _from_columns(archive: Archive, name: str, source: str) -> Log:
    """One 1-D array per column, named as in a CSV header."""
    where, members = archive.where, archive.members
    columns, ignored = parse_header(list(members), where)
    used = [
        (member, column)
        for member, column in zip(members.values(), columns, strict=True)
        if column is not None
    ]
    _check_total([member for member, _ in used], where)
    time = np.empty(0)
    signals, units = {}, {}
    for member, column in used:
        values = _numbers(archive, member, column, 1)
        if column.quantity == "time":
            time = values
            continue
        signals[column.joint, column.quantity] = values
        if column.unit:
            units[column.joint, column.quantity] = column.unit
    return Log(time, signals, name, source, units, ignored)


def _table_columns(members: dict[str, Member]) -> dict[str, tuple[str, str | None]]:
    """Arrays named after a quantity alone: array name -> (quantity, unit)."""
    tables = {}
    for key in members:
        bare, unit = split_unit(key)
        quantity = QUANTITY_OF.get(bare.strip().lower())
        if quantity is not None:
            tables[key] = (quantity, unit)
    return tables


def _from_tables(
    archive: Archive,
    tables: dict[str, tuple[str, str | None]],
    name: str,
    source: str,
) -> Log:
    """One (n_samples, n_joints) array per quantity, and one of joint names."""
    where, members = archive.where, archive.members
    joints = _joint_names(archive)
    others = [key for key in members if key not in tables and key != NAMES_KEY]
    found = {key: parse_column(key, where) for key in others}
    used = {key: column for key, column in found.items() if column is not None}
    times = [key for key, column in used.items() if column.quantity == "time"]
    if len(times) != 1:
        what = f"several time arrays: {quoted_list(times)}" if times else "no time array"
        raise LogError(f"{where}: {what}; the arrays are {quoted_list(list(members))}")
    _check_total([members[key] for key in (*tables, *used)], where)
    time = _numbers(archive, members[times[0]], used.pop(times[0]), 1)
    signals, units = {}, {}
    for key, column in used.items():
        signals[column.joint, column.quantity] = _numbers(archive, members[key], column, 1)
        if column.unit:
            units[column.joint, column.quantity] = column.unit
    for key, (quantity, unit) in tables.items():
        column = quantity_column("", quantity, unit, f"{where}: array {shown(key)}")
        table = _numbers(archive, members[key], column, 2)
        if table.shape[1] != len(joints):
            raise LogError(
                f"{where}: array {shown(key)} has {table.shape[1]} columns for "
                f"{len(joints)} joint names"
            )
        for joint, values in zip(joints, table.T, strict=True):
            if (joint, quantity) in signals:
                raise LogError(f"{where}: two arrays give the {quantity} of {shown(joint)}")
            signals[joint, quantity] = values
            if column.unit:
                units[joint, quantity] = column.unit
    ignored = tuple(key for key, column in found.items() if column is None)
    return Log(time, signals, name, source, units, ignored)


def _joint_names(archive: Archive) -> tuple[str, ...]:
    where, members = archive.where, archive.members
    if NAMES_KEY not in members:
        raise LogError(
            f"{where}: arrays per quantity need '{NAMES_KEY}', which is absent; "
            f"the arrays are {quoted_list(list(members))}"
        )
    member = members[NAMES_KEY]
    if member.dtype.kind != "U" or len(member.shape) != 1:
        raise LogError(
            f"{where}: '{NAMES_KEY}' must be a 1-D array of text, "
            f"not of dtype {member.dtype} and shape {member.shape}"
        )
    joints = tuple(str(joint) for joint in archive.load(member.name))
    if len(set(joints)) != len(joints):
        raise LogError(f"{where}: '{NAMES_KEY}' names a joint twice: {quoted_list(joints)}")
    return joints
