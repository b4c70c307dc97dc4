"""Read a log from an NPZ file without trusting it.

Nothing is unpickled, and nothing is allocated before the header of every array has been
checked: its dtype, and its shape against the size caps and against the bytes that are
really in the archive. See ``docs/logs.md`` for the names of the arrays.
"""

from __future__ import annotations

import math
import struct
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from steelyard.errors import LogError
from steelyard.logs.columns import (
    QUANTITY_OF,
    Column,
    listed,
    parse_column,
    parse_header,
    quantity_column,
    quoted,
    split_unit,
)
from steelyard.logs.limits import MAX_COLUMNS, MAX_FILE_BYTES, MAX_VALUES, size_words
from steelyard.logs.log import Log

HEADER_READERS: dict[tuple[int, int], Callable[[IO[bytes]], tuple[tuple[int, ...], bool, np.dtype]]]
HEADER_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
NAMES_KEY = "joint_names"


@dataclass(frozen=True)
class Member:
    """An array of the archive, known by its header alone."""

    info: zipfile.ZipInfo
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    fortran_order: bool
    offset: int

    @property
    def n_values(self) -> int:
        """How many numbers the header claims."""
        return math.prod(self.shape)

    @property
    def n_bytes(self) -> int:
        """How many bytes they need."""
        return self.n_values * self.dtype.itemsize


def read_npz(path: Path, name: str) -> Log:
    """Read a ``.npz`` file whose arrays are named like CSV columns, or in 2-D form.

    2-D form: ``time`` (n_samples,), ``joint_names`` (n_joints,) and ``position``,
    ``velocity``, ``acceleration``, ``torque`` (n_samples, n_joints).
    """
    where = f"'{path}'"
    try:
        with zipfile.ZipFile(path) as archive:
            members = {member.name: member for member in _headers(archive, where)}
            tables = _table_columns(members)
            if tables:
                return _from_tables(archive, members, tables, where, name, str(path))
            return _from_columns(archive, members, where, name, str(path))
    except zipfile.BadZipFile as error:
        raise LogError(f"{where}: is not a readable NPZ file ({error})") from None
    except (zlib.error, struct.error, EOFError, UnicodeDecodeError) as error:
        raise LogError(f"{where}: is damaged ({error})") from None
    except NotImplementedError as error:
        raise LogError(f"{where}: uses a kind of archive that is not read ({error})") from None
    except OSError as error:
        raise LogError(f"{where}: cannot be read ({error.strerror or error})") from None


def _headers(archive: zipfile.ZipFile, where: str) -> list[Member]:
    """Every array's header, checked; the data are not touched."""
    infos = [info for info in archive.infolist() if not info.filename.endswith("/")]
    if not infos:
        raise LogError(f"{where}: is empty")
    if len(infos) > MAX_COLUMNS:
        raise LogError(f"{where}: {len(infos)} arrays; at most {MAX_COLUMNS} are read")
    seen: set[str] = set()
    members = []
    for info in infos:
        member = _header(archive, info, f"{where}: array {quoted(info.filename)}")
        if member.name in seen:
            raise LogError(f"{where}: two arrays are named {quoted(member.name)}")
        seen.add(member.name)
        members.append(member)
    return members


def _header(archive: zipfile.ZipFile, info: zipfile.ZipInfo, where: str) -> Member:
    if info.flag_bits & 0x1:
        raise LogError(f"{where}: is encrypted")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise LogError(f"{where}: is compressed in a way that NumPy does not write")
    with archive.open(info) as stream:
        try:
            version = npy.read_magic(stream)
            reader = HEADER_READERS.get(version)
            if reader is None:
                raise LogError(f"{where}: has npy version {version}, which is not read")
            shape, fortran_order, dtype = reader(stream)
        except ValueError as error:
            reason = str(error).splitlines()[0]
            raise LogError(f"{where}: is not a NumPy array ({reason})") from None
        offset = stream.tell()
    member = Member(info, info.filename.removesuffix(".npy"), shape, dtype, fortran_order, offset)
    if dtype.hasobject:
        raise LogError(f"{where}: holds Python objects, which are never loaded")
    if min(shape, default=0) < 0 or dtype.itemsize == 0:
        raise LogError(f"{where}: claims shape {shape} of dtype {dtype}")
    if member.n_values > MAX_VALUES or max(member.n_bytes, info.file_size) > MAX_FILE_BYTES:
        raise LogError(
            f"{where}: claims shape {shape} of {dtype} = {size_words(member.n_bytes)}; at most "
            f"{MAX_VALUES} numbers are read"
        )
    if member.n_bytes != info.file_size - offset:
        raise LogError(
            f"{where}: claims shape {shape} of {dtype} = {size_words(member.n_bytes)}, but the "
            f"file holds {size_words(max(info.file_size - offset, 0))} of it"
        )
    return member


