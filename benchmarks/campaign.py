"""Constrained fits on 2,000 random noisy problems: is every result exactly physical?

Chains of 2 to 7 links with a signal-to-noise ratio of 0 to 60 dB; 30 % of the motions leave
parameters undetermined (a joint does not move, or there are few samples), some true parameters are
not physical, some links are massless by constraint. Every standard parameter is checked in
rational arithmetic on the digits that are written.

Where the truth is physical, the fit is repeated without the default bound on bodies, and what the
data do not determine must stay within 40 typical parameters of the prior (`runaways`); with the
bound, no such fit may reach it (`bounded`), and every fit that does must say so (`untold`).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from contender import say
from goals import Goal

NAME = "campaign"
DESCRIPTION = "2,000 random noisy problems: violations in exact arithmetic, failures, divergence"
N_PROBLEMS = 2000
GOALS = (
    Goal("violations", "<=", 0.0),
    Goal("unexplained_failures", "<=", 0.0),
    Goal("runaways", "<=", 0.0),
    Goal("bounded", "<=", 0.0),
    Goal("untold", "<=", 0.0),
)


def measure() -> dict[str, float | None]:
    """Counts over all problems, and the largest parameter in units of the prior's scale."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))
    from random_problems import judge, random_problem

    totals = dict.fromkeys(
        ("violations", "unexplained_failures", "runaways", "bounded", "untold", "refusals"), 0
    )
    kinds: dict[str, int] = {}
    largest, share, moved = 0.0, 0.0, 0.0
    for seed in range(N_PROBLEMS):
        if seed % 200 == 0:
            say(f"problem {seed} of {N_PROBLEMS}")
        problem = random_problem(seed)
        kinds[problem.kind] = kinds.get(problem.kind, 0) + 1
        verdict: Any = judge(problem)
        for name in totals:
            totals[name] += getattr(verdict, name)
        largest = max(largest, verdict.largest)
        share = max(share, verdict.share_of_bound)
        moved = max(moved, verdict.moved)
    return {
        **{name: float(count) for name, count in totals.items()},
        **{f"problems_{kind}": float(count) for kind, count in sorted(kinds.items())},
        "largest_over_prior_scale": largest,
        "largest_share_of_bound": share,
        "largest_move_inside": moved,
    }
