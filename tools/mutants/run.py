"""Mutation testing: change one line wrongly, and see whether a test fails.

    python tools/mutants/run.py                     named cases, and 200 random mutants
    python tools/mutants/run.py --sample 0          named cases alone (a minute)
    python tools/mutants/run.py --full              every mutant of every target: many hours
    python tools/mutants/run.py --only prior_weight --sample 50
    python tools/mutants/run.py --only robot/,model/ --seed 7    other mutants, of two folders
    python tools/mutants/run.py --retry             survivors of earlier runs again

Mutants are drawn with a seed and tried in that order, so that a longer run contains a shorter one;
results are kept in build/mutants while the module stays as it is, and a run that was stopped goes
on where it was. `named.toml` lists mistakes that an audit found unnoticed once, `equivalent.toml`
mutants that change nothing that matters, each with the reason. The exit code is 0 if all named
cases and 90 % of the others are killed.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from changes import Change, changes_of  # noqa: E402
from sessions import Ended, Replaced, import_heavy, results_folder, run_all, start  # noqa: E402
from targets import PACKAGE, modules  # noqa: E402
from touched import BUDGET_S, Touched, tests_for, touched_lines  # noqa: E402

GOAL = 0.9
KILLED = ("killed", "timeout")


@dataclass(frozen=True)
class Mutant:
    """A change of one target."""

    path: str
    change: Change

    @property
    def key(self) -> str:
        """Name of its result."""
        return f"{self.path}:{self.change.key}"

    @property
    def words(self) -> str:
        """Where it is and what it changes."""
        where = f"{self.path}:{self.change.line} {self.change.function} [{self.change.operator}]"
        return f"{where}\n      - {self.change.before}\n      + {self.change.after}"


@dataclass(frozen=True)
class Named:
    """A mistake that was not noticed once, and the tests that notice it."""

    name: str
    path: str
    before: str
    after: str
    tests: tuple[str, ...]

    def source(self) -> str:
        """The module with the mistake; the text that it replaces must be there exactly once."""
        text = (PACKAGE / self.path).read_text(encoding="utf-8")
        if text.count(self.before) != 1:
            sys.exit(
                f"named.toml: '{self.name}': {text.count(self.before)} places in {self.path} read "
                f"{self.before!r}, where one should: correct the case"
            )
        return text.replace(self.before, self.after)


@dataclass(frozen=True)
class Equivalent:
    """A mutant that no test can or should notice."""

    path: str
    function: str
    before: str
    after: str
    reason: str

    def is_of(self, mutant: Mutant) -> bool:
        """Whether it describes this mutant."""
        change = mutant.change
        return (self.path, self.function, self.before, self.after) == (
            mutant.path,
            change.function,
            change.before,
            change.after,
        )


class Results:
    """Verdicts by mutant, kept on disk line by line; of other texts of a module, forgotten."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "results.jsonl"
        self.texts = {
            path: sha256((PACKAGE / path).read_bytes()).hexdigest()[:16] for path in modules()
        }
        self.verdicts: dict[str, str] = {}
        if self.file.exists():
            for line in self.file.read_text(encoding="utf-8").splitlines():
                stored = json.loads(line)
                if self.texts.get(stored["path"]) == stored["text"]:
                    self.verdicts[stored["key"]] = stored["verdict"]

    def add(self, mutant: Mutant, verdict: str) -> None:
        """Keep one."""
        self.verdicts[mutant.key] = verdict
        line = {
            "key": mutant.key,
            "path": mutant.path,
            "text": self.texts[mutant.path],
            "verdict": verdict,
        }
        with self.file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line) + "\n")


def main(arguments: list[str] | None = None) -> int:
    """Parse, run, report; returns the exit code."""
    options = parse(arguments)
    import_heavy()
    lost = run_named(options.workers)
    if options.sample == 0 and not options.full:
        return 1 if lost else 0
    drawn = draw(options)
    results = Results(results_folder())
    equivalent = [Equivalent(**one) for one in table("equivalent.toml", "mutant")]
    open_ones = [
        mutant
        for mutant in drawn
        if not any(one.is_of(mutant) for one in equivalent)
        and (
            mutant.key not in results.verdicts
            or (options.retry and results.verdicts[mutant.key] not in KILLED)
        )
    ]
    print(f"{len(drawn)} mutants, {len(open_ones)} to try", flush=True)
    if open_ones:
        known = touched_lines(workers=options.workers, limit_s=options.seconds)
        try_all(open_ones, known, results, options)
    return report(drawn, results, equivalent, options.list_all) or (1 if lost else 0)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__.split("\n")[0])
    parser.add_argument("--sample", type=int, default=200, help="how many random mutants")
    parser.add_argument("--full", action="store_true", help="all of them")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument(
        "--only", default="", help="parts of targets' paths, or subjects, separated by commas"
    )
    parser.add_argument("--workers", type=int, default=2, help="processes at once")
    parser.add_argument("--seconds", type=float, default=7200.0, help="stop after this time")
    parser.add_argument("--retry", action="store_true", help="try survivors of earlier runs again")
    parser.add_argument("--list-all", action="store_true", help="list killed mutants, too")
    return parser.parse_args(arguments)


