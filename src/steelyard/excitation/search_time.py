"""How much of the time that a user waits is left for the search, after that of the proofs."""

from __future__ import annotations

import time

import numpy as np

from steelyard.excitation._poses import allowed_poses
from steelyard.excitation.design_task import DesignTask
from steelyard.excitation.search.fourier_basis import FourierBasis
from steelyard.excitation.verified import verify_run

TRIAL_S = 2.0
"""Duration of the motion whose proof is timed; what a proof takes depends little on it."""
PROOFS = 4
"""Proofs that a design needs: of the motion, of its leads from and to rest, and one more."""
LEAST_SHARE = 0.5
"""Share of the time that is searched at least."""


def search_seconds(task: DesignTask) -> float:
    """The part (s) of the time budget that the search may use, so that proofs fit into the rest.

    The proof of a short motion is timed on this machine. At least half of the budget is searched:
    where proofs take longer than the other half, the design takes longer than its budget.
    """
    budget = task.settings.budget_s
    proven = task.collision is not None or bool(np.isfinite(task.limits.torque).any())
    if not proven:
        return budget
    return max(LEAST_SHARE * budget, budget - PROOFS * proof_seconds(task))


def proof_seconds(task: DesignTask) -> float:
    """Time (s) that the proofs about a short, gentle motion take."""
    pose = allowed_poses(task)[0]
    basis = FourierBasis(task.limits, TRIAL_S, 1, task.still)
    trial = basis.trajectory(basis.random_start(np.random.default_rng(0), pose, 0.3))
    began = time.perf_counter()
    verify_run(task, trial)
    return time.perf_counter() - began
