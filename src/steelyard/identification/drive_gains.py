"""Drive gains: true over recorded torque, from runs without and with a payload of known mass.

Runs of the same robot without and with a payload determine the scale of the torque (or current) of
each motor or joint. Where its centre of mass or inertia are not known, they are estimated with the
gains; see :mod:`steelyard.identification._gain_fit`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import EstimationError, LogError, listed
from steelyard.findings import Finding
from steelyard.identification._arguments import RobotLike, as_robot, check_level
from steelyard.identification._gain_fit import GainFit, fit_gains
from steelyard.identification._gain_payload import PayloadForm
from steelyard.identification.runs import compress_run
from steelyard.knowledge.overlay.model import model_of
from steelyard.knowledge.overlay.overlay import Overlay
from steelyard.knowledge.payload import Payload
from steelyard.logs.any_log import LogsLike
from steelyard.logs.log import Log
from steelyard.logs.several import refuse_duplicates, with_unique_names
from steelyard.logs.skipped_rows import skipped_findings
from steelyard.model.base_map import BaseMap, base_map
from steelyard.model.model import Model
from steelyard.model.terms import Term
from steelyard.payload.joint_columns import PAYLOAD_COLUMNS, PayloadColumns
from steelyard.payload.payload_estimate import PayloadValue
from steelyard.regression.extra_columns import ExtraColumns
from steelyard.regression.regression import Regression
from steelyard.regression.row_mixing import motor_rows
from steelyard.robot.file_changes import change_findings
from steelyard.robot.robot import Robot
from steelyard.robot.transmission import Motor, Transmission
from steelyard.signals.motion import Motion
from steelyard.signals.prepare import Prepared, prepare
from steelyard.signals.processing import Processing
from steelyard.signals.run_record import RunRecord

Array = NDArray[np.float64]

WIDE_SHARE = 0.1
"""A finding warns of an interval whose half width exceeds this share of the gain."""


@dataclass(frozen=True)
class DriveGain:
    """The gain of one motor (or joint).

    gain : factor from the recorded torque or current to the true torque; None if it cannot be
        estimated. unit : empty for a torque, N m/A (N/A) for a current without a torque constant.
    lower, upper : confidence interval; None where it is unbounded.
    words : why it cannot be estimated, or empty.
    """

    name: str
    gain: float | None
    unit: str
    sigma: float | None
    lower: float | None
    upper: float | None
    words: str = ""


@dataclass(frozen=True)
class GainRun:
    """How the log of a run was processed, and whether the robot carried the payload in it."""

    record: RunRecord
    has_payload: bool

    def as_json(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        return {**self.record.as_json(), "payload": self.has_payload}


@dataclass(frozen=True, eq=False)
class DriveGains:
    """The result of :func:`identify_gains`.

    kind : "cluster" or "classical", the covariance of the intervals.
    payload : centre of mass and inertia, as far as they were estimated; in the link's frame.
    relative_errors : |residual| / |recorded torque| by motor. runs : that were used.
    """

    gains: tuple[DriveGain, ...]
    level: float
    kind: str
    n_rows: int
    n_blocks: int
    relative_errors: dict[str, float]
    findings: tuple[Finding, ...]
    runs: tuple[GainRun, ...] = ()
    payload: tuple[PayloadValue, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        return {
            "gains": [vars(gain) for gain in self.gains],
            "interval_level": self.level,
            "interval_covariance": self.kind,
            "n_rows": self.n_rows,
            "n_blocks": self.n_blocks,
            "relative_errors": self.relative_errors,
            "findings": [finding.as_json() for finding in self.findings],
            "runs": [run.as_json() for run in self.runs],
            "payload": [vars(value) for value in self.payload],
        }


def identify_gains(
    robot: RobotLike,
    empty: LogsLike,
    loaded: LogsLike,
    payload: Payload,
    *,
    terms: Iterable[Term] | None = None,
    overlay: Overlay | None = None,
    processing: Processing | None = None,
    level: float = 0.95,
) -> DriveGains:
    """Drive gains from logs without (``empty``) and with a payload (``loaded``).

    Logs are read one at a time, and only one is kept in memory; an iterator may read them.

    The gains replace those of the overlay. They belong to its motors, or to the joints if it has
    none. Friction, drives and links must be the same in all logs; their estimates are not
    returned: identify again with the gains in the overlay.

    payload : of known mass. What is not known of its centre of mass and inertia is estimated with
        the gains, as a physical body, which makes their intervals wider.

    processing : what it leaves open is not chosen by prediction here: the torque is filtered like
        the positions, and torques below a tenth of the rms speed are left out.
    """
    robot = as_robot(robot)
    check_level(level)
    stated = model_of(robot, terms=terms, overlay=overlay)
    model = Model(with_unit_gains(stated.robot), stated.terms)
    base = base_map(model)
    used = without_open_options(processing or Processing())
    runs: list[Regression] = []
    records: list[GainRun] = []
    units: dict[str, str] = {}
    seen: dict[str, str] = {}
    findings: list[Finding] = [*change_findings(stated.robot)]
    for logs, on_robot in ((empty, None), (loaded, payload)):
        n_before = len(runs)
        for log in with_unique_names(logs):
            refuse_duplicates(log, seen)
            _note_units(stated.robot, model.robot, log, units)
            prepared = prepare(log, model, used)
            findings.extend((*skipped_findings(log.skipped, log.name), *prepared.findings))
            records.append(GainRun(prepared.record, on_robot is not None))
            runs.append(compress_motors(model, base, prepared, log.name, on_robot))
            del log, prepared  # frees memory before the next log is read
        if len(runs) == n_before:
            what = "without the payload" if on_robot is None else "with the payload"
            raise LogError(f"there is no log {what}; gains need runs without and with it")
    found = fit_gains(runs, payload)
    gains = gains_with_intervals(found, payload, units, level)
    return DriveGains(
        gains,
        level,
        found.kind,
        found.n_rows,
        found.n_blocks,
        dict(zip(units, map(float, found.relative_error), strict=True)),
        (*findings, *_findings(found, gains, payload)),
        tuple(records),
        _payload_values(found, payload, level),
    )


def compress_motors(
    model: Model, base: BaseMap, prepared: Prepared, name: str, payload: Payload | None
) -> Regression:
    """The factors of one run, a row per motor, with the payload's ten columns as extra ones.

    payload : None in a run without it, where its columns are zero. name : of the log.
    """
    transmission = model.robot.transmission
    if transmission is None:
        raise EstimationError(
            "a robot without motors has no drive gains: pass it through with_unit_gains first"
        )

    columns = None if payload is None else PayloadColumns(model, payload.link)

    def payload_columns(motion: Motion) -> Array:
        if columns is None:
            return np.zeros((*motion.v.shape, len(PAYLOAD_COLUMNS)))
        return columns(motion)

    run = name if payload is None else f"{name} (loaded)"
    return compress_run(
        model,
        base,
        replace(prepared, motion=replace(prepared.motion, run=run)),
        threads=1,
        extra=ExtraColumns(PAYLOAD_COLUMNS, payload_columns),
        mixing=motor_rows(transmission, model.channels),
    )


def with_unit_gains(robot: Robot) -> Robot:
    """The robot with gains of one; currents count as torques if no torque constant is stated."""
    transmission = robot.transmission
    if transmission is None:
        motors = tuple(Motor(joint, ((joint, 1.0),)) for joint in robot.joint_names)
        transmission = Transmission(motors)
    if len(transmission.motors) != len(robot.joint_names):
        raise EstimationError(
            f"{len(transmission.motors)} motors drive {len(robot.joint_names)} joints: joint "
            "torques do not determine motor torques, so that gains cannot be estimated"
        )
    motors = tuple(
        replace(motor, gain=1.0, torque_constant=motor.torque_constant or 1.0)
        for motor in transmission.motors
    )
    return replace(robot, transmission=replace(transmission, motors=motors, link_side=()))


def _note_units(stated: Robot, opened: Robot, log: Log, units: dict[str, str]) -> None:
    """Store the unit of each motor's gain in ``units``; refuse logs that disagree on it."""
    assert opened.transmission is not None
    motors = () if stated.transmission is None else stated.transmission.motors
    known = {motor.name: motor.torque_constant for motor in motors}
    for motor in opened.transmission.motors:
        quantities = log.quantities(motor.name)
        bare = "torque" not in quantities and "current" in quantities
        unit = ""
        if bare and known.get(motor.name) is None:
            linear = all(opened.joint(joint).kind == "prismatic" for joint in motor.joints)
            unit = "N/A" if linear and motor.name in opened.joint_names else "N m/A"
        if units.setdefault(motor.name, unit) != unit:
            raise LogError(
                f"log '{log.name}': '{motor.name}' is a current in one log and a torque in "
                "another; state its torque_constant, or give logs of one kind"
            )


