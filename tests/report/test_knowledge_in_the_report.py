"""The report and the terminal show merged bodies, credible ranges and what to measure."""

from __future__ import annotations

import re
from functools import cache
from html import unescape

import pytest
from given_signals import QUICK
from gripper_arm import gripper_arm, gripper_log

from steelyard.cli.output import Output
from steelyard.cli.results import show_measurements, show_merged_bodies
from steelyard.identification.identify import Identification, identify
from steelyard.identification.outputs import report_of
from steelyard.model.attached_links import AttachedRule
from steelyard.report.measurements import MOST_ROWS, measurement_rows
from steelyard.report.page import render_report


@cache
def found(rule: AttachedRule = "keep", method: str = "entropic") -> Identification:
    robot = gripper_arm()
    options = {"gamma": 100.0, "compare_terms": False} if method == "entropic" else {}
    return identify(
        robot,
        gripper_log(robot),
        attached=rule,
        method=method,
        n_resamples=0,
        certify=False,
        **QUICK,
        **options,
    )


@cache
def text(rule: AttachedRule = "keep", method: str = "entropic") -> str:
    page = render_report(report_of(found(rule, method)))
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_merged_bodies_say_what_is_kept_and_what_is_emptied() -> None:
    """Both rules, with masses."""
    kept = text("keep")
    assert "Bodies of several links" in kept
    assert "Body 'fore': 'hand', 'finger' keep the robot file's 0.9 kg, and 'fore' gets" in kept
    lumped = text("lump")
    assert "'fore' gets all of it" in lumped
    assert "'hand', 'finger' are emptied" in lumped


def test_credible_ranges_are_labelled_with_their_assumption() -> None:
    """One sentence says what is assumed; a method without a prior has no such column."""
    page = text("keep")
    assert "Credible: the range at 95 % given the prior. It assumes that" in page
    mass = next(p for p in found().estimate.standard_parameters() if p.name == "fore.m")
    assert f"{mass.credible_lower:.3g} to {mass.credible_upper:.3g}" in page
    assert "redible" not in text("keep", "feasible")


def test_tables_of_masses_say_what_the_prior_does_and_what_wide_ranges_mean() -> None:
    """In report, summary and notebook; without a prior nothing is said about one."""
    with_prior, without = found("lump"), found("lump", "feasible")
    best = with_prior.estimate.measurement_advice.words
    for shown in (
        text("lump"),
        " ".join(with_prior.summary().split()),
        unescape(with_prior._repr_html_()),
    ):
        assert "The prior spreads each change over the links" in shown
        assert "Wide ranges of masses do not affect predicted torques" in shown
        assert f"To narrow them, {best}." in shown
    assert "spreads each change" not in text("lump", "feasible")
    assert "spreads each change" not in without.summary()


def test_what_to_measure_is_a_short_table() -> None:
    """Measurement, range of its own mass before and after, and what is left of all."""
    page, advice = text("lump"), found("lump").estimate.measurement_advice
    rows = measurement_rows(advice)
    assert len(rows) <= MOST_ROWS + 1
    assert "What to measure" in page
    assert rows[0].what in page
    assert rows[0].before in page
    assert rows[0].after in page
    assert any("--total-mass" in row.what for row in rows)
    assert measurement_rows(None) == []


def test_the_terminal_shows_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    """The lines about merged bodies, and the table of measurements."""
    output = Output(False)
    show_merged_bodies(output, found("keep"))
    show_measurements(output, found("lump"))
    shown = " ".join(capsys.readouterr().out.split())
    assert "Bodies of several links (--attached keep): body 'fore': 'hand', 'finger' keep" in shown
    assert "What to measure: torques leave the masses of" in shown
    assert "Wide ranges of masses do not affect predicted torques" in shown
    # a narrow terminal breaks the words of a cell over lines
    assert "links together (--total-mass)" in shown


def test_robots_without_merged_bodies_have_no_such_section() -> None:
    """Nothing about attached links where there are none."""
    from small_arm import URDF, arm_log

    from steelyard.robot.robot import Robot

    robot = Robot.from_urdf_text(URDF)
    plain = identify(robot, arm_log(robot, 1), method="wls", **QUICK)
    assert "Bodies of several links" not in render_report(report_of(plain))
