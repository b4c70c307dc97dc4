"""The arm without payload, from an earlier result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import ResultError, listed
from steelyard.estimators.result_entries import stored_correlations
from steelyard.estimators.result_file import Result
from steelyard.findings import Finding
from steelyard.identification.found import Identification
from steelyard.model.model import Model
from steelyard.payload.joint_fit import KnownArm
from steelyard.robot.robot import Robot
from steelyard.signals.processing import Processing

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ArmResult:
    """What weighing needs of an earlier result.

    names : of its base parameters. log_hashes : content of the logs that it was made from.
    """

    model: Model
    arm: KnownArm
    names: tuple[str, ...]
    processing: Processing
    log_hashes: frozenset[str]
    cutoff_is_automatic: bool
    findings: tuple[Finding, ...]


def arm_of_result(robot: Robot, result: Result) -> ArmResult:
    """From a result file; refuses one of another robot, and of energy or power."""
    _refuse_energy(result.equation.of_joints)
    parameters = result.document["estimate"]["parameters"]
    sigmas = [_sigma(entry) for entry in parameters]
    findings = _open_finding(result.names, [sigma is None for sigma in sigmas])
    spread = np.array([0.0 if sigma is None else sigma for sigma in sigmas])
    correlation = stored_correlations(result)
    if correlation is None:
        correlation = np.eye(len(spread))
        findings += (
            Finding(
                "info",
                "arm-variances-only",
                "the arm's result states standard deviations and no correlations of its base "
                "parameters: they are taken as independent, which mostly makes the payload's "
                "intervals too wide; identify the arm again with this version, which states them",
            ),
        )
    return ArmResult(
        result.model_for(robot),
        KnownArm(result.beta, correlation * np.outer(spread, spread)),
        result.names,
        result.processing_as_used,
        result.log_hashes,
        result.cutoff_is_automatic,
        findings,
    )


def arm_of_found(robot: Robot, found: Identification) -> ArmResult:
    """From an identification in memory, with its whole covariance."""
    estimate = found.estimate
    _refuse_energy(estimate.equation.of_joints)
    if found.model.robot.joint_names != robot.joint_names:
        raise ResultError(
            f"the arm's result is for joints {listed(found.model.robot.joint_names)}, but robot "
            f"'{robot.name}' has {listed(robot.joint_names)}"
        )
    if Model(robot, found.model.terms).hash != found.model.hash:
        raise ResultError(
            f"the arm's result was obtained with another geometry or gravity than robot "
            f"'{robot.name}' has; use the same robot file and overlay"
        )
    covariance = estimate.spread.covariance
    known = np.isfinite(np.diag(covariance))
    return ArmResult(
        found.model,
        KnownArm(estimate.beta, np.where(np.isfinite(covariance), covariance, 0.0)),
        estimate.base.names,
        estimate.runs[0].processing_as_used,
        estimate.log_hashes,
        found.signals is not None and found.signals.cutoff_is_automatic,
        _open_finding(estimate.base.names, (~known).tolist()),
    )


def _refuse_energy(of_joints: bool) -> None:
    if not of_joints:
        raise ResultError(
            "the arm's result was fitted to energy or power; a payload needs one that was fitted "
            "to torques (equation='torque')"
        )


def _sigma(entry: Mapping[str, object]) -> float | None:
    """The standard deviation that the interval of a base parameter uses; None if there is none."""
    for key in ("sigma_cluster", "sigma"):
        value = entry.get(key)
        if isinstance(value, int | float) and np.isfinite(value):
            return float(value)
    return None


def _open_finding(names: Sequence[str], is_open: Sequence[bool]) -> tuple[Finding, ...]:
    """A warning that names base parameters without an error bar."""
    lost = [name for name, lacks in zip(names, is_open, strict=True) if lacks]
    if not lost:
        return ()
    return (
        Finding(
            "warning",
            "arm-not-determined",
            f"the arm's result has no error bars for {listed(lost)}: where the loaded motion "
            "depends on them, the payload's intervals are too narrow; give logs without the "
            "payload (empty) instead",
        ),
    )
