"""The weights of a prior, chosen on the training data.

leave-blocks-out   Stretches of time and regions of the motion are left out in turn, and predicted
                   by the fit to the rest.
l-curve            The corner of log misfit against log divergence: the point of largest
                   curvature or, without a corner, the largest gamma that does not raise the
                   misfit.

Parts of one motion resemble each other more than they resemble another motion: their errors hardly
grow where a weak pull lets undetermined parameters drift. Weights are therefore judged by

    mean log(left-out error²) + DOUBT (ln² (gamma / gamma0) + ln² (terms / terms0))

gamma0 and terms0 are what inertials that are wrong by `SPREAD`, and terms of the size that the data
show, deserve beside as many independent residuals as the data have. The mean is over the parts, so
that one in which a fit extrapolates far does not decide alone. The second part is bounded, so that
clear evidence always wins, and a choice at the end of a grid makes the grid longer. No pull at all
is judged in the same way. The simplest fit, the file's own links with fitted terms, is taken
wherever it predicts better than what was found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import EstimationError
from steelyard.estimators.drawn_fits import DrawnFactors
from steelyard.estimators.entropic import LEAST_PULL, TERM_WEIGHT, usual_gamma
from steelyard.estimators.size_rules import FEWER_PARTS, PARTS, has_many

Array = NDArray[np.float64]
GammaRule = Literal["leave-blocks-out", "l-curve"]
GAMMA_RULES = get_args(GammaRule)

GRID = tuple(float(f"{10.0**power:.3g}") for power in np.arange(-1.0, 5.01, 0.5))
"""Values of gamma that are tried; gamma = 1 has the weight of two residuals of one sigma."""
NO_PULL = 1e-4
"""A gamma that only makes unique what the data leave open."""
FILE = 1e8
"""A gamma that leaves every body at its prior: only the terms are fitted."""
STEPS = (1e-2, 10.0**-1.5, 0.1, 10.0**-0.5, 1.0, 10.0**0.5, 10.0, 10.0**1.5, 1e2)
"""Weights of the terms that are tried, over `terms0`."""
WIDER, LARGEST = 10.0**0.5, 1e8
"""Factor by which a grid grows where its largest value is chosen, and the largest value."""
DOUBT = 0.06
"""By how much the log of the left-out error² must fall for weights that are a factor e from the
usual ones: recorded arms, a short simulated log and tuning seeds of ``never-loses`` chose it."""
FARTHEST = np.log(100.0) ** 2
"""ln² from which on weights are all equally far from the usual ones."""
GROUPS = PARTS
"""Groups of blocks that are left out in turn: half of them stretches of time, half regions."""
MIN_GROUPS = 3
NO_CORNER = 0.1
"""Curvature (per decade) below which an l-curve has no corner."""
SAME = 0.02
"""Increase of the squared error that counts as none: of a set of terms, or along an l-curve."""


@dataclass(frozen=True)
class GammaSearch:
    """Which weights are tried, and on how many groups of blocks.

    coarse : values of gamma for which the weight of the terms is chosen. steps : weights of the
    terms, over the usual one. fine : values of gamma among which one is chosen. n_groups : that
    are left out in turn.
    """

    coarse: tuple[float, ...]
    steps: tuple[float, ...]
    fine: tuple[float, ...]
    n_groups: int

    @property
    def n_fits(self) -> int:
        """About the number of fits to parts of the data: grids may grow, and some pairs recur."""
        return (len(self.coarse) + len(self.steps) + len(self.fine)) * self.n_groups


USUAL_SEARCH = GammaSearch(GRID[::2], STEPS, (NO_PULL, *GRID, FILE), GROUPS)
QUICK_SEARCH = GammaSearch(GRID[::4], STEPS[::2], (NO_PULL, *GRID[::2], FILE), FEWER_PARTS)
"""For robots with many parameters: fewer fits, on a grid twice as wide."""


def search_for(n_columns: int) -> GammaSearch:
    """The search for a model with so many parameters."""
    return QUICK_SEARCH if has_many(n_columns) else USUAL_SEARCH


@dataclass(frozen=True)
class Trial:
    """One gamma that was tried, with the weight of the terms.

    score : mean squared residual of left-out blocks, in units of the noise, of a typical group
        (the geometric mean over them); for the l-curve the curvature. standard_error : of the
        difference from the smallest score, over the groups; NaN for the l-curve. as_good :
        whether it predicts as well as the best.
    """

    gamma: float
    score: float
    standard_error: float
    as_good: bool = False
    terms: float | None = None


@dataclass(frozen=True)
class Rival:
    """What a user could have had without the choice, and how well it predicts left-out blocks.

    name : "no pull", a fit with the constraints alone; or "file", the bodies of the prior with
    fitted terms. score : as in `Trial`. ratio : its error over that of the choice.
    """

    name: Literal["no pull", "file"]
    score: float
    ratio: float


@dataclass(frozen=True)
class GammaChoice:
    """The chosen weights, the rule that chose them ("given" if the user did), and the trials.

    gamma : of the bodies. terms : of friction, drive inertia and offsets.
    term_trials : those among which the weight of the terms was chosen. score : of the choice, as in
    `Trial`; None where nothing was compared. rivals : simpler fits that lost.
    """

    gamma: float
    rule: str
    terms: float
    trials: tuple[Trial, ...] = ()
    term_trials: tuple[Trial, ...] = ()
    score: float | None = None
    rivals: tuple[Rival, ...] = ()


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


@dataclass(frozen=True)
class _Usual:
    """Weights that are usual for data with residuals of which one in ``dependence`` counts."""

    dependence: float

    @property
    def gamma(self) -> float:
        return usual_gamma(self.dependence)

    @property
    def terms(self) -> float:
        return _rounded(TERM_WEIGHT * self.dependence)

    def cost(self, trial: Trial) -> float:
        """What is minimised; infinite where a fit failed."""
        if not np.isfinite(trial.score):
            return np.inf
        away = [
            min(np.log(value / usual) ** 2, FARTHEST)
            for value, usual in ((trial.gamma, self.gamma), (trial.terms or LEAST_PULL, self.terms))
        ]
        return float(np.log(max(trial.score, np.finfo(float).tiny)) + DOUBT * sum(away))

    def best(self, trials: Sequence[Trial]) -> Trial:
        """The trial with the smallest cost."""
        return min(trials, key=self.cost)


def leave_blocks_out(
    rows: Array,
    n_values: Array,
    sigma: float,
    groups: Sequence[NDArray[np.int64]],
    solve_all: Callable[[Array], Array],
    dependence: float,
    search: GammaSearch = USUAL_SEARCH,
) -> GammaChoice:
    """The weights that predict left-out blocks best, usual ones unless others do clearly better.

    rows : (n_blocks, n_base + 1, n_base + 1) weighted factors. n_values : (n_blocks,) torque
    values in each. groups : blocks that are left out together. solve_all : from rows of (gamma,
    weight of terms, weight of each block) to rows of base parameters, NaN where a solve failed.
    dependence : how many residuals count as one independent residual; at least the smallest
    left-out error, since noise that only some parts have is no noise but an error of the model.
    """
    n_blocks = len(rows)
    known: dict[tuple[float, float], Array] = {}

    def trials(pairs: Sequence[tuple[float, float]]) -> tuple[Trial, ...]:
        """Pairs of gamma and the weight of terms, with their scores."""
        missing = [pair for pair in dict.fromkeys(pairs) if pair not in known]
        if missing:
            tasks = np.ones((len(missing) * len(groups), 2 + n_blocks))
            for k, (pair, group) in enumerate((p, g) for p in missing for g in groups):
                tasks[k, :2] = pair
                tasks[k, 2 + group] = 0.0
            betas = solve_all(tasks).reshape(len(missing), len(groups), -1)
            for pair, one in zip(missing, betas, strict=True):
                known[pair] = np.array(left_out_scores(rows, n_values, sigma, groups, one))
        scores = np.array([known[pair] for pair in pairs])
        good, errors = as_good_as_the_best(scores, SAME)
        return tuple(
            Trial(gamma, _typical(score), float(error), bool(fine), terms)
            for (gamma, terms), score, error, fine in zip(pairs, scores, errors, good, strict=True)
        )

    terms = _Usual(dependence).terms
    coarse = trials([(gamma, terms) for gamma in search.coarse])
    least = min(trial.score for trial in coarse if np.isfinite(trial.score))
    usual = _Usual(max(dependence, least))
    gamma = usual.best(coarse).gamma
    steps = tuple(_rounded(step * usual.terms) for step in search.steps)
    term_trials = _widened(
        (LEAST_PULL, *steps), lambda some: trials([(gamma, one) for one in some]), usual.best
    )
    terms = float(usual.best(term_trials).terms or 0.0)
    tried = trials([(gamma, terms) for gamma in search.fine])
    chosen = usual.best(tried)
    none, file, chosen = trials([(NO_PULL, LEAST_PULL), (FILE, LEAST_PULL), (chosen.gamma, terms)])
    chosen = file if file.score < chosen.score else usual.best([chosen, none])
    return GammaChoice(
        chosen.gamma,
        "leave-blocks-out",
        float(chosen.terms or 0.0),
        tried,
        term_trials,
        chosen.score,
        _rivals(chosen, none, file),
    )


def _rivals(chosen: Trial, none: Trial, file: Trial) -> tuple[Rival, ...]:
    """The two simpler fits, where they have a solution and were not chosen."""
    named: tuple[tuple[Literal["no pull", "file"], Trial], ...] = (
        ("no pull", none),
        ("file", file),
    )
    return tuple(
        Rival(name, one.score, float(np.sqrt(one.score / chosen.score)))
        for name, one in named
        if np.isfinite(one.score)
        and chosen.score > 0.0
        and (one.gamma, one.terms) != (chosen.gamma, chosen.terms)
    )


def _typical(scores: Array) -> float:
    """The geometric mean: a region far from all others, where a fit has to extrapolate, counts as
    one part among several, however large its error is.
    """
    return float(np.exp(np.mean(np.log(np.maximum(scores, np.finfo(float).tiny)))))


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


def _widened(
    values: tuple[float, ...],
    tried: Callable[[Sequence[float]], tuple[Trial, ...]],
    best: Callable[[Sequence[Trial]], Trial],
) -> tuple[Trial, ...]:
    """The trials of these values; while the largest is the best, of larger ones, too.

    The smallest value needs no such step: it is no pull at all.
    """
    while True:
        trials = tried(values)
        if best(trials) is not trials[-1] or values[-1] * WIDER**2 > LARGEST:
            return trials
        values = (*values, *(_rounded(values[-1] * WIDER**k) for k in (1, 2)))


def groups_of(factors: DrawnFactors, n_values: Array, n_groups: int) -> list[NDArray[np.int64]]:
    """Blocks that are left out together: stretches of time, and regions of the motion.

    factors : of the blocks. n_values : (n_blocks,) torque values in each. A region has about as
    many values as a stretch. Of fewer than eight blocks, or groups, there are no regions.
    """
    advice = "record for longer, or give gamma (100 is a usual weight)"
    if n_groups < PARTS or np.count_nonzero(n_values) < PARTS:
        return parts_of(n_values, advice, n_groups)
    place = factors.main_difference()
    order = np.argsort(place, kind="stable")
    regions = [order[part] for part in parts_of(n_values[order], advice, n_groups // 2)]
    return [*parts_of(n_values, advice, n_groups // 2), *regions]


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


def l_curve(misfits: Sequence[float], divergences: Sequence[float], terms: float) -> GammaChoice:
    """The corner of the curve of log misfit against log divergence, over `GRID`.

    terms : weight of the terms, the same at every gamma.
    """
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
    return GammaChoice(GRID[corner], "l-curve", terms, trials)
