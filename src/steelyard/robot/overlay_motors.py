"""Motors in an overlay: their TOML, and what must fit the robot."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from steelyard.errors import OverlayError
from steelyard.robot.overlay_values import key_name, known_keys, number_of, table_of, text_of
from steelyard.robot.transmission import MAX_MOTORS, Motor, Transmission, transmission_fault
from steelyard.robot.tree import Robot
from steelyard.wording import did_you_mean, listed, shown

if TYPE_CHECKING:
    from steelyard.robot.overlay import Overlay

MOTOR_KEYS = ("ratio", "torque_constant", "gain", "terms")


def motors_of(value: object) -> tuple[Motor, ...]:
    """The ``[motor.NAME]`` tables, without their terms.

    A motor without ``ratio`` bears the name of the joint that it drives, seen from that joint.
    """
    tables = table_of(value, "motor")
    if len(tables) > MAX_MOTORS:
        raise OverlayError(f"there are {len(tables)} motors; at most {MAX_MOTORS} are read")
    motors = []
    for name, entry in tables.items():
        path = f"motor.{key_name(name)}"
        text_of(name, path)
        values = table_of(entry, path)
        known_keys(values, MOTOR_KEYS, path)
        ratio: tuple[tuple[str, float], ...] = ((name, 1.0),)
        if "ratio" in values:
            ratio = tuple(
                (joint, _not_zero(weight, f"{path}.ratio.{key_name(joint)}"))
                for joint, weight in table_of(values["ratio"], f"{path}.ratio").items()
            )
        if not ratio:
            raise OverlayError(f"key {path}.ratio is empty; name the joints that it drives")
        constant = None
        if "torque_constant" in values:
            constant = _not_zero(values["torque_constant"], f"{path}.torque_constant")
        gain = _not_zero(values["gain"], f"{path}.gain") if "gain" in values else 1.0
        if gain < 0.0:
            raise OverlayError(
                f"key {path}.gain is {gain}; it must be positive: a reversed motor has a "
                "negative ratio"
            )
        motors.append(Motor(name, ratio, constant, gain))
    return tuple(motors)


def _not_zero(value: object, path: str) -> float:
    number = number_of(value, path)
    if not 1e-12 <= abs(number) <= 1e12:
        raise OverlayError(
            f"key {path} is {number}; it must be a number from 1e-12 to 1e12 in size"
        )
    return number


def transmission_of(robot: Robot, overlay: Overlay, where: str) -> Transmission | None:
    """The overlay's motors, checked against a robot whose locked joints are fixed already.

    Joints that do not exist were refused before.
    """
    link_side = tuple(joint for joint in robot.joint_names if overlay.side(joint) == "link")
    if not overlay.motors:
        for joint in overlay.motor_zeros:
            raise OverlayError(
                f"{where}: joint {shown(joint)} has a motor_zero, but no motor is stated"
            )
        return None
    motors = []
    for motor in overlay.motors:
        gone = [joint for joint in motor.joints if joint not in robot.joint_names]
        if len(gone) == len(motor.joints):
            continue  # a locked joint needs no motor
        if gone:
            raise OverlayError(
                f"{where}: motor {shown(motor.name)} drives {listed(motor.joints)}, of which "
                f"{listed(gone)} is locked; leave it out of the motor's ratio"
            )
        motors.append(motor)
    _check_names(robot, overlay, motors, where)
    transmission = Transmission(
        tuple(motors), MappingProxyType(dict(overlay.motor_zeros)), link_side
    )
    fault = transmission_fault(transmission, robot.joint_names)
    if fault is not None:
        raise OverlayError(f"{where}: {fault}")
    return transmission


def _check_names(robot: Robot, overlay: Overlay, motors: list[Motor], where: str) -> None:
    """A motor with a joint's name is that joint's own drive; no coupling is named like one."""
    couplings = {coupling.name for coupling in overlay.couplings}
    joints = {joint.name for joint in robot.joints}
    for motor in motors:
        if motor.name in couplings:
            raise OverlayError(
                f"{where}: a motor and a coupling are named {shown(motor.name)}; rename one"
            )
        if motor.name not in joints:
            continue
        if motor.ratio != ((motor.name, 1.0),):
            raise OverlayError(
                f"{where}: motor {shown(motor.name)} has the name of a joint, so that its columns "
                "in a log could be the joint's; rename it, or leave its ratio out"
            )
        if motor.name in overlay.motor_terms and motor.name in overlay.joint_terms:
            raise OverlayError(
                f"{where}: motor and joint {shown(motor.name)} are one, and both have terms; "
                "state them once"
            )
        if motor.name in overlay.motor_zeros:
            raise OverlayError(
                f"{where}: joint {shown(motor.name)} has a motor_zero, but its motor is recorded "
                "as the joint itself"
            )


def unknown_motor_joint(overlay: Overlay, moving: Mapping[str, object], where: str) -> None:
    """Refuse a motor whose ratio names a joint that does not move, saying which motor."""
    for motor in overlay.motors:
        for joint in motor.joints:
            if joint in moving:
                continue
            meant = (
                "; a motor without a ratio bears the name of the joint that it drives"
                if motor.ratio == ((motor.name, 1.0),)
                else ""
            )
            raise OverlayError(
                f"{where}: motor {shown(motor.name)} drives {shown(joint)}, which is no moving "
                f"joint{did_you_mean(joint, moving)}{meant}; the moving joints are {listed(moving)}"
            )
