"""Which measurement closes most: ranges after it, against CVXPY, and what is offered when."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from given_signals import QUICK
from gripper_arm import gripper_arm, gripper_log, gripper_urdf

from steelyard.estimators._ranges import fit_threshold
from steelyard.estimators.measurement_advice import ACCURACY, MeasurementAdvice
from steelyard.estimators.measurements import measurement_advice, open_masses
from steelyard.estimators.result_file import read_schema
from steelyard.identification.identify import Identification, identify
from steelyard.identification.outputs import document_of
from steelyard.knowledge.constraints import Constraints
from steelyard.knowledge.overlay.constraints import collision_boxes
from steelyard.robot.inertia import pseudo_inertia
from steelyard.robot.robot import Robot

OPTIONS = {**QUICK, "n_resamples": 0, "certify": False}
BOX = (
    '<collision><origin xyz="0.1 0.02 0.03"/>'
    '<geometry><box size="0.06 0.06 0.06"/></geometry></collision>'
)
"""A box beside the joint's axis: the first moment that the data determine then limits the mass."""


@cache
def found() -> Identification:
    robot = gripper_arm()
    return identify(
        robot, gripper_log(robot), gamma=100.0, compare_terms=False, attached="lump", **OPTIONS
    )


def advice() -> MeasurementAdvice:
    given = found().estimate.measurement_advice
    assert given is not None
    return given


def range_by_cvxpy(body: str, weighed: list[str]) -> tuple[float, float]:
    """Range of one mass where the sum of some masses is that of the estimate to 1 %."""
    import cvxpy

    one = found()
    fit, model = one.fit, one.model
    scale = fit.problem.scale
    theta = cvxpy.multiply(scale, cvxpy.Variable(len(scale)))
    radius = np.sqrt(fit_threshold(fit, one.estimate.spreads))
    conditions = [cvxpy.norm(fit.problem.g - (fit.problem.F * 1.0) @ theta) <= radius]
    basis = [pseudo_inertia(unit) for unit in np.eye(10)]
    column = {}
    for name, first in zip(
        [b.name for b in model.mechanism.bodies], model.first_column_of_body, strict=True
    ):
        column[name] = first
        conditions.append(sum(theta[first + j] * basis[j] for j in range(10)) >> 0)
    for block in fit.blocks:
        if block.kind == "nonnegative":
            conditions.append(block.A @ theta[list(block.columns)] + block.b >= 0)
    total = sum(fit.theta[column[name]] for name in weighed)
    sum_of = sum(theta[column[name]] for name in weighed)
    conditions += [sum_of >= (1 - ACCURACY) * total, sum_of <= (1 + ACCURACY) * total]
    ends = []
    for sense in (cvxpy.Minimize, cvxpy.Maximize):
        problem = cvxpy.Problem(sense(theta[column[body]]), conditions)
        ends.append(float(problem.solve(solver=cvxpy.CLARABEL)))
    return ends[0], ends[1]


def test_ranges_after_a_measurement_are_those_of_cvxpy() -> None:
    """The total mass, and the mass of one body: the same ranges from the formulas by CVXPY."""
    bodies = [body.name for body in found().model.mechanism.bodies]
    checked = 0
    for one in advice().measurements:
        weighed = bodies if one.body is None else [one.body]
        for after in one.ranges:
            if after.body != one.body:
                lower, upper = range_by_cvxpy(after.body, weighed)
                assert after.lower == pytest.approx(lower, rel=1e-3, abs=1e-3)
                assert after.upper == pytest.approx(upper, rel=1e-3, abs=1e-3)
                checked += 1
    assert checked >= 3


def test_the_best_comes_first_and_no_range_grows() -> None:
    """Sorted by what is left; a measured body has the range of the scale."""
    given = advice()
    left = [one.summed_width for one in given.measurements]
    assert left == sorted(left)
    assert left[0] < 0.1 * given.summed_width
    assert {one.kind for one in given.measurements} == {"total mass", "mass"}
    now = {one.body: one for one in given.ranges}
    for one in given.measurements:
        assert [after.body for after in one.ranges] == list(now)
        for after in one.ranges:
            assert now[after.body].lower <= after.lower <= after.upper <= now[after.body].upper
        if one.body is not None:
            own = one.range_of(one.body)
            assert own is not None
            assert own.width == pytest.approx(2 * ACCURACY * one.value, rel=1e-6)


