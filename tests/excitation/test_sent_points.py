"""What controllers make of the points that they are sent."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import BPoly

from steelyard.errors import SignalError
from steelyard.excitation.extremes import check_limits
from steelyard.excitation.files.sent_points import SentPoints, interpolated, sent_points, sent_proof
from steelyard.excitation.limits import MotionLimits
from steelyard.excitation.motions.fourier import FourierTrajectory
from steelyard.excitation.motions.periodic_run import periodic_run
from steelyard.excitation.motions.polynomial import PolynomialTrajectory

WAYS = [
    ("linear", "positions"),
    ("cubic", "positions"),
    ("quintic", "positions"),
    ("cubic", "states"),
    ("quintic", "states"),
]


def some_run(seed: int, room: float = 0.05):
    """A run of three joints and limits that it keeps, with this share left."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, 3, 4))
    motion = FourierTrajectory(("x", "y", "z"), 1.5, a, b, rng.normal(size=3))
    found = motion.extremes()
    spare = room * (found.upper - found.lower)
    limits = MotionLimits(
        motion.joints,
        found.lower - spare,
        found.upper + spare,
        (1.0 + room) * found.velocity,
        (1.0 + room) * found.acceleration,
        3.0 * found.jerk,
        np.full(3, np.inf),
    )
    return periodic_run(motion, limits), limits


@pytest.mark.parametrize("rate_hz", [50.0, 300.0, 1000.0])
def test_points_are_the_motion_in_decimals(rate_hz):
    """Points are states of the motion, rounded; the last one is at rest at its end."""
    run, _ = some_run(0)
    points = sent_points(run, rate_hz, decimals=6)
    exact = run.evaluate(points.time)
    for ours, truth in ((points.q, exact.q), (points.v, exact.v), (points.a, exact.a)):
        assert np.abs(ours - truth).max() <= 0.5000001e-6
        assert (np.round(ours, 6) == ours).all()
    assert 0.0 <= points.time[-1] - run.duration_s < 1.0 / rate_hz + 1e-6
    assert not points.v[-1].any()
    np.testing.assert_allclose(np.diff(points.time), 1.0 / rate_hz, atol=1.1e-9)


def test_a_whole_number_of_steps_gets_no_point_more():
    """A motion of 0.7 s at 10 Hz, a product that rounding may put above 7, has eight points."""
    run, _ = some_run(1)
    for steps in range(1, 200):
        short = type(run)(run.parts[:1], (steps * 0.1,))
        assert len(sent_points(short, 10.0).time) == steps + 1


@pytest.mark.parametrize(("interpolation", "known"), WAYS)
def test_interpolation_passes_what_was_sent(interpolation, known):
    """The motion passes all positions, and velocities and accelerations where they are used."""
    run, _ = some_run(2)
    points = sent_points(run, 100.0)
    motion = interpolated(points, interpolation, known)
    np.testing.assert_allclose(motion.derivative(points.time, 0), points.q, atol=1e-11)
    if known == "states":
        np.testing.assert_allclose(motion.derivative(points.time, 1), points.v, atol=1e-9)
        orders = {"cubic": 2, "quintic": 3}[interpolation]
        values = np.stack([points.q, points.v, points.a][:orders], axis=1)
        reference = BPoly.from_derivatives(points.time, values)
        time = np.random.default_rng(3).uniform(0.0, motion.duration_s, size=300)
        for order in range(4):
            exact = reference(time, nu=order)
            np.testing.assert_allclose(
                motion.derivative(time, order), exact, atol=1e-8 * (1.0 + np.abs(exact).max())
            )


