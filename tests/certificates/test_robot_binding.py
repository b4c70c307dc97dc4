"""What a certificate states, computed anew from a robot: names, K, conditions and terms."""

from __future__ import annotations

import copy
from fractions import Fraction

import numpy as np
import pytest
from small_arm import URDF, write_arm

from steelyard.certificates.document import parse
from steelyard.certificates.robot_binding import (
    ClaimedRobot,
    base_named,
    bound_to_model,
    entries_of_map,
    stated_terms,
)
from steelyard.certificates.writing import feasible_certificate
from steelyard.conic.exact_text import CertificateError
from steelyard.errors import SteelyardError
from steelyard.knowledge.constraint_blocks import blocks
from steelyard.knowledge.constraints import Constraints
from steelyard.model.base_map import base_map
from steelyard.model.model import Model
from steelyard.robot.robot import Robot

OF = 'the robot "small arm"'


@pytest.fixture(scope="module")
def model() -> Model:
    """The small arm."""
    return Model(Robot.from_urdf_text(URDF))


@pytest.fixture(scope="module")
def honest(model) -> dict:
    """A certificate of the arm's own bodies, with base parameters; 1/8 for friction."""
    theta = [Fraction(float(x)) for x in model.prior_theta()]
    for k, column in enumerate(model.columns):
        if column.kind != "rigid_body":
            theta[k] = Fraction(1, 8)
    base = base_map(model)
    # whole numbers, so that K theta is exact in binary
    theta = [Fraction(round(x * 2**20), 2**20) for x in theta]
    beta = [sum(Fraction(float(k)) * x for k, x in zip(row, theta, strict=True)) for row in base.K]
    given = blocks(model, Constraints())
    document = feasible_certificate(model, given, theta)
    document["numbers"] |= {
        "K": [[i, j, str(value)] for (i, j), value in entries_of_map(base).items()],
        "beta": [str(value) for value in beta],
    }
    return {**document, "base_parameters": list(base.names)}


def test_base_parameters_in_either_order(model):
    """Names in Pinocchio's order give that base map; any others, and none, the usual one."""
    usual, other = base_map(model), base_map(model, "pinocchio")
    assert usual.names != other.names
    for names in (list(other.names), tuple(other.names)):
        assert base_named(model, names) is other
    for names in (list(usual.names), usual.names, [], ["x"], None, "x", 5, other.names[::-1]):
        assert base_named(model, names) is usual


def test_entries_of_a_map_are_exact(model):
    """Every entry that is not zero, and no other."""
    base = base_map(model)
    found = entries_of_map(base)
    assert len(found) == np.count_nonzero(base.K)
    assert all(Fraction(float(base.K[place])) == value for place, value in found.items())


def test_a_certificate_of_the_robot(model, honest):
    """Names, conditions and K agree."""
    found = bound_to_model(honest, parse(honest), model, Constraints())
    assert (found.problems, found.cautions) == ((), ())
    assert found.confirmed[0] == f"K is that of {OF}, every entry"
    assert found.confirmed[1].endswith(f"conditions are all those of {OF}, and no others")
    without = copy.deepcopy(honest)
    del without["numbers"]["K"], without["numbers"]["beta"]
    (confirmed,) = bound_to_model(without, parse(without), model, Constraints()).confirmed
    assert confirmed == found.confirmed[1]


def test_what_differs_from_the_robot(model, honest):
    """Each part alone, in its words; other conditions with a hint at what they depend on."""

    def problems(document: dict, known: Constraints | None = None) -> tuple[str, ...]:
        return bound_to_model(document, parse(document), model, known or Constraints()).problems

    other = {**honest, "hashes": {**honest["hashes"], "model": "0" * 64}}
    words = f"it is for another model than {OF}: the hashes of their geometry differ"
    assert problems(other) == (words,)
    names = [*honest["parameters"][:-1], "x"]
    assert 'it has "x" and it lacks' in problems({**honest, "parameters": names})[0]
    base = ["x", *honest["base_parameters"][1:]]
    (problem,) = problems({**honest, "base_parameters": base})
    assert problem.startswith(f'the base parameters are not those of {OF}: it has "x"')
    changed = copy.deepcopy(honest)
    changed["numbers"]["K"][0][2] = "2"
    assert problems(changed)[0].startswith(f"K is not that of {OF}: 1 entries differ")
    weaker = Constraints(consistency="sousa")
    found = bound_to_model(honest, parse(honest), model, weaker)
    assert len(found.problems) == 2
    assert "conditions also depend on the overlay" in found.cautions[0]


def test_terms(model, honest):
    """Those of the model come back; none for an old certificate; damaged ones are refused."""
    assert stated_terms(honest) == model.terms
    assert stated_terms({}) is None
    for terms in (None, 5, [{}], [3], [{**honest["terms"][0], "direction": None}]):
        with pytest.raises(CertificateError, match="the terms of the certificate are damaged; "):
            stated_terms({"terms": terms})
    with pytest.raises(SteelyardError, match="there is no term 'magic'"):
        stated_terms({"terms": [{**honest["terms"][0], "kind": "magic"}]})


def test_the_model_of_a_claim(model, honest, tmp_path):
    """With the terms that the certificate states, or the usual ones of the robot."""
    claimed = ClaimedRobot.read(write_arm(tmp_path))
    assert claimed.model(honest, None).hash == model.hash
    assert claimed.model({}, None).hash == model.hash
    fewer = {**honest, "terms": honest["terms"][:2]}
    assert claimed.model(fewer, None).terms == model.terms[:2]


@pytest.mark.parametrize("attached", ["keep", "lump"])
@pytest.mark.parametrize("of_parameters", [True, False])
def test_the_constraints_of_a_claim(model, attached, of_parameters):
    """Links held by fixed joints keep conditions where the claim is about parameters and the rule
    says so; options of the command line change the overlay's.
    """
    robot = Robot.from_urdf_text(URDF)
    claimed = ClaimedRobot(robot, attached=attached)
    found = claimed.constraints(model, of_parameters=of_parameters)
    assert found.keep_attached == (of_parameters and attached == "keep")
    changed = ClaimedRobot(robot, change=lambda _: Constraints(margin=0.5))
    assert changed.constraints(model, of_parameters=of_parameters).margin == 0.5
