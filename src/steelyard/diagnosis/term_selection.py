"""Forward selection among candidate terms, on the factors of one log.

Candidates are columns beside the model's. Parts of the log are left out in turn, together with the
time blocks beside them, which a filter connects with them, and predicted by a fit to the rest. The
score is the mean log of their squared errors: a part in which a fit extrapolates far does not
decide alone. Every fit is drawn to the robot file as much as predicts best: a wrong fit of the
links must not ask for friction.

Classes compete as groups: what all joints that show a law gain together decides whether it enters,
since robots have their laws at several joints, each of which explains little of the whole error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.admitted_terms import AdmittedTerm
from steelyard.diagnosis.left_out import pull_rows
from steelyard.diagnosis.term_candidates import Candidate, CandidateColumns
from steelyard.errors import EstimationError
from steelyard.estimators.least_squares import joint_noise
from steelyard.estimators.prior_weight import parts_of
from steelyard.model.model import Model
from steelyard.model.term_kinds import TermClass
from steelyard.regression.regression import Regression

Array = NDArray[np.float64]

CLEAR = 0.03
"""Share of the squared error of all joints, in units of their noise, that a class must take away
from left-out parts: of their geometric mean, and by ..."""
AGREE = 2.0
"""... so many standard errors over the parts."""
SURE, SURE_TOGETHER = 2.0, 3.8
"""How many of its standard errors, by the jackknife over the parts, the parameter of a law must be
at each joint that counts, and at all together as the root of the sum of squares. Friction over a
travel takes the place of friction whose parameter is sure anyway: there the error's fall must be
as many of its standard errors at each joint."""
PULLS = (1.0, 1e1, 1e2, 1e3, 1e4, 1e5)
"""Weights of the pull to the robot file that are tried; see `pull_rows`."""
RIDGE = 1e-10
"""Share of a column's square that keeps a solve regular."""
PARTS = 12
"""Parts of time that are left out in turn."""
LEAST_PARTS = 8
"""Standard errors over fewer parts say nothing."""
REGIONS, NO_WORSE = 4, 0.01
"""Parts of a joint's range that are left out in turn, and by how much the log of their squared
error may rise at most: parts of a motion that repeats itself are copies of each other."""
ROUNDING = 1e-10
"""Squared errors below this share of the squared torques are rounding."""

Columns = Mapping[str, int]
"""Columns in a fit by the names of their terms."""


@dataclass(frozen=True, eq=False)
class Compressed:
    """Factors of a log, and the mean positions (n_blocks, nv) of its time blocks, rad or m."""

    regression: Regression
    positions: Array


@dataclass(frozen=True, eq=False)
class _Reduced:
    """Gram matrices (n_parts, n_open, n_open) of left-out parts, and of what they are predicted
    from, in which columns that every fit has are solved for: only open ones remain.

    fixed : (n_parts, n_fixed, n_open) fits of the open columns by the fixed ones.
    """

    left_out: Array
    rest: Array
    fixed: Array


@dataclass(frozen=True, eq=False)
class _Trial:
    """A candidate at one owner, what it gains as mean log error, and how sure it is."""

    one: Candidate
    gain: float
    sureness: float