def table(file: str, key: str) -> list[dict[str, str]]:
    """The entries of one of the files beside this one."""
    return list(tomllib.loads((HERE / file).read_text(encoding="utf-8")).get(key, ()))


def named_cases() -> list[Named]:
    """The cases of named.toml."""
    return [
        Named(one["name"], one["path"], one["before"], one["after"], tuple(one["tests"]))
        for one in table("named.toml", "case")
    ]


def run_named(workers: int) -> int:
    """Replay the named cases; how many survive."""
    cases = named_cases()
    lost = []

    def done(k: int, ended: Ended) -> None:
        print(f"  {ended.verdict:<9} {cases[k].name}", flush=True)
        if ended.verdict not in KILLED:
            lost.append(cases[k].name)

    def unchanged(_: int, ended: Ended) -> None:
        if ended.code != 0:
            sys.exit(f"the tests of the named cases fail as it is (code {ended.code})")

    # without a mistake they must pass, or a failure would prove nothing
    tests = sorted({test for one in cases for test in one.tests})
    run_all([partial(start, tests, None, 600.0)], unchanged, workers=1, limit_s=float("inf"))
    print(f"{len(cases)} named cases:", flush=True)
    tasks = [partial(start, one.tests, Replaced(one.path, one.source()), 300.0) for one in cases]
    run_all(tasks, done, workers=workers, limit_s=float("inf"))
    return len(lost)


def draw(options: argparse.Namespace) -> list[Mutant]:
    """The mutants of this run, in the order in which they are tried."""
    chosen = [
        path
        for path, subject in modules().items()
        if any(part in path or part == subject for part in options.only.split(","))
    ]
    if not chosen:
        sys.exit(f"no target has '{options.only}' in its path; there are: {', '.join(modules())}")
    found = [
        Mutant(path, change)
        for path in sorted(chosen)
        for change in changes_of((PACKAGE / path).read_text(encoding="utf-8"))
    ]
    # by their names: a change of one module leaves the order of the others' mutants as it is
    found.sort(key=lambda one: random.Random(f"{options.seed} {one.key}").random())
    return found if options.full else found[: options.sample]


def try_all(
    mutants: Sequence[Mutant],
    known: Sequence[Touched],
    results: Results,
    options: argparse.Namespace,
) -> None:
    """Run the tests of every mutant, so many at once."""
    tasks, tried = [], []
    for mutant in mutants:
        tests = tests_for(mutant.path, mutant.change.statement, known)
        if not tests:
            results.add(mutant, "no test")
            continue
        source = (PACKAGE / mutant.path).read_text(encoding="utf-8")
        replaced = Replaced(mutant.path, mutant.change.applied(source))
        tasks.append(partial(start, tests, replaced, 60.0 + 5.0 * BUDGET_S))
        tried.append(mutant)

    def done(k: int, ended: Ended) -> None:
        results.add(tried[k], ended.verdict)
        words = "" if ended.verdict in KILLED else f"  {tried[k].words}"
        print(f"  {ended.verdict} {ended.seconds:.0f} s{words}", flush=True)

    count = run_all(tasks, done, workers=options.workers, limit_s=options.seconds)
    if count < len(tasks):
        print(f"time is over: {len(tasks) - count} were not tried; run again to go on")


def report(
    drawn: Sequence[Mutant], results: Results, equivalent: Sequence[Equivalent], list_all: bool
) -> int:
    """Print counts by subject, survivors, and whether the goal holds; returns the exit code."""
    subjects = modules()
    counts: dict[str, Counter[str]] = {subject: Counter() for subject in subjects.values()}
    survivors, excused = [], []
    for mutant in drawn:
        reason = next((one.reason for one in equivalent if one.is_of(mutant)), None)
        verdict = results.verdicts.get(mutant.key, "not tried")
        if reason is not None:
            excused.append((mutant, reason))
            verdict = "equivalent"
        elif verdict in KILLED:
            verdict = "killed"
        elif verdict != "not tried":
            survivors.append((mutant, verdict))
            verdict = "survived"
        counts[subjects[mutant.path]][verdict] += 1
        if list_all:
            print(f"  {verdict}: {mutant.words}")
    print(f"\n{'subject':<16}{'killed':>8}{'survived':>10}{'equivalent':>12}{'not tried':>11}")
    for subject, own in counts.items():
        if own:
            print(
                f"{subject:<16}{own['killed']:>8}{own['survived']:>10}"
                f"{own['equivalent']:>12}{own['not tried']:>11}"
            )
    total = sum(counts.values(), Counter())
    for mutant, verdict in survivors:
        print(f"\n  {verdict}: {mutant.words}")
    for mutant, reason in excused:
        print(f"\n  equivalent: {mutant.words}\n      because {reason}")
    judged = total["killed"] + total["survived"]
    share = total["killed"] / judged if judged else 1.0
    whole = f"{total['killed']} of {judged} mutants killed ({100 * share:.1f} %)"
    print(f"\n{whole}, {total['equivalent']} equivalent, {total['not tried']} not tried")
    return 0 if share >= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
