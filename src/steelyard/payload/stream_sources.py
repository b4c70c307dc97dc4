"""Where the samples of a payload stream come from: a wrench in a frame, or joint torques.

A source says which signals a sample has, how precise its channels are, and makes the compiled
function that takes samples into a triangular factor.

FrameWrenches   wrench and motion of the sensor's frame (an IMU, a motion capture, own kinematics)
RobotWrenches   wrench of a sensor on a robot, and the robot's q, v, a
JointTorques    joint torques, and q, v, a of a robot whose parameters without the payload are known
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import ModelError, ResultError, did_you_mean, listed, shown
from steelyard.estimators.result_file import Result, read_result
from steelyard.model.kernels import body_parameters, parameter_array
from steelyard.model.model import Model
from steelyard.payload._stream_pool import Pool
from steelyard.robot.robot import Robot

Array = NDArray[np.float64]
WRENCH_CHANNELS = ("fx", "fy", "fz", "tx", "ty", "tz")
WRENCH_UNITS = ("N", "N", "N", "N m", "N m", "N m")
SMALLEST_NOISE, LARGEST_NOISE = 1e-12, 1e12
"""N or N m, between which squares of weighted samples neither overflow nor vanish."""
KNOTS = np.geomspace(1e-4, 1e3, 240)
"""Speeds (rad/s or m/s) between which a friction curve is interpolated; so are they negative."""


@dataclass(frozen=True)
class Signal:
    """One signal of a sample: its name, its unit, and where its values are.

    It is columns ``start`` to ``stop`` of array number ``array``.
    """

    name: str
    unit: str
    array: int
    start: int
    stop: int

    @property
    def width(self) -> int:
        """Number of its values."""
        return self.stop - self.start


@dataclass(frozen=True, eq=False)
class Absorber:
    """Compiled functions that take samples into a triangular factor, and their arrays.

    many : takes time (n_samples,), the arrays of the signals, the index of the first sample and
        the two blocks of the pool, until a sample starts a new block of time. Returns the index of
        the first sample that was not taken, and whether its time is too old.
    one : takes time, the signals (width,) and the two blocks; returns whether it was taken.
    pool : has among others time (1,), clock (2,), counts (4,), gate (n, n) and block (n, n), the
        factor; see `steelyard.payload._stream_loops.absorb_torque_samples`.
    inputs : names of the pool's arrays (1, width) that hold the signals of one sample.
    """

    many: Callable[..., tuple[int, int]]
    one: Callable[..., bool]
    pool: Pool
    inputs: tuple[str, ...]


class StreamSource(Protocol):
    """What `steelyard.payload.streaming.PayloadStream` needs to know of the samples."""

    @property
    def frame(self) -> str:
        """The frame in which the payload is described."""

    @property
    def signals(self) -> tuple[Signal, ...]:
        """The signals of a sample, in the order in which they are given."""

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the measured channels, each of which has a bias."""

    @property
    def channel_units(self) -> tuple[str, ...]:
        """Units of the channels and of their bias."""

    @property
    def sigma(self) -> Array:
        """Noise (n_channels,) of one sample.

        Its scale is estimated, except from few samples and from readings that repeat.
        """

    def absorber(self) -> Absorber:
        """The compiled functions, with arrays of their own."""


