"""The virtual robot against Pinocchio, SciPy's integrators, textbook motions and itself."""

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

from steelyard.errors import ModelError, SimulationError
from steelyard.excitation.motions.fourier import FourierTrajectory, multisine
from steelyard.model import kernels
from steelyard.model.model import Model
from steelyard.model.random_states import random_states
from steelyard.model.terms import coupled_terms, default_terms
from steelyard.robot.inertia import from_com
from steelyard.robot.parts import Joint, Link
from steelyard.robot.robot import Robot
from steelyard.robot.rotations import frozen_array
from steelyard.simulation.builtin_arm import builtin_arm
from steelyard.simulation.simulate import Controller, Sensors, forward_dynamics, simulate
from steelyard.testing.random_robots import random_robot

EXACT = Sensors(velocity=True)


def signals(log, quantity: str, joints) -> np.ndarray:
    return np.stack([log.signal(joint, quantity) for joint in joints], axis=1)


def true_theta(model: Model, rng: np.random.Generator, scale: float = 1.0, **fixed) -> np.ndarray:
    """The file's inertials with random drive inertia, friction and offsets."""
    sizes = {"Ia": 0.5, "fv": 1.0, "fc": 2.0, "fo": 0.5} | fixed
    theta = model.prior_theta()
    for i, column in enumerate(model.columns):
        if column.kind != "rigid_body":
            theta[i] = scale * sizes[column.symbol] * rng.uniform(0.5, 1.5)
    return theta


def values_of(model: Model, theta: np.ndarray, symbol: str) -> np.ndarray:
    """One number per joint, from the columns with this symbol."""
    return np.array([theta[model.column_names.index(f"{j}.{symbol}")] for j in model.channels])


def slider(mass: float = 2.0, n: int = 1) -> Robot:
    """Masses on parallel horizontal rails, each on its own."""
    body = frozen_array(from_com(mass, np.zeros(3), np.eye(3)), (10,))
    links = (Link("ground"), *(Link(f"block_{i}", body) for i in range(n)))
    joints = tuple(
        Joint(f"rail_{i}", "prismatic", "ground", f"block_{i}", axis=frozen_array([1, 0, 0], (3,)))
        for i in range(n)
    )
    return Robot("slider", links, joints)


def thrown(robot: Robot, speeds) -> FourierTrajectory:
    """A motion whose only use is its start: position 0 and these speeds."""
    speeds = np.asarray(speeds, dtype=float)[:, None]
    return FourierTrajectory(
        robot.joint_names, 1.0, speeds, np.zeros_like(speeds), np.zeros(len(speeds))
    )


class PinocchioRobot:
    """Accelerations by Pinocchio's articulated-body algorithm, in our order of joints."""

    def __init__(self, robot: Robot, armature=None):
        self.robot, self.model = robot, pinocchio_model(robot)
        self.data = self.model.createData()
        self.index = pinocchio_velocity_index(robot, self.model)
        if armature is not None:
            full = np.zeros(self.model.nv)
            full[self.index] = armature
            self.model.armature = full

    def _state(self, q, v):
        full = np.zeros(self.model.nv)
        full[self.index] = v
        return pinocchio_q(self.robot, self.model, q[None])[0], full

    def acceleration(self, q, v, tau):
        import pinocchio as pin

        full_q, full_v = self._state(q, v)
        full_tau = np.zeros(self.model.nv)
        full_tau[self.index] = tau
        return pin.aba(self.model, self.data, full_q, full_v, full_tau)[self.index]

    def energy(self, q, v):
        import pinocchio as pin

        full_q, full_v = self._state(q, v)
        kinetic = pin.computeKineticEnergy(self.model, self.data, full_q, full_v)
        return kinetic, pin.computePotentialEnergy(self.model, self.data, full_q)


def test_forward_dynamics_agree_with_articulated_bodies():
    """Accelerations equal Pinocchio's at random states of random trees with drive inertia."""
    pytest.importorskip("pinocchio")
    rng = np.random.default_rng(0)
    for _ in range(40):
        robot = random_robot(rng, int(rng.integers(1, 9)))
        model = Model(robot)
        theta = true_theta(model, rng, fv=0.0, fc=0.0, fo=0.0)
        q, v, tau = random_states(rng, robot, 5)
        oracle = PinocchioRobot(robot, values_of(model, theta, "Ia"))
        expected = [oracle.acceleration(*state) for state in zip(q, v, tau, strict=True)]
        found = forward_dynamics(model, theta, q, v, tau)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-8)


