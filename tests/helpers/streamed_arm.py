"""An arm that moves from posture to posture with a payload on its tool, sample by sample.

Positions are quintic polynomials of time, so that speeds and accelerations are exact; the motion
of the tool follows from them by NumPy, and torques from Steelyard's batched kernel. Both have
nothing in common with the compiled loops of a payload stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.robot.inertia import inertia_origin, transform
from steelyard.simulation.builtin_arm import builtin_arm, builtin_truth

RATE_HZ = 1000.0
TOOL = "tool"
TORQUE_SIGMA = np.array([0.3, 0.3, 0.2, 0.2, 0.1, 0.1, 0.1])
WRENCH_SIGMA = np.array(3 * [0.2] + 3 * [0.01])
BIAS = np.array([4.0, -3.0, 5.0, 0.2, -0.3, 0.1])
SLOW = 0.02
"""Time constant (s) of the part of the noise that is not white."""


@dataclass(frozen=True)
class Samples:
    """One move, (n, ...) each: joint motion, torques of the arm with its payload, and the wrench
    of the sensor with noise and bias.
    """

    time: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    wrench: np.ndarray


class StreamedArm:
    """The built-in arm on random moves with rests between them.

    coloured : rms of the slow part of the noise, as a share of the white part.
    """

    def __init__(self, seed: int, *, coloured: float = 0.0, friction_error: float = 0.0) -> None:
        self.rng = np.random.default_rng(seed)
        self.model = Model(builtin_arm())
        self.theta = builtin_truth(self.model)
        self.true_theta = self.theta.copy()
        for k, column in enumerate(self.model.columns):
            if column.symbol in ("fv", "fc"):
                self.true_theta[k] *= 1.0 + friction_error * self.rng.standard_normal()
        self.coloured = coloured
        self.at = self.rng.uniform(-1.0, 1.0, self.model.nv)
        self.time = 0.0
        self.slow = np.zeros(self.model.nv + 6)

    def moves(self, duration_s: float, payload, rest_s=(0.0, 0.6)) -> Iterator[Samples]:
        """Moves until duration_s from now have passed; payload : function of time to phi (10,),
        or two of them and the time of the change.
        """
        end = self.time + duration_s
        while self.time < end:
            yield self._move(payload, self.rng.uniform(*rest_s))

    def still(self, duration_s: float, payload) -> Samples:
        """Stand at rest."""
        return self._samples(np.zeros(self.model.nv), 1.0, duration_s - 1.0, payload)

    def _move(self, payload, rest_s: float) -> Samples:
        target = self.rng.uniform(-1.2, 1.2, self.model.nv)
        return self._samples(target - self.at, self.rng.uniform(0.8, 2.0), rest_s, payload)

    def _samples(self, distance, duration_s: float, rest_s: float, payload) -> Samples:
        n = round((duration_s + rest_s) * RATE_HZ)
        time = self.time + np.arange(n) / RATE_HZ
        x = np.minimum((time - self.time) / duration_s, 1.0)[:, None]
        q = self.at + distance * (10.0 * x**3 - 15.0 * x**4 + 6.0 * x**5)
        v = distance / duration_s * (30.0 * x**2 - 60.0 * x**3 + 30.0 * x**4)
        a = distance / duration_s**2 * (60.0 * x - 180.0 * x**2 + 120.0 * x**3)
        self.at = self.at + distance
        self.time = self.time + n / RATE_HZ
        phi = payload(time)
        noise = self._noise(n)
        tau = torque(self.model, self.true_theta, q, v, a) + noise[:, :7] * TORQUE_SIGMA
        wrench = np.zeros((n, 6))
        motion = frame_motion(self.model, TOOL, q, v, a)
        for body in np.unique(phi, axis=0):
            rows = (phi == body).all(axis=1)
            tau[rows] += payload_torque(self.model, TOOL, body, q[rows], v[rows], a[rows])
            wrench[rows] = body_wrench(body, *(part[rows] for part in motion))
        return Samples(time, q, v, a, tau, wrench + BIAS + noise[:, 7:] * WRENCH_SIGMA)

    def _noise(self, n: int) -> np.ndarray:
        white = self.rng.standard_normal((n, len(self.slow)))
        if self.coloured == 0.0:
            return white
        from scipy.signal import lfilter

        keep = np.exp(-1.0 / (RATE_HZ * SLOW))
        drive = np.sqrt(1.0 - keep**2) * self.rng.standard_normal((n, len(self.slow)))
        slow, _ = lfilter([1.0], [1.0, -keep], drive, axis=0, zi=keep * self.slow[None])
        self.slow = slow[-1]
        return white + self.coloured * slow


def picked_up(before, after, time_s: float):
    """A payload that changes at one time."""
    return lambda time: np.where((time < time_s)[:, None], before, after)


def held(phi):
    """A payload that does not change."""
    return lambda time: np.broadcast_to(phi, (len(time), 10))


def payload_torque(model: Model, link: str, phi, q, v, a) -> np.ndarray:
    """Joint torques of a body on a link."""
    theta = np.zeros(len(model.columns))
    for body, first in zip(model.mechanism.bodies, model.first_column_of_body, strict=True):
        for name, T_body_link in body.links:
            if name == link:
                theta[first : first + 10] = transform(phi, T_body_link)
    return torque(model, theta, q, v, a)


def body_wrench(phi, proper, spin, spin_rate) -> np.ndarray:
    """Newton's and Euler's equations of a body at the origin of its frame, (n, 6)."""
    m, h, inertia = phi[0], phi[1:4], inertia_origin(phi)
    force = m * proper + np.cross(spin_rate, h) + np.cross(spin, np.cross(spin, h))
    moment = np.cross(h, proper) + spin_rate @ inertia + np.cross(spin, spin @ inertia)
    return np.concatenate([force, moment], axis=1)


def frame_motion(model: Model, link: str, q, v, a) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Proper acceleration, angular velocity and acceleration (n, 3) of a link in its own axes.

    By the chain of joints from the ground (joints that turn only).
    """
    robot = model.robot
    chain = []
    child = link
    while child != robot.root:
        joint = next(one for one in robot.joints if one.child == child)
        chain.insert(0, joint)
        child = joint.parent
    n = len(q)
    R = np.broadcast_to(np.eye(3), (n, 3, 3))
    spin, rate = np.zeros((n, 3)), np.zeros((n, 3))
    proper = np.broadcast_to(-robot.gravity, (n, 3))
    for joint in chain:
        offset = (R @ joint.placement[:3, 3]).reshape(n, 3)
        proper = proper + np.cross(rate, offset) + np.cross(spin, np.cross(spin, offset))
        R = R @ joint.placement[:3, :3]
        if joint.moves:
            k = robot.joint_names.index(joint.name)
            axis = R @ joint.axis
            rate = rate + axis * a[:, k, None] + np.cross(spin, axis) * v[:, k, None]
            spin = spin + axis * v[:, k, None]
            R = R @ rotations(joint.axis, q[:, k])
    back = np.swapaxes(R, 1, 2)
    return tuple((back @ part[:, :, None])[:, :, 0] for part in (proper, spin, rate))


def rotations(axis, angles) -> np.ndarray:
    """Rotation matrices (n, 3, 3) by Rodrigues' formula."""
    x, y, z = axis
    S = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    sine, cosine = np.sin(angles)[:, None, None], np.cos(angles)[:, None, None]
    return np.eye(3) + sine * S + (1.0 - cosine) * (S @ S)
