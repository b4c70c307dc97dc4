"""Speeds along the terms that jump at zero speed: Coulomb friction of joints, motors, couplings."""

from __future__ import annotations

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
