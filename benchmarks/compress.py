"""Time and memory to compress a recording into triangular factors.

Every contender gets the same arm and the same samples (`wam`), in its own process, on one
thread unless two are stated. The timings of a round follow each other directly, so that a slow
phase of the machine affects all of them; a figure is the median over rounds and repeats.
"""

from __future__ import annotations

from statistics import median
from typing import Any

import wam
from contender import PeerAbsentError, run_contender, say
from figaroh_env import run_in_figaroh
from goals import Goal, ratio

NAME = "compress"
DESCRIPTION = (
    f"7 joints, 98 parameters, {wam.N_SAMPLES} samples: regressor and QR, against a bare loop "
    "over Pinocchio's regressor and against FIGAROH 1.0.2; memory of a run 10 times as long"
)
GOALS = (
    Goal("ratio_to_pinocchio_loop", "<=", 1.5),
    Goal("ratio_two_threads", "<=", 1.0),
    Goal("speedup_over_figaroh", ">=", 30.0),
    Goal("peak_memory_growth_10x", "<=", 0.10),
)
QUICK_GOALS = (
    Goal("peak_memory_growth_10x", "<=", 0.10),
    Goal("residual_difference_to_rows", "<=", 1e-9),
)
ROUNDS = 3
QUICK_SAMPLES = 12_000
REPEATS = 5
LONG = 10
Answer = dict[str, Any]
PEERS = {
    "pinocchio": lambda: run_contender("compress_pinocchio.py", REPEATS, library="pinocchio"),
    "figaroh": lambda: run_in_figaroh("compress_figaroh.py", 1),
}


def measure() -> dict[str, float | None]:
    """All figures: seconds (``_s``), MB (``_mb``), ratios and counts.

    ``peak_memory_growth_10x`` is the share by which the peak memory of a process that
    compresses ten times as many samples exceeds that of one that compresses them once.
    ``residual_difference_to_figaroh`` is only rounding if both solve the same problem.
    """
    one: list[Answer] = []
    two: list[Answer] = []
    peers: dict[str, list[Answer]] = {name: [] for name in PEERS}
    for number in range(1, ROUNDS + 1):
        say(f"round {number} of {ROUNDS}")
        one.append(run_contender("compress_steelyard.py", "time", 1, REPEATS, threads=1))
        two.append(run_contender("compress_steelyard.py", "time", 2, REPEATS, threads=2))
        for name in tuple(peers):
            try:
                peers[name].append(PEERS[name]())
            except PeerAbsentError as absent:
                say(f"absent: {absent}")
                del peers[name]
    say("memory")
    short = run_contender("compress_steelyard.py", "memory", wam.N_SAMPLES)
    long = run_contender("compress_steelyard.py", "memory", LONG * wam.N_SAMPLES)

    ours_s, ours_two_threads_s = seconds(one), seconds(two)
    pinocchio_loop_s, figaroh_s = (seconds(peers.get(name)) for name in PEERS)
    return {
        "ours_s": ours_s,
        "ours_two_threads_s": ours_two_threads_s,
        "pinocchio_loop_s": pinocchio_loop_s,
        "figaroh_s": figaroh_s,
        "ratio_to_pinocchio_loop": ratio(ours_s, pinocchio_loop_s),
        "ratio_two_threads": ratio(ours_two_threads_s, pinocchio_loop_s),
        "speedup_over_figaroh": ratio(figaroh_s, ours_s),
        "peak_memory_growth_10x": long["peak_mb"] / short["peak_mb"] - 1.0,
        "peak_memory_mb": short["peak_mb"],
        "peak_memory_10x_mb": long["peak_mb"],
        "memory_before_streaming_mb": short["start_mb"],
        "base_map_s": median(answer["base_map_s"] for answer in one),
        "residual_difference_to_figaroh": residual_difference(one, peers.get("figaroh")),
        "n_parameters": one[0]["n_parameters"],
        "n_base_parameters": one[0]["rank"],
    }


def quick() -> dict[str, float | None]:
    """What does not depend on the speed of the machine, on a shorter recording.

    ``residual_difference_to_rows`` compares the factors with least squares on all rows.
    """
    short = run_contender("compress_steelyard.py", "memory", QUICK_SAMPLES)
    long = run_contender("compress_steelyard.py", "memory", LONG * QUICK_SAMPLES)
    rows = run_contender("compress_steelyard.py", "rows", QUICK_SAMPLES // 4)
    return {
        "peak_memory_growth_10x": long["peak_mb"] / short["peak_mb"] - 1.0,
        "residual_difference_to_rows": abs(rows["residual"] / rows["residual_of_rows"] - 1.0),
    }


def seconds(answers: list[Answer] | None) -> float | None:
    """Median over rounds and repeats; ``None`` for an absent peer."""
    return None if answers is None else median(s for answer in answers for s in answer["seconds"])


def residual_difference(ours: list[Answer], theirs: list[Answer] | None) -> float | None:
    """Relative difference of the residual norms: did both solve the same problem?"""
    if theirs is None:
        return None
    return abs(ours[0]["residual"] / theirs[0]["residual"] - 1.0)
