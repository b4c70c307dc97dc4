"""Friction that builds up over a travel, along a path."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from small_arm import URDF

from steelyard.model.model import Model
from steelyard.robot.robot import Robot
from steelyard.signals.motion import Motion
from steelyard.signals.term_speeds import built_up, with_history

TIME = np.linspace(0.0, 4.0, 4001)
PATH = np.sin(2.0 * TIME) + 0.3 * np.sin(7.0 * TIME)


def test_the_state_solves_dahls_equation():
    """dF/dt = (sign(v) - F) |v| / x, integrated by SciPy along the same path."""
    from scipy.integrate import solve_ivp

    travel = 0.05

    def speed(t: float) -> float:
        return float(2.0 * np.cos(2.0 * t) + 2.1 * np.cos(7.0 * t))

    def rate(t: float, state: np.ndarray) -> np.ndarray:
        v = speed(t)
        return (np.sign(v) - state) * abs(v) / travel

    truth = solve_ivp(rate, (0.0, 4.0), [1.0], t_eval=TIME, rtol=1e-9, atol=1e-10, max_step=1e-3)
    np.testing.assert_allclose(built_up(PATH, [travel])[0], truth.y[0], atol=2e-3)


def test_a_short_travel_is_the_sign_and_a_start_is_kept():
    """Over a travel far below a step, friction has the sign of the motion; at rest it stays."""
    short = built_up(PATH, [1e-9])[0]
    moved = np.diff(PATH)
    assert np.array_equal(short[1:], np.sign(moved))
    np.testing.assert_array_equal(built_up(np.zeros(5), [0.1], 0.3), np.full((1, 5), 0.3))
    halves = built_up(PATH[2000:], [0.05], float(built_up(PATH, [0.05])[0, 2000]))
    np.testing.assert_allclose(halves[0], built_up(PATH, [0.05])[0, 2000:], atol=1e-12)


@pytest.mark.parametrize("travel", [0.0, 0.02])
def test_a_motion_gets_the_history_that_its_model_needs(travel):
    """Friction is added to a motion for a model with a travel, and for no other."""
    model = Model(Robot.from_urdf_text(URDF))
    terms = [replace(t, travel=travel) if t.name == "elbow.fc" else t for t in model.terms]
    model = Model(model.robot, tuple(terms))
    q = np.column_stack([PATH, -PATH])
    v = np.gradient(q, TIME, axis=0)
    motion = with_history(model, Motion(TIME, q, v, np.zeros_like(q)))
    assert (motion.friction is None) == (travel == 0.0)
    if motion.friction is not None:
        assert motion.friction.names == ("shoulder.fc", "elbow.fc")
        np.testing.assert_array_equal(motion.friction.values[:, 0], np.sign(v[:, 0]))
        expected = built_up(-PATH, [travel])[0]
        np.testing.assert_allclose(motion.friction.values[:, 1], expected, atol=1e-15)
