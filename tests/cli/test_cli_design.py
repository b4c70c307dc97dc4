"""steelyard design: options, files whole or not at all, and errors that say what to do."""

from __future__ import annotations

import contextlib
import io
import json
from inspect import signature
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from small_arm import URDF, arm_log, write_arm

from steelyard.cli import main
from steelyard.cli.design import what_is_known
from steelyard.cli.motion_options import budget_seconds, per_joint, pose_from, settings_from
from steelyard.cli.parser import build_parser
from steelyard.errors import SteelyardError
from steelyard.estimators.result_file import write_result
from steelyard.excitation.design import design_model
from steelyard.excitation.design_settings import DesignSettings
from steelyard.excitation.files.motion_file import read_motion, read_motion_schema
from steelyard.excitation.files.motion_points import csv_text, motion_points
from steelyard.excitation.limits import motion_limits
from steelyard.excitation.motions.fourier import multisine
from steelyard.excitation.torque_noise import assumed_noise
from steelyard.identification.identify import identify
from steelyard.identification.motion_outputs import CSV, JSON, NPZ, PAGE, ROS_JSON, ROS_YAML
from steelyard.identification.outputs import document_of
from steelyard.identification.rehearse import rehearse
from steelyard.logs.reading import read_log
from steelyard.logs.writer_csv import write_csv
from steelyard.model.model import Model
from steelyard.model.typical_sizes import known_parameters
from steelyard.robot.robot import Robot

SMALL = ["--period", "4", "--harmonics", "2", "--rounds", "1", "--budget", "10min"]
"""A search whose result does not depend on the speed of the machine."""


def run(*argv: object) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(word) for word in argv])
    return code, out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def arm(tmp_path_factory) -> Path:
    """The small arm as a file."""
    return write_arm(tmp_path_factory.mktemp("arm"))


@pytest.fixture(scope="module")
def designed(arm, tmp_path_factory) -> tuple[Path, dict]:
    """A folder with all files of a motion, and the JSON document that was printed."""
    folder = tmp_path_factory.mktemp("design") / "motion"
    code, out, err = run(
        "design", arm, "-o", folder, "--json", *SMALL, "--share", "0.8", "--velocity", "2.5",
        "--velocity", "elbow=1.5", "--acceleration", "8", "--jerk", "100", "--range",
        "shoulder=-1:1.5", "--start", "shoulder=0.2,elbow=-0.3", "--rate-hz", "50", "--periods",
        "2", "--torque-noise", "0.2", "--torque-noise", "elbow=0.1", "--torque-noise-bandwidth-hz",
        "40",
    )  # fmt: skip
    assert (code, err) == (0, "")
    return folder, json.loads(out)


def test_a_folder_holds_every_file_of_the_motion(designed):
    """Points, messages, coefficients, page and slower versions; the document names them."""
    folder, document = designed
    names = {CSV, NPZ, JSON, PAGE, ROS_YAML, ROS_JSON}
    slower = {
        f"{stem}_{percent}_percent.{ending}"
        for stem, ending in (("motion", "csv"), ("joint_trajectory", "yaml"))
        for percent in (10, 30)
    }
    assert {path.name for path in folder.iterdir()} == names | slower
    assert set(document["files"]) == names | slower
    stored = json.loads((folder / JSON).read_text())
    assert stored["trajectory"] == document["trajectory"]
    assert (folder / PAGE).read_text().startswith("<!DOCTYPE html>")


