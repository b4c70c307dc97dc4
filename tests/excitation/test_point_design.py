"""Points for differences of energy: derivatives, limits, repeatability, and every way to search."""

from __future__ import annotations

from dataclasses import replace

import gautier_khalil_paper as paper
import numpy as np
import pytest

from steelyard.errors import ModelError, SignalError
from steelyard.excitation.limits import MotionLimits
from steelyard.excitation.points import point_design
from steelyard.excitation.points._point_problem import point_problem
from steelyard.excitation.points._point_search import STAGES, Criterion, random_start, smooth_start
from steelyard.excitation.points.conditioning import condition_number, smooth_condition_gradient
from steelyard.excitation.points.point_design import (
    MEASURES,
    OPTIMISERS,
    PointSettings,
    design_points,
    random_points,
)
from steelyard.model.base_map import base_map
from steelyard.model.model import Model
from steelyard.robot.robot import Robot
from steelyard.testing.random_robots import random_robot


def limits_of(robot: Robot, rng: np.random.Generator) -> MotionLimits:
    """Random limits of position and speed, and an acceleration of 5."""
    n = len(robot.joint_names)
    lower = rng.uniform(-2.0, 0.5, n)
    return MotionLimits(
        robot.joint_names,
        lower,
        lower + rng.uniform(0.5, 3.0, n),
        rng.uniform(0.3, 2.0, n),
        np.full(n, 5.0),
        np.full(n, np.inf),
        np.full(n, np.inf),
    )


@pytest.fixture
def short_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of the iterations."""
    short = tuple(
        replace(stage, steps=tuple((order, n // 10) for order, n in stage.steps))
        for stage in STAGES
    )
    monkeypatch.setattr(point_design, "STAGES", short)


def small_arm(seed: int = 4) -> tuple[Model, MotionLimits]:
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 2, chain=True, prismatic=0.0)
    return Model(robot), limits_of(robot, rng)


def test_matrix_gives_the_energy_of_pinocchio():
    """W times the base parameters is the change of kinetic and potential energy between points."""
    pin = pytest.importorskip("pinocchio")
    from oracles import pinocchio_model, pinocchio_q, pinocchio_velocity_index

    for seed in range(10):
        rng = np.random.default_rng(seed)
        robot = random_robot(rng, int(rng.integers(1, 6)))
        model = Model(robot)
        bodies = Model(robot, tuple(t for t in model.terms if t.term_kind.is_inertia))
        n_rows = base_map(bodies).rank + 3
        limits = limits_of(robot, rng)
        points, W = random_points(model, limits, n_rows, rng)
        assert (points.q >= limits.lower).all()
        assert (points.q <= limits.upper).all()
        assert (np.abs(points.v) <= limits.velocity).all()
        other = pinocchio_model(robot)
        data = other.createData()
        index = pinocchio_velocity_index(robot, other)
        energy = []
        for q, v in zip(pinocchio_q(robot, other, points.q), points.v, strict=True):
            speeds = np.zeros(other.nv)
            speeds[index] = v
            kinetic = pin.computeKineticEnergy(other, data, q, speeds)
            energy.append(kinetic + pin.computePotentialEnergy(other, data, q))
        beta = base_map(bodies).K @ bodies.prior_theta()
        change = np.diff(energy)
        assert W @ beta == pytest.approx(change, abs=1e-9 * np.abs(change).max() + 1e-9)


def test_gradients_agree_with_finite_differences():
    """Derivatives by the variables agree with central differences, for 40 robots."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        robot = random_robot(rng, int(rng.integers(1, 6)), mimic=0.2)
        model = Model(robot)
        bodies = Model(robot, tuple(t for t in model.terms if t.term_kind.is_inertia))
        n_rows = base_map(bodies).rank + 2
        weights = rng.uniform(0.5, 2.0, n_rows)
        scale = rng.uniform(0.5, 2.0, n_rows - 2)
        problem = point_problem(model, limits_of(robot, rng), n_rows, rng, weights, scale)
        x = random_start(problem, rng)
        direction = rng.normal(size=len(x))
        # linear in W, so that the condition of W does not spoil the differences
        C = rng.normal(size=(n_rows, n_rows - 2))
        value, gradient = problem.value_and_gradient(x, lambda W, C=C: (float((C * W).sum()), C))
        step = 1e-5
        ahead, behind = ((C * problem.matrix(x + s * direction)).sum() for s in (step, -step))
        slope = gradient @ direction
        scale_of = max(abs(slope), abs(value), np.linalg.norm(gradient))
        assert (ahead - behind) / (2.0 * step) == pytest.approx(slope, abs=1e-6 * scale_of), seed


