"""How well the motion of a log, or of a file of positions, excites a robot."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import SignalError, listed
from steelyard.excitation.designed import Measure, measures_of
from steelyard.excitation.motion_factors import motion_factors
from steelyard.excitation.motions.sampled import trajectory_from_log
from steelyard.excitation.predicted import PredictedPrecision, factor_precision
from steelyard.excitation.torque_noise import TorqueNoise
from steelyard.logs.log import Log
from steelyard.model.model import Model
from steelyard.signals.motion import Motion
from steelyard.signals.numbered_joints import name_numbered_joints
from steelyard.signals.prepare import prepare
from steelyard.signals.processing import Processing

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ScoredMotion:
    """Measures of an existing motion, and the precision that its log can give.

    name : of the log. duration_s : that counts. recorded : whether positions were filtered as
    those of a recording; else the motion is the spline through them.
    """

    name: str
    duration_s: float
    recorded: bool
    measures: tuple[Measure, ...]
    predicted: PredictedPrecision


def scored_log(
    model: Model,
    log: Log,
    noise: TorqueNoise,
    *,
    reference: ArrayLike | None = None,
    known: ArrayLike | None = None,
    processing: Processing | None = None,
) -> ScoredMotion:
    """Score the motion of a log.

    A log with torques is a recording: its positions are filtered and differentiated as for an
    identification. A file without torques is a plan: its motion is the spline of fifth degree
    through its positions. For noise, reference and known see
    `steelyard.excitation.predicted.predicted_precision`.

    processing : of a recording; its dead band is not used.
    """
    named, _ = name_numbered_joints(log, model.robot)
    recorded = all((joint, "torque") in named.signals for joint in model.channels)
    motion = _recorded(model, log, processing) if recorded else _planned(model, named)
    step_s = float(np.median(np.diff(motion.time)))
    log_rate_hz = 1.0 / float(np.median(np.diff(log.time)))
    # a sample that is left after decimation stands for several of the log
    fewer = max(1.0, log_rate_hz * step_s)
    per_log_sample = replace(noise, rms=noise.per_sample(log_rate_hz), bandwidth_hz=None)
    counted = replace(per_log_sample, rms=per_log_sample.rms / np.sqrt(fewer))
    factors = motion_factors(model, motion)
    predicted = factor_precision(
        model, factors, counted, rate_hz=1.0 / step_s, reference=reference, known=known
    )
    return ScoredMotion(
        log.name,
        step_s * len(motion),
        recorded,
        measures_of(factors),
        replace(predicted, noise=noise, rate_hz=log_rate_hz),
    )


def _recorded(model: Model, log: Log, processing: Processing | None) -> Motion:
    chosen = replace(processing or Processing(), still_joints="keep", dead_band=0.0)
    return prepare(log, model, chosen).motion


def _planned(model: Model, log: Log) -> Motion:
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
    return Motion(motion.time, q, v, a, log.name)
