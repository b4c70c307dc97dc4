"""Which hypotheses explain a log: columns beside the model's, in rivalry, one after the other.

Laws of friction,
which explain most residuals of real robots, are admitted first and at a low threshold; what else is
believed has to explain more than these, in most parts of the log. Then laws that nothing needs any
more are removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.hypotheses.fit import (
    fit_of,
    moments,
)
from steelyard.diagnosis.hypotheses.hypothesis import (
    Candidate,
    Kind,
    Origin,
    Scene,
    Suspect,
    noise_left,
    scene_of,
)
from steelyard.diagnosis.hypotheses.of_friction import KINDS as OF_FRICTION
from steelyard.diagnosis.hypotheses.of_friction import LAWS as FRICTION
from steelyard.diagnosis.hypotheses.of_positions import KINDS as OF_POSITIONS
from steelyard.diagnosis.hypotheses.of_robots import KINDS as OF_ROBOTS
from steelyard.diagnosis.hypotheses.of_torques import KINDS as OF_TORQUES
from steelyard.diagnosis.hypotheses.samples import Samples
from steelyard.diagnosis.hypotheses.weighing import (
    PER_COLUMN,
    TOLD_GAIN,
    Weighed,
    weighed,
)

Array = NDArray[np.float64]

SMALL = (*OF_TORQUES, *OF_POSITIONS, *OF_FRICTION, *OF_ROBOTS)
"""All kinds of hypotheses that are columns."""
FEW_PER_COLUMN = 2.0
"""What a column costs in the score of a fit whose rows are taken as few."""
AS_GOOD, AS_GOOD_SHARE = 20.0, 0.1
"""Hypotheses whose gain is smaller by less than this, or this share, cannot be told apart."""
MOST = 3
"""Hypotheses about one log, besides friction."""
MOST_TRIED, LINEARISED, CLOSE = 4, 6, 0.01
"""Hypotheses whose finite change is tried; how often a size is linearised again, at the most, and
the share of it by which it may still change.
"""
BROUGHT = 0.5
"""Share of the gain that was predicted to first order that a finite change has to bring."""
FAST, HOLDS, SEEN = 0.5, 0.6, 1.0
"""Share of its rms speed beyond which a joint is fast; share of a size that has to be there, and
how many half widths of its interval."""
STANDS_OUT, ABSORBED = 1.6, 0.001
"""Times the gain of anything that is left and that the model does not absorb, by which a hypothesis
has to explain more: what explains hardly more than others is one of many things that the model
lacks. Set between a recording of a KUKA LWR4+ and a true gain of a UR5: 1.5 and 2 fail one each."""
SHARE_OF_ITSELF = Kind("share", "log", lambda one: "")
"""The size of a hypothesis as a share of what it was."""


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

    def as_json(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        return {**asdict(self), "joints": list(self.joints), "rivals": list(self.rivals)}


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
    """The score of a fit whose rows are taken as few, with what its admitted columns cost."""
    return scene.fit.score + FEW_PER_COLUMN * sum(len(one.typical) for one in scene.admitted)


def weighed_score(scene: Scene) -> float:
    """The score of the fit to independent rows, with what the columns cost that were admitted."""
    return scene.whitened.score + PER_COLUMN * sum(len(one.typical) for one in scene.admitted)


def candidates_of(scene: Scene, kinds: Iterable[Kind] = SMALL) -> list[Candidate]:
    """All candidates of some kinds of hypotheses."""
    found: list[Candidate] = []
    for kind in kinds:
        if kind.columns is not None:
            found += kind.columns(kind, scene)
    return found


def with_admitted(scene: Scene, admitted: Iterable[Candidate]) -> Scene:
    """The scene whose fit has these candidates' columns too, and no others."""
    admitted = tuple(admitted)
    p, s = len(scene.model.columns), scene.samples
    W = scene.W[:, :, :p]
    if not admitted:
        return replace(scene, W=W, fit=fit_of(moments(s, W)), admitted=())
    extra = np.concatenate([one.table for one in admitted], axis=2)
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
    faults = [one for one in kinds if one not in FRICTION]
    believed: list[Believed] = []
    doubtful: set[tuple[str, tuple[str, ...], float]] = set()
    plain = scene_of(samples)
    scene, friction = _with_friction(plain)
    candidates = candidates_of(scene, faults)
    first = _instead_of_friction(plain, scene, candidates) if friction else None
    if first is not None:
        believed.append(first.believed)
        scene, friction = _with_friction(first.scene)
        candidates = candidates_of(scene, faults)
    found = weighed(scene, candidates)
    while len(believed) < MOST:
        sure = [one for one in found if one.is_sure and one.candidate.name not in doubtful]
        if not sure:
            break
        if not _holds_when_fast(scene, sure[0]):
            # a part of its joints would be the same
            doubtful |= {one.candidate.name for one in found if one.kind is sure[0].kind}
            continue
        near = sure[0].worth - max(AS_GOOD, AS_GOOD_SHARE * sure[0].worth)
        rivalling = [one for one in sure if one.worth > near][:MOST_TRIED]
        tried = sorted((_tried(scene, one) for one in rivalling), key=lambda one: one.score)
        best = tried[0]
        gained = weighed_score(scene) - best.score
        hoped = best.believed.weighed.worth
        enough = min(BROUGHT * hoped, hoped - AS_GOOD)
        possible = best.believed.weighed.candidate.possible(best.believed.size)
        if gained < enough or not possible:
            doubtful.add(best.believed.weighed.candidate.name)
            continue
        limit = best.score + max(AS_GOOD, AS_GOOD_SHARE * gained)
        rivals = tuple(one.believed.weighed for one in tried[1:] if one.score < limit)
        believed.append(replace(_resized(scene, best), rivals=rivals))
        scene, friction = _without_needless(_with_noise_left(best.scene), friction)
        found = weighed(scene, candidates_of(scene, faults))
    others = [
        one.worth for one in found if one.kept > ABSORBED and one.candidate.name not in doubtful
    ]
    left = max(others, default=0.0)
    told = [one for one in believed if one.weighed.worth > STANDS_OUT * left]
    doubted = [one.weighed for one in believed if one not in told]
    return Explanation(tuple(friction), tuple(told), (*doubted, *found[:MOST]), scene)


