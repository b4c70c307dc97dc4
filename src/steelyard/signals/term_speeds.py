"""Motion along the terms that jump at zero speed: Coulomb friction of joints, motors, couplings.

Their speeds, their usual speeds, and the state of friction that builds up over a travel x after
each change of direction, as a share F of its full value (Dahl 1968):

    dF/dt = (sign(v) - F) |v| / x,    so that F goes to its new value as exp(-distance / x).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from steelyard.model.kernels import gear_loads
from steelyard.model.model import Model
from steelyard.model.term_signals import TermSignals
from steelyard.signals.motion import Motion

Array = NDArray[np.float64]


def term_speeds(model: Model, v: Array) -> Array:
    """Speed d·v (n_samples, n_terms), rad/s or m/s, of each of ``model.jumping_terms``.

    v : (n_samples, nv) joint speeds.
    """
    rows = {name: row for row, name in enumerate(model.channels)}
    speeds = np.zeros((len(v), len(model.jumping_terms)))
    for k, term in enumerate(model.jumping_terms):
        for joint, weight in term.direction:
            speeds[:, k] += weight * v[:, rows[joint]]
    return speeds


def rms_speeds(speeds: Array) -> Array:
    """Root mean square (n_terms,) of speeds (n_samples, n_terms)."""
    return np.asarray(np.sqrt(np.mean(speeds**2, axis=0)))


def usual_or_rms(model: Model, speeds: Array, usual: Mapping[str, float] | None) -> Array:
    """Usual speed (n_terms,): the one given by owner, or the root mean square of ``speeds``."""
    if usual is None:
        return rms_speeds(speeds)
    return np.array([usual[term.owner] for term in model.jumping_terms])


def usual_speeds(model: Model, v: Array) -> dict[str, float]:
    """Root mean square speed (rad/s or m/s) by owner of the terms that jump."""
    owners = [term.owner for term in model.jumping_terms]
    return dict(zip(owners, rms_speeds(term_speeds(model, v)).tolist(), strict=True))


def built_up(path: Array, travels: Sequence[float] | Array, start: float | None = None) -> Array:
    """Friction (n_travels, n_samples) as a share of its full value, along a path (n_samples,) of
    positions (rad or m), for each travel (rad or m).

    start : its value at the first sample; by default it has fully built up by then.
    """
    x = np.asarray(travels, dtype=float)
    moved = np.diff(path)
    distance = np.append(0.0, np.cumsum(np.abs(moved)))
    turn = np.sign(moved)
    states = np.zeros((len(x), len(path)))
    if len(turn) == 0:
        return states if start is None else states + start
    first_turn = float(turn[np.flatnonzero(turn)[:1]].sum())
    now = np.full(len(x), first_turn if start is None else start)
    starts = np.append(0, np.flatnonzero(turn[1:] != turn[:-1]) + 1)
    for first, end in pairwise([*starts.tolist(), len(moved)]):
        gone = np.exp(-(distance[first : end + 1] - distance[first]) / x[:, None])
        state = turn[first] + (now - turn[first])[:, None] * gone
        states[:, first : end + 1] = state
        now = state[:, -1]
    return states


def friction_law(
    model: Model, q: Array, v: Array, a: Array, smear: Mapping[str, float]
) -> TermSignals:
    """The law of every term that jumps at zero speed along a motion in the order of time.

    smear : speeds (rad/s or m/s) by owner within which a measured speed has no sure sign; see
        `Processing.friction_smear`. A term with a travel needs none.
    """
    terms = model.jumping_terms
    speeds, paths = term_speeds(model, v), term_speeds(model, q[:, -model.nv :])
    loads = gear_loads(model, q, v, a)
    along = None if loads is None else term_speeds(model, loads)
    values = np.empty_like(speeds)
    for k, term in enumerate(terms):
        state = None
        if term.travel and len(q) > 1:  # of a single sample nothing is known but its speed
            state = built_up(paths[:, k], [term.travel])[0]
        width = 0.0 if term.travel else max(term.width, smear.get(term.owner, 0.0))
        load = None
        if along is not None:
            load = along[:, k] / sum(weight**2 for _, weight in term.direction)
        values[:, k] = term.term_kind.law_at_speed(
            speeds[:, k], width, term.speed or 1.0, state, load
        )
    return TermSignals(tuple(term.name for term in terms), values)


def with_history(model: Model, motion: Motion) -> Motion:
    """The motion with friction that builds up over a travel, where it comes without; its samples
    are in the order of time, and friction has built up by the first change of direction.
    """
    if motion.friction is not None or not any(term.travel for term in model.terms):
        return motion
    return replace(motion, friction=friction_law(model, motion.q, motion.v, motion.a, {}))
