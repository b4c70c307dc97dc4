"""Constraints that contradict each other: the group that is named, its proof, and its absence."""

from __future__ import annotations

from fractions import Fraction

import cvxpy
import numpy as np
import pytest
from clouds import parameters, pendulums
from seeds import every
from statements import Said

from steelyard.conic._conflict_proof import ConflictProof, proves
from steelyard.conic.conflicts import conflict_among
from steelyard.errors import EstimationError
from steelyard.knowledge.conflicts import check_constraints, find_conflict, implied
from steelyard.knowledge.constraint_blocks import blocks
from steelyard.knowledge.constraints import (
    Box,
    Constraints,
    Cylinder,
    Ellipsoid,
    Hull,
    MassSum,
    Mirrored,
    SymmetryPlane,
)
from steelyard.model.model import Model
from steelyard.model.typical_sizes import parameter_scale
from steelyard.testing.random_robots import random_robot

POINTS = parameters([1, 1, 1, 1], [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 0)])


@pytest.fixture(scope="module")
def model():
    """Three bodies l1, l2, l3 with friction."""
    return Model(pendulums(3))


def slack_by_cvxpy(group, n):
    """Smallest violation that conditions need, written out for CVXPY; zero if they can hold."""
    x, s = cvxpy.Variable(n), cvxpy.Variable(nonneg=True)
    conditions = []
    for block in group:
        value = block.A @ x[list(block.columns)] + block.b
        if block.kind == "zero":
            conditions.append(cvxpy.abs(value) <= s)
        elif block.kind == "nonnegative":
            conditions.append(value >= -s)
        elif block.kind == "second_order":
            conditions.append(cvxpy.norm(value[1:]) <= value[0] + s)
        else:
            size = block.size
            place = {}
            for j in range(size):
                for i in range(j + 1):
                    place[i, j] = place[j, i] = len({tuple(sorted(p)) for p in place})
            M = cvxpy.bmat([[value[place[i, j]] for j in range(size)] for i in range(size)])
            conditions.append(0.5 * (M + M.T) + s * np.eye(size) >> 0)
    problem = cvxpy.Problem(cvxpy.Minimize(s), conditions)
    problem.solve(solver="CLARABEL")
    assert problem.status == "optimal"
    return float(s.value)


def check_conflict(model, conflict):
    """The group cannot hold, each of its members can be blamed, and the proof is one."""
    n = len(model.columns)
    assert slack_by_cvxpy(conflict.blocks, n) > 1e-7
    for block in conflict.blocks:
        rest = [other for other in conflict.blocks if other is not block]
        assert slack_by_cvxpy(rest, n) < 1e-6, f"'{block.words}' is not needed"
    check_proof(conflict)


def check_proof(conflict):
    """Duals in their cones, sum A* z = 0 and a negative value, in plain rationals."""
    balance = {}
    value = Fraction(0)
    for block, dual in zip(conflict.blocks, conflict.proof.duals, strict=True):
        weights = [1] * len(dual)
        if block.kind == "psd":
            matrix = np.zeros((block.size, block.size))
            at = 0
            for j in range(block.size):
                for i in range(j + 1):
                    weights[at] = 1 if i == j else 2
                    matrix[i, j] = matrix[j, i] = float(dual[at])
                    at += 1
            assert np.linalg.eigvalsh(matrix)[0] > -1e-13 * max(1.0, np.abs(matrix).max())
        elif block.kind == "second_order":
            assert dual[0] >= 0
            assert dual[0] ** 2 >= sum(x**2 for x in dual[1:])
        elif block.kind == "nonnegative":
            assert min(dual) >= 0
        for at, (z, weight) in enumerate(zip(dual, weights, strict=True)):
            value += weight * z * Fraction(float(block.b[at]))
            for k, column in enumerate(block.columns):
                balance[column] = balance.get(column, 0) + weight * z * Fraction(
                    float(block.A[at, k])
                )
    assert set(balance.values()) == {0}
    assert value < 0