def test_gradient_of_the_measure_through_the_paper_robot():
    """The derivative of the smooth condition number by every variable is that of differences."""
    rng = np.random.default_rng(0)
    problem = point_problem(paper.model(), paper.limits(), 20, rng)
    x = smooth_start(problem, rng)
    measure = lambda W: smooth_condition_gradient(W, 8.0)  # noqa: E731
    _, gradient = problem.value_and_gradient(x, measure)
    found = np.empty_like(x)
    for k in range(len(x)):
        step = np.zeros_like(x)
        step[k] = 1e-6
        ahead, behind = (measure(problem.matrix(x + s * step))[0] for s in (1.0, -1.0))
        found[k] = (ahead - behind) / 2e-6
    assert gradient == pytest.approx(found, abs=1e-6 * np.abs(found).max())


def test_change_of_variables_keeps_limits_and_returns():
    """Any variables give points within the limits; points give variables that lead back."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        robot = random_robot(rng, 3)
        limits = limits_of(robot, rng)
        bodies = Model(robot, ())
        problem = point_problem(bodies, limits, base_map(bodies).rank, rng)
        q, v = problem.points(10.0 * rng.normal(size=problem.n_variables))
        assert (q >= limits.lower - 1e-12).all()
        assert (q <= limits.upper + 1e-12).all()
        assert (np.abs(v) <= limits.velocity * (1 + 1e-12)).all()
        q2, v2 = problem.points(problem.variables(q, v))
        assert q2 == pytest.approx(q, abs=1e-7)
        assert v2 == pytest.approx(v, abs=1e-7)
        start = smooth_start(problem, rng)
        assert start.shape == (problem.n_variables,)
        assert np.isfinite(start).all()


def test_vertical_first_joint_is_not_a_variable():
    """Eq 23b: the position of the paper's first joint has no effect, and 80 variables are left."""
    problem = point_problem(paper.model(), paper.limits(), 15, np.random.default_rng(0))
    assert problem.effective.tolist() == [False, True, True]
    assert problem.n_variables == 80
    tilted = replace(paper.puma_arm(), gravity=np.array([3.0, 0.0, -9.0]))
    # two more parameters, the first moments of link 1
    problem = point_problem(Model(tilted, ()), paper.limits(), 17, np.random.default_rng(0))
    assert problem.effective.all()
    assert problem.n_variables == 18 * 6  # eq 23a


def test_friction_is_left_out_and_drives_stay():
    """Base columns of points are those of bodies and drive inertias."""
    model = Model(paper.puma_arm())
    design = design_points(model, paper.limits(), PointSettings(25, n_starts=1, budget_s=0.2))
    assert any(name.endswith(".Ia") for name in design.names)
    assert not any(name.endswith((".fv", ".fc", ".fo")) for name in design.names)


@pytest.mark.usefixtures("short_search")
def test_same_seed_same_points():
    """The result depends on the seed alone where the budget does not end the search."""
    model, limits = small_arm()
    n_rows = 20
    settings = PointSettings(n_rows, n_starts=2, budget_s=600.0, seed=5)
    first, second = (design_points(model, limits, settings) for _ in range(2))
    assert not first.cut_short
    assert np.array_equal(first.points.q, second.points.q)
    assert np.array_equal(first.points.v, second.points.v)
    other = design_points(model, limits, replace(settings, seed=6))
    assert not np.array_equal(first.points.q, other.points.q)
    assert (first.points.q >= limits.lower).all()
    assert (first.points.q <= limits.upper).all()
    assert (np.abs(first.points.v) <= limits.velocity).all()
    assert condition_number(first.matrix) == first.condition == first.value


@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize("measure", MEASURES)
def test_each_measure_is_made_small(measure):
    """Each measure ends well below its best start, and the balanced one balances."""
    settings = PointSettings(20, measure=measure, n_starts=2, budget_s=600.0)
    design = design_points(paper.model(), paper.limits(), settings)
    assert design.value == settings.criterion.value(design.matrix)
    assert design.value < 0.3 * design.start_value
    if measure == "balanced":
        plain = design_points(
            paper.model(), paper.limits(), PointSettings(20, n_starts=2, budget_s=600.0)
        )
        assert design.equilibrium < 0.5 * plain.equilibrium
        assert plain.condition < design.condition


