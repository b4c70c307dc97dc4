"""The nearest physical body, against CVXPY and against invariances."""

from __future__ import annotations

import re

import numpy as np
import pytest

from steelyard.errors import ModelError
from steelyard.robot.inertia import is_physical, violations_about_com
from steelyard.robot.nearest_body import FLOOR, nearest_inertia, nearest_physical


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    Q, R = np.linalg.qr(rng.normal(size=(3, 3)))
    Q = Q * np.sign(np.diag(R))
    return Q if np.linalg.det(Q) > 0 else -Q


def broken_tensor(rng: np.random.Generator) -> np.ndarray:
    """A symmetric tensor of any size that is not physical: one to three rules are violated."""
    while True:
        moments = rng.normal(size=3) + rng.choice([0.0, 1.0, 3.0])
        Q = random_rotation(rng)
        tensor = 10.0 ** rng.uniform(-9, 2) * (Q * moments) @ Q.T
        tensor = 0.5 * (tensor + tensor.T)
        if violations_about_com(1.0, tensor):
            return tensor


def second_moment(inertia: np.ndarray) -> np.ndarray:
    return 0.5 * np.trace(inertia) * np.eye(3) - inertia


def test_nearest_is_that_of_cvxpy():
    """On 200 unphysical tensors the closed form is the semidefinite programme's optimum."""
    cp = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(1)
    stated = cp.Parameter((3, 3), symmetric=True)
    floor = cp.Parameter(nonneg=True)
    X = cp.Variable((3, 3), symmetric=True)
    inside = cp.trace(X) / 2 * np.eye(3) - X - floor * np.eye(3) >> 0
    problem = cp.Problem(cp.Minimize(cp.sum_squares(X - stated)), [inside])
    for k in range(200):
        tensor = broken_tensor(rng)
        share = (0.0, FLOOR, 1e-2)[k % 3]
        ours = nearest_inertia(tensor, share)
        size = np.abs(tensor).max()
        stated.value = tensor / size
        floor.value = share * np.abs(np.linalg.eigvalsh(tensor / size)).sum()
        problem.solve(solver=cp.CLARABEL)
        np.testing.assert_allclose(ours / size, X.value, atol=2e-6)
        assert np.linalg.norm(ours - tensor) <= size * (np.sqrt(problem.value) + 1e-7)


def test_nearest_meets_the_conditions_of_optimality():
    """The change is normal to the set: a positive semidefinite multiplier, zero off the floor.

    With Sigma(X) = ½ tr(X) 1 - X, its adjoint D(Z) = ½ tr(Z) 1 - Z and X - I = D(Z), the nearest
    X has Z ⪰ 0 and Z (Sigma(X) - f 1) = 0. D is its own adjoint, with the inverse
    Z = tr(D) 1 - D.
    """
    rng = np.random.default_rng(2)
    for _ in range(300):
        tensor = broken_tensor(rng)
        size = np.linalg.norm(tensor)
        floor = FLOOR * np.abs(np.linalg.eigvalsh(tensor)).sum()
        X = nearest_inertia(tensor)
        change = (X - tensor) / size
        Z = np.trace(change) * np.eye(3) - change
        slack = (second_moment(X) - floor * np.eye(3)) / size
        assert np.linalg.eigvalsh(Z)[0] >= -1e-13
        assert np.linalg.eigvalsh(slack)[0] >= -1e-13
        assert np.abs(Z @ slack).max() <= 1e-13


def test_nearest_turns_with_the_axes_and_scales_with_the_tensor():
    """Rotating or scaling the stated tensor rotates or scales its nearest one."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        tensor = broken_tensor(rng)
        size = np.abs(tensor).max()
        Q, scale = random_rotation(rng), 10.0 ** rng.uniform(-6, 3)
        turned = nearest_inertia(scale * Q @ tensor @ Q.T)
        expected = scale * Q @ nearest_inertia(tensor) @ Q.T
        np.testing.assert_allclose(turned, expected, atol=1e-13 * scale * size)


def test_repairs_are_strictly_physical_and_keep_mass_and_centre():
    """Mass and centre of mass are kept; every principal second moment is at least the floor."""
    rng = np.random.default_rng(4)
    for _ in range(200):
        tensor, com = broken_tensor(rng), rng.normal(size=3)
        repair = nearest_physical(0.7, com, tensor)
        assert repair.changed
        assert repair.mass == 0.7
        assert np.array_equal(repair.com, com)
        floor = FLOOR * np.abs(np.linalg.eigvalsh(tensor)).sum()
        assert np.linalg.eigvalsh(second_moment(repair.inertia_com))[0] >= floor * (1 - 1e-8)
        assert repair.distance == pytest.approx(np.linalg.norm(repair.inertia_com - tensor))
        assert repair.relative == pytest.approx(repair.distance / np.linalg.norm(tensor))
        assert not violations_about_com(repair.mass, repair.inertia_com)


def test_physical_bodies_are_unchanged():
    """Solid, flat, thin, point and massless bodies are returned unchanged."""
    bodies = [
        (1.0, np.diag([1.0, 1.2, 1.5])),
        (1.0, np.diag([0.1, 0.7, 0.8])),
        (1.0, np.diag([1.0, 1.0, 0.0])),
        (1.0, np.zeros((3, 3))),
        (0.0, np.zeros((3, 3))),
    ]
    for mass, inertia in bodies:
        repair = nearest_physical(mass, [0.1, 0.2, 0.3], inertia)
        assert not repair.changed
        assert np.array_equal(repair.inertia_com, inertia)
        assert is_physical(repair.phi)


def test_a_diagonal_tensor_stays_diagonal_and_a_known_case():
    """Moments 1, 1, 5 become 2, 2, 4, computed by hand: the smallest change that is enough."""
    # s0 = (2.5, 2.5, -1.5): d = 1.5, two free, each 2.5 - 0.5 = 2; moments are 2, 2, 4.
    np.testing.assert_allclose(
        nearest_inertia(np.diag([1.0, 1.0, 5.0]), 0.0), np.diag([2.0, 2.0, 4.0]), atol=1e-15
    )
    repaired = nearest_inertia(np.diag([1.0, 1.0, 5.0]))
    assert np.count_nonzero(repaired - np.diag(np.diag(repaired))) == 0
    # negative definite: the nearest body is a point mass, but for the floor
    np.testing.assert_allclose(nearest_inertia(-np.eye(3), 0.0), np.zeros((3, 3)), atol=1e-15)


@pytest.mark.parametrize(
    ("mass", "inertia", "words"),
    [
        (-1.0, np.eye(3), "link 'foot' has a negative mass, -1 kg.*state its mass"),
        (-1.0, np.zeros((3, 3)), "negative mass"),
        (0.0, 8e-7 * np.eye(3), r"'foot' has no mass but an inertia of up to 8e-07.*to zero"),
        (np.nan, np.eye(3), "not finite"),
        (1.0, np.full((3, 3), np.inf), "not finite"),
        (1.0, np.eye(2), r"\(2, 2\)"),
        (1.0, np.triu(np.ones((3, 3))), "not symmetric"),
    ],
)
def test_bodies_without_a_usable_mass_are_refused(mass, inertia, words):
    """A mass that is not positive, and numbers that are not finite, are refused by link name."""
    with pytest.raises(ModelError) as caught:
        nearest_physical(mass, np.zeros(3), inertia, name="foot")
    assert re.search(words, str(caught.value))
