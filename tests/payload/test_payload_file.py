"""payload.json: what is written, and what is refused when a stranger's file is read."""

from __future__ import annotations

import copy
import json
import math
import os
from dataclasses import replace

import jsonschema
import numpy as np
import pytest
from project import DOCS
from weighed_payload import opened, weighed, without_inertia

from steelyard.errors import EstimationError, ResultError
from steelyard.payload.known_payload import known_payload
from steelyard.payload.payload_file import (
    payload_document,
    payload_text,
    read_payload,
    read_payload_schema,
)
from steelyard.robot.inertia import from_com

JUNK = (None, 7, -1e308, 10**400, "text", True, [], [1], [[1]], {}, {"value": 3}, math.pi)


def written(tmp_path, document) -> str:
    path = tmp_path / "payload.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("seed", range(5))
def test_what_is_written_follows_the_schema_and_reads_back_the_same(seed, tmp_path):
    """Every number comes back bit for bit; the body is made again of the ten parameters."""
    for estimate in (weighed(seed=seed), without_inertia(weighed(seed=seed))):
        text = payload_text(estimate)
        jsonschema.Draft202012Validator(read_payload_schema()).validate(json.loads(text))
        path = tmp_path / "payload.json"
        path.write_text(text, encoding="utf-8")
        found = read_payload(path)
        assert payload_document(found) == payload_document(estimate)
        assert found.phi.tobytes() == estimate.phi.tobytes()


def test_massless_and_flat_bodies_are_kept(tmp_path):
    """Bodies at the edge of what is physical are bodies."""
    for phi in (np.zeros(10), from_com(0.4, [0.1, 0.0, 0.2], np.diag([0.001, 0.002, 0.003]))):
        found = read_payload(written(tmp_path, payload_document(weighed(phi))))
        assert found.phi.tolist() == phi.tolist()


def test_every_field_of_the_schema_is_described(docs_text):
    """The page on payloads names every field of the file."""
    schema = read_payload_schema()
    names = set(schema["properties"]) | set(schema["$defs"]["values"]["items"]["properties"])
    assert [name for name in sorted(names) if f"`{name}`" not in docs_text] == []


@pytest.fixture
def docs_text() -> str:
    return (DOCS / "payload.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"schema": "steelyard.result/1"}, "its schema is 'steelyard.result/1'"),
        ({"schema": None}, "it has no schema"),
        ({"inertial_parameters": [1.0] * 9}, "must be ten numbers"),
        ({"inertial_parameters": [1.0, *[None] * 9]}, "must be ten numbers"),
        ({"inertial_parameters": [-1.0, *[0.0] * 9]}, "mass"),
        ({"inertial_parameters": [1, 0, 0, 0, 1, 0, 1, 0, 0, 9]}, "triangle|sum of"),
        ({"frame": ""}, "which is no name"),
        ({"frame": None}, "has no 'frame'"),
        ({"mode": "guess"}, "must be one of ft, joints"),
        ({"solver": "magic"}, "must be one of sdp, manifold"),
        ({"interval_level": 1.5}, "between 0 and 1"),
        ({"values": [{"name": "m", "unit": "kg", "kind": "confidence"}]}, "has no 'value'"),
        ({"values": [{"name": "m", "unit": "kg", "value": 1, "kind": "sure"}]}, "must be one of"),
        ({"values": 3}, "'values' must be a list"),
    ],
)
def test_wrong_entries_are_named(change, says, tmp_path):
    """The message says which entry is wrong."""
    path = written(tmp_path, {**payload_document(weighed()), **change})
    with pytest.raises(ResultError, match=says):
        read_payload(path)


def test_no_entry_of_a_strangers_file_gives_a_traceback(tmp_path):
    """Whatever stands in place of any entry, the file is read or refused by name."""
    document = payload_document(weighed())
    messages = []
    for key, value in document.items():
        places = [(key,)]
        if isinstance(value, list) and value and isinstance(value[0], dict):
            places += [(key, 0), *((key, 0, inner) for inner in value[0])]
        for place in places:
            for junk in JUNK:
                changed = copy.deepcopy(document)
                target = changed
                for step in place[:-1]:
                    target = target[step]
                target[place[-1]] = junk
                try:
                    read_payload(written(tmp_path, changed))
                except ResultError as error:
                    messages.append(str(error))
    assert len(messages) > 200
    assert all("payload.json" in message for message in messages)


def test_files_that_are_no_json_are_refused(tmp_path):
    """Texts, folders, deep nesting and files that are not there give one line."""
    for content in ("", "{", "[" * 100_000, "[]", "3", '{"schema": NaN}'):
        path = tmp_path / "payload.json"
        path.write_text(content, encoding="utf-8")
        with pytest.raises(ResultError):
            read_payload(path)
    for place in (tmp_path, tmp_path / "absent.json", os.devnull):
        with pytest.raises(ResultError):
            read_payload(place)


def test_a_weighed_payload_is_a_known_one():
    """The ten parameters and the sigma of the mass go over; a mass that is not known is refused."""
    estimate = weighed()
    known = known_payload(estimate)
    assert known.link == "flange"
    assert known.inertial.tolist() == estimate.phi.tolist()
    assert known.mass_sigma == estimate.value("m").sigma
    assert known_payload(estimate, link="hand").link == "hand"
    assert known.known
    still = known_payload(without_inertia(estimate))
    assert (still.com_known, still.inertia_known) == (True, False)
    lever = known_payload(opened(estimate, "cy"))
    assert (lever.com_known, lever.inertia_known) == (False, True)
    values = tuple(
        replace(value, kind="feasible range", sigma=None) if value.name == "m" else value
        for value in estimate.values
    )
    with pytest.raises(EstimationError, match="mass of the payload at 'flange'"):
        known_payload(replace(estimate, values=values))
