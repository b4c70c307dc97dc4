"""The weight of a prior, against cross-validation written out for a problem with a closed form.

The problem is ridge regression: n parameters drawn to the prior with weight gamma, two of them,
the "terms", to zero with a weight of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from steelyard.errors import EstimationError
from steelyard.estimators.entropic import usual_term_weight
from steelyard.estimators.prior_weight import (
    GRID,
    QUICK_SEARCH,
    TERM_GRID,
    TIE,
    USUAL_SEARCH,
    Believable,
    GammaChoice,
    GammaSearch,
    Trial,
    as_good_as_the_best,
    l_curve,
    leave_blocks_out,
    left_out_scores,
    parts_of,
    search_for,
)

N, N_TERMS, N_BLOCKS = 6, 2, 12
SEARCH = GammaSearch((0.1, 10.0, 1000.0), (0.1, 1.0, 10.0), (0.1, 1.0, 10.0, 100.0, 1000.0), 4)


def everything(*_: float) -> Believable:
    """Whatever the weights are."""
    return Believable(True, True)


@dataclass(frozen=True)
class Ridge:
    """Blocks of rows [W y] with noise of one sigma, and a prior that is ``off`` by so much."""

    rows: np.ndarray
    counts: np.ndarray
    prior: np.ndarray
    sigma: float = 0.5

    def fit(self, gamma: float, terms: float, weights: np.ndarray) -> np.ndarray:
        """argmin of the squares plus gamma |b - prior|² + terms |b of terms|²."""
        W, y = self.rows[..., :-1] / self.sigma, self.rows[..., -1] / self.sigma
        pull = np.array([gamma] * (N - N_TERMS) + [terms] * N_TERMS)
        H = np.einsum("b,bri,brj->ij", weights, W, W) + np.diag(pull)
        return np.linalg.solve(H, np.einsum("b,bri,br->i", weights, W, y) + pull * self.prior)

    def fits(self, tasks: np.ndarray) -> np.ndarray:
        """The fits of all tasks."""
        return np.array([self.fit(task[0], task[1], task[2:]) for task in tasks])

    def choose(self, believable=everything, search: GammaSearch = SEARCH) -> GammaChoice:
        """What `leave_blocks_out` chooses."""
        return leave_blocks_out(self.rows, self.counts, self.sigma, self.fits, believable, search)

    def predicted(self, gamma: float, terms: float, n_parts: int = 4) -> float:
        """Mean squared error of the blocks of each part under the fit to the other parts."""
        errors = []
        for part in np.split(np.arange(N_BLOCKS), n_parts):
            others = np.setdiff1d(np.arange(N_BLOCKS), part)
            weights = np.zeros(N_BLOCKS)
            weights[others] = 1.0
            beta = self.fit(gamma, terms, weights)
            away = self.rows[part][..., :-1] @ beta - self.rows[part][..., -1]
            errors.append(np.mean(away**2) / self.sigma**2)
        return float(np.mean(errors))


def ridge(seed: int, off: float, rows_each: int = 3, terms: float = 0.0) -> Ridge:
    """Blocks with few rows each, so that a fit to some of them is uncertain."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=N)
    truth[-N_TERMS:] = terms
    W = rng.normal(size=(N_BLOCKS, rows_each, N))
    noise = 0.5 * rng.normal(size=(N_BLOCKS, rows_each))
    prior = np.append(truth[:-N_TERMS] + off, np.zeros(N_TERMS))
    rows = np.concatenate([W, (W @ truth + noise)[..., None]], axis=2)
    return Ridge(rows, np.full(N_BLOCKS, float(rows_each)), prior)


