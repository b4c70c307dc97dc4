"""Bodies by principal axes: the map and its inverse, the box and the point masses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from steelyard.errors import ModelError
from steelyard.robot.inertia import from_com
from steelyard.robot.principal_body import (
    PrincipalBody,
    equivalent_box,
    point_masses,
    principal_body,
)


def random_body(rng: np.random.Generator) -> PrincipalBody:
    """A body with repeated or zero second moments now and then."""
    L = rng.uniform(1e-4, 1e-1, 3) * rng.choice([0.0, 1.0], 3, p=[0.2, 0.8])
    if rng.random() < 0.2:
        L[1] = L[0]
    Q = Rotation.random(random_state=rng).as_matrix()
    return PrincipalBody(float(rng.uniform(0.1, 9.0)), rng.normal(0.0, 0.2, 3), Q, L)


def test_the_inverse_map_gives_the_body_back() -> None:
    """phi of the principal form of phi is phi, for interior bodies and for flat ones and rods."""
    rng = np.random.default_rng(1)
    for _ in range(300):
        phi = random_body(rng).phi
        back = principal_body(phi)
        np.testing.assert_allclose(back.phi, phi, rtol=0, atol=1e-12)
        np.testing.assert_allclose(back.rotation @ back.rotation.T, np.eye(3), atol=1e-12)
        assert np.linalg.det(back.rotation) > 0


def test_point_masses_and_box_have_the_inertial_parameters() -> None:
    """Summed over points, and integrated over the box by Gauss points, as the densities define."""
    rng = np.random.default_rng(2)
    nodes, weights = np.polynomial.legendre.leggauss(3)
    grid = np.stack(np.meshgrid(nodes, nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 3)
    share = np.prod(np.stack(np.meshgrid(weights, weights, weights, indexing="ij"), -1), -1).ravel()
    for _ in range(50):
        body = random_body(rng)
        masses, places = point_masses(body)
        box = equivalent_box(body)
        inside = box.centre + (grid * box.half_sizes) @ box.rotation.T
        for m, r in ((masses, places), (body.mass * share / 8.0, inside)):
            summed = sum(from_com(mk, rk, np.zeros((3, 3))) for mk, rk in zip(m, r, strict=True))
            np.testing.assert_allclose(summed, body.phi, rtol=0, atol=1e-12)
        if box.density is not None:
            assert box.density * 8 * np.prod(box.half_sizes) == pytest.approx(body.mass)


def test_massless_and_impossible_bodies() -> None:
    """Ten zeros are a body without mass; a body that breaks the triangle inequality is refused."""
    empty = principal_body(np.zeros(10))
    assert empty.mass == 0.0
    assert not empty.phi.any()
    with pytest.raises(ModelError, match="gripper"):
        principal_body(from_com(1.0, np.zeros(3), np.diag([1.0, 1.0, 3.0])), "gripper")
