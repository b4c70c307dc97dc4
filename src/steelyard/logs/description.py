"""What a file or table of recorded signals holds: the result of every reader of logs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.logs.skipped_rows import SkippedRows

Array = NDArray[np.float64]
Key = tuple[str, str]
"""Joint, or frame, and quantity."""


@dataclass(frozen=True, eq=False)
class LogDescription:
    """The fields of a :class:`steelyard.Log`, not yet checked against each other."""

    time: Array
    signals: Mapping[Key, Array]
    name: str = "log"
    source: str | None = None
    units: Mapping[Key, str] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()
    columns: Mapping[Key, str] = field(default_factory=dict)
    frame_signals: Mapping[Key, Array] = field(default_factory=dict)
    incomplete: Mapping[Key, tuple[str, ...]] = field(default_factory=dict)
    skipped: SkippedRows | None = None


def without_first_row(part: LogDescription) -> LogDescription:
    """The description without its first row."""
    return replace(
        part,
        time=part.time[1:],
        signals={key: values[1:] for key, values in part.signals.items()},
        frame_signals={key: values[1:] for key, values in part.frame_signals.items()},
    )
