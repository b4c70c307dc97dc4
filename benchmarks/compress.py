"""How fast a recording becomes triangular factors, and in how much memory.

Every contender sees the same arm and the same samples (`wam`), in its own process, on one
thread unless it says two. The timings of a round stand next to each other, so that a
machine that slows down slows all of them; a figure is the median over rounds and repeats.
"""

from __future__ import annotations

from statistics import median

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
ROUNDS = 3
REPEATS = 5
LONG = 10
PEERS = {
    "pinocchio": lambda: run_contender("compress_pinocchio.py", REPEATS, library="pinocchio"),
    "figaroh": lambda: run_in_figaroh("compress_figaroh.py", 1),
}


def measure() -> dict[str, float | None]:
    """All figures: seconds (``_s``), MB (``_mb``), ratios and counts.

    ``peak_memory_growth_10x`` is the share by which the peak memory of a process that
    compresses ten times as many samples exceeds that of one that compresses them once.
    """
    one: list[float] = []
    two: list[float] = []
    base_map: list[float] = []
    peers: dict[str, list[float]] = {"pinocchio": [], "figaroh": []}
    for number in range(1, ROUNDS + 1):
        say(f"round {number} of {ROUNDS}")
        ours = run_contender("compress_steelyard.py", "time", 1, REPEATS, threads=1)
        one += ours["seconds"]
        base_map.append(ours["base_map_s"])
        two += run_contender("compress_steelyard.py", "time", 2, REPEATS, threads=2)["seconds"]
        for peer in tuple(peers):
            try:
                peers[peer] += PEERS[peer]()["seconds"]
            except PeerAbsentError as absent:
                say(f"absent: {absent}")
                del peers[peer]
    say("memory")
    short = run_contender("compress_steelyard.py", "memory", wam.N_SAMPLES)
    long = run_contender("compress_steelyard.py", "memory", LONG * wam.N_SAMPLES)

    ours_s, ours_two_threads_s = median(one), median(two)
    pinocchio_loop_s = median(peers["pinocchio"]) if "pinocchio" in peers else None
    figaroh_s = median(peers["figaroh"]) if "figaroh" in peers else None
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
        "base_map_s": median(base_map),
        "n_parameters": ours["n_parameters"],
        "n_base_parameters": ours["rank"],
    }

