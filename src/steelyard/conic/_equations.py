"""Adjust rounded parameters so that linear equations among them hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import BAND, Block

Array = NDArray[np.float64]
PASSES = 3


def meet_equations(theta: Array, blocks: Sequence[Block]) -> Array:
    """theta (n_columns,) changed as little as needed to satisfy the equations of ``blocks``.

    Fixed values and copies (theta_i = ±theta_j) hold to the last bit. Any other equation is
    represented by a band, and the parameter with the largest coefficient is changed to reach the
    middle of the band. Since one equation may disturb another, several passes are made.
    """
    out = theta.copy()
    fixed: set[int] = set()
    for columns, row, constant in _rows(blocks, bands=False):
        if len(columns) == 1:
            out[columns[0]] = -constant / row[0] + 0.0
            fixed.add(columns[0])
    copies = _copies(blocks, fixed)
    _copy(out, copies)
    for _ in range(PASSES):
        for columns, row, constant in _rows(blocks, bands=True):
            rest = float(row @ out[columns]) + constant
            if abs(rest) <= 0.5 * BAND:
                continue
            weights: dict[int, float] = {}
            for column, weight in zip(columns, row, strict=True):
                source, sign = copies.get(column, (column, 1.0))
                weights[source] = weights.get(source, 0.0) + sign * float(weight)
            free = [column for column in weights if column not in fixed]
            if free:
                pivot = max(free, key=lambda column: abs(weights[column]))
                out[pivot] -= rest / weights[pivot] if weights[pivot] else 0.0
                _copy(out, copies)
    return out


def _copies(blocks: Sequence[Block], fixed: set[int]) -> dict[int, tuple[int, float]]:
    """For each copied column its source column and sign; fixed columns are only sources."""
    copies: dict[int, tuple[int, float]] = {}
    for columns, row, _ in _rows(blocks, bands=False):
        if len(columns) != 2:
            continue
        sign = -float(np.sign(row[0] * row[1]))
        (one, one_sign), (other, other_sign) = (copies.get(c, (c, 1.0)) for c in columns)
        if other in fixed:
            one, other = other, one
        if one != other:
            follow = (one, sign * one_sign * other_sign)
            for column, (source, known) in list(copies.items()):
                if source == other:
                    copies[column] = (one, known * follow[1])
            copies[other] = follow
    return copies


def _copy(theta: Array, copies: dict[int, tuple[int, float]]) -> None:
    for column, (source, sign) in copies.items():
        theta[column] = sign * theta[source] + 0.0


def _rows(blocks: Sequence[Block], *, bands: bool) -> Iterator[tuple[list[int], Array, float]]:
    """Columns, coefficients and constant of each equation, zeros left out."""
    for block in blocks:
        if not (block.band if bands else block.kind == "zero"):
            continue
        n_rows = len(block.b) // 2 if bands else len(block.b)
        shift = BAND if bands else 0.0
        for row, constant in zip(block.A[:n_rows], block.b[:n_rows], strict=True):
            used = np.flatnonzero(row)
            if len(used):
                yield [block.columns[k] for k in used], row[used], float(constant) - shift
