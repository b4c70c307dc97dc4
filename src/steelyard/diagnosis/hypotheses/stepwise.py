"""Which hypotheses explain a log: columns beside the model's, in rivalry, one after the other.

With the model's columns W (and the rows that hold its parameters near the file's) projected off,
what is left of the columns of a hypothesis is all that speaks for it:

    c' = c - W (WᵀW + 1)⁻¹ Wᵀ c,    size of the other parts:  s = (c'ᵀc' + 1)⁻¹ c'ᵀ r

r is the residual of the fit; all rows are weighted by the noise of their joint. The gain is the
score of `fit` with residuals of parts of the log that were left out of the size. Laws of friction,
which explain most residuals of real robots, are admitted first and at a low threshold; what else is
believed has to explain more than these, in most parts of the log. Then laws that nothing needs any
more are removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.hypotheses.fit import (
    INDEPENDENT,
    LEAST_ERROR,
    doubted,
    fit_of,
    moments,
    solver_of,
)
from steelyard.diagnosis.hypotheses.hypothesis import (
    PARTS,
    Candidate,
    Kind,
    Origin,
    Scene,
    Suspect,
    scene_of,
)
from steelyard.diagnosis.hypotheses.of_positions import KINDS as OF_POSITIONS
from steelyard.diagnosis.hypotheses.of_robots import FRICTION
from steelyard.diagnosis.hypotheses.of_robots import KINDS as OF_ROBOTS
from steelyard.diagnosis.hypotheses.of_torques import KINDS as OF_TORQUES
from steelyard.diagnosis.hypotheses.samples import Samples

Array = NDArray[np.float64]

SMALL = (*OF_TORQUES, *OF_POSITIONS, *OF_ROBOTS)
"""All kinds of hypotheses that are columns."""
FEW_PARTS = 4
"""Parts in which a size has to agree."""
LIKE, LIKE_GAIN = 2.5, 8.0
"""Standard errors of the gain over the parts, and gain, that admit a law of friction."""
SURE, SURE_GAIN = 4.5, 40.0
"""The same for what is told to a user."""
PER_COLUMN = 6.0
"""Gain that each column costs."""
AS_GOOD, AS_GOOD_SHARE = 20.0, 0.1
"""Hypotheses whose gain is smaller by less than this, or this share, cannot be told apart."""
MOST = 3
"""Hypotheses about one log, besides friction."""
MOST_TRIED, LINEARISED, CLOSE = 4, 6, 0.02
"""Hypotheses whose finite change is tried; how often a size is linearised again, at the most, and
the share of it by which it may still change.
"""
BROUGHT = 0.5
"""Share of the gain that was predicted to first order that a finite change has to bring."""
RIDGE = 1e-3
STEADY, VERY_STEADY, STEADY_SHARE = 4.0, 8.0, 0.3
"""Half widths of its interval by which a size has to be away from none, of a log that leaves no
doubts and of one that does; and the share of it by which those of parts of the log may differ."""
FAST, HOLDS, SEEN = 0.5, 0.6, 2.0
"""Share of its rms speed beyond which a joint is fast; share of a size that has to be there, and
how many half widths of its interval."""
NEEDED = 0.05
"""Share of a part in a column's square from which on it is needed to say whether parts agree."""


