"""A weighed payload as a JSON file, ``payload.json``: written, and read again with checks.

The schema is named ``steelyard.payload/1``, and is ``payload/payload-1.schema.json`` in the
package. The reader makes the body of the ten inertial parameters. It refuses a file whose body is
not physical, and one whose other entries contradict that body or each other.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, get_args

import numpy as np

from steelyard._files.json_data import finite
from steelyard._files.json_object import JsonObject, read_json_object
from steelyard._files.stored_finding import stored_finding
from steelyard.errors import ModelError, ResultError, is_name, shown
from steelyard.estimators.result_entries import stored_list
from steelyard.payload._file_checks import (
    check_body,
    check_limits,
    check_mass,
    check_names,
    check_values,
)
from steelyard.payload.payload_estimate import (
    SCHEMA,
    PayloadEstimate,
    PayloadKind,
    PayloadRun,
    PayloadSolver,
    PayloadValue,
    Unconstrained,
)
from steelyard.robot.principal_body import principal_body

MODES = ("ft", "joints")
MAX_BYTES = 4 * 2**20
"""Largest file that is read; one of a payload has some ten thousand bytes."""


def payload_document(estimate: PayloadEstimate) -> dict[str, Any]:
    """A weighed payload as plain data, ready for JSON."""
    from steelyard._version import __version__

    return finite({**estimate.to_dict(), "steelyard": __version__})  # type: ignore[no-any-return]


def payload_text(estimate: PayloadEstimate) -> str:
    """The text of ``payload.json``."""
    document = payload_document(estimate)
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def read_payload_schema() -> dict[str, Any]:
    """The published JSON schema of payload files."""
    from importlib.resources import files

    text = files("steelyard").joinpath("payload/payload-1.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def read_payload(path: str | Path) -> PayloadEstimate:
    """Read a payload file of anybody's; raises ResultError, which says where, for anything else."""
    return _parse(read_json_object(path, MAX_BYTES, SCHEMA, "a payload file", ResultError))


def _parse(document: JsonObject) -> PayloadEstimate:
    phi = np.array(document.numbers("inertial_parameters"))
    if phi.shape != (10,) or not np.isfinite(phi).all():
        raise ResultError(
            f"{document.where}: 'inertial_parameters' must be ten numbers, in the order m, mx, my, "
            "mz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz"
        )
    check_mass(document, float(phi[0]))
    try:
        body = principal_body(phi, "payload")
    except ModelError as failure:
        raise ResultError(f"{document.where}: {failure}") from None
    check_body(document, body, phi)
    frame = _text(document, "frame")
    if not is_name(frame):
        raise ResultError(f"{document.where}: 'frame' is {shown(frame)}, which is no name")
    level = document.number("interval_level")
    if not 0.0 < level < 1.0:
        raise ResultError(f"{document.where}: 'interval_level' must be between 0 and 1")
    values, others = _values(document, "values"), _values(document, "others")
    check_names(document, values, others)
    check_values(document, values, phi)
    return PayloadEstimate(
        mode=_choice(document, "mode", MODES),
        frame=frame,
        body=body,
        phi=phi,
        values=values,
        others=others,
        level=level,
        interval_covariance=_text(document, "interval_covariance"),
        solver=_choice(document, "solver", get_args(PayloadSolver)),
        optimum_reached=document.flag("optimum_reached"),
        excess=_not_negative(document, "excess"),
        relative_error=_not_negative(document, "relative_error"),
        channels=tuple(
            (_text(entry, "name"), _not_negative(entry, "rms"), _text(entry, "unit"))
            for entry in stored_list(document, "channels")
        ),
        static=document.flag("static"),
        runs=tuple(_run(entry) for entry in stored_list(document, "runs")),
        findings=tuple(stored_finding(entry) for entry in stored_list(document, "findings")),
        unconstrained=_unconstrained(document),
    )


def _unconstrained(document: JsonObject) -> Unconstrained | None:
    """Least squares beside the body; None in files of earlier versions, and by joint torques."""
    entry = document.child("unconstrained")
    if entry is None:
        return None
    phi = np.array(entry.numbers("inertial_parameters"))
    if phi.shape != (10,) or not np.isfinite(phi).all():
        raise ResultError(f"{entry.where}: 'inertial_parameters' must be ten numbers")
    return Unconstrained(phi, _not_negative(entry, "relative_error"))


def _values(document: JsonObject, key: str) -> tuple[PayloadValue, ...]:
    found = []
    for entry in stored_list(document, key):
        value = entry.number("value")
        if math.isnan(value):
            raise entry.error(f"{entry.where}: has no 'value'")
        read = PayloadValue(
            name=_text(entry, "name"),
            unit=_text(entry, "unit"),
            value=value,
            sigma=_known(entry, "sigma"),
            lower=_known(entry, "lower"),
            upper=_known(entry, "upper"),
            kind=_choice(entry, "kind", get_args(PayloadKind)),
            at_boundary=entry.flag("at_boundary"),
        )
        check_limits(entry, read)
        found.append(read)
    return tuple(found)


def _run(entry: JsonObject) -> PayloadRun:
    loaded = entry.entries.get("loaded")
    return PayloadRun(
        _text(entry, "name"),
        entry.count("n_samples"),
        0.0 if entry.entries.get("duration_s") is None else _not_negative(entry, "duration_s"),
        loaded is None or entry.flag("loaded"),
        _known(entry, "cutoff_hz"),
    )


def _text(entry: JsonObject, key: str) -> str:
    text = entry.text(key)
    if text is None:
        raise entry.error(f"{entry.where}: has no '{key}'")
    return text


def _not_negative(entry: JsonObject, key: str) -> float:
    number = entry.number(key)
    if number < 0.0:
        raise entry.error(f"{entry.where}: '{key}' is {number:g}; it must not be negative")
    return number


def _known(entry: JsonObject, key: str) -> float | None:
    return None if entry.entries.get(key) is None else entry.number(key)


def _choice(entry: JsonObject, key: str, choices: tuple[str, ...]) -> Any:
    text = _text(entry, key)
    if text not in choices:
        raise entry.error(
            f"{entry.where}: '{key}' is {shown(text)}; it must be one of {', '.join(choices)}"
        )
    return text
