"""The ``[constraints]`` of an overlay: what is known of a robot's parameters.

[constraints]
consistency = "full"                  # or "sousa", "none"
margin = 0.0                          # smallest slack of the conditions
second_moment = 1e4                   # largest trace of J of any body, kg + kg m²; or inf;
                                      # by default a bound far above any real link
nonnegative_terms = true              # drive inertia and friction
total_mass = [20.0, 27.0]             # kg, of all moving bodies; inf for no limit
massless = ["tool_frame"]
equal = [["left_thigh", "right_thigh"]]
known_links = ["camera"]              # merged links whose inertials in the file are correct
com_boxes = "collision"               # boxes around the primitives of the URDF

[constraints.mass]                    # kg
forearm = [1.0, 2.5]

[[constraints.mass_sum]]
bodies = ["upper_arm", "forearm"]
range = [4.0, 6.0]

[constraints.com.forearm]             # m, in the body's frame: one region for the centre of
box = { lower = [-0.1, -0.1, 0.0], upper = [0.1, 0.1, 0.4] }       # mass of each body
# cylinder = { start = [0, 0, 0], end = [0, 0, 0.4], radius = 0.1 }
# ellipsoid = { centre = [0, 0, 0.2], radii = [0.1, 0.1, 0.2] }
# hull = [[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.4]]

[constraints.inside.forearm]          # all mass: an ellipsoid, or a box
ellipsoid = { centre = [0, 0, 0.2], radii = [0.2, 0.2, 0.3] }

[constraints.symmetric]               # the plane y = 0, the plane x = 0.1
forearm = "y"
upper_arm = { axis = "x", offset = 0.1 }

[[constraints.mirrored]]
bodies = ["left_foot", "right_foot"]
axis = "y"

[constraints.fixed]                   # parameters by name
elbow.fo = 0.0

[constraints.bounds]                  # parameters, or kinds of terms, by name
elbow.fv = [0.1, 5.0]
coulomb = [0.0, 20.0]

[constraints.known_part]              # m, mx, ..., Izz of a part in the body's frame
wrist = [0.5, 0, 0, 0.05, 0.006, 0, 0.006, 0, 0, 0.001]

[constraints.second_moments]
base = 2e4
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Any, Literal, TypeVar

from steelyard.errors import ModelError, OverlayError, listed
from steelyard.knowledge.constraints import Constraints, MassSum, Mirrored, Range
from steelyard.knowledge.overlay._values import (
    array_of,
    flag_of,
    key_name,
    kind_of,
    known_keys,
    names_of,
    number_of,
    numbers_of,
    one_of,
    range_of,
    table_of,
)
from steelyard.knowledge.regions import AXES, Box, Cylinder, Ellipsoid, Hull, SymmetryPlane

Value = TypeVar("Value")
PATH = "constraints"
METRES = ", m"
REGION_KEYS = {
    "box": ("lower", "upper"),
    "cylinder": ("start", "end", "radius"),
    "ellipsoid": ("centre", "radii"),
}


def com_boxes_of(value: object) -> Literal["collision"] | None:
    """The value of ``com_boxes``: whether to take boxes from the URDF's collision geometry."""
    table = table_of(value, PATH)
    if "com_boxes" not in table:
        return None
    one_of(table["com_boxes"], f"{PATH}.com_boxes", ["collision"])
    return "collision"


def constraints_of(value: object) -> Constraints:
    """The constraints of a ``[constraints]`` table; :class:`OverlayError` names the wrong key."""
    table = table_of(value, PATH)
    known_keys(table, [*_READERS, "com_boxes"], PATH)
    given: dict[str, Any] = {}
    for key, (field, read) in _READERS.items():
        if key in table:
            given[field] = _checked(f"{PATH}.{key}", read, table[key])
    return _checked(PATH, lambda _value, _path: Constraints(**given), None)


def _checked(path: str, read: Callable[[Any, str], Value], value: object) -> Value:
    """``read(value, path)``, with the key put in front of its error messages."""
    try:
        return read(value, path)
    except ModelError as error:
        raise OverlayError(f"key {path}: {error}") from None


def _second_moment(value: object, path: str) -> float | None:
    return None if isinstance(value, float) and value == inf else number_of(value, path)


def _per_name(read: Callable[[Any, str], Value]) -> Callable[[Any, str], dict[str, Value]]:
    def per_name(value: object, path: str) -> dict[str, Value]:
        return {
            name: _checked(f"{path}.{key_name(name)}", read, entry)
            for name, entry in table_of(value, path).items()
        }

    return per_name


def _per_parameter(read: Callable[[Any, str], Value]) -> Callable[[Any, str], dict[str, Value]]:
    """Values by parameter name; TOML reads the bare key elbow.fv as a nested table."""

    def per_parameter(value: object, path: str) -> dict[str, Value]:
        out: dict[str, Value] = {}
        waiting = [("", path, table_of(value, path))]
        while waiting:
            prefix, place, table = waiting.pop()
            for key, entry in table.items():
                name, where = f"{prefix}{key}", f"{place}.{key_name(key)}"
                if isinstance(entry, dict):
                    waiting.append((f"{name}.", where, entry))
                else:
                    out[name] = read(entry, where)
        return out

    return per_parameter


def _groups(value: object, path: str) -> tuple[tuple[str, ...], ...]:
    groups = array_of(value, path, "arrays of names")
    return tuple(names_of(group, f"{path}[{i}]") for i, group in enumerate(groups))


