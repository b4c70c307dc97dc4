"""What a motion is designed for: a model, limits, and what is known before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import SignalError, did_you_mean, listed, shown
from steelyard.excitation.collision.collision_distances import CollisionModel
from steelyard.excitation.design_settings import DesignSettings
from steelyard.excitation.limits import MotionLimits
from steelyard.excitation.search.criteria import Criterion, criterion_named
from steelyard.excitation.torque_noise import TorqueNoise, assumed_noise
from steelyard.model.base_map import BaseMap, base_map
from steelyard.model.dependent_columns import independent_columns, unit_columns
from steelyard.model.energy import refuse_floating_base
from steelyard.model.kernels import torque_regressor
from steelyard.model.model import Model
from steelyard.model.typical_sizes import known_parameters, parameter_scale

Array = NDArray[np.float64]

LEAST_SWING = 1e-3
"""Share of half its range by which a joint must be able to swing in a period."""
LEAST_POINTS = 4
"""Points that are sent for each period of the fastest sine; fewer give another motion."""


@dataclass(frozen=True, eq=False)
class DesignTask:
    """Input of every way to design a motion.

    limits : of the joints of the model, in its order.
    theta : (n_columns,) parameters that torques are computed with; by default those of the robot's
        file, without friction.
    noise : of the measured torques; by default 1 % of each joint's torque range.
    start, end : poses (n_joints,) at which the run begins and ends; None for any.
    still : positions of joints that do not move, by name.
    collision : solids that must keep a distance; None without.
    known : (n_base, n_base) information on the base parameters that there is before, such as of
        earlier runs: the inverse of a covariance.
    """

    model: Model
    limits: MotionLimits
    settings: DesignSettings
    theta: Array | None = None
    noise: TorqueNoise | None = None
    start: Array | None = None
    end: Array | None = None
    still: Mapping[str, float] = field(default_factory=dict)
    collision: CollisionModel | None = None
    known: Array | None = None

    def __post_init__(self) -> None:
        refuse_floating_base(self.model)
        if self.limits.joints != self.model.channels:
            raise SignalError(
                f"the limits are for {listed(self.limits.joints)}, but the joints are "
                f"{listed(self.model.channels)}"
            )
        for joint in self.still:
            if joint not in self.limits.joints:
                raise SignalError(
                    f"there is no joint {shown(joint)}{did_you_mean(joint, self.limits.joints)} to "
                    f"stand still; the joints are {listed(self.limits.joints)}"
                )
        for name, pose in (("start", self.start), ("end", self.end)):
            if pose is not None:
                self._check_pose(name, pose)
        self._check_period()
        rank = self.base.rank
        if self.known is not None and self.known.shape != (rank, rank):
            raise SignalError(
                f"what is known has shape {self.known.shape}; {(rank, rank)} is needed"
            )

    def _check_period(self) -> None:
        """Refuse a period of sines in which no joint can move noticeably, and too few points."""
        limits, period_s = self.limits, self.settings.period_s
        if self.settings.basis != "fourier":
            return
        omega = 2.0 * np.pi / period_s
        swing = np.minimum(limits.velocity / omega, limits.acceleration / omega**2)
        use = np.array(
            [
                0.0 if joint in self.still else share
                for joint, share in zip(limits.joints, swing / limits.half_range, strict=True)
            ]
        )
        if use.max(initial=0.0) < LEAST_SWING and len(self.still) < len(limits.joints):
            j = int(np.argmax(use))
            raise SignalError(
                f"a period of {period_s:g} s is too short: within the limits of speed and "
                f"acceleration no joint can swing by more than {use[j]:.2g} of its range in it "
                f"(joint '{limits.joints[j]}', by {swing[j]:.2g}); give a longer --period, or "
                "higher limits"
            )
        rate_hz, harmonics = self.settings.rate_hz, self.settings.harmonics
        least_hz = LEAST_POINTS * harmonics / period_s
        if rate_hz < least_hz:
            raise SignalError(
                f"rate_hz is {rate_hz:g}; the fastest sine, {harmonics} in {period_s:g} s, needs "
                f"at least {LEAST_POINTS} points: a rate of {least_hz:g} Hz"
            )

    def _check_pose(self, name: str, pose: Array) -> None:
        """Refuse a pose of other joints, and one that a joint would have to move from."""
        n = len(self.limits.joints)
        if pose.shape != (n,):
            raise SignalError(f"the {name} pose has shape {pose.shape} for {n} joints")
        for joint, position in self.still.items():
            given = float(pose[self.limits.joints.index(joint)])
            if given != position:
                raise SignalError(
                    f"the {name} pose has joint '{joint}' at {given:g}, but the joint is to stand "
                    f"still at {position:g}; give one position for both"
                )

    @property
    def base(self) -> BaseMap:
        """Base parameters of the model."""
        return base_map(self.model)

    @property
    def criterion(self) -> Criterion:
        """What is optimised."""
        return criterion_named(self.settings.criterion)

    @cached_property
    def reference(self) -> Array:
        """theta (n_columns,) that torques are computed with."""
        return known_parameters(self.model) if self.theta is None else self.theta

    @cached_property
    def torque_noise(self) -> TorqueNoise:
        """Noise of each torque."""
        if self.noise is not None:
            return self.noise
        return assumed_noise(self.model, self.reference, self.limits)

    @cached_property
    def scale(self) -> Array:
        """Typical size (n_base,) of each base parameter, by which columns are scaled."""
        return parameter_scale(self.model)[list(self.base.independent)]

    @cached_property
    def excited(self) -> tuple[int, ...]:
        """Base parameters (indices) that motions with these still joints can determine.

        All of them where every joint moves; with earlier knowledge, all of them too.
        """
        if not self.still or self.known is not None:
            return tuple(range(self.base.rank))
        rng = np.random.default_rng(0)
        n_samples = max(60, 4 * self.base.rank)
        shape = (n_samples, self.model.nv)
        q = rng.uniform(self.limits.lower, self.limits.upper, size=shape)
        v, a = rng.normal(scale=3.0, size=shape), rng.normal(scale=9.0, size=shape)
        for joint, position in self.still.items():
            j = self.model.channels.index(joint)
            q[:, j], v[:, j], a[:, j] = position, 0.0, 0.0
        W = torque_regressor(self.model.with_widths({}), q, v, a)
        rows, _ = unit_columns(self.model, W.reshape(-1, W.shape[2]))
        columns = self.base.independent
        found = set(independent_columns(rows, columns))
        return tuple(k for k, column in enumerate(columns) if column in found)
