"""The rest of a body of several links is physical, as a condition of the fit."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from gripper_arm import gripper_arm

from steelyard.conic.settle import holds_exactly
from steelyard.errors import EstimationError
from steelyard.export.identified_robot import identified_robot
from steelyard.knowledge.attached_rest import attached_rest_blocks
from steelyard.knowledge.conflicts import check_constraints
from steelyard.knowledge.constraint_blocks import blocks
from steelyard.knowledge.constraints import Constraints
from steelyard.knowledge.statements import AttachedRest
from steelyard.model.attached_links import attached_links
from steelyard.model.model import Model
from steelyard.robot.inertia import violations
from steelyard.robot.robot import Robot
from steelyard.testing.random_robots import random_body, random_robot

KEEP = Constraints(keep_attached=True)


def first_column(model: Model, name: str) -> int:
    names = [body.name for body in model.mechanism.bodies]
    return model.first_column_of_body[names.index(name)]


def test_the_condition_holds_where_the_rest_is_physical_and_only_there() -> None:
    """Known parts plus a physical body meet it; a little less than the known parts does not."""
    seen = n_physical = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        model = Model(random_robot(rng, 4, fixed=0.6))
        given = {block.statement.body: block for block in attached_rest_blocks(model, KEEP)}
        merged = {one.body: one for one in attached_links(model, "keep") if one.kept}
        assert set(given) == set(merged)
        for name, one in merged.items():
            seen += 1
            block, first = given[name], first_column(model, name)
            theta = model.prior_theta()
            for rest in (
                random_body(rng),
                random_body(rng) - rng.uniform(0.0, 0.3) * random_body(rng),
                -1e-3 * one.known,
            ):
                theta[first : first + 10] = one.known + rest
                physical = not violations(rest)
                assert holds_exactly(block, theta) == physical
                n_physical += physical
    assert seen > 60
    assert seen < n_physical < 1.8 * seen


def test_a_rest_on_the_edge_of_the_condition_can_be_written() -> None:
    """With as little rest as the condition allows, the link that gets it is physical."""
    for seed in range(40):
        model = Model(random_robot(np.random.default_rng(seed), 4, fixed=0.6))
        theta = model.prior_theta()
        for block in attached_rest_blocks(model, KEEP):
            first = first_column(model, block.statement.body)
            least = -block.b  # psd blocks list the upper triangle, here of J_kept with its margin
            solution = np.linalg.lstsq(block.A, least, rcond=None)[0]
            theta[first : first + 10] = solution
        found = identified_robot(model, theta, attached="keep")
        assert not any(violations(phi) for phi in found.inertials.values())
        for one in found.attached:
            rest = found.inertials[one.receiver]
            assert rest[0] == pytest.approx(1e-6 * one.known[0], rel=1e-6)


def test_nothing_changes_without_attached_links() -> None:
    """Robots without merged bodies have the same conditions, to the last bit."""
    for seed in range(10):
        model = Model(random_robot(np.random.default_rng(seed), 4, fixed=0.0))
        before, after = blocks(model, Constraints()), blocks(model, KEEP)
        assert [block.statement for block in before] == [block.statement for block in after]
        for one, other in zip(before, after, strict=True):
            assert np.array_equal(one.A, other.A)
            assert np.array_equal(one.b, other.b)


def test_massless_frames_do_not_count_and_known_parts_are_not_added_twice() -> None:
    """The condition is beside those of known_links and known_part, not summed with them."""
    model = Model(gripper_arm())
    (one,) = attached_links(model, "keep")
    assert one.kept == ("hand", "finger")
    both = replace(KEEP, known_links=("hand", "finger"), known_part={"upper": (0.1,) + 9 * (0.0,)})
    rests = [block for block in blocks(model, both) if isinstance(block.statement, AttachedRest)]
    assert [block.statement for block in rests] == [AttachedRest("fore", ("hand", "finger"), 0.9)]
    # the entry of the mass is the last of the pseudo-inertia's upper triangle
    least = -Fraction(rests[0].b[-1])
    assert least == pytest.approx(Fraction(9, 10) * (1 + Fraction(1, 10**6)), rel=1e-12)


def test_a_link_that_is_not_physical_in_the_file_is_not_kept() -> None:
    """It is emptied, and its share is part of the rest."""
    model = Model(gripper_arm(finger_inertia=-1e-4))
    (one,) = attached_links(model, "keep")
    assert (one.kept, one.emptied) == (("hand",), ("finger",))
    (block,) = attached_rest_blocks(model, KEEP)
    assert block.statement == AttachedRest("fore", ("hand",), 0.8)
    theta = model.prior_theta()
    found = identified_robot(model, theta, attached="keep")
    assert not found.inertials["finger"].any()
    assert found.inertials["fore"][0] == pytest.approx(1.6)


def test_a_mass_below_that_of_the_attached_links_is_a_conflict_that_names_both() -> None:
    """The message says which links, how heavy they are in the file, and what to do."""
    model = Model(gripper_arm())
    lighter = replace(KEEP, mass={"fore": (0.5, 0.6)})
    words = (
        r"the mass of 'fore' is at most 0.6; "
        r"'fore' without 'hand', 'finger' \(0.9 kg in the robot file\) is physical.*--attached lump"
    )
    with pytest.raises(EstimationError, match=words) as raised:
        check_constraints(model, lighter)
    assert "\n" not in str(raised.value)
    check_constraints(model, replace(lighter, keep_attached=False))


def test_links_behind_locked_joints_count_as_attached() -> None:
    """Locking a joint merges its link; the condition then holds its inertial in place."""
    robot: Robot = gripper_arm().lock({"elbow": 0.3})
    model = Model(robot)
    (one,) = attached_links(model, "keep")
    assert one.body == "upper"
    assert set(one.kept) == {"fore", "hand", "finger"}
    (block,) = attached_rest_blocks(model, KEEP)
    assert block.statement.mass == pytest.approx(2.4)
