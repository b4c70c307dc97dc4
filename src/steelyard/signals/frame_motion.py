"""Motion of a frame that is fixed to a body, and the wrench that is measured in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import SignalError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FrameMotion:
    """What the Newton-Euler equations of a body need to know of the frame that it is fixed to.

    time : (n_samples,) s, increasing.
    proper_acceleration : (n_samples, 3) m/s², acceleration of the frame's origin minus gravity,
        in the axes of the frame: what an accelerometer at the origin shows.
    angular_velocity, angular_acceleration : (n_samples, 3) rad/s and rad/s² of the frame relative
        to the world, in the axes of the frame.
    R_world_frame : (n_samples, 3, 3) orientation; None where it is not known (an IMU alone).
    run : name of the recording.
    """

    frame: str
    time: Array
    proper_acceleration: Array
    angular_velocity: Array
    angular_acceleration: Array
    R_world_frame: Array | None = None
    run: str = "run"

    def __post_init__(self) -> None:
        n = len(self.time)
        for name in ("proper_acceleration", "angular_velocity", "angular_acceleration"):
            if getattr(self, name).shape != (n, 3):
                raise SignalError(
                    f"motion of frame '{self.frame}' in '{self.run}': {name} has shape "
                    f"{getattr(self, name).shape}, not {(n, 3)}"
                )
        if self.R_world_frame is not None and self.R_world_frame.shape != (n, 3, 3):
            raise SignalError(
                f"motion of frame '{self.frame}' in '{self.run}': R_world_frame has shape "
                f"{self.R_world_frame.shape}, not {(n, 3, 3)}"
            )

    def __len__(self) -> int:
        return len(self.time)

    def __repr__(self) -> str:
        return f"<FrameMotion of '{self.frame}' in '{self.run}': {len(self)} samples>"


def part_of(motion: FrameMotion, index: NDArray[np.int64] | NDArray[np.bool_]) -> FrameMotion:
    """The motion at some of its samples."""
    R = motion.R_world_frame
    return FrameMotion(
        motion.frame,
        motion.time[index],
        motion.proper_acceleration[index],
        motion.angular_velocity[index],
        motion.angular_acceleration[index],
        None if R is None else R[index],
        motion.run,
    )


@dataclass(frozen=True, eq=False)
class Wrench:
    """Force and torque that act on the body at a frame's origin, in the axes of that frame.

    force : (n_samples, 3) N. torque : (n_samples, 3) N m. NaN where a sample must not be used.
    """

    frame: str
    force: Array
    torque: Array

    def __post_init__(self) -> None:
        n = len(self.force)
        if self.force.shape != (n, 3) or self.torque.shape != (n, 3):
            raise SignalError(
                f"the wrench at frame '{self.frame}' has shapes {self.force.shape} and "
                f"{self.torque.shape}; both must be (n_samples, 3)"
            )

    def __len__(self) -> int:
        return len(self.force)

    def __repr__(self) -> str:
        return f"<Wrench at '{self.frame}': {len(self)} samples>"
