"""Feasibility of base parameters: Sousa and Cortesão (2014), Table 1, and random robots."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from paper_robots import BETA_T1, BETA_T2, CORRECTED_T2
from scipy.linalg import sqrtm
from seeds import every

from steelyard import Robot
from steelyard.certificates.base_correction import proven_correction
from steelyard.certificates.base_feasibility import base_feasibility, correct_base
from steelyard.conic.exact_duals import exact_adjoint, exact_pairing
from steelyard.knowledge.constraint_blocks import blocks
from steelyard.knowledge.constraints import Constraints
from steelyard.model.base_map import base_map
from steelyard.model.model import Model
from steelyard.model.typical_sizes import parameter_scale
from steelyard.robot.inertia import pseudo_inertia
from steelyard.testing.random_robots import random_robot


@pytest.fixture(scope="module")
def three_links():
    """Model and base map of the three-link robot of Table 1."""
    rows = [{}, {"alpha": -np.pi / 2}, {"a": 1.0}]
    model = Model(Robot.from_dh(rows, convention="modified"), ())
    return model, base_map(model)


def answer(three_links, beta, consistency):
    """Verdict on beta."""
    model, base = three_links
    given = blocks(model, Constraints(consistency=consistency, second_moment=None))
    return base_feasibility(base, beta, given, parameter_scale(model)), given, base


def check_proof(base, given, beta, proof):
    """Kᵀ y = sum A* z, z in the dual cones and the value negative, in plain rationals."""
    left = [Fraction(0)] * base.K.shape[1]
    value = sum((y * Fraction(float(b)) for y, b in zip(proof.y, beta, strict=True)), Fraction(0))
    for block, dual in zip(given, proof.duals, strict=True):
        for column, paired in zip(block.columns, exact_adjoint(block, dual), strict=True):
            left[column] += paired
        value += exact_pairing(block, dual, [Fraction(float(b)) for b in block.b])
        matrix = np.zeros((block.size, block.size))
        at = 0
        for j in range(block.size):
            for i in range(j + 1):
                matrix[i, j] = matrix[j, i] = float(dual[at])
                at += 1
        assert np.linalg.eigvalsh(matrix)[0] > -1e-12 * max(1.0, np.abs(matrix).max())
    right = [
        sum((Fraction(float(base.K[r, c])) * proof.y[r] for r in range(base.rank)), Fraction(0))
        for c in range(base.K.shape[1])
    ]
    assert left == right
    assert value == proof.value < 0


def test_table_1_with_the_papers_condition(three_links):
    """beta_t1 is feasible with an exact witness; beta_t2 is not, with an exact proof."""
    found, given, base = answer(three_links, BETA_T1, "sousa")
    assert found.verdict == "feasible"
    for row in range(base.rank):
        image = sum(
            (Fraction(float(base.K[row, c])) * found.witness[c] for c in range(30)), Fraction(0)
        )
        assert image == Fraction(float(BETA_T1[row]))
    assert all(block.margin(np.array(found.witness, dtype=float)) >= 0 for block in given)
    found, given, base = answer(three_links, BETA_T2, "sousa")
    assert found.verdict == "infeasible"
    check_proof(base, given, BETA_T2, found.proof)


def test_table_1_correction(three_links):
    """The correction is the published column, at a distance of 1.65e-3."""
    model, base = three_links
    given = blocks(model, Constraints(consistency="sousa", second_moment=None))
    corrected = correct_base(base, BETA_T2, given, parameter_scale(model))
    assert np.allclose(corrected.beta, CORRECTED_T2, atol=6e-7, rtol=0)
    assert corrected.distance == pytest.approx(1.65e-3, abs=5e-6)


def test_table_1_with_full_consistency(three_links):
    """With full consistency even beta_t1, feasible by the 6×6 condition, is infeasible."""
    model, base = three_links
    for beta, distance in ((BETA_T1, 1.9e-4), (BETA_T2, 5.6e-2)):
        found, given, _ = answer(three_links, beta, "full")
        assert found.verdict == "infeasible"
        check_proof(base, given, beta, found.proof)
        corrected = correct_base(base, beta, given, parameter_scale(model))
        assert corrected.distance == pytest.approx(distance, rel=0.03)


@every("seed", range(3))
def test_a_correction_is_the_closest_in_the_metric_of_the_covariance(three_links, seed):
    """(beta - given)ᵀ C⁻¹ (beta - given), with a pull to given values in typical sizes, is the
    smallest of all robots', as CVXPY finds it; the covariance is far from diagonal, so that no
    other root of it gives the same.
    """
    cvxpy = pytest.importorskip("cvxpy")
    model, base = three_links
    rng = np.random.default_rng(seed)
    scale = parameter_scale(model) * rng.uniform(0.5, 2.0, size=len(model.columns))
    sizes = np.max(np.abs(base.K * scale), axis=1)
    spread = sizes[:, None] * np.tril(rng.normal(size=(base.rank, base.rank)))
    covariance = spread @ spread.T + 1e-2 * np.diag(sizes**2)
    masses = {body.name: (0.1, 20.0) for body in model.mechanism.bodies}
    given = blocks(model, Constraints(second_moment=None, mass=masses))
    pull, towards = 1e-2, model.theta({}) + 0.5 * scale
    corrected = correct_base(
        base, BETA_T2, given, scale, covariance=covariance, towards=towards, pull=pull
    )

    theta = cvxpy.Variable(len(scale))
    units = [pseudo_inertia(unit) for unit in np.eye(10)]
    bodies = [
        sum(scale[first + j] * theta[first + j] * units[j] for j in range(10)) >> 0
        for first in model.first_column_of_body
    ]
    for first in model.first_column_of_body:
        mass = scale[first] * theta[first]
        bodies += [mass >= 0.1, mass <= 20.0]
    away = (base.K * scale) @ theta - BETA_T2
    square = cvxpy.sum_squares(np.linalg.inv(sqrtm(covariance).real) @ away)
    drawn = cvxpy.sum_squares(theta - towards / scale)
    problem = cvxpy.Problem(cvxpy.Minimize(square + pull * drawn), bodies)
    problem.solve(solver=cvxpy.CLARABEL)
    moved = corrected.beta - BETA_T2
    assert corrected.distance**2 == pytest.approx(moved @ np.linalg.solve(covariance, moved))
    assert corrected.distance**2 == pytest.approx(square.value, rel=1e-4)
    determined = np.linalg.pinv(base.K * scale) @ (base.K * scale)
    open_part = (np.eye(len(scale)) - determined) @ (corrected.theta / scale - theta.value)
    assert np.max(np.abs(open_part)) < 1e-3
    assert np.allclose(corrected.beta, (base.K * scale) @ theta.value, atol=1e-4, rtol=0)


@every("seed", range(20))
def test_true_robots_are_feasible_and_broken_ones_are_not(seed):
    """Base parameters of a physical robot have a witness; with a negative friction coefficient
    they have duals that prove infeasibility.
    """
    rng = np.random.default_rng(seed)
    model = Model(random_robot(rng, int(rng.integers(1, 5))))
    base = base_map(model)
    theta = model.prior_theta()
    terms = [column.kind != "rigid_body" for column in model.columns]
    theta[terms] = rng.uniform(0.1, 1.0, size=sum(terms))
    given = blocks(model, Constraints())
    scale = parameter_scale(model)
    found = base_feasibility(base, base.K @ theta, given, scale)
    assert found.verdict == "feasible"
    broken = theta.copy()
    broken[model.column_names.index("joint_1.fv")] = -0.5
    found = base_feasibility(base, base.K @ broken, given, scale)
    assert found.verdict == "infeasible"
    assert found.proof.value < 0


def test_a_fixed_value_that_contradicts_beta_is_infeasible_not_a_failure():
    """Equations that contradict beta make it infeasible."""
    rng = np.random.default_rng(0)
    model = Model(random_robot(rng, 2, chain=True, fixed=0.0, prismatic=0.0))
    base = base_map(model)
    theta = model.prior_theta()
    given = blocks(model, Constraints(fixed={"joint_1.fv": 2.0}))
    found = base_feasibility(base, base.K @ theta, given, parameter_scale(model))
    assert found.verdict == "infeasible"


@pytest.mark.parametrize("seed", [3, 5])
def test_a_stricter_margin_is_never_closer(seed):
    """Also where the closest parameters need bodies without limit, which a solver finds roughly:
    distances grow with the margin, exactly, and every answer has an exact witness.
    """
    rng = np.random.default_rng(seed)
    model = Model(random_robot(rng, int(rng.integers(1, 5))))
    base, scale = base_map(model), parameter_scale(model)
    size = np.max(np.abs(base.K * scale), axis=1)
    away = rng.choice([0.1, 0.5]) * size * rng.normal(size=base.rank)
    beta = base.K @ model.prior_theta() + away
    margins = [0.0, 1e-8, 1e-6, 1e-4]
    sets = {
        m: blocks(model, Constraints(consistency="sousa", second_moment=None, margin=m))
        for m in margins
    }
    found = [
        proven_correction(
            base, beta, sets[m], scale, stricter=[sets[other] for other in margins if other > m]
        )
        for m in margins
    ]
    distances = [one.distance for one in found]
    assert distances == sorted(distances)
    for margin, one in zip(margins, found, strict=True):
        witness = np.array([float(x) for x in one.witness])
        assert base_feasibility(base, one.beta, sets[margin], scale, near=witness).verdict == (
            "feasible"
        )
