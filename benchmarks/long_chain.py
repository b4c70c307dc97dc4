"""Robots with many joints and their logs, for the benchmark `large` and for profiles.

    python benchmarks/long_chain.py FOLDER N_JOINTS [DURATION_S]

writes ``robot.urdf`` and ``log.csv`` of a chain with random bodies; see `write_case`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steelyard.excitation.motions.fourier import multisine
from steelyard.export.identified_robot import identified_robot
from steelyard.export.urdf_text import urdf_text
from steelyard.logs.log import Log
from steelyard.logs.writer_csv import write_csv
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.model.terms import default_terms
from steelyard.model.typical_sizes import known_parameters
from steelyard.robot.inertia import from_com
from steelyard.robot.parts import Joint, Limits, Link
from steelyard.robot.robot import Robot
from steelyard.robot.rotations import frozen_array
from steelyard.simulation.likely_truth import deform_bodies

Array = NDArray[np.float64]

RATE_HZ = 200.0
LENGTH_M = 0.12  # of a link
TORQUE_NOISE = 0.01  # standard deviation, as a share of each joint's torque (rms)
POSITION_NOISE = 2e-5  # rad


def long_robot(rng: np.random.Generator, n_joints: int, *, n_branches: int = 1) -> Robot:
    """Revolute joints along ``n_branches`` chains from one base, with boxes of random size.

    Axes are perpendicular to each other in turns, about 0.12 m apart; masses fall from 6 kg at the
    base to 0.3 kg at the tips.
    """
    links, joints = [Link("base", None)], []
    per_branch = -(-n_joints // n_branches)
    for i in range(n_joints):
        branch, place = divmod(i, per_branch)
        share = place / max(per_branch - 1, 1)
        mass = 6.0 * 0.05**share * rng.uniform(0.8, 1.2)
        size = np.array([LENGTH_M, 0.08, 0.08]) * rng.uniform(0.7, 1.3, size=3)
        inertia = mass / 12.0 * np.diag(np.sum(size**2) - size**2)
        com = np.array([0.5 * LENGTH_M, 0.0, 0.0]) + rng.uniform(-0.02, 0.02, size=3)
        links.append(Link(f"link_{i + 1}", frozen_array(from_com(mass, com, inertia), (10,))))
        T = np.eye(4)
        T[0, 3] = LENGTH_M if place else 0.2 * branch
        joints.append(
            Joint(
                name=f"joint_{i + 1}",
                kind="revolute",
                parent=f"link_{i}" if place else "base",
                child=f"link_{i + 1}",
                placement=frozen_array(T, (4, 4)),
                axis=frozen_array(np.roll([0.0, 1.0, 0.0], place % 2), (3,)),
                limits=Limits(-0.8, 0.8, 3.0, 2000.0, 12.0),
            )
        )
    return Robot("long", tuple(links), tuple(joints), gravity=frozen_array([0, 0, -9.81], (3,)))


def motor_model(robot: Robot) -> Model:
    """The model that `identify` uses by default."""
    return Model(robot, default_terms(robot))


def likely_parameters(model: Model, rng: np.random.Generator) -> Array:
    """Parameters that differ from the file's as real ones do, with friction and drive inertia."""
    theta = known_parameters(model)
    deform_bodies(model, theta, rng)
    sizes = {"drive_inertia": 0.02, "viscous": 0.8, "coulomb": 1.2, "offset": 0.2}
    for i, column in enumerate(model.columns):
        if column.kind in sizes:
            theta[i] = sizes[column.kind] * rng.uniform(0.5, 1.5)
    return theta


def simulated_log(model: Model, theta: Array, rng: np.random.Generator, duration_s: float) -> Log:
    """A log of a random sum of sines: position (rad) and torque (N m), both with noise."""
    time = np.arange(round(duration_s * RATE_HZ)) / RATE_HZ
    motion = multisine(
        model.robot, period_s=duration_s, n_harmonics=24, share=0.9, seed=int(rng.integers(2**31))
    )
    q, v, a = (motion.derivative(time, order) for order in range(3))
    tau = torque(model, theta, q, v, a)
    tau += TORQUE_NOISE * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
    q = q + POSITION_NOISE * rng.normal(size=q.shape)
    names = model.robot.joint_names
    return Log.from_arrays(time, np.round(q, 7), np.round(tau, 5), joints=names)


def write_case(
    folder: Path, n_joints: int, *, duration_s: float = 60.0, n_branches: int = 1, seed: int = 0
) -> tuple[Path, Path]:
    """Write ``robot.urdf`` and ``log.csv`` into the folder, and return their paths.

    The log is of a robot whose bodies differ from the file's by 5 to 15 % in mass, up to 8 % in
    shape and 15 mm in their centres of mass, and which has friction.
    """
    rng = np.random.default_rng(seed)
    robot = long_robot(rng, n_joints, n_branches=n_branches)
    model = motor_model(robot)
    truth = likely_parameters(model, rng)
    folder.mkdir(parents=True, exist_ok=True)
    paths = folder / "robot.urdf", folder / "log.csv"
    rigid = Model(robot, ())
    text = urdf_text(identified_robot(rigid, known_parameters(rigid)))
    paths[0].write_text(text, encoding="utf-8")
    write_csv(simulated_log(model, truth, rng, duration_s), paths[1])
    return paths


if __name__ == "__main__":
    duration = float(sys.argv[3]) if len(sys.argv) > 3 else 60.0
    print(*write_case(Path(sys.argv[1]), int(sys.argv[2]), duration_s=duration))
