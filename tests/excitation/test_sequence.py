"""Motions one after the other."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard.errors import SignalError
from steelyard.excitation.motions.fourier import FourierTrajectory
from steelyard.excitation.motions.polynomial import PolynomialTrajectory, quintic
from steelyard.excitation.motions.sequence import SequenceTrajectory

JOINTS = ("x", "y")


def some_fourier(rng: np.random.Generator) -> FourierTrajectory:
    a, b = rng.normal(size=(2, 2, 3))
    return FourierTrajectory(JOINTS, rng.uniform(1.0, 3.0), a, b, rng.normal(size=2))


def led(rng: np.random.Generator, error: tuple[int, float] = (0, 0.0)) -> SequenceTrajectory:
    """A lead, a sum of sines entered at some time and a lead; with an error in one derivative."""
    fourier = some_fourier(rng)
    begin, length = rng.uniform(0.5, 2.0, size=2)
    states = [
        [fourier.derivative([time], order)[0] for order in range(3)]
        for time in (begin, begin + length)
    ]
    rests = [[rng.normal(size=2), np.zeros(2), np.zeros(2)] for _ in range(2)]
    states[0][error[0]] = states[0][error[0]] + np.array([0.0, error[1]])
    first = quintic(JOINTS, rng.uniform(0.5, 2.0), rests[0], states[0])
    last = quintic(JOINTS, rng.uniform(0.5, 2.0), states[1], rests[1])
    return SequenceTrajectory(
        (first, fourier, last), (first.duration_s, length, last.duration_s), (0.0, begin, 0.0)
    )


def test_each_part_runs_in_its_time():
    """Between two seams the state is that of the part, at its own time."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        run = led(rng)
        for k, part in enumerate(run.parts):
            own = np.linspace(0.0, run.durations_s[k], 9)[:-1] + 1e-9
            for order in range(4):
                np.testing.assert_allclose(
                    run.derivative(run.begins[k] + own, order),
                    part.derivative(run.starts_s[k] + own, order),
                    rtol=1e-9,
                    atol=1e-9,
                )


def test_times_that_rounding_puts_past_a_part_are_in_it():
    """Just before every seam of many short parts the robot moves; it never stands still."""
    part = PolynomialTrajectory(("x",), [0.0, 0.1], [[[0.0, 1.0]]])
    parts = tuple(PolynomialTrajectory(("x",), [0.0, 0.1], [[[0.1 * k, 1.0]]]) for k in range(50))
    run = SequenceTrajectory(parts, (part.duration_s,) * 50)
    times = np.concatenate([run.begins, np.nextafter(run.begins[1:], 0.0)])
    assert (run.derivative(times, 1) == 1.0).all()
    np.testing.assert_allclose(run.derivative(times, 0)[:, 0], times, atol=1e-12)


def test_bounds_hold_and_smooth_runs_pass():
    """Dense samples of a smooth run lie within its bounds, which are finite."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        run = led(rng)
        run.check_smooth()
        found = run.extremes()
        time = np.linspace(-0.1, run.duration_s + 0.1, 4000)
        assert (run.derivative(time, 0) >= found.lower).all()
        assert (run.derivative(time, 0) <= found.upper).all()
        for order, bound in ((1, found.velocity), (2, found.acceleration), (3, found.jerk)):
            assert (np.abs(run.derivative(time, order)) <= bound).all()
            assert np.isfinite(bound).all()


@pytest.mark.parametrize(
    ("order", "name"), list(enumerate(["position", "velocity", "acceleration"]))
)
def test_a_jump_is_named(order, name):
    """A jump is refused with joint, time and size, and leaves higher derivatives unbounded."""
    run = led(np.random.default_rng(2), error=(order, -1e-5))
    with pytest.raises(SignalError, match=f"'y' at {run.begins[1]:g} s: the {name} jumps by 1e-05"):
        run.check_smooth()
    found = run.extremes()
    for above, quantity in enumerate(("velocity", "acceleration", "jerk"), start=1):
        assert np.isinf(found.of(quantity)).tolist() == [False, above > order]


def test_a_run_that_does_not_begin_at_rest_is_named():
    """A speed at the beginning is refused, unless that is allowed."""
    fourier = some_fourier(np.random.default_rng(3))
    run = SequenceTrajectory((fourier,), (1.0,))
    run.check_smooth(rest_at_ends=False)
    with pytest.raises(SignalError, match="velocity is not 0 but"):
        run.check_smooth()
    assert not run.derivative([-1.0, 2.0], 1).any()


def test_nonsense_is_refused():
    """Other joints, missing or negative durations and empty sequences are refused."""
    fourier = some_fourier(np.random.default_rng(4))
    other = PolynomialTrajectory(("x", "z"), [0.0, 1.0], np.zeros((1, 2, 1)))
    for parts, durations, what in (
        ((), (), "a motion at least"),
        ((fourier,), (1.0, 2.0), "2 durations"),
        ((fourier,), (0.0,), "lasts 0.0 s"),
        ((fourier, other), (1.0, 1.0), "motion 2 of the sequence moves x, z"),
    ):
        with pytest.raises(SignalError, match=what):
            SequenceTrajectory(parts, durations)
