"""Values of base parameters as files: ``name,value`` lines, a JSON object, or a result file."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import ResultError
from steelyard.files import read_capped, write_text
from steelyard.identifiability import BaseMap
from steelyard.result import MAX_BYTES, SCHEMA
from steelyard.wording import did_you_mean, listed, quoted_list, shown, shown_path

Array = NDArray[np.float64]


def is_result(path: str | Path) -> bool:
    """Whether a file is a result file, which knows the terms of its model."""
    document = _json(read_capped(path, MAX_BYTES, ResultError))
    return isinstance(document, dict) and document.get("schema") == SCHEMA


def read_base_values(path: str | Path, base: BaseMap) -> Array:
    """Values (n_base,) in the order of ``base``, matched by name; every one must be there."""
    data = read_capped(path, MAX_BYTES, ResultError)
    where = shown_path(path)
    document = _json(data)
    values = _from_csv(data, where) if document is None else _from_json(document, where)
    unknown = [name for name in values if name not in base.names]
    if unknown:
        raise ResultError(
            f"{where}: {quoted_list(unknown)} {'is' if len(unknown) == 1 else 'are'} no base "
            f"parameter of this model{did_you_mean(unknown[0], base.names)}; "
            f"they are {listed(base.names)}"
        )
    missing = [name for name in base.names if name not in values]
    if missing:
        raise ResultError(
            f"{where}: there is no value for {quoted_list(missing)}; "
            f"all {base.rank} base parameters are needed"
        )
    return np.array([values[name] for name in base.names])


def write_base_values(path: str | Path, names: Sequence[str], beta: Array) -> None:
    """Write ``name,value`` lines, every value with all its digits."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(("name", "value"))
    writer.writerows((name, repr(float(value))) for name, value in zip(names, beta, strict=True))
    write_text(path, stream.getvalue(), ResultError)


def _json(data: bytes) -> Any:
    """The JSON value in a file, or None where it is none."""
    if data.lstrip()[:1] not in (b"{", b"["):
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _from_json(document: Any, where: str) -> dict[str, float]:
    if isinstance(document, dict) and document.get("schema") == SCHEMA:
        try:
            parameters = document["estimate"]["parameters"]
            pairs = [(p["name"], p["predicts_with"]) for p in parameters]
        except (KeyError, TypeError):
            raise ResultError(f"{where}: is a damaged result file") from None
        return _values(pairs, where)
    if not isinstance(document, Mapping):
        raise ResultError(f"{where}: must be an object of names and values")
    return _values(list(document.items()), where)


def _from_csv(data: bytes, where: str) -> dict[str, float]:
    try:
        text = data.decode("utf-8-sig")
        rows = [row for row in csv.reader(io.StringIO(text)) if any(cell.strip() for cell in row)]
    except (UnicodeDecodeError, csv.Error) as failure:
        raise ResultError(f"{where}: is no table of names and values ({failure})") from None
    if rows and "name" in [cell.strip() for cell in rows[0]]:
        head = [cell.strip() for cell in rows[0]]
        if "value" not in head:
            raise ResultError(f"{where}: its header has no column 'value' but {quoted_list(head)}")
        at = head.index("name"), head.index("value")
        rows = rows[1:]
    else:
        at = 0, 1
    for row in rows:
        if len(row) <= max(at):
            raise ResultError(f"{where}: the line {shown(','.join(row))} is not name,value")
    return _values([(row[at[0]].strip(), row[at[1]].strip()) for row in rows], where)


def _values(pairs: Sequence[tuple[Any, Any]], where: str) -> dict[str, float]:
    out: dict[str, float] = {}
    for name, value in pairs:
        if not isinstance(name, str) or isinstance(value, bool):
            raise ResultError(f"{where}: must have a name and a number for each parameter")
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not math.isfinite(number):
            raise ResultError(
                f"{where}: {shown(name)} has {shown(str(value))}, not a finite number"
            )
        if name in out:
            raise ResultError(f"{where}: {shown(name)} is there twice")
        out[name] = number
    return out