def test_the_motion_keeps_the_limits_that_were_given(designed):
    """Dense samples of the coefficients are within the share of each limit; both rates count."""
    folder, document = designed
    motion = read_motion(folder / JSON)
    assert motion.holds
    assert document["proven"]["within_limits"] is True
    time = np.linspace(0.0, motion.trajectory.duration_s, 20_001)
    limit = {"shoulder": 2.5, "elbow": 1.5}
    for j, joint in enumerate(motion.trajectory.joints):
        q, v, a, jerk = (motion.trajectory.derivative(time, k)[:, j] for k in range(4))
        assert np.abs(v).max() <= 0.8 * limit[joint]
        assert np.abs(v).max() > 0.3 * limit[joint]
        assert np.abs(a).max() <= 0.8 * 8.0
        assert np.abs(jerk).max() <= 0.8 * 100.0
        low, high = (-1.0, 1.5) if joint == "shoulder" else (-2.5, 2.5)
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        assert np.abs(q - middle).max() <= 0.8 * half + 1e-12
    # the document states the limits themselves, not the share of them
    assert document["limits"]["velocity"] == {"shoulder": 2.5, "elbow": 1.5}
    assert document["limits"]["lower"]["shoulder"] == -1.0
    assert document["settings"]["periods"] == 2
    assert document["predicted"]["noise"]["rms"] == {"shoulder": 0.2, "elbow": 0.1}
    assert document["predicted"]["noise"]["bandwidth_hz"] == 40.0


def test_files_and_page_state_what_the_motion_was_designed_for(designed, arm):
    """Poses, share of the limits, interpolation, seed and noise; a file without them, as older
    ones are, is read and follows the schema too.
    """
    folder, document = designed
    assert document["conditions"]["start"] == {"shoulder": 0.2, "elbow": -0.3}
    assert document["conditions"]["end"] is None
    assert document["conditions"]["collision"] is None
    settings = document["settings"]
    assert (settings["share"], settings["seed"]) == (0.8, 0)
    assert settings["interpolation"] == "quintic"
    page = (folder / PAGE).read_text()
    for words in ("shoulder=0.2,elbow=-0.3 (given)", "80 % of every limit", "not checked"):
        assert words in page
    older = {key: value for key, value in document.items() if key != "conditions"}
    for key in ("share", "interpolation"):
        del older["settings"][key]
    jsonschema.Draft202012Validator(read_motion_schema()).validate(older)
    old = folder.parent / "older.json"
    old.write_text(json.dumps(older))
    assert read_motion(old).holds
    settings["share"], settings["interpolation"] = 0.8, "quintic"


def test_the_points_begin_at_the_start_pose_and_are_those_of_the_coefficients(designed):
    """CSV, NPZ and the message hold the same motion; slower versions hold the same path."""
    folder, _ = designed
    motion = read_motion(folder / JSON).trajectory
    log = read_log(folder / CSV)
    joints = list(motion.joints)
    assert log.signal("shoulder", "position")[0] == pytest.approx(0.2, abs=1e-8)
    assert log.signal("elbow", "position")[0] == pytest.approx(-0.3, abs=1e-8)
    exact = motion.evaluate(log.time)
    for joint in joints:
        np.testing.assert_allclose(
            log.signal(joint, "position"), exact.q[:, joints.index(joint)], atol=1e-11
        )
    slow = read_log(folder / "motion_10_percent.csv")
    assert slow.duration_s == pytest.approx(10.0 * motion.duration_s, abs=0.02)
    np.testing.assert_allclose(
        slow.signal("elbow", "position"),
        motion.evaluate(0.1 * slow.time).q[:, joints.index("elbow")],
        atol=1e-11,
    )
    message = json.loads((folder / ROS_JSON).read_text())
    assert message["points"][0]["velocities"] == [0.0, 0.0]
    assert message["points"][-1]["velocities"] == [0.0, 0.0]


def test_simulate_reads_the_motion(designed, arm, tmp_path):
    """The CSV is a motion for the virtual robot."""
    log = tmp_path / "log.csv"
    code, _, err = run("simulate", arm, designed[0] / CSV, "-o", log, "--rate-hz", "50")
    assert (code, err) == (0, "")
    planned = read_log(designed[0] / CSV)
    np.testing.assert_allclose(
        read_log(log).signal("elbow", "position"), planned.signal("elbow", "position"), atol=0.02
    )


