"""Read untrusted NPZ archives.

Nothing is unpickled, and nothing is allocated before the header of every array has been
checked: its dtype, and its shape against a limit and against the bytes in the file.
"""

from __future__ import annotations

import math
import os
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tokenize import TokenError
from typing import IO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from steelyard._files.access import open_regular
from steelyard._files.limits import MAX_COLUMNS as MAX_ARRAYS
from steelyard._files.limits import MAX_UNPACKING, UNPACKED_FREELY
from steelyard.errors import SteelyardError, one_line, shown, shown_path, size_words

HEADER_READERS: dict[tuple[int, int], Callable[[IO[bytes]], tuple[tuple[int, ...], bool, np.dtype]]]
HEADER_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}

# NumPy evaluates the header as a Python literal; a malicious one can raise any of these
HEADER_FAILURES = (ValueError, TypeError, KeyError, SyntaxError, TokenError, RecursionError)

MAX_ARRAY_BYTES = 4 * 2**30
AS_FLOAT = 8
"""Bytes of a number once it has been read, whatever it takes in the file."""
LAST_CHARACTER, SURROGATES = 0x10FFFF, (0xD800, 0xDFFF)


@dataclass(frozen=True)
class Member:
    """An array of the archive, as its header describes it."""

    info: zipfile.ZipInfo
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    fortran_order: bool
    offset: int

    @property
    def n_values(self) -> int:
        """Number of values according to the header."""
        return math.prod(self.shape)

    @property
    def n_bytes(self) -> int:
        """Size in bytes according to the header."""
        return self.n_values * self.dtype.itemsize


