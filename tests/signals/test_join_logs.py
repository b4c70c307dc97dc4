"""Two tables of one recording as one log."""

from __future__ import annotations

import numpy as np
import pytest
from moving_frames import body_wrench, moving_frame, pose_log
from scipy.spatial.transform import Rotation, Slerp

from steelyard.errors import LogError
from steelyard.logs.log import Log
from steelyard.signals.join_logs import join_logs
from steelyard.signals.prepared_frame import prepare_frame

INERTIA = np.diag([0.02, 0.03, 0.04])


def wrench_log(time: np.ndarray, seed: int = 0) -> Log:
    """The wrench of a body on the frame that moves as with this seed."""
    force, torque = body_wrench(
        moving_frame(np.random.default_rng(seed), time), 1.0, np.array([0.1, 0.0, 0.0]), INERTIA
    )
    return Log(time, {}, "wrenches", frame_signals={("", "force"): force, ("", "torque"): torque})


def poses_at(time: np.ndarray, seed: int = 0) -> Log:
    return pose_log(moving_frame(np.random.default_rng(seed), time))


def test_rotations_are_interpolated_as_scipy_does():
    """Slerp at the wrenches' stamps; positions on straight lines; wrenches untouched."""
    rng = np.random.default_rng(1)
    time = np.sort(rng.uniform(0.0, 3.0, 200))
    poses = poses_at(np.linspace(-0.1, 3.1, 321))
    wrenches = wrench_log(time)
    joined = join_logs(poses, wrenches).log
    np.testing.assert_array_equal(joined.time, time)
    np.testing.assert_array_equal(
        joined.frame_signals["", "force"], wrenches.frame_signals["", "force"]
    )
    q = poses.frame_signals["tool", "quaternion"]
    expected = Slerp(poses.time, Rotation.from_quat(q))(time)
    found = Rotation.from_quat(joined.frame_signals["tool", "quaternion"])
    assert (expected.inv() * found).magnitude().max() < 1e-12
    for k in range(3):
        p = np.interp(time, poses.time, poses.frame_signals["tool", "position"][:, k])
        np.testing.assert_allclose(joined.frame_signals["tool", "position"][:, k], p, atol=1e-15)


@pytest.mark.parametrize(("how", "limit"), [("linear", 1e-3), ("cubic", 2e-4), ("auto", 2e-4)])
def test_slower_poses_still_give_the_motion(how, limit):
    """100 Hz beside 500 Hz, through the automatic filter."""
    time = np.arange(0.0, 10.0, 0.002)
    joined = join_logs(poses_at(np.arange(0.0, 10.0, 0.01)), wrench_log(time), interpolation=how)
    assert [one.code for one in joined.findings] == ["joined-rows-cut", "joined-rates"]
    prepared = prepare_frame(joined.log, None, "tool", source="pose")
    truth = moving_frame(np.random.default_rng(0), prepared.motion.time)
    for name, wanted in (("proper_acceleration", truth.proper), ("angular_velocity", truth.w)):
        error = np.sqrt(np.mean((getattr(prepared.motion, name) - wanted) ** 2))
        assert error < limit * np.sqrt(np.mean(wanted**2))


def test_much_slower_poses_are_interpolated_by_splines():
    """25 Hz beside 250 Hz: the default is within 1e-5 rad of the true motion, which straight lines
    are not; findings say what was done.
    """
    time = np.arange(0.2, 9.8, 0.004)
    poses, wrenches = poses_at(np.arange(0.0, 10.0, 0.04)), wrench_log(time)
    truth = Rotation.from_quat(moving_frame(np.random.default_rng(0), time).quaternions)
    worst, levels = {}, {}
    for how in ("auto", "linear"):
        joined = join_logs(poses, wrenches, interpolation=how)
        q = joined.log.frame_signals["tool", "quaternion"]
        worst[how] = (truth.inv() * Rotation.from_quat(q)).magnitude().max()
        (finding,) = (one for one in joined.findings if one.code == "joined-rates")
        levels[how] = finding.level
        assert ("by splines" if how == "auto" else "use cubic interpolation") in finding.words
    assert worst["auto"] < 1e-5
    assert worst["linear"] > 1e-4
    assert levels == {"auto": "info", "linear": "warning"}


