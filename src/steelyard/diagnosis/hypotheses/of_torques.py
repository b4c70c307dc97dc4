"""Hypotheses about recorded torques: delays, gains, drift, saturation, cross-talk, no gravity.

All columns are made of the torque that the fit predicts, since noise in a column would shrink its
size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.hypotheses.hypothesis import Candidate, Kind, Scene, Suspect, one_row
from steelyard.diagnosis.hypotheses.samples import Samples
from steelyard.signals.cubic_spline import cubic_spline

Array = NDArray[np.float64]

LONGEST_S = 0.12
"""Delays up to this are small changes."""
SEEN = 0.3
"""Delays below this share of the time between two samples do not matter."""
STEPS = (0.25, 0.5, 0.75)
"""Shares of the log after which a gain may have changed."""
LEAST_DRIFT = 0.05
"""Share of a torque (rms) below which its zero drifts as slow noise does."""
WARM_UP = 0.2
"""Time constant of a zero that warms up, as a share of the log."""
DEAD_ZONES = (0.012, 0.05, 0.2)
"""Widths of a dead zone that are tried, as shares of the largest torque."""


def late_mended(samples: Samples, joints: tuple[int, ...], sizes: Array) -> Samples:
    """Takes a delay (s) out of the torques of these joints, of all if there are none."""
    when = np.clip(samples.time + float(sizes[0]), samples.time[0], samples.time[-1])
    tau = cubic_spline(samples.time, samples.tau)(when)
    if joints:
        tau = np.where(np.isin(np.arange(tau.shape[1]), joints), tau, samples.tau)
    return replace(samples, tau=tau)


def polled_mended(samples: Samples, joints: tuple[int, ...], sizes: Array) -> Samples:
    """Takes out a delay that grows by the same time from joint to joint."""
    for k in range(samples.tau.shape[1]):
        samples = late_mended(samples, (k,), k * sizes)
    return samples


def gain_mended(samples: Samples, joints: tuple[int, ...], sizes: Array) -> Samples:
    """Divides the torque of a joint by its gain, whose logarithm is the size."""
    gains = np.ones(samples.tau.shape[1])
    gains[list(joints)] = np.exp(np.clip(sizes[0], -3.0, 3.0))
    return replace(samples, tau=samples.tau / gains)


def _delays(kind: Kind, scene: Scene) -> Iterator[Candidate]:
    names, slopes = scene.model.channels, scene.slopes
    n = len(names)
    typical, least = np.array([0.02]), SEEN * scene.full.step_s
    groups = [range(n), *([k] for k in range(n))]
    # joints on one bus are neighbours
    groups += [range(k, n) for k in range(1, n - 1)] + [range(k) for k in range(2, n)]
    for group in groups:
        rows = np.isin(np.arange(n), list(group))
        joints = () if len(group) == n else tuple(names[k] for k in group)
        yield Candidate(kind, joints, -slopes * rows, typical, least=least)


def _delay_option(suspect: Suspect) -> str:
    if not suspect.joints:
        return f"--torque-delay {suspect.size:.4g}"
    return " ".join(f"--torque-delay {joint}={suspect.size:.4g}" for joint in suspect.joints)


def _polled(kind: Kind, scene: Scene) -> Iterator[Candidate]:
    later = np.arange(scene.slopes.shape[1])
    if len(later) > 2:
        yield Candidate(kind, (), -scene.slopes * later, np.array([3e-3]))


def _gains(kind: Kind, scene: Scene) -> Iterator[Candidate]:
    names = scene.model.channels
    for k, name in enumerate(names):
        column = one_row(scene.predicted[:, k], k, len(names))
        yield Candidate(kind, (name,), column, np.array([0.2]))


def _gain_changes(kind: Kind, scene: Scene) -> Iterator[Candidate]:
    names, time = scene.model.channels, scene.samples.time
    for k, name in enumerate(names):
        for share in STEPS:
            values = scene.predicted[:, k] * (scene.shares > share)
            span = float(time[0] + share * (time[-1] - time[0])), float(time[-1])
            column = one_row(values, k, len(names))
            yield Candidate(kind, (name,), column, np.array([0.2]), span, share)


def _drifts(kind: Kind, scene: Scene) -> Iterator[Candidate]:
    names, u, time = scene.model.channels, scene.shares, scene.samples.time
    span = float(time[0]), float(time[-1])
    for k, name in enumerate(names):
        for form, values in enumerate((u, np.exp(-u / WARM_UP))):
            typical = np.array([0.5 * scene.fit.size[k]])
            column, least = one_row(values, k, len(names)), LEAST_DRIFT * scene.fit.size[k]
            yield Candidate(kind, (name,), column, typical, span, form, least)


def _saturations(kind: Kind, scene: Scene) -> Iterator[Candidate]:
    names = scene.model.channels
    for k, name in enumerate(names):
        tau = scene.predicted[:, k]
        share = tau / (float(np.abs(tau).max()) + 1e-12)
        yield Candidate(kind, (name,), one_row(-tau * share**2, k, len(names)), np.array([0.2]))


def _dead_zones(kind: Kind, scene: Scene) -> Iterator[Candidate]:
    names = scene.model.channels
    for k, name in enumerate(names):
        tau = scene.predicted[:, k]
        for share in DEAD_ZONES:
            width = share * float(np.abs(tau).max())
            for form, values in (
                (share, -np.clip(tau, -width, width)),  # what is left starts at zero
                (-share, -tau * (np.abs(tau) < width)),  # small torques alone are zero
            ):
                column = one_row(values, k, len(names))
                yield Candidate(kind, (name,), column, np.array([0.5]), None, form)


def _cross_talk(kind: Kind, scene: Scene) -> Iterator[Candidate]:
    names, size = scene.model.channels, scene.fit.size
    for k, name in enumerate(names):
        for i, other in enumerate(names):
            if i != k:
                typical = np.array([0.1 * size[k] / size[i]])
                column = one_row(scene.predicted[:, i], k, len(names))
                yield Candidate(kind, (other, name), column, typical)


def _without_gravity(kind: Kind, scene: Scene) -> Iterator[Candidate]:
    weight = weight_of_file(scene.samples)
    names = scene.model.channels
    for k, name in enumerate(names):
        if np.abs(weight[:, k]).max() > 0.0:
            column = one_row(-weight[:, k], k, len(names))
            yield Candidate(kind, (name,), column, np.array([1.0]))


def weight_of_file(samples: Samples) -> Array:
    """Torque (n, n_joints) of the file's links at rest."""
    from steelyard.model.kernels import rigid_torque

    still, model = np.zeros_like(samples.v), samples.model
    gravity = np.array(model.mechanism.gravity)
    return np.asarray(rigid_torque(model, model.prior_theta(), samples.q, still, still, gravity))


