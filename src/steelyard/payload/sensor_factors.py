"""Triangular factors of the wrench equations, for each time block, of force and of torque.

The columns of each factor are the bias (3), the parameters (m and h, or h and I) and the measured
values. With a rotated sensor the wrench in the axes of the frame is ``R`` times the measured one,

    row i:   W_i phi + b_i = sum_j R_ij y_j,      R = R_frame_sensor,

so each factor keeps one column for each of the nine products, and any rotation can be tried on the
factors alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.payload.body_rows import (
    FORCE_PARAMETERS,
    TORQUE_PARAMETERS,
    force_rows,
    torque_rows,
)
from steelyard.regression.regression import triangle
from steelyard.robot.inertia import skew
from steelyard.signals.frame_motion import FrameMotion, Wrench, part_of

Array = NDArray[np.float64]

N_BLOCKS = 24
"""Time blocks of all recordings together; enough for intervals with t quantiles near normal."""
CHUNK = 4096
"""Samples that pass through one QR decomposition."""


@dataclass(frozen=True, eq=False)
class SensorFactors:
    """Factors of all blocks.

    force : (n_blocks, k, k), k = 3 bias + 4 + 1 or 9. torque : (n_blocks, l, l), l = 3 + 9 + 1 or
        9. Without bias the columns of the bias are left out; 9 is for a sensor whose rotation is
        to be estimated.
    n_samples : (n_blocks,).
    """

    force: Array
    torque: Array
    n_samples: NDArray[np.int64]
    bias: bool
    rotation: bool

    @property
    def n_nuisance(self) -> int:
        """Columns before those of the body: of the bias, and of the rotation."""
        return 6 * self.bias + 3 * self.rotation

    @property
    def n_rows(self) -> int:
        """Number of equations: six for each sample."""
        return 6 * int(self.n_samples.sum())

    def rows(self, weights: Array, R_frame_sensor: Array | None = None) -> Array:
        """Weighted rows (n_blocks, n_rows, n_nuisance + 11) of bias, rotation, phi, wrench.

        weights : (2,) of force and torque, one over their noise. R_frame_sensor : (3, 3), about
        which the rotation's columns are derivatives; None for the axes of the frame.
        """
        R = np.eye(3) if R_frame_sensor is None else R_frame_sensor
        n_blocks, k, _ = self.force.shape
        out = np.zeros((n_blocks, k + self.torque.shape[1], self.n_nuisance + 11))
        groups = (
            (self.force, slice(0, k), slice(0, 3), FORCE_PARAMETERS),
            (self.torque, slice(k, None), slice(3, 6), TORQUE_PARAMETERS),
        )
        for g, (factor, rows, bias, parameters) in enumerate(groups):
            first = 3 * self.bias
            n = parameters.stop - parameters.start
            start = self.n_nuisance + parameters.start
            if self.bias:
                out[:, rows, bias] = factor[:, :, :3]
            out[:, rows, start : start + n] = factor[:, :, first : first + n]
            measured = factor[:, :, first + n :]
            if not self.rotation:
                out[:, rows, -1] = measured[:, :, 0]
            else:
                at = 6 * self.bias
                out[:, rows, -1] = measured @ R.reshape(-1)
                for axis, S in enumerate(skew(np.eye(3))):
                    out[:, rows, at + axis] = -measured @ (S @ R).reshape(-1)
            out[:, rows] *= weights[g]
        return out


def compress_wrench(
    recordings: Sequence[tuple[FrameMotion, Wrench]],
    *,
    bias: bool = True,
    rotation: bool = False,
    n_blocks: int = N_BLOCKS,
) -> SensorFactors:
    """The factors of recordings; samples with NaN are left out. A block has samples of one run."""
    force: list[Array] = []
    torque: list[Array] = []
    counts: list[int] = []
    usable = [usable_samples(motion, wrench) for motion, wrench in recordings]
    total = sum(len(index) for index in usable)
    for (motion, wrench), index in zip(recordings, usable, strict=True):
        if len(index) == 0:
            continue
        share = max(1, min(round(n_blocks * len(index) / total), len(index)))
        for part in np.array_split(index, share):
            force.append(_factor(motion, wrench.force, part, force_rows, bias, rotation))
            torque.append(_factor(motion, wrench.torque, part, torque_rows, bias, rotation))
            counts.append(len(part))
    return SensorFactors(np.array(force), np.array(torque), np.array(counts), bias, rotation)


def usable_samples(motion: FrameMotion, wrench: Wrench) -> NDArray[np.int64]:
    """Indices of the samples in which motion and wrench are finite."""
    # a sum is finite only if all its terms are, and is quicker than asking each
    total = wrench.force.sum(axis=1) + wrench.torque.sum(axis=1)
    total += motion.proper_acceleration.sum(axis=1) + motion.angular_velocity.sum(axis=1)
    total += motion.angular_acceleration.sum(axis=1)
    return np.flatnonzero(np.isfinite(total))


def _factor(
    motion: FrameMotion,
    values: Array,
    index: NDArray[np.int64],
    rows_of: Callable[[FrameMotion], Array],
    bias: bool,
    rotation: bool,
) -> Array:
    """Triangular factor of [bias, W, measured] at some samples."""
    factor: Array | None = None
    for chunk in np.array_split(index, -(-len(index) // CHUNK)):
        W = rows_of(part_of(motion, chunk))
        first = 3 * bias
        n = W.shape[2]
        width = first + n + (9 if rotation else 1)
        rows = np.zeros((len(chunk), 3, width))
        if bias:
            rows[:, (0, 1, 2), (0, 1, 2)] = 1.0
        rows[:, :, first : first + n] = W
        y = values[chunk]
        if rotation:
            for i in range(3):
                rows[:, i, first + n + 3 * i : first + n + 3 * i + 3] = y
        else:
            rows[:, :, -1] = y
        matrix = rows.reshape(-1, width)
        factor = triangle(matrix if factor is None else np.vstack([factor, matrix]))
    assert factor is not None
    return factor
