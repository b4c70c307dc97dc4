"""Conversion of values to and from JSON, and the size limit of JSON files."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

MAX_BYTES = 64 * 2**20


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


def json_value(data: bytes) -> Any:
    """The JSON object or list in these bytes, or None if they are neither."""
    if data.lstrip()[:1] not in (b"{", b"["):
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


RESULT_SCHEMA = "steelyard.result/1"
"""Schema name of result files, which several packages check."""
