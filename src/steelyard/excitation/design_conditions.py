"""What a motion was designed for besides limits and settings: poses, surroundings, parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from steelyard.excitation.collision.surroundings import Surroundings


@dataclass(frozen=True, eq=False)
class DesignConditions:
    """Conditions of a design, for its files and its page.

    start, end : positions (rad or m) by joint at which the run begins and ends; None for any.
    still : positions of joints that do not move. clearance_m : smallest distance that was asked
    for; None where collisions were not checked. surroundings : floor and obstacles.
    reference : where the parameters are from with which torques were computed. after : the earlier
    result whose knowledge was used; None without.
    """

    start: Mapping[str, float] | None = None
    end: Mapping[str, float] | None = None
    still: Mapping[str, float] = field(default_factory=dict)
    clearance_m: float | None = None
    surroundings: Surroundings = field(default_factory=Surroundings)
    reference: str = "the robot file"
    after: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        around = self.surroundings
        collision = None
        if self.clearance_m is not None:
            collision = {
                "clearance_m": self.clearance_m,
                "ground_m": around.ground_m,
                "obstacles": [
                    {
                        "name": one.name,
                        "kind": one.solid.kind,
                        "size_m": one.solid.size.tolist(),
                        "pose": one.solid.pose.tolist(),
                    }
                    for one in around.obstacles
                ],
                "srdf": around.srdf,
            }
        return {
            "start": None if self.start is None else dict(self.start),
            "end": None if self.end is None else dict(self.end),
            "still": dict(self.still),
            "collision": collision,
            "reference": self.reference,
            "after": self.after,
        }
