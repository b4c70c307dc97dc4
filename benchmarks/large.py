"""`steelyard identify` with all defaults on robots with many joints: time, memory, stages.

Each case is one process on a pseudo-terminal, from the CSV file to the written report. Memory is
the largest sum over that process and its helpers of the memory that each has for itself plus its
share of what they share (PSS), looked at ten times a second. Stages are told apart by the lines of
progress that a user sees.
"""

from __future__ import annotations

import os
import pty
import re
import resource
import select
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from contender import HERE, say
from goals import Goal
from long_chain import write_case

NAME = "large"
DESCRIPTION = (
    "identify with all defaults, 60 s at 200 Hz, from CSV to report: a chain of 60 joints, and a "
    "robot of 50 joints in five chains"
)
GOALS = (
    Goal("chain60_s", "<=", 60.0),
    Goal("chain60_peak_mb", "<=", 1500.0),
    Goal("chain60_first_progress_s", "<=", 1.0),
)
STAGES = (
    "starting", "reading", "working on", "base parameters", "signals", "compression", "estimate",
    "weight of the prior", "intervals", "measurements", "terms", "certificate",
    "writing the report",
)  # fmt: skip
STAGE = re.compile("|".join(STAGES))


@dataclass
class Watched:
    """What was seen of one process: when each stage was first shown (s), the time that it took
    (s), that of the processors, helpers included (s), and its peak memory (MB).
    """

    shown_s: dict[str, float] = field(default_factory=dict)
    total_s: float = 0.0
    cpu_s: float = 0.0
    peak_mb: float = 0.0

    def shares(self) -> dict[str, float]:
        """Share of the total time from each stage's first line to that of the next."""
        starts = [*self.shown_s.values(), self.total_s]
        return {
            stage: (end - begin) / self.total_s
            for stage, begin, end in zip(self.shown_s, starts[:-1], starts[1:], strict=True)
        }


def measure() -> dict[str, float | None]:
    """Seconds (``_s``), MB (``_mb``) and the share of each stage in the time."""
    figures: dict[str, float | None] = {}
    for name, n_joints, n_branches in (("chain60", 60, 1), ("tree50", 50, 5)):
        with tempfile.TemporaryDirectory() as folder:
            say(f"{name}: writing the log")
            robot, log = write_case(Path(folder), n_joints, n_branches=n_branches, seed=7)
            say(f"{name}: steelyard identify")
            seen = watch(["identify", str(robot), str(log), "-o", str(Path(folder) / "out")])
        figures[f"{name}_s"] = seen.total_s
        figures[f"{name}_cpu_s"] = seen.cpu_s
        figures[f"{name}_peak_mb"] = seen.peak_mb
        figures[f"{name}_first_progress_s"] = min(seen.shown_s.values())
        for stage, share in seen.shares().items():
            figures[f"{name}_share_{stage.replace(' ', '_')}"] = share
    return figures


def watch(arguments: list[str]) -> Watched:
    """Run ``steelyard`` on a pseudo-terminal and watch it."""
    control, terminal = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent / "src"), "COLUMNS": "100"}
    start, cpu_before = time.monotonic(), children_cpu_s()
    process = subprocess.Popen(
        [sys.executable, "-m", "steelyard", *arguments],
        env=environment, stdout=subprocess.DEVNULL, stderr=terminal,
    )  # fmt: skip
    os.close(terminal)
    seen, looked = Watched(), 0.0
    while process.poll() is None:
        now = time.monotonic() - start
        if select.select([control], [], [], 0.05)[0]:
            try:
                text = os.read(control, 65536).decode(errors="replace")
            except OSError:  # the other end is closed
                break
            for stage in STAGE.findall(text):
                seen.shown_s.setdefault(stage, time.monotonic() - start)
        if now - looked > 0.1:
            looked = now
            seen.peak_mb = max(seen.peak_mb, memory_mb(process.pid))
    code = process.wait()
    seen.total_s = time.monotonic() - start
    seen.cpu_s = children_cpu_s() - cpu_before
    os.close(control)
    if code != 0:
        raise RuntimeError(f"steelyard {' '.join(arguments)} failed with exit code {code}")
    return seen


def children_cpu_s() -> float:
    """Processor time (s) of all processes that were started here and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def memory_mb(pid: int) -> float:
    """PSS of a process and its descendants, in MB; 0 where the system does not tell."""
    total, waiting = 0.0, [pid]
    while waiting:
        one = waiting.pop()
        try:
            rollup = Path(f"/proc/{one}/smaps_rollup").read_text(encoding="ascii")
            children = Path(f"/proc/{one}/task/{one}/children").read_text(encoding="ascii")
        except OSError:  # it has ended
            continue
        found = re.search(r"^Pss:\s+(\d+) kB", rollup, re.MULTILINE)
        total += float(found[1]) / 1024.0 if found else 0.0
        waiting += [int(child) for child in children.split()]
    return total


if __name__ == "__main__":
    seen = watch(sys.argv[1:])
    print(seen.total_s, seen.cpu_s, seen.peak_mb)
    for stage, begin in seen.shown_s.items():
        print(f"{begin:8.2f} {stage}")
