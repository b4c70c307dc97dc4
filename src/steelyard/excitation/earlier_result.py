"""What an earlier identification knows, for the design of the next motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import ResultError, listed
from steelyard.estimators.result_entries import stored_list, stored_object, stored_parameters
from steelyard.estimators.result_file import Result
from steelyard.excitation.torque_noise import TorqueNoise
from steelyard.model.base_map import base_map
from steelyard.model.model import Model

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class EarlierKnowledge:
    """What a result says about the robot before the next run.

    theta : (n_columns,) its parameters; None where the method gives no standard parameters.
    noise : residuals of each joint. information : (n_base, n_base), one over the variance of each
    base parameter that its data determine, zero for the others; a result file has no correlations.
    n_known : number of base parameters that its data determine.
    """

    theta: Array | None
    noise: TorqueNoise
    information: Array
    n_known: int


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
    information = np.zeros(base.rank)
    for k, parameter in enumerate(stored_parameters(result)):
        sigma = parameter.sigma if parameter.sigma_cluster is None else parameter.sigma_cluster
        if parameter.interval_kind == "confidence" and np.isfinite(sigma) and sigma > 0.0:
            information[k] = sigma**-2
    return EarlierKnowledge(
        result.theta,
        TorqueNoise(model.channels, rms, "residuals of the earlier result"),
        np.diag(information),
        int(np.count_nonzero(information)),
    )