@pytest.mark.parametrize("off", [0.0, 0.1, 3.0])
def test_every_weight_is_scored_on_blocks_that_its_fit_has_not_seen(off):
    """The scores of all trials are those of cross-validation written out."""
    problem = ridge(1, off)
    found = problem.choose()
    assert [trial.gamma for trial in found.trials] == list(SEARCH.fine)
    assert [trial.terms for trial in found.term_trials] == list(SEARCH.terms)
    for trial in (*found.trials, *found.term_trials):
        assert trial.score == pytest.approx(problem.predicted(trial.gamma, trial.terms), rel=1e-9)
        # with the blocks it was fitted to, no fit is judged as well as a new one would be
        seen = problem.fit(trial.gamma, trial.terms, np.ones(N_BLOCKS))
        own = np.mean((problem.rows[..., :-1] @ seen - problem.rows[..., -1]) ** 2)
        assert trial.score > own / problem.sigma**2
    assert found.rule == "leave-blocks-out"


def test_a_right_prior_gets_a_large_weight_and_a_wrong_one_a_small():
    """Over ten data sets each: the truth as prior the largest weight, one far off none above 10."""
    for seed in range(10):
        assert ridge(seed, 0.0).choose().gamma == SEARCH.fine[-1]
        assert ridge(seed, 3.0).choose().gamma <= 1.0


def test_of_equally_good_weights_the_largest_believable_one_is_chosen():
    """Without a body that is further away than believed: the largest; else below that; where none
    is believable, the one that predicts best.
    """
    problem = ridge(2, 0.02)
    free = problem.choose()
    good = [trial.gamma for trial in free.trials if trial.as_good]
    assert len(good) >= 3
    assert free.gamma == max(good)
    for limit in good[1:]:
        held = problem.choose(lambda gamma, _, limit=limit: Believable(gamma < limit, True))
        assert held.gamma == max(gamma for gamma in good if gamma < limit)
    never = problem.choose(lambda *_: Believable(False, True))
    best = min((trial for trial in free.trials if trial.as_good), key=lambda trial: trial.score)
    assert never.gamma == best.gamma
    assert {trial.gamma for trial in never.trials if trial.as_good} == set(good)


def test_the_weight_of_the_terms_is_the_largest_believable_one_on_a_tie():
    """Terms that are zero are drawn to zero as strongly as is believed; others are not."""
    problem = ridge(3, 0.02)
    free = problem.choose()
    tied = [trial for trial in free.term_trials if trial.as_good]
    least = min(trial.score for trial in free.term_trials)
    assert len(tied) >= 2
    assert {trial.terms for trial in tied} == {
        trial.terms for trial in free.term_trials if trial.score <= (1.0 + TIE) * least
    }
    assert free.terms == max(trial.terms for trial in tied)
    held = problem.choose(lambda _, terms: Believable(True, terms < free.terms))
    assert held.terms == max(t.terms for t in tied if t.terms < free.terms)
    never = problem.choose(lambda *_: Believable(True, False))
    assert never.terms == min(free.term_trials, key=lambda trial: trial.score).terms
    assert ridge(3, 0.02, terms=3.0).choose().terms < free.terms


def test_the_weight_of_the_terms_is_chosen_at_the_largest_good_gamma():
    """The first of the three searches has the usual weight of terms; its largest good gamma is
    where the second is made.
    """
    problem = ridge(4, 0.02)
    first = [problem.predicted(gamma, usual_term_weight(gamma)) for gamma in SEARCH.coarse]
    good = [g for g, one in zip(SEARCH.coarse, first, strict=True) if one <= 1.1 * min(first)]
    found = problem.choose()
    assert {trial.gamma for trial in found.term_trials} == {max(good)}
    assert {trial.terms for trial in found.trials} == {found.terms}


