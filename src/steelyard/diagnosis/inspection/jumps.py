"""Findings about positions that jump: slips of one encoder, and rows that are missing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steelyard.findings import Finding
from steelyard.signals.recorded.jumps import CommonJumps, Slips, common_jumps, may_jump
from steelyard.signals.recorded.mended import FEWEST_SAMPLES
from steelyard.signals.recorded.recorded import Recorded

INTEGER, INTEGERS = 0.2, 0.7
"""Lost rows are whole numbers within this, at this share of the rows where there are some."""
MOST_LOST = 3.5
"""More rows than these in one place are a piece that was cut out."""
FEWEST_ROWS, ROWS_SHARE = 10, 2e-3
"""Fewest rows, and share of all, that must be missing one by one to be reported."""


def missing_rows(recorded: Recorded) -> tuple[Finding, ...]:
    """Pieces that were cut out, and rows that were dropped."""
    if len(recorded) < FEWEST_SAMPLES or not may_jump(recorded):
        return ()
    return _missing_rows(recorded, common_jumps(recorded))


def _missing_rows(recorded: Recorded, common: CommonJumps) -> tuple[Finding, ...]:
    """What it means that all joints jump at a row."""
    rows, n = common.rows, len(recorded)
    findings: list[Finding] = []
    lacks_few = (common.lost > 0.5) & (common.lost <= MOST_LOST) & ~common.far
    single, whole = rows[lacks_few], common.lost[lacks_few]
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
    cuts = rows[common.far]
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
    return tuple(findings)


def slip_findings(recorded: Recorded, of_joint: Mapping[str, Slips]) -> tuple[Finding, ...]:
    """A warning for each joint whose position jumps alone, and stays there."""
    findings = []
    for joint, slips in of_joint.items():
        sizes = np.abs(slips.sizes)
        at = recorded.time[slips.rows]
        findings.append(
            Finding(
                "warning",
                "slips",
                f"log '{recorded.name}': the position of '{joint}' jumps {len(at)} times by "
                f"{sizes.min():.3g} to {sizes.max():.3g} rad (or m) from one sample to the next, "
                f"first at {at[0]:.6g} s, and stays there: its encoder slips or loses counts; the "
                "jumps are taken back, so that positions count from the start of the log",
                joints=(joint,),
                span_s=(float(at[0]), float(at[-1])),
                size=float(np.median(sizes)),
                unit="rad or m",
                could_be=("a piece cut out of the log, if the other joints rest there",),
            )
        )
    return tuple(findings)