@pytest.mark.parametrize(("interpolation", "known"), WAYS)
def test_proofs_hold_at_dense_samples(interpolation, known):
    """No sample between points is outside the proven bounds; those that cannot be are infinite."""
    for seed in range(3):
        run, limits = some_run(seed)
        points = sent_points(run, 60.0)
        proof = sent_proof(points, interpolation, limits, known)
        motion, found = interpolated(points, interpolation, known), proof.extremes
        time = np.linspace(0.0, motion.duration_s, 30_003)
        q = motion.derivative(time, 0)
        assert (q >= found.lower).all()
        assert (q <= found.upper).all()
        unproven = {("linear", "positions"): 2, ("cubic", "states"): 3}.get(
            (interpolation, known), 4
        )
        for order, name in ((1, "velocity"), (2, "acceleration"), (3, "jerk")):
            size = np.abs(motion.derivative(time, order)).max(axis=0)
            bound = found.of(name)
            assert (size <= bound).all()
            assert np.isinf(bound).all() if order >= unproven else (bound < 1.05 * size).all()
        assert proof.unproven == ("acceleration", "jerk")[max(0, unproven - 2) :]
        assert proof.checks == check_limits(found, limits)


def test_a_motion_within_limits_may_exceed_them_when_sent():
    """At a low rate splines swing out: the proof for the points refuses what the motion keeps."""
    run, limits = some_run(4, room=1e-3)
    assert all(check.holds for check in check_limits(run.extremes(), limits))
    fine, coarse = (
        sent_proof(sent_points(run, rate), "quintic", limits, "positions") for rate in (400.0, 6.0)
    )
    # where the jerk jumps, into and out of leads that use all of it, splines swing out
    assert {check.quantity for check in fine.checks if not check.holds} <= {"jerk"}
    assert "velocity" in {c.quantity for c in coarse.checks if not c.holds}
    linear = sent_proof(sent_points(run, 400.0), "linear", limits)
    assert {c.quantity for c in linear.checks if not c.holds} == {"acceleration", "jerk"}
    assert not linear.holds


def test_few_decimals_show_in_the_proof():
    """Rounding to four decimals at 500 Hz makes the sent motion shake; the bounds say so."""
    run, limits = some_run(5)
    clean, rounded = (
        sent_proof(sent_points(run, 500.0, decimals=k), "cubic", limits).extremes.acceleration
        for k in (12, 4)
    )
    assert (rounded > clean + 10.0).all()


def test_steps_of_acceleration_at_the_ends_are_told():
    """A cubic spline begins with an acceleration; one of fifth degree does not."""
    run, limits = some_run(6)
    points = sent_points(run, 100.0)
    assert sent_proof(points, "cubic", limits).acceleration_steps.any()
    assert not sent_proof(points, "quintic", limits).acceleration_steps.any()


def test_refusals():
    """Unknown ways, rates that are none, equal times and shapes are refused."""
    run, _ = some_run(7)
    points = sent_points(run, 10.0)
    with pytest.raises(SignalError, match="no interpolation 'septic'; there are linear, cubic"):
        interpolated(points, "septic")
    with pytest.raises(SignalError, match="rate_hz is 0"):
        sent_points(run, 0.0)
    with pytest.raises(SignalError, match="equal when written with 1 decimals"):
        sent_points(run, 100.0, time_decimals=1)
    with pytest.raises(SignalError, match="v has shape"):
        SentPoints(points.joints, points.time, points.q, points.v[:-1], points.a)
    with pytest.raises(SignalError, match="increasing"):
        SentPoints(points.joints, points.time[::-1], points.q, points.v, points.a)


def test_a_joint_that_rests_at_zero_is_proven_too():
    """Far from its moves a spline through zeros has coefficients like 1e-310, whose few digits
    jump relative to themselves.
    """
    joints = ("a", "b")
    moves = PolynomialTrajectory(
        joints,
        np.array([0.0, 6.0, 7.0]),
        np.array(
            [
                [[0.0] * 6, [0.0, 0.0, 0.0, 10 / 6**3, -15 / 6**4, 6 / 6**5]],
                [[0.0, 0.0, 0.0, 10.0, -15.0, 6.0], [1.0] + [0.0] * 5],
            ]
        ),
    )
    limits = MotionLimits(joints, *(np.full(2, x) for x in (-1.5, 1.5, 2.5, 10.0, 200.0, 1.0)))
    proof = sent_proof(sent_points(moves, 200.0), "quintic", limits)
    assert proof.holds
