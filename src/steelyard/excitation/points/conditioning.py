"""How well conditioned and how well balanced a least-squares matrix W (n_rows, n_columns) is.

Gautier and Khalil (1992), section 4: the condition number by singular values (16), its estimate
from a QR decomposition with column pivoting, the condition of WᵀW in the Frobenius norm (21), the
equilibrium S (19) and the weighted sum (18). Functions named ``*_gradient`` return the value and
its derivative by every entry of W.

The condition number jumps in its derivative where two singular values s meet. The smooth measure

    K_p = (sum s^p)^(1/p) (sum s^-p)^(1/p),     cond <= K_p <= cond n_columns^(2/p)

has no such jumps, comes as close as one likes, and is the root of (21) for p = 4.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import SignalError

Array = NDArray[np.float64]

SMALLEST_SHARE = 1e-14
"""Singular values below this share of the largest are rounding; gradients use this share instead,
so that a search can leave a singular matrix."""


def condition_number(W: ArrayLike) -> float:
    """Largest by smallest singular value (16); infinite where columns are dependent."""
    return _ratio(np.linalg.svd(_tall(W), compute_uv=False))


def condition_gradient(W: ArrayLike) -> tuple[float, Array]:
    """The condition number (16) and its derivative (n_rows, n_columns).

    Where the largest or the smallest singular value is a double one, there is no derivative, and
    that of one of the two is returned.
    """
    U, s, Vt = np.linalg.svd(_tall(W), full_matrices=False)
    floor = max(s[-1], SMALLEST_SHARE * s[0])
    value = s[0] / floor
    gradient = (np.outer(U[:, 0], Vt[0]) - value * np.outer(U[:, -1], Vt[-1])) / floor
    return float(value), gradient


def smooth_condition_gradient(W: ArrayLike, order: float) -> tuple[float, Array]:
    """K_p of the module's equation for p = order, and its derivative (n_rows, n_columns)."""
    U, s, Vt = np.linalg.svd(_tall(W), full_matrices=False)
    s = np.maximum(s, SMALLEST_SHARE * s[0])
    # relative to the ends of the spectrum, so that no power overflows
    large, small = (s / s[0]) ** order, (s[-1] / s) ** order
    value = s[0] / s[-1] * (large.sum() * small.sum()) ** (1.0 / order)
    of_s = value * (large / large.sum() - small / small.sum()) / s
    return float(value), np.asarray((U * of_s) @ Vt)


def frobenius_condition(W: ArrayLike) -> float:
    """Condition of WᵀW in the Frobenius norm (21); infinite where columns are dependent."""
    s = np.linalg.svd(_tall(W), compute_uv=False)
    if np.isinf(_ratio(s)):
        return float("inf")
    return float(np.linalg.norm(s**2) * np.linalg.norm(s**-2.0))


def frobenius_condition_gradient(W: ArrayLike) -> tuple[float, Array]:
    """Condition of WᵀW in the Frobenius norm (21) and its derivative (n_rows, n_columns)."""
    root, gradient = smooth_condition_gradient(W, 4.0)
    return root**2, 2.0 * root * gradient


def pivot_condition(W: ArrayLike) -> float:
    """Estimate of the condition number: first by last diagonal entry of R, where W = Q R Pᵀ with
    column pivoting. At most the condition number; infinite where columns are dependent.
    """
    from scipy.linalg import qr

    R, _ = qr(_tall(W), mode="r", pivoting=True)
    return _ratio(np.abs(np.diag(R)))


def pivot_condition_gradient(W: ArrayLike) -> tuple[float, Array]:
    """The estimate of `pivot_condition` and its derivative (n_rows, n_columns) while the order of
    the pivots stays as it is.
    """
    from scipy.linalg import qr

    W = _tall(W)
    _, R, order = qr(W, mode="economic", pivoting=True)
    first, last = order[0], order[-1]
    gradient = np.zeros_like(W)
    length = float(np.linalg.norm(W[:, first]))
    # what the other columns leave of the last one
    others = order[:-1]
    shares = np.linalg.lstsq(W[:, others], W[:, last], rcond=None)[0]
    rest = W[:, last] - W[:, others] @ shares
    left = max(abs(float(R[-1, -1])), SMALLEST_SHARE * length)
    direction = rest / left
    gradient[:, first] += W[:, first] / length / left
    gradient[:, last] -= length / left**2 * direction
    gradient[:, others] += length / left**2 * np.outer(direction, shares)
    return length / left, gradient


def equilibrium(W: ArrayLike) -> float:
    """S (19): largest by smallest absolute value of the entries; infinite if one is zero."""
    sizes = np.abs(_tall(W))
    smallest = float(sizes.min())
    return float(sizes.max()) / smallest if smallest > 0.0 else float("inf")


def smooth_equilibrium_gradient(W: ArrayLike, order: float) -> tuple[float, Array]:
    """(sum |w|^p)^(1/p) (sum |w|^-p)^(1/p) over the entries w, for p = order, and its derivative
    (n_rows, n_columns); S (19) for large p.
    """
    W = _tall(W)
    sizes = np.abs(W)
    top = sizes.max()
    sizes = np.maximum(sizes, SMALLEST_SHARE * top)
    bottom = sizes.min()
    large, small = (sizes / top) ** order, (bottom / sizes) ** order
    value = top / bottom * (large.sum() * small.sum()) ** (1.0 / order)
    of_sizes = value * (large / large.sum() - small / small.sum()) / sizes
    return float(value), np.asarray(of_sizes * np.where(W < 0.0, -1.0, 1.0))


def balanced_condition(W: ArrayLike, condition_weight: float, equilibrium_weight: float) -> float:
    """lambda1 cond(W) + lambda2 S(W), eq 18; a part of weight zero is left out."""
    value = 0.0
    if condition_weight:
        value += condition_weight * condition_number(W)
    if equilibrium_weight:
        value += equilibrium_weight * equilibrium(W)
    return value


def smooth_balanced_gradient(
    W: ArrayLike, condition_weight: float, equilibrium_weight: float, order: float
) -> tuple[float, Array]:
    """Eq 18 with the smooth measures of this order, and its derivative (n_rows, n_columns)."""
    condition, by_condition = smooth_condition_gradient(W, order)
    balance, by_balance = smooth_equilibrium_gradient(W, order)
    return (
        condition_weight * condition + equilibrium_weight * balance,
        condition_weight * by_condition + equilibrium_weight * by_balance,
    )


def _ratio(sizes: NDArray[np.floating[Any]]) -> float:
    """First by last of sizes in falling order; infinite where the last is rounding."""
    if not sizes[-1] > SMALLEST_SHARE * sizes[0]:
        return float("inf")
    return float(sizes[0] / sizes[-1])


def _tall(W: ArrayLike) -> Array:
    """W as an array that has at least as many rows as columns."""
    W = np.asarray(W, dtype=float)
    if W.ndim != 2 or not 0 < W.shape[1] <= W.shape[0]:
        raise SignalError(
            f"the matrix has shape {W.shape}; a condition number needs at least as many rows as "
            "columns"
        )
    if not np.isfinite(W).all():
        row, column = np.argwhere(~np.isfinite(W))[0]
        raise SignalError(f"the matrix is {W[row, column]} in row {row + 1}, column {column + 1}")
    return W
