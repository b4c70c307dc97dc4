"""The problem of the benchmark `excitation`: the WAM in the envelope of its authors' motions.

Fourier series of order 5 with a period of 20 s (Sousa and Cortesão 2014), positions, speeds and
accelerations within what the four published motions use, condition number of the 69 unscaled base
columns, all torque rows with weight one, sign(v) in the Coulomb columns, 1,000 equidistant samples
of one period.

There are two robots with the same kinematics. `dh_wam` has the parameters in the frames of the
Denavit-Hartenberg table, as published; its condition number compares with the published one. The
robot file of `wam.write_urdf` has them in the joints' frames, where every contender can compute the
same columns.
"""

from __future__ import annotations

from math import pi
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from steelyard import Robot
    from steelyard.excitation.search.search import SearchProblem

Array = NDArray[np.float64]

PERIOD_S = 20.0
N_HARMONICS = 5
N_SAMPLES = 1000
LOWER = (-1.85, -1.0, -2.41, -0.51, -3.99, -1.3, -1.9)
UPPER = (2.3, 1.0, 2.34, 2.8, 0.9, 1.3, 2.1)
VELOCITY, ACCELERATION = 1.45, 2.2
N_BASE = 69
SMOOTH_SHARE = 0.05
"""Width of the smoothed Coulomb friction, as a share of the speed limit; for our gradients only."""
CONTENDER_GRID = 100
"""Points per period at which the contenders' limits are imposed, without anything for the time
between them: up to 1.2 % more room than we have, who prove the limits at all times."""
N_STARTS = 400
DENSE = 200_000
"""Points of one period at which limits are looked at again: 10 kHz."""


def dh_wam() -> Robot:
    """The WAM as a table of Denavit-Hartenberg parameters."""
    from steelyard import Robot

    right = pi / 2
    rows = (
        (-right, 0.0, 0.0),
        (right, 0.0, 0.0),
        (-right, 0.045, 0.55),
        (right, -0.045, 0.0),
        (-right, 0.0, 0.3),
        (right, 0.0, 0.0),
        (0.0, 0.0, 0.06),
    )
    table = [{"alpha": alpha, "a": a, "d": d} for alpha, a, d in rows]
    return Robot.from_dh(table, convention="standard", name="wam")


def search_problem(robot: Robot) -> SearchProblem:
    """What `steelyard.excitation.search.search` is given: unit noise, unscaled columns."""
    from steelyard import Model
    from steelyard.excitation.limits import MotionLimits
    from steelyard.excitation.search._objective import Safety
    from steelyard.excitation.search.criteria import criterion_named
    from steelyard.excitation.search.fourier_basis import FourierBasis
    from steelyard.excitation.search.information import Information
    from steelyard.excitation.search.search import SearchProblem
    from steelyard.model.base_map import base_map

    model = Model(robot)
    one = np.ones(model.nv)
    none = np.inf * one
    limits = MotionLimits(
        model.channels,
        np.array(LOWER),
        np.array(UPPER),
        VELOCITY * one,
        ACCELERATION * one,
        none,
        none,
    )
    smooth = model.with_widths(dict.fromkeys(model.channels, SMOOTH_SHARE * VELOCITY))
    columns = tuple(range(N_BASE))
    information, judge = (
        Information(each, base_map(each), columns, one, np.ones(N_BASE)) for each in (smooth, model)
    )
    return SearchProblem(
        FourierBasis(limits, PERIOD_S, N_HARMONICS),
        information,
        judge,
        criterion_named("condition"),
        Safety(np.zeros(N_BASE), none),
        (limits.middle,),
    )


def compile_kernels(problem: SearchProblem) -> None:
    """Compile what the search calls, so that no figure contains it."""
    still = [np.zeros((2, len(LOWER)))] * 3
    for information in (problem.information, problem.judge):
        table = information.table(*still)
        information.matrix(table)
        information.gradient(*still, np.zeros_like(table))


def random_starts(problem: SearchProblem, seed: int, count: int) -> Array:
    """Starts (count, n_joints, n_coefficients); the first twelve are those of the search's seed."""
    from steelyard.excitation.search.search import START_SHARES

    starts = []
    for k in range(count):
        rng = np.random.default_rng((seed, 0, k))
        centre = problem.centres[int(rng.integers(len(problem.centres)))]
        starts.append(problem.basis.random_start(rng, centre, START_SHARES[0]))
    return np.array(starts)


def independent_condition(problem: SearchProblem, x: Array) -> float:
    """Condition number of a motion from the singular values of its stacked regressor."""
    from steelyard.model.kernels import torque_regressor

    time = np.arange(N_SAMPLES) * PERIOD_S / N_SAMPLES
    motion = problem.basis.trajectory(x).evaluate(time)
    W = torque_regressor(problem.judge.model, motion.q, motion.v, motion.a)
    columns = list(problem.judge.base.independent)
    return float(np.linalg.cond(W[:, :, columns].reshape(-1, len(columns))))


def limit_use(problem: SearchProblem, x: Array) -> float:
    """Largest share of a limit that a motion uses, on a dense grid of one period."""
    trajectory = problem.basis.trajectory(x)
    limits = problem.basis.limits
    time = np.arange(DENSE) * PERIOD_S / DENSE
    position = (trajectory.derivative(time, 0) - limits.middle) / limits.half_range
    speed = trajectory.derivative(time, 1) / limits.velocity
    acceleration = trajectory.derivative(time, 2) / limits.acceleration
    return max(float(abs(each).max()) for each in (position, speed, acceleration))


def write_arrays(problem: SearchProblem, seed: int, path: Path) -> None:
    """Write what a contender needs to state the same problem without Steelyard.

    q = middle + shape0 @ (x * scale).T, v and a the same with shape1 and shape2; limits are
    rows[j] @ x[j] <= 1 for each joint j. columns : names of the 69 columns.
    """
    basis = problem.basis
    time = np.arange(N_SAMPLES) * PERIOD_S / N_SAMPLES
    grid = np.arange(CONTENDER_GRID) * PERIOD_S / CONTENDER_GRID
    limits = basis.limits
    rows = []
    for j, scale in enumerate(basis.scale):
        one = np.vstack(
            [
                basis.shapes(grid, order) * scale / limit[j]
                for order, limit in enumerate(
                    (limits.half_range, limits.velocity, limits.acceleration)
                )
            ]
        )
        rows.append(np.vstack([one, -one]))
    model, base = problem.judge.model, problem.judge.base
    np.savez(
        path,
        middle=limits.middle,
        scale=basis.scale,
        shapes=np.array([basis.shapes(time, order) for order in range(3)]),
        rows=np.array(rows),
        starts=random_starts(problem, seed, N_STARTS),
        columns=np.array([model.columns[k].name for k in base.independent]),
    )
