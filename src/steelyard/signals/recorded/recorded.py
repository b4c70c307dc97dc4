"""The signals of a log as the detectors look at them: as recorded, by joint of the robot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.findings import Finding, Level
from steelyard.logs.log import Log
from steelyard.robot.parts import Joint
from steelyard.robot.robot import Robot
from steelyard.signals._timebase import holes_before
from steelyard.signals.cubic_spline import cubic_spline
from steelyard.signals.outliers import in_periods, left_out
from steelyard.signals.steps import Steps, least_change, steps_of

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Key = tuple[str, str]

FEWEST = 8
"""Samples without which a signal is not looked at."""
USED = ("position", "torque")
"""The quantities that every fit uses."""
MOVING, FAST = 0.1, 0.5
"""A joint moves, or is fast, where its speed is more than this share of its rms speed."""
RESTS = 5e-3
"""A joint that stays within this (rad or m) rests."""
COARSE = 0.3
"""Steps whose noise is more than this share of the usual one are not judged."""
MOST_REPEATS = 3
"""More rows in which all positions are those of the row before are of a robot at rest."""
SMOOTHED_S = 0.05
"""Time (s) over which a speed is averaged to see whether a joint moves."""
UNEVEN = 0.05
"""Stamps further (rms) from an even grid than this share of a period are uneven."""
DIGIT = 0.3
"""Share of the resolution of a position that is no roughness and no error."""
SMOOTHER = 3.0
"""Rows are even if positions are smoother by this factor with even stamps."""


@dataclass(frozen=True, eq=False)
class Recorded:
    """A log beside its robot.

    name : of the log. time : (n_samples,) s. joints : of the robot, those that move and of which
    the log has a position. raw : (joint, quantity) -> (n_samples,) as recorded,
    NaN where nothing was.
    signals : the same, those of quantities in ``USED`` with NaN in the place of outliers.
    outliers : masks (n_samples,) of those. columns : (joint, quantity) -> name of the column in
    the file, where it is known.
    """

    name: str
    robot: Robot
    time: Array
    joints: tuple[Joint, ...]
    raw: Mapping[Key, Array]
    signals: Mapping[Key, Array]
    outliers: Mapping[Key, Mask]
    columns: Mapping[Key, str] = field(default_factory=dict)

    @staticmethod
    def of(log: Log, robot: Robot) -> Recorded:
        """The log beside the robot; joints are matched by name."""
        recorded = Recorded.of_signals(log.name, log.time, log.signals, robot, USED)
        return replace(recorded, columns=log.columns)

    @staticmethod
    def of_signals(
        name: str,
        time: Array,
        signals: Mapping[Key, Array],
        robot: Robot,
        used: tuple[str, ...] | None = None,
    ) -> Recorded:
        """Signals beside the robot: joint and quantity -> (n_samples,), at ``time`` (n_samples,) s.

        used : quantities of which outliers are left out; None for all.
        """
        joints = tuple(one for one in robot.free_joints if (one.name, "position") in signals)
        names = {joint.name for joint in joints}
        raw = {
            key: np.where(np.isfinite(values), values, np.nan)
            for key, values in signals.items()
            if key[0] in names
        }
        turning = {joint.name for joint in joints if joint.kind != "prismatic"}
        checked = {key: values for key, values in raw.items() if used is None or key[1] in used}
        kept, outliers = left_out(time, checked, turning)
        return Recorded(name, robot, time, joints, raw, raw | kept, outliers)

    def __len__(self) -> int:
        return len(self.time)

    @cached_property
    def period_s(self) -> float:
        """Median time (s) between rows."""
        return float(np.median(np.diff(self.time)))

    @property
    def mean_period_s(self) -> float:
        """Mean time (s) between rows: their period if they were sampled evenly."""
        return float(self.time[-1] - self.time[0]) / (len(self) - 1)

    @cached_property
    def stamps(self) -> Array:
        """Time stamps (n_samples,) in periods."""
        return in_periods(self.time)

    def finding(
        self,
        level: Level,
        code: str,
        words: str,
        joints: tuple[str, ...] = (),
        rows: NDArray[np.int64] | None = None,
        size: tuple[float, str] | None = None,
        **others: Any,
    ) -> Finding:
        """A finding about this log, in these rows (n,), with its size and unit.

        others : further fields of `Finding`.
        """
        if rows is not None:
            others["span_s"] = (float(self.time[rows[0]]), float(self.time[rows[-1]]))
        if size is not None:
            others |= {"size": float(size[0]), "unit": size[1]}
        return Finding(level, code, f"log '{self.name}': {words}", joints, **others)

    def of_quantity(self, quantity: str) -> Iterator[tuple[Joint, Array]]:
        """Each joint that has this quantity, with its samples (n_samples,) without outliers.

        Signals of which next to nothing was measured are left out.
        """
        for joint in self.joints:
            values = self.signals.get((joint.name, quantity))
            if values is not None and np.count_nonzero(np.isfinite(values)) >= FEWEST:
                yield joint, values

    @property
    def used(self) -> Iterator[tuple[Joint, str, Array]]:
        """Each position and torque: joint, quantity and samples (n_samples,)."""
        for quantity in USED:
            for joint, values in self.of_quantity(quantity):
                yield joint, quantity, values

    @cached_property
    def speeds(self) -> Mapping[str, Array]:
        """By joint, its speed (n_samples,) in rad or m a period, averaged over a few samples."""
        n = max(1, min(round(SMOOTHED_S / self.period_s), 50, len(self) // 8))
        holes = holes_before(self.time)
        return {
            joint.name: _speed(self.stamps, q, n, holes)
            for joint, q in self.of_quantity("position")
        }

    @cached_property
    def usual_speeds(self) -> Mapping[str, float]:
        """By joint, its rms speed in rad or m a period; 0 of a joint that rests."""
        usual = {}
        for joint, q in self.of_quantity("position"):
            speed = self.speeds[joint.name]
            rms = float(np.sqrt(np.mean(np.minimum(speed, np.percentile(speed, 98.0)) ** 2)))
            usual[joint.name] = rms if np.nanmax(q) - np.nanmin(q) > RESTS else 0.0
        return usual

    def faster(self, joint: str, share: float) -> Mask:
        """Where (n_samples,) a joint is faster than a share of its rms speed."""
        usual = self.usual_speeds.get(joint, 0.0)
        return self.speeds[joint] > share * usual if usual > 0.0 else np.zeros(len(self), bool)

    @cached_property
    def evenly_sampled(self) -> bool:
        """Whether rows were sampled evenly although their stamps are uneven.

        For each joint, how far samples are from the line between their neighbours is computed with
        the stamps and with even ones, where it moves; the median of the ratios counts.
        """
        time = self.time
        if len(self) < 50 or unevenness_s(time) < UNEVEN * self.mean_period_s:
            return False
        before, after = np.diff(time)[:-1], np.diff(time)[1:]
        share = before / (before + after)
        holes = holes_before(time)
        whole = holes[2:] == holes[:-2]
        ratios = []
        for joint, q in self.of_quantity("position"):
            use = self.faster(joint.name, MOVING)[1:-1] & whole
            use &= np.isfinite(q[2:] + q[1:-1] + q[:-2])
            if np.count_nonzero(use) < 30:
                continue
            by_row = np.abs(q[1:-1] - 0.5 * (q[:-2] + q[2:]))[use]
            by_stamp = np.abs(q[1:-1] - (1.0 - share) * q[:-2] - share * q[2:])[use]
            # all but the largest see bursts; the median sees jitter in a log that also lacks rows
            least = max(DIGIT * last_digit(q), 1e-300)
            ratios.append(
                max(
                    float(size(by_stamp)) / max(float(size(by_row)), least)
                    for size in (_without_largest, np.median)
                )
            )
        return bool(ratios) and float(np.median(ratios)) > SMOOTHER

    @cached_property
    def steps(self) -> Mapping[str, Steps]:
        """By joint, the steps of its position; of joints that rest or are too coarse, none."""
        stamps = np.arange(float(len(self))) if self.evenly_sampled else self.stamps
        found = {}
        for joint, q in self.of_quantity("position"):
            use = np.isfinite(q) & self.sampled
            change = np.concatenate([[True], q[1:] != q[:-1]])
            # of a signal that is held, only rows with a new value are samples
            if np.mean(change[use]) < 0.5:
                use &= change
            steps = steps_of(stamps, q, use)
            if steps is not None and 0.0 < steps.noise < COARSE * self.usual_speeds[joint.name]:
                found[joint.name] = steps
        return found

    @cached_property
    def in_motion(self) -> Mask:
        """Where (n_samples,) at least one joint moves."""
        return self.any_faster(MOVING)

    def any_faster(self, share: float) -> Mask:
        """Where (n_samples,) at least one joint is faster than a share of its rms speed."""
        faster = [self.faster(joint, share) for joint in self.speeds]
        return np.asarray(np.any([np.zeros(len(self), bool), *faster], axis=0))

    @cached_property
    def fresh(self) -> Mask:
        """Rows (n_samples,) in which at least one signal differs from the row before."""
        return ~repeated(self.raw.values(), len(self))

    @cached_property
    def fresh_positions(self) -> Mask:
        """Rows (n_samples,) in which at least one position differs from the row before."""
        positions = (x for (_, quantity), x in self.raw.items() if quantity == "position")
        return ~repeated(positions, len(self))

    @cached_property
    def sampled(self) -> Mask:
        """Rows (n_samples,) that are samples of the positions: without those that repeat the row
        before, and without those that repeat all positions, unless there are many in a row, as
        of a robot at rest.
        """
        return self.fresh & (
            self.fresh_positions | in_long_runs(~self.fresh_positions, MOST_REPEATS)
        )


def repeated(signals: Iterable[Array], n: int) -> Mask:
    """Rows (n,) in which each of these signals (n,) has the value of the row before."""
    out = np.arange(n) > 0
    for values in signals:
        rest = np.flatnonzero(out)
        out[rest] = values[rest] == values[rest - 1]
    return out


def runs_of(mask: Mask) -> NDArray[np.int64]:
    """First row, and the row behind the last, of each run (n_runs, 2) in a mask (n,)."""
    inside = np.concatenate([[False], mask, [False]])
    return np.flatnonzero(inside[1:] != inside[:-1]).reshape(-1, 2)


def in_long_runs(mask: Mask, longest: float) -> Mask:
    """Rows (n,) that are in a run of more than ``longest`` in a mask (n,)."""
    out = np.zeros(len(mask), bool)
    runs = runs_of(mask)
    for first, end in runs[runs[:, 1] - runs[:, 0] > longest].tolist():
        out[first:end] = True
    return out


def interpolated(time: Array, x: Array, known: Mask, wanted: Mask) -> Array:
    """A signal (n,) with a cubic spline through its known samples in the place of the wanted ones;
    as it is, if less than four are known. time : (n,) s.
    """
    if np.count_nonzero(known) < 4 or not wanted.any():
        return x
    out = x.copy()
    out[wanted] = cubic_spline(time[known], x[known])(time[wanted])
    return out


def last_digit(x: Array) -> float:
    """The smallest change of a signal (n,) between samples; 0 if there is none."""
    return least_change(np.diff(x[np.isfinite(x)]))


def without_parabola(table: Array) -> Array:
    """Signals (n_samples, k), each without the parabola that fits it best."""
    s = np.linspace(-1.0, 1.0, len(table))
    parabola = np.column_stack([np.ones_like(s), s, s**2])
    return np.asarray(table - parabola @ np.linalg.lstsq(parabola, table, rcond=None)[0])


def unevenness_s(time: Array) -> float:
    """Distance (s, rms) of stamps (n_samples,) from even ones, in parts of which there are at most
    20, so that gaps count little.
    """
    n = max(len(time) // 20, 2)
    whole = time[: len(time) // n * n].reshape(-1, n)
    row = np.arange(n) - 0.5 * (n - 1)
    away = whole - whole.mean(axis=1, keepdims=True)
    away = away - np.outer(away @ row / (row @ row), row)
    return float(np.sqrt(np.mean(away**2)))


def _without_largest(x: Array) -> float:
    """Root mean square of sizes (n,) without the largest half percent."""
    return float(np.sqrt(np.mean(np.minimum(x, np.percentile(x, 99.5)) ** 2)))


def _speed(stamps: Array, q: Array, n: int, holes: NDArray[np.int64]) -> Array:
    """Speed (n_samples,) of a position in rad or m a period, over ``n`` samples to either side.

    holes : (n_samples,) how many there are before each sample. Beside a hole, the speed is that of
    the nearest samples whose neighbours are all on their side of it.
    """
    known = np.isfinite(q)
    if np.count_nonzero(known) < 2 or len(q) < 2 * n + 2:
        return np.zeros(len(q))
    filled = q if known.all() else np.interp(stamps, stamps[known], q[known])
    wide = np.abs(filled[2 * n :] - filled[: -2 * n]) / (stamps[2 * n :] - stamps[: -2 * n])
    whole = np.flatnonzero(holes[2 * n :] == holes[: -2 * n])
    if 0 < len(whole) < len(wide):
        wide = np.interp(np.arange(len(wide)), whole, wide[whole])
    return np.concatenate([np.full(n, wide[0]), wide, np.full(n, wide[-1])])
