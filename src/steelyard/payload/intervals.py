"""The values of a weighed body with their intervals, each labelled with its kind.

Values that the data determine have confidence limits: value ± t sigma, where the standard deviation
of the centre of mass and of the inertia about it is carried over from the ten parameters to first
order. Values that they do not determine have the range of all physical bodies that fit as well,
by conic programming, or no limits where any value fits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import Block
from steelyard.conic.problem import ConicProblem, conic_problem
from steelyard.conic.solver import solve
from steelyard.payload.one_body import OneBodyFit, body_scale, physical_block
from steelyard.payload.payload_estimate import PayloadKind, PayloadValue
from steelyard.robot.inertia import PARAMETER_UNITS, PARAMETERS, to_com

Array = NDArray[np.float64]

COM_NAMES = ("cx", "cy", "cz")
INERTIA_COM_NAMES = ("Ixx_com", "Ixy_com", "Iyy_com", "Ixz_com", "Iyz_com", "Izz_com")
_ROWS, _COLUMNS = (0, 0, 1, 0, 1, 2), (0, 1, 1, 2, 2, 2)

TOUCHED = 1e-4
"""Share of a typical body by which an undetermined direction may change a determined value."""
MOVED = 0.02
"""Standard deviations by which the physical condition must move a value to be at the boundary."""
FARTHEST = 1e3
"""Typical sizes beyond which the end of a range counts as unlimited."""


def values_with_intervals(
    fit: OneBodyFit,
    covariance: Array,
    freedom: int,
    level: float = 0.95,
    *,
    R: Array | None = None,
    z: Array | None = None,
    undetermined: Array | None = None,
    inflation: float = 1.0,
) -> tuple[PayloadValue, ...]:
    """m, the centre of mass, the inertia about it, and the other nine parameters.

    covariance : (10, 10) of phi in the directions that the data determine. freedom : of t.
    undetermined : (10, k) directions that they do not determine, in units of the parameters.
    R, z : (n_rows, 10) and (n_rows,) in units of the noise, for the ranges of values that are not
        determined; without them these have no limits. inflation : ratio of true to assumed variance
        of the residuals, for the same ranges.
    """
    from scipy.stats import t

    phi, free = fit.phi, fit.free
    values, slopes = derived_values(phi)
    sizes = np.abs(slopes) @ body_scale(max(float(phi[0]), 1e-3))
    open_directions = np.zeros((10, 0)) if undetermined is None else undetermined
    touched = np.abs(slopes @ open_directions).max(axis=1, initial=0.0) > TOUCHED * sizes
    variances = np.einsum("ij,jk,ik->i", slopes, covariance, slopes)
    sigmas = np.sqrt(np.maximum(variances, 0.0))
    quantile = float(t.ppf(0.5 * (1.0 + level), freedom))
    moved = np.abs(slopes @ (phi - free))
    ranges = _Ranges(fit, R, z, level, inflation)
    heavier = _unlimited_inertia(open_directions)
    out = []
    for i, (name, unit) in enumerate(zip(VALUE_NAMES, VALUE_UNITS, strict=True)):
        value, sigma = float(values[i]), float(sigmas[i])
        edge = bool(fit.at_boundary and moved[i] > MOVED * sigma)
        kind: PayloadKind = "confidence"
        if not touched[i]:
            ends = (value - quantile * sigma, value + quantile * sigma)
            out.append(PayloadValue(name, unit, value, sigma, *ends, kind, edge))
            continue
        limits = None if heavier and i >= INERTIA_FROM else ranges.of(name)
        kind = "not determined" if limits is None else "feasible range"
        lower, upper = (None, None) if limits is None else limits
        out.append(PayloadValue(name, unit, value, None, lower, upper, kind, edge))
    return tuple(out)


INERTIA_FROM = 13
"""Position of Ixx, the first entry of the inertia about the frame's origin, in `VALUE_NAMES`."""
VALUE_NAMES = ("m", *COM_NAMES, *INERTIA_COM_NAMES, *PARAMETERS[1:])
VALUE_UNITS = ("kg", "m", "m", "m", *(6 * ("kg m²",)), *PARAMETER_UNITS[1:])


