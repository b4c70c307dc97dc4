"""Which column was probably meant for a signal that a log lacks."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches

from steelyard.errors import LONGEST_TEXT, is_name, shown
from steelyard.logs.columns import QUANTITY_OF, split_unit
from steelyard.logs.foreign_names import AMBIGUOUS
from steelyard.logs.log import Key, Log

LIKENESS = 0.75
"""Share of letters in common from which two names of joints are taken for the same."""

MOST_COLUMNS = 1000
"""Comparing names takes time for each, and a hostile file may have very many."""

MOST_OPTIONS = 4

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


def likely_quantity(column: str) -> str | None:
    """The quantity of which a column that is not recognised may be; None if nothing tells."""
    found = _as_signal(column)
    return None if found is None else found.quantity


def probable_columns(log: Log, lacking: Sequence[Key], used: Collection[str]) -> dict[Key, str]:
    """Columns of the log that are probably the lacking signals; none where two are as likely.

    used : joints whose columns are what their names say.
    """
    candidates = _candidates(log, used)
    likeness: dict[tuple[Key, str], float] = {}
    for key in lacking:
        letters = _letters(WORD.findall(key[0]))
        for one in candidates:
            if one.quantity == key[1]:
                share = _likeness(letters, one.letters)
                if share >= LIKENESS:
                    likeness[key, one.column] = share
    shares: dict[Key | str, list[float]] = {}
    for (key, column), share in likeness.items():
        shares.setdefault(key, []).append(share)
        shares.setdefault(column, []).append(share)
    best = {name: max(found) for name, found in shares.items()}
    alone = {name for name, found in shares.items() if found.count(best[name]) == 1}
    return {
        key: column
        for (key, column), share in likeness.items()
        if share == best[key] == best[column] and key in alone and column in alone
    }


def suggestion(log: Log, lacking: Sequence[Key], used: Collection[str]) -> str:
    """``; probably meant: --map ...`` with options to type, or an empty text."""
    lacking = list(lacking)[: 10 * MOST_OPTIONS]
    found = probable_columns(log, lacking, used)
    if not found:
        return ""
    options = _options(found)
    more = len(options) - MOST_OPTIONS
    text = " ".join(options[:MOST_OPTIONS])
    first = next(iter(found.values()))
    rest = f" and {more} more like these" if more > 0 else ""
    return f"; {shown(first)} was probably meant: use {text}{rest}"


def _options(found: dict[Key, str]) -> list[str]:
    """One option for each column, or one with * for all that follow the same pattern."""
    patterns: dict[tuple[str, str], list[Key]] = {}
    for (joint, quantity), column in found.items():
        bare = split_unit(column)[0]
        pattern = bare.replace(joint, "*", 1) if joint in bare and "*" not in bare else ""
        patterns.setdefault((quantity, pattern), []).append((joint, quantity))
    options = []
    for (quantity, pattern), keys in patterns.items():
        if pattern and len(keys) > 1:
            options.append(map_option(f"*.{quantity}", pattern))
        else:
            options += [map_option(".".join(key), split_unit(found[key])[0]) for key in keys]
    return options


def _candidates(log: Log, used: Collection[str]) -> list[Candidate]:
    """Columns of joints that the robot does not have, and columns that are not recognised."""
    candidates = []
    for (joint, quantity), column in list(log.columns.items())[:MOST_COLUMNS]:
        if joint not in used:
            candidates.append(Candidate(column, _letters(WORD.findall(joint)), quantity))
    candidates += [one for name in log.ignored[:MOST_COLUMNS] if (one := _as_signal(name))]
    return candidates


def _as_signal(column: str) -> Candidate | None:
    """A column that is not recognised, if its last or first word nearly is a quantity."""
    words = WORD.findall(split_unit(column)[0][:LONGEST_TEXT])
    for word, others in ((words[-1:], words[:-1]), (words[:1], words[1:])):
        quantity = _quantity(word[0].lower()) if word and others else None
        if quantity is not None:
            return Candidate(column, _letters(others), quantity)
    return None


def _quantity(word: str) -> str | None:
    """The quantity that a word means, also where a letter is wrong."""
    close = get_close_matches(word, QUANTITY_WORDS, n=1, cutoff=LIKENESS)
    return QUANTITY_OF[close[0]] if close else None


def _letters(words: Sequence[str]) -> str:
    """The letters and digits of a joint's name, without words that many names have."""
    lower = [word.lower() for word in words]
    return "".join([word for word in lower if word not in NO_NAMES] or lower)[:LONGEST_TEXT]


def _likeness(one: str, other: str) -> float:
    if not one or not other:
        return 0.0
    matcher = SequenceMatcher(None, one, other)
    return matcher.ratio() if matcher.quick_ratio() >= LIKENESS else 0.0
