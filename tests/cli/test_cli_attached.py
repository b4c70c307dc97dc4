"""--attached on the command line: recorded in the result, shown in the terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from gripper_arm import gripper_log, gripper_urdf

from steelyard.cli import main
from steelyard.estimators.result_file import read_result
from steelyard.logs.writer_csv import write_csv
from steelyard.robot.robot import Robot

FAST = ["--gamma", "100", "--resamples", "0", "--no-ranges", "--no-term-comparison"]
FAST += [
    "--friction-width",
    "0",
    "--cutoff-hz",
    "10",
    "--dead-band",
    "tenth",
    "--torque-filter",
    "same",
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("gripper")
    robot, log = folder / "arm.urdf", folder / "run.csv"
    robot.write_text(gripper_urdf(), encoding="utf-8")
    write_csv(gripper_log(Robot.from_urdf(robot)), log)
    return robot, log


@pytest.mark.parametrize("rule", ["keep", "lump"])
def test_the_rule_is_recorded_and_shown(files, rule, tmp_path, capsys) -> None:
    """Without the option attached links keep their inertials."""
    option = [] if rule == "keep" else ["--attached", rule]
    out = tmp_path / "out"
    assert main(["identify", *map(str, files), "-o", str(out), *FAST, *option]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"Bodies of several links (--attached {rule})" in shown
    assert ("keep the robot file's 0.9 kg" if rule == "keep" else "are emptied") in shown
    assert read_result(out / "result.json").attached == rule
    document = json.loads((out / "result.json").read_text(encoding="utf-8"))
    assert document["standard"]["merged_bodies"]["rule"] == rule
    document["standard"]["merged_bodies"]["rule"] = "weld"
    (out / "result.json").write_text(json.dumps(document), encoding="utf-8")
    capsys.readouterr()
    assert main(["validate", str(files[0]), str(out / "result.json"), str(files[1])]) == 2
    assert "there is no rule 'weld' for attached links" in capsys.readouterr().err


def test_an_unknown_rule_lists_the_rules(files, capsys) -> None:
    """One line, and the exit code of a wrong option."""
    assert main(["identify", *map(str, files), "--attached", "weld"]) == 2
    assert "'auto', 'keep', 'lump'" in capsys.readouterr().err
