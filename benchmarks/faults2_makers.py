"""What goes wrong in the second fault matrix, in logs, files and robots; see `faults2_kinds`.

Each function draws the joints that it touches first, so that the same generator spoils every size
alike. Its docstring says what is wrong.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
from fault_loads import gravity_torque, payload_torque
from fault_recordings import Recording
from faults2_properties import (
    PLAY_STIFFNESS_RAD,
    STILL,
    Array,
    Gear,
    Property,
    friction_of,
    gear_torque,
    size_of_torque,
)
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

from steelyard.signals.wrench_torques import wrench_torques

SPAN = 0.25
"""Share of the log for which a brake drags."""
PUSH_S, SHORTEST_M = 0.5, 0.05
INNER = slice(1, 4)
"""Joints whose placement in the file may be wrong: a wrist's hardly matters to any torque."""


def a_joint(recording: Recording, rng: np.random.Generator, first: int = 0) -> int:
    """The number of a joint from ``first`` on, drawn."""
    return int(rng.integers(first, recording.q.shape[1]))


def sign(rng: np.random.Generator) -> float:
    """1 or -1, drawn."""
    return float(rng.choice([-1.0, 1.0]))


def changed(table: Array, joint: int, more: Array) -> Array:
    """A copy of (n, n_joints) with something added to one column."""
    out = table.copy()
    out[:, joint] += more
    return out


def delay_of(table: Array, time: Array, seconds: Array) -> Array:
    """What delays (n_joints,) s change in a table (n, n_joints) without noise."""
    out = np.empty_like(table)
    for j, late in enumerate(seconds):
        at = np.clip(time - late, time[0], time[-1])
        out[:, j] = CubicSpline(time, table[:, j])(at) - table[:, j]
    return out


def only(joint: int, values: Array, n_joints: int) -> Array:
    """Zeros (..., n_joints) with values (...) in one column."""
    out = np.zeros((*np.shape(values), n_joints))
    out[..., joint] = values
    return out


# --- the log ------------------------------------------------------------------------------------


def polled(clean: Recording, rng: np.random.Generator, size: float) -> dict[str, Array]:
    """Torque of joint k is read k times ``size`` seconds late."""
    late = size * np.arange(clean.tau.shape[1])
    return {"tau": clean.tau + delay_of(clean.true_tau, clean.time, late)}


def bus_late(clean: Recording, rng: np.random.Generator, size: float) -> dict[str, Array]:
    """Torques of two or three neighbouring joints are ``size`` seconds late."""
    n, count = clean.tau.shape[1], int(rng.integers(2, 4))
    first = int(rng.integers(n - count + 1))
    late = np.where((np.arange(n) >= first) & (np.arange(n) < first + count), size, 0.0)
    return {"tau": clean.tau + delay_of(clean.true_tau, clean.time, late)}


def position_late(clean: Recording, rng: np.random.Generator, size: float) -> dict[str, Array]:
    """Position of one joint is ``size`` seconds late."""
    n = clean.q.shape[1]
    late = only(a_joint(clean, rng), np.array(size), n)
    return {"q": clean.q + delay_of(clean.motion.q, clean.time, late)}


def saturating(clean: Recording, rng: np.random.Generator, size: float) -> dict[str, Array]:
    """One torque x becomes c tanh(x / c), with c the largest |x| over ``size``."""
    joint = a_joint(clean, rng)
    column = clean.tau[:, joint]
    end = np.abs(column).max() / size
    return {"tau": changed(clean.tau, joint, end * np.tanh(column / end) - column)}


def dead_zone(clean: Recording, rng: np.random.Generator, size: float) -> dict[str, Array]:
    """Of one torque, ``size`` times its rms is missing, and what is smaller is zero."""
    joint = a_joint(clean, rng)
    column = clean.tau[:, joint]
    width = size * np.sqrt(np.mean(column**2))
    return {"tau": changed(clean.tau, joint, -np.clip(column, -width, width))}


def cross_talk(clean: Recording, rng: np.random.Generator, size: float) -> dict[str, Array]:
    """``size`` times one joint's torque, in units of its rms, appears in another's."""
    source, target = (int(k) for k in rng.choice(clean.q.shape[1], size=2, replace=False))
    scale = size_of_torque(clean)
    share = sign(rng) * size * scale[target] / scale[source]
    return {"tau": changed(clean.tau, target, share * clean.tau[:, source])}


def encoder_once(
    clean: Recording, rng: np.random.Generator, size: float, times: float = 1.0
) -> dict[str, Array]:
    """One encoder errs by ``size`` degrees times a sine of its position, once per turn."""
    joint, phase = a_joint(clean, rng, 1), rng.uniform(0.0, 2.0 * np.pi)
    away = np.radians(size) * np.sin(times * clean.motion.q[:, joint] + phase)
    return {"q": changed(clean.q, joint, away)}