def gravity_given_back(samples: Samples, joints: tuple[int, ...], sizes: Array) -> Samples:
    """Adds the weight that was taken out of these joints, of all if there are none."""
    rows = np.isin(np.arange(samples.tau.shape[1]), joints) if joints else True
    return replace(samples, tau=samples.tau + float(sizes[0]) * rows * weight_of_file(samples))


KINDS = (
    Kind(
        "delay",
        "log",
        lambda one: (
            f"torques {one.whose} are {1e3 * abs(one.size):.4g}{one.half_width} ms {one.late}"
        ),
        unit="s",
        to_do="state the delay, or record both with one clock",
        could_be=("a slow filter on one of the two signals",),
        columns=_delays,
        least=3e-4,
        most=LONGEST_S,
        mended=late_mended,
        option=_delay_option,
    ),
    Kind(
        "polled-joints",
        "log",
        lambda one: (
            "torques of the joints are read one after another: each is "
            f"{1e3 * abs(one.size):.3g}{one.half_width} ms {one.late}r than the one before"
        ),
        unit="s",
        to_do="state the delay of each joint, or read all joints at once",
        columns=_polled,
        least=1e-4,
        most=0.03,
        mended=polled_mended,
    ),
    Kind(
        "torque-gain",
        "log",
        lambda one: (
            f"torques {one.whose} are {one.size:.3g}{one.half_width} times what the others say"
        ),
        unit="times",
        to_do="calibrate this torque, or multiply it by the inverse in the log",
        could_be=("links of the file that are far from the robot's",),
        columns=_gains,
        told=lambda sizes: float(np.exp(np.clip(sizes[0], -3.0, 3.0))),
        least=0.03,
        most=2.0,
        from_size=1.0,
        lowest=0.35,
        mended=gain_mended,
    ),
    Kind(
        "gain-change",
        "log",
        lambda one: (
            f"the gain of the torque {one.whose} changes by {100 * one.size:+.3g} % at "
            f"about {(one.span_s or (0,))[0]:.3g} s"
        ),
        unit="share",
        to_do="cut the log at this time, and use one part",
        columns=_gain_changes,
        least=0.005,
        most=2.0,
    ),
    Kind(
        "torque-drift",
        "log",
        lambda one: (
            f"the zero of the torque {one.whose} drifts by {one.size:.3g} N m during the log"
        ),
        unit="N m",
        could_be=("friction that changes",),
        severity="never",
        columns=_drifts,
    ),
    Kind(
        "torque-saturation",
        "log",
        lambda one: (
            f"large torques {one.whose} are too small: the largest by "
            f"{100 * one.size:.3g} %, as of a sensor or drive near its limit"
        ),
        unit="share",
        to_do="record it again with slower motion, or leave large torques out",
        columns=_saturations,
        least=0.005,
        most=2.0,
        positive=True,
    ),
    Kind(
        "dead-zone",
        "log",
        lambda one: f"small torques {one.whose} are missing: the sensor has a dead zone",
        unit="share",
        to_do="switch the dead zone off, or calibrate the sensor",
        columns=_dead_zones,
        least=0.05,
        most=1.3,
        positive=True,
    ),
    Kind(
        "cross-talk",
        "log",
        lambda one: (
            f"{100 * one.size:.3g} % of the torque of '{one.joints[0]}' appears in that of "
            f"'{one.joints[1]}'"
        ),
        unit="share",
        to_do="look for joints that are coupled, or calibrate the sensors together",
        columns=_cross_talk,
    ),
    Kind(
        "gravity-removed",
        "log",
        lambda one: (
            f"{100 * one.size:.3g} % of gravity is missing in the torque {one.whose}: a "
            "controller took it out"
        ),
        unit="share",
        to_do="record the torques of the drives, with gravity",
        could_be=("a joint that is balanced by a spring or weight",),
        columns=_without_gravity,
        least=0.015,
        most=1.4,
        positive=True,
        mended=gravity_given_back,
    ),
)
