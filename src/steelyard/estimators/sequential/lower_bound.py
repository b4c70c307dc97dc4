"""How much better any other feasible parameters could be: a lower bound of the objective.

With f(u) = q(u) - sum_k floor_k log det S_k(u), q the quadratic and linear part, and duals Z_k that
are positive semidefinite, weak duality says for every feasible v

    f(v) >= min_w [q(w) - sum_k Z_k · S_k(w)] + sum_k floor_k (d + log det(Z_k / floor_k)),

the last sum over the conditions with a floor above zero.

The minimum of the quadratic is at the w with gradient(w) = q'(w) - sum_k A_k*(Z_k) = 0; at any
other w it is lower by at most ½ gradientᵀ H⁻¹ gradient, H = q''. So duals that nearly balance at
some w prove a bound whose weakness is known, and no solver has to be trusted. The only error is
the rounding of these sums; `steelyard.certificates.optimality` does the same in exact arithmetic.

The duals of single steps are from different stages of the sweeps, and where only the weak pull
holds parameters, a small disagreement costs much. So they are first made to agree: one Newton step
on the optimality conditions, within the faces of the cones that are active
(`steelyard.estimators.sequential.active_faces`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.row_panels import row_panels
from steelyard.estimators.sequential.active_faces import Face, active_face
from steelyard.estimators.sequential.inward import LinkwiseFit
from steelyard.estimators.sequential.links import Link, matrix_at, on_condition
from steelyard.estimators.sequential.sweeps import WholeFit

Array = NDArray[np.float64]
Duals = list[list[Array]]
NUDGES = (0.0, 1e-14, 1e-12, 1e-10)
"""Shares by which the diagonal of a matrix is raised if rounding makes it indefinite."""
FACE_ROUNDS, CLOSE = 2, 1e-3
"""Newton steps where there are logarithms, the later one with smaller faces, and the gap, as a
share of the bound, that makes further ones unnecessary. Without logarithms one step is enough,
since what is left of the gradient costs little.
"""


class LowerBound:
    """Bounds for the fits of one problem; the matrices that they share are computed once."""

    def __init__(self, whole: WholeFit) -> None:
        self.whole = whole

    @cached_property
    def quadratic(self) -> Array:
        """H (n_u, n_u): second derivative of the quadratic part."""
        H = row_panels(self.whole.G).upper_gram()
        H = np.triu(H) + np.triu(H, 1).T
        for link, place in zip(self.whole.links, self.whole.places, strict=True):
            H[place, place] += link.pull.T @ link.pull
        return H

    @cached_property
    def factor(self) -> tuple[Array, bool] | None:
        """Cholesky factor of H."""
        return _cholesky(self.quadratic)

    def of(self, fit: LinkwiseFit) -> float:
        """A lower bound of the objective of all feasible parameters, from duals that were made to
        agree; -inf if none is found.
        """
        u, value = np.concatenate(list(fit.u)), self.whole.value(fit.u)
        curvature, duals = self._with_floors(fit)
        with_logarithms = curvature is not self.quadratic
        factor = _cholesky(curvature) if with_logarithms else self.factor
        proven = -np.inf
        if factor is not None:
            rounds = FACE_ROUNDS if with_logarithms else 1
            for step, agreed in self._agreed(fit, duals, factor, rounds):
                proven = max(proven, self._proven(u + step, agreed))
                if value - proven <= CLOSE * max(proven, 1.0):
                    break
        return proven

    def _proven(self, w: Array, duals: Duals) -> float:
        """What positive semidefinite duals prove at a point w; -inf if nothing."""
        rest = self._absorbed(self._gradient(w, duals), duals)
        cost = self._cost(rest)
        return self._lagrangian(w, duals) - cost if np.isfinite(cost) else -np.inf

    def _with_floors(self, fit: LinkwiseFit) -> tuple[Array, Duals]:
        """H plus the curvature of the logarithms, and duals, those of logarithms floor S⁻¹."""
        H = self.quadratic
        duals: Duals = []
        for link, place, u, given in self._each(fit):
            own = []
            for condition, Z in zip(link.conditions, given, strict=True):
                if condition.floor > 0.0:
                    inverse: Array = np.asarray(np.linalg.inv(matrix_at(condition, u)))
                    scaled = inverse @ condition.A
                    if H is self.quadratic:
                        H = self.quadratic.copy()
                    columns = place.start + np.array(condition.columns)
                    H[np.ix_(columns, columns)] += condition.floor * np.einsum(
                        "pij,qji->pq", scaled, scaled
                    )
                    own.append(np.asarray(condition.floor * inverse))
                    continue
                own.append(Z)
            duals.append(own)
        return H, duals

    def _agreed(
        self, fit: LinkwiseFit, duals: Duals, factor: tuple[Array, bool], rounds: int
    ) -> Iterator[tuple[Array, Duals]]:
        """Newton steps of u, each with duals that agree with it.

        A face on which a step would make the dual negative is not active there: the next step does
        without that part of it.
        """
        from scipy.linalg import lstsq, solve_triangular

        L, _ = factor
        # with H = L Lᵀ, all that is needed of H⁻¹ B is L⁻¹ B
        gradient = self._gradient(np.concatenate(list(fit.u)), duals)
        pushed = -solve_triangular(L, gradient, lower=True, check_finite=False)
        faces = self._faces(fit, duals)
        for _ in range(rounds):
            force, changes = pushed, []
            if faces:
                ends = np.cumsum([len(face.slacks) for face in faces])
                B = np.zeros((len(pushed), ends[-1]), order="F")
                for face, end in zip(faces, ends, strict=True):
                    B[face.columns, end - len(face.slacks) : end] = face.forces.T
                Y = solve_triangular(L, B, lower=True, overwrite_b=True, check_finite=False)
                right = -Y.T @ pushed - np.concatenate([face.slacks for face in faces])
                change = lstsq(Y.T @ Y, right, 1e-12, check_finite=False, lapack_driver="gelsy")[0]
                force = pushed + Y @ change
                changes = np.split(change, ends[:-1])
            moved = [face.moved(amounts) for face, amounts in zip(faces, changes, strict=True)]
            step = solve_triangular(L, force, trans=1, lower=True, check_finite=False)
            yield np.asarray(step), self._moved(fit, step, duals, faces, moved)
            kept = [face.where_positive(Z) for face, Z in zip(faces, moved, strict=True)]
            if all(new is face for new, face in zip(kept, faces, strict=True)):
                return
            faces = [face for face in kept if face is not None]

    def _moved(
        self, fit: LinkwiseFit, step: Array, duals: Duals, faces: list[Face], moved: list[Array]
    ) -> Duals:
        """The duals after a step: of the faces as given, of logarithms to first order."""
        out = [list(own) for own in duals]
        for face, Z in zip(faces, moved, strict=True):
            out[face.link][face.place] = Z
        for own, (link, place, _, _) in zip(out, self._each(fit), strict=True):
            for k, condition in enumerate(link.conditions):
                if condition.floor <= 0.0:
                    own[k] = nearest_psd(own[k])
                    continue
                inverse = own[k] / condition.floor
                along = np.tensordot(step[place][list(condition.columns)], condition.A, 1)
                own[k] = condition.floor * (inverse - inverse @ along @ inverse)
        return out

    def _faces(self, fit: LinkwiseFit, duals: Duals) -> list[Face]:
        """Where the conditions without a logarithm bind, as far as the duals show."""
        out = []
        for i, (link, place, u, _) in enumerate(self._each(fit)):
            for k, condition in enumerate(link.conditions):
                if condition.floor > 0.0:
                    continue
                columns = place.start + np.array(condition.columns, dtype=np.int64)
                face = active_face(i, k, condition, columns, matrix_at(condition, u), duals[i][k])
                if face is not None:
                    out.append(face)
        return out

    def _each(self, fit: LinkwiseFit) -> Sequence[tuple[Link, slice, Array, tuple[Array, ...]]]:
        return list(zip(self.whole.links, self.whole.places, fit.u, fit.duals, strict=True))

    def _gradient(self, w: Array, duals: Duals) -> Array:
        """q'(w) - sum_k A_k*(Z_k) (n_u,)."""
        whole = self.whole
        out = whole.G.T @ (whole.G @ w - whole.z)
        for link, place, own in zip(whole.links, whole.places, duals, strict=True):
            out[place] += link.pull.T @ (link.pull @ w[place] - link.wish) + link.slope
            for condition, Z in zip(link.conditions, own, strict=True):
                columns = place.start + np.array(condition.columns)
                out[columns] -= on_condition(condition, Z)
        return np.asarray(out)

    def _absorbed(self, rest: Array, duals: Duals) -> Array:
        """The gradient that is left when the duals of logarithms take what they can; changes them.

        Without a pull on these bodies, nothing else could pay for it.
        """
        rest = rest.copy()
        for link, place, own in zip(self.whole.links, self.whole.places, duals, strict=True):
            for k, condition in enumerate(link.conditions):
                if condition.floor <= 0.0:
                    continue
                columns = place.start + np.array(condition.columns)
                A = condition.A.reshape(len(columns), -1)
                share = np.linalg.solve(A @ A.T, rest[columns])
                own[k] = own[k] + np.tensordot(share, condition.A, 1)
                rest[columns] = 0.0
        return rest

    def _cost(self, rest: Array) -> float:
        """½ restᵀ H⁻¹ rest, or more; infinite where nothing is known to pay for it."""
        from scipy.linalg import cho_solve

        if not rest.any():
            return 0.0
        with_logarithms = any(
            one.floor > 0.0 for link in self.whole.links for one in link.conditions
        )
        if not with_logarithms:
            if self.factor is None:
                return np.inf
            found = cho_solve(self.factor, rest, check_finite=False)
            left = rest - self.quadratic @ found
            return 0.5 * float(rest @ found + found @ left) + self._by_pulls(left)
        return self._by_pulls(rest)

    def _by_pulls(self, rest: Array) -> float:
        """½ restᵀ (pullᵀ pull)⁻¹ rest, which is at least ½ restᵀ H⁻¹ rest."""
        total = 0.0
        for link, place in zip(self.whole.links, self.whole.places, strict=True):
            if not rest[place].any():
                continue
            y = np.linalg.lstsq(link.pull.T, rest[place], rcond=None)[0]
            missed = rest[place] - link.pull.T @ y
            if np.linalg.norm(missed) > 1e-9 * np.linalg.norm(rest[place]):
                return np.inf
            total += 0.5 * float(y @ y)
        return total

    def _lagrangian(self, w: Array, duals: Duals) -> float:
        """q(w) - sum_k Z_k · S_k(w), plus what the logarithms add."""
        whole = self.whole
        residual = whole.z - whole.G @ w
        total = 0.5 * float(residual @ residual)
        for link, place, own in zip(whole.links, whole.places, duals, strict=True):
            u = w[place]
            away = link.pull @ u - link.wish
            total += link.constant + 0.5 * float(away @ away) + float(link.slope @ u)
            for condition, Z in zip(link.conditions, own, strict=True):
                total -= float(np.sum(Z * matrix_at(condition, u)))
                if condition.floor > 0.0:
                    sign, logdet = np.linalg.slogdet(Z / condition.floor)
                    if sign <= 0 or np.linalg.eigvalsh(Z)[0] <= 0.0:
                        return -np.inf
                    total += condition.floor * (len(Z) + float(logdet))
        return total


def nearest_psd(Z: Array) -> Array:
    """Z with its negative eigenvalues set to zero."""
    values, vectors = np.linalg.eigh(0.5 * (Z + Z.T))
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


def _cholesky(H: Array) -> tuple[Array, bool] | None:
    from scipy.linalg import LinAlgError, cho_factor

    diagonal = np.diag_indices(len(H))
    for nudge in NUDGES:
        raised = H.copy()
        raised[diagonal] *= 1.0 + nudge
        try:
            L, lower = cho_factor(raised, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            continue
        return L, bool(lower)
    return None
