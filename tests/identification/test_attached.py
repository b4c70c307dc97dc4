"""Bodies of several links: attached links keep their inertials, and the rest is physical."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from given_signals import QUICK as SIGNALS
from gripper_arm import gripper_arm, gripper_log
from prior_problems import scattered
from robot_files import example_urdfs
from small_arm import URDF

from steelyard.errors import EstimationError, ModelError
from steelyard.estimators import attached_choice
from steelyard.excitation.motions.fourier import multisine
from steelyard.export.identified_robot import identified_robot
from steelyard.identification.identify import Identification, identify
from steelyard.identification.outputs import document_of
from steelyard.knowledge.constraints import Constraints
from steelyard.knowledge.statements import AttachedRest
from steelyard.model.attached_links import AttachedOption, AttachedRule
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.robot.parts import Link
from steelyard.robot.robot import Robot
from steelyard.simulation.simulate import Controller, Sensors, simulate

QUICK: dict[str, Any] = {
    **SIGNALS,
    "compare_terms": False,
    "ranges": False,
    "n_resamples": 0,
    "gamma": 10.0,
}


@cache
def found_with(rule: AttachedOption, share: float, method: str = "entropic") -> Identification:
    robot = gripper_arm()
    given = {name: value for name, value in QUICK.items() if name != "gamma"}
    return identify(
        robot,
        gripper_log(robot, share),
        attached=rule,
        method=method,
        **(QUICK if method == "entropic" else given),
    )


def codes(found: Identification) -> list[str]:
    return [finding.code for finding in found.findings]


def written(found: Identification, rule: AttachedRule) -> Model:
    """The model of the robot with the links that would be written to its file."""
    out = identified_robot(found.model, found.estimate.standard.theta, attached=rule)
    links = tuple(
        Link(link.name, out.inertials[link.name]) if link.name in out.inertials else link
        for link in found.model.robot.links
    )
    return Model(replace(found.model.robot, links=links), found.model.terms)


def largest_difference(found: Identification, rule: AttachedRule) -> float:
    """Largest relative difference of torques between the estimate and the written links."""
    other = written(found, rule)
    theta = found.estimate.standard.theta
    bodies = np.array([column.kind == "rigid_body" for column in found.model.columns])
    values = np.where(bodies, other.prior_theta(), theta)
    q, v, a = np.random.default_rng(0).normal(size=(3, 50, len(found.model.channels)))
    one, two = torque(found.model, theta, q, v, a), torque(other, values, q, v, a)
    return float(np.max(np.abs(one - two)) / np.max(np.abs(one)))


@pytest.mark.parametrize("rule", ["keep", "lump"])
def test_the_written_links_predict_as_the_estimate_does(rule: AttachedRule) -> None:
    """Where the file is about right, both rules give the same body, spread differently."""
    found = found_with(rule, 1.0)
    assert largest_difference(found, rule) < 1e-12
    merged = found.estimate.standard.merged
    assert merged is not None
    (body,) = merged.bodies
    assert merged.rule == rule
    assert (body.kept, body.emptied) == (
        (("hand", "finger"), ()) if rule == "keep" else ((), ("hand", "finger"))
    )
    assert "attached-rest-at-edge" not in codes(found)
    assert np.allclose(found.fit.theta, found_with("lump", 1.0).fit.theta, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("method", ["entropic", "feasible"])
def test_a_body_lighter_than_its_attached_links_stops_at_the_edge(method: str) -> None:
    """Without the condition the links could not be written; a warning says what is active."""
    free, kept = found_with("lump", 0.3, method), found_with("keep", 0.3, method)
    with pytest.raises(ModelError, match="the rest of body 'fore'"):
        identified_robot(free.model, free.fit.theta, attached="keep")
    assert largest_difference(kept, "keep") < 1e-12
    assert any(isinstance(one, AttachedRest) for one in kept.estimate.standard.active)
    (words,) = [f.words for f in kept.findings if f.code == "attached-rest-at-edge"]
    assert "contradict the inertials of 'hand', 'finger'" in words
    assert "it gives them 0.9 kg" in words
    assert "--attached lump" in words
    assert "attached-rest-at-edge" not in codes(free)
    assert kept.certificate is not None
    stated = [str(block) for block in kept.certificate.document["constraints"]]
    assert any("'fore' without 'hand', 'finger'" in words for words in stated)
    assert kept.certificate.verdict.details["conditions"] == 1 + len(free.fit.blocks)


@pytest.mark.parametrize("method", ["entropic", "feasible"])
def test_by_default_left_out_parts_decide(method: str) -> None:
    """Right inertials in the file are kept, wrong ones are not, and a finding has both errors."""
    right, wrong = found_with("auto", 1.0, method), found_with("auto", 0.3, method)
    assert right.estimate.standard.merged.rule == "keep"
    assert "attached-lumped" not in codes(right)
    np.testing.assert_array_equal(right.fit.theta, found_with("keep", 1.0, method).fit.theta)
    assert wrong.estimate.standard.merged.rule == "lump"
    np.testing.assert_array_equal(wrong.fit.theta, found_with("lump", 0.3, method).fit.theta)
    (told,) = [one for one in wrong.findings if one.code == "attached-lumped"]
    assert (told.level, told.option) == ("warning", "")
    figures = re.search(r"with (\S+) times the noise, and with (\S+) times if", told.words)
    assert figures
    lump, keep = map(float, figures.groups())
    assert lump < 1.5 < 2.0 < keep
    assert "'hand', 'finger' keep the inertials of the robot file" in told.words
    assert "attached-rest-at-edge" not in codes(wrong)


def test_a_strong_prior_does_not_hide_a_wrong_file() -> None:
    """A prior so strong that the condition holds by itself is compared with weaker ones."""
    robot = gripper_arm()
    found = identify(
        robot, gripper_log(robot, 0.3), certify=False, **{**QUICK, "gamma": "leave-blocks-out"}
    )
    assert found.estimate.standard.merged.rule == "lump"


def test_nothing_is_tried_without_attached_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """A robot whose links all move is estimated once."""
    arm = Robot.from_urdf_text(URDF)
    calls = []
    whole = attached_choice.left_out_scores
    monkeypatch.setattr(
        attached_choice, "left_out_scores", lambda *given: calls.append(1) or whole(*given)
    )
    found = identify(arm, gripper_log(arm), certify=False, **QUICK)
    assert found.estimate.standard.merged is None
    assert not calls
    assert not [one for one in codes(found) if one.startswith("attached")]


def test_conditions_without_room_for_the_attached_links() -> None:
    """A mass that is weighed below that of the attached links: the moving link gets everything."""
    robot = gripper_arm()
    weighed = Constraints(mass={"fore": (0.3, 0.6)})
    given = {"constraints": weighed, "certify": False, **QUICK}
    with pytest.raises(EstimationError, match="fore"):
        identify(robot, gripper_log(robot, 0.1), attached="keep", **given)
    found = identify(robot, gripper_log(robot, 0.1), **given)
    assert found.estimate.standard.merged.rule == "lump"
    (words,) = [one.words for one in found.findings if one.code == "attached-lumped"]
    assert "no estimate leaves room for the inertials that 'hand', 'finger' have" in words


def test_the_condition_is_added_to_given_constraints() -> None:
    """Constraints that the caller states do not replace it."""
    robot = gripper_arm()
    found = identify(
        robot,
        gripper_log(robot, 0.3),
        constraints=Constraints(mass={"upper": (1.0, 4.0)}),
        attached="keep",
        certify=False,
        **QUICK,
    )
    statements = [block.statement for block in found.fit.blocks]
    assert AttachedRest("fore", ("hand", "finger"), 0.9) in statements


def test_a_finger_that_is_not_physical_is_named_and_emptied() -> None:
    """No silent fallback: the warning names the link, and the result records it."""
    robot = gripper_arm(finger_inertia=-1e-4)
    found = identify(robot, gripper_log(gripper_arm()), certify=False, **QUICK)
    (words,) = [f.words for f in found.findings if f.code == "attached-not-physical"]
    assert "'finger' of body 'fore' is not physical in the robot file" in words
    (body,) = document_of(found)["standard"]["merged_bodies"]["bodies"]
    assert (body["kept"], body["emptied"]) == (["hand"], ["finger"])
    assert largest_difference(found, "keep") < 1e-12


def test_methods_without_constraints_only_record_the_rule() -> None:
    """Least squares has no bodies to spread; the method cad has, and its rule is recorded."""
    assert found_with("keep", 1.0, "wls").estimate.standard is None
    one, two = found_with("keep", 1.0, "cad"), found_with("lump", 1.0, "cad")
    assert np.array_equal(one.estimate.standard.theta, two.estimate.standard.theta)
    assert two.estimate.standard.merged.rule == "lump"


def test_an_unknown_rule_is_refused_before_any_log_is_read() -> None:
    """The message lists the rules."""
    with pytest.raises(EstimationError, match="attached is 'weld'; it must be one of auto, keep"):
        identify(gripper_arm(), [], attached="weld")  # type: ignore[arg-type]


def test_the_panda_with_its_hand_is_written_as_estimated() -> None:
    """A perturbed Panda: hand and fingers keep their inertials, link 7 has a physical rest."""
    path = next(path for path in example_urdfs() if path.name == "panda.urdf")
    robot = Robot.from_urdf(path).lock({"panda_finger_joint1": 0.01})
    model = Model(robot)
    rng = np.random.default_rng(0)
    truth = scattered(model, model.prior_theta(), rng, 0.15).theta
    terms = {"Ia": 0.3, "fv": 1.0, "fc": 1.0, "fo": 0.1}
    truth = np.array([terms.get(c.symbol, x) for c, x in zip(model.columns, truth, strict=True)])
    log = simulate(
        model,
        truth,
        multisine(robot, period_s=5.0, seed=1),
        duration_s=8.0,
        rate_hz=100.0,
        controller=Controller(kind="ideal"),
        sensors=Sensors(torque_noise=0.3),
        seed=1,
    )
    found = identify(robot, log, **QUICK)
    assert largest_difference(found, "keep") < 1e-12
    (body,) = found.estimate.standard.merged.bodies
    assert body.kept == ("panda_hand", "panda_leftfinger", "panda_rightfinger")
    assert body.kept_mass == pytest.approx(0.76)