def test_forward_dynamics_invert_the_torque():
    """Forward dynamics inverts inverse dynamics, with friction and offsets of all terms."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        robot = random_robot(rng, int(rng.integers(2, 7)), mimic=0.2)
        direction = {name: float(rng.normal()) for name in robot.joint_names}
        kinds = ("drive_inertia", "viscous", "coulomb", "offset")
        coupling = coupled_terms("coupling", direction, kinds)
        model = Model(robot, (*default_terms(robot), *coupling))
        theta = true_theta(model, rng)
        q, v, a = random_states(rng, robot, 5)
        tau = kernels.torque(model, theta, q, v, a)
        np.testing.assert_allclose(forward_dynamics(model, theta, q, v, tau), a, atol=1e-8)


def test_ideal_robot_carries_the_torque_of_pinocchio():
    """With the ideal controller the log is the trajectory and its inverse dynamics."""
    pytest.importorskip("pinocchio")
    rng = np.random.default_rng(2)
    for case in range(10):
        robot = random_robot(rng, int(rng.integers(1, 8)), mimic=0.2)
        model = Model(robot)
        theta = true_theta(model, rng)
        trajectory = multisine(robot, seed=case)
        log = simulate(
            model,
            theta,
            trajectory,
            duration_s=2.0,
            rate_hz=20.0,
            controller=Controller("ideal"),
            sensors=EXACT,
        )
        motion = trajectory.evaluate(log.time)
        expected = pinocchio_torque(
            robot, motion.q, motion.v, motion.a, values_of(model, theta, "Ia")
        )
        expected += values_of(model, theta, "fv") * motion.v
        expected += values_of(model, theta, "fc") * np.sign(motion.v)
        expected += values_of(model, theta, "fo")
        tau = signals(log, "torque", robot.joint_names)
        np.testing.assert_allclose(tau, expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(signals(log, "position", robot.joint_names), motion.q)
        np.testing.assert_array_equal(signals(log, "velocity", robot.joint_names), motion.v)


def test_falling_robot_keeps_its_energy():
    """Without friction and drives, Pinocchio finds the same energy all along the fall."""
    pytest.importorskip("pinocchio")
    rng = np.random.default_rng(3)
    for _ in range(6):
        robot = random_robot(rng, int(rng.integers(1, 6)), prismatic=0.0)
        model = Model(robot)
        theta = true_theta(model, rng, fv=0.0, fc=0.0, fo=0.0)
        start = thrown(robot, rng.normal(scale=2.0, size=model.nv))
        log = simulate(
            model,
            theta,
            start,
            duration_s=1.0,
            rate_hz=100.0,
            controller=Controller("free"),
            sensors=EXACT,
            step_s=1e-4,
        )
        oracle, Ia = PinocchioRobot(robot), values_of(model, theta, "Ia")
        q, v = (signals(log, name, robot.joint_names) for name in ("position", "velocity"))
        parts = np.array([oracle.energy(*state) for state in zip(q, v, strict=True)])
        kinetic = parts[:, 0] + 0.5 * v**2 @ Ia
        total = kinetic + parts[:, 1]
        assert np.ptp(kinetic) > 1e-2
        assert np.ptp(total) < 1e-5 * kinetic.max()
        assert np.all(signals(log, "torque", robot.joint_names) == 0.0)


def integrated(robot, model, theta, start, time, slow):
    """The same robot by SciPy's eighth-order integrator around Pinocchio's dynamics."""
    from scipy.integrate import solve_ivp

    fv, fc, fo = (values_of(model, theta, symbol) for symbol in ("fv", "fc", "fo"))
    oracle = PinocchioRobot(robot, values_of(model, theta, "Ia"))
    n = model.nv

    def change(_, state):
        q, v = state[:n], state[n:]
        friction = fv * v + fc * np.tanh(v / slow) + fo
        return np.concatenate([v, oracle.acceleration(q, v, -friction)])

    solution = solve_ivp(
        change, (0.0, time[-1]), start, method="DOP853", t_eval=time, rtol=1e-11, atol=1e-11
    )
    assert solution.success
    return solution.y[:n].T, solution.y[n:].T


@pytest.mark.parametrize(("coulomb", "order", "tolerance"), [(0.0, 2, 3e-6), (1.0, 1, 2e-3)])
def test_motion_agrees_with_another_integrator(coulomb, order, tolerance):
    """Random robots move as SciPy says; halving the step shows the order of the method.

    Where Coulomb friction is being rounded off the method is of first order only.
    """
    pytest.importorskip("pinocchio")
    rng = np.random.default_rng(4)
    ratios = []
    for _ in range(6):
        robot = random_robot(rng, int(rng.integers(1, 6)))
        model = Model(robot)
        theta = true_theta(model, rng, fc=coulomb)
        trajectory = thrown(robot, rng.normal(size=model.nv))
        start = trajectory.evaluate([0.0])
        errors = []
        for step_s in (1e-3, 5e-4):
            log = simulate(
                model,
                theta,
                trajectory,
                duration_s=0.3,
                rate_hz=50.0,
                step_s=step_s,
                controller=Controller("free"),
                sensors=EXACT,
                slow=0.1,
            )
            q, v = integrated(
                robot, model, theta, np.concatenate([start.q[0], start.v[0]]), log.time, slow=0.1
            )
            found = [signals(log, name, robot.joint_names) for name in ("position", "velocity")]
            errors.append(
                max(
                    np.abs(found[0] - q).max() / (1 + np.abs(q).max()),
                    np.abs(found[1] - v).max() / (1 + np.abs(v).max()),
                )
            )
        assert errors[1] < tolerance
        ratios.append(errors[0] / errors[1])
    assert 2**order * 0.85 < np.median(ratios) < 2**order * 1.2


def test_block_slides_to_its_textbook_stop():
    """A sliding block stops after m v²/(2 fc) at time m v/fc, and stays there."""
    mass, fc, speed = 2.0, 3.0, 1.2
    robot = slider(mass)
    model = Model(robot)
    theta = model.theta({"rail_0.fc": fc})
    log = simulate(
        model,
        theta,
        thrown(robot, [speed]),
        duration_s=2.0,
        controller=Controller("free"),
        sensors=EXACT,
    )
    stop = mass * speed / fc
    q, v = log.signal("rail_0", "position"), log.signal("rail_0", "velocity")
    sliding = log.time < stop - 0.01
    np.testing.assert_allclose(v[sliding], speed - fc / mass * log.time[sliding], atol=1e-9)
    assert q[-1] == pytest.approx(mass * speed**2 / (2 * fc), abs=2e-3)
    assert np.abs(v[log.time > stop + 0.05]).max() < 1e-6
    assert v.min() > -1e-12


def test_viscous_friction_decays_as_in_the_textbook():
    """Speed falls as exp(-fv t / m), with drive inertia counted as mass."""
    robot = slider(2.0)
    model = Model(robot)
    theta = model.theta({"rail_0.fv": 5.0, "rail_0.Ia": 0.5})
    log = simulate(
        model,
        theta,
        thrown(robot, [1.0]),
        duration_s=1.0,
        controller=Controller("free"),
        sensors=EXACT,
    )
    np.testing.assert_allclose(log.signal("rail_0", "velocity"), np.exp(-2.0 * log.time), rtol=1e-6)


@pytest.mark.parametrize("fc", [1.0, 1e3, 1e6])
def test_stiff_friction_holds_still_without_chatter(fc):
    """A stuck joint does not chatter, however large friction is for its mass."""
    robot = replace(slider(0.01), gravity=frozen_array([9.81, 0, 0], (3,)))
    model = Model(robot)
    theta = model.theta({"rail_0.fc": fc})
    log = simulate(
        model,
        theta,
        thrown(robot, [0.5]),
        duration_s=0.5,
        controller=Controller("free"),
        sensors=EXACT,
    )
    v = log.signal("rail_0", "velocity")[100:]
    # friction balances gravity where fc tanh(v / slow) = m g
    assert v == pytest.approx(1e-3 * np.arctanh(0.01 * 9.81 / fc), rel=1e-6, abs=1e-12)


def test_friction_along_a_coupling():
    """Friction along a direction acts on the speed along it, and on no other."""
    robot = slider(2.0, n=2)
    coupling = coupled_terms("pair", {"rail_0": 1.0, "rail_1": 1.0}, ("coulomb", "viscous"))
    model = Model(robot, coupling)
    theta = model.theta({"pair.fc": 1.0, "pair.fv": 0.5})
    for speeds, slows in (([0.7, -0.7], False), ([0.7, 0.7], True)):
        log = simulate(
            model,
            theta,
            thrown(robot, speeds),
            duration_s=0.5,
            controller=Controller("free"),
            sensors=EXACT,
        )
        v = signals(log, "velocity", robot.joint_names)
        if slows:
            # along d = (1, 1): m s' = -2 (fc + fv s)
            s = (1.4 + 2.0) * np.exp(-0.5 * log.time) - 2.0
            np.testing.assert_allclose(v.sum(axis=1), s, atol=1e-6)
        else:
            np.testing.assert_allclose(v, np.broadcast_to(speeds, v.shape), atol=1e-9)


@pytest.mark.parametrize("kind", ["computed_torque", "pd"])
def test_recorded_torque_is_the_torque_of_the_motion(kind):
    """Inverse dynamics of the recorded motion give the recorded torque, for all terms."""
    rng = np.random.default_rng(5)
    for case in range(5):
        robot = random_robot(rng, int(rng.integers(2, 6)), mimic=0.2)
        direction = {name: float(rng.uniform(0.5, 1.0)) for name in robot.joint_names}
        model = Model(
            robot,
            (*default_terms(robot), *coupled_terms("pair", direction, ("coulomb", "viscous"))),
        )
        theta = true_theta(model, rng)
        log = simulate(
            model,
            theta,
            multisine(robot, seed=case),
            duration_s=5.0,
            sensors=EXACT,
            controller=Controller(kind),
        )
        q, v, tau = (
            signals(log, name, robot.joint_names) for name in ("position", "velocity", "torque")
        )
        a = np.gradient(v, log.time, axis=0)
        found = kernels.torque(model, theta, q, v, a)
        along = np.column_stack([v, v @ [direction[name] for name in robot.joint_names]])
        fast = np.abs(along).min(axis=1) > 0.05
        # the start, where the controller steps in, and reversals are no smooth motion
        fast &= np.convolve(~fast, np.ones(101), mode="same") == 0
        fast[:100] = fast[-2:] = False
        assert fast.sum() > 300
        error = np.abs(found - tau)[fast].max(axis=0)
        assert np.all(error < 1e-4 * np.abs(tau).max(axis=0))


def test_computed_torque_follows_and_friction_makes_it_lag():
    """With a perfect model only the held torque causes errors; friction adds about fc/(M Kp)."""
    rng = np.random.default_rng(6)
    robot = random_robot(rng, 4, prismatic=0.0)
    model = Model(robot)
    trajectory = multisine(robot, seed=1)
    errors = []
    for friction in (0.0, 1.0):
        theta = true_theta(model, np.random.default_rng(7), fv=friction, fc=friction, fo=0.0)
        log = simulate(model, theta, trajectory, duration_s=5.0)
        q = signals(log, "position", robot.joint_names)
        errors.append(np.abs(q - trajectory.evaluate(log.time).q).max())
    assert errors[0] < 2e-4
    assert 5e-4 < errors[1] < 0.1


def test_stiffness_per_joint_shrinks_the_error_of_that_joint():
    """Gains given by joint name reach the joint that they name."""
    robot = slider(2.0, n=2)
    model = Model(robot)
    theta = model.theta({"rail_0.fc": 1.0, "rail_1.fc": 1.0})
    trajectory = multisine(robot)
    for kind in ("computed_torque", "pd"):
        stiff = Controller(kind, stiffness={"rail_1": 6400.0, "rail_0": 100.0})
        log = simulate(model, theta, trajectory, duration_s=5.0, controller=stiff)
        error = signals(log, "position", robot.joint_names) - trajectory.evaluate(log.time).q
        soft, hard = np.abs(error).max(axis=0)
        assert soft > 5 * hard


@pytest.mark.parametrize("kind", ["computed_torque", "pd"])
def test_a_small_joint_with_friction_keeps_up(kind):
    """The built-in arm with the friction of a larger one: its light hand follows within a tenth of
    the leash; where friction is small, the usual stiffness stays.
    """
    robot = builtin_arm()
    model = Model(robot)
    plan = multisine(robot, seed=0)
    how = {"duration_s": 10.0, "rate_hz": 100.0, "sensors": EXACT}
    theta = model.prior_theta()
    values = {"viscous": 0.5, "coulomb": 1.0}
    rubbing = theta + [values.get(column.kind, 0.0) for column in model.columns]
    log = simulate(model, rubbing, plan, controller=Controller(kind), **how)
    away = signals(log, "position", robot.joint_names) - plan.evaluate(log.time).q
    assert np.abs(away).max() < 0.25
    light = theta + [0.01 * values.get(column.kind, 0.0) for column in model.columns]
    usual, stated = (
        simulate(model, light, plan, controller=one, **how)
        for one in (Controller(kind), Controller(kind, stiffness=400.0))
    )
    for joint in robot.joint_names:
        assert usual.signal(joint, "torque").tolist() == stated.signal(joint, "torque").tolist()


def test_controller_may_believe_in_the_file():
    """A controller with the wrong parameters follows worse, on a log that stays true."""
    robot = random_robot(np.random.default_rng(8), 3, prismatic=0.0)
    model = Model(robot)
    theta = true_theta(model, np.random.default_rng(9), fc=0.0, fv=0.0, fo=0.0)
    trajectory = multisine(robot)
    errors = []
    for believed in (None, model.prior_theta()):
        log = simulate(
            model, theta, trajectory, duration_s=4.0, controller=Controller(theta=believed)
        )
        q = signals(log, "position", robot.joint_names)
        errors.append(np.abs(q - trajectory.evaluate(log.time).q).max())
    assert errors[1] > 5 * errors[0]


def test_slow_log_is_the_fast_one_with_samples_left_out():
    """The rate of the log does not change the motion, only which samples are kept."""
    robot = random_robot(np.random.default_rng(10), 3)
    model = Model(robot)
    theta = true_theta(model, np.random.default_rng(11))
    fast = simulate(model, theta, multisine(robot), duration_s=1.0, rate_hz=1000.0)
    slow = simulate(model, theta, multisine(robot), duration_s=1.0, rate_hz=100.0)
    assert len(fast) == 1001
    assert len(slow) == 101
    for key, values in slow.signals.items():
        np.testing.assert_allclose(values, fast.signals[key][::10], rtol=1e-9, atol=1e-9)


def test_trajectory_is_matched_by_name():
    """The order of the trajectory's joints does not matter."""
    robot = random_robot(np.random.default_rng(12), 3)
    model = Model(robot)
    plan = multisine(robot)
    back = [2, 0, 1]
    shuffled = FourierTrajectory(
        tuple(plan.joints[i] for i in back), plan.omega, plan.a[back], plan.b[back], plan.q0[back]
    )
    theta = model.prior_theta()
    logs = [simulate(model, theta, one, duration_s=0.2) for one in (plan, shuffled)]
    for key, values in logs[0].signals.items():
        np.testing.assert_allclose(values, logs[1].signals[key], rtol=1e-9, atol=1e-9)