@dataclass(frozen=True, eq=False)
class Weighed:
    """What a candidate explains of a log, beside what was admitted before.

    gain : by how much it makes the score smaller, with left-out parts. share : of the squared
    residual that it explains, of all joints. certainty : mean of the
    gains of the parts over its standard error. sizes : (k,) of its columns. half : half of the 95 %
    interval of the size that is told. parts : (FEW_PARTS, k) sizes in each of some parts.
    kept : share of its columns that the model does not absorb.
    alone, half_alone : sizes and interval from the torques alone, whatever the file says.
    """

    candidate: Candidate
    gain: float
    share: float
    certainty: float
    sizes: Array
    half: float
    parts: Array
    kept: float
    alone: Array
    half_alone: float

    @property
    def kind(self) -> Kind:
        """Of which kind it is."""
        return self.candidate.kind

    @property
    def size(self) -> float:
        """Its size, as told."""
        return self.kind.told(self.sizes)

    @property
    def worth(self) -> float:
        """Gain less what its columns cost."""
        return self.gain - PER_COLUMN * len(self.sizes)

    def cost_of(self, sizes: Array) -> float:
        """What sizes (k,) cost in a score from which their columns were taken out."""
        far = float(np.sum((sizes / self.candidate.typical) ** 2))
        return PER_COLUMN * len(sizes) + far

    def is_steady(self, half_widths: float) -> bool:
        """Whether all parts of the log agree on a size, whatever the file says."""
        told = self.kind.told
        size, none = told(self.alone), told(np.zeros(len(self.alone)))
        apart = float(np.abs(np.array([told(one) for one in self.parts]) - size).max())
        away = abs(size - none)
        steady = apart < STEADY_SHARE * away and away > half_widths * self.half_alone
        return steady and self.kind.possible(size)

    def admitted_by(self, certainty: float, gain: float, half_widths: float = np.inf) -> bool:
        """Whether it gains this much, with a size that can be, and its parts agree: on the gain as
        certainly as this, or on the size.
        """
        known = self.certainty > certainty or self.is_steady(half_widths)
        return known and self.worth > gain and self.kind.possible(self.size)


@dataclass(frozen=True, eq=False)
class Believed:
    """A hypothesis that explains a log.

    weighed : as it was found. sizes : (k,) after it was linearised again. half : of its interval.
    by_part : the size in parts of the log. error : unexplained share of the torque without it and
    with it. rivals : others that explain the log about as well, the best first.
    """

    weighed: Weighed
    sizes: Array
    half: float
    by_part: tuple[float, ...]
    error: tuple[float, float]
    rivals: tuple[Weighed, ...] = ()

    @property
    def kind(self) -> Kind:
        """Of which kind it is."""
        return self.weighed.kind

    @property
    def size(self) -> float:
        """Its size, as told."""
        return self.kind.told(self.sizes)


@dataclass(frozen=True)
class Missing:
    """One thing that the model lacks, or that the log has, and how much of a log it would explain.

    code, joints, size, unit : of the hypothesis. of : "log", "file" or "robot". words : in words.
    share : of the squared residual, of all joints, of parts that were left out of its size.
    state : "friction" (a law that explains a part of the log), "believed", or "open" (it would
    explain as much, but parts of the log do not agree on it). rivals : codes of others that explain
    about as much.
    """

    code: str
    of: Origin
    joints: tuple[str, ...]
    size: float
    unit: str
    share: float
    state: Literal["friction", "believed", "open"]
    rivals: tuple[str, ...] = ()
    words: str = ""


@dataclass(frozen=True, eq=False)
class Explanation:
    """What explains a log.

    friction : laws that were admitted. believed : what else is told. open : what gains most of all
    that is not believed. scene : of the samples without what could be mended, with what was
    admitted.
    """

    friction: tuple[Weighed, ...]
    believed: tuple[Believed, ...]
    open: tuple[Weighed, ...]
    scene: Scene

    @property
    def score(self) -> float:
        """The score of the fit, with what its columns cost; smaller is better."""
        mended = [one for one in self.believed if one.kind.mended is not None]
        return score_of(self.scene) + sum(one.weighed.cost_of(one.sizes) for one in mended)


def missing_of(found: Explanation) -> tuple[Missing, ...]:
    """What explains a log, and what would explain most of what is left, the largest share first."""
    told = [_missing(one, "friction") for one in found.friction]
    told += [_missing(one.weighed, "believed", one.rivals) for one in found.believed]
    told += [_missing(one, "open") for one in found.open if one.worth > 0.0 and one.share > 0.0]
    return tuple(sorted(told, key=lambda one: -one.share))


def _missing(
    one: Weighed, state: Literal["friction", "believed", "open"], rivals: Sequence[Weighed] = ()
) -> Missing:
    kind, candidate = one.kind, one.candidate
    suspect = Suspect(kind, candidate.joints, one.size, kind.unit, 0.0, (0.0, 0.0))
    return Missing(
        kind.code,
        kind.of,
        candidate.joints,
        one.size,
        kind.unit,
        one.share,
        state,
        tuple(dict.fromkeys(other.kind.code for other in rivals)),
        kind.words(replace(suspect, span_s=candidate.span_s)),
    )


def score_of(scene: Scene) -> float:
    """The score of a fit, with what the columns cost that were admitted."""
    return scene.fit.score + PER_COLUMN * sum(len(one.typical) for one in scene.admitted)


