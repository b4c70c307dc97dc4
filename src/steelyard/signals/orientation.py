"""Orientations of a frame as files state them, and as rotation matrices and unit quaternions.

A quaternion is stored x, y, z, w, as in ROS and Pinocchio; ``w-first`` says that the first of the
four numbers is w, as in MuJoCo and Eigen's constructor. Nothing in one quaternion tells the two
orders apart: it is stated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import SignalError

Array = NDArray[np.float64]
QuaternionOrder = Literal["x-first", "w-first"]
ORDERS: tuple[QuaternionOrder, ...] = ("x-first", "w-first")

UNIT = 1e-2
"""Norms of quaternions, and rows and columns of rotation matrices, may be off by this share."""


def unit_quaternions(
    values: ArrayLike, order: QuaternionOrder = "x-first", what: str = "the quaternion"
) -> Array:
    """Unit quaternions (n_samples, 4) x, y, z, w, without jumps of sign; NaN where not measured.

    values : (n_samples, 4) in the stated order, normalised here. A row whose norm differs from one
    by more than 1 % is refused.
    """
    check_order(order)
    q = _table(values, 4, what)
    with np.errstate(over="ignore"):  # huge numbers are refused below
        norm = np.linalg.norm(q, axis=1)
    _refuse(np.abs(norm - 1.0) > UNIT, norm, what, "norm", "a unit quaternion has 1")
    q = q / norm[:, None]
    return without_flips(np.roll(q, -1, axis=1) if order == "w-first" else q)


def quaternions_of_matrices(values: ArrayLike, what: str = "the rotation") -> Array:
    """Unit quaternions (n_samples, 4) of matrices (n_samples, 3, 3), or rows r11, r12, ... r33.

    The nearest rotation is taken; a matrix of which an entry of RᵀR differs from the identity by
    more than 2 %, or whose determinant is negative, is refused.
    """
    array = np.asarray(values, dtype=float)
    R = _table(array.reshape(len(array), -1) if array.ndim == 3 else array, 9, what)
    R = R.reshape(-1, 3, 3)
    with np.errstate(over="ignore", invalid="ignore"):  # huge numbers, and missing rows
        error = np.abs(np.swapaxes(R, 1, 2) @ R - np.eye(3)).max(axis=(1, 2))
        flipped = np.linalg.det(R)
    _refuse(error > 2.0 * UNIT, error, what, "a deviation of RᵀR from the identity", "0 is needed")
    _refuse(flipped < 0.0, flipped, what, "determinant", "a rotation has +1; is an axis mirrored?")
    return without_flips(_nearest_quaternions(R))


def quaternions_of_rpy(angles: ArrayLike, what: str = "roll, pitch and yaw") -> Array:
    """Unit quaternions (n_samples, 4) of fixed-axis angles: Rz(yaw) Ry(pitch) Rx(roll), rad."""
    half = 0.5 * _table(angles, 3, what)
    zero = np.zeros(len(half))
    parts = [
        np.column_stack(
            [np.sin(half[:, k]) if k == axis else zero for axis in range(3)] + [np.cos(half[:, k])]
        )
        for k in range(3)
    ]
    return without_flips(product(product(parts[2], parts[1]), parts[0]))


def quaternions_of_vectors(vectors: ArrayLike, what: str = "the rotation vector") -> Array:
    """Unit quaternions (n_samples, 4) of rotation vectors (n_samples, 3): axis times angle, rad."""
    vector = _table(vectors, 3, what)
    angle = np.linalg.norm(vector, axis=1)
    # sin(angle / 2) / angle, also at zero
    share = 0.5 * np.sinc(angle / (2.0 * np.pi))
    return without_flips(np.column_stack([share[:, None] * vector, np.cos(0.5 * angle)]))


READINGS: dict[str, Callable[[ArrayLike, str], Array]] = {
    "rotation": quaternions_of_matrices,
    "rpy": quaternions_of_rpy,
    "rotation_vector": quaternions_of_vectors,
}
"""How each quantity of a log that states an orientation, besides the quaternion, is read."""


def rotations_of(quaternions: Array) -> Array:
    """Rotation matrices (n_samples, 3, 3) of quaternions (n_samples, 4) x, y, z, w, normalised."""
    norm = np.linalg.norm(quaternions, axis=1)
    x, y, z, w = (quaternions / norm[:, None]).T
    R = np.empty((len(quaternions), 3, 3))
    R[:, 0, 0], R[:, 1, 1] = 1.0 - 2.0 * (y * y + z * z), 1.0 - 2.0 * (x * x + z * z)
    R[:, 2, 2] = 1.0 - 2.0 * (x * x + y * y)
    R[:, 0, 1], R[:, 1, 0] = 2.0 * (x * y - w * z), 2.0 * (x * y + w * z)
    R[:, 0, 2], R[:, 2, 0] = 2.0 * (x * z + w * y), 2.0 * (x * z - w * y)
    R[:, 1, 2], R[:, 2, 1] = 2.0 * (y * z - w * x), 2.0 * (y * z + w * x)
    return R


def product(p: Array, q: Array) -> Array:
    """Products (n_samples, 4) of quaternions x, y, z, w: first q, then p."""
    vector = p[:, 3:] * q[:, :3] + q[:, 3:] * p[:, :3] + np.cross(p[:, :3], q[:, :3])
    scalar = p[:, 3] * q[:, 3] - np.einsum("ni,ni->n", p[:, :3], q[:, :3])
    return np.asarray(np.column_stack([vector, scalar]))


def conjugate(q: Array) -> Array:
    """Quaternions (n_samples, 4) of the inverse rotations."""
    return np.asarray(q * np.array([-1.0, -1.0, -1.0, 1.0]))


def without_flips(q: Array) -> Array:
    """The quaternions (n_samples, 4) with signs such that each is nearest to the one before.

    q and -q are the same rotation. Missing rows (NaN) are passed over.
    """
    out = q.copy()
    known = np.flatnonzero(np.isfinite(q).all(axis=1))
    if len(known) > 1:
        dots = np.einsum("ni,ni->n", q[known[1:]], q[known[:-1]])
        signs = np.cumprod(np.where(dots < 0.0, -1.0, 1.0))
        out[known[1:]] *= signs[:, None]
    return out


def slerp(time: Array, q: Array, at: Array) -> Array:
    """Quaternions (n_out, 4) at the times ``at`` (n_out,) s, turned at constant rate in between.

    time : (n_in,) s, increasing. q : (n_in, 4) unit quaternions without missing rows. ``at`` must
    lie between the first and the last stamp.
    """
    after = np.clip(np.searchsorted(time, at, side="right"), 1, len(time) - 1)
    first, second = q[after - 1], q[after]
    dots = np.einsum("ni,ni->n", first, second)
    second = np.where(dots[:, None] < 0.0, -second, second)
    share = (at - time[after - 1]) / (time[after] - time[after - 1])
    # of small angles, the arc sine of the distance keeps more digits than the arc cosine
    half = 2.0 * np.arcsin(np.clip(0.5 * np.linalg.norm(second - first, axis=1), 0.0, 1.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        left = np.where(half > 1e-9, np.sin((1.0 - share) * half) / np.sin(half), 1.0 - share)
        right = np.where(half > 1e-9, np.sin(share * half) / np.sin(half), share)
    out = left[:, None] * first + right[:, None] * second
    return np.asarray(out / np.linalg.norm(out, axis=1)[:, None])


def check_order(order: object) -> None:
    """Refuse what is not an order of the four numbers of a quaternion."""
    if order not in ORDERS:
        raise SignalError(
            f"the order of quaternions is {order!r}; it must be 'x-first' (x, y, z, w, as in ROS) "
            "or 'w-first' (w, x, y, z)"
        )


def _table(values: ArrayLike, width: int, what: str) -> Array:
    """Values (n_samples, width) as a copy, whole rows NaN where one of them is missing."""
    array = np.array(values, dtype=float)
    if array.ndim != 2 or array.shape[1] != width:
        raise SignalError(f"{what} has shape {array.shape}; (n_samples, {width}) is needed")
    array[~np.isfinite(array).all(axis=1)] = np.nan
    return array


def _refuse(bad: NDArray[np.bool_], size: Array, what: str, name: str, need: str) -> None:
    rows = np.flatnonzero(bad)
    if len(rows):
        raise SignalError(
            f"{what}: row {rows[0] + 1} has {name} {size[rows[0]]:.4g} ({len(rows)} such rows of "
            f"{len(size)}); {need}: are these the right columns?"
        )


def _nearest_quaternions(R: Array) -> Array:
    """Quaternions (n_samples, 4) of the rotations nearest to R (Bar-Itzhack 2000)."""
    known = np.isfinite(R).all(axis=(1, 2))
    out = np.full((len(R), 4), np.nan)
    if not known.any():
        return out
    r = R[known]
    K = np.empty((len(r), 4, 4))
    K[:, 0, 0] = r[:, 0, 0] - r[:, 1, 1] - r[:, 2, 2]
    K[:, 1, 1] = r[:, 1, 1] - r[:, 0, 0] - r[:, 2, 2]
    K[:, 2, 2] = r[:, 2, 2] - r[:, 0, 0] - r[:, 1, 1]
    K[:, 3, 3] = r[:, 0, 0] + r[:, 1, 1] + r[:, 2, 2]
    K[:, 0, 1] = K[:, 1, 0] = r[:, 0, 1] + r[:, 1, 0]
    K[:, 0, 2] = K[:, 2, 0] = r[:, 0, 2] + r[:, 2, 0]
    K[:, 1, 2] = K[:, 2, 1] = r[:, 1, 2] + r[:, 2, 1]
    K[:, 0, 3] = K[:, 3, 0] = r[:, 2, 1] - r[:, 1, 2]
    K[:, 1, 3] = K[:, 3, 1] = r[:, 0, 2] - r[:, 2, 0]
    K[:, 2, 3] = K[:, 3, 2] = r[:, 1, 0] - r[:, 0, 1]
    out[known] = np.linalg.eigh(K)[1][:, :, 3]
    return out
