"""Output of the commands: tables for people, one JSON object for programs.

Text from files (names of robots, joints, logs) is printed as it is, never read as markup, and
characters that would move a terminal's cursor are shown as escapes.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from steelyard._files.access import made_folder
from steelyard.errors import ResultError, printable

if TYPE_CHECKING:
    from rich.console import Console

STYLES = {"info": None, "warning": "yellow", "severe": "bold red"}
"""How a finding of each level is printed."""
PIPE_WIDTH = 160
"""Width in columns where standard output is no terminal and COLUMNS is not set."""


def one_line(text: str) -> str:
    """``text`` on one line, with characters that are not printable escaped."""
    return printable(" ".join(text.split()))


def output_folder(path: str) -> Path:
    """The folder, created if it does not exist; called before any long computation."""
    return made_folder(path, ResultError)


def print_document(document: Mapping[str, Any]) -> None:
    """One JSON object on standard output."""
    from steelyard._files.json_data import finite

    text = json.dumps(finite(document), indent=1, ensure_ascii=False, allow_nan=False)
    sys.stdout.write(text + "\n")


class Output:
    """Output of one command: text and tables, or with --json the JSON object alone."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json

    @property
    def width(self) -> int:
        """Width available for a table, in columns."""
        return _console(sys.stdout).width

    def line(self, text: str = "", style: str | None = None) -> None:
        """A line for people."""
        if not self.as_json:
            _console(sys.stdout).print(_text(text, style), soft_wrap=True)

    def indented(self, text: str) -> None:
        """Lines for people, indented and wrapped between words."""
        if self.as_json:
            return
        from rich.padding import Padding

        _console(sys.stdout).print(Padding(_text(text), (0, 0, 0, 4), expand=False))

    def table(
        self,
        columns: Sequence[str],
        rows: Iterable[Sequence[str]],
        *,
        title: str | None = None,
        left: Sequence[str] = (),
    ) -> None:
        """A table for people; columns are right-aligned except those named in ``left``."""
        if self.as_json:
            return
        from rich import box
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left")
        if title is not None:
            table.title = _text(title, "bold")
        for name in columns:
            side = "left" if name in left else "right"
            table.add_column(name, justify=side, overflow="fold")  # type: ignore[arg-type]
        for row in rows:
            table.add_row(*(_text(cell) for cell in row))
        _console(sys.stdout).print(table)

    def document(self, document: Mapping[str, Any]) -> None:
        """Print the JSON object, if --json is given."""
        if self.as_json:
            print_document(document)


class Progress:
    """Progress of a long computation, on standard error and only on a terminal."""

    def __init__(self, bar: Any | None) -> None:
        self._bar = bar
        self._task = None if bar is None else bar.add_task("", total=None)

    def step(self, words: str) -> None:
        """Show the current step."""
        if self._bar is not None:
            self._bar.update(self._task, description=one_line(words))


@contextmanager
def progress() -> Iterator[Progress]:
    """A line that shows the current step and its duration; erased at the end."""
    if not sys.stderr.isatty():
        yield Progress(None)
        return
    from rich.progress import Progress as Bar
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    from steelyard.model.compiled import compiled_before

    if not compiled_before():
        print("compiling, in the first run only", file=sys.stderr)
    words = TextColumn("{task.description}", markup=False)
    with Bar(
        SpinnerColumn(), words, TimeElapsedColumn(), console=_console(sys.stderr), transient=True
    ) as bar:
        yield Progress(bar)


def _console(stream: IO[str]) -> Console:
    from rich.console import Console

    class OurConsole(Console):
        """A console that leaves a closed pipe to `main`, instead of exiting with 1."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    # on a terminal, and where COLUMNS is set, Rich finds the width by itself
    known = stream.isatty() or os.environ.get("COLUMNS", "").isdigit()
    width = None if known else PIPE_WIDTH
    return OurConsole(file=stream, width=width, markup=False, highlight=False, emoji=False)


def _text(text: str, style: str | None = None) -> Any:
    from rich.text import Text

    return Text(one_line(text) if text else "", style=style or "")
