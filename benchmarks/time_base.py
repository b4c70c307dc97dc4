"""Wrong time bases: whether they are named, and what they cost after the repair.

Robots: five of example-robot-data whose torques MuJoCo computes (``mj_inverse``), and random arms
whose torques are this package's; the user's file has masses and inertias that are wrong by up to
15 %. Friction, drive inertia, noise of torques (1 % of their size) and encoder steps are added.
Every seed draws a robot, a rate between 60 and 1000 Hz, and sizes of faults that lie on no grid:

    repeated   0.7 to 6 % of the rows repeat: a message was lost and the last state was written, or
               the recorder was faster than the robot, or rows were written twice and time counted
    bursts     4 to 30 rows are stamped when they are written
    rate       the clock is 0.6 to 4 % fast or slow, and velocities are measured
    drift      its rate changes by 1.5 to 5 % in the log, and velocities are measured
    rounded    stamps are cut to a step of 0.4 to 3 periods
    gaps       1 to 4 pieces of 0.03 to 2.2 s are missing, as the stamps say; the clean log has as
               many samples in one piece

- ``named``: share of the faulty logs whose finding names the fault; of gaps, those in which none
  is named.
- ``worst_ratio``: largest error on another, noise-free motion over that of the estimate from the
  clean log; ``median_ratio`` beside it. Errors that differ by less than 0.1 % of the torque (rms)
  are equal. ``worst_as_stamped``: the same for the stamps as they are, of the first five seeds.
- ``false_repairs``: of 100 clean logs with even stamps, stamps of samples that were taken unevenly,
  stamps with errors of 1 to 4 % of a period, rounded in their last digit, with gaps; with and
  without velocities, some behind a filter, some from coarse encoders.

Seeds from 1000 on are for the figures, those below for tuning. STEELYARD_TIME_QUICK=1 takes 3 logs
of each fault and 20 clean ones, from those for tuning.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
from contender import say
from engines import without_shapes
from fault_recordings import random_arm
from goals import Goal
from numpy.typing import NDArray

from steelyard.errors import SteelyardError
from steelyard.excitation.motions.fourier import multisine
from steelyard.identification.identify import identify
from steelyard.logs.log import Log
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.robot.robot import Robot
from steelyard.robot.rotations import frozen_array
from steelyard.signals.processing import Processing
from steelyard.signals.recorded.clock import clock_of

Array = NDArray[np.float64]

NAME = "time-base"
DESCRIPTION = "repeated rows, bursts, rates, rounding, gaps: named, repaired, no false repairs"
GOALS = (
    Goal("named", ">=", 1.0),
    Goal("worst_ratio", "<=", 1.15),
    Goal("false_repairs", "<=", 0.0),
)
QUICK = os.environ.get("STEELYARD_TIME_QUICK", "") not in ("", "0")
FIRST_SEED = 0 if QUICK else 1000
N_FAULTY, N_CLEAN, N_AS_STAMPED = (3, 20, 1) if QUICK else (20, 100, 5)
SECONDS = 20.0
EQUAL = 1e-3
TORQUE_NOISE, VELOCITY_NOISE, ENCODER_STEP = 0.01, 2e-3, 5e-5
COULOMB, VISCOUS, DRIVE_INERTIA = 0.1, 0.1, 0.02
"""Friction as shares of each joint's torque, viscous at its rms speed; drive inertia (kg m²) as a
share of what the joint moves."""
URDFS = ("ur3_robot.urdf", "ur5_robot.urdf", "ur10_robot.urdf", "panda.urdf", "xarm7.urdf")
FINGERS = {"panda_finger_joint1": 0.02}


@dataclass(frozen=True, eq=False)
class Arm:
    """A robot and what its user has of it.

    given : the user's file. truth : torque (n, n_joints) of motion q, v, a, free of noise.
    joints : in the order of the columns.
    """

    given: Robot
    truth: Callable[[Array, Array, Array], Array]
    joints: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of a log. time : (n,) s. q, tau, v : (n, n_joints); v is None where not measured."""

    time: Array
    q: Array
    tau: Array
    v: Array | None

    def rows(self, rows: Array) -> Table:
        """Some rows, by number or mask."""
        v = None if self.v is None else self.v[rows]
        return Table(self.time[rows], self.q[rows], self.tau[rows], v)

    def log(self, arm: Arm) -> Log:
        """The log of it."""
        return Log.from_arrays(self.time, self.q, self.tau, v=self.v, joints=arm.joints)