def _load(archive: zipfile.ZipFile, member: Member, where: str) -> NDArray[np.generic]:
    with archive.open(member.info) as stream:
        stream.read(member.offset)
        data = stream.read(member.n_bytes)
    if len(data) != member.n_bytes:
        raise LogError(f"{where}: array {quoted(member.name)} is cut short")
    array = np.frombuffer(data, dtype=member.dtype)
    return array.reshape(member.shape, order="F" if member.fortran_order else "C")


def _check_total(members: list[Member], where: str) -> None:
    total = sum(member.n_values for member in members)
    if total > MAX_VALUES:
        raise LogError(f"{where}: {total} numbers; at most {MAX_VALUES} are read")


def _numbers(
    archive: zipfile.ZipFile, member: Member, column: Column, ndim: int, where: str
) -> NDArray[np.float64]:
    what = f"{where}: array {quoted(member.name)}"
    if member.dtype.kind not in "fiub":
        raise LogError(f"{what} is not numeric (dtype {member.dtype})")
    if len(member.shape) != ndim:
        form = "one value per sample" if ndim == 1 else "(n_samples, n_joints)"
        raise LogError(f"{what} has shape {member.shape}; {form} is needed")
    return np.asarray(_load(archive, member, where), dtype=float) * column.factor


def _from_columns(
    archive: zipfile.ZipFile, members: dict[str, Member], where: str, name: str, source: str
) -> Log:
    """One 1-D array per column, named as in a CSV header."""
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
        values = _numbers(archive, member, column, 1, where)
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
    archive: zipfile.ZipFile,
    members: dict[str, Member],
    tables: dict[str, tuple[str, str | None]],
    where: str,
    name: str,
    source: str,
) -> Log:
    """One (n_samples, n_joints) array per quantity, and the joint names beside."""
    joints = _joint_names(archive, members, where)
    others = [key for key in members if key not in tables and key != NAMES_KEY]
    found = {key: parse_column(key, where) for key in others}
    used = {key: column for key, column in found.items() if column is not None}
    times = [key for key, column in used.items() if column.quantity == "time"]
    if len(times) != 1:
        what = f"several time arrays: {listed(times)}" if times else "no time array"
        raise LogError(f"{where}: {what}; the arrays are {listed(list(members))}")
    _check_total([members[key] for key in (*tables, *used)], where)
    time = _numbers(archive, members[times[0]], used.pop(times[0]), 1, where)
    signals, units = {}, {}
    for key, column in used.items():
        signals[column.joint, column.quantity] = _numbers(archive, members[key], column, 1, where)
        if column.unit:
            units[column.joint, column.quantity] = column.unit
    for key, (quantity, unit) in tables.items():
        column = quantity_column("", quantity, unit, f"{where}: array {quoted(key)}")
        table = _numbers(archive, members[key], column, 2, where)
        if table.shape[1] != len(joints):
            raise LogError(
                f"{where}: array {quoted(key)} has {table.shape[1]} columns for "
                f"{len(joints)} joint names"
            )
        for joint, values in zip(joints, table.T, strict=True):
            if (joint, quantity) in signals:
                raise LogError(f"{where}: two arrays give the {quantity} of {quoted(joint)}")
            signals[joint, quantity] = values
            if column.unit:
                units[joint, quantity] = column.unit
    ignored = tuple(key for key, column in found.items() if column is None)
    return Log(time, signals, name, source, units, ignored)


def _joint_names(
    archive: zipfile.ZipFile, members: dict[str, Member], where: str
) -> tuple[str, ...]:
    if NAMES_KEY not in members:
        raise LogError(
            f"{where}: arrays per quantity need '{NAMES_KEY}', which is absent; "
            f"the arrays are {listed(list(members))}"
        )
    member = members[NAMES_KEY]
    if member.dtype.kind != "U" or len(member.shape) != 1:
        raise LogError(
            f"{where}: '{NAMES_KEY}' must be a 1-D array of text, "
            f"not of dtype {member.dtype} and shape {member.shape}"
        )
    joints = tuple(str(joint) for joint in _load(archive, member, where))
    if len(set(joints)) != len(joints):
        raise LogError(f"{where}: '{NAMES_KEY}' names a joint twice: {listed(joints)}")
    return joints
