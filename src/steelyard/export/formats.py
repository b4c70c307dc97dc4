"""The formats that a result can be exported to: the registry.

A format is one entry of `FORMATS`, whose ``render`` makes the file's bytes from an
:class:`ExportRequest`. The command line, the documentation and the tests read the list. Renderers
import what they need when they are called.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from steelyard.errors import ResultError, RobotError, did_you_mean, listed, quoted_list, shown

if TYPE_CHECKING:
    from steelyard.estimators.result_file import Result
    from steelyard.export.identified_robot import IdentifiedRobot
    from steelyard.export.robot_file import RobotFile
    from steelyard.export.urdf import Change
    from steelyard.model.model import Model

AttachedChoice = Literal["keep", "lump", "refuse"]
ATTACHED_CHOICES: tuple[AttachedChoice, ...] = ("keep", "lump", "refuse")
"""Rules for bodies of several links: see :mod:`steelyard.model.attached_links`; or refuse them."""
IDENTIFIED = ".identified"
"""What follows the stem of the robot file in the names of the files that are made of it."""
JOINTS_SUFFIX = ".joints.json"


@dataclass(frozen=True, eq=False)
class ExportRequest:
    """What to export.

    name : of the file that will be written. model : of the result, for its robot.
    robot_file : the file of that robot. attached : rule for bodies of several links.
    drake : whether a URDF gets Drake's rotor tags.
    """

    name: str
    result: Result
    model: Model
    robot_file: RobotFile
    attached: AttachedChoice = "keep"
    drake: bool = False

    @cached_property
    def identified(self) -> IdentifiedRobot:
        """The robot with the standard parameters of the result, spread over its links.

        Raises ResultError for a method without physical standard parameters, and ModelError for
        a link that would not be physical.
        """
        theta = self.result.theta
        if theta is None or not self.result.feasible:
            raise ResultError(
                f"the method '{self.result.method}' of the result gives no physical standard "
                "parameters; identify with 'entropic' (the default) or another constrained method"
            )
        return spread_robot(self.model, theta, self.attached, self.result.not_estimated)


@dataclass(frozen=True, eq=False)
class Exported:
    """The content of a file.

    beside : content of further files, by what follows the stem of the first one's name.
    changes : of the robot's own file. notes : what a user should know.
    """

    data: bytes
    beside: Mapping[str, bytes] = field(default_factory=dict)
    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExportFormat:
    """One format: its name on the command line, the ending of its files, and what it contains."""

    name: str
    suffix: str
    description: str
    render: Callable[[ExportRequest], Exported]


def format_named(name: str) -> ExportFormat:
    """The entry of this name."""
    names = [one.name for one in FORMATS]
    for one in FORMATS:
        if one.name == name:
            return one
    raise ResultError(
        f"there is no format {shown(name)}{did_you_mean(name, names)}; the formats are "
        f"{listed(names)}"
    )


def spread_robot(
    model: Model,
    theta: object,
    attached: AttachedChoice,
    not_estimated: Collection[str] = (),
) -> IdentifiedRobot:
    """The robot with standard parameters (n_columns,); "refuse" allows no body of several links.

    not_estimated : names of parameters that no file must state.
    """
    import numpy as np

    from steelyard.errors import ModelError
    from steelyard.export.identified_robot import identified_robot
    from steelyard.model.attached_links import attached_links

    values = np.asarray(theta, dtype=float)
    if attached not in ATTACHED_CHOICES:
        raise ModelError(
            f"attached is {shown(str(attached))}; it must be one of {listed(ATTACHED_CHOICES)}"
        )
    if attached != "refuse":
        return identified_robot(model, values, attached=attached, not_estimated=not_estimated)
    for one in attached_links(model, "keep"):
        if one.kept:
            raise ModelError(
                f"body '{one.body}' consists of several links with inertials, "
                f"{quoted_list((one.receiver, *one.kept))}, and --attached refuse is given; with "
                "--attached keep all but the first keep theirs, with lump they are emptied"
            )
    return identified_robot(model, values, not_estimated=not_estimated)


def joints_json(found: IdentifiedRobot, name: str, data: bytes) -> bytes:
    """The file with the terms of the joints that belongs to this robot file."""
    import hashlib

    from steelyard._files.json_data import finite
    from steelyard.export.joint_terms import joints_document

    document = joints_document(found, name, hashlib.sha256(data).hexdigest())
    text = json.dumps(finite(document), indent=1, ensure_ascii=False, allow_nan=False)
    return (text + "\n").encode(errors="backslashreplace")


def _urdf(request: ExportRequest) -> Exported:
    from steelyard.export.identified_urdf import identified_urdf
    from steelyard.export.joint_terms import IN_URDF
    from steelyard.export.urdf_text import urdf_text, urdf_text_notes

    found, file = request.identified, request.robot_file
    if file.format != "urdf":
        if request.drake:
            raise RobotError(
                f"{shown(str(file.path))} is {file.format.upper()}: Drake's tags are written only "
                "to the URDF that the robot was read from; leave out --drake"
            )
        data = urdf_text(found).encode()
        beside = {JOINTS_SUFFIX: joints_json(found, request.name, data)}
        notes = tuple(one.words for one in urdf_text_notes(found))
        return Exported(data, beside, notes=(_contents(found, IN_URDF, beside), *notes))
    written = identified_urdf(found, file.data, drake=request.drake)
    beside = {JOINTS_SUFFIX: joints_json(found, request.name, written.data)}
    held = {**IN_URDF, "drive_inertia": "drake:rotor_inertia"} if request.drake else IN_URDF
    notes = (_contents(found, held, beside), *emptied_behind_locked(found))
    return Exported(written.data, beside, written.changes, notes)


def _contents(
    found: IdentifiedRobot, attributes: Mapping[str, str], beside: Mapping[str, bytes] | None = None
) -> str:
    """A note on what the file states of the joints."""
    from steelyard.export._joint_values import contents_words

    words = contents_words(found, attributes)
    return f"{words}; the JSON file beside it has all terms" if beside else words


def emptied_behind_locked(found: IdentifiedRobot) -> tuple[str, ...]:
    """Notes on emptied links that can move in the file, since the joint was only locked."""
    emptied = {name for one in found.attached for name in one.emptied}
    return tuple(
        f"link '{joint.child}' is emptied, but joint '{joint.name}', which was locked, moves it in "
        "the file: simulators refuse a moving link without mass; --attached keep keeps its inertial"
        for joint in found.robot.joints
        if joint.name in found.robot.locked and joint.child in emptied
    )


def _csv(request: ExportRequest) -> Exported:
    from steelyard.export.tables import saved_csv

    return Exported(saved_csv(request.model, request.result).encode())


def _yaml(request: ExportRequest) -> Exported:
    from steelyard.export.yaml_text import parameters_yaml

    return Exported(parameters_yaml(request.identified, request.robot_file).encode())


def _mjcf(request: ExportRequest) -> Exported:
    from steelyard.export.mjcf import ATTRIBUTES, identified_mjcf
    from steelyard.export.mjcf_text import mjcf_text, mjcf_text_notes

    found, file = request.identified, request.robot_file
    if file.format == "mjcf":
        written = identified_mjcf(found, file.path)
        notes = tuple(note.words for note in written.notes)
        beside = {JOINTS_SUFFIX: joints_json(found, request.name, written.data)}
        notes = (_contents(found, ATTRIBUTES, beside), *notes)
        return Exported(written.data, beside, written.changes, notes)
    notes = tuple(note.words for note in mjcf_text_notes(found))
    return Exported(mjcf_text(found).encode(), notes=(_contents(found, ATTRIBUTES), *notes))


def _sdf(request: ExportRequest) -> Exported:
    from steelyard.export.joint_terms import IN_URDF
    from steelyard.export.sdf import sdf_text, sdf_text_notes

    found = request.identified
    notes = tuple(note.words for note in sdf_text_notes(found))
    return Exported(sdf_text(found).encode(), notes=(_contents(found, IN_URDF), *notes))


def _c(request: ExportRequest) -> Exported:
    from steelyard.export.c_header import c_header
    from steelyard.model.base_map import base_map

    model = request.model
    text = c_header(model, base_map(model), request.result.beta)
    return Exported(text.encode(), notes=_undetermined(request.result))


def _numpy(request: ExportRequest) -> Exported:
    from steelyard.export.numpy_module import numpy_module
    from steelyard.model.base_map import base_map

    model = request.model
    text = numpy_module(model, base_map(model), request.result.beta)
    return Exported(text.encode(), notes=_undetermined(request.result))


def _undetermined(result: Result) -> tuple[str, ...]:
    """A note on base parameters that the data do not determine, whose torque is not computed."""
    from steelyard.estimators.result_entries import stored_parameters

    open_ones = [
        one.name for one in stored_parameters(result) if one.interval_kind == "undetermined"
    ]
    if not open_ones:
        return ()
    return (
        f"the data do not determine {listed(open_ones)}: the code computes next to no torque from "
        "these, as the friction of joints whose torque was not recorded",
    )


FORMATS = (
    ExportFormat(
        "urdf",
        ".urdf",
        "the robot's own URDF with identified inertials and friction, every other byte unchanged; "
        "terms of joints that URDF cannot hold in a JSON file beside it",
        _urdf,
    ),
    ExportFormat(
        "mjcf",
        ".xml",
        "the robot's own MJCF with identified inertials, armature, damping and friction loss, all "
        "other bytes unchanged; of a robot from another format a new MJCF without shapes",
        _mjcf,
    ),
    ExportFormat(
        "sdf",
        ".sdf",
        "a new SDF of links, joints, inertials, damping and friction, without shapes",
        _sdf,
    ),
    ExportFormat(
        "c",
        ".h",
        "a C header that computes the joint torques from the base parameters",
        _c,
    ),
    ExportFormat(
        "numpy",
        ".py",
        "a Python module that does so with NumPy alone",
        _numpy,
    ),
    ExportFormat(
        "csv",
        ".csv",
        "a table of the standard parameters with units and intervals",
        _csv,
    ),
    ExportFormat(
        "yaml",
        ".yaml",
        "inertials of links and terms of joints, for xacro.load_yaml",
        _yaml,
    ),
)
"""Every format, in the order in which they are listed."""