@dataclass(frozen=True, eq=False)
class FrameWrenches:
    """A force/torque sensor whose motion is given with each sample.

    A sample: proper_acceleration (3,) m/s², angular_velocity (3,) rad/s, angular_acceleration (3,)
    rad/s², force (3,) N, torque (3,) N m, all in the axes of the sensor's frame, the wrench as it
    acts on the payload; see `steelyard.signals.frame_motion`.

    force_sigma, torque_sigma : noise of one sample, N and N m; from few samples, and where
        readings repeat, the standard deviations rest on them, otherwise only their ratio matters.
    """

    frame: str = "sensor"
    force_sigma: float = 0.2
    torque_sigma: float = 0.01

    def __post_init__(self) -> None:
        _check_sigma(self.sigma, WRENCH_CHANNELS)

    @property
    def signals(self) -> tuple[Signal, ...]:
        """See the class."""
        return (
            Signal("proper_acceleration", "m/s²", 0, 0, 3),
            Signal("angular_velocity", "rad/s", 0, 3, 6),
            Signal("angular_acceleration", "rad/s²", 0, 6, 9),
            Signal("force", "N", 1, 0, 3),
            Signal("torque", "N m", 1, 3, 6),
        )

    @property
    def channels(self) -> tuple[str, ...]:
        """Of the wrench."""
        return WRENCH_CHANNELS

    @property
    def channel_units(self) -> tuple[str, ...]:
        """N and N m."""
        return WRENCH_UNITS

    @property
    def sigma(self) -> Array:
        """Noise (6,) of one sample."""
        return _wrench_sigma(self.force_sigma, self.torque_sigma)

    def absorber(self) -> Absorber:
        """See `StreamSource`."""
        from steelyard.payload._stream_calls import frame_sample, frame_samples, sample_call

        arrays = {**_arrays(self), "motion": np.zeros((1, 9))}
        one = sample_call(frame_sample, len(self.signals))
        return Absorber(frame_samples, one, Pool.of(arrays), ("motion", "measured"))


@dataclass(frozen=True, eq=False)
class RobotWrenches:
    """A force/torque sensor on a robot.

    A sample: q (nq,), v (nv,), a (nv,) of the robot in rad or m and s, then force (3,) N and
    torque (3,) N m as they act on the payload, in the axes of ``frame``, a link of the robot.
    """

    model: Model
    frame: str
    force_sigma: float = 0.2
    torque_sigma: float = 0.01

    def __post_init__(self) -> None:
        _check_sigma(self.sigma, WRENCH_CHANNELS)
        _place(self.model, self.frame)

    @property
    def signals(self) -> tuple[Signal, ...]:
        """See the class."""
        force = (Signal("force", "N", 3, 0, 3), Signal("torque", "N m", 3, 3, 6))
        return (*_joint_signals(self.model), *force)

    @property
    def channels(self) -> tuple[str, ...]:
        """Of the wrench."""
        return WRENCH_CHANNELS

    @property
    def channel_units(self) -> tuple[str, ...]:
        """N and N m."""
        return WRENCH_UNITS

    @property
    def sigma(self) -> Array:
        """Noise (6,) of one sample."""
        return _wrench_sigma(self.force_sigma, self.torque_sigma)

    def absorber(self) -> Absorber:
        """See `StreamSource`."""
        from steelyard.payload._stream_calls import sample_call, sensor_sample, sensor_samples

        phi = np.zeros((len(self.model.mechanism.bodies), 10))
        arrays = {**_arrays(self), **_arm_arrays(self.model, self.frame, phi)}
        one = sample_call(sensor_sample, len(self.signals))
        return Absorber(sensor_samples, one, Pool.of(arrays), ("q", "v", "a", "measured"))


