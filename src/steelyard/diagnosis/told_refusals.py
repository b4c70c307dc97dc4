"""Errors that carry what was found in the input before they were raised."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from steelyard.errors import SteelyardError
from steelyard.findings import Finding


@contextmanager
def telling(findings: Iterable[Finding]) -> Iterator[None]:
    """Add the findings that are more than notes to every Steelyard error that is raised inside."""
    try:
        yield
    except SteelyardError as error:
        alarms = tuple(one for one in findings if one.alarming)
        error.findings = (*error.findings, *alarms)
        raise