def noisy(sensors: Sensors, seed: int = 0, duration_s: float = 200.0):
    robot = slider(2.0, n=2)
    model = Model(robot)
    return simulate(
        model,
        model.prior_theta(),
        thrown(robot, [0.0, 0.0]),
        duration_s=duration_s,
        rate_hz=100.0,
        controller=Controller("ideal"),
        sensors=sensors,
        seed=seed,
    )


def test_noise_has_the_size_asked_for():
    """White noise of the standard deviations asked for, per joint, independent."""
    log = noisy(
        Sensors(
            torque_noise={"rail_1": 2.0, "rail_0": 0.5},
            position_noise=0.1,
            velocity=True,
            velocity_noise=0.3,
        )
    )
    tau = signals(log, "torque", ("rail_0", "rail_1"))
    np.testing.assert_allclose(tau.std(axis=0), [0.5, 2.0], rtol=0.03)
    assert np.std(log.signal("rail_0", "position")) == pytest.approx(0.1, rel=0.03)
    assert np.std(log.signal("rail_0", "velocity")) == pytest.approx(0.3, rel=0.03)
    columns = np.column_stack([tau, signals(log, "position", ("rail_0", "rail_1"))])
    off_diagonal = np.corrcoef(columns.T) - np.eye(4)
    assert np.abs(off_diagonal).max() < 0.03
    assert np.abs(np.mean(tau[1:] * tau[:-1], axis=0) / tau.var(axis=0)).max() < 0.03


