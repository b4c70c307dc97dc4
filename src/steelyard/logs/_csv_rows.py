"""Lines of a text table to numbers: all lines of a block at once, or one by one where some are not
rows of numbers.
"""

from __future__ import annotations

import csv
import math
import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from steelyard._files.limits import LARGEST_SIGNAL
from steelyard.errors import shown
from steelyard.logs.csv_layout import BLANKS, CsvLayout, is_comment, is_number
from steelyard.logs.header import Columns

Array = NDArray[np.float64]
Lines = NDArray[np.int64]
Skipped = list[tuple[int, str]]
"""Numbers of lines that are skipped, each with why."""
LINES_BEFORE, MOST_BEFORE = 20, 1000
"""Lines with whose last cells that of the last line is compared, least and most."""


class RowReader:
    """Lines to numbers, for one table."""

    def __init__(self, layout: CsvLayout, names: Sequence[str], columns: Columns) -> None:
        self._layout, self._names = layout, names
        self._used = [k for k, column in enumerate(columns) if column is not None]
        used = [column for column in columns if column is not None]
        self._is_time = np.array([column.is_time for column in used])
        self._largest = np.array([LARGEST_SIGNAL / column.factor for column in used])

    def fast(self, lines: list[str], above: int) -> tuple[Array, Lines, Skipped] | None:
        """The rows of all lines, or None where lines must be read one by one."""
        separator = self._layout.separator
        bare = [line.strip().strip("|") for line in lines] if self._layout.bars else lines
        values = self._loaded(bare)
        if values is None and separator != BLANKS:
            bare = _filled(bare, separator)
            values = self._loaded(bare)
        if values is None or (len(bare) > 1 and _is_cut(lines, separator)):
            return None
        rows = np.arange(len(lines))
        if len(values) < len(lines):
            rows = np.array([k for k, line in enumerate(bare) if line.strip()], dtype=np.int64)
        if len(rows) != len(values):
            return None
        return values, rows + above + 1, []

    def _loaded(self, lines: list[str]) -> Array | None:
        """The columns that are used, if all lines are rows of numbers there."""
        separator = None if self._layout.separator == BLANKS else self._layout.separator
        n = len(self._names)
        some = len(self._used) < n
        if some and not all(_n_cells(line, separator) in (0, n) for line in lines):
            return None
        try:
            with warnings.catch_warnings():
                # blank lines alone are a table without rows
                warnings.filterwarnings("ignore", "(?s).*contained no data", UserWarning)
                values = np.loadtxt(
                    lines,
                    delimiter=separator,
                    comments=None,
                    ndmin=2,
                    quotechar=None if separator is None else '"',
                    usecols=self._used if some else None,
                )
        except ValueError:
            return None
        if values.size == 0:
            return np.empty((0, len(self._used)))
        return values if values.shape[1] == len(self._used) else None

    def by_line(self, lines: list[str], above: int) -> tuple[Array, Lines, Skipped]:
        """The rows that can be read, and why others cannot."""
        rows, numbers = [], []
        skipped: Skipped = []
        cut = _is_cut(lines, self._layout.separator)
        for number, line in enumerate(lines, above + 1):
            if not line.strip() or is_comment(line):
                continue
            if cut and number == above + len(lines):
                skipped.append((number, f"line {number}: the file ends in the middle of a number"))
                continue
            row = self._row(line)
            if isinstance(row, str):
                skipped.append((number, f"line {number}{row}"))
            else:
                rows.append(row)
                numbers.append(number)
        values = np.array(rows, dtype=float).reshape(len(rows), len(self._used))
        return values, np.array(numbers, dtype=np.int64), skipped

    def _row(self, line: str) -> list[float] | str:
        """The values that are used, or what is wrong with the line."""
        try:
            cells = self._layout.cells(line)
        except csv.Error as error:
            return f": {error}"
        n = len(self._names)
        if len(cells) == n + 1 and not cells[-1].strip():
            cells.pop()  # a separator behind the last cell
        if len(cells) != n:
            return f" has {len(cells)} cells, but the header has {n} columns"
        try:
            if "_" not in line:
                return [float(cells[k]) for k in self._used]
        except ValueError:
            pass
        values = []
        for index, is_time in zip(self._used, self._is_time, strict=True):
            cell = cells[index].strip()
            if not cell and not is_time:
                values.append(math.nan)
            elif is_number(cell):
                values.append(float(cell))
            else:
                what = f"{shown(cell)} is not a number" if cell else "is empty"
                hint = "; decimals need a point" if "," in cell else ""
                return f", column {shown(self._names[index])}: {what}{hint}"
        return values

    def usable(self, values: Array, numbers: Lines) -> tuple[Lines, Skipped]:
        """Which rows have a time and no number that is too large, and why others cannot be used."""
        wrong = (np.abs(values) > self._largest) & (np.isfinite(values) | self._is_time)
        wrong |= np.isnan(values) & self._is_time
        bad = wrong.any(axis=1)
        if not bad.any():
            return np.arange(len(values)), []
        skipped = []
        for row in np.flatnonzero(bad):
            k = int(np.flatnonzero(wrong[row])[0])
            title = shown(self._names[self._used[k]])
            value, line = float(values[row, k]), int(numbers[row])
            why = (
                f"is {value:g}, and at most {LARGEST_SIGNAL:g} in SI units is read; leave a cell "
                "empty where there is no value"
            )
            if not math.isfinite(value):
                why = "is empty or not finite"
            skipped.append((line, f"line {line}, column {title}: {why}"))
        return np.flatnonzero(~bad), skipped


def _filled(lines: list[str], separator: str) -> list[str]:
    """The lines with "nan" in cells that are empty: missing values."""
    filled = []
    for line in lines:
        if separator + separator in line or line[:1] == separator or line[-2:-1] == separator:
            double = separator + separator
            text = line.replace(double, f"{separator}nan{separator}")
            text = text.replace(double, f"{separator}nan{separator}").rstrip("\n")
            text = f"nan{text}" if text.startswith(separator) else text
            line = f"{text}nan\n" if text.endswith(separator) else f"{text}\n"
        filled.append(line)
    return filled


def _n_cells(line: str, separator: str | None) -> int:
    """How many cells a line without quotes has; 0 for a blank one."""
    if separator is None:
        return len(line.split())
    return line.count(separator) + 1 if line.strip() else 0


def _is_cut(lines: list[str], separator: str) -> bool:
    """Whether a file ends within a number: without a line break, after fewer digits than all
    lines before have.
    """
    last = lines[-1]
    if last.endswith(("\n", "\r")) or len(lines) < LINES_BEFORE:
        return False
    before = (len(_last_cell(line, separator)) for line in lines[-MOST_BEFORE:-1] if line.strip())
    return 0 < len(_last_cell(last, separator)) < min(before, default=0)


def _last_cell(line: str, separator: str) -> str:
    return (
        (line.split() or [""])[-1] if separator == BLANKS else line.strip().rpartition(separator)[2]
    )
