"""Sums of sines: exact derivatives, and limits that hold between the grid points too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from steelyard.errors import RobotError, SignalError
from steelyard.excitation.motions.fourier import FourierTrajectory, multisine
from steelyard.robot.parts import Limits
from steelyard.testing.random_robots import random_robot


def random_trajectory(rng: np.random.Generator, n_joints: int, n_harmonics: int):
    names = tuple(f"joint_{i}" for i in range(n_joints))
    shape = (n_joints, n_harmonics)
    return FourierTrajectory(
        names,
        rng.uniform(0.2, 4.0),
        rng.normal(size=shape),
        rng.normal(size=shape),
        rng.normal(size=n_joints),
    )


def random_limits(rng: np.random.Generator) -> Limits:
    """Limits with any of them missing."""
    low, high = np.sort(rng.uniform(-4.0, 4.0, size=2))
    values = (low, high + 0.1, *np.exp(rng.uniform(-2.0, 3.0, size=3)))
    return Limits(*(None if rng.random() < 0.3 else float(value) for value in values))


def limited_robot(rng: np.random.Generator, mimic: float = 0.0):
    robot = random_robot(rng, int(rng.integers(1, 8)), mimic=mimic)
    joints = tuple(replace(j, limits=random_limits(rng)) if j.moves else j for j in robot.joints)
    return replace(robot, joints=joints)


def test_equation_of_the_paper():
    """The position is eq 78 of Sousa and Cortesão (2014), term by term."""
    rng = np.random.default_rng(0)
    trajectory = random_trajectory(rng, 3, 5)
    time = rng.uniform(-10.0, 10.0, size=7)
    motion = trajectory.evaluate(np.sort(time))
    for t, row in zip(np.sort(time), motion.q, strict=True):
        for k in range(3):
            q = trajectory.q0[k]
            for harmonic in range(1, 6):
                w = trajectory.omega * harmonic
                q += trajectory.a[k, harmonic - 1] / w * np.sin(w * t)
                q -= trajectory.b[k, harmonic - 1] / w * np.cos(w * t)
            assert row[k] == pytest.approx(q, abs=1e-12)


def test_derivatives_agree_with_finite_differences():
    """v and a are the derivatives of q, for many random trajectories."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        trajectory = random_trajectory(rng, 4, int(rng.integers(1, 9)))
        step = 1e-3 * trajectory.period_s / trajectory.n_harmonics
        time = rng.uniform(0.0, trajectory.period_s, size=20)
        points = [trajectory.evaluate(time + k * step) for k in (-2, -1, 0, 1, 2)]
        for of, derivative in (("q", "v"), ("v", "a")):
            x = [getattr(point, of) for point in points]
            slope = (x[0] - 8 * x[1] + 8 * x[3] - x[4]) / (12 * step)
            exact = getattr(points[2], derivative)
            assert np.abs(slope - exact).max() < 1e-7 * (1 + np.abs(exact).max())


def test_motion_repeats_after_its_period():
    """One period later everything is the same."""
    trajectory = random_trajectory(np.random.default_rng(2), 3, 4)
    time = np.linspace(0.0, 1.0, 11)
    now, later = trajectory.evaluate(time), trajectory.evaluate(time + trajectory.period_s)
    for name in ("q", "v", "a"):
        np.testing.assert_allclose(getattr(now, name), getattr(later, name), atol=1e-10)


def test_limits_hold_at_any_time_for_random_robots():
    """No limit of the robot is exceeded, and one of the three is nearly reached."""
    rng = np.random.default_rng(3)
    for case in range(300):
        robot = limited_robot(rng)
        share = float(rng.uniform(0.1, 1.0))
        trajectory = multisine(
            robot,
            period_s=float(rng.uniform(1.0, 30.0)),
            share=share,
            seed=case,
            n_harmonics=int(rng.integers(1, 8)),
        )
        time = np.sort(rng.uniform(0.0, trajectory.period_s, size=3000))
        motion = trajectory.evaluate(time)
        for k, joint in enumerate(robot.free_joints):
            limits, slides = joint.limits, joint.kind == "prismatic"
            q, speed = motion.q[:, k], np.abs(motion.v[:, k]).max()
            rate = np.abs(motion.a[:, k]).max()
            assert limits.lower is None or q.min() >= limits.lower
            assert limits.upper is None or q.max() <= limits.upper
            assert speed <= share * (limits.velocity or (0.5 if slides else 2.0))
            assert rate <= share * (limits.acceleration or (5.0 if slides else 10.0))
            if limits.lower is not None and limits.upper is not None:
                half = 0.5 * (limits.upper - limits.lower)
            else:
                half = 0.25 if slides else np.pi
            used = [
                np.abs(q - trajectory.q0[k]).max() / half,
                speed / (limits.velocity or (0.5 if slides else 2.0)),
                rate / (limits.acceleration or (5.0 if slides else 10.0)),
            ]
            assert max(used) > 0.98 * share


