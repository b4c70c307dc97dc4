"""Replace the unphysical inertias of a URDF by the closest physical ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from steelyard._files.access import whole_file
from steelyard._files.xml import XmlElement, parse_xml, read_file
from steelyard.errors import ModelError, RobotError, quoted_list, shown_path
from steelyard.export.urdf import Change, WrittenBody, rewrite_inertials
from steelyard.robot.formats.urdf import parse_urdf
from steelyard.robot.formats.urdf_digits import is_exact, stated_inertials
from steelyard.robot.inertia import Violation
from steelyard.robot.nearest_body import FLOOR, nearest_physical
from steelyard.robot.parts import Link
from steelyard.robot.physical_links import check_link


@dataclass(frozen=True)
class LinkRepair:
    """How one link was changed to be physical.

    violations : the rules that it broke; empty if it was unphysical in its last digits only.
    distance : Frobenius norm of the change of inertia as written, kg m².
    relative : the same divided by the norm of the stated inertia.
    changes : the numbers whose text changed.
    """

    link: str
    violations: tuple[Violation, ...]
    distance: float
    relative: float
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class NearestUrdf:
    """A URDF whose links are exactly physical with the digits in ``data``.

    repairs : the links that had to change. refused : for each link that cannot be repaired,
        the reason; it is unchanged in ``data``.
    """

    data: bytes
    repairs: tuple[LinkRepair, ...]
    refused: Mapping[str, str]

    @property
    def physical(self) -> bool:
        """Whether every link is physical now."""
        return not self.refused


def nearest_urdf(source: bytes | str | Path, *, floor: float = FLOOR) -> NearestUrdf:
    """The URDF with each unphysical inertia replaced by the closest physical one.

    Mass and centre of mass stay; :func:`steelyard.robot.nearest_body.nearest_physical` explains
    ``floor`` and what is refused. A link that is unphysical only in the last digits of its numbers
    is changed by the smallest amount that can be written. Everything else stays byte for byte. The
    result is read again and checked exactly before it is returned.
    """
    data, name = _content(source)
    links = parse_urdf(data, mimics=False, source=name).links
    stated = _inertials(data)
    bodies: dict[str, WrittenBody] = {}
    refused: dict[str, str] = {}
    for link in _unphysical(links, stated):
        try:
            bodies[link.name] = _nearest_body(link, stated[link.name], floor)
        except ModelError as error:
            refused[link.name] = str(error)
    written = rewrite_inertials(data, bodies)
    left = set(unphysical_links(written.data)) - set(refused)
    if left:
        raise ModelError(f"links {quoted_list(sorted(left))} are still not physical after repair")
    after = {link.name: link for link in parse_urdf(written.data, mimics=False).links}
    repairs = tuple(
        _repair(link, after[link.name], written.changes) for link in links if link.name in bodies
    )
    return NearestUrdf(written.data, repairs, refused)


def write_nearest_urdf(
    source: bytes | str | Path, path: str | Path, *, floor: float = FLOOR
) -> NearestUrdf:
    """Write :func:`nearest_urdf` of ``source`` atomically, and check the file again."""
    nearest = nearest_urdf(source, floor=floor)
    with whole_file(path, RobotError) as stream:
        stream.write(nearest.data)
    left = unphysical_links(path)
    if set(left) != set(nearest.refused):
        raise ModelError(f"{shown_path(path)}: links {quoted_list(left)} are not physical")
    return nearest


def unphysical_links(source: bytes | str | Path) -> tuple[str, ...]:
    """Names of the links of a URDF that are not physical.

    Checked twice: exactly, with the digits in the file, and up to rounding, with the 64-bit floats
    that are read from them.
    """
    data, name = _content(source)
    links = parse_urdf(data, mimics=False, source=name).links
    return tuple(link.name for link in _unphysical(links, _inertials(data)))


def _content(source: bytes | str | Path) -> tuple[bytes, str | None]:
    """The bytes of a file, and its name if it has one."""
    return (source, None) if isinstance(source, bytes) else (read_file(source), str(source))


def _unphysical(links: Iterable[Link], stated: Mapping[str, XmlElement]) -> tuple[Link, ...]:
    return tuple(
        link
        for link in links
        if link.name in stated
        and (check_link(link).violations or not is_exact(stated[link.name], link.name))
    )


def _inertials(data: bytes) -> dict[str, XmlElement]:
    """The first <inertial> of every link that has one."""
    return stated_inertials(parse_xml(data, "URDF text"))


def _nearest_body(link: Link, inertial: XmlElement, floor: float) -> WrittenBody:
    """The closest physical body, or the stated one if it is physical up to rounding."""
    assert link.inertial is not None
    assert link.inertia_com is not None
    origin = inertial.first("origin")
    xyz = "0 0 0" if origin is None else origin.attributes.get("xyz", "0 0 0")
    com = np.array([float(x) for x in xyz.split()])
    inertia = 0.5 * (link.inertia_com + link.inertia_com.T)
    repair = nearest_physical(float(link.inertial[0]), com, inertia, name=link.name, floor=floor)
    return WrittenBody(repair.mass, repair.com, repair.inertia_com)


def _repair(before: Link, after: Link, changes: tuple[Change, ...]) -> LinkRepair:
    assert before.inertia_com is not None
    assert after.inertia_com is not None
    distance = float(np.linalg.norm(after.inertia_com - before.inertia_com))
    return LinkRepair(
        before.name,
        check_link(before).violations,
        distance,
        distance / float(np.linalg.norm(before.inertia_com)),
        tuple(change for change in changes if change.link == before.name),
    )
