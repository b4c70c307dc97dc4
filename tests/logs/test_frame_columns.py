"""Columns of frames: forces, torques, poses, twists and IMUs in logs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from steelyard.errors import LogError
from steelyard.logs.columns import parse_column
from steelyard.logs.frame_columns import FRAME_QUANTITIES, FRAME_UNITS, frame_column_name
from steelyard.logs.log import Log
from steelyard.logs.reading import read_log
from steelyard.logs.writer_csv import write_csv

DEGREE = math.pi / 180.0


@pytest.mark.parametrize(
    ("column", "frame", "quantity", "axis", "factor"),
    [
        ("wrist.force_x[N]", "wrist", "force", "x", 1.0),
        ("left.wrist.torque_z[mN*m]", "left.wrist", "torque", "z", 1e-3),
        ("wrist.position_y[mm]", "wrist", "position", "y", 1e-3),
        ("wrist.quaternion_w", "wrist", "quaternion", "w", 1.0),
        ("wrist.quaternion_3", "wrist", "quaternion", "w", 1.0),
        ("quat[0]", "", "quaternion", "x", 1.0),
        ("wrist.linear_velocity_x[mm/s]", "wrist", "linear_velocity", "x", 1e-3),
        ("wrist.angular_velocity_x[deg/s]", "wrist", "angular_velocity", "x", DEGREE),
        ("wrist.linear_acceleration_x", "wrist", "linear_acceleration", "x", 1.0),
        ("wrist.angular_acceleration_z[rad/s²]", "wrist", "angular_acceleration", "z", 1.0),
        ("wrist.proper_acceleration_x[g]", "wrist", "proper_acceleration", "x", 9.80665),
        ("wrist.roll[deg]", "wrist", "rpy", "roll", DEGREE),
        ("yaw", "", "rpy", "yaw", 1.0),
        ("r23", "", "rotation", "23", 1.0),
        ("wrist.rotation_11", "wrist", "rotation", "11", 1.0),
        ("wrist.rotation_vector_x", "wrist", "rotation_vector", "x", 1.0),
        ("Fx", "", "force", "x", 1.0),
        ("fx [N]", "", "force", "x", 1.0),
        ("tz[Nm]", "", "torque", "z", 1.0),
        ("mx[Nmm]", "", "torque", "x", 1e-3),
        ("wrist.fz", "wrist", "force", "z", 1.0),
        ("qw", "", "quaternion", "w", 1.0),
        ("/wrench/force/x", "", "force", "x", 1.0),
        ("/ft_sensor/wrench.wrench.force.x", "ft_sensor", "force", "x", 1.0),
        ("/robot/ft_sensor/wrench/torque/y", "ft_sensor", "torque", "y", 1.0),
        ("ft.wrench.torque.y", "ft", "torque", "y", 1.0),
        ("imu.linear_acceleration.x", "imu", "proper_acceleration", "x", 1.0),
        ("/imu/linear_acceleration/z", "imu", "proper_acceleration", "z", 1.0),
        ("imu.angular_velocity.x", "imu", "angular_velocity", "x", 1.0),
        ("pose.orientation.w", "", "quaternion", "w", 1.0),
        ("/tool/pose/pose/position/x", "tool", "position", "x", 1.0),
        ("/tf/transform/rotation/w", "tf", "quaternion", "w", 1.0),
        ("tool.twist.linear.x", "tool", "linear_velocity", "x", 1.0),
        ("twist/twist/angular/z", "", "angular_velocity", "z", 1.0),
        ("tool.accel.linear.x", "tool", "linear_acceleration", "x", 1.0),
        ("actual_TCP_force_0", "", "force", "x", 1.0),
        ("actual_TCP_force_5", "", "torque", "z", 1.0),
        ("actual_TCP_pose_4", "", "rotation_vector", "y", 1.0),
        ("actual_TCP_speed_3", "", "angular_velocity", "x", 1.0),
        ("actual_tool_accelerometer_2", "", "proper_acceleration", "z", 1.0),
    ],
)
def test_columns_of_frames_are_recognised(column, frame, quantity, axis, factor):
    """By the schema, as fields of ROS messages, and by the short names that people use."""
    found = parse_column(column, "here")
    assert found is not None
    assert (found.joint, found.frame, found.quantity, found.axis) == ("", frame, quantity, axis)
    assert found.factor == pytest.approx(factor, rel=1e-15)


@pytest.mark.parametrize("column", ["fx[V]", "mx[kg]", "force", "x", "w", "m_x", "force_w", "qq.x"])
def test_other_columns_are_not_taken_for_frames(column):
    """Short names in other units, and names without an axis."""
    assert parse_column(column, "here") is None


@pytest.mark.parametrize("column", ["elbow.force", "elbow.torque", "q1", "elbow.position[deg]"])
def test_columns_of_joints_stay_what_they_were(column):
    """A frame's column has an axis."""
    found = parse_column(column, "here")
    assert found is not None
    assert found.joint
    assert not found.axis