def candidates_of(scene: Scene, kinds: Iterable[Kind] = SMALL) -> list[Candidate]:
    """All candidates of some kinds of hypotheses."""
    found: list[Candidate] = []
    for kind in kinds:
        if kind.columns is not None:
            found += kind.columns(kind, scene)
    return found


def weighed(scene: Scene, candidates: Sequence[Candidate]) -> list[Weighed]:
    """What each candidate explains, the best first; candidates that were admitted are left out."""
    admitted = {one.name for one in scene.admitted}
    given = [one for one in candidates if one.name not in admitted]
    if not given:
        return []
    s, fit = scene.samples, scene.fit
    n_joints, p = scene.W.shape[1:]
    w = fit.weights
    tables = [one.columns if one.columns.ndim == 3 else one.columns[:, :, None] for one in given]
    typical = np.concatenate([one.typical for one in given])
    counts = [len(one.typical) for one in given]
    C = np.concatenate(tables, axis=2) * (s.moving * w)[:, :, None] * typical
    A = (scene.W * w[:, None] * fit.spread).reshape(-1, p)
    r = (s.tau * s.moving - scene.W @ fit.theta) * w
    x = fit.theta.copy()
    file = scene.model.prior_theta()
    x[: len(file)] -= file
    x /= fit.spread
    flat = C.reshape(-1, C.shape[2])
    whole = np.sum(flat**2, axis=0)
    Z = solver_of(fit.H)(A.T @ flat)
    left = (flat - A @ Z).reshape(PARTS, -1, n_joints, C.shape[2])
    parts = r.reshape(PARTS, -1, n_joints)
    cr = np.einsum("bnjk,bnj->bjk", left, parts)
    before = np.sum(parts**2, axis=(0, 1))
    floor = np.full(n_joints, INDEPENDENT) * (LEAST_ERROR / np.maximum(fit.error, LEAST_ERROR)) ** 2
    found: list[Weighed] = []
    starts = np.concatenate([[0], np.cumsum(counts)])
    for k in sorted(set(counts)):
        members = [i for i, count in enumerate(counts) if count == k]
        where = starts[members][:, None] + np.arange(k)
        own = left[..., where]
        cc = np.einsum("bnjgk,bnjgl->bgjkl", own, own, optimize=True)
        for g, i in enumerate(members):
            at = where[g]
            found.append(
                _weighed_one(
                    given[i],
                    typical[at],
                    cr[:, :, at],
                    cc[:, g],
                    Z[:, at],
                    x,
                    before,
                    floor,
                    float(whole[at].sum()),
                )
            )
    return sorted(found, key=lambda one: -one.worth)


def _weighed_one(
    candidate: Candidate,
    typical: Array,
    cr: Array,
    cc: Array,
    Z: Array,
    x: Array,
    before: Array,
    floor: Array,
    whole: float,
) -> Weighed:
    """From products of the columns with the residual cr (PARTS, n_joints, k) and with themselves cc
    (PARTS, n_joints, k, k), beside the model; Z (p, k) what the model takes of them, x (p,) how far
    its parameters are from the file's.
    """
    k = len(typical)
    of_file, by_file = Z.T @ x, Z.T @ Z
    CR, CC = cr.sum(axis=1), cc.sum(axis=1)
    M = CC.sum(axis=0) + RIDGE * np.eye(k)
    R = CR.sum(axis=0)
    alone, apart = np.linalg.solve(M, R), np.linalg.solve(M - CC, (R - CR)[..., None])[..., 0]
    M, R = M + by_file, R + of_file
    sizes = np.linalg.solve(M, R)
    others = np.linalg.solve(M - CC, (R - CR)[..., None])[..., 0]
    gains = 2.0 * np.einsum("bk,bjk->bj", others, cr) - np.einsum(
        "bk,bjkl,bl->bj", others, cc, others
    )
    after = np.maximum(before - gains.sum(axis=0), floor)
    gain = INDEPENDENT * float(np.sum(np.log(np.maximum(before, floor) / after)))
    gain += float(2.0 * sizes @ of_file - sizes @ by_file @ sizes - sizes @ sizes)
    part = gains.sum(axis=1)
    energy = np.einsum("bkk->b", CC)
    used = energy > NEEDED * energy.max()
    n_used = int(used.sum())
    certainty = 0.0
    if n_used > 2:
        spread = float(np.std(part[used], ddof=1)) / np.sqrt(n_used)
        certainty = float(part[used].mean()) / max(spread, 1e-300)
    from scipy.special import stdtrit  # quantile of Student's t; scipy.stats takes long to load

    told = candidate.kind.told

    def half_of(all_parts: Array, left_out: Array) -> float:
        off = np.array([told(typical * one) for one in left_out]) - told(typical * all_parts)
        spread = float(np.sqrt((PARTS - 1) / PARTS * np.sum(off**2)))
        return spread * float(stdtrit(PARTS - 1, 0.975))

    few_r = CR.reshape(FEW_PARTS, -1, k).sum(axis=1)
    few_c = CC.reshape(FEW_PARTS, -1, k, k).sum(axis=1) + 1e-9 * np.eye(k)
    few = np.linalg.solve(few_c, few_r[..., None])[..., 0]
    kept = float(np.trace(CC.sum(axis=0) + by_file)) / max(whole, 1e-300)
    return Weighed(
        candidate,
        gain,
        float(np.sum(gains) / max(np.sum(before), 1e-300)),
        certainty,
        typical * sizes,
        half_of(sizes, others),
        typical * few,
        kept,
        typical * alone,
        half_of(alone, apart),
    )


