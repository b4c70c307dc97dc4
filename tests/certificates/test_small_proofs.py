"""Exact proofs on problems of a few parameters, whose answers are known in closed form."""

from __future__ import annotations

import re
from fractions import Fraction

import cvxpy
import numpy as np
import pytest
from numpy.typing import NDArray
from paper_robots import puma_arm

from steelyard.certificates.base_feasibility import (
    base_feasibility,
    correct_base,
    exact_witness,
    masses_without_effect,
    widest_margin,
    without_mass,
)
from steelyard.certificates.certificate import Certificate
from steelyard.certificates.infeasibility import (
    exact_certificate,
    face,
    pivot_blocks,
    prove_infeasible,
)
from steelyard.certificates.optimality import (
    Optimality,
    _least_shift,
    _Owners,
    _with_room,
    exact_parameters,
    prove_gap,
)
from steelyard.certificates.verify import Verification
from steelyard.conic import exact
from steelyard.conic.blocks import Block, linear_block, matrix_of, psd_block
from steelyard.conic.settle import failing
from steelyard.errors import EstimationError
from steelyard.estimators.optimum_distance import above_optimum
from steelyard.knowledge.physical_blocks import full_consistency
from steelyard.model.base_map import BaseMap
from steelyard.model.model import Model
from steelyard.robot.inertia import pseudo_inertia

Array = NDArray[np.float64]


def base_of(K: list[list[float]]) -> BaseMap:
    """A base map with this K; the base column of each row is the first with a one."""
    independent = tuple(row.index(1.0) for row in K)
    return BaseMap((), independent, np.array(K, dtype=float), (), "")


def at_least(column: int, low: float, factor: float = 1.0) -> Block:
    """factor (theta - low) >= 0; with a negative factor, low is an upper limit."""
    return linear_block(None, [column], [[factor]], [-factor * low])


def equal(column: int, value: float) -> Block:
    """theta = value."""
    return linear_block(None, [column], [[1.0]], [-value], "zero")


def matrix(first: int = 0) -> Block:
    """[[a, b], [b, c]] of three columns is positive semidefinite."""
    units = [[[1, 0], [0, 0]], [[0, 1], [1, 0]], [[0, 0], [0, 1]]]
    return psd_block(None, range(first, first + 3), [np.array(M) for M in units], np.zeros((2, 2)))


def trace_at_most(largest: float) -> Block:
    """a + c <= largest, stated on all three columns of the matrix."""
    return linear_block(None, [0, 1, 2], [[-1.0, 0.0, -1.0]], [largest])


# --- which block absorbs ------------------------------------------------------------------------


def test_pivots_of_infeasibility():
    """Equations first, then matrices, then inequalities of one column; of several, the first; what
    has fewer independent rows than columns, or several columns, absorbs nothing.
    """
    assert pivot_blocks([at_least(0, 0.0), at_least(1, 2.0, -1.0)]) == {0: 0, 1: 1}
    assert pivot_blocks([at_least(0, 0.0), at_least(0, 2.0, -1.0)]) == {0: 0}
    assert pivot_blocks([at_least(0, 0.0), equal(0, 1.0)]) == {0: 1}
    assert pivot_blocks([at_least(0, 0.0), matrix(), equal(3, 1.0)]) == {0: 1, 1: 1, 2: 1, 3: 2}
    assert pivot_blocks([matrix(), equal(1, 1.0)]) == {1: 1}  # which then shares no column
    assert pivot_blocks([linear_block(None, [0, 1], [[1, 0], [0, 1]], [0, 0])]) == {}
    assert pivot_blocks([linear_block(None, [0, 1], [[1, 0], [0, 1]], [0, 0], "zero")]) == {
        0: 0,
        1: 0,
    }
    assert pivot_blocks([linear_block(None, [0, 1], [[1, 1]], [0], "zero")]) == {}
    assert pivot_blocks([linear_block(None, [0], [[0]], [1])]) == {}
    assert pivot_blocks([linear_block(None, [0, 1], [[1, 0], [0, 1]], [0, 0], "second_order")]) == (
        {}
    )


