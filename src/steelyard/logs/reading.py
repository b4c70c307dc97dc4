"""Read a log of any supported format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from steelyard._files.limits import MAX_LOG_BYTES as MAX_FILE_BYTES
from steelyard.errors import LogError, shown_path, size_words
from steelyard.logs.log import Log
from steelyard.logs.reader_csv import described_blocks, open_csv, read_csv, whole_log
from steelyard.logs.reader_npz import npz_blocks, read_npz, values_in
from steelyard.logs.renaming import ColumnNames, check_column_names
from steelyard.logs.stored_log import BLOCK_ROWS, MOST_VALUES, AnyLog, stored

Block = TypeVar("Block")
TEXT_ENDINGS = (".csv", ".tsv", ".txt", ".dat")
READERS = {
    **{ending: read_csv for ending in TEXT_ENDINGS},
    **{f"{ending}.gz": read_csv for ending in TEXT_ENDINGS},
    ".npz": read_npz,
}


def read_log(
    path: str | Path,
    name: str | None = None,
    columns: ColumnNames | None = None,
    *,
    count_rows: bool = False,
) -> Log:
    """Read a log from a text table (``.csv``, ``.tsv``, ``.txt``, ``.dat``, also with ``.gz``) or
    an ``.npz`` file.

    name : what to call the log; the file's name without its extension where not given.
    columns : which column holds which signal, for names that are not recognised:
        ``{"elbow.position[deg]": "PosElbow", "time[ms]": "Zeit"}``; or, for a CSV file without a
        header line, the names of all its columns in order, an empty one for a column to ignore.
    count_rows : whether the number of each row is its time, where the file has no time: for tables
        of poses at rest.
    """
    check_column_names(columns)
    path = Path(path)
    extension = check_path(path)
    name = name or path.name[: -len(extension)] or path.name
    return READERS[extension](path, name, columns, count_rows=count_rows)


def read_any_log(
    path: str | Path,
    name: str | None = None,
    columns: ColumnNames | None = None,
    *,
    progress: Callable[[int], None] | None = None,
) -> AnyLog:
    """:func:`read_log`, or, of more than `MOST_VALUES` numbers, a log that is not held in memory.

    progress : called with the number of rows read so far.
    """
    check_column_names(columns)
    path = Path(path)
    extension = check_path(path)
    name = name or path.name[: -len(extension)] or path.name
    if extension == ".npz":
        if values_in(path) <= MOST_VALUES:
            return read_npz(path, name, columns)
        return stored(npz_blocks(path, name, columns, BLOCK_ROWS), progress)
    table = open_csv(path, columns)
    blocks, n_values = [], 0
    rest = table.blocks()
    for block in rest:
        blocks.append(block)
        n_values += block.values.size
        if n_values > MOST_VALUES:
            return stored(described_blocks(table, name, taken_from(blocks, rest)), progress)
        if progress is not None:
            progress(n_values // max(1, block.values.shape[1]))
    return whole_log(table, name, blocks)


def taken_from(first: list[Block], rest: Iterator[Block]) -> Iterator[Block]:
    """The items of a list, none of which it keeps, and those of an iterator."""
    while first:
        yield first.pop(0)
    yield from rest


def check_path(path: Path) -> str:
    """Refuse what is not a log file by name, kind and size; returns its extension."""
    where = shown_path(path)
    try:
        if not path.exists():
            raise LogError(f"{where}: no such file")
        if not path.is_file():
            kind = "a directory" if path.is_dir() else "not a regular file"
            raise LogError(f"{where}: is {kind}; a log file is needed")
        size = path.stat().st_size
    except (OSError, ValueError) as error:
        raise LogError(f"{where}: cannot be read ({error})") from None
    extension = next((end for end in READERS if path.name.lower().endswith(end)), None)
    if extension is None:
        raise LogError(f"{where}: unknown kind of log; the formats are {', '.join(READERS)}")
    if size == 0:
        raise LogError(f"{where}: is empty")
    if size > MAX_FILE_BYTES:
        raise LogError(
            f"{where}: has {size_words(size)}; at most {size_words(MAX_FILE_BYTES)} are read"
        )
    return extension
