"""Valid certificates of every kind with a handful of numbers, made by hand."""

from __future__ import annotations

from typing import Any

from exact_second import resealed

POINTS = ("1", "0", "0", "0", "2", "0", "2", "0", "0", "2")
"""Ten parameters of a body of 1 kg whose pseudo-inertia is the unit matrix."""
NAMES = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")


def condition(
    name: str = "a is not negative",
    kind: str = "nonnegative",
    columns: tuple[int, ...] = (0,),
    A: tuple[tuple[str, ...], ...] = (("1",),),
    b: tuple[str, ...] = ("0",),
) -> dict[str, Any]:
    """A condition as a certificate states it; by default theta[0] >= 0."""
    rows = [list(row) for row in A]
    return {"name": name, "kind": kind, "columns": list(columns), "A": rows, "b": list(b)}


NUMBERS: dict[str, dict[str, Any]] = {
    "feasible": {"theta": ["1", "2"]},
    # a = -1 contradicts a >= 0
    "infeasible": {"K": [[0, 0, "1"]], "beta": ["-1"], "y": ["1"], "duals": [["1"]], "value": "-1"},
    # of all a >= 0, a = 0 is nearest to -1
    "optimal": {
        "K": [[0, 0, "1"]], "R": [["1"]], "z": ["-1"], "rest": "0", "theta": ["0", "2"],
        "u": ["-1"], "duals": [["1"]], "value": "1/2", "lower_bound": "1/2", "gap": "0",
    },
    # the mass is measured, and is that of the prior
    "drawn": {
        "K": [[0, 0, "1"]], "R": [["1"]], "z": ["1"], "theta": list(POINTS), "u": ["0"],
        "duals": [["0"]], "bodies": [{"first": 0, "weight": "3", "prior": list(POINTS)}],
        "pulls": ["0"] * 10, "gap": "0",
    },
}  # fmt: skip
KINDS = tuple(NUMBERS)


def small(kind: str) -> dict[str, Any]:
    """A new valid certificate of this kind."""
    names = [f"arm.{one}" for one in NAMES] if kind == "drawn" else ["a", "b"]
    numbers = {
        key: [list(row) if isinstance(row, list) else row for row in value]
        if isinstance(value, list)
        else value
        for key, value in NUMBERS[kind].items()
    }
    if kind == "drawn":
        numbers["bodies"] = [dict(body, prior=list(body["prior"])) for body in numbers["bodies"]]
    document = {
        "schema": "steelyard.certificate/1",
        "kind": kind,
        "parameters": names,
        "base_parameters": ["a"] if "K" in numbers else None,
        "constraints": [condition()],
        "numbers": numbers,
        "hashes": {"model": "0" * 64},
    }
    return resealed(document)
