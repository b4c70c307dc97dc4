"""Bodies of several links are spread over them, and the spread adds up to the body again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from steelyard import Link, Model
from steelyard.errors import ModelError
from steelyard.export.identified_robot import identified_robot
from steelyard.model.attached_links import RULES, AttachedRule, attached_links
from steelyard.robot.inertia import violations
from steelyard.testing.random_robots import random_body, random_robot


def heavier(model: Model) -> np.ndarray:
    """Standard parameters with a heavier link behind each joint."""
    rng = np.random.default_rng(len(model.columns))
    theta = model.prior_theta()
    for first in model.first_column_of_body:
        theta[first : first + 10] += random_body(rng)
    return theta


@pytest.mark.parametrize("rule", RULES)
def test_a_robot_with_the_written_links_has_the_same_bodies(rule: AttachedRule) -> None:
    merged = 0
    for seed in range(100):
        model = Model(random_robot(np.random.default_rng(seed), 5, fixed=0.5))
        theta = heavier(model)
        found = identified_robot(model, theta, attached=rule)
        links = tuple(
            Link(link.name, found.inertials[link.name]) if link.name in found.inertials else link
            for link in model.robot.links
        )
        written = Model(replace(model.robot, links=links), model.terms)
        np.testing.assert_allclose(written.prior_theta(), theta, rtol=1e-9, atol=1e-9)
        for one in found.attached:
            merged += 1
            for name in one.kept:
                assert name not in found.inertials
            for name in one.emptied:
                assert not found.inertials[name].any()
            assert bool(one.kept) == (rule == "keep")
        assert not any(violations(phi) for phi in found.inertials.values())
    assert merged > 100


def test_the_rest_goes_to_the_heaviest_link_where_the_moving_one_is_a_frame() -> None:
    robot = random_robot(np.random.default_rng(1), 4, fixed=1.0)
    model = Model(robot)
    body = next(body for body in model.mechanism.bodies if len(body.links) > 1)
    bare = replace(
        robot,
        links=tuple(Link(link.name) if link.name == body.name else link for link in robot.links),
    )
    for one in attached_links(Model(bare)):
        if one.body == body.name:
            assert one.receiver == body.links[1][0]
            assert one.kept == tuple(name for name, _ in body.links[2:])
    lumped = {one.body: one for one in attached_links(Model(bare), "lump")}[body.name]
    assert lumped.receiver == body.name


def test_a_rest_that_is_not_physical_is_refused_by_link() -> None:
    model = Model(random_robot(np.random.default_rng(3), 4, fixed=1.0))
    one = attached_links(model)[0]
    theta = model.prior_theta()
    names = [body.name for body in model.mechanism.bodies]
    first = model.first_column_of_body[names.index(one.body)]
    theta[first : first + 10] = 0.5 * one.known
    with pytest.raises(ModelError, match=f"the rest of body '{one.body}', without '{one.kept[0]}'"):
        identified_robot(model, theta)
    identified_robot(model, theta, attached="lump")