def with_admitted(scene: Scene, admitted: Iterable[Candidate]) -> Scene:
    """The scene whose fit has these candidates' columns too, and no others."""
    admitted = tuple(admitted)
    p, s = len(scene.model.columns), scene.samples
    W = scene.W[:, :, :p]
    if not admitted:
        return replace(scene, W=W, fit=fit_of(moments(s, W)), admitted=())
    tables = [one.columns if one.columns.ndim == 3 else one.columns[:, :, None] for one in admitted]
    extra = np.concatenate(tables, axis=2)
    spread = np.concatenate([one.typical for one in admitted])
    fit = fit_of(moments(s, W, extra, spread))
    W = np.concatenate([W, extra * s.moving[:, :, None]], axis=2)
    return replace(scene, W=W, fit=fit, admitted=admitted)


@dataclass(frozen=True, eq=False)
class _Tried:
    """A hypothesis that was taken into the fit, by its columns or by mending the samples."""

    believed: Believed
    scene: Scene
    score: float


def explained(samples: Samples, kinds: Sequence[Kind] = SMALL) -> Explanation:
    """The hypotheses that explain a log."""
    scene = scene_of(samples)
    scene, friction = _with_friction(scene, candidates_of(scene, FRICTION))
    others = [one for one in kinds if one not in FRICTION]
    believed: list[Believed] = []
    doubtful: set[tuple[str, tuple[str, ...], float]] = set()
    found = weighed(scene, candidates_of(scene, others))
    while len(believed) < MOST:
        # where noise alone is left, what explains little is seen too
        clear = not doubted(scene.samples, scene.W, scene.fit)
        sure = [
            one
            for one in found
            if one.admitted_by(SURE, SURE_GAIN, VERY_STEADY) or (clear and one.is_steady(STEADY))
            if one.candidate.name not in doubtful
        ]
        if not sure:
            break
        if sure[0].kind.of != "robot" and not _holds_when_fast(scene, sure[0]):
            # a part of its joints would be the same
            doubtful |= {one.candidate.name for one in found if one.kind is sure[0].kind}
            continue
        near = sure[0].worth - max(AS_GOOD, AS_GOOD_SHARE * sure[0].worth)
        tried = [_tried(scene, one) for one in sure if one.worth > near][:MOST_TRIED]
        tried = sorted(tried, key=lambda one: one.score)
        best = tried[0]
        gained = score_of(scene) - best.score
        hoped = best.believed.weighed.worth
        enough = min(BROUGHT * hoped, hoped - AS_GOOD)
        if gained < enough or not best.believed.kind.possible(best.believed.size):
            doubtful.add(best.believed.weighed.candidate.name)
            continue
        limit = best.score + max(AS_GOOD, AS_GOOD_SHARE * gained)
        rivals = tuple(one.believed.weighed for one in tried[1:] if one.score < limit)
        believed.append(replace(best.believed, rivals=rivals))
        scene, friction = _without_needless(best.scene, friction)
        found = weighed(scene, candidates_of(scene, others))
    return Explanation(tuple(friction), tuple(believed), tuple(found[:MOST]), scene)


