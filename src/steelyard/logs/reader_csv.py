"""Read a log from a text table, plain or gzip; see ``docs/logs.md`` for the header schema.

A table is read in blocks of lines, so that a long file need never be in memory whole. NumPy's
parser takes a block at once; where it cannot, the lines are read one by one. Rows that cannot be
read, or whose time stamp is no time, are skipped and counted (`steelyard.logs.skipped_rows`).
"""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
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
from steelyard.errors import LogError, quoted_list, shown_path, size_words
from steelyard.logs._assembly import assemble
from steelyard.logs._csv_rows import Lines, RowReader, Skipped
from steelyard.logs.columns import LogColumn
from steelyard.logs.csv_layout import (
    BLANKS,
    MOST_LINES,
    SEPARATORS,
    CsvLayout,
    layout_of,
)
from steelyard.logs.description import LogDescription, without_first_row
from steelyard.logs.header import Columns, parse_header
from steelyard.logs.log import Log
from steelyard.logs.renaming import ColumnNames
from steelyard.logs.skipped_rows import ROWS_OF_A_PERIOD, SkippedRows, refuse_many, wild_stamps

Array = NDArray[np.float64]
BLOCK_BYTES = 2**22
"""Characters of the lines that are parsed at once."""
HELD_ROWS = 2 * ROWS_OF_A_PERIOD
"""Rows at the end of a block whose time is judged with the next one."""
MOST_FIRST_BYTES = 2**20
"""Characters of the first lines, after which no more are looked at."""
MANY_ROWS = 10_000
"""Rows that may be skipped before the end of the file is known."""


@dataclass(frozen=True, eq=False)
class CsvBlock:
    """Some rows of a table. values : (n_rows, n_used), as in the file. skipped : up to here."""

    values: Array
    skipped: SkippedRows


@dataclass(frozen=True, eq=False)
class CsvTable:
    """A text table whose header was read.

    names : of all columns. columns : what each holds, None for one that is ignored.
    """

    path: Path
    layout: CsvLayout
    names: tuple[str, ...]
    columns: Columns

    @property
    def used(self) -> tuple[tuple[str, LogColumn], ...]:
        """Name and content of the columns of every block."""
        pairs = zip(self.names, self.columns, strict=True)
        return tuple((name, column) for name, column in pairs if column is not None)

    @property
    def ignored(self) -> tuple[str, ...]:
        """Names of the columns that are not in the schema."""
        pairs = zip(self.names, self.columns, strict=True)
        return tuple(name for name, column in pairs if column is None)

    def blocks(self) -> Iterator[CsvBlock]:
        """The rows from the first to the last, those that cannot be used left out.

        Raises where too many of them cannot be used, at the latest after the last block.
        """
        where = shown_path(self.path)
        most, n_values = MAX_VALUES, 0
        skipped, held = SkippedRows(), _Held.none(len(self.used))
        with _reading(self.path, where) as text:
            for values, lines, unread in _parsed_blocks(text, self):
                n_values += len(values) * len(self.names)
                if n_values > most:
                    raise LogError(
                        f"{where}: more than {most} numbers; cut the log into several runs"
                    )
                held, ready, wrong = held.with_rows(values, lines, self.used)
                skipped = skipped.and_rows(len(ready), [*unread, *wrong])
                if skipped.n_skipped > MANY_ROWS:
                    refuse_many(skipped, where)
                yield CsvBlock(ready, skipped)
        ready, wrong = held.rest(self.used)
        skipped = skipped.and_rows(len(ready), wrong)
        refuse_many(skipped, where)
        yield CsvBlock(ready, skipped)


def open_csv(
    path: Path, columns: ColumnNames | None = None, *, count_rows: bool = False
) -> CsvTable:
    """The layout and the columns of a text table, plain or gzip; its rows are not read yet.

    columns, count_rows : as those of :func:`read_csv`.
    """
    where = shown_path(path)
    with _reading(path, where) as text:
        lines = _first_lines(text, where)
    layout = layout_of(lines)
    _refuse_foreign_bytes(layout.header or (), where)
    if columns is None and layout.header is None:
        columns = _rbtlog_columns(path, len(layout.first or ()))
    if layout.header is None and isinstance(columns, Mapping | None):
        first = list(layout.first or ())
        raise LogError(
            f"{where}: has no header line: its first line is numbers, {quoted_list(first[:4])} "
            f"...; name its columns ({len(first)}) with --columns time,elbow.position,..."
        )
    if columns is None or isinstance(columns, Mapping):
        names, stated = list(layout.header or ()), columns
    else:
        names, stated = list(columns), None
        _check_named(layout, names, where)
    _refuse_columns(len(names), where)
    found, _ = parse_header(names, where, stated, count_rows=count_rows)
    return CsvTable(path, layout, tuple(names), found)


