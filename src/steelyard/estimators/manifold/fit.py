"""Least squares on the manifold of physical bodies: every iterate is physical.

    minimise |g - F theta|²    with every body theta_b = phi(m, c, Q, L), m >= 0, L >= 0

(Traversaro et al. 2016, equation 24), for any number of bodies and further columns with lower
bounds. Each iteration is a damped Newton step in the coordinates of
`steelyard.robot.principal_body`, with the bounds as active set, and is taken only if it reduces
the objective.

The objective is convex in theta. A point with gradient G is optimal if every body's dual matrix Z,
<Z, J(phi)> = G · phi, is positive semidefinite and <Z, J> = 0. The fit stops by these conditions,
so it knows whether it reached the optimum of the semidefinite program (SDP). Where a point meets
the first-order conditions in (m, c, Q, L) but Z has a negative eigenvalue (a massless body, for
instance), a point mass is added along its eigenvector: J + t w wᵀ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import EstimationError
from steelyard.estimators.manifold._fit_input import checked_input
from steelyard.robot.inertia import from_pseudo_inertia, pseudo_inertia
from steelyard.robot.principal_body import PrincipalBody, principal_body

Array = NDArray[np.float64]
Stopped = Literal["optimum", "iterations", "budget", "stalled"]
GAP = 1e-9
"""Relative gap to the optimum at which a fit stops."""
ROUNDING_GAP = 1e-15
"""Gap, as a share of |g|², that is rounding."""
PART_ROWS = 4096
"""Rows of F that are factored between two looks at the clock."""
SHORTEST, LONGEST = 0.03, 3.0
"""Limits (m) of the unit of length."""
START_FLOOR = 1e-3
"""Smallest eigenvalue of a start body's pseudo-inertia, as a share of its largest one."""
FARTHEST, LEAST_MASS = 1e60, 1e-60
"""Largest numbers and smallest mass of a start, in scaled units, whose squares are numbers."""


@dataclass(frozen=True, eq=False)
class ManifoldFit:
    """Physical parameters, and how they were found.

    theta : (n,) parameters. bodies : in the order of ``first_of_body``.
    objective : |g - F theta|². objectives : of the start and of every iterate, never increasing.
    converged : whether theta is the optimum, to an estimated relative gap of `GAP`. gap : by how
        much the objective is estimated to be above its optimum. stopped : why it ended.
    seconds : wall-clock time.
    """

    theta: Array
    bodies: tuple[PrincipalBody, ...]
    objective: float
    objectives: tuple[float, ...]
    iterations: int
    converged: bool
    stopped: Stopped
    seconds: float
    gap: float = float("nan")


