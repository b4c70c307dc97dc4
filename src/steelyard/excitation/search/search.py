"""The search for an exciting sum of sines: rounds of descents from many starts.

A round begins at many motions: random ones in the first round; later, most of them are near the
best motion so far, at different distances. All of them descend the smooth criterion a little, which
shows which are promising; fewer and fewer go on to the sharp criterion and to weaker barriers.
Which motion is best after a number of rounds depends on the seed alone, not on the speed of the
machine or the number of threads.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blas_threads import one_blas_thread
from steelyard.errors import SignalError
from steelyard.excitation.search._interior import minimise
from steelyard.excitation.search._objective import (
    Barrier,
    MotionPoint,
    Objective,
    Safety,
    no_criterion,
    price,
)
from steelyard.excitation.search.criteria import Criterion
from steelyard.excitation.search.fourier_basis import FourierBasis
from steelyard.excitation.search.information import Information

Array = NDArray[np.float64]

PATIENCE = 6
"""Rounds without a gain of half a per cent after which the search ends."""
GAIN = 0.005
DISTANCES = (None, 0.1, 0.2, 0.4)
"""Of the starts of a round, in turns, to the best motion so far; None for a random motion. In
coefficients, which are numbers near one."""
START_SHARES = (0.7, 0.4, 0.2, 0.05)
STARTS_TRIED = 40
REPORT_SAMPLES = 1000
FEW_SAMPLES = 8
"""Of so many samples one is looked at first for distances."""


@dataclass(frozen=True)
class Stage:
    """One part of a round.

    motions : how many are descended, the best ones of the stage before. sharp : whether it is the
    last of the criterion's stages that is minimised, or the first. weight : of the barriers.
    samples : per harmonic and period. iterations : at most.
    """

    motions: int
    sharp: bool
    weight: float
    samples: int
    iterations: int


STAGES = (
    Stage(12, False, 3e-4, 20, 20),
    Stage(6, False, 1e-4, 20, 20),
    Stage(3, False, 1e-5, 20, 40),
    Stage(2, True, 1e-6, 40, 60),
)
"""The first barriers are strong: with a weak one from the start, motions run into corners of the
limits early and end at worse values."""
TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class SearchProblem:
    """What is searched.

    information : with friction that is smooth at zero speed, for gradients. judge : the same with
        friction as it is, by which motions are compared.
    centres : poses (n_joints,) about which random motions are tried, in this order.
    """

    basis: FourierBasis
    information: Information
    judge: Information
    criterion: Criterion
    safety: Safety
    centres: tuple[Array, ...]

    def measure(self, x: Array) -> float:
        """The criterion of a motion (natural log), friction as it is, 1000 samples per period."""
        objective = Objective(self.basis, self.judge, self.criterion.evaluate, REPORT_SAMPLES, 0.0)
        states = self.basis.states(x, objective.shapes)
        return self.criterion.exact(self.judge.matrix(self.judge.table(*states)))

    def allows(self, x: Array) -> bool:
        """Whether torques and distances of a motion are within their limits at samples."""
        safety = self.safety
        if np.isfinite(safety.torque).any():
            without = replace(self, safety=replace(safety, collision=None))
            if not np.isfinite(without.prices(price)(x).value):
                return False
        if safety.collision is None:
            return True
        (q,) = self.basis.states(x, (self.prices(price).distance_shapes,))
        near = safety.clearance_m
        # most random motions are too close at some of the first, spread samples already
        spread = np.arange(len(q)) % FEW_SAMPLES == 0
        return all(
            bool((safety.collision.distances(part, within_m=near) > near).all())
            for part in (q[spread], q[~spread])
        )

    def prices(self, barrier: Barrier) -> Objective:
        """The prices of torques and distances alone."""
        return Objective(self.basis, self.information, no_criterion, 100, 1.0, self.safety, barrier)


EXTENSIONS = 10
"""Budgets after which a search ends that found nothing better than a random motion."""
Ending = Literal["budget", "rounds", "no more gain"]


@dataclass(frozen=True, eq=False)
class Found:
    """The best motion of a search.

    x : coefficients. value : of the criterion. start_value : of the best random start.
    rounds : that are complete. whole : False where the budget ended before the first round did, so
        that the motion depends on the speed of the machine.
    """

    x: Array
    value: float
    start_value: float
    rounds: int
    whole: bool
    ending: Ending
    seconds: float
    evaluations: int


@dataclass(frozen=True)
class Progress:
    """What is known after a descent: seconds since the beginning, and the best value so far."""

    seconds: float
    value: float
    round: int


def search(
    problem: SearchProblem,
    *,
    seed: int,
    budget_s: float,
    rounds: int | None = None,
    threads: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Found:
    """Search until the budget (s) ends, the rounds are done or there is no more gain.

    Where nothing better than a random motion was found by then, the search goes on, for at most
    `EXTENSIONS` times the budget.
    """
    _compiled(problem)
    began = time.perf_counter()
    deadline = Deadline(began + budget_s)
    evaluations = 0
    workers = os.cpu_count() or 1 if threads is None else threads
    best, best_value, start_value = None, np.inf, np.inf
    done, unchanged = 0, 0
    ending: Ending = "rounds"
    with one_blas_thread(), ThreadPoolExecutor(workers) as pool:
        while rounds is None or done < rounds:
            starts = _starts(problem, seed, done, best)
            descents = [Descent(x, 0.1 * np.eye(x.size)) for x in starts]
            found, found_value = starts[0], np.inf
            if done == 0:
                start_value = min(problem.measure(x) for x in starts)
            for _ in range(EXTENSIONS):
                for stage in STAGES:
                    descents = _best_descended(problem, descents, stage, deadline, pool)
                    # the sharpest version of the criterion, with smooth friction and fewer samples,
                    # is not the criterion itself: an earlier stage may be better
                    for descent in descents[: STAGES[-1].motions]:
                        value = _value(problem, descent)
                        if value < found_value:
                            found, found_value = descent.x, value
                    if progress is not None:
                        # a first round that is cut gives the best motion so far, others give none
                        value = found_value if done == 0 else best_value
                        progress(Progress(time.perf_counter() - began, value, done + 1))
                cut = deadline.over and not all(descent.finished for descent in descents)
                if not cut or done > 0 or found_value < start_value - GAIN:
                    break
                # nothing to return yet: robots with many joints need more time for the first gain
                deadline = Deadline(time.perf_counter() + budget_s)
            evaluations += sum(descent.evaluations for descent in descents)
            if cut and done > 0:
                ending = "budget"
                break
            before = best_value
            if found_value < best_value:
                best, best_value = found, found_value
            if progress is not None:
                progress(Progress(time.perf_counter() - began, best_value, done + 1))
            unchanged = unchanged + 1 if best_value > before - GAIN else 0
            if cut:
                ending = "budget"
                break
            done += 1
            if deadline.over or unchanged >= PATIENCE:
                ending = "budget" if deadline.over else "no more gain"
                break
    if best is None or not np.isfinite(best_value):
        if not any(problem.allows(x) for x in starts):
            raise SignalError(
                "no motion was found that keeps torques and distances, not even a small one about "
                f"one of {len(problem.centres)} poses that keep them; allow more torque, with "
                "--torque, or a smaller --clearance, or another --range"
            )
        raise SignalError(
            "no motion was found that determines the parameters: the time budget is too short "
            f"(the search had {budget_s:g} s of it), or the limits leave too little room; give "
            "more time, with --budget, or wider limits"
        )
    if done == 0 and best_value > start_value - GAIN:
        raise SignalError(
            f"the time budget is too short: {budget_s:g} s of search, and {EXTENSIONS} times as "
            "much, ended before any motion was better than a random one; give more time, with "
            "--budget, or wider limits"
        )
    return Found(
        best,
        best_value,
        start_value,
        done,
        done > 0,
        ending,
        time.perf_counter() - began,
        evaluations,
    )


@dataclass(frozen=True)
class Deadline:
    """When a search has to end, in the time of ``time.perf_counter``."""

    at: float

    @property
    def over(self) -> bool:
        """Whether the time is over."""
        return time.perf_counter() > self.at


@dataclass(frozen=True, eq=False)
class Descent:
    """A descent after some stages.

    curvature : of the objective, as far as it is known. value : of the objective after the last
    stage. finished : False where the time was over before. evaluations : of the objective.
    """

    x: Array
    curvature: Array
    value: float = np.inf
    finished: bool = True
    evaluations: int = 0


def _value(problem: SearchProblem, descent: Descent) -> float:
    """The criterion of a motion; infinite for one that was never inside the limits."""
    return problem.measure(descent.x) if descent.value < np.inf else np.inf


def _best_descended(
    problem: SearchProblem,
    descents: list[Descent],
    stage: Stage,
    deadline: Deadline,
    pool: ThreadPoolExecutor,
) -> list[Descent]:
    """One stage of the first descents, then in the order of their values; the others follow."""
    jobs = [
        pool.submit(_descend, problem, each, stage, deadline) for each in descents[: stage.motions]
    ]
    going = sorted((job.result() for job in jobs), key=lambda descent: descent.value)
    return going + descents[stage.motions :]


def _descend(problem: SearchProblem, descent: Descent, stage: Stage, deadline: Deadline) -> Descent:
    """One stage."""
    objective = Objective(
        problem.basis,
        problem.information,
        problem.criterion.stages[-1 if stage.sharp else 0],
        max(100, stage.samples * problem.basis.n_harmonics),
        stage.weight,
        problem.safety,
    )
    evaluations = 0

    def counting(y: Array) -> MotionPoint:
        nonlocal evaluations
        evaluations += 1
        return objective(y)

    state = minimise(
        counting,
        problem.basis.rows,
        # other samples may show a torque beyond its limit
        _smaller(objective, descent.x),
        descent.curvature,
        weight=stage.weight,
        iterations=stage.iterations,
        tolerance=TOLERANCE,
        stop=lambda: deadline.over,
    )
    # a start that is not inside has no value
    return Descent(
        state.x,
        state.curvature,
        state.value,
        descent.finished and state.finished,
        descent.evaluations + evaluations,
    )


def _starts(problem: SearchProblem, seed: int, done: int, best: Array | None) -> list[Array]:
    """Starts of one round."""
    starts = []
    for k in range(STAGES[0].motions):
        distance = DISTANCES[k % len(DISTANCES)]
        rng = np.random.default_rng((seed, done, k))
        if best is not None and distance is not None:
            starts.append(_near(problem, best, distance, rng))
        else:
            starts.append(_random(problem, rng))
    return starts


def _compiled(problem: SearchProblem) -> None:
    """Let the loops be compiled, which takes seconds once and is no part of the time budget."""
    x = problem.basis.random_start(np.random.default_rng(0), problem.centres[0], 0.01)
    Objective(problem.basis, problem.information, no_criterion, 2, 0.0)(x).gradient()


def _smaller(objective: Objective, x: Array) -> Array:
    """The same motion about the same centre, smaller until the objective is finite."""
    for _ in range(60):
        if np.isfinite(objective(x).value):
            break
        x = np.hstack([x[:, :1], 0.98 * x[:, 1:]])
    return x


def _near(problem: SearchProblem, best: Array, distance: float, rng: np.random.Generator) -> Array:
    """A motion near the best one that is inside all limits."""
    for _ in range(8):
        x = problem.basis.inside(best + distance * rng.normal(size=best.shape), 0.97)
        if problem.allows(x):
            return x
        distance *= 0.5
    return best


def _random(problem: SearchProblem, rng: np.random.Generator) -> Array:
    """A random motion inside all limits, as large as can be found."""
    for share in START_SHARES:
        for _ in range(STARTS_TRIED // len(START_SHARES)):
            centre = problem.centres[int(rng.integers(len(problem.centres)))]
            x = problem.basis.random_start(rng, centre, share)
            if problem.allows(x):
                return x
    for centre in problem.centres:
        x = problem.basis.random_start(rng, centre, 0.01)
        if problem.allows(x):
            break
    return x
