"""Four formulations of the fit of one body, solved by the same method, for comparison.

Traversaro et al. 2016 (section III-C) compare the rotation of the principal axes as an element of
SO(3), as a unit quaternion with one constraint, and as a rotation matrix with six; log-Cholesky
parameters (Rucker and Wensing 2022) need no constraint, but cannot reach a flat body. All are
solved by Gauss-Newton steps with Levenberg-Marquardt damping: equations linearised (KKT), bounds
m >= 0 and L >= 0 as active set. For results, use `steelyard.estimators.manifold.fit`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.robot.inertia import from_log_cholesky, log_cholesky, skew
from steelyard.robot.principal_body import PrincipalBody

Array = NDArray[np.float64]
FormulationName = Literal["so3", "quaternion", "matrix", "log-cholesky"]
_EYE = np.eye(3)
_PUT = np.zeros((10, 13))  # phi from m, h (3), Sigma (9)
_PUT[0, 0] = 1.0
_PUT[1:4, 1:4] = _EYE
for _row, _entries in enumerate(((4, 8), None, (0, 8), None, None, (0, 4))):
    for _entry in _entries or ():
        _PUT[4 + _row, 4 + _entry] = 1.0
for _row, (_i, _j) in ((5, (0, 1)), (7, (0, 2)), (8, (1, 2))):
    _PUT[_row, 4 + 3 * _i + _j] = _PUT[_row, 4 + 3 * _j + _i] = -0.5


@dataclass(frozen=True)
class Formulation:
    """One formulation: variables x (n,) = (m, c, rotation, L), or log-Cholesky parameters.

    start : x of a body. phi : parameters (10,) of x, and their derivative (10, n_steps) by a step.
    move : x after a step. equations : values (n_equations,) and derivative, zero on the manifold.
    bounded : indices of x (the same in a step) that must not be negative.
    """

    name: FormulationName
    start: Callable[[PrincipalBody], Array]
    phi: Callable[[Array], tuple[Array, Array]]
    move: Callable[[Array, Array], Array]
    equations: Callable[[Array], tuple[Array, Array]]
    bounded: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class FormulationFit:
    """What a formulation gave.

    phi : (10,) as it stands, physical only if ``off_manifold`` is zero. objective : |g - F phi|².
    off_manifold : largest violation of an equation, or of a bound. reached : whether its own
    first-order conditions hold. iterations : steps that were tried. seconds : wall-clock time.
    """

    phi: Array
    objective: float
    iterations: int
    off_manifold: float
    reached: bool
    seconds: float


def _common(m: float, c: Array, R: Array, L: Array) -> tuple[Array, Array, Array, Array]:
    """phi (10,), and its derivatives by m (10, 1), c (10, 3) and L (10, 3)."""
    whole = np.concatenate([[m], m * c, ((R * L) @ R.T + m * np.outer(c, c)).ravel()])
    by_m = np.concatenate([[1.0], c, np.outer(c, c).ravel()])[:, None]
    by_c, by_L = np.zeros((13, 3)), np.zeros((13, 3))
    by_c[1:4] = m * _EYE
    for i in range(3):
        both = m * np.outer(_EYE[i], c)
        by_c[4:, i] = (both + both.T).ravel()
        by_L[4:, i] = np.outer(R[:, i], R[:, i]).ravel()
    return _PUT @ whole, _PUT @ by_m, _PUT @ by_c, _PUT @ by_L


def _by_matrix(R: Array, L: Array) -> Array:
    """Derivative (10, 9) of phi by the entries of R, row by row."""
    out = np.zeros((10, 9))
    for a in range(3):
        for b in range(3):
            change = np.zeros((3, 3))
            change[a] = L[b] * R[:, b]
            out[:, 3 * a + b] = _PUT[:, 4:] @ (change + change.T).ravel()
    return out


def _phi_so3(x: Array) -> tuple[Array, Array]:
    m, c, R, L = x[0], x[1:4], x[4:13].reshape(3, 3), x[13:]
    phi, by_m, by_c, by_L = _common(m, c, R, L)
    turns = np.zeros((9, 3))
    for k, (i, j) in enumerate(((1, 2), (2, 0), (0, 1))):
        both = (L[i] - L[j]) * np.outer(R[:, i], R[:, j])
        turns[:, k] = (both + both.T).ravel()
    return phi, np.hstack([by_m, by_c, _PUT[:, 4:] @ turns, by_L])


def _move_so3(x: Array, step: Array) -> Array:
    """R exp(w) by Rodrigues' formula."""
    w = step[4:7]
    angle = float(np.linalg.norm(w))
    S = skew(w)
    a = np.sinc(angle / np.pi)
    b = 0.5 * np.sinc(angle / (2.0 * np.pi)) ** 2
    R = x[4:13].reshape(3, 3) @ (_EYE + a * S + b * S @ S)
    return np.concatenate([x[:4] + step[:4], R.ravel(), x[13:] + step[7:]])


