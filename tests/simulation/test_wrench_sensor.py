"""The simulated force/torque sensor."""

import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

from steelyard.errors import SimulationError
from steelyard.excitation.motions.fourier import multisine
from steelyard.knowledge.payload import Payload
from steelyard.model.model import Model
from steelyard.signals.frame_kinematics import frame_motion_from_joints
from steelyard.signals.wrench import wrench_from_log
from steelyard.simulation.builtin_arm import arm_urdf, builtin_arm
from steelyard.simulation.simulate import Controller, reference, simulate
from steelyard.simulation.wrench_sensor import WrenchSensor, add_wrench, measure_wrench
from tests.helpers.frame_motions import exact_wrench, free_motion, random_body


@pytest.fixture(scope="module")
def motion():
    """A motion of 20 s."""
    return free_motion(0)


def body() -> np.ndarray:
    """A body of 2 kg."""
    return random_body(np.random.default_rng(0), 2.0)


def both(wrench) -> np.ndarray:
    """Force and torque side by side."""
    return np.column_stack([wrench.force, wrench.torque])


def test_perfect_sensor_shows_the_wrench_of_pinocchio(motion):
    """Without errors the sensor shows the wrench on the body."""
    shown = measure_wrench(motion, body(), WrenchSensor(force_noise=0.0, torque_noise=0.0))
    np.testing.assert_allclose(both(shown), exact_wrench(motion, body()), atol=1e-10)


def test_errors_of_the_sensor(motion):
    """Bias, rotation, noise and drift have the stated sizes."""
    exact = exact_wrench(motion, body())
    bias, turn = np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3]), np.array([0.1, -0.2, 0.05])
    turned = measure_wrench(
        motion, body(), WrenchSensor(force_noise=0.0, torque_noise=0.0, bias=bias, rotation=turn)
    )
    R = Rotation.from_rotvec(turn)
    np.testing.assert_allclose(R.apply(turned.force - bias[:3]), exact[:, :3], atol=1e-10)
    np.testing.assert_allclose(R.apply(turned.torque - bias[3:]), exact[:, 3:], atol=1e-10)
    noisy = both(measure_wrench(motion, body(), WrenchSensor(0.2, 0.01))) - exact
    np.testing.assert_allclose(noisy[:, :3].std(), 0.2, rtol=0.05)
    np.testing.assert_allclose(noisy[:, 3:].std(), 0.01, rtol=0.05)
    slow = WrenchSensor(0.2, 0.01, noise_bandwidth_hz=1.0)
    smooth = both(measure_wrench(motion, body(), slow)) - exact
    assert np.diff(smooth[:, 0]).std() < 0.4 * np.diff(noisy[:, 0]).std()
    drifting = WrenchSensor(0.0, 0.0, force_drift=0.5)
    ends = [
        (both(measure_wrench(motion, body(), drifting, seed=seed)) - exact)[-1]
        for seed in range(100)
    ]
    np.testing.assert_allclose(np.std(ends, axis=0)[:3], 0.5 * np.sqrt(20.0), rtol=0.3)
    np.testing.assert_allclose(np.array(ends)[:, 3:], 0.0, atol=1e-9)


def test_limits_clip(motion):
    """Axes end at their limits."""
    shown = measure_wrench(motion, body(), WrenchSensor(force_limit=10.0, torque_limit=0.5))
    assert np.abs(shown.force).max() == 10.0
    assert np.abs(shown.torque).max() == 0.5


def test_same_seed_same_noise(motion):
    """The same seed gives the same record, another one another."""
    first, again, other = (measure_wrench(motion, body(), seed=seed).force for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_wrench_balances_the_joint_torques_of_the_payload():
    """By virtual work, the wrench on the flange gives the joint torques that the payload adds."""
    robot = builtin_arm()
    model = Model(robot)
    time = np.arange(50) * 0.1
    joints = reference(model, multisine(robot, seed=1), time)
    phi = body()
    frame = frame_motion_from_joints(robot, joints, "tool")
    wrench = both(measure_wrench(frame, phi, WrenchSensor(0.0, 0.0)))
    added = Payload("tool", phi).torque(model, joints)
    arm = pin.buildModelFromXML(arm_urdf())
    data = arm.createData()
    tool = arm.getFrameId("tool")
    for k in range(0, 50, 5):
        J = pin.computeFrameJacobian(arm, data, joints.q[k], tool, pin.LOCAL)
        np.testing.assert_allclose(J.T @ wrench[k], added[k], atol=1e-8)


def test_log_with_a_sensor():
    """A simulated log gets columns of the sensor, which are read back as the wrench."""
    robot = builtin_arm()
    model = Model(robot)
    trajectory = multisine(robot, seed=1)
    log = simulate(
        model,
        model.prior_theta(),
        trajectory,
        duration_s=1.0,
        rate_hz=100.0,
        controller=Controller("ideal"),
    )
    truth = frame_motion_from_joints(robot, reference(model, trajectory, log.time), "tool")
    loaded = add_wrench(log, truth, body(), seed=3)
    read = wrench_from_log(loaded, "tool")
    np.testing.assert_array_equal(read.force, measure_wrench(truth, body(), seed=3).force)
    with pytest.raises(SimulationError, match="samples of log"):
        add_wrench(log, free_motion(0), body())


def test_impossible_sensors_are_refused():
    """Negative noise, empty ranges and wrong shapes are refused by name."""
    for options, word in (
        ({"force_noise": -1.0}, "force_noise"),
        ({"torque_limit": 0.0}, "torque_limit"),
        ({"bias": (1.0, 2.0)}, "bias"),
        ({"rotation": (np.nan, 0.0, 0.0)}, "rotation"),
        ({"noise_bandwidth_hz": 0.0}, "noise_bandwidth_hz"),
    ):
        with pytest.raises(SimulationError, match=word):
            WrenchSensor(**options)