@pytest.mark.parametrize("quantity", FRAME_QUANTITIES)
def test_every_quantity_has_a_name_that_reads_back(quantity):
    """With and without a frame, in each of its units."""
    for axis in FRAME_QUANTITIES[quantity]:
        for frame in ("", "wrist", "left.wrist"):
            for unit, (factor, si) in FRAME_UNITS[quantity].items():
                name = f"{frame_column_name(frame, quantity, axis)}[{unit}]"
                if unit == "1":
                    name = frame_column_name(frame, quantity, axis)
                    si = ""
                found = parse_column(name, "here")
                assert found is not None
                assert (found.frame, found.quantity, found.axis) == (frame, quantity, axis)
                assert (found.factor, found.unit) == (factor, si)


def test_a_wrong_unit_is_refused():
    """With the units that there are."""
    with pytest.raises(LogError, match=r"'wrist.force_x\[deg\]': 'deg' is not a unit of force"):
        parse_column("wrist.force_x[deg]", "here")


def all_signals(rng: np.random.Generator, n: int = 5) -> dict[tuple[str, str], np.ndarray]:
    """Random values of every quantity of two frames, one without a name."""
    return {
        (frame, quantity): rng.normal(size=(n, len(axes)))
        for frame in ("", "wrist.sensor")
        for quantity, axes in FRAME_QUANTITIES.items()
    }


def test_what_is_written_is_read_back(tmp_path):
    """Every quantity, beside joints, with the same hash."""
    rng = np.random.default_rng(0)
    joints = {("elbow", "position"): rng.normal(size=5)}
    log = Log(np.arange(5.0), joints, frame_signals=all_signals(rng))
    write_csv(log, tmp_path / "run.csv.gz")
    again = read_log(tmp_path / "run.csv.gz")
    assert again.frames == ("", "wrist.sensor")
    assert again.frame_signals.keys() == log.frame_signals.keys()
    for key, values in log.frame_signals.items():
        np.testing.assert_array_equal(again.frame_signals[key], values)
    assert again.content_hash == log.content_hash
    assert again.ignored == ()


def test_frames_are_in_the_hash_of_the_content():
    """One other number, and the name of a frame, change it; joints alone give the one of before."""
    time, values = np.arange(3.0), np.ones((3, 3))
    joints = {("elbow", "torque"): np.ones(3)}
    hashes = {
        Log(time, joints, frame_signals=signals).content_hash
        for signals in (
            {},
            {("wrist", "force"): values},
            {("wrist", "torque"): values},
            {("hand", "force"): values},
            {("wrist", "force"): 2 * values},
        )
    }
    assert len(hashes) == 5


def test_npz_files_hold_frames_too(tmp_path):
    """One array per axis, as the columns of CSV files."""
    arrays = {f"wrist.force_{axis}": np.arange(4.0) + k for k, axis in enumerate("xyz")}
    np.savez(tmp_path / "run.npz", time=np.arange(4.0), **arrays)
    log = read_log(tmp_path / "run.npz")
    np.testing.assert_array_equal(log.frame_signal("wrist", "force")[:, 2], np.arange(4.0) + 2)
    assert log.joints == ()


def test_tables_of_frames_are_read(tmp_path):
    """An array (n_samples, n_axes) per quantity, beside tables of joints; also from memory."""
    rng = np.random.default_rng(0)
    force, q = rng.normal(size=(6, 3)), rng.normal(size=(6, 2))
    turned = rng.normal(size=(6, 4))
    arrays = {"time": np.arange(6.0), "position": q, "wrist.force[kN]": force, "quaternion": turned}
    np.savez(tmp_path / "run.npz", **arrays)
    for log in (read_log(tmp_path / "run.npz"), Log.from_frame(arrays)):
        np.testing.assert_allclose(log.frame_signal("wrist", "force"), 1e3 * force)
        np.testing.assert_array_equal(log.frame_signal("tool", "quaternion"), turned)
        np.testing.assert_array_equal(log.signal("#2", "position"), q[:, 1])
        assert log.ignored == ()
    np.savez(tmp_path / "only.npz", time=np.arange(6.0), **{"wrist.force": force})
    np.testing.assert_array_equal(
        read_log(tmp_path / "only.npz").frame_signal("wrist", "force"), force
    )


