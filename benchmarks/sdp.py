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
REPEATS = {7: 41, 9: 41, 20: 21, 50: 9, 100: 7}
PEER_REPEATS = 15
# FIGAROH's default least mass (kg), and the pull that all contenders have
FIGAROH_SETTINGS = (1e-2, 1e-6)
GOALS = (
    Goal("ms_7", "<=", 15.0),
    Goal("ms_9", "<=", 20.0),
    Goal("ms_20", "<=", 80.0),
    Goal("ms_100", "<=", 4000.0),
    Goal("speedup_over_cvxpy_7", ">=", 5.0),
    Goal("worst_objective_difference", "<=", 1e-6),
)


def measure() -> dict[str, float | None]:
    """Milliseconds per size, ratios, and the worst relative difference of objectives."""
    figures: dict[str, float | None] = {}
    differences: list[float] = []
    ours = {}
    for n_links, repeats in REPEATS.items():
        say(f"{n_links} links")
        ours[n_links] = run_contender("sdp_steelyard.py", n_links, repeats, threads=1)
        figures[f"ms_{n_links}"] = 1e3 * ours[n_links]["seconds"]
        figures[f"ms_{n_links}_fastest"] = 1e3 * ours[n_links]["fastest"]
        figures[f"ms_{n_links}_solver"] = 1e3 * ours[n_links]["solve_seconds"]
    for n_links in (7, 9, 20):
        peer = _cvxpy(n_links, "CLARABEL")
        figures[f"cvxpy_ms_{n_links}"] = None if peer is None else 1e3 * peer["seconds"]
        if peer is not None:
            differences.append(_difference(ours[n_links]["objective"], peer["objective"]))
    scs = _cvxpy(7, "SCS")
    figures["scs_ms_7"] = None if scs is None else 1e3 * scs["seconds"]
    figures["scs_objective_difference"] = (
        None if scs is None else _difference(ours[7]["objective"], scs["objective"])
    )
    figures.update(_figaroh(7, differences))
    figures["speedup_over_cvxpy_7"] = ratio(figures["cvxpy_ms_7"], figures["ms_7"])
    figures["worst_objective_difference"] = max(differences) if differences else None
    return figures


def _cvxpy(n_links: int, solver: str) -> dict[str, Any] | None:
    """CVXPY's answer; None where it is not installed."""
    say(f"CVXPY with {solver}, {n_links} links")
    try:
        return run_contender(
            "sdp_cvxpy.py", n_links, solver, PEER_REPEATS, threads=1, library="cvxpy"
        )
    except PeerAbsentError as absent:
        say(f"absent: {absent}")
        return None


def _figaroh(n_links: int, differences: list[float]) -> dict[str, float | None]:
    """FIGAROH's fit and Steelyard's on the same problem.

    The ratio counts what FIGAROH needs from its assembled problem on (model, CVXOPT, its checks);
    its assembly, a double QR of the data, is stated apart, as is Steelyard's in `compress`.
    """
    names = ("figaroh_ms", "figaroh_assembly_ms", "ms_on_figaroh", "speedup_over_figaroh")
    say(f"FIGAROH, {n_links} links")
    with tempfile.TemporaryDirectory() as folder:
        data, answer = Path(folder) / "data.npz", Path(folder) / "answer.json"
        run_contender("sdp_on_figaroh.py", "write", data, n_links)
        try:
            theirs = run_in_figaroh("sdp_figaroh.py", data, PEER_REPEATS, *FIGAROH_SETTINGS)
        except PeerAbsentError as absent:
            say(f"absent: {absent}")
            return {f"{name}_{n_links}": None for name in names}
        if theirs["theta"] is None:
            say(f"FIGAROH found no solution: {theirs['status']} {theirs['why']}")
            return {f"{name}_{n_links}": None for name in names}
        answer.write_text(json.dumps(theirs), encoding="utf-8")
        ours = run_contender("sdp_on_figaroh.py", "solve", n_links, answer)
    differences.append(_difference(ours["objective"], ours["figaroh_objective"]))
    peer_ms, our_ms = 1e3 * median(theirs["seconds"]), 1e3 * ours["seconds"]
    figures = (peer_ms, 1e3 * median(theirs["build"]), our_ms, peer_ms / our_ms)
    return {
        **{f"{name}_{n_links}": value for name, value in zip(names, figures, strict=True)},
        "figaroh_objective_difference": differences[-1],
        "figaroh_conditions_missed": float(ours["figaroh_outside"]),
    }


def _difference(one: float, other: float) -> float:
    """Relative difference of two objectives."""
    return abs(one - other) / abs(min(one, other))
