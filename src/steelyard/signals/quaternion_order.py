"""Whether the four numbers of a quaternion were recorded in the order that was stated.

The motion itself does not tell. Moving w from the last place to the first is a reflection of the
four numbers, and turns every rotation R into A Rᵀ B with two fixed rotations A and B: angles
between samples, speeds and smoothness are the same for both readings. Gravity tells: the wrench of
a rigid body follows

    f = m a + α × h + ω × (ω × h) + b_f,    τ = h × a + I α + ω × I ω + b_τ

for the right reading only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import SignalError
from steelyard.signals.frame_motion import FrameMotion, Wrench
from steelyard.signals.orientation import QuaternionOrder

Array = NDArray[np.float64]

UNEXPLAINED = 0.1
"""The stated order is doubted if it leaves more than this share of the wrench's variance."""
CLEARLY = 5.0
"""The other order must leave so many times less to be named."""
FEWEST = 6
MOST = 4000
"""Samples that are enough for the comparison."""


class Reading(Protocol):
    """Motion and wrench of a frame, as read in one order."""

    @property
    def motion(self) -> FrameMotion:
        """The motion, which depends on the order."""
        ...

    @property
    def wrench(self) -> Wrench | None:
        """The wrench, which depends on it in the axes of the base; None where there is none."""
        ...


def refuse_other_order(
    stated: Reading, other: Callable[[], Reading], order: QuaternionOrder, log: str
) -> None:
    """Refuse a recording whose wrench fits gravity only in the order that was not stated.

    stated : as read in the stated order. other : reads in the other one, where there is a doubt.
    """
    left = unexplained_share(stated)
    if left is None or left <= UNEXPLAINED:
        return
    left_by_other = unexplained_share(other())
    if left_by_other is None or left_by_other * CLEARLY > left:
        return
    meant = "w-first" if order == "x-first" else "x-first"
    raise SignalError(
        f"log '{log}': quaternions of frame '{stated.motion.frame}' are read {order}, as stated, "
        f"and then a rigid body leaves {100 * left:.2g} % of the wrench's variance unexplained; "
        f"read {meant}, it leaves {100 * left_by_other:.2g} %: state "
        f"--quaternion {meant} (in Python quaternion_order='{meant}', or quaternion of "
        "weigh_payload_ft)"
    )


def unexplained_share(reading: Reading) -> float | None:
    """Share of the wrench's variance that no rigid body explains; None where there is too little.

    Force and torque count alike, each relative to its own variance; biases are taken out first.
    """
    motion, wrench = reading.motion, reading.wrench
    if wrench is None:
        return None
    a, w = motion.proper_acceleration, motion.angular_velocity
    alpha, f, t = motion.angular_acceleration, wrench.force, wrench.torque
    rows = np.flatnonzero(np.isfinite(np.column_stack([a, w, alpha, f, t])).all(axis=1))
    if len(rows) < FEWEST:
        return None
    rows = rows[:: max(1, len(rows) // MOST)]
    a, w, alpha, f, t = (x[rows] for x in (a, w, alpha, f, t))
    n = len(rows)
    units, none = np.eye(3), np.zeros((n, 3))
    tensors = [np.outer(units[i], units[j]) for i in range(3) for j in range(i, 3)]
    tensors = [0.5 * (one + one.T) for one in tensors]
    columns_f = [a, *(np.cross(alpha, e) + np.cross(w, np.cross(w, e)) for e in units)]
    columns_f += [none for _ in tensors]
    columns_t = [none, *(np.cross(e, a) for e in units)]
    columns_t += [alpha @ one + np.cross(w, w @ one) for one in tensors]
    W, z = [], []
    for columns, measured in ((columns_f, f), (columns_t, t)):
        varied = measured - measured.mean(axis=0)
        size = float(np.sqrt(np.mean(varied**2)))
        if size <= 1e-12:
            continue
        block = np.stack([one - one.mean(axis=0) for one in columns], axis=-1)
        W.append(block.reshape(3 * n, len(columns)) / size)
        z.append(varied.ravel() / size)
    if not z:
        return None
    rows_W, rows_z = np.concatenate(W), np.concatenate(z)
    scale = np.linalg.norm(rows_W, axis=0)
    solution = np.linalg.lstsq(rows_W / np.where(scale > 0, scale, 1.0), rows_z, rcond=1e-10)[0]
    residual = rows_z - rows_W / np.where(scale > 0, scale, 1.0) @ solution
    return float(residual @ residual) / float(rows_z @ rows_z)
