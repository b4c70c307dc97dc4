"""What is found in a floating robot's log, beside what options state."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from humanoid import humanoid, humanoid_log

from steelyard.errors import EstimationError, LogError, SignalError
from steelyard.identification.identify import identify
from steelyard.logs.log import Log
from steelyard.signals.prepare import prepare
from steelyard.signals.processing import Processing
from steelyard.signals.sensing import BaseMotion, MeasuredWrench, Sensing

PROCESSING = Processing(cutoff_hz=None, decimate=1, dead_band=None)


@pytest.fixture(scope="module")
def hung() -> Log:
    """A run that hangs on its torso."""
    return humanoid_log(1, 2.0)


@pytest.fixture(scope="module")
def stood() -> Log:
    """A run that stands on two feet."""
    return humanoid_log(1, 2.0, feet=("left_foot", "right_foot"))


def prepared(log: Log, sensing: Sensing | None = None):
    return prepare(log, humanoid(), replace(PROCESSING, sensing=sensing))


def renamed(log: Log, names: dict[str, str]) -> Log:
    """The log with other names of frames for forces and torques."""
    return replace(
        log,
        frame_signals={
            (names.get(frame, frame) if quantity in ("force", "torque") else frame, quantity): x
            for (frame, quantity), x in log.frame_signals.items()
        },
    )


def test_a_wrench_at_the_base_counts_once(hung: Log) -> None:
    """Stated as a contact, the wrench that holds the base gives the same rows as one that holds."""
    usual = prepared(hung)
    as_contact = prepared(hung, Sensing(contacts=(MeasuredWrench("torso"),)))
    np.testing.assert_array_equal(usual.measurements.tau, as_contact.measurements.tau)
    assert as_contact.record.processing.sensing.base_wrench == "nothing"
    assert "force-not-used" not in {one.code for one in as_contact.findings}
    hoist = renamed(hung, {"torso": "hoist"})
    named = prepared(hoist, Sensing(contacts=(MeasuredWrench("torso", "hoist"),)))
    np.testing.assert_array_equal(usual.measurements.tau, named.measurements.tau)


def test_forces_beside_stated_contacts_are_not_used(stood: Log) -> None:
    """With stated contacts, a force at the base is left out, and the warning names it."""
    feet = Sensing(contacts=(MeasuredWrench("left_foot"), MeasuredWrench("right_foot")))
    there = {("torso", one): np.full((len(stood), 3), 3.0) for one in ("force", "torque")}
    log = replace(stood, frame_signals={**stood.frame_signals, **there})
    done = prepared(log, feet)
    np.testing.assert_array_equal(done.measurements.tau, prepared(stood).measurements.tau)
    words = {one.code: one.words for one in done.findings}["force-not-used"]
    assert "torso" in words


def test_columns_of_two_wrenches_are_refused() -> None:
    """One force must not count as two: its columns belong to one wrench."""
    torso = MeasuredWrench("torso")
    for held, contacts in (
        (torso, (torso,)),
        (torso, (MeasuredWrench("left_foot", "torso"),)),
        ("nothing", (torso, MeasuredWrench("imu", "torso"))),
    ):
        with pytest.raises(SignalError, match="columns of 'torso' are given twice"):
            Sensing(base_wrench=held, contacts=contacts)


def test_a_link_with_several_wrenches(hung: Log) -> None:
    """Wrenches at one link add up, whichever holds the base and whatever their columns are."""
    usual = prepared(hung).measurements.tau
    shares = {"A": 0.25, "B": 0.65, "": 0.1}
    frames = {key: x for key, x in hung.frame_signals.items() if key[1] not in ("force", "torque")}
    for name, share in shares.items():
        for quantity in ("force", "torque"):
            frames[name, quantity] = share * hung.frame_signals["torso", quantity]
    log = replace(hung, frame_signals=frames)
    a, b, c = (MeasuredWrench("torso", name) for name in shares)
    for sensing in (
        Sensing(base_wrench=a, contacts=(b, c)),
        Sensing(base_wrench=c, contacts=(a, b)),
        Sensing(contacts=(c, b, a)),
    ):
        tau = prepared(log, sensing).measurements.tau
        np.testing.assert_allclose(tau, usual, rtol=0, atol=1e-10)


def test_a_pose_without_position_is_said(hung: Log) -> None:
    """A stated pose that is an orientation alone is warned of, and not called a position."""
    frames = {key: x for key, x in hung.frame_signals.items() if key[1] != "position"}
    done = prepared(replace(hung, frame_signals=frames), Sensing(BaseMotion("pose")))
    words = {one.code: one.words for one in done.findings}
    assert "frame 'torso', but no positions" in words["no-positions"]
    assert "from the orientation alone of 'torso'" in words["sensing"]
    assert "no-positions" not in {one.code for one in prepared(hung).findings}


def test_a_foot_with_a_torque_alone_is_refused(stood: Log) -> None:
    """A link's torque without a force is no point contact, and is not left out either."""
    frames = {key: x for key, x in stood.frame_signals.items() if key != ("left_foot", "force")}
    frames["left_foot", "torque"] = np.ones((len(stood), 3))
    log = replace(stood, frame_signals=frames)
    with pytest.raises(LogError, match=r"no force of .* 'left_foot'; .*left_foot.force_x"):
        prepared(log)
    done = prepared(log, Sensing(contacts=(MeasuredWrench("right_foot"),)))
    assert "left_foot" in {one.code: one.words for one in done.findings}["force-not-used"]


