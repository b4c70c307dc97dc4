"""The tables of Gautier and Khalil (1992), computed again and printed beside the paper's."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from contender import say

from steelyard.excitation.extremes import check_limits
from steelyard.excitation.points.perturbation import measurement_error_bound, solution_sigma
from steelyard.excitation.points.point_design import (
    OPTIMISERS,
    PointDesign,
    PointSettings,
    design_points,
)
from steelyard.excitation.points.point_motion import design_point_motion

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))

from gautier_khalil_paper import (
    NOISE,
    NOISE_TABLES,
    OPTIMUM,
    PARAMETERS,
    RANDOM,
    RANDOM_USED,
    SIGMA,
    SIGMA_NOISE,
    X,
    limits,
    matrix,
    model,
    noisy_identification,
    random_conditions,
    random_sequence_like,
)

Figures = dict[str, float | None]


def table_2_random(groups: int) -> Figures:
    """Table 2: means of ten random sequences; how many of the eight lie in the paper's range."""
    say("Table 2: r, mean of ten (paper's smallest, mean, largest), share of means inside")
    inside = 0
    shares = []
    for r, (low, mean, high) in RANDOM.items():
        means = random_conditions(r, 10 * groups, seed=1).reshape(groups, 10).mean(axis=1)
        within = (means >= low) & (means <= high)
        inside += bool(within[0])
        shares.append(within.mean())
        say(f"{r:4d} {means[0]:9.4g} ({low:.4g} {mean:.4g} {high:.4g}) {within.mean():.2f}")
    return {"gk_random_means_inside": inside, "gk_random_share_inside": float(np.mean(shares))}


def designs(budget_s: float) -> dict[int, tuple[PointDesign, PointDesign]]:
    """For each r: points of least condition number, and of least sum with the equilibrium S."""
    robot_model, bounds = model(), limits()
    # compiling is not part of the search
    design_points(robot_model, bounds, PointSettings(15, n_starts=1, budget_s=0.01))
    found = {}
    for r in (15, 20, 30, 50, 100):
        found[r] = (
            design_points(robot_model, bounds, PointSettings(r, budget_s=budget_s)),
            design_points(
                robot_model, bounds, PointSettings(r, measure="balanced", budget_s=budget_s)
            ),
        )
    return found


def table_2_optimum(found: dict[int, tuple[PointDesign, PointDesign]]) -> Figures:
    """Table 2: condition number of designed points, with their S, and the seconds they took."""
    figures: Figures = {}
    say("Table 2: r, condition (paper), S (paper), with S in the criterion: both; seconds")
    for r, (design, balanced) in found.items():
        paper = OPTIMUM.get(r, (None, None))
        say(
            f"{r:4d} {design.condition:8.3f} ({paper[0]}) {design.equilibrium:10.3g} ({paper[1]})  "
            f"{balanced.condition:8.3f} {balanced.equilibrium:8.4g}  {design.seconds:.1f} s"
        )
        figures |= {
            f"gk_cond_r{r}": design.condition,
            f"gk_s_r{r}": finite(design.equilibrium),
            f"gk_balanced_cond_r{r}": balanced.condition,
            f"gk_balanced_s_r{r}": finite(balanced.equilibrium),
            f"gk_seconds_r{r}": design.seconds,
        }
    seconds = max(design.seconds for pair in found.values() for design in pair)
    return figures | {"gk_seconds_largest": seconds}


def finite(value: float) -> float | None:
    """The value, or None for an infinite one, which JSON does not have."""
    return value if np.isfinite(value) else None


def contenders(budget_s: float) -> Figures:
    """Section 4.3: r = 30 by the three methods and by the three measures that the paper compares,
    with the same budget. The methods use the measure that the paper found best.
    """
    figures: Figures = {}
    say("r = 30 by other methods (measure of eq 21) and measures: condition, evaluations")
    for optimiser in OPTIMISERS[1:]:
        settings = PointSettings(30, measure="frobenius", optimiser=optimiser, budget_s=budget_s)
        found = design_points(model(), limits(), settings)
        say(f"  {optimiser:12s} {found.condition:9.2f} {found.evaluations}")
        figures[f"gk_{optimiser.replace('-', '_')}_cond_r30"] = found.condition
    for measure in ("qr", "frobenius"):
        settings = PointSettings(30, measure=measure, budget_s=budget_s)
        found = design_points(model(), limits(), settings)
        say(f"  {measure:12s} {found.condition:9.2f} {found.evaluations}")
        figures[f"gk_{measure}_cond_r30"] = found.condition
    return figures


