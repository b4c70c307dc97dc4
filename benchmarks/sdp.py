"""How fast is the constrained fit, and does it find the same optimum as its peers?

Chains of 7 to 100 links with full models (drive inertia, friction, offsets), fitted under full
consistency from the same factors. CVXPY solves the same problem with Clarabel, and with SCS as a
second opinion at its own accuracy. FIGAROH's physical fit solves 7 links from the same data under
its own conditions, which leave friction free; Steelyard solves that problem again for the
comparison. Times are medians of repeats; Steelyard's include the move to a point that is exactly
feasible, and objectives are compared at such points.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from contender import PeerAbsentError, run_contender, say
from figaroh_env import run_in_figaroh
from goals import Goal, ratio

NAME = "sdp"
DESCRIPTION = (
    "constrained fit at 7, 9, 20, 50 and 100 links, against CVXPY (Clarabel, SCS) and FIGAROH"
)
# rounds, and repeats of Steelyard and of its peers in each of them
SIZES = {7: (3, 21, 7), 9: (3, 21, 7), 20: (3, 7, 5), 50: (1, 9, 0), 100: (1, 7, 0)}
# weight of the pull towards the prior in all contenders, and FIGAROH's default least mass (kg)
FIGAROH_SETTINGS = (1e-2, 1e-6)
GOALS = (
    Goal("ms_7", "<=", 15.0),
    Goal("ms_9", "<=", 20.0),
    Goal("ms_20", "<=", 80.0),
    Goal("ms_100", "<=", 4000.0),
    Goal("speedup_over_cvxpy_7", ">=", 5.0),
    Goal("worst_objective_difference", "<=", 1e-6),
)


QUICK_GOALS = (Goal("worst_objective_difference", "<=", 1e-6),)


def quick() -> dict[str, float | None]:
    """The objective beside CVXPY's at 7 and 9 links; no times."""
    differences = []
    for n_links in (7, 9):
        peer = _cvxpy(n_links, "CLARABEL", 1)
        if peer is not None:
            ours = run_contender("sdp_steelyard.py", n_links, 1, threads=1)
            differences.append(_difference(ours["objective"], peer["objective"]))
    return {"worst_objective_difference": max(differences) if differences else None}


def measure() -> dict[str, float | None]:
    """Milliseconds per size, ratios, and the worst relative difference of objectives."""
    figures: dict[str, float | None] = {}
    differences: list[float] = []
    for n_links, (rounds, repeats, peer_repeats) in SIZES.items():
        ours, peers = [], []
        for k in range(rounds):
            say(f"{n_links} links, round {k + 1} of {rounds}")
            ours.append(run_contender("sdp_steelyard.py", n_links, repeats, threads=1))
            peers.append(_cvxpy(n_links, "CLARABEL", peer_repeats))
        seconds = [second for one in ours for second in one["seconds"]]
        figures[f"ms_{n_links}"] = 1e3 * median(seconds)
        figures[f"ms_{n_links}_fastest"] = 1e3 * min(seconds)
        figures[f"ms_{n_links}_solver"] = _pooled_ms(ours, "solve_seconds")
        if peer_repeats:
            figures[f"cvxpy_ms_{n_links}"] = _pooled_ms(peers)
            differences.extend(
                _difference(ours[0]["objective"], peer["objective"]) for peer in peers if peer
            )
        if n_links == 7:
            scs = _cvxpy(7, "SCS", 15)
            figures["scs_ms_7"] = _pooled_ms([scs])
            figures["scs_objective_difference"] = (
                _difference(ours[0]["objective"], scs["objective"]) if scs else None
            )
            figures.update(_figaroh(7, rounds, peer_repeats, differences))
    figures["speedup_over_cvxpy_7"] = ratio(figures["cvxpy_ms_7"], figures["ms_7"])
    figures["worst_objective_difference"] = max(differences) if differences else None
    return figures


def _cvxpy(n_links: int, solver: str, repeats: int) -> dict[str, Any] | None:
    """CVXPY's solution; None if it is not run at this size or not installed."""
    if not repeats:
        return None
    try:
        return run_contender("sdp_cvxpy.py", n_links, solver, repeats, threads=1, library="cvxpy")
    except PeerAbsentError as absent:
        say(f"absent: {absent}")
        return None


def _figaroh(
    n_links: int, rounds: int, repeats: int, differences: list[float]
) -> dict[str, float | None]:
    """FIGAROH's fit and Steelyard's on the same problem.

    The ratio counts what FIGAROH needs from its assembled problem on (model, CVXOPT, its checks);
    its assembly, a double QR of the data, is stated apart, as Steelyard's is in `compress`.
    """
    figures: dict[str, float | None] = dict.fromkeys(
        (
            *(f"{name}_{n_links}" for name in ("figaroh_ms", "figaroh_assembly_ms")),
            *(f"{name}_{n_links}" for name in ("ms_on_figaroh", "speedup_over_figaroh")),
            "figaroh_objective_difference",
            "figaroh_conditions_missed",
        )
    )
    theirs, ours = [], []
    with tempfile.TemporaryDirectory() as folder:
        data, answer = Path(folder) / "data.npz", Path(folder) / "answer.json"
        run_contender("sdp_on_figaroh.py", "write", data, n_links)
        for k in range(rounds):
            say(f"FIGAROH, {n_links} links, round {k + 1} of {rounds}")
            try:
                theirs.append(run_in_figaroh("sdp_figaroh.py", data, repeats, *FIGAROH_SETTINGS))
            except PeerAbsentError as absent:
                say(f"absent: {absent}")
                return figures
            if theirs[k]["theta"] is None:
                say(f"FIGAROH found no solution: {theirs[k]['status']} {theirs[k]['why']}")
                return figures
            answer.write_text(json.dumps(theirs[k]), encoding="utf-8")
            ours.append(run_contender("sdp_on_figaroh.py", "solve", n_links, answer))
    differences.append(_difference(ours[0]["objective"], ours[0]["figaroh_objective"]))
    figures[f"figaroh_ms_{n_links}"] = _pooled_ms(theirs)
    figures[f"figaroh_assembly_ms_{n_links}"] = _pooled_ms(theirs, "build")
    figures[f"ms_on_figaroh_{n_links}"] = _pooled_ms(ours)
    figures[f"speedup_over_figaroh_{n_links}"] = ratio(_pooled_ms(theirs), _pooled_ms(ours))
    figures["figaroh_objective_difference"] = differences[-1]
    figures["figaroh_conditions_missed"] = float(ours[0]["figaroh_outside"])
    return figures


def _pooled_ms(answers: Sequence[dict[str, Any] | None], what: str = "seconds") -> float | None:
    """Median over all rounds, in milliseconds; None where there was no answer."""
    seconds = [second for answer in answers if answer for second in answer[what]]
    return 1e3 * median(seconds) if seconds else None


def _difference(one: float, other: float) -> float:
    """Relative difference of two objectives."""
    return abs(one - other) / abs(min(one, other))
