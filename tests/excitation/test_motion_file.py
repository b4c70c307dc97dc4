"""Motion files: written, read again, and read from strangers."""

from __future__ import annotations

import json
from contextlib import suppress

import jsonschema
import numpy as np
import pytest
from seeds import every
from stand_in_motion import stand_in

from steelyard._files.json_object import JsonObject
from steelyard.errors import SignalError, SteelyardError
from steelyard.excitation.extremes import QUANTITIES
from steelyard.excitation.files.motion_file import (
    motion_document,
    motion_text,
    read_motion,
    read_motion_schema,
)
from steelyard.excitation.files.trajectory_json import KINDS, read_trajectory, trajectory_data
from steelyard.excitation.motions.fourier import multisine
from steelyard.excitation.motions.polynomial import quintic
from steelyard.excitation.motions.sequence import SequenceTrajectory
from steelyard.excitation.motions.slowed import SlowedTrajectory
from steelyard.model.model import Model
from steelyard.testing.random_robots import random_robot


@pytest.fixture(scope="module")
def document() -> dict:
    """A motion file of a small robot, as plain data."""
    model = Model(random_robot(np.random.default_rng(0), 2))
    return motion_document(stand_in(model), model.robot)


def written(folder, document) -> str:
    """The document as a file."""
    path = folder / "motion.json"
    path.write_text(motion_text(document) if isinstance(document, dict) else document)
    return str(path)


def fields_of(trajectory) -> list:
    """A trajectory through JSON text and back."""
    return json.loads(json.dumps(trajectory_data(trajectory)))


@every("seed", range(8))
def test_every_kind_of_trajectory_is_the_same_after_reading(seed):
    """Positions and derivatives are equal to the last bit."""
    rng = np.random.default_rng(seed)
    sines = multisine(random_robot(rng, 3), seed=seed)
    move = quintic(sines.joints, 1.3, rng.normal(size=(3, 3)), rng.normal(size=(3, 3)))
    both = SequenceTrajectory((move, sines), (1.3, 7.0), (0.0, 2.0))
    for one in (sines, move, both, SlowedTrajectory(both, 0.3)):
        data = JsonObject.of(fields_of(one), "file", SignalError)
        again = read_trajectory(data, one.joints)
        assert type(again) is type(one)
        assert again.duration_s == one.duration_s
        time = rng.uniform(0.0, one.duration_s, size=20)
        for order in range(4):
            np.testing.assert_array_equal(
                again.derivative(time, order), one.derivative(time, order)
            )


def test_a_motion_file_states_what_is_proven_and_the_reader_proves_it_again(tmp_path, document):
    """Limits and bounds come back; bounds are those of the coefficients, not of the text."""
    model = Model(random_robot(np.random.default_rng(0), 2))
    designed = stand_in(model)
    lies = json.loads(json.dumps(document))
    lies["proven"]["extremes"]["velocity"] = dict.fromkeys(document["joints"], 1e-3)
    for text in (document, lies):
        found = read_motion(written(tmp_path, text))
        for quantity in QUANTITIES:
            np.testing.assert_array_equal(
                found.extremes.of(quantity), designed.extremes.of(quantity)
            )
            np.testing.assert_array_equal(found.limits.of(quantity), designed.limits.of(quantity))
        assert found.holds
        assert found.robot == "random"
        assert found.rate_hz == 200.0
    assert document["schema"] == "steelyard.motion/1"
    assert document["proven"]["within_limits"] is True
    assert document["proven"]["torque"]["resolution_s"] == 0.005
    assert {one["verdict"] for one in document["predicted"]["parameters"]} <= {
        "well",
        "roughly",
        "not",
    }


def test_motion_files_follow_the_published_schema(document):
    """The schema accepts every kind of trajectory, and refuses one that the reader refuses."""
    validator = jsonschema.Draft202012Validator(read_motion_schema())
    validator.validate(document)
    sines = multisine(random_robot(np.random.default_rng(0), 2))
    move = quintic(sines.joints, 1.3, np.zeros((3, 2)), np.ones((3, 2)))
    both = SequenceTrajectory((move, sines), (1.3, 7.0))
    for one in (move, both, SlowedTrajectory(both, 0.3)):
        validator.validate(edit(document, "trajectory", fields_of(one)))
    assert {kind.name for kind in KINDS} == {"fourier", "polynomial", "sequence", "slowed"}
    for path, value, _ in WRONG[:1] + WRONG[6:9]:
        assert not validator.is_valid(edit(document, path, value))


def test_a_changed_coefficient_is_found_out(tmp_path, document):
    """A motion that exceeds the limits in its own file is read, and says that they do not hold."""
    changed = json.loads(json.dumps(document))
    changed["trajectory"]["a"][0][0] += 100.0
    found = read_motion(written(tmp_path, changed))
    assert not found.holds


