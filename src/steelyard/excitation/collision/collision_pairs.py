"""Which pairs of solids need a collision check, and which are left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steelyard._files.xml import attribute, parse_xml, read_file
from steelyard.errors import RobotError, listed, shown_path
from steelyard.excitation.collision.collision_distances import CollisionModel
from steelyard.excitation.collision.reach import reach_bounds
from steelyard.excitation.limits import MotionLimits
from steelyard.excitation.motions.fourier import UNKNOWN_HALF_RANGE
from steelyard.findings import Finding
from steelyard.robot.robot import Robot

Array = NDArray[np.float64]

ALWAYS_CLOSE_M = 0.01
"""Pairs that always are closer than this are parts that belong together."""
RANDOM_POSITIONS = 200
FIXED_M = 1e-4
"""A height above ground that no motion changes by more than this (m) counts as constant."""


def read_srdf(path: str | Path, links: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """The pairs of links whose collisions an SRDF disables.

    A link of disable_default_collisions is paired with all ``links``, but for those that
    enable_collisions names.
    """
    where = shown_path(path)
    root = parse_xml(read_file(path), where)
    if root.tag != "robot":
        raise RobotError(f"{where} has root element <{root.tag[:60]}>, not <robot> as an SRDF has")

    def named(tag: str, *names: str) -> list[list[str]]:
        owner = f"{where}: <{tag}>"
        return [[attribute(element, name, owner) for name in names] for element in root.all(tag)]

    by_default = [
        (own, other) for (own,) in named("disable_default_collisions", "link") for other in links
    ]
    enabled = {frozenset(pair) for pair in named("enable_collisions", "link1", "link2")}
    return (
        *(pair for pair in by_default if frozenset(pair) not in enabled),
        *((first, second) for first, second in named("disable_collisions", "link1", "link2")),
    )


def candidate_pairs(
    robot: Robot,
    owners: Sequence[str],
    bodies: Sequence[int],
    n_links: int,
    disabled: Iterable[tuple[str, str]],
) -> list[tuple[int, int]]:
    """Pairs of solids that can move against each other, without neighbours and disabled pairs.

    owners, bodies : link or obstacle, and body (-1 for none), of each solid; the first n_links
    solids are those of links. A solid of the surroundings comes first in its pairs.
    """
    apart = {frozenset(pair) for pair in (*disabled, *neighbours(robot, set(owners[:n_links])))}
    found = []
    for i in range(n_links):
        for j in range(i + 1, n_links):
            if bodies[i] != bodies[j] and frozenset((owners[i], owners[j])) not in apart:
                found.append((i, j))
    for i in range(n_links, len(owners)):
        for j in range(n_links):
            if bodies[j] >= 0 and frozenset((owners[i], owners[j])) not in apart:
                found.append((i, j))
    return found


def neighbours(robot: Robot, with_shapes: set[str]) -> set[tuple[str, str]]:
    """Pairs of links joined by a joint; links without geometry between them do not count."""
    above: dict[str, str | None] = {robot.root: None}
    found = set()
    for joint in robot.joints_from_root:
        parent = joint.parent if joint.parent in with_shapes else above[joint.parent]
        above[joint.child] = parent
        if parent is not None and joint.child in with_shapes:
            found.add((parent, joint.child))
    return found


def without_touching(
    model: CollisionModel, robot: Robot, limits: MotionLimits | None, n_links: int
) -> CollisionModel:
    """The model without pairs of links that always are too close, or touch at the neutral position.

    n_links : solids of links, which come before those of the surroundings.
    Too close: below the clearance, or `ALWAYS_CLOSE_M` if that is less, at every one of
    `RANDOM_POSITIONS` positions within the limits.
    The neutral position is zero, or the limit closest to it.
    """
    lower, upper = _ranges(robot, limits)
    draws = np.random.default_rng(0).uniform(lower, upper, (RANDOM_POSITIONS, len(lower)))
    self_pairs = [k for k, pair in enumerate(model.pairs) if max(pair.first, pair.second) < n_links]
    near = list(self_pairs)
    close = min(model.clearance_m, ALWAYS_CLOSE_M)
    for q in draws:
        if not near:
            break
        part = replace(model, pairs=tuple(model.pairs[k] for k in near))
        distance = part.distances(q[None], within_m=close)[0]
        near = [k for k, d in zip(near, distance, strict=True) if d < close]
    neutral = np.clip(np.zeros(len(lower)), lower, upper)
    at_neutral = model.distances(neutral[None], within_m=0.0)[0]
    touching = [k for k in self_pairs if at_neutral[k] <= 0.0 and k not in near]
    notes = []
    if near:
        words = (
            f"not checked for collisions, since they are closer than {close:g} m at "
            f"all of {RANDOM_POSITIONS} random positions: {_pair_names(model, near)}"
        )
        notes.append(Finding("warning", "collision_pairs_always_close", words))
    if touching:
        words = (
            "not checked for collisions, since they touch at the neutral position: "
            f"{_pair_names(model, touching)}; an SRDF file (--srdf) can state which pairs need a "
            "check"
        )
        notes.append(Finding("warning", "collision_pairs_touch_at_neutral", words))
    return _without(model, {*near, *touching}, notes)


def _ranges(robot: Robot, limits: MotionLimits | None) -> tuple[Array, Array]:
    """Ranges (n_joints,) of positions, from the limits or, without, from the robot's file."""
    if limits is not None:
        columns = [limits.joints.index(joint) for joint in robot.joint_names]
        return limits.lower[columns], limits.upper[columns]
    ranges = []
    for joint in robot.free_joints:
        lower, upper = joint.limits.lower, joint.limits.upper
        if lower is None or upper is None or not lower < upper:
            half = UNKNOWN_HALF_RANGE["slides" if joint.kind == "prismatic" else "turns"]
            lower, upper = -half, half
        ranges.append((lower, upper))
    found = np.array(ranges, dtype=float).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def without_constant_heights(model: CollisionModel) -> CollisionModel:
    """The model without links that are too close to the ground whatever the joints do."""
    grounded = [k for k, pair in enumerate(model.pairs) if not model.shapes[pair.first].is_bounded]
    if not grounded:
        return model
    still = np.zeros((1, len(model.joints)))
    turns = 2.0 * np.pi * reach_bounds(model, still[0], still[0]).sum(axis=1)
    height = model.distances(still)[0]
    low = [k for k in grounded if turns[k] < FIXED_M and height[k] < model.clearance_m]
    if not low:
        return model
    words = (
        f"not checked against the ground, since no joint changes their height: "
        f"{listed(dict.fromkeys(model.pairs[k].names[1] for k in low))}"
    )
    return _without(model, set(low), [Finding("info", "collision_heights_constant", words)])


def _without(model: CollisionModel, left_out: set[int], notes: Sequence[Finding]) -> CollisionModel:
    pairs = tuple(pair for k, pair in enumerate(model.pairs) if k not in left_out)
    return replace(model, pairs=pairs, findings=(*model.findings, *notes))


def _pair_names(model: CollisionModel, numbers: Iterable[int]) -> str:
    names = dict.fromkeys(" and ".join(model.pairs[k].names) for k in numbers)
    return listed(names)
