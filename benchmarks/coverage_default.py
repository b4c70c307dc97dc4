"""Do the intervals of the plain command hold the truth, also where the robot file is wrong?

The built-in arm and five random ones, simulated with friction, drives and noise; logs of 6 and 20
s; the file right, with one link 30 % too heavy, with links alternately 30 % too light and too
heavy, and with all 30 % too heavy. Coverage of true base parameters at nominal 95 %, pooled over
all: ``confidence`` and ``mostly_prior`` by kind of interval, ``wrong_link`` for parameters that
depend on a link that is wrong while others are right, ``friction`` for terms of joints. NAME_6s and
NAME_20s, ``WAY_confidence`` by length and by file, beside them.
"""

from __future__ import annotations

import sys
from pathlib import Path

from contender import say
from goals import Goal

NAME = "coverage-default"
DESCRIPTION = "plain command on 48 simulated logs: share of true base parameters in their intervals"
N_ARMS = 6
SECONDS = (6.0, 20.0)
FIRST_SEED = 100
GOALS = (
    Goal("confidence", ">=", 0.93),
    Goal("confidence", "<=", 0.97),
    Goal("mostly_prior", ">=", 0.95),
    Goal("wrong_link", ">=", 0.90),
    Goal("friction", ">=", 0.90),
)


def measure() -> dict[str, float | None]:
    """Pooled coverages."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))
    from wrong_files import WAYS, Held, arm, held, recorded, with_wrong_links

    from steelyard.identification.identify import identify

    pools: dict[str, list[Held]] = {}
    for number in range(N_ARMS):
        robot, truth = arm(number)
        for seconds in SECONDS:
            log = recorded(robot, truth, seconds, FIRST_SEED + number)
            for way in WAYS:
                file, wrong = with_wrong_links(robot, way)
                found = identify(file, log, ranges=False, certify=False)
                results = held(found, truth, wrong)
                share = sum(one.inside for one in results) / len(results)
                say(f"arm {number}, {seconds:g} s, file {way}: {share:.3f} of {len(results)}")
                length = f"{seconds:g}s"
                for one in results:
                    kind = one.kind.replace(" ", "_")
                    names = [kind, f"{kind}_{length}", f"{way.replace(' ', '_')}_{kind}"]
                    if one.touches and way in ("one link", "alternating"):
                        names.append("wrong_link")
                    if one.term != "rigid_body":
                        names.append("friction")
                    for name in names:
                        pools.setdefault(name, []).append(one)
    figures: dict[str, float | None] = {
        name: sum(one.inside for one in pool) / len(pool) for name, pool in sorted(pools.items())
    }
    return figures | {f"n_{name}": float(len(pool)) for name, pool in sorted(pools.items())}
