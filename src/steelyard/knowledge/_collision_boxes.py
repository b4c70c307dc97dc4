"""Boxes around the collision geometry of a URDF, for the centres of mass of its links."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from steelyard.knowledge.regions import Box
from steelyard.robot.formats.urdf_shapes import collision_primitives


@dataclass(frozen=True)
class CollisionBoxes:
    """Boxes by link, in the link's frame and along its axes (m), and why others have none."""

    boxes: Mapping[str, Box]
    skipped: Mapping[str, str]


def boxes_from_collision(path: str | Path) -> CollisionBoxes:
    """The smallest box, along each link's axes, around its collision primitives."""
    found = collision_primitives(path)
    boxes = {}
    for link, solids in found.solids.items():
        centres = np.array([solid.pose[:3, 3] for solid in solids])
        halves = np.array([solid.half_sizes() for solid in solids])
        boxes[link] = Box(
            tuple(np.min(centres - halves, axis=0)), tuple(np.max(centres + halves, axis=0))
        )
    return CollisionBoxes(boxes, found.skipped)
