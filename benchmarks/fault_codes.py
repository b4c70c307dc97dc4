"""What a fault of the input is, and the codes of the findings that name one.

A fault is a pure function of a clean recording, a random generator and a size; it returns what a
user would hand over: a robot and a log, one of which is wrong. It draws the joints that it touches
first, so that the same generator spoils a training log and a validation log alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from fault_recordings import Recording

from steelyard.logs.log import Log
from steelyard.robot.robot import Robot

CODES = {
    # values of single samples
    "outliers": "isolated samples far from their neighbours",
    "slips": "positions that jump by a step and stay there",
    "clipping": "extremes that repeat: a signal cut off at the end of a range",
    "frozen": "a signal that stands still for a while although the robot moves",
    "held-samples": "every value repeated several times: a slower signal, held",
    "quantised": "steps of the signal are coarse beside what it has to show",
    "dead-channel": "a signal that is zero or constant for a part of the log, or for all of it",
    "constant-torque": "a torque that never changes",
    "missing-samples": "many samples of a signal were not recorded",
    "copied-channel": "two columns hold the same signal",
    "unsigned-torque": "a torque without its sign: only sizes were recorded",
    # velocity beside position
    "velocity-lags": "velocity is later than the derivative of position",
    "velocity-factor": "velocity is not the derivative of position, by a factor",
    # time
    "stamp-jitter": "time stamps say when rows were written, not when they were measured",
    "glued-gap": "a piece of the recording is missing, and the time stamps hide it",
    "dropped-rows": "single rows are missing, and the time stamps hide it",
    "clock-drift": "torque and position were stamped by clocks that drift apart",
    "time-unit": "time stamps in a unit other than seconds",
    "time-rate": "time stamps from a sampling rate that is not the true one",
    "time-order": "rows are not in the order of time",
    # units and zeros of positions
    "position-unit": "positions in a unit other than radians",
    "beyond-limits": "positions far beyond the limits of the robot file",
    "position-offset": "the zero of a joint is not that of the robot file",
    "position-sign": "positions of a joint have the wrong sign",
    "axis-sign": "the axis of a joint points the other way than in the file",
    # alignment of torque and motion
    "delay": "torque and motion are shifted in time",
    "torque-filtered": "torques went through a slow filter",
    "unrelated-torque": "torques and motion are of different moments",
    # torques, one by one
    "torque-sign": "torques of a joint, or of all, have the wrong sign",
    "torque-gain": "torques of one joint are too large or too small by a factor",
    "torque-drift": "the zero of a torque sensor drifts during the log",
    "torques-swapped": "torques of two joints are exchanged",
    "positions-swapped": "positions of two joints are exchanged",
    "joints-swapped": "all columns of two joints are exchanged",
    "joints-reversed": "joints in the order from tip to base",
    "joints-shifted": "columns of joints are counted from another joint",
    # torques as a whole
    "torque-scale": "all torques are far from the load of the robot file: another unit or side",
    "currents": "currents instead of torques",
    "gravity-direction": "gravity does not point where the robot file says",
    "gravity-removed": "torques from which gravity was taken out",
    "friction-removed": "torques from which friction was taken out",
    "external-torque": "torques from which a model of the robot was taken out",
    "commanded-signals": "commanded instead of measured signals",
    # the robot
    "payload": "a mass at the end that the file does not have",
    "payload-change": "a mass at the end is picked up or put down during the log",
    "friction-change": "friction changes during the log",
    "disturbance": "somebody or something touched the robot",
    "other-robot": "the robot file is of another robot",
}
"""Codes of findings that name a fault. A warning with a code outside this list (a motion that
excites too little, a link that differs from the file) blames no fault."""

GENERAL_ALARMS = ("poor-fit", "poor-fit-of-a-joint", "worse-than-prior", "impossible-values")
"""Codes of warnings that say that a result is bad but not why: not silent, and not named."""


@dataclass(frozen=True, eq=False)
class Given:
    """What a user hands over."""

    robot: Robot
    log: Log


Fault = Callable[[Recording, np.random.Generator, float], Given]


@dataclass(frozen=True)
class FaultKind:
    """One thing that users do wrong.

    name : for tables. mistake : what the user did, in plain words. expected : the codes that name
    it rightly; any of them will do. make : makes the faulty input. sizes : a run of seed s has
    ``sizes[s % len(sizes)]``. unit : of the sizes, in words.
    refusal : words of an error's message that name it rightly, where an error has no code.
    untellable : no training log can tell it, however good a detective is.
    """

    name: str
    mistake: str
    expected: tuple[str, ...]
    make: Fault
    sizes: tuple[float, ...] = (1.0,)
    unit: str = ""
    refusal: tuple[str, ...] = field(default=())
    untellable: bool = False

    def __post_init__(self) -> None:
        unknown = [code for code in self.expected if code not in CODES]
        if unknown or not self.expected or not self.sizes:
            raise ValueError(
                f"fault kind {self.name}: unknown codes {unknown}, or none, or no size"
            )

    def size_of(self, seed: int) -> float:
        """The size that a run of this seed has."""
        return self.sizes[seed % len(self.sizes)]


def given(clean: Recording, **changed: np.ndarray) -> Given:
    """The robot's own file with a log in which some signals are others."""
    return Given(clean.robot, clean.log(**changed))


def one_joint(clean: Recording, rng: np.random.Generator) -> int:
    """The number of a joint, drawn."""
    return int(rng.integers(clean.q.shape[1]))


def two_joints(clean: Recording, rng: np.random.Generator) -> tuple[int, int]:
    """The numbers of two joints in a row, drawn."""
    first = int(rng.integers(clean.q.shape[1] - 1))
    return first, first + 1


def with_column(table: np.ndarray, joint: int, column: np.ndarray) -> np.ndarray:
    """A copy of (n_samples, n_joints) with another column."""
    out = table.copy()
    out[:, joint] = column
    return out


def rows_of(clean: Recording, seconds: float) -> int:
    """How many samples a time is."""
    return round(seconds * clean.rate_hz)


def late(table: np.ndarray, n_rows: int) -> np.ndarray:
    """The rows (n_samples, ...) this many samples later; the first row fills the start."""
    return np.concatenate([np.repeat(table[:1], n_rows, axis=0), table[:-n_rows]])
