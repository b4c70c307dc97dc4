"""A finding from a JSON file; files of earlier versions state no facts besides their words."""

from __future__ import annotations

from steelyard._files.json_object import JsonObject
from steelyard.findings import LEVELS, Finding


def stored_finding(entry: JsonObject) -> Finding:
    """The finding that ``Finding.as_json`` wrote; a level that is unknown is read as "info"."""
    level = entry.text("level")
    code, words = entry.text("code"), entry.text("words")
    for key, value in (("code", code), ("words", words)):
        if value is None:
            raise entry.error(f"{entry.where}: has no '{key}'")
    span = entry.numbers("span_s")
    return Finding(
        next((one for one in LEVELS if one == level), "info"),
        code or "",
        words or "",
        joints=entry.texts("joints"),
        span_s=(span[0], span[1]) if len(span) == 2 else None,
        size=None if entry.entries.get("size") is None else entry.number("size"),
        unit=entry.text("unit") or "",
        could_be=entry.texts("could_be"),
        option=entry.text("option") or "",
        corrected=entry.entries.get("corrected") is True,
    )
