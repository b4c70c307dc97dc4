"""One sample of a payload stream against Pinocchio and the batched kernel."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from oracles import (
    pinocchio_model,
    pinocchio_q,
    pinocchio_torque,
    pinocchio_velocity_index,
)
from seeds import every

from steelyard.errors import ModelError
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.model.random_states import random_states
from steelyard.model.terms import coupled_terms, default_terms
from steelyard.payload.stream_sources import FrameWrenches, JointTorques, RobotWrenches
from steelyard.robot.inertia import to_com
from steelyard.robot.robot import Robot
from steelyard.simulation.builtin_arm import builtin_arm, builtin_truth
from steelyard.testing.random_robots import random_body, random_robot


def residual(source, phi, bias, *signals) -> float:
    """Largest residual over samples, each in a factor of its own, of a body and a bias."""
    absorber, worst = source.absorber(), 0.0
    pool = absorber.pool
    S, clock, counts = (pool.views[name] for name in ("block", "clock", "counts"))
    arrays = [np.ascontiguousarray(signal, dtype=float) for signal in signals]
    for s in range(len(arrays[0])):
        S[:], clock[:], counts[:] = 0.0, (-np.inf, np.inf), 0
        given = [array[s : s + 1] for array in arrays]
        taken, failed = absorber.many(np.zeros(1), *given, 0, pool.floats, pool.integers)
        assert (taken, failed, counts[0]) == (1, 0, 1)
        assert np.abs(S[: len(source.channels)]).max() > 0.1
        rest = S @ np.concatenate([phi, bias, [-1.0]])
        worst = max(worst, float(np.abs(rest).max() / (1.0 + np.abs(S[:, -1]).max())))
    return worst


def loaded(robot: Robot, link: str, phi) -> Robot:
    """The robot with a body added to a link."""
    links = tuple(
        replace(one, inertial=phi + (0.0 if one.inertial is None else one.inertial))
        if one.name == link
        else one
        for one in robot.links
    )
    return replace(robot, links=links)


@every("seed", range(25))
def test_torques_of_a_payload_equal_pinocchio(seed):
    """Pinocchio's torques with a payload are those of the arm plus the payload's columns."""
    pytest.importorskip("pinocchio")
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, int(rng.integers(1, 9)), mimic=0.3 if seed % 3 == 0 else 0.0)
    model = Model(robot)
    moving = [name for body in model.mechanism.bodies for name, _ in body.links]
    link, phi = str(rng.choice(moving)), random_body(rng)
    q, v, a = random_states(rng, robot, 6)
    theta = model.prior_theta()
    bias = rng.normal(size=model.nv)
    tau = pinocchio_torque(loaded(robot, link, phi), q, v, a) + bias
    source = JointTorques(model, theta, link, rng.uniform(0.5, 2.0, model.nv))
    assert residual(source, phi, bias, q, v, a, tau) < 1e-10


@every("seed", range(25))
def test_wrench_of_a_payload_equals_pinocchio(seed):
    """The wrench in the frame of any link of a robot is Pinocchio's."""
    pin = pytest.importorskip("pinocchio")
    rng = np.random.default_rng(100 + seed)
    robot = random_robot(rng, int(rng.integers(1, 9)))
    model = Model(robot)
    moving = [name for body in model.mechanism.bodies for name, _ in body.links]
    link, phi = str(rng.choice(moving)), random_body(rng)
    q, v, a = random_states(rng, robot, 6)
    pin_model = pinocchio_model(robot)
    data, index = pin_model.createData(), pinocchio_velocity_index(robot, pin_model)
    frame = pin_model.frames[pin_model.getFrameId(link)]
    mass, com, inertia = to_com(phi)
    body = pin.Inertia(float(mass), com, inertia)
    wrench, motions = np.zeros((6, 6)), np.zeros((6, 9))
    for s, pin_q in enumerate(pinocchio_q(robot, pin_model, q)):
        pin_v, pin_a = np.zeros(pin_model.nv), np.zeros(pin_model.nv)
        pin_v[index], pin_a[index] = v[s], a[s]
        pin.rnea(pin_model, data, pin_q, pin_v, pin_a)
        joint = frame.parentJoint
        speed = frame.placement.actInv(data.v[joint])
        rate = frame.placement.actInv(data.a_gf[joint])
        wrench[s] = (body * rate + body.vxiv(speed)).vector
        proper = rate.linear + np.cross(speed.angular, speed.linear)
        motions[s] = np.concatenate([proper, speed.angular, rate.angular])
    bias = rng.normal(size=6)
    source = RobotWrenches(model, link, force_sigma=0.7, torque_sigma=0.2)
    assert residual(source, phi, bias, q, v, a, wrench + bias) < 1e-10
    assert residual(FrameWrenches(force_sigma=0.7), phi, bias, motions, wrench + bias) < 1e-10


