"""The design of a motion: proven limits, reproducible, better than chance, and refusals by name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from oracles import pinocchio_torque

from steelyard.errors import SteelyardError
from steelyard.excitation.design import design_motion, one_way_joints
from steelyard.excitation.design_settings import DesignSettings
from steelyard.excitation.design_task import DesignTask
from steelyard.excitation.extremes import check_limits
from steelyard.excitation.limits import MotionLimits, motion_limits
from steelyard.excitation.motions.via_points import via_point_motion
from steelyard.excitation.proven_core import DesignedCore
from steelyard.excitation.trajectory import motion_of
from steelyard.model.model import Model
from steelyard.robot.parts import Limits
from steelyard.testing.random_robots import random_robot

QUICK = DesignSettings(
    period_s=8.0, harmonics=3, budget_s=300.0, rounds=1, rate_hz=200.0, share=1.0
)


def arm(seed: int = 0, n_joints: int = 3) -> Model:
    rng = np.random.default_rng(seed)
    return Model(random_robot(rng, n_joints, chain=True, prismatic=0.0))


def some_limits(model: Model, torque: float = np.inf) -> MotionLimits:
    one = np.ones(model.nv)
    joints = model.channels
    return MotionLimits(
        joints, -1.2 * one, 1.5 * one, 1.1 * one, 2.5 * one, 20.0 * one, torque * one
    )


@pytest.fixture(scope="module")
def designed():
    model = arm()
    return model, design_motion(model, some_limits(model), QUICK)


def test_limits_hold_at_10_khz(designed):
    """Position, velocity, acceleration and jerk of the whole run, from rest to rest."""
    _, motion = designed
    assert motion.holds
    run, limits = motion.trajectory, motion.limits
    time = np.arange(0.0, run.duration_s, 1e-4)
    q, v, a, j = (run.derivative(time, order) for order in range(4))
    assert (q >= limits.lower).all()
    assert (q <= limits.upper).all()
    for values, limit in ((v, limits.velocity), (a, limits.acceleration), (j, limits.jerk)):
        assert (np.abs(values) <= limit).all()
    for end in (0.0, run.duration_s):
        assert np.abs(run.derivative([end], 1)).max() < 1e-9
    # proven bounds are not generous: some limit of each joint is nearly used
    used = np.max(
        [np.abs(v).max(axis=0) / limits.velocity, np.abs(a).max(axis=0) / limits.acceleration],
        axis=0,
    )
    assert (used > 0.9).all()


def test_a_share_of_the_limits_is_used_and_the_limits_themselves_are_kept():
    """Of the range about its middle, of speed, acceleration and jerk; what was asked is stated."""
    model = arm(n_joints=2)
    limits = some_limits(model)
    start = np.array([0.1, 0.2])
    motion = design_motion(model, limits, replace(QUICK, share=0.5), start=start)
    assert motion.limits is limits
    time = np.arange(0.0, motion.duration_s, 1e-3)
    q, v, a, j = (motion.trajectory.derivative(time, order) for order in range(4))
    assert np.abs(q - 0.15).max() <= 0.5 * 1.35
    for values, limit in ((v, 1.1), (a, 2.5), (j, 20.0)):
        assert np.abs(values).max() <= 0.5 * limit
    assert np.abs(v).max() > 0.4 * 1.1
    assert motion.conditions.start == dict(zip(model.channels, start.tolist(), strict=True))
    assert motion.conditions.end is None


def test_it_is_better_than_the_best_start(designed):
    _, motion = designed
    # half the mean log variance is the log of the mean sigma
    assert motion.value < motion.start_value - 2.0 * np.log(1.2)
    assert motion.predicted.counts["not"] == 0


def test_the_seed_decides_and_threads_do_not(designed):
    model, motion = designed
    limits = some_limits(model)
    again = design_motion(model, limits, replace(QUICK, threads=1))
    np.testing.assert_array_equal(again.core.a, motion.core.a)
    other = design_motion(model, limits, replace(QUICK, seed=5))
    assert np.abs(other.core.a - motion.core.a).max() > 1e-3


def test_torque_limits_are_kept():
    """Against Pinocchio's torques at 1 kHz, with a limit that the unlimited motion breaks."""
    model = arm(3)
    free = design_motion(model, some_limits(model), QUICK)
    theta = model.prior_theta()

    def largest(motion):
        time = np.arange(0.0, motion.trajectory.duration_s, 1e-3)
        m = motion_of(motion.trajectory, time, "run")
        return np.abs(pinocchio_torque(model.robot, m.q, m.v, m.a)).max(axis=0)

    limit = 0.8 * largest(free)
    limits = replace(some_limits(model), torque=limit)
    held = design_motion(model, limits, QUICK, theta=theta)
    assert (held.torque.bound <= limit).all()
    assert (largest(held) <= limit).all()


def test_still_joints_and_poses():
    model = arm(1)
    names = model.channels
    start, end = np.array([0.3, -0.2, 0.1]), np.array([-0.5, 0.4, 0.1])
    motion = design_motion(
        model, some_limits(model), QUICK, start=start, end=end, still={names[2]: 0.1}
    )
    run = motion.trajectory
    time = np.linspace(0.0, run.duration_s, 500)
    assert np.ptp(run.derivative(time, 0)[:, 2]) < 1e-12
    np.testing.assert_allclose(run.derivative([0.0], 0)[0], start, atol=1e-6)
    np.testing.assert_allclose(run.derivative([run.duration_s], 0)[0], end, atol=1e-6)
    # what a joint that stands still hides is said, and the rest is determined
    assert 0 < motion.predicted.counts["not"] < motion.predicted.base.rank


