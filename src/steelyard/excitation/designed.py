"""A designed motion: what to send to the robot, what is proven about it, and what it is for."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from steelyard.excitation.collision.clearance import ClearanceProof
from steelyard.excitation.design_conditions import DesignConditions
from steelyard.excitation.design_settings import DesignSettings
from steelyard.excitation.extremes import Extremes, LimitCheck, check_limits
from steelyard.excitation.limits import MotionLimits
from steelyard.excitation.motion_factors import MotionFactors, condition_numbers, log_determinant
from steelyard.excitation.predicted import PredictedPrecision
from steelyard.excitation.torque.torque_bounds import TorqueBounds
from steelyard.excitation.trajectory import Trajectory
from steelyard.findings import Finding
from steelyard.model.model import Model

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Measure:
    """One measure of a motion's quality, such as a condition number."""

    name: str
    value: float


@dataclass(frozen=True, eq=False)
class DesignedMotion:
    """A motion that excites the parameters of a robot, within limits.

    trajectory : the whole run, from rest to rest. core : what was optimised, which runs
        ``periods`` times.
    extremes : proven bounds of the whole run. limits : of the robot, of which the motion uses the
        share that its settings state. conditions : poses and surroundings that it was designed for.
    criterion, value, start_value : what was optimised, its value, and that of the best random
        start. measures : other measures of the same motion.
    predicted : how well a log of it determines each base parameter.
    torque, clearance : bounds on torque and distances under the reference model; None where they
        were not asked for.
    seconds, evaluations : that the optimisation took; of postures, how many were candidates.
    model : that it was designed for. theta : (n_columns,) reference parameters, with which torques
        were computed.
    """

    trajectory: Trajectory
    core: Trajectory
    periods: int
    limits: MotionLimits
    extremes: Extremes
    criterion: str
    value: float
    start_value: float
    measures: tuple[Measure, ...]
    predicted: PredictedPrecision
    torque: TorqueBounds | None
    clearance: ClearanceProof | None
    settings: DesignSettings
    seconds: float
    evaluations: int
    model: Model
    theta: Array
    findings: tuple[Finding, ...] = ()
    conditions: DesignConditions = field(default_factory=DesignConditions)

    def __repr__(self) -> str:
        counts = self.predicted.counts
        total = self.predicted.base.rank
        return (
            f"<DesignedMotion of {len(self.joints)} joints: {self.duration_s:.4g} s, "
            f"{self.criterion} {self.value:.4g}; {counts['well']} of {total} base parameters "
            "determined well>"
        )

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints that it moves."""
        return self.trajectory.joints

    @property
    def duration_s(self) -> float:
        """Duration of the whole run (s)."""
        return self.trajectory.duration_s

    @property
    def checks(self) -> tuple[LimitCheck, ...]:
        """Every proven bound beside its limit."""
        return check_limits(self.extremes, self.limits)

    @property
    def holds(self) -> bool:
        """Whether all limits of position, velocity, acceleration and jerk are proven to hold."""
        return all(check.holds for check in self.checks)


def measures_of(factors: MotionFactors) -> tuple[Measure, ...]:
    """Measures of the base regressor of a motion, all rows with the same weight."""
    R = factors.unweighted
    plain, scaled = condition_numbers(R)
    mean_rows = R / np.sqrt(max(1, factors.n_samples))
    return (
        Measure("condition number", plain),
        Measure("condition number, columns scaled to unit norm", scaled),
        Measure("log det of the information per sample", log_determinant(mean_rows)),
    )