def _holds_when_fast(scene: Scene, one: Weighed) -> bool:
    """Whether a hypothesis has about the same size where joints are fast.

    Friction near standstill, where a joint sticks, or filtered samples of it, looks like much else.
    """
    s = scene.full
    fast = np.abs(s.v) > FAST * np.sqrt(np.mean(s.v**2, axis=0))
    other = _again(scene, replace(s, moving=s.moving & fast))
    (own,) = [c for c in candidates_of(other, [one.kind]) if c.name == one.candidate.name]
    together = replace(own, columns=own.table @ one.sizes, typical=np.ones(1))
    (again,) = weighed(other, [replace(together, kind=SHARE_OF_ITSELF)])
    return again.size > max(HOLDS, SEEN * again.half)


def _tried(scene: Scene, one: Weighed) -> _Tried:
    """The fit with a hypothesis: the samples are mended and its size is linearised again where that
    can be, else its columns are admitted.
    """
    kind, parts, sizes, half = one.kind, one.parts, one.sizes, one.half
    before = scene.fit.mean_error
    if kind.mended is None:
        with_it = with_admitted(scene, (*scene.admitted, one.candidate))
        score = weighed_score(with_it)
    else:
        joints = tuple(scene.model.channels.index(name) for name in one.candidate.joints)
        with_it = _again(scene, kind.mended(scene.full, joints, sizes))
        for _ in range(LINEARISED):
            own = [c for c in candidates_of(with_it, [kind]) if c.name == one.candidate.name]
            (rest,) = weighed(with_it, own)
            parts = sizes + rest.parts
            sizes, half = sizes + rest.sizes, rest.half
            with_it = _again(scene, kind.mended(scene.full, joints, sizes))
            if np.all(np.abs(rest.sizes) < CLOSE * np.abs(sizes)):
                break
        score = weighed_score(with_it) + one.cost_of(sizes)
    by_part = tuple(kind.told(part) for part in parts)
    error = before, with_it.fit.mean_error
    return _Tried(Believed(one, sizes, half, by_part, error), with_it, score)


