"""Test a result that was saved, on logs that were not used for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields

from steelyard.errors import ResultError
from steelyard.estimators.result_file import Result
from steelyard.logs.log import Log
from steelyard.model.base_map import base_map
from steelyard.robot.robot import Robot
from steelyard.signals.processing import Processing
from steelyard.signals.run_record import processing_as_used, used_hashes
from steelyard.validation.held_out import HeldOut, validate_logs


def validate_result(
    robot: Robot,
    result: Result,
    logs: Log | Iterable[Log],
    *,
    processing: Processing | None = None,
) -> HeldOut:
    """Predict the torques of each log from a result that was read, and compare.

    robot : of the same file and overlay that the result was obtained with.
    processing : by default that of the result's first run.
    """
    model = result.model_for(robot)
    if processing is None:
        processing = recorded_processing(result)
    base = base_map(model)
    if base.names != result.names:
        raise ResultError(
            f"the {len(result.names)} base parameters of the result are not the {base.rank} of "
            "this model; identify again with this version"
        )
    record = result.document.get("record")
    used = used_hashes(record) if isinstance(record, Mapping) else ()
    return validate_logs(model, base, result.beta, logs, processing, used)


def recorded_processing(result: Result) -> Processing:
    """The processing of the first run that a result records, with the cutoff that it got."""
    known = {field.name for field in fields(Processing)}
    try:
        record = result.document["record"]
        recorded = dict(record["runs"][0]["processing"])
        if isinstance(recorded.get("trim_s"), list):
            recorded["trim_s"] = tuple(recorded["trim_s"])
        processing = Processing(**{k: value for k, value in recorded.items() if k in known})
        return processing_as_used(processing, record)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as failure:
        raise ResultError(
            f"the result does not record how its signals were processed "
            f"({type(failure).__name__}: {failure})"
        ) from None
