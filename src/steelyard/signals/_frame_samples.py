"""Pieces of a log, as samples of a frame's motion and wrench: filtered, trimmed and decimated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import SignalError
from steelyard.findings import Finding
from steelyard.logs.log import Log
from steelyard.signals._frame_sources import FrameSource
from steelyard.signals._pieces import Piece, pieces_of
from steelyard.signals._samples import decimation, long_enough, trim
from steelyard.signals._timebase import missing_on_grid
from steelyard.signals.cutoff import (
    FEWEST_SAMPLES,
    CutoffChoice,
    at_recorded_rate,
    automatic_cutoff,
)
from steelyard.signals.frame_kinematics import at_another_frame
from steelyard.signals.frame_motion import FrameMotion, Wrench
from steelyard.signals.processing import Processing
from steelyard.signals.smoothing import Smoothing
from steelyard.signals.wrench import Axes, Sign, oriented

Array = NDArray[np.float64]
COMPONENTS = ("force_x", "force_y", "force_z", "torque_x", "torque_y", "torque_z")


@dataclass(frozen=True, eq=False)
class FrameSamples:
    """Motion and wrench on the time base that is used, and how they came there."""

    motion: FrameMotion
    wrench: Wrench | None
    recorded_rate_hz: float
    rate_out_hz: float
    cutoff: float | None
    choice: CutoffChoice | None
    wrench_filtered: bool
    decimation: int
    trimmed_s: tuple[float, float]
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, eq=False)
class FrameTask:
    """What to do with a log, once its signals are chosen."""

    log: Log
    frame: str
    processing: Processing
    origin: FrameSource
    T_recorded_frame: Array | None
    axes: Axes
    sign: Sign

    def poses_at_rest(self, used: dict[tuple[str, str], Array]) -> FrameSamples:
        """Each row by itself; rows that lack a signal are left out."""
        kept = np.ones(len(self.log), dtype=bool)
        for values in used.values():
            kept &= np.isfinite(values)
        if not kept.any():
            raise SignalError(f"log '{self.log.name}': no row has every signal that is used")
        even = {key: values[kept] for key, values in used.items()}
        motion = self._shifted(self.origin.at_rest(self.log.time[kept], even, self.log.name))
        rate = float(1.0 / np.median(np.diff(self.log.time)))
        force = self._wrench(even, motion.R_world_frame)
        return FrameSamples(motion, force, rate, rate, None, None, False, 1, (0.0, 0.0))

    def moving(
        self, used: dict[tuple[str, str], Array], given_cutoff: float | None = None
    ) -> FrameSamples:
        """Pieces between holes, each filtered, differentiated, trimmed and decimated."""
        log, processing = self.log, self.processing
        names = {key: ".".join(part for part in key if part) for key in used}
        pieces = pieces_of(log, used, names, processing)
        longest = max(pieces, key=len)
        cutoff, choice, notes = self._cutoff(longest, given_cutoff)
        kept = long_enough(pieces, cutoff, processing, log.name)
        factor = decimation(longest.base.rate_hz, cutoff, processing)
        parts = [self._of_piece(piece, cutoff, factor) for piece in kept]
        motion, wrench = (
            _joined([one[0] for one in parts]),
            _joined_wrench([one[1] for one in parts]),
        )
        first, end = trim(len(longest), longest.base.rate_hz, cutoff, processing, log.name)
        rate = longest.base.rate_hz
        return FrameSamples(
            motion,
            wrench,
            longest.base.recorded_rate_hz,
            rate / factor,
            cutoff,
            choice,
            wrench is not None and processing.filters_torque,
            factor,
            (first / rate, (len(longest) - end) / rate),
            (*notes, *_cut_findings(log, pieces, kept)),
        )

    def _cutoff(
        self, longest: Piece, given: float | None
    ) -> tuple[float | None, CutoffChoice | None, tuple[Finding, ...]]:
        if given is not None:
            return given, None, ()
        asked = self.processing.cutoff_hz
        if asked != "auto":
            return (None if asked is None else float(asked)), None, ()
        rate = longest.base.rate_hz
        moving = self.origin.position_like(longest.even, rate)
        if moving.size == 0:
            words = (
                f"log '{self.log.name}': frame '{self.frame}' never moves; nothing is filtered. "
                "A pose at rest gives mass and centre of mass only in several orientations"
            )
            return None, None, (Finding("info", "frame-at-rest", words),)
        moving, rate = at_recorded_rate(moving, rate, self.log.motion_rate_hz)
        if len(moving) < FEWEST_SAMPLES:
            raise SignalError(
                f"log '{self.log.name}': {len(moving)} samples are too few to choose a cutoff from "
                f"({FEWEST_SAMPLES} are needed); if each row is a pose at rest, give --at-rest "
                "(at_rest=True in Python), otherwise a number with --cutoff-hz (cutoff_hz)"
            )
        choice = automatic_cutoff(moving, rate, self.processing.filter_order, self.log.name)
        return choice.cutoff_hz, choice, ()

    def _of_piece(
        self, piece: Piece, cutoff: float | None, factor: int
    ) -> tuple[FrameMotion, Wrench | None]:
        base, processing, name = piece.base, self.processing, self.log.name
        motion = self._shifted(self.origin.motion(base, piece.even, cutoff, processing, name))
        first, end = trim(len(piece), base.rate_hz, cutoff, processing, name)
        keep = slice(first, end, factor)
        R = self.origin.orientation(base, piece.even)
        if R is not None and self.T_recorded_frame is not None:
            R = R @ self.T_recorded_frame[:3, :3]
        wrench = self._wrench(piece.even, R)
        if wrench is not None:
            both = np.column_stack([wrench.force, wrench.torque])
            if processing.filters_torque:
                smoothing = Smoothing(base.rate_hz, cutoff, processing, name)
                both = smoothing.derivatives(both, 0)[0]
            gone = base.in_hole.copy()
            for component in COMPONENTS:
                gone |= missing_on_grid(base, piece.missing["wrench", component])
            both[gone] = np.nan
            wrench = Wrench(self.frame, both[keep, :3].copy(), both[keep, 3:].copy())
        turned = motion.R_world_frame
        kept = FrameMotion(
            self.frame,
            base.grid[keep],
            motion.proper_acceleration[keep],
            motion.angular_velocity[keep],
            motion.angular_acceleration[keep],
            None if turned is None else turned[keep],
            name,
        )
        return kept, wrench

    def _wrench(self, even: Mapping[tuple[str, str], Array], R: Array | None) -> Wrench | None:
        if ("wrench", COMPONENTS[0]) not in even:
            return None
        both = np.column_stack([even["wrench", name] for name in COMPONENTS])
        return Wrench(self.frame, *oriented(both, self.axes, self.sign, R, self.frame))

    def _shifted(self, motion: FrameMotion) -> FrameMotion:
        if self.T_recorded_frame is None:
            return motion
        return at_another_frame(motion, self.T_recorded_frame, self.frame)


def _joined(parts: Sequence[FrameMotion]) -> FrameMotion:
    first = parts[0]
    if len(parts) == 1:
        return first
    R = [one.R_world_frame for one in parts if one.R_world_frame is not None]
    return FrameMotion(
        first.frame,
        np.concatenate([one.time for one in parts]),
        np.concatenate([one.proper_acceleration for one in parts]),
        np.concatenate([one.angular_velocity for one in parts]),
        np.concatenate([one.angular_acceleration for one in parts]),
        np.concatenate(R) if R else None,
        first.run,
    )


def _joined_wrench(parts: Sequence[Wrench | None]) -> Wrench | None:
    there = [one for one in parts if one is not None]
    if not there:
        return None
    force = np.concatenate([one.force for one in there])
    return Wrench(there[0].frame, force, np.concatenate([one.torque for one in there]))


def _cut_findings(log: Log, pieces: Sequence[Piece], kept: Sequence[Piece]) -> tuple[Finding, ...]:
    if len(pieces) == 1:
        return ()
    lost = len(pieces) - len(kept)
    too_short = f"; {lost} of them are too short for the filter and not used" if lost else ""
    words = (
        f"log '{log.name}' was cut into {len(pieces)} pieces where a signal was not recorded"
        f"{too_short}; max_gap_s sets up to which length gaps are interpolated"
    )
    return (Finding("info", "log-cut", words),)
