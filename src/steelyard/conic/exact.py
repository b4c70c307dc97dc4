"""Cone membership in exact rational arithmetic: no tolerance, no rounding.

A float is a rational number; so is a decimal text. Everything here uses `Fraction`: slow, but
proofs depend on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Matrix = list[list[Fraction]]
Vector = list[Fraction]


def is_psd(M: Sequence[Sequence[Fraction]]) -> bool:
    """Whether a symmetric matrix is positive semidefinite, by LDLᵀ without square roots.

    A zero pivot is allowed only where its whole row is zero: otherwise a 2×2 minor is negative.
    """
    work = [list(row) for row in M]
    n = len(work)
    for k in range(n):
        pivot = work[k][k]
        if pivot < 0:
            return False
        if pivot == 0:
            if any(work[k][j] != 0 for j in range(k + 1, n)):
                return False
            continue
        for i in range(k + 1, n):
            if work[i][k] == 0:
                continue
            factor = work[i][k] / pivot
            for j in range(i, n):
                work[i][j] -= factor * work[k][j]
                work[j][i] = work[i][j]
    return True


def is_positive_definite(M: Sequence[Sequence[Fraction]]) -> bool:
    """Whether a symmetric matrix is positive definite: every pivot of LDLᵀ is positive."""
    work = [list(row) for row in M]
    n = len(work)
    for k in range(n):
        pivot = work[k][k]
        if pivot <= 0:
            return False
        for i in range(k + 1, n):
            factor = work[i][k] / pivot
            for j in range(i, n):
                work[i][j] -= factor * work[k][j]
                work[j][i] = work[i][j]
    return True


def in_second_order_cone(entries: Sequence[Fraction]) -> bool:
    """Whether the first entry is at least the norm of the rest."""
    head, *rest = entries
    return head >= 0 and head * head >= sum((x * x for x in rest), Fraction(0))


def in_cone(kind: str, entries: Sequence[Fraction]) -> bool:
    """Whether a block's entries lie in its cone (see `steelyard.conic.blocks`)."""
    if kind == "zero":
        return all(x == 0 for x in entries)
    if kind == "nonnegative":
        return all(x >= 0 for x in entries)
    if kind == "second_order":
        return in_second_order_cone(entries)
    return is_psd(symmetric(entries))


def symmetric(entries: Sequence[Fraction]) -> Matrix:
    """The symmetric matrix with these upper-triangle entries, column by column."""
    n = 0
    while n * (n + 1) // 2 < len(entries):
        n += 1
    M = [[Fraction(0)] * n for _ in range(n)]
    at = 0
    for j in range(n):
        for i in range(j + 1):
            M[i][j] = M[j][i] = entries[at]
            at += 1
    return M


def affine(A: Sequence[Sequence[float]], b: Sequence[float], x: Sequence[Fraction]) -> Vector:
    """A x + b, exactly."""
    out = []
    for row, constant in zip(A, b, strict=True):
        total = Fraction(constant)
        for coefficient, value in zip(row, x, strict=True):
            if coefficient != 0 and value != 0:
                total += Fraction(coefficient) * value
        out.append(total)
    return out


def reduce(rows: Sequence[Sequence[Fraction]], n: int) -> tuple[list[Vector], list[int]]:
    """Reduced row echelon form of ``rows`` in their first ``n`` entries, and its pivots."""
    work = [list(row) for row in rows]
    pivots: list[int] = []
    at = 0
    for column in range(n):
        pivot = next((i for i in range(at, len(work)) if work[i][column] != 0), None)
        if pivot is None:
            continue
        work[at], work[pivot] = work[pivot], work[at]
        head = work[at][column]
        work[at] = [x / head for x in work[at]]
        for i in range(len(work)):
            if i != at and work[i][column] != 0:
                factor = work[i][column]
                work[i] = [x - factor * y for x, y in zip(work[i], work[at], strict=True)]
        pivots.append(column)
        at += 1
    return work, pivots


def null_space(rows: Sequence[Sequence[Fraction]], n: int) -> list[Vector]:
    """A basis of the null space of ``rows``: vectors (n,), with n entries in each row."""
    work, pivots = reduce(rows, n)
    basis = []
    for free in (c for c in range(n) if c not in pivots):
        vector = [Fraction(0)] * n
        vector[free] = Fraction(1)
        for row, pivot in zip(work, pivots, strict=False):
            vector[pivot] = -row[free]
        basis.append(vector)
    return basis


def solve_consistent(A: Sequence[Sequence[Fraction]], b: Sequence[Fraction]) -> Vector | None:
    """A solution of A x = b with free entries zero; None if there is none."""
    n = len(A[0])
    work, pivots = reduce([[*row, value] for row, value in zip(A, b, strict=True)], n)
    if any(row[n] != 0 for row in work[len(pivots) :]):
        return None
    out = [Fraction(0)] * n
    for row, pivot in zip(work, pivots, strict=False):
        out[pivot] = row[n]
    return out
