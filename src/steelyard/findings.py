"""Findings: warnings and notes about a result, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """A warning or note about a result.

    code : short and stable, for programs.
    words : the message: what, where, by how much, what to do.
    """

    level: Literal["info", "warning"]
    code: str
    words: str
