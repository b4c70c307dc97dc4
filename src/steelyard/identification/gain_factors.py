"""Runs without and with a known payload, compressed motor by motor."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from steelyard.identification.gain_fit import GainFactors
from steelyard.knowledge.payload import Payload
from steelyard.model.base_map import base_map
from steelyard.model.kernels import torque_regressor
from steelyard.model.model import Model
from steelyard.regression.compress import block_length, row_groups
from steelyard.regression.regression import triangle
from steelyard.signals.motion import Measurements, Motion

Array = NDArray[np.float64]

PIECE = 1000


def gain_factors(
    model: Model,
    runs: Iterable[tuple[Motion, Measurements, bool, float]],
    payload: Payload,
) -> GainFactors:
    """Compress runs (motion, torques, whether loaded, correlation time in s) motor by motor.

    Recorded torques of motors are those of the joints, brought back through the transmission.
    """
    base = base_map(model)
    transmission, joints = model.robot.transmission, model.channels
    names = joints if transmission is None else transmission.motor_names
    # v_motor = T v, so that the power tau·v is tau_motor·v_motor: tau_motor = T⁻ᵀ tau
    to_motors = np.eye(len(joints)) if transmission is None else transmission.to_joints(joints).T
    groups = row_groups(model, base)
    columns = tuple(
        tuple(sorted({c for j in np.flatnonzero(row) for c in groups[j].columns}))
        for row in to_motors
    )
    keys: list[tuple[str, int]] = []
    parts: list[list[Array]] = [[] for _ in names]
    counts: list[list[int]] = []
    for motion, measurements, has_payload, correlation_s in runs:
        tau = measured_in_order(model, measurements)
        load = payload.torque(model, motion) if has_payload else np.zeros((len(motion), model.nv))
        length = block_length(float(motion.time[-1] - motion.time[0]), correlation_s)
        block = np.floor(motion.time / length).astype(np.int64)
        edges = [0, *(np.flatnonzero(np.diff(block)) + 1), len(block)]
        for begin, end in pairwise(edges):
            keys.append((motion.run, int(block[begin])))
            factors = [np.zeros((0, len(c) + 2)) for c in columns]
            count = [0] * len(names)
            for start in range(begin, end, PIECE):
                piece = slice(start, min(start + PIECE, end))
                W = torque_regressor(model, motion.q[piece], motion.v[piece], motion.a[piece])
                W = W[:, :, list(base.independent)]
                for m, row in enumerate(to_motors):
                    used = np.flatnonzero(row)
                    y = tau[piece][:, used] @ row[used]
                    there = ~np.isnan(y)
                    mine = np.empty((int(there.sum()), len(columns[m]) + 2))
                    mine[:, :-2] = np.tensordot(row, W[there][:, :, list(columns[m])], (0, 1))
                    mine[:, -2] = load[piece][there] @ row
                    mine[:, -1] = y[there]
                    factors[m] = triangle(np.vstack([factors[m], mine]))
                    count[m] += len(mine)
            for m, factor in enumerate(factors):
                parts[m].append(factor)
            counts.append(count)
    return GainFactors(
        tuple(names),
        columns,
        base.rank,
        tuple(keys),
        tuple(np.array(blocks) for blocks in parts),
        np.array(counts),
    )


def measured_in_order(model: Model, measurements: Measurements) -> Array:
    """Torques (n_samples, nv) in the model's order, NaN where there are none."""
    tau = np.full((len(measurements), model.nv), np.nan)
    for column, channel in enumerate(measurements.channels):
        tau[:, model.channels.index(channel)] = measurements.tau[:, column]
    return tau
