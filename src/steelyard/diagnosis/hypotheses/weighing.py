"""What a candidate explains of a log: columns beside the model's, all in one pass.

With the model's columns W (and the rows that hold its parameters near the file's) projected off,
what is left of the columns of a hypothesis is all that speaks for it:

    c' = c - W (WᵀW + 1)⁻¹ Wᵀ c,    size of the other parts:  s = (c'ᵀc')⁻¹ c'ᵀ r

r is the residual of the fit; all rows are weighted by the noise of their joint. The gain is the
score of `fit` with residuals of parts of the log that were left out of the size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.hypotheses.fit import INDEPENDENT, LEAST_ERROR, solver_of
from steelyard.diagnosis.hypotheses.hypothesis import PARTS, Candidate, Kind, Scene

Array = NDArray[np.float64]

FEW_PARTS = 4
"""Parts in which a size has to agree."""
PER_COLUMN = 6.0
"""Gain that each column costs."""
SURE, SURE_GAIN, VERY_STEADY = 4.5, 40.0, 8.0
"""Standard errors of the gain over the parts, gain, and half widths of its interval by which a size
is away from none, of what is told to a user."""
LIKELY, LIKELY_CERTAINTY, LIKELY_GAIN = 7.0, 1.5, 15.0
"""Standard errors of the size and of the gain, and gain, of what is told if it leaves no doubts."""
NOISE_GAIN, NOISE_STEADINESS = 80.0, 15.0
"""Gain, and standard errors of the size, beyond those of what slow noise looks like."""
LIKE, LIKE_GAIN = 2.5, 8.0
"""Standard errors of the gain, and gain, that admit a law of friction."""
STEADY_SHARE = 0.3
"""Share of a size by which those of parts of the log may differ."""
RIDGE = 1e-3
"""Pull on a size in units of the typical one: only for columns that the model absorbs."""
NEEDED = 0.05
"""Share of a part in a column's square from which on it is needed to say whether parts agree."""


@dataclass(frozen=True, eq=False)
class Weighed:
    """What a candidate explains of a log, beside what was admitted before.

    gain : by how much it makes the score smaller, with left-out parts. share : of the squared
    residual that it explains, of all joints. certainty : mean of the gains of the parts over its
    standard error. steadiness : the size over its standard error, from how parts of the log differ
    (of all columns together). sizes : (k,) of its columns. half : half of the 95 % interval of the
    size that is told. parts : (FEW_PARTS, k) sizes in each of some parts.
    kept : share of its columns that the model does not absorb.
    alone, half_alone : sizes and interval from the torques alone, whatever the file says.
    """

    candidate: Candidate
    gain: float
    share: float
    certainty: float
    steadiness: float
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
        return steady and self.candidate.possible(size)

    @property
    def is_sure(self) -> bool:
        """Whether it gains much, and parts of the log agree on the gain or on the size."""
        agreed = self.certainty > SURE or self.is_steady(VERY_STEADY)
        return agreed and self.worth > SURE_GAIN and self.candidate.possible(self.size)

    @property
    def is_beyond_noise(self) -> bool:
        """Whether it gains so much, so steadily, that slow noise does not look like it."""
        return self.worth > NOISE_GAIN and self.steadiness > NOISE_STEADINESS

    @property
    def is_likely(self) -> bool:
        """Whether it gains something, and parts of the log agree on the size."""
        agreed = self.steadiness > LIKELY and self.certainty > LIKELY_CERTAINTY
        return agreed and self.worth > LIKELY_GAIN and self.candidate.possible(self.size)

    @property
    def may_be(self) -> bool:
        """Whether it gains enough for a law of friction, which every joint has."""
        gains = self.certainty > LIKE and self.worth > LIKE_GAIN
        return gains and self.candidate.possible(self.size)


def weighed(scene: Scene, candidates: Sequence[Candidate]) -> list[Weighed]:
    """What each candidate explains, the best first; candidates that were admitted are left out."""
    admitted = {one.name for one in scene.admitted}
    given = [one for one in candidates if one.name not in admitted]
    if not given:
        return []
    s, fit = scene.samples, scene.fit
    n_joints, p = scene.W.shape[1:]
    w = fit.weights
    typical = np.concatenate([one.typical for one in given])
    counts = [len(one.typical) for one in given]
    C = np.concatenate([one.table for one in given], axis=2) * (s.moving * w)[:, :, None] * typical
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
    slope = CR @ sizes
    square = np.einsum("k,bkl,l->b", sizes, CC, sizes)
    whole_square = max(float(square.sum()), 1e-300)
    off = slope - float(slope.sum()) / whole_square * square
    spread_of_all = float(np.sqrt(PARTS / (PARTS - 1) * np.sum(off**2)))
    steadiness = float(slope.sum()) / max(spread_of_all, 1e-300)
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
        steadiness,
        typical * sizes,
        half_of(sizes, others),
        typical * few,
        kept,
        typical * alone,
        half_of(alone, apart),
    )
