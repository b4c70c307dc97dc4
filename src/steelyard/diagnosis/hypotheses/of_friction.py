"""Hypotheses about friction: a curve of the speed, a travel, the load, two directions, warming up.

Laws of friction explain most residuals of real robots, and are no faults.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.hypotheses.hypothesis import (
    Candidate,
    Kind,
    Scene,
    Suspect,
    each_joint,
    norm,
    one_row,
    rms,
)

Array = NDArray[np.float64]

WARMING = 0.4
"""Friction falls with a time constant of this share of the log."""
REVERSAL_S = 0.02
"""Time by which friction may reverse before the joint does."""
LEAST_TEETH, MOST_TEETH, BINS_PER_WAVE = 6.0, 250.0, 4
"""Waves per radian that a gear may have, and points of a position on each."""
SLOW, LESS_SLOW = 0.2, 0.5
"""Speeds, as shares of the rms, over which friction changes (Stribeck, tanh)."""


def _curves(kind: Kind, scene: Scene) -> Iterator[Candidate]:
    s, speeds = scene.samples, rms(scene.samples.v)
    for k, name, n in each_joint(scene):
        x, jump = s.v[:, k] / speeds[k], s.jump[:, k]
        laws = jump * np.exp(-((x / SLOW) ** 2)), jump * np.exp(-((x / LESS_SLOW) ** 2)), x * abs(x)
        columns = np.stack([one_row(law, k, n) for law in laws], axis=2)
        yield Candidate(kind, (name,), columns, np.full(3, 0.3 * scene.fit.size[k]))


def _travels(kind: Kind, scene: Scene) -> Iterator[Candidate]:
    s = scene.samples
    for k, name, n in each_joint(scene):
        if s.slower:
            laws = [slower[:, k] - s.jump[:, k] for slower in s.slower[1::2]]
            columns = np.stack([one_row(law, k, n) for law in laws], axis=2)
            yield Candidate(kind, (name,), columns, np.full(len(laws), 0.3 * scene.fit.size[k]))
    # a joint that sticks reverses its friction before it turns back, and in less time
    early = scene.thinned(scene.derivative(scene.full.jump)) * REVERSAL_S
    sharper = np.clip(2.0 * s.jump, -1.0, 1.0) - s.jump
    for k, name, n in each_joint(scene):
        both = np.stack([one_row(law[:, k], k, n) for law in (early, sharper)], axis=2)
        yield Candidate(kind, (name,), both, np.full(2, 0.3 * scene.fit.size[k]), None, 1.0)


def _ripples(kind: Kind, scene: Scene) -> Iterator[Candidate]:
    s = scene.samples
    residual = s.tau * s.moving - scene.W @ scene.fit.theta
    for k, name, n in each_joint(scene):
        q, size = s.q[:, k], scene.fit.size[k]
        load = scene.predicted[:, k] / size
        for form, by in enumerate((np.ones_like(load), load)):
            teeth, tried = _teeth(q, by * residual[:, k])
            # what is left of waves that the filter of the log takes away
            left = by / (1.0 + (teeth * np.abs(s.v[:, k]) / (2.0 * np.pi) * s.lag_s) ** 8)
            waves = [one_row(left * f(teeth * q), k, n) for f in (np.sin, np.cos)]
            typical, cost = np.full(2, 0.1 * size), 2.0 * np.log(tried)
            both = np.stack(waves, axis=2)
            yield Candidate(kind, (name,), both, typical, None, form, 0.0, cost)


def _teeth(q: Array, values: Array) -> tuple[float, int]:
    """The wave number (1/rad) of which most is in values (n,) at positions q (n,), of how many."""
    span = float(np.ptp(q)) + 1e-9
    bins = int(span * MOST_TEETH * BINS_PER_WAVE / (2.0 * np.pi)) + 2
    summed = np.bincount((bins * (q - q.min()) / span * (1.0 - 1e-9)).astype(int), values, bins)
    # padded, so that waves between the whole ones are seen
    power = np.abs(np.fft.rfft(summed, 4 * bins)) ** 2
    numbers = 2.0 * np.pi / (4.0 * span) * np.arange(len(power))
    looked_at = (numbers > max(LEAST_TEETH, 2.0 * np.pi / span)) & (numbers < MOST_TEETH)
    if not looked_at.any():
        return LEAST_TEETH, 1
    return float(numbers[looked_at][np.argmax(power[looked_at])]), int(looked_at.sum())


def _loads(kind: Kind, scene: Scene) -> Iterator[Candidate]:
    load = np.abs(scene.predicted - scene.friction)
    for k, name, n in each_joint(scene):
        column = one_row(scene.samples.jump[:, k] * load[:, k], k, n)
        yield Candidate(kind, (name,), column, np.array([0.1]))


def _asymmetric(kind: Kind, scene: Scene) -> Iterator[Candidate]:
    v = scene.samples.v
    for k, name, n in each_joint(scene):
        typical = np.array([0.2 * scene.fit.size[k] / rms(v)[k]])
        yield Candidate(kind, (name,), one_row(np.abs(v[:, k]), k, n), typical)


def _frictions(kind: Kind, scene: Scene) -> Iterator[Candidate]:
    decay = np.exp(-scene.shares / WARMING)
    span = float(scene.samples.time[0]), float(scene.samples.time[-1])
    faded = scene.friction * decay[:, None]
    yield Candidate(kind, (), faded, np.array([0.5]), span)
    for k, name, n in each_joint(scene):
        yield Candidate(kind, (name,), one_row(faded[:, k], k, n), np.array([0.5]), span)


def no_fault(one: Suspect) -> str:
    """Why it is told."""
    return "the usual friction does not explain it; this is no fault of the log"


LAWS = (
    Kind(
        "stribeck",
        "robot",
        lambda one: f"friction {one.whose} is a curve of the speed",
        severity="note",
        because=no_fault,
        columns=_curves,
        told=norm,
    ),
    Kind(
        "friction-travel",
        "robot",
        lambda one: f"friction {one.whose} follows a change of direction over some travel",
        severity="note",
        because=no_fault,
        columns=_travels,
        told=norm,
    ),
    Kind(
        "load-friction",
        "robot",
        lambda one: f"friction {one.whose} grows with its load, by {100 * one.size:.3g} % of it",
        unit="share",
        severity="note",
        because=no_fault,
        columns=_loads,
        positive=True,
    ),
    Kind(
        "asymmetric-friction",
        "robot",
        lambda one: f"friction {one.whose} is another one in each direction",
        severity="note",
        because=no_fault,
        columns=_asymmetric,
    ),
    Kind(
        "torque-ripple",
        "robot",
        lambda one: f"the torque {one.whose} ripples with the position, by {one.size:.2g} N m",
        unit="N m",
        severity="note",
        could_be=("an encoder that errs many times per turn",),
        because=no_fault,
        columns=_ripples,
        told=norm,
    ),
)
"""Laws of friction: what explains most residuals of real robots, and is no fault."""
KINDS = (
    *LAWS,
    Kind(
        "friction-change",
        "robot",
        lambda one: (
            f"friction {one.whose} is {100 * one.size:+.3g} % different at the start of "
            "the log from what it is later"
        ),
        unit="share",
        to_do="let the robot warm up, or leave the start of the log out",
        could_be=("a torque sensor that warms up",),
        columns=_frictions,
        least=0.02,
    ),
)
