"""The edits that give a body of an MJCF another inertial."""

from __future__ import annotations

import re

import numpy as np

from steelyard._files.xml import LONGEST_NUMBER, NUMBER, XmlElement
from steelyard.errors import RobotError, shown
from steelyard.export._digits import kept_or_decimal
from steelyard.export._link_texts import ROUNDING, LinkBody, inertial_texts
from steelyard.export._mjcf_elements import ORIENTATIONS, BodyElement
from steelyard.export._xml_source import (
    Edit,
    InsertFirst,
    RemoveAttribute,
    SetAttribute,
    XmlDocument,
)
from steelyard.export.urdf import Change
from steelyard.robot.formats.urdf_digits import exactly_physical

SAME = 1e-12
"""Relative difference of values that count as equal, as in a file with twelve digits."""


def inertial_edits(
    document: XmlDocument, element: BodyElement, body: LinkBody | None, stated: LinkBody | None
) -> list[tuple[Edit, Change | None]]:
    """The edits after which a <body> has this body; none if it has it already.

    body : None for no mass. stated : what MuJoCo reads from the file now.
    """
    inertial = element.inertial
    if body is None and stated is None:
        return []
    if _same(body, stated) and (inertial is None or _exact(inertial)):
        return []
    name = element.name
    if body is None and element.joints:
        raise RobotError(
            f"{document.where}: body {shown(name)} would have no mass, which MuJoCo refuses for a "
            "body that moves"
        )
    attributes = _attributes(document, inertial, body, name)
    if inertial is None:
        new = XmlElement("inertial", attributes, 0)
        summary = ", ".join(f"{key} {text}" for key, text in attributes.items())
        return [(InsertFirst(element.element, new), Change(name, "inertial", None, summary))]
    if element.in_moved_frame:
        raise RobotError(
            f"{document.where}: the <inertial> of body {shown(name)} is inside a <frame> that "
            "moves it, which cannot be changed in place; move it out of the <frame>"
        )
    return _element_edits(inertial, attributes, name)


def _element_edits(
    inertial: XmlElement, attributes: dict[str, str], name: str
) -> list[tuple[Edit, Change | None]]:
    """Set these attributes of an <inertial> and remove its others; one form of the inertia takes
    the place of the other.
    """
    edits: list[tuple[Edit, Change | None]] = []
    forms = ("fullinertia", "diaginertia")
    for old in (*ORIENTATIONS, *forms):
        if old not in inertial.attributes or old in attributes:
            continue
        new = next((form for form in forms if form in attributes), "")
        if old in forms:
            text, before = attributes.pop(new), inertial.attributes[old]
            change = Change(name, f"inertial {new}", f"{old} {before}", text)
            edits.append((RemoveAttribute(inertial, old, (new, text)), change))
        else:
            edits.append((RemoveAttribute(inertial, old), None))
    for key, text in attributes.items():
        stated = inertial.attributes.get(key)
        if stated is None or stated.split() != text.split():
            change = Change(name, f"inertial {key}", stated, text)
            edits.append((SetAttribute(inertial, key, text, last=True), change))
    return edits


def _same(body: LinkBody | None, stated: LinkBody | None) -> bool:
    if body is None or stated is None:
        return body is stated
    noise = max(body.noise, SAME * float(np.abs(stated.inertia_com).max()))
    return (
        abs(body.mass - stated.mass) <= SAME * stated.mass
        and float(np.abs(body.com - stated.com).max()) <= ROUNDING * float(np.abs(body.com).max())
        and float(np.abs(body.inertia_com - stated.inertia_com).max()) <= noise
    )


def _exact(inertial: XmlElement) -> bool:
    """Whether an <inertial> is exactly physical as written; a rotation does not matter."""
    mass, inertia = _decimals(inertial, "mass", 1), _stated_inertia(inertial)
    return mass is not None and inertia is not None and exactly_physical(mass[0], inertia)


def _stated_inertia(inertial: XmlElement) -> tuple[str, ...] | None:
    """The inertia as the file states it, in the order xx, xy, xz, yy, yz, zz and its own axes."""
    full = _decimals(inertial, "fullinertia", 6)
    if full is not None:
        xx, yy, zz, xy, xz, yz = full
        return xx, xy, xz, yy, yz, zz
    moments = _decimals(inertial, "diaginertia", 3)
    if moments is None:
        return None
    xx, yy, zz = moments
    return xx, "0", "0", yy, "0", zz


def _decimals(inertial: XmlElement | None, name: str, count: int) -> list[str] | None:
    """The numbers of an attribute as texts; None if there are others than decimals of usual size.

    MuJoCo reads some texts as numbers that are not decimals; these are not kept.
    """
    texts = [] if inertial is None else inertial.attributes.get(name, "").split()
    usual = [bool(NUMBER.fullmatch(text)) and _usual_size(text) for text in texts]
    return texts if len(texts) == count and all(usual) else None


def _usual_size(text: str) -> bool:
    return len(text) <= LONGEST_NUMBER and (
        1e-200 < abs(float(text)) < 1e200 or not any(digit in text for digit in "123456789")
    )


def _attributes(
    document: XmlDocument, inertial: XmlElement | None, body: LinkBody | None, name: str
) -> dict[str, str]:
    """The attributes of the new <inertial>; stated numbers that are right keep their text."""
    old = {} if inertial is None else inertial.attributes
    if body is None:
        # MuJoCo refuses a fullinertia of zeros
        return {"pos": old.get("pos", "0 0 0"), "mass": "0", "diaginertia": "0 0 0"}
    stated = None
    if inertial is not None and not any(key in old for key in ORIENTATIONS):
        stated = _stated_inertia(inertial)
    texts = inertial_texts(body, name, margins=True, stated=stated)
    pos, mass = " ".join(texts.com), texts.mass
    stated_mass, stated_pos = _decimals(inertial, "mass", 1), _decimals(inertial, "pos", 3)
    if stated_mass is not None:
        mass = kept_or_decimal(stated_mass[0], body.mass)
    if inertial is not None and stated_pos is not None:
        noise = ROUNDING * float(np.abs(body.com).max())
        kept = [
            kept_or_decimal(text, float(x), noise)
            for text, x in zip(stated_pos, body.com, strict=True)
        ]
        following = iter(kept)
        raw = document.raw_value(inertial, "pos")
        plain = raw is not None and "&" not in raw
        pos = re.sub(r"\S+", lambda _: next(following), raw or "") if plain else " ".join(kept)
    return {"pos": pos, "mass": mass, "fullinertia": " ".join(texts.full)}
