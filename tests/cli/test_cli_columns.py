"""The options --map and --columns of commands that read logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small_arm import JOINT, URDF, write_arm, write_run

from steelyard.cli import main

FAST = ("--method", "ols", "--json")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An arm, a log, and the same table under other headers."""
    folder = tmp_path_factory.mktemp("columns")
    robot, log = write_arm(folder), write_run(folder, 1, "good.csv")
    header, _, rows = log.read_text().partition("\n")
    headers = {
        "numbers": "t,q1,tau1,q2,tau2",
        "german": "Zeit,PosShoulder,TauShoulder,PosElbow,TauElbow",
        "misspelt": "time,shoulder.position,shoulder.torque,elbw.position,elbw.torque",
        "three": "t,q1,tau1,q3,tau3",
        "none": None,
    }
    assert header.startswith("time[s],shoulder.position")
    paths = {"robot": robot, "good": log}
    for name, text in headers.items():
        paths[name] = folder / f"{name}.csv"
        paths[name].write_text(rows if text is None else f"{text}\n{rows}")
    return paths


def run(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main([str(part) for part in argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def parameters(capsys, *argv: object) -> tuple[list[float], list[str]]:
    """Values of the base parameters, and codes of the findings."""
    code, out, err = run(capsys, "identify", *argv, *FAST)
    assert code in (0, 1), err  # a joint that is locked and moves leaves little to use
    result = json.loads(out)
    values = [entry["value"] for entry in result["estimate"]["parameters"]]
    return values, [finding["code"] for finding in result["findings"]]


@pytest.mark.parametrize(
    ("name", "options", "by_number"),
    [
        ("numbers", [], True),
        ("german", ["--map", "time=Zeit", "--map", "shoulder.position=PosShoulder",
                    "--map", "shoulder.torque=TauShoulder", "--map", "elbow.q=PosElbow",
                    "--map", "elbow.tau[N*m]=TauElbow"], False),
        ("misspelt", ["--map", "elbow.position=elbw.position",
                      "--map", "elbow.torque=elbw.torque"], False),
        ("none", ["--columns", "time, shoulder.q,shoulder.tau,elbow.q,elbow.tau"], False),
        ("none", ["--columns", "time,q1,tau1,q2,tau2"], True),
    ],
)  # fmt: skip
def test_the_same_result_under_other_names(capsys, files, name, options, by_number):
    """The same table gives the same parameters, whatever its columns are called."""
    expected, codes = parameters(capsys, files["robot"], files["good"])
    values, others = parameters(capsys, files["robot"], files[name], *options)
    assert values == expected
    assert sorted(others) == sorted(codes + ["joints-by-number"] * by_number)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("misspelt", [], "'elbw.position' was probably meant: use --map elbow.position=elbw.po"),
        ("german", [], "no time column"),
        ("german", ["--map", "time=Zeit"], "'PosShoulder' looks like a position: name it with"),
        ("german", ["--map", "time=Zeit", "--map", "shoulder.torque=TauShoulder"],
         "--map shoulder.position=PosShoulder"),
        ("none", [], "has no header line"),
        ("three", [], "position: 1, 3"),
        ("numbers", ["--map", "elbow.torque=tau3"], "did you mean 'tau"),
        ("numbers", ["--map", "elbow.position"], "--map is 'elbow.position'; it must be SIGNAL="),
        ("numbers", ["--map", "a.q=q1", "--map", "a.q=q2"], "takes both 'q1' and 'q2' as 'a.q'"),
        ("numbers", ["--map", "a.q=q1", "--columns", "t,q1"], "--map and --columns are given"),
        ("numbers", ["--columns", "t,q1"], "has a header line"),
        ("none", ["--columns", "t,q1"], "2 columns are named, but its first line has 5"),
    ],
)  # fmt: skip
def test_refusals(capsys, files, name, options, words):
    """What does not fit is refused with one line and exit code 2, in every command alike."""
    for command in (
        ["identify", files["robot"], files[name]],
        ["gains", files["robot"], "--empty", files[name], "--loaded", files["good"],
         "--payload", "fore", "--mass", "1"],
    ):  # fmt: skip
        code, out, err = run(capsys, *command, *options)
        assert (code, out) == (2, "")
        assert err.startswith("steelyard: error: ")
        assert err.count("\n") == 1
        assert words in err


GIVEN = ("--cutoff-hz", "10", "--torque-filter", "same", "--dead-band", "tenth")


@pytest.mark.parametrize("lock", [("grip=1.5",), ("unrecorded",), ("grip=1.5", "unrecorded")])
def test_numbers_of_a_robot_with_an_unrecorded_joint(capsys, files, tmp_path, lock):
    """A numbered log and a joint that it lacks: the same result as by name."""
    grip = JOINT.format(name="grip", parent="fore", child="finger", xyz="0.1 0 0", axis="0 0 1")
    text = URDF.replace("</robot>", f'<link name="finger"/>{grip}</robot>')
    text = text.replace('"shoulder"', '"arm_joint1"').replace('"elbow"', '"arm_joint2"')
    robot = write_arm(tmp_path, text.replace('lower="-2.5"', 'lower="0.5"'))
    named = tmp_path / "named.csv"
    names = {"shoulder.": "arm_joint1.", "elbow.": "arm_joint2."}
    content = files["good"].read_text()
    for old, new in names.items():
        content = content.replace(old, new)
    named.write_text(content)
    expected, _ = parameters(capsys, robot, named, "--lock", "grip=1.5", *GIVEN)
    options = [part for one in lock for part in ("--lock", one)]
    values, codes = parameters(capsys, robot, files["numbers"], *options, *GIVEN)
    assert values == expected
    assert {"joints-by-number", "locked-joints"} <= set(codes)


def test_numbers_count_a_joint_that_is_locked(capsys, files):
    """q2 is that of the elbow, whether it is locked or not; a warning says that it moves."""
    options = ("--lock", "elbow=0.5", *GIVEN)
    expected, named = parameters(capsys, files["robot"], files["good"], *options)
    values, codes = parameters(capsys, files["robot"], files["numbers"], *options)
    assert values == expected
    assert sorted(codes) == sorted([*named, "joints-by-number"])
    assert "locked-joint-moves" in codes


def test_unrecorded_joints_are_those_without_a_mapped_column(capsys, files):
    """Columns are named first, then joints without one are locked."""
    german = ["--map", "time=Zeit", "--map", "shoulder.position=PosShoulder",
              "--map", "shoulder.torque=TauShoulder", "--lock", "unrecorded"]  # fmt: skip
    expected, _ = parameters(capsys, files["robot"], files["good"], "--lock", "elbow=0", *GIVEN)
    values, codes = parameters(capsys, files["robot"], files["german"], *german, *GIVEN)
    assert values == expected
    assert "locked-joints" in codes


def test_validate_and_simulate(capsys, files, tmp_path):
    """The other commands that read logs take the same options."""
    out = tmp_path / "out"
    argv = ["identify", files["robot"], files["good"], "--method", "ols", "-o", out]
    assert run(capsys, *argv)[0] == 0
    test = tmp_path / "test.csv"
    header, _, rows = write_run(tmp_path, 2, "plain.csv").read_text().partition("\n")
    assert header
    test.write_text("Zeit,q1,tau1,q2,tau2\n" + rows)
    result = out / "result.json"
    code, text, err = run(capsys, "validate", files["robot"], result, test, "--map", "time=Zeit")
    assert code == 0, err
    assert "1 = shoulder, 2 = elbow" in text
    motion = [files["robot"], test, "-o", tmp_path / "log.csv", "--controller", "ideal"]
    code, text, err = run(capsys, "simulate", *motion, "--map", "time=Zeit", "--rate-hz", "50")
    assert code == 0, err
    assert "1 = shoulder, 2 = elbow" in text
    assert run(capsys, "simulate", *motion)[0] == 2


@pytest.mark.parametrize("command", ["identify", "validate", "gains", "simulate"])
def test_help(capsys, command):
    """The help of each command that reads logs describes both options."""
    code, out, _ = run(capsys, command, "--help")
    assert code == 0
    assert "--map SIGNAL=COLUMN" in out
    assert "--columns NAME,NAME,..." in out