def _resized(scene: Scene, best: _Tried) -> Believed:
    """A believed hypothesis with its size beside the noise that it leaves: before, what it explains
    was taken for slow noise, and its slow part hardly counted.
    """
    one = best.believed
    if one.kind.mended is not None:
        return one
    (again,) = weighed(
        replace(scene, noise=_with_noise_left(best.scene).noise), [one.weighed.candidate]
    )
    by_part = tuple(one.kind.told(part) for part in again.parts)
    return replace(one, sizes=again.sizes, half=again.half, by_part=by_part)


def _again(scene: Scene, samples: Samples) -> Scene:
    """The scene of other samples, with the same candidates admitted."""
    other = scene_of(samples, scene.noise)
    # what was chosen among many by the residual would be another one now
    chosen = [one for one in scene.admitted if one.cost]
    rest = [one for one in scene.admitted if not one.cost]
    names, kinds = {one.name for one in rest}, dict.fromkeys(one.kind for one in rest)
    again = [one for one in candidates_of(other, kinds) if one.name in names]
    return with_admitted(other, (*chosen, *again))


def _instead_of_friction(
    plain: Scene, scene: Scene, candidates: Sequence[Candidate]
) -> _Tried | None:
    """A hypothesis that explains a log better, alone, than all laws of friction (``scene``)."""
    plain = replace(plain, noise=scene.noise)
    sure = [one for one in weighed(plain, candidates) if one.is_sure]
    # what is small for one joint is large where it is of all
    likely = sure[:MOST_TRIED] + [one for one in sure[MOST_TRIED:] if not one.candidate.joints]
    tried = [_tried(plain, one) for one in likely if _holds_when_fast(plain, one)]
    best = min(tried, key=lambda one: one.score, default=None)
    if best is None or best.score > weighed_score(scene) - TOLD_GAIN:
        return None
    if not best.believed.weighed.candidate.possible(best.believed.size):
        return None
    return replace(best, scene=_with_noise_left(best.scene))


def _with_noise_left(scene: Scene) -> Scene:
    """The scene with the noise that its fit leaves."""
    return replace(scene, noise=noise_left(scene.samples, scene.W, scene.fit))


def with_laws_of_friction(samples: Samples) -> Scene:
    """The scene of some samples with the laws of friction that are likely."""
    return _with_friction(scene_of(samples))[0]


def _with_friction(scene: Scene) -> tuple[Scene, list[Weighed]]:
    """The scene with the laws of friction that are likely, one more for each joint at a time."""
    before = scene.admitted
    admitted: list[Weighed] = []
    for _ in FRICTION:
        best: dict[tuple[str, ...], Weighed] = {}
        for one in weighed(scene, candidates_of(scene, FRICTION)):
            if one.may_be:
                best.setdefault(one.candidate.joints, one)
        if not best:
            break
        admitted += best.values()
        scene = with_admitted(scene, (*before, *(one.candidate for one in admitted)))
        scene = _with_noise_left(scene)
    return scene, admitted


def _without_needless(scene: Scene, friction: Sequence[Weighed]) -> tuple[Scene, list[Weighed]]:
    """The scene without laws of friction that gain too little beside the rest."""
    kept = list(friction)
    for one in friction:
        rest = [other for other in scene.admitted if other.name != one.candidate.name]
        without = with_admitted(scene, rest)
        own = [c for c in scene.admitted if c.name == one.candidate.name]
        (again,) = weighed(without, own)
        if not again.may_be:
            kept.remove(one)
            scene = without
    return scene, kept
