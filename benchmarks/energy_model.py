"""Energy and power models beside the torque model: errors, widths of intervals, coverage.

Two simulated arms and a recorded one. For each case, method and equation: ``error``, of the torques
of another motion, in percent of these torques; ``width``, of the intervals of base parameters, as a
multiple of those of the torque model (geometric mean); ``coverage``, the share of true base
parameters within their intervals of 95 %. The other motion of simulated arms has no noise, so that
the error is that of the parameters alone.

    small        two joints, 20 s, motion repeated after 10 s
    fast         the same arm, 40 s, three times as fast, positions with 1 mrad of noise
    seven        the built-in arm, 60 s, a motion that does not repeat itself
    seven_again  the built-in arm, 30 s, motion repeated after 10 s
    ur10         learned from the first two thirds of the recording, predicted on the last
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from contender import say
from goals import Goal, ratio
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))

if TYPE_CHECKING:
    from steelyard.identification.identify import Identification
    from steelyard.logs.log import Log
    from steelyard.model.model import Model
    from steelyard.signals.processing import Processing
    from steelyard.simulation.sensors import Sensors

NAME = "energy"
DESCRIPTION = "energy and power models beside the torque model: errors, intervals, coverage"
METHODS = {"fast": ("wls",)}
"""Methods of cases that have not all of `ALL_METHODS`."""
ALL_METHODS = ("wls", "entropic")
N_RESAMPLES = 100
EQUATIONS = ("torque", "energy", "power")
GOALS = (
    Goal("small_wls_energy_coverage", ">=", 0.85),
    Goal("seven_wls_energy_coverage", ">=", 0.85),
    Goal("fast_energy_over_torque_error", "<=", 1.0),
)
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Motions:
    """Sums of sines of one kind, and how an arm is recorded that follows them."""

    period_s: float
    n_harmonics: int
    duration_s: float
    rate_hz: float

    def log(self, model: Model, theta: Array, seed: int, sensors: Sensors | None = None) -> Log:
        """The log of one of them; without sensors, without noise."""
        from steelyard.excitation.fourier import multisine
        from steelyard.simulation.simulate import Controller, simulate

        trajectory = multisine(
            model.robot, period_s=self.period_s, n_harmonics=self.n_harmonics, seed=seed
        )
        return simulate(
            model,
            theta,
            trajectory,
            duration_s=self.duration_s,
            rate_hz=self.rate_hz,
            controller=Controller(kind="ideal"),
            sensors=sensors,
            seed=seed,
            name=f"run {seed}",
        )


@dataclass(frozen=True, eq=False)
class Case:
    """A robot, logs to learn from (each by itself), a log to predict, and the truth if known."""

    name: str
    model: Model
    logs: tuple[Log, ...]
    other: Log
    as_predicted: Processing
    theta: Array | None = None


def cases() -> list[Case]:
    """The simulated arms, and the recorded one where the data are."""
    from recorded import UR10, ur10_log, ur10_robot
    from robot_files import has_dataset
    from small_arm import URDF, true_theta

    from steelyard.model.model import Model
    from steelyard.robot.robot import Robot
    from steelyard.signals.processing import Processing
    from steelyard.simulation.builtin_arm import builtin_arm, builtin_truth
    from steelyard.simulation.simulate import Sensors

    small, seven = Model(Robot.from_urdf_text(URDF)), Model(builtin_arm())
    fine = Sensors(torque_noise=0.1, encoder_step=1e-4)
    noisy = Sensors(torque_noise=0.1, position_noise=1e-3)
    bandwidth = Sensors(torque_noise=0.2, torque_noise_bandwidth_hz=50.0, encoder_step=2e-5)
    exact = Processing(cutoff_hz=None, torque_filter="none", dead_band=None)
    found = []
    for name, model, theta, sensors, motions, seeds in (
        ("small", small, true_theta(small), fine, Motions(10.0, 5, 20.0, 100.0), (1, 2, 3)),
        ("fast", small, true_theta(small), noisy, Motions(10.0, 15, 40.0, 100.0), (1, 2, 3, 4)),
        ("seven", seven, builtin_truth(seven), bandwidth, Motions(60.0, 40, 60.0, 250.0), (1,)),
        (
            "seven_again",
            seven,
            builtin_truth(seven),
            bandwidth,
            Motions(10.0, 5, 30.0, 250.0),
            (1,),
        ),
    ):
        logs = tuple(motions.log(model, theta, seed, sensors) for seed in seeds)
        other = motions.log(model, theta, 77)
        found.append(Case(name, model, logs, other, exact, theta))
    if not has_dataset(UR10):
        say(f"no recordings '{UR10}'")
        return found
    logs = ur10_log("first two thirds"), ur10_log("last third")
    filtered = Processing(cutoff_hz=10.0, torque_filter="none", dead_band=None)
    found.append(Case("ur10", Model(ur10_robot()), logs[:1], logs[1], filtered))
    return found


def measure() -> dict[str, float | None]:
    """Every case by every method and equation."""
    figures: dict[str, float | None] = {}
    for case in cases():
        for method in METHODS.get(case.name, ALL_METHODS):
            widths: dict[str, Array] = {}
            for equation in EQUATIONS:
                found = [identified(case, log, method, equation) for log in case.logs]
                name = f"{case.name}_{method}_{equation}"
                figures[f"{name}_error"] = float(np.mean([error_of(case, one) for one in found]))
                widths[equation] = np.array([half_widths(one) for one in found])
                relative = np.log(widths[equation] / widths["torque"])
                figures[f"{name}_width"] = float(np.exp(np.nanmean(relative)))
                if case.theta is not None:
                    inside = [within(one, case.theta) for one in found]
                    figures[f"{name}_coverage"] = float(np.mean(inside))
                say(", ".join(f"{k} {v:.4g}" for k, v in figures.items() if k.startswith(name)))
    figures["fast_energy_over_torque_error"] = ratio(
        figures["fast_wls_energy_error"], figures["fast_wls_torque_error"]
    )
    return figures


def identified(case: Case, log: Log, method: str, equation: str) -> Identification:
    """One fit, with what the plain command chooses."""
    from steelyard.identification.identify import identify

    return identify(
        case.model.robot,
        log,
        equation=equation,
        method=method,
        compare_terms=False,
        ranges=False,
        certify=False,
        keep_first_run=False,
        n_resamples=N_RESAMPLES,
    )


def error_of(case: Case, found: Identification) -> float:
    """Error of the other log's torques in percent, on all samples, the same for all equations."""
    from steelyard.validation.held_out import validate_logs

    estimate = found.estimate
    held_out = validate_logs(
        found.model, estimate.base, estimate.beta, [case.other], case.as_predicted
    )
    return 100.0 * held_out.overall.prediction.relative_error_all


def half_widths(found: Identification) -> Array:
    """Half of each base parameter's interval (n_base,)."""
    return np.array([0.5 * (p.upper - p.lower) for p in found.estimate.parameters()])


def within(found: Identification, theta: Array) -> float:
    """Share of the true base parameters that are within their intervals."""
    truth = found.estimate.base.K @ theta
    parameters = zip(found.estimate.parameters(), truth, strict=True)
    return float(np.mean([p.lower <= x <= p.upper for p, x in parameters]))
