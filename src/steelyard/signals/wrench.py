"""The wrench of a sensor: from the columns of a log to what acts on the body, in its own axes."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import LogError, SignalError, listed
from steelyard.logs.log import Log
from steelyard.signals.frame_motion import Wrench

Array = NDArray[np.float64]
Axes = Literal["sensor", "base"]
Sign = Literal["on-body", "by-body"]
AXES: tuple[Axes, ...] = ("sensor", "base")
SIGNS: tuple[Sign, ...] = ("on-body", "by-body")

LARGEST_GAP = 3.0
"""Wrenches are interpolated between samples at most this many periods apart."""


def wrench_from_log(
    log: Log,
    frame: str,
    time: ArrayLike | None = None,
    *,
    axes: Axes = "sensor",
    sign: Sign = "on-body",
    R: Array | None = None,
    columns: str | None = None,
) -> Wrench:
    """The wrench at ``frame`` at the times ``time`` (n_samples,) s; the log's own where not given.

    axes : of the columns: those of the sensor, which are those of ``frame``, or those of the base
        (the world), which need R.
    R : (n_samples, 3, 3) orientation of the frame in the base at ``time``.
    sign : what the columns hold: the wrench that acts ``on-body`` (upward, where the body rests),
        or that which the body exerts (``by-body``: downward, its weight).
    columns : the name of the frame in the log, where it is another.

    Linear interpolation; NaN outside the recording, where a component was not measured, and between
    samples that are more than three periods apart.
    """
    check_choice("axes of the wrench", axes, AXES)
    check_choice("sign of the wrench", sign, SIGNS)
    name = frame if columns is None else columns
    both = recorded_wrench(log, name)
    at = log.time if time is None else np.asarray(time, dtype=float)
    if at is not log.time:
        both = interpolated(log.time, both, at)
    force, torque = oriented(both, axes, sign, R, frame)
    return Wrench(frame, force, torque)


def recorded_wrench(log: Log, name: str) -> Array:
    """Force and torque (n_samples, 6) as recorded; NaN rows where a component is missing."""
    for quantity in ("force", "torque"):
        if not log.has_frame_signal(name, quantity):
            raise LogError(log.lacks_of_frame(name, quantity) + _where_there_is_one(log, name))
    both = np.column_stack([log.frame_signal(name, one) for one in ("force", "torque")])
    both[~np.isfinite(both).all(axis=1)] = np.nan
    return both


def oriented(
    both: Array, axes: Axes, sign: Sign, R: Array | None, frame: str
) -> tuple[Array, Array]:
    """Force and torque (n_samples, 3) that act on the body, in the axes of the frame."""
    both = -both if sign == "by-body" else both
    force, torque = both[:, :3], both[:, 3:]
    if axes == "sensor":
        return force.copy(), torque.copy()
    if R is None or R.shape != (len(both), 3, 3):
        shape = None if R is None else R.shape
        raise SignalError(
            f"the wrench at frame '{frame}' is given in the axes of the base; the orientation of "
            f"the frame is needed at each of the {len(both)} samples (R, "
            f"{(len(both), 3, 3)}), not {shape}: give joint positions and a robot, or poses"
        )
    turned = [np.einsum("nij,ni->nj", R, part) for part in (force, torque)]
    return turned[0], turned[1]


def interpolated(time: Array, values: Array, at: Array) -> Array:
    """Values (n_in, k) at the times ``at`` (n_out,): linear, NaN where none are near enough."""
    out = np.full((len(at), values.shape[1]), np.nan)
    known = np.flatnonzero(np.isfinite(values).all(axis=1))
    if len(known) < 2:
        return out
    t, x = time[known], values[known]
    after = np.clip(np.searchsorted(t, at), 1, len(t) - 1)
    left, right = t[after - 1], t[after]
    # a stamp that differs in its last digit is the same; rounding must not make it a miss
    slack = 1e-6 * float(np.median(np.diff(time)))
    near = right - left <= LARGEST_GAP * float(np.median(np.diff(time)))
    near |= (np.abs(at - left) <= slack) | (np.abs(at - right) <= slack)
    use = near & (at >= t[0] - slack) & (at <= t[-1] + slack)
    for k in range(values.shape[1]):
        out[use, k] = np.interp(at[use], t, x[:, k])
    return out


def check_choice(what: str, given: object, choices: tuple[str, ...]) -> None:
    """Refuse a value that is not one of the choices."""
    if given not in choices:
        raise SignalError(f"{what}: {given!r}; it must be one of {', '.join(map(repr, choices))}")


def _where_there_is_one(log: Log, name: str) -> str:
    """The frames of the log that have both a force and a torque, for a message."""
    whole = [
        one
        for one in log.frames
        if {"force", "torque"} <= set(log.frame_quantities(one)) and one not in ("", name)
    ]
    if not whole:
        return ""
    return (
        f"; to take the columns of {listed(whole)}, give --wrench-columns {whole[0]} (in Python "
        f"wrench_columns={whole[0]!r}, or columns of wrench_from_log)"
    )
