"""A real arm: do physical constraints help if the motion leaves parameters undetermined?

KUKA LWR4+ (recorded at IIT Genova): trained on run 1 alone, its first 500 samples left out; run 2
repeats the motion, run 3 is another, faster one. The velocities and accelerations are those that
were recorded with the data. Errors are relative torque norms in percent.
"""

from __future__ import annotations

import sys
from pathlib import Path

from goals import Goal

NAME = "kuka"
DESCRIPTION = "KUKA LWR4+, trained on run 1: error on runs 2 and 3 of OLS, CAD and the feasible fit"
GOALS = (
    Goal("feasible_run2", "<=", 2.2),
    Goal("feasible_run3", "<=", 5.8),
)
QUICK_GOALS = GOALS
SKIPPED = 500


def quick() -> dict[str, float | None]:
    """Everything: it takes two seconds."""
    return measure()


def measure() -> dict[str, float | None]:
    """Errors in percent; all absent if the data set is not available."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))
    from recorded import kuka_robot, kuka_run
    from robot_files import has_dataset

    if not has_dataset("kuka_lwr4_flobaroid"):
        names = ("ols", "wls", "feasible", "cad")
        return {f"{name}_run{run}": None for name in names for run in (2, 3)}

    import numpy as np

    from steelyard.estimators.feasible import fit_feasible
    from steelyard.estimators.least_squares import ols, wls
    from steelyard.model.kernels import torque
    from steelyard.model.model import Model
    from steelyard.regression.compress import compress
    from steelyard.validation.scores import predict_base

    model = Model(kuka_robot())
    runs = {run: kuka_run(run, SKIPPED) for run in (1, 2, 3)}
    regression = compress(model, *runs[1])
    fit = fit_feasible(model, regression, prior=model.prior_theta())

    def error(run: int, predicted: np.ndarray) -> float:
        tau = runs[run][1].tau
        return float(100.0 * np.linalg.norm(tau - predicted) / np.linalg.norm(tau))

    figures: dict[str, float | None] = {}
    for run in (2, 3):
        motion = runs[run][0]
        state = (motion.q, motion.v, motion.a)
        for name, estimator in (("ols", ols), ("wls", wls)):
            beta = estimator(regression).beta
            predicted = predict_base(model, regression.base, beta, motion)
            figures[f"{name}_run{run}"] = error(run, predicted)
        figures[f"feasible_run{run}"] = error(run, torque(model, fit.theta, *state))
        figures[f"cad_run{run}"] = error(run, torque(model, model.prior_theta(), *state))
    return figures
