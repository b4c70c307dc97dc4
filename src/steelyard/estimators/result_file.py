"""``result.json``: an estimate as a file, with a published, versioned schema.

The schema is ``estimators/result-1.schema.json`` in the package. Numbers that do not exist (the
value of a parameter that the data do not determine) are null.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard._files.access import read_capped, write_text
from steelyard._files.frozen_mapping import frozen_mapping
from steelyard._files.json_data import MAX_BYTES, RESULT_SCHEMA, finite
from steelyard._files.json_text import parse_json
from steelyard._files.limits import LARGEST_NUMBER
from steelyard._files.result_seal import refuse_changed, sealed, warn_of_changed_files
from steelyard.errors import RegressionError, ResultError, one_line, shown, shown_path
from steelyard.estimators.estimate import Estimate
from steelyard.model.attached_links import RULES, AttachedRule
from steelyard.model.model import RIGID_BODY, Model
from steelyard.model.term_kinds import TERM_NAMES
from steelyard.model.terms import Term, term_document, term_from
from steelyard.regression.equation import TORQUE, Equation
from steelyard.robot.parts import TurnedJoint
from steelyard.robot.right_angles import turn_joints
from steelyard.robot.robot import Robot
from steelyard.signals.processing import Processing
from steelyard.signals.run_record import RunRecord, content_hashes, runs_as_json, runs_from_json

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Result:
    """The part of a result file that is needed to predict torques.

    beta : (n_base,) values of the base parameters named ``names``.
    runs : what was done to the log of each run that it was made from.
    turned, locked : joint frames that were turned, and joints that were locked (rad or m); see
        :class:`steelyard.Robot`.
    source, source_sha256 : path and SHA-256 of the robot file; None where the result has none.
    attached : rule by which bodies of several links are spread over them; see
        :mod:`steelyard.model.attached_links`.
    equation : what was fitted. floating_base : whether the robot's base floats; None where an older
        result does not state it.
    """

    method: str
    model_hash: str
    joints: tuple[str, ...]
    terms: tuple[Term, ...]
    names: tuple[str, ...]
    beta: Array
    runs: tuple[RunRecord, ...]
    document: Mapping[str, Any]
    turned: tuple[TurnedJoint, ...] = ()
    locked: Mapping[str, float] = field(default_factory=lambda: frozen_mapping({}))
    source: str | None = None
    source_sha256: str | None = None
    attached: AttachedRule = "keep"
    equation: Equation = TORQUE
    floating_base: bool | None = None

    @property
    def log_hashes(self) -> frozenset[str]:
        """Content hashes of the logs that the result was made from."""
        return content_hashes(self.runs)

    @property
    def processing_as_used(self) -> Processing:
        """The processing of the first run, with the cutoff that was used."""
        if not self.runs:
            raise ResultError(
                "the result does not record how its signals were processed: it has no runs"
            )
        return self.runs[0].processing_as_used

    @property
    def cutoff_is_automatic(self) -> bool:
        """Whether the cutoff of the low-pass filter was chosen on the first log, and not given."""
        value: object = self.document
        for key in ("record", "signals", "asked", "cutoff_hz"):
            value = value.get(key) if isinstance(value, Mapping) else None
        return value == "auto"

    @property
    def proposed_hz(self) -> float | None:
        """The cutoff (Hz) that the spectrum of the first log proposed; None where none is known."""
        value: object = self.document
        for key in ("record", "signals", "trials"):
            value = value.get(key) if isinstance(value, Mapping) else None
        first = value[0] if isinstance(value, list) and value else None
        cutoff = first.get("cutoff_hz") if isinstance(first, Mapping) else None
        if isinstance(cutoff, bool) or not isinstance(cutoff, (int, float)):
            return None
        return float(cutoff) if 0.0 < cutoff < 1e9 else None

    @property
    def theta(self) -> Array | None:
        """Standard parameters (n_columns,); None where the method gives none.

        Not all methods give physical ones: see ``feasible``.
        """
        standard = self.document.get("standard")
        if standard is None:
            return None
        try:
            values = [_finite_number(entry["value"]) for entry in standard["parameters"]]
            names = [entry["name"] for entry in standard["parameters"]]
            columns = [column["name"] for column in self.document["model"]["columns"]]
        except (KeyError, TypeError, ValueError, OverflowError) as failure:
            raise ResultError(
                f"the standard parameters of the result are damaged; "
                f"{type(failure).__name__}: {failure}"
            ) from None
        if names != columns:
            raise ResultError(
                "the standard parameters of the result are not complete, or not in the order of "
                "its model"
            )
        return np.array(values)

    @property
    def not_estimated(self) -> frozenset[str]:
        """Names of the standard parameters that come neither from data nor from a prior, so that no
        robot file should state them: pass them on to :func:`steelyard.identified_robot`.
        """
        standard, with_prior = self.document.get("standard"), "prior" in self.document["record"]
        if standard is None:
            return frozenset()
        try:
            kinds = {column["name"]: column["kind"] for column in self.document["model"]["columns"]}
            return frozenset(
                entry["name"]
                for entry in standard["parameters"]
                if entry["interval_kind"] == "prior only"
                and not (with_prior and kinds[entry["name"]] == RIGID_BODY)
            )
        except (KeyError, TypeError) as failure:
            raise ResultError(
                f"the standard parameters of the result are damaged; "
                f"{type(failure).__name__}: {failure}"
            ) from None

    @property
    def feasible(self) -> bool:
        """Whether the standard parameters exist and are exactly physical."""
        standard = self.document.get("standard")
        return isinstance(standard, Mapping) and standard.get("feasible") is True

    def model_for(self, robot: Robot) -> Model:
        """The model of this result for ``robot``; raises ResultError for another robot.

        Joints are turned and locked as they were for the result, if they are not already, and the
        base floats if it did.
        """
        if robot.floating_base and self.floating_base is False:
            raise ResultError(
                f"the base of robot '{robot.name}' floats, but the result was obtained with a "
                "fixed base; leave out --floating-base: the result states it"
            )
        robot = self._as_identified(robot)
        if robot.joint_names != self.joints:
            raise ResultError(
                f"the result is for joints {', '.join(self.joints)}, but robot '{robot.name}' "
                f"has {', '.join(robot.joint_names)}; give the same robot file and --overlay, "
                "and lock no other joints"
            )
        model = Model(robot, self.terms)
        if model.hash != self.model_hash:
            raise ResultError(
                f"the result was obtained with another geometry or gravity than robot "
                f"'{robot.name}' has; use the same robot file and overlay"
            )
        return model

    def _as_identified(self, robot: Robot) -> Robot:
        if self.floating_base and not robot.floating_base:
            robot = replace(robot, floating_base=True)
        for name, position in robot.locked.items():
            then = self.locked.get(name, position)
            if abs(then - position) > 1e-12:
                raise ResultError(
                    f"joint '{name}' is locked at {position:g}, but the result was obtained with "
                    f"it locked at {then:g}; leave out its lock: the result states it"
                )
        moving = {joint.name for joint in robot.free_joints}
        missing = {name: q for name, q in self.locked.items() if name in moving}
        # turned before, a joint that is locked has the same position to the last digits
        robot = turn_joints(robot, self.turned)
        return robot.lock(missing) if missing else robot


def _finite_number(value: object) -> float:
    """A number of a JSON file; a text, true or NaN is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r:.60} is not a number")
    if not np.isfinite(float(value)):
        raise ValueError(f"{value!r} is not finite")
    return float(value)


