"""The constraints of an overlay, for the bodies of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product

import numpy as np

from steelyard.errors import OverlayError, SteelyardError, shown
from steelyard.knowledge._collision_boxes import CollisionBoxes, boxes_from_collision
from steelyard.knowledge.constraints import Constraints
from steelyard.knowledge.overlay.overlay import Overlay
from steelyard.knowledge.regions import Box
from steelyard.model.model import Model


def constraints_from_overlay(
    model: Model, overlay: Overlay | None
) -> tuple[Constraints, tuple[str, ...]]:
    """Constraints for ``model``, and notes on bodies for which there is no collision box.

    Without constraints in the overlay they are the default ones. A region that the overlay gives
    to a body replaces the body's collision box.
    """
    constraints = Constraints()
    if overlay is not None and overlay.constraints is not None:
        constraints = overlay.constraints
    if overlay is None or overlay.com_boxes is None:
        return constraints, ()
    if model.robot.source is None:
        raise OverlayError(
            "com_boxes = 'collision' needs a robot that was read from a URDF file; "
            f"robot {shown(model.robot.name)} was not"
        )
    found = body_boxes(model, boxes_from_collision(model.robot.source))
    notes = tuple(
        f"there is no box for the centre of mass of '{name}': {reason}"
        for name, reason in found.skipped.items()
        if name not in constraints.com
    )
    return replace(constraints, com={**found.boxes, **constraints.com}), notes


def collision_boxes(model: Model) -> Mapping[str, Box]:
    """Boxes around the collision primitives of each body, in its frame (m).

    Empty for a robot that was not read from a URDF, or whose file is gone.
    """
    if model.robot.source is None:
        return {}
    try:
        return body_boxes(model, boxes_from_collision(model.robot.source)).boxes
    except SteelyardError:
        return {}


def body_boxes(model: Model, found: CollisionBoxes) -> CollisionBoxes:
    """Boxes around the collision boxes of the links of each body, in the body's frame.

    A merged link without geometry is ignored if its file gives it no mass; with mass, the body's
    centre of mass may be anywhere, and the body gets no box.
    """
    boxes: dict[str, Box] = {}
    skipped: dict[str, str] = {}
    for body in model.mechanism.bodies:
        corners = []
        for link, T_body_link in body.links:
            if link in found.boxes:
                corners.extend(_corners(found.boxes[link], T_body_link))
                continue
            inertial = model.robot.link(link).inertial
            if link == body.name or (inertial is not None and inertial[0] != 0.0):
                skipped[body.name] = f"link '{link}': {found.skipped.get(link, 'not in the file')}"
                break
        else:
            boxes[body.name] = Box(tuple(np.min(corners, axis=0)), tuple(np.max(corners, axis=0)))
    return CollisionBoxes(boxes, skipped)


def _corners(box: Box, T: np.ndarray) -> list[np.ndarray]:
    points = product(*zip(box.lower, box.upper, strict=True))
    return [T[:3, :3] @ np.array(point) + T[:3, 3] for point in points]
