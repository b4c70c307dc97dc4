"""Rows of `papers`: sequential identification of many-joint manipulators (IJARS 2018).

The text has neither geometry nor true values, noise or A, and not the numbers of its two tables;
its claims are tried on two arms of our own (`sequential_arms`).
"""

from __future__ import annotations

from functools import cache

import numpy as np
from paper_row import AT_MOST, Effort, Row
from sequential import PAPER_SEQUENTIAL_S, PAPER_SIMULTANEOUS_S, fitted
from sequential_arms import DISTURBANCE, OMEGA, nine, puma

from steelyard.model.kernels import torque, torque_regressor

ARMS = {"three": puma, "nine": nine}
CLOSE = DISTURBANCE
"""Torques are called close if they differ by less than the disturbance of the simulation."""


@cache
def arm(name: str):
    """One of the two arms, with motion and disturbed torques."""
    return ARMS[name]()


@cache
def fits(name: str):
    """Figures and parameters of every fit."""
    return fitted(arm(name))


def parameters(name: str) -> float:
    """Parameters of the model."""
    return float(len(arm(name).model.columns))


def below_diagonal(_: Effort) -> float:
    """The largest entry of a joint's regressor in the columns of a link inside it."""
    one = arm("nine")
    motion = one.motion
    W = torque_regressor(one.model, motion.q[:50], motion.v[:50], motion.a[:50])
    largest = 0.0
    for joint in range(9):
        for first in one.model.first_column_of_body[:joint]:
            largest = max(largest, float(np.abs(W[:, joint, first : first + 10]).max()))
    return largest


def seconds(name: str, fit: str) -> float:
    """Time of a fit from the compressed factors (s)."""
    return fits(name)[0][f"{fit}_ms"] / 1e3


def apart(name: str, one: str, other: str) -> float:
    """Relative difference between the torques of two fits on the motion."""
    model, motion = arm(name).model, arm(name).motion
    tau = [torque(model, fits(name)[1][k], motion.q, motion.v, motion.a) for k in (one, other)]
    return float(np.linalg.norm(tau[0] - tau[1]) / np.linalg.norm(tau[1]))


def closeness(value: float) -> str:
    """The paper's word, or the opposite."""
    return "close" if value <= CLOSE else "far"


def follows(name: str) -> str:
    """Whether the torque of the published method is close to the torque without noise."""
    return closeness(fits(name)[0]["paper_error"])


def worse(_: Effort) -> str:
    """The arm whose parameters come out worse by the published method, as shares of their norm."""
    errors = {}
    for name in ARMS:
        truth = arm(name).truth
        errors[name] = np.linalg.norm(fits(name)[1]["paper"] - truth) / np.linalg.norm(truth)
    return max(errors, key=errors.__getitem__)


def physical(name: str) -> str:
    """Whether all conditions hold for every fit."""
    return "all" if fits(name)[0]["unphysical"] == 0.0 else "not all"


OURS = "python benchmarks/run.py sequential"
LACKS_TABLE = "the text lacks its numbers, as it lacks geometry, true values, noise and A"
ROWS = (
    Row("(17)", "largest entry of the regressor below the block diagonal", "0", below_diagonal,
        agree=(1.0, 1.0)),
    Row("Example 1", "frequency of the disturbance (rad/s)", "100", lambda _: OMEGA, command=OURS),
    Row("Example 2", "parameters of the arm with nine joints", "108",
        lambda _: parameters("nine"), command=OURS),
    Row("Table 1", "parameters of the arm with three joints", "", None, reason=LACKS_TABLE,
        command=OURS + " (build/sequential/puma.md)"),
    Row("Table 1", "torques of both estimates", "close",
        lambda _: closeness(apart("three", "paper", "simultaneous")), command=OURS),
    Row("Figure 4", "identified and true torque, three joints", "close",
        lambda _: follows("three"), command=OURS),
    Row("Table 2", "parameters of the arm with nine joints", "", None, reason=LACKS_TABLE,
        command=OURS + " (build/sequential/nine.md)"),
    Row("Table 2", "torques of both estimates", "close",
        lambda _: closeness(apart("nine", "paper", "simultaneous")), command=OURS),
    Row("Example 2", "conditions that the identified parameters satisfy", "all",
        lambda _: physical("nine"), command=OURS),
    Row("Example 2", "the arm whose parameters have the larger error", "nine", worse, command=OURS),
    Row("Figure 6", "identified and true torque, nine joints", "close", lambda _: follows("nine"),
        command=OURS),
    Row("Example 2", "time of the sequential method (s), at most", f"{PAPER_SEQUENTIAL_S:.0f}",
        lambda _: seconds("nine", "paper"), agree=AT_MOST, command=OURS, measured=True),
    Row("Example 2", "time of all links at once (s), more than 4 days there",
        f"{PAPER_SIMULTANEOUS_S:.0f}", lambda _: seconds("nine", "simultaneous"), agree=AT_MOST,
        command=OURS, measured=True),
)  # fmt: skip
