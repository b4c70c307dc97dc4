"""What a joint torque is made of, besides the rigid bodies.

Each term acts along a direction ``d`` in joint space: it sees the speed ``d·v`` and pushes
along ``dᵀ``. A term of a single joint is the case ``d = e_j``; drives that share a wrist
(motor 6 turning with joints 5 and 6) have ``d = e_5 + e_6``. With ``s = d·v``:

    drive_inertia  tau = d · Ia · (d·a)       kg m² (kg along a slide)
    viscous        tau = d · fv · s           N m s/rad (N s/m)
    coulomb        tau = d · fc · sign(s)     N m (N)
    offset         tau = d · fo               N m (N)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from steelyard.errors import ModelError
from steelyard.robot.tree import Robot

KINDS = ("drive_inertia", "viscous", "coulomb", "offset")
SYMBOLS = {"drive_inertia": "Ia", "viscous": "fv", "coulomb": "fc", "offset": "fo"}
_UNITS_TURNING = {
    "drive_inertia": "kg m²",
    "viscous": "N m s/rad",
    "coulomb": "N m",
    "offset": "N m",
}
_UNITS_SLIDING = {"drive_inertia": "kg", "viscous": "N s/m", "coulomb": "N", "offset": "N"}


@dataclass(frozen=True)
class Term:
    """One parameter of the joints: its kind, the direction it acts along, its name.

    direction : (joint name, weight) pairs with non-zero weights.
    owner : the joint, or the name of the coupling, that the column is named after.
    """

    kind: str
    owner: str
    direction: tuple[tuple[str, float], ...]

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ModelError(
                f"'{self.owner}': there is no term '{self.kind}'; the terms are {', '.join(KINDS)}"
            )
        if not self.direction or any(weight == 0.0 for _, weight in self.direction):
            raise ModelError(f"term '{self.name}' needs a direction with non-zero weights")

    @property
    def symbol(self) -> str:
        """Short name of the parameter: Ia, fv, fc or fo."""
        return SYMBOLS[self.kind]

    @property
    def name(self) -> str:
        """Column name, such as ``elbow.fv``."""
        return f"{self.owner}.{self.symbol}"


def joint_term(kind: str, joint: str) -> Term:
    """A term of one joint."""
    return Term(kind, joint, ((joint, 1.0),))


def joint_terms(joints: Iterable[str], kinds: Iterable[str] = KINDS) -> tuple[Term, ...]:
    """Terms of these kinds for every joint named, joint by joint."""
    kinds = tuple(kinds)
    return tuple(joint_term(kind, joint) for joint in joints for kind in kinds)


def coupled_terms(
    name: str, direction: Mapping[str, float], kinds: Iterable[str]
) -> tuple[Term, ...]:
    """Terms along a joint-space direction, named after the coupling."""
    return tuple(Term(kind, name, tuple(direction.items())) for kind in kinds)


def default_terms(robot: Robot) -> tuple[Term, ...]:
    """Drive inertia, viscous and Coulomb friction and an offset for every joint."""
    return joint_terms(robot.joint_names)


def term_unit(robot: Robot, term: Term) -> str:
    """Unit of a term's parameter; sliding where every joint it acts on slides."""
    slides = all(robot.joint(joint).kind == "prismatic" for joint, _ in term.direction)
    return (_UNITS_SLIDING if slides else _UNITS_TURNING)[term.kind]
