"""Measurements that would close open masses, as rows of a table."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.estimators.measurement_advice import MassRange, MeasurementAdvice
from steelyard.report.numbers import significant

MOST_ROWS = 5
"""Rows of the table; the result file has all measurements."""


@dataclass(frozen=True)
class MeasurementRow:
    """One measurement as a table shows it. option : where to state it.

    before, after : range of the mass of its body (kg), empty for the total mass. left : width of
    all open ranges together after it (kg).
    """

    action: str
    option: str
    before: str
    after: str
    left: str

    @property
    def what(self) -> str:
        """What to measure, and where to state it."""
        return f"{self.action} ({self.option})"


def measurement_rows(advice: MeasurementAdvice | None) -> list[MeasurementRow]:
    """The best measurements, and that of the total mass, which is the easiest, in any case."""
    if advice is None:
        return []
    shown = list(advice.measurements[:MOST_ROWS])
    shown += [one for one in advice.measurements[MOST_ROWS:] if one.kind == "total mass"]
    now = {one.body: one for one in advice.ranges}
    rows = []
    for one in shown:
        then = None if one.body is None else one.range_of(one.body)
        before = "" if one.body is None or one.body not in now else _ends(now[one.body])
        after = "" if then is None else _ends(then)
        left = significant(one.summed_width, 3)
        rows.append(MeasurementRow(one.action, one.option, before, after, left))
    return rows


def _ends(one: MassRange) -> str:
    # the solver returns a small number instead of zero
    lower = 0.0 if abs(one.lower) < 1e-6 * one.upper else one.lower
    return f"{significant(lower, 3)} to {significant(one.upper, 3)}"
