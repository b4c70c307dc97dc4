"""The solvers that make estimates, by the names that results state."""

from __future__ import annotations

from typing import Literal

SolverName = Literal[
    "triangular", "interior-point", "clarabel", "linkwise", "linkwise-clarabel", "manifold"
]

SOLVER_WORDS: dict[SolverName, str] = {
    "triangular": "solved directly from the triangular factor",
    "interior-point": "solved by the interior-point method, all links at once",
    "clarabel": "solved by Clarabel, all links at once",
    "linkwise": "solved by the interior-point method, a few links at a time",
    "linkwise-clarabel": "solved by the interior-point method, a few links at a time, and by "
    "Clarabel where that did not converge",
    "manifold": "solved by descent on the manifold of physical robots",
}
"""What each one does."""

Weighting = Literal["ols", "wls"]
"""All joints with the same weight, or each by its own noise."""
