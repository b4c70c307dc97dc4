"""Motions one after the other, and whether they fit together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import SignalError
from steelyard.excitation.extremes import Extremes, joined
from steelyard.excitation.trajectory import Trajectory, motion_of
from steelyard.signals.motion import Motion

Array = NDArray[np.float64]

DERIVATIVES = ("position", "velocity", "acceleration")
JUMP = 1e-9
"""Differences where two motions meet that are below this share of their largest value are
rounding."""


@dataclass(frozen=True, eq=False)
class SequenceTrajectory:
    """Motions of the same joints one after the other; the robot stands still before and after.

    parts : the motions. durations_s : how long (s) each of them runs.
    starts_s : time (s) inside each motion at which it is entered; 0 for all if left out.
    """

    parts: tuple[Trajectory, ...]
    durations_s: tuple[float, ...]
    starts_s: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        parts = tuple(self.parts)
        durations = tuple(float(value) for value in self.durations_s)
        starts = tuple(float(value) for value in self.starts_s) or (0.0,) * len(parts)
        if not parts or len(durations) != len(parts) or len(starts) != len(parts):
            raise SignalError(
                f"a sequence of {len(parts)} motions has {len(durations)} durations and "
                f"{len(starts)} starts; it needs one of each per motion, and a motion at least"
            )
        for number, (part, duration) in enumerate(zip(parts, durations, strict=True), start=1):
            if part.joints != parts[0].joints:
                raise SignalError(
                    f"motion {number} of the sequence moves {', '.join(part.joints)}, the first "
                    f"one {', '.join(parts[0].joints)}; they must have the same joints in the "
                    "same order"
                )
            if not (np.isfinite(duration) and duration > 0.0):
                raise SignalError(
                    f"motion {number} of the sequence lasts {duration} s; its duration must be "
                    "positive"
                )
        for name, value in (("parts", parts), ("durations_s", durations), ("starts_s", starts)):
            object.__setattr__(self, name, value)

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints."""
        return self.parts[0].joints

    @cached_property
    def begins(self) -> Array:
        """Times (n_parts + 1,) s at which the parts begin, and the end of the last."""
        return np.concatenate([[0.0], np.cumsum(self.durations_s)])

    @property
    def duration_s(self) -> float:
        """Time (s) at which the last part ends."""
        return float(self.begins[-1])

    def evaluate(self, time: ArrayLike, run: str = "sequence") -> Motion:
        """Position, velocity and acceleration (n_samples, n_joints) at these times (s)."""
        return motion_of(self, time, run)

    def derivative(self, time: ArrayLike, order: int) -> Array:
        """The derivative of this order (n_samples, n_joints) at these times (s); where parts meet,
        that of the later one.
        """
        asked = np.atleast_1d(np.asarray(time, dtype=float))
        inside = np.clip(asked, 0.0, self.duration_s)
        number = np.searchsorted(self.begins[1:-1], inside, "right")
        out = np.empty((len(asked), len(self.joints)))
        for k, part in enumerate(self.parts):
            rows = number == k
            if rows.any():
                # rounding must not lead past the end of a part, where it would stand still
                own = np.minimum(inside[rows] - self.begins[k], self.durations_s[k])
                out[rows] = part.derivative(self.starts_s[k] + own, order)
        if order > 0:
            out[inside != asked] = 0.0
        return out

    def extremes(self) -> Extremes:
        """Bounds that hold from the beginning to the end.

        A derivative is infinite where the derivative below it jumps between two parts.
        """
        found = self._of_parts
        rates = []
        broken = np.zeros(len(self.joints), dtype=bool)
        for order, rate in enumerate((found.velocity, found.acceleration, found.jerk)):
            broken = broken | self.jumps(order).any(axis=0)
            rates.append(np.where(broken, np.inf, rate))
        return Extremes(self.joints, found.lower, found.upper, *rates)

    def jumps(self, order: int) -> Array:
        """Differences (n_parts - 1, n_joints) of this derivative where parts meet; those of the
        size of rounding are zero.
        """
        rows = [
            after.derivative([start], order)[0] - before.derivative([begin + duration], order)[0]
            for before, begin, duration, after, start in zip(
                self.parts[:-1],
                self.starts_s[:-1],
                self.durations_s[:-1],
                self.parts[1:],
                self.starts_s[1:],
                strict=True,
            )
        ]
        jumps = np.array(rows).reshape(-1, len(self.joints))
        return np.where(np.abs(jumps) > self._rounding[order], jumps, 0.0)

    def check_smooth(self, *, rest_at_ends: bool = True) -> None:
        """Refuse jumps of position, velocity or acceleration where parts meet.

        rest_at_ends : also refuse a velocity or acceleration at the beginning and the end.
        """
        for order, name in enumerate(DERIVATIVES):
            _refuse_jump(self.joints, self.begins[1:-1], self.jumps(order), f"the {name} jumps by")
            if rest_at_ends and order > 0:
                ends = np.concatenate(
                    [
                        self.parts[k].derivative([self.starts_s[k] + after], order)
                        for k, after in ((0, 0.0), (-1, self.durations_s[-1]))
                    ]
                )
                ends[np.abs(ends) <= self._rounding[order]] = 0.0
                _refuse_jump(self.joints, self.begins[[0, -1]], ends, f"the {name} is not 0 but")

    @cached_property
    def _of_parts(self) -> Extremes:
        """Bounds on all parts, wherever they meet."""
        return joined([part.extremes() for part in self.parts])

    @cached_property
    def _rounding(self) -> Array:
        """Differences (3, n_joints) of position, velocity and acceleration that are rounding."""
        found = self._of_parts
        position = np.maximum(np.abs(found.lower), np.abs(found.upper))
        shortest = min(self.durations_s)
        sizes = []
        for order, rate in enumerate((position, found.velocity, found.acceleration)):
            # a joint that hardly moves has derivatives that are nothing but rounding
            from_position = 1e-13 * position / shortest**order
            sizes.append(JUMP * np.where(np.isfinite(rate), rate, 0.0) + from_position)
        return np.array(sizes)


def _refuse_jump(joints: Sequence[str], times: Array, sizes: Array, what: str) -> None:
    """Raise an error for the largest of these differences (n_times, n_joints), if any."""
    if sizes.any():
        row, joint = divmod(int(np.abs(sizes).argmax()), sizes.shape[1])
        raise SignalError(
            f"joint '{joints[joint]}' at {times[row]:g} s: {what} {sizes[row, joint]:.6g} (in rad "
            "or m, and s); let each part begin in the state in which the one before it ends"
        )
