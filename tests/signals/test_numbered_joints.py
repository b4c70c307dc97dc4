"""Joints that a log only numbers, and near misses of names, where the log meets a robot."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from robot_files import dataset

from steelyard.errors import LogError
from steelyard.logs.likely_names import map_option
from steelyard.logs.log import Log
from steelyard.logs.reading import read_log
from steelyard.logs.suggestions import probable_columns
from steelyard.robot.parts import Joint, Link
from steelyard.robot.robot import Robot
from steelyard.robot.transmission import Motor, Transmission
from steelyard.signals._matching import match_joints
from steelyard.signals.numbered_joints import name_numbered_joints
from steelyard.signals.prepare import prepare
from steelyard.signals.unrecorded import lock_unrecorded

N = 40
TIME = np.arange(N) / 100.0


def chain(*names: str, branch: bool = False, transmission: Transmission | None = None) -> Robot:
    """Revolute joints of these names, one behind the other, or all on the first link."""
    links = tuple(Link(f"l{k}") for k in range(len(names) + 1))
    joints = tuple(
        Joint(name, "revolute", "l0" if branch else f"l{k}", f"l{k + 1}")
        for k, name in enumerate(names)
    )
    return Robot("arm", links, joints, transmission=transmission)


def log_of(*columns: str) -> Log:
    """A log with these signals, ``joint.quantity``; each has its own values."""
    keys = [tuple(column.rsplit(".", 1)) for column in columns]
    signals = {(a, b): np.full(N, float(k)) for k, (a, b) in enumerate(keys)}
    names = {(a, b): column for (a, b), column in zip(keys, columns, strict=True)}
    return Log(TIME, signals, "run", columns=names)


def numbered(*numbers: int, form: str = "#{}") -> Log:
    return log_of(*(f"{form.format(k)}.{x}" for k in numbers for x in ("position", "torque")))


@settings(max_examples=60, deadline=None)
@given(
    n_joints=st.integers(1, 7),
    first=st.integers(0, 1),
    form=st.sampled_from(["#{}", "joint{}", "joint_{}", "axis{}"]),
    seed=st.randoms(use_true_random=False),
)
def test_numbers_are_matched_by_order(n_joints, first, form, seed):
    """Numbers from 0 or 1, in any order of columns, are the joints from base to tip."""
    names = [f"part {chr(97 + k)}" for k in range(n_joints)]
    numbers = list(range(first, first + n_joints))
    seed.shuffle(numbers)
    log = numbered(*numbers, form=form)
    named, findings = name_numbered_joints(log, chain(*names))
    assert sorted(named.joints) == names
    for number in numbers:
        before = log.signal(form.format(number), "torque")
        np.testing.assert_array_equal(named.signal(names[number - first], "torque"), before)
    (finding,) = findings
    assert (finding.level, finding.code) == ("info", "joints-by-number")
    pairs = [f"{k + first} = {name}" for k, name in enumerate(names)]
    assert ", ".join(pairs) in finding.words
    assert "--map" in finding.words


@settings(max_examples=150, deadline=None)
@given(
    n_joints=st.integers(1, 5),
    position=st.sets(st.integers(0, 6) | st.just(999_999_999), max_size=6),
    torque=st.sets(st.integers(0, 6), max_size=6),
)
def test_other_numbers_are_refused(n_joints, position, torque):
    """Anything but exactly 0 to n-1 or 1 to n, over all quantities, is refused in one line."""
    columns = [f"#{k}.position" for k in position] + [f"#{k}.torque" for k in torque]
    log, robot = log_of(*columns), chain(*"abcde"[:n_joints])
    fits = sorted(position | torque) in (list(range(n_joints)), list(range(1, n_joints + 1)))
    if fits or not columns:
        assert set(name_numbered_joints(log, robot)[0].joints) <= set("abcde")
        return
    with pytest.raises(LogError, match=r"numbers its joints .*need all numbers from 1") as caught:
        name_numbered_joints(log, robot)
    assert "\n" not in str(caught.value)


def test_mixed_counting_is_shown():
    """Where positions count from 0 and torques from 1, the message says so."""
    log = log_of("#0.position", "#1.position", "#1.torque", "#2.torque")
    with pytest.raises(LogError, match=r"\(position: 0, 1; torque: 1, 2\)"):
        name_numbered_joints(log, chain("a", "b"))


def test_names_go_before_numbers():
    """A robot that has joints of these names is matched by name, without a finding."""
    log = numbered(2, 1, form="joint_{}")
    assert name_numbered_joints(log, chain("joint_2", "joint_1")) == (log, ())
    whole = log_of("a.position", "a.torque", "#1.position", "#1.torque")
    assert name_numbered_joints(whole, chain("a")) == (whole, ())
    assert match_joints(whole, chain("a")) == (("a",), ("#1",))
    mixed = log_of("a.position", "b.position", "#1.torque", "#2.torque")
    named, findings = name_numbered_joints(mixed, chain("a", "b"))
    assert named.quantities("b") == ("position", "torque")
    assert len(findings) == 1


def test_two_columns_for_one_signal():
    """A name and a number that give the same signal are refused."""
    log = log_of("a.position", "#1.position", "#1.torque")
    with pytest.raises(LogError, match=r"'a.position' and '#1.position' both give the position"):
        name_numbered_joints(log, chain("a"))
    both = log_of("#1.position", "joint1.position", "#1.torque")
    with pytest.raises(LogError, match="both give the position of joint 'a'"):
        name_numbered_joints(both, chain("a"))


@pytest.mark.parametrize("order", list(itertools.permutations((1, 2, 3))))
def test_numbers_in_the_names_of_the_robot(order):
    """A robot whose own numbers are in another order than its joints is refused, not guessed."""
    robot = chain(*(f"arm_{k}_joint" for k in order))
    if order == (1, 2, 3):
        named, _ = name_numbered_joints(numbered(1, 2, 3), robot)
        assert named.joints == robot.joint_names
        assert name_numbered_joints(numbered(0, 1, 2), robot)[0].joints == robot.joint_names
        return
    for numbers in ((1, 2, 3), (0, 1, 2)):
        with pytest.raises(LogError, match="in another order than from base to tip"):
            name_numbered_joints(numbered(*numbers), robot)


def test_a_robot_that_branches():
    """Numbers are refused where the order of joints is not evident, unless names state it."""
    with pytest.raises(LogError, match=r"'right' does not follow 'left'.*--map 'left.position="):
        name_numbered_joints(numbered(1, 2), chain("left", "right", branch=True))
    named, _ = name_numbered_joints(numbered(1, 2), chain("j_1", "j_2x", branch=True))
    assert named.joints == ("j_1", "j_2x")


def test_numbers_of_motors_or_joints():
    """Where the overlay names motors, numbers may be theirs, and are refused."""
    motors = Transmission((Motor("m1", (("a", 50.0),)),))
    with pytest.raises(LogError, match=r"joints or those of motors \(m1\).*--map"):
        name_numbered_joints(numbered(1), chain("a", transmission=motors))
    own = Transmission((Motor("a", (("a", 50.0),)),))
    assert name_numbered_joints(numbered(1), chain("a", transmission=own))[0].joints == ("a",)


# --- locked joints -----------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(
    n_joints=st.integers(2, 7),
    first=st.integers(0, 1),
    locked=st.sets(st.integers(0, 6), min_size=1),
    counted=st.sampled_from(["free", "all", "gaps"]),
)
def test_locked_joints_may_be_counted(n_joints, first, locked, counted):
    """Numbers of the free joints, of all, or of all without some locked ones, are told apart."""
    names = [f"part {chr(97 + k)}" for k in range(n_joints)]
    still = {k for k in locked if k < n_joints}
    assume(0 < len(still) < n_joints)
    # with both ends locked and one of them not recorded, two readings fit
    assume(counted != "gaps" or not {0, n_joints - 1} <= still)
    robot = chain(*names).lock({names[k]: 0.1 for k in still})
    free = [k for k in range(n_joints) if k not in still]
    recorded = free if counted == "free" else list(range(n_joints))
    if counted == "gaps":
        recorded = [k for k in range(n_joints) if k not in still or k % 2]
    numbers = [first + (k if counted != "free" else free.index(k)) for k in recorded]
    named, _ = name_numbered_joints(numbered(*numbers), robot)
    assert list(named.joints) == [names[k] for k in recorded]


def test_numbers_in_names_decide_between_readings():
    """With joints locked at both ends, numbers in the robot's names tell which are counted."""
    named, _ = name_numbered_joints(
        numbered(1, 2, 3), chain("j1", "j2", "j3", "grip1").lock({"j1": 0.0, "grip1": 0.0})
    )
    assert named.joints == ("j1", "j2", "j3")
    with pytest.raises(LogError, match=r"to 4 with the locked joints.*--lock JOINT=POSITION"):
        name_numbered_joints(numbered(1, 2, 3), chain(*"abcd").lock({"a": 0.0, "d": 0.0}))


