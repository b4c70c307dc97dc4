"""What a robot file states: the result of every format reader."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from steelyard.robot.parts import STANDARD_GRAVITY, Joint, Link, gravity_vector
from steelyard.robot.rotations import frozen_array
from steelyard.robot.sizes import check_count, check_sizes
from steelyard.robot.tree import check_tree

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RobotDescription:
    """Links and joints that form one tree, and what else the file states.

    gravity : (3,) m/s² in the root link's frame. source : path of the file.
    source_sha256 : SHA-256 of the file's bytes, or of the text, as hexadecimal digits; None for a
        robot that no file or text describes.
    notes : what a user should know about that file.
    """

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    gravity: Array = field(default_factory=lambda: frozen_array(STANDARD_GRAVITY, (3,)))
    floating_base: bool = False
    source: str | None = None
    source_sha256: str | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "gravity", gravity_vector(self.gravity))
        check_tree(self.name, self.links, self.joints)
        check_count("links", len(self.links), f"robot '{self.name}'")
        check_sizes(self.links, self.joints)
