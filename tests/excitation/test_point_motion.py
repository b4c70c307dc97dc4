"""Motions through points: shortest moves, limits met exactly, ranges shrunk where needed."""

from __future__ import annotations

from dataclasses import replace

import gautier_khalil_paper as paper
import numpy as np
import pytest
from numpy.polynomial import Polynomial

from steelyard.errors import SignalError
from steelyard.excitation import point_design
from steelyard.excitation._interval_time import shortest_move
from steelyard.excitation._point_search import STAGES
from steelyard.excitation.extremes import check_limits
from steelyard.excitation.limits import MotionLimits
from steelyard.excitation.point_design import PointSequence, PointSettings
from steelyard.excitation.point_motion import (
    PointMotion,
    design_point_motion,
    motion_through,
    overshoots,
)


@pytest.fixture
def short_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of the iterations."""
    short = tuple(
        replace(stage, steps=tuple((order, n // 10) for order, n in stage.steps))
        for stage in STAGES
    )
    monkeypatch.setattr(point_design, "STAGES", short)


def paper_polynomial(A: float, va: float, vb: float, u: float) -> Polynomial:
    """q(u) of eqs 24 and 28 of Gautier and Khalil (1992), from zero."""
    a3 = 10 * A / u**3 - (6 * va + 4 * vb) / u**2
    a4 = -15 * A / u**4 + (8 * va + 7 * vb) / u**3
    a5 = 6 * A / u**5 - 3 * (va + vb) / u**4
    return Polynomial([0.0, va, 0.0, a3, a4, a5])


def rates(A: float, va: float, vb: float, u: float) -> list[float]:
    """Largest speed, acceleration and jerk of a move: at its ends and where derivatives vanish."""
    q = paper_polynomial(A, va, vb, u)
    largest = []
    for order in (1, 2, 3):
        roots = q.deriv(order + 1).roots()
        inside = [r.real for r in roots if abs(r.imag) < 1e-9 and 0.0 < r.real < u]
        largest.append(float(np.abs(q.deriv(order)(np.array([0.0, u, *inside]))).max()))
    return largest


def random_move(rng: np.random.Generator):
    """Distances, speeds and limits of one to three joints, with speeds at their limits and joints
    that come back to where they were.
    """
    n = int(rng.integers(1, 4))
    limits = np.stack(
        [
            rng.uniform(0.3, 2.0, n),
            rng.uniform(0.5, 8.0, n),
            np.where(rng.random(n) < 0.6, np.inf, rng.uniform(3.0, 30.0, n)),
        ]
    )
    va, vb = (limits[0] * np.clip(rng.uniform(-1.3, 1.3, n), -1.0, 1.0) for _ in range(2))
    return rng.uniform(-2.0, 2.0, n) * (rng.random(n) < 0.8), va, vb, limits


def test_no_shorter_move_keeps_the_limits():
    """The move keeps all limits, and none of many shorter durations does (brute force)."""
    rng = np.random.default_rng(0)
    for _ in range(25):
        A, va, vb, limits = random_move(rng)
        move = shortest_move(A, va, vb, limits)
        assert move is not None

        def share(u, A=A, va=va, vb=vb, limits=limits):
            return max(
                max(np.array(rates(*state, u)) / limit)
                for *state, limit in zip(A, va, vb, limits.T, strict=True)
            )

        assert share(move.duration_s) <= 1.0 + 1e-9
        for u in move.duration_s * np.linspace(0.02, 0.99, 25):
            assert share(u) > 1.0


def test_the_limit_that_is_named_is_met():
    """The named rate of the named joint is at its limit."""
    rng = np.random.default_rng(1)
    seen = set()
    for _ in range(80):
        A, va, vb, limits = random_move(rng)
        move = shortest_move(A, va, vb, limits)
        j = move.joint
        order = ("velocity", "acceleration", "jerk").index(move.rate)
        met = rates(A[j], va[j], vb[j], move.duration_s)[order] / limits[order, j]
        assert met == pytest.approx(1.0, abs=1e-9)
        seen.add(move.rate)
    assert seen == {"velocity", "acceleration", "jerk"}


def test_largest_acceleration_can_grow_with_the_duration():
    """With speeds 1 at both ends of a distance 1 it is zero at 1 s and 1.44 at 2 s, against what
    the paper says; the shortest move is found all the same.
    """
    assert rates(1.0, 1.0, 1.0, 1.0)[1] == pytest.approx(0.0, abs=1e-12)
    assert rates(1.0, 1.0, 1.0, 2.0)[1] == pytest.approx(1.443, abs=1e-3)
    one = np.array([1.0])
    limits = np.array([[1.0], [1.0], [np.inf]])
    move = shortest_move(one, one, one, limits)
    assert move.duration_s == pytest.approx(1.0, abs=1e-6)
    slower = shortest_move(one, one, -one, limits)
    assert slower.duration_s > 2.0
    assert max(rates(1.0, 1.0, -1.0, slower.duration_s)[:2]) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("acceleration", [0.1, 0.01, 1e-3, 1e-4])
def test_a_narrow_interval_of_durations_is_found(acceleration):
    """Near a straight line only durations in an interval of about the acceleration's size keep
    the limits, besides very long ones; its lower end is found.
    """
    one = np.array([1.0])
    limits = np.array([[1.2], [acceleration], [np.inf]])
    low, high = 0.9, 1.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        if rates(1.0, 1.0, 1.0, middle)[1] > acceleration:
            low = middle
        else:
            high = middle
    move = shortest_move(one, one, one, limits)
    assert move.duration_s == pytest.approx(high, rel=1e-9)
    assert rates(1.0, 1.0, 1.0, 1.0 + 2.0 * (1.0 - high))[1] > acceleration


def test_no_motion_has_no_duration():
    """From rest to rest in one place there is no move."""
    zero = np.zeros(2)
    assert shortest_move(zero, zero, zero, np.ones((3, 2))) is None


def random_points(rng: np.random.Generator, limits: MotionLimits, n: int) -> PointSequence:
    shape = (n, len(limits.joints))
    return PointSequence(
        limits.joints,
        rng.uniform(limits.lower, limits.upper, shape),
        limits.velocity * np.clip(rng.uniform(-1.2, 1.2, shape), -1.0, 1.0),
    )


def assert_rates_hold(motion: PointMotion, limits: MotionLimits) -> None:
    checks = check_limits(motion.extremes, limits)
    assert all(c.holds for c in checks if c.quantity not in ("lower", "upper")), checks


def test_motion_passes_the_points_within_limits():
    """The motion has the points' positions and speeds without acceleration where pieces meet,
    starts and ends at rest, and keeps its limits at 2,000 times of each second.
    """
    rng = np.random.default_rng(2)
    limits = paper.limits()
    for _ in range(3):
        points = random_points(rng, limits, 8)
        motion = motion_through(points, limits, rest=np.zeros(3))
        at = motion.trajectory.evaluate(motion.trajectory.breaks)
        assert at.q[1:-1] == pytest.approx(points.q, abs=1e-9)
        assert at.v[1:-1] == pytest.approx(points.v, abs=2e-9)
        assert at.a == pytest.approx(0.0, abs=1e-7)
        assert at.q[[0, -1]] == pytest.approx(0.0, abs=1e-9)
        assert at.v[[0, -1]] == pytest.approx(0.0, abs=1e-9)
        assert_rates_hold(motion, limits)
        grid = np.arange(0.0, motion.duration_s, 1.0 / 2000.0)
        seen = motion.trajectory.evaluate(grid)
        assert (np.abs(seen.v) <= limits.velocity).all()
        assert (np.abs(seen.a) <= limits.acceleration).all()
        for k, interval in enumerate(motion.intervals):
            inside = (grid >= motion.trajectory.breaks[k]) & (
                grid <= motion.trajectory.breaks[k + 1]
            )
            j = limits.joints.index(interval.joint)
            values = seen.v if interval.rate == "velocity" else seen.a
            met = np.abs(values[inside, j]).max() / limits.of(interval.rate)[j]
            assert met == pytest.approx(1.0, abs=1e-3)


def test_a_node_at_a_limit_that_moves_outward_overshoots():
    """Section 5.2 must shrink ranges: such a node leaves the range in every move."""
    limits = paper.limits()
    points = PointSequence(
        limits.joints, np.array([[0.0, np.pi / 2, 0.0]]), np.array([[0.0, 0.7, 0.0]])
    )
    motion = motion_through(points, limits, rest=np.zeros(3))
    outside = overshoots(motion.extremes, limits)
    assert outside[1] > 0.01
    assert outside[[0, 2]] == pytest.approx(0.0)
    other_way = motion_through(points, limits, rest=np.zeros(3), choose_directions=True)
    # passing it inward overshoots before the node instead, so there is no way
    assert overshoots(other_way.extremes, limits)[1] > 0.01


def test_directions_make_motions_easier_and_keep_the_energy():
    """Reversed points have the same energies, and the motion overshoots less or is shorter."""
    rng = np.random.default_rng(3)
    limits = paper.limits()
    model = paper.model()
    for _ in range(2):
        points = random_points(rng, limits, 6)
        points = replace(points, q=0.8 * points.q)
        plain = motion_through(points, limits)
        chosen = motion_through(points, limits, choose_directions=True)
        W = paper.matrix(model, points.q, points.v)
        again = paper.matrix(model, chosen.nodes.q[1:-1], chosen.nodes.v[1:-1])
        assert again == pytest.approx(W, abs=1e-7)
        signs = chosen.nodes.v[1:-1] * points.v >= -1e-15
        assert (signs.all(axis=1) | (~signs).all(axis=1)).all()

        def cost(motion):
            return 100.0 * overshoots(motion.extremes, limits).sum() + motion.duration_s

        assert cost(chosen) < cost(plain)


def test_idle_joints_do_not_slow_the_motion():
    """A joint whose position is free goes where its speed carries it: the motion is shorter."""
    rng = np.random.default_rng(4)
    limits = paper.limits()
    points = random_points(rng, limits, 12)
    fixed = motion_through(points, limits)
    free = motion_through(points, limits, idle=("joint_1",))
    assert free.duration_s < fixed.duration_s
    assert free.nodes.q[1:-1, 1:] == pytest.approx(points.q[:, 1:])
    assert_rates_hold(free, limits)


@pytest.mark.usefixtures("short_search")
def test_designed_motion_keeps_every_limit():
    """Ranges shrink until the motion stays inside; its nodes have the condition that is stated."""
    model = paper.model()
    limits = paper.limits(acceleration=1.0)
    settings = PointSettings(15, n_starts=2, budget_s=600.0, seed=1)
    found = design_point_motion(model, limits, settings, rest=np.zeros(3))
    assert all(check.holds for check in check_limits(found.motion.extremes, limits))
    assert len(found.rounds) > 1
    for before, after in zip(found.rounds, found.rounds[1:], strict=False):
        assert before.overshoot.max() > 0.0
        assert (after.position_share <= before.position_share).all()
        assert after.position_share.sum() < before.position_share.sum()
        assert after.velocity_share.sum() < before.velocity_share.sum()
    assert found.rounds[-1].overshoot.max() == 0.0
    alone = point_design.design_points(model, limits, settings)
    assert found.rounds[0].condition == alone.condition
    assert found.design.start_value == alone.start_value
    assert found.design.evaluations > alone.evaluations
    nodes = found.motion.trajectory.evaluate(found.motion.trajectory.breaks[1:-1])
    W = paper.matrix(model, nodes.q, nodes.v)
    assert np.linalg.cond(W) == pytest.approx(found.design.condition, rel=1e-5)


@pytest.mark.usefixtures("short_search")
def test_too_few_rounds_are_refused():
    """Where ranges would have to shrink further, the error names the joint and the amount."""
    settings = PointSettings(15, n_starts=1, budget_s=600.0)
    with pytest.raises(SignalError, match=r"joint 'joint_\d' still leaves its range by 0\.\d+"):
        design_point_motion(paper.model(), paper.limits(acceleration=0.5), settings, rounds=1)


def test_bad_input_is_named():
    """Rest positions at a limit, missing limits and speeds above the limit are refused."""
    limits = paper.limits()
    points = random_points(np.random.default_rng(0), limits, 3)
    with pytest.raises(SignalError, match=r"joint 'joint_2' is 2, which is not between"):
        motion_through(points, limits, rest=np.array([0.0, 2.0, 0.0]))
    with pytest.raises(SignalError, match="one value for each"):
        motion_through(points, limits, rest=np.zeros(2))
    endless = replace(limits, acceleration=np.array([3.0, np.inf, 3.0]))
    with pytest.raises(SignalError, match="joint 'joint_2' has no acceleration limit"):
        motion_through(points, endless)
    with pytest.raises(SignalError, match="joint 'joint_3' is faster"):
        motion_through(replace(points, v=points.v + np.array([0, 0, 2.0])), limits)
    with pytest.raises(SignalError, match="did you mean 'joint_1'"):
        motion_through(points, limits, idle=("joint1",))
    still = PointSequence(limits.joints, np.zeros((2, 3)), np.zeros((2, 3)))
    with pytest.raises(SignalError, match="there is no motion"):
        motion_through(still, limits)
