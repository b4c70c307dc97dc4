"""How one joint differs from another: its ends, kind, frame, axis, limits, mimic, dynamics.

A joint is compared by what it does, so that robots from files of different formats can be
compared: the pose of the child link in the parent link at position zero, and the direction and
place of the axis in the child link.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from steelyard.robot._difference_words import degrees, joined, moved_mm, told_apart
from steelyard.robot.inertial_changes import DIGITS, angle_between
from steelyard.robot.joint_dynamics import JointDynamics
from steelyard.robot.parts import Joint, Limits, Mimic
from steelyard.robot.rotations import frozen_array

Array = NDArray[np.float64]
ROUNDING_M = 1e-12
"""Distances (m) below this are rounding, whatever the size of the robot."""


@dataclass(frozen=True)
class TextChange:
    """Something that has a name, before and after: kind, parent, child, the joint it mimics."""

    what: str
    before: str
    after: str

    @property
    def words(self) -> str:
        """The change in words."""
        return f"{self.what} {self.before} -> {self.after}"


@dataclass(frozen=True)
class NumberChange:
    """A number before and after; None where it is not stated."""

    what: str
    before: float | None
    after: float | None
    unit: str = ""

    @property
    def words(self) -> str:
        """The change in words."""
        if self.before is None or self.after is None:
            first, second = (
                "none" if number is None else f"{number:.6g}"
                for number in (self.before, self.after)
            )
        else:
            first, second = told_apart(self.before, self.after)
        return f"{self.what} {first} -> {second} {self.unit}".rstrip()


@dataclass(frozen=True, eq=False)
class JointChange:
    """A joint before and after; what is equal is None or left out.

    texts : kind, parent, child and the joint it mimics, where they differ.
    moved : (3,) m, by which the origin of the child link moved in the parent link, at position 0.
    turned_deg : angle by which the child link is turned there, 0 to 180.
    axis_turned_deg : between the directions of the axis, in the child link, 0 to 180.
    axis_moved : (3,) m, by which the line of the axis moved, in the child link.
    numbers : limits, factor and offset of a mimic, damping, friction, armature that differ.
    """

    name: str
    texts: tuple[TextChange, ...] = ()
    moved: Array | None = None
    turned_deg: float | None = None
    axis_turned_deg: float | None = None
    axis_moved: Array | None = None
    numbers: tuple[NumberChange, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether anything differs."""
        frame = (self.moved, self.turned_deg, self.axis_turned_deg, self.axis_moved)
        return bool(self.texts or self.numbers) or any(part is not None for part in frame)

    @property
    def words(self) -> str:
        """What changed, in words, without the name."""
        parts = [change.words for change in self.texts]
        if self.moved is not None:
            parts.append(f"origin moved {moved_mm(self.moved)}")
        if self.turned_deg is not None:
            parts.append(f"origin turned {degrees(self.turned_deg)} deg")
        if self.axis_turned_deg is not None:
            parts.append(f"axis turned {degrees(self.axis_turned_deg)} deg")
        if self.axis_moved is not None:
            parts.append(f"axis moved {moved_mm(self.axis_moved)}")
        parts += [change.words for change in self.numbers]
        return joined(parts) or "unchanged"


