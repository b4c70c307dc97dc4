"""An exciting sum of sines: search, and search again where a proof fails."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import SignalError
from steelyard.excitation._objective import Safety
from steelyard.excitation._poses import allowed_poses
from steelyard.excitation.design_task import DesignTask
from steelyard.excitation.fourier_basis import FourierBasis
from steelyard.excitation.information import Information
from steelyard.excitation.periodic_run import periodic_run
from steelyard.excitation.search import Found, Progress, SearchProblem, search
from steelyard.excitation.trajectory import Trajectory
from steelyard.excitation.verified import Verified, verify_run
from steelyard.model.base_map import base_map

Array = NDArray[np.float64]

SMOOTH_SHARE = 0.05
"""Width of the smoothed Coulomb friction during the search, as a share of the speed limit."""
MOST_ATTEMPTS = 6
FIRST_SHARE = 0.75
"""Share of the time budget for the first search, if there may be others."""


@dataclass(frozen=True, eq=False)
class DesignedCore:
    """A motion, made ready to run and proven.

    core : what was optimised. run : from rest to rest. attempts : searches until all was proven.
    whole : False where the budget ended so soon that the result depends on the machine's speed.
    """

    core: Trajectory
    run: Trajectory
    verified: Verified
    value: float
    start_value: float
    rounds: int
    attempts: int
    whole: bool
    seconds: float
    evaluations: int


def design_fourier(
    task: DesignTask, progress: Callable[[Progress], None] | None = None
) -> DesignedCore:
    """Search for the best sum of sines whose run can be proven within all limits.

    Torques and distances are checked at samples during the search, and proven between them
    afterwards, with the leads from and to rest. Where a proof fails, the search goes on with
    limits that are tighter by what was missing.
    """
    settings = task.settings
    began = time.perf_counter()
    poses = allowed_poses(task)
    basis = FourierBasis(task.limits, settings.period_s, settings.harmonics, task.still)
    problem = search_problem(task, basis, poses)
    proofs = task.collision is not None or np.isfinite(task.limits.torque).any()
    budget = settings.budget_s * (FIRST_SHARE if proofs else 1.0)
    first: Array | None = None
    evaluations, lead_share = 0, 1.0
    refusal = ""
    for attempt in range(1, MOST_ATTEMPTS + 1):
        found = search(
            problem,
            seed=settings.seed,
            budget_s=budget,
            rounds=settings.rounds if attempt == 1 else 1,
            threads=settings.threads,
            first=first,
            progress=progress,
        )
        evaluations += found.evaluations
        x = basis.inside(found.x, 1.0 - 1e-9) if lead_share == 1.0 else lead_share * found.x
        core = basis.trajectory(x)
        first = found.x
        budget = max(0.25 * settings.budget_s, 2.0)
        try:
            run = periodic_run(
                core, task.limits, periods=settings.periods, start=task.start, end=task.end
            )
        except SignalError as error:
            refusal = str(error)
            lead_share *= 0.97
            continue
        verified = verify_run(task, run)
        if verified.holds:
            return _core(task, problem, found, x, core, run, verified, attempt, evaluations, began)
        problem, refusal = _tightened(problem, verified)
    raise SignalError(f"no motion was found that is proven within the limits: {refusal}")


def search_problem(
    task: DesignTask, basis: FourierBasis, poses: tuple[Array, ...]
) -> SearchProblem:
    """What is searched, with friction smoothed for gradients and as it is for the judgement."""
    widths = dict(zip(task.limits.joints, SMOOTH_SHARE * task.limits.velocity, strict=True))
    smooth = task.model.with_widths(widths)
    columns = list(task.excited)
    noise = task.torque_noise.per_sample(task.settings.rate_hz)
    scale = task.scale[columns]
    prior = None
    if task.known is not None:
        # the criteria count a thousand samples per period
        times = task.settings.period_s * task.settings.periods * task.settings.rate_hz / 1000.0
        prior = task.known[np.ix_(columns, columns)] * (scale[:, None] * scale) / times
    information, judge = (
        Information(model, base_map(model), task.excited, noise, scale, prior)
        for model in (smooth, task.model.with_widths({}))
    )
    safety = Safety(
        task.base.K @ task.reference, task.limits.torque, task.collision, task.clearance_m
    )
    return SearchProblem(basis, information, judge, task.criterion, safety, poses)


def _tightened(problem: SearchProblem, verified: Verified) -> tuple[SearchProblem, str]:
    """The problem with limits tighter by what a proof missed, and what that was."""
    torque, clearance, words = 1.0, 0.0, []
    if verified.torque_use > 1.0:
        torque = 0.98 / verified.torque_use
        words.append(
            f"the torque of joint '{verified.worst_joint}' may be {verified.torque_use:.1%} of "
            "its limit"
        )
    if verified.missing_m > 0.0 and verified.clearance is not None:
        clearance = verified.missing_m + 0.002
        words.append(verified.clearance.words)
    words.extend(
        f"{check.quantity} of joint '{check.joint}' may be {check.bound:.6g}, its limit is "
        f"{check.limit:.6g}"
        for check in verified.broken
    )
    safety = problem.safety.tighter(torque, clearance)
    return replace(problem, safety=safety), "; ".join(words)


def _core(
    task: DesignTask,
    problem: SearchProblem,
    found: Found,
    x: Array,
    core: Trajectory,
    run: Trajectory,
    verified: Verified,
    attempts: int,
    evaluations: int,
    began: float,
) -> DesignedCore:
    return DesignedCore(
        core=core,
        run=run,
        verified=verified,
        value=problem.measure(x),
        start_value=found.start_value,
        rounds=found.rounds,
        attempts=attempts,
        whole=found.whole,
        seconds=time.perf_counter() - began,
        evaluations=evaluations,
    )
