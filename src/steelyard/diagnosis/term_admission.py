"""Which terms besides the usual ones a log asks for: forward selection on left-out parts.

A term enters the model only where parts of the log that were left out are predicted better with it
by a clear margin, in several of them. All candidates are columns beside the model's, compressed in
one pass over the log; each is then judged by small solves with the Gram matrices of the parts. A
part is left out together with its neighbouring time blocks, which a filter connects with it. Every
fit is drawn to the robot file as much as predicts best: a wrong fit of the links must not ask for
friction.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.left_out import part_edges, part_members, pull_rows
from steelyard.diagnosis.signal_ways import MOST_SAMPLES, SignalChoice
from steelyard.diagnosis.term_candidates import (
    Candidate,
    CandidateColumns,
    sliding_candidates,
    travel_candidates,
    with_terms,
    without_terms,
)
from steelyard.errors import EstimationError, ModelError, did_you_mean, listed, shown
from steelyard.estimators.least_squares import joint_noise
from steelyard.estimators.prior_weight import parts_of
from steelyard.estimators.size_rules import has_many
from steelyard.findings import Finding
from steelyard.logs.log import Log
from steelyard.model.model import Model
from steelyard.model.term_kinds import TERM_CLASSES, TermClass
from steelyard.regression.compress import compress
from steelyard.regression.equation import TORQUE, Equation
from steelyard.regression.regression import Regression
from steelyard.signals.dead_band import apply_dead_band
from steelyard.signals.opened_log import open_log
from steelyard.signals.prepare import Prepared, prepare
from steelyard.signals.term_speeds import usual_speeds

Array = NDArray[np.float64]

CLEAR = 0.05
"""Share of the squared error of its joints that a term must take away from left-out parts ..."""
EVERYWHERE = 0.03
"""... and of that of all joints, in units of their noise."""
SURE = 4.0
"""How many of its standard errors the parameter of a new term must be; they are those of a
jackknife over the parts."""
STANDARD_ERRORS = 2.0
"""Friction over a travel takes the place of friction whose parameter is sure anyway: by so many
standard errors over the parts the error must fall, as a sum and as a mean of shares."""
AGREE, AGREE_TRAVEL = 0.6, 0.75
"""Share of the parts of time that must be predicted better."""
AGREE_PLACE = 0.75
"""Share of the parts of a joint's range that must be predicted better."""
PULLS = (1.0, 1e1, 1e2, 1e3, 1e4, 1e5)
"""Weights of the pull to the robot file that are tried; see `pull_rows`."""
RIDGE = 1e-10
"""Share of a column's square that keeps a solve regular."""
SLIDING, MOVING = 0.1, 0.03
"""Shares of the rms speed below which torques are not used: nearer to standstill, the widths of
friction and sticking decide the error. Friction over a travel is seen close to a reversal."""
SPEED_LAWS: tuple[TermClass, ...] = ("stribeck", "rising", "asymmetric")
"""Laws that friction over a travel can look like."""
LEAST_BLOCKS = 4
"""Parts of fewer blocks are left out without their neighbours."""
REGIONS = 4
"""Parts of a joint's range that are left out in turn."""
ROUNDING = 1e-10
"""Squared errors below this share of the squared torques are rounding."""
MOST_TERMS = 40
CODES: dict[TermClass, str] = {
    "travel": "friction-travel",
    "load": "load-friction",
    "stribeck": "stribeck",
    "rising": "rising-friction",
    "asymmetric": "asymmetric-friction",
    "spring": "spring",
    "counterbalance": "spring",
}
"""Codes of the findings."""
WORDS: dict[TermClass, str] = {
    "travel": "Coulomb friction that builds up over a travel",
    "load": "friction in proportion to the load",
    "stribeck": "Stribeck friction",
    "rising": "friction that rises with speed to a constant",
    "asymmetric": "viscous friction that differs between the directions",
    "spring": "a spring",
    "counterbalance": "a counterbalance",
}
AdmitOption = Literal["auto", "none"] | Collection[str]


