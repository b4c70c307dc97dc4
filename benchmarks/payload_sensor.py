"""Bodies of random shape on a force/torque sensor of the virtual arm: errors and intervals.

0.1, 0.5, 2 and 5 kg; noise of 0.2 N and 0.01 N m (rms) at 500 Hz, bias up to 5 N and 0.3 N m, 20 s
of a random sum of sines, encoders with noise of 1e-5 rad, differentiated. Part of `payload`.
"""

from __future__ import annotations

from itertools import product

from contender import say
from goals import Goal

SEEDS = range(100, 130)
TURNED_SEEDS = range(100, 160)
TURN_DEGREES = 3.0
GOALS = (
    Goal("ft_coverage", ">=", 0.93),
    Goal("ft_coverage", "<=", 0.97),
    Goal("ft_rmse_over_cramer_rao", "<=", 1.5),
    Goal("ft_mass_error_percent", "<=", 0.5),
    Goal("ft_com_error_mm", "<=", 2.0),
    Goal("ft_bias_coverage", ">=", 0.93),
    Goal("ft_rotation_coverage", ">=", 0.93),
)


def sensor_figures() -> dict[str, float | None]:
    """Coverage, errors over the Cramér-Rao bound, and the largest errors from 0.5 kg up."""
    import numpy as np
    from sensor_runs import MASSES, sensor_run

    from steelyard.payload.on_sensor import weigh_on_sensor

    held: list[bool] = []
    bias_held: list[bool] = []
    labelled = 0
    ratios = {mass: [] for mass in MASSES}
    mass_errors, com_errors = [], []
    for seed in SEEDS:
        if seed % 10 == 0:
            say(f"payload on a sensor: seed {seed}")
        for mass in MASSES:
            run = sensor_run(seed, mass)
            estimate = weigh_on_sensor([(run.motion, run.wrench)])
            error = np.array([value.value for value in estimate.values]) - run.truth
            ratios[mass].append(error / run.cramer_rao())
            labelled += sum(value.at_boundary for value in estimate.values)
            held += _held(estimate.values, run.truth)
            bias_held += _held(estimate.others, run.bias)
            if mass >= 0.5:
                mass_errors.append(abs(error[0]) / mass)
                com_errors.append(np.abs(error[1:4]).max())
    figures: dict[str, float | None] = {
        "ft_coverage": float(np.mean(held)),
        "ft_values": len(held),
        "ft_at_boundary": labelled / (labelled + len(held)),
        "ft_bias_coverage": float(np.mean(bias_held)),
        "ft_mass_error_percent": 100.0 * max(mass_errors),
        "ft_com_error_mm": 1000.0 * float(max(com_errors)),
    }
    parts = {"mass": slice(0, 1), "com": slice(1, 4), "inertia": slice(4, 10)}
    for mass, found in ratios.items():
        for name, part in parts.items():
            rms = float(np.sqrt(np.mean(np.square(np.array(found)[:, part]))))
            figures[f"ft_rmse_over_cramer_rao_{name}_{mass:g}kg"] = rms
    figures["ft_rmse_over_cramer_rao"] = max(
        value for name, value in figures.items() if name.startswith("ft_rmse") and value is not None
    )
    return figures | _turned_sensor()


def _turned_sensor() -> dict[str, float | None]:
    """How often the intervals of a rotation of 3 degrees, and of the bias with it, hold it."""
    import numpy as np
    from sensor_runs import sensor_run

    from steelyard.payload.on_sensor import weigh_on_sensor

    bias_held: list[bool] = []
    turn_held: list[bool] = []
    errors = []
    for seed, mass in product(TURNED_SEEDS, (0.5, 2.0, 5.0)):
        run = sensor_run(seed, mass, turn_degrees=TURN_DEGREES)
        others = weigh_on_sensor([(run.motion, run.wrench)], rotation=True).others
        bias_held += _held(others[:6], run.bias)
        turn_held += _held(others[6:], run.turn)
        errors.append(np.linalg.norm([v.value for v in others[6:]] - run.turn))
    return {
        "ft_rotation_coverage": float(np.mean(turn_held)),
        "ft_rotation_bias_coverage": float(np.mean(bias_held)),
        "ft_rotation_error_degrees": float(np.degrees(max(errors))),
    }


def _held(values, truth) -> list[bool]:
    """Whether the intervals of values that are not at the boundary hold the truth."""
    return [
        bool(value.lower <= true <= value.upper)
        for value, true in zip(values, truth, strict=True)
        if value.kind == "confidence" and not value.at_boundary
    ]
