"""Validation of a saved result gives the same as validation by `identify`."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from small_arm import JOINT, LINK, URDF, arm_log

from steelyard._files.json_data import finite
from steelyard.errors import ResultError
from steelyard.estimators.result_file import Result, read_result
from steelyard.identification.identify import Identification, identify
from steelyard.identification.outputs import write_outputs
from steelyard.model.model import Model
from steelyard.model.right_angles import with_right_angles
from steelyard.robot.robot import Robot
from steelyard.signals.processing import Processing
from steelyard.validation.saved_results import validate_result

ARM = Robot.from_urdf_text(URDF)
THREE_HINGES = (
    '<robot name="three hinges"><link name="ground"/>'
    + "".join(LINK.format(name=f"l{k}", mass="2") for k in (1, 2, 3))
    + "".join(
        JOINT.format(
            name=f"j{k}", parent=parent, child=f"l{k}", xyz="0.1 0.2 0.3", axis="0 0 1"
        ).replace('0.3 0 0"/>', f'{roll} 0 0"/>')
        for k, parent, roll in ((1, "ground", 0), (2, "l1", 1.5708), (3, "l2", -1.5708))
    )
    + "</robot>"
)
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


def test_locks_are_those_of_the_result(tmp_path):
    """The robot as read or locked gives the model of the result; with other locks it is refused."""
    moving = ARM.lock({"elbow": 0.4})
    found = identify(ARM, arm_log(moving, 1), method="ols", lock={"elbow": 0.4})
    saved = read_result(write_outputs(found, tmp_path)["result"])
    assert dict(saved.locked) == {"elbow": 0.4}
    for given in (ARM, moving):
        assert saved.model_for(given).hash == found.model.hash
    held_out = validate_result(ARM, saved, arm_log(moving, 2))
    assert "elbow at 0.4" in next(f.words for f in held_out.findings if f.code == "locked-joints")
    with pytest.raises(ResultError, match=r"locked at 0\.5, but the result .* at 0\.4; leave out"):
        saved.model_for(ARM.lock({"elbow": 0.5}))
    with pytest.raises(ResultError, match="lock no other joints"):
        saved.model_for(ARM.lock({"shoulder": 0.5}))


def test_turned_angles_are_restored_from_the_result(tmp_path):
    """A result of a turned robot fits the file as read, and one with kept angles does too."""
    robot = Robot.from_urdf_text(THREE_HINGES)
    turned = with_right_angles(robot)
    assert turned.turned
    log = arm_log(robot, 1)
    for keep_angles, expected in ((False, turned), (True, robot)):
        found = identify(robot, log, method="ols", keep_angles=keep_angles)
        saved = read_result(write_outputs(found, tmp_path)["result"])
        for given in (robot, turned):
            assert saved.model_for(given).hash == Model(expected).hash
        assert saved.document["robot"]["turned"] == [
            {"joint": t.joint, "before": list(t.before), "after": list(t.after)}
            for t in expected.turned
        ]
