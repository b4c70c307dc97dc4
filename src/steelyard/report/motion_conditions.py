"""Poses, surroundings and settings of a designed motion, as pairs for a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from steelyard.excitation.collision.surroundings import Obstacle
from steelyard.excitation.designed import DesignedMotion
from steelyard.excitation.motions.sequence import SequenceTrajectory
from steelyard.report.numbers import percent, significant


def setting_rows(designed: DesignedMotion) -> list[tuple[str, str]]:
    """The settings of the design, and what it took."""
    rows = [
        (name.removesuffix("_s").removesuffix("_hz").replace("_", " "), _setting(name, value))
        for name, value in asdict(designed.settings).items()
        if designed.settings.uses(name)
    ]
    rows.append(("time taken", f"{designed.seconds:.3g} s, {designed.evaluations} evaluations"))
    return rows


def condition_rows(designed: DesignedMotion) -> list[tuple[str, str]]:
    """Where the motion begins and ends, what stands still, and what it keeps away from."""
    conditions = designed.conditions
    begin, end = end_poses(designed)
    rows = [
        ("begins at", f"{pose_words(begin)} ({_asked(conditions.start)})"),
        ("ends at", f"{pose_words(end)} ({_asked(conditions.end)})"),
    ]
    if conditions.still:
        rows.append(("stand still", pose_words(conditions.still)))
    leads = lead_times(designed)
    if leads:
        seconds = " and ".join(f"{b - a:.3g} s" for a, b in leads)
        rows.append(("from and to rest", f"{seconds}, at the begin and the end of the run"))
    if conditions.clearance_m is None:
        rows.append(("collision", "not checked"))
    else:
        around = conditions.surroundings
        floor = "none" if around.ground_m is None else f"at {significant(around.ground_m)} m"
        rows += [
            ("clearance", f"{significant(conditions.clearance_m)} m"),
            ("floor", floor),
            ("obstacles", "; ".join(map(obstacle_words, around.obstacles)) or "none"),
            ("SRDF", around.srdf or "none"),
        ]
    rows.append(("parameters for torques", f"those of {conditions.reference}"))
    if conditions.after is not None:
        rows.append(("known before", f"from {conditions.after}"))
    return rows


def end_poses(designed: DesignedMotion) -> tuple[dict[str, float], dict[str, float]]:
    """Positions (rad or m) by joint at which the run begins and ends."""
    q = designed.trajectory.derivative(np.array([0.0, designed.duration_s]), 0)
    first, last = (dict(zip(designed.joints, row.tolist(), strict=True)) for row in q)
    return first, last


def lead_times(designed: DesignedMotion) -> list[tuple[float, float]]:
    """(begin, end) in s of what leads into and out of the motion that was optimised."""
    run = designed.trajectory
    if not isinstance(run, SequenceTrajectory):
        return []
    spans = zip(run.parts, run.begins[:-1].tolist(), run.begins[1:].tolist(), strict=True)
    return [(begin, end) for part, begin, end in spans if part is not designed.core]


def pose_words(pose: Mapping[str, float]) -> str:
    """A pose as the option --start takes it."""
    return ",".join(f"{joint}={position:.4g}" for joint, position in pose.items())


def obstacle_words(obstacle: Obstacle) -> str:
    """An obstacle in the words of the option --obstacle, where it stands upright."""
    solid = obstacle.solid
    centre = ",".join(f"{x:g}" for x in solid.pose[:3, 3])
    size = f"{0.5 * solid.size[0]:g}" if solid.kind == "sphere" else ""
    return f"{solid.kind}:{centre}:{size or ','.join(f'{x:g}' for x in solid.size)}"


def _asked(pose: Mapping[str, float] | None) -> str:
    return "chosen by the design" if pose is None else "given"


def _setting(name: str, value: Any) -> str:
    if value is None:
        return "default"
    if name == "share":
        return f"{percent(value)} of every limit"
    shown = f"{value:g}" if isinstance(value, float) else str(value)
    unit = " s" if name.endswith("_s") else " Hz" if name.endswith("_hz") else ""
    return shown + unit
