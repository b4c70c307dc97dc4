"""The certificate of a constrained estimate, or why there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from steelyard.certificates.verify import Verification, verify
from steelyard.certificates.writing import feasible_certificate, fit_certificate
from steelyard.errors import SteelyardError
from steelyard.estimators.constrained import ConstrainedFit
from steelyard.findings import Finding
from steelyard.model.model import Model
from steelyard.regression.regression import Regression

CONE_WORDS = {
    "psd": "matrices without negative eigenvalue: physical bodies, regions",
    "second_order": "norms: centres of mass in a cylinder or ellipsoid",
    "nonnegative": "inequalities: friction, drive inertia, bounds",
    "zero": "equations: fixed values, copies, symmetry",
}


@dataclass(frozen=True)
class ConeVerdict:
    """How the conditions of one kind are met: how many there are, how many with equality."""

    kind: str
    words: str
    n_conditions: int
    n_with_equality: int


@dataclass(frozen=True, eq=False)
class Certificate:
    """A proof about the parameters of an estimate, with the verdict of verifying it.

    document : what :func:`steelyard.write_certificate` writes.
    verdict : of :func:`steelyard.verify` on that document.
    drawn : whether a prior draws the parameters away from the best fit, on purpose.
    """

    document: Mapping[str, Any]
    verdict: Verification
    drawn: bool = False

    @property
    def value(self) -> float | None:
        """Half the sum of squared residuals in units of the noise, or None without a bound."""
        return self._stated("value")

    @property
    def gap(self) -> float | None:
        """By how much no feasible parameters have a smaller value, or None without a bound."""
        return self._stated("gap")

    @property
    def relative_gap(self) -> float | None:
        """The gap as a share of the value."""
        if self.gap is None or not self.value:
            return None
        return self.gap / self.value

    def _stated(self, key: str) -> float | None:
        numbers = self.document["numbers"]
        return float(numbers[key]) if key in numbers else None

    @property
    def hashes(self) -> Mapping[str, str]:
        """Of the model, the constraints and the digits."""
        return self.document["hashes"]  # type: ignore[no-any-return]

    @cached_property
    def cones(self) -> tuple[ConeVerdict, ...]:
        """How the conditions are met, kind by kind."""
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
        if self.gap is None:
            return meets if self.drawn else f"{meets}; how near the best fit they are is not proven"
        share = "" if self.relative_gap is None else f" ({100 * self.relative_gap:.1g} %)"
        return (
            f"{meets}, and no others that do fit better than by {self.gap:.2g} of "
            f"{self.value:.6g}{share}"
        )

    def summary(self) -> dict[str, Any]:
        """What a result says of its certificate."""
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

    A bound on how much better any other feasible parameters could fit is proven where it can be,
    otherwise feasibility alone. None, without a finding, where there is no constrained fit.
    """
    if fit is None:
        return None, ()
    document, reason = None, "no bound could be made exact"
    try:
        document = fit_certificate(model, regression, fit)
    except (SteelyardError, np.linalg.LinAlgError) as failure:
        reason = str(failure)
    if document is not None:
        return Certificate(document, verify(document)), ()
    try:
        document = feasible_certificate(model, fit.blocks, fit.theta)
    except SteelyardError as failure:
        words = f"there is no certificate: {failure}; the constraints hold as far as floats tell"
        return None, (Finding("warning", "no-certificate", words),)
    if fit.pull is not None:
        return Certificate(document, verify(document), drawn=True), ()
    words = (
        "the certificate proves that the parameters meet every condition, but not how close to "
        f"the best fit they are: {reason}"
    )
    return Certificate(document, verify(document)), (Finding("warning", "no-gap-proven", words),)
