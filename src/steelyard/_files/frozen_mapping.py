"""Mappings that cannot be changed, for frozen dataclasses; they can be copied and pickled."""

from __future__ import annotations

import copyreg
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


def frozen_mapping(entries: Mapping[Key, Value]) -> Mapping[Key, Value]:
    """A read-only view of a copy of these entries."""
    return MappingProxyType(dict(entries))


def _reduced(mapping: MappingProxyType[Any, Any]) -> tuple[Any, ...]:
    return frozen_mapping, (dict(mapping),)


# Python cannot pickle such a view by itself, nor what contains one: robots, logs, results
copyreg.pickle(MappingProxyType, _reduced)
