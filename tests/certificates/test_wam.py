"""The WAM arm of Sousa and Cortesão (2014): our estimates against theirs, on their motion."""

from __future__ import annotations

import numpy as np
import pytest
from combinations import parsed
from paper_robots import wam
from project import BESIDE

from steelyard.certificates.base_feasibility import base_feasibility, correct_base
from steelyard.certificates.verify import verify
from steelyard.certificates.writing import certificate_of
from steelyard.conic.settle import failing
from steelyard.estimators.feasible import fit_feasible
from steelyard.excitation.motions.fourier import FourierTrajectory
from steelyard.knowledge.constraint_blocks import blocks
from steelyard.knowledge.constraints import Box, Constraints, MassSum
from steelyard.model.base_map import base_map
from steelyard.model.kernels import mass_matrix, torque, torque_regressor
from steelyard.model.model import Model
from steelyard.model.typical_sizes import parameter_scale
from steelyard.regression.compress import compress
from steelyard.signals.motion import Measurements

# Table 5: velocity amplitudes a and b (rad/s) of five harmonics, and q0 (rad)
A = np.array(
    [[0.05, -0.29, 0.48, 0.55, 0.65], [0.03, 0.29, -0.23, 0.32, 0.82],
     [-0.07, 0.40, 0.45, 0.40, -0.03], [0.14, -0.35, 0.15, 0.11, 0.93],
     [0.21, 0.35, 0.16, -0.02, 0.03], [-0.11, 0.28, 0.36, -0.06, 0.33],
     [-0.01, 0.24, 0.37, -0.45, 0.75]]
)  # fmt: skip
B = np.array(
    [[0.19, -0.40, -0.18, 0.63, -0.46], [0.09, -0.08, 0.05, -0.02, 0.65],
     [-0.49, 0.32, -0.26, -0.63, 0.06], [-0.14, 0.06, -0.13, -0.14, -0.03],
     [-0.51, 0.14, 0.37, -0.15, -0.17], [0.13, 0.07, 0.67, -0.15, -0.22],
     [0.24, 0.24, -0.22, -0.50, -0.52]]
)  # fmt: skip
Q0 = np.array([-0.29, 0.11, -0.02, 1.67, -2.41, 0.20, 0.58])
# Table 7: boxes that hold the centres of mass (m)
LOWER = [
    (-0.14, -0.174, -0.084), (-0.084, -0.174, -0.084), (-0.09, -0.55, -0.045),
    (-0.045, -0.045, -0.05), (-0.045, -0.02, -0.045), (-0.045, -0.06, -0.02),
    (-0.045, -0.045, -0.018),
]  # fmt: skip
UPPER = [
    (0.14, 0.174, 0.346), (0.084, 0.174, 0.17), (0.04, 0.04, 0.045), (0.095, 0.045, 0.83),
    (0.045, 0.1, 0.045), (0.045, 0.045, 0.06), (0.045, 0.045, 0.001),
]  # fmt: skip


@pytest.fixture(scope="module")
def world():
    """Model, motion, published base parameters, and the regression of the OLS torques."""
    path = BESIDE / "papers" / "wam_table6.tsv"
    if not path.is_file():
        pytest.skip(f"the published table is missing: {path}")
    model = Model(wam())
    base = base_map(model)
    rows = [line.split("\t") for line in path.read_text().splitlines()[1:]]
    ours = [parsed(text) for text in base.combinations("papers")]
    published = {"ols": np.zeros(69), "boxes": np.zeros(69)}
    for row in rows:
        k = ours.index(parsed(row[0]))
        published["ols"][k], published["boxes"][k] = float(row[2]), float(row[4])
    plan = FourierTrajectory(model.robot.joint_names, 0.1 * np.pi, A, B, Q0)
    motion = plan.evaluate(np.arange(0.0, 20.0, 0.01))
    W = torque_regressor(model, motion.q, motion.v, motion.a)[:, :, list(base.independent)]
    tau = W @ published["ols"]
    regression = compress(model, motion, Measurements(model.channels, tau))
    return model, base, motion, W, published, regression


def known(consistency="sousa", *, boxes):
    """The constraints of Sousa and Cortesão (2014), with their margin of 1e-6."""
    links = [f"link_{k}" for k in range(1, 8)]
    if not boxes:
        return Constraints(consistency=consistency, margin=1e-6)
    return Constraints(
        consistency=consistency,
        margin=1e-6,
        mass_sums=(MassSum(tuple(links), (None, 27.0)),),
        com={name: Box(lo, up) for name, lo, up in zip(links, LOWER, UPPER, strict=True)},
    )


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
