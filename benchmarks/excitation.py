"""Exciting motions of the WAM: how good within a given time, and how quick beside others.

``wam_cond_5s`` and ``wam_cond_60s`` are condition numbers (Sousa and Cortesão 2014 publish 99) that
the search finds in 5 and 60 s with all cores, the largest of three seeds, each computed again by an
SVD of the stacked regressor; ``wam_limit_use`` is the largest share of a limit on a grid of 10 kHz.
``wam_cond_600s``, searches with one seed after the other for ten minutes, is measured only where
STEELYARD_EXCITATION_LONG is set. The problem is described in `excitation_problem`.

Criterion against time, on one thread each, from the same random starts, with limits that are a
little wider for the contenders (imposed at 100 points of the period, not in between):

scipy : SLSQP with finite differences on Steelyard's own compiled regressor, one start after the
    other. The logarithm of the condition number is minimised, which helps it.
figaroh : the objective of FIGAROH 1.0.2's trajectory optimiser in the same SLSQP. Its own solver,
    IPOPT through cyipopt, cannot be installed by pip without a compiled IPOPT; its own basis is a
    cubic spline through way points.

``NAME_cond_30s`` is the best value after 30 s. ``NAME_reached_s`` is when a contender reached the
value that it has at the end of its 300 s, ``ours_to_NAME_s`` when we did (median of three seeds).
``speedup_over_NAME`` is the contender's 300 s over our time, ``speedup_over_NAME_reached`` is its
``NAME_reached_s`` over our time; both are 0 where we do not reach its value in our 60 s.
STEELYARD_EXCITATION_S gives contenders less than 300 s, for a quick look.

``gradient_cost`` : time of the criterion with its gradient over that of the criterion alone, 1,000
samples. ``samples_exponent`` : e where the time of both is like samples ** e from 500 to 4,000
samples; ``memory_exponent`` the same for peak memory.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from math import inf, log
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import wam
from contender import PeerAbsentError, run_contender, say
from figaroh_env import run_in_figaroh
from goals import Goal

NAME = "excitation"
DESCRIPTION = (
    "exciting motions of the WAM: condition number against time, beside SciPy with finite "
    "differences and FIGAROH's objective (in SLSQP: its solver needs a compiled IPOPT)"
)
GOALS = (
    Goal("wam_cond_5s", "<", 99.0),
    Goal("wam_cond_60s", "<=", 75.0),
    Goal("wam_limit_use", "<=", 1.0),
    Goal("gk_cond_r15", "<=", 53.0),
    Goal("gk_cond_r20", "<=", 30.0),
    Goal("gk_cond_r30", "<=", 11.0),
    Goal("speedup_over_figaroh", ">=", 20.0),
    Goal("speedup_over_scipy", ">=", 20.0),
    Goal("gradient_cost", "<=", 5.0),
    Goal("samples_exponent", "<=", 1.1),
)
SEEDS = (0, 1, 2)
CONTENDER_S = 300.0
OURS_S = 60.0
LONG_S = 600.0
CURVE_S = (3, 10, 30, 100, 300)
REPEATS = 60
GK_ROWS = (15, 20, 30)
GK_BUDGET_S = 10.0

Trace = Sequence[Sequence[float]]


def measure() -> dict[str, float | None]:
    """All figures."""
    budget = float(os.environ.get("STEELYARD_EXCITATION_S", CONTENDER_S))
    return {
        **wam_figures(budget),
        **gautier_khalil_figures(),
        **comparison(budget),
        **cost_figures(),
    }


def wam_figures(budget: float) -> dict[str, float | None]:
    """Condition numbers by time, and use of the limits; a budget below 60 s leaves that one out."""
    figures: dict[str, float | None] = {}
    uses = []
    for seconds in (5.0, 60.0):
        name = f"wam_cond_{seconds:g}s"
        if seconds > max(5.0, budget):
            figures[name] = None
            continue
        say(f"the WAM in {seconds:g} s")
        answers = [ours("dh", seed, seconds, os.cpu_count() or 1) for seed in SEEDS]
        figures[name] = max(answer["condition"] for answer in answers)
        uses += [answer["limit_use"] for answer in answers]
    if os.environ.get("STEELYARD_EXCITATION_LONG"):
        answers = long_search()
        figures["wam_cond_600s"] = min(answer["condition"] for answer in answers)
        uses += [answer["limit_use"] for answer in answers]
    else:
        figures["wam_cond_600s"] = None
    return figures | {"wam_limit_use": max(uses)}


def long_search() -> list[dict[str, Any]]:
    """Searches with one seed after the other until ten minutes are over."""
    started = perf_counter()
    answers: list[dict[str, Any]] = []
    while (left := LONG_S - (perf_counter() - started)) > 5.0:
        say(f"the WAM in {LONG_S:g} s: {left:.0f} s are left")
        answers.append(ours("dh", len(answers), left, os.cpu_count() or 1))
    return answers


def gautier_khalil_figures() -> dict[str, float | None]:
    """Designed points for the robot of Gautier and Khalil (1992), 10 s for each number of rows."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))
    from gautier_khalil_paper import limits, model

    from steelyard.excitation.points.point_design import PointSettings, design_points

    say("the robot of Gautier and Khalil")
    # compiling is not part of the search
    design_points(model(), limits(), PointSettings(15, n_starts=1, budget_s=0.01))
    return {
        f"gk_cond_r{r}": design_points(
            model(), limits(), PointSettings(r, budget_s=GK_BUDGET_S)
        ).condition
        for r in GK_ROWS
    }


