"""How fast is the constrained fit, and does it find the same optimum as its peers?

Chains of 7 to 100 links with full models (drive inertia, friction, offsets), fitted under full
consistency from the same factors. CVXPY solves the same problem with Clarabel, and with SCS as a
second opinion at its own accuracy; FIGAROH fits 7 links from the same data. Objectives are
compared at points that are exactly feasible. Times are medians of repeats, side by side.
"""

from __future__ import annotations

from contender import PeerAbsentError, run_contender, say
from goals import Goal, ratio

NAME = "sdp"
DESCRIPTION = "constrained fit at 7, 9, 20, 50 and 100 links, against CVXPY (Clarabel, SCS)"
SIZES = (7, 9, 20, 50, 100)
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
    ours = {}
    for n_links in SIZES:
        say(f"{n_links} links")
        ours[n_links] = run_contender("sdp_steelyard.py", n_links, threads=1)
        figures[f"ms_{n_links}"] = 1e3 * ours[n_links]["seconds"]
        figures[f"ms_{n_links}_exact"] = 1e3 * ours[n_links]["exact_seconds"]
    differences = []
    for n_links in (7, 9, 20):
        try:
            say(f"CVXPY, {n_links} links")
            peer = run_contender("sdp_cvxpy.py", n_links, "CLARABEL", threads=1, library="cvxpy")
        except PeerAbsentError as absent:
            say(f"absent: {absent}")
            figures[f"cvxpy_ms_{n_links}"] = None
            continue
        figures[f"cvxpy_ms_{n_links}"] = 1e3 * peer["seconds"]
        best = min(ours[n_links]["objective"], peer["objective"])
        differences.append(abs(ours[n_links]["objective"] - peer["objective"]) / abs(best))
    try:
        say("CVXPY with SCS, 7 links")
        scs = run_contender("sdp_cvxpy.py", 7, "SCS", threads=1, library="cvxpy")
        figures["scs_ms_7"] = 1e3 * scs["seconds"]
        figures["scs_objective_difference"] = abs(scs["objective"] / ours[7]["objective"] - 1.0)
    except PeerAbsentError:
        figures["scs_ms_7"] = None
    figures["speedup_over_cvxpy_7"] = ratio(figures["cvxpy_ms_7"], figures["ms_7"])
    figures["worst_objective_difference"] = max(differences) if differences else None
    return figures
