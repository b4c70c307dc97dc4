"""The recordings of the benchmark ``real``: those used for the estimate, and those predicted.

The predicted recordings are prepared as the training ones, dead band included, as ``steelyard
validate`` does it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))

if TYPE_CHECKING:
    from steelyard.knowledge.overlay.overlay import Overlay
    from steelyard.knowledge.prior import Prior, RepairRule
    from steelyard.logs.log import Log
    from steelyard.model.model import Model
    from steelyard.model.term_kinds import Side
    from steelyard.model.terms import Term
    from steelyard.regression.regression import Regression
    from steelyard.signals.motion import Motion
    from steelyard.signals.processing import Processing

Array = NDArray[np.float64]

KUKA_SKIPPED = 500
N_DRAWS = 2000


@dataclass(frozen=True, eq=False)
class HeldOutRun:
    """A recording that was not used for the estimate.

    tau : (n_samples, n_joints), NaN inside the dead band. tau_all : without a dead band.
    block_s : length of its time blocks (s), as for the estimate's own.
    """

    motion: Motion
    tau: Array
    tau_all: Array
    block_s: float

    def error(self, predicted: Array, *, all_samples: bool = False) -> float:
        """Relative torque error in percent."""
        tau = self.tau_all if all_samples else self.tau
        used = np.isfinite(tau)
        return float(100.0 * np.linalg.norm((predicted - tau)[used]) / np.linalg.norm(tau[used]))

    def error_sigma(self, predicted: Array) -> float:
        """Standard deviation of the error in percent, over time blocks drawn with replacement."""
        used = np.isfinite(self.tau)
        misses = np.where(used, (predicted - self.tau) ** 2, 0.0).sum(axis=1)
        sizes = np.where(used, self.tau**2, 0.0).sum(axis=1)
        of_block = np.floor((self.motion.time - self.motion.time[0]) / self.block_s).astype(int)
        misses, sizes = np.bincount(of_block, misses), np.bincount(of_block, sizes)
        n = len(misses)
        drawn = np.random.default_rng(0).multinomial(n, np.full(n, 1.0 / n), size=N_DRAWS)
        return float(100.0 * np.std(np.sqrt((drawn @ misses) / (drawn @ sizes))))


@dataclass(frozen=True)
class Row:
    """One training recording and one to predict.

    figure : name of the default's error. dataset : folder of the recordings. torque : where it is
        measured, if that is stated. repair : rule for the prior, where the file needs one.
    tuned : whether other methods are measured too, with the processing that the row states.
    """

    figure: str
    dataset: str
    title: str
    torque: Side | None = None
    repair: RepairRule = "none"
    tuned: bool = True

    def model(self) -> Model:
        """The robot with the terms that the default gives it."""
        from recorded import kinova_robot, kuka_robot, tx40_overlay, tx40_robot, ur10_robot

        from steelyard.knowledge.overlay.model import model_of

        if self.dataset == TX40:
            return model_of(tx40_robot(), overlay=tx40_overlay())
        robots = {KUKA: kuka_robot, UR10: ur10_robot, KINOVA: kinova_robot}
        return model_of(robots[self.dataset](), torque=self.torque)

    def with_terms(self, terms: Iterable[Term]) -> Model:
        """The robot with other terms."""
        from steelyard.model.model import Model

        return Model(self.model().robot, tuple(terms))

    def prior(self, model: Model) -> Prior:
        """The robot file's inertials, repaired where they must be."""
        from steelyard.knowledge.prior import prior_from_robot

        return prior_from_robot(model, repair=self.repair)

    def compressed(self, model: Model, wide: Model, threads: int) -> Regression:
        """The training recording, prepared as ``model`` needs, in factors of ``wide``."""
        from recorded import kuka_run

        from steelyard.identification.runs import compressed
        from steelyard.regression.compress import compress

        if self.dataset == KUKA:
            return compress(wide, *kuka_run(1, KUKA_SKIPPED), threads=threads)
        return compressed(model, wide, self.logs()[0], self._processing(), threads).regression

    def held_out(self, model: Model) -> HeldOutRun:
        """The recording to predict, prepared in the same way."""
        from recorded import kuka_run

        from steelyard.regression.compress import block_length
        from steelyard.signals.prepare import prepare

        if self.dataset == KUKA:
            motion, measured = kuka_run(3, KUKA_SKIPPED)
            tau = tau_all = measured.tau
            correlation_s = 0.0
        else:
            prepared = prepare(self.logs()[1], model, self._processing())
            motion, tau, tau_all = (
                prepared.motion,
                prepared.measurements.tau,
                prepared.all_measurements.tau,
            )
            correlation_s = prepared.record.correlation_s
        duration_s = float(motion.time[-1] - motion.time[0])
        return HeldOutRun(motion, tau, tau_all, block_length(duration_s, correlation_s))

    def _processing(self) -> Processing:
        from recorded import tx40_processing

        from steelyard.signals.processing import Processing

        if self.dataset == TX40:
            return tx40_processing()
        return Processing(cutoff_hz=10.0, torque_filter="same", dead_band="tenth")

    def overlay(self) -> Overlay | None:
        """What must be stated about the robot, for the plain command too."""
        from recorded import tx40_overlay

        return tx40_overlay() if self.dataset == TX40 else None

    def logs(self) -> tuple[Log, Log]:
        """The recording for the estimate, and the one to predict."""
        from recorded import kinova_log, kuka_log, tx40_log, ur10_log

        if self.dataset == KUKA:
            return kuka_log(1, KUKA_SKIPPED), kuka_log(3, KUKA_SKIPPED)
        if self.dataset == UR10:
            last, first = ur10_log("last third"), ur10_log("first two thirds")
            return (first, last) if self.figure == "ur10_last" else (last, first)
        if self.dataset == KINOVA:
            return kinova_log("opti_traj_testing1"), kinova_log("opti_traj_testing2")
        return tx40_log(0, 22500, "first half"), tx40_log(22500, None, "second half")


KUKA, UR10 = "kuka_lwr4_flobaroid", "ur10_unisa"
KINOVA, TX40 = "kinova_gen3_chiha", "staubli_tx40_figaroh"
ROWS = (
    Row("kuka_run3", KUKA, "KUKA LWR4+, run 1 to run 3, link torques", torque="link"),
    Row("kuka_run3_unstated", KUKA, "KUKA LWR4+, run 1 to run 3, torque source not stated"),
    Row("ur10_first", UR10, "UR10, last third to first two thirds"),
    Row("ur10_last", UR10, "UR10, first two thirds to last third", tuned=False),
    Row("kinova_testing2", KINOVA, "Kinova Gen3, testing1 to testing2", repair="floor-moments"),
    Row(
        "tx40_second_half",
        TX40,
        "Stäubli TX-40, first half to second half",
        repair="floor-moments",
    ),
)
