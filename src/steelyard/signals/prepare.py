"""From a log to motion and measurements, with a record of everything that was done."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import RobotError, SignalError, described, listed
from steelyard.findings import Finding
from steelyard.logs.log import Log
from steelyard.model.model import Model
from steelyard.model.term_signals import TermSignals
from steelyard.robot.robot import Robot
from steelyard.signals._crosschecks import (
    beyond_limits,
    constant_torques,
    moving_locked_joints,
)
from steelyard.signals._pieces import Piece
from steelyard.signals._samples import decimation, joined, long_enough, samples_of
from steelyard.signals._sensed import Sensed, torques_of
from steelyard.signals.base_doubts import base_findings
from steelyard.signals.cutoff import (
    HIGHEST,
    LEAST_BANDWIDTHS,
    CutoffChoice,
    at_recorded_rate,
    automatic_cutoff,
)
from steelyard.signals.dead_band import error_band, without_slow_torques
from steelyard.signals.motion import Measurements, Motion
from steelyard.signals.opened_log import OpenedLog, open_log
from steelyard.signals.outliers import outlier_findings
from steelyard.signals.processing import Processing
from steelyard.signals.run_record import RunRecord, TimeBaseRecord, TimeRepair
from steelyard.signals.wrench_readings import reading_findings

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

AS_LONG = 0.99
"""Pieces of a log at least so many times as long as the longest count for the cutoff."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """Motion and torques on one time base, rows in the order of ``Model.channels``.

    measurements : the torques to use, NaN where they are missing or inside the dead band.
    all_measurements : the same with the torques inside the dead band.
    outside_band : without torques near standstill, for the first of the errors that are reported;
        near is inside the dead band, or below a tenth of the joint's speed (rms) without one.
    unfiltered : all torques as they were measured, on the same time base.
    record : what was found in the log and done to it.
    findings : what the user should know about the log.
    other_friction : the friction of the models that were given beside the first, filtered as the
        torque was, then that of the travels.
    plain_friction : friction along the unfiltered torque, where it is not the law at the motion's
        speed.
    """

    motion: Motion
    measurements: Measurements
    all_measurements: Measurements
    outside_band: Measurements
    unfiltered: Measurements
    record: RunRecord
    findings: tuple[Finding, ...] = ()
    other_friction: tuple[TermSignals, ...] = ()
    plain_friction: TermSignals | None = None

    def __repr__(self) -> str:
        record = self.record
        return (
            f"<Prepared '{record.log}': {len(self.motion)} samples at {record.rate_out_hz:.6g} Hz "
            f"of {listed(self.measurements.channels)}; {len(self.findings)} findings>"
        )

    @property
    def unfiltered_motion(self) -> Motion:
        """The motion with friction as it is, for the unfiltered torque."""
        return replace(self.motion, friction=self.plain_friction)


def prepare(
    log: Log,
    model: Model | Robot,
    processing: Processing | None = None,
    *,
    cutoff_of_another_log: bool = False,
    other_widths: Sequence[Model] = (),
    other_travels: Sequence[float] = (),
    opened: OpenedLog | None = None,
    usual_speeds: Mapping[str, float] | None = None,
    enough_hz: float = math.inf,
) -> Prepared:
    """Clean, filter and differentiate a log.

    model : its Coulomb terms are filtered as the torque is, and say to which speeds a dead band
        applies; a robot means ``Model(robot)``, with the default terms.
    cutoff_of_another_log : whether the cutoff was chosen on another log and not by the user: it
        is then lowered to what the sample rate of this log allows, and a finding says so. A
        cutoff that the user gave is refused there.
    other_widths : models that differ in the terms that jump at zero speed only, such as in their
        widths; theirs are filtered too.
    other_travels : travels over which friction follows a change of direction, as shares of the rms
        of the position; it is filtered too.
    opened : by :func:`steelyard.signals.opened_log.open_log`, where a log is prepared several times
        with other cutoffs, filters, dead bands and trims.
    usual_speeds : rms speed (rad/s or m/s) by owner of Coulomb friction, where the log is a part of
        a longer one, whose speed it is; see `steelyard.signals.long_run`.
    enough_hz : an automatic cutoff is no higher than this, or than four bandwidths of the motion.

    In this order: name joints that the log only numbers; motors to joints, where the robot has a
    transmission; match joints and units; leave out outliers, take back slips, interpolate held
    signals; unwrap; leave out what is stuck; read late torques earlier; cut at holes. Then for each
    piece: bridge short gaps and bring the stamps to a uniform grid; low-pass; differentiate; trim;
    decimate. Last, drop torque in the dead band.
    """
    processing = processing or Processing()
    robot = _robot_of(model)
    asked = processing.sensing
    if opened is None:
        opened = open_log(log, robot, processing)
    log, found, mend, pieces = opened.log, opened.found, opened.mend, opened.pieces
    joints, positions = opened.joints, opened.positions
    processing = replace(processing, sensing=opened.sensing)
    if not isinstance(model, Model):
        model = Model(robot)
    longest = max(pieces, key=len)
    alike = [piece for piece in pieces if len(piece) >= AS_LONG * len(longest)]
    cutoff, choice = _choose_cutoff(
        [_moving_signals(piece, joints, opened.moving, found) for piece in alike],
        longest.base.rate_hz,
        processing,
        log,
        enough_hz,
    )
    lowered: tuple[Finding, ...] = ()
    if cutoff_of_another_log:
        cutoff, lowered = _within_rate(cutoff, longest.base.rate_hz, log.name)
    used = long_enough(pieces, cutoff, processing, log.name)
    factor = decimation(longest.base.rate_hz, cutoff, processing)
    parts = [
        samples_of(
            piece,
            (model, *other_widths),
            joints,
            cutoff,
            factor,
            processing,
            log.name,
            found,
            usual_speeds,
            other_travels,
        )
        for piece in used
    ]
    samples = joined(parts)
    motion = samples.motion(log.name)
    channels = model.channels
    whole = Measurements(channels, samples.tau)
    kept, dead_band = without_slow_torques(model, motion, whole, processing.dead_band, usual_speeds)
    outside, band = error_band(model, motion, whole, dead_band, usual_speeds)
    record = RunRecord(
        log=log.name,
        processing=processing,
        source=log.source,
        content_sha256=opened.content_hash,
        samples_in=opened.n_rows,
        duration_s=log.duration_s,
        ignored_columns=log.ignored,
        ignored_joints=opened.ignored,
        computed_from_motors=opened.computed,
        motors=None if robot.transmission is None else robot.transmission.motors,
        time=_time_record(pieces, used, longest),
        time_repair=TimeRepair() if opened.clock is None else opened.clock.repair,
        rows_cut_at_ends=(pieces[0].rows.start, len(log) - pieces[-1].rows.stop),
        samples_bridged=_bridged(pieces),
        outliers={
            f"{joint}.{quantity}": int(np.count_nonzero(mask))
            for (joint, quantity), mask in opened.outliers.items()
        },
        stuck={
            f"{joint}.{quantity}": int(np.count_nonzero(mask))
            for (joint, quantity), mask in mend.stuck.items()
        },
        slips_taken_back={joint: len(slips.rows) for joint, slips in mend.slips.items()},
        interpolated_between_updates=tuple(f"{joint}.{quantity}" for joint, quantity in mend.held),
        unwrapped_jumps=opened.jumps,
        cutoff_hz=cutoff,
        cutoff_choice=choice,
        velocity_from=_with_base(samples.velocity_from, found),
        acceleration_from=_with_base(samples.acceleration_from, found),
        velocity_factors=opened.velocity_factors,
        trimmed_s=(parts[0].trimmed_s[0], parts[-1].trimmed_s[1]),
        decimation=factor,
        rate_out_hz=longest.base.rate_hz / factor,
        samples_out=len(motion),
        dead_band=dead_band,
        error_band=band,
        torque_samples_missing={
            channel: int(count)
            for channel, count in zip(channels, np.isnan(kept.tau).sum(axis=0), strict=True)
        },
        sensing_asked=asked,
    )
    limits = beyond_limits(robot, positions)
    wild = outlier_findings(log.name, log.time, opened.outliers)
    stuck = constant_torques(torques_of(found, pieces))
    findings = (
        *opened.names,
        *opened.sensing_notes,
        *lowered,
        *wild,
        *opened.doubts,
        *limits,
        *stuck,
        *base_findings(found, longest, cutoff, processing, log.name),
        *reading_findings(found, longest, joints, cutoff, processing, log.name),
        *moving_locked_joints(log, robot),
        *_hole_findings(log, pieces, used),
    )
    unfiltered = Measurements(channels, samples.unfiltered)
    others = samples.friction[1:]
    return Prepared(
        motion,
        kept,
        whole,
        outside,
        unfiltered,
        record,
        findings,
        others,
        samples.plain_friction,
    )


def _robot_of(model: object) -> Robot:
    """The robot of a model, or the robot itself; anything else is refused."""
    if isinstance(model, Model):
        return model.robot
    if isinstance(model, Robot):
        return model
    raise RobotError(f"a model or a robot is needed, not {described(model)}")


def _moving_signals(longest: Piece, joints: tuple[str, ...], moving: Mask, found: Sensed) -> Array:
    """Positions (n_samples, k) of what moves, from which a cutoff is chosen."""
    signals = [longest.columns(joints, "position")[:, moving]] if joints else []
    if found.base is not None:
        of_base = found.base.position_like(longest.even, longest.base.rate_hz)
        signals += [of_base] if of_base.size else []
    if not signals:
        raise SignalError("nothing moves: neither the base nor a joint")
    return np.hstack(signals)


def _with_base(sources: Mapping[str, str], found: Sensed) -> dict[str, str]:
    """How velocities or accelerations were obtained, that of the base included."""
    if found.base is None:
        return dict(sources)
    return {found.robot.root: f"from {found.base.in_words}", **sources}


def _choose_cutoff(
    signals: Sequence[Array], rate_hz: float, processing: Processing, log: Log, enough_hz: float
) -> tuple[float | None, CutoffChoice | None]:
    if processing.cutoff_hz is None:
        return None, None
    if processing.cutoff_hz == "auto":
        moving = [at_recorded_rate(q, rate_hz, log.motion_rate_hz) for q in signals]
        (first, rate_hz), others = moving[0], [q for q, _ in moving[1:]]
        order = processing.filter_order
        choice = automatic_cutoff(first, rate_hz, order, log.name, others=others)
        highest = max(enough_hz, LEAST_BANDWIDTHS * choice.bandwidth_hz)
        return min(choice.cutoff_hz, highest), choice
    return float(processing.cutoff_hz), None


def _within_rate(
    cutoff: float | None, rate_hz: float, name: str
) -> tuple[float | None, tuple[Finding, ...]]:
    """The cutoff, lowered to what the sample rate allows, and a note where it was lowered."""
    highest = HIGHEST * rate_hz
    if cutoff is None or cutoff <= highest:
        return cutoff, ()
    words = (
        f"log '{name}' is sampled at {rate_hz:.4g} Hz, too slowly for the cutoff of {cutoff:.4g} "
        f"Hz that was chosen on the first log: it is filtered at {highest:.4g} Hz. To filter all "
        "logs alike, give --cutoff-hz (cutoff_hz)"
    )
    return highest, (Finding("info", "cutoff-lowered", words),)


def _time_record(pieces: Sequence[Piece], used: Sequence[Piece], longest: Piece) -> TimeBaseRecord:
    """The time base of the longest piece, with the holes of all."""
    records = [piece.base.record for piece in pieces]
    return replace(
        longest.base.record,
        resampled=any(record.resampled for record in records),
        holes=sum(record.holes for record in records) + len(pieces) - 1,
        samples_in_holes=sum(record.samples_in_holes for record in records),
        starts_s=tuple(float(piece.base.grid[0]) for piece in used),
        ends_s=tuple(float(piece.base.grid[-1]) for piece in used),
    )


def _bridged(pieces: Sequence[Piece]) -> dict[str, int]:
    """Missing samples that were interpolated, by "joint.quantity"."""
    counts = {
        f"{joint}.{quantity}": sum(int(piece.missing[joint, quantity].sum()) for piece in pieces)
        for joint, quantity in pieces[0].missing
    }
    return {name: count for name, count in counts.items() if count}


def _hole_findings(log: Log, pieces: Sequence[Piece], used: Sequence[Piece]) -> tuple[Finding, ...]:
    """Where the log was cut, and which pieces were too short to use."""
    if len(pieces) == 1:
        return ()
    holes = [
        f"{before.base.recorded[-1]:.6g} to {after.base.recorded[0]:.6g} s"
        for before, after in pairwise(pieces)
    ]
    lost = len(pieces) - len(used)
    too_short = f"; {lost} of them are too short for the filter and not used" if lost else ""
    return (
        Finding(
            "info",
            "log-cut",
            f"log '{log.name}' was cut into {len(pieces)} pieces where nothing was recorded: "
            f"{listed(holes)}{too_short}; max_gap_s sets up to which length gaps are interpolated",
        ),
    )
