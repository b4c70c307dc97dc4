"""Bounds on the torques of a motion: Pinocchio at 10 kHz is never above them, and close below."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from oracles import pinocchio_torque
from robot_files import example_urdfs

from steelyard.errors import ModelError, SignalError
from steelyard.excitation.enclosed_torque import EnclosedMotion, enclosed_torque
from steelyard.excitation.extremes import Extremes
from steelyard.excitation.fourier import FourierTrajectory, multisine
from steelyard.excitation.time_enclosure import Enclosure
from steelyard.excitation.torque_bounds import torque_bounds
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.model.terms import coupled_terms, default_terms
from steelyard.robot.formats.dh import read_dh
from steelyard.robot.robot import Robot
from steelyard.testing.random_robots import random_robot


def with_terms(rng: np.random.Generator, robot: Robot) -> tuple[Model, np.ndarray]:
    """The robot with its usual terms and a coupling, and random positive values of them."""
    joints = robot.joint_names
    coupled = (
        coupled_terms("wrist", {joints[0]: 1.0, joints[1]: -0.5}, ["viscous", "coulomb"])
        if len(joints) > 1
        else ()
    )
    model = Model(robot, (*default_terms(robot), *coupled))
    theta = model.prior_theta()
    for k, column in enumerate(model.columns):
        if column.term_kind is not None:
            theta[k] = rng.uniform(0.1, 2.0)
    return model, theta


def oracle(model: Model, theta: np.ndarray, motion) -> tuple[np.ndarray, np.ndarray]:
    """Largest absolute torque by Pinocchio, with the terms by their formulas; and the same if
    Coulomb friction may have either sign below 0.01 rad/s.
    """
    tau = pinocchio_torque(model.robot, motion.q, motion.v, motion.a)
    smooth, either = tau.copy(), np.zeros_like(tau)
    column = {name: k for k, name in enumerate(model.column_names)}
    for term in model.terms:
        d = np.zeros(model.nv)
        for joint, weight in term.direction:
            d[model.channels.index(joint)] = weight
        speed = motion.v @ d
        factor = {
            "drive_inertia": motion.a @ d,
            "viscous": speed,
            "coulomb": np.sign(speed),
            "offset": np.ones(len(speed)),
        }[term.kind]
        held = (term.kind == "coulomb") & (np.abs(speed) < 0.01)
        value = theta[column[term.name]]
        either += value * np.outer(held, np.abs(d))
        smooth += value * np.outer(np.where(held, 0.0, factor), d)
        tau += value * np.outer(factor, d)
    return np.abs(tau).max(axis=0), (np.abs(smooth) + either).max(axis=0)


def test_pinocchio_is_never_above_the_bound():
    """On random trees with slides, mimics and coupled friction, the torque by Pinocchio at 10 kHz
    is below the bound, which is within 1 % of it (with friction of either sign at standstill).
    """
    pytest.importorskip("pinocchio")
    rng = np.random.default_rng(0)
    shares = []
    for n_joints, mimic in ((1, 0.0), (4, 0.0), (5, 0.4), (7, 0.2)):
        robot = random_robot(rng, n_joints, mimic=mimic)
        model, theta = with_terms(rng, robot)
        motion = multisine(robot, period_s=1.5, n_harmonics=3, seed=n_joints)
        found = torque_bounds(model, theta, motion)
        time = np.arange(0.0, motion.duration_s, 1e-4)
        dense, held = oracle(model, theta, motion.evaluate(time))
        assert (dense <= found.bound * (1.0 + 1e-10)).all()
        np.testing.assert_allclose(found.sampled, dense, rtol=1e-3)
        shares.append(found.bound / np.maximum(dense, held))
    assert np.concatenate(shares).max() < 1.01


def test_intervals_without_length_are_pinocchios_torque():
    """At single moments the enclosed torque is Pinocchio's, up to rounding, on random trees."""
    pytest.importorskip("pinocchio")
    rng = np.random.default_rng(8)
    for case in range(12):
        robot = random_robot(rng, 5, prismatic=0.5, mimic=0.2 * (case % 2))
        model = Model(robot, ())
        states = rng.normal(size=(3, 4, model.nv))
        half = np.zeros(4)
        parts = [
            tuple(Enclosure(x, np.zeros(4), np.zeros(4), half) for x in state.T) for state in states
        ]
        found = enclosed_torque(model, model.prior_theta(), EnclosedMotion(*parts))
        truth = pinocchio_torque(robot, *states)
        value = np.column_stack([joint.value for joint in found])
        np.testing.assert_allclose(value, truth, rtol=1e-9, atol=1e-9)
        assert max(joint.rest.max() for joint in found) < 1e-9 * np.abs(truth).max()


def test_seven_joint_arm_without_halving():
    """On xArm7 at 1.5 rad/s, 5 ms intervals alone bound the torques within 2 % of the peak."""
    path = next(path for path in example_urdfs() if path.name == "xarm7.urdf")
    robot = Robot.from_urdf(path)
    model = Model(robot)
    theta = model.prior_theta()
    motion = multisine(robot, period_s=10.0, n_harmonics=5, share=0.5)
    motion = replace(motion, a=motion.a * 0.95, b=motion.b * 0.95)
    assert 1.4 < motion.extremes().velocity.max() < 1.6
    coarse = torque_bounds(model, theta, motion, tightness=1e6)
    assert coarse.finest_s == coarse.resolution_s
    fine = torque_bounds(model, theta, motion)
    dense, _ = oracle(model, theta, motion.evaluate(np.arange(0, 10, 2e-3)))
    assert (dense <= fine.bound).all()
    assert (fine.bound <= coarse.bound).all()
    assert (coarse.bound - dense <= 0.02 * dense.max()).all()
    assert (fine.bound / dense).max() < 1.01