def test_coloured_noise_keeps_its_size_and_remembers():
    """Filtered noise has the same size from the first sample on, and correlation exp(-w t)."""
    tau = noisy(Sensors(torque_noise=2.0, torque_noise_bandwidth_hz=3.0)).signal("rail_0", "torque")
    assert tau.std() == pytest.approx(2.0, rel=0.05)
    for lag in (1, 3, 10):
        correlation = np.mean(tau[lag:] * tau[:-lag]) / tau.var()
        assert correlation == pytest.approx(np.exp(-2 * np.pi * 3.0 * lag / 100.0), abs=0.05)
    first = [
        noisy(Sensors(torque_noise=2.0, torque_noise_bandwidth_hz=3.0), seed, 0.1).signal(
            "rail_0", "torque"
        )[0]
        for seed in range(300)
    ]
    assert np.std(first) == pytest.approx(2.0, rel=0.15)


def test_encoder_rounds_to_its_step():
    """Positions are multiples of the step, at most half a step from the truth."""
    robot = random_robot(np.random.default_rng(13), 2)
    model = Model(robot)
    arguments = {"duration_s": 2.0, "controller": Controller("ideal")}
    plan = multisine(robot)
    rounded = simulate(
        model, model.prior_theta(), plan, sensors=Sensors(encoder_step=0.01), **arguments
    )
    q = signals(rounded, "position", robot.joint_names)
    assert np.abs(q / 0.01 - np.round(q / 0.01)).max() < 1e-9
    error = np.abs(q - plan.evaluate(rounded.time).q).max()
    assert 0.0045 < error < 0.0050001


