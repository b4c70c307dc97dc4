"""What contradicts itself in the recorded motion of a floating base: units and axes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import SignalError
from steelyard.findings import Finding
from steelyard.logs.log import Log
from steelyard.signals._base_recording import gravity_in
from steelyard.signals._pieces import Piece
from steelyard.signals._sensed import Sensed
from steelyard.signals.frame_motion import FrameMotion, part_of
from steelyard.signals.orientation import rotations_of
from steelyard.signals.processing import Processing
from steelyard.signals.turning import (
    DIFFERS,
    EXPLAINED,
    Reading,
    acceleration_mismatch,
    moving_axes,
    turning_mismatch,
)

Array = NDArray[np.float64]
FACTOR = 2.0
"""An accelerometer that shows more, or less, than gravity by this factor is doubted."""
REASONS: dict[Reading, str] = {
    "degrees": "it appears to be in deg/s; state the unit in the column, [deg/s]",
    "base": "it appears to be in the axes of the world; give --base-twist-axes world "
    "(twist_axes='world')",
    "degrees-base": "it appears to be in deg/s and in the axes of the world; state the unit in the "
    "column, [deg/s], and give --base-twist-axes world",
    "sign": "its sign appears to be the opposite; check it",
    "inverse": "the orientations appear to be those of the world in the base; invert them",
}


def base_findings(
    found: Sensed, piece: Piece, cutoff: float | None, processing: Processing, log: str
) -> tuple[Finding, ...]:
    """Doubts about the motion of the base; an angular velocity that is read wrong is refused."""
    if found.base is None or found.base.source.kind == "pose":
        return ()
    motion = _known(found.base.source.motion(piece.base, piece.even, cutoff, processing, log))
    doubts: list[Finding] = []
    differs = turning_mismatch(motion)
    if differs is not None and differs.reading is not None:
        raise SignalError(f"log '{log}': {differs.words}: {REASONS[differs.reading]}")
    if differs is not None:
        words = (
            f"log '{log}': {differs.words}, by {100 * differs.share:.0f} %: check unit and axes of "
            "the angular velocity, the orientation, and the clocks of both"
        )
        doubts.append(Finding("warning", "turning-differs", words))
    if ("", "angular_acceleration_x") in found.base.needed:
        doubts += _angular_acceleration(motion, log)
    if found.base.source.kind == "imu" and len(motion):
        doubts += _downward(motion, found.base.gravity, log)
        doubts += _weightless(motion, float(np.linalg.norm(found.base.gravity)), log)
    return tuple(doubts)


def _angular_acceleration(motion: FrameMotion, log: str) -> list[Finding]:
    """A warning where it is not the derivative of the angular velocity; refused where unit or sign
    explain it.
    """
    differs = acceleration_mismatch(motion)
    if differs is None:
        return []
    if differs.reading == "degrees":
        reason = "it appears to be in deg/s²; state the unit in the column, [deg/s^2]"
        raise SignalError(f"log '{log}': {differs.words}: {reason}")
    if differs.reading is not None:
        raise SignalError(f"log '{log}': {differs.words}: {REASONS[differs.reading]}")
    words = (
        f"log '{log}': {differs.words}, by {100 * differs.share:.0f} %: check its unit, axes and "
        "clock, or leave its columns out; the derivative is then used"
    )
    return [Finding("warning", "turning-differs", words)]


def _downward(motion: FrameMotion, gravity: Array, log: str) -> list[Finding]:
    """A warning about an accelerometer that shows gravity and not what holds against it.

    Only an orientation tells; without one, the forces on the robot do (see `wrench_readings`). It
    may also be the orientation that is wrong, on which the equations of an IMU do not depend.
    """
    if motion.R_world_frame is None or not gravity.any():
        return []
    down = gravity_in(motion.R_world_frame, gravity)
    along = np.einsum("ni,ni->n", motion.proper_acceleration, down)
    share = float(np.median(along)) / float(gravity @ gravity)
    if share <= 1.0 / FACTOR:
        return []
    words = (
        f"log '{log}': the accelerometer of frame '{motion.frame}' shows {share:.2g} g (median) "
        "downward, by the recorded orientation; at rest it must show 1 g upward. Either its sign "
        "is the opposite, or the orientation is in a world whose z axis points down"
    )
    return [Finding("warning", "accelerometer-downward", words)]


def refuse_other_axes(found: Sensed, log: Log) -> None:
    """Refuse a linear velocity that is the derivative of the position in other axes than stated."""
    if found.base is None or found.base.source.kind != "twist":
        return
    source, stated = found.base.source, found.base.stated
    position = log.frame_signals.get((source.frame, "position"))
    if position is None or ("", "linear_velocity_x") not in source.needed:
        return
    v = np.column_stack([source.needed["", f"linear_velocity_{axis}"] for axis in "xyz"])
    q = np.column_stack([source.needed["", f"quaternion_{axis}"] for axis in "xyzw"])
    known = np.isfinite(np.hstack([position, v, q])).all(axis=1)
    off = moving_axes(log.time[known], position[known], rotations_of(q[known]), v[known])
    other = "world" if stated.twist_axes == "frame" else "frame"
    if off is None or off[stated.twist_axes] < DIFFERS:
        return
    if off[other] < min(DIFFERS, EXPLAINED * off[stated.twist_axes]):
        angular = stated.angular_axes or stated.twist_axes
        raise SignalError(
            f"log '{log.name}': the linear velocity of frame '{source.frame}' is not the "
            f"derivative of its position in the axes of the {_whose(stated.twist_axes)}, but in "
            f"those of the {_whose(other)}; give --base-twist-axes {other} --base-angular-axes "
            f"{angular} (twist_axes='{other}', angular_axes='{angular}')"
        )


def _whose(axes: str) -> str:
    return "world" if axes == "world" else "frame itself"


def _weightless(motion: FrameMotion, gravity: float, log: str) -> list[Finding]:
    """A warning about an accelerometer that does not show gravity."""
    shown = float(np.median(np.linalg.norm(motion.proper_acceleration, axis=1)))
    if not gravity > 0.0 or gravity / FACTOR <= shown <= gravity * FACTOR:
        return []
    in_g = gravity / FACTOR <= gravity * shown <= gravity * FACTOR
    reason = (
        "it appears to be in g; state the unit in the columns, [g]"
        if in_g
        else "it must show what the accelerometer does, upward at rest, gravity included, in m/s²"
    )
    words = (
        f"log '{log}': the accelerometer of frame '{motion.frame}' shows {shown:.3g} m/s² "
        f"(median), but gravity is {gravity:.3g} m/s²: {reason}"
    )
    return [Finding("warning", "accelerometer-without-gravity", words)]


def _known(motion: FrameMotion) -> FrameMotion:
    """The samples without NaN, which the ends have that a derivative does not reach."""
    parts = [motion.proper_acceleration, motion.angular_velocity]
    if motion.R_world_frame is not None:
        parts.append(motion.R_world_frame.reshape(len(motion), -1))
    rows = np.isfinite(np.hstack(parts)).all(axis=1)
    return part_of(motion, np.asarray(rows))