def test_earlier_knowledge_changes_the_motion():
    """What is known need not be excited: with all but one parameter known, that one gains."""
    model = arm(2)
    limits = some_limits(model)
    plain = design_motion(model, limits, QUICK)
    rank = plain.predicted.base.rank
    sigma = plain.predicted.sigma
    known = np.diag(1e6 / sigma**2)
    known[rank // 2] = 0.0
    after = design_motion(model, limits, QUICK, known=known)
    without = np.diag(np.zeros(rank))
    assert after.predicted.sigma[rank // 2] < 0.9 * sigma[rank // 2]
    same = design_motion(model, limits, QUICK, known=without)
    assert same.value == pytest.approx(plain.value, abs=0.2)


@pytest.mark.parametrize("criterion", ["a-optimal", "e-optimal", "condition", "frobenius"])
def test_every_criterion_can_be_optimised(criterion):
    model = arm(4, 2)
    motion = design_motion(model, some_limits(model), replace(QUICK, criterion=criterion))
    assert motion.holds
    assert motion.value < motion.start_value - 0.1


@pytest.mark.parametrize("basis", ["via", "postures", "points"])
def test_every_basis_gives_a_proven_motion(basis):
    model = arm(5, 2)
    own = {"via": {"rounds": 1, "budget_s": 60.0}, "points": {"budget_s": 60.0}}.get(basis, {})
    settings = DesignSettings(basis=basis, share=1.0, **own)
    motion = design_motion(model, some_limits(model, 500.0), settings)
    assert motion.holds
    assert (motion.torque.bound <= 500.0).all()
    run, limits = motion.trajectory, motion.limits
    time = np.arange(0.0, run.duration_s, 1e-3)
    assert (np.abs(run.derivative(time, 1)) <= limits.velocity).all()
    assert (np.abs(run.derivative(time, 2)) <= limits.acceleration).all()
    assert motion.value <= motion.start_value
    with pytest.raises(SteelyardError, match=r"'joint_\d' needs \S+ of torque to hold"):
        design_motion(model, some_limits(model, 1e-3), settings)


def test_joints_that_turn_one_way_are_named():
    """A motion through two points moves each joint once, one way."""
    model = arm(5, 2)
    limits = some_limits(model)
    task = DesignTask(model, limits, QUICK)
    there = via_point_motion([[-1.0, 0.5], [1.0, -0.5]], limits)
    back = via_point_motion([[-1.0, 0.5], [1.0, -0.5], [-1.0, -1.0]], limits)
    core = DesignedCore(there, there, None, "d-optimal", 0.0, 0.0, 1, 1, True, 1.0, 1)
    assert one_way_joints(task, core) == model.channels
    assert one_way_joints(task, replace(core, run=back)) == (model.channels[1],)
    still = replace(task, still={model.channels[1]: 0.5})
    assert one_way_joints(still, replace(core, run=back)) == ()


def test_the_run_checks_are_those_of_the_limits(designed):
    _, motion = designed
    checks = check_limits(motion.extremes, motion.limits)
    assert len(checks) == 5 * 3
    assert motion.checks == checks


def test_impossible_limits_are_named():
    """100 sets of limits that no motion can keep, each refused with its joint named."""
    rng = np.random.default_rng(0)
    refused = 0
    for k in range(100):
        model = arm(int(rng.integers(5)), 3)
        limits = some_limits(model)
        j = int(rng.integers(3))
        name = model.channels[j]
        quantity, place, value = (
            ("upper", j, limits.lower[j]),
            ("velocity", j, 0.0),
            ("acceleration", j, -1.0),
            ("jerk", j, np.nan),
            ("torque", 0, 1e-6),
        )[k % 5]
        changed = np.array(limits.of(quantity))
        changed[place] = value
        expected = model.channels[0] if k % 5 == 4 else name
        with pytest.raises(SteelyardError, match=f"'{expected}'"):
            design_motion(model, replace(limits, **{quantity: changed}), QUICK)
        refused += 1
    assert refused == 100


def test_bad_requests_are_named():
    model = arm()
    limits = some_limits(model)
    with pytest.raises(SteelyardError, match="start pose has joint"):
        design_motion(model, limits, QUICK, start=[5.0, 0.0, 0.0])
    with pytest.raises(SteelyardError, match="budget is too short: 1e-06 s"):
        design_motion(model, limits, replace(QUICK, budget_s=1e-6))
    floating = Model(random_robot(np.random.default_rng(0), 2, floating_base=True))
    with pytest.raises(SteelyardError, match="floating base"):
        design_motion(floating, MotionLimits((), *[np.zeros(0)] * 6), QUICK)
    unlimited = replace(
        model.robot, joints=tuple(replace(j, limits=Limits()) for j in model.robot.joints)
    )
    with pytest.raises(SteelyardError, match="--velocity"):
        motion_limits(unlimited)