def test_limit_that_samples_keep_is_decided():
    """A limit just above the largest torque is proven, although the usual bound is beyond it."""
    rng = np.random.default_rng(9)
    robot = random_robot(rng, 4)
    model = Model(robot, ())
    theta = model.prior_theta()
    motion = multisine(robot, period_s=2.0, n_harmonics=3)
    usual = torque_bounds(model, theta, motion)
    states = motion.evaluate(np.arange(0.0, 2.0, 1e-4))
    largest = np.abs(torque(model, theta, states.q, states.v, states.a)).max(axis=0)
    limit = 1.001 * largest
    assert (usual.bound > limit).any()
    found = torque_bounds(model, theta, motion, limit=limit)
    assert (largest <= found.bound).all()
    assert (found.bound <= limit).all()
    # a limit that a sample breaks needs no further work
    broken = torque_bounds(model, theta, motion, limit=0.9 * usual.sampled)
    assert broken.n_intervals == usual.n_intervals
    with pytest.raises(SignalError, match=r"limit has shape \(2,\) for 4 joints"):
        torque_bounds(model, theta, motion, limit=[1.0, 2.0])


def test_axes_away_from_link_origins():
    """Link frames after their joints (standard Denavit-Hartenberg) are bounded as tightly."""
    rows = [
        {"a": 0.3, "alpha": 1.1, "d": 0.2, "theta": 0.1},
        {"a": 0.2, "alpha": -0.7, "d": 0.1, "theta": 0.4},
        {"a": 0.1, "alpha": 0.3, "d": 0.0, "theta": -0.2},
    ]
    robot = Robot.from_description(read_dh(rows, convention="standard"))
    model = Model(robot, ())
    rng = np.random.default_rng(4)
    theta = rng.normal(size=len(model.columns))
    motion = FourierTrajectory(
        robot.joint_names, 2.0, rng.normal(size=(3, 2)), rng.normal(size=(3, 2)), np.zeros(3)
    )
    found = torque_bounds(model, theta, motion)
    dense = motion.evaluate(np.arange(0.0, motion.duration_s, 1e-3))
    largest = np.abs(torque(model, theta, dense.q, dense.v, dense.a)).max(axis=0)
    assert (largest <= found.bound).all()
    assert (found.bound / largest).max() < 1.01


def one_joint(value: dict[str, float], width: float = 0.0) -> tuple[Model, np.ndarray]:
    """A massless revolute joint with these values of its terms."""
    robot = random_robot(np.random.default_rng(0), 1, prismatic=0.0, fixed=0.0)
    model = Model(robot).with_widths({"joint_1": width})
    return model, model.theta({name: 0.0 for name in model.column_names} | value)


def still(duration_s: float) -> FourierTrajectory:
    """A joint that does not move."""
    return FourierTrajectory(
        ("joint_1",), 2.0 * np.pi / duration_s, np.zeros((1, 1)), np.zeros((1, 1)), np.zeros(1)
    )


def test_friction_at_rest_is_its_whole_jump():
    """A joint at rest may be held by its Coulomb friction in either direction, which no halving
    of time can change; with a width, friction at rest is zero.
    """
    model, theta = one_joint({"joint_1.fc": 2.0, "joint_1.fo": 0.5})
    found = torque_bounds(model, theta, still(1.0), resolution_s=0.01)
    assert found.bound == pytest.approx([2.5], rel=1e-9)
    assert found.sampled == pytest.approx([0.5])
    assert found.n_intervals <= 300
    model, theta = one_joint({"joint_1.fc": 2.0, "joint_1.fo": 0.5}, width=0.1)
    found = torque_bounds(model, theta, still(1.0), resolution_s=0.01)
    assert found.bound == pytest.approx([0.5], rel=1e-6)


def test_an_acceleration_that_jumps_is_bounded():
    """Without a bound on the jerk the bound on the acceleration is used."""

    class Jumping(FourierTrajectory):
        def extremes(self) -> Extremes:
            return replace(super().extremes(), jerk=np.array([np.inf]))

    model, theta = one_joint({"joint_1.Ia": 3.0})
    plan = FourierTrajectory(
        ("joint_1",), 1.0, np.array([[0.4]]), np.array([[0.3]]), np.array([0.0])
    )
    jumping = Jumping(plan.joints, plan.omega, plan.a, plan.b, plan.q0)
    most = 3.0 * plan.extremes().acceleration
    found = torque_bounds(model, theta, jumping)
    assert (found.bound >= most).all()
    assert (found.bound <= 3.0 * most).all()


def test_wrong_arguments_are_named():
    """A floating base, other joints, a speed that jumps and a resolution of zero are refused."""
    rng = np.random.default_rng(6)
    robot = random_robot(rng, 2, floating_base=True)
    with pytest.raises(ModelError, match="floating base"):
        torque_bounds(Model(robot), Model(robot).prior_theta(), still(1.0))
    model, theta = one_joint({})
    other = replace(still(1.0), joints=("elbow",))
    with pytest.raises(SignalError, match=r"elbow.*joint_1.*lock"):
        torque_bounds(model, theta, other)
    with pytest.raises(SignalError, match="resolution_s is 0"):
        torque_bounds(model, theta, still(1.0), resolution_s=0.0)

    class Jumping(FourierTrajectory):
        def extremes(self) -> Extremes:
            return replace(super().extremes(), acceleration=np.array([np.inf]))

    plan = still(1.0)
    with pytest.raises(SignalError, match="acceleration of joint 'joint_1' is not bounded"):
        torque_bounds(model, theta, Jumping(plan.joints, plan.omega, plan.a, plan.b, plan.q0))
