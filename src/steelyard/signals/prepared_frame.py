"""From a log to the motion of a frame and the wrench in it, with a record of what was done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard._files.json_data import finite
from steelyard.errors import RobotError, SignalError
from steelyard.findings import Finding
from steelyard.logs.log import Log
from steelyard.logs.skipped_rows import skipped_findings
from steelyard.robot.parts import STANDARD_GRAVITY, gravity_vector
from steelyard.robot.robot import Robot
from steelyard.signals._frame_samples import COMPONENTS, FrameSamples, FrameTask
from steelyard.signals._frame_sources import (
    FrameSource,
    joint_source,
    position_findings,
    recorded_source,
)
from steelyard.signals._own_stamps import joined_by_time
from steelyard.signals._wrench_axes import stated_axes
from steelyard.signals.cutoff import CutoffChoice
from steelyard.signals.frame_kinematics import checked_pose
from steelyard.signals.frame_motion import FrameMotion, Wrench
from steelyard.signals.orientation import ORDERS, QuaternionOrder
from steelyard.signals.processing import Processing
from steelyard.signals.quaternion_order import refuse_other_order
from steelyard.signals.sensing import TWIST_AXES, TwistAxes
from steelyard.signals.wrench import (
    SIGNS,
    Sign,
    check_choice,
    recorded_wrench,
)

Array = NDArray[np.float64]
SourceKind = Literal["joints", "pose", "twist", "imu"]
LARGEST = 1e9
"""Largest number (SI units) that is taken for a measurement."""
SOURCES: tuple[SourceKind, ...] = ("joints", "pose", "twist", "imu")


@dataclass(frozen=True)
class FrameRecord:
    """What was found in a log and done to it, for the motion of a frame.

    source : what the motion was made of. content_sha256 : hash of the log's content.
    recorded_rate_hz, samples_in : of the log. rate_out_hz, samples_out : of what is used.
    cutoff_hz : of the low-pass filter, None without one. cutoff_choice : if it was automatic.
    wrench_filtered : whether the wrench went through the same filter.
    decimation : n, where every n-th sample is kept. trimmed_s : at start and end.
    at_rest : whether every sample was taken to be at rest.
    """

    log: str
    frame: str
    source: SourceKind
    processing: Processing
    content_sha256: str
    samples_in: int
    samples_out: int
    recorded_rate_hz: float
    rate_out_hz: float
    cutoff_hz: float | None
    cutoff_choice: CutoffChoice | None
    wrench_filtered: bool
    wrench_axes: str
    wrench_sign: Sign
    quaternion_order: QuaternionOrder
    decimation: int
    trimmed_s: tuple[float, float]
    at_rest: bool

    def as_json(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        plain = asdict(self) | {"processing": self.processing.as_record()}
        return {name: finite(value) for name, value in plain.items()}


@dataclass(frozen=True, eq=False)
class PreparedFrame:
    """Motion of a frame and the wrench on the body that is fixed to it, on one time base.

    wrench : None where it was not asked for. record : what was found in the log and done to it.
    findings : what the user should know about the log.
    """

    motion: FrameMotion
    wrench: Wrench | None
    record: FrameRecord
    findings: tuple[Finding, ...] = ()

    def __repr__(self) -> str:
        return (
            f"<PreparedFrame '{self.record.frame}' of '{self.record.log}': {len(self.motion)} "
            f"samples at {self.record.rate_out_hz:.6g} Hz; {len(self.findings)} findings>"
        )


def prepare_frame(
    log: Log,
    robot: Robot | None,
    frame: str,
    processing: Processing | None = None,
    *,
    source: SourceKind = "joints",
    columns: str | None = None,
    mounting: ArrayLike | None = None,
    gravity: ArrayLike | None = None,
    twist_axes: TwistAxes = "frame",
    quaternion_order: QuaternionOrder = "x-first",
    at_rest: bool = False,
    wrench: bool = True,
    wrench_columns: str | None = None,
    wrench_axes: str = "sensor",
    wrench_sign: Sign = "on-body",
) -> PreparedFrame:
    """Motion of ``frame`` and the wrench in it, filtered and differentiated on one time base.

    robot : whose link ``frame`` is, for joints; its gravity holds. None for other sources.
    source : what the motion is made of: the joints, or the pose, the twist or the IMU that the log
        has of the frame.
    columns : the name of the frame that is recorded, where it is another: of the columns in the
        log, or of the robot's link for joints.
    mounting : (4, 4) pose in ``frame`` of the frame that is recorded (of the IMU, for instance, or
        of the link that carries the sensor); the same frame where not given.
    gravity : (3,) m/s² in the world (the base); that of the robot, or 9.81 downward along z.
    twist_axes : in which velocities and accelerations are recorded: ``frame`` or ``base``.
    quaternion_order : ``x-first`` (x, y, z, w) or ``w-first``.
    at_rest : every sample is a pose at rest: nothing is filtered or differentiated, and stamps may
        be far apart.
    wrench : whether the log has one, in ``wrench_columns`` (the frame's own where not given), in
        the axes of the ``sensor`` (= ``frame``), of the ``base``, or of a link that does not move
        against the root (joints only; a link of the name ``base`` goes before the root), acting
        ``on-body`` or exerted ``by-body``. It is filtered like the motion only with
        ``torque_filter="same"``.

    Motion and wrench that were recorded on rows of their own are joined by time, see
    :func:`steelyard.signals.join_logs.join_logs`.
    """
    processing = processing or Processing()
    _check_choices(source, twist_axes, quaternion_order, wrench_sign)
    stated = stated_axes(wrench_axes, robot if source == "joints" else None)
    g = _gravity(robot, gravity)
    recorded = frame if columns is None else columns
    shift = _to_frame(mounting, source, columns, frame)
    notes = skipped_findings(log.skipped, log.name)
    origin: FrameSource
    if source == "joints":
        origin, found = joint_source(log, _robot(robot, gravity, g), recorded, processing)
        notes = (*notes, *found)
    else:
        if robot is not None and frame == recorded:
            robot.link(frame)
        origin = recorded_source(log, source, recorded, g, twist_axes, quaternion_order)
    used = dict(origin.needed)
    if wrench:
        forces = frame if wrench_columns is None else wrench_columns
        values = recorded_wrench(log, forces)
        joined = None
        if not at_rest and origin.needed:
            joined = joined_by_time(
                log,
                origin.needed,
                forces,
                quaternion_order=quaternion_order,
            )
        if joined is not None:
            prepared = prepare_frame(
                joined.log,
                robot,
                frame,
                processing,
                source=source,
                columns=columns,
                mounting=mounting,
                gravity=gravity,
                twist_axes=twist_axes,
                wrench_columns=wrench_columns,
                wrench_axes=wrench_axes,
                wrench_sign=wrench_sign,
            )
            record = replace(prepared.record, content_sha256=log.content_hash, samples_in=len(log))
            return replace(prepared, record=record, findings=(*joined.findings, *prepared.findings))
        values = stated.in_base(values)
        notes = (*notes, *stated.findings)
        used |= {("wrench", name): part for name, part in zip(COMPONENTS, values.T, strict=True)}
    _refuse_huge(used, log.name)
    task = FrameTask(log, frame, processing, origin, shift, stated.axes, wrench_sign)
    done = task.poses_at_rest(used) if at_rest else task.moving(used)
    motion = replace(done.motion, frame=frame)
    if source in ("pose", "twist") and log.has_frame_signal(recorded, "quaternion"):

        def in_other_order() -> FrameSamples:
            order: QuaternionOrder = "w-first" if quaternion_order == "x-first" else "x-first"
            other = recorded_source(log, source, recorded, g, twist_axes, order)
            whole, retry = used | dict(other.needed), replace(task, origin=other)
            return retry.poses_at_rest(whole) if at_rest else retry.moving(whole, done.cutoff)

        refuse_other_order(done, in_other_order, quaternion_order, log.name)
    if not at_rest:
        notes = (*notes, *position_findings(origin, log, frame))
    record = FrameRecord(
        log=log.name,
        frame=frame,
        source=source,
        processing=processing,
        content_sha256=log.content_hash,
        samples_in=len(log),
        samples_out=len(motion),
        recorded_rate_hz=done.recorded_rate_hz,
        rate_out_hz=done.rate_out_hz,
        cutoff_hz=done.cutoff,
        cutoff_choice=done.choice,
        wrench_filtered=done.wrench_filtered,
        wrench_axes=wrench_axes,
        wrench_sign=wrench_sign,
        quaternion_order=quaternion_order,
        decimation=done.decimation,
        trimmed_s=done.trimmed_s,
        at_rest=at_rest,
    )
    return PreparedFrame(motion, done.wrench, record, (*notes, *done.findings))


def _check_choices(source: object, twist_axes: object, order: object, sign: object) -> None:
    check_choice("source of the motion", source, SOURCES)
    check_choice("axes of the twist", twist_axes, TWIST_AXES)
    check_choice("order of the quaternion", order, ORDERS)
    check_choice("sign of the wrench", sign, SIGNS)


def _refuse_huge(used: Mapping[tuple[str, str], Array], log: str) -> None:
    """Refuse numbers that no sensor shows, whose squares would not be numbers."""
    for (name, quantity), values in used.items():
        rows = np.flatnonzero(np.isfinite(values) & (np.abs(values) > LARGEST))
        if len(rows):
            what = f"{name}.{quantity}" if name else quantity
            raise SignalError(
                f"log '{log}': {what} is {values[rows[0]]:.4g} in row {rows[0] + 1} ({len(rows)} "
                f"such rows), in SI units; more than {LARGEST:g} is no measurement: check the "
                "column and its unit, or mark the sample as missing with nan"
            )


def _gravity(robot: Robot | None, gravity: ArrayLike | None) -> Array:
    if gravity is not None:
        return gravity_vector(gravity)
    return gravity_vector(STANDARD_GRAVITY if robot is None else robot.gravity)


def _robot(robot: Robot | None, gravity: ArrayLike | None, g: Array) -> Robot:
    if robot is None:
        raise RobotError("joints tell the motion of a frame only with a robot; none is given")
    return robot if gravity is None else replace(robot, gravity=g)


def _to_frame(
    mounting: ArrayLike | None, source: SourceKind, columns: str | None, frame: str
) -> Array | None:
    """Pose (4, 4) of the frame in the one that is recorded; None where they are the same."""
    if mounting is None:
        return None
    if source == "joints" and columns is None:
        raise SignalError(
            f"a mounting is given, but not the link in which frame '{frame}' is mounted; state it "
            "with --motion-columns LINK (columns='LINK' in Python)"
        )
    T = checked_pose(mounting, f"the mounting in frame '{frame}'")
    inverse = np.eye(4)
    inverse[:3, :3] = T[:3, :3].T
    inverse[:3, 3] = -T[:3, :3].T @ T[:3, 3]
    return inverse
