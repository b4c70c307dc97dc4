"""A rehearsal says whether a motion would recover what the user needs."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from given_signals import GIVEN
from seeds import every
from small_arm import write_arm

from steelyard._files.json_data import finite
from steelyard.errors import EstimationError, SimulationError
from steelyard.excitation.limits import motion_limits
from steelyard.excitation.motions.fourier import FourierTrajectory, multisine
from steelyard.excitation.torque_noise import assumed_noise
from steelyard.identification.rehearse import (
    Recovery,
    coverage_of,
    needed_names,
    recoveries_of,
    rehearse,
    virtual_robot,
)
from steelyard.model.model import Model
from steelyard.robot.inertia import violations
from steelyard.robot.robot import Robot
from steelyard.simulation.likely_truth import likely_truth
from steelyard.testing.random_robots import random_robot

QUICK = {
    "processing": GIVEN,
    "friction_width": 0.0,
    "gamma": 100.0,
    "n_resamples": 20,
    "ranges": False,
    "rate_hz": 200.0,
    "threads": 1,
}


@pytest.fixture(scope="module")
def arm(tmp_path_factory) -> tuple:
    """The small arm, its limits and a motion of ten seconds."""
    robot = Robot.from_urdf(write_arm(tmp_path_factory.mktemp("arm")))
    return Model(robot), motion_limits(robot), multisine(robot, period_s=10.0, share=0.9, seed=3)


@pytest.fixture(scope="module")
def rehearsal(arm):
    """A rehearsal with the defaults of a virtual robot."""
    model, limits, motion = arm
    return rehearse(model, motion, limits, needs=["elbow.fc", "shoulder.fv"], seed=1, **QUICK)


def test_friction_of_an_exciting_motion_is_recovered(rehearsal, arm):
    """Needs are met; errors and coverage are those of the truth that was simulated."""
    assert rehearsal.met
    assert rehearsal.missed == ()
    assert rehearsal.held_out_error < 0.1
    model = arm[0]
    truth = dict(zip(model.column_names, rehearsal.truth.tolist(), strict=True))
    by_name = {one.name: one for one in rehearsal.recoveries}
    estimate = rehearsal.found.estimate
    values = dict(zip(model.column_names, estimate.standard.theta.tolist(), strict=True))
    for name in ("elbow.fc", "shoulder.fv", "fore.m"):
        one = by_name[name]
        assert one.truth == truth[name]
        assert one.value == pytest.approx(values[name])
        assert one.error == pytest.approx(abs(values[name] - truth[name]) / abs(truth[name]))
    assert by_name["fore.m"].from_file == 1.5
    assert by_name["fore.cx"].truth == pytest.approx(truth["fore.mx"] / truth["fore.m"])
    # 95 % intervals of about 20 parameters: most hold the truth
    assert rehearsal.coverage.inside >= 0.75 * rehearsal.coverage.total
    assert rehearsal.coverage.total > 10


def test_a_rehearsal_is_plain_data(rehearsal):
    """Its document can be written as JSON, and names everything."""
    document = json.loads(json.dumps(finite(rehearsal.to_dict()), allow_nan=False))
    assert document["met"] is True
    assert document["needed"] == ["elbow.fc", "shoulder.fv"]
    names = {one["name"] for one in document["parameters"]}
    assert {"fore.m", "fore.cx", "fore.Ixx_com", "elbow.Ia"} <= names
    assert "held-out error" in repr(rehearsal)


def test_a_motion_of_one_joint_does_not_meet_needs_of_the_other(arm):
    """What the motion does not excite is named as missed."""
    model, limits, motion = arm
    slow = motion.a.copy()
    slow[list(motion.joints).index("elbow")] *= 0.02
    lazy = FourierTrajectory(
        motion.joints, motion.omega, slow, np.where(slow == motion.a, motion.b, 0.02 * motion.b),
        motion.q0,
    )  # fmt: skip
    found = rehearse(model, lazy, limits, needs=["elbow.fv", "shoulder.fc"], seed=2, **QUICK)
    assert [one.name for one in found.missed] == ["elbow.fv"]
    assert not found.met


def test_base_parameters_have_the_label_of_the_data_and_that_of_identify(rehearsal, arm):
    """The prediction is that of the data alone, the same for a strong prior; identify's label
    says what the prior does: with a strong one, parameters that the data determine well are
    called mostly prior.
    """
    model, limits, motion = arm
    beta = rehearsal.found.estimate.base.K @ rehearsal.truth
    assert [one.truth for one in rehearsal.base] == pytest.approx(beta.tolist())
    errors = np.array([one.value - one.truth for one in rehearsal.base])
    sigma = np.array([one.predicted_sigma for one in rehearsal.base])
    friction = [k for k, one in enumerate(rehearsal.base) if one.name.endswith((".fc", ".fv"))]
    assert (np.abs(errors[friction]) < 6.0 * sigma[friction]).all()
    assert {rehearsal.base[k].kind for k in friction} == {"confidence"}
    strong = rehearse(model, motion, limits, seed=1, **{**QUICK, "gamma": 1e7})
    assert [one.verdict for one in strong.base] == [one.verdict for one in rehearsal.base]
    both = [one for one in strong.base if one.verdict == "well" and one.kind == "mostly prior"]
    assert both
    document = json.loads(json.dumps(finite(strong.to_dict())))
    assert (document["seed"], document["rate_hz"]) == (1, 200.0)
    assert len(document["base"]) == len(beta)


def test_coverage_and_recovery_follow_the_truth_they_are_given(rehearsal):
    """Against a wrong truth, intervals miss and errors grow."""
    wrong = 3.0 * rehearsal.truth
    assert coverage_of(rehearsal.found, wrong).inside < 0.3 * rehearsal.coverage.total
    errors = {one.name: one.error for one in recoveries_of(rehearsal.found, wrong)}
    assert errors["elbow.fc"] == pytest.approx(2.0 / 3.0, abs=0.05)


def test_needs_are_parameters_links_or_joints(arm):
    """A link or joint stands for all parameters of its own; a wrong name is an error."""
    model = arm[0]
    assert needed_names(model, ["elbow", "elbow.fc"]) == (
        "elbow.Ia",
        "elbow.fv",
        "elbow.fc",
        "elbow.fo",
    )
    assert len(needed_names(model, ["fore"])) == 10
    with pytest.raises(EstimationError, match=r"did you mean 'elbow\.fc'"):
        needed_names(model, ["elbow.fcc"])


def test_an_error_is_relative_to_the_size():
    """A parameter of size zero is never recovered."""
    one = Recovery("a", "a.m", "kg", 2.0, 2.1, 2.0, 1.0, True, True)
    assert one.recovered(0.051)
    assert not one.recovered(0.049)
    by_the_file = replace(one, determined=False)
    assert by_the_file.close(0.051)
    assert not by_the_file.recovered(0.051)
    assert not Recovery("a", "a.fo", "N m", 0.0, 0.0, 0.0, None, True, True).recovered(1.0)


@every("seed", range(20))
def test_the_virtual_robot_is_physical_and_differs_from_its_file(seed):
    """Bodies stay physical, with other masses; friction and drives are positive."""
    robot = random_robot(np.random.default_rng(seed), 4, mimic=0.3)
    model = Model(robot)
    limits = motion_limits(robot)
    noise = assumed_noise(model, model.prior_theta(), limits)
    truth = virtual_robot(model, limits, noise, seed)
    file = model.prior_theta()
    for first in model.first_column_of_body:
        ten = truth[first : first + 10]
        assert not violations(ten, "body")
        assert 0.049 < abs(ten[0] / file[first] - 1.0) < 0.151
    for column, value in zip(model.columns, truth, strict=True):
        if column.kind in ("viscous", "coulomb", "drive_inertia"):
            assert value > 0.0
    assert not np.array_equal(truth, virtual_robot(model, limits, noise, seed + 1))
    np.testing.assert_array_equal(truth, virtual_robot(model, limits, noise, seed))


def test_a_robot_without_masses_gets_typical_ones(arm):
    """Where the file states no body, a typical one is deformed, so that it can be simulated."""
    robot = random_robot(np.random.default_rng(0), 2, fixed=0.0)
    empty = type(robot)(
        robot.name,
        tuple(type(link)(link.name, None) for link in robot.links),
        robot.joints,
        gravity=robot.gravity,
    )
    model = Model(empty)
    truth = likely_truth(model, torque_range=[5.0] * 2, velocity=[1.0] * 2, acceleration=[2.0] * 2)
    assert all(truth[first] > 0.0 for first in model.first_column_of_body)
    with pytest.raises(SimulationError, match="2 positive numbers"):
        likely_truth(model, torque_range=[0.0, 1.0], velocity=[1.0] * 2, acceleration=[1.0] * 2)
