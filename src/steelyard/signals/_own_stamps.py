"""Signals of one log that were recorded on rows of their own, brought to common rows.

A table of several ROS topics has a row for each message, with empty cells for the others. Such a
log is taken apart, into the motion and the wrench of a frame or into the motion of a floating base
and all the rest, and joined by time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from steelyard.logs.log import Log
from steelyard.signals.join_logs import JoinedLog, join_logs
from steelyard.signals.orientation import QuaternionOrder

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Key = tuple[str, str]

SLOWER = 1.5
"""The motion is slower than the wrench where its samples are this many times as far apart."""
FEWEST = 4
"""Rows that each of them must have."""


def joined_by_time(
    log: Log,
    motion: Mapping[Key, Array],
    columns: str,
    *,
    quaternion_order: QuaternionOrder,
) -> JoinedLog | None:
    """The log with its motion on the rows of the wrench; None where both are on the same rows.

    motion : the signals (n_samples,) of the log that tell the motion, NaN where not measured.
    columns : the frame that the log has the wrench of. Orientations of the joined log are
        quaternions x, y, z, w.
    """
    keys = [
        next(key for key in ((columns, one), ("", one)) if key in log.frame_signals)
        for one in ("force", "torque")
    ]
    moved = _whole(np.column_stack([*motion.values()]))
    forced = _whole(np.column_stack([log.frame_signals[key] for key in keys]))
    if not _apart(log, moved, forced):
        return None
    others = {key: x[moved] for key, x in log.frame_signals.items() if key not in keys}
    signals = {key: x[moved] for key, x in log.signals.items()}
    first = replace(log, time=log.time[moved], signals=signals, frame_signals=others)
    forces = {key: log.frame_signals[key][forced] for key in keys}
    second = replace(log, time=log.time[forced], signals={}, frame_signals=forces)
    return join_logs(
        replace(first, name=f"{log.name}, motion"),
        replace(second, name=f"{log.name}, wrench"),
        quaternion_order=quaternion_order,
        name=log.name,
    )


def base_joined_by_time(
    log: Log, base: str, joints: Sequence[str], *, quaternion_order: QuaternionOrder
) -> JoinedLog | None:
    """The log with the motion of a floating base on the rows of the joints; None where it is there.

    base : the frame that tells the motion of the base. Orientations of the joined log are
    quaternions x, y, z, w.
    """
    told = [
        key for key in log.frame_signals if key[0] == base and key[1] not in ("force", "torque")
    ]
    positions = [log.signals[one, "position"] for one in joints if (one, "position") in log.signals]
    if not told or not positions:
        return None
    moved = _whole(np.column_stack([log.frame_signals[key] for key in told]))
    rest = _whole(np.column_stack(positions))
    if not _apart(log, moved, rest):
        return None
    first = {key: log.frame_signals[key][moved] for key in told}
    second = {key: x[rest] for key, x in log.frame_signals.items() if key not in told}
    signals = {key: x[rest] for key, x in log.signals.items()}
    return join_logs(
        replace(
            log,
            time=log.time[moved],
            signals={},
            units={},
            frame_signals=first,
            name=f"{log.name}, base",
        ),
        replace(log, time=log.time[rest], signals=signals, frame_signals=second),
        quaternion_order=quaternion_order,
        name=log.name,
    )


def _apart(log: Log, slow: Mask, fast: Mask) -> bool:
    """Whether two groups of signals are on rows of their own, or the first is sampled slower."""
    if slow.sum() < FEWEST or fast.sum() < FEWEST:
        return False
    together = 2 * int((slow & fast).sum()) >= min(int(slow.sum()), int(fast.sum()))
    return not (together and _period(log, slow) <= SLOWER * _period(log, fast))


def _whole(values: Array) -> Mask:
    """Rows (n_samples,) in which every component was measured."""
    return np.asarray(np.isfinite(values).all(axis=1))


def _period(log: Log, rows: Mask) -> float:
    return float(np.median(np.diff(log.time[rows])))
