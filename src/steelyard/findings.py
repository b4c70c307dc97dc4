"""Warnings as data: what the user should know about a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """Something worth knowing.

    code : short and stable, for programs.
    words : what, where, by how much, what to do.
    """

    level: Literal["info", "warning"]
    code: str
    words: str
