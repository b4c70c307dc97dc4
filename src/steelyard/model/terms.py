"""The terms of joint torques besides the rigid bodies: drive inertia, friction, offsets.

Each term acts along a direction ``d`` in joint space: its speed is ``d·v`` and its torque acts
along ``d``. A term of a single joint is the case ``d = e_j``; the coupled drive of a wrist
(motor 6 turning with joints 5 and 6) has ``d = e_5 + e_6``. The kinds of terms, with their laws
and units, are in `steelyard.model.term_kinds`.

Which terms a joint has depends on where its torque is measured. Torque at the motor (currents)
includes rotor inertia and all friction; a sensor on the link side of the gears measures neither,
only friction between it and the link.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.errors import ModelError
from steelyard.model.term_kinds import SIDES, TERM_NAMES, Side, TermKind, default_kinds, term_kind
from steelyard.robot.robot import Robot

USUAL_STRIBECK_SPEED = 0.1
"""Speed v_s (rad/s or m/s) of Stribeck friction that is stated without one."""
N_PARAMETERS = 10


@dataclass(frozen=True)
class Term:
    """One parameter of the joints: its kind, the direction it acts along, its name.

    direction : (joint name, weight) pairs with non-zero weights.
    owner : the joint, motor or coupling that the column is named after.
    width : speed (rad/s or m/s) within which a straight line replaces the jump of a term that
        jumps at zero speed: its law is then clip(s / width, -1, 1); 0 for sign(s).
    travel : distance (rad or m) over which friction that jumps builds up after a change of
        direction, dF/dx = (F_c sign(s) - F) / travel (Dahl 1968); 0 for a jump.
    speed : v_s (rad/s or m/s), which shapes Stribeck friction.
    load : (body, its ten inertial parameters) of the bodies whose weight and inertia the gears
        carry, of load-dependent friction; a model fills in those of its robot's file.
    """

    kind: str
    owner: str
    direction: tuple[tuple[str, float], ...]
    width: float = 0.0
    travel: float = 0.0
    speed: float = 0.0
    load: tuple[tuple[str, tuple[float, ...]], ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in TERM_NAMES:
            raise ModelError(
                f"'{self.owner}': there is no term '{self.kind}'; the terms are "
                f"{', '.join(TERM_NAMES)}"
            )
        if not self.direction or any(weight == 0.0 for _, weight in self.direction):
            raise ModelError(f"term '{self.name}' needs a direction with non-zero weights")
        if not 0.0 <= self.width < float("inf"):
            raise ModelError(f"term '{self.name}' has the width {self.width!r}; it must be >= 0")
        if self.width and not self.term_kind.jumps_at_zero_speed:
            raise ModelError(
                f"term '{self.name}' has a width, but {self.term_kind.description} does not jump "
                "at zero speed"
            )
        self._check_shape()
        for joint, weight in self.direction:
            if not 1e-9 <= abs(weight) <= 1e9:
                raise ModelError(
                    f"term '{self.name}' has the weight {weight:g} for '{joint}'; weights are "
                    "between 1e-9 and 1e9 in size"
                )

    def _check_shape(self) -> None:
        kind = self.term_kind
        if not 0.0 <= self.travel < float("inf"):
            raise ModelError(f"term '{self.name}' has the travel {self.travel!r}; it must be >= 0")
        if self.travel and (self.width or not kind.jumps_at_zero_speed):
            why = "has a width too" if self.width else f"is {kind.description}, which does not jump"
            raise ModelError(
                f"term '{self.name}' has a travel, but {why}: friction that jumps at zero speed "
                "has a width, or a travel, or neither"
            )
        if kind.has_speed != (0.0 < self.speed < float("inf")):
            raise ModelError(
                f"term '{self.name}' has the speed {self.speed!r}; "
                + ("it must be > 0" if kind.has_speed else f"{kind.description} has none")
            )
        if self.load and kind.response != "load":
            raise ModelError(f"term '{self.name}' has a load, but {kind.description} has none")

    @property
    def term_kind(self) -> TermKind:
        """Properties of its kind: units, law, sign and so on."""
        return term_kind(self.kind)

    @property
    def symbol(self) -> str:
        """Short name of the parameter, such as fv."""
        return self.term_kind.symbol

    @property
    def name(self) -> str:
        """Column name, such as ``elbow.fv``."""
        return f"{self.owner}.{self.symbol}"


def term_document(term: Term) -> dict[str, Any]:
    """A term as plain data, for result files and certificates."""
    numbers = {"width": term.width, "travel": term.travel, "speed": term.speed}
    load = {"load": {body: list(phi) for body, phi in term.load}} if term.load else {}
    return {
        "kind": term.kind,
        "owner": term.owner,
        "direction": dict(term.direction),
        **{name: value for name, value in numbers.items() if value},
        **load,
    }


def term_from(entry: Mapping[str, Any]) -> Term:
    """The term that :func:`term_document` described; KeyError and the like for anything else."""
    if entry["kind"] not in TERM_NAMES:
        raise ValueError(f"there is no term '{entry['kind']}'")
    direction = tuple((str(j), float(w)) for j, w in entry["direction"].items())
    width, travel, speed = (float(entry.get(name, 0.0)) for name in ("width", "travel", "speed"))
    load = tuple(
        (str(body), tuple(float(x) for x in phi)) for body, phi in entry.get("load", {}).items()
    )
    if any(len(phi) != N_PARAMETERS for _, phi in load):
        raise ValueError("a load states ten inertial parameters of each body")
    return Term(entry["kind"], str(entry["owner"]), direction, width, travel, speed, load)


def joint_term(kind: str, joint: str) -> Term:
    """A term of one joint; Stribeck friction with `USUAL_STRIBECK_SPEED`."""
    return Term(kind, joint, ((joint, 1.0),), speed=_usual_speed(kind))


def _usual_speed(kind: str) -> float:
    return USUAL_STRIBECK_SPEED if kind in TERM_NAMES and term_kind(kind).has_speed else 0.0


def joint_terms(joints: Iterable[str], kinds: Iterable[str] | None = None) -> tuple[Term, ...]:
    """Terms of these kinds for every joint named, joint by joint.

    kinds : by default those of a joint whose torque is measured at its motor.
    """
    kinds = default_kinds("motor") if kinds is None else tuple(kinds)
    return tuple(joint_term(kind, joint) for joint in joints for kind in kinds)


def coupled_terms(
    name: str, direction: Mapping[str, float], kinds: Iterable[str]
) -> tuple[Term, ...]:
    """Terms along a joint-space direction, named after the coupling."""
    pairs = tuple(direction.items())
    return tuple(Term(kind, name, pairs, speed=_usual_speed(kind)) for kind in kinds)


def default_terms(robot: Robot, torque: Side | Mapping[str, Side] = "motor") -> tuple[Term, ...]:
    """Terms of every joint, by where its torque is measured.

    torque : "motor" for drive inertia, viscous and Coulomb friction and an offset; "link" for
        Coulomb friction and an offset; one for all, or by joint ("motor" where it is not named).

    Where the robot has a transmission, the terms on the motor side are those of its motors.
    """
    return terms_of(robot, torque, {}, {}, None)


def terms_of(
    robot: Robot,
    torque: Side | Mapping[str, Side],
    joint_kinds: Mapping[str, tuple[str, ...]],
    motor_kinds: Mapping[str, tuple[str, ...]],
    usual: tuple[str, ...] | None,
) -> tuple[Term, ...]:
    """Terms of the joints, then of the motors.

    joint_kinds, motor_kinds : kinds of terms of those that are named.
    usual : kinds of all others; None for the defaults of the side where torque is measured.
    """
    for name in () if isinstance(torque, str) else torque:
        robot.joint(name)
    sides: dict[str, Side] = {
        joint: torque if isinstance(torque, str) else torque.get(joint, "motor")
        for joint in robot.joint_names
    }
    unknown = [side for side in sides.values() if side not in SIDES]
    if unknown:
        raise ModelError(f"torque is measured at '{unknown[0]}'; it can be at {' or '.join(SIDES)}")
    motors = () if robot.transmission is None else robot.transmission.motors
    own_drives = {motor.name for motor in motors} & set(sides)
    terms: list[Term] = []
    for joint, side in sides.items():
        kinds = joint_kinds.get(joint)
        if kinds is None and joint in own_drives:
            kinds = motor_kinds.get(joint)
        if kinds is None:
            kinds = default_kinds(side) if usual is None else usual
            if motors and side == "motor" and joint not in own_drives:
                kinds = ()  # these terms belong to the motors
        terms.extend(joint_terms([joint], kinds))
    for motor in motors:
        if motor.name in own_drives:
            continue
        kinds = motor_kinds.get(motor.name)
        if kinds is None:
            at = {sides[joint] for joint in motor.joints}
            if len(at) > 1:
                raise ModelError(
                    f"motor '{motor.name}' drives {', '.join(motor.joints)}, whose torques are "
                    "measured on different sides of the gears; state the terms of this motor"
                )
            stated = default_kinds("motor") if usual is None else usual
            kinds = () if at == {"link"} else stated
        terms.extend(
            Term(kind, motor.name, motor.direction, speed=_usual_speed(kind)) for kind in kinds
        )
    return tuple(terms)


def term_unit(robot: Robot, term: Term) -> str:
    """Unit of a term's parameter; that of prismatic joints if all joints it acts on are."""
    slides = all(robot.joint(joint).kind == "prismatic" for joint, _ in term.direction)
    return term.term_kind.unit(slides=slides)
