"""Rows of a file that are skipped: what cannot be read, and stamps that no clock gives.

A recording that was cut short, or that two programs wrote into, has a few such rows. Where they are
many, the file is not what it seems, and is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError
from steelyard.findings import Finding

Array = NDArray[np.float64]
A_HANDFUL = 10
"""Rows that may be skipped in a log of any length, if more are read."""
LARGEST_SHARE = 0.01
"""Share of the rows that may be skipped in a long one."""
NAMED_LINES = 10
"""Lines whose numbers are kept."""
ROWS_OF_A_PERIOD = 20
"""Rows from which the period is known."""
FAR = 1e6
"""Periods from its neighbours at which the first or last stamp alone is no time."""


@dataclass(frozen=True)
class SkippedRows:
    """Rows of a file that were skipped, so far.

    n_rows : how many rows the file has, those skipped among them. n_skipped : of these.
    lines : numbers of the first lines that were skipped, from 1. reason : why the first was, with
        the line's number.
    """

    n_rows: int = 0
    n_skipped: int = 0
    lines: tuple[int, ...] = ()
    reason: str = ""

    def and_rows(self, n_read: int, skipped: Sequence[tuple[int, str]]) -> SkippedRows:
        """With ``n_read`` rows more that were read, and lines that were skipped, each with why."""
        total = self.n_skipped + len(skipped)
        named = sorted(skipped)[: NAMED_LINES - len(self.lines)] if skipped else []
        lines = (*self.lines, *(line for line, _ in named))
        reason = self.reason or (named[0][1] if named else "")
        return SkippedRows(self.n_rows + n_read + len(skipped), total, lines, reason)

    @property
    def are_many(self) -> bool:
        """Whether they are too many for single damaged rows of a recording."""
        beyond = self.n_skipped > max(A_HANDFUL, LARGEST_SHARE * self.n_rows)
        return beyond or 2 * self.n_skipped >= self.n_rows > 0

    @property
    def counted(self) -> str:
        """How many, of how many: "3 of 5000 rows"."""
        return f"{self.n_skipped} of {self.n_rows} rows"


def refuse_many(skipped: SkippedRows, where: str) -> None:
    """Refuse a file of which too many rows would be skipped, with the reason of the first."""
    if skipped.n_skipped and skipped.are_many:
        raise LogError(
            f"{where}: {skipped.reason}; {skipped.counted} cannot be read, which is too many to "
            "skip"
        )


def skipped_findings(skipped: SkippedRows | None, name: str) -> tuple[Finding, ...]:
    """What is said of the rows of the log ``name`` that were skipped, if any were."""
    if skipped is None or not skipped.n_skipped:
        return ()
    one = skipped.n_skipped == 1
    more = skipped.n_skipped - len(skipped.lines)
    lines = f"{'line' if one else 'lines'} {', '.join(str(line) for line in skipped.lines)}"
    lines += f" and {more} more" if more else ""
    words = (
        f"log '{name}': {skipped.counted} cannot be read and {'is' if one else 'are'} skipped "
        f"({lines}); first: {skipped.reason}; look there if the recording should be whole"
    )
    return (Finding("warning", "rows-skipped", words, size=skipped.n_skipped, unit="rows"),)


def wild_stamps(time: Array, *, at_start: bool, at_end: bool) -> dict[int, str]:
    """Rows whose time stamps (n_rows,), finite, in any unit, are no time, each with why.

    These are stamps that are out of order alone, so that without this one row time increases; and a
    first or last one a million periods away from all others. A clock that is set back for longer is
    left as it is. at_start, at_end : whether the first and the last row have no neighbours that are
    not given; a row that has some is only judged with them.
    """
    out: dict[int, str] = {}
    n = len(time)
    steps = np.diff(time)
    for k in np.flatnonzero(steps < 0.0):
        early, late = float(time[k]), float(time[k + 1])
        before = float(time[k - 1]) if k > 0 else -np.inf
        after = float(time[k + 2]) if k + 2 < n else np.inf
        ahead = late > before and (k > 0 or at_start)
        behind = after > early and (k + 2 < n or at_end)
        if ahead and behind:
            # without either row time increases: the one farther from the middle of its neighbours,
            # and at an end of the file the one inside
            ahead = not np.isfinite(after) or (
                abs(early - 0.5 * (before + late)) > abs(late - 0.5 * (early + after))
                and bool(np.isfinite(before))
            )
        if ahead or behind:
            wrong, other, way = (k, late, "before") if ahead else (k + 1, early, "after")
            stamp = float(time[wrong])
            out[int(wrong)] = f"time is {stamp!r} {way} {other!r}, in this row alone"
    if n >= ROWS_OF_A_PERIOD:
        for end, step, row in ((at_start, steps[0], 0), (at_end, steps[-1], n - 1)):
            period = float(np.median(np.delete(steps, 0 if row == 0 else n - 2)))
            if end and period > 0.0 and step > FAR * period:
                words = f"time is {float(time[row])!r}, a million periods away from all other rows"
                out.setdefault(row, words)
    return out