def test_columns_of_frames_can_be_named(tmp_path):
    """With --map, a star, and a unit; a column that is named goes before others."""
    path = tmp_path / "run.csv"
    path.write_text("time,Kraft_x,Kraft_y,Kraft_z,fx,fy,fz\n0,1,2,3,7,8,9\n1,4,5,6,7,8,9\n")
    log = read_log(path, columns={"force_*[kN]": "Kraft_*"})
    np.testing.assert_array_equal(log.frame_signal("wrist", "force")[1], [4e3, 5e3, 6e3])
    assert log.ignored == ("fx", "fy", "fz")


def test_an_axis_that_is_missing_is_named(tmp_path):
    """The log is read; asking for the force says which axis is not there."""
    path = tmp_path / "run.csv"
    path.write_text("time,fx,fz,tx,ty,tz\n0,1,3,7,8,9\n1,4,6,7,8,9\n")
    log = read_log(path)
    assert log.frame_quantities("") == ("torque",)
    with pytest.raises(
        LogError, match=r"no force of frame 'wrist': the log has 'fx', 'fz', but no c"
    ):
        log.frame_signal("wrist", "force")
    with pytest.raises(LogError, match=r"no column has y; .*--map wrist.force_y=COLUMN"):
        log.frame_signal("wrist", "force")


def test_a_quantity_that_is_missing_names_the_frames_that_have_it():
    """And the columns that are needed."""
    log = Log(np.arange(3.0), {}, frame_signals={("wrist", "force"): np.ones((3, 3))})
    with pytest.raises(LogError, match=r"wrst.force_x, .*frames that have one: wrist"):
        log.frame_signal("wrst", "force")


def test_a_trajectory_of_tum_is_a_pose(tmp_path):
    """tx, ty, tz are a translation beside an orientation alone, and a torque beside a force."""
    path = tmp_path / "run.csv"
    path.write_text("timestamp,tx,ty,tz,qx,qy,qz,qw\n0,1,2,3,0,0,0,1\n1,1,2,3,0,0,0,1\n")
    assert read_log(path).frame_quantities("") == ("position", "quaternion")
    path.write_text(
        "time,tx,ty,tz,fx,fy,fz,qx,qy,qz,qw\n0,1,2,3,4,5,6,0,0,0,1\n1,1,2,3,4,5,6,0,0,0,1\n"
    )
    assert read_log(path).frame_quantities("") == ("torque", "force", "quaternion")


def test_plain_axes_are_a_position_beside_an_orientation(tmp_path):
    """Without one they are ignored, as before."""
    path = tmp_path / "run.csv"
    path.write_text("time,x[mm],y[mm],z[mm],qx,qy,qz,qw\n0,1,2,3,0,0,0,1\n1,1,2,3,0,0,0,1\n")
    np.testing.assert_allclose(
        read_log(path).frame_signal("tool", "position")[0], [1e-3, 2e-3, 3e-3]
    )
    path.write_text("time,x,y,z,q1\n0,1,2,3,0\n1,1,2,3,0\n")
    assert read_log(path).ignored == ("x", "y", "z")


def test_two_columns_for_one_component_are_refused(tmp_path):
    """With the option that chooses."""
    path = tmp_path / "run.csv"
    path.write_text("time,fx,force_x\n0,1,2\n1,2,3\n")
    with pytest.raises(
        LogError, match=r"both give x of the force; choose one with --map force_x=fx"
    ):
        read_log(path)


@pytest.mark.parametrize(
    ("signals", "message"),
    [
        ({("wrist", "force"): np.ones((3, 4))}, r"shape \(3, 4\); \(3, 3\) is needed"),
        ({("wrist", "smell"): np.ones((3, 3))}, "smell of frame 'wrist' is not a quantity"),
        ({("wrist", "force"): np.array([["a"] * 3] * 3)}, "not numeric"),
    ],
)
def test_signals_that_do_not_fit_are_refused(signals, message):
    """By shape, quantity and type."""
    with pytest.raises(LogError, match=message):
        Log(np.arange(3.0), {}, frame_signals=signals)


def test_the_text_of_a_log_lists_its_frames():
    """Beside its joints."""
    log = Log(np.arange(3.0), {}, frame_signals={("wrist", "force"): np.ones((3, 3))})
    assert repr(log) == "<Log 'log': 3 samples in 2 s; force of frame wrist>"