def rotation_of(q: Array) -> tuple[Array, Array]:
    """R (3, 3) of a quaternion (w, x, y, z) by the usual polynomials, and dR/dq (9, 4)."""
    w, x, y, z = q
    R = np.array(
        [
            [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
    )
    by_q = 2.0 * np.array(
        [
            [w, x, -y, -z], [-z, y, x, -w], [y, z, w, x],
            [z, y, x, w], [w, -x, y, -z], [-x, -w, z, y],
            [-y, z, -w, x], [x, w, z, y], [w, -x, -y, z],
        ]
    )  # fmt: skip
    return R, by_q


def _phi_quaternion(x: Array) -> tuple[Array, Array]:
    m, c, L = x[0], x[1:4], x[8:]
    R, by_q = rotation_of(x[4:8])
    phi, by_m, by_c, by_L = _common(m, c, R, L)
    return phi, np.hstack([by_m, by_c, _by_matrix(R, L) @ by_q, by_L])


def _phi_matrix(x: Array) -> tuple[Array, Array]:
    m, c, R, L = x[0], x[1:4], x[4:13].reshape(3, 3), x[13:]
    phi, by_m, by_c, by_L = _common(m, c, R, L)
    return phi, np.hstack([by_m, by_c, _by_matrix(R, L), by_L])


def _unit_norm(x: Array) -> tuple[Array, Array]:
    row = np.zeros((1, 11))
    row[0, 4:8] = 2.0 * x[4:8]
    return np.array([x[4:8] @ x[4:8] - 1.0]), row


def _orthonormal(x: Array) -> tuple[Array, Array]:
    R = x[4:13].reshape(3, 3)
    values, rows = np.zeros(6), np.zeros((6, 16))
    for k, (i, j) in enumerate(((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))):
        values[k] = R[:, i] @ R[:, j] - (i == j)
        for a in range(3):
            rows[k, 4 + 3 * a + i] += R[a, j]
            rows[k, 4 + 3 * a + j] += R[a, i]
    return values, rows


def _phi_log_cholesky(x: Array) -> tuple[Array, Array]:
    h = 1e-6
    ends = np.concatenate([x + h * np.eye(10), x - h * np.eye(10)])
    values = from_log_cholesky(ends)
    return from_log_cholesky(x), (values[:10] - values[10:]).T / (2.0 * h)


def _no_equations(n: int, x: Array) -> tuple[Array, Array]:
    return np.zeros(0), np.zeros((0, n))


def _with_matrix(body: PrincipalBody) -> Array:
    return np.concatenate(
        [[body.mass], body.com, body.rotation.ravel(), body.second_moments]
    ).astype(float)


def _with_quaternion(body: PrincipalBody) -> Array:
    R = body.rotation
    signs = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    squares = np.maximum(1.0 + signs @ np.diag(R), 0.0)
    k = int(np.argmax(squares))
    K = np.array(
        [
            [squares[0], R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]],
            [R[2, 1] - R[1, 2], squares[1], R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]],
            [R[0, 2] - R[2, 0], R[0, 1] + R[1, 0], squares[2], R[1, 2] + R[2, 1]],
            [R[1, 0] - R[0, 1], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], squares[3]],
        ]
    )
    q = K[k] / np.linalg.norm(K[k])
    return np.concatenate([[body.mass], body.com, q, body.second_moments])


def _add(x: Array, step: Array) -> Array:
    return x + step


def _add_logarithms(x: Array, step: Array) -> Array:
    """x + step, shortened so that no exponential grows by more than e³ at once."""
    return np.asarray(x + step * min(1.0, 3.0 / max(float(np.max(np.abs(step))), 1e-300)))


