"""Friction laws as cubic pieces, for the compiled loop of the virtual robot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from steelyard.model.term_kinds import TERM_KINDS, term_kind
from steelyard.simulation._friction_curves import KNOTS, friction_pieces

FRICTION = [kind for kind in TERM_KINDS if kind.is_friction]
QUADRATIC = replace(
    term_kind("viscous"),
    name="quadratic",
    response="curve",
    law=lambda motion: motion.speed * np.abs(motion.speed),
)
STRIBECK = replace(
    term_kind("coulomb"),
    name="stribeck",
    law=lambda motion: np.sign(motion.speed) * np.exp(-np.abs(motion.speed) / 0.1),
)


def at(pieces: np.ndarray, speeds: np.ndarray) -> np.ndarray:
    """The piecewise cubic at these speeds."""
    k = np.clip(np.searchsorted(KNOTS, speeds, side="right") - 1, 0, len(KNOTS) - 2)
    u = speeds - KNOTS[k]
    return np.sum(pieces[k] * u[:, None] ** np.arange(4), axis=1)


@pytest.mark.parametrize("kind", [*FRICTION, QUADRATIC, STRIBECK], ids=lambda kind: kind.name)
def test_the_pieces_are_the_law(kind):
    """At any speed but zero the pieces have the value of the law, or its size if it jumps."""
    rng = np.random.default_rng(1)
    speeds = rng.choice([-1.0, 1.0], 500) * np.exp(rng.uniform(np.log(1e-6), np.log(50.0), 500))
    law = kind.law_at_speed(speeds)
    expected = law * np.sign(speeds) if kind.jumps_at_zero_speed else law
    found = at(friction_pieces(kind), speeds)
    atol = 3e-5 if kind is STRIBECK or kind.has_speed else 1e-15
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=atol)


def test_coulomb_friction_is_exactly_one():
    """Constant friction is represented without rounding errors."""
    pieces = friction_pieces(term_kind("coulomb"))
    assert np.all(pieces[:, 0] == 1.0)
    assert np.all(pieces[:, 1:] == 0.0)
