"""Limits as linear inequalities on coefficients."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard.excitation.extremes import check_limits
from steelyard.excitation.limits import MotionLimits
from steelyard.excitation.search.fourier_basis import FourierBasis


def limits_of(n_joints: int, rng: np.random.Generator) -> MotionLimits:
    lower = rng.uniform(-3.0, 2.0, n_joints)
    size = rng.uniform(0.3, 3.0, (5, n_joints))
    return MotionLimits(
        tuple(f"joint{k}" for k in range(n_joints)),
        lower,
        lower + size[0],
        size[1],
        size[2],
        5.0 * size[3],
        np.full(n_joints, np.inf),
    )


@pytest.mark.parametrize("n_harmonics", [1, 2, 3, 5, 8, 30])
def test_proof_accepts_every_motion_inside(n_harmonics: int) -> None:
    """Motions on the edge of the inequalities are proven within their limits, also single sines
    whose peaks are halfway between the points where limits are imposed.
    """
    rng = np.random.default_rng(n_harmonics)
    basis = FourierBasis(limits_of(4, rng), 7.0, n_harmonics)
    n_grid = basis.rows.shape[1] // 4
    assert basis.rows.shape[1] == 4 * n_grid
    motions = [rng.normal(size=(4, basis.n_coefficients)) for _ in range(20)]
    for phase in (0.0, 0.25, 0.5):
        # amplitudes of cos(L w (t - phase of a grid step)) for the highest harmonic L
        angle = 2.0 * np.pi * n_harmonics * phase / n_grid
        single = np.zeros((4, basis.n_coefficients))
        single[:, n_harmonics], single[:, -1] = np.sin(angle), -np.cos(angle)
        motions.append(single)
    for x in motions:
        edge = basis.inside(1e3 * x, 1.0 - 1e-9)
        np.testing.assert_allclose(basis.slack(edge).min(axis=1), 1e-9, atol=1e-12)
        checks = check_limits(basis.trajectory(edge).extremes(), basis.limits)
        assert [check for check in checks if not check.holds] == []
