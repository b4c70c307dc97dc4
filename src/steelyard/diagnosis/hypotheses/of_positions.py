"""Hypotheses about recorded positions: a zero, a scale, a delay, an encoder that errs as it turns.

Where a position q is measured too large by e(t), the torque is that of q - e(t): to first order,
the column is minus the derivative of the bodies' torque along (e, de/dt, d²e/dt²).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.hypotheses.hypothesis import (
    Candidate,
    Kind,
    Scene,
    each_joint,
    one_row,
)
from steelyard.diagnosis.hypotheses.samples import Samples, term_columns
from steelyard.signals.cubic_spline import cubic_spline

Array = NDArray[np.float64]


def _zeros(kind: Kind, scene: Scene) -> Iterator[Candidate]:
    none = np.zeros_like(scene.samples.time)
    for k, name in enumerate(scene.model.channels):
        column = -scene.moved(k, none + 1.0, none, none)
        yield Candidate(kind, (name,), column, np.array([0.2]))


def zero_mended(samples: Samples, joints: tuple[int, ...], sizes: Array) -> Samples:
    """Subtracts an angle (rad) from the positions of a joint."""
    off = np.isin(np.arange(samples.q.shape[1]), joints) * float(sizes[0])
    return replace(samples, q=samples.q - off)


def _factors(kind: Kind, scene: Scene) -> Iterator[Candidate]:
    s = scene.samples
    for k, name in enumerate(scene.model.channels):
        column = -scene.moved(k, s.q[:, k], s.v[:, k], s.a[:, k])
        yield Candidate(kind, (name,), column, np.array([0.3]))


def factor_mended(samples: Samples, joints: tuple[int, ...], sizes: Array) -> Samples:
    """Divides the motion of a joint by a factor, whose logarithm is the size."""
    scaled = np.isin(np.arange(samples.q.shape[1]), joints)
    by = np.where(scaled, np.exp(-np.clip(sizes[0], -3.0, 3.0)), 1.0)
    return replace(samples, q=by * samples.q, v=by * samples.v, a=by * samples.a)


def _late(kind: Kind, scene: Scene) -> Iterator[Candidate]:
    s = scene.samples
    jerk = scene.thinned(scene.derivative(scene.smoothed(scene.full.a)))
    rubbing = scene.thinned(scene.derivative(scene.whole.friction))
    drives = scene.theta[term_columns(scene.model)[:, 0]] * jerk + rubbing
    for k, name, n in each_joint(scene):
        column = scene.moved(k, s.v[:, k], s.a[:, k], jerk[:, k])
        yield Candidate(kind, (name,), column + one_row(drives[:, k], k, n), np.array([0.02]))


def late_position_mended(samples: Samples, joints: tuple[int, ...], sizes: Array) -> Samples:
    """The motion of a joint, earlier by a time (s) than it was logged."""
    when = np.clip(samples.time + float(sizes[0]), samples.time[0], samples.time[-1])

    def shifted(table: Array) -> Array:
        out = table.copy()
        out[:, joints] = cubic_spline(samples.time, table[:, joints])(when)
        return out

    q, v, a, jump, *slower = (
        shifted(one) for one in (samples.q, samples.v, samples.a, samples.jump, *samples.slower)
    )
    return replace(samples, q=q, v=v, a=a, jump=jump, slower=tuple(slower))


def _turns(kind: Kind, scene: Scene) -> Iterator[Candidate]:
    s = scene.samples
    for k, name in enumerate(scene.model.channels):
        q, v, a = s.q[:, k], s.v[:, k], s.a[:, k]
        for times in (1, 2):
            sine, cosine = np.sin(times * q), np.cos(times * q)
            columns = [
                -scene.moved(k, e, times * d * v, times * d * a - times**2 * e * v**2)
                for e, d in ((sine, cosine), (cosine, -sine))
            ]
            both = np.stack(columns, axis=2)
            yield Candidate(kind, (name,), both, np.full(2, 0.02), None, float(times))


KINDS = (
    Kind(
        "position-offset",
        "log",
        lambda one: f"the zero {one.whose} is off by {one.size:.3g}{one.half_width} degrees",
        unit="degrees",
        to_do="set the zero of this joint right in the log",
        could_be=("a joint whose zero in the file is not that of the controller",),
        columns=_zeros,
        told=lambda sizes: float(np.degrees(sizes[0])),
        least=2.5,
        most=40.0,
        mended=zero_mended,
    ),
    Kind(
        "position-factor",
        "log",
        lambda one: f"positions {one.whose} are {one.size:.3g}{one.half_width} times the true ones",
        unit="times",
        to_do="multiply these positions by the inverse in the log; look for a wrong gear ratio or "
        "count of the encoder",
        could_be=("links of the file whose lengths are not the robot's",),
        columns=_factors,
        told=lambda sizes: float(np.exp(np.clip(sizes[0], -3.0, 3.0))),
        least=0.004,
        most=1.6,
        from_size=1.0,
        lowest=0.35,
        mended=factor_mended,
    ),
    Kind(
        "position-late",
        "log",
        lambda one: (
            f"positions {one.whose} are {1e3 * abs(one.size):.3g}{one.half_width} ms "
            f"{one.late} beside those of the others"
        ),
        unit="s",
        to_do="record the positions of all joints with one clock, and without filters",
        could_be=("velocities or positions of this joint that went through a slow filter",),
        columns=_late,
        least=0.0015,
        most=0.12,
        mended=late_position_mended,
    ),
    Kind(
        "encoder-error",
        "log",
        lambda one: f"the encoder {one.whose} errs by {one.size:.3g} degrees as it turns",
        unit="degrees",
        to_do="calibrate this encoder, or look for one that is mounted off its axis",
        columns=_turns,
        told=lambda sizes: float(np.degrees(np.hypot(sizes[0], sizes[1]))),
        least=0.02,
        most=12.0,
    ),
)
