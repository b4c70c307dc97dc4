"""Identification of a floating robot in Python: every estimator, and wrong logs by name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from humanoid import TRUTH, humanoid, humanoid_log

from steelyard.errors import LogError, SignalError, SteelyardWarning
from steelyard.estimators.registry import all_estimators
from steelyard.estimators.result_file import read_result
from steelyard.identification.identify import identify
from steelyard.logs.log import Log
from steelyard.robot.robot import Robot
from steelyard.signals.orientation import rotations_of
from steelyard.signals.prepare import prepare
from steelyard.signals.processing import Processing
from steelyard.signals.sensing import MeasuredWrench, Sensing
from steelyard.simulation.floating_log import BaseSensors
from steelyard.validation.saved_results import validate_result

PROCESSING = Processing(cutoff_hz=12.0, torque_filter="same", dead_band="tenth")
QUICK = {
    "processing": PROCESSING,
    "friction_width": 0.0,
    "compare_terms": False,
    "ranges": False,
    "n_resamples": 0,
    "certify": False,
    "threads": 1,
}


@pytest.fixture(scope="module")
def hung() -> Log:
    return humanoid_log(1)


def with_frames(log: Log, **changes: np.ndarray | None) -> Log:
    """The log with other signals of frames, named as frame__quantity; None leaves one out."""
    frames = dict(log.frame_signals)
    for name, values in changes.items():
        frame, _, quantity = name.partition("__")
        frames.pop((frame, quantity), None)
        if values is not None:
            frames[frame, quantity] = values
    return replace(log, frame_signals=frames)


@pytest.mark.parametrize("method", [one.name for one in all_estimators()])
def test_every_estimator_takes_floating_bases(method, hung):
    """The whole mass comes out of every method, and so does the fit of wrenches and torques."""
    options = next(one for one in all_estimators() if one.name == method).options
    given = {"gamma": 10.0} if "gamma" in options else {}
    found = identify(humanoid(), hung, method=method, **QUICK, **given)
    values = {one.name: one.value for one in found.estimate.parameters()}
    assert values["torso.m"] == pytest.approx(sum(TRUTH.values()) + 4.9, rel=0.02)
    assert found.estimate.relative_error < 0.05


def test_base_wrench_alone_with_least_squares(hung):
    """Combinations of bodies are determined; friction is not, and findings say which."""
    robot = humanoid()
    signals = {key: x for key, x in hung.signals.items() if key[1] != "torque"}
    log = replace(hung, signals=signals, units={key: hung.units[key] for key in signals})
    with pytest.warns(SteelyardWarning):
        found = identify(robot, log, method="ols", **QUICK)
    codes = {one.code: one.words for one in found.findings}
    assert "no torque of any joint" in codes["torque-not-recorded"]
    assert [one.code for one in found.findings if one.level == "warning"] == ["not-seen"]
    assert "38 of 54 combinations" in codes["not-seen"]
    assert "Ia, fv, fc, fo not at all" in codes["not-seen"]
    values = {one.name: one.value for one in found.estimate.parameters()}
    assert values["torso.m"] == pytest.approx(sum(TRUTH.values()) + 4.9, rel=0.02)


def test_a_leaf_that_nothing_sees(hung):
    """Without base wrench and hip torque, the leg is named, and keeps the file's mass."""
    signals = {key: x for key, x in hung.signals.items() if key != ("left_hip", "torque")}
    units = {key: hung.units[key] for key in signals}
    log = with_frames(
        replace(hung, signals=signals, units=units), torso__force=None, torso__torque=None
    )
    with pytest.warns(SteelyardWarning):
        found = identify(humanoid(), log, gamma=10.0, **QUICK)
    words = {one.code: one.words for one in found.findings}["not-seen"]
    assert "of torso, left_leg: all ten parameters not at all" in words
    values = dict(zip(found.model.column_names, found.estimate.standard.theta, strict=True))
    assert values["left_leg.m"] == pytest.approx(2.5, abs=1e-3)


