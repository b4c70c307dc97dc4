"""How far a sequential fit is from the simultaneous optimum at most, as one finding.

The certificate of a result bounds the same distance again, in exact arithmetic and with duals of
all links at once. Where that bound is smaller, it takes the place of the fit's own, so that a
result states one number. Both count in units of the noise, and as a share of half the sum of all
squared residuals, including those that no parameters can explain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.findings import Finding

FAR = 1.0
"""Standard deviations from the optimum above which the finding is a warning."""
CODES = NEAR, NOT_OPTIMAL, UNKNOWN = (
    "sequential-gap",
    "sequential-not-optimal",
    "sequential-gap-unknown",
)


@dataclass(frozen=True)
class OptimumGap:
    """The proven gap of a fit.

    gap : of the objective, in units of the noise; infinite if nothing is proven.
    value : the objective with half of all squared residuals. n_sweeps : that were made.
    chosen : whether the user chose their number. published : whether it is the published method.
    """

    gap: float
    value: float
    n_sweeps: int
    chosen: bool
    published: bool = False

    @property
    def deviations(self) -> float:
        """Largest distance of all parameters together from the optimum, in standard deviations."""
        return float(np.sqrt(2.0 * max(self.gap, 0.0)))

    def tightened(self, gap: float | None) -> OptimumGap:
        """With another bound of the same distance, if that is smaller."""
        return self if gap is None or gap >= self.gap else replace(self, gap=gap)

    def finding(self) -> Finding:
        """The gap in words; a warning if it is unknown or above `FAR` standard deviations."""
        n = self.n_sweeps
        how = (
            "the published sequential method"
            if self.published
            else f"the sequential fit with {n} sweep{'' if n == 1 else 's'}"
        )
        cure = "allow more sweeps, or use the method 'feasible' or 'entropic'"
        if self.published:
            cure = "the method 'sequential' reaches it"
        elif self.chosen:
            cure = "leave out --sweeps, or use the method 'feasible' or 'entropic'"
        if not np.isfinite(self.gap):
            words = f"how far {how} is from the simultaneous optimum could not be proven: {cure}"
            return Finding("warning", UNKNOWN, words)
        gap = max(self.gap, 0.0)
        share = f"{100.0 * gap / self.value:.2g} %, " if self.value > 0.0 else ""
        words = (
            f"the objective of {how} is proven to be at most {gap:.2g} ({share}in units of the "
            "noise) above the simultaneous optimum: all parameters together are at most "
            f"{self.deviations:.2g} standard deviations away from it"
        )
        if self.deviations <= FAR:
            return Finding("info", NEAR, words)
        return Finding("warning", NOT_OPTIMAL, f"{words}; {cure}")


def with_tighter_gap(
    findings: Sequence[Finding], own: OptimumGap | None, gap: float | None
) -> tuple[Finding, ...]:
    """The findings, with that on the gap restated if another proof bounds it better.

    own : as the fit proved it; None for a fit without such a finding. gap : of the other proof.
    """
    tighter = None if own is None else own.tightened(gap)
    if tighter is None or tighter is own:
        return tuple(findings)
    return tuple(tighter.finding() if one.code in CODES else one for one in findings)
