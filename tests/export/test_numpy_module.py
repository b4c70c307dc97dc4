"""The NumPy module stands alone and gives the library's torques."""

from __future__ import annotations

import ast

import numpy as np
import pytest
from coded_robots import (
    case_of,
    difference,
    hostile_case,
    loaded,
    paper_cases,
    random_cases,
    real_cases,
    travelled,
)
from oracles import pinocchio_torque
from seeds import every

from steelyard.errors import ModelError
from steelyard.export import _inverse_dynamics
from steelyard.export.numpy_module import numpy_module
from steelyard.model.base_map import base_map
from steelyard.model.model import Model
from steelyard.model.random_states import random_states
from steelyard.model.term_kinds import TERM_NAMES, term_kind
from steelyard.model.terms import joint_terms
from steelyard.signals.motion import Motion
from steelyard.testing.random_robots import random_robot
from steelyard.validation.scores import predict_base


def module_of(case):
    return loaded(numpy_module(case.model, case.base, case.beta))


def test_torques_are_those_of_the_library():
    """Random robots, robots of papers and of example-robot-data agree to 1e-12."""
    for case in (*random_cases(), *paper_cases(), *real_cases(), hostile_case()):
        module = module_of(case)
        motion = Motion(np.arange(len(case.q), dtype=float), case.q, case.v, case.a)
        predicted = predict_base(case.model, case.base, case.beta, motion)
        found = module.torque(case.q, case.v, case.a)
        assert difference(found, predicted) <= 1e-12, case.name
        largest = max(np.abs(case.gravity).max(), 1e-6)
        assert np.abs(module.gravity(case.q) - case.gravity).max() <= 1e-12 * largest, case.name


@every("seed", range(40))
def test_rigid_bodies_are_those_of_pinocchio(seed):
    """With the base parameters of a robot's bodies, the torques are those of Pinocchio's rnea.

    The factors of base parameters are rounded, so that this holds to 1e-9, not to 1e-12.
    """
    pytest.importorskip("pinocchio")
    rng = np.random.default_rng(1000 + seed)
    robot = random_robot(
        rng, int(rng.integers(1, 9)), mimic=0.3, floating_base=seed % 4 == 0, chain=seed % 3 == 0
    )
    model = Model(robot, ())
    base = base_map(model)
    module = loaded(numpy_module(model, base, base.K @ model.prior_theta()))
    q, v, a = random_states(rng, robot, 10)
    assert difference(module.torque(q, v, a), pinocchio_torque(robot, q, v, a)) <= 1e-9
    rest = np.zeros_like(v)
    still = pinocchio_torque(robot, q, rest, rest)
    assert np.abs(module.gravity(q) - still).max() <= 1e-9 * np.abs(still).max()


def test_every_kind_of_term_can_be_written():
    """Each kind of the registry, alone, agrees with its law; other kinds are refused."""
    rng = np.random.default_rng(2)
    robot = random_robot(rng, 3)
    turning = [name for name in robot.joint_names if robot.joint(name).kind != "prismatic"]
    for kind in TERM_NAMES:
        joints = turning if term_kind(kind).turns_only else robot.joint_names
        case = case_of(kind, Model(robot, joint_terms(joints, [kind])), rng)
        found = module_of(case).torque(case.q, case.v, case.a)
        assert difference(found, case.torque) <= 1e-12, kind
        assert np.abs(found - module_of(case).gravity(case.q)).max() > 0.0


def test_friction_over_a_travel_follows_its_state():
    """Along a path, the module's state gives the torques of the library; without a state, joints
    slide.
    """
    case, motion = travelled()
    module = module_of(case)
    z = module.friction_state(motion.q)
    predicted = predict_base(case.model, case.base, case.beta, motion)
    assert difference(module.torque(motion.q, motion.v, motion.a, z), predicted) <= 1e-12
    assert np.abs(z).max() <= 1.0
    assert np.abs(z).min() < 0.5
    slides = module.torque(case.q, case.v, case.a)
    assert difference(slides, case.torque) <= 1e-12
    assert [owner for owner, _, _ in module.TRAVELS] == [case.model.channels[0], "belt"]
    again = module.friction_state(motion.q[100:], start=z[100])
    np.testing.assert_allclose(again, z[100:], atol=1e-12)


def test_a_law_that_is_not_arithmetic_is_refused(monkeypatch):
    """A law that calls functions of arrays is refused with the name of the term."""
    case = random_cases()[1]
    monkeypatch.setattr(_inverse_dynamics, "_MotionAlong", lambda *_: object())
    with pytest.raises(ModelError, match=r"term 'joint_1\.\w+': .* cannot be written"):
        numpy_module(case.model, case.base, case.beta)


def test_any_leading_axes():
    """One state, several, and arrays of them; the arrays may have different leading axes."""
    case = random_cases()[4]
    module = module_of(case)
    many = module.torque(case.q, case.v, case.a)
    one = module.torque(case.q[3], case.v[3], case.a[3])
    assert one.shape == (case.model.nv,)
    assert np.array_equal(one, many[3])
    folded = module.torque(*(x.reshape(4, 5, -1) for x in (case.q, case.v, case.a)))
    assert np.array_equal(folded, many.reshape(4, 5, -1))
    still = module.torque(case.q, np.zeros(case.model.nv), [0] * case.model.nv)
    assert still.shape == many.shape
    assert module.gravity(case.q[0].tolist()).shape == (case.model.nv,)
    assert module.torque(case.q[:0], case.v[:0], case.a[:0]).shape == (0, case.model.nv)


def test_wrong_widths_are_refused():
    """A message names the array, its shape and what it should be."""
    case = random_cases()[4]
    module = module_of(case)
    with pytest.raises(ValueError, match=r"v has shape \(20, 1\).* must be 5 long"):
        module.torque(case.q, case.v[:, :1], case.a)
    with pytest.raises(ValueError, match=r"q has shape \(\)"):
        module.gravity(1.0)


def test_the_module_needs_numpy_only():
    """Its only import is NumPy, and its constants are the robot's names, units and values."""
    case = random_cases()[3]
    text = numpy_module(case.model, case.base, case.beta, name="my arm")
    tree = ast.parse(text)
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [ast.unparse(node) for node in imports] == ["import numpy as np"]
    module = loaded(text)
    assert module.ROBOT == "my arm"
    assert case.model.channels == module.JOINTS
    assert case.model.channel_units == module.UNITS
    expected = zip(case.base.names, case.beta.tolist(), case.base.units, strict=True)
    assert tuple(expected) == module.PARAMETERS
    assert module.LOCKED == ()


def test_locked_joints_are_listed():
    """A joint that was locked has no torque, and the module says where it is."""
    rng = np.random.default_rng(4)
    robot = random_robot(rng, 3, chain=True)
    locked = robot.joint_names[1]
    case = case_of("locked", Model(robot.lock({locked: 0.5})), rng)
    assert ((locked, 0.5),) == module_of(case).LOCKED
    assert locked not in module_of(case).JOINTS


def test_names_do_not_become_code():
    """With other names the module has other texts, but the same code."""
    case = hostile_case()
    tree = ast.parse(numpy_module(case.model, case.base, case.beta))
    texts = [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    assert {text.value for text in texts} >= {case.model.robot.name, *case.model.channels}
    for text in texts:
        text.value = ""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    plain = {name for name in names if name.strip("0123456789") not in ("q", "v", "a", "t")}
    assert plain <= {
        "np", "tau", "name", "values", "n", "x", "array", "float", "ValueError",
        "ROBOT", "JOINTS", "UNITS", "PARAMETERS", "LOCKED", "_entries", "_clip",
    }  # fmt: skip