@dataclass(frozen=True, eq=False)
class JointTorques:
    """Joint torques of a robot whose parameters without the payload are known.

    A sample: q (nq,), v (nv,), a (nv,) in rad or m and s, then tau (nv,) N m or N.

    theta : (n_columns,) of the model. frame : the link on which the payload is.
    torque_sigma : (nv,) noise of one sample of each joint, N m or N; only the ratios matter.
    dead_band : rad/s or m/s, one number or (nv,); torques of a joint that is slower are left out.
        At rest, Coulomb friction is anywhere between its limits, which motor torques contain.
    """

    model: Model
    theta: Array
    frame: str
    torque_sigma: Array
    dead_band: ArrayLike = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "theta", parameter_array(self.model, self.theta).copy())
        sigma = np.asarray(self.torque_sigma, dtype=float)
        if sigma.shape != (self.model.nv,):
            raise ModelError(
                f"torque_sigma has shape {sigma.shape}; it has one number for each of "
                f"{', '.join(self.model.channels)}"
            )
        _check_sigma(sigma, self.model.channels)
        object.__setattr__(self, "torque_sigma", sigma)
        try:
            band = np.broadcast_to(np.asarray(self.dead_band, dtype=float), (self.model.nv,))
        except ValueError:
            raise ModelError(
                f"dead_band has shape {np.shape(self.dead_band)}; it is one number or one for each "
                f"of {', '.join(self.model.channels)}"
            ) from None
        if not (band >= 0.0).all():
            raise ModelError(f"dead_band is {self.dead_band}; a speed of at least 0 is needed")
        object.__setattr__(self, "dead_band", np.ascontiguousarray(band).copy())
        _place(self.model, self.frame)

    @staticmethod
    def of_result(
        robot: Robot, result: Result | str | Path, frame: str, *, dead_band: ArrayLike = 0.0
    ) -> JointTorques:
        """With the parameters and the noise of a result file of the robot without payload."""
        if not isinstance(result, Result):
            result = read_result(result)
        model, theta = result.model_for(robot), result.theta
        if theta is None:
            raise ResultError(
                f"the result of method '{result.method}' has no standard parameters, which the arm "
                "without its payload needs; identify with another method, such as the default one"
            )
        return JointTorques(model, theta, frame, _noise_of(result, model), dead_band)

    @property
    def signals(self) -> tuple[Signal, ...]:
        """See the class."""
        units = set(self.model.channel_units)
        unit = units.pop() if len(units) == 1 else "N m or N"
        return (*_joint_signals(self.model), Signal("tau", unit, 3, 0, self.model.nv))

    @property
    def channels(self) -> tuple[str, ...]:
        """The joints."""
        return self.model.channels

    @property
    def channel_units(self) -> tuple[str, ...]:
        """N m or N."""
        return self.model.channel_units

    @property
    def sigma(self) -> Array:
        """Noise (nv,) of one sample."""
        return self.torque_sigma

    def absorber(self) -> Absorber:
        """See `StreamSource`."""
        from steelyard.payload._stream_calls import sample_call, torque_sample, torque_samples

        phi = body_parameters(self.model, self.theta)
        arrays = {
            **_arrays(self),
            **_arm_arrays(self.model, self.frame, phi),
            **_term_arrays(self.model, self.theta),
            "wrench": np.zeros((6, 10)),
            "rest": np.zeros(self.model.nv),
            "dead_band": self.dead_band,
        }
        one = sample_call(torque_sample, len(self.signals))
        return Absorber(torque_samples, one, Pool.of(arrays), ("q", "v", "a", "measured"))


def _arrays(source: StreamSource) -> dict[str, ArrayLike]:
    """What every absorber needs, by the names of the pool: ten columns, bias, right-hand side."""
    n_channels = len(source.channels)
    n = 11 + n_channels
    return {
        "time": np.zeros(1),
        "clock": np.array([-np.inf, -np.inf]),
        "counts": np.zeros(4, dtype=np.int64),
        "gate": np.zeros((n, n)),
        "weight": 1.0 / source.sigma,
        "block": np.zeros((n, n)),
        "rows": np.zeros((n_channels, n)),
        "work": np.zeros(n),
        "kin": np.zeros(9),
        "measured": np.zeros((1, n_channels)),
    }


def _arm_arrays(model: Model, frame: str, phi: Array) -> dict[str, ArrayLike]:
    """The kinematics of an arm whose bodies have parameters phi (n_bodies, 10)."""
    from steelyard.payload._stream_kinematics import N_STATE, packed

    body, T_body_frame = _place(model, frame)
    tree, numbers = packed(model, phi)
    return {
        "q": np.zeros((1, model.nq)),
        "v": np.zeros((1, model.nv)),
        "a": np.zeros((1, model.nv)),
        "tree": tree,
        "numbers": numbers,
        "gravity": model.mechanism.gravity,
        "body": [body],
        "T_body_frame": T_body_frame,
        "state": np.zeros((len(tree), N_STATE)),
        "own": np.zeros(9),
    }


