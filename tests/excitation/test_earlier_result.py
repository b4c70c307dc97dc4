"""What an earlier result says before the next motion is designed."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from small_arm import arm_log, write_arm

from steelyard.errors import ResultError
from steelyard.estimators.result_file import read_result, write_result
from steelyard.excitation.earlier_result import earlier_knowledge
from steelyard.identification.identify import identify
from steelyard.identification.outputs import document_of
from steelyard.model.model import Model
from steelyard.robot.robot import Robot


@pytest.fixture(scope="module")
def earlier(tmp_path_factory) -> tuple:
    """An identification by weighted least squares, and its result file."""
    folder = tmp_path_factory.mktemp("earlier")
    robot = Robot.from_urdf(write_arm(folder))
    found = identify(robot, [arm_log(robot, 1)], method="wls", threads=1)
    path = folder / "result.json"
    write_result(path, document_of(found))
    return found, path, folder


def test_noise_and_variances_are_those_of_the_estimate(earlier):
    """Residuals by joint; one over the variance of each base parameter, none between them."""
    found, path, _ = earlier
    result = read_result(path)
    known = earlier_knowledge(result, result.model_for(found.model.robot))
    np.testing.assert_allclose(known.noise.rms, [fit.rms for fit in found.estimate.channels])
    parameters = found.estimate.parameters(0.95)
    sigma = np.array([p.sigma if p.sigma_cluster is None else p.sigma_cluster for p in parameters])
    np.testing.assert_allclose(np.diag(known.information), sigma**-2.0, rtol=1e-9)
    assert np.count_nonzero(known.information) == known.n_known == len(sigma)
    assert known.theta is None


def test_a_result_of_another_model_or_without_residuals_is_refused(earlier):
    """The message says what to do."""
    found, path, folder = earlier
    other = Model(found.model.robot, found.model.terms[:-1])
    with pytest.raises(ResultError, match="another model"):
        earlier_knowledge(read_result(path), other)
    document = copy.deepcopy(document_of(found))
    document["estimate"]["channels"][1]["rms"] = None
    write_result(folder / "damaged.json", document)
    result = read_result(folder / "damaged.json")
    with pytest.raises(ResultError, match="no residual of elbow; give the noise"):
        earlier_knowledge(result, result.model_for(found.model.robot))
