"""A log that is too long to be held in memory: its samples lie in a temporary file.

The file has no name and is gone with the log. It holds blocks of rows, in each block one column
after the other, so that both some rows of all signals and all rows of one are read in long pieces.
It is read with seek and read: pages that are mapped would count as memory of the process.
"""

from __future__ import annotations

import hashlib
import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import IO

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError
from steelyard.logs.description import Key, LogDescription
from steelyard.logs.log import Log, check_time, plain_bytes, signal_mark

Array = NDArray[np.float64]

MOST_VALUES = 2**22
"""Numbers up to which a log is held in memory: `identify` takes about 150 bytes for each."""
SELECTED_VALUES = 3 * 2**20
"""Numbers of the windows on which everything is decided that is decided once."""
WINDOWS = 8
LEAST_GAP = 0.25
"""Length of the gap between two windows, over that of a window, at least."""
BLOCK_ROWS = 2**16


class TemporaryRows:
    """A temporary file that is closed, and thereby gone, with the last log that uses it."""

    def __init__(self) -> None:
        self.stream: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - see __del__

    def __del__(self) -> None:
        """Close the file."""
        self.stream.close()


@dataclass(frozen=True, eq=False)
class StoredLog:
    """A log of which some rows at a time are read.

    start : its first two rows, with the names and units of all. n_samples : number of rows.
    duration_s : time from the first to the last.
    """

    start: Log
    n_samples: int
    duration_s: float
    rows: TemporaryRows

    def __repr__(self) -> str:
        return f"<StoredLog '{self.name}': {self.n_samples} samples in {self.duration_s:.6g} s>"

    def __len__(self) -> int:
        return self.n_samples

    @property
    def name(self) -> str:
        """What the log is called."""
        return self.start.name

    @property
    def source(self) -> str | None:
        """Path of the file."""
        return self.start.source

    @property
    def n_columns(self) -> int:
        """Numbers in a row, time included."""
        return len(_columns(self.start))

    def renamed(self, name: str) -> StoredLog:
        """The log with another name."""
        return replace(self, start=replace(self.start, name=name))

    def read(self, begin: int, end: int) -> Log:
        """The samples of some rows, from 0, without the last."""
        return self._log_of(self._rows(begin, end))

    def selection(self) -> Log:
        """Windows that are spread over the log, from its start to its end, with gaps between."""
        most = min(SELECTED_VALUES // (self.n_columns * WINDOWS), self.n_samples // WINDOWS)
        n = max(2, min(most, math.floor(self.n_samples / (WINDOWS * (1.0 + LEAST_GAP)))))
        begins = np.linspace(0, self.n_samples - n, WINDOWS).round().astype(int).tolist()
        rows = np.concatenate([self._rows(begin, begin + n) for begin in begins], axis=1)
        return replace(self._log_of(rows), skipped=self.start.skipped)

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of time and signals: that of the same log in memory."""
        digest = hashlib.sha256()
        columns = _columns(self.start)
        for rows in self._column(0):
            digest.update(plain_bytes(rows))
        for key in sorted(self.start.signals):
            digest.update(signal_mark(key))
            for rows in self._column(columns.index(("joint", key, 0))):
                digest.update(plain_bytes(rows))
        for key in sorted(self.start.frame_signals):
            digest.update(signal_mark(key, of_frame=True))
            width = self.start.frame_signals[key].shape[1]
            of_axes = (self._column(columns.index(("frame", key, axis))) for axis in range(width))
            for axes in zip(*of_axes, strict=True):
                digest.update(plain_bytes(np.column_stack(axes)))
        return digest.hexdigest()

    def _rows(self, begin: int, end: int) -> Array:
        """Values (n_columns, n_rows)."""
        if not 0 <= begin < end <= self.n_samples:
            raise LogError(f"log '{self.name}': rows {begin} to {end} of {self.n_samples}")
        parts = []
        for block in range(begin // BLOCK_ROWS, (end - 1) // BLOCK_ROWS + 1):
            first, n = block * BLOCK_ROWS, self._rows_of_block(block)
            some = slice(max(begin - first, 0), min(end - first, n))
            parts.append(
                np.stack([self._piece(block, column)[some] for column in range(self.n_columns)])
            )
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def _column(self, column: int) -> Iterator[Array]:
        """One column, block by block."""
        for block in range(math.ceil(self.n_samples / BLOCK_ROWS)):
            yield self._piece(block, column)

    def _piece(self, block: int, column: int) -> Array:
        n = self._rows_of_block(block)
        self.rows.stream.seek(8 * (block * BLOCK_ROWS * self.n_columns + column * n))
        return np.frombuffer(self.rows.stream.read(8 * n))

    def _rows_of_block(self, block: int) -> int:
        return min(BLOCK_ROWS, self.n_samples - block * BLOCK_ROWS)

    def _log_of(self, values: Array) -> Log:
        """The log of these rows (n_columns, n_rows)."""
        signals, frames = _signals(self.start, values)
        return replace(
            self.start, time=values[0], signals=signals, frame_signals=frames, skipped=None
        )


AnyLog = Log | StoredLog
"""A log in memory, or one of which some rows at a time are read."""


def selected(log: AnyLog) -> Log:
    """A log in memory, or windows of one that is not."""
    return log.selection() if isinstance(log, StoredLog) else log


def first_rows(log: AnyLog) -> Log:
    """A log in memory, or the first rows of one that is not."""
    return log.start if isinstance(log, StoredLog) else log


def stored(
    parts: Iterator[LogDescription], progress: Callable[[int], None] | None = None
) -> StoredLog:
    """The log of these parts, which follow each other, written to a temporary file.

    progress : called with the number of rows so far.
    """
    try:
        return _written(parts, TemporaryRows(), progress)
    except OSError as failure:
        raise LogError(
            f"a long log cannot be stored in {tempfile.gettempdir()} "
            f"({failure.strerror or failure}); make room there, or set TMPDIR to another folder"
        ) from None


def _written(
    parts: Iterator[LogDescription], rows: TemporaryRows, progress: Callable[[int], None] | None
) -> StoredLog:
    file, start, last, n_samples = rows.stream, None, -math.inf, 0
    waiting: list[Array] = []
    for part in parts:
        values = _values(part)
        n_samples += values.shape[1]
        waiting.append(values)
        if start is None and n_samples >= 2:
            start = (part, np.concatenate(waiting, axis=1)[:, :2])
        while sum(one.shape[1] for one in waiting) >= BLOCK_ROWS:
            whole = np.concatenate(waiting, axis=1) if len(waiting) > 1 else waiting[0]
            last = _checked(whole[0, :BLOCK_ROWS], last, part)
            file.write(whole[:, :BLOCK_ROWS].tobytes())
            waiting = [whole[:, BLOCK_ROWS:]]
        if progress is not None:
            progress(n_samples)
    if start is None:
        raise LogError("fewer than two samples; at least two are needed")
    rest = np.concatenate(waiting, axis=1)
    if rest.size:
        last = _checked(rest[0], last, start[0])
    file.write(rest.tobytes())
    file.flush()
    described, two = start
    log = Log.from_description(_with_values(described, two))
    log = replace(log, skipped=part.skipped)
    return StoredLog(log, n_samples, last - float(two[0, 0]), rows)


def _checked(time: Array, last: float, part: LogDescription) -> float:
    """The last stamp; refuses stamps that are missing, repeated or run backwards."""
    before = [last] if math.isfinite(last) else []
    if len(time) + len(before) >= 2:
        where = f"log '{part.name}', from {last if before else time[0]:.9g} s on"
        check_time(np.concatenate([before, time]), where)
    return float(time[-1])


Column = tuple[str, Key, int]
"""Time, or joint or frame with its quantity and axis."""
TIME: Column = ("", ("", "time"), 0)


def _columns(log: Log | LogDescription) -> list[Column]:
    """What the columns of the file hold."""
    return [
        TIME,
        *(("joint", key, 0) for key in sorted(log.signals)),
        *(
            ("frame", key, axis)
            for key in sorted(log.frame_signals)
            for axis in range(log.frame_signals[key].shape[1])
        ),
    ]


def _values(part: LogDescription) -> Array:
    """All columns (n_columns, n_rows)."""
    where = f"log '{part.name}'"
    columns = [part.time, *(part.signals[key] for key in sorted(part.signals))]
    for key in sorted(part.frame_signals):
        columns += list(part.frame_signals[key].T)
    lengths = {len(one) for one in columns}
    if len(lengths) > 1:
        raise LogError(f"{where}: columns have different numbers of samples: {sorted(lengths)}")
    return np.array(columns, dtype=float)


def _with_values(part: LogDescription, values: Array) -> LogDescription:
    """The description with other rows (n_columns, n_rows)."""
    signals, frames = _signals(part, values)
    return replace(part, time=values[0], signals=signals, frame_signals=frames)


def _signals(log: Log | LogDescription, values: Array) -> tuple[dict[Key, Array], dict[Key, Array]]:
    """Signals of joints (n_rows,) and of frames (n_rows, n_axes), of rows (n_columns, n_rows)."""
    columns = dict(zip(_columns(log), values, strict=True))
    frames = {
        key: np.column_stack([columns["frame", key, axis] for axis in range(table.shape[1])])
        for key, table in log.frame_signals.items()
    }
    return {key: columns["joint", key, 0] for key in log.signals}, frames
