"""The second fault matrix: kinds that the first one lacks, and the findings that name each rightly.

A kind is one of three things, and a pure function of a clean recording, a generator and a size:

- ``log``: a fault of the log, added to a clean recording;
- ``file``: a fault of the robot file, a change of its text;
- ``law``: something that the robot has or that happens to it, with which it is simulated
  (`faults2_properties.Property`). Where it is a property of the robot (``lasting``), the unseen
  motion is that of the robot with it.

Sizes are drawn between those of ``faults2_sizes.csv``, found by `faults2_sizes` without a detector.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import faults2_makers as made
import numpy as np
from fault_codes import CODES
from fault_recordings import Array, Recording
from faults2_properties import ROBOTS, Property

NEW_CODES = {
    "polled-joints": "joints were read one after the other under one time stamp",
    "torque-saturation": "a torque is compressed near its maximum",
    "dead-zone": "small torques of a joint are recorded as zero",
    "cross-talk": "a share of one joint's torque appears in another's",
    "encoder-error": "an encoder errs once or twice per turn",
    "position-factor": "positions of a joint are too large or small by a factor",
    "position-late": "positions of a joint are recorded late",
    "link-length": "a link has another length than in the file",
    "link-twist": "the axis of a joint is twisted beside the file",
    "base-rocks": "the base gives way under the robot",
    "spring": "a spring or counterbalance that the file lacks",
    "cable-drag": "a cable pulls with a force that depends on the position",
    "coupled-joints": "a motor turns with two joints, which the file does not state",
    "joint-elasticity": "a gear gives way between motor and link",
    "backlash": "a gear has play",
    "load-friction": "Coulomb friction grows with the torque of the gear",
    "asymmetric-friction": "friction differs between the directions",
    "stribeck": "friction falls with the speed at low speeds",
    "brake": "a brake drags for a while",
    "gain-change": "the gain of a torque changes during the log",
    "torque-ripple": "a torque ripples with the position of the gear",
}
"""Codes that name a fault or a property of this matrix, besides those of `fault_codes`."""
Log = Callable[[Recording, np.random.Generator, float], dict[str, Array]]
File = Callable[[str, np.random.Generator, float], str]
Law = Callable[[Recording, np.random.Generator, float], Property]


@dataclass(frozen=True)
class Kind:
    """One kind; exactly one of ``log``, ``file`` and ``law`` makes it.

    expected : codes that name it rightly; any will do. largest : size that is physically
    plausible. remedy : whether `identify` can have an option or a term against it. low_passed
    : whether errors on the unseen motion are (`faults2_properties.unseen_error`).
    """

    name: str
    expected: tuple[str, ...]
    unit: str
    largest: float
    log: Log | None = None
    file: File | None = None
    law: Law | None = None
    lasting: bool = False
    remedy: bool = False
    low_passed: bool = False

    def __post_init__(self) -> None:
        unknown = [code for code in self.expected if code not in {**CODES, **NEW_CODES}]
        if unknown or sum(one is not None for one in (self.log, self.file, self.law)) != 1:
            raise ValueError(f"kind {self.name}: unknown codes {unknown}, or not made in one way")

    @property
    def what(self) -> str:
        """What is wrong, in plain words."""
        return str((self.log or self.file or self.law).__doc__)


def _log(name: str, make: Log, codes: str, *rest: object, remedy: bool = False) -> Kind:
    return Kind(name, tuple(codes.split()), *rest, log=make, remedy=remedy)  # type: ignore[arg-type]


def _file(name: str, make: File, codes: str, *rest: object) -> Kind:
    return Kind(name, tuple(codes.split()), *rest, file=make)  # type: ignore[arg-type]


def _law(name: str, make: Law, codes: str, *rest: object, **more: bool) -> Kind:
    return Kind(name, tuple(codes.split()), *rest, law=make, lasting=True, **more)  # type: ignore[arg-type]


def _event(name: str, make: Law, codes: str, *rest: object) -> Kind:
    return Kind(name, tuple(codes.split()), *rest, law=make)  # type: ignore[arg-type]


KINDS = (
    _log("polled-joints", made.polled, "polled-joints", "s per joint", 0.01, remedy=True),
    _log("bus-late", made.bus_late, "delay", "s", 0.1, remedy=True),
    _log("position-late-of-one", made.position_late, "position-late", "s", 0.1, remedy=True),
    _log("torque-saturating", made.saturating, "torque-saturation clipping", "of its peak", 5.0),
    _log("dead-zone", made.dead_zone, "dead-zone", "of the rms", 1.0),
    _log("cross-talk", made.cross_talk, "cross-talk", "of the rms", 1.0),
    _log("encoder-once", made.encoder_once, "encoder-error", "degrees", 5.0),
    _log("encoder-twice", made.encoder_twice, "encoder-error", "degrees", 3.0),
    _log("position-factor", made.position_factor, "position-factor", "share", 0.2),
    _log("tool-for-a-third", made.tool_for_a_third, "payload-change", "kg", 5.0),
    _log(
        "gravity-removed-of-one", made.gravity_removed, "gravity-removed", "share", 1.0, remedy=True
    ),
    _log(
        "friction-removed-of-one",
        made.friction_removed,
        "friction-removed",
        "share",
        1.0,
        remedy=True,
    ),
    _log("gain-change", made.gain_change, "gain-change torque-gain", "share", 0.5),
    _log("zero-warming-up", made.warming_zero, "torque-drift", "of the rms", 2.0),
    _file("link-length", made.link_length, "link-length", "m", 0.1),
    _file("link-twist", made.link_twist, "link-twist", "degrees", 10.0),
    _event("collision", made.collision, "disturbance", "N", 300.0),
    _event("brake", made.brake, "brake disturbance", "of the rms", 3.0),
    _event("friction-drift", made.drifting_friction, "friction-change", "share", 2.0),
    _law("counterbalance", made.counterbalance, "spring", "of the rms", 2.0, remedy=True),
    _law("spring", made.spring, "spring", "of the rms", 1.0, remedy=True),
    _law("cable-drag", made.cable_drag, "cable-drag spring", "of the rms", 1.0),
    _law("coupled-joints", made.coupled, "coupled-joints cross-talk", "of the rms", 1.0),
    _law("joint-elasticity", made.elasticity, "joint-elasticity", "rad", 0.03, low_passed=True),
    _law("backlash", made.backlash, "backlash", "rad", 0.03, low_passed=True),
    _law("base-rocks", made.rocking, "base-rocks gravity-direction", "degrees", 5.0),
    _law("load-friction", made.load_friction, "load-friction", "of the torque", 0.5, remedy=True),
    _law("asymmetric-friction", made.asymmetric, "asymmetric-friction", "share", 0.8, remedy=True),
    _law("stribeck", made.stribeck, "stribeck", "share", 1.5, remedy=True),
    _law("torque-ripple", made.ripple, "torque-ripple", "share", 0.5),
)
TUNING_SEEDS, FIGURE_SEEDS = tuple(range(10)), tuple(range(100, 110))
CALIBRATION_SEEDS = tuple(range(200, 205))
CLEAN_TUNING_SEEDS, CLEAN_FIGURE_SEEDS = tuple(range(41000, 41300)), tuple(range(40000, 40300))
"""Of `never_loses_logs.case_of`; no other benchmark uses them."""
SIZES = Path(__file__).resolve().parent / "faults2_sizes.csv"


def kind_named(name: str) -> Kind:
    """A kind by its name."""
    return next(kind for kind in KINDS if kind.name == name)


@cache
def sizes() -> dict[tuple[str, str], tuple[float, float]]:
    """Smallest and largest size by kind and robot, of the pairs that do harm at all."""
    with SIZES.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["smallest"]]
    return {
        (row["kind"], row["robot"]): (float(row["smallest"]), float(row["largest"])) for row in rows
    }


def size_of(kind: Kind, robot: str, seed: int) -> float:
    """The size that a run of this seed has: log-uniform between smallest and largest."""
    low, high = sizes()[kind.name, robot]
    u = np.random.default_rng([seed, 5, ROBOTS.index(robot), *kind.name.encode()]).uniform()
    return float(low * (high / low) ** u)


def generator_of(kind: Kind, seed: int) -> np.random.Generator:
    """The same joints and phases for each size of a kind and seed."""
    return np.random.default_rng([seed, 7, *kind.name.encode()])