def test_a_motion_is_scored_beside_the_design_and_alone(designed, arm, tmp_path):
    """The design's own CSV gets the design's own measures; a recorded log is scored too."""
    code, out, _ = run("design", arm, "--like", designed[0] / CSV, "--json", "--torque-noise", "1")
    alone = json.loads(out)["like"]
    assert code == 0
    assert alone["recorded"] is False
    counts = designed[1]["predicted"]["counts"]
    assert sum(alone["predicted"]["counts"].values()) == sum(counts.values())
    robot = Robot.from_urdf(arm)
    write_csv(arm_log(robot, 4), tmp_path / "run.csv")
    code, out, _ = run("design", arm, "--like", tmp_path / "run.csv", "--torque-noise", "1")
    assert code == 0
    assert "A log of run at 100 Hz determines" in out
    # the same motion as a plan, without noise, is worth about the same
    plan = motion_points(multisine(robot, period_s=5.0, seed=4), robot, rate_hz=100.0)
    (tmp_path / "plan.csv").write_text(csv_text(plan))
    both = []
    for name in ("run.csv", "plan.csv"):
        _, out, _ = run("design", arm, "--like", tmp_path / name, "--json", "--torque-noise", "1")
        found = json.loads(out)["like"]
        sigma = np.array([one["sigma"] for one in found["predicted"]["parameters"]])
        both.append(sigma * np.sqrt(found["duration_s"]))
    np.testing.assert_allclose(both[0], both[1], rtol=0.15)


def test_a_score_says_which_limits_a_motion_keeps(designed, arm, tmp_path):
    """By joint, for a motion file and for a CSV: the design keeps its limits, and not those that
    are lower than what it reaches.
    """
    folder, document = designed
    for name in (JSON, CSV):
        code, out, err = run("design", arm, "--like", folder / name, "--json", "--jerk", "200")
        assert (code, err) == (0, "")
        kept = json.loads(out)["like"]["kept"]
        assert kept["within_limits"] is True
        assert kept["at_every_time"] is True
        for quantity in ("lower", "upper", "velocity"):
            for joint, bound in document["proven"]["extremes"][quantity].items():
                assert kept["extremes"][quantity][joint] == pytest.approx(bound, rel=0.02, abs=0.02)
    code, out, _ = run(
        "design", arm, "--like", folder / JSON, "--velocity", "elbow=0.5", "--torque", "shoulder=1"
    )
    assert code == 0
    assert "joint 'elbow': its velocity reaches" in out
    assert "joint 'shoulder': the torque by the model reaches" in out
    assert "joint 'shoulder': its velocity" not in out
    assert "motion.json does NOT keep all limits and torques" in out
    result = tmp_path / "other.json"
    result.write_text('{"schema": "steelyard.result/1"}')
    code, _, err = run("design", arm, "--like", result)
    assert code == 2
    assert "is not a motion file" in err


def test_after_a_result_each_parameter_has_a_sigma_before_and_after(arm, monkeypatch, tmp_path):
    """Before: what the result states, for what its data determine; after: never more."""
    robot = Robot.from_urdf(arm)
    found = identify(robot, [arm_log(robot, 1)], method="wls", threads=1)
    write_result(tmp_path / "result.json", document_of(found))
    code, out, err = run(
        "design", arm, "--after", tmp_path / "result.json", "--json", *SMALL, "-o",
        tmp_path / "motion.html",
    )  # fmt: skip
    assert (code, err) == (0, "")
    document = json.loads(out)
    stated = {one.name: one for one in found.estimate.parameters(0.95)}
    for one in document["predicted"]["parameters"]:
        cluster = stated[one["name"]].sigma_cluster
        sigma = stated[one["name"]].sigma if cluster is None else cluster
        assert one["before"] == pytest.approx(sigma, rel=1e-5)
        assert one["sigma"] < one["before"]
    assert document["conditions"]["after"] == str(tmp_path / "result.json")
    (note,) = [one for one in document["findings"] if one["code"] == "earlier-result"]
    assert note["words"].endswith("by their covariance")
    assert "σ before" in (tmp_path / "motion.html").read_text()
    monkeypatch.setenv("COLUMNS", "160")  # so that no title is wrapped
    _, out, _ = run(
        "design", arm, "--after", tmp_path / "result.json", "--like",
        _short_plan(robot, tmp_path), "--torque-noise", "5",
    )  # fmt: skip
    assert "sigma before" in out
    assert "sigma after" in out


