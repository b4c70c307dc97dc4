"""Forward selection among candidate terms, on the factors of one log.

Candidates are columns beside the model's. Each is judged by small solves with the Gram matrices of
parts of the log: a fit to all parts but one predicts that one, with the candidate and without. A
part is left out together with its neighbouring time blocks, which a filter connects with it. Every
fit is drawn to the robot file as much as predicts best: a wrong fit of the links must not ask for
friction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.admitted_terms import AdmittedTerm
from steelyard.diagnosis.left_out import part_edges, part_members, pull_rows
from steelyard.diagnosis.term_candidates import Candidate, CandidateColumns
from steelyard.estimators.least_squares import joint_noise
from steelyard.estimators.prior_weight import parts_of
from steelyard.model.model import Model
from steelyard.regression.regression import Regression

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
LEAST_BLOCKS = 4
"""Parts of fewer blocks are left out without their neighbours."""
REGIONS = 4
"""Parts of a joint's range that are left out in turn."""
ROUNDING = 1e-10
"""Squared errors below this share of the squared torques are rounding."""
MOST_TERMS = 40


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


class Selection:
    """Forward selection on the factors of one log."""

    def __init__(
        self, model: Model, data: Compressed, found: CandidateColumns, clear: float = CLEAR
    ) -> None:
        regression, self.clear = data.regression, clear
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
            gains = [] if own is None else [self._clear_gain(own, now, after)]
            if own is not None and own.replaces:
                shortest = next(c for c in self.found.candidates if c.owner == own.owner)
                jumps = self._score(self._with(active, shortest))
                gains.append(self._clear_gain(own, jumps, after))
            known = [gain for gain in gains if gain is not None]
            if own is not None and len(known) == len(gains):
                found.append((min(known), own, after))
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
        return bool(agree and fall.sum() >= self.clear * before.sum())

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
        clear = (
            fall.sum() >= self.clear * before.sum() and everywhere >= EVERYWHERE * now.squares.sum()
        )
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
