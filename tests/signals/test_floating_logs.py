"""Logs of floating robots: base motion from poses, twists and IMUs; base and contact wrenches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.helpers.floating_logs import (
    contact_torques,
    floating_run,
    frame_orientation,
    joint_signals,
    log_of,
    pose_signals,
    wrench_signals,
)

pytest.importorskip("pinocchio")

from steelyard.errors import LogError, RobotError, SignalError
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.signals.prepare import prepare
from steelyard.signals.processing import Processing
from steelyard.signals.sensing import BaseMotion, MeasuredWrench, Sensing
from steelyard.testing.random_robots import random_robot

PLAIN = Processing(
    cutoff_hz=None, decimate=1, trim_s=(0.05, 0.05), dead_band=None, still_joints="keep"
)
SEEDS = range(5)


def made(seed: int):
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 1 + seed % 5, floating_base=True, mimic=0.3)
    return robot, floating_run(robot, rng), rng


def misfit(done, robot) -> np.ndarray:
    """Largest misfit of each row (nv,) as a share of its largest torque, NaN where none is used."""
    model = Model(robot, ())
    motion = done.motion
    tau = torque(model, model.prior_theta(), motion.q, motion.v, motion.a)
    size = np.abs(tau).max(axis=0)
    away = np.abs(done.all_measurements.tau - tau) / np.maximum(size, 1e-3 * size.max())
    return np.max(away, axis=0)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("source", ["pose", "twist", "world twist", "imu"])
def test_rows_agree_with_pinocchio(seed: int, source: str) -> None:
    """Every source of the base's motion gives rows that Pinocchio's torques meet."""
    robot, run, _ = made(seed)
    tau, R = run.torques(), run.R
    linear, w = run.v[:, :3], run.v[:, 3:6]
    proper = run.a[:, :3] + np.cross(w, linear) - np.einsum("nij,i->nj", R, robot.gravity)
    frames = wrench_signals(robot.root, tau[:, :6])
    stated = None
    if source == "pose":
        frames |= pose_signals(run)
    elif source == "twist":
        frames |= {
            (robot.root, "quaternion"): run.q[:, 3:7],
            (robot.root, "linear_velocity"): linear,
            (robot.root, "angular_velocity"): w,
        }
    elif source == "world twist":
        stated = Sensing(
            BaseMotion("twist", twist_axes="base"), MeasuredWrench(robot.root), (), "recorded"
        )
        frames |= {
            (robot.root, "quaternion"): run.q[:, 3:7],
            (robot.root, "linear_velocity"): np.einsum("nij,nj->ni", R, linear),
            (robot.root, "angular_velocity"): np.einsum("nij,nj->ni", R, w),
        }
    else:
        frames |= {
            (robot.root, "angular_velocity"): w,
            (robot.root, "proper_acceleration"): proper,
        }
    log = log_of(run, joint_signals(run, tau), frames)
    done = prepare(log, Model(robot, ()), replace(PLAIN, sensing=stated))
    assert done.measurements.channels == Model(robot).channels
    assert np.nanmax(misfit(done, robot)) < 2e-5
    assert done.record.processing.sensing.base.source == source.split()[-1]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("axes", ["frame", "world"])
def test_contact_wrenches(seed: int, axes: str) -> None:
    """Contacts at random links are taken to the side of the torques; nothing holds the base."""
    robot, run, rng = made(seed)
    links = [link.name for link in robot.links][1:]
    feet = tuple(rng.choice(links, size=min(2, len(links)), replace=False))
    tau, frames = run.torques(), pose_signals(run)
    for foot in feet:
        wrench = 20 * np.sin(run.time[:, None] * rng.uniform(1, 5, size=6) + rng.uniform(0, 6, 6))
        tau = tau - contact_torques(run, foot, wrench)
        if axes == "world":
            R = frame_orientation(run, foot)
            wrench = np.hstack([np.einsum("nij,nj->ni", R, x) for x in np.hsplit(wrench, 2)])
        frames |= wrench_signals(foot, -wrench if axes == "world" else wrench)
    # the base is held by what is left, which is measured too
    frames |= wrench_signals(robot.root, tau[:, :6])
    sensing = None
    if axes == "world":
        sensing = Sensing(
            BaseMotion("pose"),
            MeasuredWrench(robot.root),
            tuple(MeasuredWrench(foot, axes="world", sign="by-robot") for foot in feet),
        )
    log = log_of(run, joint_signals(run, tau), frames)
    done = prepare(log, Model(robot, ()), replace(PLAIN, sensing=sensing))
    assert np.nanmax(misfit(done, robot)) < 2e-5


def test_nothing_holds_the_base() -> None:
    """With a contact and no base wrench, the rows of the base say that the contact carries all."""
    robot, run, _ = made(3)
    link = robot.links[-1].name
    tau = run.torques()
    n = len(run.time)
    rows = [contact_torques(run, link, np.tile(one, (n, 1)))[:, :6] for one in np.eye(6)]
    wrench = np.linalg.solve(np.stack(rows, axis=2), tau[:, :6, None])[:, :, 0]
    joints = tau - contact_torques(run, link, wrench)
    assert np.abs(joints[:, :6]).max() < 1e-6 * np.abs(tau).max()
    log = log_of(run, joint_signals(run, joints), pose_signals(run) | wrench_signals(link, wrench))
    done = prepare(log, Model(robot, ()), PLAIN)
    assert done.record.processing.sensing.base_wrench == "nothing"
    assert np.nanmax(misfit(done, robot)) < 2e-5


def test_an_imu_on_a_link_that_is_fixed_to_the_base() -> None:
    """The motion of the base follows from that of a link on fixed joints."""
    robot, run, rng = made(7)
    from steelyard.robot.parts import Joint, Link
    from steelyard.testing.random_robots import random_pose

    T = random_pose(rng)
    carried = Joint("mount", "fixed", robot.root, "imu", placement=T)
    robot = replace(robot, links=(*robot.links, Link("imu")), joints=(*robot.joints, carried))
    tau, R = run.torques(), run.R
    w, alpha, p = run.v[:, 3:6], run.a[:, 3:6], T[:3, 3]
    proper = run.a[:, :3] + np.cross(w, run.v[:, :3]) - np.einsum("nij,i->nj", R, robot.gravity)
    there = proper + np.cross(alpha, p) + np.cross(w, np.cross(w, p))
    frames = wrench_signals(robot.root, tau[:, :6]) | {
        ("imu", "angular_velocity"): w @ T[:3, :3],
        ("imu", "proper_acceleration"): there @ T[:3, :3],
    }
    done = prepare(log_of(run, joint_signals(run, tau), frames), Model(robot, ()), PLAIN)
    assert done.record.processing.sensing.base == BaseMotion("imu", "imu")
    assert np.nanmax(misfit(done, robot)) < 2e-5


def test_rows_that_were_not_measured() -> None:
    """Without a base wrench its rows are missing; a joint without torque is named."""
    robot, run, _ = made(4)
    tau = run.torques()
    lost = robot.joint_names[0]
    log = log_of(run, joint_signals(run, tau, without=(lost,)), pose_signals(run))
    done = prepare(log, Model(robot, ()), PLAIN)
    gone = np.isnan(done.measurements.tau).all(axis=0)
    assert gone[:6].all()
    assert gone[6]
    assert not gone[7:].any()
    codes = {one.code: one.words for one in done.findings}
    assert lost in codes["torque-not-recorded"]
    assert robot.root in codes["base-wrench-not-recorded"]


def test_base_wrench_alone() -> None:
    """No joint needs a torque if the wrench of the base is there."""
    robot, run, _ = made(2)
    tau = run.torques()
    frames = pose_signals(run) | wrench_signals(robot.root, tau[:, :6])
    log = log_of(run, joint_signals(run, tau, without=robot.joint_names), frames)
    done = prepare(log, Model(robot, ()), PLAIN)
    assert np.nanmax(misfit(done, robot)) < 2e-5
    assert np.isfinite(done.measurements.tau[:, :6]).all()


def test_quaternions_that_flip_sign_change_nothing() -> None:
    """q and -q are one orientation."""
    robot, run, rng = made(1)
    tau = run.torques()
    signs = np.where(rng.random(len(run.time)) < 0.5, -1.0, 1.0)[:, None]
    frames = pose_signals(run) | wrench_signals(robot.root, tau[:, :6])
    flipped = frames | {(robot.root, "quaternion"): signs * run.q[:, 3:7]}
    done = [
        prepare(log_of(run, joint_signals(run, tau), one), Model(robot, ()), PLAIN)
        for one in (frames, flipped)
    ]
    np.testing.assert_allclose(done[0].motion.a, done[1].motion.a, atol=1e-9)


def test_refusals_name_what_is_wrong() -> None:
    """Base columns, norms, frames, forces without a link, and wrong axes are named."""
    robot, run, _ = made(5)
    tau = run.torques()
    joints = joint_signals(run, tau)
    pose, held = pose_signals(run), wrench_signals(robot.root, tau[:, :6])

    def refused(frames, kind, match, sensing=None, signals=joints):
        with pytest.raises(kind, match=match):
            prepare(log_of(run, signals, frames), Model(robot, ()), replace(PLAIN, sensing=sensing))

    refused(held, LogError, f"no motion of the base '{robot.root}'")
    long = pose | {(robot.root, "quaternion"): 1.5 * run.q[:, 3:7]}
    refused(long | held, SignalError, r"norm 1\.5.*unit quaternion")
    refused(pose | wrench_signals("boot", tau[:, :6]), LogError, "forces of boot.*no link")
    refused(pose | wrench_signals("", tau[:, :6]), LogError, r"without a name.*no link")
    stated = Sensing(BaseMotion("imu", "chest"), MeasuredWrench(robot.root))
    refused(pose | held, RobotError, "chest", stated)
    moved = Sensing(BaseMotion("pose", robot.links[1].name), MeasuredWrench(robot.root))
    refused(pose | held, SignalError, "moves against the base", moved)
    contact = Sensing(BaseMotion("pose"), "nothing", (MeasuredWrench(robot.links[1].name),))
    refused(
        pose | held, LogError, f"no force of the wrench at frame '{robot.links[1].name}'", contact
    )
    none = joint_signals(run, tau, without=robot.joint_names)
    refused(pose, LogError, "nothing to identify from", signals=none)
    inertial = {
        (robot.root, "angular_velocity"): run.v[:, 3:6],
        (robot.root, "proper_acceleration"): run.a[:, :3],
    }
    world = Sensing(BaseMotion("imu"), MeasuredWrench(robot.root, axes="world"))
    refused(inertial | held, SignalError, "an IMU alone does not", world)


def test_a_fixed_base_with_a_contact() -> None:
    """A contact at the flange of an arm is taken to the torques; a base motion is refused."""
    robot, run, rng = made(6)
    tip = robot.links[-1].name
    still = replace(
        run, q=run.q * 1.0, v=np.hstack([0 * run.v[:, :6], run.v[:, 6:]]), a=run.a * 1.0
    )
    still.q[:, :7], still.a[:, :6] = (0, 0, 0, 0, 0, 0, 1), 0.0
    tau = still.torques()
    wrench = rng.normal(size=6) * np.sin(3 * run.time)[:, None]
    joints = tau - contact_torques(still, tip, wrench)
    fixed = replace(robot, floating_base=False)
    log = log_of(still, joint_signals(still, joints), wrench_signals(tip, wrench))
    done = prepare(
        log, Model(fixed, ()), replace(PLAIN, sensing=Sensing(contacts=(MeasuredWrench(tip),)))
    )
    assert np.nanmax(misfit(done, fixed)) < 2e-5
    with pytest.raises(SignalError, match=r"the base of robot .* is fixed"):
        prepare(log, fixed, replace(PLAIN, sensing=Sensing(BaseMotion("pose"))))


def test_processing_with_sensing_reads_back() -> None:
    """The record of a run states the sensing, and gives it back."""
    sensing = Sensing(
        BaseMotion("imu", "imu", quaternion_order="w-first"),
        "nothing",
        (MeasuredWrench("foot", "left", "world", "by-robot", torque=False),),
        "recorded",
    )
    given = Processing(sensing=sensing)
    assert Processing.from_record(given.as_record()) == given
    for wrong in ({"base": 3}, {"contacts": 1}, {"base_wrench": "floor"}, {"torques": "some"}, 4):
        with pytest.raises(SignalError):
            Processing.from_record({"sensing": wrong})
