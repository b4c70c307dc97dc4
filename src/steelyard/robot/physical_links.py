"""Whether the inertials that a file states are physical, link by link."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from steelyard.errors import listed
from steelyard.findings import Finding
from steelyard.robot.inertia import (
    Violation,
    from_com,
    to_com,
    violations,
    violations_about_com,
)
from steelyard.robot.parts import Link
from steelyard.robot.robot import Robot
from steelyard.robot.rotations import frozen_array

LinkStatus = Literal["physical", "massless", "no inertial", "not physical"]


@dataclass(frozen=True)
class LinkVerdict:
    """The result of checking one link.

    verdict : "massless" (ten zeros) and "no inertial" are not errors: frames for sensors and
        tools have neither mass nor inertia.
    mass : kg as stated, None where the file states none.
    violations : the rules that are broken, empty unless the verdict is "not physical".
    """

    link: str
    verdict: LinkStatus
    mass: float | None
    violations: tuple[Violation, ...] = ()


def check_links(robot: Robot, tolerance: float = 0.0) -> tuple[LinkVerdict, ...]:
    """A verdict on every link of the robot, in the order of its file.

    Mass and inertia about the centre of mass are checked as the file states them (Traversaro
    et al. 2016, Definition 2); where a link has only the 10-vector, that is checked.

    tolerance : kg m², by which an inertia rule may be violated.
    """
    return tuple(check_link(link, tolerance) for link in robot.links)


def check_link(link: Link, tolerance: float = 0.0) -> LinkVerdict:
    """The verdict on one link; see :func:`check_links`."""
    if link.inertial is None:
        return LinkVerdict(link.name, "no inertial", None)
    mass = float(link.inertial[0])
    if link.inertia_com is None:
        found = violations(link.inertial, link.name, tolerance)
    else:
        found = violations_about_com(mass, link.inertia_com, link.name, tolerance)
    if found:
        return LinkVerdict(link.name, "not physical", mass, found)
    return LinkVerdict(link.name, "physical" if mass > 0.0 else "massless", mass)


def negative_masses(robot: Robot) -> tuple[Finding, ...]:
    """A warning that names the links whose masses are negative, where there are any."""
    bad = [link for link in robot.links if _mass(link) < 0.0]
    if not bad:
        return ()
    told = listed([f"'{link.name}' ({_mass(link):.4g} kg)" for link in bad])
    return (
        Finding(
            "warning",
            "negative-mass",
            f"the robot file has negative masses, which no body has: {told}. Correct the file "
            "('steelyard check' lists every link); logs are compared with it as if the sign were "
            "missing",
        ),
    )


def without_negative_masses(robot: Robot) -> Robot:
    """The robot with the masses of its file without their sign; centres of mass and inertias about
    them as stated.
    """
    if not negative_masses(robot):
        return robot
    return replace(robot, links=tuple(_without_sign(link) for link in robot.links))


def _without_sign(link: Link) -> Link:
    if link.inertial is None or _mass(link) >= 0.0:
        return link
    mass, com, inertia = to_com(link.inertial)
    stated = inertia if link.inertia_com is None else link.inertia_com
    return replace(link, inertial=frozen_array(from_com(-mass, com, stated), (10,)))


def _mass(link: Link) -> float:
    return 0.0 if link.inertial is None else float(link.inertial[0])


def file_findings(robot: Robot) -> tuple[Finding, ...]:
    """Notes of the reader, and how many links of the file are not physical."""
    notes = [Finding("info", "robot-file", note) for note in robot.notes]
    bad = [found.link for found in check_links(robot) if found.verdict == "not physical"]
    if bad:
        count = f"{len(bad)} of {len(robot.links)} links"
        notes.append(
            Finding(
                "info",
                "unphysical-links",
                f"{count} of the robot file are not physical: {listed(bad)}; the comparison with "
                "the file uses their inertials unchanged, the estimate does not; "
                "'steelyard check' says what is wrong with them",
            )
        )
    return tuple(notes)
