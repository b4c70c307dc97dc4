"""How far a fit that is made link by link is from the simultaneous optimum, at most."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from steelyard.findings import Finding

FAR = 1.0
"""Standard deviations, of all parameters together, above which the distance is a warning."""
UNKNOWN, FAR_AWAY, NEAR = "sequential-gap-unknown", "sequential-not-optimal", "sequential-gap"
CODES = (UNKNOWN, FAR_AWAY, NEAR)
"""Codes of the finding: exactly one of them is about a sequential fit."""


@dataclass(frozen=True)
class OptimumDistance:
    """A proven bound of the distance from the optimum.

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
        share = self.gap / self.value if self.value > 0.0 else 0.0
        words = (
            f"the objective of {self.how} is proven to be at most {100.0 * share:.2g} % "
            f"({self.gap:.2g} in units of the noise) above the simultaneous optimum: all "
            f"parameters together are at most {self.deviations:.2g} standard deviations away "
            "from it"
        )
        if self.deviations <= FAR:
            return Finding("info", NEAR, words)
        return Finding("warning", FAR_AWAY, f"{words}; {advice}")
