"""Static postures, which determine the parameters that gravity shows: masses times lever arms.

At rest the torque is W(q, 0, 0) theta: only first moments, masses and offsets have columns.
Postures are chosen so that the columns that are independent have a large determinant of WᵀW
(D-optimality). Friction holds part of the weight of a robot at rest, so that torques at postures
are as uncertain as friction is large.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import ModelError, SignalError
from steelyard.excitation.limits import MotionLimits
from steelyard.excitation.motions.polynomial import PolynomialTrajectory
from steelyard.excitation.motions.via_points import random_via_points, via_point_motion
from steelyard.model.base_map import column_order
from steelyard.model.dependent_columns import independent_columns, unit_columns
from steelyard.model.kernels import torque_regressor
from steelyard.model.model import Model
from steelyard.model.random_states import random_states

Array = NDArray[np.float64]

CANDIDATES = 400
BEFORE_DATA = 1e-6
"""Of a column's mean square: what is known before the first posture, so that the determinant is
positive from the beginning."""
MOST_EXCHANGES = 4
UNDETERMINED = 1e6
"""Postures whose columns have a larger condition number do not determine them."""


@dataclass(frozen=True, eq=False)
class Postures:
    """Postures to rest at, in the order of the way between them.

    joints : names. q : (n_postures, n_joints) rad or m.
    columns : names of the independent columns that gravity shows; the first ones from the left, in
        the order of the base parameters.
    condition : condition number of these columns over all postures, each scaled to norm one.
    log_det : of WᵀW of these columns, each divided by its root mean square over the candidates.
    """

    joints: tuple[str, ...]
    q: Array
    columns: tuple[str, ...]
    condition: float
    log_det: float


def choose_postures(
    model: Model,
    limits: MotionLimits,
    n_postures: int = 20,
    *,
    candidates: ArrayLike | None = None,
    noise: ArrayLike | None = None,
    seed: int = 0,
) -> Postures:
    """Postures within the limits at which gravity determines its parameters well.

    One after the other, the candidate is added that increases log det WᵀW most; then each is
    exchanged for a better one, until none is.

    candidates : (n_candidates, n_joints) rad or m, in the model's order of joints, such as
        postures that are free of collisions; 400 random ones within the limits if left out.
    noise : (n_joints,) N m or N, standard deviation of each measured torque; all alike if left out.
    """
    if model.robot.floating_base:
        raise ModelError(
            f"robot '{model.robot.name}' has a floating base; postures are for a fixed one"
        )
    limits = limits.of_joints(model.channels)
    if n_postures < 1:
        raise SignalError(f"n_postures is {n_postures}; it must be at least 1")
    poses = _candidates(candidates, limits, n_postures, seed)
    W, names = _static_columns(model, poses, noise)
    n_base = len(names)
    if n_postures * model.nv < n_base:
        raise SignalError(
            f"{n_postures} postures of {model.nv} joints are fewer rows than the {n_base} columns "
            f"that gravity shows; at least {-(-n_base // model.nv)} are needed"
        )
    chosen = _exchanged(W, _greedy(W, n_postures))
    rows = W[chosen].reshape(-1, n_base)
    norms = np.linalg.norm(rows, axis=0)
    values = np.linalg.svd(rows / np.where(norms > 0.0, norms, 1.0), compute_uv=False)
    condition = float(values[0] / values[-1]) if values[-1] > 0.0 else np.inf
    if condition > UNDETERMINED:
        raise SignalError(
            f"{n_postures} postures leave a condition number of {condition:.3g} of the {n_base} "
            "columns that gravity shows; use more postures, or wider limits of position"
        )
    order = _short_way(poses[chosen], limits)
    log_det = float(np.linalg.slogdet(rows.T @ rows)[1])
    return Postures(limits.joints, poses[chosen][order], names, condition, log_det)


def posture_motion(
    postures: ArrayLike,
    limits: MotionLimits,
    *,
    rest_s: float = 2.0,
    start: ArrayLike | None = None,
    end: ArrayLike | None = None,
) -> PolynomialTrajectory:
    """Rest at each posture for a stated time (s), with moves within limits between them.

    postures : (n_postures, n_joints) rad or m, in the order of the joints of `limits`.
    start, end : poses (n_joints,) at which the motion begins and ends, with a rest there too.
    """
    if not rest_s > 0.0:
        raise SignalError(f"rest_s is {rest_s}; it must be positive, for torques to be read")
    points = np.atleast_2d(np.asarray(postures, dtype=float))
    if start is not None:
        points = np.vstack([np.asarray(start, dtype=float), points])
    if end is not None:
        points = np.vstack([points, np.asarray(end, dtype=float)])
    return via_point_motion(points, limits, rest_s=rest_s)


def rest_intervals(motion: PolynomialTrajectory) -> Array:
    """Beginning and end (n_rests, 2) s of each rest of a motion."""
    still = ~motion.coefficients[:, :, 1:].any(axis=(1, 2))
    return np.stack([motion.breaks[:-1][still], motion.breaks[1:][still]], axis=1)


def _candidates(given: ArrayLike | None, limits: MotionLimits, n_postures: int, seed: int) -> Array:
    if given is None:
        return random_via_points(limits, max(CANDIDATES, 10 * n_postures), seed=seed)
    poses = np.asarray(given, dtype=float)
    if poses.ndim != 2 or poses.shape[1] != len(limits.joints) or not len(poses):
        raise SignalError(
            f"candidates has shape {poses.shape}; it must be (n_candidates, {len(limits.joints)})"
        )
    outside = (poses < limits.lower) | (poses > limits.upper) | ~np.isfinite(poses)
    if outside.any():
        row, joint = np.argwhere(outside)[0]
        raise SignalError(
            f"candidate {row + 1}: joint '{limits.joints[joint]}' at {poses[row, joint]:g} is "
            f"outside its limits {limits.lower[joint]:g} to {limits.upper[joint]:g}"
        )
    return poses


def _static_columns(
    model: Model, poses: Array, noise: ArrayLike | None
) -> tuple[Array, tuple[str, ...]]:
    """Independent columns (n_candidates, nv, n_base) of the torque at rest, of mean square one, and
    their names.
    """
    # on random positions, since limits that are too narrow must not hide a column
    n_random = max(30, 4 * len(model.columns) // model.nv + 20)
    q, _, _ = random_states(np.random.default_rng(0), model.robot, n_random)
    anywhere, _ = unit_columns(model, _at_rest(model, q).reshape(-1, len(model.columns)))
    independent = independent_columns(anywhere, column_order(model, "sousa"))
    if not independent:
        raise ModelError(
            f"no parameter of robot '{model.robot.name}' has a torque at rest: gravity does not "
            "act on its joints, and it has no offsets"
        )
    W = _at_rest(model, poses)[:, :, independent]
    if noise is not None:
        sigma = np.asarray(noise, dtype=float)
        if sigma.shape != (model.nv,) or not (sigma > 0.0).all():
            raise SignalError(f"noise must be {model.nv} positive values, one per joint")
        W = W / sigma[:, None]
    size = np.sqrt((W**2).sum(axis=(0, 1)) / len(poses))
    names = tuple(model.columns[k].name for k in independent)
    return W / np.where(size > 0.0, size, 1.0), names


def _at_rest(model: Model, q: Array) -> Array:
    """The regressor (n_poses, nv, n_columns) without motion."""
    still = np.zeros((len(q), model.nv))
    return torque_regressor(model, q, still, still)


def _greedy(W: Array, n_postures: int) -> list[int]:
    """Candidates, one after the other, that increase the determinant most; repeats allowed."""
    information = BEFORE_DATA * np.eye(W.shape[2])
    chosen = []
    for _ in range(n_postures):
        best = int(_gains(W, information).argmax())
        chosen.append(best)
        information += W[best].T @ W[best]
    return chosen


def _exchanged(W: Array, chosen: list[int]) -> list[int]:
    """The choice after exchanges of single candidates that increase the determinant."""
    information = BEFORE_DATA * np.eye(W.shape[2])
    information += np.einsum("kij,kil->jl", W[chosen], W[chosen])
    chosen = list(chosen)
    for _ in range(MOST_EXCHANGES):
        changed = False
        for k, old in enumerate(chosen):
            without = information - W[old].T @ W[old]
            gains = _gains(W, without)
            best = int(gains.argmax())
            if gains[best] > gains[old] + 1e-9:
                chosen[k], changed = best, True
                information = without + W[best].T @ W[best]
        if not changed:
            break
    return chosen


def _gains(W: Array, information: Array) -> Array:
    """By how much (n_candidates,) each candidate would increase log det of the information."""
    values, vectors = np.linalg.eigh(information)
    # subtraction of a posture may leave tiny negative eigenvalues
    root = vectors / np.sqrt(np.maximum(values, 0.5 * BEFORE_DATA))
    half = W @ root
    small = np.eye(W.shape[1]) + half @ half.transpose(0, 2, 1)
    return np.asarray(np.linalg.slogdet(small)[1])


def _short_way(q: Array, limits: MotionLimits) -> list[int]:
    """An order of postures in which each is followed by the nearest one that is left, by time at
    the speed limits; the first is the one nearest to the middle of the ranges.
    """
    order = [int((np.abs(q - limits.middle) / limits.velocity).max(axis=1).argmin())]
    left = set(range(len(q))) - set(order)
    while left:
        away = (np.abs(q - q[order[-1]]) / limits.velocity).max(axis=1)
        order.append(min(left, key=lambda k: (away[k], k)))
        left.remove(order[-1])
    return order