def test_limits_of_followers_hold_too():
    """A mimic joint stays within its own limits while its leader moves."""
    rng = np.random.default_rng(4)
    followers = refused = 0
    for case in range(200):
        robot = limited_robot(rng, mimic=0.5)
        try:
            trajectory = multisine(robot, seed=case, share=1.0)
        except RobotError:
            # the ranges of leader and follower may have nothing in common
            refused += 1
            continue
        motion = trajectory.evaluate(np.linspace(0.0, trajectory.period_s, 2000))
        for joint in robot.moving_joints:
            if joint.mimic is None:
                continue
            followers += 1
            leader = robot.joint_names.index(joint.mimic.joint)
            q = joint.mimic.multiplier * motion.q[:, leader] + joint.mimic.offset
            v = joint.mimic.multiplier * motion.v[:, leader]
            limits = joint.limits
            assert limits.lower is None or q.min() >= limits.lower - 1e-9
            assert limits.upper is None or q.max() <= limits.upper + 1e-9
            assert limits.velocity is None or np.abs(v).max() <= limits.velocity + 1e-9
    assert followers > 50
    assert refused < 150


def test_multisine_starts_at_rest():
    """With two harmonics or more a joint has neither speed nor acceleration at the start."""
    for n_harmonics in (2, 3, 7):
        robot = random_robot(np.random.default_rng(n_harmonics), 5)
        motion = multisine(robot, n_harmonics=n_harmonics).evaluate([0.0, 1.0])
        assert np.abs(motion.v[0]).max() < 1e-12
        assert np.abs(motion.a[0]).max() < 1e-12
        assert np.abs(motion.v[1]).min() > 1e-6


def test_same_seed_same_motion():
    """The seed decides: same seed, same motion; another seed, another motion."""
    robot = random_robot(np.random.default_rng(5), 4)
    first, again, other = (multisine(robot, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.a, again.a)
    assert np.array_equal(first.b, again.b)
    assert not np.allclose(first.a, other.a)


@pytest.mark.parametrize(
    ("limits", "what"),
    [
        (Limits(0.0, 0.0, 1.0), "position range of 0"),
        (Limits(-1.0, 1.0, 0.0), "velocity of 0"),
        (Limits(-1.0, 1.0, 1.0, acceleration=0.0), "acceleration of 0"),
    ],
)
def test_joint_without_room_is_named(limits, what):
    """A joint whose limits allow no motion is refused by name."""
    robot = random_robot(np.random.default_rng(6), 3)
    joints = tuple(replace(j, limits=limits) if j.name == "joint_2" else j for j in robot.joints)
    with pytest.raises(RobotError, match=f"'joint_2' cannot move.*{what}"):
        multisine(replace(robot, joints=joints))


@pytest.mark.parametrize(
    "arguments",
    [
        {"share": 0.0},
        {"share": 1.1},
        {"n_harmonics": 0},
        {"period_s": 0.0},
        {"period_s": np.nan},
        {"seed": -1},
    ],
)
def test_nonsense_is_refused(arguments):
    """Settings out of range are refused by their name."""
    with pytest.raises(SignalError, match=next(iter(arguments))):
        multisine(random_robot(np.random.default_rng(7), 2), **arguments)


def test_shapes_are_checked():
    """Amplitudes that do not fit the joints are refused."""
    with pytest.raises(SignalError, match=r"b has shape \(1, 3\) for 2 joints"):
        FourierTrajectory(("x", "y"), 1.0, np.ones((2, 3)), np.ones((1, 3)), np.zeros(2))
    with pytest.raises(SignalError, match="'y' is not finite"):
        FourierTrajectory(("x", "y"), 1.0, np.ones((2, 3)), np.ones((2, 3)), [0.0, np.inf])
