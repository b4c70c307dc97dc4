"""Payloads at the flange from joint torques, and drive gains with only the payload's mass known.

The built-in arm with seven joints, friction and drives moves for 20 s without and for 20 s with a
cuboid of random shape, place and direction on its tool, of 0.1, 0.5, 2 and 5 kg. Torques have noise
of 2 % (rms) through a 10 Hz low-pass; positions are rounded as by an encoder, and each run starts
from the logs. Coverage is pooled over masses and over all values: mass, centre of mass, inertia
about it, and the ten parameters about the origin.

Gains: the arm with six joints of `drive_gains`, two pairs of runs with different motions and the
same gains. Intervals of both pairs must hold the gains, and overlap.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from time import process_time

from contender import say

MASSES = (0.1, 0.5, 2.0, 5.0)
N_BODIES = 15
N_KNOWN_ARM = 4
N_PAIRS = 20


def joints_figures() -> dict[str, float | None]:
    """Coverage, errors and widths of the payload at the flange."""
    _import_helpers()
    import numpy as np
    from weighing_runs import PROCESSING, WeighingRuns, true_values

    from steelyard.identification.identify import identify
    from steelyard.identification.payload import weigh_payload_joints

    world = WeighingRuns()
    inside, known_arm, seconds = [], [], []
    figures: dict[str, float | None] = {}
    for mass in MASSES:
        say(f"payload at the flange, {mass:g} kg")
        errors, widths = [], []
        for seed in range(N_BODIES):
            phi, empty, loaded = world.drawn(mass, seed)
            begin = process_time()
            found = weigh_payload_joints(world.robot, loaded, empty=empty, processing=PROCESSING)
            seconds.append(process_time() - begin)
            true = true_values(phi)
            inside.append(_inside(found.values, true))
            errors.append([value.value - t for value, t in zip(found.values[:4], true[:4])])
            widths.append([0.5 * (value.upper - value.lower) for value in found.values[:4]])
            if seed < N_KNOWN_ARM:
                arm = identify(
                    world.robot,
                    empty,
                    method="wls",
                    processing=PROCESSING,
                    compare_terms=False,
                    certify=False,
                )
                known = weigh_payload_joints(world.robot, loaded, arm=arm)
                known_arm.append(_inside(known.values, true))
        rms = np.sqrt(np.mean(np.square(errors), axis=0))
        half = np.mean(widths, axis=0)
        name = f"{mass:g}kg"
        figures[f"joints_mass_rmse_kg_{name}"] = float(rms[0])
        figures[f"joints_mass_half_width_kg_{name}"] = float(half[0])
        figures[f"joints_com_rmse_mm_{name}"] = float(1e3 * np.sqrt(np.mean(rms[1:] ** 2)))
        figures[f"joints_com_half_width_mm_{name}"] = float(1e3 * np.mean(half[1:]))
    return {
        "joints_coverage": float(np.mean(inside)),
        "joints_mass_coverage": float(np.mean(np.array(inside)[:, 0])),
        "joints_known_arm_coverage": float(np.mean(known_arm)),
        "joints_runs": len(inside),
        "joints_seconds": float(np.median(seconds)),
        **figures,
    }


def gains_figures() -> dict[str, float | None]:
    """Coverage and agreement of drive gains where only the payload's mass is known."""
    _import_helpers()
    import numpy as np
    from payload_runs import PROCESSING, PayloadRuns

    from steelyard.identification.drive_gains import identify_gains
    from steelyard.knowledge.payload import Payload

    first = PayloadRuns(rate_hz=100.0)
    worlds = (first, replace(first, motions=(3, 4)))
    mass = float(first.payload.inertial[0])
    only_mass = Payload.of(first.payload.link, mass)
    point = Payload.of(first.payload.link, mass, np.zeros(3), np.zeros((3, 3)))
    inside, agree, half, as_point = [], [], [], []
    for seed in range(N_PAIRS):
        if seed % 10 == 0:
            say(f"gains, pair {seed} of {N_PAIRS}")
        pair = []
        for k, world in enumerate(worlds):
            truth, empty, loaded = world.drawn(seed, noise_seed=2 * seed + k)
            logs = world.robot, empty, loaded
            gains = identify_gains(*logs, only_mass, processing=PROCESSING).gains
            inside += [g.lower <= t <= g.upper for g, t in zip(gains, truth, strict=True)]
            half.append([0.5 * (g.upper - g.lower) / g.gain for g in gains])
            pair.append(gains)
            if seed == 0:
                wrong = identify_gains(*logs, point, processing=PROCESSING).gains
                as_point += [g.lower <= t <= g.upper for g, t in zip(wrong, truth, strict=True)]
        agree += [
            max(a.lower, b.lower) <= min(a.upper, b.upper) for a, b in zip(*pair, strict=True)
        ]
    return {
        "gains_mass_only_coverage": float(np.mean(inside)),
        "gains_pairs_agree": float(np.mean(agree)),
        "gains_half_width_percent_widest_joint": float(100.0 * np.mean(half, axis=0).max()),
        "gains_half_width_percent_narrowest_joint": float(100.0 * np.mean(half, axis=0).min()),
        "gains_point_at_origin_coverage": float(np.mean(as_point)),
        "gains_pairs": N_PAIRS,
    }


def _inside(values, true) -> list[bool]:
    """Whether each interval holds the true value; a value without limits holds any."""
    return [
        value.lower is None or value.upper is None or bool(value.lower <= t <= value.upper)
        for value, t in zip(values, true, strict=True)
    ]


def _import_helpers() -> None:
    folder = str(Path(__file__).resolve().parents[1] / "tests" / "helpers")
    if folder not in sys.path:
        sys.path.insert(0, folder)


if __name__ == "__main__":
    for key, figure in {**joints_figures(), **gains_figures()}.items():
        print(f"{key:45} {figure:.5g}")
