"""Errors of base force, base torque and joints, each in its own unit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from seeds import every

from steelyard.model.mechanism import BASE_WRENCH
from steelyard.model.row_groups import balanced_error, errors_by_group, group_words


@dataclass(frozen=True)
class Row:
    name: str
    n_rows: int
    rms: float
    torque_rms: float


def rows_of(tau: np.ndarray, error: np.ndarray) -> list[Row]:
    names = (*BASE_WRENCH, "hip", "knee")
    sizes = [np.sqrt(np.mean(x**2, axis=0)) for x in (error, tau)]
    return [Row(name, len(tau), *pair) for name, *pair in zip(names, *sizes, strict=True)]


@every("seed", range(5))
def test_every_group_is_a_share_of_itself(seed):
    """Forces in kN leave the errors as they are; a norm over all rows would not."""
    rng = np.random.default_rng(seed)
    tau, error = rng.normal(size=(50, 8)), 0.1 * rng.normal(size=(50, 8))
    rows = rows_of(tau, error)
    for name, part in (("base force", slice(0, 3)), ("base torque", slice(3, 6))):
        expected = np.linalg.norm(error[:, part]) / np.linalg.norm(tau[:, part])
        assert errors_by_group(rows)[name] == pytest.approx(expected)
    scaled = np.array([1e-3] * 3 + [1.0] * 5)
    again = rows_of(tau * scaled, error * scaled)
    assert errors_by_group(again) == pytest.approx(errors_by_group(rows))
    assert balanced_error(again) == pytest.approx(balanced_error(rows))
    assert "base force" in group_words(rows)


def test_a_fixed_base_has_one_group():
    """Its balanced error is the relative error, and there is nothing to tell apart."""
    rows = [Row("hip", 10, 0.1, 1.0), Row("knee", 30, 0.2, 2.0), Row("toe", 0, np.nan, np.nan)]
    expected = np.sqrt((10 * 0.01 + 30 * 0.04) / (10 + 30 * 4.0))
    assert balanced_error(rows) == pytest.approx(expected)
    assert group_words(rows) == ""
