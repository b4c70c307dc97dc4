"""Motion of a frame and its wrench from logs, against motions that are known in closed form."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from moving_frames import COM, INERTIA, body_wrench, full_log, moving_frame, pose_log
from scipy.spatial.transform import Rotation
from seeds import every

from steelyard.errors import LogError, RobotError, SignalError
from steelyard.logs.log import Log
from steelyard.robot.parts import Joint, Link
from steelyard.robot.robot import Robot
from steelyard.robot.rotations import frozen_array
from steelyard.signals.frame_from_poses import frame_motion_from_poses, turning
from steelyard.signals.frame_from_twist import frame_motion_from_imu
from steelyard.signals.frame_kinematics import at_another_frame, frame_motion_from_joints
from steelyard.signals.motion import Motion
from steelyard.signals.orientation import without_flips
from steelyard.signals.prepared_frame import PreparedFrame, prepare_frame
from steelyard.signals.processing import Processing
from steelyard.signals.smoothing import Smoothing
from steelyard.testing.random_robots import random_pose, random_robot

RATE = 200.0
TIME = np.arange(0.0, 12.0, 1.0 / RATE)


def relative(found: np.ndarray, truth: np.ndarray) -> float:
    return float(np.sqrt(np.mean((found - truth) ** 2) / np.mean(truth**2)))


def errors(prepared: PreparedFrame, moved) -> tuple[float, float, float]:
    """Relative errors (rms) of a, omega and alpha at the prepared times."""
    motion = prepared.motion
    rows = np.rint((motion.time - moved.t[0]) * RATE).astype(int)
    return (
        relative(motion.proper_acceleration, moved.proper[rows]),
        relative(motion.angular_velocity, moved.w[rows]),
        relative(motion.angular_acceleration, moved.alpha[rows]),
    )


@every("seed", range(2))
def test_each_source_gives_the_motion(seed):
    """Unfiltered, to the accuracy of five-point differences; filtered, within 0.1 %."""
    moved = moving_frame(np.random.default_rng(seed), TIME)
    for axes in ("frame", "base"):
        log = full_log(moved, axes=axes)
        for source in ("pose", "twist", "imu"):
            if source == "imu" and axes == "base":
                continue
            for cutoff, limit in ((None, 1e-6), ("auto", 1e-3))[: 2 - seed]:
                prepared = prepare_frame(
                    log,
                    None,
                    "tool",
                    Processing(cutoff_hz=cutoff),
                    source=source,
                    twist_axes=axes,
                    wrench_axes="base" if axes == "base" else "sensor",
                )
                assert max(errors(prepared, moved)) < limit
                rows = np.rint(prepared.motion.time * RATE).astype(int)
                force, torque = body_wrench(moved, 1.5, COM, INERTIA)
                np.testing.assert_allclose(prepared.wrench.force, force[rows], atol=1e-9)
                np.testing.assert_allclose(prepared.wrench.torque, torque[rows], atol=1e-9)
                assert (prepared.record.cutoff_hz is None) == (cutoff is None)


def test_rotations_are_differentiated_on_their_own_curve():
    """Fast constant rotation, of which a low-pass on angles or matrices would lose a part."""
    time = np.arange(0.0, 6.0, 1e-3)
    axis = np.array([0.6, 0.0, 0.8])
    turns = Rotation.from_rotvec(8.0 * time[:, None] * axis)
    motion = frame_motion_from_poses(time, turns.as_quat(), cutoff_hz=5.0, gravity=(0, 0, 0))
    inside = slice(2500, 3500)
    np.testing.assert_allclose(
        motion.angular_velocity[inside], np.tile(8.0 * axis, (1000, 1)), rtol=1e-6, atol=1e-6
    )
    assert np.abs(motion.angular_acceleration[inside]).max() < 1e-4
    np.testing.assert_allclose(motion.R_world_frame[inside], turns.as_matrix()[inside], atol=1e-7)


def test_the_norm_of_filtered_quaternions_does_not_matter():
    """A filter shortens them by another share at each sample; the motion stays the same."""
    moved = moving_frame(np.random.default_rng(1), TIME)
    length = 1.0 + 0.3 * np.sin(2.0 * TIME)[:, None]
    found = turning(without_flips(moved.quaternions) * length, Smoothing(RATE))
    inside = slice(2, -2)
    for values, truth in zip(found, (moved.R, moved.w, moved.alpha), strict=True):
        np.testing.assert_allclose(values[inside], truth[inside], atol=1e-5)


def test_noise_of_poses_is_filtered():
    """0.1 mm and 0.2 mrad of white noise at 200 Hz leave 3 % of the angular acceleration."""
    rng = np.random.default_rng(0)
    moved = moving_frame(rng, TIME)
    log = full_log(moved)
    signals = dict(log.frame_signals)
    signals["tool", "position"] = moved.p + 1e-4 * rng.normal(size=moved.p.shape)
    signals["tool", "quaternion"] = moved.quaternions + 1e-4 * rng.normal(size=(len(TIME), 4))
    noisy = replace(log, frame_signals=signals)
    filtered = errors(prepare_frame(noisy, None, "tool", source="pose"), moved)
    assert max(filtered) < 0.03
    bare = prepare_frame(noisy, None, "tool", Processing(cutoff_hz=None), source="pose")
    assert errors(bare, moved)[2] > 1.0


@pytest.mark.parametrize("form", ["rotation", "rpy", "rotation_vector", "w-first"])
def test_every_form_of_orientation_gives_the_same_motion(form):
    """Nine numbers, roll, pitch and yaw, axis times angle, and w first."""
    moved = moving_frame(np.random.default_rng(2), TIME)
    signals = dict(full_log(moved).frame_signals)
    values = signals.pop(("tool", "quaternion"))
    turns = Rotation.from_matrix(moved.R)
    forms = {
        "rotation": ("rotation", moved.R.reshape(-1, 9)),
        "rpy": ("rpy", moved.angles),
        "rotation_vector": ("rotation_vector", turns.as_rotvec()),
        "w-first": ("quaternion", np.roll(values, 1, axis=1)),
    }
    signals["tool", forms[form][0]] = forms[form][1]
    log = Log(TIME, {}, frame_signals=signals)
    order = "w-first" if form == "w-first" else "x-first"
    prepared = prepare_frame(
        log, None, "tool", Processing(cutoff_hz=None), source="pose", quaternion_order=order
    )
    assert max(errors(prepared, moved)) < 1e-6
    assert prepared.record.quaternion_order == order


@every("seed", range(6))
def test_the_wrong_order_of_a_quaternion_is_named(seed):
    """Either way round, in axes of sensor or base, with noise and bias; the right one passes."""
    rng = np.random.default_rng(seed)
    moved = moving_frame(rng, TIME[::2], turn_rad=rng.uniform(0.3, 1.2))
    log = full_log(moved, axes="base" if seed % 2 else "frame")
    signals = dict(log.frame_signals)
    for name, noise in (("force", 0.2), ("torque", 0.01)):
        signals["tool", name] = signals["tool", name] + noise * rng.normal(size=(len(moved.t), 3))
        if not seed % 2:
            signals["tool", name] = signals["tool", name] + 20 * noise
    stated, meant = ("x-first", "w-first") if seed % 4 < 2 else ("w-first", "x-first")
    q = signals["tool", "quaternion"]
    signals["tool", "quaternion"] = np.roll(q, 1, axis=1) if meant == "w-first" else q
    wrong = replace(log, frame_signals=signals)
    options = {"source": "twist" if seed == 5 else "pose", "twist_axes": "base"}
    options |= {"wrench_axes": "base" if seed % 2 else "sensor"}
    with pytest.raises(SignalError, match=f"read {stated}, as stated.*quaternion_order='{meant}'"):
        prepare_frame(wrong, None, "tool", quaternion_order=stated, **options)
    prepare_frame(wrong, None, "tool", quaternion_order=meant, **options)


def test_motion_alone_does_not_tell_the_order_of_a_quaternion():
    """Both readings turn by the same angles: only gravity tells them apart."""
    q = moving_frame(np.random.default_rng(1), TIME).quaternions
    right, wrong = Rotation.from_quat(q), Rotation.from_quat(np.roll(q, 1, axis=1))
    angles = [(one[:-1].inv() * one[1:]).magnitude() for one in (right, wrong)]
    np.testing.assert_allclose(angles[0], angles[1], atol=1e-9)


def test_an_imu_away_from_the_frame_gives_the_motion_of_the_frame():
    """Gyroscope and accelerometer at a lever arm, turned; the frame's own motion is the truth."""
    rng = np.random.default_rng(5)
    moved = moving_frame(rng, TIME)
    T = random_pose(rng, 0.3)
    r, R = T[:3, 3], T[:3, :3]
    there = moved.proper + np.cross(moved.alpha, r) + np.cross(moved.w, np.cross(moved.w, r))
    log = Log(
        TIME,
        {},
        frame_signals={
            ("imu", "angular_velocity"): moved.w @ R,
            ("imu", "proper_acceleration"): there @ R,
        },
    )
    prepared = prepare_frame(
        log,
        None,
        "tool",
        Processing(cutoff_hz=None),
        source="imu",
        columns="imu",
        mounting=T,
        wrench=False,
    )
    assert max(errors(prepared, moved)) < 1e-6
    assert prepared.motion.R_world_frame is None
    assert prepared.motion.frame == "tool"
    assert prepared.wrench is None