def _short_plan(robot: Robot, folder: Path) -> Path:
    """A file of positions."""
    plan = motion_points(multisine(robot, period_s=2.0, seed=4), robot, rate_hz=50.0)
    (folder / "short.csv").write_text(csv_text(plan))
    return folder / "short.csv"


def test_one_file_is_written_by_its_ending_and_joints_stand_still(arm, designed, tmp_path):
    """-o motion.csv writes one file; a joint with --still does not move; the design is compared
    with --like.
    """
    path = tmp_path / "motion.csv"
    code, out, err = run(
        "design", arm, "-o", path, *SMALL, "--still", "elbow=0.4", "--no-collision", "--rate-hz",
        "40", "--interpolation", "linear", "--torque", "80", "--like", designed[0] / CSV,
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert [one.name for one in tmp_path.iterdir()] == ["motion.csv"]
    log = read_log(path)
    np.testing.assert_allclose(log.signal("elbow", "position"), 0.4, atol=1e-12)
    assert np.ptp(log.signal("shoulder", "position")) > 0.5
    assert "--no-collision was given" in out
    assert "The design beside motion" in out
    assert "position and velocity proven within limits, acceleration not" in out
    assert f"wrote {path}" in out


BALL = """<collision><origin xyz="0.15 0 0"/><geometry><sphere radius="0.04"/></geometry>
</collision></link>"""
WITH_BALLS = URDF.replace("</inertial></link>", f"</inertial>{BALL}").replace('"ground"', '"foot"')


def test_distances_are_kept_and_proven(tmp_path):
    """A floor below the arm and a ball beside it stay away; the balls of the links are checked
    against the floor by an independent computation.
    """
    pytest.importorskip("coal")
    robot = write_arm(tmp_path, WITH_BALLS)
    code, out, err = run(
        "design", robot, "-o", tmp_path / "motion.json", "--json", *SMALL, "--ground", "-0.05",
        "--clearance", "0.03", "--obstacle", "sphere:0.3,0,0.35:0.1",
    )  # fmt: skip
    assert (code, err) == (0, "")
    document = json.loads(out)
    proven = document["proven"]["clearance"]
    assert proven["smallest_m"] >= 0.03
    around = document["conditions"]["collision"]
    assert (around["clearance_m"], around["ground_m"]) == (0.03, -0.05)
    (ball,) = around["obstacles"]
    assert (ball["kind"], ball["size_m"]) == ("sphere", [0.2, 0.2, 0.2])
    assert [row[3] for row in ball["pose"]] == [0.3, 0.0, 0.35, 1.0]
    assert not [one for one in document["findings"] if one["code"] == "collisions-not-checked"]
    motion = read_motion(tmp_path / "motion.json").trajectory
    time = np.linspace(0.0, motion.duration_s, 2001)
    q = dict(zip(motion.joints, motion.derivative(time, 0).T, strict=True))
    arm = Robot.from_urdf(robot)
    shoulder, elbow = (arm.joint(name) for name in ("shoulder", "elbow"))
    ball = np.array([0.15, 0.0, 0.0, 1.0])
    heights, away = [], []
    for one, two in zip(q["shoulder"], q["elbow"], strict=True):
        upper = shoulder.pose(float(one))
        for centre in (upper @ ball, upper @ elbow.pose(float(two)) @ ball):
            heights.append(centre[2] - 0.04 + 0.05)
            away.append(np.linalg.norm(centre[:3] - [0.3, 0.0, 0.35]) - 0.04 - 0.1)
    assert min(heights) >= 0.03
    assert min(away) >= 0.03
    code, _, err = run(
        "design", robot, "-o", tmp_path / "none", "--ground", "0.3", "--start", "shoulder=0,elbow=0"
    )
    assert code == 2
    assert "the start pose is in collision: ground and upper overlap" in err
    assert not (tmp_path / "none").exists()


NO_SPEED = URDF.replace(' velocity="3"', "")
NO_RANGE = URDF.replace(' lower="-2.5" upper="2.5"', "")

REFUSED = [
    (["--budget", "0.0001s"], "the time budget is too short"),
    (["--budget", "soon"], "--budget is 'soon'; it must be a time such as 30s"),
    (["--budget", "0"], "must be positive"),
    (["--start", "shoulder=9,elbow=0"], "the start pose has joint 'shoulder' at 9, outside"),
    (["--start", "shoulder=0"], "--start has no position of elbow"),
    (["--start", "shoulder=0,elbwo=1"], "did you mean 'elbow'"),
    (["--end", "shoulder=0,elbow=x"], "--end has 'elbow=x'"),
    (["--range", "elbow=2:1"], "joint 'elbow' cannot move: its positions range from 2 to 1"),
    (["--range", "elbow=2"], "it must be JOINT=LOWER:UPPER"),
    (["--velocity", "elbow=fast"], "--velocity is 'elbow=fast'"),
    (["--velocity", "wrist=1"], "--velocity names 'wrist'"),
    (["--velocity", "1", "--velocity", "2"], "given twice for all joints"),
    (["--velocity", "-1"], "its velocity limit is -1"),
    (["--torque", "0.001"], "to hold the robot still"),
    (["--still", "elbow=7"], "--still puts joint 'elbow' at 7, outside its range"),
    (["--still", "elbwo"], "did you mean 'elbow'"),
    (["--share", "1.2"], "share of the limits is 1.2"),
    (["--torque-noise", "0"], "torque noise of joint 'shoulder' is 0"),
    (["--torque-noise-bandwidth-hz", "0"], "bandwidth of the torque noise is 0.0 Hz"),
    (["--no-collision", "--ground", "0"], "--no-collision and --ground are given"),
    (["--share", "1e-9"], "share of the limits is 1e-09; it must be from 0.01 to 1"),
    (["--period", "1e-3"], "a period of 0.001 s is too short: within the limits of speed"),
    (["--obstacle", "cube:0,0,0:1"], "there is no shape 'cube'"),
    (["--obstacle", "box:0,0:1,1,1"], "its centre is '0,0'; 3 finite numbers are needed"),
    (["--obstacle", "box:0,0,0:1,1"], "its size is '1,1'; 3 finite numbers are needed"),
    (["--obstacle", "box:0,0,x:1,1,1"], "its centre is '0,0,x', not numbers"),
    (["--obstacle", "box,0,0,0,1"], "there is no shape 'box,0,0,0,1'"),
    (["--obstacle", "sphere:0,0,1"], "it has 2 parts between colons in place of 3"),
    (["--obstacle", "sphere:0,0,1:-1"], "sizes must be positive"),
    (["--rate-hz", "0"], "rate_hz is 0.0"),
    (["--rate-hz", "0.5"], "needs at least 4 points: a rate of 1 Hz"),
    (["--harmonics", "0"], "harmonics is 0"),
    (["--after", "none.json"], "no such file"),
    (["--like", "none.csv"], "none.csv"),
    (["--criterion", "z-optimal"], "invalid choice: 'z-optimal'"),
]


def test_the_document_follows_the_published_schema(designed):
    """What is printed, and what is written."""
    validator = jsonschema.Draft202012Validator(read_motion_schema())
    validator.validate(designed[1])
    validator.validate(json.loads((designed[0] / JSON).read_text()))


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_bad_input_is_one_line_and_nothing_is_written(arm, tmp_path, options, message):
    """Every refusal names the option or the joint; neither file nor folder appears."""
    out = tmp_path / "motion"
    code, printed, err = run("design", arm, "-o", out, *options)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1
    assert printed == ""
    assert not out.exists()


def test_missing_limits_are_asked_for_with_their_option(tmp_path):
    """A URDF without speed or position limits names the joint and the option."""
    for text, option in ((NO_SPEED, "--velocity"), (NO_RANGE, "--range JOINT=LOWER:UPPER")):
        robot = write_arm(tmp_path, text)
        code, _, err = run("design", robot, "-o", tmp_path / "out")
        assert code == 2
        assert "joint 'shoulder'" in err
        assert option in err
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("motion.txt", "the endings are .csv, .npz"),
        ("none/motion.csv", "there is no such folder"),
        ("arm.urdf", "would overwrite an input"),
        ("plain", "is a file; give the name of a folder"),
    ],
)
def test_a_wrong_place_for_files_is_refused_at_once(tmp_path, name, message):
    """Before the search, not after it."""
    robot = write_arm(tmp_path)
    (tmp_path / "plain").write_text("mine")
    code, _, err = run("design", robot, "-o", tmp_path / name)
    assert code == 2
    assert message in err
    assert (tmp_path / "plain").read_text() == "mine"