def joint_change(
    before: Joint,
    after: Joint,
    dynamics: tuple[JointDynamics | None, JointDynamics | None] = (None, None),
    digits: int = DIGITS,
) -> JointChange:
    """Compare two joints of the same name.

    dynamics : what each file states about the joint's drive and friction; None where it is not
        known, and not compared then.
    digits : numbers that agree to this many digits are equal; angles to this many of a radian.
    """
    share = 10.0**-digits
    texts = [
        TextChange(what, first, second)
        for what, first, second in (
            ("type", before.kind, after.kind),
            ("parent", before.parent, after.parent),
            ("child", before.child, after.child),
            ("mimics", _leader(before), _leader(after)),
        )
        if first != second
    ]
    rest_before, rest_after = before.pose(0.0), after.pose(0.0)
    turned = rotation_angle(rest_before[:3, :3].T @ rest_after[:3, :3])
    axis_turned, axis_moved = None, None
    if before.moves and after.moves:
        first, second = _axis(before), _axis(after)
        angle = angle_between(first, second)
        axis_turned = None if angle <= share else math.degrees(angle)
        if "prismatic" not in (before.kind, after.kind):
            axis_moved = _moved(_axis_point(before, first), _axis_point(after, second), share)
    unit = "m" if before.kind == "prismatic" else "rad"
    return JointChange(
        before.name,
        tuple(texts),
        moved=_moved(rest_before[:3, 3], rest_after[:3, 3], share),
        turned_deg=None if turned <= share else math.degrees(turned),
        axis_turned_deg=axis_turned,
        axis_moved=axis_moved,
        numbers=(
            *_limit_changes(before.limits, after.limits, unit, share),
            *_mimic_changes(before.mimic, after.mimic, unit, share),
            *_dynamics_changes(*dynamics, before.kind == "prismatic", share),
        ),
    )


def rotation_angle(R: Array) -> float:
    """Angle (rad, 0 to pi) of a rotation matrix (3, 3), exact for small angles too."""
    twice_sine = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    return float(math.atan2(0.5 * np.linalg.norm(twice_sine), 0.5 * (np.trace(R) - 1.0)))


def equal_numbers(before: float | None, after: float | None, share: float) -> bool:
    """Whether both are unknown, or agree to this share of the larger."""
    if before is None or after is None:
        return before is after
    return abs(after - before) <= share * max(abs(before), abs(after))


def _moved(before: Array, after: Array, share: float) -> Array | None:
    """The way (3,) from one point to another; None if the points agree."""
    size = max(np.linalg.norm(before), np.linalg.norm(after))
    if np.linalg.norm(after - before) <= share * size + ROUNDING_M:
        return None
    return frozen_array(after - before, (3,))


def _axis(joint: Joint) -> Array:
    """Direction (3,) of the axis in the child link."""
    return np.asarray(joint.child_offset[:3, :3].T @ joint.axis)


def _axis_point(joint: Joint, axis: Array) -> Array:
    """The point (3,) of the axis that is closest to the origin of the child link, in its frame."""
    point = -joint.child_offset[:3, :3].T @ joint.child_offset[:3, 3]
    return np.asarray(point - (point @ axis) * axis)


def _leader(joint: Joint) -> str:
    return "none" if joint.mimic is None else f"'{joint.mimic.joint}'"


def _limit_changes(
    before: Limits, after: Limits, unit: str, share: float
) -> tuple[NumberChange, ...]:
    units = {
        "lower": unit,
        "upper": unit,
        "velocity": f"{unit}/s",
        "effort": "N" if unit == "m" else "N m",
        "acceleration": f"{unit}/s²",
    }
    return tuple(
        NumberChange(f"{limit.name} limit", first, second, units[limit.name])
        for limit in fields(Limits)
        for first, second in [(getattr(before, limit.name), getattr(after, limit.name))]
        if not equal_numbers(first, second, share)
    )


def _mimic_changes(
    before: Mimic | None, after: Mimic | None, unit: str, share: float
) -> tuple[NumberChange, ...]:
    if before is None or after is None:
        return ()
    return tuple(
        NumberChange(f"mimic {what}", first, second, own)
        for what, first, second, own in (
            ("multiplier", before.multiplier, after.multiplier, ""),
            ("offset", before.offset, after.offset, unit),
        )
        if not equal_numbers(first, second, share)
    )


def _dynamics_changes(
    before: JointDynamics | None, after: JointDynamics | None, slides: bool, share: float
) -> tuple[NumberChange, ...]:
    if before is None or after is None:
        return ()
    return tuple(
        NumberChange(what, first, second, unit)
        for what, first, second, unit in (
            ("damping", before.damping, after.damping, "N s/m" if slides else "N m s/rad"),
            ("friction", before.friction, after.friction, "N" if slides else "N m"),
            ("armature", before.armature, after.armature, "kg" if slides else "kg m²"),
        )
        # a format that cannot state armature has none
        if not equal_numbers(first or 0.0, second or 0.0, share)
    )
