"""Find the measurement that would close most of the open masses, by computing the ranges after it.

The ranges are those of `steelyard.estimators._ranges`, with one more condition: the total mass,
or the mass of one body, is that of the estimate to 1 %; or the centre of mass of a body is in the
box around its collision geometry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import Block
from steelyard.estimators._ranges import RangeEnds, fit_ball
from steelyard.estimators.constrained import ConstrainedFit
from steelyard.estimators.estimate import Estimate
from steelyard.estimators.measurement_advice import (
    ACCURACY,
    Kind,
    MassRange,
    Measurement,
    MeasurementAdvice,
)
from steelyard.estimators.parallel.workers import solve_all
from steelyard.estimators.size_rules import has_many
from steelyard.knowledge.constraint_blocks import blocks
from steelyard.knowledge.constraints import Constraints, Range
from steelyard.knowledge.overlay.constraints import collision_boxes
from steelyard.knowledge.statements import CentreInside
from steelyard.model.attached_links import attached_links
from steelyard.model.model import Model

Array = NDArray[np.float64]

OPEN = 0.2
"""A mass is open if its range is wider than this share of its value."""
USEFUL = 0.99
"""A measurement is shown if less than this share of the summed range is left after it."""
MOST_PROBLEMS = 150
"""Conic problems to solve at most: 12 ms each for an arm of seven joints."""
NOTHING_ELSE = Constraints(consistency="none", second_moment=None, nonnegative_terms=False)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A measurement to try, as conditions on the parameters. n_problems : that it takes."""

    kind: Kind
    body: str | None
    value: float | None
    conditions: tuple[Block, ...]
    n_problems: int


def with_advice(
    estimate: Estimate,
    model: Model,
    fit: ConstrainedFit,
    *,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Estimate:
    """The estimate with the advice which mass to measure; unchanged if no mass is open."""
    found = measurement_advice(estimate, model, fit, threads=threads, progress=progress)
    return estimate if found is None else replace(estimate, measurement_advice=found)


def measurement_advice(
    estimate: Estimate,
    model: Model,
    fit: ConstrainedFit,
    *,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> MeasurementAdvice | None:
    """Measurements by how much they would close; None if no mass is open or nothing helps, or for
    a robot with many parameters.
    """
    now = open_masses(model, estimate)
    if not now or has_many(len(model.columns)):
        return None
    candidates = _affordable(_candidates(model, fit, now))
    column = {
        body.name: first
        for body, first in zip(model.mechanism.bodies, model.first_column_of_body, strict=True)
    }
    tasks = [
        (k, column[one.body], sign)
        for k, candidate in enumerate(candidates)
        for one in now
        if not _weighs(candidate, one.body)
        for sign in (1.0, -1.0)
    ]
    ball = fit_ball(fit, estimate.spreads)
    of_candidate = [
        RangeEnds((*fit.blocks, *candidate.conditions), ball, fit.problem.scale, fit.theta)
        for candidate in candidates
    ]

    def end(task: Array) -> Array:
        return of_candidate[int(task[0])].end(np.array([task[1], -1.0, task[2]]))

    def done(count: int) -> None:
        if progress is not None:
            progress(count, len(tasks))

    ends: Iterator[float] = iter(())
    if tasks:  # weighing the only open mass leaves none to compute
        ends = iter(solve_all(end, np.array(tasks), threads, done)[:, 0].tolist())
    carried = {one.body: (*one.kept, *one.emptied) for one in attached_links(model)}
    measured = []
    for candidate in candidates:
        ranges = tuple(_after(candidate, one, ends) for one in now)
        attached = () if candidate.body is None else carried.get(candidate.body, ())
        measured.append(
            Measurement(candidate.kind, candidate.body, candidate.value, ranges, attached)
        )
    before = sum(one.width for one in now)
    useful = [one for one in measured if one.summed_width < USEFUL * before]
    useful.sort(key=lambda one: one.summed_width)
    return MeasurementAdvice(now, tuple(useful)) if useful else None


def open_masses(model: Model, estimate: Estimate) -> tuple[MassRange, ...]:
    """The masses with a feasible range that is wide, in the order of the bodies."""
    standard = estimate.standard
    if standard is None or standard.ranges is None:
        return ()
    found = []
    for body, first in zip(model.mechanism.bodies, model.first_column_of_body, strict=True):
        lower, upper = (float(end) for end in standard.ranges[first])
        if np.isfinite(upper - lower) and upper - lower > OPEN * standard.theta[first]:
            found.append(MassRange(body.name, lower, upper))
    return tuple(found)


def _candidates(
    model: Model, fit: ConstrainedFit, now: Sequence[MassRange]
) -> tuple[Candidate, ...]:
    """The total mass, then the open masses, then boxes; those of wide ranges first."""
    masses = {
        body.name: float(fit.theta[first])
        for body, first in zip(model.mechanism.bodies, model.first_column_of_body, strict=True)
    }
    widest = [one.body for one in sorted(now, key=lambda one: -one.width)]
    total, all_ends = sum(masses.values()), 2 * len(now)
    found = []
    if len(masses) > 1:
        stated = replace(NOTHING_ELSE, total_mass=_weighed(total))
        found.append(Candidate("total mass", None, total, blocks(model, stated), all_ends))
    for name in widest:
        stated = replace(NOTHING_ELSE, mass={name: _weighed(masses[name])})
        given = blocks(model, stated)
        found.append(Candidate("mass", name, masses[name], given, all_ends - 2))
    known = {block.statement.body for block in fit.blocks if _is_region(block)}  # type: ignore[union-attr]
    boxes = collision_boxes(model)
    for name in widest:
        if name in boxes and name not in known:
            stated = replace(NOTHING_ELSE, com={name: boxes[name]})
            given = blocks(model, stated)
            found.append(Candidate("centre of mass", name, None, given, all_ends))
    return tuple(found)


def _is_region(block: Block) -> bool:
    return isinstance(block.statement, CentreInside)


def _weighed(mass: float) -> Range:
    """What a scale would say (kg)."""
    return (1.0 - ACCURACY) * mass, (1.0 + ACCURACY) * mass


def _weighs(candidate: Candidate, body: str) -> bool:
    """Whether the measurement is the mass of this body, whose range is then known."""
    return candidate.kind == "mass" and candidate.body == body


def _affordable(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """The first ones, as many as `MOST_PROBLEMS` allows, but at least two."""
    kept: list[Candidate] = []
    count = 0
    for candidate in candidates:
        count += candidate.n_problems
        if count > MOST_PROBLEMS and len(kept) >= 2:
            break
        kept.append(candidate)
    return tuple(kept)


def _after(candidate: Candidate, now: MassRange, ends: Any) -> MassRange:
    """The range of one mass after a measurement; as now where the solver failed."""
    if _weighs(candidate, now.body):
        lower, upper = _weighed(candidate.value or 0.0)
        assert lower is not None
        assert upper is not None
    else:
        lower, upper = next(ends), next(ends)
    # not wider than now, by the solver's accuracy
    lower = now.lower if np.isnan(lower) else max(lower, now.lower)
    upper = now.upper if np.isnan(upper) else min(upper, now.upper)
    return MassRange(now.body, min(lower, upper), upper)
