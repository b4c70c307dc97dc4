"""Motions and measurements that users make: lists of numbers, and what does not fit."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard.errors import SignalError
from steelyard.signals.motion import Measurements, Motion

TIME, TABLE = [0.0, 0.1, 0.2], [[0.0, 1.0], [1, 2], [2, 3]]


def test_lists_become_arrays() -> None:
    """Lists are taken as tables of numbers; arrays of floats are kept as they are."""
    motion = Motion(TIME, TABLE, TABLE, TABLE)
    assert len(motion[:2]) == 2
    assert motion.q.dtype == float
    measured = Measurements(["a", "b"], TABLE)
    assert measured.channels == ("a", "b")
    assert measured.tau.shape == (3, 2)
    q = np.zeros((3, 2))
    assert Motion(np.zeros(3), q, q, q).q is q


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Motion(TIME, [[0.0], [1.0, 2.0]], TABLE, TABLE), "motion 'run': q is"),
        (lambda: Motion(TIME, TABLE, "fast", TABLE), "motion 'run': v is"),
        (lambda: Motion([TIME], TABLE, TABLE, TABLE), r"time has shape \(1, 3\)"),
        (lambda: Motion(TIME, TABLE[:2], TABLE, TABLE), "time has 3 samples"),
        (lambda: Measurements(("a", "b"), None), r"shape \(\) for 2"),
        (lambda: Measurements(("a", "b"), [["x"]]), "measurements: tau is"),
        (lambda: Measurements(("a", "a"), TABLE), "several columns of a; each channel has one"),
    ],
)
def test_what_does_not_fit_is_named(make, words: str) -> None:
    """Ragged lists, text, wrong shapes and channels that are given twice are refused."""
    with pytest.raises(SignalError, match=words):
        make()
