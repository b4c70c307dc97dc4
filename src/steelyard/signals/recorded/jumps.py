"""Positions that jump: slips of one encoder, and rows that are missing from the log.

A row that is missing from a log whose stamps hide it shows in every joint at once: the step is as
long as two. A piece that was cut out makes all joints jump at one row. A jump of one joint alone,
which stays, is a slip of its encoder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.findings import Finding
from steelyard.signals.outliers import bursts, jumps
from steelyard.signals.recorded.recorded import Recorded
from steelyard.signals.recorded.stuck import frozen_of
from steelyard.signals.steps import Steps, never_jumps, whole_turns

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]

FEWEST_SAMPLES = 50
"""Shorter logs are used as they are."""
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
INTEGER, INTEGERS = 0.2, 0.7
"""Lost rows are whole numbers within this, at this share of the rows where there are some."""
MOST_LOST = 3.5
"""More rows than these in one place are a piece that was cut out."""
FEWEST_ROWS, ROWS_SHARE = 10, 2e-3
"""Fewest rows, and share of all, that must be missing one by one to be reported."""


@dataclass(frozen=True, eq=False)
class CommonJumps:
    """Rows before which all joints jump.

    rows : (n,) their numbers. lost : (n,) how many rows the jump is worth at the local speed.
    far : (n,) whether it is so far that a piece is missing.
    """

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
    of_joint, n = recorded.steps, len(recorded)
    excess, expected, noise = (np.zeros((len(of_joint), n)) for _ in range(3))
    for k, (joint, steps) in enumerate(of_joint.items()):
        after = steps.rows[1:]
        excess[k, after] = _without_turns(recorded, joint, steps)
        expected[k, after] = steps.expected / steps.taken
        noise[k] = steps.noise
    n_hits = np.count_nonzero(np.abs(excess) > NOISES * noise, axis=0)
    n_visible = np.count_nonzero(np.abs(expected) > NOISES * noise, axis=0)
    rows = np.flatnonzero((n_hits >= 2) & (n_hits >= SHARE * np.maximum(n_visible, 1)))
    if not len(rows):
        return CommonJumps(rows, np.zeros(0), np.zeros(0, bool))
    weighted = expected[:, rows] / noise[:, rows] ** 2
    lost = np.sum(weighted * excess[:, rows], axis=0) / np.maximum(
        np.sum(weighted * expected[:, rows], axis=0), 1e-300
    )
    far = np.abs(excess[:, rows]) > FAR * np.maximum(
        np.abs(expected[:, rows]), [[recorded.usual_speeds[joint]] for joint in of_joint]
    )
    n_far = np.count_nonzero(far, axis=0)
    return CommonJumps(rows, lost, (n_far >= 2) & (n_far >= 0.5 * n_hits[rows]))


def without_slips(recorded: Recorded) -> tuple[Recorded, dict[str, Slips]]:
    """The log with jumps of single encoders taken back, and these by joint."""
    if len(recorded) < FEWEST_SAMPLES or not may_jump(recorded):
        return recorded, {}
    slips = slips_of(recorded)
    signals = dict(recorded.signals)
    for joint, one in slips.items():
        signals[joint, "position"] = one.taken_back(signals[joint, "position"])
    return replace(recorded, signals=signals) if slips else recorded, slips


def slips_of(recorded: Recorded) -> dict[str, Slips]:
    """By joint, the jumps of its position that are its own, and stay."""
    found = {}
    common = np.zeros(len(recorded), bool)
    common[common_jumps(recorded).rows] = True
    for joint, steps in recorded.steps.items():
        q = recorded.signals[joint, "position"]
        turning = recorded.robot.joint(joint).kind != "prismatic"
        large = jumps(steps, q, turning=turning)
        paired = {k for pair in bursts(steps, q, turning=turning) for k in pair}
        own = [k for k in large.tolist() if k not in paired and not common[steps.rows[k + 1]]]
        frozen = frozen_of(recorded, joint, "position", q) if own else None
        stuck = np.zeros(len(q), bool) if frozen is None else frozen.mask
        beside = stuck[steps.rows[:-1]] | stuck[steps.rows[1:]]
        own = [k for k in own if not beside[k] and not _catches_up(q, steps, k)]
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
    for n, first, last in (
        (back, before - back + 1, after),
        (ahead, before + 1, after + ahead - 1),
    ):
        if n < FEWEST_EQUAL:
            continue
        around = q[max(first - n - 2, 0) : first], q[last : last + n + 2]
        known = [one[np.isfinite(one)] for one in around]
        speeds = [float(np.ptp(one)) / (len(one) - 1) for one in known if len(one) > 1]
        if size <= CATCHES_UP * (n + 1) * max(speeds, default=0.0):
            return True
    return False


def _run(x: Array) -> int:
    """How many of the first values (n,) are equal."""
    other = np.flatnonzero(x != x[0])
    return int(other[0]) if len(other) else len(x)


def missing_rows(recorded: Recorded) -> Iterator[Finding]:
    """Pieces that were cut out, and rows that were dropped: all joints jump there."""
    if len(recorded) < FEWEST_SAMPLES or not may_jump(recorded):
        return
    common, n = common_jumps(recorded), len(recorded)
    lacks_few = (common.lost > 0.5) & (common.lost <= MOST_LOST) & ~common.far
    rows, lost = common.rows[lacks_few], common.lost[lacks_few]
    whole = np.abs(lost - np.round(lost)) < INTEGER
    many = len(rows) >= max(FEWEST_ROWS, ROWS_SHARE * n)
    # stamps that are uneven hide nothing, and are named as such
    if many and np.mean(whole) >= INTEGERS and not recorded.evenly_sampled:
        n_lost = int(np.sum(np.round(lost[whole])))
        words = (
            f"at {len(rows)} rows all joints move as far as in two or more: about {n_lost} rows "
            "are missing, and the time stamps hide it; take the stamps of the controller"
        )
        yield recorded.finding("warning", "dropped-rows", words, rows=rows, size=(n_lost, "rows"))
    cuts = common.rows[common.far]
    if len(cuts) and len(cuts) < 0.01 * n:
        at = ", ".join(f"{recorded.time[row]:.6g}" for row in cuts[:5])
        words = (
            f"all joints jump at once at {at} s{' and more' if len(cuts) > 5 else ''}: a piece is "
            "missing there, and the time stamps hide it; give the pieces as logs of their own"
        )
        yield recorded.finding("warning", "glued-gap", words, rows=cuts, size=(len(cuts), "places"))


def slip_findings(recorded: Recorded, of_joint: Mapping[str, Slips]) -> Iterator[Finding]:
    """A warning for each joint whose position jumps alone, and stays there."""
    for joint, slips in of_joint.items():
        sizes = np.abs(slips.sizes)
        yield recorded.finding(
            "warning",
            "slips",
            f"the position of '{joint}' jumps {len(sizes)} times by {sizes.min():.3g} to "
            f"{sizes.max():.3g} rad (or m) from one sample to the next, first at "
            f"{recorded.time[slips.rows[0]]:.6g} s, and stays there: its encoder slips or loses "
            "counts; the jumps are taken back, so that positions count from the start of the log",
            (joint,),
            slips.rows,
            size=(np.median(sizes), "rad or m"),
            could_be=("a piece cut out of the log, if the other joints rest there",),
        )
