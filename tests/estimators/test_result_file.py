"""Result files: their published schema, reading them back, and whose they are."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from given_signals import FEW, GIVEN
from seeds import every
from small_arm import URDF, arm_log, true_theta

from steelyard._files.json_data import RESULT_SCHEMA, finite
from steelyard.errors import ResultError
from steelyard.estimators.result_file import read_result, read_schema, result_document, write_result
from steelyard.identification.identify import Identification, identify
from steelyard.model.model import Model
from steelyard.model.terms import coupled_terms, default_terms
from steelyard.robot.robot import Robot
from steelyard.signals.processing import Processing
from steelyard.testing.random_robots import random_robot
from steelyard.validation.held_out import validate_logs


@pytest.fixture(scope="module")
def arm() -> Robot:
    return Robot.from_urdf_text(URDF)


@pytest.fixture(scope="module")
def found(arm: Robot) -> Identification:
    return identify(arm, [arm_log(arm, 1)])


@pytest.fixture(scope="module")
def document(found: Identification) -> dict:
    return result_document(found.model, found.estimate)


def check_schema(document: dict) -> None:
    """Hold the document, as JSON, to the schema in the package."""
    schema = read_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(json.dumps(document, allow_nan=False)), schema)


def test_a_result_holds_to_the_published_schema(document):
    """What is written validates against the schema that the package publishes."""
    assert document["schema"] == RESULT_SCHEMA
    check_schema(document)


@every("seed", range(4))
def test_results_of_random_robots_hold_to_the_schema(seed):
    """Trees, sliding joints, couplings and either estimator give valid documents."""
    robot = random_robot(np.random.default_rng(seed), 2 + seed)
    first, second = robot.joint_names[:2]
    terms = (*default_terms(robot), *coupled_terms("belt", {first: 1.0, second: 2.0}, ["coulomb"]))
    log = arm_log(robot, seed)
    found = identify(robot, [log], terms=terms, method=("wls", "ols")[seed % 2])
    check_schema(result_document(found.model, found.estimate, level=0.9))


def test_held_out_errors_hold_to_the_schema(arm, found):
    """A result that carries a validation is valid too, and keeps its figures."""
    held_out = validate_logs(
        found.model, found.estimate.base, found.estimate.beta, [arm_log(arm, 2)], Processing()
    )
    document = result_document(found.model, found.estimate, validation=held_out.to_dict())
    check_schema(document)
    score = document["validation"]["overall"]["prediction"]
    assert score["relative_error"] == held_out.overall.prediction.relative_error


def test_what_the_data_leave_open_is_null(arm):
    """A joint that stands still leaves parameters open: null in the file, never NaN."""
    log = arm_log(arm, 1)
    still = {key: np.zeros(len(log)) if key == ("elbow", "position") else values
             for key, values in log.signals.items()}  # fmt: skip
    few = {**FEW, "processing": replace(GIVEN, still_joints="keep"), "ranges": True}
    found = identify(arm, [replace(log, signals=still)], **few)
    document = result_document(found.model, found.estimate)
    check_schema(document)
    open_ones = [
        p for p in document["estimate"]["parameters"] if p["interval_kind"] == "undetermined"
    ]
    assert open_ones
    assert all(p["value"] is None and p["lower"] is None for p in open_ones)
    assert {fate["kind"] for fate in document["fates"]} >= {"not excited"}
    assert [f["code"] for f in document["findings"]].count("not-excited") == 1


def test_the_schema_refuses_what_is_missing_and_what_is_new(document):
    """Dropping a required key, adding one, or another version does not validate."""
    for broken in (
        {key: value for key, value in document.items() if key != "estimate"},
        {**document, "extra": 1},
        {**document, "schema": "steelyard.result/2"},
    ):
        with pytest.raises(jsonschema.ValidationError):
            check_schema(broken)


def test_round_trip_through_a_file(tmp_path, arm, found, document):
    """Reading gives back the same numbers, terms and model, to the last bit."""
    path = tmp_path / "result.json"
    write_result(path, document)
    result = read_result(path)
    np.testing.assert_array_equal(result.beta, found.estimate.beta)
    assert result.names == found.estimate.base.names
    assert result.terms == found.model.terms
    assert result.method == found.estimate.method
    assert result.document == document
    assert result.model_for(arm).hash == found.model.hash
    assert found.estimate.standard is not None
    np.testing.assert_array_equal(result.theta, found.estimate.standard.theta)
    assert result.feasible
    assert (result.source, result.source_sha256) == (None, arm.source_sha256)
    old = {**document, "robot": {**document["robot"]}}
    del old["robot"]["sha256"]
    check_schema(old)
    write_result(path, old)
    assert read_result(path).source_sha256 is None


def test_a_result_predicts_the_torques_of_its_robot(tmp_path, arm, found, document):
    """Base parameters from a file predict the true torques as well as those in memory."""
    path = tmp_path / "result.json"
    write_result(path, document)
    result = read_result(path)
    held_out = validate_logs(
        result.model_for(arm),
        found.estimate.base,
        result.beta,
        [arm_log(arm, 2, noise=0.0)],
        Processing(),
    )
    assert held_out.overall.prediction.relative_error < 0.02
    assert np.abs(true_theta(found.model) - Model(arm).prior_theta()).max() > 0.1


def test_another_robot_is_refused(tmp_path, arm, document):
    """Another geometry, gravity or set of joints does not fit the hash of the model."""
    path = tmp_path / "result.json"
    write_result(path, document)
    result = read_result(path)
    longer = Robot.from_urdf_text(URDF.replace('xyz="0.3 0 0"', 'xyz="0.31 0 0"'))
    renamed = Robot.from_urdf_text(URDF.replace("elbow", "knee"))
    heavier = Robot.from_urdf_text(URDF.replace('value="2.5"', 'value="9.5"'))
    for other, words in (
        (longer, "another geometry or gravity"),
        (replace(arm, gravity=np.array([0.0, 9.81, 0.0])), "another geometry or gravity"),
        (renamed, "shoulder, elbow.*shoulder, knee"),
    ):
        with pytest.raises(ResultError, match=words):
            result.model_for(other)
    # what the file says of masses is what was to be found: it makes no other model
    result.model_for(heavier)


def damaged(document: dict, change: str) -> str:
    text = json.dumps(document)
    if change == "not json":
        return "{" + text
    if change == "deep":
        return "[" * 100_000
    if change == "list":
        return "[1, 2]"
    if change == "old schema":
        return text.replace(RESULT_SCHEMA, "steelyard.result/0")
    copy = json.loads(text)
    if change == "no parameters":
        del copy["estimate"]["parameters"]
    elif change == "text for a number":
        copy["estimate"]["parameters"][0]["predicts_with"] = "heavy"
    elif change == "unknown term":
        copy["model"]["terms"][0]["kind"] = "magnetic"
    elif change == "no list of runs":
        copy["record"]["runs"] = "none"
    elif change == "no processing":
        del copy["record"]["runs"][0]["processing"]
    elif change == "unknown processing":
        copy["record"]["runs"][0]["processing"]["torque_filter"] = "magic"
    elif change == "text for a rate":
        copy["record"]["runs"][0]["time"]["rate_hz"] = "fast"
    elif change == "not finite":
        return text.replace('"predicts_with": ', '"predicts_with": 1e999, "x": ')
    return json.dumps(copy)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("not json", "is not JSON"),
        ("deep", "is not JSON"),
        ("list", "is not a result file"),
        ("old schema", "steelyard.result/0"),
        ("no parameters", "is damaged.*parameters"),
        ("text for a number", "is damaged.*heavy"),
        ("unknown term", "is damaged.*magnetic"),
        ("not finite", "is damaged.*not a number of at most"),
        ("no list of runs", "its record: 'runs' must be a list"),
        ("no processing", "run 1: does not say how its signals were processed"),
        ("unknown processing", "run 1: 'processing': torque_filter is 'magic'"),
        ("text for a rate", "run 1: 'time': 'rate_hz' holds 'fast'"),
    ],
)
def test_damaged_files_are_refused_in_one_line(tmp_path, document, change, words):
    """Whatever is wrong with a result file is said in one line that names the file."""
    path = tmp_path / "damaged.json"
    path.write_text(damaged(document, change), encoding="utf-8")
    with pytest.raises(ResultError, match=words) as caught:
        read_result(path)
    assert "\n" not in str(caught.value)
    assert "damaged.json" in str(caught.value)


def test_a_failed_write_leaves_the_old_file(tmp_path, document):
    """A document that cannot be JSON is not written at all, and neither is half of it."""
    path = tmp_path / "result.json"
    write_result(path, document)
    before = path.read_bytes()
    with pytest.raises((ValueError, TypeError)):
        write_result(path, {**document, "robot": float("nan")})
    assert path.read_bytes() == before
    with pytest.raises(ResultError, match="cannot be written"):
        write_result(tmp_path / "nowhere" / "result.json", document)
    assert [entry.name for entry in Path(tmp_path).iterdir()] == ["result.json"]


def test_numbers_that_json_lacks_become_null():
    """NaN and infinities, in NumPy's types and nested, become null; the rest is kept."""
    data = {"a": np.float64("nan"), "b": [np.inf, 1.5, np.int64(3)], "c": np.array([1.0, -np.inf])}
    assert finite(data) == {"a": None, "b": [None, 1.5, 3], "c": [1.0, None]}
