"""The five papers, line by line: what each states beside what comes out here.

    python benchmarks/run.py papers --json
    python benchmarks/papers.py                 the same; keeps the rows for docs/papers.md

A row for every table, figure with numbers and stated number of the papers that their texts allow:
paper, where, the paper's value, ours, whether they agree, the reason where they do not, and the
command that gives ours. Rows are declared in `papers_*.py`. A reason holds for one difference only:
a value elsewhere is unexplained. Rows whose motions or recordings a text lacks have no value; they
name what does.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from contender import say
from goals import Goal

NAME = "papers"
DESCRIPTION = "the five papers: every table, figure and stated number beside ours"
STORED = Path(__file__).resolve().with_suffix(".json")
GOALS = (Goal("unexplained", "<=", 0.0), Goal("not_reachable", "<=", 0.0))


def declared():
    """The rows of each paper, by its name."""
    import papers_gautier_khalil
    import papers_gautier_venture
    import papers_sequential
    import papers_sousa
    import papers_traversaro

    return {
        "Sousa and Cortesão 2014": papers_sousa.ROWS,
        "Gautier and Venture 2013": papers_gautier_venture.ROWS,
        "sequential identification of many-joint manipulators": papers_sequential.ROWS,
        "Traversaro et al. 2016": papers_traversaro.ROWS,
        "Gautier and Khalil 1992": papers_gautier_khalil.ROWS,
    }


def measure() -> dict[str, float | None]:
    """How many rows there are, agree, are explained, and are not."""
    statuses = [one["status"] for one in rows()]
    return {"rows": float(len(statuses))} | {
        status.replace(" ", "_"): float(statuses.count(status))
        for status in ("agrees", "explained", "text lacks it", "unexplained", "not reachable")
    }


@cache
def rows() -> list[dict[str, str]]:
    """Every row with its value."""
    from paper_row import FULL, found

    kept = []
    for paper, theirs in declared().items():
        say(paper)
        for row in theirs:
            one = found(row, FULL)
            kept.append(as_json(paper, row) | {"ours": one.ours, "status": one.status})
            if one.status in ("unexplained", "not reachable"):
                say(f"  {one.status}: {row.where}, {row.what}: {row.printed}, here {one.ours}")
    return kept


def as_json(paper, row) -> dict[str, str]:
    """What a row declares."""
    names = ("where", "what", "printed", "reason", "command")
    return {"paper": paper} | {name: getattr(row, name) for name in names}


def store() -> None:
    """Measure all rows and keep them for the documentation."""
    STORED.write_text(json.dumps(rows(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for name, value in measure().items():
        say(f"{name}: {value:g}")


if __name__ == "__main__":
    store()