def gains_with_intervals(
    found: GainFit, payload: Payload, units: dict[str, str], level: float
) -> tuple[DriveGain, ...]:
    """Gains from their inverses; inverting the ends of an interval keeps its confidence level."""
    from scipy.stats import t

    gamma = found.inverse_gain
    scale = payload.mass_sigma / float(payload.inertial[0])
    sigma = np.sqrt(np.diag(found.covariance) + (scale * gamma) ** 2)
    half = float(t.ppf(0.5 + level / 2.0, found.degrees_of_freedom)) * sigma
    gains = []
    for m, (name, unit) in enumerate(units.items()):
        if not found.determined[m]:
            words = "the payload puts no torque on it in these runs: any gain fits"
            gains.append(DriveGain(name, None, unit, None, None, None, words))
            continue
        low, high = gamma[m] - half[m], gamma[m] + half[m]
        if low <= 0.0:
            words = (
                f"the payload puts too little torque on it: any gain above {1.0 / high:.3g} fits"
            )
            gains.append(DriveGain(name, None, unit, None, float(1.0 / high), None, words))
            continue
        value, spread = float(1.0 / gamma[m]), float(sigma[m] / gamma[m] ** 2)
        gains.append(DriveGain(name, value, unit, spread, float(1.0 / high), float(1.0 / low)))
    return tuple(gains)