def comparison(budget: float) -> dict[str, float | None]:
    """Criterion against time of all contenders, and the time that we need for their values."""
    from excitation_problem import search_problem, write_arrays

    from steelyard import Robot

    with tempfile.TemporaryDirectory() as folder:
        urdf = wam.write_urdf(Path(folder))
        arrays = Path(folder) / "arrays.npz"
        write_arrays(search_problem(Robot.from_urdf(urdf)), SEEDS[0], arrays)
        own_budget = min(OURS_S, budget)
        mine: list[Trace] = []
        for seed in SEEDS:
            say(f"Steelyard, seed {seed}, {own_budget:g} s")
            mine.append(ours(urdf, seed, own_budget, 1)["trace"])
        theirs = {
            "scipy": contender_trace("scipy", run_contender, urdf, arrays, budget),
            "figaroh": contender_trace("figaroh", run_in_figaroh, urdf, arrays, budget),
        }
    figures: dict[str, float | None] = {}
    for seconds in CURVE_S:
        values = [value_at(trace, seconds, own_budget) for trace in mine]
        known = [value for value in values if value is not None]
        figures[f"ours_cond_{seconds}s"] = median(known) if len(known) == len(values) else None
    for name, trace in theirs.items():
        for seconds in CURVE_S:
            key = f"{name}_cond_{seconds}s"
            figures[key] = None if trace is None else value_at(trace, seconds, budget)
        figures |= speedups(name, trace, mine, budget)
    return figures


def speedups(
    name: str, trace: Trace | None, mine: Sequence[Trace], budget: float
) -> dict[str, float | None]:
    """Time to a contender's final value: its budget, when it reached it, and ours."""
    over, reached_over = f"speedup_over_{name}", f"speedup_over_{name}_reached"
    if trace is None:
        return dict.fromkeys((f"{name}_reached_s", f"ours_to_{name}_s", over, reached_over))
    value = min(found for _, found in trace)
    reached = time_to(trace, value)
    own = median(time_to(one, value) for one in mine)
    return {
        f"{name}_reached_s": reached,
        f"ours_to_{name}_s": own if own < inf else None,
        over: budget / own,
        reached_over: reached / own,
    }


def ours(robot: object, seed: int, seconds: float, threads: int) -> dict[str, Any]:
    """One search in a process of its own."""
    return run_contender("excitation_steelyard.py", robot, seed, seconds, threads)


def contender_trace(
    name: str, run: Callable[..., dict[str, Any]], urdf: Path, arrays: Path, budget: float
) -> Trace | None:
    """(seconds, condition number) of a contender whenever it improved; None if it is absent."""
    say(f"{name}, {budget:g} s")
    try:
        answer = run(f"excitation_{name}.py", urdf, arrays, budget)
    except PeerAbsentError as absent:
        say(f"absent: {absent}")
        return None
    say(f"{name}: {answer['evaluations']} evaluations, {answer['starts']} starts")
    trace: Trace = answer["trace"]
    return trace


def value_at(trace: Trace, seconds: float, budget: float) -> float | None:
    """Best value after so many seconds; None before the first one and after the budget."""
    found = [value for when, value in trace if when <= seconds]
    return min(found) if found and seconds <= budget else None


def time_to(trace: Trace, value: float) -> float:
    """When a value was reached first; infinite where it was not."""
    return min((when for when, found in trace if found <= value), default=inf)


def cost_figures() -> dict[str, float | None]:
    """Cost of a gradient, and growth with the number of samples."""
    say("cost of a gradient, and growth with samples")
    answer = run_contender("excitation_cost.py", REPEATS)
    samples = answer["samples"]
    figures: dict[str, float | None] = {
        "gradient_cost": answer["ratio"],
        "samples_exponent": exponent(samples, answer["both_s"]),
        "memory_exponent": exponent(samples, answer["peak_bytes"]),
    }
    for n, value, both, peak in zip(
        samples, answer["value_s"], answer["both_s"], answer["peak_bytes"], strict=True
    ):
        figures[f"value_ms_{n}"] = 1e3 * value
        figures[f"with_gradient_ms_{n}"] = 1e3 * both
        figures[f"peak_mb_{n}"] = peak / 1e6
    return figures


def exponent(samples: Sequence[int], cost: Sequence[float]) -> float:
    """e of cost ~ samples ** e, from the first to the last."""
    return log(cost[-1] / cost[0]) / log(samples[-1] / samples[0])
