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
