"""A weighed payload as URDF and MJCF: elements to paste, and small files that load as they are.

Mass and inertia are written with digits that are exactly physical, as in every robot file that
Steelyard writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from steelyard._version import __version__
from steelyard.export._link_texts import InertialTexts, inertial_texts, phi_body
from steelyard.export._xml_text import refuse_names, xml_text
from steelyard.export.mjcf_text import add_inertial
from steelyard.payload.payload_estimate import PayloadEstimate, PayloadValue
from steelyard.robot.formats.urdf_digits import INERTIA_ENTRIES


def name_of(estimate: PayloadEstimate) -> str:
    """Name of the payload's link: ``payload``, unless the frame has that name."""
    return "payload" if estimate.frame != "payload" else "payload_body"


def payload_urdf(estimate: PayloadEstimate, name: str | None = None) -> str:
    """A <link> and the fixed <joint> that puts it on its frame, to paste into a <robot>.

    name : of the link, by default ``payload``; that of the joint has ``_joint`` appended.
    """
    return _pasted(urdf_elements(estimate, name or name_of(estimate)))


def payload_mjcf(estimate: PayloadEstimate, name: str | None = None) -> str:
    """A <body> to paste into the MJCF <body> whose frame the payload is stated in."""
    return _pasted([mjcf_body(estimate, name or name_of(estimate))])


def payload_urdf_file(estimate: PayloadEstimate, name: str | None = None) -> str:
    """A whole URDF: the frame as root link, and the payload on it."""
    name = name or name_of(estimate)
    root = Element("robot", name=name)
    SubElement(root, "link", name=estimate.frame)
    root.extend(urdf_elements(estimate, name))
    return xml_text(root, _comment(estimate, "URDF: paste its second link and its joint"))


def payload_mjcf_file(estimate: PayloadEstimate, name: str | None = None) -> str:
    """A whole MJCF: a body of the frame's name, and the payload fixed to it."""
    name = name or name_of(estimate)
    root = Element("mujoco", model=name)
    SubElement(root, "compiler", angle="radian")
    frame = SubElement(SubElement(root, "worldbody"), "body", name=estimate.frame)
    frame.append(mjcf_body(estimate, name))
    return xml_text(root, _comment(estimate, "MJCF: paste the inner body"))


def urdf_elements(estimate: PayloadEstimate, name: str) -> list[Element]:
    """The link with its inertial, and the joint."""
    link = Element("link", name=name)
    texts = _texts(estimate, name, margins=False)
    if texts is not None:
        inertial = SubElement(link, "inertial")
        SubElement(inertial, "origin", xyz=" ".join(texts.com), rpy="0 0 0")
        SubElement(inertial, "mass", value=texts.mass)
        SubElement(inertial, "inertia", dict(zip(INERTIA_ENTRIES, texts.inertia, strict=True)))
    joint = Element("joint", name=f"{name}_joint", type="fixed")
    SubElement(joint, "origin", xyz="0 0 0", rpy="0 0 0")
    SubElement(joint, "parent", link=estimate.frame)
    SubElement(joint, "child", link=name)
    return [link, joint]


def mjcf_body(estimate: PayloadEstimate, name: str) -> Element:
    """The body with its inertial, at the origin and in the axes of the frame."""
    body = Element("body", name=name)
    add_inertial(body, _texts(estimate, name, margins=True))
    return body


def open_inertia(values: Sequence[PayloadValue]) -> tuple[str, ...]:
    """Names of the values of a body that its data do not determine."""
    return tuple(value.name for value in values if value.kind != "confidence")


def _texts(estimate: PayloadEstimate, name: str, *, margins: bool) -> InertialTexts | None:
    """The numbers of the inertial; None for a payload without mass."""
    body = phi_body(np.asarray(estimate.phi), name)
    return None if body is None else inertial_texts(body, name, margins=margins)


def _comment(estimate: PayloadEstimate, what: str) -> list[str]:
    lines = [
        f"Written by Steelyard {__version__}: a payload that was weighed in the frame of "
        f"'{estimate.frame}'. {what} into the robot's file.",
    ]
    left = open_inertia(estimate.values)
    if left:
        lines.append(
            f"Not determined by the data: {', '.join(left)}. What stands here is one of the bodies "
            "that fit."
        )
    return lines


def _pasted(elements: list[Element]) -> str:
    for element in elements:
        refuse_names(element)
        ElementTree.indent(element)
    return "\n".join(ElementTree.tostring(one, encoding="unicode").strip() for one in elements)
