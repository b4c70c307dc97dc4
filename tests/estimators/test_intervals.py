"""Intervals of constrained estimates, against their definitions written out.

Resampling and leaving out are repeated on the block factors by NumPy and by the estimator's own
problem; feasible ranges by CVXPY.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from experiments import chain_experiment
from scipy.stats import chi2

from steelyard.errors import EstimationError
from steelyard.estimators import affordable_intervals, size_rules
from steelyard.estimators._ranges import (
    Quantities,
    feasible_ranges,
    fit_ball,
    fit_threshold,
    open_quantities,
)
from steelyard.estimators._resampling import _drawn_fits, resample
from steelyard.estimators.cluster import (
    covariance_of_runs,
    left_out_covariance,
    overconfidence,
)
from steelyard.estimators.constrained import ConstrainedFit, Refit
from steelyard.estimators.estimate import Spread
from steelyard.estimators.feasible import fit_feasible
from steelyard.estimators.intervals import edge_findings, with_intervals
from steelyard.estimators.prior_fit import fit_with_prior
from steelyard.knowledge.constraints import Constraints, MassSum
from steelyard.knowledge.prior import prior_from_robot
from steelyard.knowledge.statements import DefaultBound, Limit, Mass
from steelyard.model.model import Model
from steelyard.regression.compress import compress
from steelyard.regression.regression import Regression
from steelyard.robot.inertia import pseudo_inertia


def nothing(_: int) -> None:
    """No progress is shown."""


@cache
def world(noise: float = 0.3, n_samples: int = 2000) -> tuple[Model, Regression]:
    """Two joints, with a motion that determines everything that can be."""
    one = chain_experiment(3, n_joints=2, n_samples=n_samples)
    error = noise * np.random.default_rng(3).normal(size=one.tau.shape)
    return one.model, compress(one.model, one.motion, one.measured(error))


@cache
def feasible() -> tuple[Regression, ConstrainedFit]:
    model, regression = world()
    return regression, fit_feasible(model, regression, prior=model.prior_theta(), pull=1e-9)


@cache
def drawn() -> tuple[Regression, ConstrainedFit]:
    model, regression = world()
    return regression, fit_with_prior(model, regression, prior_from_robot(model), gamma=30.0)


def blocks_of(regression: Regression, fit: ConstrainedFit) -> np.ndarray:
    """Weighted rows (n_blocks, k, n_base + 1) of all time blocks, in units of the noise."""
    rows = [regression.block_rows(k, fit.weights) for k in range(len(regression.keys))]
    most = max(len(one) for one in rows)
    return np.array([np.pad(one, ((0, most - len(one)), (0, 0))) for one in rows]) / fit.sigma


def test_resampling_is_the_covariance_of_fits_to_drawn_blocks():
    """Where no condition is active they are least squares of the drawn rows; about the estimate,
    not about their mean, and with blocks minus one degrees of freedom.
    """
    regression, fit = feasible()
    n_blocks = len(regression.keys)
    found = resample(regression, fit, 40, 5, nothing, 1)
    counts = np.random.default_rng(5).multinomial(n_blocks, np.full(n_blocks, 1 / n_blocks), 40)
    rows = blocks_of(regression, fit)
    away = []
    for draw in counts:
        used = (np.sqrt(draw)[:, None, None] * rows).reshape(-1, rows.shape[2])
        beta = np.linalg.lstsq(used[:, :-1], used[:, -1], rcond=None)[0]
        away.append(beta - fit.beta)
    expected = np.einsum("ni,nj->ij", away, away) / 40
    assert found is not None
    assert (found.kind, found.degrees_of_freedom) == ("resampling", n_blocks - 1)
    assert np.allclose(found.covariance, expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())
    assert np.allclose(found.sigma, np.sqrt(np.diag(expected)), rtol=1e-3)


def test_resampling_knows_nothing_of_what_the_data_do_not_determine():
    """Rows and columns of such a parameter are NaN, and no others."""
    regression, fit = feasible()
    known = np.arange(len(fit.beta)) != 2
    free = replace(fit.free, determined=known)
    part = replace(fit, system=replace(fit.system, free=free))
    found = resample(regression, part, 10, 5, nothing, 1)
    whole = resample(regression, fit, 10, 5, nothing, 1)
    assert found is not None
    assert whole is not None
    own = np.ix_(known, known)
    assert np.array_equal(found.covariance[own], whole.covariance[own])
    assert np.isfinite(whole.covariance).all()
    assert np.isnan(found.covariance[2]).all()
    assert np.isnan(found.covariance[:, 2]).all()


def test_with_a_prior_each_block_is_left_out_in_turn():
    """(n - 1)/n times the sum of squares of what each block moves, plus the prior's own part; with
    fewer fits, neighbours are left out together.
    """
    regression, fit = drawn()
    assert fit.pull is not None
    n_blocks = len(regression.keys)
    rows = blocks_of(regression, fit)
    problem, K = fit.pull.fits.problem, regression.base.K
    for most in (200, 10):
        parts = np.array_split(np.arange(n_blocks), min(n_blocks, most))
        away = []
        for part in parts:
            kept = np.delete(rows, part, axis=0).reshape(-1, rows.shape[2])
            theta = problem.solve(
                kept[:, :-1] @ K, kept[:, -1], 30.0, "entropic", fit.pull.choice.terms
            ).theta
            away.append(K @ theta - fit.beta)
        n = len(parts)
        expected = (n - 1) / n * np.einsum("ni,nj->ij", away, away) + fit.pull.covariance
        found = resample(regression, fit, most, 0, nothing, 1)
        assert found is not None
        assert (found.kind, found.degrees_of_freedom) == ("cluster", n - 1)
        assert np.allclose(found.covariance, expected, rtol=1e-3, atol=1e-4 * expected.max())
    # never fewer parts than the intervals of least squares need
    few = resample(regression, fit, 2, 0, nothing, 1)
    assert few is not None
    assert few.degrees_of_freedom == 7


def test_few_blocks_are_not_resampled_and_that_is_said():
    """Below eight blocks the error bars are classical, with a warning; from eight on they are
    not.
    """
    model, regression = world()
    for n, kinds in ((7, ["classical"]), (8, ["classical", "resampling"])):
        part = first_blocks(regression, n)
        fit = fit_feasible(model, part, prior=model.prior_theta())
        estimate = with_intervals(part, fit, n_resamples=5, ranges=False)
        assert [spread.kind for spread in estimate.spreads] == kinds
        said = [f.code for f in estimate.findings if f.code == "no-cluster-covariance"]
        assert len(said) == (1 if n == 7 else 0)
        assert (resample(part, fit, 5, 0, nothing, 1) is None) == (n == 7)


def first_blocks(regression: Regression, n: int) -> Regression:
    """The data of the first n time blocks."""
    one = chain_experiment(3, n_joints=2, n_samples=2000)
    used = slice(round(n * regression.block_s * 100.0))
    noise = 0.3 * np.random.default_rng(3).normal(size=one.tau.shape)
    measured = one.measured(noise)[used]
    part = compress(one.model, one.motion[used], measured, block_s=regression.block_s)
    assert len(part.keys) == n
    return part


def test_resamples_that_fail_are_left_out_and_one_alone_is_refused():
    """NaN is no estimate; a covariance needs two."""
    regression, fit = feasible()

    def some(bad: int):
        calls = []

        def solver(draw: np.ndarray) -> np.ndarray:
            calls.append(draw)
            return np.full(len(fit.beta), np.nan) if len(calls) <= bad else fit.beta + 1.0

        return replace(fit, refit=Refit(lambda: solver))

    found = resample(regression, some(3), 5, 0, nothing, 1)
    assert found is not None
    assert np.allclose(found.covariance, 1.0)
    with pytest.raises(EstimationError, match="failed on all resamples"):
        resample(regression, some(4), 5, 0, nothing, 1)


@pytest.mark.parametrize("together", [False, True], ids=["one value", "sum of masses"])
def test_both_solvers_fit_a_draw_alike(together):
    """Where the interior point does not converge, Clarabel solves the same problem: also where an
    equation holds parameters together that are drawn to known values.
    """
    model, _ = world()
    regression = world(30.0, 600)[1]
    first, second = (body.name for body in model.mechanism.bodies)
    known = Constraints(
        mass={first: (0.1, 5.0)},
        fixed={"joint_1.fo": 5.0},
        mass_sums=(MassSum((first, second), (9.0, 9.0)),) if together else (),
    )
    pull = 30.0 if together else 1e-2
    fit = fit_feasible(model, regression, known, prior=model.prior_theta(), pull=pull)
    fits = _drawn_fits(regression, fit)
    draw = np.ones(len(regression.keys))
    draw[:3] = (0.0, 2.0, 3.0)
    one, other = fits.base_parameters(draw), fits._by_clarabel(fits.factors.factor(draw))
    size = np.sqrt(np.diag(fit.sigma**2 * fit.free.inverse @ fit.free.inverse.T))
    assert np.all(np.abs(one - other) <= 1e-3 * size)
    # with every block once it is the fit itself
    again = fits.base_parameters(np.ones(len(regression.keys)))
    assert np.all(np.abs(again - fit.beta) <= 1e-2 * size)
    # each value with a weight of its own
    weights = np.geomspace(0.1, 10.0, len(fit.theta))
    problem = replace(fit.problem, pull=weights * fit.problem.pull)
    fits = _drawn_fits(regression, replace(fit, problem=problem))
    one, other = fits.base_parameters(draw), fits._by_clarabel(fits.factors.factor(draw))
    assert np.all(np.abs(one - other) <= 1e-3 * size)


def test_the_threshold_of_an_acceptable_fit():
    """The optimum plus the 95 % quantile of chi-squared, times the ratio of variances."""
    _, fit = feasible()
    n = len(fit.beta)
    quantile = chi2.ppf(0.95, fit.free.rank)
    plain = Spread("classical", np.eye(n), 10)
    assert fit_threshold(fit, [plain]) == pytest.approx(fit.squares + quantile)
    wide = np.diag(np.append(np.full(n - 1, 9.0), np.nan))
    found = fit_threshold(fit, [plain, Spread("resampling", wide, 10)])
    assert found == pytest.approx(fit.squares + 9.0 * quantile)
    narrow = Spread("resampling", 0.25 * np.eye(n), 10)
    assert fit_threshold(fit, [plain, narrow]) == pytest.approx(fit.squares + quantile)
    unknown = Spread("resampling", np.full((n, n), np.nan), 10)
    assert fit_threshold(fit, [plain, unknown]) == pytest.approx(fit.squares + quantile)
    # parameters whose error bar is zero say nothing of the ratio
    exact = Spread("classical", np.diag(np.append(np.ones(n - 1), 0.0)), 10)
    some = Spread("resampling", np.diag(np.append(0.0, np.full(n - 1, 4.0))), 10)
    found = fit_threshold(fit, [exact, some])
    assert found == pytest.approx(fit.squares + 4.0 * quantile)
    level = fit_threshold(fit, [plain], level=0.5)
    assert level == pytest.approx(fit.squares + chi2.ppf(0.5, fit.free.rank))


def test_open_are_parameters_that_no_base_parameter_states_alone():
    """A parameter with a column of its own is closed if the data determine it, and open if not."""
    _, regression = world()
    base = regression.base
    alone = {i for i, fate in enumerate(base.fates()) if fate.kind == "alone"}
    everything = np.ones(base.rank, dtype=bool)
    found = open_quantities(base, everything)
    assert set(found.columns) == set(range(len(base.columns))) - alone
    masses = [i for i, column in enumerate(base.columns) if column.name.endswith(".m")]
    assert list(found.masses) == masses
    assert found.n_problems == 2 * len(found.columns) + 6 * len(masses)
    assert alone
    column = min(alone)
    row = int(np.flatnonzero(base.K[:, column])[0])
    assert column in open_quantities(base, np.arange(base.rank) != row).columns


def test_feasible_ranges_are_the_extremes_that_cvxpy_finds():
    """Of open parameters, and of a centre of mass by bisection of its coordinate."""
    cvxpy = pytest.importorskip("cvxpy")
    model, regression = world()
    masses = {body.name: (0.5, 30.0) for body in model.mechanism.bodies}
    fit = fit_feasible(model, regression, Constraints(mass=masses), prior=model.prior_theta())
    spreads = [Spread("classical", np.eye(len(fit.beta)), 10)]
    wanted = open_quantities(regression.base, fit.free.determined)
    seen = []
    found = feasible_ranges(fit, spreads, wanted, seen.append, 1)
    assert seen[-1] == wanted.n_problems
    assert found.com.shape == (len(wanted.masses), 3, 2)
    assert set(np.flatnonzero(np.isfinite(found.parameters[:, 0]))) == set(wanted.columns)
    assert np.all(found.parameters[list(wanted.columns), 0] <= fit.theta[list(wanted.columns)])
    assert np.all(found.parameters[list(wanted.columns), 1] >= fit.theta[list(wanted.columns)])

    scale = fit.problem.scale
    x = cvxpy.Variable(len(scale))
    theta = cvxpy.multiply(scale, x)
    units = [pseudo_inertia(unit) for unit in np.eye(10)]
    given = [
        sum(theta[first + j] * units[j] for j in range(10)) >> 0
        for first in model.first_column_of_body
    ]
    for block in fit.blocks:
        if block.kind == "nonnegative":
            given.append(block.A @ theta[list(block.columns)] + block.b >= 0)
    radius = np.sqrt(fit_threshold(fit, spreads))
    F, g = fit.problem.F, fit.problem.g
    given.append(cvxpy.norm(g - F @ theta) <= radius)

    def extreme(objective, more=()) -> float:
        problem = cvxpy.Problem(objective, [*given, *more])
        problem.solve(solver=cvxpy.CLARABEL)
        return problem.value if problem.status.startswith("optimal") else np.nan

    for i in (wanted.columns[0], wanted.columns[len(wanted.columns) // 2], wanted.columns[-1]):
        for k, kind in enumerate((cvxpy.Minimize, cvxpy.Maximize)):
            expected = scale[i] * extreme(kind(x[i]))
            assert found.parameters[i, k] == pytest.approx(expected, rel=1e-3, abs=1e-4 * scale[i])
    # the largest x of a centre of mass: h - x m can be zero there, and not a little beyond
    mass = wanted.masses[-1]
    for k, kind in ((0, cvxpy.Minimize), (1, cvxpy.Maximize)):
        end = found.com[-1, 0, k]
        beyond = kind(theta[mass + 1] - end * theta[mass])
        assert extreme(beyond) == pytest.approx(0.0, abs=2e-4 * scale[mass + 1])


def test_a_body_that_may_have_no_mass_has_no_range_of_its_centre():
    """Its coordinates h / m have no bounds; all other ranges are computed."""
    model, regression = world()
    fit = fit_feasible(model, regression, prior=model.prior_theta())
    spreads = [Spread("classical", np.eye(len(fit.beta)), 10)]
    wanted = open_quantities(regression.base, fit.free.determined)
    found = feasible_ranges(fit, spreads, wanted, nothing, 1)
    empty = [
        k for k, m in enumerate(wanted.masses) if found.parameters[m, 0] <= 1e-3 * fit.theta[m]
    ]
    assert empty
    for k in range(len(wanted.masses)):
        assert np.isnan(found.com[k]).all() == (k in empty)
    none = feasible_ranges(fit, spreads, Quantities((), ()), nothing, 1)
    assert np.isnan(none.parameters).all()
    assert none.com.shape == (0, 3, 2)


def test_the_ball_of_acceptable_fits_has_its_radius():
    """Inside at the fit by the threshold's root minus the residual's norm."""
    _, fit = feasible()
    spreads = [Spread("classical", np.eye(len(fit.beta)), 10)]
    ball = fit_ball(fit, spreads)
    residual = fit.problem.g - fit.problem.F @ fit.theta
    value = ball.A @ fit.theta + ball.b
    assert value[0] == pytest.approx(np.sqrt(fit_threshold(fit, spreads)))
    assert np.allclose(value[1:], residual)


def test_progress_counts_resamples_and_ends_of_ranges():
    """Up to the number that was announced, without going back."""
    regression, fit = feasible()
    seen: list[tuple[int, int]] = []
    estimate = with_intervals(
        regression, fit, n_resamples=8, progress=lambda *pair: seen.append(pair)
    )
    wanted = open_quantities(regression.base, fit.free.determined)
    total = 8 + wanted.n_problems
    counts = [count for count, _ in seen]
    assert {of for _, of in seen} == {total}
    assert counts == sorted(counts)
    assert counts[-1] == total
    assert [spread.kind for spread in estimate.spreads] == ["classical", "resampling"]
    assert estimate.standard is not None
    assert estimate.standard.ranges is not None
    plain = with_intervals(regression, fit, n_resamples=0, ranges=False)
    assert [spread.kind for spread in plain.spreads] == ["classical"]
    expected = fit.sigma**2 * fit.free.inverse @ fit.free.inverse.T
    assert np.allclose(plain.spreads[0].covariance, expected)
    assert plain.spreads[0].degrees_of_freedom == regression.n_rows - fit.free.rank
    assert plain.standard is not None
    assert plain.standard.ranges is None


def test_conditions_without_slack_are_named():
    """Noise that is larger than the signal puts a fit on the boundary."""
    model, _ = world()
    fit = fit_feasible(model, world(300.0, 600)[1], prior=model.prior_theta())
    active = fit.active()
    assert active
    finding = edge_findings(fit)[0]
    assert (finding.level, finding.code) == ("info", "on-the-boundary")
    assert f"({len(active)})" in finding.words
    for statement in active[:6]:
        assert statement.words in finding.words
    more = f"and {len(active) - 6} more"
    assert (more in finding.words) == (len(active) > 6)
    # drawn to a prior, every body is strictly inside
    assert edge_findings(drawn()[1]) == ()


def test_leaving_out_a_block_is_least_squares_without_its_rows():
    """CR3 by hand on random rows; a block without which something is open is named."""
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(10, 6, 4))
    W, y = rows[..., :-1].reshape(-1, 3), rows[..., -1].reshape(-1)
    beta = np.linalg.lstsq(W, y, rcond=None)[0]
    inverse = np.linalg.inv(np.linalg.cholesky(W.T @ W)).T
    away = []
    for k in range(10):
        rest = np.delete(rows, k, axis=0).reshape(-1, 4)
        away.append(np.linalg.lstsq(rest[:, :-1], rest[:, -1], rcond=None)[0] - beta)
    expected = 0.9 * np.einsum("ni,nj->ij", away, away)
    found, failed = left_out_covariance(iter(rows), beta, inverse)
    assert failed is None
    assert np.allclose(found, expected)
    rows[np.arange(10) != 4, :, 2] = 0.0  # only the fifth block shows the last parameter
    W = rows[..., :-1].reshape(-1, 3)
    inverse = np.linalg.inv(np.linalg.cholesky(W.T @ W)).T
    assert left_out_covariance(iter(rows), beta, inverse) == (None, 4)


def test_classical_error_bars_that_are_half_as_wide_again_are_called_too_small():
    """The median ratio decides; from 1.5 on."""
    one = Spread("classical", np.eye(3), 10)
    ratios = {1.4: 0, 1.6: 1}
    for ratio, count in ratios.items():
        wide = Spread("cluster", np.diag([1.0, ratio**2, 100.0]), 9)
        found = overconfidence(one, wide)
        assert len(found) == count
    assert "1.6 times too small" in found[0].words
    unknown = Spread("cluster", np.full((3, 3), np.nan), 9)
    assert overconfidence(one, unknown) == ()


@pytest.mark.parametrize(
    ("usual", "masses", "resamples", "left_out", "ranges"),
    [(100, 100, 50, 50, "all"), (5, 100, 40, 16, "masses"), (5, 5, 40, 16, "none")],
    ids=["few columns", "many", "very many"],
)
def test_robots_with_many_parameters_get_fewer_intervals(
    usual, masses, resamples, left_out, ranges, monkeypatch
):
    """At most 40 resamples or 16 parts left out, ranges of masses alone, then of nothing; a result
    without ranges has none, and one with some is told from it.
    """
    monkeypatch.setattr(size_rules, "USUAL_UP_TO", usual)
    monkeypatch.setattr(affordable_intervals, "MASS_RANGES_UP_TO", masses)
    for (regression, fit), most in ((feasible(), resamples), (drawn(), left_out)):
        every = open_quantities(regression.base, fit.free.determined)
        expected = {
            "all": every,
            "masses": Quantities(tuple(set(every.columns) & set(every.masses)), ()),
            "none": Quantities((), ()),
        }[ranges]
        assert every.columns
        assert (ranges == "none") == (expected.n_problems == 0)
        seen: list[tuple[int, int]] = []
        found = with_intervals(
            regression, fit, n_resamples=50, progress=lambda *pair, seen=seen: seen.append(pair)
        )
        assert {of for _, of in seen} == {most + expected.n_problems}
        n_blocks = len(regression.keys)
        n_parts = n_blocks if fit.pull is None else min(most, n_blocks)
        assert found.spread.degrees_of_freedom == n_parts - 1
        said = [one.words for one in found.findings if one.code == "many-parameters"]
        assert len(said) == (usual == 5)
        if said:
            many = "at most 16 parts" if fit.pull is not None else "at most 40 resamples"
            assert many in said[0]
        standard = found.standard
        assert standard is not None
        if ranges == "none":
            assert standard.ranges is None
        else:
            assert standard.ranges is not None
            there = np.flatnonzero(np.isfinite(standard.ranges[:, 0]))
            assert set(there) == set(expected.columns)
        assert (standard.com_ranges is not None) == (ranges == "all")
        without = with_intervals(regression, fit, n_resamples=0, ranges=False).standard
        assert without is not None
        assert without.ranges is None


def test_a_covariance_needs_eight_blocks_of_all_runs_together():
    """Seven are said to be too few; a block without which something is open is named with its run
    and its time.
    """
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(8, 6, 4))

    def of(counts, table):
        runs = [
            SimpleNamespace(keys=[(f"run {k}", 3 + i) for i in range(n)], block_s=0.5, first=first)
            for k, (n, first) in enumerate(zip(counts, np.cumsum([0, *counts[:-1]]), strict=True))
        ]
        used = table[: sum(counts)]
        W, y = used[..., :-1].reshape(-1, 3), used[..., -1].reshape(-1)
        beta = np.linalg.lstsq(W, y, rcond=None)[0]
        inverse = np.linalg.inv(np.linalg.cholesky(W.T @ W)).T
        found = covariance_of_runs(runs, lambda run, b: used[run.first + b], beta, inverse)
        return found, left_out_covariance(iter(used), beta, inverse)

    for counts in ((7,), (4, 3)):
        (covariance, why), _ = of(counts, rows)
        assert covariance is None
        assert why == "7 time blocks are fewer than 8; record for longer"
    for counts in ((8,), (5, 3)):
        (covariance, why), (expected, _) = of(counts, rows)
        assert why == ""
        assert np.array_equal(covariance, expected)
    # what one block shows a hundred thousand times better than the others is open without it
    for share, known in ((1e-4, True), (1e-6, False)):
        table = rows.copy()
        table[np.arange(8) != 6, :, 2] *= share
        (covariance, why), _ = of((5, 3), table)
        assert (covariance is not None) == known
        assert known or "without the time block from 2 s of run 'run 1' some parameters" in why


@pytest.mark.parametrize(
    ("n_masses", "n_bounds"), [(0, 0), (1, 0), (6, 0), (7, 0), (0, 1), (2, 2), (5, 3)]
)
def test_every_active_condition_counts_and_default_bounds_are_a_warning(n_masses, n_bounds):
    """Six are listed and the others counted; a fit at a default bound is told with the number of
    bodies.
    """
    masses = [Limit(Mass(f"m{k}"), "is at least", 1.0) for k in range(n_masses)]
    bounds = [Limit(DefaultBound(f"b{k}", 0.3), "is at most", 25.0) for k in range(n_bounds)]
    active = (*masses, *bounds)
    found = {f.code: f for f in edge_findings(SimpleNamespace(active=lambda: active))}
    assert set(found) == {
        *(["on-the-boundary"] if active else []),
        *(["default-bound-active"] if bounds else []),
    }
    if active:
        words = found["on-the-boundary"].words
        assert f"({len(active)})" in words
        listed = [statement for statement in active if statement.words in words]
        assert listed == list(active[:6])
        assert ("more" in words) == (len(active) > 6)
        if len(active) > 6:
            assert words.endswith(f"; and {len(active) - 6} more")
    if bounds:
        warning = found["default-bound-active"]
        assert warning.level == "warning"
        assert f"the default bound of {n_bounds} bodies ({bounds[0].words})" in warning.words
