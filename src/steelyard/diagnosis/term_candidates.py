"""Terms that a joint may have besides the usual ones, as columns of the regression of one log.

travel        Coulomb friction that builds up over a travel after each change of direction, in place
              of friction that jumps (Dahl 1968)
load          Coulomb friction in proportion to the load of the gears
stribeck      friction that falls from standstill to some speed; rising, that rises
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

import numpy as np
from numpy.typing import NDArray

from steelyard.model.model import Model
from steelyard.model.term_kinds import TermClass
from steelyard.model.term_signals import TermSignals
from steelyard.model.terms import Term, joint_term
from steelyard.regression.extra_columns import ExtraColumns
from steelyard.signals.motion import Motion
from steelyard.signals.term_speeds import rms_speeds, term_speeds

Array = NDArray[np.float64]
TRAVELS = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
"""Travels that are tried, as shares of the standard deviation of the position. Over the shortest,
friction still jumps, but keeps its sign at rest: a travel must be better than that, too."""
NEARBY = (0.6, 0.75, 0.87, 1.15, 1.33, 1.7)
"""Travels that are tried then, over the one of these that was best."""
SPEEDS = (0.1, 0.3, 0.6, 1.0)
"""Speeds that shape friction, which are tried, as shares of the rms speed ..."""
ABOVE_WIDTH = 4.0
"""... and at least so many times the width of Coulomb friction, or the speed within which its jump
is smeared."""


@dataclass(frozen=True)
class Candidate:
    """Terms that may be added together.

    what : the class. terms : the new ones; they take the place of terms of their names.
    columns : indices of their columns among the candidates'. drops : names of terms that go.
    opposite : what it is with a negative parameter, where that is another law: beside Coulomb
        and viscous friction, the two columns are the same but for their sign.
    """

    what: TermClass
    owner: str
    terms: tuple[Term, ...]
    columns: tuple[int, ...]
    drops: tuple[str, ...] = ()
    opposite: Candidate | None = None

    @property
    def names(self) -> set[str]:
        """Names of its terms, with either sign."""
        other = () if self.opposite is None else self.opposite.terms
        return {term.name for term in (*self.terms, *other)}


@dataclass(frozen=True, eq=False)
class CandidateColumns:
    """All candidates of a model, and the alternative models that have their friction.

    classes : that may enter the model. terms : of each column. models : with other jumping terms
    than the model's own; `prepare` gives their friction. model_of : the one that has the signal of
    each column, or None. places : (row, slot, weight) of each column.
    """

    classes: tuple[TermClass, ...]
    candidates: tuple[Candidate, ...]
    terms: tuple[Term, ...]
    models: tuple[Model, ...]
    model_of: tuple[int | None, ...]
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
        for term, model, places in zip(self.terms, self.model_of, self.places, strict=True):
            if model is not None:
                law = motion.friction.values[:, place[_name(term.name, model)]]
            else:
                kind = term.term_kind
                read = q if kind.response == "position" else motion.v
                # entry by entry: a value must not depend on how many samples come at once
                along = np.zeros(len(read))
                for row, _, weight in places:
                    along += weight * read[:, row]
                law = (
                    kind.law_at_position(along)
                    if kind.response == "position"
                    else kind.law_at_speed(along)
                )
            for row, slot, weight in places:
                out[:, row, slot] = weight * law
        return out


def sliding_candidates(
    model: Model, v: Array, smear: Mapping[str, float], classes: Collection[TermClass]
) -> CandidateColumns | None:
    """Those of these classes that the model does not have yet and that are seen while joints slide:
    all but friction over a travel. None if there are none.

    v : (n_samples, nv) of a motion, whose size sets the speeds that are tried. smear : speeds
    (rad/s or m/s) by owner within which a measured jump is smeared.
    """
    found = _Gathered(model, classes)
    for term, rms in zip(coulomb_terms(model), rms_speeds(_along(model, v)).tolist(), strict=True):
        if rms <= 0.0:
            continue
        for share in SPEEDS:
            speed = _rounded(share * rms)
            if speed >= ABOVE_WIDTH * max(term.width, smear.get(term.owner, 0.0)):
                rising = Term("rising", term.owner, term.direction, speed=speed)
                stribeck = replace(term, kind="stribeck", speed=speed)
                found.add("stribeck", [stribeck], opposite=("rising", rising))
        if model.prior_theta().any():
            found.add("load", [replace(term, kind="load_coulomb")])
        if any(one.kind == "viscous" and one.owner == term.owner for one in model.terms):
            one_way = Term("asymmetric", term.owner, term.direction)
            back = tuple((joint, -weight) for joint, weight in term.direction)
            other = Term("asymmetric", term.owner, back)
            found.add("asymmetric", [one_way], opposite=("asymmetric", other))
    for joint in model.robot.joint_names:
        found.add("spring", [joint_term("spring", joint)])
        if model.robot.joint(joint).kind != "prismatic":
            both = [joint_term(kind, joint) for kind in ("sine", "cosine")]
            found.add("counterbalance", both)
    return found.columns()


def travel_candidates(
    model: Model, q: Array, doubtful: Collection[str] = ()
) -> CandidateColumns | None:
    """Travels of friction that jumps; of friction that has one, others near it. None if there is
    no such friction.

    q : of a motion, whose size sets the travels that are tried. doubtful : names of terms that
    friction over a travel is to do without, since it can look like them.
    """
    what: TermClass = "travel"
    found = _Gathered(model, (what,))
    stds = np.std(_along(model, q[:, -model.nv :]), axis=0).tolist()
    for term, std in zip(coulomb_terms(model), stds, strict=True):
        if std <= 0.0:
            continue
        own = [one for one in model.jumping_terms if one.owner == term.owner]
        drops = tuple(
            one.name for one in model.terms if one.owner == term.owner and one.name in doubtful
        )
        sizes = [share * std for share in TRAVELS]
        if term.travel:
            sizes = [step * term.travel for step in NEARBY]
        for size in sizes:
            travel = _rounded(size)
            kept = [one for one in own if one.name not in drops]
            follow = [replace(one, width=0.0, travel=travel) for one in kept]
            found.add(what, follow, drops=drops)
    return found.columns()


def coulomb_terms(model: Model) -> list[Term]:
    """The Coulomb terms, one for each joint, motor or coupling that has one."""
    return [term for term in model.jumping_terms if term.kind == "coulomb"]


def _along(model: Model, motion: Array) -> Array:
    """Motion (n_samples, n) along the Coulomb terms."""
    names = [term.name for term in model.jumping_terms]
    return term_speeds(model, motion)[:, [names.index(one.name) for one in coulomb_terms(model)]]


class _Gathered:
    """Candidates while they are gathered."""

    def __init__(self, model: Model, classes: Collection[TermClass]) -> None:
        self.model, self.classes = model, classes
        self.names = {term.name for term in model.terms}
        self.terms: list[Term] = []
        self.candidates: list[Candidate] = []

    def add(
        self,
        what: TermClass,
        terms: Sequence[Term],
        *,
        drops: tuple[str, ...] = (),
        opposite: tuple[TermClass, Term] | None = None,
    ) -> None:
        """Add a candidate, if its class is wanted and the model has not its law."""
        other = None
        if opposite is not None and opposite[0] in self.classes:
            other = Candidate(opposite[0], terms[0].owner, (opposite[1],), ())
        if other is None and what not in self.classes:
            return
        one = Candidate(what, terms[0].owner, tuple(terms), (), drops, other)
        if what != "travel" and one.names & self.names:
            return
        own = tuple(range(len(self.terms), len(self.terms) + len(terms)))
        self.terms.extend(terms)
        other = None if other is None else replace(other, columns=own)
        self.candidates.append(replace(one, columns=own, opposite=other))

    def columns(self) -> CandidateColumns | None:
        """All that were gathered, with their places among the columns."""
        if not self.candidates:
            return None
        terms = tuple(self.terms)
        variants: dict[str, int] = {}
        model_of: list[int | None] = []
        for term in terms:
            signal = term.term_kind.jumps_at_zero_speed
            model_of.append(variants.get(term.name, 0) if signal else None)
            variants[term.name] = variants.get(term.name, 0) + 1
        places, n_slots = _places(self.model, terms)
        models = _alternatives(self.model, terms, model_of)
        return CandidateColumns(
            tuple(self.classes),
            tuple(self.candidates),
            terms,
            models,
            tuple(model_of),
            places,
            n_slots,
        )


def _alternatives(
    model: Model, terms: Sequence[Term], model_of: Sequence[int | None]
) -> tuple[Model, ...]:
    """Models in which the candidates take the place of friction with their names."""
    found = []
    for k in range(1 + max((one for one in model_of if one is not None), default=-1)):
        own = {term.name: term for term, at in zip(terms, model_of, strict=True) if at == k}
        kept = [own.pop(term.name, term) for term in model.terms]
        found.append(Model(model.robot, (*kept, *own.values())))
    return tuple(found)


def _places(
    model: Model, terms: Sequence[Term]
) -> tuple[tuple[tuple[tuple[int, int, float], ...], ...], int]:
    """Where each column acts: torque row, slot among the extra columns of that row, weight."""
    rows = {name: row for row, name in enumerate(model.channels)}
    taken: dict[int, int] = {}
    places = []
    for term in terms:
        own = []
        for joint, weight in term.direction:
            slot = taken.get(rows[joint], 0)
            taken[rows[joint]] = slot + 1
            own.append((rows[joint], slot, weight))
        places.append(tuple(own))
    return tuple(places), max(taken.values())


def with_terms(model: Model, candidates: Sequence[Candidate]) -> Model:
    """The model with these candidates; friction of one owner then has one travel."""
    travels = {one.owner: one.terms[0].travel for one in candidates if one.what == "travel"}
    gone = {name for one in candidates for name in one.drops}
    new = {term.name: term for one in candidates for term in one.terms}
    terms = [new.pop(term.name, term) for term in model.terms if term.name not in gone]
    own = [
        replace(term, width=0.0, travel=travels[term.owner])
        if term.owner in travels and term.term_kind.jumps_at_zero_speed
        else term
        for term in (*terms, *new.values())
    ]
    return Model(model.robot, tuple(own))


def _name(term: str, k: int) -> str:
    return f"{term} of candidate {k}"


def _rounded(value: float) -> float:
    """Three digits: a shape is no finer than the grid on which it was found."""
    return float(f"{value:.3g}")
