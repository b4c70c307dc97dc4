"""One statement about the distance of a sequential fit from the optimum, by the tightest bound."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from humanoid import humanoid, humanoid_log

from steelyard.errors import SteelyardWarning
from steelyard.estimators.optimum_distance import CODES, OptimumDistance, above_optimum
from steelyard.identification.identify import identify
from steelyard.signals.processing import Processing


@pytest.mark.parametrize(
    ("gap", "level", "code"),
    [
        (0.49, "info", "sequential-gap"),
        (0.51, "warning", "sequential-not-optimal"),
        (np.inf, "warning", "sequential-gap-unknown"),
    ],
)
def test_more_than_one_standard_deviation_is_a_warning(gap, level, code):
    """A gap of ½ is one standard deviation of all parameters together."""
    distance = OptimumDistance(gap, 1000.0, "the fit")
    assert (distance.finding.level, distance.finding.code) == (level, code)
    assert distance.with_bound(None) == distance
    assert distance.with_bound(1e3 if np.isfinite(gap) else np.inf) == distance
    assert distance.with_bound(0.1).finding.code == "sequential-gap"


@pytest.mark.parametrize(
    ("gap", "lower_bound", "words"),
    [
        (0.0, 2.0, "at most 0 % above the optimum"),
        (0.15, 21028.6, "at most 0.00072 % above the optimum"),
        (1.0, 30.0, "at most 3.4 % above the optimum"),
        (1.98, 2.0, "at most 99 % above the optimum"),
        (2.0, 2.0, "at most 100 % above the optimum"),
        (156.0, 2.0, "at most 79 times the optimum"),
        (1.57e6, 2.0, "at most 790,000 times the optimum"),
        (3.0, 0.0, "at most 3 above the optimum, of which no positive lower bound is proven"),
        (3.0, -1.0, "at most 3 above the optimum, of which no positive lower bound is proven"),
    ],
)
def test_a_gap_in_words(gap, lower_bound, words):
    """A share of the bound, rounded up; a multiple where it is more than 100 %."""
    assert above_optimum(gap, lower_bound) == words


def test_the_certificate_and_the_finding_say_the_same():
    """Without sweeps the certificate's bound is the tighter one: the finding quotes it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SteelyardWarning)
        found = identify(
            humanoid(),
            humanoid_log(1),
            method="sequential",
            sweeps=0,
            processing=Processing(cutoff_hz=12.0, torque_filter="same", dead_band="tenth"),
            friction_width=0.0,
            ranges=False,
            n_resamples=0,
            threads=1,
        )
    assert found.fit is not None
    assert found.fit.distance is not None
    assert found.certificate is not None
    assert found.certificate.gap is not None
    (said,) = [one for one in found.findings if one.code in CODES]
    tightest = min(found.certificate.gap, found.fit.distance.gap)
    assert f"({tightest:.2g} in units of the noise)" in said.words
    assert found.certificate.value == pytest.approx(found.fit.distance.value, rel=1e-9)
