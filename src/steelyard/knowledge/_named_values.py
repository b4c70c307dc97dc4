"""Read numbers by name from a file: ``name,value`` lines, a JSON object, or a result file."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from steelyard._files.access import read_capped
from steelyard._files.csv_cells import text_of
from steelyard._files.json_data import MAX_BYTES, RESULT_SCHEMA, json_value
from steelyard._files.limits import LARGEST_NUMBER, MAX_TABLE_LINE, MAX_TABLE_ROWS
from steelyard._files.result_seal import refuse_changed
from steelyard.errors import SteelyardError, quoted_list, shown, shown_path

Error = type[SteelyardError]


def named_values(
    path: str | Path, wanted: Literal["base", "standard"], error: Error
) -> dict[str, float]:
    """The numbers in a file; from a result file, its base or its standard parameters."""
    data = read_capped(path, MAX_BYTES, error)
    where = shown_path(path)
    document = json_value(data, where, error)
    if document is None:
        return _from_csv(data, where, error)
    if isinstance(document, dict) and document.get("schema") == RESULT_SCHEMA:
        refuse_changed(document, where, error)
        return _from_result(document, wanted, where, error)
    if not isinstance(document, Mapping):
        raise error(f"{where}: must be an object of names and values")
    return _values(list(document.items()), where, error)


def _from_result(
    document: dict[str, Any], wanted: str, where: str, error: Error
) -> dict[str, float]:
    if wanted == "standard" and document.get("standard") is None:
        raise error(f"{where}: is a result without standard parameters: its method has none")
    part, value = ("estimate", "predicts_with") if wanted == "base" else ("standard", "value")
    try:
        pairs = [(entry["name"], entry[value]) for entry in document[part]["parameters"]]
    except (KeyError, TypeError):
        raise error(f"{where}: is a damaged result file") from None
    return _values(pairs, where, error)


def _from_csv(data: bytes, where: str, error: Error) -> dict[str, float]:
    try:
        lines = _lines(io.StringIO(data.decode("utf-8-sig")), where, error)
        rows = [row for row in csv.reader(lines) if any(cell.strip() for cell in row)]
    except (UnicodeDecodeError, csv.Error) as failure:
        raise error(f"{where}: is not a table of names and values ({failure})") from None
    if rows and "name" in [cell.strip() for cell in rows[0]]:
        head = [cell.strip() for cell in rows[0]]
        if "value" not in head:
            raise error(f"{where}: its header has no column 'value' but {quoted_list(head)}")
        at = head.index("name"), head.index("value")
        rows = rows[1:]
    else:
        at = 0, 1
    for row in rows:
        if len(row) <= max(at):
            raise error(f"{where}: the line {shown(','.join(row))} is not name,value")
    pairs = [(text_of(row[at[0]].strip()), row[at[1]].strip()) for row in rows]
    return _values(pairs, where, error)


def _lines(text: io.StringIO, where: str, error: Error) -> Iterator[str]:
    """The lines of a table, no more and no longer than one of parameters has."""
    for number, line in enumerate(text, start=1):
        if number > MAX_TABLE_ROWS:
            raise error(f"{where}: has more than {MAX_TABLE_ROWS} lines, the limit")
        if len(line) > MAX_TABLE_LINE:
            raise error(
                f"{where}: line {number} has more than {MAX_TABLE_LINE} characters, the limit"
            )
        yield line


def _values(pairs: Sequence[tuple[Any, Any]], where: str, error: Error) -> dict[str, float]:
    out: dict[str, float] = {}
    for name, value in pairs:
        if not isinstance(name, str) or isinstance(value, bool):
            raise error(f"{where}: must have a name and a number for each parameter")
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not math.isfinite(number):
            raise error(f"{where}: {shown(name)} has {shown(str(value))}, not a finite number")
        if abs(number) > LARGEST_NUMBER:
            raise error(f"{where}: {shown(name)} is {number:g}; at most {LARGEST_NUMBER:g} is read")
        if name in out:
            raise error(f"{where}: {shown(name)} is there twice")
        out[name] = number
    return out