def _rbtlog_columns(path: Path, width: int) -> list[str] | None:
    """Columns of a recording of Sousa and Cortesão (2014), recognised by its name; else None.

    Their files rbtlog_traj1.dat to 4 have no header: time (s), then q (rad) and then tau (N m) of
    every joint.
    """
    n = (width - 1) // 2
    if not path.name.lower().startswith("rbtlog") or width != 2 * n + 1 or n == 0:
        return None
    return ["time", *(f"{word}{k}" for word in ("q", "tau") for k in range(1, n + 1))]


def read_csv(
    path: Path, name: str, columns: ColumnNames | None = None, *, count_rows: bool = False
) -> Log:
    """Read a text table: ``.csv``, ``.tsv``, ``.txt`` or ``.dat``, or one of these with ``.gz``.

    columns : signals and the columns that hold them; or the names of all columns, in a file
        without a header line.
    count_rows : whether the number of each row is its time, where there is no column of time.

    Empty cells are missing values, and text in ignored columns does not matter. Rows that cannot be
    read are skipped, if they are few, and told in ``skipped``; if they are many, the file is
    refused with line and column of the first cell that cannot be read.
    """
    table = open_csv(path, columns, count_rows=count_rows)
    return whole_log(table, name, list(table.blocks()))


def whole_log(table: CsvTable, name: str, blocks: list[CsvBlock]) -> Log:
    """The log of all blocks of a table, which are taken from the list."""
    skipped = blocks[-1].skipped if blocks else SkippedRows()
    values = np.concatenate([block.values for block in blocks])
    blocks.clear()
    if len(values) == 0:
        where = shown_path(table.path)
        raise LogError(f"{where}: a header and no samples; at least two rows are needed")
    return Log.from_description(_described(table, name, values, skipped))


def described_blocks(
    table: CsvTable, name: str, blocks: Iterable[CsvBlock]
) -> Iterator[LogDescription]:
    """The log of a table, block by block."""
    first = None
    for block in blocks:
        if first is None and len(block.values):
            first = block.values[:1].copy()
            yield _described(table, name, block.values, block.skipped)
        elif first is not None:
            # the very first row, to which clocks refer, comes before each block
            values = np.concatenate([first, block.values])
            yield without_first_row(_described(table, name, values, block.skipped))


def _described(table: CsvTable, name: str, values: Array, skipped: SkippedRows) -> LogDescription:
    used = ((title, column, one) for (title, column), one in zip(table.used, values.T, strict=True))
    content = assemble(used, name, str(table.path), table.ignored)
    return replace(content, skipped=skipped if skipped.n_skipped else None)


