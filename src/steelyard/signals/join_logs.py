"""Two tables of one recording as one log: poses (or joints) beside wrenches, each with its stamps.

The signals of the first log are brought to the stamps of the second: rotations by slerp, everything
else by linear interpolation, or both by cubic splines, which is the default where the first log is
the slower one. Nothing is extrapolated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError
from steelyard.findings import Finding
from steelyard.logs.frame_columns import ORIENTATIONS
from steelyard.logs.log import Log
from steelyard.signals._matching import unwrap
from steelyard.signals.cubic_spline import cubic_spline
from steelyard.signals.orientation import (
    READINGS,
    QuaternionOrder,
    slerp,
    unit_quaternions,
    without_flips,
)
from steelyard.signals.wrench import LARGEST_GAP, check_choice, interpolated

Array = NDArray[np.float64]
Key = tuple[str, str]
Interpolation = Literal["auto", "linear", "cubic"]
SLOWER = 1.5
"""Ratio of the periods from which poses count as sampled more slowly than wrenches."""
CLOSE_STAMPS = 0.2
"""Share of the period: stamps that are closer make a spline through noisy poses swing."""


@dataclass(frozen=True, eq=False)
class JoinedLog:
    """The log of both tables, and what was cut."""

    log: Log
    findings: tuple[Finding, ...] = ()


def join_logs(
    poses: Log,
    wrenches: Log,
    *,
    quaternion_order: QuaternionOrder = "x-first",
    interpolation: Interpolation = "auto",
    name: str | None = None,
) -> JoinedLog:
    """One log with the signals of both, on the stamps of ``wrenches`` that ``poses`` covers.

    poses : poses, twists, an IMU or joints; its orientations become quaternions x, y, z, w, so that
        the joined log is to be read ``x-first``.
    wrenches : the log that keeps its stamps; its signals stay as they are.
    quaternion_order : of the quaternions in ``poses``. Those in ``wrenches`` are not touched.
    interpolation : ``linear`` (slerp for rotations), or ``cubic`` for poses that are sampled more
        slowly than wrenches: then a straight line between two poses has the wrong acceleration.
        ``auto`` is cubic for slower poses, unless some of their stamps almost coincide, and linear
        otherwise; a finding says which.
    name : of the joined log; that of ``wrenches`` where not given.

    Both clocks must be the same. Between poses more than three of their periods apart, signals are
    marked as missing.
    """
    check_choice("interpolation", interpolation, ("auto", "linear", "cubic"))
    turned = _with_quaternions(poses, quaternion_order)
    _refuse_repeats(poses, wrenches, turned)
    rows = _common_rows(poses, wrenches)
    cubic = interpolation == "cubic"
    if interpolation == "auto":
        cubic = _slower(poses, wrenches) and not _close_stamps(poses)
    at = wrenches.time[rows]
    signals = {key: values[rows] for key, values in wrenches.signals.items()}
    for key, values in poses.signals.items():
        if key[1] == "position":
            # a line from one end of a turn to the other would pass through angles in between
            values = unwrap(values)[0]
        signals[key] = _onto(poses.time, values[:, None], at, cubic)[:, 0]
    frames = {key: values[rows] for key, values in wrenches.frame_signals.items()}
    for key, values in turned.items():
        if key[1] == "quaternion":
            frames[key] = _rotations_onto(poses.time, values, at, cubic)
        else:
            frames[key] = _onto(poses.time, values, at, cubic)
    log = Log(
        at,
        signals,
        wrenches.name if name is None else name,
        wrenches.source,
        {**poses.units, **wrenches.units},
        (*wrenches.ignored, *(one for one in poses.ignored if one not in wrenches.ignored)),
        {**poses.columns, **wrenches.columns},
        frames,
        {
            key: axes
            for key, axes in {**poses.incomplete, **wrenches.incomplete}.items()
            if key not in frames
        },
        _lower_rate_hz(poses, wrenches),
        wrenches.skipped,
    )
    return JoinedLog(
        log, (*_cut_findings(poses, wrenches, rows), *_rate_findings(poses, wrenches, cubic))
    )


def _with_quaternions(poses: Log, order: QuaternionOrder) -> dict[Key, Array]:
    """The signals of frames, every orientation as unit quaternions x, y, z, w."""
    out: dict[Key, Array] = {}
    for (frame, quantity), values in poses.frame_signals.items():
        if quantity not in ORIENTATIONS:
            out[frame, quantity] = values
        elif next(one for one in ORIENTATIONS if (frame, one) in poses.frame_signals) == quantity:
            what = f"log '{poses.name}': the {quantity.replace('_', ' ')} of frame '{frame}'"
            if quantity == "quaternion":
                out[frame, "quaternion"] = unit_quaternions(values, order, what)
            else:
                out[frame, "quaternion"] = READINGS[quantity](values, what)
    return out


def _refuse_repeats(poses: Log, wrenches: Log, turned: dict[Key, Array]) -> None:
    both = [*(poses.signals.keys() & wrenches.signals.keys())]
    both += [*(turned.keys() & wrenches.frame_signals.keys())]
    if both:
        first, quantity = sorted(both)[0]
        raise LogError(
            f"logs '{poses.name}' and '{wrenches.name}' both have the "
            f"{quantity.replace('_', ' ')} of '{first}' ({len(both)} such signals); leave its "
            "columns out of one of them"
        )


def _common_rows(poses: Log, wrenches: Log) -> slice:
    """Rows of the wrenches between the first and the last pose; refuses fewer than two."""
    slack = 1e-6 * float(np.median(np.diff(poses.time)))
    inside = np.flatnonzero(
        (wrenches.time >= poses.time[0] - slack) & (wrenches.time <= poses.time[-1] + slack)
    )
    if len(inside) < 2:
        raise LogError(
            f"logs '{poses.name}' ({poses.time[0]:.6g} to {poses.time[-1]:.6g} s) and "
            f"'{wrenches.name}' ({wrenches.time[0]:.6g} to {wrenches.time[-1]:.6g} s) have "
            f"{len(inside)} rows of the second in common; are both stamped by the same clock, in "
            "the same unit?"
        )
    return slice(int(inside[0]), int(inside[-1]) + 1)


def _onto(time: Array, values: Array, at: Array, cubic: bool) -> Array:
    """Values (n_in, k) at the times ``at`` (n_out,); NaN in gaps."""
    known = np.flatnonzero(np.isfinite(values).all(axis=1))
    straight = interpolated(time, values, at)
    if not cubic or len(known) < 4:
        return straight
    curved = cubic_spline(time[known], values[known])(at)
    return np.where(np.isfinite(straight), curved, np.nan)


def _rotations_onto(time: Array, q: Array, at: Array, cubic: bool) -> Array:
    """Unit quaternions (n_in, 4) at the times ``at`` (n_out,); NaN in gaps."""
    if cubic:
        curved = _onto(time, q, at, cubic)
        return np.asarray(curved / np.linalg.norm(curved, axis=1)[:, None])
    known = np.isfinite(q).all(axis=1)
    near = np.isfinite(interpolated(time, q, at)).all(axis=1)
    out = np.full((len(at), 4), np.nan)
    if near.any():
        inside = np.clip(at[near], time[known][0], time[known][-1])
        out[near] = slerp(time[known], q[known], inside)
    return without_flips(out)


def _lower_rate_hz(poses: Log, wrenches: Log) -> float | None:
    """The rate of the poses, where it is lower than that of the wrenches."""
    of_poses, of_wrenches = (1.0 / float(np.median(np.diff(one.time))) for one in (poses, wrenches))
    if poses.motion_rate_hz is not None:
        of_poses = min(of_poses, poses.motion_rate_hz)
    return of_poses if of_poses < of_wrenches else None


def _cut_findings(poses: Log, wrenches: Log, rows: slice) -> tuple[Finding, ...]:
    findings = []
    first, last = rows.start, len(wrenches) - rows.stop
    if first or last:
        before = float(wrenches.time[rows.start] - wrenches.time[0])
        after = float(wrenches.time[-1] - wrenches.time[rows.stop - 1])
        words = (
            f"log '{wrenches.name}': {first} rows ({before:.4g} s) at the start and {last} "
            f"({after:.4g} s) at the end are outside of log '{poses.name}' and were cut"
        )
        findings.append(Finding("info", "joined-rows-cut", words))
    at = wrenches.time[rows]
    step = np.diff(poses.time)
    period = float(np.median(step))
    holes = np.flatnonzero(step > LARGEST_GAP * period)
    starts, ends = poses.time[holes], poses.time[holes + 1]
    after_hole = np.searchsorted(starts, at, side="left") - 1
    lost = (
        int(np.sum((after_hole >= 0) & (at < ends[np.maximum(after_hole, 0)]))) if len(holes) else 0
    )
    if lost:
        words = (
            f"log '{poses.name}' has {len(holes)} gaps longer than {LARGEST_GAP:g} of its periods "
            f"({period:.4g} s), in which {lost} of {len(at)} rows of log '{wrenches.name}' have no "
            "pose; they are marked as missing"
        )
        findings.append(Finding("info", "joined-gaps", words))
    return tuple(findings)


def _period(log: Log) -> float:
    return float(np.median(np.diff(log.time)))


def _slower(poses: Log, wrenches: Log) -> bool:
    return _period(poses) > SLOWER * _period(wrenches)


def _close_stamps(poses: Log) -> bool:
    return float(np.diff(poses.time).min()) < CLOSE_STAMPS * _period(poses)


def _rate_findings(poses: Log, wrenches: Log, cubic: bool) -> tuple[Finding, ...]:
    """Poses that are sampled more slowly than wrenches, and how they were interpolated."""
    if not _slower(poses, wrenches):
        return ()
    period = _period(poses)
    words = (
        f"log '{poses.name}' is sampled at {1 / period:.4g} Hz, log '{wrenches.name}' at "
        f"{1 / _period(wrenches):.4g} Hz: signals of the first hold nothing above "
        f"{0.5 / period:.4g} Hz"
    )
    if cubic:
        return (Finding("info", "joined-rates", f"{words}; they were interpolated by splines"),)
    why = "; they were interpolated linearly, and straight lines have no acceleration: use cubic "
    why += "interpolation"
    if _close_stamps(poses):
        why += (
            ", with poses whose stamps are even (the closest two are "
            f"{float(np.diff(poses.time).min()):.2g} s apart, which makes splines swing)"
        )
    return (Finding("warning", "joined-rates", words + why),)
