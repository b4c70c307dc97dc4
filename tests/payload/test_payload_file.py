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


def with_value(name, changes):
    """The document of a weighed payload with one of its values changed."""
    document = payload_document(weighed())
    entry = next(one for one in document["values"] if one["name"] == name)
    entry.update(changes)
    return document


@pytest.mark.parametrize(
    ("name", "changes", "says"),
    [
        ("m", {"value": 77.0, "lower": 76.0, "upper": 78.0}, "states m = 77 kg, but 'inertial"),
        ("m", {"value": 77.0}, "outside of its own limits"),
        ("cy", {"lower": 9.0, "upper": -9.0}, "lower limit 9 above the upper one, -9"),
        ("cx", {"sigma": -5.0}, "must not be negative"),
        ("cx", {"sigma": None}, "'sigma' is missing"),
        ("cx", {"kind": "feasible range"}, "belongs to the kind 'confidence'"),
        ("cx", {"kind": "feasible range", "sigma": None, "lower": None}, "which has limits"),
        ("Ixx", {"kind": "not determined", "sigma": None}, "'not determined', but has limits"),
        ("Ixx", {"name": "m"}, "'values' has no Ixx"),
        ("Ixx", {"name": "height"}, "'values' has no Ixx"),
    ],
)
def test_values_that_contradict_themselves_are_refused(name, changes, says, tmp_path):
    """Values against the ten parameters, limits against their kind, names that are missing."""
    with pytest.raises(ResultError, match=says):
        read_payload(written(tmp_path, with_value(name, changes)))


def test_repeated_and_unknown_names_are_refused(tmp_path):
    """Two values of one name, in one list or in both, and values that no body has."""
    document = payload_document(weighed())
    first = document["values"][0]
    for key, entry, says in (
        ("values", first, "two values of the name 'm'"),
        ("others", first, "two values of the name 'm'"),
        ("values", {**first, "name": "height"}, "has 'height'; it can have m, cx"),
        ("others", {**first, "name": "a\nb"}, "is no name of a value"),
    ):
        changed = {**document, key: [*document[key], entry]}
        with pytest.raises(ResultError, match=says):
            read_payload(written(tmp_path, changed))


@pytest.mark.parametrize(
    ("key", "junk", "says"),
    [
        ("mass", 3.3, "'mass' states 3.3, which is not the body"),
        ("mass", None, "has no 'mass'"),
        ("com", [1.0, 2.0, 3.0], "'com' states 1, 2, 3"),
        ("second_moments", [0.0, 0.0, 0.0], "'second_moments' states"),
        ("second_moments", [1e200, 0.0, 0.0], "'second_moments' states"),
        ("principal_axes", [[1, 0, 0], [0, 1, 0], [0, 1, 0]], "not a rotation matrix"),
        ("principal_axes", [[1, 0, 0], [0, 1, 0]], "three rows"),
        ("box", {"half_sizes": [1.0, 1.0, 1e250], "density": 1.0}, "'box' states"),
        ("box", "a box", "must be an object"),
        ("values", [], "'values' has no m, cx"),
        ("values", None, "'values' has no m, cx"),
        ("excess", -1.0, "'excess' is -1"),
        ("relative_error", -1.0, "'relative_error' is -1"),
    ],
)
def test_another_body_in_the_same_file_is_refused(key, junk, says, tmp_path):
    """Mass, centre, axes and box are those of the ten parameters."""
    with pytest.raises(ResultError, match=says):
        read_payload(written(tmp_path, {**payload_document(weighed()), key: junk}))


@pytest.mark.parametrize("factor", [1e200, 1e-310])
def test_impossible_masses_are_refused(factor, tmp_path):
    """1e200 kg and a mass that is no normal number, without a warning of NumPy."""
    document = payload_document(weighed())
    document["inertial_parameters"] = [factor * x for x in document["inertial_parameters"]]
    with pytest.raises(ResultError, match="state a mass of"):
        read_payload(written(tmp_path, document))


def test_a_file_of_many_megabytes_is_refused(tmp_path):
    """It is not parsed, which would take a hundred times its size."""
    path = tmp_path / "payload.json"
    path.write_text('{"others": [' + "{}," * 2_000_000 + "{}]}", encoding="utf-8")
    with pytest.raises(ResultError, match="larger than 4"):
        read_payload(path)


def test_a_payload_without_values_is_not_known():
    """Refused by name, since nothing says what the data determine."""
    with pytest.raises(EstimationError, match="'flange' has no values of m, cx"):
        known_payload(replace(weighed(), values=()))


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
