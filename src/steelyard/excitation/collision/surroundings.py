"""What stands around a robot: a floor and obstacles, as they were given."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.robot.formats.urdf_shapes import Primitive


@dataclass(frozen=True, eq=False)
class Obstacle:
    """A solid that does not move, in the root link's frame."""

    name: str
    solid: Primitive


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Where a robot stands, and which pairs of links need no check.

    ground_m : height (m) of the floor, z of the root link; None without. srdf : file that says
    which pairs of links need no check; None without.
    """

    ground_m: float | None = None
    obstacles: tuple[Obstacle, ...] = ()
    srdf: str | None = None
