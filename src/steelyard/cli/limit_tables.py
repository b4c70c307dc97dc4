"""Tables of bounds on a motion beside limits, and of what an existing motion keeps, for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from steelyard.cli.output import Output
from steelyard.cli.results import show_findings
from steelyard.report.limit_cells import BOUNDED, LimitCell, bound_rows

if TYPE_CHECKING:
    from steelyard.excitation.kept_limits import KeptLimits
    from steelyard.model.model import Model

WIDEST = 120
"""Columns that a table may have before it gets one row for each quantity."""
BETWEEN = 3
"""Spaces between two columns of a table."""

Rows = Sequence[tuple[str, Sequence[LimitCell]]]


def show_bounds(output: Output, rows: Rows, title: str) -> None:
    """Print bounds beside limits: one row per joint where that fits, else one per quantity."""
    kept = [
        k
        for k in range(len(BOUNDED))
        if any(cells[k].used is not None for _, cells in rows) or k < 3
    ]
    names = [BOUNDED[k] for k in kept]
    wide = [
        (joint, *(f"{cells[k].text}  {cells[k].percent}".strip() for k in kept))
        for joint, cells in rows
    ]
    widths = [max(map(len, column)) for column in zip(("joint", *names), *wide, strict=True)]
    if sum(widths) + BETWEEN * len(widths) <= min(WIDEST, output.width):
        output.table(("joint", *names), wide, title=title, left=("joint", *names))
        return
    output.table(
        ("joint", "quantity", "bound and limit", "used"),
        [
            (joint if k == kept[0] else "", BOUNDED[k], cells[k].text, cells[k].percent)
            for joint, cells in rows
            for k in kept
        ],
        title=title,
        left=("joint", "quantity", "bound and limit"),
    )


def show_kept(output: Output, model: Model, name: str, kept: KeptLimits) -> None:
    """Print what an existing motion reaches beside the limits, and what it does not keep."""
    how = "at every time" if kept.at_every_time else "at its samples"
    whose = "measured" if kept.torque_source == "measured" else "by the model, at samples"
    show_bounds(
        output,
        bound_rows(model, kept.limits, kept.extremes, kept.torque.tolist()),
        f"What {name} reaches {how}, the limits, and the share that is used (torque: {whose})",
    )
    closest = kept.closest
    if closest is not None and closest.pair is not None and closest.holds:
        output.line(
            f"Smallest distance at {closest.n_poses} poses: {1000.0 * closest.smallest_m:.3g} mm, "
            f"between {closest.pair[0]} and {closest.pair[1]} at {closest.time_s:.3g} s; "
            f"{1000.0 * closest.clearance_m:.3g} mm were asked for."
        )
    show_findings(output, kept.findings)
    checked = "limits and torques" if closest is None else "limits, torques and distances"
    if kept.holds:
        output.line(f"{name} keeps all {checked}.", "green")
    else:
        output.line(f"{name} does NOT keep all {checked}; see the warnings above.", "yellow")


def kept_document(kept: KeptLimits) -> dict[str, Any]:
    """What an existing motion keeps, as plain data."""
    from dataclasses import asdict

    from steelyard.excitation.extremes import QUANTITIES
    from steelyard.excitation.files.motion_file import limits_data

    joints = kept.limits.joints
    place = [kept.extremes.joints.index(joint) for joint in joints]
    extremes = {
        name: dict(zip(joints, kept.extremes.of(name)[place].tolist(), strict=True))
        for name in QUANTITIES
    }
    return {
        "within_limits": kept.holds,
        "at_every_time": kept.at_every_time,
        "limits": limits_data(kept.limits),
        "extremes": extremes,
        "torque": dict(zip(joints, kept.torque.tolist(), strict=True)),
        "torque_source": kept.torque_source,
        "closest": None if kept.closest is None else asdict(kept.closest),
        "findings": [finding.as_json() for finding in kept.findings],
    }