def test_seed_decides_the_noise_and_nothing_else():
    """The same seed gives the same log; noise on position leaves that on torque alone."""
    sensors = Sensors(torque_noise=1.0)
    first, again, other = (noisy(sensors, seed, 1.0) for seed in (1, 1, 2))
    more = noisy(Sensors(torque_noise=1.0, position_noise=1.0), 1, 1.0)
    tau = first.signal("rail_0", "torque")
    np.testing.assert_array_equal(tau, again.signal("rail_0", "torque"))
    np.testing.assert_array_equal(tau, more.signal("rail_0", "torque"))
    assert not np.allclose(tau, other.signal("rail_0", "torque"))


def test_units_say_what_slides():
    """The log states N and m for a sliding joint, N m and rad for a turning one."""
    robot = random_robot(np.random.default_rng(0), 6, prismatic=0.5)
    kinds = {robot.joint(name).kind for name in robot.joint_names}
    assert "prismatic" in kinds
    assert len(kinds) > 1
    log = simulate(
        Model(robot),
        Model(robot).prior_theta(),
        multisine(robot),
        duration_s=0.1,
        controller=Controller("ideal"),
    )
    for name in robot.joint_names:
        slides = robot.joint(name).kind == "prismatic"
        assert log.units[name, "position"] == ("m" if slides else "rad")
        assert log.units[name, "torque"] == ("N" if slides else "N*m")