@pytest.mark.parametrize("optimiser", [name for name in OPTIMISERS if name != "gradient"])
def test_contenders_of_the_paper_improve_their_start(optimiser):
    """Powell, Nelder and Mead and quasi-Newton with differences lower the measure as they run."""
    model, limits = small_arm()
    seen: list[float] = []
    settings = PointSettings(12, measure="frobenius", optimiser=optimiser, n_starts=1, budget_s=1.0)
    design = design_points(
        Model(model.robot, ()), limits, settings, progress=lambda _, value: seen.append(value)
    )
    assert design.value < design.start_value
    assert seen == sorted(seen, reverse=True)
    assert seen[-1] == design.value
    assert design.evaluations > 20


def test_a_spent_budget_still_gives_points():
    """A budget that ends at once gives the best start, and says that it was cut short."""
    design = design_points(paper.model(), paper.limits(), PointSettings(15, budget_s=1e-6))
    assert design.cut_short
    assert design.value <= design.start_value
    assert np.isfinite(design.condition)


@pytest.mark.usefixtures("short_search")
def test_given_points_are_improved():
    """A search from given points ends no worse than they are, with idle positions kept."""
    rng = np.random.default_rng(3)
    points, W = random_points(paper.model(), paper.limits(), 15, rng)
    settings = PointSettings(15, budget_s=600.0)
    design = design_points(paper.model(), paper.limits(), settings, start=points)
    assert design.condition < condition_number(W)
    assert np.array_equal(design.points.q[:, 0], points.q[:, 0])
    with pytest.raises(SignalError, match=r"\(17, 3\)"):
        design_points(paper.model(), paper.limits(), PointSettings(16), start=points)


def test_weights_and_scales_are_factors_of_the_matrix():
    """Row weights and column scales multiply W."""
    rng = np.random.default_rng(0)
    points, W = random_points(paper.model(), paper.limits(), 15, rng)
    rows, columns = rng.uniform(0.5, 2.0, 15), rng.uniform(0.5, 2.0, 15)
    problem = point_problem(paper.model(), paper.limits(), 15, rng, rows, columns)
    assert problem.matrix_of(points.q, points.v) == pytest.approx(rows[:, None] * W * columns)
    for wrong in (np.zeros(15), np.ones(14)):
        with pytest.raises(SignalError, match="15 positive numbers"):
            design_points(paper.model(), paper.limits(), PointSettings(15), row_weights=wrong)


def test_bad_input_is_named():
    """Too few rows, other joints, floating bases and unknown words are refused by name."""
    with pytest.raises(SignalError, match="14 rows are too few for 15 base parameters"):
        design_points(paper.model(), paper.limits(), PointSettings(14))
    other = replace(paper.limits(), joints=("joint_1", "joint_2", "joint_9"))
    with pytest.raises(SignalError, match="joint_9"):
        design_points(paper.model(), other, PointSettings(15))
    floating = random_robot(np.random.default_rng(0), 2, floating_base=True)
    limits = limits_of(floating, np.random.default_rng(0))
    with pytest.raises(ModelError, match="floating base"):
        design_points(Model(floating), limits, PointSettings(50))
    for values, words in (
        ({"measure": "cond"}, "svd, qr, frobenius, balanced"),
        ({"optimiser": "newton"}, "gradient, powell"),
        ({"n_starts": 0}, "n_starts 0"),
        ({"seed": -1}, "seed"),
        ({"budget_s": 0.0}, "budget_s"),
        ({"condition_weight": 0.0, "equilibrium_weight": 0.0}, "both zero"),
    ):
        with pytest.raises(SignalError, match=words):
            PointSettings(15, **values)


def test_criterion_of_the_paper():
    """Eq 18 is the weighted sum of condition number and S."""
    W = np.array([[3.0, 1.0], [1.0, 2.0], [0.5, -1.0]])
    expected = 2.0 * np.linalg.cond(W) + 0.1 * (3.0 / 0.5)
    assert Criterion("balanced", 2.0, 0.1).value(W) == pytest.approx(expected)