def _tables(value: object, path: str, keys: tuple[str, ...]) -> list[Mapping[str, object]]:
    if not isinstance(value, list):
        raise OverlayError(f"key {path} is {kind_of(value)}; write each one as [[{path}]]")
    tables = [table_of(entry, f"{path}[{i}]") for i, entry in enumerate(value)]
    for i, table in enumerate(tables):
        known_keys(table, keys, f"{path}[{i}]")
        _needed(table, keys, f"{path}[{i}]")
    return tables


def _needed(table: Mapping[str, object], keys: tuple[str, ...], path: str) -> None:
    for key in keys:
        if key not in table:
            raise OverlayError(f"{path} has no {key}; it needs {listed(keys)}")


def _mass_sums(value: object, path: str) -> tuple[MassSum, ...]:
    return tuple(
        MassSum(
            names_of(table["bodies"], f"{path}[{i}].bodies"),
            range_of(table["range"], f"{path}[{i}].range"),
        )
        for i, table in enumerate(_tables(value, path, ("bodies", "range")))
    )


def _mirrored(value: object, path: str) -> tuple[Mirrored, ...]:
    out = []
    for i, table in enumerate(_tables(value, path, ("bodies", "axis"))):
        bodies = names_of(table["bodies"], f"{path}[{i}].bodies")
        if len(bodies) != 2:
            raise OverlayError(f"key {path}[{i}].bodies names {len(bodies)}; it must name two")
        axis = one_of(table["axis"], f"{path}[{i}].axis", AXES)
        out.append(Mirrored(bodies[0], bodies[1], axis))  # type: ignore[arg-type]
    return tuple(out)


def _symmetric(value: object, path: str) -> SymmetryPlane:
    if isinstance(value, str):
        return SymmetryPlane(one_of(value, path, AXES))  # type: ignore[arg-type]
    table = table_of(value, path)
    known_keys(table, ("axis", "offset"), path)
    _needed(table, ("axis",), path)
    axis = one_of(table["axis"], f"{path}.axis", AXES)
    offset = number_of(table.get("offset", 0.0), f"{path}.offset")
    return SymmetryPlane(axis, offset)  # type: ignore[arg-type]


def _com(value: object, path: str) -> Box | Cylinder | Ellipsoid | Hull:
    kind, stated, path = _only_region(value, path, (*REGION_KEYS, "hull"))
    if kind == "hull":
        points = array_of(stated, path, "points of 3 numbers, m")
        return Hull(tuple(_point(point, f"{path}[{i}]") for i, point in enumerate(points)))
    if kind == "cylinder":
        table = _region_table(stated, path, kind)
        return Cylinder(
            _point(table["start"], f"{path}.start"),
            _point(table["end"], f"{path}.end"),
            number_of(table["radius"], f"{path}.radius"),
        )
    return _box_or_ellipsoid(kind, stated, path)


def _inside(value: object, path: str) -> Box | Ellipsoid:
    return _box_or_ellipsoid(*_only_region(value, path, ("ellipsoid", "box")))


def _only_region(value: object, path: str, kinds: tuple[str, ...]) -> tuple[str, object, str]:
    table = table_of(value, path)
    known_keys(table, kinds, path)
    if len(table) != 1:
        raise OverlayError(
            f"key {path} has {len(table)} regions; it must have one: {listed(kinds)}"
        )
    kind, stated = next(iter(table.items()))
    return kind, stated, f"{path}.{kind}"


def _region_table(stated: object, path: str, kind: str) -> Mapping[str, object]:
    table = table_of(stated, path)
    known_keys(table, REGION_KEYS[kind], path)
    _needed(table, REGION_KEYS[kind], path)
    return table


def _box_or_ellipsoid(kind: str, stated: object, path: str) -> Box | Ellipsoid:
    table = _region_table(stated, path, kind)
    one, other = (_point(table[key], f"{path}.{key}") for key in REGION_KEYS[kind])
    return Box(one, other) if kind == "box" else Ellipsoid(one, other)


def _point(value: object, path: str) -> tuple[float, float, float]:
    x, y, z = numbers_of(value, path, 3, METRES)
    return x, y, z


def _ten(value: object, path: str) -> tuple[float, ...]:
    return numbers_of(value, path, 10)


def _range(value: object, path: str) -> Range:
    return range_of(value, path)


_READERS: dict[str, tuple[str, Callable[[Any, str], Any]]] = {
    "consistency": ("consistency", lambda v, p: one_of(v, p, ("full", "sousa", "none"))),
    "margin": ("margin", number_of),
    "second_moment": ("second_moment", _second_moment),
    "nonnegative_terms": ("nonnegative_terms", flag_of),
    "total_mass": ("total_mass", _range),
    "massless": ("massless", names_of),
    "equal": ("equal", _groups),
    "known_links": ("known_links", names_of),
    "mass": ("mass", _per_name(_range)),
    "mass_sum": ("mass_sums", _mass_sums),
    "com": ("com", _per_name(_com)),
    "inside": ("inside", _per_name(_inside)),
    "symmetric": ("symmetric", _per_name(_symmetric)),
    "mirrored": ("mirrored", _mirrored),
    "fixed": ("fixed", _per_parameter(number_of)),
    "bounds": ("bounds", _per_parameter(_range)),
    "known_part": ("known_part", _per_name(_ten)),
    "second_moments": ("second_moments", _per_name(number_of)),
}
