"""Which column was probably meant for a signal that a log lacks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from difflib import SequenceMatcher

from steelyard.errors import shown
from steelyard.logs.columns import split_unit
from steelyard.logs.description import Key
from steelyard.logs.likely_names import LIKENESS, WORD, Candidate, as_signal, letters_of, map_option
from steelyard.logs.log import Log

MOST_COLUMNS = 1000
"""Comparing names takes time for each, and a hostile file may have very many."""

MOST_OPTIONS = 4


def probable_columns(log: Log, lacking: Sequence[Key], used: Collection[str]) -> dict[Key, str]:
    """Columns of the log that are probably the lacking signals; none where two are as likely.

    used : joints whose columns are what their names say.
    """
    candidates = _candidates(log, used)
    likeness: dict[tuple[Key, str], float] = {}
    for key in lacking:
        letters = letters_of(WORD.findall(key[0]))
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
            candidates.append(Candidate(column, letters_of(WORD.findall(joint)), quantity))
    candidates += [one for name in log.ignored[:MOST_COLUMNS] if (one := as_signal(name))]
    return candidates


def _likeness(one: str, other: str) -> float:
    if not one or not other:
        return 0.0
    matcher = SequenceMatcher(None, one, other)
    return matcher.ratio() if matcher.quick_ratio() >= LIKENESS else 0.0
