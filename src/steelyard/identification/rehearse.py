"""A rehearsal: would this motion recover what the user needs?

A virtual robot that differs from its file as real ones do, with friction and sensor noise, follows
the motion; its log is identified like a real one; and the result is compared with the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import EstimationError, did_you_mean, listed, shown
from steelyard.estimators.bodies import body_estimates, term_estimates
from steelyard.estimators.estimate import StandardEstimate
from steelyard.estimators.prior_weight import GammaRule
from steelyard.excitation.design_settings import DEFAULT_RATE_HZ
from steelyard.excitation.limits import MotionLimits
from steelyard.excitation.motions.fourier import multisine
from steelyard.excitation.predicted import predicted_precision
from steelyard.excitation.torque_noise import NOISE_SHARE, TorqueNoise, assumed_noise
from steelyard.excitation.trajectory import Trajectory
from steelyard.identification.base_recovery import BaseRecovery, base_recoveries
from steelyard.identification.found import Identification
from steelyard.identification.identify import identify
from steelyard.identification.rehearsal_defaults import RESAMPLES, TOLERANCE
from steelyard.model.kernels import parameter_array
from steelyard.model.model import Model
from steelyard.robot.inertia import to_com
from steelyard.signals.processing import Processing
from steelyard.simulation.likely_truth import likely_truth
from steelyard.simulation.sensors import Sensors
from steelyard.simulation.simulate import Controller, simulate

Array = NDArray[np.float64]

ENCODER_STEP = 2e-5
"""Resolution (rad or m) of the positions of the virtual robot."""
HELD_OUT_S = 20.0
AXES = ("xx", "xy", "yy", "xz", "yz", "zz")
PLACES = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))


@dataclass(frozen=True)
class Recovery:
    """One parameter of the virtual robot beside its estimate.

    owner : its link, joint or coupling. size : what the error is compared with: the truth itself
        for masses and terms of joints, the body's radius of gyration for its centre of mass, its
        largest principal moment for its inertia.
    from_file : the value that the robot file states; None for terms of joints.
    determined : whether the data determine it individually. inside : whether its interval holds
        the truth; None where it has none.
    """

    owner: str
    name: str
    unit: str
    truth: float
    value: float
    size: float
    from_file: float | None
    determined: bool
    inside: bool | None

    @property
    def error(self) -> float:
        """Absolute error relative to the size."""
        return abs(self.value - self.truth) / self.size if self.size > 0.0 else np.inf

    def close(self, tolerance: float) -> bool:
        """Whether the error is within this share of the size."""
        return self.error <= tolerance

    def recovered(self, tolerance: float) -> bool:
        """Whether the error is within this share of the size because of the data: a parameter that
        they do not determine alone may be close only because the robot file is.
        """
        return self.determined and self.close(tolerance)


@dataclass(frozen=True)
class Coverage:
    """How many intervals of base parameters hold the truth."""

    inside: int
    total: int
    level: float


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """What a rehearsal showed.

    found : the identification from the simulated log. truth : theta (n_columns,) of the virtual
    robot. recoveries : every parameter of links and joints. coverage : of base parameters.
    needed : names of the parameters that were asked for; empty for none in particular.
    base : every base parameter, predicted and identified. seed : of the virtual robot and its
    noise. rate_hz : of the log.
    """

    found: Identification
    truth: Array
    recoveries: tuple[Recovery, ...]
    coverage: Coverage
    noise: TorqueNoise
    needed: tuple[str, ...]
    tolerance: float
    base: tuple[BaseRecovery, ...]
    seed: int
    rate_hz: float

    def __repr__(self) -> str:
        n_good = sum(one.close(self.tolerance) for one in self.recoveries)
        verdict = "met" if self.met else "not met"
        return (
            f"<Rehearsal: {n_good} of {len(self.recoveries)} parameters within "
            f"{self.tolerance:.0%}, held-out error {self.held_out_error:.2%}; needs {verdict}>"
        )

    @property
    def held_out_error(self) -> float:
        """Relative error of the torques of another motion."""
        assert self.found.validation is not None
        return self.found.validation.overall.prediction.relative_error

    @property
    def missed(self) -> tuple[Recovery, ...]:
        """What was needed and was not recovered."""
        return tuple(
            one
            for one in self.recoveries
            if one.name in self.needed and not one.recovered(self.tolerance)
        )

    @property
    def met(self) -> bool:
        """Whether everything that was needed is recovered within the tolerance, and torques of
        another motion are predicted better than by the robot file.
        """
        assert self.found.validation is not None
        return not self.missed and self.found.validation.overall.beats_prior

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        assert self.found.validation is not None
        return {
            "met": self.met,
            "verdict": self.found.verdict.as_json(),
            "tolerance": self.tolerance,
            "needed": list(self.needed),
            "missed": [one.name for one in self.missed],
            "coverage": vars(self.coverage),
            "held_out": self.found.validation.overall.to_dict(),
            "noise": dict(zip(self.noise.joints, self.noise.rms.tolist(), strict=True)),
            "noise_source": self.noise.source,
            "seed": self.seed,
            "rate_hz": self.rate_hz,
            "base": [vars(one) for one in self.base],
            "parameters": [
                {
                    **vars(one),
                    "error": one.error,
                    "close": one.close(self.tolerance),
                    "recovered": one.recovered(self.tolerance),
                }
                for one in self.recoveries
            ],
        }


def rehearse(
    model: Model,
    trajectory: Trajectory,
    limits: MotionLimits,
    *,
    needs: Iterable[str] = (),
    tolerance: float = TOLERANCE,
    truth: ArrayLike | None = None,
    noise: TorqueNoise | None = None,
    rate_hz: float = DEFAULT_RATE_HZ,
    controller: Controller | None = None,
    held_out: Trajectory | None = None,
    seed: int = 0,
    level: float = 0.95,
    processing: Processing | None = None,
    friction_width: float | Mapping[str, float] | Literal["auto"] = "auto",
    gamma: float | GammaRule = "leave-blocks-out",
    n_resamples: int = RESAMPLES,
    ranges: bool = False,
    threads: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Rehearsal:
    """Simulate a robot that follows the motion, identify it, and compare with the truth.

    needs : names of parameters that must be recovered, such as "forearm.m" or "elbow.fc", or of
        links and joints for all parameters of theirs. tolerance : largest error, relative to the
        parameter's size; see `Recovery`.
    truth : theta (n_columns,) of the virtual robot; by default one that differs from its file as
        real ones do, see `steelyard.simulation.likely_truth`.
    noise : of the torque; by default 1 % of each joint's torque range. rate_hz : of the log.
    held_out : another motion, on which the estimate is tested; by default a sum of sines.
    level, processing, friction_width, gamma, n_resamples, ranges : see :func:`steelyard.identify`.
    """
    if not tolerance > 0.0:
        raise EstimationError(f"tolerance is {tolerance}; it must be positive")
    named = needed_names(model, needs)
    noise = assumed_noise(model, model.prior_theta(), limits) if noise is None else noise
    theta = virtual_robot(model, limits, noise, seed) if truth is None else truth
    theta = parameter_array(model, theta)
    if held_out is None:
        held_out = multisine(model.robot, period_s=HELD_OUT_S / 2.0, seed=seed + 1)
    predicted = predicted_precision(model, trajectory, noise, rate_hz=rate_hz, reference=theta)
    sensors = Sensors(
        torque_noise=dict(zip(noise.joints, noise.rms.tolist(), strict=True)),
        torque_noise_bandwidth_hz=noise.bandwidth_hz,
        encoder_step=ENCODER_STEP,
    )
    logs = []
    for number, (name, motion, seconds) in enumerate(
        (("rehearsal", trajectory, trajectory.duration_s), ("held out", held_out, HELD_OUT_S))
    ):
        if progress is not None:
            progress("simulation", number, 2)
        logs.append(
            simulate(
                model,
                theta,
                motion,
                duration_s=seconds,
                rate_hz=rate_hz,
                controller=controller,
                sensors=sensors,
                seed=2 * seed + number,
                name=name,
            )
        )
    found = identify(
        model.robot,
        logs[:1],
        validate_on=logs[1:],
        terms=model.terms,
        keep_angles=True,
        level=level,
        processing=processing,
        friction_width=friction_width,
        gamma=gamma,
        n_resamples=n_resamples,
        ranges=ranges,
        # the virtual robot differs from its file in whole bodies, attached links included
        attached="lump",
        compare_terms=False,
        certify=False,
        threads=threads,
        progress=progress,
    )
    return Rehearsal(
        found,
        theta,
        recoveries_of(found, theta),
        coverage_of(found, theta),
        noise,
        named,
        tolerance,
        base_recoveries(found, theta, predicted),
        seed,
        rate_hz,
    )


def virtual_robot(model: Model, limits: MotionLimits, noise: TorqueNoise, seed: int) -> Array:
    """theta (n_columns,) of a robot that differs from its file as real ones do.

    Friction is in proportion to each joint's torque range, of which the assumed noise is 1 %.
    """
    order = [limits.joints.index(name) for name in model.channels]
    range_of = noise.rms / NOISE_SHARE
    return likely_truth(
        model,
        torque_range=range_of,
        velocity=limits.velocity[order],
        acceleration=limits.acceleration[order],
        seed=seed,
    )


def needed_names(model: Model, needs: Iterable[str]) -> tuple[str, ...]:
    """Names of parameters, a link or joint replaced by all parameters of it."""
    by_owner = parameter_names(model)
    everything = {name for names in by_owner.values() for name in names}
    found: list[str] = []
    for need in needs:
        if need in by_owner:
            found += by_owner[need]
        elif need in everything:
            found.append(need)
        else:
            known = [*by_owner, *everything]
            raise EstimationError(
                f"there is no parameter, link or joint {shown(need)}{did_you_mean(need, known)}; "
                f"links and joints are {listed(by_owner)}; those of "
                f"'{next(iter(by_owner))}' are {listed(next(iter(by_owner.values())))}"
            )
    return tuple(dict.fromkeys(found))


def parameter_names(model: Model) -> dict[str, list[str]]:
    """Names of the parameters that a rehearsal compares, by link, joint or coupling."""
    names: dict[str, list[str]] = {}
    for body in model.mechanism.bodies:
        symbols = ("m", "cx", "cy", "cz", *(f"I{axes}_com" for axes in AXES))
        names[body.name] = [f"{body.name}.{symbol}" for symbol in symbols]
    for column in model.columns:
        if column.term_kind is not None:
            names.setdefault(column.owner, []).append(column.name)
    return names


def coverage_of(found: Identification, truth: Array) -> Coverage:
    """How many true base parameters lie inside their intervals."""
    beta = found.estimate.base.K @ truth
    inside = [
        bool(parameter.lower <= value <= parameter.upper)
        for parameter, value in zip(found.estimate.parameters(found.level), beta, strict=True)
        if parameter.interval_kind in ("confidence", "mostly prior")
    ]
    return Coverage(sum(inside), len(inside), found.level)


def recoveries_of(found: Identification, truth: Array) -> tuple[Recovery, ...]:
    """Every parameter of links and joints beside the truth (n_columns,)."""
    model = found.model
    file = model.prior_theta()
    first = dict(
        zip((body.name for body in model.mechanism.bodies), model.first_column_of_body, strict=True)
    )
    out: list[Recovery] = []
    for body in body_estimates(model, found.estimate, found.level):
        ten = slice(first[body.name], first[body.name] + 10)
        true_values, sizes = _body_values(truth[ten])
        file_values, _ = _body_values(file[ten])
        shown = (body.mass, *body.com, *body.inertia_com)
        if len(shown) != len(true_values):
            continue  # an estimate without mass has no centre of mass
        out += [
            _recovery(body.name, one, true_value, size, stated)
            for one, true_value, size, stated in zip(
                shown, true_values, sizes, file_values, strict=True
            )
        ]
    values = dict(zip(model.column_names, truth.tolist(), strict=True))
    for owner, terms in term_estimates(model, found.estimate, found.level).items():
        out += [
            _recovery(owner, one, values[one.name], abs(values[one.name]), None)
            for one in terms.values()
        ]
    return tuple(out)


def _body_values(ten: Array) -> tuple[Sequence[float], Sequence[float]]:
    """Mass, centre of mass and inertia about it of a body (10,), and the size of each."""
    if ten[0] <= 0.0:
        return [0.0] * 10, [np.nan] * 10
    mass, com, inertia = to_com(ten)
    radius = float(np.sqrt(0.5 * np.trace(inertia) / mass))
    largest = float(np.linalg.eigvalsh(inertia)[-1])
    values = [float(mass), *com.tolist(), *(float(inertia[i, j]) for i, j in PLACES)]
    return values, [float(mass), *[radius] * 3, *[largest] * 6]


def _recovery(
    owner: str, one: StandardEstimate, truth: float, size: float, stated: float | None
) -> Recovery:
    inside = None
    if one.lower is not None and one.upper is not None:
        inside = bool(one.lower <= truth <= one.upper)
    return Recovery(
        owner,
        one.name,
        one.unit,
        truth,
        one.value,
        size,
        stated,
        one.interval_kind == "confidence",
        inside,
    )