def test_faces():
    """Rows of a dual that are zero but for rounding leave a smaller matrix; other kinds stay."""
    block = psd_block(None, range(6), [np.eye(3)] * 6, np.zeros((3, 3)))
    inside = np.array([1.0, 0.0, 2.0, 0.0, 0.0, 3.0])  # diagonal entries are 0, 2 and 5
    assert face(block, inside) == [0, 1, 2, 3, 4, 5]
    assert face(block, inside * (1e-7, 1, 1, 1, 1, 1)) == [2, 4, 5]
    assert face(block, inside * (1, 1, 0.75e-6, 1, 1, 1)) == [0, 3, 5]
    assert face(block, inside * (1, 1, 3e-6, 1, 1, 1)) == [0, 1, 2, 3, 4, 5]
    assert face(block, 1e-200 * inside) == [0, 1, 2, 3, 4, 5]
    assert face(at_least(0, 0.0), np.zeros(1)) == [0]


def test_owners_of_a_gap():
    """Matrices and equations absorb their columns, one-sided bounds on a column alone those; bounds
    on absorbed columns, and with a coefficient of zero, are not needed.
    """
    given = [
        at_least(0, 0.0), matrix(), at_least(3, 1.0), at_least(3, 5.0, -2.0), equal(4, 1.0),
        at_least(4, 0.0), linear_block(None, [5], [[0.0]], [1.0]),
        linear_block(None, [5], [[1.0], [-1.0]], [0.0, 1.0]), trace_at_most(7.0),
    ]  # fmt: skip
    owners = _Owners(given, 7)
    assert owners.whole == [1, 4]
    assert owners.sides == {3: [2, 3]}
    assert owners.one_sided == [2, 3]
    assert owners.free == [5, 6]
    # minus the trace is the unit matrix, paired with the block
    assert owners.shifts == {1: (8, [1, 0, 1])}
    assert (owners.side(3, True), owners.side(3, False)) == (2, 3)
    for other in (
        linear_block(None, [0, 1, 2], [[1.0, 0.0, 1.0]], [0.0]),  # a lower bound
        linear_block(None, [0, 1, 2], [[-1.0, 0.0, 1.0]], [0.0]),
        linear_block(None, [0, 2], [[-1.0, -1.0]], [0.0]),
        linear_block(None, [0, 1, 2], [[-1.0, 0.0, -1.0]], [0.0], "zero"),
        linear_block(None, [0, 1, 2], [[-1.0, 0.0, -1.0]] * 2, [1.0, 1.0]),
    ):
        assert _Owners([matrix(), other], 3).shifts == {}


def test_of_several_bounds_the_tightest_absorbs():
    """The largest lower and the smallest upper limit, whatever the scale of the conditions."""
    given = [
        at_least(0, -3.0, 10.0), at_least(0, -1.0, 0.1), at_least(0, -2.0),
        at_least(0, 4.0, -0.1), at_least(0, 2.0, -10.0), at_least(0, 3.0, -1.0),
    ]  # fmt: skip
    owners = _Owners(given, 1)
    assert (owners.side(0, True), owners.side(0, False)) == (1, 4)
    assert _Owners(given[:3], 1).side(0, False) is None
    assert _Owners(given[3:], 1).side(0, True) is None


