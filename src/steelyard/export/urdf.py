"""Write inertials into a URDF: only their numbers change, every other byte stays.

Comments, white space, the order of attributes, quotes, line ends, a byte order mark and the
encoding are kept, and so is the text of every number whose value is right. The axes in which a
file states an inertia (``rpy``) are kept too, and the inertia is expressed in them. As in the
reader, the first of repeated elements counts.

The inertials are exactly physical with the written digits (see :mod:`steelyard.export._digits`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard._files.xml import XmlElement, numbers, read_file
from steelyard.errors import ModelError, RobotError, did_you_mean, listed, shown, shown_path
from steelyard.export._digits import file_decimal, kept_or_decimal, physical_texts
from steelyard.export._xml_source import (
    Edit,
    InsertFirst,
    SetAttribute,
    XmlDocument,
    apply_edits,
    read_document,
)
from steelyard.robot.formats.urdf import parse_urdf
from steelyard.robot.formats.urdf_digits import INERTIA_ENTRIES
from steelyard.robot.inertia import to_com, violations, violations_about_com
from steelyard.robot.parts import TurnedJoint
from steelyard.robot.rotations import rotation_rpy

Array = NDArray[np.float64]
ROUNDING = 16.0 * float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class WrittenBody:
    """A body as a URDF states it: mass in kg, com (3,) in m and inertia_com (3, 3) in kg m²
    about the centre of mass, both in the axes of the link frame.

    A 10-vector holds the same, but loses digits of a small body far from its link's origin.
    """

    mass: float
    com: ArrayLike
    inertia_com: ArrayLike


@dataclass(frozen=True)
class Change:
    """One number, or triple, of a link or joint whose text changed.

    link : None for a change of a joint. what : as in the file, "mass value", "origin xyz",
        "inertia ixx" or, for a new element, its name. before : None if nothing was stated.
    joint : None for a change of a link.
    """

    link: str | None
    what: str
    before: str | None
    after: str
    joint: str | None = None


@dataclass(frozen=True)
class Rewritten:
    """The bytes of a file with new inertials.

    moved : for each written link, the largest difference of an inertia entry from its requested
        value, from rounding to decimals and staying physical, kg m².
    """

    data: bytes
    changes: tuple[Change, ...]
    moved: Mapping[str, float]


def write_inertials(
    source: bytes | str | Path,
    inertials: Mapping[str, ArrayLike | WrittenBody],
    *,
    add_missing: bool = False,
    turned: Sequence[TurnedJoint] = (),
) -> bytes:
    """The URDF with the inertials of these links set; see :func:`rewrite_inertials`."""
    return rewrite_inertials(source, inertials, add_missing=add_missing, turned=turned).data


def rewrite_inertials(
    source: bytes | str | Path,
    inertials: Mapping[str, ArrayLike | WrittenBody],
    *,
    add_missing: bool = False,
    turned: Sequence[TurnedJoint] = (),
) -> Rewritten:
    """The URDF with the inertials of these links set, and the changes.

    source : the file, or its bytes.
    inertials : for each link name a 10-vector (10,) in the link frame, or a :class:`WrittenBody`.
        Links that are not named keep theirs. Ten zeros make a link massless.
    add_missing : whether a link without an <inertial> gets one; otherwise it is refused, unless
        the given body is massless.
    turned : joint frames that belong to these inertials, as in ``Robot.turned``: their angles
        are written, with all digits.

    Raises ModelError for a body that is not physical by more than rounding.
    """
    data = source if isinstance(source, bytes) else read_file(source)
    where = "URDF text" if isinstance(source, bytes) else shown_path(source)
    parse_urdf(data, mimics=False, source=None if isinstance(source, bytes) else str(source))
    document = read_document(data, where)
    new = inertial_edits(document, inertials, add_missing=add_missing)
    turns = turned_edits(document, turned)
    return Rewritten(
        apply_edits(document, [*new.edits, *(edit for edit, _ in turns)]),
        (*new.changes, *(change for _, change in turns)),
        new.moved,
    )


@dataclass(frozen=True, eq=False)
class InertialEdits:
    """Edits that set inertials; changes and moved as in :class:`Rewritten`."""

    edits: tuple[Edit, ...]
    changes: tuple[Change, ...]
    moved: Mapping[str, float]


def inertial_edits(
    document: XmlDocument, inertials: Mapping[str, ArrayLike | WrittenBody], *, add_missing: bool
) -> InertialEdits:
    """The edits that set the inertials of these links; see :func:`rewrite_inertials`."""
    where = document.where
    links = {element.attributes["name"]: element for element in document.root.all("link")}
    edits: list[Edit] = []
    changes: list[Change] = []
    moved: dict[str, float] = {}
    for name, value in inertials.items():
        if name not in links:
            raise RobotError(
                f"{where} has no link {shown(name)}{did_you_mean(name, links)}; "
                f"its links are {listed(links)}"
            )
        body, noise = _body(value, name)
        inertial = links[name].first("inertial")
        if inertial is not None:
            new, texts, moved[name] = _edits(document, inertial, body, noise, name)
            edits += new
            changes += texts
        elif body.mass != 0.0:
            if not add_missing:
                raise RobotError(
                    f"{where}: link {shown(name)} has no <inertial> to write to; "
                    "leave it out, or set add_missing=True"
                )
            element, moved[name] = _inertial_element(body, noise, name)
            edits.append(InsertFirst(links[name], element))
            changes.append(Change(name, "inertial", None, _summary(element)))
    return InertialEdits(tuple(edits), tuple(changes), moved)


def _body(value: ArrayLike | WrittenBody, name: str) -> tuple[WrittenBody, float]:
    """A body that is physical up to rounding, and the rounding of its inertia (kg m²)."""
    if isinstance(value, WrittenBody):
        mass, com = float(value.mass), np.asarray(value.com, dtype=float)
        inertia = np.asarray(value.inertia_com, dtype=float)
        if com.shape != (3,) or inertia.shape != (3, 3) or not np.isfinite(com).all():
            raise ModelError(f"link '{name}': com and inertia_com must be finite, (3,) and (3, 3)")
        found = violations_about_com(mass, inertia, name)
        noise = 0.0
    else:
        phi = np.asarray(value, dtype=float)
        found = violations(phi, name)
        m, com, inertia = to_com(phi)
        mass, noise = float(m), ROUNDING * float(m) * float(com @ com)
    if found:
        raise ModelError(
            f"{found[0].words}; steelyard.nearest_physical gives the closest physical inertia"
        )
    inertia = 0.5 * (inertia + inertia.T)
    return WrittenBody(mass, com, inertia), noise + ROUNDING * float(np.abs(inertia).max())


def _edits(
    document: XmlDocument, inertial: XmlElement, body: WrittenBody, noise: float, name: str
) -> tuple[list[Edit], list[Change], float]:
    """The edits that turn a stated inertial into this body."""
    mass, inertia = inertial.first("mass"), inertial.first("inertia")
    assert mass is not None  # the reader would have refused the file
    assert inertia is not None
    origin = inertial.first("origin")
    wanted: list[tuple[XmlElement, str, str]] = []
    mass_text = kept_or_decimal(mass.attributes["value"], body.mass)
    wanted.append((mass, "value", mass_text))
    stated = [inertia.attributes[entry] for entry in INERTIA_ENTRIES]
    R = np.eye(3)
    if origin is not None:
        R = rotation_rpy(*numbers(origin.attributes.get("rpy", "0 0 0"), 3, f"link '{name}': rpy"))
    turned = R.T @ np.asarray(body.inertia_com) @ R
    written = physical_texts(mass_text, 0.5 * (turned + turned.T), stated, noise, name)
    wanted += [(inertia, entry, text) for entry, text in zip(INERTIA_ENTRIES, written.texts)]
    edits: list[Edit] = []
    changes: list[Change] = []
    com = np.asarray(body.com, dtype=float)
    if body.mass != 0.0:  # a massless body has no centre of mass: keep the stated one
        if origin is not None:
            wanted.append((origin, "xyz", _xyz(document, origin, com)))
        elif com.any():
            xyz = " ".join(file_decimal(x) for x in com)
            edits.append(
                InsertFirst(inertial, XmlElement("origin", {"xyz": xyz, "rpy": "0 0 0"}, 0))
            )
            changes.append(Change(name, "origin", None, xyz))
    for element, attribute, text in wanted:
        before = element.attributes.get(attribute)
        if (before or "0 0 0").split() != text.split():
            edits.append(SetAttribute(element, attribute, text))
            changes.append(Change(name, f"{element.tag} {attribute}", before, text))
    return edits, changes, written.moved


def _xyz(document: XmlDocument, origin: XmlElement, com: Array) -> str:
    """The centre of mass as text, with the stated spacing if it contains no references."""
    stated = origin.attributes.get("xyz", "0 0 0")
    noise = ROUNDING * float(np.abs(com).max())
    texts = [kept_or_decimal(old, x, noise) for old, x in zip(stated.split(), com, strict=True)]
    return _spaced(document, origin, "xyz", texts)


def turned_edits(
    document: XmlDocument, turned: Sequence[TurnedJoint]
) -> list[tuple[SetAttribute, Change]]:
    """The edits that write the angles of turned joints; refuses angles that are not the file's."""
    joints = {element.attributes["name"]: element for element in document.root.all("joint")}
    found = []
    for joint in turned:
        origin = joints[joint.joint].first("origin") if joint.joint in joints else None
        before = None if origin is None else origin.attributes.get("rpy")
        if origin is None or before is None or tuple(map(float, before.split())) != joint.before:
            raise RobotError(
                f"{document.where}: joint {shown(joint.joint)} does not have the angles "
                f"{' '.join(map(repr, joint.before))} that were turned; give the file that the "
                "robot was read from"
            )
        texts = [
            text if was == is_now else repr(is_now)
            for text, was, is_now in zip(before.split(), joint.before, joint.after, strict=True)
        ]
        after = _spaced(document, origin, "rpy", texts)
        change = Change(None, "origin rpy", before, after, joint.joint)
        found.append((SetAttribute(origin, "rpy", after), change))
    return found


