"""What the signals of a log say is wrong with it: all detectors of `steelyard.signals.recorded`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.findings import Finding
from steelyard.logs.log import Log
from steelyard.logs.skipped_rows import skipped_findings
from steelyard.robot.robot import Robot
from steelyard.signals.drives import joint_side
from steelyard.signals.numbered_joints import name_numbered_joints
from steelyard.signals.outliers import outlier_findings
from steelyard.signals.recorded.clipped import clipping
from steelyard.signals.recorded.clock import clock_findings, clock_of, stamp_jitter
from steelyard.signals.recorded.columns import (
    copied_channels,
    missing_samples,
    position_units,
    time_units,
    unsigned_torques,
    wraps,
)
from steelyard.signals.recorded.held import held_samples, quantised
from steelyard.signals.recorded.jumps import missing_rows, slip_findings, without_slips
from steelyard.signals.recorded.mended import stuck_samples
from steelyard.signals.recorded.recorded import Recorded
from steelyard.signals.recorded.speeds import speeds_beyond_limits, velocity_findings
from steelyard.signals.recorded.stuck import standing, standing_still, torque_size

Detector = Callable[[Recorded], Iterable[Finding]]

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
OF_ROWS: tuple[Detector, ...] = (
    speeds_beyond_limits,
    missing_rows,
    clipping,
    standing,
    wraps,
    missing_samples,
)
"""What is wrong in single rows: looked for in all parts of a log that is not held in memory."""
OF_LOG = tuple(one for one in DETECTORS if one not in OF_ROWS)
"""What is wrong throughout: windows that are spread over a log show it."""


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
    findings = [*skipped_findings(log.skipped, log.name)]
    log, _ = name_numbered_joints(log, robot)
    log, _ = joint_side(log, robot)
    clock = None if as_stamped else clock_of(log, robot)
    if detectors != OF_ROWS:
        findings += clock_findings(log, clock)
    if clock is not None:
        log = clock.applied(log)
    recorded = Recorded.of(log, robot)
    if detectors != OF_LOG:
        findings += outlier_findings(log.name, log.time, recorded.outliers)
    left_out = dict(recorded.outliers)
    if recorded.joints and len(recorded) >= 8:
        recorded, slips = without_slips(recorded)
        if detectors != OF_LOG:
            findings += slip_findings(recorded, slips)
        for detector in detectors:
            findings += detector(recorded)
        for key, mask in stuck_samples(recorded).items():
            left_out[key] = mask | left_out.get(key, False)
    if clock is not None:
        left_out = {key: clock.given_rows(mask) for key, mask in left_out.items()}
    return Inspection(tuple(findings), left_out)
