"""The plain command beside every other method, on logs that MuJoCo made: does it ever lose?

A log is made by MuJoCo, see `never_loses_logs`: one of 18 arms of example-robot-data, friction by
MuJoCo's frictionloss, by tanh, with a Stribeck dip or with presliding, drive inertia that is usual
or far above the links', a file that is 5 to 40 % wrong, 5 s to 20 min at 50 Hz to 1 kHz, a soft or
a stiff controller, strong or weak excitation. `identify` gets log and file. The other methods get
the signals that it chose; "file-with-friction" is the file's links with friction, drive inertia and
offsets fitted. The error is that of the torque on another motion of the same robot without noise,
where joints move, as a share of the rms torque; errors that differ by less than 0.1 % are equal.

- ``within_5pct``: share of all runs in which the default's error is at most 5 % above that of the
  best other method; a refusal counts as a miss. ``worst_ratio``, ``median_ratio``: of these errors,
  default over best. The best is known in hindsight only. ``misses``: runs that are not within 5 %;
  ``hindsight``: share of those in which the method that was best predicts left-out parts of the log
  no better than the default, so that no comparison on the training data would prefer it.
- ``over_METHOD``: median of the error of this method, used on all logs, over that of the default.
- ``refused``, ``tracebacks``: runs that end with an error of Steelyard, and with another one.
  ``runs``, ``arms``, ``high_armature``: all runs, robots, and runs with high drive inertia.

``python benchmarks/never_loses.py --seeds 0:60`` runs some seeds and prints tables; seeds below
10,000 are for tuning. Every run is a line of JSON in the file STEELYARD_NEVER_LOSES_FILE (default:
benchmarks/.cache/never-loses.jsonl), and is not repeated: remove the file, or use ``--fresh``,
after the source has changed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from contender import THREAD_VARIABLES, say
from goals import Goal

if TYPE_CHECKING:
    from never_loses_logs import Case
    from never_loses_runs import Run

NAME = "never-loses"
DESCRIPTION = "300 logs of 18 arms made by MuJoCo: the plain command beside the best other method"
GOALS = (
    Goal("within_5pct", ">=", 0.9),
    Goal("worst_ratio", "<=", 1.3),
    Goal("median_ratio", "<=", 1.0),
    Goal("refused", "<=", 0.0),
    Goal("tracebacks", "<=", 0.0),
    Goal("runs", ">=", 300.0),
    Goal("arms", ">=", 10.0),
    Goal("high_armature", ">=", 60.0),
)
HERE = Path(__file__).resolve().parent
WORKERS = 2
TUNING_SEEDS, FIGURE_SEEDS = range(60), range(10_000, 10_300)


def measure() -> dict[str, float | None]:
    """The figures of all seeds; tables go to standard error."""
    runs = campaign(FIGURE_SEEDS)
    say(tables(runs))
    return figures(runs)


def cache_file() -> Path:
    """Where runs are kept."""
    default = HERE / ".cache" / "never-loses.jsonl"
    return Path(os.environ.get("STEELYARD_NEVER_LOSES_FILE", default))


def campaign(seeds: Sequence[int], path: Path | None = None, *, fresh: bool = False) -> list[Run]:
    """The runs of these seeds, those that the file has included.

    A run of a seed whose case was another one is made again.

    fresh : whether to run all again; their lines replace the earlier ones.
    """
    from never_loses_logs import case_of
    from never_loses_runs import Run

    path = cache_file() if path is None else path
    path.parent.mkdir(parents=True, exist_ok=True)
    have = {} if fresh else stored(path)
    have = {k: one for k, one in have.items() if one["case"] == asdict(case_of(k))}
    left = [seed for seed in seeds if seed not in have]
    say(f"{len(seeds) - len(left)} runs are in {path}, {len(left)} are left")
    # the longest first, so that none is waited for at the end
    left.sort(key=lambda seed: -case_of(seed).seconds * case_of(seed).rate_hz)
    start = perf_counter()
    for name in THREAD_VARIABLES:
        os.environ[name] = "1"
    with (
        path.open("a", encoding="utf-8") as file,
        ProcessPoolExecutor(min(WORKERS, len(left) or 1), get_context("spawn")) as pool,
    ):
        for done, job in enumerate(as_completed([pool.submit(run_seed, one) for one in left]), 1):
            values = job.result()
            file.write(json.dumps(values) + "\n")
            file.flush()
            have[values["case"]["seed"]] = values
            if done % 10 == 0 or done == len(left):
                say(f"run {done} of {len(left)}; {perf_counter() - start:.0f} s")
    return [Run.from_dict(have[seed]) for seed in seeds]


def run_seed(seed: int) -> dict[str, Any]:
    """The run of a seed as plain values; called in a process of its own."""
    from never_loses_runs import run_of

    return run_of(seed).to_dict()


def stored(path: Path) -> dict[int, dict[str, Any]]:
    """The last run of each seed in a file; an unfinished line is left out."""
    found: dict[int, dict[str, Any]] = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                values = json.loads(line)
            except json.JSONDecodeError:
                continue
            found[values["case"]["seed"]] = values
    return found


def figures(runs: Sequence[Run]) -> dict[str, float | None]:
    """The figures from all runs."""
    from never_loses_runs import OTHERS

    ratios = [run.ratio for run in runs if run.ratio is not None]
    missed = [run for run in runs if run.lost and run.ratio is not None]
    return {
        "within_5pct": share(not run.lost for run in runs),
        "worst_ratio": max(ratios, default=None),
        "median_ratio": median(ratios),
        "runs": float(len(runs)),
        "refused": float(sum(bool(run.refusal) for run in runs)),
        "tracebacks": float(sum(bool(run.traceback) for run in runs)),
        "misses": float(len(missed)),
        "hindsight": share(run.in_hindsight for run in missed),
        "arms": float(len({run.case.arm for run in runs})),
        "high_armature": float(sum(run.case.armature == "high" for run in runs)),
        **{f"over_{name}": median(over(runs, name)) for name in OTHERS},
        "worst_case_seconds": max((sum(run.spent.values()) for run in runs), default=None),
        "mean_case_seconds": mean([sum(run.spent.values()) for run in runs]),
    }


def over(runs: Iterable[Run], method: str) -> list[float]:
    """Error of a method over that of the default, of each run that has both."""
    from never_loses_runs import DEFAULT

    both = [run for run in runs if {DEFAULT, method} <= set(run.errors)]
    return [1.0 / run.over(method) for run in both]


def share(flags: Iterable[bool]) -> float | None:
    """The share of true ones; None of none."""
    return mean([float(flag) for flag in flags])


def mean(values: Sequence[float]) -> float | None:
    """The mean; None of none."""
    return sum(values) / len(values) if values else None


def median(values: Sequence[float]) -> float | None:
    """The median; None of none."""
    import numpy as np

    return float(np.median(values)) if values else None


def binned(name: str, *edges: float) -> Callable[[Case], str]:
    """A category by a number of the case."""

    def of(case: Case) -> str:
        value = getattr(case, name)
        below = [edge for edge in edges if value >= edge]
        above = [edge for edge in edges if value < edge]
        return f"{f'{below[-1]:g}' if below else ''} to {f'{above[0]:g}' if above else ''}".strip()

    return of


CATEGORIES: dict[str, Callable[[Case], str]] = {
    "friction": lambda case: case.law,
    "drive inertia": lambda case: case.armature,
    "seconds": binned("seconds", 10.0, 30.0, 60.0, 300.0),
    "rate, Hz": binned("rate_hz", 150.0, 400.0),
    "file error": binned("file_error", 0.1, 0.2),
    "controller": lambda case: case.controller,
    "excitation": lambda case: case.excitation,
    "motion": lambda case: case.motion,
    "torque noise": binned("noise", 0.03),
    "encoder bits": lambda case: str(case.encoder_bits),
    "velocity": lambda case: "recorded" if case.has_velocity else "not recorded",
    "robot": lambda case: case.arm,
}


def tables(runs: Sequence[Run], worst: int = 10) -> str:
    """Figures by category, and the worst runs with the errors of all methods."""
    lines = [f"{'':30}{'runs':>5}{'within 5 %':>12}{'median':>8}{'worst':>8}  winners of misses"]
    for title, of in {"all": lambda case: "", **CATEGORIES}.items():
        for value in sorted({of(run.case) for run in runs}):
            some = [run for run in runs if of(run.case) == value]
            ratios = [run.ratio for run in some if run.ratio is not None]
            missed = Counter(run.winner or "no result" for run in some if run.lost)
            within = sum(not run.lost for run in some) / len(some)
            numbers = f"{median(ratios) or 0:8.3f}{max(ratios, default=0):8.2f}"
            winners = ", ".join(f"{name} {n}" for name, n in missed.most_common())
            lines.append(f"{title:14}{value:16}{len(some):5}{within:12.0%}{numbers}  {winners}")
    lines += ["", "the worst, errors in percent:"]
    known = [run for run in runs if run.ratio is not None]
    for run in sorted(known, key=lambda run: -(run.ratio or 0.0))[:worst]:
        lines += [f"  {case_words(run.case)}", f"    {run_words(run)}"]
    lines += [
        f"  {case_words(run.case)}\n    {run.refusal or run.traceback} {', '.join(run.codes)}"
        for run in runs
        if run.refusal or run.traceback
    ]
    return "\n".join(lines)


def case_words(case: Case) -> str:
    """A case in one line."""
    return (
        f"seed {case.seed}: {case.arm}, {case.law}, drive inertia {case.armature}, "
        f"{case.seconds:g} s at {case.rate_hz:g} Hz, file {case.file_error:.0%} wrong, "
        f"{case.controller}, {case.excitation}, {case.motion}, noise {case.noise:.1%} + "
        f"{case.slow_noise:.1%}, ripple {case.ripple:.1%}, {case.encoder_bits} bits"
    )


def run_words(run: Run) -> str:
    """A run in one line."""
    errors = ", ".join(f"{name} {100.0 * error:.2f}" for name, error in run.errors.items())
    left = ", ".join(f"{name} {value:.3f}" for name, value in run.left_out.items())
    chosen = ", ".join(
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in run.chosen.items()
    )
    return f"ratio {run.ratio:.2f}: {errors}; left out: {left or 'not compared'}; {chosen}"


def main(arguments: list[str] | None = None) -> int:
    """Some seeds, with tables."""
    parser = argparse.ArgumentParser(prog="benchmarks/never_loses.py", description=main.__doc__)
    parser.add_argument("--seeds", default="0:60", metavar="A:B", help="or seeds with commas")
    parser.add_argument("--fresh", action="store_true", help="run again what the file has")
    parser.add_argument("--file", type=Path, help="where runs are kept")
    parser.add_argument("--worst", type=int, default=10, help="how many of the worst to print")
    parser.add_argument("--json", action="store_true", help="print the figures alone")
    options = parser.parse_args(arguments)
    first, colon, last = options.seeds.partition(":")
    seeds = range(int(first), int(last)) if colon else [int(x) for x in first.split(",")]
    runs = campaign(seeds, options.file, fresh=options.fresh)
    if not options.json:
        print(tables(runs, options.worst))
    print(json.dumps(figures(runs), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
