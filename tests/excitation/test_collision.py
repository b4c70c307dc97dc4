"""Which pairs of links are checked for collisions, and what is said about the others."""

from __future__ import annotations

import numpy as np
import pytest
from ball_arm import CHAIN, joint, link, write
from robot_files import example_urdfs

from steelyard.errors import RobotError, SignalError
from steelyard.excitation.collision.collision import Obstacle, collision_model
from steelyard.excitation.collision.collision_pairs import neighbours, read_srdf
from steelyard.excitation.limits import motion_limits
from steelyard.robot.formats.urdf_shapes import Primitive, collision_shapes
from steelyard.robot.robot import Robot

pytest.importorskip("coal")


def names(model) -> set[frozenset]:
    return {frozenset(pair.names) for pair in model.pairs}


def pairs(*given: str) -> set[frozenset]:
    return {frozenset(pair.split("-")) for pair in given}


def test_neighbours_are_left_out(tmp_path):
    """Links joined by a joint, or through a link without geometry, are not checked; all others
    are, and against the ground all that move.
    """
    path = write(tmp_path)
    robot = Robot.from_urdf(path)
    with_shapes = {"base", "one", "two", "tool"}
    expected = {("base", "one"), ("one", "two"), ("two", "tool")}
    assert neighbours(robot, with_shapes) == expected
    model = collision_model(path, robot, ground=-0.5)
    assert names(model) == pairs(
        "base-two", "base-tool", "one-tool", "ground-one", "ground-two", "ground-tool"
    )
    assert model.findings == ()


def test_a_link_may_be_named_ground(tmp_path):
    """The floor is told from a link by what it is, not by its name."""
    path = write(tmp_path)
    path.write_text(path.read_text().replace('"base"', '"ground"'))
    robot = Robot.from_urdf(path)
    model = collision_model(path, robot, ground=-0.5)
    floor = [pair for pair in model.pairs if not model.shapes[pair.first].is_bounded]
    assert sorted(pair.names[1] for pair in floor) == ["one", "tool", "two"]


def test_a_large_clearance_does_not_remove_its_own_pairs(tmp_path):
    """Pairs that are always closer than the clearance asked for are still checked."""
    path = write(tmp_path)
    robot = Robot.from_urdf(path)
    assert names(collision_model(path, robot, clearance_m=5.0)) == names(
        collision_model(path, robot, clearance_m=0.01)
    )


def test_locked_joints_join_links(tmp_path):
    """Links on both sides of a locked joint are one body, at the position it is locked at."""
    path = write(tmp_path)
    robot = Robot.from_urdf(path).lock({"second": 1.0})
    model = collision_model(path, robot)
    assert model.joints == ("first", "third")
    assert names(model) == pairs("base-two", "base-tool", "one-tool")
    free = collision_model(path, Robot.from_urdf(path))
    locked = model.distances([[0.3, 0.7]])
    moving = free.distances([[0.3, 1.0, 0.7]])
    np.testing.assert_allclose(locked, moving, atol=1e-12)


def test_srdf_says_which_pairs_need_no_check(tmp_path):
    """disable_collisions removes pairs; a link that is disabled by default keeps enabled ones."""
    path = write(tmp_path)
    robot = Robot.from_urdf(path)
    srdf = tmp_path / "arm.srdf"
    srdf.write_text(
        '<robot name="arm"><disable_collisions link1="tool" link2="base" reason="Never"/>'
        '<disable_collisions link1="camera" link2="base"/></robot>'
    )
    model = collision_model(path, robot, srdf=srdf)
    assert names(model) == pairs("base-two", "one-tool")
    assert [finding.code for finding in model.findings] == ["collision_links_unknown"]
    assert "camera" in model.findings[0].words
    srdf.write_text(
        '<robot name="arm"><disable_default_collisions link="tool"/>'
        '<enable_collisions link1="base" link2="tool"/></robot>'
    )
    assert set(map(frozenset, read_srdf(srdf, ["base", "one"]))) == pairs("tool-one")
    assert names(collision_model(path, robot, srdf=srdf)) == pairs("base-two", "base-tool")


