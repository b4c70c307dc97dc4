"""Parameters as CSV tables for spreadsheets; a cell without a number is empty."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from steelyard._files.csv_cells import cell_of
from steelyard._files.json_data import finite
from steelyard.errors import ResultError
from steelyard.estimators.bodies import all_parameters, with_derived
from steelyard.estimators.estimate import Estimate
from steelyard.estimators.result_entries import stored_parameters, stored_standard
from steelyard.estimators.result_file import Result
from steelyard.model.model import Model

BASE_COLUMNS = (
    "name",
    "value",
    "unit",
    "lower",
    "upper",
    "sigma",
    "sigma_cluster",
    "relative_sigma_percent",
    "interval_kind",
    "combination",
)
STANDARD_COLUMNS = (
    "name",
    "value",
    "unit",
    "lower",
    "upper",
    "interval_kind",
    "at_boundary",
    "credible_lower",
    "credible_upper",
)


def parameters_csv(estimate: Estimate, level: float = 0.95) -> str:
    """The base parameters with intervals of this level, one row each."""
    return _table(BASE_COLUMNS, estimate.parameters(level))


def standard_csv(model: Model, estimate: Estimate, level: float = 0.95) -> str:
    """The standard parameters and the quantities derived for each body, one row each.

    Only the header if the method gives no standard parameters.
    """
    return _table(STANDARD_COLUMNS, all_parameters(model, estimate, level))


def saved_csv(model: Model, result: Result) -> str:
    """:func:`standard_csv` of a saved result, with the intervals in it.

    Centres of mass have no interval: a result does not contain their ranges.
    """
    if result.theta is None:
        raise ResultError(
            f"the method '{result.method}' of the result gives no standard parameters; "
            "parameters.csv, which identify writes, has the base parameters"
        )
    return _table(STANDARD_COLUMNS, with_derived(model, stored_standard(result)))


def saved_base_csv(model: Model, result: Result) -> str:
    """:func:`parameters_csv` of a saved result, with the intervals in it."""
    return _table(BASE_COLUMNS, stored_parameters(result))


def _table(columns: Sequence[str], parameters: Iterable[object]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    for parameter in parameters:
        writer.writerow([_cell(finite(getattr(parameter, name))) for name in columns])
    return stream.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return cell_of(value)
    return str(value).lower() if isinstance(value, bool) else value