CONFLICTS = {
    "min mass above max mass": (
        Constraints(mass={"l1": (3, 2), "l2": (1, 2)}),
        {"the mass of 'l1' is at least 3", "the mass of 'l1' is at most 2"},
    ),
    "total mass below the sum of minima": (
        Constraints(mass={"l1": (1, 4), "l2": (2, None), "l3": (3, 9)}, total_mass=(None, 5)),
        {
            "the mass of 'l1' is at least 1",
            "the mass of 'l2' is at least 2",
            "the mass of 'l3' is at least 3",
            "the total mass is at most 5",
        },
    ),
    "total mass below one minimum": (
        Constraints(mass={"l1": (1, 4), "l2": (6, None)}, total_mass=(None, 5)),
        None,
    ),
    "sums that do not fit": (
        Constraints(
            mass={"l2": (2, None)},
            mass_sums=(MassSum(("l1", "l3"), (7, None)),),
            total_mass=(None, 8),
        ),
        {
            "the mass of 'l2' is at least 2",
            "the mass of l1, l3 together is at least 7",
            "the total mass is at most 8",
        },
    ),
    "a box outside the body, with a mass": (
        Constraints(
            mass={"l1": (1, 2)},
            com={"l1": Box((-1, -1, 1), (1, 1, 2))},
            inside={"l1": Ellipsoid((0, 0, 0), (0.5, 0.5, 0.5))},
        ),
        {
            "'l1' is physical",
            "the mass of 'l1' is at least 1",
            "the centre of mass of 'l1' is in its box along z",
            "the mass of 'l1' is inside its ellipsoid",
        },
    ),
    "a box outside the body": (
        Constraints(
            com={"l1": Box((-1, -1, 1), (1, 1, 2))},
            inside={"l1": Ellipsoid((0, 0, 0), (0.5, 0.5, 0.5))},
        ),
        {
            "'l1' is physical",
            "'l1' has mass",
            "the centre of mass of 'l1' is in its box along z",
            "the mass of 'l1' is inside its ellipsoid",
        },
    ),
    "a cylinder outside a box": (
        Constraints(
            com={"l1": Cylinder((1, 0, 0), (2, 0, 0), 0.1)},
            inside={"l1": Box((-0.5, -1, -1), (0.5, 1, 1))},
        ),
        None,
    ),
    "a hull beside a plane": (
        Constraints(
            com={"l1": Hull(((1, 1, 1), (2, 2, 2), (1, 3, 2), (0, 1, 2)))},
            symmetric={"l1": SymmetryPlane("x", -0.2)},
        ),
        {
            "'l1' has mass",
            "the centre of mass of 'l1' is in its hull",
            "'l1' is symmetric about x = -0.2",
        },
    ),
    "two ellipsoids apart": (
        Constraints(
            com={"l1": Ellipsoid((1, 1, 1), (0.2, 0.3, 0.2))},
            inside={"l1": Ellipsoid((0, 0, 0), (0.5, 0.5, 0.5))},
        ),
        None,
    ),
    "a negative mass": (
        Constraints(fixed={"l2.m": -1.0}),
        {"'l2' is physical", "'l2.m' is -1"},
    ),
    "the triangle inequality": (
        Constraints(fixed={"l1.Ixx": 1.0, "l1.Iyy": 1.0, "l1.Izz": 3.0}),
        {"'l1' is physical", "'l1.Ixx' is 1", "'l1.Iyy' is 1", "'l1.Izz' is 3"},
    ),
    "an inertia too small for its centre of mass": (
        Constraints("sousa", fixed={"l1.mx": 1.0, "l1.Iyy": 0.1, "l1.m": 1.0}),
        {"'l1' is physical", "'l1.mx' is 1", "'l1.Iyy' is 0.1", "'l1.m' is 1"},
    ),
    "equal links of different mass": (
        Constraints(mass={"l1": (None, 1), "l3": (2, None)}, equal=(("l1", "l2", "l3"),)),
        {
            "the mass of 'l1' is at most 1",
            "the mass of 'l3' is at least 2",
            "'l1' and 'l3' are equal",
        },
    ),
    "mirror images on one side": (
        Constraints(
            bounds={"l1.my": (0.1, None), "l2.my": (0.1, None)},
            mirrored=(Mirrored("l1", "l2", "y"),),
        ),
        {
            "'l1.my' is at least 0.1",
            "'l2.my' is at least 0.1",
            "'l1' and 'l2' are mirror images",
        },
    ),
    "a massless link with a mass": (
        Constraints(massless=("l1",), mass={"l1": (1, 2)}),
        {"'l1' is massless", "the mass of 'l1' is at least 1"},
    ),
    "negative friction": (
        Constraints(bounds={"j1.fv": (None, -0.1)}),
        {"'j1.fv' is at least 0", "'j1.fv' is at most -0.1"},
    ),
    "two values": (
        Constraints(fixed={"l1.m": 1.0}, mass={"l1": (2, 2)}),
        {"'l1.m' is 1", "the mass of 'l1' is 2"},
    ),
    "a part heavier than the whole": (
        Constraints(known_part={"l1": tuple(POINTS)}, mass={"l1": (None, 3)}),
        {"the unknown rest of 'l1' is physical", "the mass of 'l1' is at most 3"},
    ),
    "the bound on second moments": (
        Constraints(mass={"l1": (2e4, None)}, second_moment=1e4),
        {
            "'l1' is physical",
            "the second moment of 'l1' is at most 10000",
            "the mass of 'l1' is at least 20000",
        },
    ),
}