def encoder_twice(clean: Recording, rng: np.random.Generator, size: float) -> dict[str, Array]:
    """One encoder errs by ``size`` degrees times a sine of its position, twice per turn."""
    return encoder_once(clean, rng, size, 2.0)


def position_factor(clean: Recording, rng: np.random.Generator, size: float) -> dict[str, Array]:
    """Positions of one joint are too large or too small by a share ``size``."""
    joint = a_joint(clean, rng, 1)
    return {"q": changed(clean.q, joint, sign(rng) * size * clean.q[:, joint])}


def tool_for_a_third(clean: Recording, rng: np.random.Generator, size: float) -> dict[str, Array]:
    """A tool of ``size`` kg that the file lacks is on in the middle third of the log."""
    n = len(clean.time)
    there = (np.arange(n) >= n // 3) & (np.arange(n) < 2 * n // 3)
    return {"tau": clean.tau + np.where(there[:, None], payload_torque(clean, size), 0.0)}


def gravity_removed(clean: Recording, rng: np.random.Generator, size: float) -> dict[str, Array]:
    """A share ``size`` of gravity is subtracted from the torque of one joint that feels it."""
    weight = gravity_torque(clean, clean.robot.gravity)
    feels = np.std(weight, axis=0) > 0.05 * size_of_torque(clean)
    joint = int(rng.choice(np.flatnonzero(feels)))
    return {"tau": changed(clean.tau, joint, -size * weight[:, joint])}


def friction_removed(clean: Recording, rng: np.random.Generator, size: float) -> dict[str, Array]:
    """A share ``size`` of friction is subtracted from the torque of one joint."""
    joint = a_joint(clean, rng)
    rubbed = friction(clean, joint, clean.motion.v[:, joint])
    return {"tau": changed(clean.tau, joint, -size * rubbed)}


def gain_change(clean: Recording, rng: np.random.Generator, size: float) -> dict[str, Array]:
    """The gain of one torque changes by a share ``size`` somewhere in the middle of the log."""
    joint, at = a_joint(clean, rng), rng.uniform(0.25, 0.75)
    later = np.arange(len(clean.time)) > at * len(clean.time)
    more = sign(rng) * size * np.where(later, clean.tau[:, joint], 0.0)
    return {"tau": changed(clean.tau, joint, more)}


def warming_zero(clean: Recording, rng: np.random.Generator, size: float) -> dict[str, Array]:
    """The zero of one torque is off by ``size`` times its rms, and settles exponentially."""
    joint, settling_s = a_joint(clean, rng), rng.uniform(0.1, 0.5) * clean.time[-1]
    away = sign(rng) * size * np.sqrt(np.mean(clean.tau[:, joint] ** 2))
    return {"tau": changed(clean.tau, joint, away * np.exp(-clean.time / settling_s))}


# --- the file -----------------------------------------------------------------------------------


def link_length(urdf: str, rng: np.random.Generator, size: float) -> str:
    """One of the inner links of more than 5 cm is ``size`` m longer or shorter in the file."""
    root = ET.fromstring(urdf)
    inner = [origin_of(joint) for joint in moving_joints(root)[INNER]]
    origins = [one for one in inner if np.linalg.norm(numbers(one, "xyz")) > SHORTEST_M]
    chosen = origins[int(rng.integers(len(origins)))]
    xyz = numbers(chosen, "xyz")
    longest = np.argmax(np.abs(xyz))
    xyz[longest] += sign(rng) * size
    chosen.set("xyz", " ".join(f"{x:.12g}" for x in xyz))
    return ET.tostring(root, encoding="unicode")


def link_twist(urdf: str, rng: np.random.Generator, size: float) -> str:
    """The axis of the second, third or fourth joint is tilted by ``size`` degrees in the file."""
    root = ET.fromstring(urdf)
    joints = moving_joints(root)[INNER]
    joint = joints[int(rng.integers(len(joints)))]
    element = joint.find("axis")
    axis = np.array([1.0, 0.0, 0.0]) if element is None else numbers(element, "xyz")
    across = np.cross(axis / np.linalg.norm(axis), rng.normal(size=3))
    origin = origin_of(joint)
    turn = Rotation.from_rotvec(across / np.linalg.norm(across) * np.radians(size))
    turned = Rotation.from_euler("xyz", numbers(origin, "rpy")) * turn
    origin.set("rpy", " ".join(f"{x:.15g}" for x in turned.as_euler("xyz")))
    return ET.tostring(root, encoding="unicode")


def moving_joints(root: ET.Element) -> list[ET.Element]:
    """The joints that turn, from the base on."""
    return [one for one in root.findall("joint") if one.get("type") in ("revolute", "continuous")]


def origin_of(joint: ET.Element) -> ET.Element:
    """The placement of a joint."""
    found = joint.find("origin")
    return ET.SubElement(joint, "origin") if found is None else found


def numbers(element: ET.Element, name: str) -> Array:
    """Three numbers of an attribute, zeros where it is absent."""
    return np.array([float(x) for x in element.get(name, "0 0 0").split()])


# --- the robot ----------------------------------------------------------------------------------


def counterbalance(clean: Recording, rng: np.random.Generator, size: float) -> Property:
    """Torque ``size`` times its rms times sin(q + phase) at one joint."""
    joint, phase = a_joint(clean, rng), rng.uniform(0.0, 2.0 * np.pi)
    force = size * size_of_torque(clean)[joint]
    n = clean.q.shape[1]
    return Property(load=lambda t, q, v: only(joint, force * np.sin(q[:, joint] + phase), n))


def spring(clean: Recording, rng: np.random.Generator, size: float) -> Property:
    """A spring at one joint, ``size`` times the torque's rms at the end of its range."""
    joint = a_joint(clean, rng)
    middle, half = range_of(clean, joint)
    stiffness, n = size * size_of_torque(clean)[joint] / half, clean.q.shape[1]
    return Property(load=lambda t, q, v: only(joint, stiffness * (q[:, joint] - middle), n))


def cable_drag(clean: Recording, rng: np.random.Generator, size: float) -> Property:
    """A smooth function of one position, ``size`` times the torque's rms, with hysteresis."""
    joint, n = a_joint(clean, rng), clean.q.shape[1]
    middle, half = range_of(clean, joint)
    weights, phases = rng.normal(size=3), rng.uniform(0.0, 2.0 * np.pi, 3)
    weights *= np.sqrt(2.0) * size * size_of_torque(clean)[joint] / np.linalg.norm(weights)

    def load(t: Array, q: Array, v: Array) -> Array:
        at = np.multiply.outer((q[:, joint] - middle) / half, np.pi * np.array([0.5, 1.0, 1.5]))
        pull = np.sin(at + phases) @ weights
        return only(joint, pull * (1.0 + 0.3 * np.tanh(v[:, joint] / 0.05)), n)

    return Property(load=load)


def range_of(clean: Recording, joint: int) -> tuple[float, float]:
    """Middle and half (rad) of the range in which a joint moves."""
    low, high = clean.motion.q[:, joint].min(), clean.motion.q[:, joint].max()
    return 0.5 * float(low + high), 0.5 * float(high - low)


def coupled(clean: Recording, rng: np.random.Generator, size: float) -> Property:
    """The motor of joint j turns with q_j + c q_i, i = j - 1: it carries tau_j, and the motor of i
    carries c tau_j less; its friction is at its own speed. c makes ``size`` times the rms of tau_i.
    """
    j = int(rng.integers(1, clean.q.shape[1]))
    i = j - 1
    scale = size_of_torque(clean)
    c = sign(rng) * min(size * scale[i] / scale[j], 1.0)

    def added(recording: Recording) -> Array:
        v = recording.motion.v
        own = friction(recording, j, v[:, j])
        out = np.zeros_like(v)
        out[:, j] = friction(recording, j, v[:, j] + c * v[:, i]) - own
        out[:, i] = -c * (recording.true_tau[:, j] - own)
        return out

    return Property(added=added)


def friction(recording: Recording, joint: int, v: Array) -> Array:
    """Friction (n,) of a joint's drive at a speed (n,)."""
    viscous, coulomb = (friction_of(recording, one)[joint] for one in ("fv", "fc"))
    return np.asarray(viscous * v + coulomb * np.tanh(v / STILL))


def elasticity(clean: Recording, rng: np.random.Generator, size: float) -> Property:
    """One gear gives way by ``size`` rad under the rms of its torque."""
    joint = a_joint(clean, rng)
    return Property(gear=Gear(joint, gear_size(clean, joint) / size))


def backlash(clean: Recording, rng: np.random.Generator, size: float) -> Property:
    """A gear whose torque changes its sign has play of ``size`` rad."""
    gear = gear_torque(clean)
    rms = np.sqrt(np.mean(gear**2, axis=0))
    rarer = np.minimum(np.mean(gear > 0.0, axis=0), np.mean(gear < 0.0, axis=0))
    turning = np.flatnonzero((rarer > 0.1) & (rms > 0.02 * rms.max()))
    joint = int(rng.choice(turning)) if len(turning) else a_joint(clean, rng)
    return Property(gear=Gear(joint, gear_size(clean, joint) / PLAY_STIFFNESS_RAD, size))


def gear_size(clean: Recording, joint: int) -> float:
    """Root mean square of the torque (N m) of a gear."""
    return float(np.sqrt(np.mean(gear_torque(clean)[:, joint] ** 2)))


def rocking(clean: Recording, rng: np.random.Generator, size: float) -> Property:
    """The base tilts by ``size`` degrees rms, in proportion to the moment on it."""
    return Property(rocking=float(np.radians(size)))


def drifting_friction(clean: Recording, rng: np.random.Generator, size: float) -> Property:
    """Coulomb friction of one joint is larger by a share ``size`` at the start, and falls evenly
    to its value at the end of the log.
    """
    joint, n, end = a_joint(clean, rng), clean.q.shape[1], float(clean.time[-1])

    def factors(t: Array, v: Array, gear: Array) -> tuple[Array, Array]:
        more = size * np.clip(1.0 - t / end, 0.0, 1.0)
        return 1.0 + only(joint, more, n), np.ones_like(v)

    return Property(friction=factors)


def load_friction(clean: Recording, rng: np.random.Generator, size: float) -> Property:
    """Coulomb friction of every joint grows by ``size`` times the torque of its gear."""
    coulomb = friction_of(clean, "fc")
    return Property(
        friction=lambda t, v, gear: (1.0 + size * np.abs(gear) / coulomb, np.ones_like(v))
    )


def asymmetric(clean: Recording, rng: np.random.Generator, size: float) -> Property:
    """Friction of one joint, Coulomb and viscous, differs by ± ``size`` between directions."""
    joint, n, way = a_joint(clean, rng), clean.q.shape[1], sign(rng)

    def factors(t: Array, v: Array, gear: Array) -> tuple[Array, Array]:
        factor = 1.0 + only(joint, way * size * np.sign(v[:, joint]), n)
        return factor, factor

    return Property(friction=factors)


def stribeck(clean: Recording, rng: np.random.Generator, size: float) -> Property:
    """Coulomb friction F_c (1 + size exp(-(v / v_s)²)) at every joint."""
    speeds = rng.uniform(0.05, 0.2) * np.ones(clean.q.shape[1])
    return Property(
        friction=lambda t, v, gear: (1.0 + size * np.exp(-((v / speeds) ** 2)), np.ones_like(v))
    )


def brake(clean: Recording, rng: np.random.Generator, size: float) -> Property:
    """A brake drags at one joint for a quarter of the log, with ``size`` times the torque's rms."""
    joint, n = a_joint(clean, rng), clean.q.shape[1]
    start = rng.uniform(0.1, 0.9 - SPAN) * clean.time[-1]
    more = size * size_of_torque(clean)[joint] / friction_of(clean, "fc")[joint]

    def factors(t: Array, v: Array, gear: Array) -> tuple[Array, Array]:
        drags = (t > start) & (t < start + SPAN * clean.time[-1])
        return 1.0 + only(joint, np.where(drags, more, 0.0), n), np.ones_like(v)

    return Property(friction=factors)


def collision(clean: Recording, rng: np.random.Generator, size: float) -> Property:
    """A push of ``size`` N at the last link for half a second, in a direction of its frame."""
    start = rng.uniform(0.1, 0.9) * clean.time[-1]
    direction = rng.normal(size=3)
    direction *= size / np.linalg.norm(direction)
    last = clean.model.mechanism.bodies[-1].name

    def load(t: Array, q: Array, v: Array) -> Array:
        out = np.zeros_like(q)
        rows = np.flatnonzero((t > start) & (t < start + PUSH_S))
        if len(rows):
            wave = np.sin(np.pi * (t[rows] - start) / PUSH_S)
            force = np.multiply.outer(wave, direction)
            out[rows] = -wrench_torques(clean.robot, last, q[rows], force, np.zeros_like(force))
        return out

    return Property(load=load)


def ripple(clean: Recording, rng: np.random.Generator, size: float) -> Property:
    """One torque ripples by a share ``size`` of itself, 30 to 100 times per radian."""
    joint, n = a_joint(clean, rng), clean.q.shape[1]
    teeth, phase = rng.uniform(30.0, 100.0), rng.uniform(0.0, 2.0 * np.pi)

    def added(recording: Recording) -> Array:
        wave = np.sin(teeth * recording.motion.q[:, joint] + phase)
        return only(joint, size * recording.true_tau[:, joint] * wave, n)

    return Property(added=added)
