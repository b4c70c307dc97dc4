"""What each condition on the parameters states, as data; ``words`` makes the sentence to show.

A statement names the bodies (``owners``) and the parameters that it is about. Code decides by its
class and its fields, never by its words: which parameters an active condition marks as at the
boundary, and which conditions explain a conflict (those of the user before implied ones).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from steelyard.errors import listed, quoted_list

Relation = Literal["is", "is at least", "is at most"]
LONGEST_TYPED = 15
"""Characters of a number above which nobody typed it."""


@dataclass(frozen=True)
class _OfBody:
    """A statement or quantity about one body."""

    body: str

    @property
    def owners(self) -> tuple[str, ...]:
        """The body."""
        return (self.body,)

    @property
    def parameters(self) -> tuple[str, ...]:
        """None by name: it is about the body as a whole."""
        return ()


@dataclass(frozen=True)
class _OfBodies:
    """A quantity of several bodies."""

    bodies: tuple[str, ...]

    @property
    def owners(self) -> tuple[str, ...]:
        """The bodies."""
        return self.bodies

    @property
    def parameters(self) -> tuple[str, ...]:
        """None by name: it is about the bodies as a whole."""
        return ()


# Quantities that can have limits.


@dataclass(frozen=True)
class Parameter:
    """One parameter of the model, by its column name."""

    name: str

    @property
    def owners(self) -> tuple[str, ...]:
        """None: other parameters of the same body or joint are not concerned."""
        return ()

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameter."""
        return (self.name,)

    @property
    def words(self) -> str:
        """The quantity as messages show it."""
        return f"'{self.name}'"


@dataclass(frozen=True)
class Mass(_OfBody):
    """The mass of a body (kg)."""

    @property
    def words(self) -> str:
        """The quantity as messages show it."""
        return f"the mass of '{self.body}'"


@dataclass(frozen=True)
class MassTogether(_OfBodies):
    """The sum of the masses of some bodies (kg)."""

    @property
    def words(self) -> str:
        """The quantity as messages show it."""
        return f"the mass of {listed(self.bodies)} together"


@dataclass(frozen=True)
class TotalMass(_OfBodies):
    """The sum of the masses of all moving bodies (kg)."""

    @property
    def words(self) -> str:
        """The quantity as messages show it."""
        return "the total mass"


@dataclass(frozen=True)
class SecondMoment(_OfBody):
    """The trace of a body's pseudo-inertia (kg + kg m²), for which the user stated a bound."""

    @property
    def words(self) -> str:
        """The quantity as messages show it."""
        return f"the second moment of '{self.body}'"


@dataclass(frozen=True)
class DefaultBound(_OfBody):
    """Mass and second moment over a length, m + trace(Sigma) / length² (kg).

    Its bound is the default one, far above any real link; the user did not state it.
    """

    length_m: float

    @property
    def words(self) -> str:
        """The quantity as messages show it."""
        return (
            f"the mass and the second moment over {self.length_m:.3g} m of '{self.body}' together"
        )


Quantity = Parameter | Mass | MassTogether | TotalMass | SecondMoment | DefaultBound


# Statements.


@dataclass(frozen=True)
class Limit:
    """A quantity has a value, or a limit on one side."""

    quantity: Quantity
    relation: Relation
    value: float

    @property
    def owners(self) -> tuple[str, ...]:
        """The bodies that the quantity belongs to."""
        return self.quantity.owners

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameters that the quantity is."""
        return self.quantity.parameters

    @property
    def words(self) -> str:
        """The condition in words."""
        return f"{self.quantity.words} {self.relation} {shown_number(self.value)}"


@dataclass(frozen=True)
class FixedCopy:
    """A parameter is fixed, and with it the same parameter of a copy of its body."""

    known: Limit
    copy: str
    value: float

    @property
    def owners(self) -> tuple[str, ...]:
        """None: other parameters of the two bodies are not concerned."""
        return ()

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameter and its copy."""
        return (*self.known.parameters, self.copy)

    @property
    def words(self) -> str:
        """The condition in words."""
        return f"{self.known.words}, so that its copy '{self.copy}' is {shown_number(self.value)}"


@dataclass(frozen=True)
class Physical(_OfBody):
    """A body is physically consistent."""

    @property
    def words(self) -> str:
        """The condition in words."""
        return f"'{self.body}' is physical"


@dataclass(frozen=True)
class RestPhysical(_OfBody):
    """A body minus its known part is physically consistent."""

    @property
    def words(self) -> str:
        """The condition in words."""
        return f"the unknown rest of '{self.body}' is physical"


@dataclass(frozen=True)
class AttachedRest(_OfBody):
    """A body is physical without the links that keep the inertials of the robot file.

    kept : these links. mass : theirs together, in the file (kg).
    """

    kept: tuple[str, ...]
    mass: float

    @property
    def words(self) -> str:
        """The condition in words."""
        return (
            f"'{self.body}' without {quoted_list(self.kept)} ({self.mass:.4g} kg in the robot "
            "file) is physical"
        )


@dataclass(frozen=True)
class Massless(_OfBody):
    """All ten parameters of a body are zero."""

    @property
    def words(self) -> str:
        """The condition in words."""
        return f"'{self.body}' is massless"


@dataclass(frozen=True)
class HasMass(_OfBody):
    """A body has some mass."""

    @property
    def words(self) -> str:
        """The condition in words."""
        return f"'{self.body}' has mass"


@dataclass(frozen=True)
class CentreInside(_OfBody):
    """The centre of mass of a body is in a region; region : such as "box along x"."""

    region: str

    @property
    def words(self) -> str:
        """The condition in words."""
        return f"the centre of mass of '{self.body}' is in its {self.region}"


@dataclass(frozen=True)
class MassInside(_OfBody):
    """All mass of a body is in a region; for a box only a necessary condition."""

    region: Literal["ellipsoid", "box"]

    @property
    def words(self) -> str:
        """The condition in words."""
        if self.region == "ellipsoid":
            return f"the mass of '{self.body}' is inside its ellipsoid"
        return f"the mass of '{self.body}' can be inside its box (a necessary condition)"


@dataclass(frozen=True)
class Symmetric(_OfBody):
    """A body is symmetric about the plane ``axis`` = ``offset`` (m)."""

    axis: str
    offset: float

    @property
    def words(self) -> str:
        """The condition in words."""
        return f"'{self.body}' is symmetric about {self.axis} = {self.offset:g}"


@dataclass(frozen=True)
class Copies:
    """Two bodies have the same parameters, or are mirror images."""

    one: str
    other: str
    mirrored: bool

    @property
    def owners(self) -> tuple[str, ...]:
        """The two bodies."""
        return (self.one, self.other)

    @property
    def parameters(self) -> tuple[str, ...]:
        """None by name: it is about the bodies as a whole."""
        return ()

    @property
    def words(self) -> str:
        """The condition in words."""
        same = "mirror images" if self.mirrored else "equal"
        return f"'{self.one}' and '{self.other}' are {same}"


def shown_number(value: float) -> str:
    """A number as it was probably typed; of a computed one, with many digits, the first six."""
    short = f"{value:g}"
    exact = repr(float(value))
    return short if float(short) == value or len(exact) > LONGEST_TYPED else exact