@pytest.mark.parametrize("name", CONFLICTS)
def test_a_small_group_is_named_and_proven(model, name):
    """The group is the expected one, nothing in it can be spared, and its proof is exact."""
    constraints, expected = CONFLICTS[name]
    conflict = find_conflict(model, constraints)
    assert conflict is not None
    if expected is not None:
        assert set(conflict.names) == expected
    check_conflict(model, conflict)
    with pytest.raises(EstimationError) as caught:
        check_constraints(model, constraints)
    message = str(caught.value)
    assert message.startswith("these constraints contradict each other: ")
    assert all(words in message for words in conflict.names)
    assert "\n" not in message


@pytest.mark.parametrize("excess", [1e-3, 1e-6, 1e-9, 1e-12])
def test_limits_that_cross_by_little(model, excess):
    """A lower limit above the upper one is found however small the difference."""
    conflict = find_conflict(model, Constraints(mass={"l1": (2.0 + excess, 2.0)}))
    assert conflict.names == (
        f"the mass of 'l1' is at least {2.0 + excess!r}",
        "the mass of 'l1' is at most 2",
    )
    check_proof(conflict)


@pytest.mark.parametrize("excess", [1e-3, 1e-5, 1e-7])
def test_sums_that_miss_by_little(model, excess):
    """A total that is a little too small is found, with a proof."""
    mass = {"l1": (1.0, None), "l2": (2.0, None), "l3": (3.0, None)}
    conflict = find_conflict(model, Constraints(mass=mass, total_mass=(None, 6.0 - excess)))
    assert len(conflict.blocks) == 4
    check_proof(conflict)


@pytest.mark.parametrize(
    "constraints",
    [
        Constraints(),
        Constraints("none"),
        Constraints(margin=1e-6),
        Constraints("sousa", fixed={"l1.Ixx": 1.0, "l1.Iyy": 1.0, "l1.Izz": 3.0}),
        Constraints(fixed={"l1.Ixx": 1.0, "l1.Iyy": 1.0, "l1.Izz": 2.0}),
        Constraints(mass={"l1": (2, 2)}, massless=("l2",)),
        Constraints(
            mass={"l1": (2, 2), "l2": (1, None)}, total_mass=(None, 3), massless=("l3",)
        ),
        Constraints(massless=("l1", "l2", "l3"), total_mass=(0, 0)),
        Constraints(com={"l1": Box((0, 0, 0), (0, 0, 0))}, symmetric={"l1": SymmetryPlane("z")}),
        Constraints(
            com={"l1": Box((1, 0, 0), (2, 1, 1))}, inside={"l1": Ellipsoid((0, 0, 0), (1, 1, 1))}
        ),
        Constraints(mass={"l1": (1e-6, 2e-6)}, com={"l1": Box((1, 1, 1), (2, 2, 2))}),
        Constraints(fixed={"l1.m": 2.0}, equal=(("l1", "l2"),), mass={"l2": (2, 3)}),
    ],
)  # fmt: skip
def test_faces_are_no_conflict(model, constraints):
    """Constraints that leave only a face, or a single body, can be met."""
    assert find_conflict(model, constraints) is None
    assert len(check_constraints(model, constraints)) == len(blocks(model, constraints))