def fit_on_manifold(
    F: ArrayLike,
    g: ArrayLike,
    first_of_body: Sequence[int],
    *,
    lower: ArrayLike | None = None,
    start: ArrayLike | None = None,
    max_iterations: int = 200,
    budget_s: float | None = None,
    on_iterate: Callable[[Array], None] | None = None,
) -> ManifoldFit:
    """Minimise |g - F theta|² over physical bodies.

    F : (n_rows, n), g : (n_rows,). first_of_body : column of each body's first of ten parameters,
        in the order of :data:`steelyard.robot.inertia.PARAMETERS`.
    lower : (n,) lower bounds of the columns of no body, -inf for none; those of bodies are unused.
    start : (n,) parameters to start from, bodies physical; by default the unconstrained fit,
        with every body moved inside the physical set.
    budget_s : wall-clock time (s) from the call on, after which the current iterate is returned.
        It covers the factorisation of F: if it ends there, the start from the rows so far is
        returned. Compilation at the first fit of a process is not interrupted, see
        :func:`compile_manifold_fit`.
    on_iterate : called with the parameters (n,) of the start and of every iterate.
    """
    from steelyard.estimators.manifold._iteration import Iterations, State

    begun = perf_counter()
    given = checked_input(F, g, first_of_body, lower, start, max_iterations, budget_s)
    matrix, values, first, bounds = given.F, given.g, given.first, given.lower
    n = matrix.shape[1]
    total, constant, whole = float(values @ values), 0.0, True
    if len(values) > n + 1:
        deadline = np.inf if budget_s is None else begun + budget_s
        R, whole = factor_until(matrix, values, deadline)
        matrix, values = R[:n, :n], R[:n, n]
        constant = float(R[n, n] ** 2)
    scale = column_scale(matrix, values, first)
    scaled_F, scaled_g = np.ascontiguousarray(matrix * scale), np.ascontiguousarray(values)
    free = np.ones(n, dtype=bool)
    for begin in first:
        free[begin : begin + 10] = False
    with np.errstate(over="ignore"):  # what becomes infinite is refused
        scaled_lower = np.where(free, bounds / scale, -np.inf)
        guess = None if given.start is None else given.start / scale
    units = scale * given.unit
    # a bound far below is none
    _refuse_far("lower", np.maximum(scaled_lower, 0.0), units)
    if guess is None:
        guess = default_start(scaled_F, scaled_g, first, scaled_lower)
    else:
        _refuse_far("start", guess, units)
        _refuse_tiny(guess, first, units)
    bodies = [
        principal_body(guess[begin : begin + 10], f"body {k + 1} of the start")
        for k, begin in enumerate(first)
    ]
    theta = np.maximum(guess, scaled_lower)
    for body, begin in zip(bodies, first, strict=True):
        theta[begin : begin + 10] = body.phi
    state = State(
        mass=np.array([body.mass for body in bodies], dtype=float),
        com=np.array([body.com for body in bodies], dtype=float).reshape(-1, 3),
        Q=np.array([body.rotation for body in bodies], dtype=float).reshape(-1, 3, 3),
        L=np.array([body.second_moments for body in bodies], dtype=float).reshape(-1, 3),
        theta=theta,
        residual=np.empty(len(scaled_g)),
        value=float("inf"),
    )
    rounding = ROUNDING_GAP * total + GAP * constant
    work = Iterations(scaled_F, scaled_g, first, free, scaled_lower, state, GAP, rounding)
    squared = given.size_g**2
    objectives = [(state.value + constant) * squared]
    if not whole:  # of all rows, also of those that are not in the factor
        residual = given.g - given.F @ (theta * scale)
        objectives = [float(residual @ residual) * squared]
    stopped: Stopped = "iterations"
    iterations = 0
    if on_iterate is not None:
        on_iterate(theta * units)
    while True:
        if not whole or (budget_s is not None and perf_counter() - begun >= budget_s):
            stopped = "budget"
            break
        if iterations >= max_iterations:
            break
        outcome = work.improve()
        if outcome != "progress":
            stopped = outcome
            break
        iterations += 1
        objectives.append((state.value + constant) * squared)
        if on_iterate is not None:
            on_iterate(theta * units)
    out = theta * units
    found = tuple(
        PrincipalBody(
            float(state.mass[k] * units[begin]),
            state.com[k] * (scale[begin + 1] / scale[begin]),
            state.Q[k].copy(),
            state.L[k] * units[begin + 4],
        )
        for k, begin in enumerate(first)
    )
    return ManifoldFit(
        theta=out,
        bodies=found,
        objective=objectives[-1],
        objectives=tuple(objectives),
        iterations=iterations,
        converged=stopped == "optimum",
        stopped=stopped,
        seconds=perf_counter() - begun,
        gap=work.gap * squared,
    )


def factor_until(F: Array, g: Array, deadline: float) -> tuple[Array, bool]:
    """Triangular factor R (n + 1, n + 1) of [F, g], and whether it has all rows.

    The rows are taken in parts; those that are left at the deadline (of the clock `perf_counter`)
    are not. The first part always is.
    """
    n_rows, n = F.shape
    step = n_rows if deadline == np.inf else max(PART_ROWS, 4 * n)
    R = np.zeros((0, n + 1))
    for begin in range(0, n_rows, step):
        if begin and perf_counter() >= deadline:
            return _square(R), False
        rows = np.column_stack([F[begin : begin + step], g[begin : begin + step]])
        R = np.asarray(np.linalg.qr(np.concatenate([R, rows]), mode="r"))
    return _square(R), True


