"""Edit an XML document and keep every other byte.

The parser gives the content of the document; a scanner finds the positions of its start tags and
attribute values in the bytes. Both must find the same elements in the same order. The result is
parsed again and must be the old document with exactly these edits. A document that the scanner
does not understand is refused, never damaged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from steelyard._files.xml import XmlElement, parse_xml
from steelyard.errors import RobotError

# Start tags have a name here, and end tags an end; the rest is matched to be skipped. The document
# is well-formed (the parser has seen it), so these five kinds of markup are all there are.
# White space is listed explicitly: in text decoded as Latin-1, \s would also match parts of other
# characters.
MARKUP = re.compile(
    r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|(?P<end></[^>]*>)"
    r"|<(?P<name>[^ \t\r\n/>!?][^ \t\r\n/>]*)(?:[^\"'>]++|\"[^\"]*+\"|'[^']*+')*+>",
    re.DOTALL,
)
ATTRIBUTE = re.compile(
    r"[ \t\r\n](?P<name>[^ \t\r\n=/\"'<>]+)[ \t\r\n]*=[ \t\r\n]*"
    r"(?:\"(?P<a>[^\"]*)\"|'(?P<b>[^']*)')"
)
SPACE = " \t\r\n"
PLAIN_VALUE = re.compile(r"[^<>&\"']*")


@dataclass(frozen=True)
class StartTag:
    """The position of a start tag: from its ``<`` to after its ``>``, in characters."""

    start: int
    name_end: int
    end: int


@dataclass(frozen=True, eq=False)
class XmlDocument:
    """An XML document: its parsed tree, and its text, which encodes back to the same bytes.

    where : names the document in messages. root : the parsed tree. text : the bytes decoded by
    ``codec``. That is Latin-1 for every encoding that contains ASCII, since markup and numbers are
    ASCII and everything else is copied. tags, ends : by the id of an element, its start tag and the
    position after its end.
    """

    where: str
    root: XmlElement
    text: str
    codec: str
    tags: dict[int, StartTag] = field(repr=False)
    ends: dict[int, int] = field(repr=False)

    def tag(self, element: XmlElement) -> StartTag:
        """The start tag of an element of this document."""
        return self.tags[id(element)]

    def value_span(self, element: XmlElement, name: str) -> tuple[int, int] | None:
        """Start and end (exclusive) of an attribute's value in the text, without quotes."""
        tag = self.tag(element)
        for found in ATTRIBUTE.finditer(self.text, tag.name_end, tag.end):
            if found["name"] == name:
                return found.span("a" if found["a"] is not None else "b")
        return None

    def raw_value(self, element: XmlElement, name: str) -> str | None:
        """An attribute's value as written, with references like ``&#49;`` unresolved."""
        span = self.value_span(element, name)
        return None if span is None else self.text[slice(*span)]


@dataclass(frozen=True, eq=False)
class SetAttribute:
    """Set an attribute of an element; a missing one is added after the tag's name, or after the
    other attributes if ``last``.
    """

    element: XmlElement
    name: str
    value: str
    last: bool = False


@dataclass(frozen=True, eq=False)
class RemoveAttribute:
    """Remove an attribute that an element has, with the white space before it.

    instead : name and value of another attribute that takes its place.
    """

    element: XmlElement
    name: str
    instead: tuple[str, str] | None = None


@dataclass(frozen=True, eq=False)
class InsertFirst:
    """Make ``child`` (with its own children) the first child of ``parent``."""

    parent: XmlElement
    child: XmlElement


@dataclass(frozen=True, eq=False)
class InsertAfter:
    """Put ``child`` (with its own children) after ``sibling``, an element below ``parent``."""

    parent: XmlElement
    sibling: XmlElement
    child: XmlElement


@dataclass(slots=True)
class TextElement(XmlElement):
    """An element to insert that contains a plain text."""

    text: str = ""


Edit = SetAttribute | RemoveAttribute | InsertFirst | InsertAfter


