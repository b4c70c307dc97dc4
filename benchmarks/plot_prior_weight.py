"""Plot the error on held-out data against the weight of the prior, for the docs.

    python benchmarks/plot_prior_weight.py [OUT.png]

The rows are those of the benchmark ``real``. The weight is chosen on the training data alone;
the curve is not used for that choice.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from contender import say
from real_rows import ROWS, Array, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OUT = Path(__file__).resolve().parents[1] / "docs" / "images" / "prior-weight.png"
SHOWN = ("kuka_run3", "ur10_first", "kinova_testing2", "tx40_second_half")
BLUE, GREY, ORANGE = "#1f5a96", "#8a8f98", "#d1661a"


def main(out: Path = OUT) -> None:
    """Compute the curves and write the picture."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from threadpoolctl import threadpool_limits

    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    figure, panels = plt.subplots(2, 2, figsize=(8.0, 5.6), sharex=True, layout="constrained")
    with threadpool_limits(limits=1, user_api="blas"):
        for row, axes in zip((r for r in ROWS if r.figure in SHOWN), panels.flat, strict=True):
            draw(axes, row)
    for axes in panels[-1]:
        axes.set_xlabel("gamma, weight of the prior")
    for axes in panels[:, 0]:
        axes.set_ylabel("error on the held-out run (%)")
    figure.legend(
        *panels.flat[0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=4,
        frameon=False,
    )
    out.parent.mkdir(exist_ok=True)
    figure.savefig(out, dpi=150)


def draw(axes: Axes, row: Row) -> None:
    """Error against gamma, the gammas that are as good on the training data, and the choice."""
    from steelyard.estimators.feasible import fit_feasible
    from steelyard.estimators.parallel.threads import available_threads
    from steelyard.estimators.prior_fit import fit_with_prior
    from steelyard.model.kernels import torque
    from steelyard.model.typical_sizes import known_parameters

    model = row.model()
    regression = row.compressed(model, model, available_threads())
    run, prior = row.held_out(model), row.prior(model)

    def error(theta: Array) -> float:
        return run.error(torque(model, theta, run.motion.q, run.motion.v, run.motion.a))

    chosen = fit_with_prior(model, regression, prior, threads=available_threads())
    trials = chosen.pull.choice.trials
    gammas = [trial.gamma for trial in trials]
    errors = [
        error(fit_with_prior(model, regression, prior, gamma=gamma).theta) for gamma in gammas
    ]
    feasible = error(fit_feasible(model, regression, prior=known_parameters(model)).theta)
    pairs = ", ".join(f"{g:g}: {e:.2f}" for g, e in zip(gammas, errors, strict=True))
    say(f"{row.title}: {pairs}; feasible {feasible:.2f}; chosen {chosen.pull.gamma:g}")

    good = [(t.gamma, e) for t, e in zip(trials, errors, strict=True) if t.as_good]
    at = (chosen.pull.gamma, error(chosen.theta))
    axes.axhline(feasible, color=GREY, lw=1.0, ls="--", label="feasible (no prior)")
    axes.semilogx(gammas, errors, "o-", color=BLUE, ms=4.5, mfc="white", label="entropic")
    axes.semilogx(
        *zip(*good, strict=True), "o", color=BLUE, ms=4.5, label="as good on training data"
    )
    axes.semilogx(*at, "D", color=ORANGE, ms=8, label="chosen", zorder=5)
    axes.annotate(
        f"{at[1]:.1f} %", at, xytext=(0, 10), textcoords="offset points", ha="center", color=ORANGE
    )
    axes.set_title(row.title, fontsize=9.5, loc="left")
    axes.set_ylim(0, 1.15 * max(*errors, feasible))
    axes.grid(alpha=0.25)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