def _unlimited_inertia(open_directions: Array) -> bool:
    """Whether the data leave all six entries of the inertia open: then none has an upper limit."""
    if open_directions.shape[1] < 6:
        return False
    scaled = open_directions / body_scale(1.0)[:, None]
    basis = np.linalg.svd(scaled, full_matrices=False)[0]
    return bool(np.linalg.norm(basis[4:], axis=1).min() > 1.0 - 1e-6)


def derived_values(phi: Array) -> tuple[Array, Array]:
    """The values (19,) in the order of `VALUE_NAMES`, and their derivatives (19, 10) by phi.

    A body without mass has no centre of mass: zeros, with derivatives as of a mass of 1 kg.
    """
    mass, com, inertia = to_com(phi)
    m = float(mass) if mass > 0.0 else 1.0
    values = np.concatenate([[mass], com, inertia[_ROWS, _COLUMNS], phi[1:]])
    slopes = np.zeros((19, 10))
    slopes[0, 0] = 1.0
    slopes[1:4, 0] = -com / m
    slopes[1:4, 1:4] = np.eye(3) / m
    slopes[10:, 1:] = np.eye(9)
    # I_com = I - (h·c 1 - h cᵀ), with c = h / m
    for k, (i, j) in enumerate(zip(_ROWS, _COLUMNS, strict=True)):
        row = slopes[4 + k]
        row[4 + k] = 1.0
        row[0] = float(i == j) * (com @ com) - com[i] * com[j]
        row[1:4] -= 2.0 * float(i == j) * com
        row[1 + i] += com[j]
        row[1 + j] += com[i]
    return values, slopes


class _Ranges:
    """Smallest and largest values of physical bodies that fit the data about as well."""

    def __init__(
        self, fit: OneBodyFit, R: Array | None, z: Array | None, level: float, inflation: float
    ) -> None:
        self.given: tuple[Block, ...] | None = None
        if R is None or z is None:
            return
        from scipy.stats import chi2

        rank = int(np.linalg.matrix_rank(R * body_scale(1.0)))
        away = z - R @ fit.phi
        radius = np.sqrt(away @ away + inflation * float(chi2.ppf(level, max(rank, 1))))
        self.scale = body_scale(max(float(fit.phi[0]), 1e-3))
        A = np.vstack([np.zeros(10), -R]) / radius
        b = np.concatenate([[radius], z]) / radius
        self.given = (physical_block(), Block("second_order", tuple(range(10)), A, b))

    def of(self, name: str) -> tuple[float, float] | None:
        """The range of one value; None where it has no limit, or is not linear in phi."""
        if self.given is None or name in INERTIA_COM_NAMES:
            return None
        if name in COM_NAMES:
            ends = [self._com(1 + COM_NAMES.index(name), sign) for sign in (1.0, -1.0)]
        else:
            ends = [self._parameter(PARAMETERS.index(name), sign) for sign in (1.0, -1.0)]
        if ends[0] is None or ends[1] is None:
            return None
        return ends[0], ends[1]

    def _parameter(self, column: int, sign: float) -> float | None:
        assert self.given is not None
        c = np.zeros(10)
        c[column] = sign / self.scale[column]
        return self._end(conic_problem(10, self.given, self.scale, c=c), column)

    def _com(self, column: int, sign: float) -> float | None:
        """h / m, with y = phi / m and t = 1 / m as the variables."""
        assert self.given is not None
        sizes = np.append(self.scale, 1.0) / self.scale[0]
        c = np.zeros(11)
        c[column] = sign / sizes[column]
        blocks = [
            Block(b.kind, (*b.columns, 10), np.column_stack([b.A, b.b]), np.zeros(len(b.b)))
            for b in self.given
        ]
        one = Block("zero", (0,), np.ones((1, 1)), -np.ones(1))
        some = Block("nonnegative", (10,), np.ones((1, 1)), np.zeros(1))
        return self._end(conic_problem(11, (*blocks, one, some), sizes, c=c), column)

    @staticmethod
    def _end(problem: ConicProblem, column: int) -> float | None:
        solution = solve(problem, accuracy=1e-7)
        end = float(solution.theta[column])
        far = abs(end) > FARTHEST * problem.scale[column]
        return None if solution.status != "solved" or far or not np.isfinite(end) else end
