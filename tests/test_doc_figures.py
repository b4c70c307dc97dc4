"""Figures of README and documentation have the command that gives them beside them.

A figure is a number with a unit of time, memory, length or share, in a paragraph, list or table
that speaks of a result (`RESULT`); its section, under the nearest heading, names a command or a
test file. Sections whose numbers are settings or definitions, not results, are in `SETTINGS`.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

import pytest
from project import DOCS, ROOT

from steelyard.cli.parser import build_parser

PAGES = (ROOT / "README.md", *sorted(DOCS.glob("*.md")))
UNITS = "%|ms|µs|s|min|minutes|seconds|hours|days|kB|MB|GB|mm|times"
FIGURE = re.compile(rf"(?<![\w.])\d[\d,.]*(?:e-?\d+)?\s?(?:{UNITS})(?![\w/²])")
RESULT = re.compile(
    r"\b(seen|took|takes?|medians?|errors?|faster|slower|coverage|gave|gives|was|were|lie|rejected"
    r"|contained|reaches|reached|reduces|needs?)\b",
    re.IGNORECASE,
)
COMMAND = re.compile(r"(?:python benchmarks/|run\.py |steelyard |make |tests/[\w/]+\.py)")
CODE = re.compile(r"```.*?^```$|`[^`\n]*`", re.DOTALL | re.MULTILINE)
SETTINGS = {
    ("checking-logs", "Delays are corrected"),
    ("checking-logs", "What the signals show"),
    ("cli", "Columns"),
    ("floating-base", "What may be wrong with a log"),
    ("friction", "When a term is added"),
    ("glossary", "Parameters"),
    ("limitations", "Files of strangers"),
    ("limitations", "Many joints"),
    ("logs", "Chosen by prediction"),
    ("logs", "The dead band"),
    ("logs", "What is refused"),
    ("overlay", "Motors"),
    ("payload", "Limits"),
    ("priors", "A prior that is not physical"),
    ("priors", "Sources"),
    ("result", "findings"),
    ("streaming", "What counts as a change"),
    ("verdict", "Reasons"),
}
"""Thresholds, limits and definitions. May only shrink: a new figure brings its command."""


def sections(text: str) -> Iterator[tuple[str, str]]:
    """Heading and body of every section, headings inside of code left alone."""
    heading, lines, inside = "", [], False
    for line in text.splitlines():
        inside ^= line.startswith("```")
        if line.startswith("#") and not inside:
            yield heading, "\n".join(lines)
            heading, lines = line.lstrip("# "), []
        else:
            lines.append(line)
    yield heading, "\n".join(lines)


def states_figures(body: str) -> bool:
    """Whether a paragraph, list or table of a section gives a result with a unit, outside code."""
    return any(
        FIGURE.search(block) and RESULT.search(block)
        for block in re.split(r"\n\s*\n", CODE.sub("", body))
    )


def names_a_command(body: str) -> bool:
    """Whether code of a section is a command, or the path of a test."""
    return any(COMMAND.search(code) for code in CODE.findall(body))


def without_command(text: str) -> list[str]:
    """Headings of the sections that state figures and name no command."""
    return [
        heading
        for heading, body in sections(text)
        if states_figures(body) and not names_a_command(body)
    ]


def test_figures_have_their_command():
    """Every section with figures names what gives them, but for the settings; these are needed."""
    found = {
        (page.stem, heading)
        for page in PAGES
        for heading in without_command(page.read_text(encoding="utf-8"))
    }
    assert found == SETTINGS


@pytest.mark.parametrize(
    ("text", "caught"),
    [
        ("## A\n\nThe error was 3 %.\n", ["A"]),
        ("## A\n\nThe error was 3 % (`python benchmarks/run.py real`).\n", []),
        ("## A\n\nThe error was 3 %.\n\n### B\n\n`make test` took 3 minutes.\n", ["A"]),
        ("## A\n\n```text\nerrors: 3 %\n```\n", []),
        ("## A\n\n| fit | error |\n|---|---|\n| plain | 3 % |\n", ["A"]),
    ],
)
def test_the_rule_catches_what_it_should(text, caught):
    """A figure without a command, in prose or in a table, and no other."""
    assert without_command(text) == caught


def test_commands_beside_figures_exist():
    """Benchmarks, commands and test files that the pages name are there."""
    names = {
        match[1]
        for path in (ROOT / "benchmarks").glob("*.py")
        if (match := re.search(r'^NAME = "([^"]+)"', path.read_text("utf-8"), re.MULTILINE))
    }
    commands = {
        name
        for action in build_parser()._actions
        if isinstance(action, argparse._SubParsersAction)
        for name in action.choices
    }
    missing = []
    for page in PAGES:
        for code in CODE.findall(page.read_text(encoding="utf-8")):
            for name in re.findall(r"benchmarks/run\.py ([a-z][\w-]*)", code):
                missing += [] if name in names else [f"{page.name}: run.py {name}"]
            for path in re.findall(r"tests/[\w/]+\.py", code):
                missing += [] if (ROOT / path).is_file() else [f"{page.name}: {path}"]
            for name in re.findall(r"^`?steelyard ([a-z]+)\b", code):
                missing += [] if name in commands else [f"{page.name}: steelyard {name}"]
    assert missing == []
