"""The certificate of a constrained estimate, or a finding why there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from steelyard.certificates.verify import Verification, verify
from steelyard.certificates.writing import drawn_certificate, feasible_certificate, fit_certificate
from steelyard.errors import SteelyardError
from steelyard.estimators.constrained import ConstrainedFit
from steelyard.estimators.optimum_distance import above_optimum, relative_gap
from steelyard.findings import Finding
from steelyard.model.model import Model
from steelyard.regression.regression import Regression

CONE_WORDS = {
    "psd": "positive semidefinite matrices: physical bodies, regions",
    "second_order": "norms: centres of mass in a cylinder or ellipsoid",
    "nonnegative": "inequalities: friction, drive inertia, bounds",
    "zero": "equations: fixed values, copies, symmetry",
}


@dataclass(frozen=True)
class ConeVerdict:
    """The number of conditions of one kind, and how many hold with equality."""

    kind: str
    words: str
    n_conditions: int
    n_with_equality: int


@dataclass(frozen=True, eq=False)
class Certificate:
    """A proof about the parameters of an estimate, already verified.

    document : the content that :func:`steelyard.write_certificate` writes.
    verdict : the result of :func:`steelyard.verify` on that document.
    drawn : whether the estimate is drawn to a prior, so that it is not the best fit to the data.
    """

    document: Mapping[str, Any]
    verdict: Verification
    drawn: bool = False

    def __repr__(self) -> str:
        return f"<Certificate: {self.words}>"

    @property
    def value(self) -> float | None:
        """Half the sum of squared residuals in units of the noise; None without a bound, and for
        an estimate that is drawn to a prior.
        """
        return self._stated("value")

    @property
    def gap(self) -> float | None:
        """Feasible parameters have an objective at most this much smaller; None without a bound.

        The objective is the value, or for an estimate that is drawn to a prior the value plus half
        the weighted distance from it.
        """
        return self._stated("gap")

    @property
    def lower_bound(self) -> float | None:
        """No feasible parameters have a smaller value; None without a bound, as for the value."""
        return self._stated("lower_bound")

    @property
    def relative_gap(self) -> float | None:
        """The gap as a share of the lower bound: the value is at most 1 + this times the optimum.

        Infinite where the bound is not positive; None without a bound.
        """
        if self.gap is None or self.lower_bound is None:
            return None
        return relative_gap(self.gap, self.lower_bound)

    def _stated(self, key: str) -> float | None:
        numbers = self.document["numbers"]
        return float(numbers[key]) if key in numbers else None

    @property
    def hashes(self) -> Mapping[str, str]:
        """SHA-256 hashes of the model, the constraints and the digits."""
        return self.document["hashes"]  # type: ignore[no-any-return]

    @cached_property
    def cones(self) -> tuple[ConeVerdict, ...]:
        """The counts of conditions, kind by kind."""
        kinds = [block["kind"] for block in self.document["constraints"]]
        counts = Counter(kinds)
        edge = Counter(kinds[k] for k in self.verdict.details["positions_with_equality"])
        return tuple(
            ConeVerdict(kind, words, counts[kind], counts[kind] if kind == "zero" else edge[kind])
            for kind, words in CONE_WORDS.items()
            if counts[kind]
        )

    @property
    def words(self) -> str:
        """What is proven, in one line."""
        n = self.verdict.details["conditions"]
        meets = f"the parameters meet all {n} conditions exactly"
        if self.verdict.kind == "drawn":
            return (
                f"{meets}, and their objective, of fit and prior together, is at most "
                f"{self.gap:.2g} above the optimum"
            )
        if self.gap is None or self.lower_bound is None:
            return meets if self.drawn else f"{meets}; how close to the best fit is not proven"
        return (
            f"{meets}, and their objective value of {self.value:.6g} is "
            f"{above_optimum(self.gap, self.lower_bound)} (gap {self.gap:.2g})"
        )

    def summary(self) -> dict[str, Any]:
        """The part of the certificate that result.json contains."""
        return {
            "kind": self.verdict.kind,
            "conditions": self.verdict.details["conditions"],
            "value": self.value,
            "gap": self.gap,
            "hashes": dict(self.hashes),
        }


def prove(
    model: Model, regression: Regression, fit: ConstrainedFit | None
) -> tuple[Certificate | None, tuple[Finding, ...]]:
    """The strongest certificate of a constrained fit, and findings on what could not be proven.

    It proves feasibility and, if possible, a bound on how much better other feasible parameters
    could fit. Returns None, without a finding, if there is no constrained fit.
    """
    if fit is None:
        return None, ()
    document, reason = None, "no exact bound was found"
    certify = fit_certificate if fit.pull is None else drawn_certificate
    try:
        document = certify(model, regression, fit)
    except (SteelyardError, np.linalg.LinAlgError) as failure:
        reason = str(failure)
    if document is not None:
        return Certificate(document, verify(document), drawn=fit.pull is not None), ()
    try:
        document = feasible_certificate(model, fit.blocks, fit.theta)
    except SteelyardError as failure:
        words = f"there is no certificate: {failure}; the constraints hold in floating point only"
        return None, (Finding("warning", "no-certificate", words),)
    if fit.pull is not None:
        return Certificate(document, verify(document), drawn=True), ()
    words = (
        "the certificate proves that the parameters meet every condition, but not how close to "
        f"the best fit they are: {reason}"
    )
    return Certificate(document, verify(document)), (Finding("warning", "no-gap-proven", words),)
