"""Wrong input that the first matrix lacks, and robots with properties that no file states.

30 kinds × 10 seeds × 3 robots, two of them simulated by MuJoCo (`faults2_recordings`); kinds, codes
and seeds are fixed in `faults2_kinds`, sizes in ``faults2_sizes.csv``: log-uniform between those
that raise a plain fit's error on an unseen motion to 1.2 and to 10 times the clean one. Clean logs
are those of `never_loses_logs`, of 18 arms, with their own laws of friction and controllers.

Harm is the error of the plain command on the unseen motion over that of the clean log. Of a
property of the robot, the unseen motion is that of the robot with it.

- ``silent_wrong``, ``named``, ``misnamed``: shares of the runs with a harm of at least 1.5: those
  that say nothing (no named fault, no warning of a poor fit, no refusal, no doubtful verdict);
  those with a finding that names the fault, alone or beside at most two rivals; and those that
  blame faults, but not this one. ``harmful``: their count.
- ``plain_silent``, ``plain_named``, ``plain_misnamed``: the same of all runs in which the fault
  does as much harm to the plain fit, which corrects and admits nothing; runs that `identify` has
  put right are not silent. ``plain_harmful``: their count.
- ``false_alarms``: share of clean logs with a warning that names a fault, a correction, a refusal
  or the verdict not to use the result; ``clean``: their count.
- ``advice_harm``: largest ratio of the error with an option that a finding prints to that without;
  errors within 0.02 % of the torque's rms are equal. ``advice``: options tried.
  ``advice_refused``: those that the command refuses. ``advised``: of the harmful runs that are
  named and whose kind has a remedy, share in which the finding has an option, corrects the fault
  or admits it as a term.
- ``tracebacks``, ``runs``: errors that are not Steelyard's own; all runs.

``python benchmarks/faults2.py`` runs a part on seeds for tuning, and prints a table of the kinds;
see ``--help``. Every run is a line of JSON in the file STEELYARD_FAULTS2_FILE (default:
benchmarks/.cache/faults2.jsonl), from which a campaign that was stopped continues, unless the
source has changed since. STEELYARD_FAULTS2_QUICK=1 takes one seed, one robot and ten clean logs,
from those for tuning.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from contender import THREAD_VARIABLES, say
from faults import share, stored
from goals import Goal

if TYPE_CHECKING:
    from faults2_runs import Run

NAME = "faults2"
DESCRIPTION = "30 more faults and unmodelled properties × 10 seeds × 3 robots, and 300 clean logs"
GOALS = (
    Goal("silent_wrong", "<=", 0.01),
    Goal("named", ">=", 0.85),
    Goal("misnamed", "<=", 0.03),
    Goal("false_alarms", "<=", 0.01),
    Goal("advice_harm", "<=", 1.02),
    Goal("advised", ">=", 0.8),
    Goal("tracebacks", "<=", 0.0),
)
HERE = Path(__file__).resolve().parent
WORKERS = 2
KINDS_PER_TASK = 10
QUICK = os.environ.get("STEELYARD_FAULTS2_QUICK", "") not in ("", "0")


@dataclass(frozen=True)
class Task:
    """Some kinds of faults on one robot and seed; without kinds, its clean log."""

    robot: str
    seed: int
    kinds: tuple[str, ...] = ()


def measure() -> dict[str, float | None]:
    """The figures of the whole campaign; the table goes to standard error."""
    import faults2_kinds as kinds
    from faults2_properties import ROBOTS
    from faults2_runs import MUJOCO

    names = [kind.name for kind in kinds.KINDS]
    if QUICK:
        tasks = tasks_of(ROBOTS[:1], kinds.TUNING_SEEDS[:1], names)
        clean = kinds.CLEAN_TUNING_SEEDS[:10]
    else:
        tasks = tasks_of(ROBOTS, kinds.FIGURE_SEEDS, names)
        clean = kinds.CLEAN_FIGURE_SEEDS
    runs = campaign(tasks + [Task(MUJOCO, seed) for seed in clean])
    say("\n".join(table(runs)))
    return figures(runs)


def tasks_of(robots: Iterable[str], seeds: Sequence[int], kinds: Sequence[str]) -> list[Task]:
    """The clean log and all kinds of every robot and seed that have sizes, of one case in a row."""
    from faults2_kinds import sizes

    tasks = []
    for seed in seeds:
        for robot in robots:
            tasks.append(Task(robot, seed))
            own = [kind for kind in kinds if (kind, robot) in sizes()]
            tasks += [
                Task(robot, seed, tuple(own[k : k + KINDS_PER_TASK]))
                for k in range(0, len(own), KINDS_PER_TASK)
            ]
    return tasks


def run_task(task: Task) -> list[dict[str, object]]:
    """The runs of a task as plain values; called in a process of its own."""
    import faults2_kinds
    import faults2_runs

    if not task.kinds:
        return [faults2_runs.clean_run(task.robot, task.seed).to_dict()]
    return [
        faults2_runs.faulty_run(task.robot, task.seed, faults2_kinds.kind_named(name)).to_dict()
        for name in task.kinds
    ]


def campaign(tasks: Sequence[Task], *, workers: int = WORKERS) -> list[Run]:
    """The runs of all tasks, those that the file has already included."""
    from faults2_runs import CLEAN, Run

    path = Path(os.environ.get("STEELYARD_FAULTS2_FILE", HERE / ".cache" / "faults2.jsonl"))
    path.parent.mkdir(parents=True, exist_ok=True)
    version = source_hash()
    have = {(one["robot"], one["seed"], one["kind"]): one for one in stored(path, version)}
    runs, left = [], []
    for task in tasks:
        missing = []
        for kind in task.kinds or (CLEAN,):
            key = task.robot, task.seed, kind
            if key in have:
                runs.append(have[key])
            else:
                missing.append(kind)
        if missing:
            left.append(Task(task.robot, task.seed, tuple(missing) if task.kinds else ()))
    say(f"{len(runs)} runs are in {path}, {len(left)} of {len(tasks)} tasks are left")
    start = perf_counter()
    for name in THREAD_VARIABLES:
        os.environ[name] = "1"
    with (
        path.open("a", encoding="utf-8") as file,
        ProcessPoolExecutor(min(workers, len(left) or 1), get_context("spawn")) as pool,
    ):
        jobs = [pool.submit(run_task, task) for task in left]
        for done, job in enumerate(as_completed(jobs), 1):
            for values in job.result():
                file.write(json.dumps({"source": version, **values}) + "\n")
                runs.append(values)
            file.flush()
            spent = perf_counter() - start
            say(f"task {done} of {len(jobs)}; {spent:.0f} s, about {spent / done * len(jobs):.0f}")
    return [Run.from_dict(values) for values in runs]


def source_hash() -> str:
    """SHA-256 of the package, of this matrix and of what it takes from the first one."""
    digest = hashlib.sha256()
    own = [
        path for form in ("fault_*.py", "faults2_*", "never_loses_*.py") for path in HERE.glob(form)
    ]
    for path in [*sorted((HERE.parent / "src").rglob("*.py")), *sorted(own)]:
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def figures(runs: Sequence[Run]) -> dict[str, float | None]:
    """The figures from all runs."""
    from faults2_runs import CLEAN, HARMFUL, MUJOCO

    clean = [run for run in runs if run.kind == CLEAN and run.robot == MUJOCO]
    faulty = [run for run in runs if run.kind != CLEAN]
    harmful = [run for run in faulty if run.harm >= HARMFUL]
    plain = [run for run in faulty if run.plain_harm >= HARMFUL]
    treatable = [run for run in harmful if run.fault.remedy and run.naming]
    ratios = [ratio for run in runs for ratio in run.advice_ratios.values()]
    tried = [error for run in runs for error in run.advice.values()]
    return {
        "silent_wrong": share(run.outcome == "silent" for run in harmful),
        "named": share(bool(run.naming) for run in harmful),
        "misnamed": share(run.outcome == "misnamed" for run in harmful),
        "harmful": float(len(harmful)),
        "plain_silent": share(run.outcome == "silent" and run.harm >= HARMFUL for run in plain),
        "plain_named": share(bool(run.naming) for run in plain),
        "plain_misnamed": share(run.outcome == "misnamed" for run in plain),
        "plain_harmful": float(len(plain)),
        "false_alarms": share(run.false_alarm for run in clean),
        "clean": float(len(clean)),
        "advice_harm": max(ratios, default=None),
        "advice": float(len(tried)),
        "advice_refused": float(sum(error is None for error in tried)),
        "advised": share(run.advised for run in treatable),
        "tracebacks": float(sum(bool(run.traceback) for run in runs)),
        "runs": float(len(runs)),
    }


def table(runs: Sequence[Run]) -> list[str]:
    """Lines: of every kind its outcomes where it does harm, errors, and codes."""
    from faults2_runs import CLEAN, HARMFUL, MUJOCO

    lines = []
    for kind in dict.fromkeys(run.kind for run in runs if run.kind != CLEAN):
        own = [run for run in runs if run.kind == kind]
        harms = sorted(run.harm for run in own)
        ends = Counter(run.outcome for run in own if run.harm >= HARMFUL)
        codes = Counter(code for run in own for code in sorted({*run.blamed}))
        lines.append(
            f"{kind:<24} {words(ends) or 'no harm':<38} error × {harms[0]:.3g} to {harms[-1]:.3g}, "
            f"{sum(ends.values())} of {len(own)} harmful; {words(codes)}"
        )
    clean = [run for run in runs if run.kind == CLEAN]
    for name in dict.fromkeys(run.robot for run in clean):
        own = [run for run in clean if run.robot == name]
        codes = Counter(code for run in own for code in sorted({*run.blamed}))
        ends = Counter(run.verdict or "no result" for run in own)
        lines.append(
            f"clean, {name:<17} {sum(run.false_alarm for run in own)} of {len(own)} with an alarm; "
            f"{words(ends)}; {words(codes)}"
        )
        if name == MUJOCO:
            lines += [
                f"  seed {run.seed}: {', '.join(run.blamed)}; {run.verdict} {run.refusal[:60]}"
                for run in own
                if run.false_alarm
            ]
    lines += [
        f"advice: {run.kind}, {run.robot}, seed {run.seed}: {option} makes it × {ratio:.3g}"
        for run in runs
        for option, ratio in run.advice_ratios.items()
        if ratio > 1.0
    ]
    return lines


def words(count: Counter[str]) -> str:
    """Counts in words, the most common first."""
    return ", ".join(f"{name} {n}" for name, n in count.most_common())


def main(arguments: list[str] | None = None) -> int:
    """A part of the campaign."""
    import faults2_kinds as kinds
    from faults2_properties import ROBOTS
    from faults2_runs import MUJOCO

    every = [kind.name for kind in kinds.KINDS]
    parser = argparse.ArgumentParser(prog="benchmarks/faults2.py", description=main.__doc__)
    parser.add_argument("--robots", nargs="+", choices=ROBOTS, default=list(ROBOTS))
    parser.add_argument("--seeds", nargs="*", type=int, default=list(kinds.TUNING_SEEDS[:1]))
    parser.add_argument("--kinds", nargs="+", choices=every, default=every, metavar="KIND")
    parser.add_argument("--clean", type=int, default=0, help="clean logs of never-loses, tuning")
    parser.add_argument("--workers", type=int, default=WORKERS)
    options = parser.parse_args(arguments)
    tasks = [Task(MUJOCO, seed) for seed in kinds.CLEAN_TUNING_SEEDS[: options.clean]]
    tasks += tasks_of(options.robots, options.seeds, options.kinds)
    runs = campaign(tasks, workers=options.workers)
    print("\n".join(table(runs)))
    print(json.dumps(figures(runs), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
