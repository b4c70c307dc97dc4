"""What findings say mends them is what a user can type: an option of `steelyard identify`."""

from __future__ import annotations

import ast
import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from small_arm import arm_log, write_arm

import steelyard
from steelyard.cli import main
from steelyard.cli.parser import CommandLineError, build_parser
from steelyard.diagnosis.checked_log import check_log
from steelyard.diagnosis.hypotheses.hypothesis import Suspect
from steelyard.diagnosis.hypotheses.remedies import MOVED, with_options
from steelyard.diagnosis.hypotheses.search import KINDS
from steelyard.excitation.motions.fourier import multisine
from steelyard.logs.log import Log
from steelyard.logs.reading import read_log
from steelyard.model.model import Model
from steelyard.robot.robot import Robot
from steelyard.simulation.builtin_arm import arm_urdf, builtin_arm
from steelyard.simulation.likely_truth import likely_truth
from steelyard.simulation.simulate import Controller, Sensors, simulate

SOURCE = Path(steelyard.__file__).parent


def parsed(option: str):
    """The arguments of `identify` with this option."""
    return build_parser().parse_args(["identify", "robot.urdf", "log.csv", *shlex.split(option)])


def stated_options() -> Iterator[tuple[str, str]]:
    """Where a finding gets an option from literal text, and the start of that text."""
    folders = SOURCE / "diagnosis", SOURCE / "signals" / "recorded"
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
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


def columns_as(names: tuple[str, ...], style: str) -> dict[tuple[str, str], str]:
    """Names of the columns of positions and torques: by joint, by number, or of a recorder's own
    that states units.
    """
    short = {"position": "q", "torque": "tau"}
    found = {
        "joint": lambda k, name, quantity: f"{name}.{quantity}",
        "number": lambda k, name, quantity: f"{short[quantity]}{k + 1}",
        "unit": lambda k, name, quantity: (
            f"{name}.{quantity}" + {"position": "[deg]", "torque": "[mN*m]"}[quantity]
        ),
    }[style]
    return {
        (name, quantity): found(k, name, quantity)
        for k, name in enumerate(names)
        for quantity in short
    }


def wrong_log(kind: str, clean: Log, names: tuple[str, ...]) -> dict[tuple[str, str], np.ndarray]:
    """Signals of the arm in which something is mixed up."""
    table = {
        quantity: np.column_stack([clean.signals[name, quantity] for name in names])
        for quantity in ("position", "torque")
    }
    n = len(names)
    if kind in ("torques-swapped", "joints-swapped"):
        table["torque"][:, [1, 2]] = table["torque"][:, [2, 1]]
    if kind in ("positions-swapped", "joints-swapped"):
        table["position"][:, [1, 2]] = table["position"][:, [2, 1]]
    if kind == "joints-reversed":
        table = {quantity: x[:, ::-1] for quantity, x in table.items()}
    if kind == "joints-shifted":
        table = {quantity: np.roll(x, 1, axis=1) for quantity, x in table.items()}
    if kind == "torque-scale":
        table["torque"] = 1e3 * table["torque"]
    if kind == "position-unit":
        table["position"] = table["position"] / (2.0 * np.pi)
    return {
        (names[k], quantity): np.ascontiguousarray(x[:, k])
        for quantity, x in table.items()
        for k in range(n)
    }


@pytest.fixture(scope="module")
def four_joints(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Robot, Log]:
    """Four joints of the built-in arm, its file, and a clean log."""
    robot = builtin_arm()
    robot = robot.lock({name: 0.3 for name in robot.joint_names[4:]})
    model = Model(robot)
    theta = likely_truth(
        model,
        torque_range=np.array([60.0, 80.0, 40.0, 40.0]),
        velocity=np.full(4, 2.0),
        acceleration=np.full(4, 8.0),
        seed=3,
    )
    log = simulate(
        model,
        theta,
        multisine(robot, seed=3),
        duration_s=12.0,
        rate_hz=200.0,
        controller=Controller(kind="ideal"),
        sensors=Sensors(torque_noise=0.1, encoder_step=2e-5),
        seed=3,
    )
    path = tmp_path_factory.mktemp("four") / "arm.urdf"
    path.write_text(arm_urdf(), encoding="utf-8")
    return path, robot, log


@pytest.mark.parametrize("style", ["joint", "number", "unit"])
@pytest.mark.parametrize("kind", [*MOVED, "torque-scale", "position-unit"])
def test_a_mixed_up_log_is_mended_by_the_option(
    kind: str, style: str, four_joints: tuple[Path, Robot, Log], tmp_path: Path, capsys
) -> None:
    """As it is printed, typed after the same command: nothing severe is found any more."""
    robot_file, robot, clean = four_joints
    names = columns_as(robot.joint_names, style)
    of_unit = {"position": 180.0 / np.pi, "torque": 1e3} if style == "unit" else {}
    signals = wrong_log(kind, clean, robot.joint_names)
    columns = {"time": clean.time} | {
        names[key]: x * of_unit.get(key[1], 1.0) for key, x in signals.items()
    }
    path = tmp_path / "log.csv"
    rows = np.column_stack(list(columns.values()))
    np.savetxt(path, rows, delimiter=",", header=",".join(columns), comments="", fmt="%.12g")
    lock = [f"--lock={name}=0.3" for name in robot.locked]
    check = ["logs", "check", str(robot_file), str(path), *lock, "--json"]
    assert main(check) == 2
    (one,) = json.loads(capsys.readouterr().out)["logs"]
    (finding,) = [found for found in one["findings"] if found["code"] == kind]
    if style == "unit" and kind in ("torque-scale", "position-unit"):
        assert "option" not in finding  # no option overrules the unit in a column's name
        assert any(words in finding["words"] for words in ("convert them", "state the unit"))
        return
    assert main([*check, *shlex.split(finding["option"])]) == 0


def test_every_finding_that_may_stop_a_run_says_what_to_do() -> None:
    """In words; the option, where there is one, depends on the log."""
    stopping = [one for one in KINDS.values() if one.may_stop]
    assert len(stopping) > 20
    assert all(one.to_do for one in stopping), [one.code for one in stopping if not one.to_do]


def test_the_option_against_two_faults_of_one_column_is_that_of_the_first() -> None:
    """Both together would take one column twice."""
    robot = builtin_arm()
    columns = {(name, "torque"): f"M{k}" for k, name in enumerate(robot.joint_names)}
    log = Log(np.arange(3.0), {key: np.zeros(3) for key in columns}, columns=columns)
    a, b, c = robot.joint_names[:3]
    swaps = [
        Suspect(KINDS["torques-swapped"], pair, 1.0, "", 0.0, (1.0, 0.1))
        for pair in ((a, b), (b, c))
    ]
    first, second = with_options(swaps, log, robot)
    assert first.option == f"--map {a}.torque=M1 --map {b}.torque=M0"
    assert second.option == ""