def _wrench_sigma(force: float, torque: float) -> Array:
    """Noise (6,) of a wrench, N and N m."""
    return np.array(3 * [force] + 3 * [torque], dtype=float)


def _check_sigma(sigma: Array, names: Sequence[str]) -> None:
    for name, value in zip(names, sigma, strict=True):
        if not SMALLEST_NOISE <= value <= LARGEST_NOISE:
            raise ModelError(
                f"the noise of channel '{name}' is {value:g}; it must be a positive number, from "
                f"{SMALLEST_NOISE:g} to {LARGEST_NOISE:g}"
            )


def _joint_signals(model: Model) -> tuple[Signal, ...]:
    return (
        Signal("q", "rad or m", 0, 0, model.nq),
        Signal("v", "rad/s or m/s", 1, 0, model.nv),
        Signal("a", "rad/s² or m/s²", 2, 0, model.nv),
    )


def _place(model: Model, frame: str) -> tuple[int, Array]:
    """Index of the body that a link is part of, and T_body_link (4, 4)."""
    if model.robot.floating_base:
        raise ModelError(
            f"robot '{model.robot.name}' has a floating base; give the motion of the sensor's "
            "frame itself (FrameWrenches), or a robot with a fixed base"
        )
    for i, body in enumerate(model.mechanism.bodies):
        for name, T_body_link in body.links:
            if name == frame:
                return i, np.ascontiguousarray(T_body_link, dtype=float)
    moving = [name for body in model.mechanism.bodies for name, _ in body.links]
    raise ModelError(
        f"robot '{model.robot.name}' has no moving link {shown(frame)}"
        f"{did_you_mean(frame, moving)}; its moving links are {listed(moving)}"
    )


def _term_arrays(model: Model, theta: Array) -> dict[str, ArrayLike]:
    """The terms with their parameters, as `_stream_loops.subtract_terms` takes them."""
    arrays = model.term_arrays
    n_knots = 2 * len(KNOTS) + 5
    numbers = np.zeros((len(model.terms), 4))
    knots, values = np.zeros((len(model.terms), n_knots)), np.zeros((len(model.terms), n_knots))
    for k, (term, column) in enumerate(zip(model.terms, arrays.column, strict=True)):
        kind = term.term_kind
        if kind.response in ("load", "position") or term.travel:
            raise ModelError(
                f"term '{term.name}': {kind.description} cannot be subtracted from a stream of "
                "torques; identify with --admit none, or leave it out of the model"
            )
        if kind.response == "curve":
            numbers[k, 3] = 1.0
            # a jump is a straight line between the two smallest speeds there are; the width of a
            # jump is a corner of the law, which is exact if it is a knot
            corner = term.width if term.width > 0.0 else 0.5 * KNOTS[0]
            side = np.sort(np.concatenate([[np.finfo(float).tiny, corner], KNOTS]))
            knots[k] = np.concatenate([-side[::-1], [0.0], side])
            values[k] = theta[column] * kind.law_at_speed(knots[k], term.width, term.speed or 1.0)
        else:
            which = ("inertia", "linear", "constant").index(kind.response)
            numbers[k, which] = theta[column]
    terms = np.repeat(np.arange(len(model.terms)), np.diff(arrays.start))
    return {
        "term_entries": np.column_stack([terms, arrays.row]),
        "term_weight": arrays.weight,
        "term_numbers": numbers,
        "knots": knots,
        "values": values,
    }


def _noise_of(result: Result, model: Model) -> Array:
    """Noise (nv,) of the joints' torques that the result states."""
    try:
        channels = result.document["estimate"]["channels"]
        stated = {entry["name"]: float(entry["sigma"]) for entry in channels}
        return np.array([stated[name] for name in model.channels])
    except (KeyError, TypeError, ValueError):
        raise ResultError(
            "the result does not state the noise of each joint; make JointTorques with its "
            "parameters and torque_sigma"
        ) from None
