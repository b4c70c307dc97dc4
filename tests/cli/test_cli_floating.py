"""Floating bases and partial sensing on the command line, from simulation to exported files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from humanoid import TRUTH, humanoid, humanoid_log, write_humanoid

from steelyard.certificates.verify import verify
from steelyard.cli import main
from steelyard.logs.reading import read_log
from steelyard.logs.writer_csv import write_csv
from steelyard.robot.robot import Robot

QUICK = [
    "--floating-base",
    "--cutoff-hz",
    "12",
    "--dead-band",
    "tenth",
    "--friction-width",
    "0",
    "--gamma",
    "10",
    "--no-term-comparison",
    "--no-ranges",
    "--resamples",
    "0",
    "--threads",
    "1",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The humanoid, and logs with each choice of sensors."""
    here = tmp_path_factory.mktemp("humanoid")
    write_humanoid(here)
    joints = humanoid().joint_names
    for seed, name in ((1, "train"), (2, "test")):
        hung = humanoid_log(seed)
        write_csv(hung, here / f"both_{name}.csv")
        wrench = humanoid_log(seed, without_torque=joints)
        write_csv(wrench, here / f"wrench_{name}.csv")
        write_csv(humanoid_log(seed, base_wrench=False), here / f"torques_{name}.csv")
        feet = humanoid_log(seed, feet=("left_foot", "right_foot"))
        write_csv(feet, here / f"feet_{name}.csv")
    return here


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, dict]:
    """Exit code and JSON document of a command."""
    capsys.readouterr()
    code = main([*map(str, words), "--json"])
    captured = capsys.readouterr()
    assert captured.out, captured.err
    return code, json.loads(captured.out)