def test_a_pose_of_the_flange_gives_the_motion_of_the_sensor():
    """The mounting is the flange's pose in the sensor's frame; wrenches in base axes follow."""
    rng = np.random.default_rng(6)
    moved = moving_frame(rng, TIME)
    T = random_pose(rng, 0.2)  # of the flange in the sensor
    flange = replace(
        moved,
        R=moved.R @ T[:3, :3],
        p=moved.p + np.einsum("nij,j->ni", moved.R, T[:3, 3]),
    )
    log = full_log(moved, axes="base")
    signals = {key: log.frame_signals[key] for key in (("tool", "force"), ("tool", "torque"))}
    signals |= dict(pose_log(flange, "flange").frame_signals)
    prepared = prepare_frame(
        Log(TIME, {}, frame_signals=signals),
        None,
        "tool",
        Processing(cutoff_hz=None),
        source="pose",
        columns="flange",
        mounting=T,
        wrench_axes="base",
    )
    assert max(errors(prepared, moved)) < 1e-6
    np.testing.assert_allclose(prepared.motion.R_world_frame, moved.R[2:-2], atol=1e-12)
    force, _ = body_wrench(moved, 1.5, COM, INERTIA)
    np.testing.assert_allclose(prepared.wrench.force, force[2:-2], atol=1e-9)