@pytest.mark.parametrize("seed", range(6))
def test_room_for_one_sided_bounds(seed):
    """Kᵀ Rᵀ u balances the other duals on free columns, and on columns with bounds to one side has
    the sign that these can absorb, by at least 1e-12 of its terms; a right u hardly changes.
    """
    rng = np.random.default_rng(seed)
    n = 5
    base, R = base_of(np.eye(n).tolist()), np.triu(rng.normal(size=(n, n))) + 3.0 * np.eye(n)
    owners = _Owners(
        [at_least(0, 0.0), at_least(1, 1.0, -2.0), at_least(2, 0.0), at_least(2, 1.0, -1.0)], n
    )
    assert owners.free == [3, 4]
    others = rng.normal(size=n)
    scale = 10.0 ** rng.uniform(-1, 1, n)
    u = rng.normal(size=n)
    found = _with_room(base, R, u, owners, others, scale)
    left = -R.T @ found - others
    least = 0.9e-12 * np.abs(R.T) @ np.abs(u)
    assert left[0] >= least[0] > 0
    assert left[1] <= -least[1]
    assert left[3:] == pytest.approx(0.0, abs=1e-12)
    # what has the right sign stays
    wanted = np.array([0.5, -0.5, 0.25, 0.0, 0.0])
    right = np.linalg.solve(-R.T, others + wanted)
    same = _with_room(base, R, right, owners, others, scale)
    assert same == pytest.approx(right, rel=1e-11, abs=1e-12)
    # nothing to do where every column has a block, or bounds to both sides
    both = _Owners([at_least(k, 0.0, sign) for k in range(n) for sign in (1.0, -1.0)], n)
    assert _with_room(base, R, u, both, others, scale) is u


def test_the_least_shift_is_just_enough():
    """[[a, b], [b, c]] + s 1 is positive semidefinite from minus its smallest eigenvalue on."""
    unit = [Fraction(1), Fraction(0), Fraction(1)]
    assert _least_shift([Fraction(1), Fraction(1), Fraction(1)], unit) == 0
    for entries, smallest in (((1, 2, 1), -1.0), ((-3, 0, 5), -3.0), ((0, 1e-9, 1), -1e-18)):
        given = [Fraction(x) for x in entries]
        s = _least_shift(given, unit)
        assert s is not None
        moved = [x + s * y for x, y in zip(given, unit, strict=True)]
        assert exact.is_psd(exact.symmetric(moved))
        assert float(s) == pytest.approx(-smallest, rel=1e-6, abs=1e-15)
    # in units of the shift
    twice = _least_shift([Fraction(1), Fraction(2), Fraction(1)], [4 * x for x in unit])
    assert float(twice or 0) == pytest.approx(0.25, rel=1e-6)


# --- proofs with known answers ------------------------------------------------------------------

HALF = [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]  # a + c and b, so that |b| <= (a + c) / 2
INFEASIBLE: list[tuple[str, list[list[float]], list[Block], list[float], list[float]]] = [
    ("lower", [[1.0]], [at_least(0, 0.0)], [-1e-3], [1e-3]),
    ("lower, raised", [[1.0]], [at_least(0, 2.0)], [1.999], [2.001]),
    ("upper", [[1.0]], [at_least(0, 2.0, -3.0)], [2.001], [1.999]),
    (
        "equation",
        [[1.0, 0.0], [0.0, 1.0]],
        [equal(0, 2.0), at_least(1, 0.0)],
        [2.001, 1.0],
        [2.0, 1.0],
    ),
    ("between", [[1.0]], [at_least(0, 1.0), at_least(0, 2.0, -1.0)], [2.001], [1.5]),
    ("sum", [[1.0, 1.0]], [at_least(0, 1.0), at_least(1, 2.0)], [2.999], [3.001]),
    (
        "difference",
        [[1.0, -1.0]],
        [at_least(0, 1.0), at_least(1, 2.0, -1.0)],
        [-1.001],
        [-0.999],
    ),
    ("matrix", HALF, [matrix()], [1.0, 0.501], [1.0, 0.499]),
    ("matrix, negative", HALF, [matrix()], [1.0, -0.501], [1.0, -0.499]),
    ("trace", [[0.0, 1.0, 0.0]], [matrix(), trace_at_most(3.0)], [1.501], [1.499]),
    (
        "two columns",
        [[1.0, 1.0]],
        [linear_block(None, [0, 1], [[1.0, 1.0]], [-2.0]), at_least(0, -9.0), at_least(1, -9.0)],
        [1.999],
        [2.001],
    ),
]