def refused(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """The one line with which a command is refused."""
    capsys.readouterr()
    assert main([str(one) for one in words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def held_out(document: dict) -> dict:
    return document["validation"]["overall"]


@pytest.mark.parametrize("choice", ["both", "wrench", "feet"])
def test_identify_from_files(choice, folder, tmp_path, capsys):
    """Masses that the file has wrong are found from base wrenches or feet; all links are proven."""
    robot = folder / "humanoid.urdf"
    logs = folder / f"{choice}_train.csv", "--validate-on", folder / f"{choice}_test.csv"
    code, found = run(capsys, "identify", robot, *logs, "-o", tmp_path, *QUICK)
    assert code == 0
    scores = held_out(found)
    assert scores["prediction"]["relative_error"] < 0.02
    assert scores["prior"]["relative_error"] > 0.08
    # the whole mass is a base parameter
    whole = next(p for p in found["estimate"]["parameters"] if p["name"] == "torso.m")
    assert whole["value"] == pytest.approx(TRUTH["torso.m"] + TRUTH["left_leg.m"] + 4.9, rel=0.01)
    rows = {one["name"]: one["n_rows"] for one in found["estimate"]["channels"]}
    assert rows["base.fx"] > 100
    assert (rows["left_hip"] > 0) == (choice != "wrench")
    codes = {one["code"] for one in found["findings"]}
    assert ("not-seen" in codes) == (choice == "wrench")
    assert verify(tmp_path / "certificate.json").valid
    identified = Robot.from_urdf(tmp_path / "humanoid.identified.urdf", floating_base=True)
    assert sum(link.inertial[0] for link in identified.links if link.inertial is not None) == (
        pytest.approx(whole["value"], rel=1e-6)
    )
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "base force z" in page
    assert "base.fz" not in page.split("Findings")[0].split("Base parameters")[0]


def test_joint_torques_alone(folder, tmp_path, capsys):
    """Without a base wrench the base keeps its prior, and the result says what is not seen."""
    robot = folder / "humanoid.urdf"
    logs = folder / "torques_train.csv", "--validate-on", folder / "torques_test.csv"
    code, found = run(capsys, "identify", robot, *logs, "-o", tmp_path, *QUICK)
    assert code == 0
    assert held_out(found)["prediction"]["relative_error"] < 0.15
    words = {one["code"]: one["words"] for one in found["findings"]}
    assert "base-wrench-not-recorded" in words
    assert "of torso: all ten parameters not at all" in words["not-seen"]
    values = {one["name"]: one for one in found["standard"]["parameters"]}
    assert values["torso.m"]["value"] == pytest.approx(6.0, abs=0.01)


def test_a_result_validates_other_logs_with_its_sensing(folder, tmp_path, capsys):
    """The saved result repeats how wrenches were read; export writes a free joint."""
    robot = folder / "humanoid.urdf"
    renamed = tmp_path / "world.csv"
    log = read_log(folder / "feet_train.csv")
    signals = {
        (frame.replace("left_foot", "plate"), quantity): values
        for (frame, quantity), values in log.frame_signals.items()
    }
    write_csv(replace(log, frame_signals=signals), renamed)
    told = ("--contact", "left_foot=plate", "--contact", "right_foot", "--base-motion", "pose")
    code, _ = run(capsys, "identify", robot, renamed, "-o", tmp_path / "out", *QUICK, *told)
    assert code == 0
    code, found = run(capsys, "validate", robot, tmp_path / "out", renamed)
    assert code == 0
    assert found["overall"]["prediction"]["relative_error"] < 0.02
    pytest.importorskip("mujoco")
    import mujoco

    target = tmp_path / "humanoid.xml"
    done = main(["export", str(tmp_path / "out"), "--to", "mjcf", "-o", str(target)])
    assert done == 0, capsys.readouterr().err
    model = mujoco.MjModel.from_xml_path(str(target))
    assert model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE
    assert model.nv == 10


def test_options_state_what_was_measured(folder, capsys):
    """Options that contradict each other, the robot or the log are refused by name."""
    robot, log = folder / "humanoid.urdf", folder / "both_train.csv"

    def no(*options: str) -> str:
        return refused(capsys, "identify", robot, log, *options)

    assert "the base of robot 'humanoid' is fixed" in no("--base-motion", "pose")
    floats = "--floating-base"
    assert "name them with --contact or --base-wrench" in no("--wrench-axes", "world")
    assert "moves against the base" in no(floats, "--base-frame", "left_foot")
    assert "LINK or LINK=COLUMNS" in no(floats, "--contact", "left_foot=")
    assert "given twice" in no(floats, *(["--contact", "left_foot", "--contact", "left_foot"]))
    assert "'hoof'" in no(floats, "--contact", "hoof")
    assert "no force of the wrench at frame 'left_foot'" in no(floats, "--contact", "left_foot")
    assert "moves against the base" in no(floats, "--base-wrench", "left_foot")
    assert "nothing touches robot 'humanoid'" in no(floats, "--base-wrench", "nothing")
    assert "torso" in no(floats, "--base-motion", "imu", "--base-frame", "chest")
    assert "angular_velocity" in no(floats, "--base-motion", "imu", "--base-frame", "imu")
    assert "no motion of the base" in refused(
        capsys, "identify", robot, _joints_only(folder), floats
    )
    energy = no(floats, "--model", "energy")
    assert "fixed base" in energy


def _joints_only(folder: Path) -> Path:
    path = folder / "joints.csv"
    write_csv(replace(read_log(folder / "both_train.csv"), frame_signals={}), path)
    return path


def test_base_seen(folder, capsys):
    """The command says link by link what each choice of sensors sees."""
    robot = folder / "humanoid.urdf"
    code, found = run(capsys, "base", "seen", robot, "--floating-base")
    assert code == 0
    ranks = {name: one["rank"] for name, one in found["choices"].items()}
    assert ranks == {"base wrench and joint torques": 54, "base wrench": 38, "joint torques": 44}
    code, fewer = run(
        capsys, "base", "seen", robot, "--floating-base", "--without-torque", "left_hip"
    )
    leg = {one["name"]: one for one in fewer["choices"]["joint torques"]["links"]}["left_leg"]
    assert len(leg["not_seen"]) == 10
    assert main(["base", "seen", str(robot), "--floating-base"]) == 0
    assert "torso: all ten parameters not at all" in capsys.readouterr().out
    assert "its joints are" in refused(
        capsys, "base", "seen", robot, "--floating-base", "--without-torque", "neck"
    )


def test_simulated_logs(folder, tmp_path, capsys):
    """The virtual robot writes what is asked for, and refuses what a floating base cannot do."""
    robot, out = folder / "humanoid.urdf", tmp_path / "log.csv"
    short = ("simulate", robot, "-o", out, "--duration-s", "1", "--rate-hz", "50")
    code, _ = run(
        capsys, *short, "--floating-base", "--record-base", "imu", "--without-torque", "left_hip",
        "--feet", "left_foot", "right_foot",
    )  # fmt: skip
    assert code == 0
    log = read_log(out)
    assert ("left_hip", "torque") not in log.signals
    assert set(log.frame_signals) == {
        ("torso", "angular_velocity"),
        ("torso", "proper_acceleration"),
        *((foot, what) for foot in ("left_foot", "right_foot") for what in ("force", "torque")),
    }
    assert "--floating-base" in refused(capsys, *short, "--feet", "left_foot")
    assert "follows its motion exactly" in refused(
        capsys, *short, "--floating-base", "--controller", "pd"
    )
    assert "fixed base" in refused(capsys, *short, "--floating-base", "--sensor", "imu")
    imu = ("--floating-base", "--record-base", "imu", "--imu-frame", "imu")
    assert run(capsys, *short, *imu)[0] == 0
    assert ("imu", "proper_acceleration") in read_log(out).frame_signals
    assert "--record-base imu" in refused(capsys, *short, "--floating-base", *imu[-2:])
    assert "no such body can exist" in refused(
        capsys, *short, "--floating-base", "--set", "torso.m=-5"
    )
    assert np.isfinite(log.frame_signals["torso", "proper_acceleration"]).all()


def test_commands_that_need_a_fixed_base_say_so(folder, tmp_path, capsys):
    """Designs and rehearsals refuse a floating base by name, and say what there is instead."""
    robot = folder / "humanoid.urdf"
    for command in (("design", robot, "-o", tmp_path / "motion"), ("rehearse", robot)):
        words = refused(capsys, *command, "--floating-base")
        assert "'humanoid' has a floating base; motions are designed" in words
        assert "simulate --floating-base" in words


def test_a_payload_in_the_hand_of_a_floating_robot(folder, tmp_path, capsys):
    """Base wrench and joint torques weigh what a hand holds."""
    robot = folder / "humanoid.urdf"
    options = "--floating-base --duration-s 6 --rate-hz 100 --period-s 3 --wrench-noise 0.3 0.03"
    run_of = ("simulate", robot, *options.split(), "--torque-noise", "0.05")
    empty, loaded = tmp_path / "empty.csv", tmp_path / "loaded.csv"
    held = ("--payload", "0.8", "--payload-link", "left_arm", "--payload-com", "0", "0", "-0.3")
    assert run(capsys, *run_of, "-o", empty, "--seed", "3")[0] == 0
    assert run(capsys, *run_of, "-o", loaded, "--seed", "4", *held)[0] == 0
    _, found = run(capsys, "payload", "joints", robot, loaded, "--empty", empty,
                   "--floating-base", "--frame", "left_arm")  # fmt: skip
    assert found["mass"] == pytest.approx(0.8, abs=0.01)