def edit(document: dict, path: str, value: object) -> dict:
    """The document with another value at a path such as trajectory.a."""
    changed = json.loads(json.dumps(document))
    *parents, last = path.split(".")
    place = changed
    for key in parents:
        place = place[key]
    if value is KeyError:
        del place[last]
    else:
        place[last] = value
    return changed


WRONG = [
    ("schema", "steelyard.motion/2", "is not a motion file"),
    ("schema", 3, "it has no schema"),
    ("joints", [], "'joints' has 0 names"),
    ("joints", ["joint_1", "joint_1"], "names a joint twice"),
    ("joints", ["joint_1", "a\nb"], "is not a name"),
    ("joints", ["joint_1"], "has shape"),
    ("trajectory", KeyError, "'trajectory' is missing"),
    ("trajectory", [1], "must be an object"),
    ("trajectory.kind", "spline", "there is no kind 'spline'"),
    ("trajectory.kind", KeyError, "there is no kind 'None'"),
    ("trajectory.a", "x", "'a' must be a table of 2 dimensions of finite numbers"),
    ("trajectory.a", [[1.0], [1.0, 2.0]], "'a' must be a table"),
    ("trajectory.a", [], "'a' must be a table"),
    ("trajectory.a", [[1.0], [True]], "'a' must be a table"),
    ("trajectory.a", [[10**400], [1.0]], "'a' must be a table"),
    ("trajectory.a", [[1.0], [2.0]], "a has shape"),
    ("trajectory.omega_rad_s", 0.0, "must be positive"),
    ("trajectory.omega_rad_s", None, "'omega_rad_s' is missing"),
    ("trajectory.omega_rad_s", "1", "must be a finite number"),
    ("limits", KeyError, "'limits' is missing"),
    ("limits.velocity", {"joint_1": 1.0}, "one number for each of joint_1, joint_2"),
    ("limits.jerk", {"elbow": 1.0}, "one number for each of joint_1, joint_2"),
    ("limits.lower", {"joint_1": 9.0, "joint_2": 0.0}, "cannot move"),
    ("limits.upper", {"joint_1": None, "joint_2": 0.0}, "one number for each"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "message"), WRONG)
def test_a_damaged_file_is_an_error_that_says_where(tmp_path, document, path, value, message):
    """Each wrong entry gives one named error, never another exception."""
    with pytest.raises(SignalError, match=message) as raised:
        read_motion(written(tmp_path, edit(document, path, value)))
    assert "motion.json" in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "it has no schema"),
        ('{"schema": NaN}', "it has no schema"),
        ("\x00\x01", "is not JSON"),
    ],
)
def test_a_foreign_file_is_no_motion(tmp_path, text, message):
    """Bytes that are no JSON, and JSON that is no motion."""
    with pytest.raises(SignalError, match=message):
        read_motion(written(tmp_path, text))
    with pytest.raises(SignalError, match="no such file"):
        read_motion(tmp_path / "none.json")


def test_huge_and_deeply_nested_trajectories_are_refused(tmp_path, document):
    """Numbers that overflow when they are bounded, and slowed motions of slowed motions."""
    huge = edit(document, "trajectory.omega_rad_s", 1e200)
    huge["trajectory"]["a"][0][0] = 1e300
    with pytest.raises(SignalError, match="too large"):
        read_motion(written(tmp_path, huge))
    inner = document["trajectory"]
    for _ in range(20):
        inner = {"kind": "slowed", "speed": 0.9, "trajectory": inner}
    with pytest.raises(SignalError, match="nested more than"):
        read_motion(written(tmp_path, edit(document, "trajectory", inner)))


def test_a_message_names_the_file_once_and_a_motion_is_one_line(tmp_path, document):
    """Also for a mistake deep inside nested trajectories."""
    path = written(tmp_path, document)
    assert repr(read_motion(path)).startswith("<MotionFile of 'random': 5 s of 2 joints; within")
    wrong = {**document["trajectory"], "omega_rad_s": -1.0}
    for _ in range(3):
        wrong = {"kind": "slowed", "speed": 0.9, "trajectory": wrong}
    with pytest.raises(SignalError, match="base frequency is -1") as refusal:
        read_motion(written(tmp_path, edit(document, "trajectory", wrong)))
    assert str(refusal.value).count("motion.json") == 1
    assert str(refusal.value).count("'trajectory'") == 4


@every("seed", range(150))
def test_random_damage_is_never_another_exception(tmp_path_factory, document, seed):
    """Whatever byte is changed, the file is read or refused by a named error."""
    rng = np.random.default_rng(seed)
    text = bytearray(motion_text(document).encode())
    small = text[: text.index(b'"proven"')] + b'"steelyard_end": 0}'
    for _ in range(rng.integers(1, 4)):
        small[rng.integers(len(small))] = rng.choice(list(b'0123456789.-e"[]{},:x \x00'))
    path = tmp_path_factory.getbasetemp() / "damaged.json"
    path.write_bytes(bytes(small))
    with suppress(SteelyardError):
        read_motion(path)
