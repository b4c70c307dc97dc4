"""Conversion of values to JSON, and JSON that may be there in place of a table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from steelyard._files.json_text import parse_json
from steelyard._files.limits import MAX_JSON_BYTES as MAX_BYTES
from steelyard.errors import SteelyardError

__all__ = ["MAX_BYTES", "RESULT_SCHEMA", "finite", "json_value"]


def finite(value: Any) -> Any:
    """The same data as JSON can hold it: None for NaN and infinity, lists for arrays."""
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.integer | np.bool_):
        return value.item()
    if isinstance(value, Mapping):
        return {str(key): finite(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        return finite(value.tolist())
    if isinstance(value, list | tuple):
        return [finite(entry) for entry in value]
    return value


def json_value(data: bytes, where: str, error: type[SteelyardError]) -> Any:
    """The JSON object or list in these bytes, or None if they do not begin like one.

    What begins like JSON and cannot be parsed is raised as ``error``.
    """
    if data.lstrip()[:1] not in (b"{", b"["):
        return None
    return parse_json(data, where, error)


RESULT_SCHEMA = "steelyard.result/1"
"""Schema name of result files, which several packages check."""
