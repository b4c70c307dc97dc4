"""What is known about a robot's parameters, as data.

`Constraints` names links and joints; `blocks` turns it into conditions on a model's
parameters. Full physical consistency is the default: every body's pseudo-inertia is positive
semidefinite, and drive inertia and friction are not negative. `steelyard.knowledge.conflicts`
checks whether constraints contradict each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import inf, isnan
from typing import Any, Literal, get_args

from steelyard.errors import ModelError, did_you_mean, listed, shown
from steelyard.knowledge.regions import Axis as Axis
from steelyard.knowledge.regions import Box as Box
from steelyard.knowledge.regions import Cylinder as Cylinder
from steelyard.knowledge.regions import Ellipsoid as Ellipsoid
from steelyard.knowledge.regions import Hull as Hull
from steelyard.knowledge.regions import Region as Region
from steelyard.knowledge.regions import SymmetryPlane as SymmetryPlane
from steelyard.knowledge.regions import Vector as Vector
from steelyard.knowledge.regions import check_axis, number
from steelyard.robot.inertia import PARAMETERS

Range = tuple[float | None, float | None]
Consistency = Literal["full", "sousa", "none"]


@dataclass(frozen=True)
class MassSum:
    """The sum of the masses of these bodies is within a range (kg)."""

    bodies: tuple[str, ...]
    range: Range

    def __post_init__(self) -> None:
        object.__setattr__(self, "bodies", names(self.bodies, "the bodies of a mass sum"))
        if not self.bodies:
            raise ModelError("a mass sum names no body")
        object.__setattr__(self, "range", limits(self.range, f"the mass of {listed(self.bodies)}"))


@dataclass(frozen=True)
class Mirrored:
    """Two bodies are mirror images of each other along ``axis`` of their frames.

    The frames of left and right legs, for instance, usually have the same axes, with the centres
    of mass on opposite sides: axis "y".
    """

    one: str
    other: str
    axis: Axis

    def __post_init__(self) -> None:
        check_axis(self.axis, f"the pair {shown(self.one)}, {shown(self.other)}")
        if self.one == self.other:
            raise ModelError(
                f"{shown(self.one)} cannot mirror itself; give it a symmetry plane instead"
            )


@dataclass(frozen=True)
class Constraints:
    """What is known of the parameters, by the names of bodies (their links) and joints.

    A range is (lower, upper) with None for no limit. What can be checked without a robot is
    checked here, the rest by `blocks`.

    consistency : "full" (4×4), "sousa" (6×6, Sousa and Cortesão 2014: weaker) or "none".
    margin : smallest eigenvalue of every body's matrix, and smallest value of the terms that
        must not be negative; Sousa and Cortesão (2014) use 1e-6 for their Table 6.
    mass : ranges (kg). total_mass : range of the mass of all moving bodies together.
    mass_sums : ranges of sums over groups.
    com : regions that hold the centre of mass.
    inside : regions that hold all mass of a body: an ellipsoid (exact, as a trace condition) or
        a box (a necessary condition).
    symmetric : symmetry planes. equal : groups of bodies with the same parameters.
    mirrored : pairs of mirror images. massless : bodies without any mass.
    fixed : values by column name. bounds : ranges by column name ("elbow.fv"), or for all of
        a kind of term ("viscous").
    known_part : the known parameters (10,) of a part of a body, in the body's frame: the rest of
        the body must be physical. known_links : the same, with the inertials of the robot file.
    keep_attached : whether every body of several links must be physical without those that keep
        the inertials of the robot file; see `steelyard.knowledge.attached_rest`.
    nonnegative_terms : whether drive inertia and friction must not be negative.
    second_moment : largest trace of a body's pseudo-inertia (kg + kg m²), for all bodies; "auto"
        for a bound far above any real link (`steelyard.model.typical_sizes.default_bound`), which
        keeps parameters finite that the data do not determine; None for no bound.
        second_moments : the same for single bodies.
    """

    consistency: Consistency = "full"
    margin: float = 0.0
    mass: Mapping[str, Range] = field(default_factory=dict)
    mass_sums: tuple[MassSum, ...] = ()
    com: Mapping[str, Region] = field(default_factory=dict)
    inside: Mapping[str, Ellipsoid | Box] = field(default_factory=dict)
    symmetric: Mapping[str, SymmetryPlane] = field(default_factory=dict)
    equal: tuple[tuple[str, ...], ...] = ()
    massless: tuple[str, ...] = ()
    fixed: Mapping[str, float] = field(default_factory=dict)
    bounds: Mapping[str, Range] = field(default_factory=dict)
    known_part: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    nonnegative_terms: bool = True
    second_moment: float | Literal["auto"] | None = "auto"
    total_mass: Range | None = None
    mirrored: tuple[Mirrored, ...] = ()
    known_links: tuple[str, ...] = ()
    second_moments: Mapping[str, float] = field(default_factory=dict)
    keep_attached: bool = False

    def __post_init__(self) -> None:
        if self.consistency not in get_args(Consistency):
            given = str(self.consistency)
            valid = get_args(Consistency)
            raise ModelError(
                f"consistency is {shown(given)}{did_you_mean(given, valid)}; "
                f"it must be one of {listed(valid)}"
            )
        self._set("margin", number(self.margin, "margin"))
        if self.margin < 0.0:
            raise ModelError(f"margin is {self.margin:g}; it must not be negative")
        if self.second_moment is not None and self.second_moment != "auto":
            self._set("second_moment", positive(self.second_moment, "second_moment"))
        if self.total_mass is not None:
            self._set("total_mass", limits(self.total_mass, "total_mass"))
        for entry in fields(self):
            if isinstance(getattr(self, entry.name), Mapping):
                self._set(entry.name, dict(getattr(self, entry.name)))
        for key in ("mass", "bounds"):
            self._set_each(key, limits)
        self._set_each("fixed", number)
        self._set_each("second_moments", positive)
        self._set_each("known_part", body_parameters)
        self._check_kinds("com", (Box, Ellipsoid, Cylinder, Hull))
        self._check_kinds("inside", (Ellipsoid, Box))
        self._check_kinds("symmetric", (SymmetryPlane,))
        for key in ("massless", "known_links"):
            self._set(key, names(getattr(self, key), key))
        self._set("equal", tuple(names(group, "a group of equal bodies") for group in self.equal))
        for group in self.equal:
            if len(set(group)) < 2 or len(set(group)) < len(group):
                raise ModelError(f"equal has the group {listed(group)}; name two or more bodies")
        for key, kind in (("mass_sums", MassSum), ("mirrored", Mirrored)):
            self._set(key, tuple(getattr(self, key)))
            for value in getattr(self, key):
                if not isinstance(value, kind):
                    raise ModelError(f"{key} holds a {type(value).__name__}, not a {kind.__name__}")

    def _set(self, key: str, value: object) -> None:
        object.__setattr__(self, key, value)

    def _set_each(self, key: str, convert: Any) -> None:
        given = getattr(self, key)
        self._set(key, {name: convert(x, f"{key} of {shown(name)}") for name, x in given.items()})

    def _check_kinds(self, key: str, kinds: tuple[type, ...]) -> None:
        for name, value in getattr(self, key).items():
            if not isinstance(value, kinds):
                raise ModelError(
                    f"{key} of {shown(name)} is a {type(value).__name__}; it must be one of "
                    f"{listed(kind.__name__ for kind in kinds)}"
                )


def limits(value: object, what: str) -> Range:
    """A range, infinite sides as None; lower above upper is left for the conflict search."""
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 2:
        raise ModelError(f"{what} is {shown(str(value))}; a range is a lower and an upper value")
    sides: list[float | None] = []
    for side, free in zip(value, (-inf, inf), strict=True):
        if side is None or side == free:
            sides.append(None)
            continue
        if isinstance(side, float) and isnan(side):
            raise ModelError(f"{what} has a limit that is not a number; leave it open with None")
        sides.append(number(side, f"a limit of {what}"))
    return sides[0], sides[1]


def positive(value: object, what: str) -> float:
    """A finite float above zero; raises ModelError that names ``what`` otherwise."""
    out = number(value, what)
    if out <= 0.0:
        raise ModelError(f"{what} is {out:g}; it must be positive")
    return out


def body_parameters(value: object, what: str) -> tuple[float, ...]:
    """Ten finite floats; raises ModelError that names ``what`` otherwise."""
    entries = list(value)  # type: ignore[call-overload]
    if len(entries) != len(PARAMETERS):
        raise ModelError(
            f"{what} has {len(entries)} numbers; it must be the 10 of {listed(PARAMETERS)}"
        )
    return tuple(number(entry, what) for entry in entries)


def names(value: object, what: str) -> tuple[str, ...]:
    """Several names; a single string is refused, since it would be split into letters."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ModelError(f"{what} must be a sequence of names, not {shown(str(value))}")
    return tuple(str(name) for name in value)