def test_unrecorded_joints_of_a_numbered_log():
    """Joints without a number are locked where the robot's own numbers tell which these are."""
    arm = chain("panda_joint1", "panda_joint2", "finger_joint1", "finger_joint2")
    for numbers in ((1, 2), (0, 1)):
        locked = lock_unrecorded(arm, numbered(*numbers))
        assert locked.joint_names == ("panda_joint1", "panda_joint2")
        assert name_numbered_joints(numbered(*numbers), locked)[0].joints == locked.joint_names
    half = arm.lock({"panda_joint1": 0.2})
    locked = lock_unrecorded(half, numbered(1, 2))
    assert locked.joint_names == ("panda_joint2",)
    assert name_numbered_joints(numbered(1, 2), locked)[0].joints == arm.joint_names[:2]
    rail = chain("rail", "a1", "a2")
    with pytest.raises(LogError, match=r"need all numbers from 1 to 3.*--lock JOINT=POSITION"):
        lock_unrecorded(rail, numbered(1, 2))
    assert lock_unrecorded(rail, numbered(1, 2, 3)) is rail


# --- near misses ------------------------------------------------------------------------


@pytest.mark.parametrize("joint", ["elbw", "Elbow", "elbow_joint", "ELBOW", "joint_elbow"])
def test_a_joint_that_is_nearly_named(joint):
    """A misspelt joint is not taken, but the message has the options to type."""
    log = log_of("wrist.position", "wrist.torque", f"{joint}.position", f"{joint}.torque")
    with pytest.raises(LogError) as caught:
        match_joints(log, chain("wrist", "elbow"))
    assert f"--map elbow.position={joint}.position --map elbow.torque=" in str(caught.value)
    assert "lacks joints of robot 'arm': elbow" in str(caught.value)


