"""A joint whose zero is not the same in the logs of an estimate and in a log it is tested on.

A wrong zero of the last joint is absorbed exactly by a last link that is turned about its axis, so
that nothing in the logs of an estimate shows it. A log with the right zero does: its torques are
explained if an angle is added to one position,

    tau = W_b(q + delta e_k) beta + noise

delta is found by Gauss and Newton's method, channels weighted by their own errors.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.findings import Finding
from steelyard.model.base_map import BaseMap
from steelyard.model.model import Model
from steelyard.robot.robot import Robot
from steelyard.signals.prepare import Prepared
from steelyard.validation.scores import predict_base

Array = NDArray[np.float64]

SAMPLES = 600
"""Samples of a log that are looked at."""
STEP = 1e-5
"""Angle (rad) by which torques are differentiated."""
STEPS = 4
MOST_RAD = 0.6
LEAST_DEG = 2.5
"""Differences matter beyond this."""
LEAST_ERROR = 1e-6
"""Errors are not told apart below this share of the largest one."""
LEAST_GAIN = 0.4
"""Sum over channels of log(error² before / error² after) above which a zero explains an error: an
error in one channel that falls by a fifth."""

PARTS, UNLIKE = 4, 0.2
"""A zero is the same in all parts of a log, within this share; an error of the model is not."""


def changed_zero(model: Model, base: BaseMap, beta: ArrayLike, run: Prepared) -> Finding | None:
    """The joint whose zero differs most from that of the estimate, None where none does."""
    robot = model.robot
    turning = [k for k, name in enumerate(robot.joint_names) if _turns(robot, name)]
    coupled = robot.transmission is not None and robot.transmission.couples
    if robot.floating_base or coupled or not turning:
        return None
    every = slice(None, None, max(1, len(run.motion) // SAMPLES))
    motion, tau = run.motion[every], run.outside_band.tau[every]
    measured = np.isfinite(tau)
    counts = np.maximum(measured.sum(axis=0), 1)

    def residual(joint: int, offset: float) -> Array:
        q = motion.q.copy()
        q[:, joint] += offset
        predicted = predict_base(model, base, beta, replace(motion, q=q))
        return np.where(measured, tau - predicted, 0.0)

    def rms(left: Array) -> Array:
        return np.asarray(np.sqrt(np.sum(left**2, axis=0) / counts))

    start = residual(0, 0.0)
    floor = LEAST_ERROR * float(rms(start).max())
    if floor == 0.0:
        return None

    def errors(left: Array) -> Array:
        return np.maximum(rms(left), floor)

    def products(joint: int, offset: float, left: Array) -> tuple[Array, Array]:
        """Slope times slope and slope times residual, of each sample."""
        weights = 1.0 / errors(left)
        slope = weights * (residual(joint, offset + STEP) - left) / STEP
        return np.sum(slope**2, axis=1), -np.sum(slope * weights * left, axis=1)

    def explained(joint: int) -> float:
        squares, product = (float(one.sum()) for one in products(joint, 0.0, start))
        return product**2 / squares if squares > 0.0 else 0.0

    joint = max(turning, key=explained)
    offset, left = 0.0, start
    for _ in range(STEPS):
        squares, product = products(joint, offset, left)
        offset = float(np.clip(offset + _ratio(product, squares), -MOST_RAD, MOST_RAD))
        left = residual(joint, offset)
    gain = float(np.sum(np.log((errors(start) / errors(left)) ** 2)))
    degrees = float(np.degrees(offset))
    if gain < LEAST_GAIN or abs(degrees) < LEAST_DEG:
        return None
    away = [
        abs(_ratio(product, squares))
        for product, squares in zip(
            *(np.array_split(one, PARTS) for one in reversed(products(joint, offset, left))),
            strict=True,
        )
    ]
    if max(away) > UNLIKE * abs(offset):
        return None
    return _finding(robot.joint_names[joint], degrees, run.motion.run)


def _ratio(above: Array, below: Array) -> float:
    total = float(below.sum())
    return float(above.sum()) / total if total > 0.0 else 0.0


def _turns(robot: Robot, joint: str) -> bool:
    return robot.joint(joint).kind != "prismatic"


def _finding(joint: str, degrees: float, log: str) -> Finding:
    return Finding(
        "warning",
        "position-offset",
        f"the zero of '{joint}' differs by {abs(degrees):.3g} degrees between the logs of the "
        f"estimate and log '{log}': one of them is wrong, and with it the estimate or this test; "
        "look at the zero of the joint",
        joints=(joint,),
        size=degrees,
        unit="degrees",
    )
