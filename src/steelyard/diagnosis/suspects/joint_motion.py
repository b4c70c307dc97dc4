"""Positions of one joint that are scaled, as by a wrong gear ratio, or late.

Both change the torques of all joints that feel its motion. They are small at first: with the rigid
torque tau_r at the fitted parameters, the columns beside the model's are

    d/ds tau_r(q_k exp(s)),    d/ds tau_r(q_k(t + s))

with speed and acceleration to match. The joint whose column explains most is then looked at
closely, with a model made anew for every size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.suspects.evidence import Fit, Samples, fit_of, moments
from steelyard.diagnosis.suspects.intervals import Screen
from steelyard.diagnosis.suspects.reading import Reading
from steelyard.diagnosis.suspects.torque_readings import lowest
from steelyard.model.kernels import rigid_torque

Array = NDArray[np.float64]

COST = 20.0
"""What a reading has to be better by, since one of many joints was chosen."""
STEP = 1e-5
"""Share of a size by which torques are differentiated."""
POINTS = 9
"""Sizes around a first guess that are tried."""
Change = Callable[[Samples, int, float], Samples]
"""Mends the motion of the joint with this number by a size."""


def joint_motion_readings(samples: Samples, given: Fit, screen: Screen) -> list[Reading]:
    """The best joint for a factor and for a delay of its positions, the better one first."""
    out = []
    for code, kind in KINDS.items():
        columns = [_column(kind, samples, given, k) for k in range(samples.q.shape[1])]
        found = [screen.gain(one) for one in columns]
        joint = int(np.argmax([better for better, _ in found]))
        fits = partial(_fitted, kind, samples, joint)
        start = float(np.clip(found[joint][1], -kind.most, kind.most))
        width = max(abs(start), kind.least)
        size = lowest(fits, start + width * np.linspace(-1.0, 1.0, POINTS), rounds=3)
        if not kind.least <= abs(size) <= kind.most:
            continue
        mended = partial(_mended, kind, joint, size)
        name = samples.model.channels[joint]
        out.append(Reading(code, (name,), kind.told(size), kind.unit, fits(size), mended, COST))
    return sorted(out, key=lambda one: one.score)


def joint_motion_column(reading: Reading, mended: Samples, fit: Fit) -> tuple[Array, float]:
    """The column (n, n_joints) of what is left to mend, and what its unit is."""
    joint = mended.model.channels.index(reading.joints[0])
    column = _column(KINDS[reading.code], mended, fit, joint)
    return column, -reading.size if reading.code == FACTOR else 1.0


def scaled(samples: Samples, joint: int, size: float) -> Samples:
    """The samples with the positions of one joint multiplied by exp(size)."""
    factor = np.where(np.arange(samples.q.shape[1]) == joint, np.exp(size), 1.0)
    return replace(samples, q=factor * samples.q, v=factor * samples.v, a=factor * samples.a)


def earlier(samples: Samples, joint: int, size: float) -> Samples:
    """The samples with the motion of one joint ``size`` seconds earlier than it was logged."""

    def shifted(table: Array) -> Array:
        out = table.copy()
        out[:, joint] = np.interp(samples.time + size, samples.time, table[:, joint])
        return out

    q, v, a, jump = (shifted(one) for one in (samples.q, samples.v, samples.a, samples.jump))
    return replace(samples, q=q, v=v, a=a, jump=jump)


@dataclass(frozen=True)
class Kind:
    """What may be wrong with the motion of one joint.

    change : mends a joint's motion by a size. told : the size as people call it, in ``unit``.
    least, most : sizes that matter, and that are possible.
    """

    change: Change
    told: Callable[[float], float]
    unit: str
    least: float
    most: float


FACTOR, LATE = "position-factor", "position-late"
KINDS = {
    FACTOR: Kind(scaled, lambda size: float(np.exp(-size)), "times", least=0.03, most=0.95),
    LATE: Kind(earlier, lambda size: size, "s", least=0.004, most=0.12),
}


def _column(kind: Kind, samples: Samples, fit: Fit, joint: int) -> Array:
    """Torque (n, n_joints) of a change by one, linearised."""
    gravity = samples.model.mechanism.gravity

    def torque(one: Samples) -> Array:
        return np.asarray(rigid_torque(samples.model, fit.theta, one.q, one.v, one.a, gravity))

    step = STEP * kind.least
    return (torque(kind.change(samples, joint, step)) - torque(samples)) / step


def _mended(kind: Kind, joint: int, size: float, samples: Samples) -> Samples:
    return kind.change(samples, joint, size)


def _fitted(kind: Kind, samples: Samples, joint: int, size: float) -> Fit:
    """The fit of the samples, mended by a size."""
    return fit_of(moments(kind.change(samples, joint, size)))
