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
"""Results are said to differ where chance alone gives that with less than this probability."""


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
    """Whether the differences of base parameters are within what their intervals allow.

    n : parameters that were compared.
    outside : names of those whose own difference is more than their intervals allow.
    expected : how many of these chance gives on average. They are correlated, so that several are
        often outside together: the verdict is by the largest difference, not by their number.
    largest : of the differences, in joint half widths; of : the parameter that has it.
    allowed : what the largest of n exceeds by chance with probability ``CHANCE`` at most,
        however the parameters are correlated (Bonferroni).
    """

    n: int
    outside: tuple[str, ...]
    expected: float
    largest: float
    of: str
    allowed: float

    @property
    def holds(self) -> bool | None:
        """Whether chance can explain the differences; None if nothing was compared."""
        return None if self.n == 0 else self.largest <= self.allowed

    @property
    def words(self) -> str:
        """The verdict, and the difference that decides it."""
        if self.n == 0:
            return "no base parameter has an interval in both results: nothing can be said"
        verdict = (
            "the results agree: the differences of their base parameters are no larger than chance "
            "explains"
            if self.holds
            else "the results differ by more than chance explains"
        )
        return (
            f"{verdict}. The largest of {self.n} differences, of {self.of}, is {self.largest:.2g} "
            "times the ± of both intervals together; by chance the largest of so many can be "
            f"{self.allowed:.2g} times it{self._outside_words}"
        )

    @property
    def _outside_words(self) -> str:
        """How many differ by more than their own intervals, which some do by chance."""
        if not self.outside:
            return ""
        differ = "1 differs" if len(self.outside) == 1 else f"{len(self.outside)} differ"
        return (
            f". {differ} by more than that ±, which about {self.expected:.1f} of {self.n} do by "
            "chance"
        )


def base_pair(a: ParameterEstimate, b: ParameterEstimate) -> BasePair:
    """Compare a base parameter of two results."""
    same = (a.combination, a.unit) == (b.combination, b.unit)
    sigmas = half_widths = None
    if same and a.interval_kind in WITH_INTERVAL and b.interval_kind in WITH_INTERVAL:
        difference = b.value - a.value
        sigmas = _ratio(difference, math.hypot(_sigma(a), _sigma(b)))
        allowed = 0.5 * math.hypot(a.upper - a.lower, b.upper - b.lower)
        half_widths = None if sigmas is None else _ratio(abs(difference), allowed)
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
    from scipy.stats import norm

    sizes = {pair.name: pair.half_widths for pair in pairs if pair.half_widths is not None}
    n = len(sizes)
    of = max(sizes, key=lambda name: sizes[name], default="")
    # half widths hold the factor of their own level
    quantile = norm.isf(0.5 * CHANCE / max(n, 1)) / norm.isf(0.5 * (1.0 - level))
    return Agreement(
        n=n,
        outside=tuple(name for name, size in sizes.items() if size > 1.0),
        expected=n * (1.0 - level),
        largest=sizes.get(of, 0.0),
        of=of,
        allowed=float(max(quantile, 1.0)),
    )
