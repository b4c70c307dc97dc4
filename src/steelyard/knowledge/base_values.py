"""Read and write files of base parameters; `steelyard.knowledge._named_values` has the formats."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steelyard._files.access import read_capped, write_text
from steelyard._files.csv_cells import cell_of
from steelyard._files.json_data import MAX_BYTES, RESULT_SCHEMA, json_value
from steelyard.errors import ResultError, did_you_mean, listed, quoted_list, shown_path
from steelyard.knowledge._named_values import named_values
from steelyard.model.base_map import BaseMap

Array = NDArray[np.float64]


def is_result(path: str | Path) -> bool:
    """Whether a file is a result file, which also states the terms of its model."""
    data = read_capped(path, MAX_BYTES, ResultError)
    document = json_value(data, shown_path(path), ResultError)
    return isinstance(document, dict) and document.get("schema") == RESULT_SCHEMA


def read_base_values(path: str | Path, base: BaseMap) -> Array:
    """Values (n_base,) in the order of ``base``, matched by name; all are required."""
    where = shown_path(path)
    values = named_values(path, "base", ResultError)
    unknown = [name for name in values if name not in base.names]
    if unknown:
        raise ResultError(
            f"{where}: {quoted_list(unknown)} {'is' if len(unknown) == 1 else 'are'} no base "
            f"parameter of this model{did_you_mean(unknown[0], base.names)}; "
            f"the base parameters are {listed(base.names)}"
        )
    missing = [name for name in base.names if name not in values]
    if missing:
        raise ResultError(
            f"{where}: there is no value for {quoted_list(missing)}; "
            f"all {base.rank} base parameters are needed"
        )
    return np.array([values[name] for name in base.names])


def write_base_values(path: str | Path, names: Sequence[str], beta: Array) -> None:
    """Write ``name,value`` lines, values with full precision."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(("name", "value"))
    writer.writerows(
        (cell_of(name), repr(float(value))) for name, value in zip(names, beta, strict=True)
    )
    write_text(path, stream.getvalue(), ResultError)
