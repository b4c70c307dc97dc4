"""Do the base parameters of two results agree within their intervals?

The difference of two independent estimates has the standard deviation sqrt(sigma_a² + sigma_b²),
and is expected within sqrt(half_a² + half_b²), with the half widths of their intervals. Where the
models differ, a base parameter of the same name may be another combination of standard parameters;
it is not compared then.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from steelyard.estimators.estimate import ParameterEstimate

WITH_INTERVAL = ("confidence", "mostly prior")
CHANCE = 0.01
"""Results are said to differ where they agree with less than this probability by chance."""


@dataclass(frozen=True)
class BasePair:
    """A base parameter of both results.

    same_combination : whether both stand for the same combination of standard parameters.
    sigmas : (b - a) / sqrt(sigma_a² + sigma_b²); None unless both have an interval and are the
        same combination.
    half_widths : |b - a| / sqrt(half_a² + half_b²); at most 1 is within what the intervals allow.
    """

    name: str
    a: ParameterEstimate
    b: ParameterEstimate
    same_combination: bool
    sigmas: float | None
    half_widths: float | None

    @property
    def within(self) -> bool | None:
        """Whether the difference is within what the intervals allow; None if not compared."""
        return None if self.half_widths is None else self.half_widths <= 1.0


@dataclass(frozen=True)
class Agreement:
    """Whether differences are within what the intervals allow.

    n : parameters that were compared. outside : names of those that differ by more than their
    intervals allow. expected : how many chance alone would give. largest : of the
    differences, in half widths. allowed : the most that chance alone would give.
    """

    n: int
    outside: tuple[str, ...]
    expected: float
    largest: float
    allowed: float
    most_outside: int

    @property
    def holds(self) -> bool | None:
        """Whether chance can explain the differences; None if nothing was compared.

        Parameters are counted as if they were independent, which they are not quite.
        """
        if self.n == 0:
            return None
        return len(self.outside) <= self.most_outside and self.largest <= self.allowed

    @property
    def words(self) -> str:
        """The verdict in one sentence."""
        if self.n == 0:
            return "no base parameter has an interval in both results: nothing can be said"
        counted = (
            f"{len(self.outside)} of {self.n} base parameters are outside, {self.expected:.1f} "
            "expected by chance"
        )
        if self.holds:
            return f"the results agree within their intervals: {counted}"
        if len(self.outside) <= self.most_outside:
            counted += f"; the largest difference is {self.largest:.1f} times what is allowed"
        return f"the results differ by more than their intervals allow: {counted}"


def base_pair(a: ParameterEstimate, b: ParameterEstimate) -> BasePair:
    """Compare a base parameter of two results."""
    same = (a.combination, a.unit) == (b.combination, b.unit)
    sigmas = half_widths = None
    if same and a.interval_kind in WITH_INTERVAL and b.interval_kind in WITH_INTERVAL:
        difference = b.value - a.value
        sigmas = _ratio(difference, math.hypot(_sigma(a), _sigma(b)))
        allowed = 0.5 * math.hypot(a.upper - a.lower, b.upper - b.lower)
        half_widths = _ratio(abs(difference), allowed)
        if sigmas is None or half_widths is None:
            sigmas = half_widths = None
    return BasePair(a.name, a, b, same, sigmas, half_widths)


def _sigma(parameter: ParameterEstimate) -> float:
    """The standard deviation that the parameter's interval uses."""
    return parameter.sigma if parameter.sigma_cluster is None else parameter.sigma_cluster


def _ratio(above: float, below: float) -> float | None:
    """Quotient; 0 for 0 / 0, and None where it is not known."""
    if not (math.isfinite(above) and math.isfinite(below)):
        return None
    if below > 0.0:
        return above / below
    return 0.0 if above == 0.0 else math.copysign(math.inf, above)


def agreement(pairs: Iterable[BasePair], level: float) -> Agreement:
    """Whether chance can explain the differences of these pairs.

    level : confidence level of the intervals, such as 0.95.
    """
    from scipy.stats import binom, norm

    compared = [pair for pair in pairs if pair.half_widths is not None]
    n = len(compared)
    sizes = [pair.half_widths for pair in compared if pair.half_widths is not None]
    # the largest of n differences, by Bonferroni; half widths hold the factor of their level
    quantile = norm.isf(0.5 * CHANCE / max(n, 1)) / norm.isf(0.5 * (1.0 - level))
    return Agreement(
        n=n,
        outside=tuple(pair.name for pair in compared if not pair.within),
        expected=n * (1.0 - level),
        largest=max(sizes, default=0.0),
        allowed=float(max(quantile, 1.0)),
        most_outside=int(binom.ppf(1.0 - CHANCE, n, 1.0 - level)) if n else 0,
    )
