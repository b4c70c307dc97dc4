"""Orientations as files state them, against SciPy's rotations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

from steelyard.errors import SignalError
from steelyard.signals.orientation import (
    product,
    quaternions_of_matrices,
    quaternions_of_rpy,
    quaternions_of_vectors,
    rotations_of,
    slerp,
    unit_quaternions,
    without_flips,
)


@pytest.fixture(scope="module")
def turns() -> Rotation:
    """Random rotations, a half turn and the identity among them."""
    half = Rotation.from_rotvec([[np.pi, 0, 0], [0, 0, np.pi], [0, 0, 0]])
    return Rotation.concatenate([Rotation.random(200, random_state=0), half])


def same(q: np.ndarray, turns: Rotation, atol: float = 1e-12) -> None:
    np.testing.assert_allclose(rotations_of(q), turns.as_matrix(), atol=atol)
    np.testing.assert_allclose(np.linalg.norm(q, axis=1), 1.0, atol=1e-14)


def test_every_form_gives_the_same_rotation(turns):
    """Quaternions in both orders, matrices, fixed-axis angles and rotation vectors."""
    q = turns.as_quat()
    same(unit_quaternions(q), turns)
    same(unit_quaternions(np.roll(q, 1, axis=1), "w-first"), turns)
    same(quaternions_of_matrices(turns.as_matrix()), turns)
    same(quaternions_of_matrices(turns.as_matrix().reshape(-1, 9)), turns)
    same(quaternions_of_vectors(turns.as_rotvec()), turns)
    angles = np.random.default_rng(1).uniform(-3, 3, size=(100, 3))
    same(quaternions_of_rpy(angles), Rotation.from_euler("xyz", angles))


def test_products_are_rotations_one_after_the_other():
    """First the second factor, then the first."""
    one, two = (Rotation.random(50, random_state=seed) for seed in (1, 2))
    same(product(one.as_quat(), two.as_quat()), one * two)


def test_slightly_wrong_norms_are_mended_and_others_refused(turns):
    """Within 1 %; the message has row and norm."""
    q = turns.as_quat() * 1.009
    same(unit_quaternions(q), turns)
    q[7] *= 1.1
    with pytest.raises(SignalError, match=r"row 8 has norm 1.11 \(1 such rows of 203\).*right col"):
        unit_quaternions(q)
    with pytest.raises(SignalError, match="row 1 has norm 0 "):
        unit_quaternions(np.zeros((3, 4)))
    with pytest.raises(SignalError, match="norm inf"):
        unit_quaternions(np.full((2, 4), 1e300))


def test_matrices_that_are_no_rotations_are_refused(turns):
    """Scaled, mirrored; slightly rounded ones become the nearest rotation."""
    R = turns.as_matrix()
    same(quaternions_of_matrices(R.round(4)), turns, atol=1e-4)
    with pytest.raises(SignalError, match="RᵀR"):
        quaternions_of_matrices(1.1 * R)
    with pytest.raises(SignalError, match="RᵀR"):
        quaternions_of_matrices(1e200 * R)
    with pytest.raises(SignalError, match="mirrored"):
        quaternions_of_matrices(R * [1.0, 1.0, -1.0])


def test_missing_rows_stay_missing():
    """A row counts only with all its numbers."""
    q = np.tile([0.0, 0.0, 0.0, 1.0], (4, 1))
    q[1, 2], q[2, 0] = np.nan, np.inf
    assert np.isnan(unit_quaternions(q)).all(axis=1).tolist() == [False, True, True, False]
    R = np.tile(np.eye(3).ravel(), (3, 1))
    R[0, 0] = np.nan
    assert np.isnan(quaternions_of_matrices(R)).all(axis=1).tolist() == [True, False, False]
    assert np.isnan(quaternions_of_matrices(np.full((2, 9), np.nan))).all()


def test_signs_do_not_jump():
    """A turn of many revolutions, with random signs and missing rows."""
    rng = np.random.default_rng(0)
    angle = np.linspace(0, 20, 400)
    q = Rotation.from_rotvec(angle[:, None] * [0.6, 0.0, 0.8]).as_quat()
    q *= rng.choice([-1.0, 1.0], size=400)[:, None]
    q[50:53] = np.nan
    smooth = without_flips(q)
    step = np.linalg.norm(np.diff(smooth[np.isfinite(smooth[:, 0])], axis=0), axis=1)
    assert step.max() < 0.11
    np.testing.assert_array_equal(np.abs(smooth), np.abs(q))


def test_slerp_is_that_of_scipy():
    """Between random rotations, at stamps, and where two are the same."""
    rng = np.random.default_rng(3)
    time = np.sort(rng.uniform(0, 10, 30))
    turns = Rotation.random(30, random_state=4)
    at = np.concatenate([time, rng.uniform(time[0], time[-1], 500)])
    expected = Slerp(time, turns)(at)
    same(slerp(time, turns.as_quat(), at), expected)
    still = np.tile(turns.as_quat()[:1], (30, 1))
    same(slerp(time, still, time), Rotation.from_quat(still))


def test_an_order_that_is_none_is_refused():
    """With those that are."""
    with pytest.raises(SignalError, match=r"'x-first' .* or 'w-first'"):
        unit_quaternions(np.eye(4), "wxyz")


def test_shapes_are_checked():
    """Rows and columns exchanged."""
    with pytest.raises(SignalError, match=r"shape \(4, 7\); \(n_samples, 4\) is needed"):
        unit_quaternions(np.ones((4, 7)))
