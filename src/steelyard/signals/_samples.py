"""The samples of one piece of a log: filtered, differentiated, trimmed and decimated."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import SignalError
from steelyard.model.model import Model
from steelyard.model.term_signals import TermSignals
from steelyard.signals._kinematics import kinematics, smooth
from steelyard.signals._pieces import Piece
from steelyard.signals._sensed import Sensed
from steelyard.signals.dead_band import SHARE_OF_SPEED
from steelyard.signals.derivatives import half_width
from steelyard.signals.filters import check_length, samples_needed, settling_time_s
from steelyard.signals.motion import Motion
from steelyard.signals.processing import Processing
from steelyard.signals.term_speeds import (
    built_up,
    friction_law,
    rms_speeds,
    term_speeds,
    usual_or_rms,
)

Array = NDArray[np.float64]

RATE_PER_CUTOFF = 10.0
"""Automatic decimation keeps this many samples per cutoff period."""
SPREAD = 0.25
"""A wrong torque is not used, nor are those within this share of the filter's settling time."""


@dataclass(frozen=True, eq=False)
class Samples:
    """Motion and torques of one piece, or of several in the order of time.

    tau, unfiltered : (n_samples, nv) torque as it is used, and as it was measured, wrenches
        included; NaN where it is missing. friction : see `Motion`; of each model, empty where it is
        the law at the motion's speed. plain_friction : of the first model, not filtered, where it
        is not that law.
    velocity_from, acceleration_from : how those of each joint were obtained, as text.
    trimmed_s : cut at start and end.
    """

    time: Array
    q: Array
    v: Array
    a: Array
    tau: Array
    unfiltered: Array
    friction: tuple[TermSignals, ...]
    plain_friction: TermSignals | None
    velocity_from: Mapping[str, str]
    acceleration_from: Mapping[str, str]
    trimmed_s: tuple[float, float]

    def motion(self, run: str) -> Motion:
        """The motion, named after its log."""
        friction = self.friction[0] if self.friction else None
        return Motion(self.time, self.q, self.v, self.a, run, friction)


def samples_of(
    piece: Piece,
    models: Sequence[Model],
    joints: tuple[str, ...],
    cutoff: float | None,
    factor: int,
    processing: Processing,
    name: str,
    sensed: Sensed,
    usual_speeds: Mapping[str, float] | None = None,
    travels: Sequence[float] = (),
) -> Samples:
    """The samples of one piece, every ``factor``-th of them.

    models : that differ in the terms that jump at zero speed only. usual_speeds : see
    `usual_or_rms`. travels : see `prepare`.
    """
    base = piece.base
    moved = kinematics(joints, piece.even, base, cutoff, processing, name)
    q, v, a = sensed.with_base(piece, moved.q, moved.v, moved.a, cutoff, processing, name)
    unfiltered = sensed.torques(piece, joints, _to_the_ends(moved.q))
    tau, friction = unfiltered.copy(), []
    first, end = trim(len(piece), base.rate_hz, cutoff, processing, name)
    smear = processing.friction_smear or {}
    state = _to_the_ends(q), _to_the_ends(v), _to_the_ends(a)
    follows = any(term.travel for term in models[0].jumping_terms)
    plain = friction_law(models[0], *state, smear) if smear or follows else None
    if processing.filters_torque:
        tau = smooth(tau, base, cutoff, processing, name)
        if cutoff is not None or processing.derivative == "savgol":
            laws = [(model, friction_law(model, *state, smear)) for model in models]
            if travels:
                laws += [(models[0], one) for one in _following(models[0], state[0], travels)]
            for model, law in laws:
                filtered = smooth(law.values, base, cutoff, processing, name)
                # of a term that does not reverse, the filter would leave only what leaks in from
                # standstill and the ends: enough to seem to tell friction from an offset
                speeds = term_speeds(model, state[1])
                usual = usual_or_rms(model, speeds[first:end], usual_speeds)
                one_way = ~reverses(speeds[first:end], usual)
                friction.append(TermSignals(law.names, np.where(one_way, law.values, filtered)))
    if not friction and (plain is not None or len(models) > 1):
        friction = [friction_law(model, *state, smear) for model in models]
    gone = sensed.missing(piece, joints, _spread(base.rate_hz, cutoff, processing))
    tau[gone] = unfiltered[gone] = np.nan
    keep = slice(first, end, factor)
    return Samples(
        base.grid[keep],
        q[keep],
        v[keep],
        a[keep],
        _frozen(tau[keep]),
        _frozen(unfiltered[keep]),
        tuple(one[keep] for one in friction),
        None if plain is None else plain[keep],
        moved.velocity_from,
        moved.acceleration_from,
        (first / base.rate_hz, (len(piece) - end) / base.rate_hz),
    )


def _spread(rate_hz: float, cutoff: float | None, processing: Processing) -> int:
    """How many samples to either side of a wrong torque the filter mixes with it."""
    if cutoff is None or not processing.filters_torque:
        return 0
    return math.ceil(SPREAD * settling_time_s(cutoff, processing.filter_order) * rate_hz)


