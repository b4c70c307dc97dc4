"""Readings in which something changes during the log: a payload, friction, a sensor's zero, a push.

A change adds columns that are not the same in the whole log.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.suspects.evidence import (
    Fit,
    Samples,
    fit_of,
    moments,
    term_columns,
)
from steelyard.diagnosis.suspects.reading import Reading, unchanged

Array = NDArray[np.float64]

SPLITS = tuple(np.arange(0.1, 0.95, 0.1).tolist())
"""Shares of the log after which a payload may have changed."""
WARMING = 0.4
"""Friction falls with a time constant of this share of the log."""
LONGEST_TOUCH = 0.35
"""A disturbance takes at most this share of the log."""
BLOCKS = 40


def change_readings(samples: Samples, W: Array, given: Fit) -> list[Reading]:
    """What may change during a log, each with its best time."""
    return [
        *payload_changes(samples, W),
        *friction_changes(samples, W, given),
        *zero_drifts(samples, W, given),
        *disturbances(samples, W, given),
    ]


def payload_changes(samples: Samples, W: Array) -> list[Reading]:
    """A mass at the last link that comes or goes, at the best of some times."""
    last = samples.model.first_column_of_body[-1]
    body = W[:, :, last : last + 4]
    spread = np.array([2.0, 0.3, 0.3, 0.3])
    best: tuple[Fit, float] | None = None
    start, end = samples.time[0], samples.time[-1]
    shares = list(SPLITS)
    for number in range(2):
        for share in shares:
            when = start + share * (end - start)
            later = (samples.time >= when)[:, None, None]
            fit = fit_of(moments(samples, W, body * later, spread))
            if best is None or fit.score < best[0].score:
                best = fit, when
        if number == 0 and best is not None:
            near = (best[1] - start) / (end - start)
            shares = [near - 0.05, near - 0.025, near + 0.025, near + 0.05]
    assert best is not None
    fit, when = best
    mass = float(fit.theta[-4])
    span = (float(when), float(end))
    return [Reading("payload-change", (), mass, "kg", fit, unchanged, 25.0, span)]


def friction_changes(samples: Samples, W: Array, given: Fit) -> list[Reading]:
    """Friction of all joints that falls (or grows) towards its last value."""
    time = samples.time - samples.time[0]
    decay = np.exp(-time / (WARMING * time[-1]))
    n_joints = W.shape[1]
    terms = term_columns(samples.model)[:, 1:3].ravel()
    columns = W[:, :, terms] * decay[:, None, None]
    share = given.size[:, None] / np.column_stack([_rms(samples.v), np.ones(n_joints)])
    fit = fit_of(moments(samples, W, columns, (0.5 * share).ravel()))
    more = fit.theta[-2 * n_joints :]
    now = fit.theta[terms]
    weight = 1.0 / share.ravel()
    size = float(np.sum(more * weight) / max(np.sum(np.abs(now) * weight), 1e-9))
    span = (float(samples.time[0]), float(samples.time[-1]))
    return [
        Reading("friction-change", (), size, "share", fit, unchanged, 25.0 + 2.0 * n_joints, span)
    ]


def zero_drifts(samples: Samples, W: Array, given: Fit) -> list[Reading]:
    """The zero of one torque drifts evenly."""
    out = []
    time = samples.time - samples.time[0]
    ramp = time / time[-1]
    names = samples.model.channels
    columns = np.zeros((len(time), len(names), len(names)))
    for k in range(len(names)):
        columns[:, k, k] = ramp
    whole = fit_of(moments(samples, W, columns, 0.5 * given.size))
    drift = whole.theta[-len(names) :] / given.size
    k = int(np.argmax(np.abs(drift)))
    one = fit_of(moments(samples, W, columns[:, :, [k]], 0.5 * given.size[[k]]))
    span = (float(samples.time[0]), float(samples.time[-1]))
    size = float(one.theta[-1])
    out.append(Reading("torque-drift", (names[k],), size, "N m", one, unchanged, 30.0, span))
    return out


def disturbances(samples: Samples, W: Array, given: Fit) -> list[Reading]:
    """Something pushes for a while: without those samples, all the others fit."""
    excluded = np.zeros(len(samples.time), dtype=bool)
    edges = np.linspace(0, len(samples.time), BLOCKS + 1).astype(int)
    fit, cut = given, samples
    found: tuple[int, int] | None = None
    for _ in range(3):
        residual = samples.tau * samples.moving - W @ fit.theta
        scaled = (residual / fit.size) ** 2
        energy = np.array([scaled[a:b].sum(axis=1).mean() for a, b in pairwise(edges)])
        usual = float(np.median(energy))
        first = last = int(np.argmax(energy))
        bound = max(4.0 * usual, 0.03 * float(energy.max()))
        while first > 0 and energy[first - 1] > bound:
            first -= 1
        while last < BLOCKS - 1 and energy[last + 1] > bound:
            last += 1
        if (last - first + 1) > LONGEST_TOUCH * BLOCKS or energy.max() < 9.0 * usual:
            break
        found = first, last
        excluded[:] = False
        excluded[edges[first] : edges[last + 1]] = True
        cut = replace(samples, moving=samples.moving & ~excluded[:, None])
        fit = fit_of(moments(cut, W * ~excluded[:, None, None]))
    if found is None:
        return []
    span = (
        float(samples.time[edges[found[0]]]),
        float(samples.time[min(edges[found[1] + 1], len(samples.time) - 1)]),
    )
    force = np.sqrt(np.mean((samples.tau - W @ fit.theta)[excluded] ** 2, axis=0))
    k = int(np.argmax(force / fit.size))
    size = float(force[k])
    hit = (samples.model.channels[k],)

    def mended(one: Samples) -> Samples:
        keep = ~((one.time >= span[0]) & (one.time <= span[1]))
        return replace(one, moving=one.moving & keep[:, None])

    return [Reading("disturbance", hit, size, "N m", fit, mended, 40.0, span)]


def _rms(table: Array) -> Array:
    return np.asarray(np.sqrt(np.mean(table**2, axis=0)) + 1e-12)
