"""The registry of term kinds: each entry agrees with its law, and all users read the registry."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from oracles import pinocchio_torque

from steelyard.errors import ModelError
from steelyard.estimators.result_file import read_schema
from steelyard.knowledge.constraint_blocks import blocks
from steelyard.knowledge.constraints import Constraints
from steelyard.knowledge.overlay.toml_file import parse_overlay
from steelyard.model.kernels import (
    bias_torque,
    gear_loads,
    mass_matrix,
    torque,
    torque_regressor,
)
from steelyard.model.model import Model
from steelyard.model.random_states import random_states
from steelyard.model.term_kinds import (
    SIDES,
    TERM_KINDS,
    TERM_NAMES,
    MotionAlong,
    default_kinds,
    term_kind,
)
from steelyard.model.terms import (
    USUAL_STRIBECK_SPEED,
    Term,
    coupled_terms,
    default_terms,
    joint_terms,
    term_document,
    term_from,
)
from steelyard.model.typical_sizes import parameter_scale
from steelyard.testing.random_robots import random_robot

NEW = TERM_KINDS[4:]
"""Kinds with curves, whose values round."""
KINDS = pytest.mark.parametrize("kind", TERM_KINDS, ids=lambda kind: kind.name)


def value(
    kind,
    speed: float,
    acceleration: float,
    position: float = 0.3,
    load: float = 1.0,
    *,
    shape_speed: float = 1.0,
) -> float:
    """The law of a kind at one state of motion."""
    q, v, a, tau = (np.array([[x]]) for x in (position, speed, acceleration, load))
    row, one = np.zeros((1, 1), dtype=np.int64), np.ones(1)
    motion = MotionAlong(v, a, row, one[None], np.zeros(1), q, shape_speed * one, tau)
    return float(kind.law(motion)[0, 0])


def turning(robot) -> list[str]:
    """Joints that turn, for kinds that need an angle."""
    return [name for name in robot.joint_names if robot.joint(name).kind != "prismatic"]


def test_names_and_symbols_are_unique():
    """A column's name determines its kind."""
    symbols = [kind.symbol for kind in TERM_KINDS]
    assert len(set(TERM_NAMES)) == len(TERM_NAMES)
    assert len(set(symbols)) == len(symbols)
    assert "rigid_body" not in TERM_NAMES


def test_the_default_terms_are_a_property_of_the_kinds():
    """The default terms of a joint on each side of the gears."""
    assert default_kinds("motor") == ("drive_inertia", "viscous", "coulomb", "offset")
    assert default_kinds("link") == ("coulomb", "offset")
    assert {side for kind in TERM_KINDS for side in kind.default_sides} <= set(SIDES)


def test_an_unknown_kind_is_refused_by_name():
    """The error lists the kinds that exist, and the most similar one."""
    with pytest.raises(ModelError, match=r"no term 'viscos' \(did you mean 'viscous'\?\)"):
        term_kind("viscos")


@KINDS
def test_the_response_is_that_of_the_law(kind):
    """Inertia is proportional to acceleration; others depend on speed, or are constant."""
    speeds = (-2.0, -0.5, 0.5, 2.0)
    if kind.response == "inertia":
        assert all(value(kind, s, a) == a for s in speeds for a in (-3.0, 4.0))
    else:
        assert all(value(kind, s, 5.0) == value(kind, s, 0.0) for s in speeds)
    if kind.response == "linear":
        assert all(value(kind, s, 0.0) == s for s in speeds)
    if kind.response == "constant":
        assert all(value(kind, s, 0.0) == 1.0 for s in speeds)
    if kind.response == "load":
        assert all(value(kind, s, 0.0, load=-3.0) == 3.0 * value(kind, s, 0.0) for s in speeds)
    if kind.response == "position":
        assert len({value(kind, s, 5.0) for s in speeds}) == 1
        assert value(kind, 1.0, 0.0, 0.3) != value(kind, 1.0, 0.0, 0.4)
    else:
        assert all(value(kind, s, 5.0, 0.3) == value(kind, s, 5.0, 0.4) for s in speeds)
    if kind.is_friction and not kind.may_be_negative:
        powers = [s * value(kind, s, 0.0) for s in speeds]
        assert min(powers) >= 0.0, "friction takes energy"
        assert max(powers) > 0.0
    jump = value(kind, 1e-9, 0.0) - value(kind, -1e-9, 0.0)
    assert kind.jumps_at_zero_speed == (abs(jump) > 1e-3)
    if kind.response == "curve" and kind.jumps_at_zero_speed:
        assert all(value(kind, -s, 0.0) == -value(kind, s, 0.0) for s in speeds)


