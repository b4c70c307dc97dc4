"""Read a log from a CSV file, plain or gzip; see ``docs/logs.md`` for the header schema."""

from __future__ import annotations

import csv
import gzip
import io
import math
import os
import warnings
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO

import numpy as np
from numpy.typing import NDArray

from steelyard._files.access import open_regular
from steelyard._files.bounded_lines import BoundedLines
from steelyard._files.limits import MAX_COLUMNS, MAX_UNPACKING, UNPACKED_FREELY
from steelyard._files.limits import MAX_LINE_BYTES as MAX_HEADER_BYTES
from steelyard._files.limits import MAX_LOG_BYTES as MAX_FILE_BYTES
from steelyard._files.limits import MAX_LOG_VALUES as MAX_VALUES
from steelyard.errors import LogError, quoted_list, shown, shown_path, size_words
from steelyard.logs._assembly import assemble
from steelyard.logs.header import Columns, parse_header
from steelyard.logs.log import Log
from steelyard.logs.renaming import ColumnNames

Array = NDArray[np.float64]
DELIMITERS = (",", ";", "\t")


def read_csv(
    path: Path, name: str, columns: ColumnNames | None = None, *, count_rows: bool = False
) -> Log:
    """Read a ``.csv`` or ``.csv.gz`` file.

    columns : signals and the columns that hold them; or the names of all columns, in a file
        without a header line.
    count_rows : whether the number of each row is its time, where there is no column of time.

    The fast path hands the whole table to NumPy's parser. Where that fails (a cell that
    is empty or text, a ragged row), a second pass cell by cell either reads the file
    (empty cells are missing values, text in ignored columns does not matter) or names
    the line and column of the first cell that it cannot read.
    """
    where = shown_path(path)
    with _reading(path, where) as (text, most_bytes):
        line, delimiter = _first_line(text, where)
    cells = _cells(line, delimiter, where)
    names = cells if columns is None or isinstance(columns, Mapping) else list(columns)
    lines_above = 0 if names is not cells else 1
    _check_first_line(cells, names, lines_above, where)
    stated = columns if isinstance(columns, Mapping) else None
    found, ignored = parse_header(names, where, stated, count_rows=count_rows)
    with _reading(path, where) as (text, _):
        _skip(text, lines_above)
        table = _parse_fast(text, delimiter, len(names), most_bytes, where)
    if table is None:
        with _reading(path, where) as (text, _):
            _skip(text, lines_above)
            table = _parse_cells(text, delimiter, names, found, lines_above, where)
    if len(table) == 0:
        raise LogError(f"{where}: a header and no samples; at least two rows are needed")
    used = (
        (title, column, values)
        for title, column, values in zip(names, found, table.T, strict=True)
        if column is not None
    )
    return Log.from_description(assemble(used, name, str(path), ignored))


@contextmanager
def _reading(path: Path, where: str) -> Iterator[tuple[TextIO, int]]:
    """The file as text, and how many bytes it has at most.

    Any failure while it is read becomes a LogError.
    """
    try:
        with open_regular(path, LogError) as raw:
            compressed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            binary: BinaryIO = raw
            size = os.fstat(raw.fileno()).st_size
            most, words = min(size, MAX_FILE_BYTES), "grows while it is read"
            if compressed:
                binary = gzip.GzipFile(fileobj=raw)  # type: ignore[assignment]
                most, words = _most_unpacked(size)
            stream = io.BufferedReader(BoundedLines(binary, most, where, LogError, words), 2**16)
            if b"\0" in stream.peek(4096)[:4096]:
                raise LogError(f"{where}: is a binary file, not CSV text")
            with io.TextIOWrapper(stream, encoding="utf-8-sig") as text:
                yield text, most
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise LogError(
            f"{where}: is not UTF-8 text (byte 0x{byte:02x}); save it as CSV in UTF-8"
        ) from None
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise LogError(f"{where}: the compressed file is damaged ({error})") from None
    except OSError as error:
        raise LogError(f"{where}: cannot be read ({error.strerror or error})") from None


