"""Periodic motions from rest to rest, within limits at every time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from steelyard.errors import SignalError
from steelyard.excitation.extremes import check_limits
from steelyard.excitation.limits import MotionLimits
from steelyard.excitation.motions.fourier import FourierTrajectory, at_rest_initially
from steelyard.excitation.motions.leads import lead_in
from steelyard.excitation.motions.periodic_run import periodic_run
from steelyard.excitation.motions.polynomial import quintic
from steelyard.excitation.motions.shortest_move import shortest_moves


def names(n_joints: int) -> tuple[str, ...]:
    return tuple(f"joint_{j}" for j in range(n_joints))


def some_motion(rng: np.random.Generator, n_joints: int) -> FourierTrajectory:
    a, b = rng.normal(size=(2, n_joints, 3))
    return FourierTrajectory(names(n_joints), 2.0, a, b, rng.normal(size=n_joints))


def limits_around(motion: FourierTrajectory, room: float, jerk: float = np.inf) -> MotionLimits:
    """Limits that the motion uses all but this share of."""
    found = motion.extremes()
    spare = room * (found.upper - found.lower)
    return MotionLimits(
        motion.joints,
        found.lower - spare,
        found.upper + spare,
        (1.0 + room) * found.velocity,
        (1.0 + room) * found.acceleration,
        jerk * found.jerk,
        np.full(len(motion.joints), np.inf),
    )


def recheck(run, limits: MotionLimits, rate_hz: float = 10_000.0) -> None:
    """Every sample of the leads, and ends of their pieces, keeps the limits."""
    for k in (0, len(run.parts) - 1):
        part = run.parts[k]
        time = np.append(np.arange(0.0, part.duration_s, 1.0 / rate_hz), part.duration_s)
        q = part.derivative(time, 0)
        assert (q >= limits.lower).all()
        assert (q <= limits.upper).all()
        for order, name in ((1, "velocity"), (2, "acceleration"), (3, "jerk")):
            assert (np.abs(part.derivative(time, order)) <= limits.of(name)).all()


@pytest.mark.parametrize("case", range(10))
def test_leads_keep_limits_that_the_motion_uses_up(case):
    """Leads of motions that use their limits keep them at 10 kHz, from any pose; 400 leads."""
    rng = np.random.default_rng(case)
    for jerk in (np.inf, 1.5):
        motion = some_motion(rng, 10)
        limits = limits_around(motion, 1e-3, jerk)
        start = None if case % 3 == 0 else rng.uniform(limits.lower, limits.upper)
        end = None if case % 3 == 1 else rng.uniform(limits.lower, limits.upper)
        run = periodic_run(motion, limits, periods=2, start=start, end=end)
        assert all(check.holds for check in check_limits(run.extremes(), limits))
        recheck(run, limits)
        assert run.durations_s[1] == pytest.approx(2 * motion.period_s)
        states = run.evaluate([0.0, run.duration_s])
        assert not np.abs(states.v).max() > 1e-9
        for pose, reached in ((start, states.q[0]), (end, states.q[1])):
            if pose is not None:
                np.testing.assert_allclose(reached, pose, atol=1e-7)


def test_the_lead_is_the_shortest():
    """No shorter polynomial keeps the limits, by dense samples; one of them is nearly reached."""
    rng = np.random.default_rng(20)
    u = np.linspace(0.0, 1.0, 200)
    decided = set()
    for case in range(5):
        motion = some_motion(rng, 5)
        limits = limits_around(motion, 0.2, 2.0)
        if case % 2:
            # so that speed decides
            limits = replace(
                limits, acceleration=5.0 * limits.acceleration, jerk=20.0 * limits.jerk
            )
        state = np.stack([motion.derivative([0.0], order)[0] for order in range(3)])
        rest = np.stack([rng.uniform(limits.lower, limits.upper), np.zeros(5), np.zeros(5)])
        found = shortest_moves(rest, state, limits)
        for j, (duration, use) in enumerate(zip(found.durations_s, found.uses, strict=True)):
            longest = duration if np.isfinite(duration) else 30.0
            for shorter in np.geomspace(0.05 * longest, 0.999 * longest, 60):
                move = quintic(("j",), shorter, rest[:, j : j + 1], state[:, j : j + 1])
                q, *rates = (move.derivative(u * shorter, order)[:, 0] for order in range(4))
                allowed = (limits.velocity[j], limits.acceleration[j], limits.jerk[j])
                assert (
                    q.min() < limits.lower[j] + 1e-5
                    or q.max() > limits.upper[j] - 1e-5
                    or any(
                        np.abs(rate).max() > 0.9995 * limit
                        for rate, limit in zip(rates, allowed, strict=True)
                    )
                )
            if np.isfinite(duration):
                assert 0.999999 < use.share <= 1.0
                decided.add(use.measure)
    assert {"velocity", "acceleration", "jerk"} <= decided


def test_a_window_of_feasible_durations_is_found():
    """From speed 1 to speed 1 over a way of 1, only durations near 1 s need no acceleration."""
    wide = np.array([1e3])
    for limit in (0.5, 1e-2, 1e-5):
        limits = MotionLimits(("j",), -wide, wide, wide, np.array([limit]), wide * 1e6, wide)
        state = np.array([[0.0], [1.0], [0.0]])
        end = np.array([[1.0], [1.0], [0.0]])
        found = shortest_moves(state, end, limits)
        duration = float(found.durations_s[0])
        assert duration < 1.0
        move = quintic(("j",), duration, state, end)
        assert move.extremes().acceleration[0] == pytest.approx(limit, rel=1e-5)
        assert quintic(("j",), 2.0, state, end).extremes().acceleration[0] > 1.4


def test_a_motion_that_starts_at_rest_needs_no_lead():
    """Where the periods begin and end at rest, and no pose is asked for, nothing is added."""
    motion = some_motion(np.random.default_rng(21), 4)
    a, b = at_rest_initially(motion.a, motion.b)
    motion = FourierTrajectory(motion.joints, motion.omega, a, b, motion.q0)
    limits = limits_around(motion, 0.1)
    run = periodic_run(motion, limits)
    assert run.parts == (motion,)
    elsewhere = periodic_run(motion, limits, start=limits.middle)
    assert len(elsewhere.parts) == 2
    recheck(elsewhere, limits)


def test_limits_may_be_in_another_order():
    """Limits are matched by the names of joints."""
    motion = some_motion(np.random.default_rng(22), 3)
    limits = limits_around(motion, 0.05)
    turned = limits.of_joints(limits.joints[::-1])
    first, second = (periodic_run(motion, each) for each in (limits, turned))
    assert first.durations_s == second.durations_s
    with pytest.raises(SignalError, match="no limits for joint_2"):
        periodic_run(motion, limits.of_joints(limits.joints[:2]))


def test_poses_on_the_limits_are_allowed():
    """A robot may start and end on its end stops; bounds keep the limits exactly there too."""
    rng = np.random.default_rng(24)
    for _ in range(2):
        motion = some_motion(rng, 4)
        limits = limits_around(motion, 0.01)
        run = periodic_run(motion, limits, start=limits.lower, end=limits.upper)
        assert all(check.holds for check in check_limits(run.extremes(), limits))
        ends = run.derivative([0.0, run.duration_s], 0)
        np.testing.assert_allclose(ends, [limits.lower, limits.upper], atol=1e-7)


def test_a_state_that_no_lead_reaches_is_named():
    """A joint that moves on without an end cannot be stopped within a narrow range."""
    state = np.array([[0.0], [1.0], [0.0]])
    one = np.ones(1)
    limits = MotionLimits(("knee",), -0.01 * one, 0.01 * one, 2.0 * one, one, one * np.inf, one)
    refused = lead_in(state, None, limits)
    assert refused.joint == "knee"
    assert refused.share > 1.0
    wide = MotionLimits(("knee",), -3.0 * one, 3.0 * one, 2.0 * one, one, one * np.inf, one)
    assert lead_in(state, None, wide).extremes().acceleration[0] <= 1.0


def test_refusals():
    """A pose outside the limits, a motion outside the limits and no period are refused by name."""
    motion = some_motion(np.random.default_rng(23), 3)
    limits = limits_around(motion, 0.05)
    outside = np.array(limits.middle)
    outside[1] = limits.upper[1] + 0.25
    for what in ("start", "end"):
        with pytest.raises(SignalError, match=f"{what}: joint 'joint_1' .* above its upper.*0.25"):
            periodic_run(motion, limits, **{what: outside})
    with pytest.raises(SignalError, match="shape"):
        periodic_run(motion, limits, start=[0.0])
    with pytest.raises(SignalError, match="at least 1"):
        periodic_run(motion, limits, periods=0)
    slow = MotionLimits(
        limits.joints,
        limits.lower,
        limits.upper,
        limits.velocity * [1.0, 1.0, 1e-3],
        limits.acceleration,
        limits.jerk,
        limits.torque,
    )
    with pytest.raises(
        SignalError, match=r"needs 9.524e\+04 % of the velocity limit of joint 'joint_2'"
    ):
        periodic_run(motion, slow)
