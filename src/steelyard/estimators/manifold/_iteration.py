"""One iteration of the fit on the manifold: a step of all bodies, or mass added to one of them.

Imported on first use only, with the compiled loops. All arrays are in scaled units (see
`steelyard.estimators.manifold.fit`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.estimators.manifold._added_mass import (
    add_mass,
    add_points,
    drop_bodies,
    gain_of_mass,
)
from steelyard.estimators.manifold._linear import newton_step, promised, squares, substitute
from steelyard.estimators.manifold._moves import apply, prepare, share_inside

Array = NDArray[np.float64]
Outcome = Literal["progress", "optimum", "stalled"]
LIGHT = 1e-6
"""Below this mass, in scaled units, points that are added to a body are not almost at infinity."""
CORRECTIONS = 6
"""How often a step is corrected, at most, for what its linear model misses."""
ALL_LENGTHS, USUAL_LENGTHS = 8, 6
"""How many lengths are tried for added mass: up to far beyond any body, and up to large ones."""
FIRST_DAMPING, LEAST_DAMPING, LARGEST_DAMPING = 1e-10, 1e-14, 1e12


@dataclass
class State:
    """Where a fit is; arrays are changed in place.

    mass (n_bodies,), com (n_bodies, 3), Q (n_bodies, 3, 3), L (n_bodies, 3) : the bodies.
    theta : (n,) all parameters. residual : (n_rows,) F theta - g. value : its square sum.
    """

    mass: Array
    com: Array
    Q: Array
    L: Array
    theta: Array
    residual: Array
    value: float

    def arrays(self) -> tuple[Array, Array, Array, Array, Array, Array]:
        """All arrays, in the order of the compiled loops."""
        return self.mass, self.com, self.Q, self.L, self.theta, self.residual

    def copy(self) -> State:
        """A state of its own."""
        mass, com, Q, L, theta, residual = (one.copy() for one in self.arrays())
        return State(mass, com, Q, L, theta, residual, self.value)

    def take(self, other: State) -> None:
        """Become equal to another state."""
        for own, its in zip(self.arrays(), other.arrays(), strict=True):
            own[...] = its
        self.value = other.value


class Iterations:
    """Iterations on one problem: minimise |F theta - g|² over physical bodies.

    first : column of each body's first parameter. free : (n,) columns of no body, with lower
    bounds ``lower``. tolerance, rounding : the gap at which it ends, relative and absolute.
    """

    def __init__(
        self,
        F: Array,
        g: Array,
        first: NDArray[np.int64],
        free: NDArray[np.bool_],
        lower: Array,
        state: State,
        tolerance: float,
        rounding: float,
    ) -> None:
        self.F, self.g, self.first, self.free, self.lower = F, g, first, free, lower
        self.state, self.tolerance, self.rounding = state, tolerance, rounding
        self.trial, self.best = state.copy(), state.copy()
        self.damping = FIRST_DAMPING
        self.gap = float("inf")
        state.value = float(squares(F, g, state.theta, state.residual))

    def improve(self) -> Outcome:
        """One iteration: "progress" if the objective fell, "stalled" if no step reduces it.

        The gap to the optimum is estimated as what an undamped Newton step would gain (half the
        Newton decrement), and what mass added to each body would.
        """
        self._linearise()
        self.best.take(self.state)
        gains = np.zeros(len(self.first))
        for n_lengths in (USUAL_LENGTHS, ALL_LENGTHS):
            gains = self._gains(n_lengths)
            self.gap = self._promised() + float(gains.sum())
            if self.gap <= self.tolerance * self.state.value + self.rounding:
                if n_lengths == ALL_LENGTHS:
                    return "optimum"
                continue
            if n_lengths == USUAL_LENGTHS:
                self._newton()
            before = self.best.value
            # what adding mass promises, against what the step gave
            for k in np.argsort(-gains):
                if self.best.value == before and self.state.value - before < gains[k]:
                    self._add_mass(int(k))
            if self.best.value < self.state.value:
                break
        moved = self.best.value < self.state.value
        if moved:
            self.state.take(self.best)
        else:
            self.damping = FIRST_DAMPING
        state = self.state
        value = float(
            drop_bodies(
                self.F, self.g, self.first, state.mass, state.com, state.L, state.theta,
                state.residual, state.value,
            )
        )  # fmt: skip
        if not moved and value == state.value:
            for k in np.flatnonzero(gains):
                for w in self.points[k]:
                    value = float(
                        add_mass(self.F, self.g, self.first[k], k, w, *state.arrays(), value)
                    )
        moved = moved or value < state.value or value != state.value
        state.value = value
        return "progress" if moved else "stalled"

    def _linearise(self) -> None:
        """Gradient and second derivative in the coordinates of a step; the undamped step."""
        state, n = self.state, len(self.state.theta)
        n_bodies = len(self.first)
        G = 2.0 * (self.F.T @ state.residual)
        D, self.duals = np.zeros((n_bodies, 10, 10)), np.empty((n_bodies, 4, 4))
        self.gradient, self.bend, self.fixed = G.copy(), np.zeros(n), np.zeros(n, dtype=np.bool_)
        prepare(
            self.first, state.mass, state.com, state.Q, state.L, G, self.duals, D,
            self.gradient, self.bend, self.fixed,
        )  # fmt: skip
        self.fixed |= self.free & (state.theta <= self.lower) & (G >= 0.0)
        self.A = self.F.copy()
        for k, begin in enumerate(self.first):
            self.A[:, begin : begin + 10] = self.F[:, begin : begin + 10] @ D[k].T
        self.H = 2.0 * (self.A.T @ self.A)
        self.H[np.diag_indices(n)] += self.bend
        self.weight = np.diag(self.H).copy()
        largest = np.max(self.weight, initial=0.0, where=~self.fixed)
        self.fixed |= self.weight <= 1e-30 * largest
        self.n = n
        self.C, self.held = np.zeros((n, n)), np.empty(n, dtype=np.bool_)
        undamped, self.solved = LEAST_DAMPING, False
        while not self.solved and undamped < LARGEST_DAMPING:
            self.plain = np.zeros(n)
            self.solved = self._solve(undamped, self.plain)
            undamped *= 10.0
        # kept apart: the factor of damped steps overwrites it
        self.plain_C, self.plain_held = self.C.copy(), self.held.copy()

    def _promised(self) -> float:
        """What the undamped Newton step promises; infinite where it cannot be trusted."""
        newton = float(promised(self.H, self.n, self.gradient, self.plain))
        # rounding makes it negative where the matrix of the step is almost singular
        return newton if self.solved and newton >= 0.0 else float("inf")

    def _solve(self, damping: float, step: Array) -> bool:
        """The damped Newton step within the bounds, in place; whether the matrix allows it."""
        return bool(
            newton_step(
                self.H, self.n, self.gradient, self.fixed, self.free, damping * self.weight,
                self.state.theta, self.lower, self.held, self.C, step,
            )
        )  # fmt: skip

    def _gains(self, n_lengths: int) -> Array:
        """What mass added to each body is expected to gain (n_bodies,)."""
        state = self.state
        gains = np.zeros(len(self.first))
        self.points = np.zeros((len(self.first), 4, 4))
        self.turned = np.zeros((len(self.first), self.n))
        if self.solved:
            far = 1e-6 if n_lengths == ALL_LENGTHS else 1e-4
            for k, begin in enumerate(self.first):
                gains[k] = gain_of_mass(
                    self.F, self.A, self.plain_C, self.plain_held, begin, n_lengths,
                    far if state.mass[k] < LIGHT else 0.0, state.com[k], state.Q[k],
                    self.duals[k], self.plain, self.points[k], self.turned[k],
                )  # fmt: skip
        return gains

    def _move(self, step: Array, share: float) -> None:
        """The state after a step, in ``trial``, and in ``best`` if it is the best one."""
        trial = self.trial
        trial.value = float(
            apply(
                self.F, self.g, self.first, self.free, self.lower, *self.state.arrays()[:5],
                step, share, *trial.arrays(),
            )
        )  # fmt: skip
        self._keep()

    def _keep(self) -> None:
        if self.trial.value < self.best.value:
            self.best.take(self.trial)

    def _newton(self) -> None:
        """A damped Newton step, with more damping until it reduces the objective.

        The whole step is moved to the boundary body by body, and corrected for what the linear
        model misses; if that does not help, the part of the step that stays inside is tried.
        """
        state, step = self.state, np.empty(self.n)
        for _ in range(40):
            damping = self.damping
            if self._solve(damping, step):
                expected = promised(self.H, self.n, self.gradient, step)
                first_step = step.copy()
                inside = min(
                    (
                        float(share_inside(state.mass[k], state.L[k], step[begin : begin + 10]))
                        for k, begin in enumerate(self.first)
                        if state.mass[k] > 0.0
                    ),
                    default=1.0,
                )
                last = float("inf")
                for _ in range(CORRECTIONS):
                    self._move(step, 1.0)
                    if not self.trial.value < 0.9 * last:
                        break
                    last = self.trial.value
                    change = -2.0 * (self.A.T @ self.trial.residual) - self.bend * step
                    change[self.held] = 0.0
                    substitute(self.C, self.n, change)
                    step += change
                if inside < 1.0 and self.best.value == state.value:
                    self._move(first_step, inside)
                gain = state.value - self.best.value
                if gain > 0.0:
                    if gain > 0.5 * expected or inside < 1.0:
                        self.damping = max(0.1 * damping, LEAST_DAMPING)
                    elif gain < 0.1 * expected:
                        self.damping = min(4.0 * damping, LARGEST_DAMPING)
                    return
            self.damping = max(8.0 * damping, 1e-12)
            if self.damping > LARGEST_DAMPING:
                return

    def _add_mass(self, k: int) -> None:
        """Add mass to body k, all other coordinates moving with it."""
        share = 1.0
        for _ in range(12):
            step = share * (self.plain - self.turned[k])
            before = self.best.value
            self._move(step, 1.0)
            state, trial = self.state, self.trial
            trial.value = float(
                add_points(
                    self.F, self.g, self.first[k], k, state.com[k], state.Q[k], self.points[k],
                    share, *trial.arrays(),
                )
            )  # fmt: skip
            self._keep()
            if self.best.value < before:
                return
            share *= 0.25
