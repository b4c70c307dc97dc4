"""The pages of the documentation: their examples run, and they name what there is.

Every ```python and ```sh block runs, those of one page in order, in one folder
(`tests/helpers/page_folder.py`); a ```text block right behind Python is what it prints. A ```toml
or ```xml block whose first line is a comment with a file name is that file.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import re
import shutil
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from page_folder import PageBlock, blocks_of, fill, names_of_blocks
from project import DOCS

from steelyard.cli import main
from steelyard.cli.parser import build_parser
from steelyard.errors import MissingDependencyError
from steelyard.estimators.registry import method_names
from steelyard.estimators.result_file import read_schema
from steelyard.knowledge.overlay.overlay import LIMITS
from steelyard.knowledge.overlay.toml_file import COUPLING_KEYS, KEYS, parse_overlay
from steelyard.model.term_kinds import TERM_NAMES
from steelyard.robot.formats.dh import read_dh_file
from steelyard.signals.processing import Processing

PAGES = sorted(DOCS.glob("*.md"))
README = DOCS.parent / "README.md"
OPTIONAL = ("jsonschema", "mujoco", "pinocchio")
SHELL = ("sh", "console")
FIRST_PAGES = (README, DOCS / "getting-started.md")
"""Pages whose commands a new user types as they stand, with the files that the demo leaves."""
DIFFERS = {"diff": 1}
"""Exit codes of commands that say no: the identified robot differs from its file."""


def runs(block: PageBlock) -> bool:
    return block.language == "python" or block.language in SHELL


RUNNING = [page for page in (README, *PAGES) if any(runs(block) for block in blocks_of(page))]
OVERLAYS = [
    pytest.param(block.text, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, block in enumerate(blocks_of(page))
    if block.language == "toml"
]


def test_there_is_something_to_run():
    """The two lists below are not empty by mistake, and no block hides under another name."""
    assert {"overlay", "robots", "result", "README", "cli"} <= {page.stem for page in RUNNING}
    assert len(OVERLAYS) >= 6
    languages = {block.language for page in (README, *PAGES) for block in blocks_of(page)}
    assert languages <= {"python", "sh", "text", "toml", "xml", "c", "yaml", "json", "html", ""}
    for page in (README, *PAGES):
        for block in blocks_of(page):
            if not block.language:
                assert not block.first_line.startswith(("steelyard ", "from ", "import ")), page


@pytest.mark.parametrize("text", OVERLAYS)
def test_overlays_parse(text, tmp_path):
    """Every TOML block of the documentation is an overlay that is read as it stands, or a table of
    Denavit and Hartenberg.
    """
    if "dh = " in text:
        (tmp_path / "robot.toml").write_text(text, encoding="utf-8")
        read_dh_file(tmp_path / "robot.toml")
    else:
        parse_overlay(text)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the pages name."""
    folder = tmp_path_factory.mktemp("pages")
    with contextlib.chdir(folder):
        fill()
    return folder


@pytest.mark.parametrize("page", RUNNING, ids=lambda page: page.stem)
def test_page_runs(page, filled, tmp_path, monkeypatch, capsys):
    """Every Python and shell block of a page runs, in order, and prints what the page says."""
    folder = tmp_path / "page"
    shutil.copytree(filled, folder)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)  # as for a script in that folder
    blocks = blocks_of(page)
    typed = page in FIRST_PAGES
    for block in blocks:
        if block.file_name is not None:
            Path(block.file_name).write_text(block.text, encoding="utf-8")
    names: dict[str, Any] = {"__name__": page.stem, **names_of_blocks()}
    for block, after in zip(blocks, [*blocks[1:], PageBlock("", "", "")], strict=True):
        if block.language in SHELL and not typed:
            for command in block.commands:
                assert main(command) in (0, 1), (command, capsys.readouterr().err)
        elif block.language == "python":
            printed = run_python(block, page.name, names)
            if after.language == "text" and not after.before.strip():
                assert printed == after.text


