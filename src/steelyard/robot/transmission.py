"""Motors and the gears between them and the joints: motor speeds = T × joint speeds.

    v_motor = T v,      tau = Tᵀ tau_motor,      tau_motor = gain · constant · current

T (n_motors, n_joints) holds gear ratios; it is diagonal where each motor turns one joint, and
has more entries where drives are coupled (Gautier and Venture 2013, eqs 5, 34). The torque of a
motor's rotor inertia and friction acts along its row of T. That row is divided by its largest
entry, so that parameters refer to the joint of that entry: with ratio N, a rotor of inertia J
has the parameter Ia = N² J.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from steelyard._files.frozen_mapping import frozen_mapping
from steelyard.errors import RobotError, listed

Array = NDArray[np.float64]

SINGULAR = 1e-9
"""T is singular (some motion turns no motor) below this ratio of smallest to largest singular
value."""
MAX_CONDITION = 1e4
"""Largest plausible condition number of T, its rows and columns scaled to one."""
MAX_MOTORS = 1000


@dataclass(frozen=True)
class Motor:
    """A motor and its gears.

    ratio : (joint, motor speed per joint speed) pairs, none zero; rad/m for a sliding joint.
    torque_constant : N m/A (N/A for a linear motor); None where it is not known.
    gain : correction of the recorded torque or current; the torque is ``gain`` times it.
    """

    name: str
    ratio: tuple[tuple[str, float], ...]
    torque_constant: float | None = None
    gain: float = 1.0

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints that it drives."""
        return tuple(joint for joint, _ in self.ratio)

    @property
    def reference(self) -> float:
        """The ratio that its row of T is divided by: the first of largest absolute value."""
        return max((ratio for _, ratio in self.ratio), key=abs)

    @property
    def direction(self) -> tuple[tuple[str, float], ...]:
        """Its row of T over ``reference``: the joint-space direction that its terms act along."""
        return tuple((joint, ratio / self.reference) for joint, ratio in self.ratio)


@dataclass(frozen=True)
class Transmission:
    """The motors of a robot.

    zeros : joint -> position (rad or m) at which its motors are at zero.
    link_side : joints whose torque is measured on the link side of the gears, not at the motors.
    """

    motors: tuple[Motor, ...]
    zeros: Mapping[str, float] = field(default_factory=lambda: frozen_mapping({}))
    link_side: tuple[str, ...] = ()

    @property
    def motor_names(self) -> tuple[str, ...]:
        """Names of the motors, in the order of the rows of T."""
        return tuple(motor.name for motor in self.motors)

    @property
    def couples(self) -> bool:
        """Whether a motor turns several joints."""
        return any(len(motor.ratio) > 1 for motor in self.motors)

    def driving(self, joint: str) -> tuple[Motor, ...]:
        """The motors that drive this joint."""
        return tuple(motor for motor in self.motors if joint in motor.joints)

    def matrix(self, joints: Sequence[str]) -> Array:
        """T (n_motors, n_joints) for joints in this order."""
        T = np.zeros((len(self.motors), len(joints)))
        column = {joint: k for k, joint in enumerate(joints)}
        for row, motor in enumerate(self.motors):
            for joint, ratio in motor.ratio:
                if joint in column:
                    T[row, column[joint]] = ratio
        return T

    def to_joints(self, joints: Sequence[str]) -> Array:
        """T⁺ (n_joints, n_motors): joint speeds from motor speeds, with exact zeros."""
        inverse = np.linalg.pinv(self.matrix(joints))
        # entry (j, m) has the unit of 1 / T[m, j]: rounding errors are judged in that unit
        row = np.abs(inverse).max(axis=1, keepdims=True)
        column = np.abs(inverse).max(axis=0, keepdims=True)
        return np.where(np.abs(inverse) > 1e-12 * np.minimum(row, column), inverse, 0.0)


def without_joints(transmission: Transmission, locked: Collection[str]) -> Transmission | None:
    """The transmission of a robot whose joints ``locked`` no longer move; None if no motor is left.

    A motor that drives locked joints only is left out. One that drives others too is refused.
    """
    motors = []
    for motor in transmission.motors:
        still = [joint for joint in motor.joints if joint in locked]
        if still and len(still) < len(motor.joints):
            raise RobotError(
                f"joint '{still[0]}' cannot be locked alone: motor '{motor.name}' drives "
                f"{listed(motor.joints)}; leave the joint out of the motor's ratio"
            )
        if not still:
            motors.append(motor)
    if not motors:
        return None
    return replace(
        transmission,
        motors=tuple(motors),
        zeros=frozen_mapping({j: q for j, q in transmission.zeros.items() if j not in locked}),
        link_side=tuple(joint for joint in transmission.link_side if joint not in locked),
    )


def transmission_fault(transmission: Transmission, joints: Iterable[str]) -> str | None:
    """Why these motors cannot drive these joints, as a sentence; None if they can."""
    joints = tuple(joints)
    T = transmission.matrix(joints)
    undriven = [joint for joint, column in zip(joints, T.T, strict=True) if not column.any()]
    if undriven:
        return (
            f"no motor drives joint {listed(undriven)}; where motors are stated, each joint that "
            f"moves needs one: the motors are {listed(transmission.motor_names)}"
        )
    if len(T) < len(joints):
        return f"{len(T)} motors cannot drive {len(joints)} joints: {listed(joints)}"
    scaled = T / np.linalg.norm(T, axis=1, keepdims=True)
    size = np.linalg.norm(scaled, axis=0)
    _, sizes, motions = np.linalg.svd(scaled / size)
    if sizes[-1] <= SINGULAR * sizes[0]:
        motion = motions[-1] / size
        motion = motion / motion[int(np.argmax(np.abs(motion)))]
        moved = [(joint, x) for joint, x in zip(joints, motion, strict=True) if abs(x) > 1e-6]
        affected = [
            motor.name
            for motor in transmission.motors
            if any(joint in motor.joints for joint, _ in moved)
        ]
        return (
            f"the transmission is singular: moving {listed(f'{j} by {x:.4g}' for j, x in moved)} "
            f"turns no motor; correct the ratios of motors {listed(affected)}"
        )
    condition = float(sizes[0] / sizes[-1])
    if condition > MAX_CONDITION:
        worst = [
            joint
            for joint, x in zip(joints, motions[-1], strict=True)
            if abs(x) > 0.1 * np.abs(motions[-1]).max()
        ]
        return (
            f"the transmission is nearly singular: its condition number is {condition:.3g}, rows "
            f"and columns scaled to one (at most {MAX_CONDITION:g}); check the ratios of "
            f"{listed(worst)}"
        )
    return None
