"""The five papers: a reduced form of `benchmarks/run.py papers`, and its stored rows."""

from __future__ import annotations

import json
import shlex
from importlib import import_module

import pytest
from project import DOCS, ROOT

from steelyard.cli.parser import build_parser


@pytest.fixture(scope="module")
def papers():
    """The benchmark's module, and that of its rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        yield import_module("papers"), import_module("paper_row")


@pytest.fixture(scope="module")
def stored(papers):
    """What `python benchmarks/papers.py` kept."""
    return json.loads(papers[0].STORED.read_text(encoding="utf-8"))


def test_stored_rows_are_those_that_are_declared(papers, stored):
    """Row by row the same paper, place, printed value, reason and command: else run
    `python benchmarks/papers.py`.
    """
    declared = [
        papers[0].as_json(paper, row)
        for paper, rows in papers[0].declared().items()
        for row in rows
    ]
    assert [{name: one[name] for name in declared[0]} for one in stored] == declared


def test_every_stored_row_agrees_or_is_explained(stored):
    """No row differs without a reason, and what a text lacks is said."""
    assert {one["status"] for one in stored} <= {"agrees", "explained", "text lacks it"}
    for one in stored:
        assert one["command"]
        if one["status"] == "agrees":
            assert one["ours"]
        elif one["status"] == "explained":
            assert one["ours"]
            assert one["reason"]
        else:
            assert one["reason"]
            assert not one["ours"]
    lacking = sum(one["status"] == "text lacks it" for one in stored)
    assert len(stored) >= 180
    assert lacking <= 8


@pytest.mark.parametrize(
    "paper", ["Sousa", "Gautier and Venture", "sequential", "Traversaro", "Gautier and Khalil"]
)
def test_rows_come_out_again(paper, papers, stored):
    """Every row but the slow ones is computed again: what does not depend on a clock, or on the
    length of a simulation, has the stored digits, and nothing is unexplained.
    """
    module, row_module = papers
    (name,) = [name for name in module.declared() if name.startswith(paper)]
    rows = [row for row in module.declared()[name] if not row.slow]
    kept = {(one["where"], one["what"]): one for one in stored if one["paper"] == name}
    assert len(rows) >= 10
    for row in rows:
        again, before = row_module.found(row, row_module.REDUCED), kept[row.where, row.what]
        if not row.measured:
            assert again.status == before["status"], (row.where, row.what, again.ours)
        else:
            assert again.ours


def test_a_reason_excuses_one_difference_only(papers):
    """A value that neither agrees nor lies where the reason has it is unexplained."""
    _, module = papers
    row = module.Row("T", "x", "1.25", lambda _: 0.0, reason="why", differ=(0.5, 0.9))
    verdicts = {
        value: module.found(
            module.Row(**{**row.__dict__, "compute": lambda _, value=value: value}), module.FULL
        ).status
        for value in (1.25, 1.2549, 1.256, 1.0, 0.6, float("nan"))
    }
    assert verdicts.pop(1.25) == verdicts.pop(1.2549) == "agrees"
    assert verdicts.pop(1.0) == "explained"
    assert verdicts.pop(1.256) == "unexplained"
    assert verdicts.pop(0.6) == "unexplained"  # less than half
    assert set(verdicts.values()) == {"unexplained"}
    word = module.Row("T", "x", "feasible", lambda _: "infeasible", reason="why")
    assert module.found(word, module.FULL).status == "unexplained"
    lacking = module.Row("T", "x", "", None)
    assert module.found(lacking, module.FULL).status == "not reachable"


def test_commands_of_the_rows_are_ones(stored):
    """The command line takes every command with its options, and run.py has every benchmark."""
    parser = build_parser()
    benchmarks = {path.stem for path in (ROOT / "benchmarks").glob("*.py")}
    for command in {one["command"] for one in stored}:
        words = shlex.split(command)
        if words[0] == "steelyard":
            parser.parse_args(words[1:])
        else:
            name = words[words.index("benchmarks/run.py") + 1]
            assert name.replace("-", "_") in benchmarks, command


def test_the_page_has_the_rows(stored, monkeypatch):
    """The page includes the generated tables, and these have every row with its command."""
    monkeypatch.syspath_prepend(DOCS)
    page = (DOCS / "papers.md").read_text(encoding="utf-8")
    assert "\n```{include} generated/papers.md\n```\n" in page
    text = import_module("generated_pages").papers_tables()
    assert text.count("\n| ") - text.count("\n| where |") == len(stored)
    assert all(f"`{one['command']}`" in text for one in stored)
