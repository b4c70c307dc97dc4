"""Bounded lines give the bytes of an honest table, whatever ends its lines."""

from __future__ import annotations

import io

import pytest

from steelyard._files.bounded_lines import BoundedLines
from steelyard._files.limits import MAX_BLANK_LINES, MAX_LINE_BYTES
from steelyard.errors import LogError


def read(data: bytes, most: int = 2**30) -> bytes:
    """All bytes, through blocks of 64 KiB."""
    lines = BoundedLines(io.BytesIO(data), most, "'x.csv'", LogError, "has too many bytes")
    return io.BufferedReader(lines, 2**16).read()


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_many_rows_and_a_few_blank_lines_pass(end):
    """More rows than blank lines are allowed, and more bytes than a line may have."""
    rows = (b"0.25,1.5,-3.75,12345.678" + end) * (MAX_BLANK_LINES + 50_000)
    assert read(rows + end * 100) == rows + end * 100


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"a\n" + b"\n" * (2 * MAX_BLANK_LINES + 10), "blank lines"),
        (b"a\n" + b" \t\r\n" * (2 * MAX_BLANK_LINES + 10), "blank lines"),
        (b"a\n" + b"1" * (MAX_LINE_BYTES + 2**17), "a line of more than 2 MiB"),
    ],
)
def test_blank_lines_and_long_lines_are_refused(data, words):
    """While they are read."""
    with pytest.raises(LogError, match=words):
        read(data)


def test_more_bytes_than_stated_are_refused():
    """In the caller's words."""
    assert read(b"abc", 3) == b"abc"
    with pytest.raises(LogError, match=r"'x.csv': has too many bytes"):
        read(b"abcd", 3)
