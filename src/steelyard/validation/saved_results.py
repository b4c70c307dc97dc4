"""Validate a saved result on logs that were not used for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from steelyard.errors import ResultError
from steelyard.estimators.result_entries import stored_file_with_terms
from steelyard.estimators.result_file import Result
from steelyard.findings import Finding
from steelyard.logs.any_log import LogsLike
from steelyard.logs.stored_log import AnyLog
from steelyard.model.base_map import base_map
from steelyard.model.model import Model
from steelyard.robot.file_changes import brief_change_findings
from steelyard.robot.robot import Robot
from steelyard.signals.processing import Processing
from steelyard.validation.held_out import HeldOut, validate_logs


def validate_result(
    robot: Robot,
    result: Result,
    logs: LogsLike,
    *,
    processing: Processing | None = None,
    check: Callable[[AnyLog, Model], tuple[Finding, ...]] | None = None,
) -> HeldOut:
    """Predict the torques of each log from a result file, and compare.

    robot : from the same file and overlay as for the estimate; joints that were turned or locked
        for the estimate are so here too.
    processing : by default that of the result's first run.
    check : what is wrong with a log, for the findings.
    """
    model = result.model_for(robot)
    if processing is None:
        processing = result.processing_as_used
    base = base_map(model)
    if base.names != result.names:
        raise ResultError(
            f"the {len(result.names)} base parameters of the result are not the {base.rank} of "
            "this model; identify again with this version"
        )
    as_used = result.runs and processing.cutoff_hz == result.processing_as_used.cutoff_hz
    found = validate_logs(
        model,
        base,
        result.beta,
        logs,
        processing,
        result.log_hashes,
        cutoff_is_automatic=bool(as_used) and result.cutoff_is_automatic,
        proposed_hz=result.proposed_hz,
        file_with_terms=stored_file_with_terms(result),
        check=None if check is None else lambda log: check(log, model),
    )
    return replace(found, findings=(*brief_change_findings(model.robot), *found.findings))
