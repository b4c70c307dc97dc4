"""Conditions on a robot's parameters that a fit on the manifold can honour.

Each body phi must be a known part plus a physical body: J(phi) - J(part) >= 0. The known part is
zero, or what links with known inertials contribute, or a margin; the physical body is what moves
on the manifold. Bodies may be massless, and columns of no body may be fixed or have a lower bound.
The default bound on second moments is far from any real body: it enters the fit only where it
fails without. All other conditions are refused by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import Block, matrix_of
from steelyard.errors import EstimationError
from steelyard.knowledge.physical_blocks import full_consistency
from steelyard.knowledge.statements import DefaultBound, Limit
from steelyard.model.model import Model
from steelyard.robot.inertia import from_pseudo_inertia, margin

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ManifoldConditions:
    """theta = offset + x, with the bodies of x physical, and x >= lower in the other columns.

    offset : (n,) known parts of bodies, and fixed values. kept : (n_kept,) columns that the fit
    moves; the others are at their offset. first : where each body that moves starts among them.
    lower : (n_kept,) lower bounds of x, -inf for none and in the columns of bodies.
    limits : the default bounds, one inequality each.
    """

    offset: Array
    kept: NDArray[np.int64]
    first: tuple[int, ...]
    lower: Array
    limits: tuple[Block, ...]


def manifold_conditions(model: Model, given: Sequence[Block]) -> ManifoldConditions:
    """The conditions of a fit on the manifold; refuses those that it cannot honour."""
    n = len(model.columns)
    starts = {first: body.name for first, body in _bodies(model)}
    of_body = np.zeros(n, dtype=bool)
    for first in starts:
        of_body[first : first + 10] = True
    offset, lower = np.zeros(n), np.full(n, -np.inf)
    fixed = np.zeros(n, dtype=bool)
    parts: dict[int, list[Array]] = {first: [] for first in starts}
    for block in given:
        part = _known_part(block, starts)
        if part is not None:
            parts[block.columns[0]].append(part)
        elif block.kind == "zero" and _one_each(block):
            for row, end in zip(block.A, block.b, strict=True):
                at = int(np.flatnonzero(row)[0])
                fixed[block.columns[at]] = True
                offset[block.columns[at]] = -end / row[at]
        elif block.kind == "nonnegative" and _lower_bound(block, of_body):
            column = block.columns[0]
            lower[column] = max(lower[column], -block.b[0] / block.A[0, 0])
        elif not _default_bound(block):
            raise _refusal(block.words)
    moving = []
    for first, name in starts.items():
        own = slice(first, first + 10)
        if fixed[own].any():
            if not (fixed[own].all() and not offset[own].any()):
                raise _refusal(f"parameters of the body '{name}' have fixed values")
            continue
        if not parts[first]:
            raise _refusal(f"the body '{name}' need not be physical")
        offset[own] = _strictest(parts[first], name)
        moving.append(first)
    kept = np.flatnonzero(~fixed)
    place = {int(column): k for k, column in enumerate(kept)}
    bounds = np.where(of_body, -np.inf, lower)[kept]
    limits = tuple(block for block in given if _default_bound(block))
    starts_kept = tuple(place[first] for first in moving)
    return ManifoldConditions(offset, kept, starts_kept, bounds, limits)


def _bodies(model: Model):  # type: ignore[no-untyped-def]
    return zip(model.first_column_of_body, model.mechanism.bodies, strict=True)


def _known_part(block: Block, starts: dict[int, str]) -> Array | None:
    """The part (10,) with J(phi) - J(part) >= 0, if the block says that; else None."""
    if block.kind != "psd" or block.size != 4 or block.columns[0] not in starts:
        return None
    plain = full_consistency(None, block.columns[0])
    if block.columns != plain.columns or not np.array_equal(block.A, plain.A):
        return None
    return from_pseudo_inertia(-matrix_of(block.b))


def _strictest(parts: list[Array], name: str) -> Array:
    """The part that contains all others."""
    for part in parts:
        if all(margin(part - other) >= -1e-12 * abs(part[0]) for other in parts):
            return part
    raise _refusal(f"the body '{name}' has several known parts, none of which contains the others")


def _one_each(block: Block) -> bool:
    return bool(np.all(np.count_nonzero(block.A, axis=1) == 1))


def _lower_bound(block: Block, of_body: NDArray[np.bool_]) -> bool:
    one = len(block.columns) == 1 and len(block.b) == 1
    return one and not of_body[block.columns[0]] and float(block.A[0, 0]) > 0.0


def _default_bound(block: Block) -> bool:
    statement = block.statement
    return isinstance(statement, Limit) and isinstance(statement.quantity, DefaultBound)


def _refusal(words: str) -> EstimationError:
    return EstimationError(
        f"the method 'manifold' cannot honour the condition that {words}; use 'feasible' or "
        "'entropic', or leave the condition out"
    )