def test_pairs_that_always_touch_are_left_out(tmp_path):
    """Without an SRDF, links that overlap whatever the joints do, and links that touch at zero,
    are left out, each with a finding; with an SRDF they are checked.
    """
    parts = [*CHAIN, link("fin", 0.2), link("plate", 0.06, (0, 0, 0.75))]
    parts += [joint("fin_mount", "two", "fin", kind="fixed")]
    parts += [joint("plate_mount", "base", "plate", kind="fixed")]
    path = write(tmp_path, parts)
    robot = Robot.from_urdf(path)
    model = collision_model(path, robot)
    words = {finding.code: (finding.level, finding.words) for finding in model.findings}
    level, always = words["collision_pairs_always_close"]
    assert level == "warning"
    assert "one and fin" in always
    assert "fin and plate" in always
    level, neutral = words["collision_pairs_touch_at_neutral"]
    assert level == "warning"
    assert "two and plate" in neutral
    assert "--srdf" in neutral
    distance = {
        frozenset(pair.names): d
        for pair, d in zip(model.pairs, model.distances(np.zeros((1, 3)))[0], strict=True)
    }
    assert min(distance.values()) > 0.0
    srdf = tmp_path / "arm.srdf"
    srdf.write_text('<robot name="arm"/>')
    every = collision_model(path, robot, srdf=srdf)
    left_out = names(every) - names(model)
    assert frozenset(("one", "fin")) in left_out
    for pair in left_out:
        first, second = sorted(pair)
        sentence = always + neutral
        assert f"{first} and {second}" in sentence or f"{second} and {first}" in sentence


def test_pairs_closer_than_the_clearance(tmp_path):
    """Links that keep a constant 5 mm are checked for a clearance of 1 mm, and not for 10 mm."""
    parts = [*CHAIN, link("fin", 0.045), joint("fin_mount", "two", "fin", kind="fixed")]
    path = write(tmp_path, parts)
    robot = Robot.from_urdf(path)
    pair = frozenset(("one", "fin"))
    assert pair in names(collision_model(path, robot, clearance_m=0.001))
    model = collision_model(path, robot, clearance_m=0.01)
    assert pair not in names(model)
    assert [finding.code for finding in model.findings] == ["collision_pairs_always_close"]


def test_limits_say_which_positions_are_tried(tmp_path):
    """A pair that is close only within the limits of the motion is found with these limits; a
    robot whose file states no range has one to try.
    """
    parts = [
        *CHAIN,
        link("plate", 0.06, (0.05, 0, 0.72)),
        joint("p", "base", "plate", kind="fixed"),
    ]
    text = [part.replace('lower="-2" upper="2"', 'lower="0" upper="0"') for part in parts]
    path = write(tmp_path, text)
    robot = Robot.from_urdf(path)
    pair = frozenset(("two", "plate"))
    everywhere = collision_model(path, robot)
    assert "collision_pairs_always_close" not in [f.code for f in everywhere.findings]
    near = motion_limits(robot, lower=-0.1, upper=0.1, velocity=1.0)
    model = collision_model(path, robot, limits=near)
    assert pair not in names(model)
    assert "two and plate" in model.findings[0].words
    assert model.findings[0].code == "collision_pairs_always_close"


def test_heights_that_no_joint_changes(tmp_path):
    """A link that turns about an upright axis only, near the floor, is not checked against it;
    one at a sufficient height is.
    """
    path = write(tmp_path)
    robot = Robot.from_urdf(path)
    low = collision_model(path, robot, ground=0.345, clearance_m=0.01)
    assert frozenset(("ground", "one")) not in names(low)
    assert frozenset(("ground", "two")) in names(low)
    assert [finding.code for finding in low.findings] == ["collision_heights_constant"]
    high = collision_model(path, robot, ground=0.3, clearance_m=0.01)
    assert frozenset(("ground", "one")) in names(high)
    assert high.findings == ()


