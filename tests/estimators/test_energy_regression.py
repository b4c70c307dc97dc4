"""Every estimator works on a regression of energy."""

from __future__ import annotations

import numpy as np
import pytest
from small_arm import URDF, arm_log, true_theta

from steelyard.errors import EstimationError
from steelyard.estimators.estimator import EstimationOptions, EstimationTask
from steelyard.estimators.least_squares import wls
from steelyard.estimators.registry import all_estimators, estimator_named
from steelyard.knowledge.prior import prior_from_robot
from steelyard.model.base_map import base_map
from steelyard.model.model import Model
from steelyard.regression.compress import compress
from steelyard.regression.equation import Equation, processing_for
from steelyard.regression.regression import merge
from steelyard.robot.robot import Robot
from steelyard.signals.prepare import prepare
from steelyard.signals.processing import Processing
from steelyard.testing.estimator_contract import broken_promises

ENERGY = Equation("energy")
# of the two methods with a weight to choose, which take most of the time, one is enough: they
# differ only in how far they find a body from the prior
# the published sequential method is defined by rows of single joints
ESTIMATORS = [one for one in all_estimators() if one.name not in ("pullback", "sequential-paper")]


@pytest.fixture(scope="module")
def case():
    """A model, the energy of two runs in few time blocks, and the prior of the robot file."""
    robot = Robot.from_urdf_text(URDF)
    model = Model(robot)
    processing = processing_for(ENERGY, Processing(cutoff_hz=20.0))
    runs = [prepare(arm_log(robot, k, name=f"run_{k}"), model, processing) for k in (1, 2)]
    parts = [
        compress(model, run.motion, run.measurements, block_s=1.0, equation=ENERGY) for run in runs
    ]
    return model, merge(parts), prior_from_robot(model)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: estimator.name)
def test_every_estimator_keeps_to_the_contract(estimator, case):
    """Shapes, names, its own promises, the same result for any number of threads."""
    assert broken_promises(estimator, *case) == ()


def test_a_method_by_joints_refuses_rows_of_energy(case):
    """The message names the method that takes them."""
    model, regression, _ = case
    options = EstimationOptions("sequential-paper", n_resamples=20, ranges=False)
    with pytest.raises(EstimationError, match="use the method 'sequential'"):
        estimator_named("sequential-paper").run(EstimationTask(model, regression, options, None))


def test_the_truth_is_within_the_intervals(case):
    """Two runs of ten seconds determine all base parameters of a small arm."""
    model, regression, _ = case
    truth = base_map(model).K @ true_theta(model)
    found = wls(regression)
    assert found.determined.all()
    inside = [p.lower <= x <= p.upper for p, x in zip(found.parameters(), truth, strict=True)]
    assert np.mean(inside) > 0.85
