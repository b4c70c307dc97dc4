"""Short names that only the other columns of a table explain.

``x``, ``y``, ``z`` beside an orientation are a position. ``tx``, ``ty``, ``tz`` are a torque beside
a force, and a translation beside an orientation alone, as in the trajectory files of TUM.
``q0`` to ``q3`` are joints, but a quaternion beside a position where there is no other joint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from steelyard.logs.columns import LogColumn, frame_column, split_unit
from steelyard.logs.frame_columns import FRAME_QUANTITIES, FRAME_UNITS, ORIENTATIONS

AXES = ("x", "y", "z")
TRANSLATIONS = ("tx", "ty", "tz")
POSITIONS = ("px", "py", "pz")
NUMBERED = ("q0", "q1", "q2", "q3")


def with_context(
    columns: Sequence[LogColumn | None], names: Sequence[str], where: str
) -> list[LogColumn | None]:
    """The columns, with those that the others explain."""
    columns = _with_numbered_quaternion(columns, names, where)
    turned = {one.frame for one in columns if one is not None and one.quantity in ORIENTATIONS}
    pushed = {one.frame for one in columns if one is not None and one.quantity == "force"}
    if not turned:
        return list(columns)
    out = list(columns)
    for index, (column, name) in enumerate(zip(columns, names, strict=True)):
        bare, unit = split_unit(name)
        prefix, _, last = bare.rpartition(".")
        is_length = unit in FRAME_UNITS["position"] and last.lower() in AXES + TRANSLATIONS
        plain = unit is None and last.lower() in AXES
        if column is None and prefix in turned and (plain or is_length):
            out[index] = frame_column(prefix, "position", last.lower()[-1], unit, where)
        if column is None or column.unit or not column.axis:
            continue
        if last.lower() in TRANSLATIONS and column.frame in turned - pushed:
            out[index] = replace(column, quantity="position")
    return out


def _with_numbered_quaternion(
    columns: Sequence[LogColumn | None], names: Sequence[str], where: str
) -> list[LogColumn | None]:
    """The columns, with q0 to q3 as a quaternion beside a position, without any other joint."""
    bare = [name.strip().lower() for name in names]
    out = list(columns)
    placed = any(set(one) <= set(bare) for one in (AXES, POSITIONS))
    rows = [bare.index(name) for name in NUMBERED if name in bare]
    joints = [k for k, column in enumerate(columns) if column is not None and column.joint]
    if not placed or len(rows) < len(NUMBERED) or set(joints) - set(rows):
        return out
    for row, axis in zip(rows, FRAME_QUANTITIES["quaternion"], strict=True):
        out[row] = frame_column("", "quaternion", axis, None, where)
    return out
