"""Whether the wrench fits the motion as stated, or much better in other axes.

The weight of the body turns with the frame in a known way. If the measured wrench is not in the
axes of the frame, or the orientation is read wrongly, the equations do not fit, and they do fit
under the assumption that explains it. Each assumption is fitted to a part of the samples, and
compared by the likelihood of the residuals of force and of torque.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import WeighingError
from steelyard.estimators.least_squares import triangular_fit
from steelyard.findings import Finding
from steelyard.payload.body_rows import force_rows, wrench_regressor
from steelyard.payload.sensor_factors import usable_samples
from steelyard.payload.sensor_fit import rotation_of, rotation_vector
from steelyard.regression.regression import triangle
from steelyard.robot.conventions import quaternion_from_rotation
from steelyard.robot.inertia import skew
from steelyard.signals.frame_motion import FrameMotion, Wrench, part_of
from steelyard.signals.orientation import rotations_of
from steelyard.signals.wrench import Axes

Array = NDArray[np.float64]
Assumption = Literal[
    "stated", "base", "sensor", "w-first", "x-first", "inverse", "turned", "gravity", "biased"
]

SAMPLES = 600
"""Samples that each assumption is fitted to."""
FITS = 0.02
"""Residual, as a share of the wrench without bias, below which nothing else is tried."""
BETTER = float(np.log(2.0))
"""Gain in the sum of the logarithms of both residuals that makes another assumption certain."""
SLIGHTLY_BETTER = 0.05
"""The same, for a small turn of the sensor that is only reported."""
LARGE_TURN = np.radians(15.0)
"""Turns above this are a wrong frame; below, a sensor that is mounted a little askew."""
SMALLEST_TURN = np.radians(1.0)
STEPS = 3
"""Gauss-Newton steps of a turn."""
UNEXPLAINED = 0.3
"""Share of the wrench from which on the sign alone does not explain a negative mass."""
G = 9.81
DOWN = np.vstack([np.eye(3), -np.eye(3)])
"""Gravity (m/s²), and the directions in the base that are tried for it."""
OTHER_BASES = np.array(
    [
        np.diag([-1.0, -1.0, 1.0]),
        np.diag([1.0, -1.0, -1.0]),
        np.diag([-1.0, 1.0, -1.0]),
        [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]],
        [[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]],
    ]
)
"""Rotations by which controllers turn their base against the root of a robot file."""
CERTAIN = 3.0
"""Standard deviations from which on a negative mass is certain."""


@dataclass(frozen=True, eq=False)
class _Fit:
    """Least squares under one assumption: log of the residuals of force and torque (rms), their
    sum, mass and its standard deviation (kg).
    """

    logs: float
    share: float
    mass: float
    sigma: float

    @property
    def negative(self) -> bool:
        return self.mass < -CERTAIN * self.sigma


def check_frame(
    recordings: Sequence[tuple[FrameMotion, Wrench]],
    *,
    bias: bool,
    rotation: bool,
    axes: Axes | None = None,
) -> tuple[Finding, ...]:
    """Refuse a wrench that does not fit the motion as stated but does in other axes.

    rotation : whether the rotation of the sensor is to be estimated, so that a small one is no
    finding. axes : of the wrench as the user stated them, which are not suggested; None where they
    are not known.
    """
    motions, wrench = _sampled(recordings)
    stated = _fitted(wrench_regressor(motions), wrench, bias)
    where = f"the wrench at frame '{motions.frame}'"
    findings: tuple[Finding, ...] = ()
    if axes == "base" and motions.R_world_frame is not None:
        findings = _check_base(where, motions, wrench, bias, stated)
    if stated.share < FITS and not stated.negative:
        return findings
    fits: dict[Assumption, _Fit] = {"stated": stated}
    turn, down = np.zeros(3), np.zeros(3)
    R = motions.R_world_frame
    if R is not None:
        if axes != "base":
            in_frame = _turned(wrench, np.swapaxes(R, 1, 2))
            fits["base"] = _fitted(wrench_regressor(motions), in_frame, bias)
        if axes != "sensor":
            fits["sensor"] = _fitted(wrench_regressor(motions), _turned(wrench, R), bias)
        in_world = np.einsum("nij,nj->ni", R, motions.proper_acceleration)
        for name, other in _reread(R):
            fits[name] = _fitted(_still_rows(motions, other, in_world), wrench, bias)
        for direction in DOWN:
            proper = np.einsum("nji,nj->ni", R, in_world - in_world.mean(axis=0) - G * direction)
            fit = _fitted(
                wrench_regressor(replace(motions, proper_acceleration=proper)), wrench, bias
            )
            if not fit.negative and ("gravity" not in fits or fit.logs < fits["gravity"].logs):
                fits["gravity"], down = fit, direction
    if not bias:
        fits["biased"] = _fitted(wrench_regressor(motions), wrench, True)
    for start in _turns(motions, wrench):
        Q = _refined(start, motions, wrench[:, :3], bias)
        fit = _fitted(wrench_regressor(motions), _turned(wrench, Q), bias)
        if "turned" not in fits or fit.logs < fits["turned"].logs:
            fits["turned"], turn = fit, rotation_vector(Q)
    angle = float(np.linalg.norm(turn))
    best: Assumption = min(fits, key=lambda name: fits[name].logs)
    gain = stated.logs - fits[best].logs
    flipped = fits[best].negative
    explained = best == "gravity" and gain > BETTER
    if (
        best != "base"
        and "base" in fits
        and not explained
        and _weight_taken_for_bias(stated, fits["base"])
    ):
        best, gain = "base", BETTER + 1e-9
    if best == "turned" and angle < LARGE_TURN:
        best = "stated"
        if gain > SLIGHTLY_BETTER and angle > SMALLEST_TURN and not rotation and not flipped:
            return (*findings, _askew(where, angle))
    if best != "stated" and gain > BETTER:
        code, words = _explanation(best, turn, down)
        also = "; its sign is that of the wrench by the body on the sensor, too" if flipped else ""
        raise WeighingError(
            code,
            f"{where} does not turn with gravity as the motion says: {words}{also} (the residuals "
            f"of force and torque are then {np.exp(0.5 * gain):.3g} times smaller on average)",
        )
    if stated.negative and stated.share > UNEXPLAINED:
        raise WeighingError(
            "negative-mass",
            f"{where} gives a mass of {stated.mass:.3g} kg, and no body explains it "
            f"({100 * stated.share:.0f} % of it is left): check the clocks of wrench and motion "
            "(the same start, both in seconds), the axes and the sign of the wrench, and the "
            "direction of gravity",
        )
    if stated.negative:
        raise WeighingError(
            "negative-mass",
            f"{where} gives a mass of {stated.mass:.3g} kg: it appears to be the wrench by the "
            "body on the sensor; state its sign (--sign by-body; the wrench must act on the body: "
            "a body at rest shows a force upwards), or check the direction of gravity",
        )
    return findings


def _check_base(
    where: str, motion: FrameMotion, wrench: Array, bias: bool, stated: _Fit
) -> tuple[Finding, ...]:
    """Refuse or doubt a wrench that was turned from the axes of another base than stated."""
    R = np.asarray(motion.R_world_frame)
    R_frame_world, in_base = np.swapaxes(R, 1, 2), _turned(wrench, R)
    rows = wrench_regressor(motion)
    fits = [_fitted(rows, _turned(in_base, R_frame_world @ Q), bias) for Q in OTHER_BASES]
    best = min(range(len(fits)), key=lambda k: fits[k].logs)
    gain = stated.logs - fits[best].logs
    if gain <= SLIGHTLY_BETTER or fits[best].negative:
        return ()
    turn = rotation_vector(OTHER_BASES[best])
    angle = float(np.linalg.norm(turn))
    words = (
        f"it appears to be in axes that are turned by {np.degrees(angle):.0f} degrees about "
        f"{_axis_words(*turn / angle)} against the base that was stated, where the mass is "
        f"{fits[best].mass:.3g} kg instead of {stated.mass:.3g} kg; name the fixed link that has "
        "them (axes, --axes LINK; controllers of Universal Robots use 'base', which is turned by "
        "half a turn against 'base_link')"
    )
    code = "wrench-in-other-base-axes"
    if gain > BETTER:
        raise WeighingError(code, f"{where} does not turn with gravity as the motion says: {words}")
    return (Finding("warning", code, f"the axes of {where} are doubtful: {words}"),)


def _weight_taken_for_bias(stated: _Fit, base: _Fit) -> bool:
    """Whether as stated there is no weight, but a constant force, and in the base's axes a weight.

    The force of a body that moves slowly is constant in the base's axes, and a bias fits it as
    well.
    """
    none = abs(stated.mass) < max(CERTAIN * stated.sigma, 0.02 * abs(base.mass))
    some = abs(base.mass) > 10.0 * base.sigma
    return none and some and base.logs < stated.logs + SLIGHTLY_BETTER


def _askew(where: str, angle: float) -> Finding:
    return Finding(
        "warning",
        "sensor-turned",
        f"{where} fits better if the sensor's axes are turned by {np.degrees(angle):.1f} degrees "
        "in the frame; estimate the turn with rotation=True (--rotation), or correct the frame",
    )


def _explanation(best: Assumption, turn: Array, down: Array) -> tuple[str, str]:
    """Code and words of an assumption that fits better."""
    if best == "base":
        return "wrench-in-base-axes", (
            "it appears to be in the base's axes; state axes='base' (--axes base)"
        )
    if best == "sensor":
        return "wrench-in-sensor-axes", (
            "it appears to have been in the sensor's axes before it was turned from those of the "
            "base; state axes='sensor' (--axes sensor)"
        )
    if best == "w-first":
        return "quaternion-order", (
            "the quaternions appear to be w, x, y, z where x, y, z, w was stated; state their "
            "order (--quaternion w-first)"
        )
    if best == "x-first":
        return "quaternion-order", (
            "the quaternions appear to be x, y, z, w where w, x, y, z was stated; state their "
            "order (--quaternion x-first)"
        )
    if best == "inverse":
        return "orientation-inverted", (
            "the orientations appear to be those of the world in the frame; invert them"
        )
    if best == "gravity":
        vector = " ".join(f"{G * x + 0.0:g}" for x in down)
        return "wrong-gravity", (
            f"gravity appears to point along {_axis_words(*down)} of the base; state it (gravity, "
            f"--gravity {vector})"
        )
    if best == "biased":
        return "sensor-biased", (
            "the sensor appears to have a bias, though it was said to have none; estimate it "
            "(bias=True, without --no-bias), and turn the frame to at least three orientations"
        )
    angle = float(np.linalg.norm(turn))
    x, y, z = turn / angle
    return "wrong-frame", (
        f"it appears to be in axes that are turned by {np.degrees(angle):.0f} degrees about "
        f"{_axis_words(x, y, z)}; check the frame"
    )


def _axis_words(x: float, y: float, z: float) -> str:
    for name, size in (("x", x), ("y", y), ("z", z)):
        if abs(size) > 0.995:
            return name if size > 0 else f"-{name}"
    return f"({x:.2f}, {y:.2f}, {z:.2f})"


def _turned(wrench: Array, R: Array) -> Array:
    """Force and torque (n_samples, 6), both turned by R, (3, 3) or (n_samples, 3, 3)."""
    R = np.broadcast_to(R, (len(wrench), 3, 3))
    return np.concatenate(
        [np.einsum("nij,nj->ni", R, part) for part in (wrench[:, :3], wrench[:, 3:])], axis=1
    )


def _sampled(recordings: Sequence[tuple[FrameMotion, Wrench]]) -> tuple[FrameMotion, Array]:
    """A part of the samples, evenly taken: one motion, and the wrench (n_samples, 6)."""
    usable = [usable_samples(motion, wrench) for motion, wrench in recordings]
    total = sum(map(len, usable))
    step = max(1, total // SAMPLES)
    parts, wrenches = [], []
    for (motion, wrench), index in zip(recordings, usable, strict=True):
        chosen = index[::step]
        parts.append(part_of(motion, chosen))
        wrenches.append(np.column_stack([wrench.force[chosen], wrench.torque[chosen]]))
    rotations = [part.R_world_frame for part in parts]
    known = [R for R in rotations if R is not None]
    motion = FrameMotion(
        parts[0].frame,
        np.arange(sum(map(len, parts)), dtype=float),
        np.concatenate([part.proper_acceleration for part in parts]),
        np.concatenate([part.angular_velocity for part in parts]),
        np.concatenate([part.angular_acceleration for part in parts]),
        np.concatenate(known) if len(known) == len(parts) else None,
    )
    return motion, np.concatenate(wrenches)


def _fitted(rows: Array, wrench: Array, bias: bool) -> _Fit:
    """Least squares of a body and a bias, without physical conditions."""
    n = len(wrench)
    logs, squares, sizes = 0.0, 0.0, 0.0
    mass, sigma = 0.0, np.inf
    for g, columns in ((0, slice(0, 4)), (1, slice(1, 10))):
        W = rows[:, 3 * g : 3 * g + 3, columns].reshape(3 * n, -1)
        y = wrench[:, 3 * g : 3 * g + 3].reshape(-1)
        if bias:
            W = np.column_stack([W, np.tile(np.eye(3), (n, 1))])
        factor = triangle(np.column_stack([W, y]))
        fit = triangular_fit(factor)
        k = columns.stop - columns.start
        loaded = factor[:, -1] - factor[:, k:-1] @ fit.beta[k:]
        floor = 1e-20 * float(y @ y) / (3 * n) + np.finfo(float).tiny
        variance = max(fit.residual_square / max(3 * n - fit.rank, 1), floor)
        logs += 0.5 * float(np.log(variance))
        squares += fit.residual_square / variance
        sizes += float(loaded @ loaded) / variance
        if g == 0:
            mass = float(fit.beta[0])
            sigma = float(np.sqrt(variance) * np.linalg.norm(fit.inverse[0]))
    return _Fit(logs, float(np.sqrt(squares / max(sizes, 1e-300))), mass, sigma)


def _still_rows(motion: FrameMotion, R: Array, in_world: Array) -> Array:
    """Rows under another orientation, without what depends on the angular motion."""
    still = np.zeros_like(in_world)
    proper = np.einsum("nji,nj->ni", R, in_world)
    return wrench_regressor(FrameMotion(motion.frame, motion.time, proper, still, still))


def _reread(R: Array) -> list[tuple[Assumption, Array]]:
    """Orientations (n_samples, 3, 3) if their quaternions were read in the wrong order, or
    inverted.
    """
    w, x, y, z = quaternion_from_rotation(R).T
    # if w, x, y, z of the file was taken for x, y, z, w: what was read as x is w, and so on
    w_first = rotations_of(np.stack([y, z, w, x], axis=1))
    x_first = rotations_of(np.stack([w, x, y, z], axis=1))
    return [
        ("w-first", w_first),
        ("x-first", x_first),
        ("inverse", np.swapaxes(R, 1, 2)),
    ]


def _turns(motion: FrameMotion, wrench: Array) -> list[Array]:
    """Rotations Q (3, 3) that turn the measured force into the frame, for either sign of it.

    The force is nearly M a + b; of M, the nearest multiple of a rotation is taken, as in Wahba's
    problem.
    """
    n = len(motion)
    X = np.column_stack([motion.proper_acceleration, np.ones(n)])
    M = np.linalg.lstsq(X, wrench[:, :3], rcond=1e-9)[0][:3].T
    out = []
    for sign in (1.0, -1.0):
        U, _, Vt = np.linalg.svd(sign * M)
        D = np.diag([1.0, 1.0, float(np.sign(np.linalg.det(U @ Vt)))])
        out.append((U @ D @ Vt).T)
    return out


def _refined(Q: Array, motion: FrameMotion, force: Array, bias: bool) -> Array:
    """Gauss-Newton steps on a rotation, with the terms of the first moment that M a leaves out."""
    n = len(motion)
    W = force_rows(motion).reshape(3 * n, 4)
    if bias:
        W = np.column_stack([W, np.tile(np.eye(3), (n, 1))])
    for _ in range(STEPS):
        y = force @ Q.T
        # a further small turn adds delta × y = -S(y) delta to the force
        rows = np.column_stack([W, skew(y).reshape(3 * n, 3), y.reshape(-1)])
        turn = triangular_fit(triangle(rows)).beta[-3:]
        if not np.linalg.norm(turn) < LARGE_TURN:  # no better start: keep it
            break
        Q = rotation_of(turn) @ Q
    return Q
