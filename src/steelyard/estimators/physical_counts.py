"""Which links of a parameter vector are physical: by a tolerance, and exactly.

Gautier and Venture (2013, section V-B, Table III) count the links whose inertia about the centre of
mass (eq 36) passes a Cholesky factorisation with a tolerance epsilon <= 0,

    mass > 0    and    J_com - epsilon · 1 positive definite        (kg m²)

A tolerance accepts noise, but also bodies that are not physical; and even without one, a positive
definite inertia may violate the triangle inequality. The report therefore also has an exact
verdict: whether a non-negative density with these ten parameters exists, that is, whether the 4×4
pseudo-inertia is positive semidefinite (Traversaro et al. 2016, Definition 2), decided in rational
arithmetic on the given digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.conic.exact import is_psd
from steelyard.errors import ModelError
from steelyard.model.model import Model
from steelyard.robot.inertia import as_phi, is_physical, to_com

Array = NDArray[np.float64]

TOLERANCES = (0.0, -0.01, -0.02, -0.04)
"""Those of Table III, kg m²."""


@dataclass(frozen=True)
class BodyConsistency:
    """Physical consistency of one body.

    smallest_moment : smallest principal moment of inertia about the centre of mass, kg m²; NaN
        where the mass is not positive.
    triangle_slack : sum of the two smaller principal moments minus the largest, kg m²; not
        negative for a physical body.
    positive_definite : for each tolerance, whether mass and inertia pass.
    physical : the exact verdict. A massless body (ten zeros) is physical, although its inertia is
        not positive definite.
    within_rounding : whether it is physical up to rounding: a point mass or a plate is on the
        boundary, and rounding may put its ten numbers on either side.
    """

    link: str
    mass: float
    smallest_moment: float
    triangle_slack: float
    positive_definite: tuple[bool, ...]
    physical: bool
    within_rounding: bool

    @property
    def verdict(self) -> str:
        """The exact verdict in words."""
        if self.physical:
            return "yes"
        return "no, by rounding" if self.within_rounding else "no"


@dataclass(frozen=True)
class ConsistencyReport:
    """The consistency of each body, and how many pass at each tolerance."""

    tolerances: tuple[float, ...]
    bodies: tuple[BodyConsistency, ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of bodies with a positive definite inertia, for each tolerance (Table III)."""
        return tuple(
            sum(body.positive_definite[k] for body in self.bodies)
            for k in range(len(self.tolerances))
        )

    @property
    def n_physical(self) -> int:
        """Number of bodies that are physical, exactly."""
        return sum(body.physical for body in self.bodies)

    def text(self) -> str:
        """Both verdicts as tables of plain text."""
        n = len(self.bodies)
        lines = ["Cholesky tolerance  positive definite inertias"]
        for tolerance, count in zip(self.tolerances, self.counts, strict=True):
            lines.append(f"{tolerance:>18g}  {count} of {n}")
        lines += [f"exact, fully physical: {self.n_physical} of {n}", ""]
        width = max((len(body.link) for body in self.bodies), default=4)
        lines.append(
            f"{'link':<{width}}  {'mass kg':>10}  {'least moment':>12}  {'triangle':>10}  physical"
        )
        for body in self.bodies:
            lines.append(
                f"{body.link:<{width}}  {body.mass:>10.4g}  {body.smallest_moment:>12.4g}"
                f"  {body.triangle_slack:>10.4g}  {body.verdict}"
            )
        return "\n".join(lines)


def consistency_of(
    model: Model, theta: ArrayLike, tolerances: Sequence[float] = TOLERANCES
) -> ConsistencyReport:
    """The report on the bodies of standard parameters theta (n_columns,)."""
    values = np.asarray(theta, dtype=float)
    if values.shape != (len(model.columns),):
        raise ModelError(
            f"theta has shape {values.shape}, but the model has {len(model.columns)} columns"
        )
    names = [body.name for body in model.mechanism.bodies]
    phi = np.array([values[first : first + 10] for first in model.first_column_of_body])
    return consistency_of_bodies(names, phi.reshape(-1, 10), tolerances)


def consistency_of_bodies(
    names: Sequence[str], phi: ArrayLike, tolerances: Sequence[float] = TOLERANCES
) -> ConsistencyReport:
    """The report on bodies phi (n_bodies, 10), inertia about each frame's origin."""
    bodies = as_phi(phi)
    if not np.isfinite(bodies).all():
        raise ModelError("inertial parameters must be finite numbers")
    if any(not tolerance <= 0.0 for tolerance in tolerances):
        raise ModelError(f"a Cholesky tolerance is zero or negative (kg m²), not {tolerances}")
    return ConsistencyReport(
        tuple(tolerances),
        tuple(
            _consistency(name, body, tolerances) for name, body in zip(names, bodies, strict=True)
        ),
    )


def is_physical_exactly(phi: ArrayLike) -> bool:
    """Whether one body phi (10,) is fully consistent, without tolerance or rounding.

    Positive mass and J = [[Sigma, h], [hᵀ, m]] positive semidefinite with Sigma = tr(I)/2 - I; or
    ten zeros.
    """
    m, mx, my, mz, xx, xy, yy, xz, yz, zz = (Fraction(float(x)) for x in as_phi(phi))
    if m == 0:
        return not np.any(as_phi(phi))
    half = (xx + yy + zz) / 2
    J = [
        [half - xx, -xy, -xz, mx],
        [-xy, half - yy, -yz, my],
        [-xz, -yz, half - zz, mz],
        [mx, my, mz, m],
    ]
    return is_psd(J)


def _consistency(name: str, phi: Array, tolerances: Sequence[float]) -> BodyConsistency:
    mass = float(phi[0])
    smallest = slack = float("nan")
    passes = (False,) * len(tolerances)
    if mass > 0.0:
        inertia = to_com(phi)[2]
        moments = np.linalg.eigvalsh(inertia)
        smallest, slack = float(moments[0]), float(moments[0] + moments[1] - moments[2])
        passes = tuple(_has_cholesky(inertia - t * np.eye(3)) for t in tolerances)
    exact = is_physical_exactly(phi)
    within = exact or bool(is_physical(phi))
    return BodyConsistency(name, mass, smallest, slack, passes, exact, within)


def _has_cholesky(matrix: Array) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True
