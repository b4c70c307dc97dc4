"""Payloads from logs: at the flange from joint torques, or on a force/torque sensor."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.diagnosis.inspection import inspect_log
from steelyard.errors import (
    EstimationError,
    LogError,
    ResultError,
    RobotError,
    WeighingError,
    listed,
    shown,
)
from steelyard.estimators.result_file import Result, read_result
from steelyard.findings import Finding, not_yet_told
from steelyard.identification._arguments import (
    RobotLike,
    as_robot,
    check_level,
    robot_as_used,
)
from steelyard.identification._known_arm import arm_of_found, arm_of_result
from steelyard.identification.drive_gains import without_open_options
from steelyard.identification.found import Identification
from steelyard.identification.runs import compress_run
from steelyard.knowledge.overlay.model import model_with_terms, refuse_contradictions
from steelyard.knowledge.overlay.overlay import Overlay
from steelyard.logs.any_log import LogLike, LogsLike, as_log, check_logs
from steelyard.logs.frame_columns import ORIENTATIONS
from steelyard.logs.log import Log
from steelyard.logs.several import refuse_duplicates, with_unique_names
from steelyard.logs.skipped_rows import skipped_findings
from steelyard.model.base_map import BaseMap, base_map
from steelyard.model.model import Model
from steelyard.model.terms import Term
from steelyard.payload.joint_columns import (
    FrictionColumns,
    PayloadColumns,
    last_link,
    loaded_columns,
    place_of_link,
)
from steelyard.payload.joint_fit import KnownArm
from steelyard.payload.on_joints import FRICTION_CHANGES, FrictionChange, weigh_on_joints
from steelyard.payload.on_sensor import check_budget, weigh_on_sensor
from steelyard.payload.payload_estimate import PayloadEstimate, PayloadRun, PayloadSolver
from steelyard.regression.regression import Regression
from steelyard.robot.file_changes import change_findings
from steelyard.robot.robot import Robot
from steelyard.signals.frame_motion import FrameMotion, Wrench
from steelyard.signals.join_logs import Interpolation, join_logs
from steelyard.signals.orientation import QuaternionOrder
from steelyard.signals.prepare import Prepared, prepare
from steelyard.signals.prepared_frame import SourceKind, prepare_frame
from steelyard.signals.processing import Processing
from steelyard.signals.sensing import TwistAxes
from steelyard.signals.wrench import Sign

Array = NDArray[np.float64]
ArmLike = Result | Identification | str | os.PathLike[str]
"""An earlier result of the arm without payload, or the path of its result.json or folder."""

STILL = 1e-3
"""Range of motion (rad or m) below which a joint counts as not moving."""


def weigh_payload_joints(
    robot: RobotLike,
    loaded: LogsLike,
    *,
    empty: LogsLike | None = None,
    arm: ArmLike | None = None,
    frame: str | None = None,
    terms: Iterable[Term] | None = None,
    overlay: Overlay | None = None,
    lock: Mapping[str, float] | Literal["unrecorded"] | None = None,
    keep_angles: bool = False,
    processing: Processing | None = None,
    friction: FrictionChange = "estimate",
    solver: PayloadSolver = "sdp",
    level: float = 0.95,
) -> PayloadEstimate:
    """The payload that the arm carries in the logs ``loaded``, from its joint torques.

    The arm without payload is known from logs without it (``empty``), which need not repeat the
    same motion, or from an earlier result (``arm``); one of both is needed. With logs, arm and
    payload are estimated together. With a result, its torques are subtracted, and its uncertainty
    makes the intervals wider.

    robot, terms, overlay, lock, keep_angles : as for :func:`steelyard.identify`. A result states
        its own terms, and the joints that were locked.
    frame : the link in whose frame the payload is expressed; by default the last one of the chain,
        fixed links included.
    processing : what it leaves open is not chosen by prediction here: the torque is filtered like
        the positions, and torques below a tenth of the rms speed are left out. With a result, its
        own processing by default.
    friction : whether to "estimate" how friction and offset of each joint change with the payload,
        or to assume "none"; a change that is then seen is a warning.
    solver : of the physical body, see :func:`steelyard.payload.one_body.fit_body`.
    """
    robot = as_robot(robot)
    check_level(level)
    check_logs(loaded)
    if friction not in FRICTION_CHANGES:
        raise EstimationError(
            f"friction is {shown(str(friction))}; it must be one of {listed(FRICTION_CHANGES)}"
        )
    if (empty is None) == (arm is None):
        raise EstimationError(
            "the arm without payload must be known: give logs without it (empty), or an earlier "
            f"result (arm){', not both' if arm is not None else ''}"
        )
    given = _from_logs(robot, terms, overlay, lock, keep_angles, processing, loaded)
    if arm is not None:
        if terms is not None:
            raise EstimationError("terms are given, but the arm's result states its own")
        given = _from_result(given, arm, processing)
    link = last_link(given.model.robot) if frame is None else frame
    columns = PayloadColumns(given.model, link)  # refuses a link that does not move
    work = _Work(given, columns, [], [], [*change_findings(given.model.robot), *given.findings])
    seen: dict[str, str] = {}
    if empty is not None:
        check_logs(empty)
        for log in with_unique_names(empty):
            refuse_duplicates(log, seen)
            inspected = inspect_log(log, given.model.robot).findings
            prepared = prepare(log, given.model, given.processing)
            work.add(prepared, log.name, inspected, loaded=False)
            del log, prepared  # frees memory before the next log is read
        if not work.runs:
            raise LogError("there is no log without the payload; give one, or an earlier result")
    moves = False
    n_empty = len(work.runs)
    for log in with_unique_names(given.loaded):
        refuse_duplicates(log, seen)
        if log.content_hash in given.used_logs:
            raise LogError(
                f"the arm's result was made from the log '{log.name}', which is given as loaded: "
                "the payload would be part of the arm; give logs that were not used for it"
            )
        inspected = inspect_log(log, given.model.robot).findings
        keeping = replace(given.processing, still_joints="keep")
        prepared = prepare(
            log, given.model, keeping, cutoff_of_another_log=given.cutoff_is_automatic
        )
        moves = moves or _carrying_joints_move(given.model, link, prepared)
        work.add(prepared, log.name, inspected, loaded=True)
        del log, prepared
    if len(work.runs) == n_empty:
        raise LogError("there is no log with the payload; give at least one")
    if not moves:
        raise WeighingError(
            "frame-does-not-move",
            f"no joint that carries link '{link}' moves in the logs with the payload: its torque "
            "cannot be told from offsets; record a motion of these joints",
        )
    return weigh_on_joints(
        given.model,
        link,
        work.regressions,
        work.runs,
        arm=given.arm,
        friction=friction,
        solver=solver,
        level=level,
        findings=tuple(work.findings),
    )


def weigh_payload_ft(
    robot: RobotLike | None,
    logs: LogsLike,
    frame: str,
    *,
    source: SourceKind | None = None,
    poses: LogLike | None = None,
    axes: str = "sensor",
    sign: Sign = "on-body",
    quaternion: QuaternionOrder | None = None,
    twist_axes: TwistAxes = "frame",
    columns: str | None = None,
    wrench_columns: str | None = None,
    mounting: ArrayLike | None = None,
    gravity: ArrayLike | None = None,
    at_rest: bool = False,
    interpolation: Interpolation = "auto",
    overlay: Overlay | None = None,
    lock: Mapping[str, float] | Literal["unrecorded"] | None = None,
    keep_angles: bool = False,
    processing: Processing | None = None,
    bias: bool = True,
    rotation: bool = False,
    static: bool | None = None,
    solver: PayloadSolver = "sdp",
    budget_s: float | None = None,
    level: float = 0.95,
) -> PayloadEstimate:
    """The payload that a force/torque sensor carries, from logs of its wrench and its motion.

    robot : whose link ``frame`` is; None where the logs have the motion of the frame themselves.
    frame : of the sensor, in whose axes the payload is expressed.
    source : what the motion is made of: "joints" (by default with a robot, unless ``poses`` has an
        orientation), or "pose" (by default without), "twist" or "imu" of the frame.
    poses : another log with the motion (poses or joint positions), where ``logs`` have
        the wrench only; joined by time, see :func:`steelyard.signals.join_logs.join_logs`, with
        this ``interpolation``.
    axes, sign : of the recorded wrench: in the axes of the "sensor", the "base", or a link that
        does not move against the root; "on-body", or exerted "by-body".
    quaternion : order of recorded quaternions, "x-first" or "w-first"; x first if not given.
    twist_axes, columns, wrench_columns, mounting, gravity, at_rest : see
        :func:`steelyard.signals.prepared_frame.prepare_frame`.
    overlay, lock, keep_angles : as for :func:`steelyard.identify`; only with a robot.
    bias, rotation, static, solver, budget_s, level : see
        :func:`steelyard.payload.on_sensor.weigh_on_sensor`.
    """
    check_level(level)
    check_budget(budget_s, solver)
    check_logs(logs)
    used = None
    if robot is not None:
        used, logs = robot_as_used(as_robot(robot), logs, overlay, lock, keep_angles)
    elif overlay is not None or lock:
        raise RobotError("an overlay or joints to lock are given, but no robot")
    order: QuaternionOrder = quaternion or "x-first"
    table = None if poses is None else as_log(poses, count_rows=at_rest)
    kind = source or _default_source(used, table)
    recordings: list[tuple[FrameMotion, Wrench]] = []
    findings: list[Finding] = [] if used is None else [*change_findings(used)]
    if table is not None:
        findings.extend(skipped_findings(table.skipped, table.name))
    cutoffs: dict[str, float | None] = {}
    seen: dict[str, str] = {}
    for log in with_unique_names(logs, count_rows=at_rest):
        refuse_duplicates(log, seen)
        if table is not None:
            joined = join_logs(table, log, quaternion_order=order, interpolation=interpolation)
            log = joined.log
            findings.extend(joined.findings)
        prepared = prepare_frame(
            log,
            used,
            frame,
            processing,
            source=kind,
            columns=columns,
            mounting=mounting,
            gravity=gravity,
            twist_axes=twist_axes,
            quaternion_order="x-first" if table is not None else order,
            at_rest=at_rest,
            wrench_columns=wrench_columns,
            wrench_axes=axes,
            wrench_sign=sign,
        )
        assert prepared.wrench is not None
        recordings.append((prepared.motion, prepared.wrench))
        cutoffs[prepared.motion.run] = prepared.record.cutoff_hz
        findings.extend(prepared.findings)
        del log
    if not recordings:
        raise LogError("there is no log to weigh the payload from; give at least one")
    found = weigh_on_sensor(
        recordings,
        solver=solver,
        budget_s=budget_s,
        bias=bias,
        rotation=rotation,
        level=level,
        static=static,
        axes="sensor" if axes == "sensor" else "base",
    )
    runs = tuple(replace(run, cutoff_hz=cutoffs.get(run.name)) for run in found.runs)
    return replace(found, runs=runs, findings=(*findings, *found.findings))


def _default_source(robot: Robot | None, table: Log | None) -> SourceKind:
    """Joints where there is a robot, unless another log with the motion has no joint positions."""
    if robot is None:
        return "pose"
    if table is None:
        return "joints"
    oriented = any(quantity in ORIENTATIONS for _, quantity in table.frame_signals)
    has_joints = any(quantity == "position" for _, quantity in table.signals)
    return "joints" if has_joints and not oriented else "pose"


@dataclass(frozen=True, eq=False)
class _Given:
    """What is needed to read the logs.

    used_logs : content hashes of the logs behind the arm's result.
    """

    model: Model
    base: BaseMap
    processing: Processing
    loaded: LogsLike
    arm: KnownArm | None = None
    used_logs: frozenset[str] = frozenset()
    cutoff_is_automatic: bool = False
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, eq=False)
class _Work:
    """The factors so far, a regression and a record for each run."""

    given: _Given
    columns: PayloadColumns
    regressions: list[Regression]
    runs: list[PayloadRun]
    findings: list[Finding]

    def add(
        self, prepared: Prepared, name: str, inspected: tuple[Finding, ...], *, loaded: bool
    ) -> None:
        """Compress a run. inspected : what its signals say is wrong with its log."""
        model = self.given.model
        extra = loaded_columns(self.columns, FrictionColumns(model), loaded=loaded)
        run = f"{name} (loaded)" if loaded else name
        named = replace(prepared, motion=replace(prepared.motion, run=run))
        self.regressions.append(compress_run(model, self.given.base, named, threads=1, extra=extra))
        record = prepared.record
        self.runs.append(
            PayloadRun(name, record.samples_out, record.duration_s, loaded, record.cutoff_hz)
        )
        self.findings.extend((*inspected, *not_yet_told(prepared.findings, inspected)))


def _from_logs(
    robot: RobotLike,
    terms: Iterable[Term] | None,
    overlay: Overlay | None,
    lock: Mapping[str, float] | Literal["unrecorded"] | None,
    keep_angles: bool,
    processing: Processing | None,
    loaded: LogsLike,
) -> _Given:
    """The model as `identify` makes it."""
    used = as_robot(robot)
    refuse_contradictions(used, terms, overlay, None)
    used, loaded = robot_as_used(used, loaded, overlay, lock, keep_angles)
    model = model_with_terms(used, terms, overlay, None)
    return _Given(model, base_map(model), without_open_options(processing or Processing()), loaded)


def _from_result(given: _Given, arm: ArmLike, processing: Processing | None) -> _Given:
    """The model and the processing of an earlier result."""
    if isinstance(arm, Identification):
        known = arm_of_found(given.model.robot, arm)
    else:
        result = arm if isinstance(arm, Result) else read_result(_result_file(Path(arm)))
        known = arm_of_result(given.model.robot, result)
    base = base_map(known.model)
    if base.names != known.names:
        raise ResultError(
            f"the {len(known.names)} base parameters of the arm's result are not the {base.rank} "
            "of this model; identify again with this version"
        )
    return replace(
        given,
        model=known.model,
        base=base,
        processing=known.processing if processing is None else given.processing,
        arm=known.arm,
        used_logs=known.log_hashes,
        cutoff_is_automatic=processing is None and known.cutoff_is_automatic,
        findings=known.findings,
    )


def _result_file(path: Path) -> Path:
    """The result file, of a folder that `identify` wrote, too."""
    return path / "result.json" if path.is_dir() else path


def _carrying_joints_move(model: Model, link: str, prepared: Prepared) -> bool:
    """Whether a joint between the ground and this link moves in a run."""
    body, _ = place_of_link(model, link)
    mechanism = model.mechanism
    rows = mechanism.path[body, : mechanism.path_length[body]]
    return bool((np.ptp(prepared.motion.q[:, rows], axis=0) > STILL).any())
