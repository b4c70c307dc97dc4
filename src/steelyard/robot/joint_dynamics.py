"""What robot files state about drives and friction of joints, as one type for all formats."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class JointDynamics:
    """Friction and drive inertia of one joint; torques of a revolute joint, forces of a slide.

    damping : N m s/rad or N s/m. friction : N m or N, MJCF's frictionloss.
    armature : kg m² or kg; None where the format cannot state it (URDF).
    """

    damping: float = 0.0
    friction: float = 0.0
    armature: float | None = None

    @property
    def frictionloss(self) -> float:
        """The friction, by MJCF's name."""
        return self.friction
