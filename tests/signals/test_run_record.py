"""The record of a run: its properties, and that JSON keeps it unchanged."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_arm import URDF, arm_log

from steelyard.errors import ResultError, SignalError
from steelyard.report.processing import covered, processing_rows
from steelyard.robot.robot import Robot
from steelyard.robot.transmission import Motor
from steelyard.signals.prepare import prepare
from steelyard.signals.processing import Processing
from steelyard.signals.run_record import (
    DeadBandRecord,
    RunRecord,
    content_hashes,
    runs_as_json,
    runs_from_json,
)

ARM = Robot.from_urdf_text(URDF)
MOTORS = (Motor("a", (("shoulder", 45.0),), 0.1), Motor("b", (("elbow", 32.0),), None, 1.25))
FULL = replace(
    prepare(arm_log(ARM, 1), ARM).record,
    motors=MOTORS,
    source="run.csv",
    ignored_columns=("mode",),
    ignored_joints=("gripper",),
    samples_bridged={"elbow.position": 3},
    outliers={"elbow.torque": 4},
    stuck={"elbow.torque": 500},
    slips_taken_back={"elbow": 3},
    interpolated_between_updates=("elbow.position",),
    unwrapped_jumps={"elbow": 2},
    velocity_factors={"elbow": 0.98},
    computed_from_motors={"elbow.torque": "32 × b.torque"},
)
AS_ASKED = prepare(
    arm_log(ARM, 1),
    ARM,
    Processing(cutoff_hz=8.0, trim_s=(1.0, 0.5), dead_band={"elbow": 0.2}),
).record


@pytest.mark.parametrize("record", [FULL, AS_ASKED, RunRecord("run", Processing())])
def test_json_keeps_a_record(record: RunRecord) -> None:
    """Written and read back, a record is the same, and so is its JSON, to the last key."""
    text = json.dumps(runs_as_json([record, record]))
    again = runs_from_json(json.loads(text), "'result.json'", ResultError)
    assert json.dumps(runs_as_json(again)) == text
    # NaN (joints that do not move, unknown rates) does not equal itself
    assert str(again) == str((record, record))


def test_no_runs_are_an_empty_record() -> None:
    """A regression made without logs has no runs, in JSON either."""
    assert runs_as_json(()) == {}
    assert runs_from_json({}, "here", ResultError) == ()


def test_files_of_other_versions_are_read() -> None:
    """Entries that a file lacks have defaults; unknown entries are ignored."""
    given = {"processing": {"cutoff_hz": 5.0, "magic": True}, "later": [1]}
    record = RunRecord.from_json(given, "here", ResultError)
    assert record == replace(
        RunRecord("run", Processing(cutoff_hz=5.0)), rows_cut_at_ends=(), trimmed_s=()
    )


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("processing", None, "does not say how its signals were processed"),
        ("processing", [], "'processing': is a list; it must be an object"),
        ("processing", {"decimate": 0}, "'processing': decimate is 0"),
        ("content_sha256", 3, "'content_sha256' holds 3; it must be text"),
        ("duration_s", True, "'duration_s' holds True; it must be a finite number"),
        ("duration_s", 10**400, "'duration_s' holds a number that is too large"),
        ("samples_out", -1, "'samples_out' holds -1; it must be a whole number"),
        ("ignored_joints", "elbow", "'ignored_joints' holds 'elbow'; it must be a list"),
        ("cutoff_hz", 0.0, "'cutoff_hz' is 0; it must be positive"),
        ("time", {"resampled": "no"}, "'time': 'resampled' holds 'no'; it must be true or false"),
        ("dead_band", {"asked": "some"}, "'dead_band': dead_band is 'some'"),
        ("transmission", {"a": 3}, "'transmission': 'a': is 3; it must be an object"),
    ],
)
def test_what_does_not_fit_is_refused(key: str, value: object, words: str) -> None:
    """A wrong entry is named in one line, with its place."""
    with pytest.raises(ResultError, match=words) as caught:
        RunRecord.from_json(FULL.as_json() | {key: value}, "'r.json': run 1", ResultError)
    assert str(caught.value).startswith("'r.json': run 1: ")
    assert "\n" not in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
KEYS = sorted(FULL.as_json())
PARTS = sorted(key for key, value in FULL.as_json().items() if isinstance(value, dict))


@settings(max_examples=200, deadline=None)
@given(key=st.sampled_from(KEYS), part=st.sampled_from(PARTS), value=JSON, pick=st.integers(0, 99))
def test_untrusted_records_are_read_or_refused(key: str, part: str, value: Any, pick: int) -> None:
    """Any value of an entry is read or refused, and what is read can be written."""
    whole = FULL.as_json() | {key: value}
    inside = FULL.as_json()
    names = sorted(inside[part])
    if names:
        inside[part] = inside[part] | {names[pick % len(names)]: value}
    for given_record in (whole, inside):
        try:
            record = RunRecord.from_json(given_record, "here", ResultError)
        except ResultError:
            continue
        written = json.loads(json.dumps(record.as_json(), allow_nan=False))
        assert str(RunRecord.from_json(written, "here", ResultError)) == str(record)
        assert covered([record])
        assert processing_rows(record)


def test_the_processing_as_used_has_the_cutoff_that_was_chosen() -> None:
    """An automatic cutoff becomes the chosen number; a given one, or None, is unchanged."""
    assert FULL.cutoff_hz is not None
    assert FULL.processing_as_used == Processing(cutoff_hz=FULL.cutoff_hz)
    assert AS_ASKED.processing_as_used == AS_ASKED.processing
    none = RunRecord("run", Processing(cutoff_hz=None))
    assert none.processing_as_used == none.processing


@pytest.mark.parametrize(
    ("changes", "low_passed", "filtered"),
    [
        ({"cutoff_hz": 5.0}, True, True),
        ({"cutoff_hz": 5.0, "torque_filter": "none"}, False, False),
        ({"cutoff_hz": None}, False, False),
        ({"cutoff_hz": None, "derivative": "savgol"}, False, True),
        ({"cutoff_hz": None, "derivative": "savgol", "torque_filter": "none"}, False, False),
    ],
)
def test_whether_the_torque_is_filtered(
    changes: dict[str, Any], low_passed: bool, filtered: bool
) -> None:
    """The low-pass filter and that of Savitzky and Golay count, where torques go through them."""
    chosen = Processing(**{"torque_filter": "same", **changes})
    record = prepare(arm_log(ARM, 1), ARM, chosen).record
    assert (record.torque_is_low_passed, record.torque_is_filtered) == (low_passed, filtered)
    assert record.correlation_s == (0.3 if changes["cutoff_hz"] else 0.0)


def test_shares_and_hashes() -> None:
    """Shares left out by trimming and the dead band; content hashes of logs."""
    band = DeadBandRecord(0.1, {"elbow": 0.1}, {"shoulder": 0, "elbow": 50})
    record = RunRecord(
        "run", Processing(), duration_s=10.0, trimmed_s=(1.5, 1.0), samples_out=200, dead_band=band
    )
    assert record.trimmed_share == 0.25
    assert record.dead_band_shares == {"shoulder": 0.0, "elbow": 0.25}
    assert band.n_left_out == 50
    assert content_hashes([FULL, record]) == {FULL.content_sha256}


def test_every_field_is_written() -> None:
    """JSON has one key for each field; the motors are under ``transmission``."""
    names = [field.name for field in fields(RunRecord)]
    assert sorted(FULL.as_json()) == sorted(
        "transmission" if name == "motors" else name for name in names
    )


def test_json_keeps_the_processing() -> None:
    """Every option is read back unchanged; an invalid one is refused."""
    for processing in (Processing(), Processing.sousa2014(), AS_ASKED.processing):
        assert Processing.from_record(json.loads(json.dumps(processing.as_record()))) == processing
    with pytest.raises(SignalError, match="decimate is 0"):
        Processing.from_record({"decimate": 0})
