"""Analytic motions of a frame: sums of sines, with every derivative known in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from steelyard.logs.log import Log

GRAVITY = np.array([0.0, 0.0, -9.81])
INERTIA = np.array([[0.02, 0.003, 0.0], [0.003, 0.03, -0.002], [0.0, -0.002, 0.04]])
COM = np.array([0.03, -0.02, 0.08])


@dataclass(frozen=True)
class MovingFrame:
    """Position p, rotation vector angles, and all derivatives, at the times t.

    R = Rz(yaw) Ry(pitch) Rx(roll) with angles that are sums of sines. a (world), w and alpha (frame
    axes) are exact: derivatives of the sines, put together by the chain rule.
    """

    t: np.ndarray
    p: np.ndarray
    v: np.ndarray
    a: np.ndarray
    angles: np.ndarray
    R: np.ndarray
    w: np.ndarray
    alpha: np.ndarray

    @property
    def proper(self) -> np.ndarray:
        """What an accelerometer at the origin shows, in the frame's axes."""
        return np.einsum("nij,ni->nj", self.R, self.a - GRAVITY)

    @property
    def quaternions(self) -> np.ndarray:
        """x, y, z, w by SciPy, with whatever signs it gives."""
        return Rotation.from_matrix(self.R).as_quat()


def sines(rng, t: np.ndarray, size: float, n: int = 3, terms: int = 3) -> tuple[np.ndarray, ...]:
    """x (n_samples, n) and two derivatives: sums of sines of 0.1 to 0.7 Hz."""
    w = 2.0 * np.pi * rng.uniform(0.1, 0.7, size=(terms, n))
    phase = rng.uniform(0.0, 2.0 * np.pi, size=(terms, n))
    amplitude = size * rng.uniform(0.3, 1.0, size=(terms, n))
    angle = w * t[:, None, None] + phase
    return (
        (amplitude * np.sin(angle)).sum(axis=1),
        (amplitude * w * np.cos(angle)).sum(axis=1),
        (-amplitude * w * w * np.sin(angle)).sum(axis=1),
    )


def moving_frame(rng, t: np.ndarray, turn_rad: float = 0.6, reach_m: float = 0.2) -> MovingFrame:
    """A random smooth motion."""
    p, v, a = sines(rng, t, reach_m)
    e, de, dde = sines(rng, t, turn_rad)
    R = Rotation.from_euler("xyz", e).as_matrix()  # fixed axes: Rz Ry Rx
    roll, pitch = e[:, 0], e[:, 1]
    sr, cr, sp, cp = np.sin(roll), np.cos(roll), np.sin(pitch), np.cos(pitch)
    one, zero = np.ones_like(sr), np.zeros_like(sr)
    # angular velocity in the frame's axes: E(roll, pitch) (roll', pitch', yaw')
    E = np.array([[one, zero, -sp], [zero, cr, sr * cp], [zero, -sr, cr * cp]]).transpose(2, 0, 1)
    dr, dp = de[:, 0], de[:, 1]
    dE = np.array(
        [
            [zero, zero, -cp * dp],
            [zero, -sr * dr, cr * dr * cp - sr * sp * dp],
            [zero, -cr * dr, -sr * dr * cp - cr * sp * dp],
        ]
    ).transpose(2, 0, 1)
    w = np.einsum("nij,nj->ni", E, de)
    alpha = np.einsum("nij,nj->ni", dE, de) + np.einsum("nij,nj->ni", E, dde)
    return MovingFrame(t, p, v, a, e, R, w, alpha)


def body_wrench(moved: MovingFrame, mass: float, com: np.ndarray, inertia: np.ndarray):
    """Force and torque at the frame's origin on a body with this inertia about the origin."""
    h, a, w, alpha = mass * com, moved.proper, moved.w, moved.alpha
    force = mass * a + np.cross(alpha, h) + np.cross(w, np.cross(w, h))
    torque = np.cross(h, a) + alpha @ inertia.T + np.cross(w, w @ inertia.T)
    return force, torque


def pose_log(moved: MovingFrame, frame: str = "tool", **more: np.ndarray) -> Log:
    """A log with the poses of a frame and other quantities by name."""
    signals = {(frame, "position"): moved.p, (frame, "quaternion"): moved.quaternions}
    signals |= {(frame, name): values for name, values in more.items()}
    return Log(moved.t, {}, "run", frame_signals=signals)


def full_log(moved: MovingFrame, frame: str = "tool", axes: str = "frame") -> Log:
    """Pose, twist, IMU and the wrench of a body of 1.5 kg, in the axes of the frame or the base."""

    def turned(x: np.ndarray) -> np.ndarray:
        return np.einsum("nij,nj->ni", moved.R, x) if axes == "base" else x

    force, torque = body_wrench(moved, 1.5, COM, INERTIA)
    return pose_log(
        moved,
        frame,
        force=turned(force),
        torque=turned(torque),
        angular_velocity=turned(moved.w),
        linear_velocity=moved.v if axes == "base" else np.einsum("nij,ni->nj", moved.R, moved.v),
        proper_acceleration=moved.proper,
    )
