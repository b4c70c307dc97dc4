"""`settle` makes points exactly feasible, and moves them no farther than needed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from seeds import every
from statements import Said

from steelyard.conic import exact
from steelyard.conic.blocks import linear_block
from steelyard.conic.settle import failing, holds_exactly, inner_point, rounded, settle
from steelyard.errors import EstimationError
from steelyard.knowledge.physical_blocks import full_consistency
from steelyard.robot.inertia import pseudo_inertia

SCALE = np.array([1.0] + [0.2] * 3 + [0.04] * 6)


def thin_body(rng):
    """A body of one to three points: its pseudo-inertia is singular, up to rounding."""
    points = rng.normal(size=(int(rng.integers(1, 4)), 3)) * 0.3
    phi = np.zeros(10)
    for x in points:
        J = x @ x * np.eye(3) - np.outer(x, x)
        phi += [1.0, *x, J[0, 0], J[0, 1], J[1, 1], J[0, 2], J[1, 2], J[2, 2]]
    return phi


def by_fractions(block, theta):
    """The verdict of the implementation with fractions."""
    x = [Fraction(float(theta[i])) for i in block.columns]
    return exact.in_cone(block.kind, exact.affine(block.A.tolist(), block.b.tolist(), x))


@every("seed", range(20))
def test_settled_bodies_are_feasible_in_fractions_too(seed):
    """Bodies on the boundary are moved by less than 1e-8, and are then feasible in fractions."""
    rng = np.random.default_rng(seed)
    theta = np.concatenate([thin_body(rng) for _ in range(3)])
    blocks = [full_consistency(Said(f"body {k}"), 10 * k) for k in range(3)]
    settled = settle(theta, blocks, np.tile(SCALE, 3))
    assert all(by_fractions(block, settled.theta) for block in blocks)
    assert all(holds_exactly(block, settled.theta) for block in blocks)
    assert settled.moved < 1e-8
    assert np.array_equal(settled.theta, rounded(settled.theta))


def test_only_what_fails_is_moved():
    """The infeasible body is moved; the feasible ones keep their digits."""
    rng = np.random.default_rng(0)
    solid = np.array([1.0, 0.0, 0.0, 0.0, 0.1, 0.0, 0.1, 0.0, 0.0, 0.1])
    outside = thin_body(rng)
    outside[[4, 6, 9]] -= 1e-6
    theta = np.concatenate([solid, outside, solid / 3.0])
    blocks = [full_consistency(Said(f"body {k}"), 10 * k) for k in range(3)]
    settled = settle(theta, blocks, np.tile(SCALE, 3))
    assert failing(blocks, rounded(theta)) == (blocks[1],)
    assert failing(blocks, settled.theta) == ()
    assert np.array_equal(settled.theta[:10], rounded(theta[:10]))
    assert np.array_equal(settled.theta[20:], rounded(theta[20:]))
    assert 0.0 < settled.share < 1e-3
    assert np.linalg.eigvalsh(pseudo_inertia(settled.theta[10:20]))[0] > -1e-15


def test_parameters_that_share_a_condition_move_together():
    """If a limit on a mass sum couples two bodies, both may move, and the limit holds."""
    rng = np.random.default_rng(1)
    theta = np.concatenate([thin_body(rng), thin_body(rng)])
    blocks = [full_consistency(Said(f"body {k}"), 10 * k) for k in range(2)]
    total = theta[0] + theta[10]
    blocks.append(linear_block(Said("sum"), [0, 10], [[-1.0, -1.0]], [total]))
    settled = settle(theta, blocks, np.tile(SCALE, 2))
    assert failing(blocks, settled.theta) == ()
    assert settled.moved < 1e-8


def test_a_given_inner_point_is_used():
    """The point moves towards the inner point by the stated share."""
    rng = np.random.default_rng(2)
    blocks = [full_consistency(Said("body"), 0)]
    theta = thin_body(rng)
    theta[[4, 6, 9]] -= 1e-4
    inner = 3.0 * inner_point(blocks, SCALE)[0]
    settled = settle(theta, blocks, SCALE, inner)
    step = settled.theta - theta
    assert np.allclose(step, settled.share * (inner - theta), atol=1e-10)


def test_conditions_without_interior_are_named():
    """Limits that leave no interval are named in the error."""
    third = 1.0 / 3.0
    blocks = [
        full_consistency(Said("body"), 0),
        linear_block(Said("floor"), [0], [[3.0]], [-np.nextafter(1.0, 2.0)]),
        linear_block(Said("ceiling"), [0], [[-3.0]], [1.0]),
    ]
    theta = np.array([third, 0, 0, 0, 0.1, 0, 0.1, 0, 0, 0.1])
    with pytest.raises(EstimationError, match=r"floor|ceiling"):
        settle(theta, blocks, SCALE)
