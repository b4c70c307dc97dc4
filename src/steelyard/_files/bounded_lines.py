"""A stream of text lines that refuses, while it is read, what no table of numbers has."""

from __future__ import annotations

import io
from typing import BinaryIO

from steelyard._files.limits import MAX_BLANK_LINES, MAX_LINE_BYTES
from steelyard.errors import SteelyardError, size_words

SPACES = b" \t"


class BoundedLines(io.RawIOBase):
    """The bytes of ``stream``, of which at most ``max_bytes`` are given.

    A line longer than ``MAX_LINE_BYTES``, and more than ``MAX_BLANK_LINES`` blank lines, are
    refused with ``error``: a parser would collect the one, and walk over the others for minutes.

    too_many : what is said where the stream has more bytes.
    """

    def __init__(
        self,
        stream: BinaryIO,
        max_bytes: int,
        where: str,
        error: type[SteelyardError],
        too_many: str,
    ) -> None:
        self._stream, self._left = stream, max_bytes
        self._where, self._error, self._too_many = where, error, too_many
        self._line_bytes = 0
        self._blank = 0
        self._after_break = True

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Read and check one block."""
        block = self._stream.read(len(buffer))
        self._left -= len(block)
        if self._left < 0:
            raise self._error(f"{self._where}: {self._too_many}")
        self._check(block)
        buffer[: len(block)] = block
        return len(block)

    def _check(self, block: bytes) -> None:
        # within one block no line can be too long: a block has some thousand bytes
        end = max(block.rfind(b"\n"), block.rfind(b"\r"))
        self._line_bytes = len(block) - end - 1 if end >= 0 else self._line_bytes + len(block)
        if self._line_bytes > MAX_LINE_BYTES:
            raise self._error(
                f"{self._where}: has a line of more than {size_words(MAX_LINE_BYTES)}, the limit"
            )
        marks = block.translate(None, SPACES).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        breaks = (b"\n" + marks) if self._after_break else marks
        # of n breaks in a row, n - 1 end a blank line; "\n\n\n" has one "\n\n" without overlap
        self._blank += breaks.count(b"\n\n")
        if marks:
            self._after_break = marks.endswith(b"\n")
        if self._blank > MAX_BLANK_LINES:
            raise self._error(
                f"{self._where}: has more than {MAX_BLANK_LINES} blank lines, the limit"
            )
