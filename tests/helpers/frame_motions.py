"""Motions of a free frame with exact derivatives, random bodies and their wrenches."""

from __future__ import annotations

import numpy as np

from steelyard.robot.inertia import from_com
from steelyard.signals.frame_motion import FrameMotion, Wrench

GRAVITY = np.array([0.0, 0.0, -9.81])
NO_BIAS = np.zeros(6)
NO_TURN = np.eye(3)


def sines(rng, n: int, duration_s: float, amplitude: float, fastest_hz: float):
    """Sums of five sines of time: value, speed and acceleration, each (n, n_samples)."""
    w = 2.0 * np.pi * rng.uniform(0.2, 1.0, (n, 5, 1)) * fastest_hz
    phase = rng.uniform(0.0, 2.0 * np.pi, (n, 5, 1))
    size = amplitude * rng.uniform(0.3, 1.0, (n, 5, 1)) / 2.0

    def of(t):
        x = w * t + phase
        return (
            (size * np.sin(x)).sum(1),
            (size * w * np.cos(x)).sum(1),
            (-size * w**2 * np.sin(x)).sum(1),
        )

    return of


def free_motion(
    seed: int = 0,
    *,
    duration_s: float = 20.0,
    rate_hz: float = 100.0,
    fastest_hz: float = 0.8,
    turn: float = 1.2,
    frame: str = "sensor",
) -> FrameMotion:
    """A frame that turns about three axes and moves, by sums of sines, with exact derivatives."""
    rng = np.random.default_rng([11, seed])
    t = np.arange(round(duration_s * rate_hz)) / rate_hz
    (a, b, c), (da, db, dc), (dda, ddb, ddc) = sines(rng, 3, duration_s, turn, fastest_hz)(t)
    linear = sines(rng, 3, duration_s, 0.2, fastest_hz)(t)[2].T
    sa, ca, sb, cb, sc, cc = np.sin(a), np.cos(a), np.sin(b), np.cos(b), np.sin(c), np.cos(c)
    # R = Rz(a) Ry(b) Rx(c)
    R = np.empty((len(t), 3, 3))
    R[:, 0] = np.stack([ca * cb, ca * sb * sc - sa * cc, ca * sb * cc + sa * sc], 1)
    R[:, 1] = np.stack([sa * cb, sa * sb * sc + ca * cc, sa * sb * cc - ca * sc], 1)
    R[:, 2] = np.stack([-sb, cb * sc, cb * cc], 1)
    omega = np.stack([dc - da * sb, db * cc + da * cb * sc, -db * sc + da * cb * cc], 1)
    alpha = np.stack(
        [
            ddc - dda * sb - da * db * cb,
            ddb * cc - db * dc * sc + dda * cb * sc - da * db * sb * sc + da * dc * cb * cc,
            -ddb * sc - db * dc * cc + dda * cb * cc - da * db * sb * cc - da * dc * cb * sc,
        ],
        1,
    )
    proper = np.einsum("nji,nj->ni", R, linear - GRAVITY)
    return FrameMotion(frame, t, proper, omega, alpha, R, f"run {seed}")


def still_poses(directions, samples_each: int = 20, frame: str = "sensor") -> FrameMotion:
    """A frame at rest in one pose after the other; rotation vectors (n_poses, 3), rad."""
    from scipy.spatial.transform import Rotation

    R = np.repeat(Rotation.from_rotvec(directions).as_matrix(), samples_each, axis=0)
    proper = np.einsum("nji,j->ni", R, -GRAVITY)
    still = np.zeros_like(proper)
    return FrameMotion(frame, np.arange(len(R)) * 0.1, proper, still, still, R, "poses")


def random_body(rng, mass: float, size: float = 0.05) -> np.ndarray:
    """phi (10,) of a cloud of points of this mass, its centre a few centimetres away."""
    points = rng.normal(size=(6, 3)) * rng.uniform(0.3, 1.0, 3) * size
    points -= points.mean(0)
    sigma = mass * points.T @ points / 6.0
    return from_com(mass, rng.normal(size=3) * 0.04, np.trace(sigma) * np.eye(3) - sigma)


def exact_wrench(motion: FrameMotion, phi: np.ndarray) -> np.ndarray:
    """(n_samples, 6) by Pinocchio, which is no part of the code under test."""
    import pinocchio as pin

    inertia = pin.Inertia.FromDynamicParameters(phi)
    out = np.empty((len(motion), 6))
    for k in range(len(motion)):
        v = pin.Motion(np.zeros(3), motion.angular_velocity[k])
        a = pin.Motion(motion.proper_acceleration[k], motion.angular_acceleration[k])
        out[k] = (inertia * a + v.cross(inertia * v)).vector
    return out


def measured(
    motion: FrameMotion,
    phi: np.ndarray,
    rng,
    *,
    force_noise: float = 0.2,
    torque_noise: float = 0.01,
    bias=NO_BIAS,
    R_frame_sensor=NO_TURN,
) -> Wrench:
    """What a sensor with bias, noise and axes that are turned in the frame shows."""
    exact = exact_wrench(motion, phi)
    noise = rng.normal(size=exact.shape) * np.repeat([force_noise, torque_noise], 3)
    turned = np.concatenate([exact[:, :3] @ R_frame_sensor, exact[:, 3:] @ R_frame_sensor], 1)
    values = turned + bias + noise
    return Wrench(motion.frame, values[:, :3], values[:, 3:])
