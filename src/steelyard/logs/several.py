"""Several logs at once: refuse duplicates, make names unique."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from steelyard.errors import LogError
from steelyard.logs.any_log import LogsLike, as_any_log, as_log, check_logs, each_log
from steelyard.logs.log import Log
from steelyard.logs.stored_log import AnyLog, StoredLog


def refuse_duplicates(log: AnyLog, seen: dict[str, str]) -> None:
    """Refuse a log whose content is in ``seen`` (hash -> name and file); add it otherwise."""
    words = f"'{log.name}'" + (f" ({log.source})" if log.source else "")
    if log.content_hash in seen:
        raise LogError(
            f"logs {seen[log.content_hash]} and {words} have the same content; the same data "
            "twice would only make the intervals too narrow: give each log once"
        )
    seen[log.content_hash] = words


def with_unique_names(logs: LogsLike, *, count_rows: bool = False) -> Iterator[Log]:
    """The logs, with numbers added to repeated names: run, run_2, run_3."""
    taken: set[str] = set()
    for log in checked_logs(logs, count_rows=count_rows):
        name = _not_taken(log.name, taken)
        log = log if name == log.name else replace(log, name=name)
        yield log
        del log  # free its memory before the next one is read


def any_logs_with_unique_names(logs: LogsLike) -> Iterator[AnyLog]:
    """:func:`with_unique_names`; long files are not held in memory."""
    taken: set[str] = set()
    for log in any_logs(logs):
        name = _not_taken(log.name, taken)
        if isinstance(log, StoredLog):
            log = log.renamed(name)
        elif name != log.name:
            log = replace(log, name=name)
        yield log
        del log  # free its memory before the next one is read


def _not_taken(given: str, taken: set[str]) -> str:
    name, number = given, 1
    while name in taken:
        number += 1
        name = f"{given}_{number}"
    taken.add(name)
    return name


def any_logs(logs: LogsLike) -> Iterator[AnyLog]:
    """:func:`checked_logs`; long files are not held in memory."""
    check_logs(logs)
    for given in each_log(logs):
        log = as_any_log(given)
        del given
        yield log
        del log  # free its memory before the next one is read


def checked_logs(logs: LogsLike, *, count_rows: bool = False) -> Iterator[Log]:
    """One log or several, read one at a time; refuses anything else.

    count_rows : whether the number of each row is its time, where there is none.
    """
    check_logs(logs)
    for given in each_log(logs):
        log = as_log(given, count_rows=count_rows)
        del given
        yield log
        del log  # free its memory before the next one is read


def with_first_taken(logs: LogsLike) -> tuple[AnyLog, Iterator[AnyLog]] | None:
    """The first log, and all of them; None where there are none. Long files are not held in memory.

    Only the first is taken from an iterator.
    """
    rest = any_logs(logs)
    first = next(rest, None)
    return None if first is None else (first, chain((first,), rest))
