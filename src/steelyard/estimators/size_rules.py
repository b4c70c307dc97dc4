"""What is computed of robots with many parameters, where everything would take too long.

A conic problem takes a time that grows with the cube of the number of parameters: 12 ms for an arm
of seven joints, 0.3 s for a chain of 60, whose estimate with all defaults would take 300 fits and
1,200 ranges. Robots with more than `USUAL_UP_TO` parameters therefore get

    weight of the prior   fewer values of gamma, compared on 4 instead of 8 parts of the data
    comparison of terms   on 4 parts of the data, between at most 6 sets
    intervals             from at most 16 parts of the data that are left out in turn or, of methods
                          without a prior, from at most 40 resamples
    feasible ranges       of masses only, and above `MASS_RANGES_UP_TO` parameters none; no advice
                          which mass to measure

The estimate itself and its intervals are computed as for any other robot, and a finding of the
result says which of these rules applied.
"""

from __future__ import annotations

USUAL_UP_TO = 240
"""Parameters up to which everything is computed: 17 joints with all terms."""
MASS_RANGES_UP_TO = 450
"""Parameters up to which feasible ranges of masses are computed: 32 joints with all terms."""
PARTS = 8
"""Parts of the data that are left out in turn."""
FEWER_PARTS = 4
"""The same for robots with many parameters."""
FEWER_LEFT_OUT = 16
"""Parts of the data that are left out in turn for intervals with a prior."""
FEWER_RESAMPLES = 40
"""Resamples for intervals without a prior."""


def has_many(n_columns: int) -> bool:
    """Whether a model with so many parameters has more than the usual number."""
    return n_columns > USUAL_UP_TO


def n_parts(n_columns: int) -> int:
    """In how many parts of time blocks the data are split to leave them out in turn."""
    return FEWER_PARTS if has_many(n_columns) else PARTS
