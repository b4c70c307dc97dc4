"""Legged robots of example-robot-data, with inertials that differ from the truth by 20 %."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from contender import PeerAbsentError
from numpy.typing import NDArray

Array = NDArray[np.float64]
SHARE = 0.2
"""Mass, coordinates of the centre of mass and second moments of the file are off by this share."""
PACKAGE = "example-robot-data"
MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


@dataclass(frozen=True)
class LeggedRobot:
    """A robot with a floating base, and what is recorded of it.

    path : of its URDF, below the folder ``robots`` of example-robot-data. base_motion : "pose" or
    "imu"; imu : the link of the IMU. feet : links on which it stands; none if it hangs.
    """

    name: str
    path: str
    base_motion: str = "pose"
    imu: str | None = None
    feet: tuple[str, ...] = ()

    def text(self) -> str:
        """The URDF of example-robot-data, which is the truth."""
        return (robots_folder() / self.path).read_text(encoding="utf-8")


TALOS = LeggedRobot("talos", "talos_data/robots/talos_full_v2.urdf")
G1 = LeggedRobot("g1", "g1_description/urdf/g1_29dof_rev_1_0.urdf", "imu", "imu_in_pelvis")
SOLO = LeggedRobot(
    "solo12",
    "solo_description/robots/solo12.urdf",
    feet=("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT"),
)


def robots_folder() -> Path:
    """The folder ``robots`` of the installed example-robot-data."""
    try:
        package = distribution(PACKAGE)
    except PackageNotFoundError:
        raise PeerAbsentError(f"{PACKAGE} is not installed") from None
    for file in package.files or ():
        if file.parts[-1] == "talos_full_v2.urdf":
            return Path(str(package.locate_file(file))).resolve().parents[2]
    raise PeerAbsentError(f"{PACKAGE} has no robots")


def perturbed(text: str, seed: int) -> str:
    """The URDF with inertials that are off by 20 %, up or down by a coin for each number.

    Mass m, each coordinate of the centre of mass, and the second moments S = trace(I)/2 1 - I as
    D S D with a diagonal D, which keeps every body physical.
    """
    rng = np.random.default_rng(seed)

    def factors(n: int) -> Array:
        return np.asarray(1.0 + SHARE * rng.choice([-1.0, 1.0], n))

    root = ElementTree.fromstring(text)
    for inertial in root.iter("inertial"):
        mass, moments, origin = (inertial.find(tag) for tag in ("mass", "inertia", "origin"))
        if mass is None or moments is None:
            continue
        mass.set("value", repr(float(float(mass.get("value", "0")) * factors(1)[0])))
        if origin is not None:
            com = np.array([float(x) for x in (origin.get("xyz") or "0 0 0").split()])
            origin.set("xyz", " ".join(repr(float(x)) for x in com * factors(3)))
        xx, xy, xz, yy, yz, zz = (float(moments.get(name, "0")) for name in MOMENTS)
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        second = 0.5 * np.trace(inertia) * np.eye(3) - inertia
        D = np.diag(np.sqrt(factors(3)))
        second = D @ second @ D
        inertia = np.trace(second) * np.eye(3) - second
        for k, (i, j) in enumerate([(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]):
            moments.set(MOMENTS[k], repr(float(inertia[i, j])))
    return ElementTree.tostring(root, encoding="unicode")
