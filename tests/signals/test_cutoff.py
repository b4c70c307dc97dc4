"""The cutoff from the spectrum of the positions: on long logs, and on motions that repeat."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from steelyard.signals.cutoff import automatic_cutoff

RATE = 200.0


def wave(period_s: float | None, duration_s: float, noise: float) -> NDArray[np.float64]:
    """Positions (n_samples, 3) of five harmonics of a period; None for a motion that never
    repeats, from one random posture to the next.
    """
    rng = np.random.default_rng(3)
    t = np.arange(int(duration_s * RATE)) / RATE
    if period_s is None:
        points = rng.uniform(-1.0, 1.0, (int(duration_s / 2.0) + 3, 3))
        k = (t / 2.0).astype(int)
        s = (t / 2.0 - k)[:, None]
        q = points[k] + (points[k + 1] - points[k]) * (10 * s**3 - 15 * s**4 + 6 * s**5)
    else:
        phase = rng.uniform(0.0, 2.0 * np.pi, (5, 3))
        q = sum(
            np.sin(2.0 * np.pi * (k + 1) / period_s * t[:, None] + phase[k]) / (k + 1)
            for k in range(5)
        )
    return np.asarray(q + noise * rng.normal(size=q.shape))


@pytest.mark.parametrize("period_s", [1.3, 3.0, 9.7, None])
@pytest.mark.parametrize("noise", [1e-5, 3e-4])
def test_the_cutoff_does_not_depend_on_the_length_of_the_log(
    period_s: float | None, noise: float
) -> None:
    """From half a minute to an hour it stays within a factor of 1.5, repeating or not."""
    chosen = [
        automatic_cutoff(wave(period_s, duration, noise), RATE, 4).cutoff_hz
        for duration in (30.0, 60.0, 200.0, 600.0, 3600.0)
    ]
    assert max(chosen) <= 1.5 * min(chosen), chosen


def test_the_noise_between_the_lines_of_a_repeating_motion_is_measured() -> None:
    """Half an hour of a motion that repeats 600 times has the noise that was added to it."""
    choice = automatic_cutoff(wave(3.0, 1800.0, 1e-3), RATE, 4)
    np.testing.assert_allclose(choice.noise, 1e-3, rtol=0.1)
    assert choice.bandwidth_hz == pytest.approx(5.0 / 3.0, rel=0.15)
