"""From a robot and its logs to base parameters with error bars, in one call.

A plain composition: prepare each log, leave out torques inside the dead band, compress, merge,
estimate. Whoever needs something in between calls these functions directly.

The dead band is on by default. Near standstill friction takes any value between its two signs,
and a filter smears the jump of the torque at a reversal, while sign(v) in the model jumps at once:
a few such rows bias friction and inertia by more than their error bars.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from steelyard.deadband import apply_dead_band
from steelyard.errors import EstimationError, LogError, ModelError
from steelyard.estimate import Estimate
from steelyard.estimators import ols, wls
from steelyard.findings import Finding
from steelyard.identifiability import BaseMap, base_map
from steelyard.logs import Log
from steelyard.model import Model
from steelyard.motion import Motion
from steelyard.overlay_terms import terms_from_overlay
from steelyard.regression import Regression, compress, merge
from steelyard.robot.overlay import Overlay, apply_overlay
from steelyard.robot.tree import Robot
from steelyard.signals import Prepared, Processing, prepare
from steelyard.terms import Term

Method = Literal["wls", "ols"]
DeadBand = float | Mapping[str, float] | Literal["auto"]
METHODS = {"wls": wls, "ols": ols}

PERIODS_PER_BLOCK = 1.5
"""Shortest time block, in periods of the low-pass filter's cutoff."""

SHARE_OF_SPEED = 0.1
"""Automatic dead band of a Coulomb term, as a share of the root mean square of its speed."""


@dataclass(frozen=True, eq=False)
class Identification:
    """What :func:`identify` found.

    estimate : parameters with intervals; its record says what was done to each run.
    regression : the compressed data, for another estimator or for merging with more runs.
    """

    model: Model
    estimate: Estimate
    regression: Regression


def identify(
    robot: Robot,
    logs: Iterable[Log],
    *,
    terms: Iterable[Term] | None = None,
    overlay: Overlay | None = None,
    method: Method = "wls",
    processing: Processing | None = None,
    dead_band: DeadBand = "auto",
    threads: int | None = None,
) -> Identification:
    """Base parameters of ``robot`` from logs of its motion and torques.

    logs : taken one at a time, and forgotten before the next.
    terms : what joint torque is made of besides the rigid bodies; by default drive inertia,
        viscous and Coulomb friction and an offset for each joint.
    overlay : changes the robot and names its terms; see :mod:`steelyard.robot.overlay`.
    method : "wls" weighs each joint by its own noise, "ols" does not.
    processing : how logs become motion and torques; the same for all.
    dead_band : torques of joints whose Coulomb friction sees a speed below this (rad/s or m/s)
        are not used: for all, by joint or coupling, or "auto", a tenth of the speed's root mean
        square; 0 uses every torque.
    threads : by default as many as the machine offers; the result does not depend on it.
    """
    if method not in METHODS:
        raise EstimationError(f"there is no method '{method}'; there are {', '.join(METHODS)}")
    threads = available_threads() if threads is None else threads
    if threads < 1:
        raise EstimationError(f"threads is {threads}; at least one is needed")
    model = model_of(robot, terms=terms, overlay=overlay)
    processing = processing or Processing()
    base = base_map(model)
    parts: list[Regression] = []
    for log in with_unique_names(logs):
        prepared = prepare_run(model, log, processing, dead_band)
        parts.append(compress_run(model, base, prepared, threads))
    if not parts:
        raise LogError("there is no log to identify from; give at least one")
    record = {"runs": [dict(part.record) for part in parts]}
    regression = replace(merge(parts), record=record)
    estimate = METHODS[method](regression)
    notes = tuple(Finding("info", "robot-file", note) for note in model.robot.notes)
    estimate = replace(estimate, findings=(*estimate.findings, *notes))
    return Identification(model, estimate, regression)


def model_of(
    robot: Robot,
    *,
    terms: Iterable[Term] | None = None,
    overlay: Overlay | None = None,
) -> Model:
    """The model of a robot with these terms, or with those of an overlay."""
    if overlay is None:
        return Model(robot) if terms is None else Model(robot, tuple(terms))
    stated = overlay.default_terms is not None or overlay.joint_terms or overlay.couplings
    if terms is not None and stated:
        raise ModelError("terms are given twice, as an argument and in the overlay; give them once")
    robot = apply_overlay(robot, overlay)
    chosen = terms_from_overlay(robot, overlay) if terms is None else tuple(terms)
    return Model(robot, chosen)


def prepare_run(
    model: Model, log: Log, processing: Processing, dead_band: DeadBand = "auto"
) -> Prepared:
    """Motion and torques of one log, as :func:`identify` uses them."""
    return leave_out_slow(model, prepare(log, model.robot, processing), dead_band)


def leave_out_slow(model: Model, prepared: Prepared, dead_band: DeadBand = "auto") -> Prepared:
    """The run without torques at which Coulomb friction has no sign; see :func:`identify`.

    The dead band belongs to the Coulomb terms of the model, which may act along a coupling.
    """
    bands = dead_bands(model, prepared.motion, dead_band)
    measurements = apply_dead_band(model, prepared.motion, prepared.measurements, bands)
    before, after = (
        np.isnan(given.tau).sum(axis=0) for given in (prepared.measurements, measurements)
    )
    record = {
        **prepared.record,
        "friction_dead_band": {
            "asked": dict(dead_band) if isinstance(dead_band, Mapping) else dead_band,
            "speeds": bands,
            "samples": _by_name(measurements.channels, after - before),
        },
        "torque_samples_missing": _by_name(measurements.channels, after),
    }
    return Prepared(prepared.motion, measurements, record)


def dead_bands(model: Model, motion: Motion, dead_band: DeadBand) -> dict[str, float]:
    """Dead band (rad/s or m/s) of each joint or coupling with Coulomb friction."""
    coulomb = [term for term in model.terms if term.kind == "coulomb"]
    if isinstance(dead_band, Mapping):
        return {name: float(band) for name, band in dead_band.items()}
    if dead_band != "auto":
        return {term.owner: float(dead_band) for term in coulomb}
    rows = {name: row for row, name in enumerate(model.channels)}
    bands = {}
    for term in coulomb:
        speed = np.zeros(len(motion))
        for joint, weight in term.direction:
            speed += weight * motion.v[:, rows[joint]]
        bands[term.owner] = SHARE_OF_SPEED * float(np.sqrt(np.mean(speed**2)))
    return bands


def compress_run(model: Model, base: BaseMap, prepared: Prepared, threads: int) -> Regression:
    """The factors of one prepared run, with its record.

    A low-pass filter makes neighbouring residuals alike: time blocks shorter than that would
    not be independent, and their error bars too small.
    """
    cutoff = prepared.record.get("cutoff_hz")
    return compress(
        model,
        prepared.motion,
        prepared.measurements,
        base=base,
        correlation_s=PERIODS_PER_BLOCK / cutoff if isinstance(cutoff, float) else 0.0,
        threads=threads,
        record=prepared.record,
    )


def with_unique_names(logs: Iterable[Log]) -> Iterator[Log]:
    """The logs, those that share a name numbered: run, run_2, run_3."""
    taken: set[str] = set()
    for log in logs:
        name, number = log.name, 1
        while name in taken:
            number += 1
            name = f"{log.name}_{number}"
        taken.add(name)
        yield log if name == log.name else replace(log, name=name)


def available_threads() -> int:
    """How many threads this process may run at once."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return max(1, os.cpu_count() or 1)


def _by_name(names: tuple[str, ...], counts: np.ndarray) -> dict[str, int]:
    return {name: int(count) for name, count in zip(names, counts, strict=True)}