@pytest.mark.parametrize("case", INFEASIBLE, ids=lambda case: case[0])
def test_infeasible_on_one_side_of_a_known_limit(case):
    """Beyond the limit there is an exact proof, which holds in plain rationals; within none."""
    _, K, given, outside, within = case
    base, scale = base_of(K), np.ones(len(K[0]))
    proof = prove_infeasible(base, np.array(outside), given, scale)
    assert proof is not None
    value = sum(y * Fraction(b) for y, b in zip(proof.y, outside, strict=True))
    left = [Fraction(0)] * len(K[0])
    for block, dual in zip(given, proof.duals, strict=True):
        weights = [1, 2, 1] if block.kind == "psd" else [1] * len(dual)
        for w, z, row, b in zip(weights, dual, block.A, block.b, strict=True):
            value += w * z * Fraction(float(b))
            for column, a in zip(block.columns, row, strict=True):
                left[column] += w * z * Fraction(float(a))
        if block.kind == "psd":
            assert dual[0] >= 0
            assert dual[0] * dual[2] >= dual[1] ** 2
        elif block.kind != "zero":
            assert min(dual) >= 0
    assert left == [
        sum(Fraction(row[c]) * y for row, y in zip(K, proof.y, strict=True))
        for c in range(len(K[0]))
    ]
    assert value == proof.value < 0
    assert prove_infeasible(base, np.array(within), given, scale) is None


@pytest.mark.parametrize("case", INFEASIBLE, ids=lambda case: case[0])
def test_nothing_is_proven_at_the_limit(case):
    """A value of exactly zero proves nothing: the limit itself is feasible."""
    _, K, given, _, within = case
    faces = {k: list(range(len(given[k].b))) for k in set(pivot_blocks(given).values())}
    zero = [np.zeros(len(block.b)) for block in given]
    base = base_of(K)
    assert exact_certificate(base, np.array(within), given, zero, faces) is None
    edge = prove_infeasible(base_of([[1.0]]), np.zeros(1), [at_least(0, 0.0)], np.ones(1))
    assert edge is None


def gap(
    z: list[float], theta: list[float], given: list[Block], K: list[list[float]] | None = None
) -> Optimality | None:
    """The proven gap of theta for ½|z - K theta|² with a rest of 6."""
    base = base_of(np.eye(len(theta)).tolist() if K is None else K)
    R, scale = np.eye(base.rank), np.ones(len(theta))
    return prove_gap(base, R, np.array(z), np.array(theta), given, None, scale, rest=6.0)


GAPS: list[tuple[str, list[float], list[Block], list[float], float]] = [
    ("free", [1.0], [at_least(0, 0.0)], [1.0], 0.0),
    ("lower", [-2.0], [at_least(0, 0.0)], [0.0], 2.0),
    ("lower, raised", [1.0], [at_least(0, 3.0, 5.0)], [3.0], 2.0),
    ("upper", [3.0], [at_least(0, 1.0, -0.5)], [1.0], 2.0),
    ("between", [3.0], [at_least(0, 0.0), at_least(0, 1.0, -1.0)], [1.0], 2.0),
    ("equation", [3.0], [equal(0, 1.0)], [1.0], 2.0),
    ("two", [-2.0, 3.0], [at_least(0, 0.0), at_least(1, 1.0, -1.0)], [0.0, 1.0], 4.0),
    ("matrix", [0.0, 1.0, 0.0], [matrix(), trace_at_most(9.0)], [1 / 3, 1 / 3, 1 / 3], 1 / 3),
    ("negative", [-1.0, 0.0, 2.0], [matrix(), trace_at_most(9.0)], [0.0, 0.0, 2.0], 0.5),
]