class Selection:
    """Forward selection on the factors of one log."""

    def __init__(self, model: Model, data: Compressed, found: CandidateColumns) -> None:
        regression = data.regression
        self.model, self.found, self.positions = model, found, data.positions
        self.regression, self.noise = regression, joint_noise(regression)
        n = regression.base.rank
        self.size = n + len(found.terms) + 1
        self.counts = regression.counts.sum(axis=1).astype(float)
        self.index = [self._index(g) for g in range(len(regression.groups))]
        used = [factors[:, :, index >= 0] for factors, index in zip(regression.factors, self.index)]
        self.grams = [np.matmul(R.transpose(0, 2, 1), R) for R in used]
        columns = [regression.base.columns[k] for k in regression.base.independent]
        self.bodies = np.array([column.term_kind is None for column in columns])
        self.rows = {name: row for row, name in enumerate(model.channels)}
        place = {column.name: k for k, column in enumerate(columns)}
        mine = {term.name for term in model.terms}
        replaced = {
            name for one in found.candidates for name in one.names | set(one.drops) if name in mine
        }
        self._weigh()
        self.left = [
            one
            for one in found.candidates
            if all(self.alive[n + c] for c in one.columns)
            and all(term.name in place for term in one.terms if term.name in mine)
        ]
        names = sorted(name for name in replaced if name in place)
        self.first = len(names)
        self.start = {name: k for k, name in enumerate(names)}
        open_now = [place[name] for name in names]
        self.fixed = np.setdiff1d(np.flatnonzero(self.alive[:n]), open_now)
        self.parts = parts_of(self.counts, most=PARTS)
        if len(self.parts) < LEAST_PARTS:
            raise EstimationError(
                f"{len(self.parts)} time blocks with torque values are too few to compare terms"
            )
        # what left-out parts show is noise, too: short logs are fitted closer than predicted
        self._solve_fixed([*open_now, self.size - 1])
        self.noise = self.noise * np.sqrt(self._channel_squares(self.start))
        self._weigh()
        self._solve_fixed([*open_now, *range(n, self.size)])

    def _weigh(self) -> None:
        """Gram matrices of all blocks, and of the pull, with columns of size one."""
        grams = np.zeros((len(self.counts), self.size, self.size))
        for own, sigma, index in zip(self.grams, self.noise, self.index, strict=True):
            into = index[index >= 0]
            grams[:, into[:, None], into] += own / sigma**2
        scale = np.sqrt(np.einsum("bii->i", grams))
        self.alive = scale > 1e-12 * max(float(scale[:-1].max(initial=0.0)), 1e-300)
        scale[~self.alive] = 1.0
        scale[-1] = 1.0
        self.scale = scale
        self.blocks = grams / scale[:, None] / scale
        n = self.regression.base.rank
        pull = np.zeros((n, self.size))
        pull[:, [*range(n), self.size - 1]] = pull_rows(self.model, self.regression.base.K)
        pull /= scale
        self.body_pull = pull[self.bodies].T @ pull[self.bodies]
        self.term_pull = pull[~self.bodies].T @ pull[~self.bodies]

    def _solve_fixed(self, columns: Sequence[int]) -> None:
        """Folds with these columns open for each pull, and the pull that predicts best."""
        self.open = np.array(columns)
        folds = self._folds(self.parts)
        self.reduced = {pull: self._reduced(folds, pull) for pull in PULLS}
        self.by_place: dict[tuple[int, float], _Reduced] = {}
        self._choose_pull(self.start)

    def _index(self, g: int) -> NDArray[np.int64]:
        """Where the columns of channel g are among all; -1 for extra columns that it has not."""
        n = self.regression.base.rank
        extra = [-1] * self.found.n_slots
        for c, places in enumerate(self.found.places):
            for row, slot, _ in places:
                if row == g:
                    extra[slot] = n + c
        return np.array([*self.regression.groups[g].columns, *extra, self.size - 1])

    def _folds(self, parts: Sequence[NDArray[np.int64]]) -> tuple[Array, Array]:
        """Gram matrices (n_parts, size, size) of left-out parts, and of what they are predicted
        from: a filter connects them with the blocks beside, which are not used.
        """
        whole, last = self.blocks.sum(axis=0), len(self.blocks) - 1
        left_out = np.array([self.blocks[part].sum(axis=0) for part in parts])
        rest = []
        for part in parts:
            reach = (-1, 0, 1) if len(part) > 1 else (0,)
            near = {b + step for b in part.tolist() for step in reach}
            rest.append(whole - self.blocks[[b for b in near if 0 <= b <= last]].sum(axis=0))
        return left_out, np.array(rest)

    def _reduced(self, folds: tuple[Array, Array], pull: float) -> _Reduced:
        a, b = self.fixed, self.open
        out, rest = folds[0], folds[1] + pull * self.body_pull + self.term_pull
        cross = rest[:, a[:, None], b]
        fixed = np.linalg.solve(rest[:, a[:, None], a] + RIDGE * np.eye(len(a)), cross)
        turned = fixed.transpose(0, 2, 1)
        both = turned @ out[:, a[:, None], b]
        own = turned @ out[:, a[:, None], a] @ fixed
        left_out = out[:, b[:, None], b] - both - both.transpose(0, 2, 1) + own
        return _Reduced(left_out, rest[:, b[:, None], b] - cross.transpose(0, 2, 1) @ fixed, fixed)

    def _fit(self, columns: Columns, folds: _Reduced | None = None) -> tuple[Array, Array]:
        """Parameters (n_parts, n) of these columns, and log squared errors (n_parts,)."""
        folds = self.reduced[self.pull] if folds is None else folds
        own, tau = np.array(list(columns.values()), dtype=np.int64), folds.rest.shape[1] - 1
        left = folds.rest[:, own[:, None], own] + RIDGE * np.eye(len(own))
        theta = np.linalg.solve(left, folds.rest[:, own, tau, None])[:, :, 0]
        x = np.column_stack([theta, -np.ones(len(theta))])
        both = np.append(own, tau)
        squares = np.einsum("ki,kij,kj->k", x, folds.left_out[:, both[:, None], both], x)
        least = ROUNDING * folds.left_out[:, tau, tau] + np.finfo(float).tiny
        return np.asarray(theta), np.log(np.maximum(squares, least))

    def _with(self, columns: Columns, *added: Candidate) -> dict[str, int]:
        """The columns with those of candidates, and without the terms that they drop."""
        gone = {name for one in added for name in one.drops}
        out = {name: column for name, column in columns.items() if name not in gone}
        for one in added:
            for term, column in zip(one.terms, one.columns, strict=True):
                out[term.name] = self.first + column
        return out

    def run(self) -> list[tuple[Candidate, AdmittedTerm]]:
        """The candidates that were admitted, in the order in which they were."""
        now: dict[str, int] = dict(self.start)
        chosen: list[tuple[Candidate, AdmittedTerm]] = []
        while True:
            self._choose_pull(now)
            group = self._best_group(now)
            if not group:
                return chosen
            after = self._with(now, *group)
            chosen += [(one, self._told(one, now, after)) for one in group]
            now = after
            gone = {name for one in group for name in one.names}
            self.left = [one for one in self.left if not gone & one.names]

    def nearby(self) -> list[tuple[Candidate, AdmittedTerm]]:
        """For each owner with a travel the one that predicts best, if that is another."""
        now: dict[str, int] = dict(self.start)
        self._choose_pull(now)
        chosen: list[tuple[Candidate, AdmittedTerm]] = []
        for owner in dict.fromkeys(one.owner for one in self.left):
            trials = [
                (one, self._fit(self._with(now, one))[1].mean())
                for one in self.left
                if one.owner == owner
            ]
            best, error = min(trials, key=lambda trial: trial[1])
            if error < self._fit(now)[1].mean():
                after = self._with(now, best)
                chosen.append((best, self._told(best, now, after)))
                now = after
        return chosen

    def _choose_pull(self, columns: Columns) -> None:
        errors = [self._fit(columns, self.reduced[pull])[1].mean() for pull in PULLS]
        self.pull = PULLS[int(np.argmin(errors))]

    def _best_group(self, now: Columns) -> list[Candidate]:
        """The class that gains most, at all joints that show it; empty if none does clearly."""
        before = self._fit(now)[1]
        best: dict[tuple[TermClass, str], _Trial] = {}
        for one in self.left:
            trial = self._tried(one, now, before)
            if trial is None or trial.sureness < SURE or trial.gain <= 0.0:
                continue
            key = trial.one.what, trial.one.owner
            if key not in best or best[key].gain < trial.gain:
                best[key] = trial
        groups: dict[TermClass, list[_Trial]] = {}
        for (what, _), trial in best.items():
            groups.setdefault(what, []).append(trial)
        found = [(self._gain(own, now), own) for own in groups.values()]
        found = [each for each in found if each[0] > 0.0]
        return [one.one for one in max(found, key=lambda each: each[0])[1]] if found else []

    def _gain(self, group: Sequence[_Trial], now: Columns) -> float:
        """By how much the mean log error falls with a group; 0 if that is not clear."""
        added = [trial.one for trial in group]
        dropped = {name for one in added for name in one.drops}
        plain = {name: column for name, column in now.items() if name not in dropped}
        fall = self._fit(plain)[1] - self._fit(self._with(now, *added))[1]
        together = np.sqrt(sum(trial.sureness**2 for trial in group))
        clear = (
            fall.mean() >= -np.log(1.0 - CLEAR)
            and _sure(fall) >= AGREE
            and (together >= SURE_TOGETHER or added[0].what == "travel")
            and np.mean([self._elsewhere(now, one, added) for one in added]) >= -NO_WORSE
        )
        return float(fall.mean()) if clear else 0.0

    def _tried(self, one: Candidate, now: Columns, before: Array) -> _Trial | None:
        """A candidate with its sign; None if physics does not allow it."""
        columns = self._with(now, one)
        theta, after = self._fit(columns)
        fall = before - after
        if one.what == "travel":
            shortest = next(x for x in self.found.candidates if x.owner == one.owner)
            if shortest is not one:
                beside = self._fit(self._with(now, shortest))[1] - after
                fall = min(fall, beside, key=lambda each: each.mean())
            return _Trial(one, float(fall.mean()), _sure(fall))
        names = list(columns)
        own = theta[:, [names.index(term.name) for term in one.terms]]
        free = all(term.term_kind.may_be_negative for term in one.terms)
        signed: Candidate | None = one if free or own.mean() > 0.0 else one.opposite
        if signed is None or signed.what not in self.found.classes:
            return None
        return _Trial(signed, float(fall.mean()), _jackknife(own))

    def _elsewhere(self, now: Columns, one: Candidate, group: Sequence[Candidate]) -> float:
        """By how much the mean log error of regions of one's range falls with a group."""
        key = self._channels(one)[0], self.pull
        if key not in self.by_place:
            order = np.argsort(self.positions[:, key[0]], kind="stable")
            parts = parts_of(self.counts[order], most=REGIONS)
            folds = self._folds([np.sort(order[part]) for part in parts])
            self.by_place[key] = self._reduced(folds, self.pull)
        regions = self.by_place[key]
        after = self._fit(self._with(now, *group), regions)[1]
        return float((self._fit(now, regions)[1] - after).mean())

    def _channels(self, one: Candidate) -> list[int]:
        return [self.rows[joint] for joint, _ in one.terms[-1].direction]

    def _told(self, one: Candidate, before: Columns, after: Columns) -> AdmittedTerm:
        last = one.terms[-1]
        return AdmittedTerm(
            one.what,
            one.owner,
            tuple(term.name for term in one.terms),
            tuple(joint for joint, _ in last.direction),
            self._error(self._channels(one), before),
            self._error(self._channels(one), after),
            last.travel,
            last.speed,
        )

    def _error(self, channels: Sequence[int], columns: Columns) -> float:
        """Relative error of channels on left-out parts."""
        squares = self._channel_squares(columns) * self.noise**2
        squares *= self.regression.counts.sum(axis=0)
        torques = sum(float(self.grams[g][:, -1, -1].sum()) for g in channels)
        return float(np.sqrt(squares[list(channels)].sum() / torques)) if torques else 0.0

    def _channel_squares(self, columns: Columns) -> Array:
        """Mean squared errors (n_channels,) on left-out parts, in units of the noise; 1 where a
        channel has no torques.
        """
        folds, named = self.reduced[self.pull], list(columns.values())
        theta = self._fit(columns)[0]
        x = np.zeros((len(theta), self.size))
        x[:, self.open[named]] = theta
        taken = np.einsum("kij,kj->ki", folds.fixed[:, :, named], theta)
        x[:, self.fixed] = folds.fixed[:, :, -1] - taken
        x /= self.scale
        x[:, -1] = -1.0
        out = np.zeros(len(self.index))
        for g, (own, index) in enumerate(zip(self.grams, self.index, strict=True)):
            for part, y in zip(self.parts, x[:, index[index >= 0]], strict=True):
                out[g] += y @ own[part].sum(axis=0) @ y
        out /= self.noise**2 * np.maximum(self.regression.counts.sum(axis=0), 1)
        return np.where(out > 0.0, out, 1.0)


def _sure(fall: Array) -> float:
    """The mean over parts, in standard errors."""
    error = float(np.std(fall, ddof=1)) / np.sqrt(len(fall))
    return float(fall.mean() / max(error, float(np.finfo(float).tiny)))


def _jackknife(own: Array) -> float:
    """The largest of the parameters (n_parts, n) over its standard error: fits to all parts but one
    differ by about one n-th of it.
    """
    away = own - own.mean(axis=0)
    error = np.sqrt((len(own) - 1) / len(own) * np.sum(away**2, axis=0))
    return float(np.max(np.abs(own.mean(axis=0)) / np.maximum(error, np.finfo(float).tiny)))