def result_document(
    model: Model,
    estimate: Estimate,
    *,
    level: float = 0.95,
    validation: Mapping[str, Any] | None = None,
    certificate: Mapping[str, Any] | None = None,
    signals: Mapping[str, Any] | None = None,
    missing: Sequence[Mapping[str, Any]] = (),
    admission: Mapping[str, Any] | None = None,
    verdict: Mapping[str, Any] | None = None,
    file_with_terms: Array | None = None,
) -> dict[str, Any]:
    """The result as plain data, ready for JSON.

    certificate, validation, signals, admission, missing, verdict : as plain data.
    file_with_terms : base parameters (n_base,) of the robot file's links with terms that were
        fitted to the same logs, to compare with.
    """
    from steelyard._version import __version__

    robot = model.robot
    document: dict[str, Any] = {
        "schema": RESULT_SCHEMA,
        "steelyard": __version__,
        "verdict": verdict,
        "robot": {
            "name": robot.name,
            "source": robot.source,
            "sha256": robot.source_sha256,
            "joints": list(robot.joint_names),
            "gravity": robot.gravity.tolist(),
            "floating_base": robot.floating_base,
            "turned": [asdict(joint) for joint in robot.turned],
            "locked": dict(robot.locked),
        },
        "model": {
            "hash": model.hash,
            "columns": [asdict(column) | {"name": column.name} for column in model.columns],
            "terms": [term_document(term) for term in model.terms],
        },
        "estimate": {
            "method": estimate.method,
            "solver": estimate.solver,
            "relative_error": estimate.relative_error,
            "condition": estimate.condition,
            "condition_scaled": estimate.condition_scaled,
            "n_rows": estimate.n_rows,
            "n_blocks": estimate.n_blocks,
            "interval_level": level,
            "interval_covariance": estimate.spread.kind,
            "correlations": correlation_rows(estimate.spreads[0].covariance),
            "parameters": [
                asdict(parameter) | {"predicts_with": float(estimate.beta[k])}
                for k, parameter in enumerate(estimate.parameters(level))
            ],
            "channels": [
                asdict(channel) | {"relative_error": channel.relative_error}
                for channel in estimate.channels
            ],
        },
        "standard": standard_document(estimate, level),
        "certificate": certificate,
        "fates": [asdict(fate) for fate in estimate.fates()],
        "findings": [finding.as_json() for finding in estimate.findings],
        "record": record_document(estimate, signals, admission),
        "missing": [dict(one) for one in missing],
        "validation": validation,
    }
    if file_with_terms is not None:
        document["record"]["file_with_terms"] = file_with_terms.tolist()
    return sealed(finite(document))