def _payload_values(found: GainFit, payload: Payload, level: float) -> tuple[PayloadValue, ...]:
    """What was estimated of the payload."""
    from scipy.stats import t

    quantile = float(t.ppf(0.5 + level / 2.0, found.degrees_of_freedom))
    values = PayloadForm(payload).values(
        found.unknown, found.unknown_covariance, found.unknown_determined, quantile
    )
    return tuple(replace(value, at_boundary=found.at_boundary) for value in values)


def _findings(
    found: GainFit, gains: tuple[DriveGain, ...], payload: Payload
) -> tuple[Finding, ...]:
    findings = []
    if not payload.known:
        what = [
            *(() if payload.com_known else ("centre of mass",)),
            *(() if payload.inertia_known else ("inertia",)),
        ]
        findings.append(
            Finding(
                "info",
                "payload-estimated",
                f"not stated and estimated with the gains: the payload's {' and '.join(what)}; "
                "this makes the intervals of the gains wider: state what is known",
            )
        )
    if found.kind == "classical":
        findings.append(
            Finding(
                "warning",
                "no-cluster-covariance",
                f"only classical error bars, which filtered residuals make too small: {found.why}",
            )
        )
    lost = [gain.name for gain in gains if gain.gain is None]
    if lost:
        findings.append(
            Finding(
                "warning",
                "gain-not-told",
                f"the gains of {listed(lost)} cannot be estimated; move these joints faster, with "
                "the payload far from their axes, or use a heavier one",
            )
        )
    wide = [
        gain.name
        for gain in gains
        if gain.gain is not None
        and gain.lower is not None
        and gain.upper is not None
        and gain.upper - gain.lower > 2.0 * WIDE_SHARE * gain.gain
    ]
    if wide:
        findings.append(
            Finding(
                "info",
                "gain-uncertain",
                f"the intervals of the gains of {listed(wide)} are wider than "
                f"±{100 * WIDE_SHARE:g} %: use a heavier payload, or record longer",
            )
        )
    return tuple(findings)


def without_open_options(processing: Processing) -> Processing:
    """The processing with a torque filter and a dead band where they are left open."""
    if processing.torque_filter == "auto":
        processing = replace(processing, torque_filter="same")
    if processing.dead_band == "auto":
        processing = replace(processing, dead_band="tenth")
    return processing