def test_the_command_line_has_the_defaults_of_python(tmp_path):
    """Settings, model and noise of a command without options are those of design_motion(robot):
    an angle of 1.5708 is turned onto a right angle by both.
    """
    arm = write_arm(tmp_path, URDF.replace('rpy="0.3 0 0"', 'rpy="1.5708 0 0"'))
    arguments = build_parser().parse_args(["design", str(arm)])
    assert settings_from(arguments) == DesignSettings()
    known = what_is_known(arguments)
    robot = Robot.from_urdf(arm)
    model = design_model(robot)
    assert known.model.hash == model.hash
    assert model.hash != Model(robot).hash
    assert design_model(Model(robot)).hash == Model(robot).hash
    python = assumed_noise(model, known_parameters(model), motion_limits(model.robot))
    np.testing.assert_array_equal(known.noise.rms, python.rms)
    rehearsal = build_parser().parse_args(["rehearse", str(arm)])
    defaults = {name: one.default for name, one in signature(rehearse).parameters.items()}
    assert rehearsal.rate_hz == defaults["rate_hz"]
    assert rehearsal.resamples == defaults["n_resamples"]
    assert rehearsal.tolerance == defaults["tolerance"]


@pytest.mark.parametrize(
    ("text", "seconds"), [("30s", 30.0), ("2min", 120.0), ("1.5 m", 90.0), ("1h", 3600.0)]
)
def test_a_budget_is_a_time(text, seconds):
    """Seconds, minutes and hours."""
    assert budget_seconds(text) == seconds


def test_values_of_single_joints_come_before_those_of_all():
    """One value for all, and others for some."""
    joints = ("a", "b=c", "d")
    assert per_joint(["2"], joints, "--velocity") == 2.0
    assert per_joint(["2", "b=c=3"], joints, "--velocity") == {"a": 2.0, "b=c": 3.0, "d": 2.0}
    assert per_joint(["d=3"], joints, "--velocity") == {"d": 3.0}
    assert per_joint([], joints, "--velocity") is None
    assert pose_from("d=1,a=-2,b=c=0", joints, "--start") == [-2.0, 0.0, 1.0]
    with pytest.raises(SteelyardError, match="names joint 'a' twice"):
        pose_from("a=1,a=2", joints, "--start")
