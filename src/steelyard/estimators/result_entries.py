"""Parameters, intervals and findings of a result file, each entry checked as it is read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from steelyard._files.json_object import JsonObject
from steelyard._files.stored_finding import stored_finding
from steelyard.errors import ResultError
from steelyard.estimators.estimate import (
    BaseKind,
    ParameterEstimate,
    StandardEstimate,
    StandardKind,
)
from steelyard.estimators.result_file import Result
from steelyard.findings import Finding
from steelyard.model.model import Column

Array = NDArray[np.float64]


def stored_object(result: Result, *keys: str) -> JsonObject | None:
    """The object at these keys of the result's document; None where it is missing or null."""
    found: JsonObject | None = JsonObject.of(result.document, "the result", ResultError)
    for key in keys:
        found = None if found is None else found.child(key)
    return found


def stored_list(within: JsonObject | None, key: str) -> Iterator[JsonObject]:
    """The objects of a list; none where it is missing or null."""
    if within is None:
        return
    entries = within.entries.get(key)
    if entries is None:
        return
    if not isinstance(entries, list):
        raise within.error(f"{within.where}: '{key}' must be a list")
    for number, entry in enumerate(entries, start=1):
        yield JsonObject.of(entry, f"{within.where}: '{key}' {number}", within.error)


def stored_correlations(result: Result) -> Array | None:
    """Correlations (n_base, n_base) of the base parameters, 0 where they are not known; None for a
    result of an older version, which does not state them.
    """
    estimate = stored_object(result, "estimate")
    rows = None if estimate is None else estimate.entries.get("correlations")
    if estimate is None or rows is None:
        return None
    if not isinstance(rows, list) or len(rows) != len(result.names):
        raise estimate.error(
            f"{estimate.where}: 'correlations' must have {len(result.names)} rows, one for each "
            "base parameter"
        )
    matrix = np.eye(len(rows))
    for k, row in enumerate(rows):
        one = JsonObject({"row": row}, f"{estimate.where}: 'correlations' {k + 1}", estimate.error)
        numbers = list(one.numbers("row"))
        if len(numbers) != k or any(abs(x) > 1.0 + 1e-6 for x in numbers):
            raise one.error(f"{one.where}: must have {k} numbers from -1 to 1")
        matrix[k, :k] = matrix[:k, k] = np.nan_to_num(np.array(numbers, dtype=float))
    return matrix


def stored_parameters(result: Result) -> tuple[ParameterEstimate, ...]:
    """The base parameters with their intervals; NaN where a number is not known."""
    found = []
    for entry in stored_list(stored_object(result, "estimate"), "parameters"):
        cluster = entry.entries.get("sigma_cluster")
        found.append(
            ParameterEstimate(
                name=_text(entry, "name"),
                combination=_text(entry, "combination"),
                unit=_text(entry, "unit"),
                value=entry.number("value"),
                sigma=entry.number("sigma"),
                relative_sigma_percent=entry.number("relative_sigma_percent"),
                sigma_cluster=None if cluster is None else entry.number("sigma_cluster"),
                lower=entry.number("lower"),
                upper=entry.number("upper"),
                interval_kind=_kind(entry, get_args(BaseKind)),
            )
        )
    return tuple(found)


def stored_standard(result: Result) -> tuple[StandardEstimate, ...]:
    """The standard parameters; none where the method gives none."""
    return tuple(
        StandardEstimate(
            name=_text(entry, "name"),
            unit=_text(entry, "unit"),
            value=entry.number("value"),
            lower=_known(entry, "lower"),
            upper=_known(entry, "upper"),
            interval_kind=_kind(entry, get_args(StandardKind)),
            at_boundary=entry.flag("at_boundary"),
            credible_lower=_known(entry, "credible_lower"),
            credible_upper=_known(entry, "credible_upper"),
        )
        for entry in stored_list(stored_object(result, "standard"), "parameters")
    )


def stored_columns(result: Result) -> tuple[Column, ...]:
    """The columns of the result's model: owner and kind of every standard parameter."""
    return tuple(
        Column(*(_text(entry, key) for key in ("owner", "symbol", "unit", "kind")))
        for entry in stored_list(stored_object(result, "model"), "columns")
    )


def stored_findings(result: Result) -> tuple[Finding, ...]:
    """Findings about the estimate, then those about the held-out logs."""
    return tuple(
        stored_finding(entry)
        for where in (stored_object(result), stored_object(result, "validation"))
        for entry in stored_list(where, "findings")
    )


@dataclass(frozen=True)
class StoredVerdict:
    """Whether a result can be used, as it states itself: level and sentence."""

    level: str
    sentence: str

    @property
    def usable(self) -> bool:
        """Whether it can be used, if only with care."""
        return self.level != "do not use"


def stored_verdict(result: Result) -> StoredVerdict | None:
    """The verdict of a result; None for a result of an older version, which does not state it."""
    entry = stored_object(result, "verdict")
    if entry is None:
        return None
    return StoredVerdict(_text(entry, "level"), _text(entry, "sentence"))


def stored_file_with_terms(result: Result) -> Array | None:
    """Base parameters (n_base,) of the robot file's links with terms fitted to the same logs; None
    where the result does not state them.
    """
    record = stored_object(result, "record")
    values = None if record is None else record.entries.get("file_with_terms")
    if record is None or values is None:
        return None
    good = isinstance(values, list) and all(
        isinstance(one, int | float) and not isinstance(one, bool) for one in values
    )
    if not good or len(values) != len(result.names):
        raise record.error(
            f"{record.where}: 'file_with_terms' must have {len(result.names)} numbers, one for "
            "each base parameter"
        )
    return np.array(values, dtype=float)


def _text(entry: JsonObject, key: str) -> str:
    text = entry.text(key)
    if text is None:
        raise entry.error(f"{entry.where}: has no '{key}'")
    return text


def _known(entry: JsonObject, key: str) -> float | None:
    return None if entry.entries.get(key) is None else entry.number(key)


def _kind(entry: JsonObject, kinds: tuple[Any, ...]) -> Any:
    kind = _text(entry, "interval_kind")
    if kind not in kinds:
        raise entry.error(
            f"{entry.where}: 'interval_kind' is {kind!r:.60}; it must be one of {', '.join(kinds)}"
        )
    return kind