def _square(R: Array) -> Array:
    """A factor of fewer rows than columns, with rows of zeros."""
    return np.concatenate([R, np.zeros((R.shape[1] - len(R), R.shape[1]))])


def compile_manifold_fit() -> None:
    """Have the loops of :func:`fit_on_manifold` compiled, so that no later fit waits for them."""
    F, g = np.eye(11), np.array([1.0, 0, 0, 0, 0.1, 0, 0.1, 0, 0, 0.5, -1.0])
    lower = np.where(np.arange(11) < 10, -np.inf, 0.0)
    for start in (None, np.zeros(11)):
        fit_on_manifold(F, g, (0,), lower=lower, start=start)


def _refuse_far(what: str, scaled: Array, units: Array) -> None:
    """Refuse numbers (n,), in scaled units, whose squares overflow."""
    far = int(np.argmax(np.abs(scaled))) if len(scaled) else 0
    if len(scaled) and not abs(scaled[far]) <= FARTHEST:
        raise EstimationError(
            f"{what} of column {far} is more than {FARTHEST:g} times {units[far]:.3g}, the size "
            "that F and g suggest; check its unit"
        )


def _refuse_tiny(guess: Array, first: NDArray[np.int64], units: Array) -> None:
    """Refuse a start (n,), in scaled units, with a mass whose square underflows."""
    for k, begin in enumerate(first):
        if 0.0 < guess[begin] < LEAST_MASS:
            raise EstimationError(
                f"body {k + 1} of the start has a mass of {guess[begin] * units[begin]:.3g} kg, "
                f"less than {LEAST_MASS:g} of the size that F and g suggest; state 0 for a body "
                "without mass"
            )


def column_scale(F: Array, g: Array, first: NDArray[np.int64]) -> Array:
    """Units (n,) in which the parameters are near one.

    A body's are m0, m0 l, m0 l² with a mass m0 and a length l that the sizes of its columns
    suggest, so that a body in these units is a body again.
    """
    norms = np.linalg.norm(F, axis=0)
    size = float(np.linalg.norm(g)) or 1.0
    scale = np.where(norms > 0.0, size / np.where(norms > 0.0, norms, 1.0), 1.0)
    for begin in first:
        a = norms[begin]
        b = float(np.sqrt(np.mean(norms[begin + 1 : begin + 4] ** 2)))
        c = float(np.sqrt(np.mean(norms[begin + 4 : begin + 10] ** 2)))
        length = SHORTEST
        if a > 0.0 and b > 0.0:
            length = a / b
        elif b > 0.0 and c > 0.0:
            length = b / c
        length = min(max(length, SHORTEST), LONGEST)
        contribution = max(a, b * length, c * length**2)
        mass = size / contribution if contribution > 0.0 else 1.0
        scale[begin] = mass
        scale[begin + 1 : begin + 4] = mass * length
        scale[begin + 4 : begin + 10] = mass * length**2
    return scale


def default_start(F: Array, g: Array, first: NDArray[np.int64], lower: Array) -> Array:
    """The unconstrained fit (n,), bodies moved inside the physical set, bounds respected."""
    free = np.asarray(np.linalg.lstsq(F, g, rcond=1e-10)[0])
    theta = np.maximum(free, lower)
    for begin in first:
        values, vectors = np.linalg.eigh(pseudo_inertia(free[begin : begin + 10]))
        floor = START_FLOOR * max(values[-1], 1e-3)
        J = (vectors * np.maximum(values, floor)) @ vectors.T
        if values[0] < 1e-12 * max(values[-1], 1e-3):
            theta[begin : begin + 10] = from_pseudo_inertia(J)
    return theta
