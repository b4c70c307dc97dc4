"""The robot that every writer starts from: what solvers leave of zero, and absurd numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest
from seeds import every
from small_arm import URDF, true_theta

from steelyard.errors import ModelError
from steelyard.export.identified_robot import identified_robot
from steelyard.export.joint_terms import joints_document
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.model.random_states import random_states
from steelyard.robot.robot import Robot
from steelyard.testing.random_robots import random_robot

MODEL = Model(Robot.from_urdf_text(URDF))


@pytest.mark.parametrize(
    ("symbol", "value", "kept"),
    [
        *((symbol, 2.9e-15, False) for symbol in ("Ia", "fv", "fc", "fo")),
        *((symbol, 1e-6, True) for symbol in ("Ia", "fv", "fc", "fo")),
        ("fo", -1e-16, False),
    ],
)
def test_what_a_solver_leaves_of_zero_is_written_as_zero(symbol, value, kept):
    """A term of rounding size is 0 in the file of the joints; a small one that counts is kept."""
    theta = true_theta(MODEL)
    theta[MODEL.column_names.index(f"elbow.{symbol}")] = value
    found = identified_robot(MODEL, theta)
    document = joints_document(found)
    (elbow,) = [joint for joint in document["joints"] if joint["name"] == "elbow"]
    kinds = {column.symbol: column.kind for column in MODEL.columns}
    (term,) = [term for term in elbow["terms"] if term["kind"] == kinds[symbol]]
    assert term["value"] == (value if kept else 0.0)
    assert "e-15" not in json.dumps(document)


@every("seed", range(10))
def test_no_torque_changes_by_what_is_left_out(seed):
    """Robots of any size, with terms of any size: torques stay, in the units of the largest."""
    rng = np.random.default_rng(seed)
    model = Model(random_robot(rng, 5))
    theta = model.prior_theta()
    is_term = np.array([column.term_kind is not None for column in model.columns])
    theta[is_term] = 10.0 ** rng.uniform(-22.0, 1.0, is_term.sum())
    found = identified_robot(model, theta)
    zeroed = is_term & (found.theta == 0.0)
    assert zeroed.any()
    assert (found.theta[~zeroed] == theta[~zeroed]).all()
    assert theta[zeroed].max() < theta[is_term & ~zeroed].min() * 1e6
    states = random_states(rng, model.robot, 50)
    before, after = (torque(model, values, *states) for values in (theta, found.theta))
    assert np.abs(after - before).max() < 1e-11 * np.abs(before).max()
    # kilograms or grams: the same terms are left out
    in_grams = identified_robot(model, 1000.0 * theta)
    assert ((in_grams.theta == 0.0) == (found.theta == 0.0)).all()


@pytest.mark.parametrize("name", ["fore.m", "upper.Izz", "elbow.fc"])
def test_absurd_parameters_are_refused_by_name(name):
    """A mass of 1e300 kg, typed into a result, is named; its neighbours overflow otherwise."""
    theta = true_theta(MODEL)
    theta[MODEL.column_names.index(name)] = 1e300
    with pytest.raises(ModelError, match=rf"'{name}' is 1e\+300 .*, which no robot has"):
        identified_robot(MODEL, theta)
