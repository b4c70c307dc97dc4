"""Which terms besides the usual ones a log asks for.

A term enters the model only where parts of the log that were left out are predicted better with it
by a clear margin; see `steelyard.diagnosis.term_selection`. All candidates are compressed in one
pass over the log: first those that are seen while joints slide, then friction over a travel. Widths
of friction, which were chosen without Stribeck friction, are then chosen again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from steelyard.diagnosis.admitted_terms import Admission, AdmittedTerm
from steelyard.diagnosis.signal_choice import choose_signals
from steelyard.diagnosis.signal_ways import MOST_SAMPLES, SignalChoice
from steelyard.diagnosis.term_candidates import (
    Candidate,
    CandidateColumns,
    sliding_candidates,
    travel_candidates,
    with_terms,
)
from steelyard.diagnosis.term_selection import Compressed, Selection
from steelyard.errors import EstimationError
from steelyard.estimators.size_rules import has_many
from steelyard.logs.log import Log
from steelyard.model.model import Model
from steelyard.model.term_kinds import TERM_CLASSES, TermClass
from steelyard.regression.compress import compress
from steelyard.regression.equation import TORQUE, Equation
from steelyard.signals.dead_band import apply_dead_band
from steelyard.signals.opened_log import open_log
from steelyard.signals.prepare import Prepared, prepare
from steelyard.signals.processing import Processing
from steelyard.signals.term_speeds import usual_speeds

SLIDING, MOVING = 0.1, 0.03
"""Shares of the rms speed below which torques are not used: nearer to standstill, the widths of
friction and sticking decide the error. Friction over a travel is seen close to a reversal."""
SPEED_LAWS: tuple[TermClass, ...] = ("stribeck", "rising")
"""Laws that friction over a travel can look like."""


def admit_terms(
    model: Model,
    log: Log,
    signals: SignalChoice,
    equation: Equation = TORQUE,
    classes: Collection[TermClass] = TERM_CLASSES,
    *,
    threads: int = 1,
) -> Admission:
    """The model with those terms of these classes that left-out parts of a log ask for.

    model : with the widths of friction that were chosen. signals : how the log is to be processed.
    """
    if not classes:
        return Admission(model, reason="none was to be tried")
    if not equation.of_joints:
        return Admission(model, reason=f"rows of {equation.kind.quantity} are not of single joints")
    if has_many(len(model.columns)):
        return Admission(model, reason="the robot has too many parameters for this comparison")
    processing = replace(signals.processing, dead_band=None)
    opened = open_log(log, model.robot, processing)
    again = partial(
        prepare, log, processing=processing, cutoff_of_another_log=signals.cutoff_is_automatic
    )
    plain = again(model, opened=opened)
    smear = _smear(model, plain, processing)
    admitted: list[AdmittedTerm] = []

    def stage(
        found: CandidateColumns | None, band: float, nearby: bool = False
    ) -> list[tuple[Candidate, AdmittedTerm]]:
        nonlocal model
        if found is None:
            return []
        prepared = again(model, opened=opened, other_widths=found.models)
        selection = Selection(model, _compressed(model, prepared, found, band, threads), found)
        chosen = selection.nearby() if nearby else selection.run()
        model = with_terms(model, [one for one, _ in chosen])
        return chosen

    try:
        found = sliding_candidates(model, plain.motion.v, smear, classes)
        admitted = [one for _, one in stage(found, SLIDING)]
        if "travel" in classes:
            doubtful = [name for one in admitted if one.what in SPEED_LAWS for name in one.names]
            follow = stage(travel_candidates(model, plain.motion.q, doubtful), MOVING)
            gone = {name for one, _ in follow for name in one.drops}
            admitted = [one for one in admitted if gone.isdisjoint(one.names)]
            if follow:
                finer = stage(travel_candidates(model, plain.motion.q), MOVING, nearby=True)
                better = {one.owner: one for _, one in finer}
                admitted += [
                    replace(one, travel=better[one.owner].travel, after=better[one.owner].after)
                    if one.owner in better
                    else one
                    for _, one in follow
                ]
        model, signals = _widths_again(model, log, signals, admitted, threads)
    except EstimationError as failure:
        return Admission(model, tuple(admitted), str(failure), signals)
    return Admission(model, tuple(admitted), signals=signals)


def _widths_again(
    model: Model,
    log: Log,
    signals: SignalChoice,
    admitted: Sequence[AdmittedTerm],
    threads: int,
) -> tuple[Model, SignalChoice]:
    """Widths of friction beside friction that is largest near standstill, where they decide."""
    if signals.shares is None or not any(one.what == "stribeck" for one in admitted):
        return model, signals
    band = signals.asked.dead_band
    fixed = replace(signals.processing, friction_smear=None, dead_band=band)
    again = choose_signals(model, log, fixed, threads=threads)
    if again.shares is None:
        return model, signals
    chosen = replace(signals, processing=again.processing, widths=again.widths, shares=again.shares)
    return model.with_widths(again.widths), chosen


def _smear(model: Model, prepared: Prepared, processing: Processing) -> dict[str, float]:
    """Speeds (rad/s or m/s) by owner within which a jump of friction is smeared: those that were
    chosen, and what a joint gains in the time constant of the filter.
    """
    chosen = processing.friction_smear or {}
    cutoff = prepared.record.cutoff_hz
    time = 0.0 if cutoff is None else 1.0 / (2.0 * np.pi * cutoff)
    rates = usual_speeds(model, prepared.motion.a)
    return {owner: max(chosen.get(owner, 0.0), time * rate) for owner, rate in rates.items()}


def _compressed(
    model: Model, prepared: Prepared, found: CandidateColumns, band: float, threads: int
) -> Compressed:
    """The factors of a log with the columns of all candidates, where joints are faster than this
    share of their rms speed.
    """
    rows = slice(None, None, max(1, len(prepared.motion) // MOST_SAMPLES))
    motion = found.carried(prepared.motion, prepared.other_friction)[rows]
    speeds = usual_speeds(model, prepared.motion.v)
    bands = {owner: band * speed for owner, speed in speeds.items()}
    measured = apply_dead_band(model, motion, prepared.all_measurements[rows], bands)
    regression = compress(
        model,
        motion,
        measured,
        correlation_s=prepared.record.correlation_s,
        threads=threads,
        extra=found.extra,
    )
    number = np.floor(motion.time / regression.block_s).astype(np.int64)
    first = np.searchsorted(number, [k for _, k in regression.keys])
    last = np.searchsorted(number, [k for _, k in regression.keys], side="right")
    places = [motion.q[a:b, -model.nv :].mean(axis=0) for a, b in zip(first, last, strict=True)]
    return Compressed(regression, np.array(places))
