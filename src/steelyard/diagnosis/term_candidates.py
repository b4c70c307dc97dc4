"""Terms that a joint may have besides the usual ones, as columns of the regression of one log.

travel        Coulomb friction that builds up over a travel after each change of direction, in place
              of friction that jumps (Dahl 1968)
load          Coulomb friction in proportion to the load of the gears
stribeck      friction that falls from standstill to some speed
asymmetric    more viscous friction in one direction
spring        a torque in proportion to the position
counterbalance  one with the sine and cosine of the position

Each is a column for each joint (or motor, or coupling) that has Coulomb friction; travels and
speeds that shape a law are tried on a grid. The torque's filter went over friction that jumps as
well, as always.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from steelyard.model.model import Model
from steelyard.model.term_signals import TermSignals
from steelyard.model.terms import Term, joint_term
from steelyard.regression.extra_columns import ExtraColumns
from steelyard.signals.motion import Motion
from steelyard.signals.term_speeds import term_speeds

Array = NDArray[np.float64]
TermClass = Literal[
    "travel", "load", "stribeck", "asymmetric", "spring", "counterbalance"
]
TERM_CLASSES: tuple[TermClass, ...] = get_args(TermClass)

TRAVELS = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
"""Travels that are tried, as shares of the standard deviation of the position."""
SPEEDS = (0.03, 0.1, 0.3)
"""Stribeck speeds that are tried, as shares of the rms speed."""


@dataclass(frozen=True)
class Candidate:
    """Terms that may be added together.

    what : the class. terms : the new ones. replaces : names of terms whose place they take.
    columns : indices of their columns among the candidates'.
    """

    what: TermClass
    owner: str
    terms: tuple[Term, ...]
    columns: tuple[int, ...]
    replaces: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Column:
    """A term whose law is a column, and the alternative model (or None) that has its signal."""

    term: Term
    model: int | None


@dataclass(frozen=True, eq=False)
class CandidateColumns:
    """All candidates of a model, and the alternative models that have their friction.

    models : with other jumping terms than the model's own; `prepare` gives their friction.
    places : (row, slot, weight) of each column.
    """

    candidates: tuple[Candidate, ...]
    columns: tuple[_Column, ...]
    models: tuple[Model, ...]
    places: tuple[tuple[tuple[int, int, float], ...], ...]
    n_slots: int

    @property
    def extra(self) -> ExtraColumns:
        """The columns, from the signals that `carried` adds to a motion."""
        names = tuple(f"candidate {slot}" for slot in range(self.n_slots))
        return ExtraColumns(names, self._values)

    def carried(self, motion: Motion, others: Sequence[TermSignals]) -> Motion:
        """The motion with the friction of the alternative models beside its own."""
        given = [] if motion.friction is None else [motion.friction]
        given += [
            TermSignals(tuple(_name(name, k) for name in one.names), one.values)
            for k, one in enumerate(others)
        ]
        names = tuple(name for one in given for name in one.names)
        return replace(motion, friction=TermSignals(names, np.hstack([x.values for x in given])))

    def _values(self, motion: Motion) -> Array:
        assert motion.friction is not None
        place = {name: k for k, name in enumerate(motion.friction.names)}
        nv = motion.v.shape[1]
        q = motion.q[:, -nv:]
        out = np.zeros((*motion.v.shape, self.n_slots))
        for column, places in zip(self.columns, self.places, strict=True):
            if column.model is not None:
                law = motion.friction.values[:, place[_name(column.term.name, column.model)]]
            else:
                kind = column.term.term_kind
                read = q if kind.response == "position" else motion.v
                # entry by entry: a value must not depend on how many samples come at once
                along = sum(weight * read[:, row] for row, _, weight in places)
                law = (
                    kind.law_at_position(along)
                    if kind.response == "position"
                    else kind.law_at_speed(along)
                )
            for row, slot, weight in places:
                out[:, row, slot] = weight * law
        return out


def candidate_columns(
    model: Model, q: Array, v: Array, classes: Collection[TermClass]
) -> CandidateColumns | None:
    """The candidates of these classes that the model does not have yet; None if there are none.

    q, v : of a motion, whose size sets travels and speeds.
    """
    owners = [term for term in model.jumping_terms if term.kind == "coulomb"]
    paths, speeds = term_speeds(model, q[:, -model.nv :]), term_speeds(model, v)
    index = {term.name: k for k, term in enumerate(model.jumping_terms)}
    std = {t.owner: float(np.std(paths[:, index[t.name]])) for t in owners}
    rms = {t.owner: float(np.sqrt(np.mean(speeds[:, index[t.name]] ** 2))) for t in owners}
    names = {term.name for term in model.terms}
    columns: list[_Column] = []
    candidates: list[Candidate] = []

    def add(
        what: TermClass, terms: Sequence[Term], alt: int | None, replaces: tuple[str, ...] = ()
    ) -> None:
        if what not in classes or any(t.name in names and t.name not in replaces for t in terms):
            return
        first = len(columns)
        columns.extend(_Column(term, alt) for term in terms)
        own = tuple(range(first, len(columns)))
        candidates.append(Candidate(what, terms[0].owner, tuple(terms), own, replaces))

    loaded = bool(model.prior_theta().any())
    for term in owners:
        if std[term.owner] <= 0.0 or rms[term.owner] <= 0.0:
            continue
        if not term.travel:
            for k, share in enumerate(TRAVELS):
                travel = _rounded(share * std[term.owner])
                add("travel", [replace(term, width=0.0, travel=travel)], k, (term.name,))
        for k, share in enumerate(SPEEDS):
            add("stribeck", [replace(term, kind="stribeck", speed=_rounded(share * rms[term.owner]))], k)
        if loaded:
            add("load", [replace(term, kind="load_coulomb")], 0)
        if any(one.kind == "viscous" and one.owner == term.owner for one in model.terms):
            for sign in (1.0, -1.0):
                direction = tuple((joint, sign * weight) for joint, weight in term.direction)
                add("asymmetric", [Term("asymmetric", term.owner, direction)], None)
    for joint in model.robot.joint_names:
        add("spring", [joint_term("spring", joint)], None)
        if model.robot.joint(joint).kind != "prismatic":
            both = [joint_term(kind, joint) for kind in ("sine", "cosine")]
            add("counterbalance", both, None)
    if not candidates:
        return None
    places, n_slots = _places(model, columns)
    return CandidateColumns(
        tuple(candidates), tuple(columns), _alternatives(model, columns), places, n_slots
    )


def _alternatives(model: Model, columns: Sequence[_Column]) -> tuple[Model, ...]:
    """Models in which the candidates take the place of friction with their names."""
    found = []
    for k in sorted({one.model for one in columns if one.model is not None}):
        own = {one.term.name: one.term for one in columns if one.model == k}
        kept = [own.pop(term.name, term) for term in model.terms]
        found.append(Model(model.robot, (*kept, *own.values())))
    return tuple(found)


def _places(
    model: Model, columns: Sequence[_Column]
) -> tuple[tuple[tuple[tuple[int, int, float], ...], ...], int]:
    """Where each column acts: torque row, slot among the extra columns of that row, weight."""
    rows = {name: row for row, name in enumerate(model.channels)}
    taken: dict[int, int] = {}
    places = []
    for column in columns:
        own = []
        for joint, weight in column.term.direction:
            slot = taken.get(rows[joint], 0)
            taken[rows[joint]] = slot + 1
            own.append((rows[joint], slot, weight))
        places.append(tuple(own))
    return tuple(places), max(taken.values())


def with_terms(model: Model, candidates: Sequence[Candidate]) -> Model:
    """The model with these candidates; friction of one owner then has one travel."""
    travels = {one.owner: one.terms[0].travel for one in candidates if one.what == "travel"}
    gone = {name for one in candidates for name in one.replaces}
    terms = [term for term in model.terms if term.name not in gone]
    terms += [term for one in candidates for term in one.terms]
    own = [
        replace(term, width=0.0, travel=travels[term.owner])
        if term.owner in travels and term.term_kind.jumps_at_zero_speed
        else term
        for term in terms
    ]
    return Model(model.robot, tuple(own))


def _name(term: str, k: int) -> str:
    return f"{term} of candidate {k}"


def _rounded(value: float) -> float:
    """Three digits: a shape is no finer than the grid on which it was found."""
    return float(f"{value:.3g}")


