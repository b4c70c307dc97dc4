"""Torques that an identification predicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import LogError, SignalError, described
from steelyard.identification._found_fields import FoundFields
from steelyard.logs.any_log import LogLike, as_log, is_one_log
from steelyard.signals.motion import Motion
from steelyard.signals.prepare import Prepared, prepare
from steelyard.validation.scores import predict_base

Array = NDArray[np.float64]


def prepared_log(found: FoundFields, log: LogLike) -> Prepared:
    """A log, processed like the first log of the estimate; joints that never move are kept."""
    if not found.estimate.runs:
        raise LogError("the estimate does not say how its logs were processed; pass a Motion")
    processing = replace(found.estimate.runs[0].processing_as_used, still_joints="keep")
    automatic = found.signals is not None and found.signals.cutoff_is_automatic
    return prepare(as_log(log), found.model, processing, cutoff_of_another_log=automatic)


def predicted(
    found: FoundFields,
    motion: Motion | Prepared | LogLike | ArrayLike,
    v: ArrayLike | None,
    a: ArrayLike | None,
) -> Array:
    """Torques (n_samples, nv) of the estimate along a motion; see `Identification.predict`."""
    estimate = found.estimate
    return predict_base(found.model, estimate.base, estimate.beta, _motion(found, motion, v, a))


def _motion(
    found: FoundFields,
    given: Motion | Prepared | LogLike | ArrayLike,
    v: ArrayLike | None,
    a: ArrayLike | None,
) -> Motion:
    if v is not None or a is not None:
        if v is None or a is None or isinstance(given, Motion | Prepared | str | Mapping):
            raise SignalError(
                "positions q, velocities v and accelerations a are needed together, as in "
                "predict(q, v, a); a motion or a log is given alone"
            )
        return _from_arrays(found, given, v, a)  # type: ignore[arg-type]
    if isinstance(given, Motion):
        return given
    if isinstance(given, Prepared):
        return given.motion
    if is_one_log(given):
        return prepared_log(found, given).motion  # type: ignore[arg-type]
    if isinstance(given, np.ndarray):
        raise SignalError("positions alone give no torque; pass velocities and accelerations too")
    raise SignalError(
        f"a motion is needed, not {described(given)}; pass q, v and a, a Motion, or one log"
    )


def _from_arrays(found: FoundFields, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Motion:
    sizes = {"q": found.model.nq, "v": found.model.nv, "a": found.model.nv}
    arrays = []
    for (name, size), values in zip(sizes.items(), (q, v, a), strict=True):
        try:
            if np.iscomplexobj(values):
                raise TypeError
            array = np.atleast_2d(np.asarray(values, dtype=float))
        except (TypeError, ValueError, OverflowError):
            raise SignalError(f"{name} is not an array of numbers") from None
        if array.ndim != 2 or array.shape[1] != size:
            joints = ", ".join(found.model.robot.joint_names)
            raise SignalError(
                f"{name} has shape {array.shape}; (n_samples, {size}) is needed, joints in the "
                f"order {joints}"
            )
        arrays.append(array)
    lengths = [len(array) for array in arrays]
    if len(set(lengths)) > 1:
        raise SignalError("q, v and a have {}, {} and {} samples".format(*lengths))
    positions, velocities, accelerations = arrays
    return Motion(np.arange(float(lengths[0])), positions, velocities, accelerations)
