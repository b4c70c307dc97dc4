"""Validation of a saved result gives the same as validation by `identify`."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from small_arm import URDF, arm_log

from steelyard._files.json_data import finite
from steelyard.errors import ResultError
from steelyard.estimators.result_file import Result, read_result
from steelyard.identification.identify import Identification, identify
from steelyard.identification.outputs import write_outputs
from steelyard.robot.robot import Robot
from steelyard.signals.processing import Processing
from steelyard.validation.saved_results import validate_result

ARM = Robot.from_urdf_text(URDF)
PROCESSING = Processing(dead_band=0.05, trim_s=(0.5, 0.25))


@pytest.fixture(scope="module")
def found() -> Identification:
    train, test = arm_log(ARM, 1), arm_log(ARM, 2)
    return identify(ARM, train, validate_on=test, method="wls", processing=PROCESSING)


@pytest.fixture(scope="module")
def result(found, tmp_path_factory) -> Result:
    folder = tmp_path_factory.mktemp("result")
    return read_result(write_outputs(found, folder)["result"])


def test_a_saved_result_has_the_errors_it_had(found, result):
    """Read from its file, a result gives the same errors on the same log, to the last digit."""
    held_out = validate_result(ARM, result, arm_log(ARM, 2))
    assert json.dumps(finite(held_out.to_dict())) == json.dumps(result.document["validation"])


def test_the_recorded_processing_is_taken(result):
    """Dead band, trimming and cutoff are those of the estimate."""
    processing = result.processing_as_used
    assert (processing.dead_band, processing.trim_s) == (0.05, (0.5, 0.25))
    assert processing.cutoff_hz == result.document["record"]["runs"][0]["cutoff_hz"]
    other = validate_result(ARM, result, arm_log(ARM, 2), processing=Processing(cutoff_hz=15.0))
    assert other.records[0].cutoff_hz == 15.0


def test_training_data_is_told_from_held_out_data(result):
    """A log that the result was made from is named."""
    held_out = validate_result(ARM, result, [arm_log(ARM, 1), arm_log(ARM, 2)])
    assert len(held_out.used) == 1
    assert [f.code for f in held_out.findings] == ["used-for-the-estimate"]


def test_a_result_without_a_record_is_refused(result):
    """A missing record is refused; with processing given, the record is not needed."""
    bare = replace(result, runs=())
    with pytest.raises(ResultError, match="does not record how its signals were processed"):
        validate_result(ARM, bare, arm_log(ARM, 2))
    assert validate_result(ARM, bare, arm_log(ARM, 2), processing=PROCESSING).overall.beats_prior
    renamed = replace(result, names=("other", *result.names[1:]))
    with pytest.raises(ResultError, match=r"are not the .* of this model"):
        validate_result(ARM, renamed, arm_log(ARM, 2))
