"""Readings of units: time stamps from another rate, positions in degrees or turns.

Stamps that run f times too far make speeds f and accelerations f² times too small. Inertial and
centrifugal torques of the rigid bodies then are f² times too small beside gravity:

    W(f) = W_gravity + f² (W - W_gravity)

Friction and drive inertia have no size in the file, so that their columns stay. The products of
every f come from those of the two parts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.suspects.evidence import (
    Fit,
    Samples,
    fit_of,
    moments,
    regressor,
    term_columns,
)
from steelyard.diagnosis.suspects.reading import Reading
from steelyard.diagnosis.suspects.torque_readings import lowest

Array = NDArray[np.float64]

LEAST_RATE = 1.25
"""A rate matters beyond this factor: inertias of a file are off by a third."""
RATES = np.log(1.37) * np.arange(-5, 6)
"""Logarithms of the factors of time stamps that are tried."""
DEGREE, TURN = float(np.pi / 180.0), float(2.0 * np.pi)
MOST_TURNS, LEAST_DEGREES = 1.1, 7.0
"""Spans (as recorded) up to which positions may be in turns, and from which on in degrees."""


def rate_readings(samples: Samples, W: Array) -> list[Reading]:
    """All time stamps are of a rate that is not the true one."""
    model = samples.model
    still = np.zeros_like(samples.v)
    weight = regressor(replace(samples, v=still, a=still))
    own = term_columns(model).ravel()
    weight[:, :, own] = W[:, :, own]
    moving = W - weight
    given = moments(samples, weight)
    n_joints = W.shape[1]
    parts = [(weight[:, i], moving[:, i]) for i in range(n_joints)]
    cross = np.array([a.T @ b for a, b in parts])
    cross = cross + cross.transpose(0, 2, 1)
    square = np.array([b.T @ b for _, b in parts])
    products = np.array([(b.T @ samples.tau).T for _, b in parts])

    def at(log_rate: float) -> Fit:
        s = float(np.exp(2.0 * log_rate))
        return fit_of(
            replace(given, G=given.G + s * cross + s**2 * square, C=given.C + s * products)
        )

    best = lowest(at, RATES)
    rate = float(np.exp(best))
    if max(rate, 1.0 / rate) < LEAST_RATE:
        return []

    def mended(one: Samples) -> Samples:
        return replace(one, time=one.time / rate, v=one.v * rate, a=one.a * rate**2)

    return [Reading("time-rate", (), rate, "times", at(best), mended, 20.0)]


def position_unit_readings(samples: Samples) -> list[Reading]:
    """Positions of all joints, or of one, in degrees or in turns."""
    names = samples.model.channels
    n = len(names)
    span = np.ptp(samples.q, axis=0)
    turning = np.array([kind != "prismatic" for kind in _kinds(samples)])
    out = []
    for unit, factor, possible in (
        ("degrees", DEGREE, span > LEAST_DEGREES),
        ("turns", TURN, span < MOST_TURNS),
    ):
        which: list[tuple[int, ...]] = [(k,) for k in np.flatnonzero(possible & turning).tolist()]
        if np.median(span[turning]) > LEAST_DEGREES if unit == "degrees" else possible.all():
            which.append(tuple(np.flatnonzero(turning).tolist()))
        for joints in dict.fromkeys(which):
            scale = np.where(np.isin(np.arange(n), joints), factor, 1.0)
            mended = _scaled(scale)
            fit = fit_of(moments(mended(samples)))
            named = () if len(joints) == turning.sum() else tuple(names[k] for k in joints)
            cost = 0.0 if not named else 10.0
            out.append(Reading("position-unit", named, 1.0 / factor, unit, fit, mended, cost))
    return out


def _kinds(samples: Samples) -> list[str]:
    """Kinds of the joints of all channels."""
    return [samples.model.robot.joint(name).kind for name in samples.model.channels]


def _scaled(scale: Array) -> Callable[[Samples], Samples]:
    """Multiplies each joint's motion (n_joints,)."""

    def mended(one: Samples) -> Samples:
        return replace(one, q=scale * one.q, v=scale * one.v, a=scale * one.a)

    return mended
