"""A log as it was recorded, matched with its robot and put on an even time grid.

All that is done before filters: it is the same for every cutoff, torque filter and dead band, so
that a log which is prepared in several ways is opened once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import SignalError
from steelyard.findings import Finding
from steelyard.logs.log import Log
from steelyard.robot.robot import Robot
from steelyard.signals._crosschecks import velocity_factors
from steelyard.signals._matching import match_joints, moving_joints, needed_signals, unwrap
from steelyard.signals._pieces import Piece, pieces_of
from steelyard.signals._sensed import Sensed, sensed
from steelyard.signals.base_doubts import refuse_other_axes
from steelyard.signals.drives import joint_side
from steelyard.signals.numbered_joints import name_numbered_joints
from steelyard.signals.processing import Processing
from steelyard.signals.recorded.better_clock import Clock
from steelyard.signals.recorded.clock import clock_of
from steelyard.signals.recorded.mended import Mended, mended, without_stuck
from steelyard.signals.recorded.recorded import Recorded
from steelyard.signals.sensing import Sensing
from steelyard.signals.torque_delay import delays_of, undelayed

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Key = tuple[str, str]


@dataclass(frozen=True, eq=False)
class OpenedLog:
    """A log before any filter.

    log : with the joints' names and sides, on the times of its samples. n_rows, content_hash : of
    the log as it was given. clock : what was wrong with its stamps; None where nothing was.
    sensing, found : what it has besides joints. joints : of which there are signals.
    ignored : joints that the robot does not have. computed : how signals of motors became those of
    joints. mend, outliers : what was wrong in the signals. jumps : by 2 pi, by joint.
    velocity_factors : see `RunRecord`. pieces : between holes. positions : (n,) of all pieces, by
    joint. moving : (n_joints,). names, sensing_notes, doubts : findings.
    """

    log: Log
    n_rows: int
    clock: Clock | None
    content_hash: str
    sensing: Sensing | None
    found: Sensed
    joints: tuple[str, ...]
    ignored: tuple[str, ...]
    computed: Mapping[str, str]
    mend: Mended
    outliers: Mapping[Key, Mask]
    jumps: Mapping[str, int]
    velocity_factors: Mapping[str, float]
    pieces: tuple[Piece, ...]
    positions: Mapping[str, Array]
    moving: Mask
    names: tuple[Finding, ...]
    sensing_notes: tuple[Finding, ...]
    doubts: tuple[Finding, ...]


def open_log(log: Log, robot: Robot, processing: Processing) -> OpenedLog:
    """The log on an even time grid: names, motors, units, outliers, slips, held and stuck signals,
    time base, 2 pi jumps, late torques, holes and short gaps, in this order.
    """
    content_hash = log.content_hash
    log, by_number = name_numbered_joints(log, robot)
    log, computed = joint_side(log, robot)
    clock = clock_of(log, robot) if processing.time_base == "auto" else None
    n_rows = len(log)
    if clock is not None:
        log = clock.applied(log)
    if robot.floating_base and processing.acceleration == "none":
        raise SignalError(
            f"robot '{robot.name}' has a floating base; energy and power are computed for robots "
            "on a fixed base only: use the torque equation"
        )
    found, log, processing, sensing_notes = sensed(log, robot, processing)
    refuse_other_axes(found, log)
    joints, extra = match_joints(log, robot, found.torques_needed, processing.torques_left_out)
    needed = needed_signals(log, robot, processing, found.torques_needed)
    turning = {joint.name for joint in robot.free_joints if joint.kind != "prismatic"}
    recorded = Recorded.of_signals(log.name, log.time, needed, robot)
    mend = mended(recorded)
    needed, outliers = dict(mend.signals), recorded.outliers
    jumps = {}
    for (joint, quantity), values in needed.items():
        if processing.unwrap and quantity == "position" and joint in turning:
            needed[joint, quantity], count = unwrap(values)
            if count:
                jumps[joint] = count
    needed, wrong = without_stuck(needed, mend.stuck)
    delays = delays_of(processing, joints, log.name)
    needed, wrong = undelayed(log.time, needed, wrong, delays, processing.max_gap_s)
    factors, doubts = velocity_factors(log, joints, needed, processing)
    names = {
        (joint, quantity): f"{joint}.{quantity}{_in_words(computed.get(f'{joint}.{quantity}'))}"
        for joint, quantity in needed
    }
    pieces = pieces_of(log, needed | found.needed, names | found.names, processing, wrong)
    positions = {
        joint: np.concatenate([piece.even[joint, "position"] for piece in pieces])
        for joint in joints
    }
    moving = moving_joints(log, robot, positions, processing)
    return OpenedLog(
        log=log,
        n_rows=n_rows,
        clock=clock,
        content_hash=content_hash,
        sensing=processing.sensing,
        found=found,
        joints=joints,
        ignored=extra,
        computed=computed,
        mend=mend,
        outliers=outliers,
        jumps=jumps,
        velocity_factors=factors,
        pieces=pieces,
        positions=positions,
        moving=moving,
        names=by_number,
        sensing_notes=sensing_notes,
        doubts=doubts,
    )


def _in_words(source: str | None) -> str:
    """How a computed signal was computed, to be shown after its name."""
    return "" if source is None else f" (= {source})"