def read_document(data: bytes, where: str) -> XmlDocument:
    """The document in these bytes; raises RobotError if its elements cannot be located."""
    root = parse_xml(data, where)
    codec = _codec(data)
    try:
        text = data.decode(codec)
    except UnicodeDecodeError:
        raise _unknown_layout(where) from None
    tags: dict[int, StartTag] = {}
    ends: dict[int, int] = {}
    open_elements: list[XmlElement] = []
    elements = _in_order(root)
    for found in MARKUP.finditer(text):
        if found["end"] is not None and open_elements:
            ends[id(open_elements.pop())] = found.end()
        if found["name"] is None:
            continue
        element = next(elements, None)
        if element is None or (found["name"].isascii() and found["name"] != element.tag):
            raise _unknown_layout(where)
        tags[id(element)] = StartTag(found.start(), found.end("name"), found.end())
        if text[found.end() - 2] == "/":
            ends[id(element)] = found.end()
        else:
            open_elements.append(element)
    if next(elements, None) is not None or open_elements:
        raise _unknown_layout(where)
    return XmlDocument(where, root, text, codec, tags, ends)


def apply_edits(document: XmlDocument, edits: Sequence[Edit]) -> bytes:
    """The document's bytes with these edits made and nothing else changed."""
    pieces: list[tuple[int, int, str]] = []
    for edit in edits:
        if isinstance(edit, SetAttribute):
            pieces.append(_attribute_piece(document, edit))
        elif isinstance(edit, RemoveAttribute):
            pieces.append(_removal_piece(document, edit))
        elif isinstance(edit, InsertFirst):
            pieces.append(_child_piece(document, edit))
        else:
            pieces.append(_following_piece(document, edit))
    text, at = [], 0
    # a stable order: edits at one place follow each other as they are given
    for start, end, new in sorted(pieces, key=lambda piece: piece[:2]):
        text += [document.text[at:start], new]
        at = end
    text.append(document.text[at:])
    data = "".join(text).encode(document.codec)
    _confirm(document, edits, data)
    return data


def _codec(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"<\x00")):
        return "utf-16-le"
    if data.startswith((b"\xfe\xff", b"\x00<")):
        return "utf-16-be"
    return "latin-1"


def _in_order(root: XmlElement) -> Iterator[XmlElement]:
    """Elements in the order of their start tags."""
    stack = [root]
    while stack:
        element = stack.pop()
        yield element
        stack.extend(reversed(element.children))


def _attribute_piece(document: XmlDocument, edit: SetAttribute) -> tuple[int, int, str]:
    if not PLAIN_VALUE.fullmatch(edit.value):
        raise ValueError(f"not a plain attribute value: {edit.value!r}")
    span = document.value_span(edit.element, edit.name)
    if span is not None:
        return (*span, edit.value)
    tag = document.tag(edit.element)
    at = tag.name_end
    if edit.last:
        attributes = ATTRIBUTE.finditer(document.text, tag.name_end, tag.end)
        at = max((found.end() for found in attributes), default=at)
    return at, at, f' {edit.name}="{edit.value}"'


def _removal_piece(document: XmlDocument, edit: RemoveAttribute) -> tuple[int, int, str]:
    tag = document.tag(edit.element)
    for found in ATTRIBUTE.finditer(document.text, tag.name_end, tag.end):
        if found["name"] == edit.name and edit.instead is not None:
            name, value = edit.instead
            return found.start("name"), found.end(), f'{name}="{value}"'
        if found["name"] == edit.name:
            start = len(document.text[: found.start("name")].rstrip(SPACE))
            return start, found.end(), ""
    raise ValueError(f"<{edit.element.tag}> has no attribute {edit.name!r}")


def _child_piece(document: XmlDocument, edit: InsertFirst) -> tuple[int, int, str]:
    """The new child, before the existing ones and indented like them."""
    tag = document.tag(edit.parent)
    if edit.parent.children:
        at = document.tag(edit.parent.children[0]).start
        margin = _space_before(document.text, at)
        step = _step(margin, _space_before(document.text, tag.start))
        return at, at, _rendered(edit.child, margin, step) + margin
    outer = _space_before(document.text, tag.start)
    margin = f"{outer}  " if "\n" in outer else ""
    inner = margin + _rendered(edit.child, margin, "  ") + (outer if margin else "")
    if document.text[tag.end - 2] == "/":
        start = len(document.text[: tag.end - 2].rstrip(SPACE))
        name = document.text[tag.start + 1 : tag.name_end]
        return start, tag.end, f">{inner}</{name}>"
    return tag.end, tag.end, inner