def test_a_frame_can_be_moved_there_and_back():
    """Motion at another frame of the same body, and back by the inverse pose."""
    rng = np.random.default_rng(7)
    moved = moving_frame(rng, TIME[:50])
    motion = frame_motion_from_imu(moved.t, moved.w, moved.proper, moved.quaternions)
    T = random_pose(rng)
    back = at_another_frame(at_another_frame(motion, T, "there"), np.linalg.inv(T), "imu")
    for name in (
        "proper_acceleration",
        "angular_velocity",
        "angular_acceleration",
        "R_world_frame",
    ):
        np.testing.assert_allclose(
            getattr(back, name)[2:-2], getattr(motion, name)[2:-2], atol=1e-10
        )


def joint_log(
    robot: Robot, rng: np.random.Generator, joints: tuple[str, ...]
) -> tuple[Log, Motion]:
    """Sines of all joints; the log holds only some of them, and a wrench without a name."""
    n = len(robot.joint_names)
    w, phase = 2 * np.pi * rng.uniform(0.1, 0.5, n), rng.uniform(0, 6, n)
    angle = TIME[:, None] * w + phase
    motion = Motion(TIME, np.sin(angle), w * np.cos(angle), -w * w * np.sin(angle))
    signals = {
        (name, "position"): motion.q[:, k]
        for k, name in enumerate(robot.joint_names)
        if name in joints
    }
    wrench = {
        ("", "force"): rng.normal(size=(len(TIME), 3)),
        ("", "torque"): rng.normal(size=(len(TIME), 3)),
    }
    return Log(TIME, signals, "joints", frame_signals=wrench), motion


@every("seed", range(6))
def test_joints_give_the_motion_of_a_link(seed):
    """Without torques, and without joints of other branches; the wrench is taken as it is."""
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 6, fixed=0.6, mimic=0.2)
    frame = robot.links[-1].name
    above = {joint.child: joint for joint in robot.joints}
    path, link = [], frame
    while link in above:
        path.append(above[link])
        link = above[link].parent
    names = {(one.mimic.joint if one.mimic else one.name) for one in path if one.moves}
    log, motion = joint_log(robot, rng, tuple(names))
    prepared = prepare_frame(log, robot, frame, Processing(cutoff_hz=None))
    truth = frame_motion_from_joints(robot, motion, frame)
    scale = 1.0 + np.abs(truth.proper_acceleration).max()
    offset = 2 if len(prepared.motion) == len(TIME) - 4 else 0
    rows = slice(offset, len(TIME) - offset)
    for name in (
        "proper_acceleration",
        "angular_velocity",
        "angular_acceleration",
        "R_world_frame",
    ):
        np.testing.assert_allclose(
            getattr(prepared.motion, name), getattr(truth, name)[rows], atol=1e-6 * scale
        )
    np.testing.assert_array_equal(prepared.wrench.force, log.frame_signals["", "force"][rows])
    filtered = prepare_frame(log, robot, frame)
    assert filtered.record.cutoff_hz is None or filtered.record.cutoff_hz > 1.0


