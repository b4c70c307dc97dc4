"""How far a fit is from the optimum, at most, and that distance in words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal

import numpy as np

from steelyard.findings import Finding

FAR = 1.0
"""Standard deviations, of all parameters together, above which the distance is a warning."""
UNKNOWN, FAR_AWAY, NEAR = "sequential-gap-unknown", "sequential-not-optimal", "sequential-gap"
CODES = (UNKNOWN, FAR_AWAY, NEAR)
"""Codes of the finding: exactly one of them is about a sequential fit."""


def relative_gap(gap: float, lower_bound: float) -> float:
    """The gap as a share of a proven lower bound of the optimum.

    The objective is at most 1 + this times the optimum. Infinite where the bound is not positive:
    no share of the optimum is proven then.
    """
    if gap <= 0.0:
        return 0.0
    return gap / lower_bound if lower_bound > 0.0 else float("inf")


def above_optimum(gap: float, lower_bound: float, optimum: str = "optimum") -> str:
    """How far an objective is from the optimum at most, in words.

    Rounded up; as a multiple of the optimum where the objective may be more than twice as large.
    """
    share = relative_gap(gap, lower_bound)
    if not np.isfinite(share):
        return f"at most {gap:.2g} above the {optimum}, of which no positive lower bound is proven"
    if share > 1.0:
        return f"at most {_rounded_up(1.0 + share)} times the {optimum}"
    return f"at most {_rounded_up(100.0 * share)} % above the {optimum}"


def _rounded_up(value: float) -> str:
    """Two digits, never less than the value; without exponent from 1e-4 to 1e7."""
    up = float(Context(prec=2, rounding=ROUND_CEILING).create_decimal(Decimal(value)))
    return f"{up:,.0f}" if 10.0 <= up < 1e7 else f"{up:.2g}"


@dataclass(frozen=True)
class OptimumDistance:
    """A proven bound of the distance of a fit that is made link by link from the optimum.

    gap : half a sum of squares in units of the noise by which the optimum may be lower, at most;
        infinite where nothing is proven. value : the objective of the fit, in the same units.
    how : the fit, in words. published : whether it is the published method.
    """

    gap: float
    value: float
    how: str
    published: bool = False

    @property
    def deviations(self) -> float:
        """Standard deviations by which all parameters together are away, at most: √(2 gap)."""
        return float(np.sqrt(2.0 * self.gap))

    def with_bound(self, gap: float | None) -> OptimumDistance:
        """The tighter of this bound and another one."""
        return self if gap is None or gap >= self.gap else replace(self, gap=max(gap, 0.0))

    @property
    def finding(self) -> Finding:
        """What a user should know of it; a warning where the optimum may be far."""
        advice = (
            "the method 'sequential' reaches it"
            if self.published
            else "allow more sweeps, or use the method 'feasible' or 'entropic'"
        )
        if not np.isfinite(self.gap):
            words = f"how far {self.how} is from the simultaneous optimum could not be proven"
            return Finding("warning", UNKNOWN, f"{words}; {advice}")
        above = above_optimum(self.gap, self.value - self.gap, "simultaneous optimum")
        words = (
            f"the objective of {self.how}, {self.value:.4g}, is proven to be {above} "
            f"({self.gap:.2g} in units of the noise): all parameters together are at most "
            f"{self.deviations:.2g} standard deviations away from it"
        )
        if self.deviations <= FAR:
            return Finding("info", NEAR, words)
        return Finding("warning", FAR_AWAY, f"{words}; {advice}")
