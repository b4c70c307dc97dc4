"""Read a log from a CSV file, plain or gzip; see ``docs/logs.md`` for the header schema."""

from __future__ import annotations

import csv
import gzip
import io
import math
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError, shown, size_words
from steelyard.logs._limits import MAX_COLUMNS, MAX_FILE_BYTES, MAX_HEADER_BYTES, MAX_VALUES
from steelyard.logs.columns import LogColumn, parse_header
from steelyard.logs.log import Log

Array = NDArray[np.float64]
DELIMITERS = (",", ";", "\t")


def read_csv(path: Path, name: str) -> Log:
    """Read a ``.csv`` or ``.csv.gz`` file.

    The fast path hands the whole table to NumPy's parser. Where that fails (a cell that
    is empty or text, a ragged row), a second pass cell by cell either reads the file
    (empty cells are missing values, text in ignored columns does not matter) or names
    the line and column of the first cell that it cannot read.
    """
    where = f"'{path}'"
    with _reading(path, where) as text:
        names, delimiter = _read_header(text, where)
        columns, ignored = parse_header(names, where)
        table = _parse_fast(text, delimiter, len(names), where)
    if table is None:
        with _reading(path, where) as text:
            _read_header(text, where)
            table = _parse_cells(text, delimiter, names, columns, where)
    if len(table) == 0:
        raise LogError(f"{where}: a header and no samples; at least two rows are needed")
    return _log_from_table(table, columns, ignored, name, str(path))


def _log_from_table(
    table: Array, columns: list[LogColumn | None], ignored: tuple[str, ...], name: str, source: str
) -> Log:
    time = np.empty(0)
    signals, units = {}, {}
    for values, column in zip(table.T, columns, strict=True):
        if column is None:
            continue
        scaled = values if column.factor == 1.0 else values * column.factor
        if column.quantity == "time":
            time = scaled
            continue
        signals[column.joint, column.quantity] = scaled
        if column.unit:
            units[column.joint, column.quantity] = column.unit
    return Log(time, signals, name, source, units, ignored)


class _Capped(io.RawIOBase):
    """A stream that refuses to read beyond MAX_FILE_BYTES: a small archive may hold a huge file."""

    def __init__(self, stream: BinaryIO, where: str) -> None:
        self._stream, self._where, self._left = stream, where, MAX_FILE_BYTES

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        block = self._stream.read(len(buffer))
        self._left -= len(block)
        if self._left < 0:
            raise LogError(
                f"{self._where}: holds more than {size_words(MAX_FILE_BYTES)} when "
                "decompressed; cut the log into several runs"
            )
        buffer[: len(block)] = block
        return len(block)


@contextmanager
def _reading(path: Path, where: str) -> Iterator[TextIO]:
    """The file as text; any failure while it is read becomes a LogError."""
    try:
        with path.open("rb") as raw:
            compressed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            binary: BinaryIO = raw
            if compressed:
                binary = gzip.GzipFile(fileobj=raw)  # type: ignore[assignment]
            stream = io.BufferedReader(_Capped(binary, where), 2**16)
            if b"\0" in stream.peek(4096)[:4096]:
                raise LogError(f"{where}: is a binary file, not CSV text")
            with io.TextIOWrapper(stream, encoding="utf-8-sig") as text:
                yield text
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise LogError(
            f"{where}: is not UTF-8 text (byte 0x{byte:02x}); save it as CSV in UTF-8"
        ) from None
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise LogError(f"{where}: the compressed file is damaged ({error})") from None
    except OSError as error:
        raise LogError(f"{where}: cannot be read ({error.strerror or error})") from None


def _read_header(text: TextIO, where: str) -> tuple[list[str], str]:
    """Column names of the first line, and what separates them."""
    line = text.readline(MAX_HEADER_BYTES)
    if not line.strip():
        raise LogError(f"{where}: is empty; a header line and samples are needed")
    if len(line) >= MAX_HEADER_BYTES:
        raise LogError(f"{where}: the header is longer than {size_words(MAX_HEADER_BYTES)}")
    delimiter = next((mark for mark in DELIMITERS if mark in line), ",")
    # numpy.savetxt puts a comment sign in front of its header
    try:
        names = next(csv.reader([line.lstrip("# ")], delimiter=delimiter), [])
    except csv.Error as error:
        raise LogError(f"{where}: the header cannot be read ({error})") from None
    names = [name.strip() for name in names]
    if len(names) > MAX_COLUMNS:
        raise LogError(f"{where}: {len(names)} columns; at most {MAX_COLUMNS} are read")
    return names, delimiter


def _parse_fast(text: TextIO, delimiter: str, n_columns: int, where: str) -> Array | None:
    """The table (n_rows, n_columns), or None where cells must be parsed one by one."""
    most = MAX_VALUES // n_columns + 1
    try:
        with warnings.catch_warnings():
            # a table without rows is handled below
            warnings.filterwarnings("ignore", "(?s).*contained no data", UserWarning)
            table = np.loadtxt(
                text, delimiter=delimiter, comments=None, ndmin=2, quotechar='"', max_rows=most
            )
    except UnicodeDecodeError:
        raise
    except ValueError:
        return None
    if table.size == 0:
        return np.empty((0, n_columns))
    if len(table) == most:
        _refuse_length(where)
    return table if table.shape[1] == n_columns else None


def _parse_cells(
    text: TextIO, delimiter: str, names: list[str], columns: list[LogColumn | None], where: str
) -> Array:
    """The table, cell by cell; raises at the first cell or row that cannot be read."""
    rows: list[Array] = []
    most = MAX_VALUES // len(names)
    reader = csv.reader(text, delimiter=delimiter)
    lines_read = 1  # the header
    try:
        for cells in reader:
            line, lines_read = lines_read + 1, reader.line_num + 1
            if not cells or (len(cells) == 1 and not cells[0].strip()):
                continue
            if len(cells) != len(names):
                raise LogError(
                    f"{where}: line {line} has {len(cells)} cells, "
                    f"but the header has {len(names)} columns"
                )
            rows.append(_parse_row(cells, names, columns, f"{where}: line {line}"))
            if len(rows) > most:
                _refuse_length(where)
    except csv.Error as error:
        raise LogError(f"{where}: line {lines_read + 1}: {error}") from None
    return np.array(rows).reshape(len(rows), len(names))


def _parse_row(
    cells: list[str], names: list[str], columns: list[LogColumn | None], where: str
) -> Array:
    row = np.full(len(cells), math.nan)
    for index, (cell, column) in enumerate(zip(cells, columns, strict=True)):
        cell = cell.strip()
        if column is None or (not cell and column.quantity != "time"):
            continue
        try:
            if "_" in cell:  # float("1_0") is 10, but loggers do not write numbers so
                raise ValueError
            row[index] = float(cell)
        except ValueError:
            what = f"{shown(cell)} is not a number" if cell else "is empty"
            hint = "; decimals need a point" if "," in cell else ""
            raise LogError(f"{where}, column {shown(names[index])}: {what}{hint}") from None
    return row


def _refuse_length(where: str) -> None:
    raise LogError(f"{where}: more than {MAX_VALUES} numbers; cut the log into several runs")
