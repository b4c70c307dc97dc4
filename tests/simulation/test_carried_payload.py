"""A payload that the simulated robot carries, against Pinocchio and the payload's own torque."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard.errors import SimulationError, SteelyardError
from steelyard.excitation.motions.fourier import multisine
from steelyard.knowledge.payload import Payload
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.robot.inertia import from_com, transform
from steelyard.robot.principal_body import equivalent_box, principal_body
from steelyard.simulation.builtin_arm import arm_urdf, builtin_arm, builtin_truth
from steelyard.simulation.carried_payload import (
    box_inertia,
    payload_at,
    theta_with_payload,
    with_wrench,
)
from steelyard.simulation.simulate import Controller, Sensors, followed, simulate
from steelyard.simulation.wrench_sensor import WrenchSensor
from steelyard.testing.random_robots import random_body


def test_the_torque_is_that_of_the_arm_with_the_body_added():
    """Pinocchio with the body appended to the tool's frame gives the same torques."""
    pinocchio = pytest.importorskip("pinocchio")
    robot = builtin_arm()
    model = Model(robot, terms=())
    rng = np.random.default_rng(2)
    phi = random_body(rng)
    theta = theta_with_payload(model, model.prior_theta(), Payload("tool", phi))
    pin = pinocchio.buildModelFromXML(arm_urdf())
    body = pinocchio.Inertia.FromDynamicParameters(phi)
    frame = pin.frames[pin.getFrameId("tool")]
    pin.appendBodyToJoint(frame.parentJoint, body, frame.placement)
    data = pin.createData()
    for _ in range(10):
        q, v, a = rng.normal(size=(3, 7))
        ours = torque(model, theta, q[None], v[None], a[None])[0]
        assert ours == pytest.approx(pinocchio.rnea(pin, data, q, v, a), rel=1e-9, abs=1e-9)


def test_a_link_that_does_not_move_or_is_not_there_is_refused():
    """The message names the link and those that move."""
    model = Model(builtin_arm())
    payload = Payload.of(model.robot.root, 1.0, (0, 0, 0), np.zeros((3, 3)))
    with pytest.raises(SimulationError, match="does not move; the moving links are"):
        theta_with_payload(model, builtin_truth(model), payload)
    with pytest.raises(SteelyardError, match="hand9"):
        theta_with_payload(
            model, builtin_truth(model), Payload.of("hand9", 1.0, (0, 0, 0), np.zeros((3, 3)))
        )


def test_the_wrench_is_that_of_the_body_in_pinocchio():
    """Without noise, a sensor at the tool shows the body's own Newton-Euler wrench."""
    pinocchio = pytest.importorskip("pinocchio")
    model = Model(builtin_arm())
    phi = random_body(np.random.default_rng(4))
    trajectory = multisine(model.robot, period_s=10.0, seed=3)
    how = {"duration_s": 0.2, "rate_hz": 100.0, "controller": Controller("ideal")}
    motion, _ = followed(model, builtin_truth(model), trajectory, **how)
    log = simulate(model, builtin_truth(model), trajectory, **how)
    exact = WrenchSensor(0.0, 0.0)
    got = with_wrench(log, model, motion, Payload("tool", phi), "tool", exact)
    pin = pinocchio.buildModelFromXML(arm_urdf())
    data, frame = pin.createData(), pin.getFrameId("tool")
    body = pinocchio.Inertia.FromDynamicParameters(phi)
    for k in range(len(motion)):
        pinocchio.forwardKinematics(pin, data, motion.q[k], motion.v[k], motion.a[k])
        pinocchio.updateFramePlacements(pin, data)
        local = pinocchio.ReferenceFrame.LOCAL
        v = pinocchio.getFrameVelocity(pin, data, frame, local)
        a = pinocchio.getFrameAcceleration(pin, data, frame, local)
        g = data.oMf[frame].rotation.T @ pin.gravity.linear
        force = body * (a - pinocchio.Motion(g, np.zeros(3))) + v.cross(body * v)
        assert got.frame_signal("tool", "force")[k] == pytest.approx(force.linear, abs=1e-9)
        assert got.frame_signal("tool", "torque")[k] == pytest.approx(force.angular, abs=1e-9)


def test_a_sensor_on_another_link_of_the_same_body():
    """The payload is stated in the sensor's frame; behind another joint it is refused."""
    model = Model(builtin_arm())
    payload = Payload("tool", random_body(np.random.default_rng(4)))
    carrier = next(b for b in model.mechanism.bodies if any(n == "tool" for n, _ in b.links))
    poses = dict(carrier.links)
    for name, T_body_link in poses.items():
        moved = payload_at(model, payload, name)
        back = transform(moved, np.linalg.inv(poses["tool"]) @ T_body_link)
        assert back == pytest.approx(payload.inertial)
    first = model.mechanism.bodies[0].links[0][0]
    with pytest.raises(SimulationError, match="joint that moves between them"):
        payload_at(model, payload, first)


@pytest.mark.parametrize("kind", ["ideal", "computed_torque"])
def test_the_true_motion_is_what_is_logged_without_noise(kind):
    """Positions and torques of a log without noise; accelerations are derivatives of both."""
    model = Model(builtin_arm())
    theta = builtin_truth(model)
    trajectory = multisine(model.robot, period_s=10.0, seed=1)
    how = {"duration_s": 1.0, "rate_hz": 500.0, "controller": Controller(kind)}
    motion, tau = followed(model, theta, trajectory, **how)
    log = simulate(model, theta, trajectory, sensors=Sensors(velocity=True), **how)
    for k, joint in enumerate(model.channels):
        assert motion.q[:, k].tolist() == log.signal(joint, "position").tolist()
        assert motion.v[:, k].tolist() == log.signal(joint, "velocity").tolist()
        assert tau[:, k].tolist() == log.signal(joint, "torque").tolist()
    dt = 1.0 / 500.0
    second = (motion.q[2:] - 2.0 * motion.q[1:-1] + motion.q[:-2]) / dt**2
    assert np.abs(second - motion.a[1:-1]).max() < 0.02 * np.abs(motion.a).max()


def test_a_payload_of_a_mass_alone_is_a_cube_like_water():
    """1.2 kg are 10.6 cm wide; edges that are stated give the inertia of textbooks; the box of the
    body has them again.
    """
    edge = 0.0012 ** (1.0 / 3.0)
    np.testing.assert_allclose(box_inertia(1.2), 1.2 * edge**2 / 6.0 * np.eye(3))
    edges = np.array([0.1, 0.2, 0.05])
    body = principal_body(from_com(2.0, np.zeros(3), box_inertia(2.0, edges)))
    found = equivalent_box(body)
    np.testing.assert_allclose(np.sort(2.0 * found.half_sizes), np.sort(edges))
    assert found.density == pytest.approx(2000.0)
    assert equivalent_box(
        principal_body(from_com(3.0, np.zeros(3), box_inertia(3.0)))
    ).density == pytest.approx(1000.0)
    for wrong in ([0.1, 0.1], [0.1, 0.0, 0.1], [0.1, -0.1, 0.1], [np.inf, 1.0, 1.0]):
        with pytest.raises(SimulationError, match="three lengths above 0"):
            box_inertia(1.0, wrong)
