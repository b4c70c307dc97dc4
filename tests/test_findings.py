"""Findings: facts beside words, written to JSON and read again."""

from __future__ import annotations

import json

import pytest

from steelyard._files.json_object import JsonObject
from steelyard._files.stored_finding import stored_finding
from steelyard.errors import ResultError
from steelyard.findings import Finding

FULL = Finding(
    "severe",
    "delay",
    "the torque of 'elbow' is 8 ms late",
    joints=("elbow",),
    span_s=(1.0, 2.5),
    size=0.008,
    unit="s",
    could_be=("a slow filter of the torque",),
    option="--accept delay",
    corrected=True,
)


@pytest.mark.parametrize("finding", [FULL, Finding("warning", "poor-fit", "a poor fit")])
def test_a_finding_is_read_as_it_was_written(finding: Finding) -> None:
    """JSON holds all facts, and only those that exist."""
    text = json.dumps(finding.as_json())
    assert stored_finding(JsonObject.of(json.loads(text), "result", ResultError)) == finding
    assert ("size" in text) == (finding.size is not None)


def test_a_finding_of_an_earlier_version_has_no_facts() -> None:
    """Level, code and words are enough; a level that is not known is a note."""
    old = {"level": "later", "code": "poor-fit", "words": "a poor fit"}
    read = stored_finding(JsonObject.of(old, "result", ResultError))
    assert read == Finding("info", "poor-fit", "a poor fit")
    assert not read.alarming


def test_a_finding_without_words_is_refused() -> None:
    """The message says which entry is missing."""
    with pytest.raises(ResultError, match="result: has no 'words'"):
        stored_finding(JsonObject.of({"level": "info", "code": "x"}, "result", ResultError))


def test_the_sentence_says_what_else_it_could_be_and_what_mends_it() -> None:
    """Terminal, report and Python warnings show this sentence."""
    assert FULL.sentence == (
        "the torque of 'elbow' is 8 ms late; it could also be: a slow filter of the torque "
        "(--accept delay)"
    )