def correlation_rows(covariance: Array) -> list[list[float]]:
    """Correlations below the diagonal of a covariance (n, n): row k has k numbers, NaN where one
    of the two parameters is not determined.
    """
    sigma = np.sqrt(np.diag(covariance))
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = covariance / np.outer(sigma, sigma)
    # twelve digits: an inverse of nearly dependent parameters needs more than people do
    return [np.round(row[:k], 12).tolist() for k, row in enumerate(correlation)]


def record_document(
    estimate: Estimate,
    signals: Mapping[str, Any] | None = None,
    admission: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """What was done to the runs, and how the estimate was obtained from them."""
    record = runs_as_json(estimate.runs)
    if not estimate.equation.of_joints:
        record["equation"] = estimate.equation.as_json()
    for name, given in (("signals", signals), ("admission", admission)):
        if given is not None:
            record[name] = dict(given)
    if estimate.selection is not None:
        record["essential"] = estimate.selection.as_json()
    if estimate.prior is not None:
        record["prior"] = estimate.prior.as_json()
    if estimate.term_comparison is not None:
        record["terms"] = estimate.term_comparison.as_json()
    if estimate.measurement_advice is not None:
        record["measurement_advice"] = estimate.measurement_advice.as_json()
    return record


def standard_document(estimate: Estimate, level: float) -> dict[str, Any] | None:
    """The standard parameters, where the method gives them."""
    if estimate.standard is None:
        return None
    standard = estimate.standard
    return {
        "parameters": [asdict(parameter) for parameter in estimate.standard_parameters(level)],
        "active": [statement.words for statement in standard.active],
        "moved_inside": standard.moved,
        "feasible": standard.feasible,
        **({} if standard.merged is None else {"merged_bodies": standard.merged.as_json()}),
    }


def write_result(path: str | Path, document: Mapping[str, Any]) -> None:
    """Write a result document atomically."""
    write_text(path, result_text(document), ResultError)


def result_text(document: Mapping[str, Any]) -> str:
    """The text of a result file, with its hashes."""
    return json.dumps(sealed(document), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def read_result(path: str | Path) -> Result:
    """Read a result file; raises ResultError for anything else."""
    data = read_capped(path, MAX_BYTES, ResultError)
    where = shown_path(path)
    document = parse_json(data, where, ResultError)
    if not isinstance(document, dict) or document.get("schema") != RESULT_SCHEMA:
        found = document.get("schema") if isinstance(document, dict) else None
        stated = f"its schema is {shown(found)}" if isinstance(found, str) else "it has no schema"
        raise ResultError(f"{where}: is not a result file; {stated}, not '{RESULT_SCHEMA}'")
    result = result_of(document, str(path))
    refuse_changed(document, where, ResultError)
    warn_of_changed_files(document, path)
    return result


def result_of(document: Mapping[str, Any], path: str) -> Result:
    """The result in the object of a file, whether or not it is as it was written.

    path : the file, for messages.
    """
    where = shown_path(path)
    try:
        return _parse(document, path)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as failure:
        reason = f"{type(failure).__name__}: {one_line(failure)}"
        raise ResultError(f"{where}: is damaged; {reason}") from None


def _parse(document: Mapping[str, Any], path: str) -> Result:
    model, estimate = document["model"], document["estimate"]
    beta = np.array([float(p["predicts_with"]) for p in estimate["parameters"]])
    if not (np.abs(beta) <= LARGEST_NUMBER).all():
        raise ValueError(f"a parameter is not a number of at most {LARGEST_NUMBER:g}")
    robot = document["robot"]
    return Result(
        method=str(estimate["method"]),
        model_hash=str(model["hash"]),
        joints=tuple(str(name) for name in robot["joints"]),
        terms=tuple(term_from(entry) for entry in model["terms"]),
        names=tuple(str(p["name"]) for p in estimate["parameters"]),
        beta=beta,
        runs=runs_from_json(document["record"], f"'{path}': its record", ResultError),
        document=document,
        turned=tuple(
            TurnedJoint(str(joint["joint"]), _angles(joint["before"]), _angles(joint["after"]))
            for joint in robot.get("turned", ())
        ),
        locked={str(joint): float(q) for joint, q in robot.get("locked", {}).items()},
        source=_text_or_none(robot.get("source")),
        source_sha256=_text_or_none(robot.get("sha256")),
        attached=_attached(document["standard"]),
        equation=_equation(document["record"].get("equation")),
        floating_base=_flag_or_none(robot.get("floating_base")),
    )


def _flag_or_none(value: Any) -> bool | None:
    return None if value is None else value is True


def _text_or_none(value: Any) -> str | None:
    return None if value is None else str(value)


def _equation(record: Mapping[str, Any] | None) -> Equation:
    """What was fitted; a result of torques does not state it."""
    if record is None:
        return TORQUE
    try:
        return Equation(record["name"], record["interval_s"])
    except RegressionError as failure:
        raise ValueError(str(failure)) from None


def _attached(standard: Mapping[str, Any] | None) -> AttachedRule:
    """The rule for bodies of several links that a result states; "keep" if it has none."""
    if standard is None or "merged_bodies" not in standard:
        return "keep"
    given = standard["merged_bodies"]["rule"]
    for rule in RULES:
        if given == rule:
            return rule
    raise ValueError(f"there is no rule {given!r} for attached links")


def _angles(values: Sequence[Any]) -> tuple[float, float, float]:
    roll, pitch, yaw = (float(value) for value in values)
    if not np.isfinite([roll, pitch, yaw]).all():
        raise ValueError("an angle is not a finite number")
    return roll, pitch, yaw


def read_schema() -> dict[str, Any]:
    """The published JSON schema of result files, with the kinds of terms that there are.

    The file in the package does not list the kinds; they are added from the registry,
    `steelyard.model.term_kinds`.
    """
    from importlib.resources import files

    text = files("steelyard").joinpath("estimators/result-1.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    term = schema["properties"]["model"]["properties"]["terms"]["items"]
    term["properties"]["kind"]["enum"] = list(TERM_NAMES)
    return schema
