"""Options for logs whose columns are named in another way, shared by several commands."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from steelyard.cli.output import Progress
from steelyard.errors import LogError, shown

if TYPE_CHECKING:
    from steelyard.logs.log import Log
    from steelyard.logs.renaming import ColumnNames
    from steelyard.logs.stored_log import AnyLog


def add_column_arguments(parser: argparse.ArgumentParser, more: str = "") -> None:
    """What the columns of the logs hold, where their names do not tell.

    more : what the help says of ``--columns`` besides.
    """
    group = parser.add_argument_group(
        "columns of logs",
        "Recognised are names such as elbow.position[deg], q1, tau_0, joint1_pos and "
        "/joint_states/elbow/effort.",
    )
    group.add_argument(
        "--map",
        action="append",
        default=[],
        metavar="SIGNAL=COLUMN",
        help="take a column as this signal, such as elbow.position[deg]=PosElbow or "
        "time[ms]=Zeit; one * on both sides stands for the same text, as in 'tau*=TorqueCur*'; "
        "may be repeated",
    )
    group.add_argument(
        "--columns",
        metavar="NAME,NAME,...",
        help="names of all columns of CSV files that have no header line, such as "
        "time,elbow.position,elbow.torque; an empty name ignores a column" + more,
    )


def columns_from(arguments: argparse.Namespace) -> ColumnNames | None:
    """Columns by signal, the names of all columns, or None."""
    if arguments.columns is not None and arguments.map:
        raise LogError("--map and --columns are given; --columns alone names all columns")
    if arguments.columns is not None:
        return [name.strip() for name in arguments.columns.split(",")]
    columns: dict[str, str] = {}
    for text in arguments.map:
        signal, equals, column = (part.strip() for part in text.partition("="))
        if not equals or not signal or not column:
            raise LogError(
                f"--map is {shown(text)}; it must be SIGNAL=COLUMN, as in elbow.position=PosElbow"
            )
        if signal in columns:
            raise LogError(
                f"--map takes both {shown(columns[signal])} and {shown(column)} as {shown(signal)}"
            )
        columns[signal] = column
    return columns or None


def read_logs(
    paths: list[str],
    progress: Progress,
    columns: ColumnNames | None = None,
    *,
    count_rows: bool = False,
) -> Iterator[Log]:
    """The logs, each read only when the previous one has been processed.

    count_rows : whether the number of each row is its time, where there is none.
    """
    from steelyard.logs.reading import read_log

    for number, path in enumerate(paths, 1):
        of_all = f" ({number} of {len(paths)})" if len(paths) > 1 else ""
        progress.step(f"reading {path}{of_all}")
        log = read_log(path, columns=columns, count_rows=count_rows)
        progress.step(f"working on {path}{of_all}")
        yield log
        del log  # frees its memory before the next one is read


def open_logs(
    paths: list[str], progress: Progress, columns: ColumnNames | None = None
) -> Iterator[AnyLog]:
    """:func:`read_logs`; long files are not held in memory."""
    from steelyard.logs.reading import read_any_log

    for number, path in enumerate(paths, 1):
        of_all = f" ({number} of {len(paths)})" if len(paths) > 1 else ""
        words = f"reading {path}{of_all}"
        progress.step(words)

        def count(rows: int, words: str = words) -> None:
            progress.step(f"{words}: {rows} rows")

        log = read_any_log(path, columns=columns, progress=count)
        progress.step(f"working on {path}{of_all}")
        yield log
        del log  # frees its memory before the next one is read
