"""steelyard logs check: what is found is printed, and as JSON; severe findings give exit code 2."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_arm import arm_log, write_arm

from steelyard.cli import main
from steelyard.diagnosis.checked_log import check_log
from steelyard.errors import InputRefusedError, SteelyardError
from steelyard.identification.identify import identify
from steelyard.logs.log import Log
from steelyard.logs.writer_csv import write_csv
from steelyard.robot.robot import Robot
from steelyard.signals.processing import Processing


@pytest.fixture
def robot(tmp_path: Path) -> Robot:
    """The small arm, read from its file."""
    return Robot.from_urdf(write_arm(tmp_path))


def test_a_clean_log(tmp_path: Path, robot: Robot, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is found, exit code 0."""
    write_csv(arm_log(robot, 1), tmp_path / "run.csv")
    assert main(["logs", "check", str(tmp_path / "arm.urdf"), str(tmp_path / "run.csv")]) == 0
    assert "log 'run': 1001 samples in 10 s, nothing found" in capsys.readouterr().out


def test_a_severe_finding(tmp_path: Path, robot: Robot, capsys: pytest.CaptureFixture[str]) -> None:
    """Time in milliseconds without a label: exit code 2, and the facts are in the JSON object."""
    clean = arm_log(robot, 1)
    write_csv(Log(1e3 * clean.time, clean.signals, "ms"), tmp_path / "ms.csv")
    given = ["logs", "check", str(tmp_path / "arm.urdf"), str(tmp_path / "ms.csv"), "--json"]
    assert main(given) == 2
    (log,) = json.loads(capsys.readouterr().out)["logs"]
    (finding,) = log["findings"]
    assert (finding["level"], finding["code"], finding["size"]) == ("severe", "time-unit", 10.0)


def test_a_log_that_cannot_be_used_has_a_severe_finding(robot: Robot) -> None:
    """The reason is what `identify` would say, and what was found stands beside it."""
    clean = arm_log(robot, 1)
    signals = {**clean.signals, ("elbow", "position"): np.zeros(len(clean))}
    log = Log(clean.time, signals, "still")
    codes = [one.code for one in check_log(log, robot).findings]
    assert codes == ["not-usable", "dead-channel"]
    with pytest.raises(SteelyardError, match="never moves") as refused:
        identify(robot, log)
    assert [one.code for one in refused.value.findings] == ["dead-channel"]


def test_a_severe_finding_stops_identify_unless_it_is_accepted(
    tmp_path: Path, robot: Robot, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message names the option; with it the finding is in the result. Other logs count too."""
    clean = arm_log(robot, 1)
    late = Log(1e3 * clean.time, clean.signals, "ms")
    write_csv(late, tmp_path / "ms.csv")
    plain = ["--method", "ols", "--cutoff-hz", "5", "--friction-width", "0"]
    given = ["identify", str(tmp_path / "arm.urdf"), str(tmp_path / "ms.csv"), *plain]
    assert main(given) == 2
    error = capsys.readouterr().err
    assert "--accept time-unit" in error
    assert error.count("\n") == 1
    with pytest.raises(InputRefusedError) as refused:
        identify(robot, [clean, late], method="ols", processing=Processing(cutoff_hz=5.0))
    assert [one.code for one in refused.value.findings] == ["time-unit"]
    plain[3] = "0.005"
    code = main([*given[:3], *plain, "--accept", "time-unit", "--json"])
    assert code == 1
    result = json.loads(capsys.readouterr().out)
    assert {one["code"]: one["level"] for one in result["findings"]}["time-unit"] == "severe"
    assert result["verdict"]["level"] == "do not use"


@pytest.mark.parametrize("given", ["=3", "nonsense", "elbow=", "0.01,0.02"])
def test_delays_that_are_none_are_refused(
    given: str, tmp_path: Path, robot: Robot, capsys: pytest.CaptureFixture[str]
) -> None:
    """By name; "=3", which names no joint, is not a delay of all joints."""
    write_csv(arm_log(robot, 1), tmp_path / "run.csv")
    paths = [str(tmp_path / "arm.urdf"), str(tmp_path / "run.csv")]
    assert main(["logs", "check", *paths, "--torque-delay", given]) == 2
    assert f"--torque-delay is '{given}'; it must be a delay" in capsys.readouterr().err


def test_a_note_says_that_physics_was_not_checked(robot: Robot) -> None:
    """Without masses in the file, "nothing found" is about the signals alone."""
    clean = arm_log(robot, 1)
    flipped = {key: -x if key[1] == "torque" else x for key, x in clean.signals.items()}
    empty = replace(robot, links=tuple(replace(one, inertial=None) for one in robot.links))
    (note,) = check_log(Log(clean.time, flipped), empty).findings
    assert (note.level, note.code) == ("info", "physics-not-checked")
    assert "because its file states no masses" in note.words
    assert check_log(clean, robot).findings == ()
