"""The mistakes of new users on an xArm7, a Panda and UR arms: each is named, none is *usable*.

Torques are Pinocchio's (`benchmarks/mistake_arms.py`); logs are read from CSV files as the
recorders of these robots write them. `python benchmarks/mistakes.py` runs every joint and more
seeds.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from robot_files import example_urdfs

from steelyard.cli import main

pytest.importorskip("pinocchio")

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
SEED, SECONDS = 11, 20.0
JOINT = {"xarm7": 3, "panda": 1, "ur5": 1}
"""The joint, and the first of two, that a mistake is about here: one that carries weight. The zero
of a UR5's elbow, beside two parallel axes, could as well be a forearm with its centre elsewhere."""


@pytest.fixture(scope="module")
def mistakes() -> Iterator[SimpleNamespace]:
    """Arms and mistakes of the benchmark; a skip where their files are not installed."""
    if "xarm7.urdf" not in {path.name for path in example_urdfs()}:
        pytest.skip("this example-robot-data has no xArm7")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield SimpleNamespace(
            runs=importlib.import_module("mistakes"), kinds=importlib.import_module("mistake_kinds")
        )


@pytest.fixture(scope="module")
def recorded(mistakes: SimpleNamespace) -> dict:
    """A right recording of every arm."""
    arms = mistakes.runs.ARMS
    return {arm: mistakes.runs.recording(arm, SEED, SECONDS) for arm in arms}


def mistake_named(mistakes: SimpleNamespace, name: str):
    return next(one for one in mistakes.kinds.MISTAKES if one.name == name)


def joints_of(mistakes: SimpleNamespace, name: str, arm: str) -> tuple[int, ...]:
    """The joints that a mistake is about here."""
    choices = mistake_named(mistakes, name).joints(mistakes.runs.ARMS[arm])
    return next((one for one in choices if one[:1] == (JOINT[arm],)), choices[0])


CASES = [
    ("axis-flipped", ("xarm7", "ur5")),
    ("motor-side", ("panda", "ur5")),
    ("ur10-file", ("ur5",)),
    ("ur3-file", ("ur5",)),
    ("late-8-ms", ("panda", "ur5")),
    ("late-20-ms", ("xarm7", "ur5")),
    ("torque-20-percent", ("panda", "ur5")),
    ("zero-off", ("xarm7", "ur5")),
    ("joints-swapped", ("panda", "ur5")),
    ("currents", ("xarm7", "ur5")),
    ("time-in-ms", ("xarm7", "panda", "ur5")),
    ("time-in-ns", ("xarm7", "panda", "ur5")),
    ("torques-swapped", ("panda", "ur5")),
    ("spikes", ("xarm7", "ur5")),
    ("frozen", ("panda", "ur5")),
    ("degrees", ("xarm7", "panda", "ur5")),
    ("reversed", ("xarm7", "ur5")),
]


def test_there_are_17(mistakes: SimpleNamespace) -> None:
    """All mistakes of the benchmark are run here."""
    assert [one.name for one in mistakes.kinds.MISTAKES] == [name for name, _ in CASES]
    assert len(CASES) == 17


@pytest.mark.parametrize(
    ("name", "arm"), [(name, arm) for name, on in CASES for arm in on], ids=str
)
def test_mistake_is_named(mistakes: SimpleNamespace, recorded: dict, name: str, arm: str) -> None:
    """A finding names it and its joint; the run is refused or the verdict is not *usable*."""
    mistake, joints = mistake_named(mistakes, name), joints_of(mistakes, name, arm)
    handed = mistake.make(recorded[arm], np.random.default_rng(SEED), joints)
    said = mistakes.runs.outcome(handed, estimate=True)
    assert said.names(mistake, handed, joints), said
    assert said.error or said.verdict in ("usable with care", "do not use"), said


@pytest.mark.parametrize("arm", ["xarm7", "panda", "ur5"])
def test_right_input_gives_no_alarm(
    mistakes: SimpleNamespace,
    recorded: dict,
    arm: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exit code 0, and nothing is found; joints that only have numbers are a note."""
    robot, log = mistakes.kinds.write(recorded[arm], tmp_path)
    lock = ["--lock", "unrecorded"] if arm == "panda" else []
    assert main(["logs", "check", str(robot), str(log), *lock, "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["logs"]
    assert [finding for finding in one["findings"] if finding["level"] != "info"] == []


def test_plain_command_on_right_input(
    mistakes: SimpleNamespace,
    recorded: dict,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Identify without an option: exit code 0, a result that is fit for use, no fault named."""
    robot, log = mistakes.kinds.write(recorded["ur5"], tmp_path)
    assert main(["identify", str(robot), str(log), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["verdict"]["level"] != "do not use"
    codes = {one["code"] for one in result["findings"] if one["level"] != "info"}
    assert codes <= set(mistakes.runs.BESIDE)


@pytest.mark.parametrize("name", ["ur10-file", "currents", "time-in-ns"])
def test_plain_command_refuses(
    mistakes: SimpleNamespace,
    recorded: dict,
    name: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Identify without an option: exit code 2, one line with the cause and how to go on."""
    mistake = mistake_named(mistakes, name)
    handed = mistake.make(recorded["ur5"], np.random.default_rng(SEED), ())
    robot, log = mistakes.kinds.write(handed, tmp_path)
    assert main(["identify", str(robot), str(log), "-o", str(tmp_path / "out")]) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert any(f"--accept {code}" in line for code in mistake.codes)
    assert not list((tmp_path / "out").glob("*"))
