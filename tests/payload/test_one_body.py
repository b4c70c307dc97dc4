"""Physical least squares of one body from a triangular factor."""

import cvxpy
import numpy as np
import pytest

from steelyard.conic.settle import holds_exactly
from steelyard.errors import EstimationError
from steelyard.payload.body_rows import wrench_regressor
from steelyard.payload.one_body import fit_body, physical_block, sphere_of_water
from steelyard.regression.regression import triangle
from steelyard.robot.inertia import pseudo_inertia
from tests.helpers.frame_motions import free_motion, random_body


def factor_of(seed: int, noise: float = 1.0, thin: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """R (11, 10) and z (11,) of a random body on a random motion."""
    rng = np.random.default_rng([2, seed])
    phi = random_body(rng, rng.uniform(0.1, 5.0), 0.05 * thin)
    W = wrench_regressor(free_motion(seed, duration_s=2.0)).reshape(-1, 10)
    weight = np.tile(np.repeat([5.0, 100.0], 3), len(W) // 6)
    y = W @ phi + noise * rng.normal(size=len(W)) / weight
    factor = triangle(np.column_stack([W, y]) * weight[:, None])
    return factor[:, :-1], factor[:, -1]


def sdp_oracle(R: np.ndarray, z: np.ndarray) -> float:
    """The smallest |z - R phi|² of a physical body, by CVXPY."""
    x = cvxpy.Variable(10)
    scale = np.array([1.0] + 3 * [0.1] + 6 * [0.01])
    J = sum(x[i] * pseudo_inertia(unit * scale) for i, unit in enumerate(np.eye(10)))
    D = np.diag([10.0, 10.0, 10.0, 1.0])
    size = np.linalg.norm(z)
    squares = cvxpy.sum_squares((R * scale / size) @ x - z / size)
    problem = cvxpy.Problem(cvxpy.Minimize(squares), [D @ J @ D >> 0])
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return problem.value * size**2


def test_optimum_is_that_of_an_independent_formulation():
    """The sum of squares is the optimum of CVXPY's formulation, inside and at the boundary."""
    edges = 0
    for seed in range(12):
        R, z = factor_of(seed, noise=3.0, thin=1.0 if seed % 2 else 0.1)
        fit = fit_body(R, z)
        edges += fit.at_boundary
        assert fit.objective <= sdp_oracle(R, z) * (1.0 + 1e-6) + 1e-9
        assert fit.optimum_reached
    assert 2 <= edges <= 11


def test_both_solvers_find_the_same_body():
    """The manifold's result has the optimum of the semidefinite programme, and says so."""
    for seed in range(25):
        R, z = factor_of(seed, noise=3.0, thin=1.0 if seed % 2 else 0.1)
        by_sdp, by_manifold = fit_body(R, z), fit_body(R, z, "manifold")
        assert by_manifold.optimum_reached
        assert by_manifold.objective == pytest.approx(by_sdp.objective, rel=1e-6)
        assert holds_exactly(physical_block(), by_manifold.phi)
        np.testing.assert_allclose(by_manifold.phi, by_sdp.phi, atol=1e-4 * by_sdp.phi[0])
    with pytest.raises(EstimationError, match="no solver 'newton'"):
        fit_body(R, z, "newton")


def test_missed_optimum_is_told(monkeypatch):
    """A body that does not fit best is reported with its excess."""
    R, z = factor_of(1, noise=3.0)
    optimum = fit_body(R, z)

    class Early:
        theta = sphere_of_water(optimum.phi[0], optimum.body.com)
        stopped, iterations = "iterations", 3

    monkeypatch.setattr("steelyard.payload.one_body.fit_on_manifold", lambda *_, **__: Early)
    early = fit_body(R, z, "manifold")
    assert not early.optimum_reached
    assert early.excess == pytest.approx(early.objective / optimum.objective - 1.0, rel=1e-6)


def test_digits_are_physical_in_exact_arithmetic():
    """Every body is physical without rounding, also where least squares is not."""
    for seed in range(60):
        R, z = factor_of(seed, noise=30.0, thin=0.3)
        fit = fit_body(R, z)
        assert holds_exactly(physical_block(), fit.phi)
        assert fit.body.mass == fit.phi[0]


def test_noise_free_body_comes_back():
    """Without noise the body is that of the data to 1e-9."""
    for seed in range(5):
        R, z = factor_of(seed, noise=0.0)
        true = np.linalg.solve(R[:10], z[:10])
        np.testing.assert_allclose(fit_body(R, z).phi, true, rtol=1e-6, atol=1e-9)


def test_physical_least_squares_is_kept():
    """Where unconstrained least squares is physical, it is the result to 15 digits."""
    R, z = factor_of(1, noise=0.1)
    fit = fit_body(R, z)
    assert not fit.at_boundary
    np.testing.assert_allclose(fit.phi, np.linalg.lstsq(R, z, rcond=None)[0], rtol=1e-9)


def test_undetermined_inertia_is_that_of_a_sphere():
    """Without information about the inertia, it is that of a sphere of water at the centre."""
    R, z = factor_of(1, noise=0.1)
    R = R.copy()
    R[:, 4:] = 0.0
    phi = fit_body(R, z).phi
    expected = sphere_of_water(phi[0], phi[1:4] / phi[0])
    np.testing.assert_allclose(phi, expected, atol=1e-6 * phi[0])


def test_no_data_and_negative_mass_give_a_body():
    """Zero wrench gives a body without mass; data of a negative mass end at the boundary."""
    R, z = factor_of(1, noise=0.0)
    assert fit_body(R, 0.0 * z).phi[0] == pytest.approx(0.0, abs=1e-9)
    negative = fit_body(R, -z)
    assert negative.at_boundary
    assert negative.free[0] < 0.0 <= negative.phi[0]
    assert negative.objective <= sdp_oracle(R, -z) * (1.0 + 1e-6)


def test_wrong_shapes_and_numbers_are_refused():
    """A factor of another shape, or with NaN, is refused."""
    R, z = factor_of(1)
    with pytest.raises(EstimationError, match="must be"):
        fit_body(R[:, :9], z)
    with pytest.raises(EstimationError, match="not finite"):
        fit_body(R, z * np.nan)
