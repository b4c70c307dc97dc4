"""Bodies as people know them, from standard parameters."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from given_signals import FEW, GIVEN
from small_arm import URDF, arm_log

from steelyard.estimators.bodies import all_parameters, body_estimates, term_estimates
from steelyard.export.tables import standard_csv
from steelyard.identification.identify import Identification, identify
from steelyard.knowledge.constraints import Constraints
from steelyard.report._standard import cell
from steelyard.robot.inertia import from_com
from steelyard.robot.robot import Robot

QUICK = {**FEW, "ranges": True}
MASSES = {"upper": (3.0, 3.0001), "fore": (1.5, 4.0)}


@pytest.fixture(scope="module")
def found() -> Identification:
    robot = Robot.from_urdf_text(URDF)
    known = Constraints(mass=MASSES)
    return identify(robot, [arm_log(robot, 1)], constraints=known, **QUICK)


def test_bodies_are_their_standard_parameters(found):
    """Mass, centre of mass and inertia about it, put together again, are the ten parameters."""
    bodies = body_estimates(found.model, found.estimate)
    assert [body.name for body in bodies] == [b.name for b in found.model.mechanism.bodies]
    for body in bodies:
        xx, xy, yy, xz, yz, zz = (p.value for p in body.inertia_com)
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        phi = from_com(body.mass.value, [c.value for c in body.com], inertia)
        assert phi == pytest.approx([p.value for p in body.parameters], rel=1e-12, abs=1e-14)
        moments = [p.value for p in body.principal_moments]
        assert sum(moments) == pytest.approx(np.trace(inertia))
        assert moments[2] <= (moments[0] + moments[1]) * (1 + 1e-9)  # some body has these


def test_ranges_of_centres_of_mass_agree_with_those_of_first_moments(found):
    """With the mass all but fixed, h / m ranges over what h ranges over, divided by m."""
    body = body_estimates(found.model, found.estimate)[0]
    assert body.name == "upper"
    names = list(found.model.column_names)
    for com, symbol in zip(body.com, ("mx", "my", "mz"), strict=True):
        column = names.index(f"upper.{symbol}")
        ends = found.estimate.standard.ranges[column]
        if np.isnan(ends).any():  # determined alone: it has an error bar in place of a range
            continue
        assert com.interval_kind in ("feasible range", "prior only")
        assert np.array([com.lower, com.upper]) * 3.0 == pytest.approx(ends, rel=1e-3, abs=1e-4)


def test_values_lie_in_their_ranges(found):
    """No range leaves out the value that it belongs to."""
    seen = 0
    for p in all_parameters(found.model, found.estimate):
        if p.lower is not None and np.isfinite(p.upper - p.lower):
            slack = 1e-5 * (1.0 + abs(p.value))
            assert p.lower - slack <= p.value <= p.upper + slack
            seen += 1
    assert seen > 10


def test_a_body_that_may_weigh_nothing_has_no_limit_on_its_centre():
    """Without a bound on the mass from below, the centre of mass is open."""
    robot = Robot.from_urdf_text(URDF)
    free = identify(robot, [arm_log(robot, 1)], **QUICK)
    upper = body_estimates(free.model, free.estimate)[0]
    assert upper.mass.lower == pytest.approx(0.0, abs=1e-5)
    assert all(c.lower is None and c.upper is None for c in upper.com)


def test_the_table_has_every_number_once(found):
    """The table lists 22 numbers for each body and the terms of each joint, kinds in words."""
    rows = list(csv.DictReader(io.StringIO(standard_csv(found.model, found.estimate))))
    names = [row["name"] for row in rows]
    terms = term_estimates(found.model, found.estimate)
    n_terms = sum(len(own) for own in terms.values())
    assert len(names) == len(set(names)) == 22 * len(found.model.mechanism.bodies) + n_terms
    assert set(found.model.column_names) <= set(names)
    assert {row["at_boundary"] for row in rows} <= {"true", "false"}
    assert {row["interval_kind"] for row in rows} <= {
        "confidence",
        "mostly prior",
        "feasible range",
        "prior only",
    }
    by_name = {row["name"]: row for row in rows}
    assert float(by_name["upper.m"]["lower"]) == pytest.approx(3.0, rel=1e-5)
    assert by_name["shoulder.fv"]["interval_kind"] == "confidence"
    assert by_name["fore.I1"]["lower"] == ""


def test_methods_without_standard_parameters_have_no_bodies(found):
    """Plain least squares gives base parameters, and nothing about bodies."""
    robot = Robot.from_urdf_text(URDF)
    plain = identify(robot, [arm_log(robot, 1)], method="wls", processing=GIVEN)
    assert body_estimates(plain.model, plain.estimate) == ()
    assert all_parameters(plain.model, plain.estimate) == ()


def test_cells_say_what_the_interval_is(found):
    """Error bars have ±, ranges have both ends, and a solver's zero is shown as zero."""
    shown = {c.name: c for c in map(cell, all_parameters(found.model, found.estimate))}
    assert shown["shoulder.fv"].interval.startswith("± ")
    assert shown["upper.m"].interval == "3 to 3"
    assert " to " in shown["fore.cx"].interval
    assert shown["fore.I1"].interval == ""