@dataclass(frozen=True)
class Archive:
    """An open archive whose headers have all been checked.

    block : some rows of some arrays, which stand for these; see `in_blocks`.
    """

    where: str
    members: dict[str, Member]
    error: type[SteelyardError]
    _zip: zipfile.ZipFile
    block: Mapping[str, NDArray[np.generic]] | None = None

    def load(self, name: str) -> NDArray[np.generic]:
        """One array; it takes no more memory than its checked header states."""
        if self.block is not None and name in self.block:
            return self.block[name]
        member = self.members[name]
        with self._zip.open(member.info) as stream:
            stream.read(member.offset)
            data = stream.read(member.n_bytes)
        if len(data) != member.n_bytes:
            raise self.error(f"{self.where}: array {shown(name)} is cut short")
        array = np.frombuffer(data, dtype=member.dtype)
        return array.reshape(member.shape, order="F" if member.fortran_order else "C")

    def in_blocks(self, names: Collection[str], n_rows: int) -> Iterator[Archive]:
        """The archive with so many rows at a time of these arrays, which have as many rows each.

        Every block but the first begins with the very first row, to which clocks refer.
        """
        lengths = {name: self.members[name].shape[0] for name in names}
        longest = max(lengths, key=lambda name: lengths[name])
        for name, length in lengths.items():
            if length != lengths[longest]:
                raise self.error(
                    f"{self.where}: array {shown(name)} has {length} samples, but "
                    f"{shown(longest)} has {lengths[longest]}"
                )
        with ExitStack() as stack:
            readers = {name: self._rows(name, n_rows, stack) for name in names}
            first: dict[str, NDArray[np.generic]] = {}
            for _ in range(0, lengths[longest], n_rows):
                rows = {name: next(reader) for name, reader in readers.items()}
                if first:
                    rows = {name: np.concatenate([first[name], rows[name]]) for name in names}
                else:
                    first = {name: rows[name][:1].copy() for name in names}
                yield replace(self, block=rows)

    def _rows(self, name: str, n_rows: int, stack: ExitStack) -> Iterator[NDArray[np.generic]]:
        """Blocks of rows of one array, in order."""
        member = self.members[name]
        total, width = member.shape[0], math.prod(member.shape[1:])
        # one column after the other: each is read with a stream of its own
        n_streams = width if member.fortran_order else 1
        streams = []
        for k in range(n_streams):
            stream = stack.enter_context(self._zip.open(member.info))
            stream.seek(member.offset + k * total * member.dtype.itemsize)
            streams.append(stream)
        for begin in range(0, total, n_rows):
            n = min(n_rows, total - begin)
            parts = []
            for stream in streams:
                n_bytes = n * (width // n_streams) * member.dtype.itemsize
                data = stream.read(n_bytes)
                if len(data) != n_bytes:
                    raise self.error(f"{self.where}: array {shown(name)} is cut short")
                parts.append(np.frombuffer(data, dtype=member.dtype))
            table = np.column_stack(parts) if n_streams > 1 else parts[0]
            yield table.reshape((n, *member.shape[1:]))

    def load_texts(self, name: str) -> tuple[str, ...]:
        """A 1-D array of text; its numbers must be those of characters."""
        array = np.ascontiguousarray(self.load(name))
        codes = array.view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
        low, high = SURROGATES
        wrong = codes[(codes > LAST_CHARACTER) | ((codes >= low) & (codes <= high))]
        if len(wrong):
            raise self.error(
                f"{self.where}: array {shown(name)} holds the number {int(wrong[0]):#x} in place "
                "of a character"
            )
        return tuple(str(text) for text in array)


@contextmanager
def open_npz(path: str | Path, error: type[SteelyardError], max_values: int) -> Iterator[Archive]:
    """An archive with checked headers; anything wrong is raised as ``error``.

    max_values : largest number of values in one array.
    """
    where = shown_path(path)
    try:
        with open_regular(path, error) as stream, zipfile.ZipFile(stream) as archive:
            members = _members(archive, where, error, max_values)
            _refuse_bombs(members, os.fstat(stream.fileno()).st_size, where, error)
            yield Archive(where, members, error, archive)
    except zipfile.BadZipFile as failure:
        raise error(f"{where}: is not a readable NPZ file ({failure})") from None
    except (zlib.error, struct.error, EOFError, UnicodeDecodeError) as failure:
        raise error(f"{where}: is damaged ({failure})") from None
    except NotImplementedError as failure:
        raise error(f"{where}: uses an unsupported kind of archive ({failure})") from None
    except OSError as failure:
        raise error(f"{where}: cannot be read ({failure.strerror or failure})") from None


def _members(
    archive: zipfile.ZipFile, where: str, error: type[SteelyardError], max_values: int
) -> dict[str, Member]:
    infos = [info for info in archive.infolist() if not info.filename.endswith("/")]
    if not infos:
        raise error(f"{where}: is empty")
    if len(infos) > MAX_ARRAYS:
        raise error(f"{where}: {len(infos)} arrays; at most {MAX_ARRAYS} are read")
    members: dict[str, Member] = {}
    for info in infos:
        member = _header(archive, info, f"{where}: array {shown(info.filename)}", error, max_values)
        if member.name in members:
            raise error(f"{where}: two arrays are named {shown(member.name)}")
        members[member.name] = member
    return members


def _refuse_bombs(
    members: dict[str, Member], packed: int, where: str, error: type[SteelyardError]
) -> None:
    """Refuse a small archive of a huge number of numbers; they would take memory as floats."""
    unpacked = sum(max(AS_FLOAT * one.n_values, one.n_bytes) for one in members.values())
    if unpacked > max(UNPACKED_FREELY, MAX_UNPACKING * packed):
        raise error(
            f"{where}: unpacks to {size_words(unpacked)} of numbers, more than {MAX_UNPACKING} "
            "times its size; save it with numpy.savez, which does not compress, if it is right"
        )


def _header(
    archive: zipfile.ZipFile,
    info: zipfile.ZipInfo,
    where: str,
    error: type[SteelyardError],
    max_values: int,
) -> Member:
    if info.flag_bits & 0x1:
        raise error(f"{where}: is encrypted")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise error(f"{where}: is compressed in a way that NumPy does not write")
    with archive.open(info) as stream:
        try:
            version = npy.read_magic(stream)
            reader = HEADER_READERS.get(version)
            if reader is None:
                raise error(f"{where}: has npy version {version}, which is not supported")
            with warnings.catch_warnings(action="ignore"):
                shape, fortran_order, dtype = reader(stream)
        except HEADER_FAILURES as failure:
            reason = one_line(failure)
            raise error(f"{where}: is not a NumPy array ({reason})") from None
        offset = stream.tell()
    member = Member(info, info.filename.removesuffix(".npy"), shape, dtype, fortran_order, offset)
    if dtype.hasobject:
        raise error(f"{where}: holds Python objects, which are never loaded")
    if min(shape, default=0) < 0 or dtype.itemsize == 0:
        raise error(f"{where}: claims shape {shape} of dtype {dtype}")
    claim = f"claims shape {shape} of {dtype} = {size_words(member.n_bytes)}"
    if member.n_values > max_values or max(member.n_bytes, info.file_size) > MAX_ARRAY_BYTES:
        raise error(f"{where}: {claim}; at most {max_values} numbers are read")
    if member.n_bytes != info.file_size - offset:
        there = size_words(max(info.file_size - offset, 0))
        raise error(f"{where}: {claim}, but the file holds {there} of it")
    return member