FORMULATIONS: dict[FormulationName, Formulation] = {
    "so3": Formulation(
        "so3", _with_matrix, _phi_so3, _move_so3, partial(_no_equations, 10), (0, 7, 8, 9)
    ),
    "quaternion": Formulation(
        "quaternion", _with_quaternion, _phi_quaternion, _add, _unit_norm, (0, 8, 9, 10)
    ),
    "matrix": Formulation("matrix", _with_matrix, _phi_matrix, _add, _orthonormal, (0, 13, 14, 15)),
    "log-cholesky": Formulation(
        "log-cholesky",
        lambda body: log_cholesky(body.phi),
        _phi_log_cholesky,
        _add_logarithms,
        partial(_no_equations, 10),
        (),
    ),
}


def solve_formulation(
    name: FormulationName,
    F: Array,
    g: Array,
    start: PrincipalBody,
    *,
    max_iterations: int = 200,
    tolerance: float = 1e-9,
) -> FormulationFit:
    """Fit one body, |g - F phi|² with F (n_rows, 10), by one of `FORMULATIONS`.

    Ends where a step promises less than ``tolerance`` of the objective, with the equations met to
    1e-9; a merit function, objective plus a multiple of the violations, decides about steps.
    """
    one = FORMULATIONS[name]
    begun = perf_counter()
    x = one.start(start)
    shift = len(x) - 10 if name == "so3" else 0  # bounded entries of x stand after those of a step
    places = np.array([i if i == 0 else i + shift for i in one.bounded], dtype=np.int64)
    bounded = np.array(one.bounded, dtype=np.int64)
    phi, D = one.phi(x)
    values, rows = one.equations(x)
    residual = F @ phi - g
    objective = float(residual @ residual)
    damping, weight, reached = 1e-3, 1.0, False
    iterations = 0
    while iterations < max_iterations:
        A = F @ D
        gradient, H = 2.0 * A.T @ residual, 2.0 * A.T @ A
        n, scale = len(gradient), np.diag(H) + 1e-12 * np.trace(H)
        held = np.zeros(n, dtype=bool)
        held[bounded] = (x[places] <= 0.0) & (gradient[bounded] > 0.0)
        step, price = _kkt_step(H + damping * np.diag(scale), gradient, rows, values, held)
        over = bounded[x[places] + step[bounded] < 0.0]
        new = one.move(x, step)
        new[places] = np.maximum(new[places], 0.0)
        promised = -float(gradient @ step) - 0.5 * float(step @ H @ step)
        small = promised <= tolerance * objective and not len(over)
        if small and np.max(np.abs(values), initial=0.0) <= 1e-9:
            reached = damping <= 1e-2
            break
        weight = max(weight, 2.0 * float(np.max(np.abs(price), initial=0.0)))
        iterations += 1
        new_phi, new_D = one.phi(new)
        new_values, new_rows = one.equations(new)
        new_residual = F @ new_phi - g
        new_objective = float(new_residual @ new_residual)
        before = objective + weight * float(np.abs(values).sum())
        after = new_objective + weight * float(np.abs(new_values).sum())
        if after < before:
            x, phi, D, residual, objective = new, new_phi, new_D, new_residual, new_objective
            values, rows = new_values, new_rows
            damping = max(0.2 * damping, 1e-12)
        else:
            damping = max(5.0 * damping, 1e-9)
            if damping > 1e10:
                break
    off = float(np.max(np.abs(values), initial=0.0))
    seconds = perf_counter() - begun
    return FormulationFit(phi, objective, iterations, off, reached, seconds)


def _kkt_step(
    H: Array, gradient: Array, rows: Array, values: Array, held: NDArray[np.bool_]
) -> tuple[Array, Array]:
    """Minimise ½ sᵀHs + gradientᵀs with rows s = -values and s = 0 where held; multipliers too."""
    n, k = len(gradient), len(values)
    kept = ~held
    M = np.zeros((n + k, n + k))
    M[:n, :n] = H
    M[:n, n:], M[n:, :n] = rows.T, rows
    index = np.concatenate([np.flatnonzero(kept), np.arange(n, n + k)])
    right = np.concatenate([-gradient, -values])[index]
    out = np.zeros(n + k)
    out[index] = np.linalg.solve(M[np.ix_(index, index)], right)
    return out[:n], out[n:]
