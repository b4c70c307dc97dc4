"""How a table of numbers is laid out as text: separator, header line, first line of numbers.

The separator is the one with which the first lines fall into the most numbers, each into as many.
The header is a line above them that falls into as many cells; it may start with a comment sign, may
be separated in another way than the numbers, as numpy.savetxt writes it, and may have a line of
units below it.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.errors import LogError
from steelyard.logs.columns import TIME_UNITS, UNITS, parse_column, split_unit

BLANKS = " "
"""Stands for runs of spaces and tabs."""
SEPARATORS = (",", ";", "\t", "|", BLANKS)
"""What may separate cells; of two that fit equally well, the earlier one."""
COMMENT_SIGNS = "#%"
MOST_LINES = 60
"""Lines at the start of a file that are looked at."""
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+([eE][-+]?\d+)?\s*")
_NAME_WITH_UNIT = re.compile(r"[^\s\[]\S*\s+\[[^\[\]]*\]|\S+")


@dataclass(frozen=True)
class CsvLayout:
    """Where the cells of a text table are.

    separator : between the numbers, one of ``SEPARATORS``. header : cells of the header line, None
    where there is none. first : cells of the first line of numbers, None where none was found.
    lines_above : how many lines end with the header and its units.
    bars : whether lines start and end with the separator, as in tables drawn with "|".
    """

    separator: str
    header: tuple[str, ...] | None
    first: tuple[str, ...] | None
    lines_above: int
    bars: bool = False

    def cells(self, line: str) -> list[str]:
        """The cells of a line of numbers."""
        return cells_of(line.strip().strip("|") if self.bars else line, self.separator)


def layout_of(lines: Sequence[str]) -> CsvLayout:
    """The layout of a table from its first lines, of which the first is not blank."""
    separator, width = _separator(lines)
    at = next((k for k, line in enumerate(lines) if _is_row(line, separator, width)), None)
    if at is None:
        return _without_numbers(lines)
    bars = separator == "|" and lines[at].strip().startswith("|")
    first = tuple(CsvLayout(separator, None, None, 0, bars).cells(lines[at]))
    header, below = _header(lines[:at], separator, len(first))
    return CsvLayout(separator, header, first, below if header else at, bars)


def _header(above: Sequence[str], separator: str, width: int) -> tuple[tuple[str, ...] | None, int]:
    """The header among the lines above the numbers, and how many lines end with it.

    Of several lines with as many cells it is the one with the most names that mean something, of
    these the first; a line of units below it belongs to it.
    """
    marks = dict.fromkeys((*((separator,) if separator != BLANKS else ()), *SEPARATORS))
    for mark in marks:
        rows = [_header_cells(line, mark) for line in above]
        fitting = [k for k, row in enumerate(rows) if len(row) == width and any(row)]
        if fitting:
            at = max(fitting, key=lambda k: (_n_known(rows[k]), -k))
            if at + 1 in fitting and all(_unit(cell) is not None for cell in rows[at + 1]):
                pairs = zip(rows[at], rows[at + 1], strict=True)
                return tuple(_with_unit(name, unit) for name, unit in pairs), at + 2
            return rows[at], at + 1
    text = [k for k, line in enumerate(above) if line.strip() and not is_comment(line)]
    if not text:
        return None, 0
    mark = _mark_in(above[text[0]])
    return _header_cells(above[text[0]], mark), text[0] + 1


def _n_known(names: Sequence[str]) -> int:
    """How many names mean something; a wrong unit does not make a name unknown."""
    known = 0
    for name in names:
        try:
            known += parse_column(name, "") is not None
        except LogError:
            known += 1
    return known


def _unit(cell: str) -> str | None:
    """The unit that a cell states, "" for none; None where it is something else."""
    unit = cell.strip("[]() ")
    known = unit in ("", "-", *TIME_UNITS) or any(unit in units for units in UNITS.values())
    return unit if known else None


def _with_unit(name: str, unit: str) -> str:
    """A name that means something, with the unit below it; others are left for ``--map``."""
    stated = (_unit(unit) or "").strip("-")
    unstated = stated and split_unit(name)[1] is None and _n_known([name])
    return f"{name}[{stated}]" if unstated else name


def _without_numbers(lines: Sequence[str]) -> CsvLayout:
    """A header and no numbers, as far as one can see."""
    at = next((k for k, line in enumerate(lines) if line.strip() and not is_comment(line)), 0)
    mark = _mark_in(lines[at])
    return CsvLayout(mark, _header_cells(lines[at], mark), None, at + 1)


def cells_of(line: str, separator: str) -> list[str]:
    """The cells of one line; raises csv.Error where quotes do not allow it."""
    if separator == BLANKS:
        return line.split()
    if '"' in line:
        return next(csv.reader([line], delimiter=separator), [])
    return line.rstrip("\r\n").split(separator)


def is_number(cell: str) -> bool:
    """Whether a cell is a number as loggers write it."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell  # float("1_0") is 10


def _separator(lines: Sequence[str]) -> tuple[str, int]:
    """The separator with which the lines hold the most numbers, and how many cells they have."""
    best, width, most = ",", 1, 0.0
    for separator in SEPARATORS:
        shares = [_shares(line, separator) for line in lines]
        counts = Counter(n for n, share in shares if n > 1 and share >= 0.5)
        for n, _ in counts.most_common(1):
            score = sum(share for m, share in shares if m == n and share >= 0.5)
            if score > most:
                best, width, most = separator, n, score
    return (best, width) if most > 0.0 else (",", 1)


def _shares(line: str, separator: str) -> tuple[int, float]:
    """How many cells a line has, and which share of those that are not empty are numbers."""
    stripped = line.strip()
    try:
        cells = cells_of(stripped.strip("|") if separator == "|" else line, separator)
    except csv.Error:
        return 0, 0.0
    filled = [cell for cell in cells if cell.strip()]
    numbers = sum(
        is_number(cell) or (separator != "," and _DECIMAL_COMMA.fullmatch(cell) is not None)
        for cell in filled
    )
    return len(cells), numbers / max(1, len(filled))


def _is_row(line: str, separator: str, width: int) -> bool:
    n, share = _shares(line, separator)
    return n == width and share >= 0.5


def is_comment(line: str) -> bool:
    """Whether a line starts with a comment sign."""
    return line.lstrip()[:1] in tuple(COMMENT_SIGNS)


def _mark_in(line: str) -> str:
    """What separates the names of a header, where no line of numbers tells."""
    body = line.strip().lstrip(COMMENT_SIGNS).strip()
    found = next((mark for mark in SEPARATORS if mark != BLANKS and mark in body), None)
    return found or (BLANKS if len(_NAME_WITH_UNIT.findall(body)) > 1 else ",")


def _header_cells(line: str, separator: str) -> tuple[str, ...]:
    """The names in a header line."""
    body = line.strip("\r\n").lstrip(COMMENT_SIGNS + " ")
    if separator == BLANKS:
        return tuple(_NAME_WITH_UNIT.findall(body))
    if separator == "|" and body.strip().startswith("|"):
        body = body.strip().strip("|")
    try:
        return tuple(cell.strip() for cell in cells_of(body, separator))
    except csv.Error:
        return ()
