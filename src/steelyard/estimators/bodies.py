"""Standard parameters by body: mass, centre of mass, inertia about the centre of mass.

Intervals of the centre of mass are feasible ranges of h / m. Inertia about the centre of mass and
its principal moments have no interval, since they are not linear in the parameters; inertia about
the origin of the link's frame is linear, and has one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from steelyard.estimators.estimate import (
    NO_MASS,
    Credible,
    Estimate,
    Limits,
    StandardEstimate,
    StandardKind,
)
from steelyard.model.model import Model
from steelyard.robot.inertia import to_com

Array = NDArray[np.float64]
ENTRIES = (("xx", 0, 0), ("xy", 0, 1), ("yy", 1, 1), ("xz", 0, 2), ("yz", 1, 2), ("zz", 2, 2))
# from the strongest kind of interval to the weakest
STRENGTH: tuple[StandardKind, ...] = (
    "confidence",
    "mostly prior",
    "feasible range",
    "closest to prior",
    "prior only",
)


@dataclass(frozen=True)
class BodyEstimate:
    """A body's parameters.

    parameters : the ten standard parameters, about the origin of the link's frame.
    com : its centre of mass, ``name.cx`` to ``name.cz``, m; empty where the mass is zero.
    inertia_com : about it, ``name.Ixx_com`` to ``name.Izz_com``, kg m², axes of the link's frame.
    principal_moments : its eigenvalues, ``name.I1`` to ``name.I3``, ascending.
    """

    name: str
    joint: str | None
    parameters: tuple[StandardEstimate, ...]
    com: tuple[StandardEstimate, ...]
    inertia_com: tuple[StandardEstimate, ...]
    principal_moments: tuple[StandardEstimate, ...]

    @property
    def mass(self) -> StandardEstimate:
        """Its mass, kg."""
        return self.parameters[0]

    @property
    def at_boundary(self) -> bool:
        """Whether a condition on the body is active."""
        return any(parameter.at_boundary for parameter in self.parameters)

    @property
    def all(self) -> tuple[StandardEstimate, ...]:
        """All estimates of the body: parameters, com, inertia_com, principal_moments."""
        return (*self.parameters, *self.com, *self.inertia_com, *self.principal_moments)


def body_estimates(
    model: Model, estimate: Estimate, level: float = 0.95
) -> tuple[BodyEstimate, ...]:
    """Every body of an estimate; empty if the estimate has no standard parameters."""
    standard = estimate.standard
    ranges = None if standard is None else standard.com_ranges
    credible = None if standard is None else standard.credible
    return _bodies(model, estimate.standard_parameters(level), ranges, credible, level)


def with_derived(
    model: Model, parameters: Sequence[StandardEstimate]
) -> tuple[StandardEstimate, ...]:
    """The standard parameters, in the order of the columns, and what is derived from them.

    As :func:`all_parameters`, but without intervals of the centres of mass.
    """
    bodies = _bodies(model, parameters, None)
    terms = (
        parameter
        for column, parameter in zip(model.columns, parameters, strict=True)
        if column.kind != "rigid_body"
    )
    return (*(parameter for body in bodies for parameter in body.all), *terms)


def _bodies(
    model: Model,
    parameters: Sequence[StandardEstimate],
    ranges: Array | None,
    credible: Credible | None = None,
    level: float = 0.95,
) -> tuple[BodyEstimate, ...]:
    by_owner: dict[str, list[StandardEstimate]] = {}
    for column, parameter in zip(model.columns, parameters, strict=False):
        if column.kind == "rigid_body":
            by_owner.setdefault(column.owner, []).append(parameter)
    joint_of = {body.name: body.joint for body in model.mechanism.bodies}

    def believed(k: int, value: float, axis: int, cut: Array | None) -> Limits:
        if credible is None:
            return None, None
        return credible.limits(value, float(credible.com_sigma[k, axis]), level, cut)

    return tuple(
        _body(
            name,
            joint_of.get(name),
            tuple(ten),
            None if ranges is None else ranges[k],
            partial(believed, k),
        )
        for k, (name, ten) in enumerate(by_owner.items())
    )


def term_estimates(
    model: Model, estimate: Estimate, level: float = 0.95
) -> dict[str, dict[str, StandardEstimate]]:
    """The terms of each joint or coupling, by symbol (Ia, fv, fc, fo)."""
    out: dict[str, dict[str, StandardEstimate]] = {}
    for column, parameter in zip(model.columns, estimate.standard_parameters(level), strict=False):
        if column.kind != "rigid_body":
            out.setdefault(column.owner, {})[column.symbol] = parameter
    return out


def all_parameters(
    model: Model, estimate: Estimate, level: float = 0.95
) -> tuple[StandardEstimate, ...]:
    """All estimates of every body, then of every joint and coupling."""
    bodies = body_estimates(model, estimate, level)
    terms = term_estimates(model, estimate, level)
    return (
        *(parameter for body in bodies for parameter in body.all),
        *(parameter for own in terms.values() for parameter in own.values()),
    )


def _body(
    name: str,
    joint: str | None,
    ten: tuple[StandardEstimate, ...],
    com_range: Array | None,
    believed: Callable[[float, int, Array | None], Limits],
) -> BodyEstimate:
    mass, com, inertia = to_com(np.array([parameter.value for parameter in ten]))
    edge = any(parameter.at_boundary for parameter in ten)

    def derived(
        symbol: str, unit: str, value: float, of: tuple[StandardEstimate, ...]
    ) -> StandardEstimate:
        kind = max((parameter.interval_kind for parameter in of), key=STRENGTH.index)
        return StandardEstimate(f"{name}.{symbol}", unit, value, None, None, kind, edge)

    coordinates = []
    for axis, letter in enumerate("xyz"):
        if mass == 0.0:
            break
        of = (ten[0], ten[1 + axis])
        known = derived(f"c{letter}", "m", float(com[axis]), of)
        lightest = ten[0].lower
        light = lightest is None or not lightest > NO_MASS * abs(ten[0].value)
        cut = None
        if com_range is not None and not light:
            cut = com_range[axis]
            # even where the data determine h and m, the interval of h / m is a range
            kind: StandardKind = (
                "feasible range" if known.interval_kind == "confidence" else known.interval_kind
            )
            lower, upper = (float(x) for x in com_range[axis])
            known = StandardEstimate(known.name, "m", known.value, lower, upper, kind, edge)
        low, high = believed(known.value, axis, cut)
        coordinates.append(replace(known, credible_lower=low, credible_upper=high))
    return BodyEstimate(
        name,
        joint,
        ten,
        tuple(coordinates),
        tuple(
            derived(f"I{axes}_com", "kg m²", float(inertia[i, j]), ten) for axes, i, j in ENTRIES
        ),
        tuple(
            derived(f"I{k}", "kg m²", float(moment), ten)
            for k, moment in enumerate(np.linalg.eigvalsh(inertia), start=1)
        ),
    )