@KINDS
def test_a_term_acts_along_its_direction(kind):
    """tau = d · parameter · law(d·v, d·a), in the regressor, the torque and the mass matrix."""
    rng = np.random.default_rng(3)
    robot = next(one for one in (random_robot(rng, 4) for _ in range(50)) if len(turning(one)) > 1)
    first, second = turning(robot)[:2]
    terms = coupled_terms("belt", {first: 1.5, second: -2.0}, [kind.name])
    model = Model(robot, (*joint_terms([second], [kind.name]), *terms))
    q, v, a = random_states(rng, robot, 20)
    column = model.column_names.index(f"belt.{kind.symbol}")
    d = np.zeros(model.nv)
    d[[model.channels.index(first), model.channels.index(second)]] = 1.5, -2.0
    loads = gear_loads(model, q, v, a)
    load = np.ones(20) if loads is None else loads @ d / (d @ d)
    states = zip(v @ d, a @ d, q @ d, load, strict=True)
    shape = {"shape_speed": USUAL_STRIBECK_SPEED}
    along = np.array([value(kind, *state, **shape) for state in states])
    expected = along[:, None] * d
    W = torque_regressor(model, q, v, a)
    np.testing.assert_allclose(W[:, :, column], expected, rtol=1e-12, atol=1e-12)
    theta = np.zeros(len(model.columns))
    theta[column] = 0.7
    np.testing.assert_allclose(
        torque(model, theta, q, v, a), 0.7 * expected, rtol=1e-12, atol=1e-12 * (kind in NEW)
    )
    M, b = mass_matrix(model, theta, q), bias_torque(model, theta, q, v)
    sum_of_both = np.einsum("sij,sj->si", M, a) + b
    if kind.response != "load":  # which is no linear function of the acceleration
        np.testing.assert_allclose(sum_of_both, 0.7 * expected, rtol=1e-9, atol=1e-9)
    assert (np.abs(M).max() > 0.0) == kind.is_inertia


@KINDS
def test_all_users_read_the_registry(kind):
    """Overlays, units, sizes, constraints and the schema of results support every kind."""
    robot = random_robot(np.random.default_rng(5), 3)
    overlay = parse_overlay(f'terms = ["{kind.name}"]')
    assert overlay.default_terms == (kind.name,)
    names = turning(robot) if kind.turns_only else robot.joint_names
    model = Model(robot, joint_terms(names, [kind.name]))
    columns = [(i, c) for i, c in enumerate(model.columns) if c.kind == kind.name]
    assert {c.unit for _, c in columns} <= set(kind.units)
    assert all(parameter_scale(model)[i] > 0.0 for i, _ in columns)
    owners = {i for block in blocks(model, Constraints()) for i in block.columns}
    assert all((i in owners) != kind.may_be_negative for i, _ in columns)
    terms = read_schema()["properties"]["model"]["properties"]["terms"]["items"]
    assert kind.name in terms["properties"]["kind"]["enum"]


def test_chunks_do_not_change_the_last_digit():
    """Columns of coupled terms are bitwise the same for any number of samples at once."""
    rng = np.random.default_rng(8)
    robot = next(one for one in (random_robot(rng, 3) for _ in range(50)) if len(turning(one)) > 2)
    weights = {joint: 1.1 + 0.3 * k for k, joint in enumerate(robot.joint_names)}
    model = Model(robot, (*default_terms(robot), *coupled_terms("belt", weights, TERM_NAMES)))
    q, v, a = random_states(rng, robot, 40)
    loads = gear_loads(model, q, v, a)

    def values(rows: slice) -> np.ndarray:
        return model.term_arrays.values(v[rows], a[rows], None, q[rows], loads[rows])

    whole = values(slice(None))
    for n in (1, 3, 7):
        parts = [values(slice(k, k + n)) for k in range(0, 40, n)]
        assert np.array_equal(whole, np.hstack(parts))


