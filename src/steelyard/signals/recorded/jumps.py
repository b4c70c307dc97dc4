"""Positions that jump: slips of one encoder, and rows that are missing from the log.

A row that is missing from a log whose stamps hide it shows in every joint at once: the step is as
long as two. A piece that was cut out makes all joints jump at one row. A jump of one joint alone,
which stays, is a slip of its encoder.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.signals.outliers import bursts, jumps
from steelyard.signals.recorded.frozen import frozen_of
from steelyard.signals.recorded.recorded import Recorded
from steelyard.signals.steps import Steps, never_jumps, whole_turns

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]

NOISES = 8.0
"""A step of a joint counts beyond this many times the noise of its steps."""
SHARE = 0.6
"""Share of the joints that move at a row and jump there, so that the row is to blame."""
FAR = 15.0
"""A joint jumps far by more than this many of its usual steps."""
FEWEST_EQUAL, LONGEST_RUN = 5, 200
"""Equal positions beside a step that make it suspicious, and how many are looked at."""
CATCHES_UP = 3.0
"""A step beside them is no slip up to this many times the motion that they lack."""


@dataclass(frozen=True, eq=False)
class CommonJumps:
    """Rows before which all joints jump.

    mask : (n_samples,) these rows. rows : (n,) their numbers. lost : (n,) how many rows the jump
    is worth at the local speed. far : (n,) whether it is so far that a piece is missing.
    """

    mask: Mask
    rows: Rows
    lost: Array
    far: Mask


@dataclass(frozen=True, eq=False)
class Slips:
    """Jumps of one position that stay. rows : (n,) the first after each; sizes : (n,) rad or m."""

    rows: Rows
    sizes: Array

    def taken_back(self, q: Array) -> Array:
        """The position (n_samples,) as an encoder without slips would have it."""
        steps = np.zeros(len(q))
        steps[self.rows] = self.sizes
        return np.asarray(q - np.cumsum(steps))


def may_jump(recorded: Recorded) -> bool:
    """Whether a position jumps at all, seen without a look at its noise."""
    for _, q in recorded.of_quantity("position"):
        known = np.isfinite(q)
        if not never_jumps(recorded.stamps[known], q[known]):
            return True
    return False


def common_jumps(recorded: Recorded) -> CommonJumps:
    """Rows before which all joints jump."""
    n, of_joint = len(recorded), recorded.steps
    none = np.zeros(0, dtype=np.int64)
    nothing = CommonJumps(np.zeros(n, bool), none, none.astype(float), none.astype(bool))
    if len(of_joint) < 2:
        return nothing
    excess, expected, noise = (np.zeros((len(of_joint), n)) for _ in range(3))
    for k, (joint, steps) in enumerate(of_joint.items()):
        after = steps.rows[1:]
        excess[k, after] = _without_turns(recorded, joint, steps)
        expected[k, after] = steps.expected / steps.taken
        noise[k] = steps.noise
    visible = np.abs(expected) > NOISES * noise
    hits = np.abs(excess) > NOISES * noise
    n_hits = np.count_nonzero(hits, axis=0)
    n_visible = np.count_nonzero(visible, axis=0)
    common = (n_hits >= 2) & (n_hits >= SHARE * np.maximum(n_visible, 1))
    rows = np.flatnonzero(common)
    if not len(rows):
        return nothing
    weighted = expected[:, rows] / noise[:, rows] ** 2
    lost = np.sum(weighted * excess[:, rows], axis=0) / np.maximum(
        np.sum(weighted * expected[:, rows], axis=0), 1e-300
    )
    far = np.abs(excess[:, rows]) > FAR * np.maximum(
        np.abs(expected[:, rows]), [[recorded.usual_speeds[joint]] for joint in of_joint]
    )
    n_far = np.count_nonzero(far, axis=0)
    return CommonJumps(common, rows, lost, (n_far >= 2) & (n_far >= 0.5 * n_hits[rows]))


def slips_of(recorded: Recorded, common: Mask) -> dict[str, Slips]:
    """By joint, the jumps of its position that are its own, and stay.

    common : (n_samples,) rows before which all joints jump.
    """
    found = {}
    for joint, steps in recorded.steps.items():
        q = recorded.signals[joint, "position"]
        turning = recorded.robot.joint(joint).kind != "prismatic"
        large = jumps(steps, q, turning=turning)
        paired = {k for pair in bursts(steps, q, turning=turning) for k in pair}
        own = [k for k in large.tolist() if k not in paired and not common[steps.rows[k + 1]]]
        if own:
            frozen = frozen_of(recorded, joint, "position", q)
            if frozen is not None:
                stuck = frozen.mask(len(q))
                own = [k for k in own if not stuck[steps.rows[k]] and not stuck[steps.rows[k + 1]]]
        own = [k for k in own if not _catches_up(q, steps, k)]
        if own:
            found[joint] = Slips(steps.rows[np.array(own) + 1], steps.excess[own])
    return found


def _without_turns(recorded: Recorded, joint: str, steps: Steps) -> Array:
    """The excess of the steps (n,), without whole turns."""
    if recorded.robot.joint(joint).kind == "prismatic":
        return steps.excess
    step = np.diff(recorded.signals[joint, "position"][steps.rows])
    turns = whole_turns(step, np.diff(steps.rows))
    return np.asarray(np.where(turns != 0.0, 0.0, steps.excess))


def _catches_up(q: Array, steps: Steps, k: int) -> bool:
    """Whether step ``k`` begins or ends a run of equal positions (n_samples,) and makes up for it.

    That is the end of a signal that was frozen for a while: its step is about the motion of
    as many samples at the speed before and behind the run.
    """
    before, after = int(steps.rows[k]), int(steps.rows[k + 1])
    size = abs(float(q[after] - q[before]))
    back = _run(q[max(before - LONGEST_RUN, 0) : before + 1][::-1])
    ahead = _run(q[after : after + LONGEST_RUN + 1])
    for n in (back, ahead):
        if n < FEWEST_EQUAL:
            continue
        m = n + 2
        first = before - back + 1 if n == back else before + 1
        last = after if n == back else after + ahead - 1
        around = q[max(first - m, 0) : first], q[last : last + m]
        known = [one[np.isfinite(one)] for one in around]
        speeds = [float(np.ptp(one)) / (len(one) - 1) for one in known if len(one) > 1]
        if size <= CATCHES_UP * (n + 1) * max(speeds, default=0.0):
            return True
    return False


def _run(x: Array) -> int:
    """How many of the first values (n,) are equal."""
    other = np.flatnonzero(x != x[0])
    return int(other[0]) if len(other) else len(x)
