"""What the rows of a regression state: joint torques, differences of energy, or mean power.

torque   tau = W(q, v, a) theta at each sample, one row for each joint.
energy   the work of the joint torques over an interval equals the change of the robot's energy
         plus the work that friction takes (Gautier and Khalil 1992, eqs 1-10); one row for each
         interval.
power    the same over short intervals, divided by their length.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

from steelyard.errors import RegressionError, did_you_mean, listed, shown
from steelyard.signals.processing import Processing

EquationName = Literal["torque", "energy", "power"]
EQUATION_NAMES: tuple[EquationName, ...] = get_args(EquationName)
"""Names of the equations, the default first."""


@dataclass(frozen=True)
class EquationKind:
    """Words and units of one kind of equation.

    values : its rows in sentences. quantity, unit : of its right-hand side.
    interval_s : default length (s) of its intervals; None for an equation at single samples.
    """

    description: str
    values: str
    quantity: str
    unit: str
    interval_s: float | None = None


KINDS: dict[EquationName, EquationKind] = {
    "torque": EquationKind("torques of the joints", "torque values", "torque", "N m or N"),
    "energy": EquationKind(
        "energy over intervals, without accelerations",
        "differences of energy",
        "energy",
        "J",
        interval_s=1 / 16,
    ),
    "power": EquationKind(
        "mean power over short intervals, without accelerations",
        "values of mean power",
        "power",
        "W",
        interval_s=1 / 32,
    ),
}
ROWS_IN_A_BLOCK = 4
"""Neighbouring intervals share the error of the speed between them: a time block has so many."""


@dataclass(frozen=True)
class Equation:
    """The equation of a regression's rows.

    interval_s : length (s) of the intervals of energy and power; None for torques.
    """

    name: EquationName = "torque"
    interval_s: float | None = None

    def __post_init__(self) -> None:
        if self.name not in EQUATION_NAMES:
            raise RegressionError(
                f"there is no equation {shown(str(self.name))}"
                f"{did_you_mean(str(self.name), EQUATION_NAMES)}; there are "
                f"{listed(EQUATION_NAMES)}"
            )
        if self.kind.interval_s is None:
            if self.interval_s is not None:
                raise RegressionError(
                    "interval_s is given, but rows of torque have no intervals: choose the energy "
                    "or the power model"
                )
            return
        if self.interval_s is None:
            object.__setattr__(self, "interval_s", self.kind.interval_s)
        if not _positive_time(self.interval_s):
            raise RegressionError(
                f"interval_s is {self.interval_s!r:.60}; it must be a time in s, above 0 and at "
                "most 1e6"
            )

    @property
    def kind(self) -> EquationKind:
        """Words and units."""
        return KINDS[self.name]

    @property
    def of_joints(self) -> bool:
        """Whether each row belongs to one joint."""
        return self.name == "torque"

    @property
    def words(self) -> str:
        """The equation in a sentence."""
        over = "" if self.interval_s is None else f" over intervals of {self.interval_s:g} s"
        return f"{self.kind.quantity}{over}"

    @property
    def correlation_s(self) -> float:
        """Time (s) that a time block should have at least."""
        return 0.0 if self.interval_s is None else ROWS_IN_A_BLOCK * self.interval_s

    def as_json(self) -> dict[str, str | float | None]:
        """Plain values that JSON can hold."""
        return {"name": self.name, "interval_s": self.interval_s}


TORQUE = Equation()
"""The equation of joint torques."""


def processing_for(equation: Equation, processing: Processing) -> Processing:
    """How logs are prepared for this equation, where ``processing`` leaves it open.

    Energy and power: no accelerations; torques unfiltered, since the integral averages their noise;
    and no dead band, since a torque near standstill does no work.
    """
    if equation.of_joints:
        if processing.acceleration == "none":
            raise RegressionError(
                "the torque model needs accelerations, but acceleration is 'none': choose "
                "'differentiate', or the energy or the power model"
            )
        return processing
    if processing.acceleration == "measured":
        raise RegressionError(
            f"accelerations are to be taken as measured, but the {equation.name} model uses none: "
            "leave out --acceleration (acceleration)"
        )
    return replace(
        processing,
        acceleration="none",
        torque_filter="none" if processing.torque_filter == "auto" else processing.torque_filter,
        dead_band=None if processing.dead_band == "auto" else processing.dead_band,
    )


def _positive_time(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 < value <= 1e6
