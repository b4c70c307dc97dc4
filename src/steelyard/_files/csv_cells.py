"""Text in cells of CSV files that no spreadsheet takes for a formula.

Names of links and joints come from robot files, which may be a stranger's. A spreadsheet runs a
cell such as ``=cmd|...`` when the table is opened. An apostrophe before it makes it text.
"""

from __future__ import annotations

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
MARK = "'"


def cell_of(text: str) -> str:
    """The cell for a text: marked with an apostrophe if it could be read as a formula.

    A text that has such apostrophes itself gets one more, so that :func:`text_of` is the inverse.
    """
    return MARK + text if text.lstrip(MARK).startswith(FORMULA_STARTS) else text


def text_of(cell: str) -> str:
    """The text of a cell that :func:`cell_of` made; other cells are as they are."""
    marked = cell.startswith(MARK) and cell.lstrip(MARK).startswith(FORMULA_STARTS)
    return cell[1:] if marked else cell
