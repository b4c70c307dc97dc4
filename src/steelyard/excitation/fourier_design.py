"""An exciting sum of sines: a search, and what makes the motion provable where a proof fails."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import SignalError
from steelyard.excitation._poses import allowed_poses
from steelyard.excitation.design_task import DesignTask
from steelyard.excitation.motions.fourier import FourierTrajectory
from steelyard.excitation.motions.periodic_run import periodic_runs
from steelyard.excitation.motions.sequence import SequenceTrajectory
from steelyard.excitation.proven_core import DesignedCore, missed
from steelyard.excitation.search._objective import DISTANCE_STEP_S, Safety
from steelyard.excitation.search.fourier_basis import FourierBasis
from steelyard.excitation.search.information import Information
from steelyard.excitation.search.mending import mended
from steelyard.excitation.search.search import Found, Progress, SearchProblem, search
from steelyard.excitation.trajectory import Trajectory, motion_of
from steelyard.excitation.verified import Verified, later, verified_together, verify_run
from steelyard.model.kernels import torque

Array = NDArray[np.float64]

SMOOTH_SHARE = 0.05
"""Width of the smoothed Coulomb friction during the search, as a share of the largest speed."""
MOST_ATTEMPTS = 8
LEAD_SHARES = (1.0, 0.6, 0.35, 0.2)
"""Shares of the limits of speed and acceleration that leads are tried with."""
LEADS_TRIED = 6
"""Times of the motion that are tried as the beginning of the run, for each share."""
LEAD_SAMPLES = 100
MORE_CLEARANCE = 0.25
"""Share of what was missing that a pair keeps in addition at the samples of the next attempt, which
are denser: between samples that are twice as dense distances fall by a quarter."""
LEAST_CLEARANCE_M = 2e-5
DENSE_STEP_S = 0.025
"""Time between samples of distances of a second attempt; of later ones, half of that each."""
FIRST_SHARE = 0.75
"""Share of the time budget for the first search, if there may be others."""
LATER_SHARE = 0.25


def design_fourier(
    task: DesignTask, progress: Callable[[Progress], None] | None = None
) -> DesignedCore:
    """Search for the best sum of sines whose run can be proven within all limits.

    Torques and distances are checked at samples during the search, and proven between them
    afterwards, with the leads from and to rest. Where a proof of the motion fails, the motion is
    mended, with limits that are tighter where something was missing; if that cannot be done, there
    is another search. Where only leads fail, the motion is made smaller.
    """
    settings = task.settings
    began = time.perf_counter()
    poses = allowed_poses(task)
    basis = FourierBasis(task.limits, settings.period_s, settings.harmonics, task.still)
    problem = search_problem(task, basis, poses)
    proofs = task.collision is not None or np.isfinite(task.limits.torque).any()
    budget = settings.budget_s * (FIRST_SHARE if proofs else 1.0)
    found = search(
        problem,
        seed=settings.seed,
        budget_s=budget,
        rounds=settings.rounds,
        threads=settings.threads,
        progress=progress,
    )
    x, share, refusal = found.x, 1.0, ""
    for attempt in range(1, MOST_ATTEMPTS + 1):
        # about the same poses: towards the middle of the ranges there may be something in the way
        own = basis.inside(np.hstack([x[:, :1], share * x[:, 1:]]), share * (1.0 - 1e-9))
        core = basis.trajectory(own)
        alone = verify_run(task, core)
        if not alone.holds:
            problem, refusal = tightened(problem, alone), missed(alone)
            better = mended(problem, own)
            if better is None:
                found = search_again(problem, task, found, progress)
            x, share = (found.x if better is None else better), 1.0
            continue
        proven = _proven_run(task, core, alone)
        if isinstance(proven, str):
            refusal = proven
            share *= 0.95
            continue
        run, verified = proven
        return DesignedCore(
            core=core,
            run=run,
            verified=verified,
            criterion=settings.criterion,
            value=problem.measure(own),
            start_value=found.start_value,
            rounds=found.rounds,
            attempts=attempt,
            whole=found.whole,
            seconds=time.perf_counter() - began,
            evaluations=found.evaluations,
        )
    raise SignalError(f"no motion was found that is proven within the limits: {refusal}")


def search_again(
    problem: SearchProblem,
    task: DesignTask,
    before: Found,
    progress: Callable[[Progress], None] | None,
) -> Found:
    """Another search, of one round, where a motion could not be mended; work is counted on."""
    settings = task.settings
    # dense samples take long, and are needed only at the end
    coarse = replace(problem.safety, distance_step_s=DISTANCE_STEP_S)
    found = search(
        replace(problem, safety=coarse),
        seed=settings.seed,
        budget_s=max(LATER_SHARE * settings.budget_s, 2.0),
        rounds=1,
        threads=settings.threads,
        progress=progress,
    )
    return replace(
        found,
        start_value=before.start_value,
        whole=before.whole and found.whole,
        evaluations=before.evaluations + found.evaluations,
    )


def _proven_run(
    task: DesignTask, core: FourierTrajectory, alone: Verified
) -> tuple[SequenceTrajectory, Verified] | str:
    """A run of the motion whose leads are proven too, or what is missing."""
    refusal = "no lead from rest keeps the limits"
    for share in LEAD_SHARES:
        runs = periodic_runs(
            core,
            task.limits,
            periods=task.settings.periods,
            start=task.start,
            end=task.end,
            lead_share=share,
        )
        for run in islice(runs, LEADS_TRIED):
            beyond = _torque_beyond(task, run, core)
            if beyond is not None:
                refusal = beyond
                continue
            parts = _verified_parts(task, run, core, alone)
            if not isinstance(parts, str):
                return run, verified_together(task, run, parts)
            refusal = f"{parts}, on the way from or to rest"
    return refusal


def _torque_beyond(task: DesignTask, run: SequenceTrajectory, core: Trajectory) -> str | None:
    """A torque of the leads that is beyond its limit at a sample, which is quick to find."""
    for part in run.parts:
        if part is core or not np.isfinite(task.limits.torque).any():
            continue
        motion = motion_of(part, np.linspace(0.0, part.duration_s, LEAD_SAMPLES), "lead")
        tau = torque(task.model, task.reference, motion.q, motion.v, motion.a)
        use = np.abs(tau).max(axis=0) / task.limits.torque
        if use.max() > 1.0:
            joint = task.limits.joints[int(np.argmax(use))]
            return (
                f"joint '{joint}' needs {use.max():.1%} of its torque limit on the way from or to "
                "rest; allow more torque, or lower its acceleration limit"
            )
    return None


def _verified_parts(
    task: DesignTask, run: SequenceTrajectory, core: Trajectory, alone: Verified
) -> list[Verified] | str:
    """What is proven about each part of a run, or what is not proven about its leads."""
    parts = []
    for part, begin, start in zip(run.parts, run.begins[:-1], run.starts_s, strict=True):
        verified = alone if part is core else verify_run(task, part)
        if not verified.holds:
            return missed(verified)
        parts.append(later(verified, float(begin) - start))
    return parts


def search_problem(
    task: DesignTask, basis: FourierBasis, poses: tuple[Array, ...]
) -> SearchProblem:
    """What is searched, with friction smoothed for gradients and as it is for the judgement."""
    names = [task.limits.joints[j] for j in basis.moving]
    widths = dict(zip(names, SMOOTH_SHARE * basis.largest_speed, strict=True))
    smooth = task.model.with_widths(widths)
    columns = list(task.excited)
    noise = task.torque_noise.per_sample(task.settings.rate_hz)
    scale = task.scale[columns]
    prior = None
    if task.known is not None:
        # the criteria count a thousand samples per period
        times = task.settings.period_s * task.settings.periods * task.settings.rate_hz / 1000.0
        prior = task.known[np.ix_(columns, columns)] * (scale[:, None] * scale) / times
    # widths of friction have no effect on what is identifiable
    information, judge = (
        Information(
            model, replace(task.base, model_hash=model.hash), task.excited, noise, scale, prior
        )
        for model in (smooth, task.model.with_widths({}))
    )
    clearance = 0.0 if task.collision is None else task.collision.clearance_m
    safety = Safety(task.base.K @ task.reference, task.limits.torque, task.collision, clearance)
    return SearchProblem(basis, information, judge, task.criterion, safety, poses)


def tightened(problem: SearchProblem, verified: Verified) -> SearchProblem:
    """The problem with torque limits and distances of pairs that are tighter where a proof missed
    them, and with distances looked at more often.
    """
    torque = 0.98 / verified.torque_use if verified.torque_use > 1.0 else 1.0
    safety = problem.safety
    if verified.clearance is None or verified.missing_m <= 0.0:
        return replace(problem, safety=safety.tighter(torque, 0.0))
    missing = np.array(verified.clearance.missing_m)
    more = np.where(missing > 0.0, MORE_CLEARANCE * missing + LEAST_CLEARANCE_M, 0.0)
    finer = replace(safety, distance_step_s=min(DENSE_STEP_S, 0.5 * safety.distance_step_s))
    return replace(problem, safety=finer.tighter(torque, more))
