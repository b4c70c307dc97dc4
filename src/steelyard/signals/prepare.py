"""From a log to motion and measurements, with a record of everything that was done."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import RobotError, SignalError, described
from steelyard.findings import Finding
from steelyard.logs.log import Log
from steelyard.model.model import Model
from steelyard.robot.robot import Robot
from steelyard.signals._crosschecks import (
    beyond_limits,
    constant_torques,
    moving_locked_joints,
    velocity_factors,
)
from steelyard.signals._kinematics import kinematics, smooth
from steelyard.signals._matching import match_joints, moving_joints, needed_signals, unwrap
from steelyard.signals._missing import usable_rows
from steelyard.signals._timebase import TimeBase, missing_on_grid, onto_grid, time_base
from steelyard.signals.cutoff import CutoffChoice, automatic_cutoff
from steelyard.signals.dead_band import without_slow_torques
from steelyard.signals.derivatives import half_width
from steelyard.signals.drives import joint_side
from steelyard.signals.filters import settling_time_s
from steelyard.signals.motion import Measurements, Motion
from steelyard.signals.numbered_joints import name_numbered_joints
from steelyard.signals.processing import Processing
from steelyard.signals.run_record import RunRecord

Array = NDArray[np.float64]

RATE_PER_CUTOFF = 10.0
"""Automatic decimation keeps this many samples per cutoff period."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """Motion and torques on one time base, joints in the order of ``Robot.joint_names``.

    measurements : the torques to use, NaN where they are missing or inside the dead band.
    all_measurements : the same with the torques inside the dead band, for plots.
    record : what was found in the log and done to it.
    findings : what the user should know about the log.
    """

    motion: Motion
    measurements: Measurements
    all_measurements: Measurements
    record: RunRecord
    findings: tuple[Finding, ...] = ()


def prepare(log: Log, model: Model | Robot, processing: Processing | None = None) -> Prepared:
    """Clean, filter and differentiate a log, and leave out torques inside the dead band.

    model : its Coulomb terms say to which speeds the dead band applies; a robot means
        ``Model(robot)``, with the default terms.

    In this order: name joints that the log only numbers; motors to joints, where the robot has a
    transmission; match joints and units; unwrap; bridge short gaps and bring the stamps to a
    uniform grid; low-pass; differentiate; trim; decimate; drop torque in the dead band.
    """
    processing = processing or Processing()
    robot = _robot_of(model)
    content_hash = log.content_hash
    log, by_number = name_numbered_joints(log, robot)
    log, computed = joint_side(log, robot)
    joints, extra = match_joints(log, robot)
    if not isinstance(model, Model):
        model = Model(robot)
    needed = needed_signals(log, robot, processing)
    turning = {joint.name for joint in robot.free_joints if joint.kind != "prismatic"}
    jumps = {}
    for (joint, quantity), values in needed.items():
        if processing.unwrap and quantity == "position" and joint in turning:
            needed[joint, quantity], count = unwrap(values)
            if count:
                jumps[joint] = count
    factors, doubts = velocity_factors(log, joints, needed, processing)
    named = {
        f"{joint}.{quantity}{_in_words(computed.get(f'{joint}.{quantity}'))}": values
        for (joint, quantity), values in needed.items()
    }
    rows = usable_rows(log, named, processing.max_gap_s)
    base = time_base(log.time[rows], processing, log.name)
    missing = {key: ~np.isfinite(values[rows]) for key, values in needed.items()}
    even = {
        key: onto_grid(base, values[rows], missing[key], processing, log.name)
        for key, values in needed.items()
    }
    moving = moving_joints(log, robot, even, processing)
    raw = {
        quantity: np.column_stack([even[joint, quantity] for joint in joints])
        for quantity in ("position", "torque")
    }
    cutoff, choice = _choose_cutoff(raw["position"][:, moving], base, processing, log.name)
    moved = kinematics(joints, even, base, cutoff, processing, log.name)
    tau = raw["torque"]
    if processing.torque_filter == "same":
        tau = smooth(tau, base, cutoff, processing, log.name)
    for column, joint in enumerate(joints):
        tau[missing_on_grid(base, missing[joint, "torque"]) | base.in_hole, column] = np.nan
    first, end = _trim(base, cutoff, processing, log.name)
    factor = _decimation(base, cutoff, processing)
    keep = slice(first, end, factor)
    motion = Motion(base.grid[keep], moved.q[keep], moved.v[keep], moved.a[keep], log.name)
    tau = np.ascontiguousarray(tau[keep])
    tau.setflags(write=False)
    whole = Measurements(joints, tau)
    used, dead_band = without_slow_torques(model, motion, whole, processing.dead_band)
    record = RunRecord(
        log=log.name,
        processing=processing,
        source=log.source,
        content_sha256=content_hash,
        samples_in=len(log),
        duration_s=log.duration_s,
        ignored_columns=log.ignored,
        ignored_joints=extra,
        computed_from_motors=computed,
        motors=None if robot.transmission is None else robot.transmission.motors,
        time=base.record,
        rows_cut_at_ends=(rows.start, len(log) - rows.stop),
        samples_bridged={
            f"{joint}.{quantity}": int(mask.sum())
            for (joint, quantity), mask in missing.items()
            if mask.any()
        },
        unwrapped_jumps=jumps,
        cutoff_hz=cutoff,
        cutoff_choice=choice,
        velocity_from=moved.velocity_from,
        acceleration_from=moved.acceleration_from,
        velocity_factors=factors,
        trimmed_s=(first / base.rate_hz, (len(base.grid) - end) / base.rate_hz),
        decimation=factor,
        rate_out_hz=base.rate_hz / factor,
        samples_out=len(motion),
        dead_band=dead_band,
        torque_samples_missing={
            joint: int(count) for joint, count in zip(joints, np.isnan(used.tau).sum(axis=0))
        },
    )
    limits = beyond_limits(robot, {joint: even[joint, "position"] for joint in joints})
    stuck = constant_torques({joint: even[joint, "torque"] for joint in joints})
    findings = (*by_number, *doubts, *limits, *stuck, *moving_locked_joints(log, robot))
    return Prepared(motion, used, whole, record, findings)


def _robot_of(model: object) -> Robot:
    """The robot of a model, or the robot itself; anything else is refused."""
    if isinstance(model, Model):
        return model.robot
    if isinstance(model, Robot):
        return model
    raise RobotError(f"a model or a robot is needed, not {described(model)}")


def _choose_cutoff(
    q: Array, base: TimeBase, processing: Processing, name: str
) -> tuple[float | None, CutoffChoice | None]:
    if processing.cutoff_hz is None:
        return None, None
    if processing.cutoff_hz == "auto":
        choice = automatic_cutoff(q, base.rate_hz, processing.filter_order, name)
        return choice.cutoff_hz, choice
    return float(processing.cutoff_hz), None


def _trim(
    base: TimeBase, cutoff: float | None, processing: Processing, name: str
) -> tuple[int, int]:
    """Indices of the first sample that is kept, and one past the last."""
    n, least = len(base.grid), half_width(processing)
    if processing.trim_s == "auto":
        settle = 0.0 if cutoff is None else settling_time_s(cutoff, processing.filter_order)
        trims = (settle, settle)
    else:
        trims = processing.trim_s
    # counted in samples, with a margin for rounding of the rate
    first, last = (max(math.ceil(trim * base.rate_hz - 1e-6), least) for trim in trims)
    if n - first - last < 2:
        raise SignalError(
            f"log '{name}': cutting {first} and {last} samples ({first / base.rate_hz:g} s and "
            f"{last / base.rate_hz:g} s) at the ends leaves fewer than two of {n}; at least "
            f"{first + last + 2} samples are needed: record longer, raise cutoff_hz, or set trim_s"
        )
    return first, n - last


def _decimation(base: TimeBase, cutoff: float | None, processing: Processing) -> int:
    if processing.decimate != "auto":
        return processing.decimate
    # every sample of an unfiltered torque carries information
    if cutoff is None or processing.torque_filter == "none":
        return 1
    return max(1, math.floor(base.rate_hz / (RATE_PER_CUTOFF * cutoff) + 1e-6))


def _in_words(source: str | None) -> str:
    """How a computed signal was computed, to be shown after its name."""
    return "" if source is None else f" (= {source})"
