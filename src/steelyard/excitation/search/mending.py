"""Mend a motion that a proof found beyond its limits: the nearest one that keeps them.

A search looks at torques and distances at samples, and a good motion goes to their very limits
there, so that it is often a little beyond them in between. What it is short of, under limits that
are a little tighter and at denser samples, is descended:

    minimise    sum over samples max(0, r0 - room)²

where room is zero at a limit of torque or distance. A motion that is only smaller does not always
do: the pose that it moves about may be in the way itself. Where it does, the better one is taken.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.excitation.search._interior import minimise
from steelyard.excitation.search._objective import MotionPoint, shortfall
from steelyard.excitation.search.search import SearchProblem

Array = NDArray[np.float64]

MOST_USED = 0.999
"""Share of the limits of position, speed and acceleration from which a motion is mended."""
SMALLER = tuple(0.98**k for k in range(1, 16))
STEPS = 60
WEIGHT = 1e-9
"""Of the barriers of these limits: they only must be kept."""
FIRST_STEP = 0.01
"""Length of the first step at most, in coefficients, which are numbers near one: a long one would
end far from the motion that is mended."""


def mended(problem: SearchProblem, x: Array) -> Array | None:
    """The best motion near coefficients x that keeps torques and distances; None without any."""
    found = [y for y in (_moved(problem, x), _smaller(problem, x)) if y is not None]
    return min(found, key=problem.measure, default=None)


def _smaller(problem: SearchProblem, x: Array) -> Array | None:
    """The motion made smaller about its own pose until it is allowed."""
    for share in SMALLER:
        smaller = np.hstack([x[:, :1], share * x[:, 1:]])
        if problem.allows(smaller):
            return smaller
    return None


def _moved(problem: SearchProblem, x: Array) -> Array | None:
    """The motion descended to where it is short of nothing."""
    objective = problem.prices(shortfall)
    missing = np.inf
    inside = problem.basis.inside(x, MOST_USED)
    slope = float(np.linalg.norm(objective(inside).gradient()))

    def measured(y: Array) -> MotionPoint:
        nonlocal missing
        point = objective(y)
        missing = min(missing, point.value)
        return point

    found = minimise(
        measured,
        problem.basis.rows,
        inside,
        max(slope / FIRST_STEP, WEIGHT) * np.eye(x.size),
        weight=WEIGHT,
        iterations=STEPS,
        tolerance=WEIGHT,
        stop=lambda: missing <= 0.0,
    )
    return found.x if problem.allows(found.x) else None
