"""A designed motion as one offline HTML page: curves against limits, proofs, what it determines."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.excitation.designed import DesignedMotion
from steelyard.excitation.motion_factors import model_motion
from steelyard.excitation.predicted import RULE, VERDICT_WORDS, PredictedParameter
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.report._environment import template_environment
from steelyard.report._motion_figures import Panel, motion_figure
from steelyard.report.content import shortened
from steelyard.report.limit_cells import BOUNDED, UNITS, LimitCell, bound_rows
from steelyard.report.motion_conditions import condition_rows, lead_times, setting_rows
from steelyard.report.numbers import percent, significant
from steelyard.report.page import data_uri

Array = NDArray[np.float64]

DRAWN_PER_SECOND = 200.0
MOST_DRAWN = 20_000
BAR_WIDTH = 130
BAR_FROM, BAR_TO = 1e-3, 10.0
"""Ends of the logarithmic axis of the bars: half widths relative to the parameter's size."""


@dataclass(frozen=True)
class WrittenFile:
    """A file that was written beside the page. speed : share of the full speed, if it is slower."""

    name: str
    what: str
    speed: float = 1.0


@dataclass(frozen=True, eq=False)
class MotionPage:
    """Content of the page.

    theta : (n_columns,) reference parameters, of which the torque curves are. reference : where
    they are from, for a sentence. files : that were written beside the page.
    """

    model: Model
    designed: DesignedMotion
    theta: Array
    reference: str = "the robot file"
    files: tuple[WrittenFile, ...] = ()


def render_motion_page(page: MotionPage) -> str:
    """The page as one HTML text."""
    return template_environment().get_template("motion.html").render(_context(page))


def _context(page: MotionPage) -> dict[str, Any]:
    from steelyard._version import __version__

    designed, robot = page.designed, page.model.robot
    predicted = designed.predicted
    symbols, rows = determined_table(page)
    return {
        "version": __version__,
        "page": page,
        "designed": designed,
        "robot": robot,
        "n_base": predicted.base.rank,
        "after_earlier": predicted.before is not None,
        "counts": predicted.counts,
        "figures": joint_figures(page),
        "limit_rows": limit_rows(page),
        "has_jerk": bool(np.isfinite(designed.limits.jerk).any()),
        "has_torque": bool(np.isfinite(designed.limits.torque).any())
        or designed.torque is not None,
        "tightest": tightest(page),
        "conditions": designed.measures,
        "groups": parameter_groups(page),
        "bar_width": BAR_WIDTH,
        "bar_marks": [(_bar_x(0.1), "10 %"), (_bar_x(1.0), "100 %")],
        "symbols": symbols,
        "determined": rows,
        "rule": RULE,
        "noise_rows": [
            (joint, f"{significant(rms, 3)} {unit}")
            for joint, rms, unit in zip(
                predicted.noise.joints,
                predicted.noise.rms.tolist(),
                page.model.channel_units,
                strict=True,
            )
        ],
        "settings": setting_rows(designed),
        "conditions_rows": condition_rows(designed),
        "slow_files": sorted((one for one in page.files if one.speed < 1.0), key=_speed),
        "full_files": [one for one in page.files if one.speed == 1.0],
        "assumed": designed.limits.assumed,
        "clearance": designed.clearance,
        "clearance_words": clearance_words(designed),
        "torque": designed.torque,
    }


def _speed(file: WrittenFile) -> float:
    return file.speed


def joint_figures(page: MotionPage) -> list[tuple[str, str]]:
    """(joint, data URI) of position, velocity, acceleration and torque of each joint."""
    model, designed = page.model, page.designed
    limits = designed.limits
    rate = min(DRAWN_PER_SECOND, MOST_DRAWN / designed.duration_s)
    motion = model_motion(model, designed.trajectory, rate_hz=rate)
    tau = torque(model, page.theta, motion.q, motion.v, motion.a)
    leads = lead_times(designed)
    found = []
    for k, joint in enumerate(model.channels):
        j = limits.joints.index(joint)
        units = UNITS["m" if model.robot.joint(joint).kind == "prismatic" else "rad"]
        panels = [
            Panel("position", units[0], motion.q[:, k], (limits.lower[j], limits.upper[j])),
            Panel("velocity", units[1], motion.v[:, k], _both(limits.velocity[j])),
            Panel("acceleration", units[2], motion.a[:, k], _both(limits.acceleration[j])),
            Panel(
                "torque",
                model.channel_units[k],
                tau[:, k],
                _both(limits.torque[j]),
                _both(_torque_bound(designed, joint)),
            ),
        ]
        found.append((joint, data_uri(motion_figure(joint, motion.time, panels, leads))))
    return found