@contextmanager
def _reading(path: Path, where: str) -> Iterator[TextIO]:
    """The file as text; any failure while it is read becomes a LogError.

    Bytes that are not UTF-8 become surrogates, which no number has.
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
            with io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape") as text:
                yield text
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


def _first_lines(text: TextIO, where: str) -> list[str]:
    """The lines in which layout and header are looked for; the first is not blank."""
    lines: list[str] = []
    n_read = 0
    while len(lines) < MOST_LINES and n_read < MOST_FIRST_BYTES:
        line = text.readline(MAX_HEADER_BYTES)
        if not line:
            break
        if not lines and len(line) >= MAX_HEADER_BYTES:
            raise LogError(f"{where}: the header is longer than {size_words(MAX_HEADER_BYTES)}")
        _refuse_columns(max(line.count(mark) for mark in SEPARATORS if mark != BLANKS) + 1, where)
        lines.append(line)
        n_read += len(line)
    if not any(line.strip() for line in lines):
        raise LogError(f"{where}: is empty; a header line and samples are needed")
    return lines


def _refuse_columns(n_columns: int, where: str) -> None:
    if n_columns > MAX_COLUMNS:
        raise LogError(f"{where}: {n_columns} columns; at most {MAX_COLUMNS} are read")


def _refuse_foreign_bytes(names: tuple[str, ...], where: str) -> None:
    for name in names:
        byte = next((ord(mark) - 0xDC00 for mark in name if 0xDC80 <= ord(mark) <= 0xDCFF), None)
        if byte is not None:
            raise LogError(
                f"{where}: the header is not UTF-8 text (byte 0x{byte:02x}); save the file as CSV "
                "in UTF-8"
            )


def _check_named(layout: CsvLayout, names: list[str], where: str) -> None:
    """Refuse names of columns that do not fit a file: it has a header, or another width."""
    if layout.header is not None:
        raise LogError(
            f"{where}: has a header line, {quoted_list(layout.header[:4])} ..., but --columns names"
            " the columns of a file without one; name single columns with --map "
            "elbow.position=COLUMN"
        )
    if len(names) != len(layout.first or ()):
        raise LogError(
            f"{where}: {len(names)} columns are named, but its first line has "
            f"{len(layout.first or ())} numbers; leave the name of a column empty to ignore it"
        )


@dataclass(frozen=True, eq=False)
class _Held:
    """Rows whose time stamps are not judged yet, after one that was given out.

    values : (n_rows, n_used). lines : (n_rows,) their numbers. before : (0 or 1, n_used) the last
    row that was given out.
    """

    values: Array
    lines: Lines
    before: Array

    @staticmethod
    def none(n_used: int) -> _Held:
        """Before the first block."""
        return _Held(np.empty((0, n_used)), np.empty(0, dtype=np.int64), np.empty((0, n_used)))

    def with_rows(
        self, values: Array, lines: Lines, used: Sequence[tuple[str, LogColumn]]
    ) -> tuple[_Held, Array, Skipped]:
        """With more rows: what is held now, the rows that are given out, and those left out."""
        values, lines = np.concatenate([self.values, values]), np.concatenate([self.lines, lines])
        n_judged = max(0, len(values) - HELD_ROWS)
        ready, wrong = self._judged(values, lines, used, n_judged, at_end=False)
        before = ready[-1:].copy() if len(ready) else self.before
        held = _Held(values[n_judged:].copy(), lines[n_judged:].copy(), before)
        return held, ready, wrong

    def rest(self, used: Sequence[tuple[str, LogColumn]]) -> tuple[Array, Skipped]:
        """The last rows of the file that are given out, and those left out."""
        return self._judged(self.values, self.lines, used, len(self.values), at_end=True)

    def _judged(
        self,
        values: Array,
        lines: Lines,
        used: Sequence[tuple[str, LogColumn]],
        n_judged: int,
        *,
        at_end: bool,
    ) -> tuple[Array, Skipped]:
        stamps = _stamps(np.concatenate([self.before, values]), used)
        if stamps is None or not n_judged:
            return values[:n_judged], []
        n_before = len(self.before)
        wild = wild_stamps(stamps, at_start=n_before == 0, at_end=at_end)
        wrong = {row - n_before: why for row, why in wild.items() if 0 <= row - n_before < n_judged}
        if not wrong:
            return values[:n_judged], []
        keep = np.ones(n_judged, dtype=bool)
        keep[list(wrong)] = False
        return values[:n_judged][keep], [
            (int(lines[k]), f"line {lines[k]}: {why}") for k, why in wrong.items()
        ]


def _stamps(values: Array, used: Sequence[tuple[str, LogColumn]]) -> Array | None:
    """Time of each row, from any start (s); None without a column of time."""
    parts = []
    for values_of_one, (_, column) in zip(values.T, used, strict=True):
        if column.is_time:
            # seconds since 1970 and their nanoseconds would not fit into one number
            start = (
                np.median(values_of_one[:1000])
                if column.quantity == "seconds" and len(values)
                else 0.0
            )
            parts.append((values_of_one - start) * column.factor)
    return np.asarray(np.sum(parts, axis=0)) if parts else None


def _parsed_blocks(text: TextIO, table: CsvTable) -> Iterator[tuple[Array, Lines, Skipped]]:
    """Blocks of rows: values (n_rows, n_used), numbers of their lines, and lines left out."""
    for _ in range(table.layout.lines_above):
        text.readline(MAX_HEADER_BYTES)
    reader = RowReader(table.layout, table.names, table.columns)
    above = table.layout.lines_above
    while lines := text.readlines(BLOCK_BYTES):
        values, numbers, unread = reader.fast(lines, above) or reader.by_line(lines, above)
        usable, wrong = reader.usable(values, numbers)
        unread = unread + wrong
        if len(usable) < len(values):
            values, numbers = values[usable], numbers[usable]
        above += len(lines)
        yield values, numbers, unread