@pytest.mark.parametrize("case", GAPS, ids=lambda case: case[0])
def test_the_gap_at_a_known_optimum(case):
    """At the optimum the gap is zero but for rounding, and value and bound are those known; away
    from it the gap is the distance to the optimum.
    """
    name, z, given, theta, known = case
    found = gap(z, theta, given)
    assert found is not None
    assert float(found.value) == pytest.approx(3.0 + known, rel=1e-12)
    assert 0 <= found.gap < 1e-6
    assert found.relative_gap == pytest.approx(float(found.gap) / float(found.lower_bound))
    if "equation" not in name:
        inner = [x + (0.125 if len(z) == 3 and at != 1 else 0.0) for at, x in enumerate(theta)]
        inner = {"lower": [0.5], "free": [1.5], "lower, raised": [3.5]}.get(name, inner)
        inner = {"upper": [0.5], "between": [0.5], "two": [0.5, 0.5]}.get(name, inner)
        away = gap(z, inner, given)
        assert away is not None
        value = 3.0 + 0.5 * sum((a - b) ** 2 for a, b in zip(z, inner, strict=True))
        assert float(away.value) == pytest.approx(value, rel=1e-12)
        assert float(away.gap) == pytest.approx(value - 3.0 - known, rel=1e-5, abs=1e-6)


def test_columns_that_the_data_do_not_show():
    """With a + b measured and both limited, the bound is that of the sum; without a limit on one
    the data are fitted exactly.
    """
    sides = [at_least(0, 1.0), at_least(1, 2.0)]
    found = gap([0.0], [1.0, 2.0], sides, K=[[1.0, 1.0]])
    assert found is not None
    assert float(found.lower_bound) == pytest.approx(3.0 + 4.5, rel=1e-9)
    free = gap([0.0], [1.0, -1.0], sides[:1], K=[[1.0, 1.0]])
    assert free is not None
    assert free.gap == 0
    assert gap([0.0], [0.0, 2.0], sides, K=[[1.0, 1.0]]) is None  # not feasible


def test_parameters_are_decimals_where_these_are_feasible():
    """0.1 as a decimal is below the binary number 0.1, and so outside a bound at it."""
    theta = np.array([0.1])
    assert exact_parameters([at_least(0, 0.0)], theta) == (Fraction(1, 10),)
    assert exact_parameters([at_least(0, 0.1)], theta) == (Fraction(0.1),)
    assert exact_parameters([at_least(0, 0.0), at_least(0, 0.1)], theta) == (Fraction(0.1),)
    assert exact_parameters([at_least(0, 0.1, -1.0)], theta) == (Fraction(1, 10),)


def test_without_a_positive_bound_the_gap_is_no_share():
    """Nothing is divided by zero, and no share of an unknown optimum is claimed."""
    zero = Fraction(0)
    assert Optimality((), (), (), zero, zero, zero).relative_gap == 0.0
    assert Optimality((), (), (), zero, Fraction(4), zero).relative_gap == float("inf")
    one = Optimality((), (), (), zero, Fraction(4), Fraction(3))
    assert (one.gap, one.relative_gap) == (1, pytest.approx(1 / 3))


@pytest.mark.parametrize(
    ("numbers", "relative"),
    [
        ({"value": "4", "lower_bound": "3", "gap": "1"}, 1 / 3),
        ({"value": "158", "lower_bound": "2", "gap": "156"}, 78.0),
        ({"value": "1", "lower_bound": "0", "gap": "1"}, float("inf")),
        ({"value": "4"}, None),
        ({}, None),
    ],
)
def test_the_relative_gap_is_a_share_of_the_bound(numbers, relative):
    """Of the bound, so that it does not end at 100 %; none where nothing is proven."""
    verdict = Verification(True, "optimal", "it holds", details={"conditions": 1})
    found = Certificate({"numbers": numbers}, verdict)
    assert found.relative_gap == pytest.approx(relative)