def random_truth(rng, model, theta):
    """Constraints of many kinds that these parameters meet, often with nothing to spare."""
    bodies = [body.name for body in model.mechanism.bodies]
    phi = {
        name: theta[first : first + 10]
        for name, first in zip(bodies, model.first_column_of_body, strict=True)
    }
    some = [name for name in bodies if rng.random() < 0.6]
    slack = rng.choice([0.0, 1e-9, 0.1])
    com = {name: phi[name][1:4] / phi[name][0] for name in bodies}
    return Constraints(
        mass={n: (phi[n][0] * (1 - slack), phi[n][0] * (1 + slack)) for n in some},
        total_mass=(None, float(sum(phi[n][0] for n in bodies)) * (1 + slack) + 1e-12),
        com={n: Box(tuple(com[n] - slack - 1e-12), tuple(com[n] + slack + 1e-12)) for n in some},
        bounds={
            c.name: (None, float(t)) for c, t in zip(model.columns, theta, strict=True)
            if c.kind == "viscous" and rng.random() < 0.5
        },
        known_part={n: tuple(0.5 * phi[n]) for n in some},
        second_moment=1e4,
    )  # fmt: skip


@every("seed", range(20))
def test_what_a_robot_meets_is_no_conflict_and_what_none_meets_is(seed):
    """Constraints around a physical robot never conflict; with its mass ruled out they do."""
    rng = np.random.default_rng(seed)
    model = Model(random_robot(rng, int(rng.integers(1, 5))))
    theta = model.prior_theta()
    for i, column in enumerate(model.columns):
        if column.kind != "rigid_body":
            theta[i] = rng.uniform(0.1, 1.0)
    true = random_truth(rng, model, theta)
    assert find_conflict(model, true) is None
    heavy = max(
        model.mechanism.bodies, key=lambda body: theta[model.column_names.index(f"{body.name}.m")]
    )
    mass = float(theta[model.column_names.index(f"{heavy.name}.m")])
    total = sum(theta[i] for i in model.first_column_of_body)
    ruled_out = Constraints(
        mass={**true.mass, heavy.name: (mass, None)},
        total_mass=(None, 0.9 * mass),
        com=true.com,
        known_part=true.known_part,
        bounds=true.bounds,
    )
    conflict = find_conflict(model, ruled_out)
    assert conflict is not None
    assert total >= mass
    check_conflict(model, conflict)


def test_a_proof_is_not_believed_when_it_is_changed(model):
    """Duals outside their cone, out of balance or of the wrong value prove nothing."""
    conflict = find_conflict(model, CONFLICTS["two ellipsoids apart"][0])
    proof = conflict.proof
    assert proves(conflict.blocks, proof)
    assert not proves(conflict.blocks, ConflictProof(proof.duals, -proof.value))
    for k, dual in enumerate(proof.duals):
        changed = list(proof.duals)
        changed[k] = (dual[0] + Fraction(1, 10**12), *dual[1:])
        assert not proves(conflict.blocks, ConflictProof(tuple(changed), proof.value))
    negated = tuple(tuple(-z for z in dual) for dual in proof.duals)
    assert not proves(conflict.blocks, ConflictProof(negated, proof.value))


def test_one_condition_can_be_impossible(model):
    """A single condition that never holds is named alone."""
    block = blocks(model, Constraints(mass={"l1": (1, None)}))[-1]
    never = type(block)("zero", (0,), np.zeros((1, 1)), np.ones(1), Said("nothing is one"))
    conflict = conflict_among([block, never], parameter_scale(model), implied)
    assert conflict.words == "this constraint can never hold: nothing is one"
    check_proof(conflict)


def test_what_nobody_stated_is_left_out_of_the_explanation(model):
    """A default bound is not blamed where the user's own words contradict each other."""
    heavy = {"l1": (1e5, None)}  # far above the default bound of any body
    conflict = find_conflict(model, Constraints(mass=heavy, total_mass=(None, 10.0)))
    assert "the total mass is at most 10" in conflict.names
    assert not any("second moment" in name for name in conflict.names)
    # without the total mass the default bound is all that can be named
    conflict = find_conflict(model, Constraints(mass=heavy))
    assert any("second moment over" in name for name in conflict.names)


def test_a_bound_that_was_stated_counts_as_stated(model):
    """A second moment that the user limits is named before the consistency that is implied."""
    stated = Constraints(mass={"l1": (5.0, None)}, second_moment=1.0)
    default = blocks(model, Constraints())
    own = blocks(model, stated)
    order = {block.words: implied(block) for block in (*default, *own)}
    assert order["the second moment of 'l1' is at most 1"] == 0
    assert order["'l1' is physical"] == 1
    assert [rank for words, rank in order.items() if "second moment over" in words] == [2, 2, 2]
