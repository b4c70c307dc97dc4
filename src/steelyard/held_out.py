"""Validation on logs that were not used, each by itself and all together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import LogError
from steelyard.identifiability import BaseMap
from steelyard.identification import DeadBand, leave_out_slow, with_unique_names
from steelyard.logs import Log
from steelyard.model import Model
from steelyard.motion import Measurements, Motion
from steelyard.signals import Prepared, Processing, prepare
from steelyard.validation import Validation, predict_base, validate

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Errors on runs that were not used.

    runs : one validation per run. overall : over all of them as if they were one.
    first, predicted : the first run with all of its torques, and those (n_samples, nv) that are
        predicted for it; NaN where they are not held against the measured ones.
    """

    runs: tuple[Validation, ...]
    overall: Validation
    first: Prepared
    predicted: Array

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        return {
            "overall": self.overall.to_dict(),
            "runs": [run.to_dict() for run in self.runs],
        }


def validate_logs(
    model: Model,
    base: BaseMap,
    beta: ArrayLike,
    logs: Iterable[Log],
    processing: Processing,
    dead_band: DeadBand = "auto",
) -> HeldOut:
    """Predict the torques of each log from base parameters beta (n_base,), and compare.

    A joint that never moves is no reason to refuse a log here: its torque can be predicted.
    """
    processing = replace(processing, still_joints="keep")
    whole = [prepare(log, model.robot, processing) for log in with_unique_names(logs)]
    if not whole:
        raise LogError("there is no log to validate on; give at least one")
    prepared = [leave_out_slow(model, run, dead_band) for run in whole]
    predicted = [predict_base(model, base, beta, run.motion) for run in prepared]
    runs = tuple(
        validate(model, torques, run.motion, run.measurements)
        for run, torques in zip(prepared, predicted, strict=True)
    )
    overall = runs[0]
    if len(runs) > 1:
        motion, measurements = one_run(prepared)
        overall = validate(model, np.concatenate(predicted), motion, measurements)
    return HeldOut(runs, overall, whole[0], where_used(prepared[0], predicted[0]))


def where_used(run: Prepared, predicted: Array) -> Array:
    """Predicted torques (n_samples, nv), NaN where the run's are missing or left out."""
    return np.where(np.isnan(run.measurements.tau), np.nan, predicted)


def one_run(prepared: Sequence[Prepared]) -> tuple[Motion, Measurements]:
    """The samples of several runs behind each other; their time starts anew at each."""
    motions = [run.motion for run in prepared]
    time, q, v, a = (
        np.concatenate([getattr(motion, name) for motion in motions])
        for name in ("time", "q", "v", "a")
    )
    tau = np.concatenate([run.measurements.tau for run in prepared])
    name = ", ".join(motion.run for motion in motions)
    return Motion(time, q, v, a, name), Measurements(prepared[0].measurements.channels, tau)
