"""The page of a designed motion."""

from __future__ import annotations

import base64
import re
from dataclasses import replace

import numpy as np
import pytest
from page_tags import parsed
from stand_in_motion import stand_in

from steelyard.excitation.collision.clearance import ClearanceProof
from steelyard.excitation.extremes import Extremes
from steelyard.excitation.motions.polynomial import quintic
from steelyard.excitation.motions.sequence import SequenceTrajectory
from steelyard.model.model import Model
from steelyard.report import motion_page
from steelyard.report.limit_cells import LimitCell, limit_cell
from steelyard.report.motion_conditions import lead_times
from steelyard.report.motion_page import (
    MotionPage,
    WrittenFile,
    limit_rows,
    render_motion_page,
    tightest,
)
from steelyard.testing.random_robots import random_robot


@pytest.fixture(scope="module")
def content() -> MotionPage:
    """A page of a robot with one joint: figures take time."""
    model = Model(random_robot(np.random.default_rng(3), 1))
    files = (WrittenFile("motion.csv", "points"), WrittenFile("motion_at_10.csv", "points", 0.1))
    return MotionPage(model, stand_in(model), model.prior_theta(), files=files)


def test_the_page_shows_each_joint_its_bounds_and_every_base_parameter(content):
    """One figure for each joint; each base parameter with its sigma; the files to run."""
    text = render_motion_page(content)
    tags = parsed(text)
    words = " ".join(" ".join(tags.text).split())
    designed = content.designed
    assert len(tags.images) == len(designed.joints)
    for source in tags.images:
        svg = base64.b64decode(source.partition(",")[2]).decode()
        assert svg.count("<svg") == 1
    for one in designed.predicted.parameters:
        assert one.name in words
    counts = designed.predicted.counts
    assert f"{counts['well']} of {designed.predicted.base.rank}" in words
    assert "motion_at_10.csv" in words
    assert "collision not checked" in words
    assert "This motion was not optimised" in words
    assert tags.scripts == 0
    assert not re.search(r"""(src|href)=["']?(https?:|//)""", text)


def test_limits_are_shown_with_the_share_that_is_used(content):
    """The shares are the proven bounds divided by the limits, computed here a second time."""
    designed = content.designed
    for joint, cells in limit_rows(content):
        j = designed.limits.joints.index(joint)
        speed = designed.extremes.velocity[j] / designed.limits.velocity[j]
        assert cells[1].used == pytest.approx(speed)
        low = (designed.limits.middle[j] - designed.extremes.lower[j]) / designed.limits.half_range[
            j
        ]
        high = (designed.extremes.upper[j] - designed.limits.middle[j]) / (
            designed.limits.half_range[j]
        )
        assert cells[0].used == pytest.approx(max(low, high))
        assert cells[3].used is None
    most = max(cell.used for _, cells in limit_rows(content) for cell in cells if cell.used)
    assert tightest(content)[2].startswith(f"{100.0 * most - 0.05:.1f}"[:4])


def test_a_limit_that_is_nearly_reached_is_not_rounded_to_all_of_it():
    """99.99 % is shown as 99.9 %, and what is above the limit as more than 100 %."""
    assert LimitCell("", 0.99999).percent == "99.9 %"
    assert LimitCell("", 1.0).percent == "100 %"
    assert LimitCell("", 1.0004).percent == "100.04 %"
    assert limit_cell(np.inf, 2.0, "rad/s³").text == "not proven of 2 rad/s³"


@pytest.fixture
def no_figures(monkeypatch):
    """Pages without figures, which take time, where they are not the subject."""
    monkeypatch.setattr(motion_page, "joint_figures", lambda page: [])


def test_a_motion_beyond_its_limits_says_so(content, no_figures):
    """The page does not call a motion safe that is not."""
    designed = content.designed
    found = designed.extremes
    faster = Extremes(
        found.joints,
        found.lower,
        found.upper,
        20.0 * found.velocity,
        found.acceleration,
        found.jerk,
    )
    page = render_motion_page(replace(content, designed=replace(designed, extremes=faster)))
    assert "NOT within limits" in page
    assert 'class="over"' in page
    assert ">within limits<" not in page


def proof(smallest_m: float) -> ClearanceProof:
    """A proof with this smallest distance."""
    pair = ("hand", "base")
    missing = (max(0.01 - smallest_m, 0.0),)
    return ClearanceProof(
        smallest_m, pair, 3.0, 0.02, pair, 3.0, 0.01, 0.02, 0.001, 500, 12, missing
    )


def test_the_clearance_is_shown_as_proven_or_not(content, no_figures):
    """Both verdicts are stated, with what was examined."""
    for smallest, title in ((0.012, "no collision"), (0.008, "clearance NOT proven")):
        designed = replace(content.designed, clearance=proof(smallest))
        page = render_motion_page(replace(content, designed=designed))
        assert title in page
        millimetres = f"{1000 * smallest:g} mm"
        assert f"smallest proven distance {millimetres}, between hand and base at 3 s" in page
        assert "collision not checked" not in page


def test_names_of_a_strangers_robot_are_text():
    """Tags in names of robots, joints and files are not tags of the page."""
    robot = random_robot(np.random.default_rng(1), 2, name="<script>alert(1)</script>")
    renamed = replace(
        robot,
        joints=tuple(replace(joint, name=f"<b>{joint.name}$x_1$") for joint in robot.joints),
    )
    model = Model(renamed)
    files = (WrittenFile("<img src=x>.csv", "<i>"),)
    page = render_motion_page(MotionPage(model, stand_in(model), model.prior_theta(), files=files))
    tags = parsed(page)
    assert tags.scripts == 0
    assert len(tags.images) == 2
    assert "<b>joint_1$x_1$" in "".join(tags.text)


def test_leads_are_what_comes_before_and_after_the_core():
    """Without a sequence there are none; in one, all parts but the core."""
    model = Model(random_robot(np.random.default_rng(1), 2))
    designed = stand_in(model)
    assert lead_times(designed) == []
    core = designed.core
    state = [core.derivative([0.0], order)[0] for order in range(3)]
    rest = [state[0] + 0.1, np.zeros(2), np.zeros(2)]
    into = quintic(core.joints, 1.0, rest, state)
    out = quintic(core.joints, 1.5, state, rest)
    run = SequenceTrajectory((into, core, out), (1.0, 5.0, 1.5))
    whole = replace(designed, trajectory=run)
    assert lead_times(whole) == [(0.0, 1.0), (6.0, 7.5)]
    assert "10 %" in render_motion_page(MotionPage(model, whole, model.prior_theta()))
