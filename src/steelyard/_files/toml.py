"""Read untrusted TOML: of a limited size, with keys that cost the parser little."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from steelyard._files.access import read_capped
from steelyard._files.limits import MAX_KEY_PARTS, MAX_TOML_BYTES
from steelyard.errors import SteelyardError, one_line, shown_path

KEY_PART = r"""(?>[A-Za-z0-9_-]{1,200}+|"(?:[^"\\\n]|\\.){0,200}+"|'[^'\n]{0,200}+')"""
LONG_KEY = re.compile(
    rf"(?<![A-Za-z0-9_-]){KEY_PART}(?:[ \t]*+\.[ \t]*+{KEY_PART}){{{MAX_KEY_PARTS},}}+"
)
"""A dotted key that is too long, wherever it stands."""


def read_toml_text(path: str | Path, error: type[SteelyardError]) -> str:
    """The text of a TOML file of at most ``MAX_TOML_BYTES``; raises ``error`` otherwise."""
    return decoded(read_capped(path, MAX_TOML_BYTES, error), shown_path(path), error)


def decoded(data: bytes, where: str, error: type[SteelyardError]) -> str:
    """UTF-8 text, with or without a byte order mark."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        raise error(f"{where} is not UTF-8 text: byte {wrong.start} is invalid") from None


def parse_toml(text: str, where: str, error: type[SteelyardError]) -> dict[str, Any]:
    """The table of a TOML text; ``where`` names it in messages."""
    if (long_key := LONG_KEY.search(text)) is not None:
        line = text.count("\n", 0, long_key.start()) + 1
        raise error(f"{where}, line {line}: a key of more than {MAX_KEY_PARTS} parts, the limit")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as wrong:
        reason = "nested too deeply" if isinstance(wrong, RecursionError) else str(wrong)
        raise error(f"{where} is not TOML: {one_line(reason)}") from None
