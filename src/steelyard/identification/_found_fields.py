"""The fields of an identification, for the functions that show, write and use it.

:class:`steelyard.Identification` has these functions as methods; they name its fields instead of
its class, so that no module imports another in a circle.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol, TypeVar

from steelyard.certificates.certificate import Certificate
from steelyard.diagnosis.admitted_terms import Admission
from steelyard.diagnosis.hypotheses.stepwise import Missing
from steelyard.diagnosis.signal_ways import SignalChoice
from steelyard.diagnosis.verdict.verdict import Verdict
from steelyard.estimators.estimate import Estimate
from steelyard.findings import Finding
from steelyard.model.model import Model
from steelyard.regression.regression import Regression
from steelyard.signals.prepare import Prepared
from steelyard.validation.held_out import HeldOut


class FoundFields(Protocol):
    """What :class:`steelyard.Identification` holds."""

    @property
    def model(self) -> Model: ...

    @property
    def estimate(self) -> Estimate: ...

    @property
    def regression(self) -> Regression: ...

    @property
    def validation(self) -> HeldOut | None: ...

    @property
    def certificate(self) -> Certificate | None: ...

    @property
    def signals(self) -> SignalChoice | None: ...

    @property
    def missing(self) -> tuple[Missing, ...]: ...

    @property
    def admission(self) -> Admission | None: ...

    @property
    def first_run(self) -> Prepared | None: ...

    @property
    def level(self) -> float: ...

    @property
    def verdict(self) -> Verdict: ...

    @property
    def findings(self) -> tuple[Finding, ...]: ...


Found = TypeVar("Found", bound=FoundFields)


def with_findings(found: Found, findings: Iterable[Finding]) -> Found:
    """``found`` with more findings."""
    estimate = replace(found.estimate, findings=(*found.findings, *findings))
    return replace(found, estimate=estimate)  # type: ignore[type-var]
