"""Which one measurement would close most of the masses that the data leave open."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from steelyard.errors import quoted_list

Kind = Literal["total mass", "mass", "centre of mass"]
ACCURACY = 0.01
"""Assumed accuracy of a scale, as a share of the mass."""


@dataclass(frozen=True)
class MassRange:
    """Smallest and largest mass (kg) of a body that constraints and fit allow."""

    body: str
    lower: float
    upper: float

    @property
    def width(self) -> float:
        """In kg."""
        return max(self.upper - self.lower, 0.0)


@dataclass(frozen=True)
class Measurement:
    """One measurement, and what would be known of the masses after it.

    kind : "total mass" of all moving bodies, "mass" of one body, or "centre of mass": that it is
        inside the box around the body's collision geometry.
    body : None for the total mass. value : mass that was assumed (kg), that of the estimate; None
        for a centre of mass. ranges : of the masses that were open, after the measurement.
    attached : links with mass that fixed or locked joints hold to the body: they are weighed with
        it.
    """

    kind: Kind
    body: str | None
    value: float | None
    ranges: tuple[MassRange, ...]
    attached: tuple[str, ...] = ()

    @property
    def summed_width(self) -> float:
        """Widths of the ranges after the measurement, together (kg)."""
        return sum(one.width for one in self.ranges)

    @property
    def action(self) -> str:
        """What to measure."""
        if self.kind == "total mass":
            return "weigh all moving links together"
        if self.kind == "mass":
            carried = f" with {quoted_list(self.attached)}" if self.attached else ""
            return f"weigh '{self.body}'{carried}"
        return f"state that the centre of mass of '{self.body}' is in its collision box"

    @property
    def option(self) -> str:
        """Where to state it."""
        return {"total mass": "--total-mass", "mass": "--mass"}.get(self.kind, "overlay")

    @property
    def words(self) -> str:
        """What to measure, and the option that states it."""
        return f"{self.action} ({self.option})"

    def range_of(self, body: str) -> MassRange | None:
        """The range of one body after the measurement; None if its mass was not open."""
        return next((one for one in self.ranges if one.body == body), None)


@dataclass(frozen=True)
class MeasurementAdvice:
    """Measurements by how much they would close, the best first.

    ranges : of the masses that are open now. They are compared by the sum of the widths of these
    ranges (kg) after the measurement: the user reads masses in kg, and the widest ranges are the
    ones to close. Each measured mass is assumed to be that of the estimate, to 1 %.
    """

    ranges: tuple[MassRange, ...]
    measurements: tuple[Measurement, ...]

    @property
    def summed_width(self) -> float:
        """Widths of the ranges now, together (kg)."""
        return sum(one.width for one in self.ranges)

    @property
    def best(self) -> Measurement:
        """The measurement that closes most."""
        return self.measurements[0]

    @property
    def words(self) -> str:
        """The advice in one line."""
        best = self.best
        own = None if best.body is None else self._own(best.body, best)
        return (
            f"{best.words}: {'' if own is None else own + ', and '}the ranges of all open masses "
            f"shrink from {self.summed_width:.3g} to {best.summed_width:.3g} kg together"
        )

    def _own(self, body: str, after: Measurement) -> str | None:
        """How the range of the measured body changes."""
        before = next((one for one in self.ranges if one.body == body), None)
        then = after.range_of(body)
        if before is None or then is None:
            return None
        return f"its range of {range_words(before)} becomes {range_words(then)}"

    def as_json(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        return {
            "ranges": [asdict(one) for one in self.ranges],
            "summed_width": self.summed_width,
            "assumed_accuracy": ACCURACY,
            "measurements": [
                asdict(one) | {"summed_width": one.summed_width} for one in self.measurements
            ],
        }


def range_words(one: MassRange) -> str:
    """A range for people, such as "0 to 3.1 kg"."""
    # the solver returns a small number instead of zero
    lower = 0.0 if abs(one.lower) < 1e-6 * max(one.upper, 1e-9) else one.lower
    return f"{lower:.3g} to {one.upper:.3g} kg"