def test_a_saved_result_repeats_its_sensing(hung, tmp_path):
    """A result that was read back validates another log with the same sensing."""
    feet = ("left_foot", "right_foot")
    logs = [humanoid_log(seed, feet=feet) for seed in (1, 2)]
    stated = Sensing(base_wrench="nothing", contacts=tuple(map(MeasuredWrench, feet)))
    options = QUICK | {"processing": replace(PROCESSING, sensing=stated)}
    found = identify(humanoid(), logs[0], gamma=10.0, **options)
    found.save(tmp_path)
    saved = read_result(tmp_path / "result.json")
    held_out = validate_result(humanoid(), saved, [logs[1]])
    assert held_out.overall.prediction.relative_error < 0.02
    sensing = found.estimate.runs[0].processing.sensing
    assert sensing.contacts == stated.contacts
    assert sensing.torques == "recorded"


def test_held_out_logs_have_their_own_sensing(tmp_path):
    """What no option stated is found in each log anew: poses in one, an IMU in the other."""
    feet = ("left_foot", "right_foot")
    pose, imu = (
        humanoid_log(seed, feet=feet, base=BaseSensors(kind, force_noise=0.5, torque_noise=0.05))
        for seed, kind in ((1, "pose"), (2, "imu"))
    )
    stated = Sensing(torques="recorded")
    for sensing in (None, stated):
        options = QUICK | {"processing": replace(PROCESSING, sensing=sensing)}
        found = identify(humanoid(), pose, method="wls", validate_on=imu, **options)
        run = found.estimate.runs[0]
        assert run.processing.sensing.base.source == "pose"
        assert run.processing_as_used.sensing == sensing
        assert found.validation.overall.prediction.relative_error < 0.1
    found.save(tmp_path)
    saved = read_result(tmp_path / "result.json")
    assert saved.processing_as_used.sensing == stated
    held_out = validate_result(humanoid(), saved, [imu])
    assert held_out.overall.prediction.relative_error < 0.1


def codes_of(log: Log, sensing: Sensing | None = None, robot: Robot | None = None) -> dict:
    done = prepare(log, robot or humanoid(), replace(PROCESSING, sensing=sensing))
    return {one.code: one.words for one in done.findings}


def test_axes_and_signs_of_forces_are_checked(hung):
    """Forces in other axes or of other sign than stated are noticed by weight; right ones not."""
    held = Sensing(base_wrench=MeasuredWrench("torso"))
    assert not {"wrench-axes", "wrench-sign"} & set(codes_of(hung, held))
    world = Sensing(base_wrench=MeasuredWrench("torso", axes="world"))
    assert "--wrench-axes frame" in codes_of(hung, world)["wrench-axes"]
    by = Sensing(base_wrench=MeasuredWrench("torso", sign="by-robot"))
    assert "--wrench-sign by-robot" in codes_of(hung, by)["wrench-sign"]
    feet = humanoid_log(1, feet=("left_foot", "right_foot"))
    assert not {"wrench-axes", "wrench-sign"} & set(codes_of(feet))
    wrong = Sensing(
        base_wrench="nothing",
        contacts=tuple(MeasuredWrench(foot, axes="world") for foot in ("left_foot", "right_foot")),
    )
    assert "wrench-axes" in codes_of(feet, wrong)
    assert "force-not-used" in codes_of(feet, Sensing(contacts=(MeasuredWrench("left_foot"),)))


