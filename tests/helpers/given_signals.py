"""Filters and friction as they are given, for tests in which their choice is not the subject."""

from __future__ import annotations

from typing import Any

from steelyard.signals.processing import Processing

GIVEN = Processing(
    cutoff_hz=10.0,
    torque_filter="same",
    dead_band="tenth",
    velocity="differentiate",
    acceleration="differentiate",
)
"""Positions and torques filtered at 10 Hz, without torques below a tenth of the rms speed."""
QUICK: dict[str, Any] = {"processing": GIVEN, "friction_width": 0.0}
"""Options of `identify` with which nothing about signals is chosen from the data."""
FEW: dict[str, Any] = {
    **QUICK,
    "gamma": 100.0,
    "compare_terms": False,
    "n_resamples": 20,
    "ranges": False,
}
"""The same with a given weight of the prior and few fits, where terms and intervals do not matter.

Choosing gamma, comparing terms and 200 resamples take nine tenths of a small identification.
"""

FIXED = (
    *("--cutoff-hz", "10", "--torque-filter", "same", "--dead-band", "tenth"),
    *("--velocity", "differentiate", "--acceleration", "differentiate"),
)
"""Options of the command line with which nothing about signals is chosen from the data."""
FEW_FITS = ("--gamma", "100", "--no-term-comparison", "--resamples", "20")
"""Options of the command line with a given weight of the prior and few fits."""
