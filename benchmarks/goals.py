"""The goals of a benchmark: a figure, a comparison, a number."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass

Figures = Mapping[str, float | None]
OPERATORS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}


@dataclass(frozen=True)
class Goal:
    """``figure op value``, such as ``ratio_to_pinocchio_loop <= 1.5``."""

    figure: str
    op: str
    value: float

    def holds(self, figures: Figures) -> bool | None:
        """Whether it holds; ``None`` where the figure could not be measured."""
        measured = figures[self.figure]
        return None if measured is None else bool(OPERATORS[self.op](measured, self.value))

    def as_json(self, figures: Figures) -> dict[str, object]:
        """The goal and its verdict, as it stands in a benchmark's JSON."""
        return {
            "figure": self.figure,
            "op": self.op,
            "value": self.value,
            "holds": self.holds(figures),
        }


def ratio(numerator: float | None, denominator: float | None) -> float | None:
    """Quotient of two figures, absent if one of them is."""
    return None if numerator is None or denominator is None else numerator / denominator
