"""The simultaneous fit of all links by the interior-point method, and timing, for benchmarks."""

from __future__ import annotations

import time

import numpy as np


def simultaneous(R: np.ndarray, z: np.ndarray, K: np.ndarray, links) -> tuple[float, np.ndarray]:
    """Objective and standard parameters of the optimum over all links at once."""
    from steelyard.conic.interior_point import minimise
    from steelyard.estimators.sequential.links import moved
    from steelyard.estimators.sequential.sweeps import whole_fit

    whole = whole_fit(R, z, K, links)
    rows = np.zeros((sum(len(link.wish) for link in links), whole.G.shape[1]))
    conditions, at = [], 0
    for link, place in zip(links, whole.places, strict=True):
        rows[at : at + len(link.wish), place] = link.pull
        at += len(link.wish)
        conditions.extend(moved(link.conditions, place.start))
    start = np.concatenate([link.start for link in links])
    wish = np.concatenate([whole.z, *(link.wish for link in links)])
    found = minimise(np.vstack([whole.G, rows]), wish, np.zeros(len(start)), conditions, start)
    u = [found.x[place] for place in whole.places]
    theta = np.concatenate([link.theta(one) for link, one in zip(links, u, strict=True)])
    return whole.value(u), theta


def timed(call, repeats: int):
    """Shortest processor time (s) of some calls, and the last answer."""
    taken = []
    for _ in range(repeats):
        begun = time.process_time()
        answer = call()
        taken.append(time.process_time() - begun)
    return min(taken), answer
