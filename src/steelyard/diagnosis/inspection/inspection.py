"""All detectors of the room, on one log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.inspection.clipping import clipping
from steelyard.diagnosis.inspection.columns import (
    copied_channels,
    missing_samples,
    unsigned_torques,
)
from steelyard.diagnosis.inspection.held import held_samples, quantised
from steelyard.diagnosis.inspection.jumps import missing_rows, slip_findings
from steelyard.diagnosis.inspection.speeds import speeds_beyond_limits
from steelyard.diagnosis.inspection.stamps import clock_findings, stamp_jitter, time_units
from steelyard.diagnosis.inspection.standing import standing, standing_still
from steelyard.diagnosis.inspection.torque_size import torque_size
from steelyard.diagnosis.inspection.units import position_units, wraps
from steelyard.diagnosis.inspection.velocities import velocity_findings
from steelyard.findings import Finding
from steelyard.logs.log import Log
from steelyard.logs.skipped_rows import skipped_findings
from steelyard.robot.robot import Robot
from steelyard.signals.drives import joint_side
from steelyard.signals.numbered_joints import name_numbered_joints
from steelyard.signals.outliers import outlier_findings
from steelyard.signals.recorded.clock import clock_of
from steelyard.signals.recorded.mended import stuck_samples, without_slips
from steelyard.signals.recorded.recorded import Recorded

Detector = Callable[[Recorded], tuple[Finding, ...]]

OF_ROWS: tuple[Detector, ...] = (
    speeds_beyond_limits,
    missing_rows,
    clipping,
    standing,
    wraps,
    missing_samples,
)
"""What is wrong in single rows: looked for in all parts of a log that is not held in memory."""
OF_LOG: tuple[Detector, ...] = (
    time_units,
    stamp_jitter,
    position_units,
    standing_still,
    held_samples,
    quantised,
    copied_channels,
    unsigned_torques,
    torque_size,
    velocity_findings,
)
"""What is wrong throughout: windows that are spread over a log show it."""
DETECTORS: tuple[Detector, ...] = (
    time_units,
    stamp_jitter,
    speeds_beyond_limits,
    position_units,
    missing_rows,
    clipping,
    standing,
    standing_still,
    wraps,
    held_samples,
    quantised,
    missing_samples,
    copied_channels,
    unsigned_torques,
    torque_size,
    velocity_findings,
)
"""All, in the order in which they are told."""


@dataclass(frozen=True, eq=False)
class Inspection:
    """What the signals of a log say.

    left_out : joint and quantity -> (n_samples,) samples that are left out of every fit.
    """

    findings: tuple[Finding, ...]
    left_out: Mapping[tuple[str, str], NDArray[np.bool_]]


def inspect_log(
    log: Log,
    robot: Robot,
    detectors: tuple[Detector, ...] = DETECTORS,
    *,
    as_stamped: bool = False,
) -> Inspection:
    """Look at the signals of a log as they were recorded, joint by joint.

    detectors : all, or those for the windows (`OF_LOG`) or the parts (`OF_ROWS`) of a long log.
    as_stamped : whether the time stamps are used even if they contradict the signals; otherwise all
    else is looked at on the times that predict the signals better.

    Findings about limits, factors of velocities, and torques that never change come from
    `steelyard.prepare`, which sees the log after this.
    """
    skipped = skipped_findings(log.skipped, log.name)
    log, _ = name_numbered_joints(log, robot)
    log, _ = joint_side(log, robot)
    clock = None if as_stamped else clock_of(log, robot)
    timing = clock_findings(log, clock)
    if clock is not None:
        log = clock.applied(log)
    recorded = Recorded.of(log, robot)
    findings = [*skipped]
    if detectors != OF_ROWS:
        findings += timing
    if detectors != OF_LOG:
        findings += outlier_findings(log.name, log.time, recorded.outliers)
    stuck: dict[tuple[str, str], NDArray[np.bool_]] = {}
    if recorded.joints and len(recorded) >= 8:
        recorded, slips = without_slips(recorded)
        if detectors != OF_LOG:
            findings += slip_findings(recorded, slips)
        for detector in detectors:
            findings += detector(recorded)
        for key, mask in stuck_samples(recorded).items():
            stuck[key] = mask | recorded.outliers.get(key, False)
    left_out = {**recorded.outliers, **stuck}
    if clock is not None:
        left_out = {key: clock.given_rows(mask) for key, mask in left_out.items()}
    return Inspection(tuple(findings), left_out)
