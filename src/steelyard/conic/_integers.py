"""Exact cone membership of floats in integer arithmetic, faster than `steelyard.conic.exact`.

A float is an integer over a power of two. Multiplied by a common denominator, which does not
change cone membership, the entries of a block are integers, and no fraction has to be reduced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import Block, triangle_index

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Integers:
    """A block's coefficients, as integers over powers of two.

    rows : for each entry, the positions among the block's columns that take part, and their
        coefficients times ``denominator``. constants : numerator and denominator of each b.
    """

    rows: tuple[tuple[tuple[int, int], ...], ...]
    denominator: int
    constants: tuple[tuple[int, int], ...]


def integers(block: Block) -> Integers:
    """The coefficients of a block; they must be finite."""
    i, j = np.nonzero(block.A)
    ratios = [float(value).as_integer_ratio() for value in block.A[i, j]]
    top = max((below for _, below in ratios), default=1)
    rows: list[list[tuple[int, int]]] = [[] for _ in block.b]
    for row, column, (above, below) in zip(i.tolist(), j.tolist(), ratios, strict=True):
        rows[row].append((column, above * (top // below)))
    constants = tuple(float(value).as_integer_ratio() for value in block.b)
    return Integers(tuple(map(tuple, rows)), top, constants)


def entries(form: Integers, x: Sequence[float]) -> list[int]:
    """A x + b, times a power of two that makes all of it integers."""
    ratios = [float(value).as_integer_ratio() for value in x]
    top = max((below for _, below in ratios), default=1)
    whole = [above * (top // below) for above, below in ratios]
    product = top * form.denominator
    common = max([product, *(below for _, below in form.constants)])
    rest = common // product
    return [
        rest * sum(coefficient * whole[k] for k, coefficient in row) + above * (common // below)
        for row, (above, below) in zip(form.rows, form.constants, strict=True)
    ]


def in_cone(kind: str, values: Sequence[int]) -> bool:
    """Whether integers lie in a cone (see `steelyard.conic.blocks`)."""
    if kind == "zero":
        return not any(values)
    if kind == "nonnegative":
        return all(value >= 0 for value in values)
    if kind == "second_order":
        return values[0] >= 0 and values[0] ** 2 >= sum(value**2 for value in values[1:])
    n = 0
    while n * (n + 1) // 2 < len(values):
        n += 1
    M = [[0] * n for _ in range(n)]
    for value, (i, j) in zip(values, triangle_index(n), strict=True):
        M[i][j] = value
    return _is_psd(M)


def _is_psd(M: list[list[int]]) -> bool:
    """Positive semidefinite? By fraction-free elimination (Bareiss): all divisions are exact.

    M : only the upper triangle is used, and overwritten. A zero pivot is allowed only where its
    whole row is zero: otherwise a 2×2 minor is negative.
    """
    n, before = len(M), 1
    for k in range(n):
        row = M[k]
        pivot = row[k]
        if pivot < 0:
            return False
        if pivot == 0:
            if any(row[k + 1 :]):
                return False
            continue
        for i in range(k + 1, n):
            other, factor = M[i], row[i]
            for j in range(i, n):
                other[j] = (other[j] * pivot - factor * row[j]) // before
        before = pivot
    return True
