"""How far parameters that are drawn to a prior are from the optimum, at most: rational numbers.

The objective of the default estimate, with residuals r = z - R K theta in units of their noise, is

    f(theta) = ½|r|² + sum_b w_b D(J_b || P_b) + ½ sum_i q_i theta_i²,
    D(J || P) = tr(P⁻¹ J) - log det(P⁻¹ J) - 4,

over pseudo-inertias J_b of bodies with priors P_b, and terms i. Each part has a tangent from below:

    ½|r|² >= u·r - ½|u|²,   -log det J >= log det M + 4 - tr(M J),   ½ q x² >= v x - ½ v²/q

for any u, v and any positive definite M. Given u and duals z_k of the conditions, let
e = sum_k A_kᵀ z_k + Kᵀ Rᵀ u; then v_i = e_i and M_b = P_b⁻¹ - N_b / w_b, with tr(N_b J_b) the part
of e on body b, make the sum of all tangents at least a constant for every theta that meets the
conditions. The distance of f(theta) from that constant is

    ½|r - u|² + sum_b w_b [tr(M_b J_b) - log det(M_b J_b) - 4]
    + sum_i (e_i - q_i theta_i)² / (2 q_i) + sum_k z_k · (A_k theta + b_k),

in which every part is zero at the optimum. No logarithm is needed: x - log x - 1 <= x + 1/x - 2,
so that the bracket is at most tr(M J) + tr((M J)⁻¹) - 8. Uses Python's standard library only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from steelyard.conic import exact

Vector = list[Fraction]
Spend = Callable[[int, int], None]
N_PARAMETERS = 10


@dataclass(frozen=True)
class DrawnBody:
    """A body with a prior: its first column, its weight w, and the prior's ten parameters."""

    first: int
    weight: Fraction
    prior: tuple[Fraction, ...]


def distance_bound(
    bodies: Sequence[DrawnBody], pulls: Vector, theta: Vector, e: Vector, spend: Spend
) -> Fraction | None:
    """The parts of bodies and terms of the distance; None if they prove nothing.

    pulls : q of every column. e : see the module's equation. spend : accounts for the arithmetic.
    """
    left = dict(enumerate(e))
    total = Fraction(0)
    for body in bodies:
        own = range(body.first, body.first + N_PARAMETERS)
        if body.weight <= 0 or any(c not in left for c in own):
            return None
        part = body_bound(body, [theta[c] for c in own], [left.pop(c) for c in own], spend)
        if part is None:
            return None
        total += part
    for column, value in left.items():
        if pulls[column] < 0 or (pulls[column] == 0 and value != 0):
            return None
        if value != pulls[column] * theta[column]:
            total += (value - pulls[column] * theta[column]) ** 2 / (2 * pulls[column])
    return total


def body_bound(body: DrawnBody, phi: Vector, e: Vector, spend: Spend) -> Fraction | None:
    """w [tr(M J) + tr((M J)⁻¹) - 8]; None unless J, the prior and M are positive definite."""
    J, P = pseudo_inertia(phi), pseudo_inertia(body.prior)
    longest = max(bits(x) for x in (*phi, *body.prior, *e, body.weight))
    spend(1000, 40 * longest)
    if not (exact.is_positive_definite(J) and exact.is_positive_definite(P)):
        return None
    N = dual_matrix(e)
    at_prior = inverse(P)
    M = [
        [x - y / body.weight for x, y in zip(*rows, strict=True)]
        for rows in zip(at_prior, N, strict=True)
    ]
    if not exact.is_positive_definite(M):
        return None
    there = _trace(M, J)
    back = _trace(inverse(M), inverse(J))
    return body.weight * (there + back - 8)


def pseudo_inertia(phi: Sequence[Fraction]) -> exact.Matrix:
    """J (4, 4) of m, mx, my, mz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz."""
    m, x, y, z, xx, xy, yy, xz, yz, zz = phi
    half = (xx + yy + zz) / 2
    return [
        [half - xx, -xy, -xz, x],
        [-xy, half - yy, -yz, y],
        [-xz, -yz, half - zz, z],
        [x, y, z, m],
    ]


def dual_matrix(e: Sequence[Fraction]) -> exact.Matrix:
    """N (4, 4) with tr(N J(phi)) = e·phi for all phi."""
    m, x, y, z, xx, xy, yy, xz, yz, zz = e
    return [
        [yy + zz, -xy / 2, -xz / 2, x / 2],
        [-xy / 2, xx + zz, -yz / 2, y / 2],
        [-xz / 2, -yz / 2, xx + yy, z / 2],
        [x / 2, y / 2, z / 2, m],
    ]


def inverse(M: exact.Matrix) -> exact.Matrix:
    """The inverse of a positive definite matrix."""
    n = len(M)
    unit = [[Fraction(int(i == j)) for j in range(n)] for i in range(n)]
    rows, _ = exact.reduce([[*row, *other] for row, other in zip(M, unit, strict=True)], n)
    return [row[n:] for row in rows]


def _trace(A: exact.Matrix, B: exact.Matrix) -> Fraction:
    """tr(A B) of symmetric matrices."""
    return sum(
        (x * y for one, other in zip(A, B, strict=True) for x, y in zip(one, other, strict=True)),
        Fraction(0),
    )


def bits(x: Fraction) -> int:
    """Bits of numerator and denominator of a rational number."""
    return x.numerator.bit_length() + x.denominator.bit_length()
