"""Which terms the data need: fits with and without them, compared by cross-validation.

Every candidate is a set of kinds of terms. All are fitted to the factors of one model with every
term, with terms outside the set at zero, the same weights and the same prior. They are compared by
how well they predict groups of time blocks that were left out (as for gamma, see
`steelyard.estimators.prior_weight`) and by the Bayesian information criterion on all data,

    BIC = n_e log(|residual|² / n) + k log n_e,

with n_e the effective number of torque values: n over the ratio of cluster-robust to classical
variances.

Of the candidates that predict as well as the best, the one with the fewest parameters is advised.
The advice changes nothing: the terms stay those of the model, and a finding states the advice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import Block, linear_block
from steelyard.estimators.constrained import System, weighted_system
from steelyard.estimators.drawn_fits import DrawnFits, drawn_factors
from steelyard.estimators.entropic import Metric, usual_term_weight
from steelyard.estimators.estimate_record import TermComparison, TermTrial
from steelyard.estimators.parallel.workers import solve_all
from steelyard.estimators.prior_fit import problem_of, sizes_of
from steelyard.estimators.prior_weight import (
    SAME,
    as_good_as_the_best,
    left_out_scores,
    parts_of,
)
from steelyard.estimators.size_rules import FEWER_PARTS, has_many, n_parts
from steelyard.findings import Finding
from steelyard.knowledge.constraint_blocks import blocks
from steelyard.knowledge.constraints import Constraints
from steelyard.knowledge.prior import Prior
from steelyard.model.model import Model
from steelyard.model.term_kinds import TERM_KINDS, TERM_NAMES, default_kinds, term_kind
from steelyard.regression.regression import Regression

Array = NDArray[np.float64]

MOST_SETS = 6
"""Sets of terms that are compared for a robot with many parameters: its own, all, and all without
one kind each."""


def compare_terms(
    wide: Model,
    regression: Regression,
    prior: Prior,
    constraints: Constraints | None = None,
    *,
    gamma: float,
    term_weight: float | None = None,
    metric: Metric = "entropic",
    stated: Collection[str] | None = None,
    system: System | None = None,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> TermComparison:
    """Compare sets of terms on the factors of ``wide``, the model with every term.

    prior : for that model. stated : names of the term columns of the model in use; all if None.
    system : the weighted data, if they are at hand.
    """
    system = weighted_system(wide, regression) if system is None else system
    given = blocks(wide, constraints or Constraints())
    columns = {c.name: (i, c.kind) for i, c in enumerate(wide.columns) if c.kind != "rigid_body"}
    names = set(columns) if stated is None else set(stated)
    candidates = _candidates(columns, names)
    if has_many(len(wide.columns)):
        candidates = candidates[:MOST_SETS]
    counts = regression.counts.sum(axis=1).astype(float)
    factors = drawn_factors(regression, system.weights, system.factor)
    if has_many(len(wide.columns)):
        parts = parts_of(counts, most=FEWER_PARTS)
        factors = factors.joined(parts)
        counts = np.array([counts[part].sum() for part in parts])
    groups = parts_of(counts, most=n_parts(len(wide.columns)))
    draws = np.ones((len(groups) + 1, 2 + len(counts)))
    draws[:, 0] = gamma
    draws[:, 1] = usual_term_weight(gamma) if term_weight is None else term_weight
    for row, group in zip(draws, groups, strict=False):
        row[2 + group] = 0.0
    total = len(candidates) * len(draws)
    sizes = sizes_of(wide, system, prior, given)
    scores, squares = [], []
    for k, kept in enumerate(candidates):
        dropped = [i for name, (i, _) in columns.items() if name not in kept]
        problem = problem_of(wide, sizes, (*given, *_left_out(dropped)), prior)
        fits = DrawnFits(problem, factors, system.sigma, regression.base.K, metric)

        def done(count: int, before: int = k * len(draws)) -> None:
            if progress is not None:
                progress(before + count, total)

        betas = solve_all(fits.base_parameters, draws, threads, done)
        scores.append(left_out_scores(factors.small, counts, system.sigma, groups, betas[:-1]))
        squares.append(float(np.sum((system.factor @ np.append(betas[-1], -1.0)) ** 2)))
    good, errors = as_good_as_the_best(np.array(scores), SAME)
    effective = max(regression.n_rows / system.dependence, 2.0)
    trials = tuple(
        TermTrial(
            kinds=_kinds_of(columns[name][1] for name in kept),
            stated=kept == names,
            n_terms=len(kept),
            score=float(np.mean(score)),
            standard_error=float(error),
            as_good=bool(fine),
            bic=float(
                effective * np.log(max(square, np.finfo(float).tiny) / regression.n_rows)
                + len(kept) * np.log(effective)
            ),
        )
        for kept, score, error, fine, square in zip(
            candidates, scores, errors, good, squares, strict=True
        )
    )
    fewest = min((t for t in trials if t.as_good), key=lambda t: (t.n_terms, t.score))
    return TermComparison(trials, fewest)


def _candidates(columns: dict[str, tuple[int, str]], stated: set[str]) -> list[set[str]]:
    """The model's own set; all terms; all without one kind; those of a torque sensor at the link;
    only friction; only constant torques (offsets); only friction that jumps at zero speed.
    """
    present = _kinds_of(kind for _, kind in columns.values())
    kinds: list[Collection[str]] = [present]
    kinds += [[kind for kind in present if kind != gone] for gone in present]
    kinds += [
        default_kinds("link"),
        [kind.name for kind in TERM_KINDS if kind.is_friction],
        [kind.name for kind in TERM_KINDS if kind.response == "constant"],
        [kind.name for kind in TERM_KINDS if kind.jumps_at_zero_speed],
    ]
    out = [stated]
    for chosen in kinds:
        names = {name for name, (_, kind) in columns.items() if kind in chosen}
        if names not in out:
            out.append(names)
    return out


def _kinds_of(kinds: Iterable[str]) -> tuple[str, ...]:
    """These kinds, each once, in the order of the registry."""
    present = set(kinds)
    return tuple(name for name in TERM_NAMES if name in present)


def _left_out(dropped: Sequence[int]) -> tuple[Block, ...]:
    if not dropped:
        return ()
    n = len(dropped)
    return (linear_block(None, dropped, np.eye(n), np.zeros(n), "zero"),)


def term_findings(found: TermComparison) -> tuple[Finding, ...]:
    """A finding where the data contradict the terms, or do not need all of them."""
    stated, advised = found.stated, found.advised
    times = float(np.sqrt(advised.score / stated.score)) if stated.score > 0 else 1.0
    error = f"the error on parts of the data that were left out is {_times_words(times)}"
    how = f"terms = {json.dumps(advised.kinds)} in a TOML file (--overlay FILE)"
    more = [term_kind(kind).description for kind in advised.kinds if kind not in stated.kinds]
    less = [term_kind(kind).description for kind in stated.kinds if kind not in advised.kinds]
    if not stated.as_good and more:
        return (
            Finding(
                "warning",
                "terms-contradicted",
                f"the data contradict the terms of the joints ({_listed(stated.kinds)}): with "
                f"{' and '.join(more)} ({_listed(advised.kinds)}) {error}; check where torque is "
                f"measured (--torque motor or --torque link), or state {how}",
            ),
        )
    if less and not more:
        link_side = set(advised.kinds) <= set(default_kinds("link"))
        hint = ", or if torque is measured at the link side of the gears give --torque link"
        return (
            Finding(
                "info",
                "terms-not-needed",
                f"the data do not need {' and '.join(less)}: with {_listed(advised.kinds)} alone "
                f"{error}. The result and the files made of it contain {' and '.join(less)} all "
                f"the same; to identify without, state {how}{hint if link_side else ''}",
            ),
        )
    return ()


def _times_words(times: float) -> str:
    """How an error compares with that of the terms in use."""
    if abs(times - 1.0) < 0.005:
        return "the same"
    return f"{100.0 * abs(times - 1.0):.0f} % {'smaller' if times < 1.0 else 'larger'}"


def _listed(kinds: Sequence[str]) -> str:
    return ", ".join(kinds) if kinds else "none"
