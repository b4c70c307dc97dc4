"""Codes of severe findings that a user accepts."""

from __future__ import annotations

import pytest
from detector_findings import detector_findings

from steelyard import identify
from steelyard.diagnosis.checked_log import ACCEPTABLE, OF_SIGNALS, check_accepted
from steelyard.errors import EstimationError, LogError
from steelyard.simulation.builtin_arm import builtin_arm


def test_unknown_codes_are_refused_by_name() -> None:
    """Before any log is fitted, with the codes that there are."""
    with pytest.raises(EstimationError, match=r"'torque-sing'.*torque-sign"):
        identify(builtin_arm(), [], accept=["time-unit", "torque-sing"])
    with pytest.raises(EstimationError, match="'1'"):
        check_accepted([1])  # type: ignore[list-item]
    check_accepted(ACCEPTABLE)


def test_a_text_is_no_list_of_codes() -> None:
    """Its letters would be taken as codes, and every part of it would be accepted."""
    with pytest.raises(EstimationError, match=r"give a list, \['time-unit'\]"):
        check_accepted("time-unit")


def test_none_accepts_nothing() -> None:
    """As an empty list: the run goes on to look for its logs."""
    for accept in (None, (), []):
        with pytest.raises(LogError, match="no log to identify from"):
            identify(builtin_arm(), [], accept=accept)


def test_every_severe_finding_of_the_signals_can_be_accepted() -> None:
    """The list has the codes of all detectors that give a severe finding, and no others."""
    severe = {code for level, code in detector_findings() if "'severe'" in level}
    assert severe == set(OF_SIGNALS)