@pytest.mark.parametrize("column", ["elbow.postion", "elbow_position", "PosElbow", "pos elbow [x]"])
def test_a_column_that_is_nearly_named(column):
    """A column that is not recognised is suggested for the joint that it nearly names."""
    log = log_of("elbow.torque")
    log = Log(log.time, log.signals, "run", ignored=("temp_elbow", column), columns=log.columns)
    bare = column.removesuffix(" [x]")
    with pytest.raises(LogError) as caught:
        match_joints(log, chain("elbow"))
    assert f"use {map_option('elbow.position', bare)}" in str(caught.value)


def test_one_option_for_all_joints():
    """Columns of several joints with the same pattern give one option with a star."""
    names = tuple(f"{name}_{x}" for name in ("hip", "knee", "toe") for x in ("pos", "tau"))
    log = Log(TIME, {("x", "position"): TIME}, "run", ignored=names)
    with pytest.raises(LogError) as caught:
        match_joints(log, chain("hip", "knee", "toe"))
    assert "--map '*.position=*_pos' --map '*.torque=*_tau'" in str(caught.value)


def test_what_is_equally_likely_is_not_suggested():
    """Of two columns that may be meant, none is; nor is one for two joints."""
    lacking = [("wrist_1", "position"), ("wrist_2", "position")]
    two = log_of("wrist_1a.position", "wrist_1b.position")
    assert probable_columns(two, lacking[:1], ()) == {}
    one = log_of("wrist.position")
    assert probable_columns(one, lacking, ()) == {}
    own = log_of("wrst_2.position", "wrst_1.position")
    assert probable_columns(own, lacking, ()) == {
        ("wrist_1", "position"): "wrst_1.position",
        ("wrist_2", "position"): "wrst_2.position",
    }


