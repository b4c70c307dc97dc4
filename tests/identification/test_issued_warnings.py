"""Findings of level "warning" are Python warnings; the command line prints them instead."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from given_signals import QUICK
from small_arm import write_arm, write_run

from steelyard.cli import main
from steelyard.errors import SteelyardWarning
from steelyard.identification.identify import identify, with_validation


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The files of the arm."""
    folder = tmp_path_factory.mktemp("arm")
    write_arm(folder)
    write_run(folder, 1)
    return folder


def issued(caught: list[warnings.WarningMessage]) -> list[str]:
    """The texts of the warnings, which are all ours and at lines of this file."""
    assert {one.category for one in caught} <= {SteelyardWarning}
    assert {one.filename for one in caught} <= {__file__}
    return [str(one.message) for one in caught]


def test_each_warning_is_issued_once_at_the_line_of_the_call(folder):
    """A log that is used and held out is a warning; notes are none."""
    run = folder / "run.csv"
    with pytest.warns(SteelyardWarning, match="used for the estimate") as caught:
        found = identify(folder / "arm.urdf", run, validate_on=run, method="wls", **QUICK)
    expected = [f"{f.words} [{f.code}]" for f in found.findings if f.level == "warning"]
    assert len(expected) >= 1
    assert issued(list(caught)) == expected


def test_later_validation_issues_only_its_own(folder):
    """Not those of the identification again."""
    run = folder / "run.csv"
    found = identify(folder / "arm.urdf", run, method="wls", **QUICK)
    with pytest.warns(SteelyardWarning, match="used for the estimate") as caught:
        later = with_validation(found, run)
    new = later.findings[len(found.findings) :]
    assert issued(list(caught)) == [f"{f.words} [{f.code}]" for f in new if f.level == "warning"]


def test_the_command_line_prints_and_does_not_warn(folder, capsys):
    """Even where warnings are errors."""
    run = str(folder / "run.csv")
    argv = ["identify", str(folder / "arm.urdf"), run, "--validate-on", run, "--method", "wls"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert main(argv) == 0
    shown = capsys.readouterr()
    assert "used-for-the-estimate" in shown.out
    assert "Warning" not in shown.out + shown.err
