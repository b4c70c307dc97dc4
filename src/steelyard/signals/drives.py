"""Signals of joints from those of motors: gears, torque constants, drive gains.

With T of the robot's transmission (motor speeds = T × joint speeds):

    tau = Tᵀ tau_motor,   tau_motor = gain · torque  or  gain · constant · current,
    q = T⁻¹ q_motor + zero,   v = T⁻¹ v_motor,   a = T⁻¹ a_motor

A joint that has a column of its own keeps it. A sample that is missing for a motor is missing for
every joint that is computed from this motor.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError, listed
from steelyard.logs.columns import SLIDING_UNITS, TURNING_UNITS
from steelyard.logs.log import Log
from steelyard.logs.suggestions import suggestion
from steelyard.robot.robot import Robot
from steelyard.robot.transmission import Motor, Transmission

Array = NDArray[np.float64]

KINEMATIC = ("position", "velocity", "acceleration")
UNITS = {
    "position": ("rad", "m"),
    "velocity": ("rad/s", "m/s"),
    "acceleration": ("rad/s^2", "m/s^2"),
    "torque": ("N*m", "N"),
}


def joint_side(log: Log, robot: Robot, *, torques: bool = True) -> tuple[Log, dict[str, str]]:
    """The log with signals of joints in place of those of motors, and where each comes from.

    The second maps "joint.quantity" to a text such as ``32 × m6.position``, for those that are
    computed; it is empty where all signals of the log are those of joints.
    torques : whether torques are needed, too.
    """
    transmission = robot.transmission
    if transmission is None and not torques:
        return log, {}
    if transmission is None:
        _refuse_currents(log, robot)
        return log, {}
    for motor in transmission.motors:
        _check_units(log, robot, motor)
    signals, units = dict(log.signals), dict(log.units)
    sources: dict[str, str] = {}
    found = _kinematics(log, robot, transmission)
    if torques:
        found |= _torques(log, robot, transmission)
    for (joint, quantity), (values, words) in found.items():
        signals[joint, quantity] = values
        slides = robot.joint(joint).kind == "prismatic"
        units[joint, quantity] = UNITS[quantity][slides]
        sources[f"{joint}.{quantity}"] = words
    for motor in transmission.motors:
        if motor.name not in robot.joint_names:
            for quantity in log.quantities(motor.name):
                del signals[motor.name, quantity]
                units.pop((motor.name, quantity), None)
    return replace(log, signals=signals, units=units), sources


def _refuse_currents(log: Log, robot: Robot) -> None:
    """Refuse currents without torques, where the robot has no transmission to convert them."""
    for joint in robot.joint_names:
        quantities = log.quantities(joint)
        if "torque" in quantities:
            continue
        if "current" in quantities:
            raise LogError(
                f"log '{log.name}' has the current of joint '{joint}', but no torque; a current "
                f"needs a torque constant: state [motor.{joint}] with torque_constant (N m/A at "
                "the joint) in the overlay"
            )
        others = [name for name in log.joints if name not in robot.joint_names]
        motors = [name for name in others if "current" in log.quantities(name)]
        if motors:
            raise LogError(
                f"log '{log.name}' has no torque of joint '{joint}', but currents of "
                f"{listed(motors)}; if these are motors, state them with their gear ratios in the "
                f"overlay: [motor.{motors[0]}] with ratio = {{ joint = number }}"
            )


def _check_units(log: Log, robot: Robot, motor: Motor) -> None:
    """Refuse units that do not fit: a motor turns, unless every joint that it drives slides."""
    if all(robot.joint(joint).kind == "prismatic" for joint in motor.joints):
        fitting = SLIDING_UNITS | TURNING_UNITS
        if motor.name in robot.joint_names:
            fitting = SLIDING_UNITS
    else:
        fitting = TURNING_UNITS
    for quantity in log.quantities(motor.name):
        unit = log.units.get((motor.name, quantity), "")
        if unit in (TURNING_UNITS | SLIDING_UNITS) - fitting:
            raise LogError(
                f"log '{log.name}': {motor.name}.{quantity} is given in [{unit}], but motor "
                f"'{motor.name}' turns: it drives {listed(motor.joints)}"
            )


def _kinematics(
    log: Log, robot: Robot, transmission: Transmission
) -> dict[tuple[str, str], tuple[Array, str]]:
    """Positions, velocities and accelerations of joints, where only motors are recorded."""
    joints = robot.joint_names
    inverse = transmission.to_joints(joints)
    found: dict[tuple[str, str], tuple[Array, str]] = {}
    for row, joint in zip(inverse, joints, strict=True):
        parts = [
            (float(share), motor.name)
            for share, motor in zip(row, transmission.motors, strict=True)
            if share != 0.0
        ]
        for quantity in KINEMATIC:
            if (joint, quantity) in log.signals:
                continue
            lacking = [name for _, name in parts if (name, quantity) not in log.signals]
            if lacking:
                if quantity == "position":
                    needed = listed(f"{name}.position" for _, name in parts)
                    wanted = [(name, "position") for name in (*joints, *transmission.motor_names)]
                    absent = [key for key in dict.fromkeys(wanted) if key not in log.signals]
                    known = {*joints, *transmission.motor_names}
                    raise LogError(
                        f"log '{log.name}' has neither the position of joint '{joint}' nor those "
                        f"of its motors; a column {joint}.position, or {needed}, is "
                        f"needed (of these, {listed(lacking)} lack one)"
                        f"{suggestion(log, absent, known)}"
                    )
                continue
            values = np.zeros(len(log))
            for share, name in parts:
                values += share * log.signals[name, quantity]
            words = _sum((_factor(share), f"{name}.{quantity}") for share, name in parts)
            zero = transmission.zeros.get(joint, 0.0) if quantity == "position" else 0.0
            if zero:
                values += zero
                words += f" + {_factor(zero)}"
            found[joint, quantity] = (values, words)
    return found


def _torques(
    log: Log, robot: Robot, transmission: Transmission
) -> dict[tuple[str, str], tuple[Array, str]]:
    """Torques of joints that lack a torque column, or whose motor has the joint's name."""
    motor_torque = {
        motor.name: _motor_torque(log, motor)
        for motor in transmission.motors
        if {"torque", "current"} & set(log.quantities(motor.name))
    }
    found: dict[tuple[str, str], tuple[Array, str]] = {}
    for joint in robot.joint_names:
        motors = transmission.driving(joint)
        has_own = (joint, "torque") in log.signals
        if joint in transmission.link_side:
            if not has_own:
                raise LogError(
                    f"log '{log.name}' has no torque of joint '{joint}', which the overlay states "
                    f'to be measured at the link (torque = "link"); a column {joint}.torque is '
                    'needed, or torque = "motor" in the overlay to use that of its motors'
                )
            continue
        if has_own and joint not in {motor.name for motor in motors}:
            continue
        lacking = [motor.name for motor in motors if motor.name not in motor_torque]
        if lacking:
            raise LogError(
                f"log '{log.name}' has neither the torque of joint '{joint}' nor those of all "
                f"motors that drive it; a column {joint}.torque is needed, or a torque or current "
                f"of {listed(lacking)} (such as {lacking[0]}.torque or {lacking[0]}.current)"
            )
        total = np.zeros(len(log))
        parts = []
        for motor in motors:
            ratio = dict(motor.ratio)[joint]
            values, words = motor_torque[motor.name]
            total += ratio * values
            parts.append((_factor(ratio), words))
        if len(motors) == 1 and motors[0].name == joint and has_own and motors[0].gain == 1.0:
            continue  # the joint's own torque, unchanged
        found[joint, "torque"] = (total, _sum(parts))
    return found


def _motor_torque(log: Log, motor: Motor) -> tuple[Array, str]:
    """Torque (n_samples,) of a motor in N m (N), and how it was computed, as text."""
    gain = "" if motor.gain == 1.0 else f"{motor.gain:.6g} × "
    if (motor.name, "torque") in log.signals:
        return motor.gain * log.signals[motor.name, "torque"], f"{gain}{motor.name}.torque"
    if motor.torque_constant is None:
        raise LogError(
            f"log '{log.name}' has the current of motor '{motor.name}', but no torque; add "
            f"torque_constant (N m/A) to [motor.{motor.name}] of the overlay"
        )
    values = motor.gain * motor.torque_constant * log.signals[motor.name, "current"]
    return values, f"{gain}{motor.torque_constant:.6g} N m/A × {motor.name}.current"


def _factor(number: float) -> str:
    return f"{number:.6g}"


def _sum(parts: Iterable[tuple[str, str]]) -> str:
    words = (what if factor == "1" else f"{factor} × {what}" for factor, what in parts)
    return " + ".join(words)