def _spaced(document: XmlDocument, element: XmlElement, attribute: str, texts: list[str]) -> str:
    """Numbers as the text of an attribute, with the stated spacing if it has no references."""
    raw = document.raw_value(element, attribute)
    if raw is None or "&" in raw:
        return " ".join(texts)
    following = iter(texts)
    return re.sub(r"\S+", lambda _: next(following), raw)


def _inertial_element(body: WrittenBody, noise: float, name: str) -> tuple[XmlElement, float]:
    """A new <inertial> with the axes of the link frame."""
    mass = file_decimal(body.mass)
    written = physical_texts(mass, np.asarray(body.inertia_com), None, noise, name)
    xyz = " ".join(file_decimal(x) for x in np.asarray(body.com, dtype=float))
    children = [
        XmlElement("origin", {"xyz": xyz, "rpy": "0 0 0"}, 0),
        XmlElement("mass", {"value": mass}, 0),
        XmlElement("inertia", dict(zip(INERTIA_ENTRIES, written.texts, strict=True)), 0),
    ]
    return XmlElement("inertial", {}, 0, children), written.moved


def _summary(element: XmlElement) -> str:
    return "; ".join(
        f"{child.tag} " + ", ".join(f"{name} {text}" for name, text in child.attributes.items())
        for child in element.children
    )
