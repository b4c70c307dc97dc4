"""Sequential, refined and simultaneous fits of chains and trees of 5 to 200 links.

Random robots with friction and drive inertia, 40 random states, noise of a tenth of each joint's
torque. Every fit starts from the triangular factor of all rows and the conditions of the model;
making these is not part of the time. Times are processor time of one thread. A gap is the objective
(half the squared residuals of the compressed rows, in units of the noise, plus the weak pull) above
that of the simultaneous optimum, as a share of it.

    sequential     one pass from the leaves to the root
    refined        the pass, then sweeps until the gap is proven to be at most 0.1 %, with proofs
    simultaneous   all links at once, by the interior-point method of the default estimator
    clarabel       the same by Clarabel, up to 100 links
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from contender import say
from goals import Goal

NAME = "scale"
DESCRIPTION = "sequential, refined and simultaneous fits of chains and trees up to 200 links"
SIZES = (5, 10, 20, 50, 100, 200)
FITTED = (10, 20, 50, 100, 200)
SEED = 2026
CLARABEL_UP_TO = 100
GOALS = (
    Goal("sequential_exponent", "<=", 1.3),
    Goal("sequential_s_200", "<=", 2.0),
    Goal("refined_gap_50", "<=", 1e-3),
    Goal("simultaneous_s_50", "<=", 0.2),
    Goal("simultaneous_s_100", "<=", 0.9),
)


def measure() -> dict[str, float | None]:
    """Times and gaps of every size and kind; without a kind in its name, the worse of both."""
    return figures(SIZES)


def figures(sizes: tuple[int, ...]) -> dict[str, float | None]:
    """The figures of these sizes."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))
    from threadpoolctl import threadpool_limits

    found: dict[str, float | None] = {}
    with threadpool_limits(limits=1, user_api="blas"):
        of_kind = {
            kind: {n: one_size(n, chain=kind == "chain") for n in sizes}
            for kind in ("chain", "tree")
        }
    for kind, by_size in of_kind.items():
        for n, one in by_size.items():
            found.update({f"{kind}_{name}_{n}": value for name, value in one.items()})
        found[f"{kind}_sequential_exponent"] = exponent(by_size, "sequential_s")
        found[f"{kind}_refined_exponent"] = exponent(by_size, "refined_s")
        found[f"{kind}_simultaneous_exponent"] = exponent(by_size, "simultaneous_s")
    for n in sizes:
        for name in ("sequential_s", "refined_s", "refined_gap", "simultaneous_s"):
            found[f"{name}_{n}"] = max(of_kind[kind][n][name] for kind in of_kind)
    found["sequential_exponent"] = max(found[f"{kind}_sequential_exponent"] for kind in of_kind)
    return found


def exponent(by_size: dict[int, dict[str, float]], name: str) -> float | None:
    """Slope of log time over log size, by least squares, from 10 links on."""
    import numpy as np

    used = [n for n in by_size if n in FITTED]
    if len(used) < 2:
        return None
    seconds = [by_size[n][name] for n in used]
    return float(np.polyfit(np.log(used), np.log(seconds), 1)[0])


def one_size(n_links: int, *, chain: bool) -> dict[str, float]:
    """Times and gaps of one robot."""
    from linkwise_fits import simultaneous, timed
    from linkwise_problems import random_tree

    from steelyard.conic.solver import solve
    from steelyard.estimators.sequential.inward import fit_inward
    from steelyard.estimators.sequential.links import layout_of, links_of
    from steelyard.estimators.sequential.refined import refine
    from steelyard.model.typical_sizes import typical_parameters

    say(f"{'a chain' if chain else 'a tree'} of {n_links} links")
    begun = time.process_time()
    tree = random_tree(SEED, n_links, chain=chain, noise=0.1, n_samples=40, prismatic=0.0)
    out: dict[str, float] = {"setup_s": time.process_time() - begun}
    given, weak, typical = tree.given, tree.weak, typical_parameters(tree.model)
    layout = layout_of(tree.model, tree.base)
    repeats = 5 if n_links <= 20 else 2

    def sequential():
        return fit_inward(tree.R, tree.z, tree.K, links_of(layout, typical, given, weak))

    def refined():
        return refine(tree.R, tree.z, tree.K, links_of(layout, typical, given, weak))

    def together():
        return simultaneous(tree.R, tree.z, tree.K, links_of(layout, typical, given, weak))

    out["sequential_s"], pass_fit = timed(sequential, repeats)
    out["refined_s"], best = timed(refined, repeats)
    out["simultaneous_s"], (optimum, _) = timed(together, 1 if n_links > 100 else repeats)
    if n_links <= CLARABEL_UP_TO:
        out["clarabel_s"], solution = timed(
            lambda: solve(tree.problem), 1 if n_links > 50 else repeats
        )
        optimum = min(optimum, solution.value)
    size = max(optimum, 1.0)
    out["sequential_gap"] = (best.stages[0].value - optimum) / size
    out["sequential_proven_gap"] = best.stages[0].relative_gap
    out["refined_gap"] = (best.stages[-1].value - optimum) / size
    out["refined_proven_gap"] = best.stages[-1].relative_gap
    out["sweeps"] = float(best.n_sweeps)
    out["optimum"] = optimum
    out["largest_step"] = float(max(n for _, n in pass_fit.step_sizes))
    say(", ".join(f"{name} {value:.3g}" for name, value in out.items()))
    return out
