"""The virtual robot with springs, friction over a travel and friction that depends on the load."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from small_arm import URDF, true_theta

from steelyard.excitation.motions.fourier import multisine
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.model.terms import default_terms, joint_terms
from steelyard.robot.inertia import from_com
from steelyard.robot.parts import Joint, Link
from steelyard.robot.robot import Robot
from steelyard.robot.rotations import frozen_array
from steelyard.signals.motion import Motion
from steelyard.signals.term_speeds import with_history
from steelyard.simulation.simulate import Controller, followed

ARM = Robot.from_urdf_text(URDF)


def test_a_mass_on_a_spring_swings_as_in_a_textbook():
    """x = A cos(t sqrt(k / m)) on a rail, without any drive torque."""
    body = frozen_array(from_com(2.0, np.zeros(3), np.eye(3)), (10,))
    rail = Joint("rail", "prismatic", "ground", "block", axis=frozen_array([1, 0, 0], (3,)))
    robot = Robot("slider", (Link("ground"), Link("block", body)), (rail,))
    model = Model(robot, joint_terms(["rail"], ["spring"]))
    theta = model.theta({"rail.ks": 18.0})

    class Start:
        """A reference that starts 0.1 m from where the spring has no force."""

        joints = ("rail",)

        def evaluate(self, time: np.ndarray) -> Motion:
            still = np.zeros((len(time), 1))
            return Motion(time, still + 0.1, still, still)

    motion, _ = followed(
        model, theta, Start(), duration_s=3.0, rate_hz=100.0, controller=Controller("free")
    )
    expected = 0.1 * np.cos(3.0 * motion.time)
    np.testing.assert_allclose(motion.q[:, 0], expected, atol=2e-6)


@pytest.mark.parametrize("law", ["travel", "load", "spring"])
def test_the_torque_of_the_drives_is_that_of_the_model_along_the_true_motion(law):
    """What the drives of a controlled robot do is the model's torque along its own motion."""
    kinds = {"travel": (), "load": ("load_coulomb",), "spring": ("spring", "sine", "cosine")}[law]
    terms = [*default_terms(ARM), *joint_terms(ARM.joint_names, kinds)]
    if law == "travel":
        terms = [replace(one, travel=0.05) if one.kind == "coulomb" else one for one in terms]
    model = Model(ARM, tuple(terms))
    theta = true_theta(model)
    if law == "load":
        # the simulated gears carry the true links; a model's load is what its terms state
        bodies = zip(model.mechanism.bodies, model.first_column_of_body, strict=True)
        load = tuple((b.name, tuple(theta[k : k + 10].tolist())) for b, k in bodies)
        terms = [replace(one, load=load) if one.load else one for one in model.terms]
        model = Model(ARM, tuple(terms))
    sizes = {"fl": 0.2, "ks": 1.5, "bs": 1.0, "bc": -0.7}
    for k, column in enumerate(model.columns):
        theta[k] = sizes.get(column.symbol, theta[k])
    motion, tau = followed(
        model,
        theta,
        multisine(ARM, period_s=4.0, seed=3),
        duration_s=4.0,
        rate_hz=1000.0,
        controller=Controller(rate_hz=4000.0),
        step_s=2.5e-4,
    )
    friction = with_history(model, motion).friction
    expected = torque(model, theta, motion.q, motion.v, motion.a, friction)
    moving = slice(1500, -2)  # the state starts at zero, as of a joint that was never moved
    sure = np.abs(motion.v[moving]) > 0.05
    error = (tau - expected)[moving][sure]
    assert np.sqrt(np.mean(error**2)) < 0.01 * np.sqrt(np.mean(expected[moving] ** 2))
    without = np.where([column.symbol in (*sizes, "fc") for column in model.columns], 0.0, theta)
    plain = torque(model, without, motion.q, motion.v, motion.a, friction)
    assert np.sqrt(np.mean((tau - plain)[moving][sure] ** 2)) > 10.0 * np.sqrt(np.mean(error**2))
