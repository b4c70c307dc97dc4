"""The proofs about a run: limits, torques and distances, and by how much one is missed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from steelyard.excitation.design_task import DesignTask
from steelyard.excitation.extremes import Extremes, LimitCheck, check_limits
from steelyard.excitation.torque_bounds import TorqueBounds, torque_bounds
from steelyard.excitation.trajectory import Trajectory

if TYPE_CHECKING:
    from steelyard.excitation.clearance import ClearanceProof

TORQUE_RESOLUTION_S = 0.005
CLEARANCE_RESOLUTION_S = 0.02


@dataclass(frozen=True, eq=False)
class Verified:
    """What was proven about a run.

    broken : limits of position, velocity, acceleration and jerk whose bound is beyond them.
    torque : bounds under the reference model; None without torque limits. worst_joint : the joint
        nearest to its torque limit, or beyond. torque_use : largest share of a torque limit.
    clearance : None without collision. missing_m : by how much the clearance is missed, 0 if not.
    """

    extremes: Extremes
    broken: tuple[LimitCheck, ...]
    torque: TorqueBounds | None
    worst_joint: str | None
    torque_use: float
    clearance: ClearanceProof | None
    missing_m: float

    @property
    def holds(self) -> bool:
        """Whether everything is proven."""
        return not self.broken and self.torque_use <= 1.0 and self.missing_m <= 0.0


def verify_run(task: DesignTask, run: Trajectory) -> Verified:
    """Prove what can be proven about a run."""
    extremes = run.extremes()
    broken = tuple(check for check in check_limits(extremes, task.limits) if not check.holds)
    torque, use, worst = None, 0.0, None
    if np.isfinite(task.limits.torque).any():
        torque = torque_bounds(task.model, task.reference, run, resolution_s=TORQUE_RESOLUTION_S)
        shares = torque.bound / task.limits.torque
        worst = torque.joints[int(np.argmax(shares))]
        use = float(shares.max())
    clearance, missing = None, 0.0
    if task.collision is not None:
        from steelyard.excitation.clearance import prove_clearance

        clearance = prove_clearance(
            task.collision, run, task.clearance_m, resolution_s=CLEARANCE_RESOLUTION_S
        )
        missing = 0.0 if clearance.holds else task.clearance_m - clearance.distance_m
    return Verified(extremes, broken, torque, worst, use, clearance, missing)
