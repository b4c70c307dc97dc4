"""Bounds on how fast distances can change with the joints: random motions never exceed them."""

from __future__ import annotations

import numpy as np
import pytest
from ball_arm import joint, link, write
from solid_robots import random_solid_robot, write_solids

from steelyard.excitation.collision.body_poses import body_poses, joints_between
from steelyard.excitation.collision.collision import Obstacle, collision_model
from steelyard.excitation.collision.reach import reach_bounds
from steelyard.model.mechanism import PRISMATIC
from steelyard.robot.formats.urdf_shapes import Primitive
from steelyard.robot.parts import Joint, Limits, Link
from steelyard.robot.robot import Robot

pytest.importorskip("coal")
LOWER, UPPER = -0.2, 1.5


def seen_reach(model, q: np.ndarray) -> np.ndarray:
    """The largest distance (n_pairs, n_joints) from each joint's axis to the solid that is closer
    to it, over positions q: what a bound may not be below, where no joint shares a coordinate.
    """
    mechanism = model.mechanism
    poses = body_poses(mechanism, q)
    _, positions = model.shape_poses(poses)
    out = np.zeros((len(model.pairs), len(model.joints)))
    for k, pair in enumerate(model.pairs):
        first, second = joints_between(
            mechanism, model.bodies[pair.first], model.bodies[pair.second]
        )
        for body in (*first, *second):
            if mechanism.kind[body] == PRISMATIC:
                out[k, mechanism.coordinate[body]] = abs(mechanism.scale[body])
                continue
            R, p = poses.of(body)
            axis = R @ mechanism.screw[body, 3:]
            far = []
            for shape in (pair.first, pair.second):
                middle = positions[shape]
                apart = middle - p - R @ mechanism.centre[body]
                across = apart - np.einsum("ni,ni->n", apart, axis)[:, None] * axis
                far.append(np.linalg.norm(across, axis=1).max())
            out[k, mechanism.coordinate[body]] = abs(mechanism.scale[body]) * min(far)
    return out


def test_no_position_has_a_longer_reach(tmp_path):
    """At random positions no solid's middle is farther from an axis than the bound says, and
    steps of all joints at once never change a distance by more than the sum.
    """
    rng = np.random.default_rng(0)
    used = []
    for case in range(6):
        mimic = 0.4 if case % 2 else 0.0
        path, robot = random_solid_robot(rng, tmp_path, 4, prismatic=0.3, mimic=mimic)
        solid = Primitive("sphere", np.full(3, 0.1), np.eye(4))
        solid.pose[:3, 3] = rng.uniform(-1, 1, 3)
        model = collision_model(
            path, robot, obstacles=[Obstacle("ball", solid)], ground=-0.8, clearance_m=0.0
        )
        n = len(model.joints)
        bound = reach_bounds(model, np.full(n, LOWER), np.full(n, UPPER))
        q = rng.uniform(LOWER, UPPER, (200, n))
        if not mimic:
            bounded = np.array([model.shapes[pair.first].is_bounded for pair in model.pairs])
            assert (seen_reach(model, q)[bounded] <= bound[bounded]).all()
        size = rng.choice([0.01, 0.3], (200, 1))
        other = np.clip(q + size * rng.normal(size=q.shape), LOWER, UPPER)
        change = np.abs(model.distances(other) - model.distances(q))
        allowed = np.abs(other - q) @ bound.T
        assert (change <= allowed + 1e-9).all()
        used.append((change / (allowed + 1e-12)).max())
    assert max(used) > 0.8


def planar_arm(folder, first=(0.0, 1.0, 0.0), second=(0.0, 1.0, 0.0), elbow=(0.5, 0.0, 0.0)):
    """Two links with a ball 0.5 m from the axis of each; axes and the place of the elbow."""
    ball = Primitive("sphere", np.full(3, 0.1), np.eye(4))
    ball.pose[:3, 3] = [0.5, 0.0, 0.0]
    placement = np.eye(4)
    placement[:3, 3] = elbow
    limits = Limits(-3.0, 3.0, 1.0, 1.0)
    joints = (
        Joint("one", "revolute", "base", "upper", axis=np.array(first), limits=limits),
        Joint("two", "revolute", "upper", "fore", placement, np.array(second), limits=limits),
    )
    robot = Robot("planar", (Link("base"), Link("upper"), Link("fore")), joints)
    path = write_solids(folder, robot, {"upper": [ball], "fore": [ball]})
    return path, Robot.from_urdf(path)


def to_ground(path, robot) -> np.ndarray:
    """The reach (2,) of the forearm against the ground."""
    model = collision_model(path, robot, ground=-2.0)
    k = next(k for k, pair in enumerate(model.pairs) if pair.names == ("ground", "fore"))
    return reach_bounds(model, np.full(2, -3.0), np.full(2, 3.0))[k]


