"""What a robot file cannot say, in one optional TOML file beside it.

    gravity = [0.0, 9.81, 0.0]            # m/s², in the root link's frame
    floating_base = false
    torque = "motor"                      # or "link": where torque is measured
    terms = ["drive_inertia", "viscous", "coulomb", "offset"]     # of every joint

    [locked]                              # joints that stand still, rad or m
    finger_joint1 = 0.04

    [joint.elbow]                         # limits in rad, m, s, N m, N; terms of this joint
    acceleration = 20.0
    terms = ["viscous", "coulomb"]

    [[coupling]]                          # terms along a direction in joint space
    name = "wrist"
    direction = { joint5 = 1.0, joint6 = 1.0 }
    terms = ["viscous", "coulomb"]

    [motor.m6]                            # motor speed = 32 v5 + 32 v6
    ratio = { joint5 = 32.0, joint6 = 32.0 }
    torque_constant = 0.08                # N m/A

    [constraints]                         # what is known of masses and shapes
    total_mass = [20.0, 27.0]             # kg; see :mod:`steelyard.robot.overlay_constraints`

Every key is optional. The robot's part is applied by :func:`apply_overlay`; the terms
and the constraints are kept as plain data for the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from steelyard.errors import OverlayError
from steelyard.robot.transmission import Motor
from steelyard.robot.tree import Limits, Robot, gravity_vector
from steelyard.wording import did_you_mean, listed, shown, shown_path

if TYPE_CHECKING:
    from steelyard.constraints import Constraints

TERMS = ("drive_inertia", "viscous", "coulomb", "offset")
LIMITS = tuple(entry.name for entry in fields(Limits))
SIDES = ("motor", "link")
Side = Literal["motor", "link"]
EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Coupling:
    """Terms that act along a direction in joint space: speed d·v, force along dᵀ.

    direction : (joint, weight) pairs; terms : names out of ``TERMS``.
    """

    name: str
    direction: tuple[tuple[str, float], ...]
    terms: tuple[str, ...]


@dataclass(frozen=True)
class Overlay:
    """The contents of an overlay; ``None`` and empty where it says nothing.

    gravity : m/s² in the root link's frame. locked : positions in rad or m.
    limits : per joint, only the values that the overlay states.
    default_terms : of every joint that ``joint_terms`` does not name; of every motor that
        ``motor_terms`` does not name, where motors are stated.
    torque, joint_torque : where torque is measured, for the whole robot and by joint.
    motors : with their gears. motor_zeros : joint positions (rad or m) where motors are at zero.
    constraints : what is known of the parameters, beside what physics demands.
    com_boxes : whether centres of mass lie in boxes around the collision geometry.
    """

    gravity: tuple[float, float, float] | None = None
    floating_base: bool | None = None
    locked: Mapping[str, float] = field(default_factory=lambda: EMPTY)
    limits: Mapping[str, Limits] = field(default_factory=lambda: EMPTY)
    default_terms: tuple[str, ...] | None = None
    joint_terms: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: EMPTY)
    couplings: tuple[Coupling, ...] = ()
    source: str | None = None
    constraints: Constraints | None = None
    com_boxes: Literal["collision"] | None = None
    torque: Side | None = None
    joint_torque: Mapping[str, Side] = field(default_factory=lambda: EMPTY)
    motors: tuple[Motor, ...] = ()
    motor_terms: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: EMPTY)
    motor_zeros: Mapping[str, float] = field(default_factory=lambda: EMPTY)

    @property
    def states_terms(self) -> bool:
        """Whether it names terms of joints, motors or couplings."""
        named = self.joint_terms or self.motor_terms or self.couplings
        return self.default_terms is not None or bool(named)

    def side(self, joint: str, stated: Side | None = None) -> Side:
        """Where the torque of this joint is measured; ``stated`` goes before the robot's."""
        return self.joint_torque.get(joint, stated or self.torque or "motor")

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joints that the overlay names, each once."""
        directions = [joint for c in self.couplings for joint, _ in c.direction]
        of_joints = (self.limits, self.joint_terms, self.joint_torque, self.motor_zeros)
        named = [joint for table in of_joints for joint in table]
        return tuple(dict.fromkeys([*self.locked, *named, *directions]))


def read_overlay(path: str | Path) -> Overlay:
    """The overlay in a TOML file; :class:`OverlayError` says which key is wrong."""
    from steelyard.robot.overlay_toml import parse_overlay, read_toml_text

    return parse_overlay(read_toml_text(path), source=str(path))


def apply_overlay(robot: Robot, overlay: Overlay) -> Robot:
    """The robot with the overlay's gravity, base, locked joints, limits and motors.

    Raises :class:`OverlayError` where the overlay names a joint that the robot lacks, gives
    terms to a joint without a coordinate of its own, leaves no room between limits, or states
    motors that cannot drive the joints.
    """
    from steelyard.robot.overlay_motors import transmission_of, unknown_motor_joint

    where = shown_path(overlay.source) if overlay.source else "the overlay"
    moving = {joint.name: joint for joint in robot.moving_joints}
    unknown = [name for name in overlay.joint_names if name not in moving]
    if unknown:
        fixed = {joint.name for joint in robot.joints if not joint.moves}
        why = "is fixed" if unknown[0] in fixed else "the robot does not have"
        raise OverlayError(
            f"{where} names joint {shown(unknown[0])}, which {why}"
            f"{did_you_mean(unknown[0], moving)}; it names {listed(overlay.joint_names)}; "
            f"the moving joints of robot '{robot.name}' are {listed(moving)}"
        )
    unknown_motor_joint(overlay, moving, where)
    in_directions = [joint for c in overlay.couplings for joint, _ in c.direction]
    driven = [joint for motor in overlay.motors for joint in motor.joints]
    for name in [*overlay.locked, *overlay.joint_terms, *in_directions, *driven]:
        mimic = moving[name].mimic
        if mimic is not None:
            raise OverlayError(
                f"{where} locks joint {shown(name)} or gives it terms or a motor, but it only "
                f"follows joint '{mimic.joint}'; name that one"
            )
    for name in [*overlay.joint_terms, *in_directions]:
        if name in overlay.locked:
            raise OverlayError(
                f"{where} locks joint {shown(name)} and gives it terms; it can do one"
            )
    for coupling in overlay.couplings:
        if coupling.name in moving:
            raise OverlayError(
                f"{where}: coupling {shown(coupling.name)} has the name of a joint; rename it"
            )
    joints = tuple(
        replace(joint, limits=_merged(joint.limits, overlay.limits[joint.name], joint.name, where))
        if joint.name in overlay.limits
        else joint
        for joint in robot.joints
    )
    changed = replace(
        robot,
        joints=joints,
        gravity=robot.gravity if overlay.gravity is None else gravity_vector(overlay.gravity),
        floating_base=(
            robot.floating_base if overlay.floating_base is None else overlay.floating_base
        ),
    )
    if overlay.locked:
        changed = changed.lock(overlay.locked)
    # motors that were stated before stay, unless they are stated anew
    transmission = transmission_of(changed, overlay, where)
    return changed if transmission is None else replace(changed, transmission=transmission)


def _merged(stated: Limits, given: Limits, joint: str, where: str) -> Limits:
    """The file's limits with the overlay's in their place."""
    said = {key: getattr(given, key) for key in LIMITS if getattr(given, key) is not None}
    merged = replace(stated, **said)
    if merged.lower is not None and merged.upper is not None and merged.lower > merged.upper:
        raise OverlayError(
            f"{where}: joint {shown(joint)} would have its lower limit {merged.lower} above its "
            f"upper limit {merged.upper}"
        )
    return merged