def test_the_words_hold_for_the_optimum_that_cvxpy_finds():
    """A poor fit is said to be at most so many times the optimum, and it is that many times."""
    x = cvxpy.Variable(2)
    z, theta = np.array([1.0, -3.0]), np.array([12.0, 12.0])
    best = cvxpy.Problem(cvxpy.Minimize(0.5 * cvxpy.sum_squares(z - x) + 3.0), [x >= 0]).solve()
    found = gap(z.tolist(), theta.tolist(), [at_least(0, 0.0), at_least(1, 0.0)])
    assert found is not None
    times = (0.5 * float(np.sum((z - theta) ** 2)) + 3.0) / best
    assert 1.0 + found.relative_gap == pytest.approx(times, rel=1e-6)
    words = above_optimum(float(found.gap), float(found.lower_bound))
    (said,) = re.findall(r"^at most ([\d.,]+) times the optimum$", words)
    assert times <= float(said) < 1.1 * times


# --- feasibility of base parameters -------------------------------------------------------------


@pytest.mark.parametrize("case", INFEASIBLE, ids=lambda case: case[0])
def test_verdicts_on_both_sides_of_a_known_limit(case):
    """Infeasible with a negative margin and a proof; feasible with a positive one and a witness."""
    _, K, given, outside, within = case
    base, scale = base_of(K), np.ones(len(K[0]))
    no = base_feasibility(base, np.array(outside), given, scale)
    assert (no.verdict, no.witness) == ("infeasible", None)
    assert no.margin < 0.0
    assert no.proof is not None
    yes = base_feasibility(base, np.array(within), given, scale)
    assert (yes.verdict, yes.proof) == ("feasible", None)
    assert 0.0 < yes.margin <= 1.0
    assert yes.witness is not None
    for row, value in zip(K, within, strict=True):
        products = [Fraction(k) * x for k, x in zip(row, yes.witness, strict=True)]
        assert sum(products) == Fraction(value)
    assert failing(given, np.array(yes.witness, dtype=float)) == ()