# ---- refusals


def small_case():
    robot = slider(2.0, n=2)
    return Model(robot), Model(robot).prior_theta(), multisine(robot)


def test_floating_base_is_refused():
    """A floating base is refused by name of the robot."""
    robot = random_robot(np.random.default_rng(14), 2, floating_base=True)
    model = Model(robot)
    with pytest.raises(SimulationError, match="'random' has a floating base"):
        simulate(model, model.prior_theta(), multisine(robot), duration_s=1.0)


def test_divergence_names_joint_and_time():
    """A controller that is too stiff for its rate is stopped, with joint and time."""
    model, theta, plan = small_case()
    stiff = Controller("pd", stiffness=1e8)
    with pytest.raises(SimulationError, match=r"'rail_\d' at [0-9.e-]+ s .*lower the stiffness"):
        simulate(model, theta, plan, duration_s=5.0, controller=stiff)


def test_weak_controller_loses_the_reference():
    """A joint whose stiffness is too low is reported when its error exceeds the leash."""
    model, _, plan = small_case()
    theta = model.theta({"rail_0.fc": 5.0})
    soft = Controller("pd", stiffness=1e-3, leash={"rail_0": 0.02, "rail_1": 5.0})
    with pytest.raises(SimulationError, match=r"'rail_0' .* 0.02 m away.*--controller ideal"):
        simulate(model, theta, plan, duration_s=5.0, controller=soft)