@lru_cache(maxsize=4)
def arm_of(seed: int) -> Arm:
    """The arm of a seed: every third is random, and of this package's own torques."""
    rng = np.random.default_rng([seed, 41])
    if seed % 3 == 2:
        true = random_arm(rng, int(rng.integers(4, 8)))
        model = Model(true)
        bodies = model.prior_theta()

        def rigid(q: Array, v: Array, a: Array) -> Array:
            return np.asarray(torque(model, bodies, q, v, a))
    else:
        name = URDFS[int(rng.integers(len(URDFS)))]
        true = Robot.from_urdf(_file(name))
        if name == "panda.urdf":
            true = true.lock(FINGERS)
        rigid = _by_mujoco(name, true)
    joints = tuple(Model(true).channels)
    motion = multisine(true, share=0.8, seed=seed).evaluate(np.linspace(0.0, 10.0, 400))
    size = np.sqrt(np.mean(rigid(motion.q, motion.v, motion.a) ** 2, axis=0)) + 0.5
    speed = np.sqrt(np.mean(motion.v**2, axis=0))
    acceleration = np.sqrt(np.mean(motion.a**2, axis=0))
    spread = rng.uniform(0.7, 1.3, size=(3, len(joints)))

    def truth(q: Array, v: Array, a: Array) -> Array:
        friction = COULOMB * spread[0] * np.sign(v) + VISCOUS * spread[1] * v / speed
        drive = DRIVE_INERTIA * spread[2] * a / acceleration
        return np.asarray(rigid(q, v, a) + size * (friction + drive))

    factors = rng.uniform(0.85, 1.15, size=len(true.links))
    links = tuple(
        link
        if link.inertial is None
        else replace(link, inertial=frozen_array(link.inertial * factor, (10,)), inertia_com=None)
        for link, factor in zip(true.links, factors, strict=True)
    )
    given = replace(true, links=links, source=None, source_sha256=None)
    return Arm(given, truth, joints)


def _by_mujoco(name: str, robot: Robot) -> Callable[[Array, Array, Array], Array]:
    """Torques of the links of a file by MuJoCo's inverse dynamics."""
    import mujoco

    settings = '<mujoco><compiler boundmass="1e-12" boundinertia="1e-12"/></mujoco>'
    text = without_shapes(_file(name).read_text(encoding="utf-8"))
    spec = mujoco.MjSpec.from_string(re.sub(r"(<robot\b[^>]*>)", rf"\1{settings}", text, count=1))
    model = spec.compile()
    model.opt.gravity[:] = robot.gravity
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    model.dof_damping[:] = 0.0
    model.jnt_stiffness[:] = 0.0
    data = mujoco.MjData(model)
    for finger, at in FINGERS.items() if name == "panda.urdf" else ():
        for one in (finger, finger.replace("1", "2")):
            data.qpos[model.joint(one).qposadr[0]] = at
    joints = Model(robot).channels
    dof = np.array([model.joint(joint).dofadr[0] for joint in joints], dtype=int)
    address = np.array([model.joint(joint).qposadr[0] for joint in joints], dtype=int)

    def rigid(q: Array, v: Array, a: Array) -> Array:
        out = np.empty_like(q)
        for k in range(len(q)):
            data.qpos[address], data.qvel[dof], data.qacc[dof] = q[k], v[k], a[k]
            mujoco.mj_inverse(model, data)
            out[k] = data.qfrc_inverse[dof]
        return out

    return rigid


@cache
def _file(name: str) -> Path:
    files = distribution("example-robot-data").files or ()
    return next(Path(str(one.locate())) for one in files if one.name == name)


def sampled(
    arm: Arm,
    seed: int,
    at: Array,
    rng: np.random.Generator,
    *,
    velocity: bool,
    step: float = ENCODER_STEP,
    filter_hz: float | None = None,
) -> Table:
    """What is measured at these true times (n,): encoders, torques, and velocities of a drive."""
    trajectory = multisine(arm.given, share=0.8, seed=seed)
    motion = trajectory.evaluate(at)
    tau = arm.truth(motion.q, motion.v, motion.a)
    size = np.sqrt(np.mean(tau**2, axis=0))
    tau = tau + TORQUE_NOISE * size * rng.normal(size=tau.shape)
    v = None
    if velocity:
        v = motion.v
        if filter_hz is not None:
            late = 1.0 / (2.0 * np.pi * filter_hz)
            v = trajectory.evaluate(at - late).v * (1.0 - 0.5 * (late * 6.0) ** 2)
        v = v + VELOCITY_NOISE * rng.normal(size=v.shape)
    return Table(at, np.round(motion.q / step) * step, tau, v)


def even_times(rng: np.random.Generator) -> Array:
    """Even times (n,) of a rate between 60 and 1000 Hz, on no grid."""
    rate = float(np.exp(rng.uniform(np.log(60.0), np.log(1000.0))))
    return np.arange(int(SECONDS * rate)) / rate