def test_gaps_and_slow_rates_of_the_base_pose(hung):
    """A missing pose is bridged, a long gap cuts the log; a pose at a tenth of the rate is read."""
    whole = prepare(hung, humanoid(), PROCESSING)
    for rows, cut in ((slice(200, 203), False), (slice(200, 260), True)):
        frames = {key: x.copy() for key, x in hung.frame_signals.items()}
        for quantity in ("position", "quaternion"):
            frames["torso", quantity][rows] = np.nan
        log = replace(hung, frame_signals=frames)
        done = prepare(log, humanoid(), PROCESSING)
        assert ("log-cut" in {one.code for one in done.findings}) == cut
        assert np.isfinite(done.motion.a).all()
        assert len(done.motion) < len(whole.motion) if cut else True
    slow = {key: x.copy() for key, x in hung.frame_signals.items()}
    for quantity in ("position", "quaternion"):
        slow["torso", quantity][np.arange(len(hung)) % 10 != 0] = np.nan
    done = prepare(replace(hung, frame_signals=slow), humanoid(), PROCESSING)
    assert "joined-rates" in {one.code for one in done.findings}
    same = np.isin(np.round(whole.motion.time, 6), np.round(done.motion.time, 6))
    away = np.abs(done.motion.a[:, :3] - whole.motion.a[same, :3])
    assert len(away) > 500
    assert np.sqrt(np.mean(away**2)) < 0.05 * np.sqrt(np.mean(whole.motion.a[:, :3] ** 2))


def test_wrong_logs_are_refused(hung):
    """Quaternions, frames and options that cannot be right are named with what to do."""
    quaternion = hung.frame_signals["torso", "quaternion"]
    for frames, kind, match in (
        ({"torso__quaternion": 1.2 * quaternion}, SignalError, r"norm 1\.2.*unit quaternion"),
        ({"torso__quaternion": None}, LogError, "no motion of the base 'torso'"),
        ({"boot__force": np.ones((len(hung), 3))}, LogError, "forces of boot, which is no link"),
    ):
        with pytest.raises(kind, match=match):
            prepare(with_frames(hung, **frames), humanoid(), PROCESSING)
    with pytest.raises(SignalError, match="nothing touches robot 'humanoid'"):
        codes_of(hung, Sensing(base_wrench="nothing"))
    with pytest.raises(SignalError, match="columns of 'left_foot' are given twice"):
        Sensing(contacts=(MeasuredWrench("left_foot"), MeasuredWrench("left_foot")))


def test_zero_gravity():
    """In free space the base wrench tells inertia from acceleration alone."""
    robot = replace(humanoid(), gravity=np.zeros(3))
    log = humanoid_log(3, base=BaseSensors("twist"), gravity=np.zeros(3))
    found = identify(robot, log, method="ols", **QUICK)
    values = {one.name: one.value for one in found.estimate.parameters()}
    assert values["torso.m"] == pytest.approx(sum(TRUTH.values()) + 4.9, rel=0.02)


def test_units_and_axes_of_the_base_motion_are_checked():
    """Degrees, axes of the world and accelerometers in g are named; right recordings are not."""
    twist, inertial = (humanoid_log(1, base=BaseSensors(source)) for source in ("twist", "imu"))
    doubts = {"turning-differs", "accelerometer-without-gravity"}
    assert not doubts & {*codes_of(twist), *codes_of(inertial)}
    w = twist.frame_signals["torso", "angular_velocity"]
    with pytest.raises(SignalError, match=r"appears to be in deg/s.*\[deg/s\]"):
        codes_of(with_frames(twist, torso__angular_velocity=np.degrees(w)))
    with pytest.raises(SignalError, match="its sign appears to be the opposite"):
        codes_of(with_frames(twist, torso__angular_velocity=-w))
    R = rotations_of(twist.frame_signals["torso", "quaternion"])
    with pytest.raises(SignalError, match="--base-twist-axes world"):
        codes_of(with_frames(twist, torso__angular_velocity=np.einsum("nij,nj->ni", R, w)))
    shown = inertial.frame_signals["torso", "proper_acceleration"]
    in_g = codes_of(with_frames(inertial, torso__proper_acceleration=shown / 9.81))
    assert "appears to be in g" in in_g["accelerometer-without-gravity"]
    fallen = codes_of(with_frames(inertial, torso__proper_acceleration=0.05 * shown - 0.2))
    assert "gravity included" in fallen["accelerometer-without-gravity"]