def test_a_sensor_can_be_mounted_on_a_link():
    """The same as a link on a fixed joint at that pose."""
    rng = np.random.default_rng(11)
    robot = random_robot(rng, 3, chain=True, fixed=0.0)
    T = random_pose(rng, 0.2)  # of the sensor in the link
    mount = Joint("mount", "fixed", "link_3", "sensor", placement=frozen_array(T, (4, 4)))
    whole = replace(robot, links=(*robot.links, Link("sensor")), joints=(*robot.joints, mount))
    log, _ = joint_log(robot, rng, robot.joint_names)
    expected = prepare_frame(log, whole, "sensor")
    options = {"columns": "link_3", "mounting": np.linalg.inv(T)}
    found = prepare_frame(log, robot, "sensor", **options)
    assert found.motion.frame == found.wrench.frame == "sensor"
    for name in (
        "proper_acceleration",
        "angular_velocity",
        "angular_acceleration",
        "R_world_frame",
    ):
        np.testing.assert_allclose(
            getattr(found.motion, name), getattr(expected.motion, name), atol=1e-9
        )
    with pytest.raises(SignalError, match="not the link in which frame 'sensor' is mounted"):
        prepare_frame(log, robot, "sensor", mounting=np.eye(4))


def test_a_joint_that_moves_the_frame_is_needed():
    """By name, with the frame that depends on it."""
    rng = np.random.default_rng(0)
    robot = random_robot(rng, 3, chain=True, fixed=0.0)
    log, _ = joint_log(robot, rng, ("joint_1", "joint_3"))
    with pytest.raises(
        LogError, match="lacks the position of joint_2, on which frame 'link_3' of r"
    ):
        prepare_frame(log, robot, "link_3")
    assert len(prepare_frame(log, robot, "link_1").motion) > 1000


def test_a_sensor_frame_that_the_robot_lacks_is_refused():
    """With the nearest name and all links; for every source where a robot is given."""
    rng = np.random.default_rng(0)
    robot = random_robot(rng, 3, chain=True, fixed=0.0)
    log, _ = joint_log(robot, rng, robot.joint_names)
    for source in ("joints", "pose"):
        with pytest.raises(RobotError, match=r"no link 'link3' \(did you mean 'link_3'\?\)"):
            prepare_frame(log, robot, "link3", source=source)
    with pytest.raises(RobotError, match="only with a robot"):
        prepare_frame(log, None, "link_3")


def test_poses_at_rest_are_taken_one_by_one():
    """No filter, no derivative; gravity alone, and rows that lack something are left out."""
    turns = Rotation.random(10, random_state=0)
    R = turns.as_matrix()
    force = 2.0 * np.einsum("nij,i->nj", R, [0, 0, 9.81])
    torque = np.cross([0.1, 0.0, 0.05], force)
    force[4, 1] = np.nan
    signals = {("", "quaternion"): turns.as_quat(), ("", "force"): force, ("", "torque"): torque}
    log = Log(np.arange(10.0), {}, frame_signals=signals)
    prepared = prepare_frame(log, None, "tool", source="pose", at_rest=True)
    kept = np.arange(10) != 4
    np.testing.assert_allclose(prepared.motion.proper_acceleration, force[kept] / 2.0, atol=1e-12)
    assert not prepared.motion.angular_acceleration.any()
    np.testing.assert_array_equal(prepared.wrench.force, force[kept])
    assert prepared.record.at_rest
    wrong = dict(signals) | {("", "quaternion"): np.roll(turns.as_quat(), 1, axis=1)}
    with pytest.raises(SignalError, match="quaternion_order='w-first'"):
        prepare_frame(
            Log(np.arange(10.0), {}, frame_signals=wrong), None, "tool", source="pose", at_rest=True
        )


def test_orientations_alone_are_marked():
    """The origin is taken to move without acceleration, and a warning says so."""
    moved = moving_frame(np.random.default_rng(3), TIME, reach_m=0.0)
    signals = dict(full_log(moved).frame_signals)
    del signals["tool", "position"]
    prepared = prepare_frame(Log(TIME, {}, frame_signals=signals), None, "tool", source="pose")
    assert [one.code for one in prepared.findings] == ["no-positions"]
    assert max(errors(prepared, moved)) < 1e-3