@dataclass(frozen=True)
class AdmittedTerm:
    """Terms that were admitted together.

    joints : torque rows on which they act. before, after : relative error there on left-out parts,
    without and with them.
    """

    what: TermClass
    owner: str
    names: tuple[str, ...]
    joints: tuple[str, ...]
    before: float
    after: float
    travel: float = 0.0
    speed: float = 0.0

    @property
    def finding(self) -> Finding:
        """What was admitted, in words."""
        words = (
            f"{WORDS[self.what]} of '{self.owner}' was added to the model: left-out parts of the "
            f"log are predicted with an error of {100 * self.after:.3g} % instead of "
            f"{100 * self.before:.3g} % at {listed(self.joints)}"
            "; --admit none leaves it out"
        )
        return Finding("info", CODES[self.what], words, joints=self.joints)

    def as_json(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        shape = {"travel": self.travel, "speed": self.speed}
        return {
            "class": self.what,
            "owner": self.owner,
            "terms": list(self.names),
            "joints": list(self.joints),
            "left_out_error_before": self.before,
            "left_out_error_after": self.after,
            **{name: value for name, value in shape.items() if value},
        }


@dataclass(frozen=True, eq=False)
class Admission:
    """The model with the terms that one log asks for.

    admitted : in the order in which they were added. reason : why none could be tried.
    """

    model: Model
    admitted: tuple[AdmittedTerm, ...] = ()
    reason: str = ""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was admitted, in words."""
        return tuple(one.finding for one in self.admitted)

    def as_json(self) -> dict[str, Any]:
        """Plain values that JSON can hold, as in ``record.admission`` of a result file."""
        return {"admitted": [one.as_json() for one in self.admitted], "reason": self.reason}


def classes_to_admit(admit: AdmitOption) -> tuple[TermClass, ...]:
    """The classes of terms that may enter the model; refuses unknown ones."""
    if admit == "auto":
        return TERM_CLASSES
    if admit == "none":
        return ()
    names = {admit} if isinstance(admit, str) else set(admit)
    unknown = sorted(names - set(TERM_CLASSES))
    if unknown:
        raise ModelError(
            f"admit names {shown(unknown[0])}{did_you_mean(unknown[0], TERM_CLASSES)}; it can be "
            f"auto, none, or some of {listed(TERM_CLASSES)}"
        )
    return tuple(name for name in TERM_CLASSES if name in names)


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
    smear = processing.friction_smear or {}
    admitted: list[AdmittedTerm] = []

    def stage(
        found: CandidateColumns | None, band: float, nearby: bool = False
    ) -> list[AdmittedTerm]:
        nonlocal model
        if found is None:
            return []
        prepared = again(model, opened=opened, other_widths=found.models)
        selection = _Selection(model, _compressed(model, prepared, found, band, threads), found)
        chosen = selection.nearby() if nearby else selection.run()
        model = with_terms(model, [one for one, _ in chosen])
        return [one for _, one in chosen]

    try:
        admitted += stage(sliding_candidates(model, plain.motion.v, smear, classes), SLIDING)
        if "travel" in classes:
            follow = stage(travel_candidates(model, plain.motion.q), MOVING)
            if follow:
                finer = stage(travel_candidates(model, plain.motion.q), MOVING, nearby=True)
                better = {one.owner: one for one in finer}
                follow = [
                    replace(one, travel=better[one.owner].travel, after=better[one.owner].after)
                    if one.owner in better
                    else one
                    for one in follow
                ]
            # friction over a travel explains some of what other laws had stood for
            owners = {one.owner for one in follow}
            doubted = [one for one in admitted if one.owner in owners and one.what in SPEED_LAWS]
            admitted = [*(one for one in admitted if one not in doubted), *follow]
            if doubted:
                model = without_terms(model, {name for one in doubted for name in one.names})
                found = sliding_candidates(model, plain.motion.v, smear, SPEED_LAWS, owners)
                admitted += stage(found, SLIDING)
    except EstimationError as failure:
        return Admission(model, tuple(admitted), str(failure))
    return Admission(model, tuple(admitted))


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


@dataclass(frozen=True, eq=False)
class Compressed:
    """Factors of a log, and the mean positions (n_blocks, nv) of its time blocks, rad or m."""

    regression: Regression
    positions: Array


@dataclass(frozen=True, eq=False)
class _Scored:
    """Squared errors (n_parts, n_channels) of left-out parts with some columns."""

    squares: Array
    theta: Array

    def of(self, channels: Sequence[int]) -> Array:
        """Sums (n_parts,) over these channels."""
        return np.asarray(self.squares[:, list(channels)].sum(axis=1))


@dataclass(frozen=True, eq=False)
class _Folds:
    """Gram matrices of left-out parts by channel (n_parts, n_channels, size, size), and of the rest
    (n_parts, size, size).
    """

    by_channel: Array
    rest: Array


class _Selection:
    """Forward selection on the factors of one log."""

    def __init__(self, model: Model, data: Compressed, found: CandidateColumns) -> None:
        regression = data.regression
        self.model, self.found, self.positions = model, found, data.positions
        self.n_base = n = regression.base.rank
        self.size = n + len(found.columns) + 1
        self.index = [self._index(regression, g) for g in range(len(regression.groups))]
        self.blocks = [
            np.einsum("bij,bik->bjk", factors, factors) / s**2
            for factors, s in zip(regression.factors, joint_noise(regression), strict=True)
        ]
        self.counts = regression.counts.sum(axis=1).astype(float)
        self.scale = np.ones(self.size)
        whole = self._grams([np.arange(len(self.counts))])[0].sum(axis=0)
        scale = np.sqrt(np.diag(whole))
        self.alive = scale > 1e-12 * max(float(scale[:-1].max(initial=0.0)), 1e-300)
        scale[~self.alive] = 1.0
        scale[-1] = 1.0
        self.scale = scale
        self.whole = whole / scale[:, None] / scale
        self.by_time = self._folds(part_members(regression, part_edges(regression)))
        self.by_place: dict[int, _Folds] = {}
        pull = np.zeros((n, self.size))
        pull[:, [*range(n), self.size - 1]] = pull_rows(model, regression.base.K)
        pull /= scale
        columns = [regression.base.columns[k] for k in regression.base.independent]
        bodies = np.array([column.term_kind is None for column in columns])
        self.body_pull = pull[bodies].T @ pull[bodies]
        self.term_pull = pull[~bodies].T @ pull[~bodies]
        self.rows = {name: k for k, name in enumerate(model.channels)}
        self.place = {column.name: k for k, column in enumerate(columns)}
        self.pull = 1.0

    def _index(self, regression: Regression, g: int) -> NDArray[np.int64]:
        """Where the columns of channel g are among all; -1 for extra columns that it has not."""
        own = [*regression.groups[g].columns]
        extra = [-1] * self.found.n_slots
        for c, places in enumerate(self.found.places):
            for row, slot, _ in places:
                if row == g:
                    extra[slot] = self.n_base + c
        return np.array([*own, *extra, self.size - 1], dtype=np.int64)

    def _grams(self, members: Sequence[Sequence[int] | NDArray[np.int64]]) -> Array:
        """Gram matrices (n_members, n_channels, size, size) over these blocks."""
        out = np.zeros((len(members), len(self.index), self.size, self.size))
        for g, (blocks, own) in enumerate(zip(self.blocks, self.index, strict=True)):
            used = np.flatnonzero(own >= 0)
            into = own[used]
            for k, member in enumerate(members):
                gram = blocks[np.asarray(member, dtype=np.int64)].sum(axis=0)
                out[k, g][np.ix_(into, into)] = gram[np.ix_(used, used)]
        return out / self.scale[:, None] / self.scale

    def _folds(self, parts: Sequence[NDArray[np.int64]]) -> _Folds:
        """Left-out parts; a filter connects them with the blocks beside, which are not used."""
        n = len(self.counts)
        beside = []
        for part in parts:
            own = set(part.tolist())
            edges = {b + d for b in own for d in (-1, 1)} - own
            few = len(part) < LEAST_BLOCKS
            beside.append([] if few else sorted(b for b in edges if 0 <= b < n))
        by_channel = self._grams(parts)
        left = by_channel.sum(axis=1) + self._grams(beside).sum(axis=1)
        return _Folds(by_channel, self.whole - left)

    def _by_place(self, row: int) -> _Folds:
        """Parts in which a joint is in one region of its range."""
        if row not in self.by_place:
            order = np.argsort(self.positions[:, row], kind="stable")
            parts = parts_of(self.counts[order], most=REGIONS)
            self.by_place[row] = self._folds([np.sort(order[part]) for part in parts])
        return self.by_place[row]

    def run(self) -> list[tuple[Candidate, AdmittedTerm]]:
        """The candidates that were admitted, in the order in which they were."""
        active = [k for k in range(self.n_base) if self.alive[k]]
        left = [
            one
            for one in self.found.candidates
            if all(self.alive[self.n_base + c] for c in one.columns)
            and all(name in self.place for name in one.replaces)
        ]
        chosen: list[tuple[Candidate, AdmittedTerm]] = []
        while left and len(chosen) < MOST_TERMS:
            self.pull, now = self._best_pull(active)
            best = self._best(active, now, left)
            if best is None:
                break
            candidate, after = best
            chosen.append((candidate, self._told(candidate, now, after)))
            active = self._with(active, candidate)
            left = [one for one in left if not candidate.names & one.names]
        return chosen

    def nearby(self) -> list[tuple[Candidate, AdmittedTerm]]:
        """For each owner with a travel the one that predicts best, if that is another."""
        active = [k for k in range(self.n_base) if self.alive[k]]
        self.pull, now = self._best_pull(active)
        chosen: list[tuple[Candidate, AdmittedTerm]] = []
        followers = {term.owner for term in self.model.terms if term.travel}
        for owner in sorted(followers):
            trials = [
                (one, self._score(self._with(active, one)))
                for one in self.found.candidates
                if one.owner == owner and all(name in self.place for name in one.replaces)
            ]
            best = min(trials, key=lambda trial: trial[1].squares.sum(), default=None)
            if best is not None and best[1].squares.sum() < now.squares.sum():
                chosen.append((best[0], self._told(best[0], now, best[1])))
                active, now = self._with(active, best[0]), best[1]
        return chosen

    def _with(self, active: list[int], one: Candidate) -> list[int]:
        gone = {self.place[name] for name in one.replaces}
        return [*(k for k in active if k not in gone), *(self.n_base + c for c in one.columns)]

    def _best_pull(self, active: list[int]) -> tuple[float, _Scored]:
        scored = []
        for pull in PULLS:
            self.pull = pull
            scored.append(self._score(active))
        sums = [one.squares.sum() for one in scored]
        best = int(np.argmin(sums))
        return PULLS[best], scored[best]

    def _score(self, active: list[int], folds: _Folds | None = None) -> _Scored:
        """Errors of each part by a fit to the others."""
        folds = self.by_time if folds is None else folds
        own, tau = np.array(active), self.size - 1
        rest = folds.rest + self.pull * self.body_pull + self.term_pull
        left = rest[:, own[:, None], own] + RIDGE * np.eye(len(own))
        theta = np.linalg.solve(left, rest[:, own, tau, None])[:, :, 0]
        with_tau = np.column_stack([theta, -np.ones(len(theta))])
        both = np.append(own, tau)
        grams = folds.by_channel[:, :, both[:, None], both]
        squares = np.einsum("ki,kgij,kj->kg", with_tau, grams, with_tau)
        least = ROUNDING * folds.by_channel[:, :, tau, tau] + np.finfo(float).tiny
        return _Scored(np.maximum(squares, least), theta)

    def _best(
        self, active: list[int], now: _Scored, left: Sequence[Candidate]
    ) -> tuple[Candidate, _Scored] | None:
        """The candidate that lowers the error most, of those that do so by a clear margin."""
        found: list[tuple[float, Candidate, _Scored]] = []
        for one in self._promising(active, left, now):
            after = self._score(self._with(active, one))
            own = self._signed(one, after)
            if own is not None and (gain := self._clear_gain(own, now, after)) is not None:
                found.append((gain, own, after))
        for _, one, after in sorted(found, key=lambda each: -each[0]):
            if self._elsewhere(active, one):
                return one, after
        return None

    def _signed(self, one: Candidate, after: _Scored) -> Candidate | None:
        """The candidate that has its parameters, the same sign in the fits to all parts but one."""
        theta = after.theta[:, -len(one.terms) :]
        free = np.array([term.term_kind.may_be_negative for term in one.terms])
        if np.all(free | (theta > 0.0)):
            return one
        return one.opposite if one.opposite is not None and np.all(theta < 0.0) else None

    def _elsewhere(self, active: list[int], one: Candidate) -> bool:
        """Whether regions of the joint's range that were left out are predicted better, too: parts
        of a motion that repeats itself are copies of each other.
        """
        channels = self._channels(one)
        folds = self._by_place(channels[0])
        before = self._score(active, folds).of(channels)
        fall = before - self._score(self._with(active, one), folds).of(channels)
        agree = np.count_nonzero(fall > 0.0) >= AGREE_PLACE * len(fall)
        return bool(agree and fall.sum() >= CLEAR * before.sum())

    def _promising(
        self, active: list[int], left: Sequence[Candidate], now: _Scored
    ) -> list[Candidate]:
        """Candidates that could take a clear share of the error away, by the fit to all parts."""
        own, tau = np.array(active), self.size - 1
        drawn = self.whole + self.pull * self.body_pull + self.term_pull
        new = np.arange(self.n_base, tau)
        base = drawn[own[:, None], own] + RIDGE * np.eye(len(own))
        solved = np.linalg.solve(base, drawn[own[:, None], np.append(new, tau)])
        left_of = drawn[new[:, None], np.append(new, tau)] - drawn[new[:, None], own] @ solved
        out = []
        for one in left:
            c = list(one.columns)
            rest, with_tau = left_of[np.ix_(c, c)], left_of[c, -1]
            size = np.diag(rest).mean()
            if size <= 1e-9:
                continue
            gain = with_tau @ np.linalg.solve(rest + 1e-9 * size * np.eye(len(c)), with_tau)
            if gain >= CLEAR * now.of(self._channels(one)).sum():
                out.append(one)
        return out

    def _channels(self, one: Candidate) -> list[int]:
        return [self.rows[joint] for joint, _ in one.terms[0].direction]

    def _clear_gain(self, one: Candidate, now: _Scored, after: _Scored) -> float | None:
        """By how much the squared error falls, if that is a clear margin; else None."""
        channels = self._channels(one)
        before = now.of(channels)
        fall = before - after.of(channels)
        shares = fall / before
        everywhere = float(now.squares.sum() - after.squares.sum())
        clear = fall.sum() >= CLEAR * before.sum() and everywhere >= EVERYWHERE * now.squares.sum()
        better = np.count_nonzero(fall > 0.0) / len(fall)
        if one.replaces:
            errors = [float(np.std(x, ddof=1)) * np.sqrt(len(x)) for x in (fall, shares)]
            sure = all(
                x.sum() >= STANDARD_ERRORS * error
                for x, error in zip((fall, shares), errors, strict=True)
            )
            clear = clear and sure and better >= AGREE_TRAVEL
        else:
            clear = clear and better >= AGREE and _sureness(after.theta, len(one.terms)) >= SURE
        return everywhere if clear else None

    def _told(self, one: Candidate, now: _Scored, after: _Scored) -> AdmittedTerm:
        channels = self._channels(one)
        tau = float(self.by_time.by_channel[:, channels, -1, -1].sum())
        return AdmittedTerm(
            one.what,
            one.owner,
            tuple(term.name for term in one.terms),
            tuple(joint for joint, _ in one.terms[0].direction),
            float(np.sqrt(now.of(channels).sum() / tau)),
            float(np.sqrt(after.of(channels).sum() / tau)),
            one.terms[0].travel,
            one.terms[0].speed,
        )


def _sureness(theta: Array, n: int) -> float:
    """The largest of the last n parameters (n_parts, at least n) over its standard error, by the
    jackknife: fits to all parts but one differ by about one n-th of it.
    """
    own = theta[:, -n:]
    away = own - own.mean(axis=0)
    error = np.sqrt((len(own) - 1) / len(own) * np.sum(away**2, axis=0))
    return float(np.max(np.abs(own.mean(axis=0)) / np.maximum(error, np.finfo(float).tiny)))
