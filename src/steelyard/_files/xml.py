"""Read untrusted XML.

One pass of expat builds the tree. It refuses document type declarations and entities (so no
external files and no "billion laughs"), nesting deeper than ``MAX_XML_DEPTH``, more than
``MAX_XML_ELEMENTS`` elements or ``MAX_XML_ATTRIBUTES`` attributes, and files above
``MAX_XML_BYTES``, before they cost time or memory.
Comments and text between tags are dropped, since robot descriptions state everything in attributes;
text is kept of elements that a reader asks for, as that of meshes does.
References to other files are not followed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from steelyard._files.access import read_capped
from steelyard._files.limits import (
    MAX_XML_ATTRIBUTES,
    MAX_XML_BYTES,
    MAX_XML_DEPTH,
    MAX_XML_ELEMENTS,
)
from steelyard.errors import RobotError, one_line, shown, shown_path

# Decimal numbers as in XML Schema. Python's float() also accepts "1_000", digits of other
# alphabets and "nan", which are errors in a robot file.
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
INFINITE = re.compile(r"[+-]?inf(?:inity)?", re.ASCII | re.IGNORECASE)
LONGEST_NUMBER = 200
TEXT_AT_ONCE = 2**18
"""Characters that expat collects before it gives them; more are slower to join."""


@dataclass(slots=True)
class XmlElement:
    """A tag with its attributes and children, and the line where it starts."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[XmlElement] = field(default_factory=list)

    def all(self, tag: str) -> list[XmlElement]:
        """The children with this tag."""
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> XmlElement | None:
        """The first child with this tag or ``None``."""
        return next((child for child in self.children if child.tag == tag), None)

    def one(self, tag: str, owner: str) -> XmlElement | None:
        """The child with this tag or ``None``; two are an error that names ``owner``."""
        found = self.all(tag)
        if len(found) > 1:
            raise RobotError(
                f"{owner} has {len(found)} <{tag}> elements, the second in line "
                f"{found[1].line}; keep one"
            )
        return found[0] if found else None


def read_file(path: str | Path) -> bytes:
    """The bytes of a robot file of at most ``MAX_XML_BYTES``; raises RobotError otherwise."""
    data = read_capped(path, MAX_XML_BYTES, RobotError)
    if not data.strip():
        raise RobotError(f"{shown_path(path)} is empty")
    return data


TEXT = "#text"
"""Key, which no attribute can have, of an element's text among its attributes."""


def parse_xml(
    data: bytes, where: str, encoding: str | None = None, text_of: Collection[str] = ()
) -> XmlElement:
    """The root element of an XML document, within the module's limits.

    ``where`` names the document in messages; ``encoding`` overrides the document's own. The text
    of elements whose tag is in ``text_of`` is kept, as the attribute ``TEXT``.
    """
    if len(data) > MAX_XML_BYTES:
        raise RobotError(f"{where} is larger than {MAX_XML_BYTES // 2**20} MiB, the limit")
    # An attribute has an equals sign in every encoding that expat reads. Counting them first is
    # cheap, while expat collects all attributes of an element before it calls start().
    if data.count(b"=") > MAX_XML_ATTRIBUTES:
        raise RobotError(f"{where} has more than {MAX_XML_ATTRIBUTES} attributes, the limit")
    roots: list[XmlElement] = []
    stack: list[XmlElement] = []
    texts: list[str] = []
    n_elements = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal n_elements
        n_elements += 1
        line = parser.CurrentLineNumber
        if n_elements > MAX_XML_ELEMENTS:
            raise RobotError(
                f"{where}, line {line}: more than {MAX_XML_ELEMENTS} elements, the limit"
            )
        if len(stack) >= MAX_XML_DEPTH:
            raise RobotError(
                f"{where}, line {line}: elements nested deeper than {MAX_XML_DEPTH}, the limit"
            )
        element = XmlElement(tag, attributes, line)
        (stack[-1].children if stack else roots).append(element)
        stack.append(element)
        if tag in text_of:
            texts.clear()

    def text(part: str) -> None:
        if stack and stack[-1].tag in text_of:
            texts.append(part)

    def end(tag: str) -> None:
        element = stack.pop()
        if tag in text_of:
            element.attributes[TEXT] = "".join(texts)
            texts.clear()

    def refuse(*details: object) -> NoReturn:
        raise RobotError(
            f"{where}, line {parser.CurrentLineNumber}: document type declarations and entities "
            "are refused; remove the <!DOCTYPE> and write the values out"
        )

    parser = expat.ParserCreate(encoding)
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    if text_of:
        parser.CharacterDataHandler = text
        parser.buffer_text, parser.buffer_size = True, TEXT_AT_ONCE
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.UnparsedEntityDeclHandler = refuse
    parser.ExternalEntityRefHandler = refuse
    parser.SkippedEntityHandler = refuse
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, LookupError, ValueError) as error:
        # LookupError and ValueError: an encoding that Python does not know or cannot decode.
        raise RobotError(f"{where} is not XML: {one_line(error)}") from None
    return roots[0]


def attribute(element: XmlElement, name: str, owner: str) -> str:
    """A required attribute; ``owner`` names the link or joint in the message."""
    value = element.attributes.get(name)
    if value is None:
        raise RobotError(f"{owner}: <{element.tag}> in line {element.line} has no '{name}'")
    return value


def number(text: str, what: str, *, infinite: bool = False) -> float:
    """A finite decimal number; ``what`` names it in messages.

    infinite : whether "inf" is allowed, for a joint without limits.
    """
    stripped = text.strip()
    if infinite and INFINITE.fullmatch(stripped):
        return float(stripped)
    if len(stripped) > LONGEST_NUMBER or not NUMBER.fullmatch(stripped):
        if stripped.lower().lstrip("+-") in ("nan", "inf", "infinity"):
            raise RobotError(f"{what} is {shown(stripped)}; it must be a finite number")
        hint = ""
        if "$" in stripped:
            hint = "; this looks like unprocessed xacro"
        elif "," in stripped:
            hint = " (write decimals with a point)"
        raise RobotError(f"{what} is {shown(text)}, which is not a number{hint}")
    value = float(stripped)
    if not math.isfinite(value):
        raise RobotError(f"{what} is {shown(stripped)}, which is too large; it must be finite")
    return value


def numbers(text: str, count: int, what: str) -> tuple[float, ...]:
    """``count`` finite numbers separated by white space."""
    parts = text.split()
    if len(parts) != count:
        raise RobotError(f"{what} is {shown(text)}; it must be {count} numbers")
    return tuple(number(part, what) for part in parts)
