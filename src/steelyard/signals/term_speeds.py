"""Speeds along the terms that jump at zero speed: Coulomb friction of joints, motors, couplings."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from steelyard.model.model import Model

Array = NDArray[np.float64]


def term_speeds(model: Model, v: Array) -> Array:
    """Speed d·v (n_samples, n_terms), rad/s or m/s, of each of ``model.jumping_terms``.

    v : (n_samples, nv) joint speeds.
    """
    rows = {name: row for row, name in enumerate(model.channels)}
    speeds = np.zeros((len(v), len(model.jumping_terms)))
    for k, term in enumerate(model.jumping_terms):
        for joint, weight in term.direction:
            speeds[:, k] += weight * v[:, rows[joint]]
    return speeds


def rms_speeds(speeds: Array) -> Array:
    """Root mean square (n_terms,) of speeds (n_samples, n_terms)."""
    return np.asarray(np.sqrt(np.mean(speeds**2, axis=0)))


def usual_or_rms(model: Model, speeds: Array, usual: Mapping[str, float] | None) -> Array:
    """Usual speed (n_terms,): the one given by owner, or the root mean square of ``speeds``."""
    if usual is None:
        return rms_speeds(speeds)
    return np.array([usual[term.owner] for term in model.jumping_terms])


def usual_speeds(model: Model, v: Array) -> dict[str, float]:
    """Root mean square speed (rad/s or m/s) by owner of the terms that jump."""
    owners = [term.owner for term in model.jumping_terms]
    return dict(zip(owners, rms_speeds(term_speeds(model, v)).tolist(), strict=True))
