"""The proof of clearance: never above the densely sampled minimum, and close to it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from ball_arm import CHAIN, joint, link, write
from robot_files import example_urdfs
from solid_robots import oracle_distances, random_solid, random_solid_robot

from steelyard.errors import CollisionError, SignalError
from steelyard.excitation.collision import clearance
from steelyard.excitation.collision.clearance import (
    plane_distances,
    prove_clearance,
    refuse_collision,
)
from steelyard.excitation.collision.collision import Obstacle, collision_model
from steelyard.excitation.motions.fourier import FourierTrajectory, multisine
from steelyard.robot.formats.urdf_shapes import Primitive
from steelyard.robot.robot import Robot

pytest.importorskip("coal")


def slow_sines(rng: np.random.Generator, joints, size: float = 1.0) -> FourierTrajectory:
    """A random motion of five seconds."""
    shape = (len(joints), 3)
    return FourierTrajectory(
        joints,
        2.0 * np.pi / 5.0,
        size * rng.normal(size=shape),
        size * rng.normal(size=shape),
        rng.uniform(-0.5, 0.5, len(joints)),
    )


def dense_minimum(model, motion, within_m: float, rate_hz: float = 400.0) -> float:
    """The smallest distance at samples, where there is one below ``within_m``."""
    time = np.arange(0.0, motion.duration_s, 1.0 / rate_hz)
    columns = [motion.joints.index(joint) for joint in model.joints]
    return float(model.distances(motion.derivative(time, 0)[:, columns], within_m=within_m).min())


def test_proof_is_below_dense_samples_and_close(tmp_path):
    """On random trees with slides and mimics the proven distance is below every sampled one, by 5
    mm at most, and the smallest distance found is that of a sample.
    """
    rng = np.random.default_rng(0)
    proven = 0
    for case in range(8):
        mimic = 0.3 if case % 2 else 0.0
        path, robot = random_solid_robot(rng, tmp_path, 4, prismatic=0.2, mimic=mimic)
        crate = Obstacle("crate", random_solid(rng, ("box",)))
        crate.solid.pose[:3, 3] += 0.5
        model = collision_model(path, robot, ground=-1.5, obstacles=[crate], clearance_m=0.0)
        motion = slow_sines(rng, model.joints, 0.4)
        try:
            found = prove_clearance(model, motion)
        except CollisionError:
            continue
        least = dense_minimum(model, motion, found.sampled_m + 1e-6)
        if least < 0.0:
            assert found.verdict == "violated"
            continue
        proven += 1
        assert found.smallest_m <= least + 1e-9
        assert found.smallest_m >= least - 0.005
        assert found.sampled_m >= found.smallest_m
        assert found.holds == (found.smallest_m >= 0.0)
    assert proven >= 4


@pytest.mark.parametrize("name", ["ur5_joint_limited_robot.urdf", "xarm7.urdf"])
def test_real_arms_against_pinocchio_and_mujoco(name):
    """Along motions of UR5 and xArm7 Pinocchio and MuJoCo find no distance below the proven one."""
    pytest.importorskip("pinocchio")
    pytest.importorskip("mujoco")
    path = next(path for path in example_urdfs() if path.name == name)
    share = next(folder for folder in path.parents if folder.name == "share")
    robot = Robot.from_urdf(path)
    model = collision_model(path, robot, package_folders=[share], clearance_m=0.0)
    motion = multisine(robot, share=0.5)
    found = prove_clearance(model, motion)
    time = np.arange(0.0, motion.duration_s, 0.05)
    truth = oracle_distances(model, robot, motion.derivative(time, 0)).min()
    assert found.smallest_m <= truth + 1e-7
    assert found.smallest_m >= dense_minimum(model, motion, found.sampled_m, 50.0) - 0.005
    assert found.verdict in ("holds", "violated")
    assert found.n_intervals < 5000


def test_clearance_that_samples_keep_is_decided(tmp_path):
    """A clearance just below the smallest distance is proven, one just above it is refuted, each
    with the pair and the time.
    """
    path = write(tmp_path, CHAIN)
    robot = Robot.from_urdf(path)
    crate = Primitive("box", np.array([0.2, 2.0, 0.2]), np.eye(4))
    crate.pose[:3, 3] = [0.65, 0.0, 0.85]
    model = collision_model(path, robot, obstacles=[Obstacle("crate", crate)])
    a, b = np.zeros((3, 1)), np.zeros((3, 1))
    a[1] = 0.5
    # the second joint swings by 0.5 rad about 0.3 rad; the tool is closest to the crate at the end
    motion = FourierTrajectory(model.joints, 1.0, a, b, np.array([0.0, 0.3, 0.0]))
    time = np.linspace(0.0, motion.duration_s, 4001)
    dense = model.distances(motion.derivative(time, 0))
    row, k = np.unravel_index(dense.argmin(), dense.shape)
    least = dense[row, k]
    assert 0.05 < least < 0.3
    held = prove_clearance(model, motion, least - 1e-4)
    assert held.verdict == "holds"
    assert held.holds
    assert least - 1e-4 <= held.smallest_m <= least
    assert held.pair == model.pairs[k].names
    assert held.time_s == pytest.approx(time[row], abs=0.3)
    assert held.finest_s < held.resolution_s
    broken = prove_clearance(model, motion, least + 1e-3)
    assert broken.verdict == "violated"
    assert broken.sampled_pair == model.pairs[k].names
    assert broken.sampled_m < least + 1e-3
    assert not broken.holds


def test_intervals_that_never_decide_are_said(tmp_path, monkeypatch):
    """At the smallest interval the verdict is "not proven", with pair and time."""
    path = write(tmp_path, CHAIN)
    robot = Robot.from_urdf(path)
    model = collision_model(path, robot)
    motion = slow_sines(np.random.default_rng(1), model.joints, 0.3)
    least = dense_minimum(model, motion, np.inf)
    assert prove_clearance(model, motion, least - 2e-4).verdict == "holds"
    monkeypatch.setattr(clearance, "MOST_HALVINGS", 0)
    found = prove_clearance(model, motion, least - 1e-6, resolution_s=0.1)
    assert found.verdict == "not proven"
    assert found.smallest_m < least - 1e-6 <= found.sampled_m
    assert found.pair is not None
    assert 0.0 < found.time_s < motion.duration_s


def test_single_intervals_are_bounded(tmp_path, monkeypatch):
    """One interval that is not halved is a bound too: with an arm that falls at a constant speed,
    and with one that turns round at the centre.
    """
    path = write(
        tmp_path,
        [
            link("base", None),
            link("bar", 0.05, (0.8, 0, 0)),
            joint("first", "base", "bar", (0, 0, 1.0)),
        ],
    )
    model = collision_model(path, Robot.from_urdf(path), ground=0.0)
    monkeypatch.setattr(clearance, "MOST_HALVINGS", 0)
    for a, b, q0 in ((0.0, 0.3, 0.0), (0.3, 0.0, 0.0), (0.0, -0.3, 0.3)):
        full = np.full((1, 1), 1.0)
        motion = FourierTrajectory(model.joints, 1.0, a * full, b * full, np.array([q0]))
        for resolution_s in (7.0, 2.0, 0.3):
            found = prove_clearance(model, motion, 0.0, resolution_s=resolution_s)
            least = dense_minimum(model, motion, np.inf)
            assert found.smallest_m <= least + 1e-9
    assert found.smallest_m > least - 0.1


def test_planes_bound_distances_whatever_the_direction(tmp_path):
    """A plane across any direction gives a lower bound; across that of the closest points it is
    the distance.
    """
    rng = np.random.default_rng(2)
    path, robot = random_solid_robot(rng, tmp_path, 4)
    model = collision_model(path, robot, ground=-0.5, clearance_m=0.0)
    q = rng.uniform(-1, 1, (30, 4))
    rotations, positions = model.shape_poses(model.poses(q))
    everything = np.ones((30, len(model.pairs)), dtype=bool)
    closest = model.closest(rotations, positions, everything)
    planes = plane_distances(model, closest, rotations, positions)
    apart = closest.distance > 0.0
    np.testing.assert_allclose(planes[apart], closest.distance[apart], atol=1e-6)
    tilted = closest.normal + 0.2 * rng.normal(size=closest.normal.shape)
    bounded = [k for k, pair in enumerate(model.pairs) if model.shapes[pair.first].is_bounded]
    lower = plane_distances(model, replace(closest, normal=tilted), rotations, positions)
    assert (lower[:, bounded] <= np.maximum(closest.distance, 0.0)[:, bounded] + 1e-9).all()
    assert (lower[:, bounded] < closest.distance[:, bounded] - 1e-3).mean() > 0.5


def test_start_in_collision_is_an_error(tmp_path):
    """A first pose that is too close is refused with links, distance and what to do."""
    path = write(tmp_path, CHAIN)
    robot = Robot.from_urdf(path)
    model = collision_model(path, robot, ground=1.0)
    still = FourierTrajectory(
        model.joints, 1.0, np.zeros((3, 1)), np.zeros((3, 1)), np.array([0.0, 0.0, 0.0])
    )
    with pytest.raises(CollisionError) as error:
        prove_clearance(model, still, 0.02)
    message = str(error.value)
    assert "the start pose is in collision: ground and two overlap by 0.35 m" in message
    assert "(and ground and tool are too close)" in message
    assert "--clearance" in message
    model = collision_model(path, robot, ground=0.6)
    with pytest.raises(CollisionError, match=r"are 0\.05 m apart, and 0\.06 m are asked for"):
        refuse_collision(
            replace(model, pairs=tuple(p for p in model.pairs if p.names[1] == "two")),
            np.zeros(3),
            0.06,
            "the start pose",
        )


def test_wrong_arguments_are_named(tmp_path):
    """Other joints, a resolution of zero and a negative clearance are refused."""
    path = write(tmp_path, CHAIN)
    model = collision_model(path, Robot.from_urdf(path))
    motion = slow_sines(np.random.default_rng(3), model.joints, 0.1)
    with pytest.raises(SignalError, match="resolution_s is 0"):
        prove_clearance(model, motion, resolution_s=0.0)
    with pytest.raises(SignalError, match="clearance_m is -1"):
        prove_clearance(model, motion, -1)
    with pytest.raises(SignalError, match=r"elbow.*lock"):
        prove_clearance(model, replace(motion, joints=("first", "second", "elbow")))


def test_order_of_joints_does_not_matter(tmp_path):
    """A trajectory whose joints are in another order gives the same proof."""
    path = write(tmp_path, CHAIN)
    model = collision_model(path, Robot.from_urdf(path), ground=-1.0)
    motion = slow_sines(np.random.default_rng(4), model.joints, 0.3)
    order = [2, 0, 1]
    other = FourierTrajectory(
        tuple(motion.joints[k] for k in order),
        motion.omega,
        motion.a[order],
        motion.b[order],
        motion.q0[order],
    )
    first, second = prove_clearance(model, motion), prove_clearance(model, other)
    assert first.smallest_m == pytest.approx(second.smallest_m, abs=1e-12)
    assert first.pair == second.pair


@pytest.mark.parametrize("seed", range(6))
def test_every_pair_says_by_how_much_it_is_too_close(tmp_path, seed):
    """Against MuJoCo's distances: never less than what is missing, and little more."""
    pytest.importorskip("mujoco")
    rng = np.random.default_rng(300 + seed)
    path, robot = random_solid_robot(rng, tmp_path, 3)
    model = collision_model(path, robot, ground=-0.6, clearance_m=0.0)
    motion = slow_sines(rng, model.joints, 0.5)
    q = motion.derivative(np.arange(0.0, motion.duration_s, 1.0 / 100.0), 0)
    least = oracle_distances(model, robot, q).min(axis=0)
    asked = float(np.median(least)) if np.median(least) > 0.0 else 0.05
    found = prove_clearance(model, motion, asked, refuse_start=False)
    missing = np.array(found.missing_m)
    assert len(missing) == len(model.pairs)
    assert max(missing) == pytest.approx(max(0.0, asked - found.smallest_m), abs=1e-12)
    true = np.maximum(asked - least, 0.0)
    assert (missing >= true - 1e-6).all()
    # distances of solids that overlap are less exact
    apart = least > 0.0
    assert (missing[apart] <= true[apart] + 5e-4).all()
    assert (true > 0.0).sum() > 0
