"""Parse the JSON of a stranger's file within limits of depth and count.

Python's parser makes an object of 50 to 200 bytes from two characters, and what is nested a few
hundred times breaks the recursion of whatever walks through it later. Both are measured on the
text before it is parsed: strings are left out, then only commas and brackets matter.

Uses Python's standard library only, since certificates are verified with nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from steelyard._files.limits import MAX_JSON_DEPTH, MAX_JSON_VALUES
from steelyard.errors import SteelyardError, one_line, shown

STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
NOT_MARKS = bytes(set(range(256)) - set(b"[]{},"))


def parse_json(
    data: bytes,
    where: str,
    error: type[SteelyardError],
    parse_float: Callable[[str], Any] | None = None,
) -> Any:
    """The value in a JSON text (UTF-8); anything wrong is raised as ``error``.

    Refused: what is not JSON, a key twice in an object, more than ``MAX_JSON_VALUES`` values, lists
    and objects nested deeper than ``MAX_JSON_DEPTH``.

    parse_float : what to make of the text of a number that is no integer, and of NaN and Infinity.
    """
    _check_size(data, where, error)

    def no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        out = dict(pairs)
        if len(out) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in out if names.count(name) > 1)
            raise error(f"{where}: an object names the key {shown(twice)} twice")
        return out

    try:
        return json.loads(
            data.decode("utf-8-sig"),
            object_pairs_hook=no_repeats,
            parse_float=parse_float,
            parse_constant=parse_float,
        )
    except UnicodeDecodeError as failure:
        raise error(f"{where}: is not JSON (byte {failure.start} is not UTF-8 text)") from None
    except (ValueError, RecursionError) as failure:
        raise error(f"{where}: is not JSON ({one_line(failure)})") from None


def _check_size(data: bytes, where: str, error: type[SteelyardError]) -> None:
    """Refuse a text whose values would be too many or nested too deeply."""
    if _values(data) <= MAX_JSON_VALUES and not _too_deep(data):
        return  # brackets and commas in strings have counted, and still there are few
    outside = b"".join(_marks_outside_strings(data))
    if _values(outside) > MAX_JSON_VALUES:
        raise error(f"{where}: has more than {MAX_JSON_VALUES} values, the limit")
    if _too_deep(outside):
        raise error(
            f"{where}: is not JSON, or has lists and objects that are nested deeper than "
            f"{MAX_JSON_DEPTH}, the limit"
        )


def _marks_outside_strings(data: bytes) -> Iterator[bytes]:
    """Commas and brackets that are not in strings."""
    end = 0
    for string in STRING.finditer(data):
        yield data[end : string.start()].translate(None, NOT_MARKS)
        end = string.end()
    yield data[end:].translate(None, NOT_MARKS)


def _values(text: bytes) -> int:
    """How many values a text has, by what they take: a list counts as two, an object as four."""
    return text.count(b",") + 2 * text.count(b"[") + 4 * text.count(b"{")


def _too_deep(text: bytes) -> bool:
    """Whether brackets are nested deeper than the limit, or do not match."""
    brackets = text.translate(None, NOT_BRACKETS)
    for _ in range(MAX_JSON_DEPTH):  # each time the innermost pairs vanish
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
    return bool(brackets)