def test_the_advice_is_one_sentence_with_the_numbers() -> None:
    """It says what to weigh, the option, its range before and after, and what is left."""
    given = advice()
    assert given.best.body == "upper"
    (tip,) = [one for one in given.measurements if one.body == "fore"]
    assert tip.words == "weigh 'fore' with 'hand', 'finger' (--mass)"
    assert given.words.startswith("weigh 'upper' (--mass): its range of 0 to 1")  # kg: 122
    assert (
        f"shrink from {given.summed_width:.3g} to {given.best.summed_width:.3g} kg" in given.words
    )


def test_the_result_file_has_the_advice_and_its_schema() -> None:
    """All measurements with their ranges."""
    document = json.loads(json.dumps(document_of(found()), allow_nan=False))
    jsonschema.validate(document, read_schema())
    written = document["record"]["measurement_advice"]
    assert written["measurements"][0]["body"] == "upper"
    assert written["summed_width"] == pytest.approx(advice().summed_width)


def test_following_the_advice_closes_what_it_said() -> None:
    """Identified again with the mass that was advised, the ranges are about those announced."""
    robot, best = gripper_arm(), advice().best
    limits = ((1 - ACCURACY) * best.value, (1 + ACCURACY) * best.value)
    again = identify(
        robot,
        gripper_log(robot),
        gamma=100.0,
        compare_terms=False,
        attached="lump",
        constraints=Constraints(mass={best.body: limits}),
        **OPTIONS,
    )
    for after in best.ranges:
        (mass,) = [p for p in again.estimate.standard_parameters() if p.name == f"{after.body}.m"]
        assert mass.lower == pytest.approx(after.lower, rel=0.05, abs=0.02)
        assert mass.upper == pytest.approx(after.upper, rel=0.05)
    assert "upper" not in {one.body for one in open_masses(again.model, again.estimate)}


def test_nothing_is_advised_without_ranges_or_where_nothing_is_open() -> None:
    """Without ranges nothing is known to be open; with stated masses nothing is."""
    robot, log = gripper_arm(), gripper_log(gripper_arm())
    options = {**OPTIONS, "gamma": 100.0, "compare_terms": False}
    assert identify(robot, log, ranges=False, **options).estimate.measurement_advice is None
    stated = Constraints(mass={"upper": (2.7, 2.8), "fore": (2.6, 2.7)})
    closed = identify(robot, log, constraints=stated, **options)
    assert closed.estimate.standard.ranges is not None
    assert closed.estimate.measurement_advice is None


def test_a_box_is_offered_where_the_file_has_one(tmp_path: Path) -> None:
    """Collision primitives of a URDF give boxes; not where a region is stated already."""
    text = gripper_urdf().replace('<link name="upper">', f'<link name="upper">{BOX}')
    path = tmp_path / "arm.urdf"
    path.write_text(text, encoding="utf-8")
    robot = Robot.from_urdf(path)
    one = identify(robot, gripper_log(gripper_arm()), method="feasible", attached="lump", **OPTIONS)
    given = measurement_advice(one.estimate, one.model, one.fit)
    assert given is not None
    (box,) = [m for m in given.measurements if m.kind == "centre of mass"]
    assert (box.body, box.value) == ("upper", None)
    assert "collision box" in box.words
    own = box.range_of("upper")
    before = next(r for r in given.ranges if r.body == "upper")
    assert own is not None
    assert own.upper < 0.5 * before.upper
    known = Constraints(com={"upper": collision_boxes(one.model)["upper"]})
    one = identify(
        robot, gripper_log(gripper_arm()), method="feasible", constraints=known, **OPTIONS
    )
    given = one.estimate.measurement_advice
    assert given is None or "centre of mass" not in {m.kind for m in given.measurements}
