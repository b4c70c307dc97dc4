"""Whether links of a URDF are exactly physical, with the digits in the file.

A URDF states mass ``m`` and the inertia ``I`` about the centre of mass, in its own axes. Rotating
the axes does not change eigenvalues, so the link is physical if and only if ``m > 0`` and
``½ tr(I) 1 - I`` is positive semidefinite for the six numbers as written (or all are zero).
Decimal texts are rational numbers, so this is decided without rounding.

Uses Python's standard library only: certificates are verified with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from steelyard._files.xml import XmlElement, attribute, number, parse_xml
from steelyard.conic.exact import is_psd
from steelyard.errors import ModelError, RobotError, shown

INERTIA_ENTRIES = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
SMALLEST_EXPONENT = -400  # a 64-bit float cannot hold less than about 1e-324


def rational(text: str) -> Fraction:
    """A decimal text as an exact rational number.

    Exponents are checked first: 1e-999999999 as a fraction would not fit into memory.
    """
    mantissa, _, exponent = text.strip().lower().partition("e")
    if not any(digit in mantissa for digit in "123456789"):
        return Fraction(0)
    if exponent and int(exponent) < SMALLEST_EXPONENT:
        raise ModelError(f"'{text.strip()}', too small for a 64-bit float; write 0")
    return Fraction(text.strip())


def exactly_physical(mass: str, inertia: Sequence[str]) -> bool:
    """Whether mass and inertia (xx, xy, xz, yy, yz, zz) are exactly physical as written."""
    m = rational(mass)
    xx, xy, xz, yy, yz, zz = (rational(text) for text in inertia)
    if m == 0:
        return not any((xx, xy, xz, yy, yz, zz))
    half = (xx + yy + zz) / 2
    second = [[half - xx, -xy, -xz], [-xy, half - yy, -yz], [-xz, -yz, half - zz]]
    return m > 0 and is_psd(second)


def stated_inertials(root: XmlElement) -> dict[str, XmlElement]:
    """The <inertial> of every link that has one, by link.

    Two in a link, two links of one name, or two masses, inertias or origins in an <inertial> are
    refused: programs differ in which of them they take.
    """
    found: dict[str, XmlElement] = {}
    names: set[str] = set()
    for link in root.all("link"):
        name = attribute(link, "name", "a link")
        owner = f"link {shown(name)}"
        if name in names:
            raise RobotError(f"{owner} is there twice, the second time in line {link.line}")
        names.add(name)
        inertial = link.one("inertial", owner)
        if inertial is not None:
            for tag in ("mass", "inertia", "origin"):
                inertial.one(tag, f"{owner}: its <inertial>")
            found[name] = inertial
    return found


def stated_texts(inertial: XmlElement, link: str) -> tuple[str, tuple[str, ...]]:
    """Mass and inertia (xx, xy, xz, yy, yz, zz) of an <inertial> as its file writes them."""
    owner = f"link {shown(link)}"
    mass, inertia = inertial.first("mass"), inertial.first("inertia")
    if mass is None or inertia is None:
        raise RobotError(f"{owner}: its <inertial> states no mass or no inertia")
    texts = tuple(attribute(inertia, entry, owner) for entry in INERTIA_ENTRIES)
    mass_text = attribute(mass, "value", owner)
    for text in (mass_text, *texts):
        number(text, f"{owner}: a number of its <inertial>")
    return mass_text, texts


def is_exact(inertial: XmlElement, link: str) -> bool:
    """Whether an <inertial> is exactly physical with its digits."""
    try:
        return exactly_physical(*stated_texts(inertial, link))
    except ModelError as error:
        raise ModelError(f"link '{link}': a number of its <inertial> is {error}") from None


def inexact_links(data: bytes, where: str) -> tuple[str, ...]:
    """Names of the links of a URDF that are not exactly physical with the digits in ``data``.

    where : names the file in messages.
    """
    root = parse_xml(data, where)
    if root.tag != "robot":
        raise RobotError(f"{where} has root element <{root.tag[:60]}>, not <robot>")
    inertials = stated_inertials(root)
    return tuple(name for name, inertial in inertials.items() if not is_exact(inertial, name))
