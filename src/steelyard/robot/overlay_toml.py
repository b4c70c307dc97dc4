"""The TOML of an overlay, key by key; see :mod:`steelyard.robot.overlay` for its shape."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from steelyard.errors import OverlayError
from steelyard.robot.overlay import LIMITS, TERMS, Coupling, Overlay
from steelyard.robot.tree import Limits
from steelyard.wording import did_you_mean, is_name, listed, one_line, shown, shown_path

MAX_BYTES = 2**20
KEYS = ("gravity", "floating_base", "terms", "locked", "joint", "coupling")
JOINT_KEYS = (*LIMITS, "terms")
COUPLING_KEYS = ("name", "direction", "terms")
NOT_NEGATIVE = ("velocity", "effort", "acceleration")
BARE_KEY = re.compile(r"[A-Za-z0-9_-]{1,60}")


def read_toml_text(path: str | Path) -> str:
    """The text of a TOML file of at most ``MAX_BYTES``, or a one-line refusal."""
    where = shown_path(path)
    try:
        path = Path(path)
        if path.is_dir():
            raise OverlayError(f"{where} is a folder; give a TOML file")
        if path.exists() and not path.is_file():
            raise OverlayError(f"{where} is not a regular file")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise OverlayError(f"{where} does not exist") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise OverlayError(f"{where} cannot be read: {reason}") from None
    if len(data) > MAX_BYTES:
        raise OverlayError(
            f"{where} is larger than {MAX_BYTES // 2**20} MiB, the most that is read"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise OverlayError(f"{where} is not UTF-8 text: byte {error.start} is no letter") from None


def parse_overlay(text: str, *, source: str | None = None) -> Overlay:
    """The overlay in a TOML text; ``source`` names its file in messages."""
    where = shown_path(source) if source else "overlay"
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise OverlayError(f"{where} is not TOML: {one_line(reason)}") from None
    try:
        return _overlay(table, source)
    except OverlayError as error:
        raise OverlayError(f"{where}: {error}") from None


def _overlay(table: Mapping[str, object], source: str | None) -> Overlay:
    _known(table, KEYS, "")
    limits: dict[str, Limits] = {}
    joint_terms: dict[str, tuple[str, ...]] = {}
    for name, entry in _table(table.get("joint", {}), "joint").items():
        path = f"joint.{_key(name)}"
        values = _table(entry, path)
        _known(values, JOINT_KEYS, path)
        stated = {key: _limit(values[key], key, path) for key in LIMITS if key in values}
        if stated:
            limits[name] = Limits(**stated)
        if "terms" in values:
            joint_terms[name] = _terms(values["terms"], f"{path}.terms")
    locked = {
        name: _number(value, f"locked.{_key(name)}")
        for name, value in _table(table.get("locked", {}), "locked").items()
    }
    return Overlay(
        gravity=_gravity(table["gravity"]) if "gravity" in table else None,
        floating_base=_flag(table.get("floating_base"), "floating_base"),
        locked=MappingProxyType(locked),
        limits=MappingProxyType(limits),
        default_terms=_terms(table["terms"], "terms") if "terms" in table else None,
        joint_terms=MappingProxyType(joint_terms),
        couplings=_couplings(table.get("coupling", [])),
        source=source,
    )


def _key(name: str) -> str:
    return name if BARE_KEY.fullmatch(name) else shown(name)


def _known(table: Mapping[str, object], valid: Iterable[str], path: str) -> None:
    valid = list(valid)
    for key in table:
        if key not in valid:
            full = f"{path}.{_key(key)}" if path else _key(key)
            raise OverlayError(
                f"key {full} is not known{did_you_mean(key, valid)}; "
                f"the keys {'of ' + path if path else 'here'} are {listed(valid)}"
            )


def _kind(value: object) -> str:
    kinds = {bool: "true or false", str: "text", dict: "a table", list: "an array"}
    number = "a number" if isinstance(value, int | float) else type(value).__name__
    return kinds.get(type(value), number)


def _table(value: object, path: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise OverlayError(f"key {path} is {_kind(value)}; it must be a table")
    return value


def _number(value: object, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise OverlayError(f"key {path} is {_kind(value)}; it must be a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise OverlayError(f"key {path} is not finite; it must be a finite number")
    return number


def _limit(value: object, key: str, path: str) -> float:
    limit = _number(value, f"{path}.{key}")
    if key in NOT_NEGATIVE and limit < 0.0:
        raise OverlayError(f"key {path}.{key} is {limit}; it must not be negative")
    return limit


def _flag(value: object, path: str) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise OverlayError(f"key {path} is {_kind(value)}; it must be true or false")
    return value


def _gravity(value: object) -> tuple[float, float, float]:
    if not isinstance(value, list) or len(value) != 3:
        size = f" of {len(value)}" if isinstance(value, list) else ""
        raise OverlayError(
            f"key gravity is {_kind(value)}{size}; it must be an array of 3 numbers, m/s²"
        )
    x, y, z = (_number(entry, f"gravity[{i}]") for i, entry in enumerate(value))
    return x, y, z


def _terms(value: object, path: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise OverlayError(f"key {path} is {_kind(value)}; it must be an array of {listed(TERMS)}")
    for i, term in enumerate(value):
        if not isinstance(term, str):
            raise OverlayError(
                f"key {path}[{i}] is {_kind(term)}; it must be one of {listed(TERMS)}"
            )
        if term not in TERMS:
            raise OverlayError(
                f"key {path}[{i}] is {shown(term)}, which is no term"
                f"{did_you_mean(term, TERMS)}; the terms are {listed(TERMS)}"
            )
        if term in value[:i]:
            raise OverlayError(f"key {path} names {shown(term)} twice")
    return tuple(value)


def _couplings(value: object) -> tuple[Coupling, ...]:
    if not isinstance(value, list):
        raise OverlayError(f"key coupling is {_kind(value)}; write each one as [[coupling]]")
    couplings: list[Coupling] = []
    for i, entry in enumerate(value):
        path = f"coupling[{i}]"
        values = _table(entry, path)
        _known(values, COUPLING_KEYS, path)
        for key in COUPLING_KEYS:
            if key not in values:
                raise OverlayError(f"{path} has no {key}; it needs {listed(COUPLING_KEYS)}")
        name = values["name"]
        if not isinstance(name, str) or not is_name(name):
            raise OverlayError(f"key {path}.name must be text that is visible on one line")
        if any(name == other.name for other in couplings):
            raise OverlayError(f"two couplings are named {shown(name)}; rename one")
        direction = tuple(
            (joint, _number(weight, f"{path}.direction.{_key(joint)}"))
            for joint, weight in _table(values["direction"], f"{path}.direction").items()
        )
        if not direction or any(weight == 0.0 for _, weight in direction):
            raise OverlayError(f"key {path}.direction must give joints weights that are not 0")
        terms = _terms(values["terms"], f"{path}.terms")
        if not terms:
            raise OverlayError(f"key {path}.terms is empty; name at least one of {listed(TERMS)}")
        couplings.append(Coupling(name, direction, terms))
    return tuple(couplings)
