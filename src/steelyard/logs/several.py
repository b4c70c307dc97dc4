"""Several logs at once: refuse duplicates, make names unique."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from steelyard.errors import LogError
from steelyard.logs.any_log import LogsLike, as_log, check_logs, each_log
from steelyard.logs.log import Log


def refuse_duplicates(log: Log, seen: dict[str, str]) -> None:
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
        name, number = log.name, 1
        while name in taken:
            number += 1
            name = f"{log.name}_{number}"
        taken.add(name)
        log = log if name == log.name else replace(log, name=name)
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


def with_first_taken(logs: LogsLike) -> tuple[Log, Iterator[Log]] | None:
    """The first log, and all of them; None where there are none.

    Only the first is taken from an iterator.
    """
    rest = checked_logs(logs)
    first = next(rest, None)
    return None if first is None else (first, chain((first,), rest))