def test_a_position_without_an_axis_is_refused(hung: Log) -> None:
    """A pose of the base that lacks one coordinate is not taken for an orientation alone."""
    frames = {key: x for key, x in hung.frame_signals.items() if key != ("torso", "position")}
    log = replace(hung, frame_signals=frames, incomplete={("torso", "position"): ("z",)})
    for sensing in (None, Sensing(BaseMotion("pose"))):
        with pytest.raises(LogError, match=r"torso\.position_z"):
            prepared(log, sensing)


@pytest.mark.parametrize(("every", "wide"), [(10, 1), (40, 6)])
def test_a_wrench_at_a_lower_rate_names_the_longest_gap(hung: Log, every: int, wide: int) -> None:
    """Forces in few rows are no rows of their own: the option that interpolates them is named."""
    gone = np.arange(len(hung)) % every >= wide
    frames = dict(hung.frame_signals)
    for quantity in ("force", "torque"):
        frames["torso", quantity] = np.where(gone[:, None], np.nan, frames["torso", quantity])
    log = replace(hung, frame_signals=frames)
    filtered = replace(PROCESSING, cutoff_hz=17.0, torque_filter="same")
    with pytest.raises(SignalError, match="--max-gap-s"):
        prepare(log, humanoid(), filtered)
    done = prepare(log, humanoid(), replace(filtered, max_gap_s=0.5))
    assert np.isfinite(done.measurements.tau[:, 0]).sum() >= 2


def test_a_base_wrench_without_torque_names_its_columns(hung: Log) -> None:
    """What holds the base has a torque too; a rope has none, and is a point contact."""
    frames = {key: x for key, x in hung.frame_signals.items() if key != ("torso", "torque")}
    log = replace(hung, frame_signals=frames)
    for sensing in (None, Sensing(base_wrench=MeasuredWrench("torso"))):
        with pytest.raises(LogError, match=r"torso\.torque_x, .*--base-wrench unmeasured"):
            prepared(log, sensing)
    mounted = renamed(log, {"torso": "imu"})
    with pytest.raises(LogError, match=r"imu\.torque_x, imu\.torque_y.*--contact imu"):
        prepared(mounted)
    rope = prepared(mounted, Sensing(contacts=(MeasuredWrench("imu"),)))
    point = prepared(mounted, Sensing(base_wrench=MeasuredWrench("imu", torque=False)))
    np.testing.assert_array_equal(rope.measurements.tau, point.measurements.tau)
    assert rope.measurements.tau[:, 3:6].any()


def test_base_rows_of_zeros_are_named_in_words(hung: Log) -> None:
    """A torque of the base that is zero all the time was not measured."""
    frames = dict(hung.frame_signals) | {("torso", "torque"): np.zeros((len(hung), 3))}
    with pytest.raises(EstimationError, match="the base torque x is zero in all"):
        identify(
            humanoid(),
            replace(hung, frame_signals=frames),
            processing=PROCESSING,
            method="wls",
            threads=1,
        )