def test_a_point_on_the_boundary():
    """a = 0 has a witness with a >= 0; parameters that are near are tried first, and do not make a
    margin positive. With a = 0 and b = 1, only infinite c would help: no proof exists either way.
    """
    edge = base_feasibility(base_of([[1.0]]), np.zeros(1), [at_least(0, 0.0)], np.ones(1))
    assert (edge.verdict, edge.witness) == ("feasible", (0,))
    assert edge.margin == pytest.approx(0.0, abs=1e-6)
    near = base_feasibility(
        base_of([[1.0, 0.0]]), np.zeros(1), [at_least(0, 0.0)], np.ones(2), near=np.array([5, 7.0])
    )
    assert near.witness == (0, 7)
    assert near.margin == pytest.approx(0.0, abs=1e-6)
    open_set = base_of([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    asked = base_feasibility(open_set, np.array([0.0, 1.0]), [matrix()], np.ones(3))
    assert (asked.verdict, asked.witness, asked.proof) == ("undecided", None, None)
    with pytest.raises(EstimationError, match="there are 2 base parameters, but 3 values"):
        base_feasibility(open_set, np.zeros(3), [matrix()], np.ones(3))


def test_witnesses_have_twelve_digits_or_as_many_as_needed():
    """The dependent parameter is rounded to twelve digits where that is feasible; the base column
    follows exactly.
    """
    base = base_of([[1.0, 0.5]])
    theta = np.array([9.0, 1.0000000000001])
    found = exact_witness(base, np.array([3.0]), theta, [at_least(1, 0.0)])
    assert found == (Fraction(5, 2), 1)
    needed = exact_witness(base, np.array([3.0]), theta, [at_least(1, 1.0000000000001)])
    assert needed == (3 - Fraction(1.0000000000001) / 2, Fraction(1.0000000000001))
    assert exact_witness(base, np.array([3.0]), theta, [at_least(1, 1.1)]) is None
    assert exact_witness(base, np.array([3.0]), theta, [at_least(0, 2.6)]) is None


def test_the_margin_is_a_share_of_typical_sizes():
    """With a = 3 and 0 <= a <= 10, a slack of 3 to the nearer side, and at most 1; in units of the
    scale.
    """
    given = [at_least(0, 0.0), at_least(0, 10.0, -1.0)]
    for scale, margin in ((1.0, 1.0), (4.0, 0.75), (30.0, 0.1)):
        theta, found = widest_margin(np.array([[1.0]]), np.array([3.0]), given, np.array([scale]))
        assert found == pytest.approx(margin, rel=1e-5)
        assert theta == pytest.approx(3.0, rel=1e-6)
    _, none = widest_margin(np.ones((2, 1)), np.array([1.0, 2.0]), given, np.ones(1))
    assert none == -1.0  # equations that contradict each other


def test_the_closest_feasible_base_parameters():
    """Of (-1, 2) with a >= 0: (0, 2) at a distance of one; in the metric of a covariance C,
    (0, 2 + C21 / C11) at 1 / √C11. What is not determined goes to the given values.
    """
    base, given, scale = base_of([[1.0, 0.0], [0.0, 1.0]]), [at_least(0, 0.0)], np.ones(2)
    plain = correct_base(base, np.array([-1.0, 2.0]), given, scale)
    assert plain.beta == pytest.approx([0.0, 2.0], abs=1e-6)
    assert plain.distance == pytest.approx(1.0, rel=1e-6)
    covariance = np.array([[4.0, 2.0], [2.0, 3.0]])
    other = correct_base(base, np.array([-1.0, 2.0]), given, scale, covariance=covariance)
    assert other.beta == pytest.approx([0.0, 2.5], abs=1e-6)
    assert other.distance == pytest.approx(0.5, rel=1e-6)
    inside = correct_base(base, np.array([1.0, 2.0]), given, scale)
    assert inside.beta == pytest.approx([1.0, 2.0], rel=1e-9)
    assert inside.distance == pytest.approx(0.0, abs=1e-8)
    wide = base_of([[1.0, 0.0]])
    for towards, expected in ((None, 0.0), (np.array([0.0, 7.0]), 7.0)):
        drawn = correct_base(wide, np.array([2.0]), given, scale, towards=towards, pull=1e-6)
        assert drawn.theta == pytest.approx([2.0, expected], abs=1e-4)


def test_masses_that_nothing_limits():
    """Only a mass without effect on torques and in no other condition may grow without limit; its
    block is then that of the second moments alone.
    """
    columns = Model(puma_arm(), ()).columns
    body = full_consistency(None, 0)
    K = np.zeros((1, 30))
    K[0, 1] = 1.0

    def free(*given: Block, K: Array = K) -> set[int]:
        return masses_without_effect(BaseMap(columns, (1,), K, (), ""), given)

    assert free(body) == {0}
    assert free(at_least(11, 0.0), full_consistency(None, 10), body) == {1, 2}
    assert free(body, at_least(0, 0.0)) == set()
    assert free(matrix(), at_least(10, 1.0)) == set()
    assert free(at_least(20, 0.0)) == set()
    assert free(Block("psd", tuple(range(1, 11)), body.A, body.b)) == set()
    with_effect = K.copy()
    with_effect[0, 0] = 0.1
    assert free(body, K=with_effect) == set()
    smaller = without_mass(body)
    phi = np.random.default_rng(0).normal(size=10)
    assert matrix_of(smaller.entries(phi)) == pytest.approx(pseudo_inertia(phi)[:3, :3])
    assert (smaller.columns, smaller.kind) == (body.columns, "psd")