def _following_piece(document: XmlDocument, edit: InsertAfter) -> tuple[int, int, str]:
    """The new element, after its sibling and indented like it."""
    at = document.ends[id(edit.sibling)]
    margin = _space_before(document.text, document.tag(edit.sibling).start)
    step = _step(margin, _space_before(document.text, document.tag(edit.parent).start))
    return at, at, margin + _rendered(edit.child, margin, step)


def _space_before(text: str, at: int) -> str:
    """White space before a tag, from its last line break on if it has one."""
    start = at
    while start > 0 and text[start - 1] in SPACE:
        start -= 1
    space = text[start:at]
    line = space.rfind("\n")
    if line > 0 and space[line - 1] == "\r":
        line -= 1
    return space[line:] if line >= 0 else space


def _step(margin: str, outer: str) -> str:
    """How much deeper ``margin`` is indented than ``outer``."""
    inner, outer = margin.lstrip("\r\n"), outer.lstrip("\r\n")
    return inner[len(outer) :] if len(inner) > len(outer) and inner.startswith(outer) else "  "


def _rendered(element: XmlElement, margin: str, step: str) -> str:
    attributes = "".join(
        f' {name}="{_escaped(value)}"' for name, value in element.attributes.items()
    )
    if isinstance(element, TextElement):
        return f"<{element.tag}{attributes}>{_escaped(element.text)}</{element.tag}>"
    if not element.children:
        return f"<{element.tag}{attributes}/>"
    deeper = margin + step if "\n" in margin else ""
    inner = "".join(deeper + _rendered(child, deeper, step) for child in element.children)
    return f"<{element.tag}{attributes}>{inner}{margin if deeper else ''}</{element.tag}>"


def _escaped(text: str) -> str:
    """Text in ASCII, which is the same in every encoding that a document may have."""
    plain = "".join(f"&#{ord(c)};" if c in "<>&\"'" else c for c in text)
    return plain.encode("ascii", "xmlcharrefreplace").decode("ascii")


def _confirm(document: XmlDocument, edits: Sequence[Edit], data: bytes) -> None:
    """Raise RobotError unless the new bytes parse to the old document with these edits."""
    values: dict[int, dict[str, str]] = {}
    removed: dict[int, set[str]] = {}
    inserted: dict[int, list[XmlElement]] = {}
    following: dict[int, list[XmlElement]] = {}
    for edit in edits:
        if isinstance(edit, SetAttribute):
            values.setdefault(id(edit.element), {})[edit.name] = edit.value
        elif isinstance(edit, RemoveAttribute):
            removed.setdefault(id(edit.element), set()).add(edit.name)
            values.setdefault(id(edit.element), {}).update([edit.instead] if edit.instead else [])
        elif isinstance(edit, InsertFirst):
            inserted.setdefault(id(edit.parent), []).append(edit.child)
        else:
            following.setdefault(id(edit.sibling), []).append(edit.child)
    stack = [(document.root, parse_xml(data, document.where))]
    while stack:
        old, new = stack.pop()
        stay = old.attributes.keys() - removed.get(id(old), set())
        expected = {name: old.attributes[name] for name in stay} | values.get(id(old), {})
        children = list(inserted.get(id(old), ()))
        for child in old.children:
            children += [child, *following.get(id(child), ())]
        if (
            old.tag != new.tag
            or _words(expected) != _words(new.attributes)
            or len(children) != len(new.children)
        ):
            raise _unknown_layout(document.where)
        stack.extend(zip(children, new.children, strict=True))


def _words(attributes: dict[str, str]) -> dict[str, list[str]]:
    """Attribute values split at white space, which the parser does not keep either."""
    return {name: value.split() for name, value in attributes.items()}


def _unknown_layout(where: str) -> RobotError:
    return RobotError(
        f"{where} cannot be edited in place: its elements cannot be located in the file; "
        "save it as UTF-8 first"
    )
