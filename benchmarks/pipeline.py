"""The default identification from files to files: how long it takes, and which part of it.

The demo's log (15,000 samples of a 7-joint arm) and its held-out log. ``cli_s`` is a whole process,
``steelyard identify arm.urdf log.csv --validate-on held_out.csv -o out`` with all defaults; the
Python call is timed inside a process that made it once before. FIGAROH gets the same log: filter,
derivatives, regressor, double QR; it has no constraints, intervals or report. Figures are medians.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from compress import PEERS, seconds
from contender import PeerAbsentError, run_contender, say
from figaroh_env import run_in_figaroh
from goals import Goal, ratio

NAME = "pipeline"
DESCRIPTION = "identify from files to files, share of each stage, against FIGAROH's own pipeline"
REPEATS = 5
GOALS = (
    Goal("cli_s", "<=", 3.5),
    Goal("api_s", "<=", 2.0),
    Goal("long_log_s", "<=", 2.5),
    Goal("entropic_ms_7", "<=", 3.0),
    Goal("resamples_s", "<=", 0.5),
    Goal("compress_ratio", "<=", 0.40),
)


def measure() -> dict[str, float | None]:
    """Seconds (``_s``), milliseconds (``_ms``), and the share of each stage of the Python call."""
    threads = os.cpu_count() or 1
    figures: dict[str, float | None] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        say("demo")
        _steelyard("demo", "-o", str(folder))
        say("command line")
        logs = (str(folder / "log.csv"), "--validate-on", str(folder / "held_out.csv"))
        task = ("identify", str(folder / "arm.urdf"), *logs, "-o", str(folder / "out"))
        _steelyard(*task)
        figures["cli_s"] = median(_steelyard(*task) for _ in range(REPEATS))
        say("Python call")
        call = run_contender("pipeline_steelyard.py", "call", folder, REPEATS, threads=threads)
        figures["api_s"] = median(call["seconds"])
        whole = sum(call["stages"].values())
        for stage, spent in call["stages"].items():
            figures[f"share: {stage}"] = spent / whole
        say("FIGAROH")
        try:
            figures["figaroh_s"] = median(
                run_in_figaroh("pipeline_figaroh.py", folder, 2)["seconds"]
            )
        except PeerAbsentError as absent:
            say(f"absent: {absent}")
            figures["figaroh_s"] = None
    say("long log, resamples")
    long = run_contender("pipeline_steelyard.py", "long", 3, threads=threads)
    figures["long_log_s"] = median(long["seconds"])
    drawn = run_contender("pipeline_steelyard.py", "resamples", REPEATS, threads=threads)
    figures["entropic_ms_7"] = 1e3 * median(drawn["one"])
    figures["resamples_s"] = median(drawn["all"])
    say("compress")
    ours = run_contender("compress_steelyard.py", "time", 2, REPEATS, threads=2)
    try:
        loop = seconds([PEERS["pinocchio"]()])
    except PeerAbsentError as absent:
        say(f"absent: {absent}")
        loop = None
    figures["compress_ratio"] = ratio(seconds([ours]), loop)
    return figures


def _steelyard(*arguments: str) -> float:
    """Seconds of the command line, as a process of its own, with bytecode as if installed."""
    source = Path(__file__).resolve().parents[1] / "src"
    environment = {**os.environ, "PYTHONPATH": str(source)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    start = perf_counter()
    subprocess.run(
        [sys.executable, "-m", "steelyard", *arguments],
        env=environment,
        capture_output=True,
        check=True,
    )
    return perf_counter() - start
