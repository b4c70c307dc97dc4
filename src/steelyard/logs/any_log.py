"""What can be given where a log is needed: a log, a path, a data frame, arrays by column name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from steelyard.errors import LogError, described
from steelyard.logs.frames import FrameLike, is_frame
from steelyard.logs.log import Log
from steelyard.logs.reading import check_path, read_any_log, read_log
from steelyard.logs.stored_log import AnyLog, StoredLog

LogLike = Log | StoredLog | str | os.PathLike[str] | Mapping[str, ArrayLike] | FrameLike
"""A log, or what :func:`as_log` makes one of."""

LogsLike = LogLike | Iterable[LogLike]
"""One or several."""

WANTED = "pass a path, a data frame or a Log, such as read_log(path) returns"


def as_log(given: LogLike, *, count_rows: bool = False) -> Log:
    """The log itself, or that in a file, a data frame or arrays by column name.

    count_rows : whether the number of each row is its time, where there is none.
    """
    if isinstance(given, Log):
        return given
    if isinstance(given, StoredLog):
        return given.read(0, len(given))
    if isinstance(given, str | os.PathLike):
        return read_log(Path(given), count_rows=count_rows)
    if is_frame(given):
        return Log.from_frame(given, count_rows=count_rows)
    raise LogError(f"a log is needed, not {described(given)}; {WANTED}")


def as_any_log(given: LogLike) -> AnyLog:
    """:func:`as_log`; a long file is not held in memory."""
    if isinstance(given, StoredLog):
        return given
    if isinstance(given, str | os.PathLike):
        return read_any_log(Path(given))
    return as_log(given)


def is_one_log(given: object) -> bool:
    """Whether this is one log, not several of them."""
    return isinstance(given, Log | StoredLog | str | os.PathLike) or is_frame(given)


def each_log(given: LogsLike) -> Iterable[LogLike]:
    """One log as a sequence of one, or the several as they are."""
    return (given,) if is_one_log(given) else given  # type: ignore[return-value]


def check_logs(given: object) -> None:
    """Refuse what cannot be logs, and paths of no file, without taking any from an iterator."""
    if isinstance(given, np.ndarray):
        raise LogError(
            "logs are needed, not an array, whose columns have no names; "
            "Log.from_arrays(time, q, tau, joints=names) makes one of arrays"
        )
    if isinstance(given, bytes) or not (is_one_log(given) or isinstance(given, Iterable)):
        raise LogError(f"logs are needed, not {described(given)}; {WANTED}")
    for one in given if isinstance(given, list | tuple) else (given,):
        if isinstance(one, str | os.PathLike):
            check_path(Path(one))
