"""A seven-joint arm and a motion for it: the same for all contenders.

Needs NumPy alone, so that every contender, in whatever environment, works on the same
file and the same numbers. The geometry is that of the Barrett WAM (standard
Denavit-Hartenberg parameters of Sousa and Cortesão, IJRR 2014, Table 2); masses, inertias
and the motion are made up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import pi
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

N_JOINTS = 7
N_SAMPLES = 57_656
"""Samples of the identification run of Sousa and Cortesão (2014), section 5.2."""
SAMPLE_RATE_HZ = 500.0
N_HARMONICS = 5
BASE_FREQUENCY_HZ = 0.1

_DH_ROWS = (  # alpha (rad), a (m), d (m)
    (-pi / 2, 0.0, 0.0),
    (pi / 2, 0.0, 0.0),
    (-pi / 2, 0.045, 0.55),
    (pi / 2, -0.045, 0.0),
    (-pi / 2, 0.0, 0.3),
    (pi / 2, 0.0, 0.0),
    (0.0, 0.0, 0.06),
)
_MASSES_KG = (10.0, 3.8, 1.8, 2.4, 0.6, 0.4, 0.1)


@dataclass(frozen=True, eq=False)
class Samples:
    """A stretch of the motion: time (n,) s, q, v, a, tau (n, 7) in rad, s and N m."""

    time: Array
    q: Array
    v: Array
    a: Array
    tau: Array


def write_urdf(folder: Path) -> Path:
    """Write the arm's URDF into ``folder`` and return its path.

    Link frames are at the joints: what Denavit and Hartenberg put behind joint k (d, a
    and alpha) becomes the origin of joint k + 1.
    """
    parts = ['<robot name="wam">', '  <link name="base"/>']
    parts += [_link(k, mass) for k, mass in enumerate(_MASSES_KG, start=1)]
    origins = ((0.0, 0.0, 0.0), *_DH_ROWS[:-1])
    parts += [_joint(k, *origin) for k, origin in enumerate(origins, start=1)]
    path = folder / "wam.urdf"
    path.write_text("\n".join([*parts, "</robot>", ""]), encoding="utf-8")
    return path


def _link(k: int, mass: float) -> str:
    """A link like a box of 0.1 x 0.1 x 0.2 m, off its frame's axes."""
    x, y, z = 0.01 * k, 0.02, 0.05 + 0.01 * k
    ixx, izz = mass * (0.1**2 + 0.2**2) / 12, mass * (0.1**2 + 0.1**2) / 12
    return (
        f'  <link name="link{k}"><inertial><origin xyz="{x} {y} {z}" rpy="0 0 0"/>'
        f'<mass value="{mass}"/><inertia ixx="{ixx}" iyy="{ixx}" izz="{izz}" '
        'ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )


def _joint(k: int, alpha: float, a: float, d: float) -> str:
    parent = f"link{k - 1}" if k > 1 else "base"
    return (
        f'  <joint name="joint{k}" type="revolute"><parent link="{parent}"/>'
        f'<child link="link{k}"/><origin xyz="{a} 0 {d}" rpy="{alpha!r} 0 0"/>'
        '<axis xyz="0 0 1"/><limit lower="-3" upper="3" velocity="5" effort="100"/></joint>'
    )


def samples(start: int, stop: int) -> Samples:
    """Samples ``start`` to ``stop`` of an endless sum of sines on every joint.

    q and its derivatives are exact; tau is smooth plus noise and does not follow from any
    parameters, which does not affect the work of any contender.
    """
    design = np.random.default_rng(0)
    amplitude = design.uniform(-0.4, 0.4, (N_HARMONICS, N_JOINTS))
    phase = design.uniform(0.0, 2 * pi, (N_HARMONICS, N_JOINTS))
    # slightly off the harmonics, so that a longer run keeps reaching new states
    detune = design.uniform(0.98, 1.02, (N_HARMONICS, N_JOINTS))
    omega = 2 * pi * BASE_FREQUENCY_HZ * np.arange(1, N_HARMONICS + 1)[:, None] * detune
    time = np.arange(start, stop) / SAMPLE_RATE_HZ
    angle = omega * time[:, None, None] + phase
    q = np.sum(amplitude * np.sin(angle), axis=1)
    v = np.sum(amplitude * omega * np.cos(angle), axis=1)
    a = np.sum(-amplitude * omega**2 * np.sin(angle), axis=1)
    noise = np.random.default_rng((1, start)).normal(scale=0.1, size=q.shape)
    tau = 10.0 * np.sin(q) + 2.0 * v + 0.5 * a + np.sign(v) + noise
    return Samples(time, q, v, a, tau)


def stream(n_samples: int, chunk: int = 4096) -> Iterator[Samples]:
    """The first ``n_samples`` in chunks, generated one at a time."""
    for start in range(0, n_samples, chunk):
        yield samples(start, min(start + chunk, n_samples))


def recording(n_samples: int = N_SAMPLES) -> Samples:
    """The first ``n_samples`` at once; the same numbers as `stream` gives."""
    chunks = list(stream(n_samples))
    return Samples(
        *(np.concatenate([getattr(c, name) for c in chunks]) for name in Samples.__annotations__)
    )
