"""The most common constraints as options; an overlay can state all of them."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from steelyard.errors import ModelError, shown
from steelyard.model.attached_links import RULES

if TYPE_CHECKING:
    from steelyard.knowledge.constraints import Constraints


def add_constraint_arguments(parser: argparse.ArgumentParser) -> None:
    """Options that state what is known of the robot."""
    parser.add_argument(
        "--consistency",
        choices=("full", "sousa"),
        help="full: pseudo-inertia positive semidefinite (default); "
        "sousa: the weaker 6×6 condition of Sousa and Cortesão (2014)",
    )
    parser.add_argument(
        "--total-mass",
        nargs=2,
        type=float,
        metavar=("MIN", "MAX"),
        help="range of the total mass of all moving bodies, kg",
    )
    parser.add_argument(
        "--mass",
        action="append",
        default=[],
        metavar="LINK=MIN:MAX",
        help="range of the mass of one body, kg; may be repeated",
    )
    parser.add_argument(
        "--attached",
        choices=("auto", *RULES),
        default="auto",
        help="links that fixed or locked joints hold to a moving link: keep: they keep the "
        "inertials of the robot file, and the rest of the body must be physical; lump: the moving "
        "link gets everything, and they are emptied; auto: keep, unless lump predicts left-out "
        "parts of the logs clearly better (default: auto)",
    )


def constraints_from(arguments: argparse.Namespace, given: Constraints) -> Constraints:
    """``given``, in which what the options state is replaced."""
    if arguments.consistency is not None:
        given = replace(given, consistency=arguments.consistency)
    if arguments.total_mass is not None:
        low, high = arguments.total_mass
        given = replace(given, total_mass=(low, high))
    masses = dict(given.mass)
    for text in arguments.mass:
        name, low, high = mass_range(text)
        masses[name] = (low, high)
    return replace(given, mass=masses)


def mass_range(text: str) -> tuple[str, float, float]:
    """Name and range of ``LINK=MIN:MAX``."""
    name, equals, limits = text.rpartition("=")
    low, colon, high = limits.partition(":")
    try:
        if not (equals and colon and name):
            raise ValueError(text)
        return name, float(low), float(high)
    except ValueError:
        raise ModelError(f"--mass is {shown(text)}; it must be like forearm=1.5:3") from None