@pytest.fixture(scope="module")
def after_the_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the arm and the logs of the demo, by the names of the first pages."""
    folder = tmp_path_factory.mktemp("typed")
    with contextlib.chdir(folder):
        assert main(["demo", "-o", "demo"]) == 0
        for name, copies in (
            ("arm.urdf", ("arm.urdf", "robot.urdf")),
            ("log.csv", ("run.csv", "log.csv")),
            ("held_out.csv", ("another.csv", "other.csv")),
        ):
            for copy in copies:
                shutil.copy(Path("demo") / name, copy)
    return folder


@pytest.mark.parametrize("page", FIRST_PAGES, ids=lambda page: page.stem)
def test_commands_of_the_first_pages_end_as_a_user_would_wish(
    page, after_the_demo, tmp_path, monkeypatch, capsys
):
    """As printed, on the demo's arm: done, usable, proven, and without a warning."""
    folder = tmp_path / "page"
    shutil.copytree(after_the_demo, folder)
    monkeypatch.chdir(folder)
    verdicts = []
    for command in (one for block in blocks_of(page) if block.language in SHELL
                    for one in block.commands):  # fmt: skip
        capsys.readouterr()
        code = main(command)
        told = capsys.readouterr()
        assert code == DIFFERS.get(command[0], 0), (command, told.err)
        assert not re.search(r"^(warning|severe|steelyard: error)", told.out + told.err, re.M), (
            command,
            told,
        )
        verdicts += re.findall(r"^Verdict: (.*)$", told.out, re.MULTILINE)
    assert len(verdicts) >= 2
    assert [one for one in verdicts if not one.startswith(("usable:", "usable."))] == []


def run_python(block: PageBlock, page: str, names: dict[str, Any]) -> str:
    """What a Python block prints; skips the test where a library that it needs is absent."""
    for library in OPTIONAL:
        if re.search(rf"^(import|from) {library}\b", block.text, re.MULTILINE):
            pytest.importorskip(library)
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(block.text, page, "exec"), names)
    except MissingDependencyError as error:
        pytest.skip(str(error))
    return printed.getvalue()


def test_every_option_is_described():
    """The page on the command line names every command and every option that there is."""
    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    commands = subcommands(build_parser())
    assert [name for name in commands if f"\n## {name}\n" not in text] == []
    missing = [
        f"{name} {option}"
        for name, parser in commands.items()
        for option in options(parser)
        if not re.search(rf"(?<![\w-]){option}(?![\w-])", text)
    ]
    assert missing == []


def subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parsers of a parser's commands."""
    found: dict[str, argparse.ArgumentParser] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found.update(action.choices)
    return found


def options(parser: argparse.ArgumentParser) -> list[str]:
    """Every option of a command, those of its own commands included."""
    own = [option for action in parser._actions for option in action.option_strings]
    return own + [option for child in subcommands(parser).values() for option in options(child)]


def test_every_key_of_the_overlay_is_described(generated_pages):
    """The page on overlays names every key and, by the table that it includes, every term."""
    text = (DOCS / "overlay.md").read_text(encoding="utf-8")
    assert "\n```{include} generated/terms.md\n```\n" in text
    text += generated_pages.terms_table()
    wanted = [*KEYS, *LIMITS, *TERM_NAMES, *COUPLING_KEYS]
    assert [key for key in wanted if not re.search(rf"`[\w.]*\b{key}\b[^`]*`", text)] == []


def test_every_method_is_described(generated_pages):
    """The page on the choice of a method includes the table of all of them."""
    text = (DOCS / "how-to-choose.md").read_text(encoding="utf-8")
    assert "\n```{include} generated/methods.md\n```\n" in text
    table = generated_pages.methods_table()
    assert [name for name in method_names() if f"| `{name}`" not in table] == []


@pytest.fixture
def generated_pages(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of the documentation that makes pages."""
    monkeypatch.syspath_prepend(DOCS)
    return import_module("generated_pages")


def test_every_field_of_a_result_is_described():
    """The page on results names every field that the schema has."""
    text = (DOCS / "result.md").read_text(encoding="utf-8")
    missing = [field for field in sorted(field_names(read_schema())) if f"`{field}`" not in text]
    assert not missing


def field_names(schema: dict[str, Any]) -> set[str]:
    """Names of the properties of a JSON schema, at any depth."""
    names = set(schema.get("properties", {}))
    for part in [*schema.get("properties", {}).values(), schema.get("items")]:
        if isinstance(part, dict):
            names |= field_names(part)
    return names


def test_every_choice_of_processing_is_described():
    """The page on logs names every option of `Processing`."""
    text = (DOCS / "logs.md").read_text(encoding="utf-8")
    assert [entry.name for entry in fields(Processing) if f"`{entry.name}`" not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_page_is_in_the_contents(page):
    """A page that the index does not list is never found."""
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    assert page.stem == "index" or f"\n{page.stem}\n" in index


def test_imports_of_the_pages_exist():
    """What a page imports from Steelyard is there, also where the block is not run."""
    missing = []
    for page in (README, *PAGES):
        for block in blocks_of(page):
            if block.language == "python":
                missing += [f"{page.name}: {name}" for name in absent_imports(block.text)]
    assert missing == []


def absent_imports(source: str) -> list[str]:
    """Names that a source text imports from Steelyard and that do not exist."""
    return [
        f"{node.module}.{alias.name}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] == "steelyard"
        for alias in node.names
        if not hasattr(import_module(str(node.module)), alias.name)
    ]
