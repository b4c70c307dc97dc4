"""The WAM arm of Sousa and Cortesão (2014): our estimates against theirs, on their motion."""

from __future__ import annotations

import numpy as np
import pytest
from paper_robots import wam
from wam_paper import OMEGA, Q0, A, B, known, table_6

from steelyard.certificates.base_feasibility import base_feasibility, correct_base
from steelyard.certificates.verify import verify
from steelyard.certificates.writing import certificate_of
from steelyard.conic.settle import failing
from steelyard.estimators.feasible import fit_feasible
from steelyard.excitation.motions.fourier import FourierTrajectory
from steelyard.knowledge.constraint_blocks import blocks
from steelyard.knowledge.constraints import Constraints
from steelyard.model.base_map import base_map
from steelyard.model.kernels import mass_matrix, torque, torque_regressor
from steelyard.model.model import Model
from steelyard.model.typical_sizes import parameter_scale
from steelyard.regression.compress import compress
from steelyard.signals.motion import Measurements


@pytest.fixture(scope="module")
def world():
    """Model, motion, published base parameters, and the regression of the OLS torques."""
    model = Model(wam())
    base = base_map(model)
    published = {"ols": table_6(base, 1), "boxes": table_6(base, 3)}
    plan = FourierTrajectory(model.robot.joint_names, OMEGA, A, B, Q0)
    motion = plan.evaluate(np.arange(0.0, 20.0, 0.01))
    W = torque_regressor(model, motion.q, motion.v, motion.a)[:, :, list(base.independent)]
    tau = W @ published["ols"]
    regression = compress(model, motion, Measurements(model.channels, tau))
    return model, base, motion, W, published, regression


def distance(W, one, other):
    """Relative norm of the difference in torque over the motion."""
    return np.linalg.norm(W @ (one - other)) / np.linalg.norm(W @ other)


def test_condition_number_of_table_5(world):
    """The motion of Table 5 gives a condition number of 97 to 98."""
    W = world[3]
    assert 96.5 <= np.linalg.cond(W.reshape(-1, 69)) <= 99.5


def test_feasible_estimates_order_as_in_table_8(world):
    """Our 6×6 estimate with boxes is the published one to 0.25 %, all constraints hold exactly,
    and errors grow from OLS over the feasible and the boxed estimate to the correction.
    """
    model, base, _, W, published, regression = world
    ols = published["ols"]
    plain = fit_feasible(model, regression, known(boxes=False), weighting="ols", pull=1e-6)
    boxed = fit_feasible(model, regression, known(boxes=True), weighting="ols", pull=1e-6)
    for fit in (plain, boxed):
        assert failing(fit.blocks, fit.theta) == ()
    given = blocks(model, known(boxes=False))
    corrected = correct_base(base, ols, given, parameter_scale(model))
    errors = [distance(W, beta, ols) for beta in (ols, plain.beta, boxed.beta, corrected.beta)]
    assert errors[0] < errors[1] < errors[2] < errors[3]
    assert distance(W, boxed.beta, published["boxes"]) <= 0.0025


def test_mass_matrix_is_positive_definite_only_with_the_feasible_estimate(world):
    """At 10,000 random positions it is; with the OLS values it is not."""
    model, base, *_, published, regression = world
    boxed = fit_feasible(model, regression, known(boxes=True), weighting="ols", pull=1e-6)
    q = np.random.default_rng(0).uniform(-np.pi, np.pi, size=(10_000, 7))
    assert np.linalg.eigvalsh(mass_matrix(model, boxed.theta, q)).min() > 0.0
    theta = np.zeros(len(model.columns))
    theta[list(base.independent)] = published["ols"]
    assert np.linalg.eigvalsh(mass_matrix(model, theta, q)).min() < 0.0


def test_published_least_squares_is_proven_infeasible(world):
    """The published OLS solution is infeasible; the published feasible one is feasible by the
    paper's condition, up to its printed digits.
    """
    model, base, _, _, published, _ = world
    scale = parameter_scale(model)
    given = blocks(model, Constraints(consistency="sousa"))
    assert base_feasibility(base, published["ols"], given, scale).verdict == "infeasible"
    corrected = correct_base(base, published["boxes"], given, scale)
    assert corrected.distance < 2e-3


@pytest.fixture(scope="module")
def solutions(world):
    """The paper's four: least squares, its closest feasible correction, the feasible estimate, and
    that with boxes; with the standard parameters of the last three.
    """
    model, base, _, _, published, regression = world
    closest = correct_base(
        base, published["ols"], blocks(model, known(boxes=False)), parameter_scale(model)
    )
    plain = fit_feasible(model, regression, known(boxes=False), weighting="ols", pull=1e-6)
    boxed = fit_feasible(model, regression, known(boxes=True), weighting="ols", pull=1e-6)
    return closest, plain, boxed


def test_every_solution_is_decided(world, solutions):
    """Section 5.2.4: with boxes the feasible estimate and the correction fail, the boxed estimate
    passes, computed and as printed; on its own conditions each is feasible, with its standard
    parameters as witness. All of it is proven, and the certificates are valid.
    """
    model, base, _, _, published, _ = world
    closest, plain, boxed = solutions
    scale = parameter_scale(model)
    printed = published["boxes"]
    for beta, theta, boxes, verdict in (
        (closest.beta, closest.theta, False, "feasible"),
        (plain.beta, plain.theta, False, "feasible"),
        (boxed.beta, boxed.theta, True, "feasible"),
        (printed, None, True, "feasible"),
        (closest.beta, closest.theta, True, "infeasible"),
        (plain.beta, plain.theta, True, "infeasible"),
        (published["ols"], None, False, "infeasible"),
    ):
        given = blocks(model, known(boxes=boxes))
        answer = base_feasibility(base, beta, given, scale, near=theta)
        assert answer.verdict == verdict
        document = certificate_of(model, base, beta, given, answer)
        assert verify(document).valid


def test_why_a_search_cannot_decide_on_the_boundary(world, solutions):
    """From base parameters alone the estimate is undecided: its links weigh tonnes, since the set
    of feasible base parameters is not closed, and no margin is left.
    """
    model, base, *_ = world
    _, plain, _ = solutions
    given = blocks(model, known(boxes=False))
    answer = base_feasibility(base, plain.beta, given, parameter_scale(model))
    assert answer.verdict == "undecided"
    assert answer.margin < 0.0
    masses = plain.theta[list(model.first_column_of_body)]
    assert masses.max() > 1e3


def test_the_first_row_of_table_8_follows(world, solutions):
    """Residuals of least squares are orthogonal to W, so that every error follows from that of
    least squares and the distance in torque: 6.68, 6.64 and 6.65 % are printed.
    """
    W, published = world[3], world[4]
    least = 0.0660  # of |omega|, printed; so |W beta|² = (1 - least²) |omega|²
    errors = [
        np.sqrt(least**2 + distance(W, one.beta, published["ols"]) ** 2 * (1.0 - least**2))
        for one in solutions
    ]
    assert np.allclose(errors, [0.0668, 0.0664, 0.0665], atol=0.0004)
    assert least < errors[1] < errors[2] < errors[0] < least + 0.001


def test_torque_of_the_estimate_needs_no_regressor(world):
    """theta by inverse dynamics and beta by the regressor predict the same torques."""
    model, _, motion, W, _, regression = world
    fit = fit_feasible(model, regression, weighting="ols")
    tau = torque(model, fit.theta, motion.q, motion.v, motion.a)
    assert np.allclose(tau, W @ fit.beta, atol=1e-8)
