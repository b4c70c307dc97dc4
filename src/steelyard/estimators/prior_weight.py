"""The weight gamma of a prior, chosen on the training data.

leave-blocks-out   Cross-validation: the time blocks are put into groups of neighbours, and each
                   group is predicted by the fit to all others. The weight with which friction,
                   drive inertia and offsets are drawn to zero is chosen first, the largest on a
                   tie. Then, of all gammas that predict as well as the best one, the largest is
                   chosen for which the bodies are not much further from the prior than gamma
                   predicts.
l-curve            The corner of log misfit against log divergence: the point of largest
                   curvature or, without a corner, the largest gamma that does not raise the
                   misfit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import EstimationError
from steelyard.estimators.entropic import usual_term_weight
from steelyard.estimators.size_rules import FEWER_PARTS, PARTS, has_many

Array = NDArray[np.float64]
GammaRule = Literal["leave-blocks-out", "l-curve"]
GAMMA_RULES = get_args(GammaRule)

GRID = tuple(float(f"{10.0**power:.3g}") for power in np.arange(-1.0, 5.01, 0.5))
"""Values of gamma that are tried; gamma = 1 has the weight of two residuals of one sigma."""
COARSE = GRID[::2]
"""Values of gamma for which the weight of the terms is chosen."""
TERM_GRID = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
"""Weights of the terms that are tried: of squares in typical sizes."""
TIE = 0.05
"""Increase of the squared error that is accepted for a larger weight of the terms."""
GROUPS = PARTS
"""Groups of neighbouring blocks that are left out in turn."""
MIN_GROUPS = 3
NO_CORNER = 0.1
"""Curvature (per decade) below which an l-curve has no corner."""
INDIFFERENT = 0.1
"""Increase of the squared error (5 % in the error) that is accepted for a larger gamma: blocks of
one motion resemble each other more than other motions, which favours a small gamma."""
SAME = 0.02
"""Increase of the squared error that counts as none: of a set of terms, or along an l-curve."""


@dataclass(frozen=True)
class GammaSearch:
    """Which weights are tried, and on how many groups of blocks.

    coarse : values of gamma for which the weight of the terms is chosen. terms : weights of the
    terms. fine : values of gamma among which one is chosen. n_groups : that are left out in turn.
    """

    coarse: tuple[float, ...]
    terms: tuple[float, ...]
    fine: tuple[float, ...]
    n_groups: int

    @property
    def n_fits(self) -> int:
        """Number of fits to parts of the data."""
        return (len(self.coarse) + len(self.terms) + len(self.fine)) * self.n_groups


USUAL_SEARCH = GammaSearch(COARSE, TERM_GRID, GRID, GROUPS)
QUICK_SEARCH = GammaSearch(GRID[::4], TERM_GRID[::2], COARSE, FEWER_PARTS)
"""For robots with many parameters: 64 fits instead of 232, on a grid twice as wide."""


def search_for(n_columns: int) -> GammaSearch:
    """The search for a model with so many parameters."""
    return QUICK_SEARCH if has_many(n_columns) else USUAL_SEARCH


@dataclass(frozen=True)
class Trial:
    """One gamma that was tried, with the weight of the terms.

    score : mean squared residual of left-out blocks, in units of the noise; for the l-curve
        the curvature. standard_error : of the difference from the smallest score, over the
        groups; NaN for the l-curve. as_good : whether it predicts as well as the best.
    """

    gamma: float
    score: float
    standard_error: float
    as_good: bool = False
    terms: float | None = None


@dataclass(frozen=True)
class Believable:
    """Whether the bodies and the terms of a fit are as close to the prior as their weights say."""

    bodies: bool
    terms: bool


@dataclass(frozen=True)
class GammaChoice:
    """The chosen weights, the rule that chose them ("given" if the user did), and the trials.

    gamma : of the bodies. terms : of friction, drive inertia and offsets.
    term_trials : those among which the weight of the terms was chosen.
    """

    gamma: float
    rule: str
    terms: float
    trials: tuple[Trial, ...] = ()
    term_trials: tuple[Trial, ...] = ()

    @property
    def at_edge(self) -> Literal["smallest", "largest"] | None:
        """Whether the choice is the smallest or largest value that was tried."""
        if len(self.trials) < 2:
            return None
        if self.gamma == self.trials[0].gamma:
            return "smallest"
        return "largest" if self.gamma == self.trials[-1].gamma else None


def parts_of(
    n_values: Array, advice: str = "record for longer", most: int = GROUPS
) -> list[NDArray[np.int64]]:
    """Indices of neighbouring blocks that are left out together; refuses too few blocks.

    n_values : (n_blocks,) torque values in each block. The parts have about as many each, and
    none is without: blocks at rest, or wholly inside a dead band, join their neighbours.
    """
    counts = np.asarray(n_values, dtype=float)
    used = int(np.count_nonzero(counts))
    n = min(most, used)
    if n < MIN_GROUPS:
        raise EstimationError(
            f"{used} time blocks with torque values are too few to leave some out: {advice}"
        )
    # a block belongs to the part in which the middle of its values lies
    middle = (np.cumsum(counts) - 0.5 * counts) / counts.sum()
    part = np.minimum((middle * n).astype(np.int64), n - 1)
    groups = [np.flatnonzero(part == k) for k in range(n)]
    return [group for group in groups if len(group) and counts[group].sum() > 0]


def leave_blocks_out(
    rows: Array,
    n_values: Array,
    sigma: float,
    solve_all: Callable[[Array], Array],
    believable: Callable[[float, float], Believable],
    search: GammaSearch = USUAL_SEARCH,
) -> GammaChoice:
    """The largest weights whose fits predict left-out blocks as well as the best ones.

    rows : (n_blocks, n_base + 1, n_base + 1) weighted factors. n_values : (n_blocks,) torque
    values in each. solve_all : from rows of (gamma, weight of terms, weight of each block) to rows
    of base parameters, NaN where a solve failed. believable : whether the bodies and the terms of
    the fit with these weights are about as close to the prior as their weights predict; if this
    holds for no weight, the one with the best prediction is chosen.
    """
    n_blocks = len(rows)
    advice = "record for longer, or give gamma (100 is a usual weight)"
    groups = parts_of(n_values, advice, search.n_groups)

    def scores(pairs: Sequence[tuple[float, float]]) -> Array:
        """Scores (n_pairs, n_groups) of pairs of gamma and the weight of terms."""
        tasks = np.ones((len(pairs) * len(groups), 2 + n_blocks))
        for k, ((gamma, terms), group) in enumerate((p, g) for p in pairs for g in groups):
            tasks[k, :2] = gamma, terms
            tasks[k, 2 + group] = 0.0
        betas = solve_all(tasks).reshape(len(pairs), len(groups), -1)
        return np.array([left_out_scores(rows, n_values, sigma, groups, one) for one in betas])

    first = scores([(gamma, usual_term_weight(gamma)) for gamma in search.coarse])
    good, _ = as_good_as_the_best(first, INDIFFERENT)
    centre = search.coarse[int(np.flatnonzero(good).max())]
    of_terms = scores([(centre, terms) for terms in search.terms])
    _, errors = as_good_as_the_best(of_terms, TIE)
    means = of_terms.mean(axis=1)
    near = means <= (1.0 + TIE) * np.nanmin(means)
    fine = [k for k in np.flatnonzero(near) if believable(centre, search.terms[k]).terms]
    terms = search.terms[int(max(fine, default=np.nanargmin(means)))]
    term_trials = tuple(
        Trial(centre, float(mean), float(error), bool(tied), weight)
        for weight, mean, error, tied in zip(search.terms, means, errors, near, strict=True)
    )
    found = scores([(gamma, terms) for gamma in search.fine])
    good, errors = as_good_as_the_best(found, INDIFFERENT)
    trials = tuple(
        Trial(gamma, float(np.mean(score)), float(error), bool(fine), terms)
        for gamma, score, error, fine in zip(search.fine, found, errors, good, strict=True)
    )
    chosen = min((t for t in trials if t.as_good), key=lambda t: t.score)
    for trial in reversed(trials):
        if trial.as_good and believable(trial.gamma, terms).bodies:
            chosen = trial
            break
    return GammaChoice(chosen.gamma, "leave-blocks-out", terms, trials, term_trials)


def left_out_scores(
    rows: Array, n_values: Array, sigma: float, groups: Sequence[NDArray[np.int64]], betas: Array
) -> list[float]:
    """Mean squared residual of each group of blocks under the parameters found without it."""
    return [
        float(np.sum((rows[group, :, :-1] @ beta - rows[group, :, -1]) ** 2))
        / (sigma**2 * float(n_values[group].sum()))
        for beta, group in zip(betas, groups, strict=True)
    ]


def as_good_as_the_best(scores: Array, same: float) -> tuple[NDArray[np.bool_], Array]:
    """Which rows of scores (n, n_groups) are as good as the best one, and the standard error
    (n,) of each row's difference from it.

    As good: the mean difference over the groups is at most one standard error, or a share ``same``
    of the best mean.
    """
    means = scores.mean(axis=1)
    if not np.isfinite(means).any():
        raise EstimationError("all fits to parts of the time blocks failed")
    best = int(np.nanargmin(means))
    away = scores - scores[best]
    errors = np.std(away, axis=1, ddof=1) / np.sqrt(scores.shape[1])
    good = away.mean(axis=1) <= np.maximum(errors, same * means[best])
    return np.isfinite(means) & good, np.asarray(errors)


def l_curve(misfits: Sequence[float], divergences: Sequence[float]) -> GammaChoice:
    """The corner of the curve of log misfit against log divergence, over `GRID`."""
    x, y = np.log10(np.maximum(misfits, 1e-300)), np.log10(np.maximum(divergences, 1e-12))
    curvature = np.zeros(len(GRID))
    for k in range(1, len(GRID) - 1):
        before = np.array([x[k] - x[k - 1], y[k] - y[k - 1]])
        behind = np.array([x[k + 1] - x[k], y[k + 1] - y[k]])
        chord = np.linalg.norm(before) * np.linalg.norm(behind) * np.linalg.norm(before + behind)
        # with growing gamma first the divergence falls, then the misfit grows: a left turn
        turn = before[0] * behind[1] - before[1] * behind[0]
        curvature[k] = 2.0 * turn / chord if chord > 0 else 0.0
    trials = tuple(Trial(g, float(c), float("nan")) for g, c in zip(GRID, curvature, strict=True))
    corner = int(np.argmax(curvature))
    if curvature[corner] < NO_CORNER:  # the largest gamma that does not raise the misfit
        cheap = np.asarray(misfits) <= (1.0 + SAME) * min(misfits)
        corner = int(np.flatnonzero(cheap).max())
    return GammaChoice(GRID[corner], "l-curve", usual_term_weight(GRID[corner]), trials)