def test_unphysical_link_is_named():
    """If the inertia matrix is not positive definite, the link with wrong parameters is named."""
    robot = random_robot(np.random.default_rng(15), 3, chain=True, prismatic=0.0, fixed=0.0)
    model = Model(robot)
    theta = model.theta(
        {f"link_3.{name}": 0.0 for name in ("m", "mx", "my", "mz", "Ixy", "Ixz", "Iyz")}
        | {"link_3.Ixx": -0.1, "link_3.Iyy": -0.1, "link_3.Izz": -0.1}
    )
    with pytest.raises(SimulationError, match=r"not positive definite at joint .*'link_3'"):
        simulate(model, theta, multisine(robot), duration_s=1.0)


def test_massless_link_is_named():
    """A massless last link without a drive is named."""
    robot = random_robot(np.random.default_rng(16), 2, chain=True, prismatic=0.0, fixed=0.0)
    links = tuple(Link("link_2") if link.name == "link_2" else link for link in robot.links)
    robot = replace(robot, links=links)
    model = Model(robot)
    with pytest.raises(SimulationError, match=r"joint 'joint_2'.*'link_2' is massless"):
        simulate(model, model.prior_theta(), multisine(robot), duration_s=1.0)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({"duration_s": 0.0}, "duration_s is 0"),
        ({"duration_s": 1e-9}, "less than two samples"),
        ({"duration_s": 1e9}, "ticks of the controller"),
        ({"rate_hz": -1.0}, "rate_hz is -1"),
        ({"slow": 0.0}, "slow is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"controller": Controller(rate_hz=1500.0)}, "no multiple of the log's 1000 Hz"),
        ({"controller": Controller(stiffness={"rail_0": 1.0})}, "stiffness .* rail_1"),
        ({"controller": Controller(stiffness=-1.0)}, "stiffness of joint 'rail_0' is -1"),
        ({"sensors": Sensors(torque_noise={"rail": 1.0})}, "torque_noise .* rail"),
        ({"sensors": Sensors(encoder_step=np.nan)}, "encoder_step of joint 'rail_0' is nan"),
    ],
)
def test_settings_are_checked(arguments, what):
    """Settings that make no sense are refused by name, with the joint."""
    model, theta, plan = small_case()
    with pytest.raises(SimulationError, match=what):
        simulate(model, theta, plan, **({"duration_s": 0.1} | arguments))


def test_parameters_are_checked():
    """Negative friction, NaN, unknown joints and unknown controllers are refused."""
    model, theta, plan = small_case()
    with pytest.raises(SimulationError, match=r"rail_1.fc is -0.1 N: negative friction"):
        simulate(model, model.theta({"rail_1.fc": -0.1}), plan, duration_s=0.1)
    with pytest.raises(SimulationError, match=r"rail_1.Ia is nan"):
        simulate(model, model.theta({"rail_1.Ia": np.nan}), plan, duration_s=0.1)
    other = replace(plan, joints=("rail_0", "elbow"))
    with pytest.raises(SimulationError, match=r"moves rail_0, elbow, but .* are rail_0, rail_1"):
        simulate(model, theta, other, duration_s=0.1)
    with pytest.raises(SimulationError, match="no controller 'mpc'; there are computed_torque"):
        Controller("mpc")
    with pytest.raises(SimulationError, match="torque_noise_bandwidth_hz is 0"):
        Sensors(torque_noise_bandwidth_hz=0.0)


def test_misuse_says_what_to_pass():
    """A mapping in the place of theta, or a robot in that of a model, says what to pass."""
    robot = random_robot(np.random.default_rng(0), 2)
    model, motion = Model(robot), multisine(robot)
    with pytest.raises(ModelError, match=r"theta is a mapping; model.theta\({"):
        simulate(model, {}, motion, duration_s=1.0)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="theta is a str, not an array of"):
        simulate(model, "true", motion, duration_s=1.0)  # type: ignore[arg-type]
    with pytest.raises(SimulationError, match=r"not a Robot; try Model\(robot\)"):
        simulate(robot, model.prior_theta(), motion, duration_s=1.0)  # type: ignore[arg-type]
