"""What findings say mends them is what a user can type: an option of `steelyard identify`."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from small_arm import arm_log, write_arm

import steelyard
from steelyard.cli.parser import CommandLineError, build_parser
from steelyard.diagnosis.checked_log import check_log
from steelyard.logs.log import Log
from steelyard.logs.reading import read_log
from steelyard.robot.robot import Robot

SOURCE = Path(steelyard.__file__).parent


def parsed(option: str):
    """The arguments of `identify` with this option."""
    return build_parser().parse_args(["identify", "robot.urdf", "log.csv", *shlex.split(option)])


def stated_options() -> Iterator[tuple[str, str]]:
    """Where a finding gets an option from literal text, and the start of that text."""
    for path in sorted((SOURCE / "diagnosis").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            keyword = isinstance(node, ast.keyword) and node.arg == "option"
            named = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "option"
            if not (keyword or named):
                continue
            value = node.value
            texts = [
                one.value
                for one in ast.walk(value)
                if isinstance(one, ast.Constant) and isinstance(one.value, str)
            ]
            first = next((text for text in texts if text.strip()), "")
            if first:
                yield f"{path.name}:{value.lineno}", first


def test_every_option_that_a_finding_states_exists() -> None:
    """It starts with the name of an option, not with prose."""
    found = dict(stated_options())
    assert len(found) >= 6
    for where, text in found.items():
        name = text.split()[0]
        with pytest.raises(CommandLineError) as refused:
            parsed(f"{name} --no-such-option")
        assert f"unrecognized arguments: {name}" not in str(refused.value), (where, text)
        assert name.startswith("--"), (where, text)


@pytest.mark.parametrize("kind", ["ms", "degrees", "still"])
def test_options_of_findings_are_parsed(kind: str, tmp_path: Path) -> None:
    """As a whole, with their values."""
    robot = Robot.from_urdf(write_arm(tmp_path))
    clean = arm_log(robot, 1)
    signals, time = dict(clean.signals), clean.time
    if kind == "ms":
        time = 1e3 * time
    elif kind == "degrees":
        for name in robot.joint_names:
            signals[name, "position"] = np.degrees(signals[name, "position"])
    else:
        signals["elbow", "position"] = np.zeros(len(clean))
    options = [one.option for one in check_log(Log(time, signals), robot).findings if one.option]
    assert options
    for option in options:
        parsed(option)


def test_degrees_of_one_joint_are_mended_by_the_option(tmp_path: Path) -> None:
    """It names that joint's column as the file does, and leaves all other joints as they are."""
    robot = Robot.from_urdf(write_arm(tmp_path))
    clean = arm_log(robot, 1)
    names = robot.joint_names
    data = {"t": clean.time}
    for k, joint in enumerate(names):
        data[f"pos {k}"] = clean.signals[joint, "position"]
        data[f"tau{k}"] = clean.signals[joint, "torque"]
    data["pos 1"] = np.degrees(data["pos 1"])
    path = tmp_path / "log.csv"
    rows = np.column_stack(list(data.values()))
    np.savetxt(path, rows, delimiter=",", header=",".join(data), comments="")
    columns = {f"{joint}.position": f"pos {k}" for k, joint in enumerate(names)}
    columns |= {f"{joint}.torque": f"tau{k}" for k, joint in enumerate(names)}
    found = check_log(read_log(path, columns=columns), robot).findings
    option = next(one.option for one in found if one.code == "position-unit")
    assert option == f"--map '{names[1]}.position[deg]=pos 1'"
    assert parsed(option).map == [f"{names[1]}.position[deg]=pos 1"]
    del columns[f"{names[1]}.position"]
    mended = read_log(path, columns=columns | {f"{names[1]}.position[deg]": "pos 1"})
    assert all(one.code != "position-unit" for one in check_log(mended, robot).findings)


def test_a_column_that_states_a_wrong_unit_is_to_be_renamed(tmp_path: Path) -> None:
    """No option overrules the unit in a column's name, so none is given."""
    robot = Robot.from_urdf(write_arm(tmp_path))
    clean = arm_log(robot, 1)
    signals = {
        key: np.degrees(x) if key[1] == "position" else x for key, x in clean.signals.items()
    }
    columns = {key: ".".join(key) + "[rad]" for key in signals if key[1] == "position"}
    found = check_log(Log(clean.time, signals, columns=columns), robot).findings
    finding = next(one for one in found if one.code == "position-unit")
    assert finding.option == ""
    assert f"'{robot.joint_names[0]}.position[rad]' states a wrong unit" in finding.words
