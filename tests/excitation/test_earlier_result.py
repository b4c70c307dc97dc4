"""What an earlier result says before the next motion is designed."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from small_arm import arm_log, write_arm

from steelyard.errors import ResultError
from steelyard.estimators.result_file import read_result, write_result
from steelyard.excitation.earlier_result import earlier_knowledge, known_information
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


def test_noise_and_information_are_those_of_the_estimate(earlier):
    """Residuals by joint; the inverse of the information has the sigma of the intervals and the
    correlations of the classical covariance, computed here from the estimate itself.
    """
    found, path, _ = earlier
    result = read_result(path)
    known = earlier_knowledge(result, result.model_for(found.model.robot))
    np.testing.assert_allclose(known.noise.rms, [fit.rms for fit in found.estimate.channels])
    parameters = found.estimate.parameters(0.95)
    sigma = np.array([p.sigma if p.sigma_cluster is None else p.sigma_cluster for p in parameters])
    covariance = np.linalg.inv(known.information)
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), sigma, rtol=1e-6)
    classical = found.estimate.spreads[0].covariance
    root = np.sqrt(np.diag(classical))
    np.testing.assert_allclose(
        covariance / np.outer(sigma, sigma), classical / np.outer(root, root), atol=1e-6
    )
    assert np.abs(classical / np.outer(root, root) - np.eye(len(sigma))).max() > 0.3
    assert known.n_known == len(sigma)
    assert known.correlated
    assert known.theta is None


def test_a_result_of_an_older_version_gives_variances(earlier):
    """Without correlations in the file; damaged ones are refused with their place."""
    found, _, folder = earlier
    document = copy.deepcopy(document_of(found))
    rows = document["estimate"].pop("correlations")
    write_result(folder / "older.json", document)
    result = read_result(folder / "older.json")
    model = result.model_for(found.model.robot)
    known = earlier_knowledge(result, model)
    assert not known.correlated
    parameters = found.estimate.parameters(0.95)
    sigma = np.array([p.sigma if p.sigma_cluster is None else p.sigma_cluster for p in parameters])
    np.testing.assert_allclose(known.information, np.diag(sigma**-2.0), rtol=1e-9)
    for damage in ([], [*rows[:-1], [2.0] * (len(rows) - 1)], [*rows[:-1], ["x"]], "none"):
        document["estimate"]["correlations"] = damage
        write_result(folder / "damaged.json", document)
        with pytest.raises(ResultError, match="correlations"):
            earlier_knowledge(read_result(folder / "damaged.json"), model)


def test_only_what_the_data_determine_is_known():
    """Of two correlated parameters, one unknown: the other keeps its own variance; and a pair that
    is exactly dependent gives finite information.
    """
    correlation = np.array([[1.0, 0.9], [0.9, 1.0]])
    alone = known_information(np.array([0.5, np.inf]), correlation)
    np.testing.assert_allclose(alone, [[4.0, 0.0], [0.0, 0.0]])
    assert np.isfinite(known_information(np.ones(2), np.ones((2, 2)))).all()


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
