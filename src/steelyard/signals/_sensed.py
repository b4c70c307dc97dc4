"""What a log has besides joints, as arrays: motion of the base, generalised forces of wrenches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError, SignalError, listed
from steelyard.findings import Finding
from steelyard.logs.frame_columns import frame_column_name
from steelyard.logs.log import Log
from steelyard.robot.robot import Robot
from steelyard.signals._base_recording import BaseRecording, base_recording, pose_on_base
from steelyard.signals._frame_sources import Key, position_findings
from steelyard.signals._own_stamps import base_joined_by_time
from steelyard.signals._pieces import Piece, gaps
from steelyard.signals._timebase import missing_on_grid
from steelyard.signals.found_sensing import completed
from steelyard.signals.processing import Processing
from steelyard.signals.sensing import BaseMotion, MeasuredWrench, Sensing, Torques
from steelyard.signals.wrench_torques import WrenchRecording, wrench_recording

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Sensed:
    """The recordings that a `Sensing` names, found in a log.

    wrenches : that of the base, if one was measured, and the contacts.
    """

    robot: Robot
    sensing: Sensing
    base: BaseRecording | None = None
    wrenches: tuple[WrenchRecording, ...] = ()

    @property
    def n_base(self) -> int:
        """Rows of the base: six if it floats."""
        return 6 if self.robot.floating_base else 0

    @property
    def torques_needed(self) -> Torques:
        """Whether every joint must have a torque."""
        return self.sensing.torques or "all"

    @property
    def needed(self) -> dict[Key, Array]:
        """The signals (n_samples,) that are used, besides those of joints."""
        found: dict[Key, Array] = {} if self.base is None else dict(self.base.needed)
        for one in self.wrenches:
            found |= one.needed
        return found

    @property
    def names(self) -> dict[Key, str]:
        """How the signals are called in messages."""
        of_base = (
            {} if self.base is None else dict.fromkeys(self.base.needed, self.base.source.frame)
        )
        return {key: f"{of_base.get(key, key[0])}.{key[1]}".lstrip(".") for key in self.needed}

    def with_base(
        self,
        piece: Piece,
        q: Array,
        v: Array,
        a: Array,
        cutoff: float | None,
        processing: Processing,
        name: str,
    ) -> tuple[Array, Array, Array]:
        """Motion of the joints (n_samples, n_joints) with the columns of the base before it."""
        if self.base is None:
            return q, v, a
        own = self.base.columns(piece.base, piece.even, cutoff, processing, name)
        whole = [np.hstack(pair) for pair in zip(own, (q, v, a), strict=True)]
        return whole[0], whole[1], whole[2]

    def torques(self, piece: Piece, joints: tuple[str, ...], q: Array) -> Array:
        """Generalised forces (n_samples, nv) on the robot: torques of joints, and wrenches.

        q : (n_samples, n_joints). What was not measured is zero; see `missing`.
        """
        tau = np.zeros((len(piece), self.n_base + len(joints)))
        for k, joint in enumerate(joints):
            if (joint, "torque") in piece.even:
                tau[:, self.n_base + k] = piece.even[joint, "torque"]
        R = None if self.base is None else self.base.orientation(piece.base, piece.even)
        for one in self.wrenches:
            tau += one.torques(q, R, piece.even)
        return tau

    def missing(self, piece: Piece, joints: tuple[str, ...], spread: int = 0) -> Mask:
        """Which of `torques` (n_samples, nv) lack something that was not measured.

        spread : samples to either side of those left out that a filter mixes with them.
        """
        gone = np.zeros((len(piece), self.n_base + len(joints)), dtype=bool)
        gone[piece.base.in_hole] = True
        if self.sensing.base_wrench == "unmeasured":
            gone[:, : self.n_base] = True
        for k, joint in enumerate(joints):
            if (joint, "torque") not in piece.missing:
                gone[:, self.n_base + k] = True
            else:
                gone[:, self.n_base + k] |= missing_on_grid(
                    piece.base, piece.missing[joint, "torque"]
                )
            if (joint, "torque") in piece.left_out:
                wrong = missing_on_grid(piece.base, piece.left_out[joint, "torque"])
                for first, end in gaps(wrong):
                    gone[max(first - spread, 0) : end + spread, self.n_base + k] = True
        for one in self.wrenches:
            for key in one.needed:
                rows = missing_on_grid(piece.base, piece.missing[key])
                gone[np.ix_(rows, np.array(one.rows))] = True
        return gone


def sensed(
    log: Log, robot: Robot, processing: Processing
) -> tuple[Sensed, Log, Processing, tuple[Finding, ...]]:
    """What the log has besides joints, the processing with that sensing, and notes for the user.

    The log is returned with the motion of the base on the rows of the joints.
    """
    sensing, notes = completed(processing.sensing, log, robot)
    if processing.sensing is None and not robot.floating_base:
        return Sensed(robot, sensing), log, processing, notes
    if sensing.base is not None and not robot.floating_base:
        raise SignalError(
            f"a motion of the base is stated, but the base of robot '{robot.name}' is fixed; give "
            "--floating-base (floating_base=True when the robot is read), or leave it out"
        )
    base = None
    if sensing.base is not None:
        base, log, joined = _base(log, robot, sensing.base)
        notes = (*notes, *joined, *position_findings(base.source, log, base.source.frame))
    if isinstance(sensing.base_wrench, MeasuredWrench):
        T = pose_on_base(robot, sensing.base_wrench.frame, "the wrench that holds the base")
        _refuse_force_alone(log, sensing.base_wrench, at_origin=not T[:3, 3].any())
    _refuse_unknown_axes(sensing.wrenches, base, robot)
    wrenches = tuple(wrench_recording(log, robot, one) for one in sensing.wrenches)
    found = Sensed(robot, sensing, base, wrenches)
    _refuse_nothing_measured(found, log)
    notes = (*notes, *_without_torque(found, log))
    return found, log, replace(processing, sensing=sensing), notes


def _base(
    log: Log, robot: Robot, stated: BaseMotion
) -> tuple[BaseRecording, Log, tuple[Finding, ...]]:
    """The motion of the base, and the log with it on the rows of the joints."""
    base = base_recording(log, robot, stated)
    joined = base_joined_by_time(
        log,
        base.source.frame,
        robot.joint_names,
        quaternion_order=stated.quaternion_order,
    )
    if joined is None:
        return base, log, ()
    base = base_recording(joined.log, robot, replace(stated, quaternion_order="x-first"))
    return base, joined.log, joined.findings


def _refuse_force_alone(log: Log, held_by: MeasuredWrench, *, at_origin: bool) -> None:
    """What holds the base also turns it, unless it is said that no torque acts there.

    at_origin : whether it acts at the origin of the root, which a force alone never turns.
    """
    columns = held_by.name_in_log
    has = {quantity for frame, quantity in log.frame_signals if frame == columns}
    if held_by.torque != "where recorded" or "force" not in has or "torque" in has:
        return
    names = [frame_column_name(columns, "torque", axis) for axis in "xyz"]
    point = f"--contact {held_by.frame}" + ("" if held_by.columns is None else f"={columns}")
    instead = (
        "Without them, only joint torques can be used: --base-wrench unmeasured"
        if at_origin
        else f"If no torque acts at the origin of '{held_by.frame}', as on a rope, state a point "
        f"contact: {point} (torque=False of MeasuredWrench)"
    )
    raise LogError(
        f"log '{log.name}': the wrench at '{held_by.frame}' that holds the base has a force, but "
        f"no torque: columns {listed(names)} are missing. {instead}"
    )


def _refuse_unknown_axes(
    stated: tuple[MeasuredWrench, ...], base: BaseRecording | None, robot: Robot
) -> None:
    """Wrenches in the axes of the world need the orientation of a floating base."""
    if base is None or ("", "quaternion_x") in base.needed:
        return
    for one in stated:
        if one.axes == "world":
            raise SignalError(
                f"the wrench at frame '{one.frame}' is in the axes of the world, but the log does "
                f"not tell the orientation of the base '{robot.root}': an IMU alone does not; "
                "record an orientation, or the wrench in the axes of its frame"
            )


def _refuse_nothing_measured(found: Sensed, log: Log) -> None:
    """Refuse a log without any row: no torque, and no wrench of the base."""
    joints = found.robot.joint_names
    rows_of_base = found.n_base and found.sensing.base_wrench != "unmeasured"
    if not rows_of_base and not any((j, "torque") in log.signals for j in joints):
        base = f" and no wrench of the base '{found.robot.root}'" if found.n_base else ""
        raise LogError(
            f"log '{log.name}' has no torque of any joint of robot '{found.robot.name}'{base}: "
            f"there is nothing to identify from; columns such as {joints[0] if joints else 'joint'}"
            ".torque are needed"
        )


def _without_torque(found: Sensed, log: Log) -> tuple[Finding, ...]:
    """A note on joints without a torque, and on a base without a wrench."""
    lacking = [j for j in found.robot.joint_names if (j, "torque") not in log.signals]
    notes = []
    if lacking and found.sensing.torques == "recorded":
        whole = len(lacking) == len(found.robot.joint_names)
        words = (
            f"log '{log.name}' has no torque of {'any joint' if whole else listed(lacking)}: "
            f"friction, drive inertia and offset of {'all' if whole else 'these'} joints cannot be "
            "identified, and links only as far as other rows show them"
        )
        notes.append(Finding("info", "torque-not-recorded", words))
    if found.n_base and found.sensing.base_wrench == "unmeasured":
        words = (
            f"log '{log.name}': the wrench that holds the base '{found.robot.root}' was not "
            "measured: no parameter of the base itself can be identified from joint torques"
        )
        notes.append(Finding("info", "base-wrench-not-recorded", words))
    return tuple(notes)


def torques_of(found: Sensed, pieces: tuple[Piece, ...]) -> Mapping[str, Array]:
    """The measured torques of each joint that has one, over all pieces, as recorded."""
    return {
        joint: np.concatenate([piece.even[joint, "torque"] for piece in pieces])
        for joint in found.robot.joint_names
        if (joint, "torque") in pieces[0].even
    }
