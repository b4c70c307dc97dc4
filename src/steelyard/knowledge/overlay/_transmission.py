"""The motors of an overlay, checked against the robot that they drive."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard._files.frozen_mapping import frozen_mapping
from steelyard.errors import OverlayError, did_you_mean, listed, shown
from steelyard.knowledge.overlay.overlay import Overlay
from steelyard.robot.robot import Robot
from steelyard.robot.transmission import Motor, Transmission, transmission_fault


def transmission_of(robot: Robot, overlay: Overlay, where: str) -> Transmission | None:
    """The overlay's motors, checked against a robot whose locked joints are fixed already.

    The caller has already refused joints that do not exist.
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
        locked = [joint for joint in motor.joints if joint not in robot.joint_names]
        if len(locked) == len(motor.joints):
            continue  # a locked joint needs no motor
        if locked:
            raise OverlayError(
                f"{where}: motor {shown(motor.name)} drives {listed(motor.joints)}, of which "
                f"{listed(locked)} is locked; leave it out of the motor's ratio"
            )
        motors.append(motor)
    _check_names(robot, overlay, motors, where)
    transmission = Transmission(tuple(motors), frozen_mapping(overlay.motor_zeros), link_side)
    fault = transmission_fault(transmission, robot.joint_names)
    if fault is not None:
        raise OverlayError(f"{where}: {fault}")
    return transmission


def _check_names(robot: Robot, overlay: Overlay, motors: list[Motor], where: str) -> None:
    """A motor with a joint's name must drive that joint alone, and differ from all couplings."""
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
                "in a log could be the joint's; rename it, or leave out its ratio"
            )
        if motor.name in overlay.motor_terms and motor.name in overlay.joint_terms:
            raise OverlayError(
                f"{where}: motor {shown(motor.name)} drives the joint of the same name, and both "
                "have terms; state them once"
            )
        if motor.name in overlay.motor_zeros:
            raise OverlayError(
                f"{where}: joint {shown(motor.name)} has a motor_zero, but its motor is recorded "
                "as the joint itself"
            )


def unknown_motor_joint(overlay: Overlay, moving: Mapping[str, object], where: str) -> None:
    """Refuse a motor whose ratio names a joint that does not move, naming the motor."""
    for motor in overlay.motors:
        for joint in motor.joints:
            if joint in moving:
                continue
            hint = (
                "; a motor without a ratio must have the name of the joint that it drives"
                if motor.ratio == ((motor.name, 1.0),)
                else ""
            )
            raise OverlayError(
                f"{where}: motor {shown(motor.name)} drives {shown(joint)}, which is no moving "
                f"joint{did_you_mean(joint, moving)}{hint}; the moving joints are {listed(moving)}"
            )
