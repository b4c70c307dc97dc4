"""Tables as plain text, for terminals and logs."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def text_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[str] = ()
) -> list[str]:
    """The lines of a table, its columns aligned right except those named in ``left``.

    A first cell that repeats the one above it is left empty.
    """
    table = [tuple(columns), *(tuple(row) for row in rows)]
    widths = [max(len(row[k]) for row in table) for k in range(len(columns))]
    lines = []
    above = ""
    for row in table:
        first = "" if row[0] == above else row[0]
        above = row[0]
        cells = [
            cell.ljust(width) if name in left else cell.rjust(width)
            for name, cell, width in zip(columns, (first, *row[1:]), widths, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return [lines[0], "  ".join("-" * width for width in widths), *lines[1:]]
