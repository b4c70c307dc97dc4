"""A JSON object from a file, whose entries are checked for their type as they are read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard._files.access import read_capped
from steelyard._files.json_text import parse_json
from steelyard.errors import SteelyardError, shown, shown_path

LONGEST_VALUE = 60
"""Characters of a wrong value that a message shows."""


def read_json_object(
    path: str | Path, max_bytes: int, schema: str, what: str, error: type[SteelyardError]
) -> JsonObject:
    """The object of a file that states its schema; raises ``error`` for any other file.

    what : the kind of file, such as "a motion file", for messages.
    """
    data = read_capped(path, max_bytes, error)
    where = shown_path(path)
    document = parse_json(data, where, error)
    found = document.get("schema") if isinstance(document, dict) else None
    if found != schema:
        stated = f"its schema is {shown(found)}" if isinstance(found, str) else "it has no schema"
        raise error(f"{where}: is not {what}; {stated}, not '{schema}'")
    return JsonObject.of(document, where, error)


@dataclass(frozen=True)
class JsonObject:
    """An object of a JSON file whose entries are checked as they are read.

    An entry that is missing or null gives the default, since files of earlier versions have fewer
    entries. where : file and place, for messages. error : raised if an entry has a wrong type.
    """

    entries: Mapping[str, Any]
    where: str
    error: type[SteelyardError]

    @staticmethod
    def of(value: object, where: str, error: type[SteelyardError]) -> JsonObject:
        """``value`` as a JsonObject; raises ``error`` if it is not an object."""
        if not isinstance(value, Mapping):
            raise error(f"{where}: is {_shown(value)}; it must be an object")
        return JsonObject(value, where, error)

    def child(self, key: str) -> JsonObject | None:
        """An object inside this one."""
        value = self.entries.get(key)
        if value is None:
            return None
        return JsonObject.of(value, f"{self.where}: '{key}'", self.error)

    def text(self, key: str) -> str | None:
        """A text."""
        value = self.entries.get(key)
        return None if value is None else self._checked_text(key, value)

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts."""
        return tuple(self._checked_text(key, entry) for entry in self._list(key))

    def flag(self, key: str) -> bool:
        """True or false; false if missing."""
        value = self.entries.get(key)
        if value is None or isinstance(value, bool):
            return bool(value)
        raise self._refusal(key, value, "true or false")

    def number(self, key: str, default: float = math.nan) -> float:
        """A finite number."""
        value = self.entries.get(key)
        return default if value is None else self._checked_number(key, value)

    def numbers(self, key: str) -> tuple[float, ...]:
        """A list of finite numbers, NaN where one is null."""
        return tuple(
            math.nan if entry is None else self._checked_number(key, entry)
            for entry in self._list(key)
        )

    def count(self, key: str, default: int = 0) -> int:
        """A whole number that is not negative."""
        value = self.entries.get(key)
        return default if value is None else self._checked_count(key, value)

    def counts(self, key: str) -> tuple[int, ...]:
        """A list of whole numbers."""
        return tuple(self._checked_count(key, entry) for entry in self._list(key))

    def texts_by_name(self, key: str) -> dict[str, str]:
        """Texts by name."""
        return {name: self._checked_text(key, value) for name, value in self._by_name(key)}

    def numbers_by_name(self, key: str) -> dict[str, float]:
        """Finite numbers by name, NaN where one is null."""
        return {
            name: math.nan if value is None else self._checked_number(key, value)
            for name, value in self._by_name(key)
        }

    def counts_by_name(self, key: str) -> dict[str, int]:
        """Whole numbers by name."""
        return {name: self._checked_count(key, value) for name, value in self._by_name(key)}

    def _list(self, key: str) -> list[Any]:
        value = self.entries.get(key)
        if value is None or isinstance(value, list | tuple):
            return list(value or ())
        raise self._refusal(key, value, "a list")

    def _by_name(self, key: str) -> list[tuple[str, Any]]:
        child = self.child(key)
        return [] if child is None else [(str(name), x) for name, x in child.entries.items()]

    def _checked_text(self, key: str, value: object) -> str:
        if isinstance(value, str):
            return value
        raise self._refusal(key, value, "text")

    def _checked_number(self, key: str, value: object) -> float:
        # compared before conversion: an integer may be too large for a float
        good = isinstance(value, int | float) and not isinstance(value, bool)
        if good and -1e300 <= value <= 1e300:  # type: ignore[operator]
            return float(value)  # type: ignore[arg-type]
        raise self._refusal(key, value, "a finite number")

    def _checked_count(self, key: str, value: object) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        raise self._refusal(key, value, "a whole number that is not negative")

    def _refusal(self, key: str, value: object, needed: str) -> SteelyardError:
        return self.error(f"{self.where}: '{key}' holds {_shown(value)}; it must be {needed}")


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    # an integer may have more digits than Python converts to text
    if isinstance(value, int) and abs(value) >= 10**LONGEST_VALUE:
        return "a number that is too large"
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + "..."