def clearance_words(designed: DesignedMotion) -> str:
    """The smallest proven distance, between what and when, in a sentence; empty without."""
    proof = designed.clearance
    if proof is None:
        return ""
    if proof.n_pairs == 0:
        return "no pair of solids is left to check"
    where = "" if proof.pair is None else f", between {proof.pair[0]} and {proof.pair[1]}"
    at = "" if proof.pair is None else f" at {proof.time_s:.3g} s"
    return (
        f"smallest proven distance {1000.0 * proof.smallest_m:.3g} mm{where}{at}; "
        f"{1000.0 * proof.clearance_m:.3g} mm were asked for; time intervals down to "
        f"{1000.0 * proof.finest_s:.2g} ms"
    )


def limit_rows(page: MotionPage) -> list[tuple[str, list[LimitCell]]]:
    """Per joint: proven bounds of position, velocity, acceleration, jerk and torque."""
    designed = page.designed
    torques = [_torque_bound(designed, joint) for joint in page.model.channels]
    return bound_rows(page.model, designed.limits, designed.extremes, torques)


def tightest(page: MotionPage) -> tuple[str, str, str] | None:
    """Joint, quantity and share of the limit that is used most."""
    cells = [
        (cell.used, joint, name, cell.percent)
        for joint, row in limit_rows(page)
        for name, cell in zip(BOUNDED, row, strict=True)
        if cell.used is not None
    ]
    if not cells:
        return None
    _, joint, name, share = max(cells)
    return joint, name, share


def parameter_groups(page: MotionPage) -> list[tuple[str, list[dict[str, Any]]]]:
    """Base parameters as table rows, grouped by the link, joint or coupling they belong to."""
    predicted = page.designed.predicted
    groups: dict[str, list[dict[str, Any]]] = {}
    for k, one in enumerate(predicted.parameters):
        owner = predicted.base.columns[predicted.base.independent[k]].owner
        groups.setdefault(owner, []).append(_parameter_row(one))
    return list(groups.items())


def determined_table(page: MotionPage) -> tuple[list[str], list[tuple[str, list[Any]]]]:
    """Symbols of the columns, and per body or joint what the motion will say about each."""
    columns = page.model.columns
    symbols = list(dict.fromkeys(column.symbol for column in columns))
    label_of: dict[str, str] = {}
    for body in page.model.mechanism.bodies:
        label_of[body.name] = body.name
        if body.joint is not None:
            label_of[body.name] = label_of[body.joint] = f"{body.name} · {body.joint}"
    rows: dict[str, dict[str, Any]] = {}
    for column, one in zip(columns, page.designed.predicted.standard(), strict=True):
        cell = {
            "kind": one.kind,
            "verdict": one.verdict or "never",
            "words": f"{one.name} ({one.unit}): {one.words}",
        }
        rows.setdefault(label_of.get(column.owner, column.owner), {})[column.symbol] = cell
    return symbols, [
        (label, [cells.get(symbol) for symbol in symbols]) for label, cells in rows.items()
    ]


def _parameter_row(one: PredictedParameter) -> dict[str, Any]:
    return {
        "name": one.name,
        "unit": one.unit,
        "reference": significant(one.reference),
        "sigma": significant(one.sigma, 2) if math.isfinite(one.sigma) else "∞",
        "before": significant(one.before, 2)
        if one.before is not None and math.isfinite(one.before)
        else "∞",
        "relative": f"± {percent(one.relative)}" if math.isfinite(one.relative) else "open",
        "verdict": one.verdict,
        "strength": {"well": "well", "roughly": "roughly", "not": "barely"}[one.verdict],
        "words": VERDICT_WORDS[one.verdict],
        "x": _bar_x(one.relative),
        "cut": one.relative > BAR_TO,
        "combination": shortened(one.combination),
    }


def _bar_x(relative: float) -> float:
    """Place of a relative half width on the axis of the bars."""
    share = math.log(max(relative, BAR_FROM) / BAR_FROM) / math.log(BAR_TO / BAR_FROM)
    return round(BAR_WIDTH * min(1.0, share), 1)


def _torque_bound(designed: DesignedMotion, joint: str) -> float:
    if designed.torque is None or joint not in designed.torque.joints:
        return math.inf
    return float(designed.torque.bound[designed.torque.joints.index(joint)])


def _both(value: float) -> tuple[float, ...]:
    """± value, or nothing where it is infinite."""
    return (-float(value), float(value)) if math.isfinite(value) else ()