def test_reach_of_a_planar_arm(tmp_path):
    """The ball of the forearm reaches 1.05 m from the first axis and 0.55 m from the second; the
    polygons around circles cost one per cent.
    """
    path, robot = planar_arm(tmp_path)
    model = collision_model(path, robot, ground=-2.0)
    bound = reach_bounds(model, np.full(2, -3.0), np.full(2, 3.0))
    found = {pair.names: bound[k] for k, pair in enumerate(model.pairs)}
    np.testing.assert_allclose(found["ground", "upper"], [0.55, 0.0], rtol=1e-8)
    np.testing.assert_allclose(found["ground", "fore"], [1.05, 0.55], rtol=0.01)
    assert (found["ground", "fore"] >= [1.05, 0.55]).all()


def test_circles_are_inside_their_polygons(tmp_path):
    """Wherever the elbow is around the first axis, the reach is not below 1.05 m."""
    for angle in np.linspace(0.0, np.pi, 9):
        elbow = (0.5 * np.cos(angle), 0.0, 0.5 * np.sin(angle))
        assert to_ground(*planar_arm(tmp_path, elbow=elbow))[0] >= 1.05


def test_width_along_an_axis_counts(tmp_path):
    """A ball that turns about an axis across the first one reaches as far as its own radius lets
    it along that axis.
    """
    crossed = planar_arm(tmp_path, second=(0.0, 0.0, 1.0), elbow=(0.0, 0.0, 0.5))
    # the ball is 0.55 m from the second axis at most, and 0.55 m above the first axis
    assert to_ground(*crossed)[0] >= np.hypot(0.55, 0.5)
    folded = planar_arm(tmp_path, second=(1.0, 0.0, 0.0), elbow=(0.5, 0.0, 0.0))
    # 0.5 m along the second axis from the elbow, and the ball's radius further
    assert to_ground(*folded)[0] >= 1.05


def test_upright_axes_do_not_change_heights(tmp_path):
    """Turns about upright axes do not move a link against the ground; tilted ones do, in
    proportion to the tilt, which a tilted joint before them can increase.
    """
    upright = (0.0, 0.0, 1.0)
    assert np.abs(to_ground(*planar_arm(tmp_path, upright, upright))).max() < 1e-12
    tilted = [(0.0, sign * np.sin(1e-4), np.cos(1e-4)) for sign in (1.0, -1.0)]
    path, robot = planar_arm(tmp_path, *tilted)
    bound = to_ground(path, robot)
    assert bound[0] == pytest.approx(1.05e-4, rel=0.02)
    assert bound[1] == pytest.approx(3 * 0.55e-4, rel=0.02)
    model = collision_model(path, robot, ground=-2.0)
    k = next(k for k, pair in enumerate(model.pairs) if pair.names == ("ground", "fore"))
    # with the first joint half a turn away, the second axis is tilted by three times as much
    q = np.column_stack([np.full(50, np.pi), np.linspace(-3, 3, 50)])
    height = model.distances(q)[:, k]
    slope = np.abs(np.diff(height) / np.diff(q[:, 1])).max()
    assert slope == pytest.approx(3 * 0.5e-4, rel=0.02)
    assert slope <= bound[1]


def test_small_side_counts(tmp_path):
    """Where the solid near an axis is small, it limits what a turn about the axis can change."""
    path, robot = planar_arm(tmp_path)
    ball = Primitive("sphere", np.full(3, 0.04), np.eye(4))
    model = collision_model(path, robot, obstacles=[Obstacle("pin", ball)])
    bound = reach_bounds(model, np.full(2, -3.0), np.full(2, 3.0))
    k = next(k for k, pair in enumerate(model.pairs) if pair.names == ("pin", "fore"))
    assert bound[k, 0] == pytest.approx(0.02, rel=1e-6)
    assert bound[k, 1] == pytest.approx(0.52, rel=0.01)


def test_slides_move_the_near_side_away(tmp_path):
    """An axis 0.5 m in front of a slide that goes out by 1 m is up to 1.5 m from a pin at the
    root, and no farther.
    """
    path = write(
        tmp_path,
        [
            link("base", None),
            link("slide", None),
            link("long", 0.01, (3.0, 0, 0)),
            joint("out", "base", "slide", axis=(1, 0, 0), kind="prismatic"),
            joint("turn", "slide", "long", (0.5, 0, 0)),
        ],
    )
    ball = Primitive("sphere", np.full(3, 0.04), np.eye(4))
    model = collision_model(path, Robot.from_urdf(path), obstacles=[Obstacle("pin", ball)])
    bound = reach_bounds(model, np.array([0.0, -2.0]), np.array([1.0, 2.0]))
    assert [pair.names for pair in model.pairs] == [("pin", "long")]
    np.testing.assert_allclose(bound, [[1.0, 1.52]], rtol=1e-6)