def test_the_wrench_is_filtered_like_the_motion_where_asked():
    """torque_filter='same', with the same decimation; otherwise it is as measured."""
    rng = np.random.default_rng(4)
    moved = moving_frame(rng, TIME)
    log = full_log(moved)
    signals = dict(log.frame_signals)
    signals["tool", "force"] = signals["tool", "force"] + rng.normal(size=(len(TIME), 3))
    noisy = replace(log, frame_signals=signals)
    truth = body_wrench(moved, 1.5, COM, INERTIA)[0]
    noise = {}
    for filtered in ("none", "same"):
        processing = Processing(torque_filter=filtered, cutoff_hz=8.0)
        prepared = prepare_frame(noisy, None, "tool", processing, source="pose")
        rows = np.rint(prepared.motion.time * RATE).astype(int)
        noise[filtered] = float(np.std(prepared.wrench.force - truth[rows]))
        assert prepared.record.wrench_filtered == (filtered == "same")
        assert prepared.record.decimation == (2 if filtered == "same" else 1)
    assert noise["none"] == pytest.approx(1.0, rel=0.05)
    assert noise["same"] < 0.4


def test_gaps_cut_the_log_and_mark_wrenches():
    """A hole of half a second makes two pieces; a lost wrench is NaN."""
    moved = moving_frame(np.random.default_rng(8), TIME)
    log = full_log(moved)
    signals = {key: values.copy() for key, values in log.frame_signals.items()}
    signals["tool", "quaternion"][1000:1100] = np.nan
    signals["tool", "force"][500] = np.nan
    prepared = prepare_frame(
        replace(log, frame_signals=signals), None, "tool", Processing(cutoff_hz=None), source="pose"
    )
    assert [one.code for one in prepared.findings] == ["log-cut"]
    assert max(errors(prepared, moved)) < 1e-6
    rows = np.rint(prepared.motion.time * RATE).astype(int)
    assert not set(range(998, 1102)) & set(rows.tolist())
    assert rows[np.isnan(prepared.wrench.force[:, 0])].tolist() == [500]


def test_uneven_stamps_are_resampled():
    """Jitter of 20 % of the period costs little, and stamps of another clock start anywhere."""
    rng = np.random.default_rng(9)
    stamps = 1e3 + TIME + rng.uniform(-0.001, 0.001, len(TIME))
    moved = moving_frame(rng, stamps)
    prepared = prepare_frame(
        full_log(moved), None, "tool", Processing(interpolation="cubic"), source="pose"
    )
    at = moving_frame_like(9, prepared.motion.time)
    assert relative(prepared.motion.proper_acceleration, at.proper) < 1e-3
    assert relative(prepared.motion.angular_velocity, at.w) < 1e-3


def moving_frame_like(seed: int, time: np.ndarray):
    """The motion of the test above at other times."""
    rng = np.random.default_rng(seed)
    rng.uniform(-0.001, 0.001, len(TIME))
    return moving_frame(rng, time)


def test_a_frame_that_never_moves_is_not_filtered():
    """Which a note says."""
    n = 500
    signals = {
        ("", "quaternion"): np.tile([0.0, 0.0, 0.0, 1.0], (n, 1)),
        ("", "position"): np.zeros((n, 3)),
        ("", "force"): np.tile([0.0, 0.0, 9.81], (n, 1)),
        ("", "torque"): np.zeros((n, 3)),
    }
    log = Log(np.arange(n) / RATE, {}, frame_signals=signals)
    prepared = prepare_frame(log, None, "tool", source="pose")
    assert prepared.record.cutoff_hz is None
    assert [one.code for one in prepared.findings] == ["frame-at-rest"]
    np.testing.assert_allclose(
        prepared.motion.proper_acceleration, prepared.wrench.force, atol=1e-9
    )


def test_the_record_is_plain_json():
    """With cutoff, rate and the stated conventions."""
    moved = moving_frame(np.random.default_rng(3), TIME)
    record = prepare_frame(full_log(moved), None, "tool", source="pose").record
    plain = json.loads(json.dumps(record.as_json()))
    assert plain["source"] == "pose"
    assert plain["quaternion_order"] == "x-first"
    assert plain["wrench_axes"] == "sensor"
    assert plain["recorded_rate_hz"] == pytest.approx(RATE)
    assert plain["cutoff_hz"] == plain["cutoff_choice"]["cutoff_hz"]
