"""One row of `papers`: what a paper states, what comes out here, and whether the two agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

Value = str | float | tuple[float, ...]
RUN = "python benchmarks/run.py papers"
AT_MOST = (0.0, 1.0)
"""Agreement with a number that the paper states as a bound from above."""


@dataclass(frozen=True)
class Effort:
    """How much is spent on what takes long.

    budget_s : of searches that end after a time. problems : bodies for which formulations are
    compared. links : of the largest simulated robot. twin_s, twin_hz : length and rate of the logs
    of the synthetic WAM.
    """

    budget_s: float = 10.0
    problems: int = 40
    links: int = 20
    twin_s: float = 58.0
    twin_hz: float = 1000.0


FULL = Effort()
REDUCED = Effort(0.5, 6, 10, 24.0, 200.0)


@dataclass(frozen=True)
class Row:
    """A table, figure or number of a paper.

    where : table, equation or section. printed : the paper's numbers, with their digits, or its
    verdict in a word. compute : the same from this project; None where the text lacks what it would
    be computed from, and `reason` then says what. agree : None if every number rounds to the
    printed digits or the words are equal; or the interval that ours / printed must lie in. reason :
    why ours differs; differ : what ours is then, a word or an interval of ours / printed, so that
    a reason cannot excuse another difference. measured : whether ours is a time, or depends on one.
    slow : whether the reduced form of the tests leaves it out.
    """

    where: str
    what: str
    printed: str
    compute: Callable[[Effort], Value] | None
    agree: tuple[float, float] | None = None
    reason: str = ""
    differ: str | tuple[float, float] | None = None
    command: str = RUN
    measured: bool = False
    slow: bool = False


@dataclass(frozen=True)
class Found:
    """A row with what was found, and its status: agrees, explained, text lacks it, unexplained or
    not reachable.
    """

    row: Row
    ours: str
    status: str


def found(row: Row, effort: Effort) -> Found:
    """Compute a row and compare."""
    if row.compute is None:
        return Found(row, "", "text lacks it" if row.reason else "not reachable")
    value = row.compute(effort)
    if isinstance(value, str):
        ours, agrees, differs = value, value == row.printed, value == row.differ
    else:
        numbers = value if isinstance(value, tuple) else (value,)
        ours = " ".join(_text(x, row, k) for k, x in enumerate(numbers))
        agrees = _agree(row, numbers, row.agree)
        differs = isinstance(row.differ, tuple) and _agree(row, numbers, row.differ)
    if agrees:
        return Found(row, ours, "agrees")
    return Found(row, ours, "explained" if row.reason and differs else "unexplained")


def printed_numbers(text: str) -> tuple[Decimal, ...]:
    """The numbers of a printed value; empty if it is a word."""
    try:
        return tuple(Decimal(cell) for cell in text.split())
    except InvalidOperation:
        return ()


def _agree(row: Row, ours: tuple[float, ...], ratio: tuple[float, float] | None) -> bool:
    printed = printed_numbers(row.printed)
    if len(printed) != len(ours):
        raise ValueError(f"{row.where}, {row.what}: {len(printed)} printed, {len(ours)} found")
    if ratio is None:
        return all(
            abs(x - float(p)) <= 0.501 * 10.0 ** int(p.as_tuple().exponent)
            for x, p in zip(ours, printed, strict=True)
        )
    low, high = ratio
    return all(
        low <= x / float(p) <= high if p else x == 0.0 for x, p in zip(ours, printed, strict=True)
    )


def _text(value: float, row: Row, k: int) -> str:
    """The digits of the printed number where ours must round to it, else three."""
    if row.agree is None and row.differ is None:
        exponent = int(printed_numbers(row.printed)[k].as_tuple().exponent)
        if exponent > -9:
            return f"{value:.{max(-exponent, 0)}f}"
    return f"{value:.3g}" if abs(value) < 1e4 else f"{value:.6g}"
