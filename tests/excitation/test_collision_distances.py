"""Distances of links: closed formulas, Pinocchio with MuJoCo, and gradients by differences."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from robot_files import example_urdfs
from solid_robots import oracle_distances, random_solid, random_solid_robot

from steelyard.errors import SignalError
from steelyard.excitation.collision.collision import Obstacle, collision_model
from steelyard.excitation.collision.collision_distances import CollisionModel
from steelyard.robot.formats.urdf_shapes import Primitive
from steelyard.robot.robot import Robot

coal = pytest.importorskip("coal")

TWO_BALLS = """<robot name="balls">
<link name="base"/>
<link name="upper"><collision><origin xyz="0.3 0 0"/>
  <geometry><sphere radius="0.05"/></geometry></collision></link>
<link name="fore"><collision><geometry><sphere radius="0.01"/></geometry></collision></link>
<link name="hand"><collision><origin xyz="0.2 0 0"/>
  <geometry><sphere radius="0.04"/></geometry></collision></link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
  <axis xyz="0 1 0"/><limit lower="-3" upper="3" velocity="1" effort="1"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="fore"/>
  <origin xyz="0.5 0 0"/><axis xyz="0 1 0"/>
  <limit lower="-3" upper="3" velocity="1" effort="1"/></joint>
<joint name="wrist" type="prismatic"><parent link="fore"/><child link="hand"/>
  <axis xyz="1 0 0"/><limit lower="0" upper="0.4" velocity="1" effort="1"/></joint>
