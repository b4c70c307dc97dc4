"""What a column that is not recognised probably holds, by the words of its name."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from steelyard.errors import LONGEST_TEXT, is_name
from steelyard.logs.columns import QUANTITY_OF, split_unit
from steelyard.logs.foreign_names import AMBIGUOUS

LIKENESS = 0.75
"""Share of letters in common from which two names of joints are taken for the same."""

WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
NO_NAMES = ("joint", "jnt", "axis")
QUANTITY_WORDS = [word for word in QUANTITY_OF if word not in AMBIGUOUS]


@dataclass(frozen=True)
class Candidate:
    """A column that is not used, as it may be read: the letters of a joint, and a quantity."""

    column: str
    letters: str
    quantity: str


def map_option(signal: str, column: str) -> str:
    """The option that takes ``column`` as ``signal``, as it is typed in a shell."""
    if not is_name(column):
        column = "COLUMN"
    return f"--map {shlex.quote(f'{signal}={column}')}"


def unit_option(quantity: str, unit: str, columns: Mapping[str, str], *, every: bool) -> str:
    """The option that reads columns, by joint, in a unit.

    every : whether these are all columns of the quantity. Empty where a column states a unit, which
    no option overrules.
    """
    if any(split_unit(column)[1] for column in columns.values()):
        return ""
    usual = all(column == f"{joint}.{quantity}" for joint, column in columns.items())
    if usual and every and len(columns) > 1:
        return map_option(f"*.{quantity}[{unit}]", f"*.{quantity}")
    return " ".join(
        map_option(f"{joint}.{quantity}[{unit}]", column) for joint, column in columns.items()
    )


def likely_quantity(column: str) -> str | None:
    """The quantity of which a column that is not recognised may be; None if nothing tells."""
    found = as_signal(column)
    return None if found is None else found.quantity


def as_signal(column: str) -> Candidate | None:
    """A column that is not recognised, if its last or first word nearly is a quantity."""
    words = WORD.findall(split_unit(column)[0][:LONGEST_TEXT])
    for word, others in ((words[-1:], words[:-1]), (words[:1], words[1:])):
        quantity = _nearest_quantity(word[0].lower()) if word and others else None
        if quantity is not None:
            return Candidate(column, letters_of(others), quantity)
    return None


def _nearest_quantity(word: str) -> str | None:
    """The quantity that a word means, also where a letter is wrong."""
    close = get_close_matches(word, QUANTITY_WORDS, n=1, cutoff=LIKENESS)
    return QUANTITY_OF[close[0]] if close else None


def letters_of(words: Sequence[str]) -> str:
    """The letters and digits of a joint's name, without words that many names have."""
    lower = [word.lower() for word in words]
    return "".join([word for word in lower if word not in NO_NAMES] or lower)[:LONGEST_TEXT]
