"""Exciting motions made of polynomials: optimum points, via points and static postures."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import SignalError
from steelyard.excitation._poses import allowed_poses, kept_poses
from steelyard.excitation.design_task import DesignTask
from steelyard.excitation.designed import Measure
from steelyard.excitation.limits import MotionLimits
from steelyard.excitation.motions.polynomial import PolynomialTrajectory
from steelyard.excitation.motions.postures import choose_postures, posture_motion
from steelyard.excitation.motions.via_points import via_point_motion
from steelyard.excitation.points._point_problem import energy_model
from steelyard.excitation.points.conditioning import (
    condition_number,
    equilibrium,
    frobenius_condition,
    pivot_condition,
)
from steelyard.excitation.points.point_motion import design_point_motion
from steelyard.excitation.proven_core import DesignedCore, missed
from steelyard.excitation.search.information import Information
from steelyard.excitation.search.search import REPORT_SAMPLES, Progress
from steelyard.excitation.trajectory import motion_of
from steelyard.excitation.verified import verify_run
from steelyard.model.base_map import base_map
from steelyard.model.typical_sizes import parameter_scale

Array = NDArray[np.float64]
Report = Callable[[Progress], None] | None

SPEEDS = (1.0, 0.7, 0.5, 0.35, 0.25)
"""Shares of the limits of speed and acceleration that are tried until torques are proven."""
ROWS_PER_PARAMETER = 2
"""Energy differences per base parameter: more gain little (Gautier and Khalil 1992)."""
REST_S = 2.0
SECONDS_PER_VIA_POINT = 1.8
MOST_CHANGES = 4000
LEAST_OF_TYPICAL = 0.01
"""Share of its typical size that a base parameter of the robot file is taken for, at least."""
MEASURE_WORDS = {
    "svd": "condition number",
    "qr": "condition number, estimate by QR,",
    "frobenius": "Frobenius condition of WᵀW",
    "balanced": "weighted sum of condition number and equilibrium S",
}
GRAVITY = "condition number of gravity columns"


def design_points_motion(task: DesignTask, progress: Report = None) -> DesignedCore:
    """Optimum points of the energy model, joined by fifth-order polynomials."""
    _refuse_still(task, "points")
    began = time.perf_counter()
    allowed_poses(task)  # an error where no pose can be held
    settings = task.settings.point_settings(ROWS_PER_PARAMETER * task.base.rank)
    settings = replace(settings, budget_s=settings.budget_s / 2.0)
    refusal, evaluations = "", 0
    for attempt, share in enumerate(SPEEDS, start=1):
        found = design_point_motion(
            task.model,
            _slower(task.limits, share),
            settings,
            rest=task.start,
            end=task.end,
            column_scale=_column_scale(task),
        )
        design = found.design
        evaluations += design.evaluations
        if progress is not None:
            progress(Progress(time.perf_counter() - began, design.value, attempt))
        proven = _proven(
            task,
            found.motion.trajectory,
            design.value,
            design.start_value,
            len(found.rounds),
            attempt,
            began,
        )
        if not isinstance(proven, str):
            rows, columns = design.matrix.shape
            what = f"energy differences ({rows} × {columns})"
            return replace(
                proven,
                criterion=f"{MEASURE_WORDS[settings.measure]} of {what}",
                whole=not design.cut_short,
                evaluations=evaluations,
                measures=tuple(
                    Measure(f"{words} of {what}", measure(design.matrix))
                    for words, measure in (
                        (MEASURE_WORDS["svd"], condition_number),
                        (MEASURE_WORDS["qr"], pivot_condition),
                        (MEASURE_WORDS["frobenius"], frobenius_condition),
                        ("equilibrium S", equilibrium),
                    )
                ),
            )
        refusal = proven
    raise SignalError(f"no motion through points is proven within the limits: {refusal}")


def _column_scale(task: DesignTask) -> Array | None:
    """Factors (n_base,) of the columns of energy differences, as the settings ask for."""
    if task.settings.column_scale == "none":
        return None
    model = energy_model(task.model)
    base = base_map(model)
    typical = parameter_scale(model)[list(base.independent)]
    if task.settings.column_scale == "typical":
        return typical
    places = [task.model.column_names.index(name) for name in model.column_names]
    return np.maximum(np.abs(base.K @ task.reference[places]), LEAST_OF_TYPICAL * typical)


def design_via_points(task: DesignTask, progress: Report = None) -> DesignedCore:
    """Via points that excite the parameters, with trapezoidal acceleration between them.

    Points are changed one by one, and a change is kept if the criterion gains.
    """
    began = time.perf_counter()
    poses = allowed_poses(task)
    n_points = max(4, round(task.settings.period_s / SECONDS_PER_VIA_POINT))
    rng = np.random.default_rng((task.settings.seed, 2))
    refusal, evaluations = "", 0
    for attempt, share in enumerate(SPEEDS, start=1):
        limits = _slower(task.limits, share)
        deadline = time.perf_counter() + task.settings.budget_s / (attempt + 1)
        best = np.array([poses[k] for k in rng.integers(len(poses), size=n_points)])
        value = start = _criterion(task, via_point_motion(best, limits))
        most = MOST_CHANGES if task.settings.rounds is None else 50 * task.settings.rounds
        changes, evaluations = 0, evaluations + 1
        while changes < most and time.perf_counter() < deadline:
            changes, evaluations = changes + 1, evaluations + 1
            points = _changed_point(task, best, rng)
            own = _criterion(task, via_point_motion(points, limits))
            if own < value:
                best, value = points, own
                if progress is not None:
                    progress(Progress(time.perf_counter() - began, value, attempt))
        run = via_point_motion(_with_ends(task, best), limits)
        proven = _proven(task, run, value, start, changes, attempt, began)
        if not isinstance(proven, str):
            return replace(proven, whole=changes >= most, evaluations=evaluations)
        refusal = proven
    raise SignalError(f"no motion through via points is proven within the limits: {refusal}")


def design_postures(task: DesignTask, progress: Report = None) -> DesignedCore:
    """Static postures at which gravity determines its parameters, and moves between them.

    The value is the condition number of the columns that gravity shows.
    """
    began = time.perf_counter()
    poses = np.array(allowed_poses(task))
    rng = np.random.default_rng((task.settings.seed, 3))
    spread = rng.uniform(task.limits.lower, task.limits.upper, size=(400, len(task.limits.joints)))
    candidates = np.vstack([poses, kept_poses(task, spread)])
    n_postures = max(5, round(task.settings.period_s / (REST_S + 1.0)))
    chosen = choose_postures(
        task.model,
        task.limits,
        n_postures,
        candidates=candidates,
        noise=task.torque_noise.rms,
        seed=task.settings.seed,
    )
    value = chosen.condition
    refusal = ""
    for attempt, share in enumerate(SPEEDS, start=1):
        run = posture_motion(
            chosen.q, _slower(task.limits, share), rest_s=REST_S, start=task.start, end=task.end
        )
        if progress is not None:
            progress(Progress(time.perf_counter() - began, value, attempt))
        proven = _proven(task, run, value, value, 1, attempt, began)
        if not isinstance(proven, str):
            return replace(proven, criterion=GRAVITY, evaluations=len(candidates))
        refusal = proven
    raise SignalError(f"no motion between postures is proven within the limits: {refusal}")


def _proven(
    task: DesignTask,
    run: PolynomialTrajectory,
    value: float,
    start_value: float,
    rounds: int,
    attempt: int,
    began: float,
) -> DesignedCore | str:
    """The motion with its proofs, or what is missing."""
    verified = verify_run(task, run)
    if not verified.holds:
        return missed(verified)
    seconds = time.perf_counter() - began
    return DesignedCore(
        core=run,
        run=run,
        verified=verified,
        criterion=task.settings.criterion,
        value=value,
        start_value=start_value,
        rounds=rounds,
        attempts=attempt,
        whole=True,
        seconds=seconds,
        evaluations=rounds,
    )


def _changed_point(task: DesignTask, points: Array, rng: np.random.Generator) -> Array:
    """The via points with one of them changed; distances are kept there."""
    limits = task.limits
    k = int(rng.integers(len(points)))
    changed = points.copy()
    if rng.random() < 0.5:
        changed[k] += 0.2 * limits.half_range * rng.normal(size=len(limits.joints))
        changed[k] = np.clip(changed[k], limits.lower, limits.upper)
    else:
        changed[k] = rng.uniform(limits.lower, limits.upper)
    kept = kept_poses(task, changed[k : k + 1])
    return changed if len(kept) else points


def _criterion(task: DesignTask, motion: PolynomialTrajectory) -> float:
    """The criterion of a motion, with as many samples as those of other designs."""
    columns = list(task.excited)
    noise = task.torque_noise.per_sample(task.settings.rate_hz)
    model = task.model.with_widths({})
    information = Information(model, task.base, task.excited, noise, task.scale[columns])
    n_samples = 400
    states = motion_of(motion, np.linspace(0.0, motion.duration_s, n_samples), "via")
    table = information.table(states.q, states.v, states.a)
    return task.criterion.exact(information.matrix(table, REPORT_SAMPLES / n_samples))


def _with_ends(task: DesignTask, points: Array) -> Array:
    ends = (
        [task.start] if task.start is not None else [],
        [task.end] if task.end is not None else [],
    )
    return np.vstack([*ends[0], points, *ends[1]])


def _slower(limits: MotionLimits, share: float) -> MotionLimits:
    return replace(
        limits, velocity=share * limits.velocity, acceleration=share * limits.acceleration
    )


def _refuse_still(task: DesignTask, basis: str) -> None:
    if task.still:
        names = ", ".join(f"'{name}'" for name in task.still)
        raise SignalError(
            f"{names} cannot stand still in a motion of basis '{basis}'; lock the joint instead, "
            "with --lock, or use the basis 'fourier'"
        )
