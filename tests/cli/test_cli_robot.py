"""Options that change the robot of a command: locked joints and angles as written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from gantry import GANTRY
from small_arm import JOINT, URDF, arm_log, write_arm

from steelyard.cli import main
from steelyard.logs.reading import read_log
from steelyard.logs.writer_csv import write_csv
from steelyard.robot.robot import Robot

QUICK = ("--method", "ols", "--cutoff-hz", "10", "--torque-filter", "same", "--dead-band", "tenth")
FINGER = (
    '<link name="finger"/>'
    + JOINT.format(name="grip", parent="fore", child="finger", xyz="0.1 0 0", axis="0 0 1").replace(
        'lower="-2.5"', 'lower="0.5"'
    )
    + "</robot>"
)


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, Path]:
    """The small arm with a finger that is not recorded (its limits exclude 0), and two logs."""
    folder = tmp_path_factory.mktemp("arm")
    paths = {"robot": write_arm(folder, URDF.replace("</robot>", FINGER)), "folder": folder}
    arm = Robot.from_urdf_text(URDF)
    for seed, name in ((1, "train"), (2, "test")):
        paths[name] = folder / f"{name}.csv"
        write_csv(arm_log(arm, seed, name=name), paths[name])
    return paths


def run(capsys, *argv) -> tuple[int, str, str]:
    code = main([str(part) for part in argv])
    out, err = capsys.readouterr()
    return code, out, err


def found(document, code) -> list[str]:
    return [finding["words"] for finding in document["findings"] if finding["code"] == code]


def test_joints_that_were_not_recorded(capsys, files):
    """Refused with the option to give; with it, result and validation have the joint locked."""
    robot, train, test = files["robot"], files["train"], files["test"]
    code, _, err = run(capsys, "identify", robot, train, *QUICK)
    assert code == 2
    assert "lacks joints of robot 'small arm': grip" in err
    assert "--lock unrecorded" in err
    assert "--lock grip=POSITION" in err
    out = files["folder"] / "out"
    options = (*QUICK, "--json", "-o", out)
    code, text, _ = run(capsys, "identify", robot, train, "--lock", "unrecorded", *options)
    assert code == 0
    document = json.loads(text)
    assert document["robot"]["locked"] == {"grip": 1.5}
    assert "grip at 1.5" in found(document, "locked-joints")[0]
    # the result states it: with the same option, with the value, or with none
    for lock in ((), ("--lock", "unrecorded"), ("--lock", "grip=1.5")):
        code, text, err = run(capsys, "validate", robot, out / "result.json", test, "--json", *lock)
        assert (code, err) == (0, "")
        assert "grip at 1.5" in found(json.loads(text), "locked-joints")[0]
    code, _, err = run(capsys, "validate", robot, out / "result.json", test, "--lock", "grip=1")
    assert code == 2
    assert "joint 'grip' is locked at 1, but the result was obtained with it locked at 1.5" in err
    code, _, _ = run(capsys, "base", "test", out / "result.json", robot)
    assert code in (0, 1)


def test_joints_locked_by_name(capsys, files):
    """With and without the others that were not recorded."""
    options = ("--lock", "grip=0.7", *QUICK, "--json")
    for more in ((), ("--lock", "unrecorded")):
        code, text, _ = run(capsys, "identify", files["robot"], files["train"], *options, *more)
        assert code == 0
        assert json.loads(text)["robot"]["locked"] == {"grip": 0.7}


@pytest.mark.parametrize(
    ("locks", "words"),
    [
        (("grip",), "--lock is 'grip'; it must be JOINT=POSITION (rad or m), or unrecorded"),
        (("=1",), "--lock is '=1'; it must be"),
        (("grip=far",), "--lock is 'grip=far'; it must be"),
        (("grip=1", "grip=2"), "--lock is given twice for joint 'grip'"),
        (("gripp=1",), "has no joint 'gripp' (did you mean 'grip'?)"),
        (("grip=nan",), "joint 'grip' cannot be locked at nan"),
    ],
)
def test_wrong_locks_are_one_line(capsys, files, locks, words):
    """Refused with code 2, in one line that says what and what to do."""
    options = [part for lock in locks for part in ("--lock", lock)]
    code, _, err = run(capsys, "identify", files["robot"], files["train"], *options)
    assert code == 2
    assert words in err
    assert err.count("\n") == 1


def test_simulate_with_locked_joints(capsys, files):
    """A motion without the finger locks it; without a motion, positions are needed."""
    out = files["folder"] / "simulated.csv"
    options = ("-o", out, "--controller", "ideal", "--duration-s", "2", "--rate-hz", "100")
    motion = (files["robot"], files["train"])
    code, text, _ = run(capsys, "simulate", *motion, *options, "--lock", "unrecorded")
    assert code == 0
    assert "grip at 1.5" in text
    assert set(read_log(out).joints) == {"shoulder", "elbow"}
    code, _, err = run(capsys, "simulate", files["robot"], *options, "--lock", "unrecorded")
    assert code == 2
    assert "--lock unrecorded needs a log" in err


def test_angles_and_offsets(capsys, tmp_path):
    """Rounded angles are turned unless kept, and the note on an offset is in the result."""
    text = GANTRY.replace('<origin xyz="0 0 0.2"/>', '<origin xyz="0 0 0.2" rpy="1.5708 0 0"/>')
    text = text.replace('"y" type="prismatic"', '"y" type="revolute"')
    robot = write_arm(tmp_path, text)
    log = tmp_path / "run.csv"
    write_csv(arm_log(Robot.from_urdf_text(text), 1), log)
    turned, kept = (
        json.loads(run(capsys, "identify", robot, log, *QUICK, "--json", *more)[1])
        for more in ((), ("--keep-angles",))
    )
    assert [joint["joint"] for joint in turned["robot"]["turned"]] == ["x", "y", "z"]
    assert kept["robot"]["turned"] == []
    assert "y roll 1.5708 to 1.570796327" in found(turned, "right-angles")[0]
    assert found(kept, "right-angles") == []
    assert len(kept["estimate"]["parameters"]) > len(turned["estimate"]["parameters"])

    gantry = write_arm(tmp_path, GANTRY, "gantry.urdf")
    write_csv(arm_log(Robot.from_urdf(gantry), 1), log)
    document = json.loads(run(capsys, "identify", gantry, log, *QUICK, "--json")[1])
    assert found(document, "offset-left-out")[0].startswith("the offset of z was left out")


def test_check_takes_locked_joints(capsys, tmp_path):
    """The same option as of identify: a note, the same verdicts, the same refusals."""
    robot = write_arm(tmp_path)
    _, plain, _ = run(capsys, "check", robot, "--json")
    code, text, _ = run(capsys, "check", robot, "--lock", "elbow=0.3", "--json")
    assert code == 0
    (before,), (after,) = (json.loads(one)["files"] for one in (plain, text))
    (note,) = after.pop("notes")
    assert "elbow at 0.3" in note
    assert before.pop("notes") == []
    assert before == after
    for given, words in (
        ("knee=0", "knee"),
        ("elbow", "must be JOINT=POSITION"),
        ("unrecorded", "needs a log"),
    ):
        code, _, err = run(capsys, "check", robot, "--lock", given)
        assert code == 2
        assert words in err
        assert err.count("\n") == 1