def test_slow_poses_whose_stamps_almost_coincide_stay_on_lines():
    """A spline through noisy poses swings there; the warning says so."""
    stamps = np.sort(np.append(np.arange(0.0, 10.0, 0.04), 5.0001))
    joined = join_logs(poses_at(stamps), wrench_log(np.arange(0.2, 9.8, 0.004)))
    (finding,) = (one for one in joined.findings if one.code == "joined-rates")
    assert finding.level == "warning"
    assert "0.0001 s apart" in finding.words


def test_nothing_is_extrapolated():
    """Rows before and after the poses are cut, and a note says how many."""
    joined = join_logs(poses_at(np.arange(1.0, 2.0, 0.01)), wrench_log(np.arange(0.0, 3.0, 0.01)))
    assert joined.log.time[0] == pytest.approx(1.0)
    assert joined.log.time[-1] == pytest.approx(1.99)
    assert "100 rows (1 s) at the start and 100 (1 s) at the end" in joined.findings[0].words


@pytest.mark.parametrize("how", ["linear", "cubic"])
def test_gaps_of_the_poses_are_missing(how):
    """Where stamps are far apart, and where rows are lost."""
    time = np.arange(0.0, 3.0, 0.01)
    kept = (time < 1.0) | (time > 1.5)
    poses = poses_at(time[kept])
    joined = join_logs(poses, wrench_log(time), interpolation=how)
    gone = np.isnan(joined.log.frame_signals["tool", "quaternion"]).all(axis=1)
    np.testing.assert_array_equal(
        gone, np.isnan(joined.log.frame_signals["tool", "position"]).any(axis=1)
    )
    assert np.flatnonzero(gone).tolist() == np.flatnonzero(~kept).tolist()
    assert f"{(~kept).sum()} of 300 rows" in joined.findings[0].words


def test_orders_and_other_forms_become_quaternions():
    """The joined log is read x-first."""
    time = np.arange(0.0, 2.0, 0.01)
    poses, wrenches = poses_at(time), wrench_log(time)
    plain = join_logs(poses, wrenches).log.frame_signals["tool", "quaternion"]
    q = poses.frame_signals["tool", "quaternion"]
    turned = Log(time, {}, frame_signals={("tool", "quaternion"): np.roll(q, 1, axis=1)})
    again = join_logs(turned, wrenches, quaternion_order="w-first").log
    np.testing.assert_allclose(again.frame_signals["tool", "quaternion"], plain, atol=1e-12)
    matrices = Rotation.from_quat(q).as_matrix().reshape(-1, 9)
    nine = Log(time, {}, frame_signals={("tool", "rotation"): matrices})
    other = join_logs(nine, wrenches).log
    assert other.frame_quantities("tool") == ("quaternion",)
    dots = np.abs(np.sum(other.frame_signals["tool", "quaternion"] * plain, axis=1))
    np.testing.assert_allclose(dots, 1.0, atol=1e-12)


def test_joints_can_stand_beside_wrenches():
    """Their positions are interpolated too, and keep their units."""
    time = np.arange(0.0, 2.0, 0.01)
    joints = Log(time, {("elbow", "position"): 3.0 * time}, units={("elbow", "position"): "rad"})
    joined = join_logs(joints, wrench_log(time[:-1] + 0.003)).log
    np.testing.assert_allclose(joined.signals["elbow", "position"], 3.0 * joined.time, atol=1e-12)
    assert joined.units["elbow", "position"] == "rad"


def test_what_cannot_be_joined_is_refused():
    """Another clock, and a signal that both have."""
    poses = poses_at(np.arange(0.0, 2.0, 0.01))
    with pytest.raises(
        LogError, match=r"0 rows of the second in common; are both stamped by the s"
    ):
        join_logs(poses, wrench_log(np.arange(1e9, 1e9 + 2, 0.01)))
    with pytest.raises(LogError, match=r"both have the position of 'tool' \(2 such signals\)"):
        join_logs(poses, poses)