</robot>"""


@pytest.fixture
def balls(tmp_path) -> CollisionModel:
    """A planar arm with a ball on each link, a floor and a box."""
    path = tmp_path / "balls.urdf"
    path.write_text(TWO_BALLS)
    box = Primitive("box", np.array([0.2, 0.4, 0.6]), np.eye(4))
    box.pose[:3, 3] = [1.5, 0.0, 0.0]
    (tmp_path / "balls.srdf").write_text("<robot name='balls'/>")
    return collision_model(
        path,
        Robot.from_urdf(path),
        srdf=tmp_path / "balls.srdf",
        ground=-1.0,
        obstacles=[Obstacle("crate", box)],
        ignore=[("crate", "upper"), ("fore", "crate")],
    )


def test_distances_by_hand(balls):
    """Between two balls, a ball and the floor, a ball and a box: the formulas of a planar arm."""
    rng = np.random.default_rng(0)
    q = rng.uniform([-1.5, -1.5, 0.0], [1.5, 1.5, 0.4], (50, 3))
    first, second = q[:, 0], q[:, 0] + q[:, 1]
    upper = 0.3 * np.column_stack([np.cos(first), -np.sin(first)])
    hand = 0.5 * np.column_stack([np.cos(first), -np.sin(first)])
    fore = hand
    hand = fore + (0.2 + q[:, 2:]) * np.column_stack([np.cos(second), -np.sin(second)])
    gap = np.maximum(np.abs(hand - [1.5, 0.0]) - [0.1, 0.3], 0.0)
    expected = {
        ("upper", "hand"): np.linalg.norm(hand - upper, axis=1) - 0.09,
        ("ground", "upper"): upper[:, 1] + 1.0 - 0.05,
        ("ground", "fore"): fore[:, 1] + 1.0 - 0.01,
        ("ground", "hand"): hand[:, 1] + 1.0 - 0.04,
        ("crate", "hand"): np.linalg.norm(gap, axis=1) - 0.04,
    }
    found = balls.distances(q)
    assert [pair.names for pair in balls.pairs] == list(expected)
    for k, pair in enumerate(balls.pairs):
        np.testing.assert_allclose(found[:, k], expected[pair.names], atol=1e-9)


def test_gradients_by_hand(balls):
    """The height of the hand over the floor has the slope of the planar arm."""
    q = np.array([[0.3, -0.8, 0.1]])
    k = next(k for k, p in enumerate(balls.pairs) if p.names == ("ground", "hand"))
    _, gradient = balls.distance_gradients(q)
    first, second, out = 0.3, 0.3 - 0.8, 0.3
    by_elbow = -out * np.cos(second)
    expected = [by_elbow - 0.5 * np.cos(first), by_elbow, -np.sin(second)]
    np.testing.assert_allclose(gradient[0, k], expected, atol=1e-12)


def test_far_pairs_get_a_lower_bound(balls):
    """Pairs beyond ``within_m`` get a bound that is not above their distance, and no gradient."""
    rng = np.random.default_rng(2)
    q = rng.uniform(-1.5, 1.5, (40, 3))
    exact = balls.distances(q)
    found, gradient = balls.distance_gradients(q, within_m=0.3)
    assert (found <= exact + 1e-9).all()
    near = exact <= 0.3
    np.testing.assert_allclose(found[near], exact[near], atol=1e-12)
    assert (found[~near] > 0.3 - 1e-9).sum() >= (~near).sum() - near.sum()
    far = (found != exact) & (np.abs(found - exact) > 1e-9)
    assert far.any()
    assert (gradient[far] == 0.0).all()
    assert (np.abs(gradient[near]).sum(axis=1) > 0.0).all()


def surroundings(rng: np.random.Generator) -> dict:
    """A floor and two obstacles."""
    obstacles = [
        Obstacle("crate", random_solid(rng, ("box",))),
        Obstacle("ball", random_solid(rng, ("sphere",))),
    ]
    return {"ground": -0.3, "obstacles": obstacles, "clearance_m": 0.0}


def test_random_robots_against_pinocchio_and_mujoco(tmp_path):
    """Distances of boxes, cylinders and spheres on random trees agree within 1e-8 m, and
    overlaps within 1e-5 m.
    """
    pytest.importorskip("pinocchio")
    pytest.importorskip("mujoco")
    rng = np.random.default_rng(3)
    overlaps = 0
    for n_joints in (3, 4, 5):
        path, robot = random_solid_robot(rng, tmp_path, n_joints, prismatic=0.2)
        model = collision_model(path, robot, **surroundings(rng))
        q = rng.uniform(-1.0, 1.0, (25, n_joints))
        found, truth = model.distances(q), oracle_distances(model, robot, q)
        apart = truth > 0.0
        np.testing.assert_allclose(found[apart], truth[apart], rtol=0, atol=1e-8)
        np.testing.assert_allclose(found[~apart], truth[~apart], rtol=0, atol=1e-5)
        overlaps += (~apart).sum()
    assert overlaps > 20


def test_gradients_by_finite_differences(tmp_path):
    """On random trees with mimics, gradients are those of central differences."""
    rng = np.random.default_rng(4)
    for n_joints in (3, 5):
        path, robot = random_solid_robot(rng, tmp_path, n_joints, prismatic=0.3, mimic=0.3)
        model = collision_model(path, robot, **surroundings(rng))
        n = len(model.joints)
        q = rng.uniform(-1.0, 1.0, (15, n))
        distance, gradient = model.distance_gradients(q)
        h = 1e-5
        steps = h * np.eye(n)
        numeric = np.stack(
            [(model.distances(q + step) - model.distances(q - step)) / (2 * h) for step in steps],
            axis=-1,
        )
        error = np.abs(gradient - numeric).max(axis=-1)[distance > 1e-3]
        # a step across an edge, where the closest points jump, has no slope
        assert np.quantile(error, 0.97) < 2e-5
        assert np.abs(gradient).max() > 0.3


@pytest.mark.parametrize("name", ["panda.urdf", "ur5_robot.urdf", "xarm7.urdf"])
def test_real_arms_against_pinocchio_and_mujoco(name):
    """The convex hulls of the meshes of Panda, UR5 and xArm7 have MuJoCo's distances within 1e-6
    m where they are apart, and the gradients of differences.
    """
    pytest.importorskip("pinocchio")
    pytest.importorskip("mujoco")
    path = next(path for path in example_urdfs() if path.name == name)
    robot = Robot.from_urdf(path, mimics=False)
    share = next(folder for folder in path.parents if folder.name == "share")
    model = collision_model(path, robot, ground=0.0, package_folders=[share])
    assert len(model.pairs) > 15
    rng = np.random.default_rng(5)
    q = rng.uniform(-1.0, 1.0, (12, len(model.joints)))
    found, truth = model.distances(q), oracle_distances(model, robot, q)
    apart = truth > 0.0
    assert apart.sum() > 100
    np.testing.assert_allclose(found[apart], truth[apart], rtol=0, atol=1e-6)
    np.testing.assert_allclose(found[~apart], truth[~apart], rtol=0, atol=1e-4)


def test_wrong_positions_are_refused(balls):
    """Positions of another number of joints are named with the joints."""
    with pytest.raises(SignalError, match=r"shape \(2,\).*shoulder, elbow, wrist"):
        balls.distances([0.0, 1.0])


def test_model_can_be_sent_to_other_processes(balls):
    """A model that has computed distances is pickled without the objects of the library."""
    q = np.array([[0.2, 0.4, 0.1]])
    before = balls.distances(q)
    again = pickle.loads(pickle.dumps(balls))
    np.testing.assert_array_equal(again.distances(q), before)


def test_paths_may_be_text(tmp_path):
    """A URDF given as text path is the same as a Path."""
    path = tmp_path / "balls.urdf"
    path.write_text(TWO_BALLS)
    robot = Robot.from_urdf(path)
    assert collision_model(str(path), robot).pairs == collision_model(Path(path), robot).pairs