def noise_tables(r: int, design: PointDesign, draws: int) -> Figures:
    """Tables 3 to 5 (r = 30) or 8 to 10 (r = 15): medians of several draws of the noise.

    Also how often an error is above its bound, which must not be.
    """
    sequences = (design.points, random_sequence_like(r, RANDOM_USED[r]))
    first = {30: 3, 15: 8}[r]
    broken = 0
    for number, kind in enumerate(("Y", "W", "YW"), start=first):
        say(f"Table {number}, r = {r}, noise on {' and '.join(kind)}: |dY|/|Y|, |dW|/|W|, |dX|/|X|")
        for points, what, paper in zip(
            sequences, ("optimum", "random"), NOISE_TABLES[r][kind], strict=True
        ):
            for k, printed in zip(NOISE, paper, strict=True):
                rng = np.random.default_rng(int(1e4 * k))
                rows = [noisy_identification(points, kind, k, rng) for _ in range(draws)]
                broken += sum(row.error > row.bound for row in rows)
                sizes = [float(np.median([getattr(row, n) for row in rows])) for n in SIZES]
                bound = float(np.median([row.bound / row.error for row in rows]))
                say(
                    f"  {what:7s} k = {k:<5g} "
                    + "  ".join(
                        f"{ours:.3g} ({p:.3g})" for ours, p in zip(sizes, printed, strict=True)
                    )
                    + f"  bound / error {bound:.3g}"
                    + f"  cond(W + dW) {np.median([row.condition for row in rows]):.4g}"
                )
    return {f"gk_bounds_broken_r{r}": float(broken)}


SIZES = ("dY", "dW", "dX")


def sigma_tables(r: int, design: PointDesign) -> Figures:
    """Tables 6 and 7 (r = 30) or 11 and 12 (r = 15): estimates with their sigma."""
    robot_model = model()
    sequences = {
        "optimum": design.points,
        "random": random_sequence_like(r, RANDOM_USED[r]),
    }
    k = SIGMA_NOISE[r]
    figures: Figures = {}
    for number, (what, points) in zip(
        {30: (6, 7), 15: (11, 12)}[r], sequences.items(), strict=True
    ):
        W = matrix(robot_model, points.q, points.v)
        Y = W @ X
        noise = 0.25 * k * np.abs(Y).max()
        found = np.linalg.lstsq(
            W, Y + noise * np.random.default_rng(number).normal(size=r), rcond=None
        )[0]
        sigma = solution_sigma(W, noise)
        say(f"Table {number}, r = {r}, k = {k}: X, estimate, error, relative error, sigma (paper)")
        for row in zip(PARAMETERS, X, found, sigma, SIGMA[r, what], strict=True):
            name, true, estimate, own, printed = row
            say(
                f"  {name:5s} {true:8.4f} {estimate:8.4f} {true - estimate:8.4f} "
                f"{(true - estimate) / true:8.4f} {own:7.4f} ({printed:.4f})"
            )
        ratio = np.exp(np.mean(np.log(sigma / np.array(SIGMA[r, what]))))
        figures[f"gk_sigma_by_paper_r{r}_{what}"] = float(ratio)
    return figures


def motion(budget_s: float, acceleration: float) -> Figures:
    """Section 5: the motion through 31 points, from rest at zero to rest at zero."""
    bounds = limits(acceleration)
    found = design_point_motion(
        model(), bounds, PointSettings(30, budget_s=budget_s), rest=np.zeros(3)
    )
    say(f"motion of {found.motion.duration_s:.2f} s, {len(found.rounds)} searches:")
    for turn in found.rounds:
        say(
            f"  position ranges {np.round(turn.position_share, 3)}, speeds "
            f"{np.round(turn.velocity_share, 3)}: condition {turn.condition:.3f}, overshoot "
            f"{np.round(turn.overshoot, 4)} rad"
        )
    for joint in bounds.joints:
        mine = [i.rate for i in found.motion.intervals if i.joint == joint]
        say(
            f"  {joint}: speed limit met in {mine.count('velocity')} moves, acceleration limit in "
            f"{mine.count('acceleration')}"
        )
    checks = check_limits(found.motion.extremes, bounds)
    return {
        "gk_motion_cond_r30": found.design.condition,
        "gk_motion_s": found.motion.duration_s,
        "gk_motion_searches": len(found.rounds),
        "gk_motion_limits_broken": float(sum(not check.holds for check in checks)),
    }


def appendix() -> None:
    """The two examples of the appendix, in the norms that they use."""
    A = np.array([[4.1, 2.8], [9.7, 6.6]])
    Y, dY = np.array([4.1, 9.7]), np.array([0.01, 0.0])
    moved = np.linalg.solve(A, dY)
    say(
        f"example 1: |dX| / |X| = {np.abs(moved).sum():.4g} (1.63), bound "
        f"{measurement_error_bound(A, Y, dY, norm=1):.4g}, condition "
        f"{np.linalg.cond(A, 1):.5g} (2249.4)"
    )
    A, Y = np.diag([1.0, 1e-6]), np.array([1.0, 1e-6])
    for dY, paper in ((np.array([1e-6, 0.0]), "7.07e-07"), (np.array([0.0, 1e-6]), "0.707")):
        error = np.linalg.norm(np.linalg.solve(A, dY)) / np.sqrt(2.0)
        say(
            f"example 2: |dX| / |X| = {error:.3g} ({paper}), bound "
            f"{measurement_error_bound(A, Y, dY):.3g} (1)"
        )
