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


@dataclass(frozen=True, eq=False)
class Inspection:
    """What the signals of a log say.

    left_out : joint and quantity -> (n_samples,) samples that are left out of every fit.
    """

    findings: tuple[Finding, ...]
    left_out: Mapping[tuple[str, str], NDArray[np.bool_]]


def inspect_log(log: Log, robot: Robot, *, as_stamped: bool = False) -> Inspection:
    """Look at the signals of a log as they were recorded, joint by joint.

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
    findings = [*skipped, *timing, *outlier_findings(log.name, log.time, recorded.outliers)]
    stuck: dict[tuple[str, str], NDArray[np.bool_]] = {}
    if recorded.joints and len(recorded) >= 8:
        recorded, slips = without_slips(recorded)
        findings += slip_findings(recorded, slips)
        for detector in DETECTORS:
            findings += detector(recorded)
        for key, mask in stuck_samples(recorded).items():
            stuck[key] = mask | recorded.outliers.get(key, False)
    left_out = {**recorded.outliers, **stuck}
    if clock is not None:
        left_out = {key: clock.given_rows(mask) for key, mask in left_out.items()}
    return Inspection(tuple(findings), left_out)
