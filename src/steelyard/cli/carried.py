"""Options for a payload that the simulated robot carries, and for the sensor below it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from steelyard.errors import SimulationError, shown

if TYPE_CHECKING:
    from steelyard.knowledge.payload import Payload


def add_payload_arguments(parser: argparse.ArgumentParser) -> None:
    """The payload and the force/torque sensor."""
    group = parser.add_argument_group("a payload, and a force/torque sensor that carries it")
    add = group.add_argument
    add("--payload", metavar="KG|FILE",
        help="mass of a payload, 0 for none, or the payload.json of steelyard payload")  # fmt: skip
    add("--payload-link", metavar="LINK",
        help="link that carries it (default: that of the file, or of --sensor)")  # fmt: skip
    add("--payload-com", nargs=3, type=float, metavar=("X", "Y", "Z"),
        help="its centre of mass in the frame of that link, m (default: the origin)")  # fmt: skip
    add("--payload-size", nargs=3, type=float, metavar=("X", "Y", "Z"),
        help="edges of the box that it is, along the link's axes, m (default: a cube of 1000 "
        "kg/m³)")  # fmt: skip
    add("--payload-inertia", nargs=6, type=float,
        metavar=("IXX", "IXY", "IXZ", "IYY", "IYZ", "IZZ"),
        help="instead of a size, its inertia about its centre of mass, in the link's axes, kg m²; "
        "zeros for a point mass")  # fmt: skip
    add("--sensor", metavar="LINK",
        help="log the wrench that acts on the payload, as a sensor between this link and the "
        "payload measures it; without a payload, its bias and noise")  # fmt: skip
    add("--sensor-noise", nargs=2, type=float, default=(0.0, 0.0), metavar=("F", "T"),
        help="standard deviation of its forces, N, and torques, N m")  # fmt: skip
    add("--sensor-bias", nargs=6, type=float, default=(0.0,) * 6,
        metavar=("FX", "FY", "FZ", "TX", "TY", "TZ"),
        help="what it shows without load, N and N m")  # fmt: skip


def payload_from(arguments: argparse.Namespace) -> Payload | None:
    """The payload that the options state; None without one, or for one without mass."""
    from steelyard.knowledge.payload import Payload
    from steelyard.payload.known_payload import known_payload
    from steelyard.payload.payload_file import read_payload
    from steelyard.robot.conventions import from_vech
    from steelyard.simulation.carried_payload import box_inertia

    given = arguments.payload
    shape = {
        "--payload-com": arguments.payload_com,
        "--payload-size": arguments.payload_size,
        "--payload-inertia": arguments.payload_inertia,
    }
    if given is None:
        for option, value in (*shape.items(), ("--payload-link", arguments.payload_link)):
            if value is not None:
                raise SimulationError(f"{option} is given, but no --payload")
        return None
    mass = _number(given)
    if mass is None:
        for option, value in shape.items():
            if value is not None:
                raise SimulationError(
                    f"{option} is given, but --payload {shown(given)} is a file, which states it"
                )
        weighed = read_payload(given)
        return known_payload(weighed, link=arguments.payload_link) if weighed.phi.any() else None
    link = arguments.payload_link or arguments.sensor
    if link is None:
        raise SimulationError(
            "--payload states a mass; give --payload-link LINK, which carries it, too"
        )
    stated = arguments.payload_inertia
    if stated is not None and arguments.payload_size is not None:
        raise SimulationError(
            "--payload-size and --payload-inertia both say how large the payload is; give one"
        )
    if mass == 0.0 and not any(stated or ()):
        return None
    Payload.of(link, mass)  # refuses an impossible mass before it is given a size
    com = (0.0, 0.0, 0.0) if arguments.payload_com is None else arguments.payload_com
    inertia = box_inertia(mass, arguments.payload_size) if stated is None else from_vech(stated)
    return Payload.of(link, mass, com, inertia)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