def test_weights_whose_fits_failed_are_not_chosen():
    """NaN for one gamma leaves the others; NaN for all is an error."""
    problem = ridge(5, 0.0)

    def failing(tasks: np.ndarray) -> np.ndarray:
        out = problem.fits(tasks)
        out[tasks[:, 0] == SEARCH.fine[-1]] = np.nan
        return out

    found = leave_blocks_out(
        problem.rows, problem.counts, problem.sigma, failing, everything, SEARCH
    )
    assert found.gamma == SEARCH.fine[-2]
    assert not found.trials[-1].as_good
    with pytest.raises(EstimationError, match="all fits to parts of the time blocks failed"):
        leave_blocks_out(
            problem.rows,
            problem.counts,
            problem.sigma,
            lambda tasks: np.full((len(tasks), N), np.nan),
            everything,
            SEARCH,
        )


def test_as_good_is_one_standard_error_or_a_share_of_the_best():
    """By hand: differences of the groups from the best row, their mean and standard error."""
    best = np.array([1.0, 2.0, 3.0])
    even, uneven = np.full(3, 0.25), np.array([0.5, 0.0, 0.0])
    scores = np.array([best, best, best + even, best + uneven, best + 1.0, [np.nan, 1.0, 1.0]])
    good, errors = as_good_as_the_best(scores, 0.15)
    # the standard error of 0.5, 0, 0 is its mean, 1/6; that of equal differences is zero
    assert errors[:5] == pytest.approx([0.0, 0.0, 0.0, 1.0 / 6.0, 0.0], abs=1e-15)
    assert good.tolist() == [True, True, True, True, False, False]
    # 0.25 is more than 10 % of 2
    good, _ = as_good_as_the_best(scores, 0.1)
    assert good.tolist() == [True, True, False, True, False, False]
    uneven *= np.array([1.0, 0.9, 0.9])
    scores[3] = best + uneven + 0.05
    good, _ = as_good_as_the_best(scores, 0.1)
    assert not good[3]


@pytest.mark.parametrize(("worse", "accepted"), [(0.06, True), (0.094, True), (0.106, False)])
def test_a_larger_gamma_may_cost_a_tenth_of_the_squared_error(worse, accepted):
    """Residuals are one, and one more value that is beta: its square is what a weight costs."""
    rows = np.tile(np.eye(2), (12, 1, 1))
    limit = 30.0

    def fits(tasks):
        return np.where(tasks[:, :1] > limit, np.sqrt(worse), 0.0)

    found = leave_blocks_out(rows, np.ones(12), 1.0, fits, everything)
    assert (found.gamma > limit) == accepted
    assert all(trial.as_good == (accepted or trial.gamma < limit) for trial in found.trials)


def test_scores_are_mean_squares_in_units_of_the_noise():
    """Two groups, by hand."""
    rows = np.array([[[1.0, 1.0]], [[2.0, 1.0]], [[1.0, 3.0]]])
    groups = [np.array([0, 1]), np.array([2])]
    betas = np.array([[2.0], [1.0]])
    found = left_out_scores(rows, np.array([4.0, 6.0, 5.0]), 2.0, groups, betas)
    assert found == pytest.approx([(1.0 + 9.0) / (4.0 * 10.0), 4.0 / (4.0 * 5.0)])


@pytest.mark.parametrize(
    ("counts", "most", "parts"),
    [
        ([1] * 6, 3, [[0, 1], [2, 3], [4, 5]]),
        ([1] * 4, 8, [[0], [1], [2], [3]]),
        # as many values each, not as many blocks
        ([4, 1, 1, 1, 1, 4], 3, [[0], [1, 2, 3, 4], [5]]),
        # a block without values joins its neighbours
        ([2, 0, 2, 2], 3, [[0], [1, 2], [3]]),
        ([0, 2, 2, 2, 0], 3, [[0, 1], [2], [3, 4]]),
        # a part that would have nothing but such a block is none
        ([5, 0, 5, 1], 3, [[0], [2, 3]]),
    ],
)
def test_parts_are_neighbours_with_about_as_many_values(counts, most, parts):
    """Every block with values is in one part, and no part is without."""
    found = parts_of(np.array(counts, dtype=float), most=most)
    assert [part.tolist() for part in found] == parts


