"""Values of an overlay's keys; errors name the key and what it must be."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

from steelyard._files.limits import LARGEST_NUMBER, MAX_OVERLAY_ENTRIES, SMALLEST_NUMBER
from steelyard.errors import OverlayError, did_you_mean, is_name, listed, shown

BARE_KEY = re.compile(r"[A-Za-z0-9_-]{1,60}")


def key_name(name: str) -> str:
    """A key as messages show it: without quotes where TOML allows that."""
    return name if BARE_KEY.fullmatch(name) else shown(name)


def known_keys(table: Mapping[str, object], valid: Iterable[str], path: str) -> None:
    """Refuse a key that is not in ``valid``; ``path`` names the table."""
    valid = list(valid)
    for key in table:
        if key not in valid:
            full = f"{path}.{key_name(key)}" if path else key_name(key)
            raise OverlayError(
                f"key {full} is not known{did_you_mean(key, valid)}; "
                f"the keys {'of ' + path if path else 'here'} are {listed(valid)}"
            )


def kind_of(value: object) -> str:
    """The type of a value, as TOML calls it."""
    kinds = {bool: "true or false", str: "text", dict: "a table", list: "an array"}
    number = "a number" if isinstance(value, int | float) else type(value).__name__
    return kinds.get(type(value), number)


def table_of(value: object, path: str) -> Mapping[str, object]:
    """A table; raises OverlayError that names its key otherwise."""
    if not isinstance(value, dict):
        raise OverlayError(f"key {path} is {kind_of(value)}; it must be a table")
    _refuse_many(value, path)
    return value


def number_of(value: object, path: str) -> float:
    """A finite number; raises OverlayError that names its key otherwise."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise OverlayError(f"key {path} is {kind_of(value)}; it must be a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise OverlayError(f"key {path} is not finite; it must be a finite number")
    if abs(number) > LARGEST_NUMBER or 0.0 < abs(number) < SMALLEST_NUMBER:
        raise OverlayError(
            f"key {path} is {number:g}; it must be 0, or from {SMALLEST_NUMBER:g} to "
            f"{LARGEST_NUMBER:g} in size"
        )
    return number


def flag_of(value: object, path: str) -> bool | None:
    """True, False or None; raises OverlayError that names its key otherwise."""
    if value is not None and not isinstance(value, bool):
        raise OverlayError(f"key {path} is {kind_of(value)}; it must be true or false")
    return value


def array_of(value: object, path: str, of: str) -> list[object]:
    """An array; raises OverlayError that says what it must hold otherwise."""
    if not isinstance(value, list):
        raise OverlayError(f"key {path} is {kind_of(value)}; it must be an array of {of}")
    _refuse_many(value, path)
    return value


def _refuse_many(entries: Mapping[str, object] | list[object], path: str) -> None:
    if len(entries) > MAX_OVERLAY_ENTRIES:
        raise OverlayError(
            f"key {path} has {len(entries)} entries; at most {MAX_OVERLAY_ENTRIES} are read"
        )


def numbers_of(value: object, path: str, count: int, unit: str = "") -> tuple[float, ...]:
    """``count`` finite numbers."""
    entries = array_of(value, path, f"{count} numbers{unit}")
    if len(entries) != count:
        raise OverlayError(
            f"key {path} is an array of {len(entries)}; it must be one of {count} numbers{unit}"
        )
    return tuple(number_of(entry, f"{path}[{i}]") for i, entry in enumerate(entries))


def range_of(value: object, path: str) -> tuple[float | None, float | None]:
    """[lower, upper], with -inf and inf for no limit."""
    entries = array_of(value, path, "a lower and an upper value")
    if len(entries) != 2:
        raise OverlayError(
            f"key {path} is an array of {len(entries)}; it must be [lower, upper], "
            "with -inf or inf for no limit"
        )
    lower, upper = (
        None if entry == free and isinstance(entry, float) else number_of(entry, f"{path}[{i}]")
        for i, (entry, free) in enumerate(zip(entries, (-math.inf, math.inf), strict=True))
    )
    return lower, upper


def text_of(value: object, path: str) -> str:
    """A name or a word."""
    if not isinstance(value, str) or not is_name(value):
        raise OverlayError(f"key {path} must be text that is visible on one line")
    return value


def names_of(value: object, path: str) -> tuple[str, ...]:
    """An array of names."""
    entries = array_of(value, path, "names")
    return tuple(text_of(entry, f"{path}[{i}]") for i, entry in enumerate(entries))


def one_of(value: object, path: str, valid: Iterable[str]) -> str:
    """One of several words."""
    valid = list(valid)
    if not isinstance(value, str):
        raise OverlayError(f"key {path} is {kind_of(value)}; it must be one of {listed(valid)}")
    if value not in valid:
        raise OverlayError(
            f"key {path} is {shown(value)}{did_you_mean(value, valid)}; "
            f"it must be one of {listed(valid)}"
        )
    return value
