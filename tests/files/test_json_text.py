"""Limits of JSON count what is outside strings, and only that."""

from __future__ import annotations

import json

import pytest

from steelyard._files.json_text import parse_json
from steelyard._files.limits import MAX_JSON_DEPTH
from steelyard.errors import ResultError


def nested(depth: int) -> bytes:
    """Lists in lists."""
    return b"[" * depth + b"]" * depth


def test_the_deepest_list_is_read_and_a_deeper_one_is_not():
    """The limit is exact."""
    assert parse_json(nested(MAX_JSON_DEPTH), "file", ResultError) is not None
    with pytest.raises(ResultError, match="nested deeper"):
        parse_json(nested(MAX_JSON_DEPTH + 1), "file", ResultError)


@pytest.mark.parametrize("text", ["[" * 500, '\\"[{' * 100, "[0, 1)", '"' * 60 + "[" * 60])
def test_brackets_and_commas_in_texts_do_not_count(text):
    """Intervals such as [0, 1) stand in findings."""
    document = {"words": [text] * 60, text: 1}
    assert parse_json(json.dumps(document).encode(), "file", ResultError) == document


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'{"a": 1, "b": {"a": 1, "a": 2}}', "names the key 'a' twice"),
        (b'"\xff"', "not UTF-8"),
        ('{"a": 1}'.encode("utf-16"), "not UTF-8"),
        (b"[1, 2", "is not JSON"),
        (b"[" + b"1," * 3_000_001 + b"1]", "more than 3000000 values"),
        (b"9" * 5000, "is not JSON"),
    ],
)
def test_what_is_no_json_is_refused_with_the_callers_error(data, words):
    """In one line that names the file."""
    with pytest.raises(ResultError, match=words) as refused:
        parse_json(data, "'x.json'", ResultError)
    assert str(refused.value).startswith("'x.json': ")
