"""300 designs on ten real robots looked at again, and 100 tasks that must be refused.

Designs have random limits, periods, numbers of harmonics, criteria, seeds, poses and still joints
(`design_cases`), one round of search each. At 10 kHz, positions, speeds, accelerations, jerks and
torques are compared with the limits and with the proven bounds (`design_recheck`): ``violations``
counts designs with anything outside. ``refusals`` counts random tasks for which no motion was
found; other tasks take their place.

``refused`` counts, of 100 impossible tasks of some 20 kinds (`impossible_designs`), those that are
refused by a Steelyard error that names the joint or the limit.

``collision_designs`` motions, one for each robot whose solids can be read, keep a clearance of
1 cm from the robot itself and, where it stands on one, from the ground; ``collision_violations``
counts those where MuJoCo, on the same solids and pairs, finds less at 200 Hz.
``collision_margin_mm`` is the smallest distance that it finds above the clearance.

STEELYARD_DESIGNS=20 makes 20 designs, and two with collisions, for a quick look.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from contender import say
from goals import Goal

NAME = "designs"
DESCRIPTION = "300 designed motions of ten robots, limits looked at again; 100 impossible tasks"
N_DESIGNS = 300
N_IMPOSSIBLE = 100
CLEARANCE_M = 0.01
COLLISION_RATE_HZ = 200.0
MEASURED_M = 1e-6
"""By how much MuJoCo's distance may be below the true one."""
GOALS = (
    Goal("violations", "<=", 0.0),
    Goal("refused", ">=", float(N_IMPOSSIBLE)),
    Goal("collision_violations", "<=", 0.0),
)


def measure() -> dict[str, float | None]:
    """All counts."""
    count = int(os.environ.get("STEELYARD_DESIGNS", N_DESIGNS))
    return {
        **impossible_figures(),
        **design_figures(count),
        **collision_figures(10 if count >= N_DESIGNS else 2),
    }


def design_figures(count: int) -> dict[str, float | None]:
    """Designs, looked at again at 10 kHz."""
    from design_cases import model_of, random_case
    from design_recheck import violations

    from steelyard.errors import SteelyardError

    designed, refusals, violated, not_proven = 0, 0, 0, 0
    seconds: list[float] = []
    number = 0
    while designed < count and number < 2 * count:
        case = random_case(number)
        what = f"design {number}, {case.robot}, {case.settings.criterion}"
        number += 1
        started = perf_counter()
        try:
            motion = case.design()
        except SteelyardError as refusal:
            refusals += 1
            say(f"{what}: refused: {refusal}")
            continue
        seconds.append(perf_counter() - started)
        designed += 1
        found = violations(model_of(case.robot), motion)
        violated += bool(found)
        not_proven += not motion.holds
        say(f"{what}: {seconds[-1]:.1f} s{''.join('; ' + one for one in found)}")
    return {
        "designs": float(designed),
        "violations": float(violated),
        "not_proven": float(not_proven),
        "refusals": float(refusals),
        "mean_design_s": sum(seconds) / max(1, len(seconds)),
    }


def impossible_figures() -> dict[str, float | None]:
    """Tasks that must be refused, with the joint or limit named."""
    from impossible_designs import impossible_designs

    from steelyard.errors import SteelyardError

    refused, accepted, unnamed, tracebacks = 0, 0, 0, 0
    for task in impossible_designs(N_IMPOSSIBLE):
        try:
            task.attempt()
        except SteelyardError as refusal:
            if all(name in str(refusal) for name in task.named):
                refused += 1
            else:
                unnamed += 1
                say(f"{task.kind}, {task.robot}: does not name {task.named}: {refusal}")
        except Exception as error:
            tracebacks += 1
            say(f"{task.kind}, {task.robot}: {type(error).__name__}: {error}")
        else:
            accepted += 1
            say(f"{task.kind}, {task.robot}: accepted")
    return {
        "refused": float(refused),
        "accepted": float(accepted),
        "refused_without_name": float(unnamed),
        "tracebacks": float(tracebacks),
    }


def collision_figures(count: int) -> dict[str, float | None]:
    """Motions that keep a clearance, looked at again by MuJoCo; absent without coal or MuJoCo."""
    import importlib.util

    names = ("collision_designs", "collision_violations", "collision_margin_mm")
    if any(importlib.util.find_spec(name) is None for name in ("coal", "mujoco", "pinocchio")):
        say("absent: coal, MuJoCo or Pinocchio")
        return dict.fromkeys(names)
    margins = list(collision_margins(count))
    return dict(
        zip(
            names,
            (
                float(len(margins)),
                float(sum(margin < -MEASURED_M for margin in margins)),
                1e3 * min(margins) if margins else None,
            ),
            strict=True,
        )
    )


def collision_margins(count: int) -> Iterator[float]:
    """Smallest distance above the clearance (m) of one design for each robot with solids."""
    from collision_recheck import smallest_distance
    from design_cases import (
        BUDGET_S,
        ON_THE_GROUND,
        ROBOTS,
        example_files,
        model_of,
        stated_limits,
    )

    from steelyard.errors import SteelyardError
    from steelyard.excitation.collision.collision import collision_model
    from steelyard.excitation.design import design_motion
    from steelyard.excitation.design_settings import DesignSettings

    done = 0
    for number, name in enumerate(ROBOTS):
        if done == count:
            return
        urdf, model = example_files()[name], model_of(name)
        started = perf_counter()
        try:
            collision = collision_model(
                urdf,
                model.robot,
                ground=-0.001 if name in ON_THE_GROUND else None,
                clearance_m=CLEARANCE_M,
                package_folders=[package_folder(urdf)],
            )
            settings = DesignSettings(
                period_s=10.0,
                harmonics=3,
                rounds=1,
                seed=number,
                budget_s=BUDGET_S,
                rate_hz=1000.0,
                share=1.0,
            )
            motion = design_motion(model, stated_limits(name), settings, collision=collision)
        except SteelyardError as refusal:
            say(f"collision, {name}: refused: {refusal}")
            continue
        found = smallest_distance(
            urdf, model.robot, collision, motion.trajectory, COLLISION_RATE_HZ
        )
        done += 1
        say(
            f"collision, {name}: {len(collision.pairs)} pairs, {perf_counter() - started:.0f} s, "
            f"smallest distance {1e3 * found:.2f} mm"
        )
        yield found - CLEARANCE_M


def package_folder(urdf: Path) -> Path:
    """The folder that holds the packages whose meshes the files of example-robot-data name."""
    return next(folder for folder in urdf.parents if folder.name == "example-robot-data").parent
