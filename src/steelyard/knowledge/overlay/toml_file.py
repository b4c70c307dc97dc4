"""Read the TOML of an overlay; `steelyard.knowledge.overlay.overlay` shows an example."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from steelyard._files.frozen_mapping import frozen_mapping
from steelyard._files.toml import parse_toml, read_toml_text
from steelyard.errors import (
    OverlayError,
    did_you_mean,
    is_name,
    listed,
    shown,
    shown_path,
)
from steelyard.knowledge.overlay._constraint_tables import com_boxes_of, constraints_of
from steelyard.knowledge.overlay._motor_tables import motors_of
from steelyard.knowledge.overlay._values import (
    array_of,
    flag_of,
    key_name,
    kind_of,
    known_keys,
    number_of,
    one_of,
    table_of,
)
from steelyard.knowledge.overlay.overlay import LIMITS, Coupling, Overlay
from steelyard.model.term_kinds import SIDES, TERM_NAMES, Side
from steelyard.robot.parts import Limits

KEYS = (
    "gravity",
    "floating_base",
    "terms",
    "locked",
    "joint",
    "coupling",
    "constraints",
    "torque",
    "motor",
)
JOINT_KEYS = (*LIMITS, "terms", "torque", "motor_zero")
COUPLING_KEYS = ("name", "direction", "terms")
NOT_NEGATIVE = ("velocity", "effort", "acceleration")


def parse_overlay(text: str, *, source: str | None = None) -> Overlay:
    """The overlay in a TOML text; ``source`` names its file in messages."""
    where = shown_path(source) if source else "overlay"
    table = parse_toml(text, where, OverlayError)
    try:
        return _overlay(table, source)
    except OverlayError as error:
        raise OverlayError(f"{where}: {error}") from None


def _overlay(table: Mapping[str, object], source: str | None) -> Overlay:
    known_keys(table, KEYS, "")
    limits: dict[str, Limits] = {}
    joint_terms: dict[str, tuple[str, ...]] = {}
    joint_torque: dict[str, Side] = {}
    motor_zeros: dict[str, float] = {}
    for name, entry in table_of(table.get("joint", {}), "joint").items():
        path = f"joint.{key_name(name)}"
        values = table_of(entry, path)
        known_keys(values, JOINT_KEYS, path)
        stated = {key: _limit(values[key], key, path) for key in LIMITS if key in values}
        if stated:
            limits[name] = Limits(**stated)
        if "terms" in values:
            joint_terms[name] = _terms(values["terms"], f"{path}.terms")
        if "torque" in values:
            joint_torque[name] = _side(values["torque"], f"{path}.torque")
        if "motor_zero" in values:
            motor_zeros[name] = number_of(values["motor_zero"], f"{path}.motor_zero")
    motors = motors_of(table.get("motor", {}))
    motor_tables = table_of(table.get("motor", {}), "motor")
    motor_terms = {
        motor.name: _terms(entry["terms"], f"motor.{key_name(motor.name)}.terms")
        for motor in motors
        if "terms" in (entry := table_of(motor_tables[motor.name], "motor"))
    }
    locked = {
        name: number_of(value, f"locked.{key_name(name)}")
        for name, value in table_of(table.get("locked", {}), "locked").items()
    }
    return Overlay(
        gravity=_gravity(table["gravity"]) if "gravity" in table else None,
        floating_base=flag_of(table.get("floating_base"), "floating_base"),
        locked=frozen_mapping(locked),
        limits=frozen_mapping(limits),
        default_terms=_terms(table["terms"], "terms") if "terms" in table else None,
        joint_terms=frozen_mapping(joint_terms),
        couplings=_couplings(table.get("coupling", [])),
        constraints=constraints_of(table["constraints"]) if "constraints" in table else None,
        com_boxes=com_boxes_of(table.get("constraints", {})),
        torque=_side(table["torque"], "torque") if "torque" in table else None,
        joint_torque=frozen_mapping(joint_torque),
        motors=motors,
        motor_terms=frozen_mapping(motor_terms),
        motor_zeros=frozen_mapping(motor_zeros),
        source=source,
    )


def _side(value: object, path: str) -> Side:
    return "link" if one_of(value, path, SIDES) == "link" else "motor"


def _limit(value: object, key: str, path: str) -> float:
    limit = number_of(value, f"{path}.{key}")
    if key in NOT_NEGATIVE and limit < 0.0:
        raise OverlayError(f"key {path}.{key} is {limit}; it must not be negative")
    return limit


def _gravity(value: object) -> tuple[float, float, float]:
    if not isinstance(value, list) or len(value) != 3:
        size = f" of {len(value)}" if isinstance(value, list) else ""
        raise OverlayError(
            f"key gravity is {kind_of(value)}{size}; it must be an array of 3 numbers, m/s²"
        )
    x, y, z = (number_of(entry, f"gravity[{i}]") for i, entry in enumerate(value))
    return x, y, z


def _terms(value: object, path: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise OverlayError(
            f"key {path} is {kind_of(value)}; it must be an array of {listed(TERM_NAMES)}"
        )
    for i, term in enumerate(value):
        if not isinstance(term, str):
            raise OverlayError(
                f"key {path}[{i}] is {kind_of(term)}; it must be one of {listed(TERM_NAMES)}"
            )
        if term not in TERM_NAMES:
            raise OverlayError(
                f"key {path}[{i}] is {shown(term)}, which is no term"
                f"{did_you_mean(term, TERM_NAMES)}; the terms are {listed(TERM_NAMES)}"
            )
        if term in value[:i]:
            raise OverlayError(f"key {path} names {shown(term)} twice")
    return tuple(value)


def _couplings(value: object) -> tuple[Coupling, ...]:
    if not isinstance(value, list):
        raise OverlayError(f"key coupling is {kind_of(value)}; write each one as [[coupling]]")
    array_of(value, "coupling", "tables")
    couplings: list[Coupling] = []
    for i, entry in enumerate(value):
        path = f"coupling[{i}]"
        values = table_of(entry, path)
        known_keys(values, COUPLING_KEYS, path)
        for key in COUPLING_KEYS:
            if key not in values:
                raise OverlayError(f"{path} has no {key}; it needs {listed(COUPLING_KEYS)}")
        name = values["name"]
        if not isinstance(name, str) or not is_name(name):
            raise OverlayError(f"key {path}.name must be text that is visible on one line")
        if any(name == other.name for other in couplings):
            raise OverlayError(f"two couplings are named {shown(name)}; rename one")
        direction = tuple(
            (joint, number_of(weight, f"{path}.direction.{key_name(joint)}"))
            for joint, weight in table_of(values["direction"], f"{path}.direction").items()
        )
        if not direction or any(weight == 0.0 for _, weight in direction):
            raise OverlayError(f"key {path}.direction must give joints weights that are not 0")
        terms = _terms(values["terms"], f"{path}.terms")
        if not terms:
            raise OverlayError(
                f"key {path}.terms is empty; name at least one of {listed(TERM_NAMES)}"
            )
        couplings.append(Coupling(name, direction, terms))
    return tuple(couplings)


def read_overlay(path: str | Path) -> Overlay:
    """The overlay in a TOML file; :class:`OverlayError` says which key is wrong."""
    return parse_overlay(read_toml_text(path, OverlayError), source=str(path))
