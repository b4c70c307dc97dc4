"""Measured kinematics and torques on one time base."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import SignalError, described, listed
from steelyard.model.term_signals import TermSignals

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Motion:
    """Kinematics on one time base, joints in the order of ``Robot.joint_names``.

    time : (n_samples,) s, increasing.
    q : (n_samples, nq) rad or m. With a floating base the first seven columns are the
        base position in the world (m) and its unit quaternion x, y, z, w.
    v, a : (n_samples, nv) and its time derivative. With a floating base the first six
        columns are the base's linear (m/s) and angular (rad/s) velocity in the base
        frame, as in Pinocchio, and ``a`` is their componentwise derivative.
        Lists of numbers become arrays.
    run : name of the recording, so that several can be merged.
    friction : terms that jump at zero speed, filtered as the measured torque was and smeared as the
        measured speed is; None where they follow from the speed.
    """

    time: Array
    q: Array
    v: Array
    a: Array
    run: str = "run"
    friction: TermSignals | None = None

    def __post_init__(self) -> None:
        for name in ("time", "q", "v", "a"):
            array = _numbers(getattr(self, name), f"motion '{self.run}': {name}")
            object.__setattr__(self, name, array)
        if self.time.ndim != 1:
            raise SignalError(
                f"motion '{self.run}': time has shape {self.time.shape}; (n_samples,) is needed"
            )
        n = len(self.time)
        for name in ("q", "v", "a"):
            array = getattr(self, name)
            if array.ndim != 2 or len(array) != n:
                raise SignalError(
                    f"motion '{self.run}': {name} has shape {array.shape}, but time has {n} samples"
                )
        if self.friction is not None and len(self.friction.values) != n:
            raise SignalError(
                f"motion '{self.run}': the filtered friction has {len(self.friction.values)} "
                f"samples, but time has {n}"
            )
        if self.v.shape != self.a.shape:
            raise SignalError(
                f"motion '{self.run}': v has shape {self.v.shape} and a {self.a.shape}"
            )

    def __repr__(self) -> str:
        return f"<Motion '{self.run}': {len(self)} samples of {self.v.shape[1]} coordinates>"

    def __len__(self) -> int:
        return len(self.time)

    def __getitem__(self, rows: slice) -> Motion:
        friction = None if self.friction is None else self.friction[rows]
        return Motion(self.time[rows], self.q[rows], self.v[rows], self.a[rows], self.run, friction)


@dataclass(frozen=True, eq=False)
class Measurements:
    """Generalised forces on the motion's time base; NaN marks a missing one.

    channels : one name per column, as in ``Model.channels`` (the joint names, after the
        six base wrench axes of a floating base).
    tau : (n_samples, n_channels) N m or N; NaN where the sample must not be used.
    """

    channels: tuple[str, ...]
    tau: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "channels", tuple(self.channels))
        object.__setattr__(self, "tau", _numbers(self.tau, "measurements: tau"))
        if self.tau.ndim != 2 or self.tau.shape[1] != len(self.channels):
            raise SignalError(
                f"measurements have shape {self.tau.shape} for {len(self.channels)} channels"
            )
        double = [name for name in dict.fromkeys(self.channels) if self.channels.count(name) > 1]
        if double:
            raise SignalError(
                f"measurements have several columns of {listed(double)}; each channel has one"
            )

    def __repr__(self) -> str:
        missing = int(np.isnan(self.tau).sum())
        return f"<Measurements: {len(self)} samples of {listed(self.channels)}; {missing} missing>"

    def __len__(self) -> int:
        return len(self.tau)

    def __getitem__(self, rows: slice) -> Measurements:
        return Measurements(self.channels, self.tau[rows])


def _numbers(given: ArrayLike, what: str) -> Array:
    """An array of floats, the same object where it is one; refuses what is no table of numbers."""
    try:
        return np.asarray(given, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise SignalError(f"{what} is {described(given)}, not an array of numbers") from None
