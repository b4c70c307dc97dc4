"""Which intervals are computed of a robot with many parameters, and how the result says it.

The rules are those of `steelyard.estimators.size_rules`.
"""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.estimators._ranges import Quantities
from steelyard.estimators.size_rules import (
    FEWER_LEFT_OUT,
    FEWER_PARTS,
    FEWER_RESAMPLES,
    MASS_RANGES_UP_TO,
    has_many,
)
from steelyard.findings import Finding


@dataclass(frozen=True)
class Affordable:
    """The intervals that are computed of a robot.

    ranges : the quantities whose feasible ranges are computed. findings : what is not.
    """

    n_resamples: int
    ranges: Quantities
    findings: tuple[Finding, ...] = ()


def affordable(
    n_columns: int, n_resamples: int, wanted: Quantities, *, with_prior: bool
) -> Affordable:
    """What is computed of the wanted intervals for a model with so many parameters."""
    if not has_many(n_columns):
        return Affordable(n_resamples, wanted)
    left = []
    fewer = FEWER_LEFT_OUT if with_prior else FEWER_RESAMPLES
    if with_prior:
        left.append(
            f"weights of the prior and terms were compared on {FEWER_PARTS} parts of the data"
        )
    if n_resamples > fewer:
        n_resamples = fewer
        how = "parts of the data, left out in turn" if with_prior else "resamples"
        left.append(f"intervals are from at most {fewer} {how}")
    masses = tuple(column for column in wanted.columns if column in set(wanted.masses))
    kept = Quantities(masses if n_columns <= MASS_RANGES_UP_TO else (), ())
    if wanted.n_problems:
        n_open = len(wanted.columns)
        left.append(
            f"feasible ranges of {len(kept.columns)} masses were computed, not those of the other "
            f"{n_open - len(kept.columns)} parameters that the data do not determine individually"
            if kept.columns
            else f"no feasible ranges of the {n_open} parameters that the data do not determine "
            "individually were computed, and no advice which mass to measure"
        )
    if not left:
        return Affordable(n_resamples, kept)
    words = f"the robot has many parameters ({n_columns}): {'; '.join(left)}"
    return Affordable(n_resamples, kept, (Finding("info", "many-parameters", words),))
