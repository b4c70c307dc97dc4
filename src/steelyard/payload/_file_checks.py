"""Checks of a payload file: no entry contradicts the body or another entry."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard._files.json_object import JsonObject
from steelyard.errors import ResultError, is_name, listed, shown
from steelyard.payload.intervals import VALUE_NAMES, derived_values
from steelyard.payload.payload_estimate import PayloadValue
from steelyard.robot.principal_body import PrincipalBody, equivalent_box

Array = NDArray[np.float64]

AGREES = 1e-6
"""Share of a body's size by which two entries for the same quantity may differ."""
EXCESS = 1e-6
"""Share of a standard deviation or range by which rounding may put a limit past its value."""
LIGHTEST, HEAVIEST = 1e-100, 1e9
"""Masses, kg, below and above which a number is a mistake; 0 is a body without mass."""


def check_mass(document: JsonObject, mass: float) -> None:
    """Refuse a mass (kg) that no payload has."""
    if mass > HEAVIEST or 0.0 < mass < LIGHTEST:
        raise ResultError(
            f"{document.where}: 'inertial_parameters' state a mass of {mass:g} kg; it must be 0, "
            f"or from {LIGHTEST:g} to {HEAVIEST:g} kg"
        )


def check_body(document: JsonObject, body: PrincipalBody, phi: Array) -> None:
    """Refuse entries that state another body than phi (10,)."""
    where = document.where
    sizes = _sizes(phi)
    stated = {
        "mass": (np.array([_number(document, "mass")]), np.array([body.mass]), sizes[:1]),
        "com": (_numbers(document, "com"), body.com, sizes[1:4]),
    }
    for key, (found, wanted, size) in stated.items():
        if np.any(np.abs(found - wanted) > AGREES * size):
            raise _contradiction(where, key, found)
    L = _numbers(document, "second_moments")
    rows = document.entries.get("principal_axes")
    if not isinstance(rows, list) or len(rows) != 3:
        raise ResultError(f"{where}: 'principal_axes' must be three rows of three numbers")
    entries = JsonObject(dict(zip("xyz", rows, strict=True)), f"{where}: 'principal_axes'",
                         ResultError)  # fmt: skip
    Q = np.array([_numbers(entries, axis) for axis in "xyz"])
    inertia = slice(4, 10)
    if np.any(np.abs(Q) > 1.0 + AGREES) or np.any(np.abs(Q @ Q.T - np.eye(3)) > AGREES):
        raise ResultError(f"{where}: 'principal_axes' is not a rotation matrix")
    largest = float(phi[4] + phi[6] + phi[9])
    if np.any(L < 0.0) or L.max() > (1.0 + AGREES) * largest:
        raise _contradiction(where, "second_moments", L)
    again = PrincipalBody(body.mass, body.com, Q, L).phi
    if np.any(np.abs(again - phi)[inertia] > AGREES * largest):
        raise _contradiction(where, "second_moments", L)
    box = document.child("box")
    if box is None:
        raise ResultError(f"{where}: has no 'box'")
    half, wanted = _numbers(box, "half_sizes"), equivalent_box(body).half_sizes
    # compared as second moments: half sizes of a flat body are square roots of rounding
    longest = float(wanted.max(initial=0.0))
    if np.any(half < 0.0) or np.any(half > 1.1 * longest):
        raise _contradiction(where, "box", half)
    if np.any(np.abs(np.sort(half) ** 2 - np.sort(wanted) ** 2) > AGREES * longest**2):
        raise _contradiction(where, "box", half)
    if box.entries.get("density") is not None and not box.number("density") > 0.0:
        raise ResultError(f"{box.where}: 'density' must be positive, or null")