def turns_back(kind, width: float) -> tuple[float, ...]:
    """Speeds, with a shape speed of 1, or angles at which a law turns back, on both sides."""
    quarter = 0.5 * np.pi
    places = {"stribeck": (width or 1e-300,), "sine": (quarter,), "cosine": (1e-300, 2 * quarter)}
    own = places.get(kind.name, ())
    return (*own, *(-x for x in own))


def test_curves_contain_their_law():
    """The law of every kind of friction is within its bounds on random intervals of speed, and
    touches both where the interval is more than a point.
    """
    rng = np.random.default_rng(5)
    for kind in TERM_KINDS:
        assert (kind.curve_between is not None) == (kind.response == "curve")
        assert (kind.position_between is not None) == (kind.response == "position")
        if kind.is_inertia or kind.response == "load":
            continue
        for width in (0.0, 0.2) if kind.jumps_at_zero_speed else (0.0,):
            low = rng.normal(scale=0.5, size=200)
            high = low + rng.random(200)
            shares = np.linspace(0, 1, 21)
            points = [low + share * (high - low) for share in shares]
            # where a law turns back it is largest or smallest
            points += [np.clip(x, low, high) for x in turns_back(kind, width)]
            if kind.position_between is not None:
                least, most = kind.position_between(low, high)
                inside = [kind.law_at_position(x) for x in points]
            else:
                least, most = kind.law_between(low, high, width)
                inside = [kind.law_at_speed(x, width) for x in points]
            rounding = 1e-14 * (kind in NEW)
            assert (least <= np.min(inside, axis=0) + rounding).all()
            assert (np.max(inside, axis=0) <= most + rounding).all()
            np.testing.assert_allclose(np.min(inside, axis=0), least, atol=1e-12)
            np.testing.assert_allclose(np.max(inside, axis=0), most, atol=1e-12)
    zero = np.zeros(1)
    assert term_kind("coulomb").law_between(zero, zero) == (-1.0, 1.0)
    assert term_kind("stribeck").law_between(zero, zero) == (-1.0, 1.0)


def test_the_load_of_the_gears_is_that_of_the_links_by_pinocchio():
    """Load-dependent friction reads the torque of the file's links, without any other term."""
    rng = np.random.default_rng(11)
    robot = random_robot(rng, 4)
    model = Model(robot, (*default_terms(robot), *joint_terms(robot.joint_names, ["load_coulomb"])))
    q, v, a = random_states(rng, robot, 30)
    theta = model.theta({f"{name}.fl": 0.1 for name in robot.joint_names})
    links = pinocchio_torque(robot, q, v, a)
    tau = torque(model, theta, q, v, a)
    np.testing.assert_allclose(tau, links + 0.1 * np.abs(links) * np.sign(v), rtol=1e-9, atol=1e-9)


def test_a_model_with_other_loads_is_another_model():
    """The hash of a model tells travels, speeds and loads apart, and a document keeps them."""
    robot = random_robot(np.random.default_rng(12), 3)
    joint = turning(robot)[0]
    kinds = ("coulomb", "load_coulomb", "stribeck")
    terms = Model(robot, joint_terms([joint], kinds)).terms
    body, phi = terms[1].load[-1]
    others = [
        (replace(terms[0], travel=1e-3), *terms[1:]),
        (terms[0], replace(terms[1], load=((body, tuple(2.0 * x for x in phi)),)), terms[2]),
        (*terms[:2], replace(terms[2], speed=0.2)),
    ]
    hashes = {Model(robot, own).hash for own in (terms, *others)}
    assert len(hashes) == 4
    for own in others:
        assert tuple(term_from(term_document(term)) for term in own) == own


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"travel": -1.0}, "must be >= 0"),
        ({"travel": 1e-3, "width": 0.1}, "has a width too"),
        ({"kind": "viscous", "travel": 1e-3}, "does not jump"),
        ({"speed": 0.1}, "has none"),
        ({"kind": "stribeck"}, "must be > 0"),
        ({"load": (("link", (1.0,) * 10),)}, "has none"),
    ],
)
def test_shapes_that_a_law_does_not_have_are_refused(changes, words):
    """A term states the numbers that shape its law, and no others."""
    with pytest.raises(ModelError, match=words):
        replace(Term("coulomb", "elbow", (("elbow", 1.0),)), **changes)