@every("width", (0.0, 0.05))
def test_friction_and_drives_of_the_arm(width):
    """Terms of all kinds, coupled ones and jumps with a width included, are as in the kernel."""
    rng = np.random.default_rng(5)
    robot = builtin_arm()
    names = robot.joint_names
    coupled = coupled_terms("wrist", {names[5]: 1.0, names[6]: -0.5}, ("viscous", "coulomb"))
    model = Model(robot, (*default_terms(robot), *coupled))
    model = model.with_widths({name: width for name in (*names, "wrist")})
    theta = builtin_truth(Model(robot))
    theta = np.concatenate([theta, rng.uniform(0.5, 2.0, len(model.columns) - len(theta))])
    q, v, a = random_states(rng, robot, 40)
    v *= np.geomspace(1e-4, 1.0, 40)[:, None]
    v[0] = 0.0
    tau = torque(model, theta, q, v, a)
    source = JointTorques(model, theta, "tool", np.ones(7))
    assert residual(source, np.zeros(10), np.zeros(7), q, v, a, tau) < 1e-12


def test_dead_band_leaves_slow_joints_out():
    """A joint slower than its dead band has no row; its torque may be anything."""
    model = Model(builtin_arm())
    theta = builtin_truth(model)
    rng = np.random.default_rng(3)
    q, v, a = random_states(rng, model.robot, 5)
    v[:, 2] = 0.01
    tau = torque(model, theta, q, v, a)
    tau[:, 2] += 5.0
    zero = np.zeros(10), np.zeros(7)
    assert residual(JointTorques(model, theta, "tool", np.ones(7)), *zero, q, v, a, tau) > 0.1
    source = JointTorques(model, theta, "tool", np.ones(7), dead_band=0.02)
    assert residual(source, *zero, q, v, a, tau) < 1e-12


def test_wrong_sources_are_refused():
    """Frames, noise, dead bands and robots that cannot be are named."""
    model = Model(builtin_arm())
    theta, sigma = builtin_truth(model), np.ones(7)
    with pytest.raises(ModelError, match=r"no moving link 'tol' \(did you mean 'tool'\?\)"):
        RobotWrenches(model, "tol")
    with pytest.raises(ModelError, match="no moving link 'base'"):
        JointTorques(model, theta, "base", sigma)
    with pytest.raises(ModelError, match=r"torque_sigma has shape \(3,\).*shoulder_yaw"):
        JointTorques(model, theta, "tool", np.ones(3))
    with pytest.raises(ModelError, match="noise of channel 'shoulder_yaw' is 0"):
        JointTorques(model, theta, "tool", np.zeros(7))
    with pytest.raises(ModelError, match=r"dead_band has shape \(2,\)"):
        JointTorques(model, theta, "tool", sigma, dead_band=[0.1, 0.2])
    with pytest.raises(ModelError, match="noise of channel 'tx' is -1"):
        FrameWrenches(torque_sigma=-1.0)
    floating = random_robot(np.random.default_rng(0), 3, floating_base=True)
    with pytest.raises(ModelError, match="floating base"):
        RobotWrenches(Model(floating), floating.links[-1].name)
