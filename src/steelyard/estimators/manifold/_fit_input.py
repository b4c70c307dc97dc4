"""The input of a fit on the manifold: checked, and scaled so that F and g are of size one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import index

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import EstimationError

Array = NDArray[np.float64]
LARGEST = 1e151
"""Largest size of F, of g and of their ratio, and one over the smallest: squares are numbers."""


@dataclass(frozen=True, eq=False)
class FitInput:
    """A least-squares problem over bodies, in units in which F and g are of size one.

    F : (n_rows, n), g : (n_rows,), divided by powers of two, so that no digit changes.
    first : (n_bodies,) first column of each body. lower : (n,) bounds, start : (n,) or None, in
    the same units. size_g : that g was divided by. unit : parameters in units of the caller are
    theta * unit.
    """

    F: Array
    g: Array
    first: NDArray[np.int64]
    lower: Array
    start: Array | None
    size_g: float
    unit: float


def checked_input(
    F: ArrayLike,
    g: ArrayLike,
    first_of_body: Sequence[int],
    lower: ArrayLike | None,
    start: ArrayLike | None,
    max_iterations: int,
    budget_s: float | None,
) -> FitInput:
    """The input as arrays; refused where types, shapes or numbers are wrong."""
    matrix, values = _numbers(F, "F"), _numbers(g, "g")
    if matrix.ndim != 2 or values.shape != matrix.shape[:1]:
        raise EstimationError(
            f"F has shape {matrix.shape} and g {values.shape}; they must be (n_rows, n), (n_rows,)"
        )
    if not (np.isfinite(matrix).all() and np.isfinite(values).all()):
        raise EstimationError("F or g has entries that are not finite")
    n = matrix.shape[1]
    order = _columns(first_of_body)
    first = np.sort(order)
    if len(first) and (first[0] < 0 or first[-1] + 10 > n or np.any(np.diff(first) < 10)):
        raise EstimationError(
            f"bodies start at columns {order.tolist()} of {n}; each needs ten columns of its own"
        )
    bounds = np.full(n, -np.inf) if lower is None else _numbers(lower, "lower")
    if bounds.shape != (n,) or np.isnan(bounds).any() or np.any(bounds == np.inf):
        raise EstimationError(f"lower needs one number for each of {n} columns, or -inf")
    begin = None if start is None else _numbers(start, "start")
    if begin is not None and (begin.shape != (n,) or not np.isfinite(begin).all()):
        raise EstimationError(
            f"start needs one finite number for each of {n} columns; its shape is {begin.shape}"
        )
    _check_ends(max_iterations, budget_s)
    size_F, size_g = _size(matrix, "F"), _size(values, "g")
    unit = size_g / size_F
    if not 1.0 / LARGEST <= unit <= LARGEST:
        raise EstimationError(
            f"F is of size {size_F:.1e} and g of size {size_g:.1e}: parameters of size "
            f"{unit:.1e} are not supported; use other units"
        )
    with np.errstate(over="ignore"):  # numbers that become infinite are refused by their size
        bounds = bounds / unit
        begin = None if begin is None else begin / unit
    return FitInput(matrix / size_F, values / size_g, order, bounds, begin, size_g, unit)


def _numbers(given: ArrayLike, what: str) -> Array:
    """Real numbers as an array; complex ones would lose a part silently."""
    try:
        found = np.asarray(given)
        if found.dtype.kind in "biuf" or found.size == 0:
            return np.asarray(found, dtype=float)
    except (TypeError, ValueError, OverflowError):
        pass
    raise EstimationError(f"{what} must be an array of real numbers")


def _columns(first_of_body: Sequence[int]) -> NDArray[np.int64]:
    try:
        return np.array([index(column) for column in first_of_body], dtype=np.int64)
    except (TypeError, OverflowError):
        raise EstimationError(
            f"first_of_body is {first_of_body!r:.60}; it must be whole numbers, the first column "
            "of each body, such as (0,)"
        ) from None


def _check_ends(max_iterations: int, budget_s: float | None) -> None:
    """Refuse a number of iterations or a time that is no number, or negative."""
    try:
        good = index(max_iterations) >= 0
    except TypeError:
        good = False
    if not good:
        raise EstimationError(
            f"max_iterations is {max_iterations!r:.60}; it must be a whole number >= 0"
        )
    try:
        good = budget_s is None or float(budget_s) >= 0.0
    except (TypeError, ValueError, OverflowError):
        good = False
    if not good or isinstance(budget_s, str):
        raise EstimationError(f"budget_s is {budget_s!r:.60}; it must be a number >= 0, s, or None")


def _size(numbers: Array, what: str) -> float:
    """The power of two next to the largest entry; 1 where all are zero."""
    largest = float(np.max(np.abs(numbers), initial=0.0))
    if largest == 0.0:
        return 1.0
    if not 1.0 / LARGEST <= largest <= LARGEST:
        raise EstimationError(
            f"the largest entry of {what} is {largest:.3g}; it must be from {1.0 / LARGEST:g} to "
            f"{LARGEST:g}, or 0: use other units"
        )
    return float(2.0 ** np.floor(np.log2(largest)))
