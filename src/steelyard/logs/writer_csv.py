"""Write a log as CSV, so that reading it gives the same numbers."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np

from steelyard._files.access import whole_file
from steelyard.errors import LogError
from steelyard.logs.frame_columns import FRAME_QUANTITIES, FRAME_UNITS, frame_column_name
from steelyard.logs.log import Log

ROWS_AT_ONCE = 4096


def write_csv(log: Log, path: str | Path) -> None:
    """Write ``log`` to a ``.csv`` or ``.csv.gz`` file, whole or not at all.

    Each number has the fewest digits that read back to the same 64-bit float. The header
    states units where they are known.
    """
    path = Path(path)
    if not path.name.lower().endswith((".csv", ".csv.gz")):
        raise LogError(f"'{path}': a log is written as .csv or .csv.gz")
    names = ["time[s]"]
    for joint, quantity in log.signals:
        unit = log.units.get((joint, quantity), "")
        names.append(f"{joint}.{quantity}" + (f"[{unit}]" if unit else ""))
    arrays = [log.time, *log.signals.values()]
    for (frame, quantity), values in log.frame_signals.items():
        unit = next(iter(FRAME_UNITS[quantity]))
        bracket = "" if unit == "1" else f"[{unit}]"
        axes = FRAME_QUANTITIES[quantity]
        names += [f"{frame_column_name(frame, quantity, axis)}{bracket}" for axis in axes]
        arrays += list(values.T)
    with _stream(path) as stream:
        header = io.StringIO()
        csv.writer(header, lineterminator="\n").writerow(names)
        stream.write(header.getvalue().encode())
        for start in range(0, len(log), ROWS_AT_ONCE):
            rows = np.column_stack([a[start : start + ROWS_AT_ONCE] for a in arrays]).tolist()
            stream.write("".join(",".join(map(repr, row)) + "\n" for row in rows).encode())


@contextmanager
def _stream(path: Path) -> Iterator[BinaryIO]:
    """The file to write to, compressed if its name ends in .gz."""
    with whole_file(path, LogError) as raw:
        if path.name.lower().endswith(".gz"):
            # without name and time in its header, so that the same log gives the same bytes
            with gzip.GzipFile("", "wb", 6, raw, mtime=0) as compressed:
                yield compressed  # type: ignore[misc]
        else:
            yield raw
