"""Positions that jump: slips of one encoder, and rows that are missing from the log.

A row that is missing from a log whose stamps hide it shows in every joint at once: the step is as
long as two. A piece that was cut out makes all joints jump at one row. A jump of one joint alone,
which stays, is a slip of its encoder.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.inspection.recorded import Recorded
from steelyard.findings import Finding
from steelyard.signals.outliers import bursts, jumps
from steelyard.signals.steps import Steps, whole_turns

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

NOISES = 8.0
"""A step of a joint counts beyond this many times the noise of its steps."""
SHARE = 0.6
"""Share of the joints that move at a row and jump there, so that the row is to blame."""
INTEGER, INTEGERS = 0.2, 0.7
"""Lost rows are whole numbers within this, at this share of the rows where there are some."""
MOST_LOST = 3.5
"""More rows than these in one place are a piece that was cut out."""
FEWEST_ROWS, ROWS_SHARE = 10, 2e-3
"""Fewest rows, and share of all, that must be missing one by one to be reported."""
FAR = 15.0
"""A joint jumps far by more than this many of its usual steps."""


def jump_findings(recorded: Recorded) -> tuple[Finding, ...]:
    """Slips, pieces that were cut out, and rows that were dropped."""
    if len(recorded) < 50:
        return ()
    of_joint = recorded.steps
    common, findings = _common(recorded, of_joint)
    return (*findings, *_slips(recorded, of_joint, common))


def _common(recorded: Recorded, of_joint: Mapping[str, Steps]) -> tuple[Mask, tuple[Finding, ...]]:
    """Rows (n_samples,) before which all joints jump, and what that means."""
    n = len(recorded)
    none = np.zeros(n, bool)
    if len(of_joint) < 2:
        return none, ()
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
        return none, ()
    weighted = expected[:, rows] / noise[:, rows] ** 2
    lost = np.sum(weighted * excess[:, rows], axis=0) / np.maximum(
        np.sum(weighted * expected[:, rows], axis=0), 1e-300
    )
    far = np.abs(excess[:, rows]) > FAR * np.maximum(
        np.abs(expected[:, rows]), [[recorded.usual_speeds[joint]] for joint in of_joint]
    )
    n_far = np.count_nonzero(far, axis=0)
    glued = (n_far >= 2) & (n_far >= 0.5 * n_hits[rows])
    findings: list[Finding] = []
    single = rows[(lost > 0.5) & (lost <= MOST_LOST) & ~glued]
    whole = lost[(lost > 0.5) & (lost <= MOST_LOST) & ~glued]
    integers = np.abs(whole - np.round(whole)) < INTEGER
    many = len(single) >= max(FEWEST_ROWS, ROWS_SHARE * n)
    # stamps that are uneven hide nothing, and are named as such
    if many and np.mean(integers) >= INTEGERS and not recorded.evenly_sampled:
        n_lost = int(np.sum(np.round(whole[integers])))
        findings.append(
            Finding(
                "warning",
                "dropped-rows",
                f"log '{recorded.name}': at {len(single)} rows all joints move as far as in two or "
                f"more: about {n_lost} rows are missing, and the time stamps hide it; take the "
                "stamps of the controller",
                span_s=(float(recorded.time[single[0]]), float(recorded.time[single[-1]])),
                size=float(n_lost),
                unit="rows",
            )
        )
    cuts = rows[glued]
    if len(cuts) and len(cuts) < 0.01 * n:
        at = ", ".join(f"{recorded.time[row]:.6g}" for row in cuts[:5])
        findings.append(
            Finding(
                "warning",
                "glued-gap",
                f"log '{recorded.name}': all joints jump at once at {at} s"
                f"{' and more' if len(cuts) > 5 else ''}: a piece is missing there, and the time "
                "stamps hide it; give the pieces as logs of their own",
                span_s=(float(recorded.time[cuts[0]]), float(recorded.time[cuts[-1]])),
                size=float(len(cuts)),
                unit="places",
            )
        )
    return common, tuple(findings)


def _without_turns(recorded: Recorded, joint: str, steps: Steps) -> Array:
    """The excess of the steps (n,), without whole turns."""
    if recorded.robot.joint(joint).kind == "prismatic":
        return steps.excess
    step = np.diff(recorded.signals[joint, "position"][steps.rows])
    turns = whole_turns(step, np.diff(steps.rows))
    return np.asarray(np.where(turns != 0.0, 0.0, steps.excess))


def _slips(recorded: Recorded, of_joint: Mapping[str, Steps], common: Mask) -> tuple[Finding, ...]:
    """A warning for each joint whose position jumps alone, and stays there."""
    findings = []
    for joint, steps in of_joint.items():
        q = recorded.signals[joint, "position"]
        turning = recorded.robot.joint(joint).kind != "prismatic"
        large = jumps(steps, q, turning=turning)
        paired = {k for pair in bursts(steps, q, turning=turning) for k in pair}
        rows = [k for k in large.tolist() if k not in paired and not common[steps.rows[k + 1]]]
        # next to samples that were frozen or left out, a step is no slip
        rows = [k for k in rows if not _beside_rest(q, steps, k)]
        if not rows:
            continue
        sizes = np.abs(steps.excess[rows])
        at = recorded.time[steps.rows[np.array(rows) + 1]]
        findings.append(
            Finding(
                "warning",
                "slips",
                f"log '{recorded.name}': the position of '{joint}' jumps {len(rows)} times by "
                f"{sizes.min():.3g} to {sizes.max():.3g} rad (or m) from one sample to the next, "
                f"first at {at[0]:.6g} s, and stays there: its encoder slips or loses counts",
                joints=(joint,),
                span_s=(float(at[0]), float(at[-1])),
                size=float(np.median(sizes)),
                unit="rad or m",
                could_be=("a piece cut out of the log, if the other joints rest there",),
            )
        )
    return tuple(findings)


def _beside_rest(q: Array, steps: Steps, k: int) -> bool:
    """Whether step ``k`` begins or ends a run of equal positions."""
    before, after = int(steps.rows[k]), int(steps.rows[k + 1])
    left, right = q[max(before - 8, 0) : before + 1], q[after : after + 9]
    return bool(np.ptp(left) == 0.0 and len(left) > 4) or bool(
        np.ptp(right) == 0.0 and len(right) > 4
    )
