"""How far errors of measurements can move a least-squares solution.

Y = W X is solved by X = W⁺ Y; with errors dY and dW the solution becomes X + dX. With as many rows
as columns, Gautier and Khalil (1992) give, in any p-norm,

    |dX| / |X|      <= cond(W) |dY| / |Y|     where dW = 0      (12)
    |dX| / |X + dX| <= cond(W) |dW| / |W|     where dY = 0      (13)

With more rows there is a residual e = Y - W X, and Lawson and Hanson (1974) give, in the 2-norm,
with k = cond(W), a = |dW| / |W|, b = |dY| / |Y|, g = |Y| / (|W| |X|) and h = |e| / (|W| |X|),

    |dX| / |X| <= k / (1 - k a) ((1 + k h) a + g b)     where k a < 1

Derivation: V = W + dW has full rank and |V⁺| <= |W⁺| / (1 - k a). Since V⁺ V = 1,

    dX = V⁺ (Y + dY - V X) = V⁺ e + V⁺ (dY - dW X)

and e is orthogonal to the columns of W. Two ranges of equal dimension have the same angle seen
from either side, so what V⁺ sees of e is at most |(1 - V V⁺) W W⁺| |e| = |(1 - V V⁺) dW W⁺| |e|
<= k a |e|. Without a residual g <= 1, and dW = 0 gives (12) back, also with more rows.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import SignalError

Array = NDArray[np.float64]
Norm = Literal[1, 2] | float
"""1, 2 or numpy.inf."""


def measurement_error_bound(W: ArrayLike, Y: ArrayLike, dY: ArrayLike, norm: Norm = 2) -> float:
    """Largest |dX| / |X| by (12), for errors dY (n_rows,) of Y (n_rows,).

    W (n_columns, n_columns), or more rows if Y = W X without a residual (then in the 2-norm).
    """
    W, Y, dY = (np.asarray(x, dtype=float) for x in (W, Y, dY))
    _check_norm(W, norm)
    return _condition(W, norm) * _size(dY, norm) / _size(Y, norm)


def matrix_error_bound(W: ArrayLike, dW: ArrayLike, norm: Norm = 2) -> float:
    """Largest |dX| / |X + dX| by (13), for errors dW of W, both (n_columns, n_columns)."""
    W, dW = np.asarray(W, dtype=float), np.asarray(dW, dtype=float)
    if W.ndim != 2 or W.shape[0] != W.shape[1]:
        raise SignalError(
            f"the matrix has shape {W.shape}; this bound needs as many rows as columns "
            "(least_squares_error_bound allows more rows)"
        )
    _check_norm(W, norm)
    return _condition(W, norm) * _size(dW, norm) / _size(W, norm)


def least_squares_error_bound(
    W: ArrayLike, Y: ArrayLike, dW: ArrayLike | None = None, dY: ArrayLike | None = None
) -> float:
    """Largest |dX| / |X| in the 2-norm, by the module's last inequality.

    W, dW (n_rows, n_columns), Y, dY (n_rows,); None for no error. Infinite where cond(W) |dW| /
    |W| is 1 or more: then W + dW may have dependent columns.
    """
    W, Y = np.asarray(W, dtype=float), np.asarray(Y, dtype=float)
    X, _, rank, s = np.linalg.lstsq(W, Y, rcond=None)
    if rank < W.shape[1]:
        return float("inf")
    k = float(s[0] / s[-1])
    a = 0.0 if dW is None else _size(np.asarray(dW, dtype=float), 2) / float(s[0])
    if k * a >= 1.0:
        return float("inf")
    scale = float(s[0]) * _size(X, 2)
    g_b = 0.0 if dY is None else _size(np.asarray(dY, dtype=float), 2) / scale
    h = _size(Y - W @ X, 2) / scale
    return k / (1.0 - k * a) * ((1.0 + k * h) * a + g_b)


def solution_sigma(W: ArrayLike, noise: float) -> Array:
    """Standard deviation (n_columns,) of each entry of X for independent errors of Y with this
    standard deviation: the roots of the diagonal of noise² (WᵀW)⁻¹, by singular values.
    """
    _, s, Vt = np.linalg.svd(np.asarray(W, dtype=float), full_matrices=False)
    return np.asarray(noise * np.sqrt(((Vt / s[:, None]) ** 2).sum(axis=0)))


def _condition(W: NDArray[np.floating[Any]], norm: Norm) -> float:
    return _size(W, norm) * _size(np.linalg.pinv(W), norm)


def _size(x: NDArray[np.floating[Any]], norm: Norm) -> float:
    return float(np.linalg.norm(x, norm))


def _check_norm(W: Array, norm: Norm) -> None:
    if norm not in (1, 2, np.inf):
        raise SignalError(f"the norm is {norm}; it must be 1, 2 or infinite")
    if norm != 2 and W.shape[0] != W.shape[1]:
        raise SignalError(
            f"the matrix has shape {W.shape}; with more rows than columns the bound holds in the "
            "2-norm only"
        )
