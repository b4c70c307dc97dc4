"""A UFACTORY xArm7: the true robot of a benchmark, and the file that every contender is given.

Needs NumPy alone. Kinematics, masses and inertias are those of the maker's public description,
its angles of 1.5708 included. Friction and drive inertia are made up. The file has every mass,
centre of mass and moment 20 to 30 % wrong, with random signs, and stays physical.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

N_JOINTS = 7
JOINTS = tuple(f"joint{k}" for k in range(1, N_JOINTS + 1))
LINKS = tuple(f"link{k}" for k in range(1, N_JOINTS + 1))
COULOMB = np.array([3.0, 3.5, 2.0, 2.2, 1.0, 0.9, 0.5])
"""N m."""
VISCOUS = np.array([2.0, 2.0, 1.0, 1.0, 0.5, 0.5, 0.3])
"""N m s/rad."""
DRIVE_INERTIA = np.array([0.10, 0.10, 0.08, 0.06, 0.04, 0.03, 0.02])
"""kg m², on the joint's side of the gears."""
FILE_SEED = 7

_ORIGINS = (  # xyz (m), roll (rad) of each joint
    ((0.0, 0.0, 0.267), 0.0),
    ((0.0, 0.0, 0.0), -1.5708),
    ((0.0, -0.293, 0.0), 1.5708),
    ((0.0525, 0.0, 0.0), 1.5708),
    ((0.0775, -0.3425, 0.0), 1.5708),
    ((0.0, 0.0, 0.0), 1.5708),
    ((0.076, 0.097, 0.0), -1.5708),
)
_LIMITS = (  # lower, upper (rad), effort (N m)
    (-6.2832, 6.2832, 50.0),
    (-2.059, 2.0944, 50.0),
    (-6.2832, 6.2832, 30.0),
    (-0.19198, 3.927, 30.0),
    (-6.2832, 6.2832, 30.0),
    (-1.69297, 3.14159, 20.0),
    (-6.2832, 6.2832, 20.0),
)
_INERTIALS = (  # mass, centre of mass, ixx, ixy, ixz, iyy, iyz, izz about it
    (2.382, (-0.0002, 0.02905, -0.01233),
     (0.0056905, -1.579e-05, 5.125e-06, 0.0049566, -0.000873378, 0.003316654)),
    (1.869, (0.00022, -0.12856, 0.01735),
     (0.0095989, 1.541e-06, 5.56e-06, 0.00382472, -0.00317156, 0.007565669)),
    (1.6383, (0.0466, -0.02463, -0.00768),
     (0.00310955, 0.00030837, -0.00058453, 0.00264483, 0.000338893, 0.0026624)),
    (1.7269, (0.07047, -0.11575, 0.012),
     (0.005889, 0.00137112, 0.00088143, 0.00359703, -0.001762155, 0.00543244)),
    (1.3203, (-0.00032, 0.01604, -0.026),
     (0.00534665, 1.5117e-05, -3.69e-07, 0.0049779, -0.00022132, 0.0013624)),
    (1.325, (0.06469, 0.03278, 0.02141),
     (0.0014745, -0.000488, 0.0002953, 0.0019037, 0.00014749, 0.0023652)),
    (0.17, (0.0, -0.00677, -0.01098),
     (9.3e-05, 0.0, 0.0, 5.87e-05, -3.6e-06, 0.000132)),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Inertial:
    """Mass (kg), centre of mass (3,) m in the link frame, and inertia (3, 3) kg m² about it."""

    mass: float
    com: Array
    inertia_com: Array


def true_inertials() -> tuple[Inertial, ...]:
    """Those of the simulated robot, link by link."""
    found = []
    for mass, com, (xx, xy, xz, yy, yz, zz) in _INERTIALS:
        matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        found.append(Inertial(mass, np.array(com), matrix))
    return tuple(found)


def wrong_inertials(seed: int = FILE_SEED) -> tuple[Inertial, ...]:
    """Those of the file: mass, each coordinate of the centre of mass and each second moment
    20 to 30 % larger or smaller.

    The second moments S = trace(I)/2 1 - I are scaled as D S D with a diagonal D, which keeps
    them positive definite, and the body physical.
    """
    rng = np.random.default_rng(seed)

    def factors(n: int) -> Array:
        return 1.0 + rng.choice([-1.0, 1.0], n) * rng.uniform(0.2, 0.3, n)

    found = []
    for true in true_inertials():
        second = 0.5 * np.trace(true.inertia_com) * np.eye(3) - true.inertia_com
        D = np.diag(np.sqrt(factors(3)))
        second = D @ second @ D
        inertia = np.trace(second) * np.eye(3) - second
        found.append(Inertial(float(true.mass * factors(1)[0]), true.com * factors(3), inertia))
    return tuple(found)


def true_values() -> dict[str, float]:
    """Every true parameter by the name of its column in Steelyard's default model."""
    from steelyard.robot.inertia import PARAMETERS, from_com

    values: dict[str, float] = {}
    for k, (joint, link, true) in enumerate(zip(JOINTS, LINKS, true_inertials(), strict=True)):
        phi = from_com(true.mass, true.com, true.inertia_com)
        values |= {f"{link}.{name}": float(x) for name, x in zip(PARAMETERS, phi, strict=True)}
        values[f"{joint}.Ia"] = float(DRIVE_INERTIA[k])
        values[f"{joint}.fv"] = float(VISCOUS[k])
        values[f"{joint}.fc"] = float(COULOMB[k])
        values[f"{joint}.fo"] = 0.0
    return values


def urdf_text(inertials: tuple[Inertial, ...]) -> str:
    """The arm as a URDF with these inertials."""
    parts = ['<robot name="xarm7">', '  <link name="link_base"/>']
    parts += [_link(name, body) for name, body in zip(LINKS, inertials, strict=True)]
    parts += [_joint(k) for k in range(N_JOINTS)]
    return "\n".join([*parts, "</robot>", ""])


def write_file(folder: Path) -> Path:
    """Write the URDF that contenders are given into ``folder`` and return its path."""
    path = folder / "xarm7.urdf"
    path.write_text(urdf_text(wrong_inertials()), encoding="utf-8")
    return path


def _link(name: str, body: Inertial) -> str:
    com, matrix = (" ".join(f"{x:.12g}" for x in body.com)), body.inertia_com
    entries = " ".join(
        f'i{"xyz"[i]}{"xyz"[j]}="{matrix[i, j]:.12g}"' for i in range(3) for j in range(i, 3)
    )
    return (
        f'  <link name="{name}"><inertial><origin xyz="{com}" rpy="0 0 0"/>'
        f'<mass value="{body.mass:.12g}"/><inertia {entries}/></inertial></link>'
    )


def _joint(k: int) -> str:
    (x, y, z), roll = _ORIGINS[k]
    lower, upper, effort = _LIMITS[k]
    return (
        f'  <joint name="{JOINTS[k]}" type="revolute">'
        f'<parent link="{LINKS[k - 1] if k else "link_base"}"/><child link="{LINKS[k]}"/>'
        f'<origin xyz="{x} {y} {z}" rpy="{roll} 0 0"/><axis xyz="0 0 1"/>'
        f'<limit lower="{lower}" upper="{upper}" velocity="3.14" effort="{effort}"/></joint>'
    )