def test_too_few_blocks_are_refused():
    """Three blocks with values are enough, two are not; the advice is that of the caller."""
    assert len(parts_of(np.array([1.0, 1.0, 1.0]))) == 3
    with pytest.raises(EstimationError, match=r"^2 time blocks .* too few .*: record for longer$"):
        parts_of(np.array([1.0, 0.0, 1.0]))
    with pytest.raises(EstimationError, match=r": wait$"):
        parts_of(np.array([1.0, 1.0]), "wait")


def test_the_l_curve_turns_at_its_corner():
    """Divergence falls below the corner, misfit grows above it."""
    for corner in (3, 6, 9):
        k = np.arange(len(GRID))
        misfit = 100.0 * 10.0 ** np.maximum(0.0, 0.5 * (k - corner))
        divergence = 10.0 ** (-1.0 * np.minimum(k, corner))
        found = l_curve(misfit, divergence)
        assert (found.gamma, found.rule) == (GRID[corner], "l-curve")
        assert found.terms == usual_term_weight(GRID[corner])
        # curvature of a right angle between chords of length 1 and ½: 2 sin / chord
        turn = max(found.trials, key=lambda trial: trial.score)
        assert turn.gamma == GRID[corner]
        assert turn.score == pytest.approx(2.0 / np.hypot(1.0, 0.5))
        assert sum(abs(trial.score) > 1e-9 for trial in found.trials) == 1


def test_an_l_curve_without_a_corner_gives_the_largest_gamma_that_costs_nothing():
    """A misfit that grows by 1 % a step: the last within 2 % of the smallest."""
    k = np.arange(len(GRID))
    found = l_curve(1.01**k, 10.0 ** (-0.5 * k))
    assert found.gamma == GRID[1]
    flat = l_curve(np.ones(len(GRID)), np.ones(len(GRID)))
    assert flat.gamma == GRID[-1]
    # zero misfit and zero divergence are no error
    assert l_curve(np.zeros(len(GRID)), np.zeros(len(GRID))).gamma == GRID[-1]


def test_a_choice_knows_whether_it_is_at_the_edge_of_what_was_tried():
    """Smallest, largest, between; nothing to say of a gamma that was given."""
    trials = tuple(Trial(gamma, 1.0, 0.1) for gamma in (1.0, 10.0, 100.0))
    edges = [GammaChoice(gamma, "rule", 1.0, trials).at_edge for gamma in (1.0, 10.0, 100.0)]
    assert edges == ["smallest", None, "largest"]
    assert GammaChoice(1.0, "given", 1.0, trials[:1]).at_edge is None
    assert GammaChoice(1.0, "two", 1.0, trials[:2]).at_edge == "smallest"


def test_large_robots_get_the_quick_search():
    """64 fits instead of 232 above 240 parameters."""
    assert search_for(240) is USUAL_SEARCH
    assert search_for(241) is QUICK_SEARCH
    assert (USUAL_SEARCH.n_fits, QUICK_SEARCH.n_fits) == (232, 64)
    assert (GRID[0], GRID[-1], len(GRID)) == (0.1, 1e5, 13)


def test_weights_are_half_a_decade_apart():
    """Of bodies and of terms; coarse searches take every second or fourth of them."""
    assert np.geomspace(0.1, 1e5, 13) == pytest.approx(GRID, rel=0.01)
    assert np.geomspace(0.01, 100.0, 9) == pytest.approx(TERM_GRID, rel=0.06)
    assert GRID[::2] == USUAL_SEARCH.coarse == QUICK_SEARCH.fine
    assert (USUAL_SEARCH.terms, USUAL_SEARCH.fine) == (TERM_GRID, GRID)
    assert (QUICK_SEARCH.coarse, QUICK_SEARCH.terms) == (GRID[::4], TERM_GRID[::2])
    assert (USUAL_SEARCH.n_groups, QUICK_SEARCH.n_groups) == (8, 4)
