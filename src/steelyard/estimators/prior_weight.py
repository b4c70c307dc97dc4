"""The weight gamma of a prior, chosen on the training data.

leave-blocks-out   Cross-validation: the time blocks are put into groups of neighbours, and each
                   group is predicted by the fit to all others. Of all gammas that predict as
                   well as the best one, the largest is chosen for which the bodies are not
                   further from the prior than gamma predicts.
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

Array = NDArray[np.float64]
GammaRule = Literal["leave-blocks-out", "l-curve"]
GAMMA_RULES = get_args(GammaRule)

GRID = tuple(float(f"{10.0**power:.3g}") for power in np.arange(-1.0, 5.01, 0.5))
"""Values of gamma that are tried; gamma = 1 has the weight of two residuals of one sigma."""
GROUPS = 8
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
class Trial:
    """One gamma that was tried.

    score : mean squared residual of left-out blocks, in units of the noise; for the l-curve
        the curvature. standard_error : of the difference from the smallest score, over the
        groups; NaN for the l-curve. as_good : whether it predicts as well as the best.
    """

    gamma: float
    score: float
    standard_error: float
    as_good: bool = False


@dataclass(frozen=True)
class GammaChoice:
    """The chosen weight, the rule that chose it ("given" if the user did), and the trials."""

    gamma: float
    rule: str
    trials: tuple[Trial, ...] = ()

    @property
    def at_edge(self) -> Literal["smallest", "largest"] | None:
        """Whether the choice is the smallest or largest value that was tried."""
        if len(self.trials) < 2:
            return None
        if self.gamma == self.trials[0].gamma:
            return "smallest"
        return "largest" if self.gamma == self.trials[-1].gamma else None


def groups_of(n_blocks: int) -> list[Array]:
    """Indices of neighbouring blocks that are left out together."""
    n = min(GROUPS, n_blocks)
    if n < MIN_GROUPS:
        raise EstimationError(
            f"{n_blocks} time blocks are too few to leave some out: record for longer, or give "
            "gamma (100 is a usual weight)"
        )
    return [np.asarray(part) for part in np.array_split(np.arange(n_blocks), n)]


def leave_blocks_out(
    rows: Array,
    n_values: Array,
    sigma: float,
    solve_all: Callable[[Array], Array],
    believable: Callable[[float], bool],
) -> GammaChoice:
    """The largest gamma whose fits predict left-out blocks as well as the best one's.

    rows : (n_blocks, n_base + 1, n_base + 1) weighted factors. n_values : (n_blocks,) torque
    values in each. solve_all : from rows of (gamma, weight of each block) to rows of base
    parameters, NaN where a solve failed. believable : whether the bodies of the fit with a gamma
    are as close to the prior as that gamma predicts; if this holds for no gamma, the one with the
    best prediction is chosen.
    """
    n_blocks = len(rows)
    groups = groups_of(n_blocks)
    tasks = np.ones((len(GRID) * len(groups), 1 + n_blocks))
    for k, (gamma, group) in enumerate((gamma, group) for gamma in GRID for group in groups):
        tasks[k, 0] = gamma
        tasks[k, 1 + group] = 0.0
    betas = solve_all(tasks).reshape(len(GRID), len(groups), -1)
    scores = [left_out_scores(rows, n_values, sigma, groups, found) for found in betas]
    good, errors = as_good_as_the_best(np.array(scores), INDIFFERENT)
    trials = tuple(
        Trial(gamma, float(np.mean(score)), float(error), bool(fine))
        for gamma, score, error, fine in zip(GRID, scores, errors, good, strict=True)
    )
    for trial in reversed(trials):
        if trial.as_good and believable(trial.gamma):
            return GammaChoice(trial.gamma, "leave-blocks-out", trials)
    best = min((t for t in trials if t.as_good), key=lambda t: t.score)
    return GammaChoice(best.gamma, "leave-blocks-out", trials)


def left_out_scores(
    rows: Array, n_values: Array, sigma: float, groups: Sequence[Array], betas: Array
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
    return GammaChoice(GRID[corner], "l-curve", trials)
