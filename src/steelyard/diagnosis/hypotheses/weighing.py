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

from steelyard.diagnosis.hypotheses.hypothesis import PARTS, Candidate, Kind, Scene, Whitened

Array = NDArray[np.float64]

FEW_PARTS = 4
"""Parts in which a size has to agree."""
PER_COLUMN = 6.0
"""Gain that each column costs."""
TOLD_GAIN, TOLD_STEADINESS = 36.0, 3.5
STEADY_GAIN, STEADY = 22.0, 9.0
"""Gain, and standard errors of the size, of what is told to a user: either the gain is beyond that
of any noise, or all parts of the log agree."""
LIKE_GAIN, LIKE_STEADINESS = 8.0, 2.5
"""The same that admit a law of friction, which every joint has."""
RIDGE = 1e-3
"""Pull on a size in units of the typical one: only for columns that the model absorbs."""
TESTABLE = 1e-5
"""Share of its columns that the model must not absorb for a log to say anything."""


@dataclass(frozen=True, eq=False)
class Weighed:
    """What a candidate explains of a log, beside what was admitted before.

    gain : by how much it makes the score smaller, with left-out parts. share : of the squared
    residual that it explains, of all joints. steadiness : the size over its standard error, from
    how parts of the log differ (of all columns together). sizes : (k,) of its columns. left_out :
    (PARTS, k) without each part in turn. parts : (FEW_PARTS, k) in each of some parts.
    kept : share of its columns that the model does not absorb.
    """

    candidate: Candidate
    gain: float
    share: float
    steadiness: float
    sizes: Array
    left_out: Array
    parts: Array
    kept: float

    @property
    def half(self) -> float:
        """Half of the 95 % interval of the size that is told."""
        from scipy.special import stdtrit  # quantile of Student's t; scipy.stats takes long to load

        told = self.kind.told
        apart = np.array([told(one) for one in self.left_out]) - self.size
        spread = float(np.sqrt((PARTS - 1) / PARTS * np.sum(apart**2)))
        return spread * float(stdtrit(PARTS - 1, 0.975))

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
        return self.gain - PER_COLUMN * len(self.sizes) - self.candidate.cost

    def cost_of(self, sizes: Array) -> float:
        """What sizes (k,) cost in a score from which their columns were taken out."""
        far = float(np.sum((sizes / self.candidate.typical) ** 2))
        return PER_COLUMN * len(sizes) + far

    @property
    def is_sure(self) -> bool:
        """Whether it explains much more than noise would, or parts of the log agree on it."""
        much = self.worth > TOLD_GAIN and self.steadiness > TOLD_STEADINESS
        steady = self.worth > STEADY_GAIN and self.steadiness > STEADY
        return (much or steady) and self.kept > TESTABLE and self.candidate.possible(self.size)

    @property
    def may_be(self) -> bool:
        """Whether it gains enough for a law of friction."""
        agreed = self.steadiness > LIKE_STEADINESS
        return agreed and self.worth > LIKE_GAIN and self.candidate.possible(self.size)


def weighed(scene: Scene, candidates: Sequence[Candidate]) -> list[Weighed]:
    """What each candidate explains, the best first; candidates that were admitted are left out."""
    admitted = {one.name for one in scene.admitted}
    given = [one for one in candidates if one.name not in admitted]
    if not given:
        return []
    s, white = scene.samples, scene.whitened
    typical = np.concatenate([one.typical for one in given])
    counts = [len(one.typical) for one in given]
    tables = np.concatenate([one.table for one in given], axis=2)
    C = white.white(tables * s.moving[:, :, None]).reshape(len(white.r), -1) * typical
    whole = np.sum(C**2, axis=0)
    Z = white.solve(white.A.T @ C)
    left = (C - white.A @ Z).reshape(PARTS, -1, C.shape[1])
    parts = white.r.reshape(PARTS, -1)
    CR = np.einsum("bnk,bn->bk", left, parts)
    found: list[Weighed] = []
    starts = np.concatenate([[0], np.cumsum(counts)])
    for k in sorted(set(counts)):
        members = [i for i, count in enumerate(counts) if count == k]
        where = starts[members][:, None] + np.arange(k)
        own = [left[..., where[:, i]] for i in range(k)]
        CC = np.empty((PARTS, len(members), k, k))
        for i in range(k):
            for j in range(i + 1):
                CC[..., i, j] = CC[..., j, i] = np.einsum("bng,bng->bg", own[i], own[j])
        found += _weighed_alike(
            [given[i] for i in members],
            typical[where],
            CR[:, where],
            CC,
            Z[:, where],
            white,
            np.sum(whole[where], axis=1),
        )
    return sorted(found, key=lambda one: -one.worth)


def _weighed_alike(
    given: Sequence[Candidate],
    typical: Array,
    CR: Array,
    CC: Array,
    Z: Array,
    white: Whitened,
    whole: Array,
) -> list[Weighed]:
    """Of g candidates with k columns each: from products of the columns with the residual CR
    (PARTS, g, k) and with themselves CC (PARTS, g, k, k), beside the model; Z (p, g, k) what the
    model takes of them; the columns' own squares (g,).
    """
    of_file = np.einsum("pgk,p->gk", Z, white.x)
    by_file = np.einsum("pgk,pgl->gkl", Z, Z)
    M = CC.sum(axis=0) + by_file + RIDGE * np.eye(typical.shape[1])
    R = CR.sum(axis=0) + of_file
    sizes = _solved(M, R)
    others = _solved(M - CC, R - CR)
    gains = 2.0 * np.sum(others * CR, axis=2) - _squares(others, CC)
    in_file = 2.0 * np.sum(sizes * of_file, axis=1) - _squares(sizes, by_file)
    gain = gains.sum(axis=0) + in_file - np.sum(sizes**2, axis=1)
    slope, square = np.sum(CR * sizes, axis=2), _squares(sizes[None], CC)
    whole_square = np.maximum(square.sum(axis=0), 1e-300)
    off = slope - slope.sum(axis=0) / whole_square * square
    spread = np.sqrt(PARTS / (PARTS - 1) * np.sum(off**2, axis=0))
    steadiness = slope.sum(axis=0) / np.maximum(spread, 1e-300)
    few_r = CR.reshape(FEW_PARTS, -1, *CR.shape[1:]).sum(axis=1)
    few_c = CC.reshape(FEW_PARTS, -1, *CC.shape[1:]).sum(axis=1)
    few = _solved(few_c + 1e-9 * np.eye(typical.shape[1]), few_r)
    kept = np.einsum("gkk->g", CC.sum(axis=0) + by_file) / np.maximum(whole, 1e-300)
    share = gains.sum(axis=0) / max(float(white.r @ white.r), 1e-300)
    return [
        Weighed(
            one,
            float(gain[g]),
            float(share[g]),
            float(steadiness[g]),
            typical[g] * sizes[g],
            typical[g] * others[:, g],
            typical[g] * few[:, g],
            float(kept[g]),
        )
        for g, one in enumerate(given)
    ]


def _solved(M: Array, R: Array) -> Array:
    """M⁻¹ R of stacks of matrices (..., k, k) and vectors (..., k)."""
    return np.asarray(np.linalg.solve(M, R[..., None])[..., 0])


def _squares(x: Array, M: Array) -> Array:
    """xᵀ M x of stacks of vectors (..., k) and matrices (..., k, k)."""
    return np.asarray(np.einsum("...k,...kl,...l->...", x, M, x, optimize=True))
