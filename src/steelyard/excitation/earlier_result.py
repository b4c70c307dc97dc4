"""What an earlier identification knows, for the design of the next motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import ResultError, listed
from steelyard.estimators.result_entries import (
    stored_correlations,
    stored_list,
    stored_object,
    stored_parameters,
)
from steelyard.estimators.result_file import Result
from steelyard.excitation.torque_noise import TorqueNoise
from steelyard.model.base_map import base_map
from steelyard.model.model import Model

Array = NDArray[np.float64]

LEAST_EIGENVALUE = 1e-10
"""Of a correlation matrix; smaller ones are rounding."""


@dataclass(frozen=True, eq=False)
class EarlierKnowledge:
    """What a result says about the robot before the next run.

    theta : (n_columns,) its parameters; None where the method gives no standard parameters.
    noise : residuals of each joint. information : (n_base, n_base), the inverse of the covariance
    of those base parameters that its data determine, zero for the others. correlated : whether the
    result states correlations between them; results of older versions do not, and then only
    variances are known.
    n_known : number of base parameters that its data determine.
    """

    theta: Array | None
    noise: TorqueNoise
    information: Array
    n_known: int
    correlated: bool


def earlier_knowledge(result: Result, model: Model) -> EarlierKnowledge:
    """Parameters, residuals and variances of a result for this model, which must be its own."""
    base = base_map(model)
    if result.model_hash != model.hash or result.names != base.names:
        raise ResultError(
            f"the result is for another model than that of robot '{model.robot.name}'; use the "
            "same robot file, overlay and terms"
        )
    residuals = {
        entry.text("name") or "": entry.number("rms")
        for entry in stored_list(stored_object(result, "estimate"), "channels")
    }
    missing = [
        joint for joint in model.channels if not residuals.get(joint, 0.0) > 0.0
    ]  # NaN is not above zero either
    if missing:
        raise ResultError(
            f"the result states no residual of {listed(missing)}; give the noise of the torque, "
            "with --torque-noise"
        )
    rms = np.array([residuals[joint] for joint in model.channels])
    sigma = np.full(base.rank, np.inf)
    for k, parameter in enumerate(stored_parameters(result)):
        own = parameter.sigma if parameter.sigma_cluster is None else parameter.sigma_cluster
        if parameter.interval_kind == "confidence" and np.isfinite(own) and own > 0.0:
            sigma[k] = own
    correlation = stored_correlations(result)
    return EarlierKnowledge(
        result.theta,
        TorqueNoise(model.channels, rms, "residuals of the earlier result"),
        known_information(sigma, np.eye(base.rank) if correlation is None else correlation),
        int(np.isfinite(sigma).sum()),
        correlation is not None,
    )


def known_information(sigma: Array, correlation: Array) -> Array:
    """The inverse (n, n) of the covariance of the parameters with a finite sigma (n,), zero for
    the others, of which nothing is taken as known.

    correlation : (n, n). Nearly dependent parameters keep at most 1e10 times the information of
    independent ones, so that rounded digits are not taken for knowledge.
    """
    known = np.flatnonzero(np.isfinite(sigma))
    information = np.zeros((len(sigma), len(sigma)))
    if len(known) == 0:
        return information
    values, vectors = np.linalg.eigh(correlation[np.ix_(known, known)])
    inverse = (vectors / np.maximum(values, LEAST_EIGENVALUE)) @ vectors.T
    scale = 1.0 / sigma[known]
    information[np.ix_(known, known)] = inverse * np.outer(scale, scale)
    return information
