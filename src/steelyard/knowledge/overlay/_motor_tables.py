"""The ``[motor.NAME]`` tables of an overlay."""

from __future__ import annotations

from steelyard.errors import OverlayError
from steelyard.knowledge.overlay._values import key_name, known_keys, number_of, table_of, text_of
from steelyard.robot.transmission import MAX_MOTORS, Motor

MOTOR_KEYS = ("ratio", "torque_constant", "gain", "terms")


def motors_of(value: object) -> tuple[Motor, ...]:
    """The motors of an overlay, without their terms.

    A motor without ``ratio`` has the name of the joint that it drives, and the ratio 1.
    """
    tables = table_of(value, "motor")
    if len(tables) > MAX_MOTORS:
        raise OverlayError(f"there are {len(tables)} motors; at most {MAX_MOTORS} are allowed")
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
            f"key {path} is {number}; it must be a number from 1e-12 to 1e12 in absolute value"
        )
    return number
