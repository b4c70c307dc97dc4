"""The overlay: one optional TOML file with what a robot file cannot state.

    gravity = [0.0, 9.81, 0.0]            # m/s², in the root link's frame
    floating_base = false
    torque = "motor"                      # or "link": where torque is measured
    terms = ["drive_inertia", "viscous", "coulomb", "offset"]     # of every joint

    [locked]                              # joints that do not move: position, rad or m
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
    total_mass = [20.0, 27.0]             # kg; docs/constraints.md has all keys

Every key is optional. :func:`apply_overlay` applies the keys that change the robot; the terms
and the constraints are kept as data for the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from steelyard._files.frozen_mapping import frozen_mapping
from steelyard.knowledge.constraints import Constraints
from steelyard.model.term_kinds import Side
from steelyard.robot.parts import Limits
from steelyard.robot.transmission import Motor

LIMITS = tuple(entry.name for entry in fields(Limits))
EMPTY: Mapping[str, Any] = frozen_mapping({})


@dataclass(frozen=True)
class Coupling:
    """Terms that act along a direction in joint space: speed d·v, force along dᵀ.

    direction : (joint, weight) pairs; terms : names of `steelyard.model.term_kinds`.
    """

    name: str
    direction: tuple[tuple[str, float], ...]
    terms: tuple[str, ...]


@dataclass(frozen=True)
class Overlay:
    """The contents of an overlay; ``None`` or empty for keys that are not given.

    gravity : m/s² in the root link's frame. locked : positions in rad or m.
    limits : per joint, only the values that the overlay states.
    default_terms : of every joint that ``joint_terms`` does not name or, with motors, of every
        motor that ``motor_terms`` does not name.
    torque, joint_torque : where torque is measured, for the whole robot and by joint.
    motors : with their gears. motor_zeros : joint positions (rad or m) at which motors read zero.
    constraints : what is known of the parameters, besides physical consistency.
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
        """Where the torque of this joint is measured; ``stated`` replaces the robot's value."""
        return self.joint_torque.get(joint, stated or self.torque or "motor")

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joints that the overlay names, each once."""
        directions = [joint for c in self.couplings for joint, _ in c.direction]
        of_joints = (self.limits, self.joint_terms, self.joint_torque, self.motor_zeros)
        named = [joint for table in of_joints for joint in table]
        return tuple(dict.fromkeys([*self.locked, *named, *directions]))
