"""Robots from Denavit-Hartenberg tables.

Row k takes frame k-1 to frame k. With q the joint's own position, added to theta
(revolute) or to d (prismatic),

    standard:  T = Rz(theta) Tz(d) Tx(a) Rx(alpha)      joint k moves about/along z of k-1
    modified:  T = Rx(alpha) Tx(a) Rz(theta) Tz(d)      joint k moves about/along z of k

Link frames are the DH frames, so inertial parameters are in the frames that papers use:
in the standard convention the link frame comes after the joint.

As a TOML file, `read_dh_file`:

    dh = "modified"               # the convention, or "standard"
    name = "puma arm"             # default: the name of the file
    angles = "deg"                # of all angles, limits included; default "rad"
    gravity = [0.0, 0.0, -9.81]   # m/s², in the frame of the base

    [[joint]]                     # one for each row; every key may be left out
    name = "waist"
    alpha = -90.0
    a = 0.5
    d = 0.2
    theta = 0.0
    kind = "revolute"             # or "prismatic"
    link = "trunk"                # name of the link that the joint moves
    inertial = [8.0, 0.0, 0.4, 0.1, 0.3, 0.0, 0.2, 0.0, 0.0, 0.1]   # m, mx ... Izz
    lower = -160.0
    upper = 160.0
    velocity = 90.0
    acceleration = 180.0
    effort = 60.0
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

import numpy as np

from steelyard._files.access import read_capped
from steelyard._files.limits import MAX_TOML_BYTES
from steelyard._files.toml import decoded, parse_toml
from steelyard.errors import RobotError, did_you_mean, is_name, listed, shown, shown_path
from steelyard.robot.description import RobotDescription
from steelyard.robot.parts import Array, Joint, Limits, Link, gravity_vector
from steelyard.robot.rotations import frozen_array, pose, rotation_x, rotation_z
from steelyard.robot.sizes import check_count

CONVENTIONS = ("standard", "modified")
JOINT_KINDS = ("revolute", "prismatic")
LENGTHS_AND_ANGLES = ("alpha", "a", "d", "theta")
TABLE_KEYS = ("dh", "name", "angles", "gravity", "joint")
LIMIT_KEYS = ("lower", "upper", "velocity", "acceleration", "effort")
ROW_KEYS = (*LENGTHS_AND_ANGLES, "kind", "name", "link", "inertial", *LIMIT_KEYS)
ANGLES = {"rad": 1.0, "deg": math.pi / 180.0}


@dataclass(frozen=True, eq=False)
class DHRow:
    """One row of a Denavit-Hartenberg table.

    alpha, theta in rad, a, d in m; theta (revolute) or d (prismatic) is the offset added to q.
    name, link : of the joint and of the link that it moves; "joint_k" and "link_k" if not given.
    inertial : (10,) in the link's DH frame, where a value is known.
    """

    alpha: float = 0.0
    a: float = 0.0
    d: float = 0.0
    theta: float = 0.0
    kind: str = "revolute"
    name: str | None = None
    link: str | None = None
    limits: Limits = field(default_factory=Limits)
    inertial: Array | None = None


def read_dh(
    rows: object,
    *,
    convention: str,
    gravity: object = None,
    name: str = "dh",
) -> RobotDescription:
    """The chain of a Denavit-Hartenberg table, on a link named "base".

    rows : one per joint, each a :class:`DHRow` or a mapping with its fields.
    convention : "standard" or "modified", see the module's equations.
    gravity : (3,) m/s² in the base frame, (0, 0, -9.81) when not given.
    """
    if convention not in CONVENTIONS:
        raise RobotError(
            f"DH convention {shown(str(convention))} is not known; it is {' or '.join(CONVENTIONS)}"
        )
    if not isinstance(rows, Iterable) or isinstance(rows, str | bytes | Mapping):
        raise RobotError("a DH table is a list of rows, each a DHRow or a mapping with its fields")
    table = [_row(row, k) for k, row in enumerate(rows, start=1)]
    if not table:
        raise RobotError("the DH table has no rows")
    links = [Link("base")]
    joints = []
    for k, row in enumerate(table, start=1):
        screw_z = pose(rotation_z(row.theta), (0.0, 0.0, row.d))
        # Rx(alpha) and Tx(a) commute, so one matrix serves both conventions.
        screw_x = pose(rotation_x(row.alpha), (row.a, 0.0, 0.0))
        placement, child_offset = (
            (screw_z, screw_x) if convention == "standard" else (screw_x @ screw_z, np.eye(4))
        )
        links.append(Link(row.link or f"link_{k}", row.inertial))
        joints.append(
            Joint(
                name=row.name or f"joint_{k}",
                kind="prismatic" if row.kind == "prismatic" else "revolute",
                parent=links[-2].name,
                child=links[-1].name,
                placement=frozen_array(placement, (4, 4)),
                child_offset=frozen_array(child_offset, (4, 4)),
                limits=row.limits,
            )
        )
    return RobotDescription(name, tuple(links), tuple(joints), gravity_vector(gravity))


def is_dh_file(path: str | Path) -> bool:
    """Whether a robot file is a table of Denavit and Hartenberg, by the ending of its name."""
    return str(path).lower().endswith(".toml")


def read_dh_file(path: str | Path, *, gravity: object = None) -> RobotDescription:
    """The chain of a Denavit-Hartenberg table in a TOML file, see the module's example.

    gravity : (3,) m/s² in the base frame, by default the file's or (0, 0, -9.81).
    """
    where = shown_path(path)
    data = read_capped(path, MAX_TOML_BYTES, RobotError)
    if not data.strip():
        raise RobotError(f"{where} is empty")
    table = parse_toml(decoded(data, where, RobotError), where, RobotError)
    try:
        found = _of_table(table, Path(path).stem, gravity)
    except RobotError as error:
        raise RobotError(f"{where}: {error}") from None
    return replace(found, source_sha256=hashlib.sha256(data).hexdigest())


def _of_table(table: Mapping[str, object], name: str, gravity: object) -> RobotDescription:
    _known(table, TABLE_KEYS, "the file")
    if "dh" not in table:
        raise RobotError(
            f"there is no key 'dh'; a table of Denavit and Hartenberg states its convention, "
            f"{' or '.join(CONVENTIONS)}"
        )
    stated = table.get("name", name)
    if not isinstance(stated, str) or not is_name(stated):
        raise RobotError(f"name is {shown(str(stated))}; a name is visible text")
    angles = table.get("angles", "rad")
    if not isinstance(angles, str) or angles not in ANGLES:
        raise RobotError(f"angles is {shown(str(angles))}; it is {' or '.join(ANGLES)}")
    rows = table.get("joint", [])
    if not isinstance(rows, list):
        raise RobotError("joint is not a list of tables; write each row as [[joint]]")
    check_count("joints", len(rows), "the table")
    return read_dh(
        [_file_row(row, k, ANGLES[angles]) for k, row in enumerate(rows, start=1)],
        convention=str(table["dh"]),
        gravity=table.get("gravity") if gravity is None else gravity,
        name=stated,
    )


def _file_row(row: object, k: int, unit: float) -> dict[str, object]:
    """A row of a file as `read_dh` takes it: angles in rad, limits together."""
    if not isinstance(row, Mapping):
        raise RobotError(f"DH row {k} is a {type(row).__name__}; write each row as [[joint]]")
    _known(row, ROW_KEYS, f"DH row {k}")
    values = {key: value for key, value in row.items() if key not in LIMIT_KEYS}
    for key in ("alpha", "theta"):
        if key in values:
            values[key] = unit * _finite(values[key], f"DH row {k}: {key}")
    turns = 1.0 if row.get("kind") == "prismatic" else unit
    limits = {
        key: (1.0 if key == "effort" else turns) * _finite(row[key], f"DH row {k}: {key}")
        for key in LIMIT_KEYS
        if key in row
    }
    for key in ("velocity", "acceleration", "effort"):
        if limits.get(key, 0.0) < 0.0:
            raise RobotError(f"DH row {k}: {key} is {row[key]}; it must not be negative")
    return {**values, "limits": Limits(**limits)}


def _known(table: Mapping[str, object], keys: Iterable[str], where: str) -> None:
    """Refuse a key that is not known, with the one that was meant."""
    keys = tuple(keys)
    for key in table:
        if key not in keys:
            raise RobotError(
                f"{where} has a key {shown(str(key))}{did_you_mean(str(key), keys)}; the keys are "
                f"{listed(keys)}"
            )


def _row(given: object, k: int) -> DHRow:
    """Row ``k`` as a DHRow whose values have been checked."""
    keys = [entry.name for entry in fields(DHRow)]
    if isinstance(given, DHRow):
        values = {key: getattr(given, key) for key in keys}
    elif isinstance(given, Mapping):
        values = dict(given)
        for key in values:
            if key not in keys:
                raise RobotError(
                    f"DH row {k} has a field {shown(str(key))}{did_you_mean(str(key), keys)}; "
                    f"the fields are {listed(keys)}"
                )
    else:
        raise RobotError(f"DH row {k} is a {type(given).__name__}; give a DHRow or a mapping")
    for key in LENGTHS_AND_ANGLES:
        values[key] = _finite(values.get(key, 0.0), f"DH row {k}: {key}")
    if values.get("kind", "revolute") not in JOINT_KINDS:
        raise RobotError(
            f"DH row {k}: kind is {shown(str(values['kind']))}; it is {' or '.join(JOINT_KINDS)}"
        )
    for key in ("name", "link"):
        value = values.get(key)
        if value is not None and not (isinstance(value, str) and is_name(value)):
            raise RobotError(f"DH row {k}: {key} is {shown(str(value))}; a name is visible text")
    if not isinstance(values.get("limits", Limits()), Limits):
        raise RobotError(f"DH row {k}: limits must be a Limits(lower, upper, velocity, ...)")
    if values.get("inertial") is not None:
        values["inertial"] = _inertial(values["inertial"], k)
    return DHRow(**values)


def _finite(value: object, what: str) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if isinstance(value, str | bool) or not math.isfinite(number):
        raise RobotError(f"{what} is {shown(str(value))}; it must be a finite number")
    return number


def _inertial(value: object, k: int) -> Array:
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        array = np.array(np.nan)
    if array.shape != (10,) or not np.all(np.isfinite(array)):
        raise RobotError(
            f"DH row {k}: inertial must be ten finite numbers "
            "m, mx, my, mz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz"
        )
    return frozen_array(array, (10,))
