"""Wrong input: how often a wrong result comes in silence, and how often its cause is named.

Kinds of faults, sizes, robots, prior errors, noise, seeds and the tolerance of harm are fixed in
`fault_kinds`. Every fault of every seed and robot is identified from alone, with a clean and with
an equally faulty validation log. The kinds that no training log can tell are counted apart.

- ``silent_wrong``: runs whose estimate is wrong (`FaultRun.harmful`) and that say nothing;
  ``silent_wrong_upper``: one-sided 95 % bound (Clopper and Pearson 1934) on their share of the
  ``harmful`` runs.
- ``named``, ``misnamed``: shares of the runs in which a fault did harm or something was noticed:
  those with a finding that names the fault, and those that only blame other faults.
- ``false_alarms``: share of clean logs of random robots with a finding that names a fault, a
  refusal, or the verdict not to use the result; ``false_alarms_robots``: of the three robots.
- ``tracebacks``: errors that are not Steelyard's own, of all runs. ``runs``: all runs.

``python benchmarks/faults.py`` runs a part, and prints a table of the kinds; see ``--help``. Every
run is a line of JSON in the file STEELYARD_FAULTS_FILE (default: benchmarks/.cache/faults.jsonl),
from which a campaign that was stopped continues, unless the source has changed since.
STEELYARD_FAULTS_QUICK=1 takes one seed, one robot and ten clean logs, from those for tuning.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

from contender import THREAD_VARIABLES, say
from goals import Goal

NAME = "faults"
DESCRIPTION = "67 kinds of wrong input × 20 seeds × 3 robots: silent, named, misnamed, false alarms"
GOALS = (
    Goal("silent_wrong", "<=", 0.0),
    Goal("named", ">=", 0.95),
    Goal("misnamed", "<=", 0.02),
    Goal("false_alarms", "<=", 0.02),
    Goal("tracebacks", "<=", 0.0),
)
HERE = Path(__file__).resolve().parent
WORKERS = 2
KINDS_PER_TASK = 5
QUICK = os.environ.get("STEELYARD_FAULTS_QUICK", "") not in ("", "0")


@dataclass(frozen=True)
class Task:
    """Some kinds of faults on one robot and seed; without kinds, its clean log."""

    robot: str
    seed: int
    kinds: tuple[str, ...] = ()
    situations: tuple[str, ...] = ("alone",)


def measure() -> dict[str, float | None]:
    """The figures of the whole campaign."""
    import fault_kinds
    from fault_recordings import ROBOTS

    names = tuple(kind.name for kind in fault_kinds.KINDS)
    if QUICK:
        robots, seeds = ROBOTS[:1], fault_kinds.TUNING_SEEDS[:1]
        random_seeds = fault_kinds.TUNING_CLEAN_SEEDS[:10]
    else:
        robots, seeds = ROBOTS, fault_kinds.FRESH_SEEDS
        random_seeds = fault_kinds.FRESH_CLEAN_SEEDS
    tasks = tasks_of(robots, seeds, names, fault_kinds.SITUATIONS)
    tasks += [Task("random", seed) for seed in random_seeds]
    return figures(campaign(tasks))


def tasks_of(
    robots: Iterable[str], seeds: Sequence[int], kinds: Sequence[str], situations: tuple[str, ...]
) -> list[Task]:
    """The clean log and all faults of every robot and seed; those of one case in a row."""
    tasks = []
    for seed in seeds:
        for robot in robots:
            tasks.append(Task(robot, seed))
            tasks += [
                Task(robot, seed, tuple(kinds[k : k + KINDS_PER_TASK]), situations)
                for k in range(0, len(kinds), KINDS_PER_TASK)
            ]
    return tasks


def run_task(task: Task) -> list[dict[str, object]]:
    """The runs of a task as plain values; called in a process of its own."""
    import fault_kinds
    import fault_runs

    if not task.kinds:
        return [fault_runs.clean_run(task.robot, task.seed).to_dict()]
    return [
        run.to_dict()
        for name in task.kinds
        for run in fault_runs.runs_of(
            task.robot, task.seed, fault_kinds.kind_named(name), task.situations
        )
    ]


def campaign(tasks: list[Task]) -> list:
    """The runs of all tasks, those that the file has already included."""
    from fault_runs import CLEAN, FaultRun

    path = Path(os.environ.get("STEELYARD_FAULTS_FILE", HERE / ".cache" / "faults.jsonl"))
    path.parent.mkdir(parents=True, exist_ok=True)
    version = source_hash()
    have = {key_of(values): values for values in stored(path, version)}
    runs, left = [], []
    for task in tasks:
        missing = []
        for kind in task.kinds or (CLEAN,):
            keys = [(task.robot, task.seed, kind, one) for one in task.situations]
            if all(key in have for key in keys):
                runs += [have[key] for key in keys]
            else:
                missing.append(kind)
        if missing:
            kinds = tuple(missing) if task.kinds else ()
            left.append(Task(task.robot, task.seed, kinds, task.situations))
    say(f"{len(runs)} runs are in {path}, {len(left)} of {len(tasks)} tasks are left")
    start = perf_counter()
    for name in THREAD_VARIABLES:
        os.environ[name] = "1"
    with (
        path.open("a", encoding="utf-8") as file,
        ProcessPoolExecutor(min(WORKERS, len(left) or 1), get_context("spawn")) as pool,
    ):
        jobs = [pool.submit(run_task, task) for task in left]
        for done, job in enumerate(as_completed(jobs), 1):
            for values in job.result():
                file.write(json.dumps({"source": version, **values}) + "\n")
                runs.append(values)
            file.flush()
            spent = perf_counter() - start
            say(f"task {done} of {len(jobs)}; {spent:.0f} s, about {spent / done * len(jobs):.0f}")
    return [FaultRun.from_dict(values) for values in runs]


def key_of(values: dict) -> tuple[str, int, str, str]:
    """What a run is known by."""
    return values["robot"], values["seed"], values["kind"], values["situation"]


def stored(path: Path, version: str) -> Iterator[dict]:
    """The runs in a file that this version of the source made; an unfinished line is left out."""
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            values = json.loads(line)
        except json.JSONDecodeError:
            continue
        if values.pop("source") == version:
            yield values


def source_hash() -> str:
    """SHA-256 of the package and of the campaign, without what only prints or starts it."""
    digest = hashlib.sha256()
    own = [path for path in HERE.glob("fault_*.py")]
    for path in [*sorted((HERE.parent / "src").rglob("*.py")), *sorted(own)]:
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def figures(runs: list) -> dict[str, float | None]:
    """The figures from all runs."""
    from fault_runs import CLEAN

    clean = [run for run in runs if run.kind == CLEAN]
    faulty = [run for run in runs if run.kind != CLEAN]
    told = [run for run in faulty if not run.fault.untellable]
    harmful = [run for run in told if run.harmful]
    counted = [run for run in told if run.harmful or run.noticed]
    silent = sum(run.silent for run in told)
    random = [false_alarm(run) for run in clean if run.robot == "random"]
    robots = [false_alarm(run) for run in clean if run.robot != "random"]
    return {
        "silent_wrong": float(silent),
        "silent_wrong_upper": upper_bound(silent, len(harmful)),
        "harmful": float(len(harmful)),
        "named": share(run.named for run in counted),
        "misnamed": share(run.misnamed for run in counted),
        "false_alarms": share(random),
        "false_alarms_robots": share(robots),
        "tracebacks": float(sum(bool(run.traceback) for run in runs)),
        "runs": float(len(runs)),
        "untellable_silent": float(sum(run.silent for run in faulty if run.fault.untellable)),
    }


def false_alarm(run: object) -> bool:
    """Whether something is blamed in a clean log, or its result refused or not to be used."""
    return bool(run.blamed or run.refusal or run.traceback or run.verdict == "do not use")


def share(flags: Iterable[bool]) -> float | None:
    """The share of true ones; None of none."""
    values = list(flags)
    return sum(values) / len(values) if values else None


def upper_bound(count: int, total: int, level: float = 0.95) -> float | None:
    """One-sided upper bound of a share of which ``count`` of ``total`` were seen (Clopper and
    Pearson 1934): the share at which so few have probability 1 - level.
    """
    from scipy.stats import beta

    if total == 0:
        return None
    return 1.0 if count == total else float(beta.ppf(level, count + 1, total - count))


def print_kinds(runs: list) -> None:
    """How many runs of every kind came to which end."""
    from fault_runs import CLEAN

    outcomes: dict[str, Counter[str]] = {}
    codes: dict[str, Counter[str]] = {}
    ratios: dict[str, list[float]] = {}
    for run in runs:
        if run.kind == CLEAN:
            outcomes.setdefault(CLEAN, Counter())["alarm" if false_alarm(run) else "quiet"] += 1
        else:
            outcomes.setdefault(run.kind, Counter())[run.outcome] += 1
        codes.setdefault(run.kind, Counter()).update(run.codes)
        if run.error is not None and run.kind != CLEAN:
            ratios.setdefault(run.kind, []).append(run.error / run.clean_error)
    for kind, count in outcomes.items():
        times = sorted(ratios.get(kind, []))
        words = f"error × {times[0]:.3g} to {times[-1]:.3g}" if times else ""
        ends = ", ".join(f"{end} {n}" for end, n in count.most_common())
        print(f"{kind:<24} {ends:<36} {words:<28} {dict(codes[kind].most_common(5))}")


def main(arguments: list[str] | None = None) -> int:
    """A part of the campaign."""
    import fault_kinds
    from fault_recordings import ROBOTS

    every = [kind.name for kind in fault_kinds.KINDS]
    parser = argparse.ArgumentParser(prog="benchmarks/faults.py", description=main.__doc__)
    parser.add_argument("--robots", nargs="+", choices=ROBOTS, default=list(ROBOTS))
    parser.add_argument("--seeds", nargs="+", type=int, default=list(fault_kinds.TUNING_SEEDS[:3]))
    parser.add_argument("--kinds", nargs="+", choices=every, default=every, metavar="KIND")
    parser.add_argument("--clean", type=int, default=0, help="clean logs of random robots, tuning")
    parser.add_argument("--alone", action="store_true", help="without validation logs")
    options = parser.parse_args(arguments)
    situations = fault_kinds.SITUATIONS[: 1 if options.alone else None]
    tasks = tasks_of(options.robots, options.seeds, options.kinds, situations)
    tasks += [Task("random", seed) for seed in fault_kinds.TUNING_CLEAN_SEEDS[: options.clean]]
    runs = campaign(tasks)
    print_kinds(runs)
    print(json.dumps(figures(runs), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