def _most_unpacked(packed: int) -> tuple[int, str]:
    """How many bytes a gzip file of this size may hold, and what is said of more."""
    by_ratio = max(UNPACKED_FREELY, MAX_UNPACKING * packed)
    if by_ratio < MAX_FILE_BYTES:
        return by_ratio, (
            f"unpacks to more than {size_words(by_ratio)}, {MAX_UNPACKING} times its size or "
            "more; unpack it yourself if it is right"
        )
    return MAX_FILE_BYTES, (
        f"holds more than {size_words(MAX_FILE_BYTES)} when decompressed; cut the log into "
        "several runs"
    )


def _first_line(text: TextIO, where: str) -> tuple[str, str]:
    """The first line, and what separates its cells."""
    line = text.readline(MAX_HEADER_BYTES)
    if not line.strip():
        raise LogError(f"{where}: is empty; a header line and samples are needed")
    if len(line) >= MAX_HEADER_BYTES:
        raise LogError(f"{where}: the header is longer than {size_words(MAX_HEADER_BYTES)}")
    return line, next((mark for mark in DELIMITERS if mark in line), ",")


def _cells(line: str, delimiter: str, where: str) -> list[str]:
    """The cells of the first line."""
    # numpy.savetxt puts a comment sign in front of its header
    try:
        names = next(csv.reader([line.lstrip("# ")], delimiter=delimiter), [])
    except csv.Error as error:
        raise LogError(f"{where}: the header cannot be read ({error})") from None
    names = [name.strip() for name in names]
    if len(names) > MAX_COLUMNS:
        raise LogError(f"{where}: {len(names)} columns; at most {MAX_COLUMNS} are read")
    return names


def _check_first_line(cells: list[str], names: list[str], lines_above: int, where: str) -> None:
    """Refuse a first line that is not what it must be: names, or numbers under given names."""
    numbers = _are_numbers(cells)
    if lines_above and numbers:
        raise LogError(
            f"{where}: has no header line: its first line is numbers, {quoted_list(cells[:4])} "
            f"...; name its columns ({len(cells)}) with --columns time,elbow.position,..."
        )
    if lines_above and len(cells) == 1 and _are_numbers(cells[0].split()):
        raise LogError(
            f"{where}: has no header line, and its numbers are separated by blanks; separate them "
            "by commas, and name its columns with --columns time,elbow.position,..."
        )
    if lines_above:
        return
    if not numbers:
        raise LogError(
            f"{where}: has a header line, {quoted_list(cells[:4])} ..., but --columns names the "
            "columns of a file without one; name single columns with --map elbow.position=COLUMN"
        )
    if len(names) != len(cells):
        raise LogError(
            f"{where}: {len(names)} columns are named, but its first line has {len(cells)} "
            "numbers; leave the name of a column empty to ignore it"
        )


def _are_numbers(cells: list[str]) -> bool:
    """Whether all cells are numbers or empty, and some are numbers."""
    return any(cells) and all(_is_number(cell) for cell in cells if cell)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def _skip(text: TextIO, lines: int) -> None:
    for _ in range(lines):
        text.readline(MAX_HEADER_BYTES)


def _parse_fast(
    text: TextIO, delimiter: str, n_columns: int, most_bytes: int, where: str
) -> Array | None:
    """The table (n_rows, n_columns), or None where cells must be parsed one by one."""
    # NumPy allocates as many rows as it is told to read; a number and its comma have two bytes
    most = min(MAX_VALUES // n_columns + 1, most_bytes // (2 * n_columns) + 2)
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
    if len(table) * n_columns > MAX_VALUES:
        _refuse_length(where)
    return table if table.shape[1] == n_columns else None


def _parse_cells(
    text: TextIO,
    delimiter: str,
    names: list[str],
    columns: Columns,
    lines_above: int,
    where: str,
) -> Array:
    """The table, cell by cell; raises at the first cell or row that cannot be read."""
    rows: list[Array] = []
    most = MAX_VALUES // len(names)
    reader = csv.reader(text, delimiter=delimiter)
    lines_read = lines_above
    try:
        for cells in reader:
            line, lines_read = lines_read + 1, reader.line_num + lines_above
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


def _parse_row(cells: list[str], names: list[str], columns: Columns, where: str) -> Array:
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