names = st.text(max_size=20) | st.sampled_from(["elbow\n.pos", "Elbow\x1b", "elbow\npos", "j 17"])


def test_very_many_similar_columns():
    """Thousands of columns that are all alike take no time to speak of, and give no guess."""
    ignored = tuple(f"elbow{chr(97 + k % 26)}{k}_position" for k in range(5000))
    log = Log(TIME, {("x", "torque"): TIME}, "run", ignored=(*ignored[:900], "elbow_pos", *ignored))
    robot = chain("elbow", *(f"elbow{k}" for k in range(60)))
    with pytest.raises(LogError) as caught:
        match_joints(log, robot)
    assert "--map elbow.position=elbow_pos" in str(caught.value)
    assert len(str(caught.value)) < 2000


@settings(max_examples=100, deadline=None)
@given(st.lists(names, max_size=10), st.lists(names, max_size=5))
def test_any_names_give_one_line(ignored, joints):
    """Whatever the columns are called, the message is one line."""
    signals = {(joint, "position"): TIME for joint in joints} or {("x", "torque"): TIME}
    columns = {key: f"{key[0]}.position" for key in signals}
    log = Log(TIME, signals, "run", ignored=tuple(ignored), columns=columns)
    with pytest.raises(LogError) as caught:
        match_joints(log, chain("elbow", "joint_17"))
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)


# --- recordings -------------------------------------------------------------------------


@pytest.mark.dataset
def test_flobaroid_measurements():
    """An NPZ file of FloBaRoID reads as it is; its columns are the joints of its URDF."""
    folder = dataset("kuka_lwr4_flobaroid")
    robot = Robot.from_urdf(folder / "kuka_lwr4.urdf")
    log = read_log(folder / "measurements_1.npz")
    assert log.ignored == ("target_positions", "target_accelerations", "target_velocities")
    named, _ = name_numbered_joints(log, robot)
    with np.load(folder / "measurements_1.npz") as data:
        for k in range(7):
            joint = f"lwr_{k}_joint"
            np.testing.assert_array_equal(named.signal(joint, "position"), data["positions"][:, k])
            np.testing.assert_array_equal(named.signal(joint, "torque"), data["torques"][:, k])
    prepared = prepare(log, robot)
    assert [finding.code for finding in prepared.findings] == ["joints-by-number"]
    assert "1 = lwr_0_joint" in prepared.findings[0].words
    assert prepared.measurements.channels == robot.joint_names


@pytest.mark.dataset
def test_ur10_recording():
    """A compressed CSV file with t, q1, qd1 and tau1 reads as it is; velocities fit positions."""
    folder = dataset("ur10_unisa")
    robot = Robot.from_urdf(folder / "ur10_robot.urdf")
    prepared = prepare(read_log(folder / "ur10_exciting_trajectory.csv.gz"), robot)
    assert [finding.code for finding in prepared.findings] == ["joints-by-number"]
    assert "3 = elbow_joint" in prepared.findings[0].words
    factors = prepared.record.velocity_factors
    assert set(factors) == set(robot.joint_names)
    assert all(abs(factor - 1.0) < 0.02 for factor in factors.values())


@pytest.mark.dataset
def test_kinova_recording():
    """A file with stamps in ms and several torques needs two options, with one star."""
    folder = dataset("kinova_gen3_chiha")
    robot = Robot.from_urdf(folder / "gen3.urdf")
    columns = {"time[ms]": "Time", "tau*": "TorqueCur*"}
    log = read_log(folder / "opti_traj_testing2.csv.gz", columns=columns)
    assert log.columns["#4", "torque"] == "TorqueCur4"
    assert "Torque4" in log.ignored
    prepared = prepare(log, robot)
    assert [finding.code for finding in prepared.findings] == ["joints-by-number"]
    assert prepared.record.rate_out_hz <= 1000.0
