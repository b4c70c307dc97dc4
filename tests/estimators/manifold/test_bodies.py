"""The compiled formulas of one body against finite differences and the definition of J."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from seeds import every

from steelyard.estimators.manifold import _bodies
from steelyard.robot.inertia import from_com, from_pseudo_inertia, pseudo_inertia
from steelyard.testing.random_robots import random_rotation

KERNELS = Path(_bodies.__file__).parent


def random_state(rng, n_zero=0):
    """Mass, centre, axes and second moments, the first n_zero of them zero."""
    L = rng.uniform(0.1, 1.0, size=3)
    L[:n_zero] = 0.0
    return rng.uniform(0.5, 2.0), rng.normal(size=3), random_rotation(rng), L


def phi_of(m, c, Q, L):
    """phi (10,) by the public formula."""
    return from_com(m, c, Q @ np.diag(L.sum() - L) @ Q.T)


@every("seed", range(6))
def test_tangents_are_derivatives_of_the_retraction(seed):
    """Central differences of phi along each entry of X that the body may move in."""
    rng = np.random.default_rng(seed)
    m, c, Q, L = random_state(rng, seed % 3)
    D = np.empty((10, 10))
    _bodies.tangents(c, Q, D)

    def moved(X):
        c2, Q2, L2 = c.copy(), Q.copy(), L.copy()
        mass = _bodies.retract(m, c2, Q2, L2, X, 1.0, 1e-10)
        assert np.allclose(Q2.T @ Q2, np.eye(3), atol=1e-14)
        assert np.linalg.det(Q2) > 0.0
        assert np.count_nonzero(L2 == 0.0) == seed % 3
        return phi_of(mass, c2, Q2, L2)

    h = 1e-5
    for e, (i, j) in enumerate(_bodies.PAIRS):
        if i < 3 and j < 3 and L[i] == 0.0 and L[j] == 0.0:
            continue
        X = np.zeros(10)
        X[e] = h
        assert (moved(X) - moved(-X)) / (2 * h) == pytest.approx(D[e], abs=1e-8)


def test_the_dual_matrix_pairs_with_the_pseudo_inertia():
    """<Z, J(phi)> = G · phi for any phi."""
    rng = np.random.default_rng(1)
    G, phi, Z = rng.normal(size=10), rng.normal(size=10), np.empty((4, 4))
    _bodies.dual(G, Z)
    assert np.sum(Z * pseudo_inertia(phi)) == pytest.approx(G @ phi)


def test_a_step_beyond_the_boundary_ends_on_it():
    """A step that would make a second moment negative leaves it at zero."""
    rng = np.random.default_rng(2)
    m, c, Q, L = random_state(rng)
    X = np.zeros(10)
    X[0] = -2.0 * L[0]
    mass = _bodies.retract(m, c, Q, L, X, 1.0, 1e-10)
    assert mass == pytest.approx(m)
    assert np.count_nonzero(L == 0.0) == 1


def test_an_added_point_adds_its_pseudo_inertia():
    """J + t v vᵀ."""
    rng = np.random.default_rng(3)
    m, c, Q, L = random_state(rng, 1)
    v = rng.normal(size=4)
    J = pseudo_inertia(phi_of(m, c, Q, L)) + 0.7 * np.outer(v, v)
    mass = _bodies.add_point(m, c, Q, L, v, 0.7)
    assert phi_of(mass, c, Q, L) == pytest.approx(from_pseudo_inertia(J))


def test_eigenvectors_are_numpys():
    """Jacobi's method against LAPACK, to rounding."""
    rng = np.random.default_rng(4)
    M = rng.normal(size=(4, 4))
    M = M + M.T
    A, V = M.copy(), np.empty((4, 4))
    _bodies.eigen(A, V)
    assert np.sort(np.diag(A)) == pytest.approx(np.linalg.eigvalsh(M))
    assert V @ np.diag(np.diag(A)) @ V.T == pytest.approx(M)


def test_compiled_files_name_the_versions_of_those_that_they_call():
    """Numba's cache on disk looks at one file only: the others' digests make it look again."""
    streams = KERNELS.parents[1] / "payload"
    uses = (
        (KERNELS, "_added_mass", ("_bodies", "_linear")),
        (KERNELS, "_moves", ("_bodies", "_linear")),
        (streams, "_stream_loops", ("_stream_kinematics",)),
        (streams, "_stream_calls", ("_stream_kinematics", "_stream_loops")),
    )
    for folder, name, called in uses:
        whole = b"".join((folder / f"{one}.py").read_bytes() for one in called)
        digest = hashlib.sha256(whole).hexdigest()[:12]
        text = (folder / f"{name}.py").read_text(encoding="utf-8")
        assert f'CALLED = "{digest}"' in text, f'write CALLED = "{digest}" into {name}.py'
