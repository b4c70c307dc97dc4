"""The two arms of the sequential method's paper, rebuilt with stated numbers.

The paper gives neither geometry nor true values, noise or A. These are ours:

- `puma`: the first three joints of a PUMA-like arm: waist (vertical), shoulder and elbow
  (horizontal and parallel), 0.43 m from shoulder to elbow, 0.15 m sideways; links of 13, 17.4 and
  6 kg.
- `nine`: nine joints, axes in turn vertical and horizontal, 0.25 m from joint to joint; links from
  6 kg at the base to 0.8 kg at the tip.

Every link is a solid box; each joint has viscous and Coulomb friction, so that a link has 12
parameters. Joints move on sums of five sines for 10 s, sampled at 200 Hz, with exact derivatives.
The torque of joint j has Gaussian noise of 2 % of its rms, and A_j sin(100 t), with A_j 5 % of its
rms. A second motion of the same kind, without noise, is held out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.model.terms import joint_terms
from steelyard.robot.inertia import from_com
from steelyard.robot.parts import Joint, Limits, Link
from steelyard.robot.robot import Robot
from steelyard.robot.rotations import frozen_array
from steelyard.signals.motion import Measurements, Motion

NOISE, DISTURBANCE, OMEGA = 0.02, 0.05, 100.0
DURATION_S, RATE_HZ = 10.0, 200.0
Y, Z = (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Arm:
    """A model, its true parameters, two motions, and the disturbed torque on the first.

    tau : (n_samples, n_joints) N m, measured. clean : without noise and disturbance.
    held_out, held_out_tau : a motion that is not used, and its torque without noise.
    """

    model: Model
    truth: np.ndarray
    motion: Motion
    tau: np.ndarray
    clean: np.ndarray
    held_out: Motion
    held_out_tau: np.ndarray

    @property
    def measurements(self) -> Measurements:
        """The disturbed torques."""
        return Measurements(self.model.channels, self.tau)


def puma(seed: int = 1) -> Arm:
    """The PUMA-like arm with three joints."""
    links = (
        ((0.0, 0.0, 0.67), Z, 13.0, (0.0, 0.05, -0.15), (0.20, 0.20, 0.45)),
        ((0.0, 0.15, 0.0), Y, 17.4, (0.18, 0.05, 0.01), (0.60, 0.16, 0.20)),
        ((0.43, -0.05, 0.0), Y, 6.0, (0.0, -0.01, 0.14), (0.12, 0.12, 0.45)),
    )
    friction = ((6.0, 5.0), (7.0, 6.0), (3.0, 3.0))
    return _arm("puma", links, friction, seed)


def nine(seed: int = 2) -> Arm:
    """The arm with nine joints."""
    links, friction = [], []
    for k in range(9):
        mass = float(np.interp(k, [0, 8], [6.0, 0.8]))
        side = float(np.interp(k, [0, 8], [0.16, 0.06]))
        com = (0.125, 0.02 * (-1) ** k, 0.015)
        where = (0.0, 0.0, 0.30) if k == 0 else (0.25, 0.0, 0.0)
        links.append((where, Z if k % 2 == 0 else Y, mass, com, (0.25, side, 0.8 * side)))
        friction.append((float(np.interp(k, [0, 8], [4.0, 0.3])),) * 2)
    return _arm("nine", tuple(links), tuple(friction), seed)


def _arm(name: str, links, friction, seed: int) -> Arm:
    parts, joints = [Link("base", None)], []
    for k, (where, axis, mass, com, box) in enumerate(links, start=1):
        a, b, c = (side**2 for side in box)
        inertia = mass / 12.0 * np.diag([b + c, a + c, a + b])
        body = from_com(mass, np.array(com), inertia)
        parts.append(Link(f"link{k}", frozen_array(body, (10,))))
        placement = np.eye(4)
        placement[:3, 3] = where
        joints.append(
            Joint(
                name=f"joint{k}",
                kind="revolute",
                parent=parts[-2].name,
                child=f"link{k}",
                placement=frozen_array(placement, (4, 4)),
                axis=frozen_array(np.array(axis), (3,)),
                limits=Limits(-3.0, 3.0, 5.0, 500.0, None),
            )
        )
    robot = Robot(
        name, tuple(parts), tuple(joints), gravity=frozen_array(np.array([0.0, 0.0, -9.81]), (3,))
    )
    model = Model(robot, joint_terms(robot.joint_names, ("viscous", "coulomb")))
    truth = model.theta(
        {
            f"joint{k}.{symbol}": value
            for k, both in enumerate(friction, start=1)
            for symbol, value in zip(("fv", "fc"), both, strict=True)
        }
    )
    rng = np.random.default_rng(seed)
    motion, held_out = (sines(rng, len(links)) for _ in range(2))
    clean = torque(model, truth, motion.q, motion.v, motion.a)
    rms = np.sqrt(np.mean(clean**2, axis=0))
    wave = np.sin(OMEGA * motion.time)[:, None]
    tau = clean + NOISE * rms * rng.normal(size=clean.shape) + DISTURBANCE * rms * wave
    other = torque(model, truth, held_out.q, held_out.v, held_out.a)
    return Arm(model, truth, motion, tau, clean, held_out, other)


def sines(rng: np.random.Generator, n_joints: int) -> Motion:
    """Sums of five sines of the period of 10 s, with derivatives; up to about 2 rad/s."""
    time = np.arange(int(DURATION_S * RATE_HZ)) / RATE_HZ
    q, v, a = (np.zeros((len(time), n_joints)) for _ in range(3))
    for harmonic in range(1, 6):
        w = 2.0 * np.pi * harmonic / DURATION_S
        size, phase = rng.uniform(0.3, 0.8, n_joints), rng.uniform(0.0, 2.0 * np.pi, n_joints)
        angle = w * time[:, None] + phase
        q += size / w * np.sin(angle)
        v += size * np.cos(angle)
        a -= size * w * np.sin(angle)
    return Motion(time, q, v, a, "sines")