def _holds_when_fast(scene: Scene, one: Weighed) -> bool:
    """Whether a hypothesis has about the same size where joints are fast.

    Friction near standstill, where a joint sticks, or filtered samples of it, looks like much else.
    """
    s = scene.full
    fast = np.abs(s.v) > FAST * np.sqrt(np.mean(s.v**2, axis=0))
    other = _again(scene, replace(s, moving=s.moving & fast))
    own = [c for c in candidates_of(other, [one.kind]) if c.name == one.candidate.name]
    (again,) = weighed(other, own)
    told = one.kind.told
    none = told(np.zeros(len(one.sizes)))
    sizes, there = (one.alone, again.alone) if one.is_steady(STEADY) else (one.sizes, again.sizes)
    away, left = told(sizes) - none, told(there) - none
    return left / away > HOLDS and abs(left) > SEEN * again.half


def _tried(scene: Scene, one: Weighed) -> _Tried:
    """The fit with a hypothesis: the samples are mended and its size is linearised again where that
    can be, else its columns are admitted.
    """
    kind, parts = one.kind, one.parts
    alone = one.is_steady(STEADY)
    sizes, half = (one.alone, one.half_alone) if alone else (one.sizes, one.half)
    before = scene.fit.mean_error
    if kind.mended is None:
        with_it = with_admitted(scene, (*scene.admitted, one.candidate))
        score = score_of(with_it)
    else:
        joints = tuple(scene.model.channels.index(name) for name in one.candidate.joints)
        with_it = _again(scene, kind.mended(scene.full, joints, sizes))
        for _ in range(LINEARISED):
            own = [c for c in candidates_of(with_it, [kind]) if c.name == one.candidate.name]
            (rest,) = weighed(with_it, own)
            parts = sizes + rest.parts
            sizes = sizes + (rest.alone if alone else rest.sizes)
            half = rest.half_alone if alone else rest.half
            with_it = _again(scene, kind.mended(scene.full, joints, sizes))
            if np.all(np.abs(rest.sizes) < CLOSE * np.abs(sizes)):
                break
        score = score_of(with_it) + one.cost_of(sizes)
    by_part = tuple(kind.told(part) for part in parts)
    error = before, with_it.fit.mean_error
    return _Tried(Believed(one, sizes, half, by_part, error), with_it, score)


def _again(scene: Scene, samples: Samples) -> Scene:
    """The scene of other samples, with the same candidates admitted."""
    other = scene_of(samples)
    names = {one.name for one in scene.admitted}
    kinds = dict.fromkeys(one.kind for one in scene.admitted)
    return with_admitted(other, [c for c in candidates_of(other, kinds) if c.name in names])


def _with_friction(scene: Scene, laws: Sequence[Candidate]) -> tuple[Scene, list[Weighed]]:
    """The scene with the laws of friction that are likely, one more for each joint at a time."""
    admitted: list[Weighed] = []
    for _ in FRICTION:
        clear = not doubted(scene.samples, scene.W, scene.fit)
        likely = [
            one
            for one in weighed(scene, laws)
            if one.admitted_by(LIKE, LIKE_GAIN) or (clear and one.is_steady(0.5 * STEADY))
        ]
        best: dict[tuple[str, ...], Weighed] = {}
        for one in likely:
            best.setdefault(one.candidate.joints, one)
        if not best:
            break
        admitted += best.values()
        scene = with_admitted(scene, [one.candidate for one in admitted])
    return scene, admitted


def _without_needless(scene: Scene, friction: Sequence[Weighed]) -> tuple[Scene, list[Weighed]]:
    """The scene without laws of friction that gain too little beside the rest."""
    kept = list(friction)
    for one in friction:
        rest = [other for other in scene.admitted if other.name != one.candidate.name]
        alone = with_admitted(scene, rest)
        own = [c for c in scene.admitted if c.name == one.candidate.name]
        (again,) = weighed(alone, own)
        if not (again.admitted_by(LIKE, LIKE_GAIN) or again.is_steady(0.5 * STEADY)):
            kept.remove(one)
            scene = alone
    return scene, kept
