"""The simulations of Gautier and Khalil (1992): optimum points for a three-joint robot.

The robot of Table 1, positions within ± pi/2 rad, speeds within ± 0.7 rad/s, g = 9.81 m/s², and
the energy model with the 15 base columns of Table 6, not scaled. Points are designed for r = 15,
20 and 30 rows as in the paper, and for 50 and 100, where its optimisation failed, with a budget of
10 s each; a motion of fifth-degree moves goes through those of r = 30. Every table is printed
(on standard error) beside the paper's numbers.
"""

from __future__ import annotations

from contender import say
from goals import Goal

NAME = "gautier-khalil"
DESCRIPTION = "Gautier and Khalil 1992: condition numbers of random and of designed points"
BUDGET_S = 10.0
ACCELERATION = 3.0  # rad/s², which the paper does not state
GROUPS = 20
DRAWS = 25
GOALS = (
    Goal("gk_cond_r15", "<=", 53.0),
    Goal("gk_cond_r20", "<=", 30.0),
    Goal("gk_cond_r30", "<=", 11.0),
    Goal("gk_seconds_largest", "<=", 10.5),
    Goal("gk_random_means_inside", ">=", 8.0),
    Goal("gk_motion_limits_broken", "<=", 0.0),
)


def measure() -> dict[str, float | None]:
    """Condition numbers, S and seconds of the designs, and how the tables come out."""
    import gautier_khalil_tables as tables

    figures = tables.table_2_random(GROUPS)
    designs = tables.designs(BUDGET_S)
    say("r, condition (paper), S (paper), with equilibrium: condition and S, seconds")
    for r, (design, balanced) in designs.items():
        paper = tables.OPTIMUM.get(r, (None, None))
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
    figures["gk_seconds_largest"] = max(d.seconds for pair in designs.values() for d in pair)
    for r in (30, 15):
        figures |= tables.noise_tables(r, designs[r][0], DRAWS)
        figures |= tables.sigma_tables(r, designs[r][0])
    figures |= tables.motion(BUDGET_S, ACCELERATION)
    tables.appendix()
    return figures


def finite(value: float) -> float | None:
    """The value, or None for an infinite one, which JSON does not have."""
    return value if value < float("inf") else None