def repeated(table: Table, rng: np.random.Generator, arm: Arm, seed: int) -> Table:
    """Rows that repeat, in one of three ways."""
    share = float(rng.uniform(0.007, 0.06))
    n = len(table.time)
    row = np.arange(n)
    how = int(rng.integers(3))
    if how == 0:  # a message was lost
        lost = rng.random(n) < share
        lost[0] = False
        held = table.rows(np.maximum.accumulate(np.where(lost, 0, row)))
        return replace(held, time=table.time)
    if how == 1:  # the recorder was faster than the robot, which goes on for longer
        period = float(table.time[1])
        slow = sampled(arm, seed, row * period * (1.0 + share), rng, velocity=table.v is not None)
        held = slow.rows(np.floor(row / (1.0 + share)).astype(int))
        return replace(held, time=table.time)
    twice = np.sort(np.concatenate([row, rng.choice(row, round(share * n), replace=False)]))
    return replace(table.rows(twice), time=np.arange(len(twice)) * float(table.time[1]))


def bursts(table: Table, rng: np.random.Generator, arm: Arm, seed: int) -> Table:
    """Rows that are stamped when a buffer of them is written."""
    n, period = int(rng.integers(4, 31)), float(table.time[1])
    row = np.arange(len(table.time))
    within = float(rng.uniform(0.02, 0.3)) * period
    return replace(table, time=(row // n * n + n - 1) * period + row % n * within)


def rate(table: Table, rng: np.random.Generator, arm: Arm, seed: int) -> Table:
    """A clock that is fast or slow."""
    return replace(table, time=table.time * (1.0 + _signed(rng, 0.006, 0.04)))


def drift(table: Table, rng: np.random.Generator, arm: Arm, seed: int) -> Table:
    """A clock whose rate changes: evenly, or up and down."""
    size, s = _signed(rng, 0.015, 0.05), table.time / table.time[-1]
    turns = float(rng.uniform(0.4, 1.0))
    shape = s if rng.random() < 0.5 else 0.5 * np.sin(2.0 * np.pi * turns * s + rng.uniform(0, 6))
    steps = np.diff(table.time) * (1.0 + size * (shape[1:] - float(rng.uniform(0.0, 1.0)) * 0.5))
    return replace(table, time=np.concatenate([[0.0], np.cumsum(steps)]))


def rounded(table: Table, rng: np.random.Generator, arm: Arm, seed: int) -> Table:
    """Stamps that are cut to a coarse step."""
    step = float(rng.uniform(0.4, 3.0)) * float(table.time[1])
    return replace(table, time=np.floor(table.time / step) * step)


def gaps(table: Table, rng: np.random.Generator, arm: Arm, seed: int) -> Table:
    """Pieces that are missing, as the stamps say."""
    keep = np.ones(len(table.time), bool)
    for _ in range(int(rng.integers(1, 5))):
        seconds = float(np.exp(rng.uniform(np.log(0.03), np.log(2.2))))
        start = float(rng.uniform(0.5, SECONDS - 3.0))
        keep &= (table.time < start) | (table.time > start + seconds)
    return table.rows(keep)


def _signed(rng: np.random.Generator, least: float, most: float) -> float:
    return float(rng.choice([-1.0, 1.0]) * rng.uniform(least, most))


FAULTS = {
    "repeated": (repeated, ("held-samples",)),
    "bursts": (bursts, ("stamp-jitter",)),
    "rate": (rate, ("time-rate",)),
    "drift": (drift, ("time-drift", "time-rate")),
    "rounded": (rounded, ("stamp-jitter",)),
    "gaps": (gaps, ()),
}


@dataclass(frozen=True)
class Outcome:
    """One faulty log. codes : of what was found. error, clean_error, as_stamped : shares of the
    torque, of the faulty log, of the clean one, and of the faulty one without repair, NaN where
    that was not measured.
    """

    fault: str
    seed: int
    named: bool
    codes: tuple[str, ...]
    error: float
    clean_error: float
    as_stamped: float

    @property
    def ratio(self) -> float:
        """The error over that of the clean log; 1 if they are as good as equal."""
        return ratio_of(self.error, self.clean_error)


def ratio_of(error: float, clean_error: float) -> float:
    """An error over that of the clean log; 1 if they are as good as equal."""
    return 1.0 if abs(error - clean_error) < EQUAL else error / clean_error


def outcome(fault: str, seed: int) -> Outcome:
    """The fault in the log of a seed, beside the clean log."""
    make, names = FAULTS[fault]
    arm = arm_of(seed)
    rng = np.random.default_rng([seed, *fault.encode()])
    velocity = fault in ("rate", "drift") or bool(rng.random() < 0.5)
    clean = sampled(arm, seed, even_times(rng), rng, velocity=velocity)
    faulty = make(clean, rng, arm, seed)
    if fault == "gaps":  # what is missing is missing: as many samples in one piece
        clean = clean.rows(np.arange(len(faulty.time)))
    clean_error, _ = estimated(arm, seed, clean)
    error, codes = estimated(arm, seed, faulty)
    if names:
        named = any(code in names for code in codes)
    else:
        named = not any(code in ALARMS for code in codes)
    unrepaired = np.nan
    if seed < FIRST_SEED + N_AS_STAMPED:  # of other seeds, it takes too long
        unrepaired, _ = estimated(arm, seed, faulty, Processing(time_base="as-stamped"))
    return Outcome(fault, seed, named, codes, error, clean_error, unrepaired)


SEVERE = ("time-rate", "delay", "other-robot", "unrelated-torque")
ALARMS = (
    "glued-gap",
    "velocity-factor",
    "velocity-lags",
    "time-rate",
    "time-drift",
    "stamp-jitter",
)


def estimated(
    arm: Arm, seed: int, table: Table, processing: Processing | None = None
) -> tuple[float, tuple[str, ...]]:
    """The error of the default on another, noise-free motion, and the codes of what was found;
    1 for a log that is refused.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = identify(
                arm.given,
                table.log(arm),
                processing=processing,
                accept=() if processing is None else SEVERE,
                ranges=False,
                certify=False,
                n_resamples=20,
                compare_terms=False,
                threads=1,
            )
        except SteelyardError as failure:
            say(f"seed {seed}: {failure}")
            codes = tuple(one.code for one in getattr(failure, "findings", ()))
            return 1.0, codes
    other = multisine(arm.given, share=0.8, seed=seed + 50_000).evaluate(np.arange(1000) * 0.01)
    true = arm.truth(other.q, other.v, other.a)
    predicted = found.predict(other.q, other.v, other.a)
    order = [found.model.channels.index(joint) for joint in arm.joints]
    error = np.linalg.norm(predicted[:, order] - true) / np.linalg.norm(true)
    return float(error), tuple(one.code for one in found.findings)


def clean_log(seed: int) -> tuple[Log, Arm]:
    """A log whose stamps are right, or as right as those of a good recorder."""
    arm = arm_of(seed)
    rng = np.random.default_rng([seed, 7])
    times = even_times(rng)
    period = float(times[1])
    kind = int(rng.integers(5))
    stamps = times
    if kind == 1:  # samples were taken unevenly, and when the stamps say
        times = np.sort(
            times + float(rng.uniform(0.05, 0.3)) * period * rng.normal(size=len(times))
        )
        stamps = times = times[np.concatenate([[True], np.diff(times) > 1e-3 * period])]
    table = sampled(
        arm,
        seed,
        times,
        rng,
        velocity=bool(rng.random() < 0.6),
        step=float(rng.choice([ENCODER_STEP, 1e-6, 1e-3])),
        filter_hz=float(rng.uniform(8.0, 60.0)) if rng.random() < 0.4 else None,
    )
    if kind == 2:
        stamps = stamps + float(rng.uniform(0.01, 0.04)) * period * rng.normal(size=len(stamps))
    if kind == 3:
        digits = int(np.ceil(-np.log10(0.5 * period)))
        stamps = np.round(stamps, digits)
    table = replace(table, time=stamps)
    if kind == 4:
        table = gaps(table, rng, arm, seed)
    return table.log(arm), arm


def measure() -> dict[str, float | None]:
    """The figures, on fresh seeds."""
    seeds = range(FIRST_SEED, FIRST_SEED + N_FAULTY)
    runs = []
    for fault in FAULTS:
        for seed in seeds:
            runs.append(outcome(fault, seed))
            one = runs[-1]
            say(
                f"{fault} {seed}: {'named' if one.named else 'NOT NAMED'}, "
                f"{100 * one.error:.3g} % of {100 * one.clean_error:.3g} %, {one.ratio:.3f}"
            )
    false = 0
    for seed in range(FIRST_SEED + 5000, FIRST_SEED + 5000 + N_CLEAN):
        log, arm = clean_log(seed)
        clock = clock_of(log, arm.given)
        false += clock is not None
        if clock is not None:
            say(f"clean {seed}: {clock.repair}")
    ratios = np.array([one.ratio for one in runs])
    figures: dict[str, float | None] = {
        "runs": float(len(runs)),
        "named": float(np.mean([one.named for one in runs])),
        "worst_ratio": float(ratios.max()),
        "median_ratio": float(np.median(ratios)),
        "worst_as_stamped": max(
            ratio_of(one.as_stamped, one.clean_error) for one in runs if np.isfinite(one.as_stamped)
        ),
        "clean_logs": float(N_CLEAN),
        "false_repairs": float(false),
    }
    for fault in FAULTS:
        of_fault = [one.ratio for one in runs if one.fault == fault]
        figures[f"worst_ratio_{fault}"] = float(max(of_fault))
    return figures