def check_limits(entry: JsonObject, value: PayloadValue) -> None:
    """Refuse limits that do not belong to the kind of a value."""
    where = f"{entry.where}: {shown(value.name)}"
    sigma, lower, upper = value.sigma, value.lower, value.upper
    if (sigma is not None) != (value.kind == "confidence"):
        raise ResultError(
            f"{where} is of the kind '{value.kind}', and its 'sigma' is {_shown(sigma)}; a "
            "standard deviation belongs to the kind 'confidence', and to no other"
        )
    if sigma is not None and sigma < 0.0:
        raise ResultError(f"{where} has the 'sigma' {sigma:g}; it must not be negative")
    if value.kind == "not determined":
        if lower is not None or upper is not None:
            raise ResultError(
                f"{where} is 'not determined', but has limits from {_shown(lower)} to "
                f"{_shown(upper)}"
            )
        return
    if lower is None or upper is None:
        raise ResultError(
            f"{where} is of the kind '{value.kind}', which has limits, but they are "
            f"{_shown(lower)} and {_shown(upper)}"
        )
    if lower > upper:
        raise ResultError(f"{where} has the lower limit {lower:g} above the upper one, {upper:g}")
    slack = EXCESS * max(abs(value.value), upper - lower)
    inside = lower - slack <= value.value <= upper + slack
    if value.kind == "confidence" and not inside:
        raise ResultError(
            f"{where} is {value.value:g}, outside of its own limits from {lower:g} to {upper:g}"
        )


def check_names(
    document: JsonObject, values: tuple[PayloadValue, ...], others: tuple[PayloadValue, ...]
) -> None:
    """Refuse names that are missing, unknown or repeated."""
    names = [value.name for value in values]
    missing = [name for name in VALUE_NAMES if name not in names]
    if missing:
        raise ResultError(f"{document.where}: 'values' has no {listed(missing)}")
    unknown = [shown(name) for name in names if name not in VALUE_NAMES]
    if unknown:
        raise ResultError(
            f"{document.where}: 'values' has {listed(unknown)}; it can have {listed(VALUE_NAMES)}"
        )
    seen: set[str] = set()
    for name in (*names, *(value.name for value in others)):
        if not is_name(name):
            raise ResultError(f"{document.where}: {shown(name)} is no name of a value")
        if name in seen:
            raise ResultError(f"{document.where}: has two values of the name {shown(name)}")
        seen.add(name)


def check_values(document: JsonObject, values: tuple[PayloadValue, ...], phi: Array) -> None:
    """Refuse values of the body that its inertial parameters phi (10,) contradict."""
    wanted = dict(zip(VALUE_NAMES, derived_values(phi)[0], strict=True))
    sizes = dict(zip(VALUE_NAMES, _value_sizes(phi), strict=True))
    for value in values:
        if abs(value.value - wanted[value.name]) > AGREES * sizes[value.name]:
            raise ResultError(
                f"{document.where}: 'values' states {value.name} = {value.value:.6g} "
                f"{value.unit}, but 'inertial_parameters' make it {wanted[value.name]:.6g}"
            )


def _sizes(phi: Array) -> Array:
    """Sizes (4,) of a body's mass, kg, and of its centre of mass, m."""
    mass, trace = float(phi[0]), float(phi[4] + phi[6] + phi[9])
    length = np.sqrt(trace) / np.sqrt(mass) if mass > 0.0 else 0.0
    return np.array([mass, length, length, length])


def _value_sizes(phi: Array) -> Array:
    """Sizes (19,) of the values, in the order of `VALUE_NAMES`."""
    trace = float(phi[4] + phi[6] + phi[9])
    moment = np.sqrt(float(phi[0])) * np.sqrt(trace)
    return np.concatenate([_sizes(phi), np.full(6, trace), np.full(3, moment), np.full(6, trace)])


def _contradiction(where: str, key: str, found: Array) -> ResultError:
    numbers = ", ".join(f"{x:.6g}" for x in found)
    return ResultError(
        f"{where}: '{key}' states {numbers}, which is not the body of 'inertial_parameters'"
    )


def _number(entry: JsonObject, key: str) -> float:
    if entry.entries.get(key) is None:
        raise ResultError(f"{entry.where}: has no '{key}'")
    return entry.number(key)


def _numbers(entry: JsonObject, key: str) -> Array:
    found = np.array(entry.numbers(key))
    if found.shape != (3,) or not np.isfinite(found).all():
        raise ResultError(f"{entry.where}: '{key}' must be three numbers")
    return found


def _shown(number: float | None) -> str:
    return "missing" if number is None else f"{number:g}"
