"""A statement that is only a sentence, for conditions made up by tests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Said:
    """A condition by its words alone."""

    words: str
    owners: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