def _following(model: Model, q: Array, travels: Sequence[float]) -> list[TermSignals]:
    """Friction that builds up over each travel, see `built_up`; as a share of the rms of the
    position.
    """
    along = term_speeds(model, q[:, -model.nv :])
    shares = np.array(travels)
    states = [built_up(path, shares * float(np.std(path)) + 1e-12) for path in along.T]
    names = tuple(term.name for term in model.jumping_terms)
    return [TermSignals(names, state) for state in np.stack(states, axis=-1)]


def _to_the_ends(v: Array) -> Array:
    """v, with the nearest values at the ends, which the derivative does not reach."""
    known = np.flatnonzero(np.isfinite(v).all(axis=1))
    if len(known) == 0:  # accelerations that an equation does not need
        return v
    return v[np.clip(np.arange(len(v)), known[0], known[-1])]


def reverses(speeds: Array, usual: Array | None = None) -> NDArray[np.bool_]:
    """Which terms (n_terms,) move both ways, standstill aside; speeds (n_samples, n_terms).

    usual : (n_terms,) their rms speed; of these samples if it is not given.
    """
    slow = SHARE_OF_SPEED * (rms_speeds(speeds) if usual is None else usual)
    return np.asarray(np.any(speeds > slow, axis=0) & np.any(speeds < -slow, axis=0))


def joined(parts: Sequence[Samples]) -> Samples:
    """The samples of several pieces, one after the other."""
    first = parts[0]
    if len(parts) == 1:
        return first
    friction = tuple(
        _end_to_end([part.friction[k] for part in parts]) for k in range(len(first.friction))
    )
    plain = [part.plain_friction for part in parts if part.plain_friction is not None]

    def all_of(name: str) -> Array:
        return np.concatenate([getattr(part, name) for part in parts])

    return replace(
        first,
        time=all_of("time"),
        q=all_of("q"),
        v=all_of("v"),
        a=all_of("a"),
        tau=_frozen(all_of("tau")),
        unfiltered=_frozen(all_of("unfiltered")),
        friction=friction,
        plain_friction=_end_to_end(plain) if plain else None,
    )


def _end_to_end(parts: Sequence[TermSignals]) -> TermSignals:
    return TermSignals(parts[0].names, np.concatenate([part.values for part in parts]))


def long_enough(
    pieces: Sequence[Piece], cutoff: float | None, processing: Processing, name: str
) -> list[Piece]:
    """The pieces that a filter can work on; refuses a log without any."""
    used = []
    for piece in pieces:
        rate, n = piece.base.rate_hz, len(piece)
        first, last = _cut(rate, cutoff, processing)
        needed = 0 if cutoff is None else samples_needed(cutoff, processing.filter_order, rate)
        if n >= needed and n - first - last >= 2:
            used.append(piece)
    if not used:
        longest = max(pieces, key=len)
        rate = longest.base.rate_hz
        try:
            if cutoff is not None:
                check_length(len(longest), cutoff, processing.filter_order, rate, name)
            trim(len(longest), rate, cutoff, processing, name)
        except SignalError as failure:
            raise SignalError(f"{failure}{_cut_at_gaps(pieces, processing)}") from None
    return used


def _cut_at_gaps(pieces: Sequence[Piece], processing: Processing) -> str:
    """Why pieces are short, and what to do, for a message; empty for a log in one piece."""
    if len(pieces) == 1:
        return ""
    return (
        f". The log was cut into {len(pieces)} pieces, at gaps longer than "
        f"{processing.max_gap_s:g} s; if a signal was sampled at a lower rate than the others, "
        "give a longer --max-gap-s (max_gap_s), up to which gaps are interpolated"
    )


def trim(
    n: int, rate_hz: float, cutoff: float | None, processing: Processing, name: str
) -> tuple[int, int]:
    """Indices of the first sample that is kept, and one past the last."""
    first, last = _cut(rate_hz, cutoff, processing)
    if n - first - last < 2:
        raise SignalError(
            f"log '{name}': cutting {first} and {last} samples ({first / rate_hz:g} s and "
            f"{last / rate_hz:g} s) at the ends leaves fewer than two of {n}; at least "
            f"{first + last + 2} samples are needed: record longer, raise cutoff_hz, or set trim_s"
        )
    return first, n - last


def _cut(rate_hz: float, cutoff: float | None, processing: Processing) -> tuple[int, int]:
    """Samples to cut at the start and at the end."""
    if processing.trim_s == "auto":
        settle = 0.0 if cutoff is None else settling_time_s(cutoff, processing.filter_order)
        trims = (settle, settle)
    else:
        trims = processing.trim_s
    # counted in samples, with a margin for rounding of the rate
    least = half_width(processing)
    first, last = (max(math.ceil(one * rate_hz - 1e-6), least) for one in trims)
    return first, last


def decimation(rate_hz: float, cutoff: float | None, processing: Processing) -> int:
    """Every how many samples one is kept."""
    if processing.decimate != "auto":
        return processing.decimate
    # every sample of an unfiltered torque carries information
    if cutoff is None or not processing.filters_torque:
        return 1
    return max(1, math.floor(rate_hz / (RATE_PER_CUTOFF * cutoff) + 1e-6))


def _frozen(values: Array) -> Array:
    values = np.ascontiguousarray(values)
    values.setflags(write=False)
    return values
