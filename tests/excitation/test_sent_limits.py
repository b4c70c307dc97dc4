"""Motions that keep limits when they are sent as points."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard.errors import SignalError
from steelyard.excitation.files.sent_limits import within_limits_when_sent
from steelyard.excitation.files.sent_points import interpolated, sent_points, sent_proof
from steelyard.excitation.limits import MotionLimits
from steelyard.excitation.motions.fourier import FourierTrajectory
from steelyard.excitation.motions.periodic_run import periodic_run
from steelyard.excitation.motions.via_points import random_via_points, via_point_motion


def some_limits(seed: int) -> MotionLimits:
    rng = np.random.default_rng(seed)
    velocity, acceleration, jerk = np.exp(rng.uniform(0.0, 2.0, size=(3, 3)))
    bound = rng.uniform(1.0, 3.0, size=3)
    none = np.full(3, np.inf)
    return MotionLimits(
        ("x", "y", "z"), -bound, bound, velocity, 3.0 * acceleration, 30.0 * jerk, none
    )


@pytest.mark.parametrize(
    ("interpolation", "known"),
    [("cubic", "positions"), ("quintic", "positions"), ("quintic", "states"), ("cubic", "states")],
)
def test_sent_via_points_keep_the_limits(interpolation, known):
    """Motions that exceed limits when sent as they are keep them after lowering, at 10 kHz."""
    before = 0
    for seed in range(2):
        limits = some_limits(seed)
        points = random_via_points(limits, 5, seed=seed)

        def build(lowered, points=points):
            return via_point_motion(np.clip(points, lowered.lower, lowered.upper), lowered)

        as_it_is = sent_proof(sent_points(build(limits), 100.0), interpolation, limits, known)
        before += any(np.isfinite(c.bound) and not c.holds for c in as_it_is.checks)
        found = within_limits_when_sent(build, limits, 100.0, interpolation, known)
        assert all(check.holds or np.isinf(check.bound) for check in found.proof.checks)
        sent = interpolated(found.points, interpolation, known)
        time = np.arange(0.0, sent.duration_s, 1e-4)
        q = sent.derivative(time, 0)
        assert (q >= limits.lower).all()
        assert (q <= limits.upper).all()
        orders = ("velocity", "acceleration", "jerk")[: 2 if known == "states" else 3]
        if (interpolation, known) == ("quintic", "states"):
            orders = ("velocity", "acceleration", "jerk")
        for order, name in enumerate(orders, start=1):
            assert (np.abs(sent.derivative(time, order)) <= limits.of(name)).all()
        # no more than needed is given up
        assert found.motion.duration_s < 1.5 * build(limits).duration_s
    assert before == 2


def test_sent_periodic_runs_keep_the_limits():
    """Leads become gentler until what is made of the points keeps the jerk limit too."""
    rng = np.random.default_rng(6)
    a, b = rng.normal(size=(2, 3, 4))
    core = FourierTrajectory(("x", "y", "z"), 1.5, a, b, rng.normal(size=3))
    found, none = core.extremes(), np.full(3, np.inf)
    limits = MotionLimits(
        core.joints,
        found.lower - 0.01,
        found.upper + 0.01,
        1.01 * found.velocity,
        1.01 * found.acceleration,
        1.5 * found.jerk,
        none,
    )
    directly = sent_proof(sent_points(periodic_run(core, limits), 250.0), "quintic", limits)
    assert {check.quantity for check in directly.checks if not check.holds} == {"jerk"}
    sent = within_limits_when_sent(
        lambda lowered: periodic_run(core, lowered), limits, 250.0, "quintic"
    )
    assert sent.proof.holds
    assert sent.motion.parts[1] is core


def test_a_motion_that_ignores_lower_limits_is_refused():
    """Where building for lower limits does not help, the joint and the quantity are named."""
    limits = some_limits(5)
    motion = via_point_motion(random_via_points(limits, 5), limits)
    with pytest.raises(SignalError, match=r"joint '[xyz]': the \w+ between points .* at 100 Hz"):
        within_limits_when_sent(lambda _: motion, limits, 100.0, "cubic")