def test_obstacles_meet_moving_links_only(tmp_path):
    """An obstacle is paired with every link that moves, and not with the base."""
    path = write(tmp_path)
    robot = Robot.from_urdf(path)
    crate = Obstacle("crate", Primitive("box", np.full(3, 0.1), np.eye(4)))
    model = collision_model(path, robot, obstacles=[crate])
    assert {pair.names[1] for pair in model.pairs if pair.names[0] == "crate"} == {
        "one",
        "two",
        "tool",
    }
    for name in ("tool", "ground"):
        with pytest.raises(RobotError, match=f"two things named '{name}'"):
            collision_model(path, robot, obstacles=[Obstacle(name, crate.solid)], ground=0.0)


def test_real_arms_have_the_pairs_of_their_srdf():
    """Panda's SRDF leaves the pairs that can collide; no pair is of neighbours or disabled."""
    path = next(path for path in example_urdfs() if path.name == "panda.urdf")
    srdf = path.parent.parent / "srdf" / "panda.srdf"
    share = next(folder for folder in path.parents if folder.name == "share")
    robot = Robot.from_urdf(path)
    model = collision_model(path, robot, srdf=srdf, package_folders=[share])
    disabled = set(map(frozenset, read_srdf(srdf, [])))
    assert len(disabled) > 20
    assert names(model) & disabled == set()
    shapes = set(collision_shapes(path))
    touching = set(map(frozenset, neighbours(robot, shapes)))
    assert names(model) & touching == set()
    every = {frozenset((a, b)) for a in shapes for b in shapes if a != b}
    rest = every - disabled - touching - names(model)
    body = {name: k for k, shape in enumerate(model.shapes) for name in [shape.owner]}
    assert all(len({model.bodies[body[name]] for name in pair}) == 1 for pair in rest)


def test_wrong_input_is_named(tmp_path):
    """A URDF without geometry, of another robot or with an unknown solid, a floating base, a
    wrong clearance, a missing package folder and a wrong SRDF are each an error.
    """
    path = write(tmp_path)
    robot = Robot.from_urdf(path)
    bare = write(tmp_path, [link("base", None)], "bare")
    with pytest.raises(RobotError, match="no collision geometry; leave collisions out"):
        collision_model(bare, robot)
    other = write(tmp_path, [link("torso", 0.1)], "other")
    with pytest.raises(RobotError, match="has link 'torso', which robot 'arm' has not"):
        collision_model(other, robot)
    odd = tmp_path / "odd.urdf"
    odd.write_text(
        '<robot name="odd"><link name="base"><collision><geometry><capsule/></geometry>'
        "</collision></link></robot>"
    )
    with pytest.raises(RobotError, match="link 'base': its <collision> in line 1 is a capsule"):
        collision_model(odd, robot)
    odd.write_text('<robot name="odd"><link name="base"><collision/></link></robot>')
    with pytest.raises(RobotError, match="has no geometry"):
        collision_model(odd, robot)
    floating = Robot.from_urdf(path, floating_base=True)
    with pytest.raises(RobotError, match="floating base"):
        collision_model(path, floating)
    for clearance in (-0.1, np.nan):
        with pytest.raises(SignalError, match="clearance_m"):
            collision_model(path, robot, clearance_m=clearance)
    with pytest.raises(SignalError, match="ground is inf"):
        collision_model(path, robot, ground=np.inf)
    with pytest.raises(RobotError, match=r"package folder .* does not exist"):
        collision_model(path, robot, package_folders=[tmp_path / "none"])
    with pytest.raises(RobotError, match=r"'tol' \(did you mean 'tool'\?\).*no such thing"):
        collision_model(path, robot, ignore=[("base", "tol")])
    srdf = tmp_path / "x.srdf"
    srdf.write_text("<mujoco/>")
    with pytest.raises(RobotError, match="not <robot> as an SRDF has"):
        collision_model(path, robot, srdf=srdf)
