"""Intervals of the default hold the truth, also where the robot file is wrong.

A reduced version of ``benchmarks/run.py coverage-default``. Misses are measured in standard
deviations, so that a few logs are enough to see a covariance that lacks one of its parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from scipy.stats import norm, t
from wrong_files import arm, recorded, with_wrong_links

from steelyard.identification.identify import Identification, identify
from steelyard.signals.processing import Processing

CASES = tuple(
    (number, seed, way)
    for number, seed in ((2, 300), (3, 302))
    for way in ("right", "one link", "all")
)
PROCESSING = Processing(cutoff_hz=20.0, torque_filter="none", dead_band="tenth")


@dataclass(frozen=True, eq=False)
class Case:
    found: Identification
    away: np.ndarray  # of the estimate from the truth
    touches: np.ndarray  # base parameters that depend on a link that is wrong in the file


@cache
def case(number: int, seed: int, way: str) -> Case:
    robot, truth = arm(number)
    file, wrong = with_wrong_links(robot, way)
    found = identify(
        file,
        recorded(robot, truth, 6.0, seed),
        processing=PROCESSING,
        friction_width=0.0,
        compare_terms=False,
        ranges=False,
        certify=False,
    )
    base = found.estimate.base
    owner = np.array([column.owner in wrong for column in found.model.columns])
    touches = np.any(base.K[:, owner] != 0.0, axis=1)
    return Case(found, found.estimate.beta - base.K @ truth, touches)


def misses(variance, chosen=None) -> np.ndarray:
    """Misses in standard deviations over all cases, or over chosen parameters of each."""
    out = []
    for key in CASES:
        one = case(*key)
        z = one.away / np.sqrt(variance(one))
        out.append(z if chosen is None else z[chosen(one)])
    return np.concatenate(out)


def rms(z: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.minimum(np.abs(z), 10.0) ** 2)))


def whole(one: Case) -> np.ndarray:
    return np.diag(one.found.estimate.spread.covariance)


def of_prior(one: Case) -> np.ndarray:
    assert one.found.fit is not None
    assert one.found.fit.pull is not None
    return np.diag(one.found.fit.pull.covariance)


def mostly_prior(one: Case) -> np.ndarray:
    share = one.found.estimate.data_share
    assert share is not None
    return np.nan_to_num(share, nan=1.0) < 0.5


def test_misses_are_as_large_as_standard_deviations_say():
    """The misses have the size that the intervals state: not larger, and not far smaller."""
    z = misses(whole)
    assert 0.6 < rms(z) < 1.0
    assert np.mean(np.abs(z) < 2.0) > 0.93
    assert rms(misses(whole, lambda one: one.touches)) < 1.1


def test_the_share_of_the_prior_is_needed():
    """Without what the prior's own error adds, what comes mostly from it would be missed."""
    assert rms(misses(whole, mostly_prior)) < 1.0
    assert rms(misses(lambda one: whole(one) - of_prior(one), mostly_prior)) > 1.2


def test_halving_the_variance_of_the_data_would_show():
    """Half the variance over left-out blocks is too little for what the data determine."""
    known = lambda one: ~mostly_prior(one)  # noqa: E731
    assert rms(misses(whole, known)) < 1.0
    data = rms(misses(lambda one: whole(one) - of_prior(one), known))
    halved = rms(misses(lambda one: 0.5 * (whole(one) - of_prior(one)), known))
    assert halved == pytest.approx(np.sqrt(2.0) * data)
    assert halved > 1.05


def test_intervals_use_the_t_distribution_of_their_blocks():
    """Half widths are quantiles of t with one degree of freedom less than there are blocks."""
    one = case(*CASES[0])
    spread = one.found.estimate.spread
    assert spread.degrees_of_freedom == one.found.estimate.n_blocks - 1
    expected = t.ppf(0.975, spread.degrees_of_freedom) * np.sqrt(whole(one))
    assert spread.half_width(0.95) == pytest.approx(expected)
    assert np.all(spread.half_width(0.95) > norm.ppf(0.975) * np.sqrt(whole(one)))
