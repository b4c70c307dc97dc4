"""A model's terms as arrays, and the columns that they give the regressor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import ModelError, listed
from steelyard.model.term_kinds import TERM_KINDS, MotionAlong, TermKind
from steelyard.model.term_signals import TermSignals
from steelyard.model.terms import Term

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TermGroup:
    """The terms of one kind.

    members : (n,) indices of the terms. rows, weights : (n, n_entries) their directions, padded
    with weights of zero. widths : (n,) of their jumps, shape_speeds : (n,), rad/s or m/s; travels :
    (n,) rad or m; see `steelyard.model.terms.Term`.
    """

    kind: TermKind
    members: IntArray
    rows: IntArray
    weights: Array
    widths: Array
    shape_speeds: Array
    travels: Array

    def along(
        self, v: Array, a: Array, q: Array | None = None, loads: Array | None = None
    ) -> MotionAlong:
        """Motion (nv, n_samples) along the directions of these terms."""
        shape = self.shape_speeds
        return MotionAlong(v, a, self.rows, self.weights, self.widths, q, shape, loads)


@dataclass(frozen=True, eq=False)
class TermArrays:
    """The terms as the kernels read them.

    names : of the terms. column : (n_terms,) index of each term's parameter in theta.
    start : (n_terms + 1,), row, weight : (n_entries,) sparse directions: those of term k are
        entries start[k] to start[k + 1].
    groups : the terms by kind.
    """

    names: tuple[str, ...]
    column: IntArray
    start: IntArray
    row: IntArray
    weight: Array
    groups: tuple[TermGroup, ...]

    @property
    def reads_load(self) -> bool:
        """Whether the load of the gears is needed."""
        return any(group.kind.response == "load" for group in self.groups)

    def values(
        self,
        v: Array,
        a: Array,
        given: TermSignals | None = None,
        q: Array | None = None,
        loads: Array | None = None,
    ) -> Array:
        """Factor of each term's parameter, (n_terms, n_samples).

        v, a : (n_samples, nv) joint speeds and accelerations. given : the factors of some terms,
        which are not computed. q, loads : (n_samples, nv) joint positions and the torque that the
        gears carry, where a law reads them. A term with a travel that is not given slides on.
        """
        out = np.empty((len(self.column), len(v)))
        speeds, accelerations = np.ascontiguousarray(v.T), np.ascontiguousarray(a.T)
        positions = None if q is None else np.ascontiguousarray(q.T)
        carried = None if loads is None else np.ascontiguousarray(loads.T)
        for group in self.groups:
            if given is not None and all(self.names[k] in given.names for k in group.members):
                continue
            motion = group.along(speeds, accelerations, positions, carried)
            out[group.members] = group.kind.law(motion)
        if given is not None:
            for name, values in zip(given.names, given.values.T, strict=True):
                if name in self.names:
                    out[self.names.index(name)] = values
        return out

    def powers(self, v: Array, given: TermSignals | None = None, q: Array | None = None) -> Array:
        """Power that each term takes per unit of its parameter, (n_terms, n_samples).

        v, q : (n_samples, nv) joint speeds and positions. given : factors as in `values`, which
        replace the laws. It is zero for terms that store energy instead; see
        :meth:`TermKind.power`.
        """
        out = np.empty((len(self.column), len(v)))
        speeds = np.ascontiguousarray(v.T)
        unknown = np.broadcast_to(np.nan, speeds.shape)
        positions = None if q is None else np.ascontiguousarray(q.T)
        for group in self.groups:
            motion = group.along(speeds, unknown, positions)
            if given is None or not all(self.names[k] in given.names for k in group.members):
                out[group.members] = group.kind.power(motion)
            for k, speed in zip(group.members, motion.speed, strict=True):
                if given is not None and self.names[k] in given.names:
                    out[k] = given.values[:, given.names.index(self.names[k])] * speed
        return out

    def slopes(self, v: Array, a: Array, q: Array) -> tuple[Array, Array, Array]:
        """Derivatives (n_terms, n_samples) of `values` by the speed, by the acceleration and by the
        position along each term's direction; not those of the load of the gears.
        """
        by_speed, by_acceleration, by_position = np.empty((3, len(self.column), len(v)))
        speeds, accelerations = np.ascontiguousarray(v.T), np.ascontiguousarray(a.T)
        for group in self.groups:
            if group.kind.response == "load":
                raise ModelError(
                    f"the gradient of {group.kind.description} is not available: leave "
                    f"{listed(self.names[k] for k in group.members)} out of the model"
                )
            motion = group.along(speeds, accelerations, np.ascontiguousarray(q.T))
            by_speed[group.members] = group.kind.speed_slope(motion)
            by_acceleration[group.members] = group.kind.acceleration_slope(motion)
            by_position[group.members] = group.kind.position_slope(motion)
        return by_speed, by_acceleration, by_position


def term_arrays(
    terms: Sequence[Term], channels: Sequence[str], columns: Sequence[int]
) -> TermArrays:
    """The arrays of these terms; ``columns`` says where their parameters are in theta."""
    row_of = {name: row for row, name in enumerate(channels)}
    entries = [[(row_of[joint], weight) for joint, weight in term.direction] for term in terms]
    flat = [entry for term in entries for entry in term]
    groups = []
    for kind in TERM_KINDS:
        members = [k for k, term in enumerate(terms) if term.kind == kind.name]
        if not members:
            continue
        longest = max(len(entries[k]) for k in members)
        filled = [
            entries[k] + [(entries[k][0][0], 0.0)] * (longest - len(entries[k])) for k in members
        ]
        groups.append(
            TermGroup(
                kind,
                np.array(members, dtype=np.int64),
                np.array([[row for row, _ in term] for term in filled], dtype=np.int64),
                np.array([[weight for _, weight in term] for term in filled], dtype=float),
                np.array([terms[k].width for k in members]),
                np.array([terms[k].speed or 1.0 for k in members]),
                np.array([terms[k].travel for k in members]),
            )
        )
    return TermArrays(
        names=tuple(term.name for term in terms),
        column=np.array(columns, dtype=np.int64),
        start=np.cumsum([0] + [len(term) for term in entries], dtype=np.int64),
        row=np.array([row for row, _ in flat], dtype=np.int64),
        weight=np.array([weight for _, weight in flat], dtype=float),
        groups=tuple(groups),
    )
