"""The proofs about a run: limits, torques and distances, and by how much one is missed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.excitation.collision.clearance import ClearanceProof, prove_clearance
from steelyard.excitation.design_task import DesignTask
from steelyard.excitation.extremes import Extremes, LimitCheck, check_limits
from steelyard.excitation.torque.torque_bounds import TorqueBounds, torque_bounds
from steelyard.excitation.trajectory import Trajectory

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
        torque = torque_bounds(
            task.model,
            task.reference,
            run,
            resolution_s=TORQUE_RESOLUTION_S,
            limit=task.limits.torque,
        )
        shares = torque.bound / task.limits.torque
        worst = torque.joints[int(np.argmax(shares))]
        use = float(shares.max())
    clearance, missing = None, 0.0
    if task.collision is not None:
        clearance = prove_clearance(
            task.collision, run, resolution_s=CLEARANCE_RESOLUTION_S, refuse_start=False
        )
        missing = max(0.0, clearance.clearance_m - clearance.smallest_m)
    return Verified(extremes, broken, torque, worst, use, clearance, missing)


def verified_together(task: DesignTask, run: Trajectory, parts: Sequence[Verified]) -> Verified:
    """What is proven about a run whose parts were verified one by one; times are those of the
    part that comes closest to something.
    """
    extremes = run.extremes()
    broken = tuple(check for check in check_limits(extremes, task.limits) if not check.holds)
    worst = max(parts, key=lambda part: part.torque_use)
    torques = [part.torque for part in parts if part.torque is not None]
    torque = None
    if torques:
        torque = replace(
            torques[0],
            bound=np.max([one.bound for one in torques], axis=0),
            sampled=np.max([one.sampled for one in torques], axis=0),
            finest_s=min(one.finest_s for one in torques),
            n_intervals=sum(one.n_intervals for one in torques),
        )
    proofs = [part.clearance for part in parts if part.clearance is not None]
    clearance = None
    if proofs:
        closest = min(proofs, key=lambda proof: proof.smallest_m)
        sampled = min(proofs, key=lambda proof: proof.sampled_m)
        clearance = replace(
            closest,
            sampled_m=sampled.sampled_m,
            sampled_pair=sampled.sampled_pair,
            sampled_time_s=sampled.sampled_time_s,
            finest_s=min(one.finest_s for one in proofs),
            n_intervals=sum(one.n_intervals for one in proofs),
            missing_m=tuple(np.max([one.missing_m for one in proofs], axis=0).tolist()),
        )
    return Verified(
        extremes,
        broken,
        torque,
        worst.worst_joint,
        worst.torque_use,
        clearance,
        max(part.missing_m for part in parts),
    )


def later(verified: Verified, seconds: float) -> Verified:
    """The same for a part that begins later in a run: times of distances are moved."""
    if verified.clearance is None:
        return verified
    proof = verified.clearance
    moved = replace(
        proof, time_s=proof.time_s + seconds, sampled_time_s=proof.sampled_time_s + seconds
    )
    return replace(verified, clearance=moved)
