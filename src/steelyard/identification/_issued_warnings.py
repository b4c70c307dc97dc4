"""Findings that are more than notes, issued as Python warnings."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from steelyard.errors import SteelyardWarning
from steelyard.findings import Finding

TO_THE_CALLER = 3
"""Frames from here to the line that called the public function."""


def issue_warnings(findings: Iterable[Finding]) -> None:
    """One Python warning for each of them, at the line of the user's call.

    To be called by a public function itself. The command line, which prints findings, ignores
    these warnings.
    """
    for finding in findings:
        if finding.alarming:
            words = f"{finding.sentence} [{finding.code}]"
            warnings.warn(words, SteelyardWarning, stacklevel=TO_THE_CALLER)
