"""How well an existing motion excites a robot, and whether it keeps the robot's limits."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import SignalError, listed
from steelyard.excitation.collision.collision_distances import CollisionModel
from steelyard.excitation.designed import Measure, measures_of
from steelyard.excitation.extremes import Extremes
from steelyard.excitation.kept_limits import (
    KeptLimits,
    closest_approach,
    sampled_extremes,
)
from steelyard.excitation.limits import MotionLimits
from steelyard.excitation.motion_factors import model_motion, motion_factors
from steelyard.excitation.motions.sampled import trajectory_from_log
from steelyard.excitation.predicted import PredictedPrecision, factor_precision
from steelyard.excitation.torque_noise import TorqueNoise
from steelyard.excitation.trajectory import Trajectory
from steelyard.logs.log import Log
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.model.typical_sizes import known_parameters
from steelyard.signals.motion import Motion
from steelyard.signals.numbered_joints import name_numbered_joints
from steelyard.signals.prepare import prepare
from steelyard.signals.processing import Processing

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ScoredMotion:
    """Measures of an existing motion, and the precision that its log can give.

    name : of the log. duration_s : that counts. recorded : whether positions were filtered as
    those of a recording; else the motion is a plan, or the spline through positions.
    kept : whether it keeps limits; None where none were given.
    """

    name: str
    duration_s: float
    recorded: bool
    measures: tuple[Measure, ...]
    predicted: PredictedPrecision
    kept: KeptLimits | None = None


@dataclass(frozen=True, eq=False)
class _Existing:
    """A motion to score.

    extremes : that hold at every time; None for a recording, of which only samples are known.
    tau : (n_samples, n_joints) measured torques, N m or N; None for a plan.
    """

    name: str
    motion: Motion
    log_rate_hz: float
    extremes: Extremes | None
    tau: Array | None


def scored_log(
    model: Model,
    log: Log,
    noise: TorqueNoise,
    *,
    reference: ArrayLike | None = None,
    known: ArrayLike | None = None,
    processing: Processing | None = None,
    limits: MotionLimits | None = None,
    collision: CollisionModel | None = None,
) -> ScoredMotion:
    """Score the motion of a log.

    A log with torques is a recording: its positions are filtered and differentiated as for an
    identification. A file without torques is a plan: its motion is the spline of fifth degree
    through its positions. For noise, reference and known see
    `steelyard.excitation.predicted.predicted_precision`.

    processing : of a recording; its dead band is not used.
    limits, collision : that the motion is compared with; None for no comparison.
    """
    named, _ = name_numbered_joints(log, model.robot)
    recorded = all((joint, "torque") in named.signals for joint in model.channels)
    existing = _recorded(model, log, processing) if recorded else _planned(model, named)
    return _score(model, existing, noise, reference, known, limits, collision)


def scored_trajectory(
    model: Model,
    trajectory: Trajectory,
    noise: TorqueNoise,
    *,
    rate_hz: float,
    name: str = "motion",
    reference: ArrayLike | None = None,
    known: ArrayLike | None = None,
    limits: MotionLimits | None = None,
    collision: CollisionModel | None = None,
) -> ScoredMotion:
    """Score a motion, such as that of a motion file, for a log at this rate; see `scored_log`."""
    motion = model_motion(model, trajectory, rate_hz=rate_hz)
    existing = _Existing(name, motion, rate_hz, trajectory.extremes(), None)
    return _score(model, existing, noise, reference, known, limits, collision)


def _score(
    model: Model,
    existing: _Existing,
    noise: TorqueNoise,
    reference: ArrayLike | None,
    known: ArrayLike | None,
    limits: MotionLimits | None,
    collision: CollisionModel | None,
) -> ScoredMotion:
    motion = existing.motion
    step_s = float(np.median(np.diff(motion.time)))
    # a sample that is left after decimation stands for several of the log
    fewer = max(1.0, existing.log_rate_hz * step_s)
    per_log_sample = replace(noise, rms=noise.per_sample(existing.log_rate_hz), bandwidth_hz=None)
    counted = replace(per_log_sample, rms=per_log_sample.rms / np.sqrt(fewer))
    factors = motion_factors(model, motion)
    predicted = factor_precision(
        model, factors, counted, rate_hz=1.0 / step_s, reference=reference, known=known
    )
    theta = known_parameters(model) if reference is None else np.asarray(reference, dtype=float)
    return ScoredMotion(
        existing.name,
        step_s * len(motion),
        existing.tau is not None,
        measures_of(factors),
        replace(predicted, noise=noise, rate_hz=existing.log_rate_hz),
        None if limits is None else _kept(model, existing, theta, limits, collision),
    )


def _kept(
    model: Model,
    existing: _Existing,
    theta: Array,
    limits: MotionLimits,
    collision: CollisionModel | None,
) -> KeptLimits:
    motion, extremes = existing.motion, existing.extremes
    tau = existing.tau
    if tau is None:
        tau = torque(model, theta, motion.q, motion.v, motion.a)
    largest = np.nan_to_num(np.abs(tau)).max(axis=0)
    return KeptLimits(
        limits.of_joints(model.channels),
        sampled_extremes(motion, model.channels) if extremes is None else extremes,
        extremes is not None,
        largest,
        "model" if existing.tau is None else "measured",
        None if collision is None else closest_approach(collision, motion),
    )


def _recorded(model: Model, log: Log, processing: Processing | None) -> _Existing:
    chosen = replace(processing or Processing(), still_joints="keep", dead_band=0.0)
    prepared = prepare(log, model, chosen)
    return _Existing(log.name, prepared.motion, _rate_of(log), None, prepared.all_measurements.tau)


def _planned(model: Model, log: Log) -> _Existing:
    plan = trajectory_from_log(log)
    missing = [joint for joint in model.channels if joint not in plan.joints]
    if missing:
        raise SignalError(
            f"'{log.name}' has no position of {listed(missing)}; lock joints that do not move, "
            "with --lock JOINT=POSITION"
        )
    order = [plan.joints.index(joint) for joint in model.channels]
    motion = plan.evaluate(log.time - log.time[0])
    q, v, a = (np.ascontiguousarray(x[:, order]) for x in (motion.q, motion.v, motion.a))
    moved = Motion(motion.time, q, v, a, log.name)
    return _Existing(log.name, moved, _rate_of(log), plan.extremes(), None)


def _rate_of(log: Log) -> float:
    return 1.0 / float(np.median(np.diff(log.time)))
