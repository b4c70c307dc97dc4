"""Faults that are planted in the signals of a clean log, found again and counted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from detector_findings import detector_findings
from project import DOCS
from sampled_arm import NAMES, RATE_HZ, STEP, TAU, TIME, Q, V, arm, changed, signals, solid

from steelyard.diagnosis.checked_log import check_log
from steelyard.diagnosis.inspection import inspect_log
from steelyard.findings import Finding
from steelyard.logs.log import Log
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.robot.parts import Joint, Limits, Link
from steelyard.robot.robot import Robot
from steelyard.robot.rotations import frozen_array
from steelyard.signals.prepare import prepare


def found(
    q: np.ndarray = Q,
    tau: np.ndarray = TAU,
    time: np.ndarray = TIME,
    v: np.ndarray | None = None,
    robot: Robot | None = None,
) -> tuple[Finding, ...]:
    """What the inspection of these signals finds."""
    return inspect_log(Log.from_arrays(time, q, tau, v=v, joints=NAMES), robot or arm()).findings


def only(findings: tuple[Finding, ...], code: str) -> Finding:
    """The one finding, which has this code."""
    assert [one.code for one in findings] == [code], findings
    return findings[0]


@pytest.mark.parametrize("seed", range(12))
def test_nothing_is_found_in_a_clean_log(seed: int) -> None:
    """With and without velocities, and where the robot rests at both ends."""
    q, v, tau = signals(seed)
    assert found(q, tau) == found(q, tau, v=v) == ()
    slow = np.linspace(0, 1, 400) ** 2
    smooth = np.r_[np.zeros(500), np.cumsum(np.r_[slow, np.ones(2000), slow[::-1]]), np.zeros(500)]
    smooth[-500:] = smooth[-501]
    at = smooth / RATE_HZ
    stopped = np.column_stack([np.interp(at, TIME, column) for column in q.T])
    moved = np.column_stack([np.interp(at, TIME, column) for column in tau.T])
    noise = 0.02 * np.random.default_rng(seed).normal(size=moved.shape)
    time = np.arange(len(at)) / RATE_HZ
    note = only(found(np.round(stopped / STEP) * STEP, moved + noise, time), "standing-still")
    assert note.level == "info"
    assert 2.0 < note.size < 3.6


@pytest.mark.parametrize(("size", "n"), [(253.0, 4), (0.5, 40), (1e300, 400), (-0.05, 7)])
def test_outliers_of_a_position_are_counted_and_left_out(size: float, n: int) -> None:
    """Exactly the planted samples are masked."""
    rows = np.sort(np.random.default_rng(n).choice(np.arange(1, 3999, 3), size=n, replace=False))
    planted = size if abs(size) > 1.0 else Q[rows, 2] + size
    log = Log.from_arrays(TIME, changed(Q, "elbow", rows, planted), TAU, joints=NAMES)
    inspection = inspect_log(log, arm())
    finding = only(inspection.findings, "outliers")
    assert (finding.size, finding.joints) == (n, ("elbow",))
    assert list(np.flatnonzero(inspection.left_out["elbow", "position"])) == list(rows)
    assert finding.span_s == (TIME[rows[0]], TIME[rows[-1]])


def test_spikes_of_a_torque_are_counted_and_bridged() -> None:
    """The prepared torque is as that of the clean log, and the record counts what was left out."""
    rows = np.arange(100, 3900, 130)
    tau = changed(TAU, "shoulder", rows, TAU[rows, 1] + 100.0)
    clean, spoiled = (
        prepare(Log.from_arrays(TIME, Q, one, joints=NAMES), arm()) for one in (TAU, tau)
    )
    assert spoiled.record.outliers == {"shoulder.torque": len(rows)}
    assert clean.record.outliers == {}
    assert [one.code for one in spoiled.findings] == ["outliers"]
    away = np.nanmax(np.abs(clean.all_measurements.tau - spoiled.all_measurements.tau))
    assert away < 1.0


@pytest.mark.parametrize("size", [0.037, 0.3, 3.5])
def test_slips_are_counted(size: float) -> None:
    """Steps that stay, by less or more than half a turn."""
    steps = np.zeros(len(TIME))
    steps[np.arange(150, 3900, 180)] = size
    finding = only(found(Q + np.outer(np.cumsum(steps), [0, 0, 1, 0])), "slips")
    assert finding.joints == ("elbow",)
    assert finding.size == pytest.approx(size, abs=1e-3)
    assert f"jumps {np.count_nonzero(steps)} times" in finding.words


def test_an_encoder_that_jumps_for_a_few_samples_has_outliers() -> None:
    """Five samples at a time, all of them left out."""
    q = Q.copy()
    for row in range(200, 3800, 200):
        q[row : row + 5, 0] += 0.037
    finding = only(found(q), "outliers")
    assert finding.size == 5 * len(range(200, 3800, 200))


def test_wrapped_positions_are_neither_slips_nor_outliers() -> None:
    """Positions within half a turn to either side, as many controllers write them: a note."""
    q = (3.0 * Q + 2.0 + np.pi) % (2 * np.pi) - np.pi
    assert np.max(np.abs(np.diff(q, axis=0))) > 6.0
    note = only(found(q, robot=arm(Limits(-9.0, 9.0, 9.0, 100.0))), "wraps")
    assert (note.level, note.joints) == ("info", NAMES)
    assert note.size == np.count_nonzero(np.abs(np.diff(q, axis=0)) > 6.0)


@pytest.mark.parametrize("share", [0.4, 0.7])
def test_clipping_of_torques_and_positions_is_counted(share: float) -> None:
    """All samples at the end of the range, on both sides."""
    for table, quantity in ((TAU, "tau"), (Q, "q")):
        end = share * np.max(np.abs(table[:, 1]))
        cut = changed(table, "shoulder", slice(None), np.clip(table[:, 1], -end, end))
        finding = only(found(**{quantity: cut}), "clipping")
        assert finding.size == np.count_nonzero(np.abs(cut[:, 1]) == end)


@pytest.mark.parametrize("quantity", ["q", "tau"])
@pytest.mark.parametrize(("value", "code"), [(None, "frozen"), (0.0, "dead-channel")])
def test_a_signal_that_stands_still(quantity: str, value: float | None, code: str) -> None:
    """Joint, value and span are said."""
    table = {"q": Q, "tau": TAU}[quantity]
    kept = table[1000, 3] if value is None else value
    finding = only(found(**{quantity: changed(table, "wrist", slice(1000, 2200), kept)}), code)
    assert finding.joints == ("wrist",)
    assert finding.span_s == pytest.approx((TIME[1000], TIME[2199]))
    assert finding.size == pytest.approx(1200 / RATE_HZ)


def test_channels_that_are_dead_throughout() -> None:
    """A torque of zeros while the joint moves; a position of zeros."""
    dead = only(found(tau=changed(TAU, "base", slice(None), 0.0)), "dead-channel")
    assert dead.joints == ("base",)
    still = only(found(q=changed(Q, "base", slice(None), 0.0)), "dead-channel")
    assert still.option == "--lock base=0"


@pytest.mark.parametrize("every", [10, 25])
@pytest.mark.parametrize("quantity", ["q", "tau"])
def test_held_samples(quantity: str, every: int) -> None:
    """How many rows each value is held."""
    table = {"q": Q, "tau": TAU}[quantity]
    held = table[np.arange(len(table)) // every * every]
    finding = only(found(**{quantity: held}), "held-samples")
    assert finding.size == pytest.approx(every, rel=0.1)
    assert finding.joints == NAMES


def test_rows_that_repeat_are_counted() -> None:
    """A fifth of the rows is the row before."""
    lost = np.random.default_rng(3).random(len(TIME)) < 0.2
    lost[0] = False
    row = np.maximum.accumulate(np.where(lost, 0, np.arange(len(TIME))))
    finding = only(found(Q[row], TAU[row]), "held-samples")
    assert finding.size == pytest.approx(20.0, abs=2.0)


@pytest.mark.parametrize(("quantity", "step"), [("q", 0.01), ("q", 0.05), ("tau", 1.0)])
def test_coarse_steps(quantity: str, step: float) -> None:
    """The size of the steps is said."""
    table = {"q": Q, "tau": TAU}[quantity]
    finding = only(found(**{quantity: np.round(table / step) * step}), "quantised")
    assert finding.size == pytest.approx(step)


def test_missing_copied_and_unsigned_columns() -> None:
    """A third of a torque is NaN; one torque twice; only sizes."""
    holes = np.arange(len(TIME)) % 30 < 10
    missing = only(found(tau=changed(TAU, "elbow", holes, np.nan)), "missing-samples")
    assert missing.size == pytest.approx(100.0 * np.mean(holes))
    copied = only(found(tau=changed(TAU, "elbow", slice(None), TAU[:, 0])), "copied-channel")
    assert copied.joints == ("base", "elbow")
    assert only(found(tau=np.abs(TAU)), "unsigned-torque").joints == NAMES


@pytest.mark.parametrize("lag", [5, 20])
def test_velocities_that_lag(lag: int) -> None:
    """The lag is estimated to a millisecond."""
    late = np.concatenate([np.repeat(V[:1], lag, axis=0), V[:-lag]])
    finding = only(found(v=late), "velocity-lags")
    assert finding.size == pytest.approx(lag / RATE_HZ, abs=1e-3)


@pytest.mark.parametrize("unit", [1e3, 1e6, 1e9])
def test_units_of_time(unit: float) -> None:
    """Milliseconds, microseconds and nanoseconds, in all of the log or in half of it."""
    finding = only(found(time=unit * TIME), "time-unit")
    assert finding.level == "severe"
    name = {1e3: "ms", 1e6: "us", 1e9: "ns"}[unit]
    assert f"time[{name}]" in finding.option
    mixed = np.where(np.arange(len(TIME)) < 2000, TIME, unit * TIME)
    assert only(found(time=mixed), "time-unit").size == unit


def test_stamps_that_say_when_rows_were_written() -> None:
    """Jitter of half a period, and rows stamped in bursts; real uneven sampling is no fault."""
    rng = np.random.default_rng(5)
    stamps = np.sort(TIME + 1e-3 * rng.normal(size=len(TIME)))
    assert only(found(time=stamps), "stamp-jitter").size == pytest.approx(1e-3, rel=0.2)
    row = np.arange(len(TIME))
    bursts = TIME[row // 10 * 10 + 9] + row % 10 * 2e-4
    assert only(found(time=bursts), "stamp-jitter").code == "stamp-jitter"
    true = np.column_stack([np.interp(stamps, TIME, column) for column in Q.T])
    assert found(q=np.round(true / STEP) * STEP, time=stamps) == ()


@pytest.mark.parametrize("share", [0.02, 0.1])
def test_rows_that_were_dropped_are_counted(share: float) -> None:
    """Even stamps hide that rows are missing; about as many are found."""
    keep = np.random.default_rng(7).random(len(TIME)) >= share
    n = np.count_nonzero(keep)
    finding = only(found(Q[keep], TAU[keep], TIME[:n]), "dropped-rows")
    assert finding.size == pytest.approx(len(TIME) - n, rel=0.2)
    # with their true stamps nothing is wrong
    assert found(Q[keep], TAU[keep], TIME[keep]) == ()


def test_pieces_that_were_cut_out() -> None:
    """Two pieces of 0.3 s."""
    keep = np.ones(len(TIME), bool)
    keep[1000:1150] = keep[2500:2650] = False
    finding = only(found(Q[keep], TAU[keep], TIME[: np.count_nonzero(keep)]), "glued-gap")
    assert finding.size == 2
    assert finding.span_s == pytest.approx((TIME[1000], TIME[2350]))


@pytest.mark.parametrize("seed", range(6))
def test_rows_that_are_missing_by_their_stamps_are_no_fault(seed: int) -> None:
    """Holes of any length: no jump, no lag and no factor of the velocity is found across them."""
    rng = np.random.default_rng(seed)
    q, v, tau = signals(seed)
    keep = np.ones(len(TIME), bool)
    for seconds in (0.013, 0.083, 0.7, rng.uniform(1.0, 2.2)):
        start = rng.integers(200, len(TIME) - 1400)
        keep[start : start + int(seconds * RATE_HZ)] = False
    assert found(q[keep], tau[keep], TIME[keep], v[keep]) == ()
    log = Log.from_arrays(TIME[keep], q[keep], tau[keep], v=v[keep], joints=NAMES)
    prepared = prepare(log, arm())
    assert list(prepared.record.velocity_factors.values()) == pytest.approx(4 * [1.0], rel=0.01)
    assert {one.code for one in prepared.findings} == {"log-cut"}


def test_speeds_beyond_limits_that_velocities_confirm_are_a_note() -> None:
    """The limits of the file are too low; the time stamps are right."""
    slow = arm(Limits(-2.6, 2.6, 0.5, 100.0))
    assert only(found(robot=slow), "time-rate").level == "warning"
    assert only(found(v=V, robot=slow), "beyond-speed-limits").level == "info"


def test_speeds_and_angles_that_no_arm_has() -> None:
    """A rate twice the true one breaks limits of speed; degrees are told without limits."""
    assert only(found(time=0.25 * TIME), "time-rate").level == "warning"
    free = arm(Limits())
    finding = only(found(np.degrees(Q), robot=free), "position-unit")
    assert (finding.level, finding.joints) == ("severe", NAMES)
    wheel = replace(free, joints=tuple(replace(one, kind="continuous") for one in free.joints))
    assert found(Q + 20.0 * TIME[:, None], robot=wheel) == ()


def test_every_code_is_described() -> None:
    """The page on checking logs has a row for each code that a detector gives."""
    text = (DOCS / "checking-logs.md").read_text(encoding="utf-8")
    codes = {code for _, code in detector_findings()}
    assert len(codes) >= 14
    assert [code for code in sorted(codes) if f"| `{code}` |" not in text] == []


def test_a_wrong_sampling_rate_shows_beside_velocities() -> None:
    """All joints agree on the factor; one joint alone has a velocity in another unit."""
    for factor in (2.0, 0.5):
        finding = only(found(time=factor * TIME, v=V, robot=arm(Limits())), "time-rate")
        assert (finding.level, finding.size) == ("severe", pytest.approx(factor, rel=0.01))
    assert found(v=changed(V, "elbow", slice(None), 2.0 * V[:, 2])) == ()


def test_joints_in_another_order_are_not_too_fast() -> None:
    """Their speeds fit the limits of other joints; those of a wrong rate fit none."""
    limits = {name: 1.1 * float(np.max(np.abs(V[:, k]))) for k, name in enumerate(NAMES)}
    q = Q * np.array([1.0, 1.0, 0.4, 0.4])
    limits["elbow"], limits["wrist"] = 0.4 * limits["elbow"], 0.4 * limits["wrist"]
    robot = arm()
    robot = replace(
        robot,
        joints=tuple(
            replace(joint, limits=Limits(-9.0, 9.0, limits[joint.name], 100.0))
            for joint in robot.joints
        ),
    )
    assert found(q, robot=robot) == found(q[:, ::-1], robot=robot) == ()
    assert only(found(q, time=0.5 * TIME, robot=robot), "time-rate").level == "warning"


def hanging_arm() -> Robot:
    """A turntable, and a joint with a level axis below which a link hangs at position 0."""
    body = frozen_array((2.0, 0.0, 0.0, -0.1, 6e-3, 0.0, 6e-3, 0.0, 0.0, 1e-3), (10,))
    links = (Link("ground"), Link("table", solid()), Link("hanging", body))
    axes = {"turn": np.eye(3)[2], "elbow": np.eye(3)[1]}
    joints = (
        Joint(name, "revolute", one.name, other.name, axis=frozen_array(axes[name], (3,)))
        for name, one, other in zip(axes, links[:-1], links[1:], strict=True)
    )
    return Robot("hanging arm", links, tuple(joints))


@pytest.mark.parametrize(
    ("lowest", "highest", "unsigned"),
    [(0.0, 1.6, False), (0.0, -1.6, True), (-0.8, 0.8, True)],
    ids=["to one side", "to the other", "to both"],
)
def test_weight_to_one_side_is_no_torque_without_sign(
    lowest: float, highest: float, unsigned: bool
) -> None:
    """An elbow that hangs straight down at the end of its range: its torque comes down to zero
    again and again, and turns back. Sizes of torques that are or become negative are found.
    """
    robot = hanging_arm()
    model = Model(robot, ())
    time = np.arange(0.0, 24.0, 1.0 / 250.0)
    omega, middle = 2.0 * np.pi * np.array([0.21, 0.3]), np.array([0.0, 0.5 * (lowest + highest)])
    size = np.array([0.7, middle[1] - lowest])
    phase = omega * time[:, None]
    q = middle - size * np.cos(phase)
    tau = torque(
        model, model.prior_theta(), q, size * omega * np.sin(phase), size * omega**2 * np.cos(phase)
    )
    tau += 2e-3 * np.random.default_rng(0).normal(size=tau.shape)
    assert (tau[:, 1].min() < 0.0) == unsigned
    tau[:, 1] = np.abs(tau[:, 1])
    log = Log.from_arrays(time, np.round(q / STEP) * STEP, tau, joints=robot.joint_names)
    told = [one for one in inspect_log(log, robot).findings if one.code == "unsigned-torque"]
    assert [one.joints for one in told] == [("elbow",)] * unsigned


def test_degrees_of_one_joint_are_severe() -> None:
    """With limits in the file and without."""
    q = changed(Q, "elbow", slice(None), np.degrees(Q[:, 2]))
    for limits in (Limits(), None):
        finding = next(one for one in found(q, robot=arm(limits)) if one.level == "severe")
        assert (finding.code, finding.joints) == ("position-unit", ("elbow",))


def test_dead_torques_are_one_finding() -> None:
    """Severe if no torque is left."""
    some = only(found(tau=TAU * np.array([0.0, 1.0, 0.0, 1.0])), "dead-channel")
    assert (some.level, some.joints) == ("warning", ("base", "elbow"))
    assert only(found(tau=0.0 * TAU), "dead-channel").level == "severe"


def test_torques_that_never_change_are_severe() -> None:
    """If all are such, while the robot moves; nothing can be identified from them."""
    finding = only(found(tau=np.full_like(TAU, 3.0)), "constant-torque")
    assert (finding.level, finding.joints) == ("severe", NAMES)
    assert found(tau=changed(TAU, "elbow", slice(None), 3.0)) == ()


def test_torques_that_never_change_are_told_once() -> None:
    """The inspection and the preparation find the same, one or all of them."""
    for tau in (np.full_like(TAU, 3.0), changed(TAU, "elbow", slice(None), 3.0)):
        checked = check_log(Log.from_arrays(TIME, Q, tau, joints=NAMES), arm())
        told = [one for one in checked.findings if one.code == "constant-torque"]
        assert len(told) == 1
        assert told[0].joints in (NAMES, ("elbow",))


def test_columns_without_any_sample_are_no_copies() -> None:
    """Of two torques that were never recorded, neither is a copy of the other."""
    tau = TAU.copy()
    tau[:, 1:3] = np.nan
    assert [one.code for one in found(tau=tau)] == ["missing-samples"]


def test_few_repeated_rows_are_a_note() -> None:
    """As a recorder makes them that misses a message now and then."""
    rows = np.arange(len(TIME))
    rows[np.arange(200, 3800, 90)] -= 1
    note = only(found(Q[rows], TAU[rows]), "held-samples")
    assert note.level == "info"
    note = only(found(Q[rows]), "held-samples")
    assert (note.level, note.size) == ("info", pytest.approx(1.0, abs=0.3))


def test_no_outlier_at_the_first_sample() -> None:
    """Friction that is subtracted with the wrong sign there has one neighbour only."""
    tau = TAU.copy()
    tau[0] += 1.2 * np.ptp(TAU, axis=0)
    assert found(tau=tau) == ()
