"""Motors and gears: the overlay's tables, the terms they make, the torques they give."""

from __future__ import annotations

from dataclasses import replace
from math import pi

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paper_robots import TX40

from steelyard.errors import ModelError, OverlayError
from steelyard.knowledge.overlay.apply import apply_overlay
from steelyard.knowledge.overlay.model import model_of
from steelyard.knowledge.overlay.overlay import Overlay
from steelyard.knowledge.overlay.terms import terms_from_overlay
from steelyard.knowledge.overlay.toml_file import parse_overlay
from steelyard.model.base_map import base_map
from steelyard.model.kernels import torque, torque_regressor
from steelyard.model.model import Model
from steelyard.model.term_kinds import default_kinds
from steelyard.model.terms import default_terms
from steelyard.robot.parts import Joint, Link, Mimic
from steelyard.robot.robot import Robot
from steelyard.robot.transmission import Motor, Transmission, transmission_fault

TX40_ROWS = [
    {},
    {"alpha": -pi / 2, "theta": -pi / 2},
    {"a": 0.225, "theta": pi / 2, "d": 0.035},
    {"alpha": pi / 2, "d": 0.225},
    {"alpha": -pi / 2},
    {"alpha": pi / 2, "theta": pi},
]


def tx40() -> Robot:
    return Robot.from_dh(TX40_ROWS, convention="modified", name="tx40")


def arm() -> Robot:
    """Two turning joints, a slide, and a joint that follows it."""
    links = tuple(Link(f"l{i}") for i in range(5))
    joints = (
        Joint("j1", "revolute", "l0", "l1"),
        Joint("j2", "revolute", "l1", "l2"),
        Joint("slide", "prismatic", "l2", "l3"),
        Joint("other", "prismatic", "l2", "l4", mimic=Mimic("slide")),
    )
    return Robot("arm", links, joints)


def with_all_terms(overlay: Overlay) -> Model:
    """The arm with motors, and with the offset of its vertical slide, which identify leaves out."""
    robot = apply_overlay(arm(), overlay)
    return Model(robot, terms_from_overlay(robot, overlay))


def test_tx40_is_eqs_34_and_35_of_the_paper():
    """Torques of the wrist are those of Gautier and Venture 2013, with the lost dots restored."""
    model = model_of(tx40(), overlay=parse_overlay(TX40))
    rigid = Model(model.robot, ())
    rng = np.random.default_rng(5)
    q, v, a = rng.normal(size=(3, 400, 6))
    Ia, Fv, Fc, off = rng.uniform(0.1, 3.0, size=(4, 6))
    Fvm6, Fcm6 = rng.uniform(0.1, 3.0, size=2)
    phi = rng.normal(size=60)
    # section II: Ia qdd + Fv qd + Fc sign(qd) + offset; section V: what the coupling adds
    expected = torque(rigid, phi, q, v, a) + Ia * a + Fv * v + Fc * np.sign(v) + off
    expected[:, 4] += Ia[5] * a[:, 5] + Fvm6 * v[:, 5] + Fcm6 * np.sign(v[:, 4] + v[:, 5])
    expected[:, 5] += Ia[5] * a[:, 4] + Fvm6 * v[:, 4] + Fcm6 * np.sign(v[:, 4] + v[:, 5])
    # eq 35: the paper's Ia5, and likewise its Fv5 and Fv6, include the share of rotor 6
    ours = {f"motor_{j + 1}.Ia": Ia[j] for j in range(5)} | {"motor_6.Ia": Ia[5]}
    ours["motor_5.Ia"] = Ia[4] - Ia[5]
    ours |= {f"motor_{j + 1}.fv": Fv[j] for j in range(5)}
    ours |= {"motor_5.fv": Fv[4] - Fvm6, "motor_6.fv": Fvm6, "joint_6.fv": Fv[5] - Fvm6}
    ours |= {f"motor_{j + 1}.fc": Fc[j] for j in range(5)}
    ours |= {"motor_6.fc": Fcm6, "joint_6.fc": Fc[5], "joint_6.fo": off[5]}
    ours |= {f"motor_{j + 1}.fo": off[j] for j in range(5)}
    bodies = dict(zip(rigid.column_names, phi, strict=True))
    theta = model.theta(ours | bodies)
    assert len(ours) == 26
    tau = torque(model, theta, q, v, a)
    np.testing.assert_allclose(tau, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


def test_tx40_has_86_parameters_of_rank_60():
    """The rotor that both wrist rows share leaves 60 of 86 parameters."""
    model = model_of(tx40(), overlay=parse_overlay(TX40))
    assert len(model.columns) == 86
    assert base_map(model).rank == 60


def test_a_motor_pushes_with_what_its_shaft_does():
    """Terms of a motor are those at its shaft, carried to the joints by its row of T."""
    text = """
[motor.a]
ratio = { j1 = 30.0, j2 = -60.0 }
[motor.b]
ratio = { j2 = 10.0 }
[motor.c]
ratio = { slide = 200.0 }
"""
    model = with_all_terms(parse_overlay(text))
    assert {term.owner for term in model.terms} == {"a", "b", "c"}
    units = {column.name: column.unit for column in model.columns}
    assert (units["a.Ia"], units["c.Ia"], units["c.fc"]) == ("kg m²", "kg", "N")
    rng = np.random.default_rng(2)
    q, v, a = rng.normal(size=(3, 50, 3))
    T = model.robot.transmission.matrix(("j1", "j2", "slide"))
    J, fv, fc, fo = rng.uniform(0.1, 1.0, size=(4, 3))  # at the shafts
    speed, acceleration = v @ T.T, a @ T.T
    expected = (J * acceleration + fv * speed + fc * np.sign(speed) + fo) @ T
    N = np.array([-60.0, 10.0, 200.0])  # the largest entries
    theta = {}
    for m, name in enumerate("abc"):
        theta |= {f"{name}.Ia": N[m] ** 2 * J[m], f"{name}.fv": N[m] ** 2 * fv[m]}
        theta |= {f"{name}.fc": abs(N[m]) * fc[m], f"{name}.fo": N[m] * fo[m]}
    tau = torque(model, model.theta(theta), q, v, a)
    np.testing.assert_allclose(tau, expected, rtol=1e-12, atol=1e-9)


def test_simple_motors_change_names_only():
    """One motor per joint gives the columns of the usual model under the motors' names."""
    text = "".join(
        f"[motor.m{k}]\nratio = {{ {j} = {n} }}\n"
        for k, (j, n) in enumerate([("j1", -50.0), ("j2", 80.0), ("slide", 300.0)])
    )
    model, usual = with_all_terms(parse_overlay(text)), Model(arm())
    q, v, a = np.random.default_rng(1).normal(size=(3, 20, 3))
    W, W_usual = torque_regressor(model, q, v, a), torque_regressor(usual, q, v, a)
    renamed = {"m0": "j1", "m1": "j2", "m2": "slide"}
    for k, column in enumerate(model.columns):
        name = f"{renamed.get(column.owner, column.owner)}.{column.symbol}"
        other = usual.column_names.index(name)
        np.testing.assert_array_equal(W[:, :, k], W_usual[:, :, other])
        assert column.unit == usual.columns[other].unit


def test_a_motor_with_a_joints_name_is_the_joint():
    """Motors without a ratio leave the model as it is without motors."""
    text = "[motor.j1]\ntorque_constant = 2.0\n[motor.j2]\n[motor.slide]\ngain = 1.5"
    overlay = parse_overlay(text)
    model = with_all_terms(overlay)
    assert model.terms == Model(arm()).terms
    assert model.hash == Model(arm()).hash
    motors = model.robot.transmission.motors
    assert motors[0] == Motor("j1", (("j1", 1.0),), 2.0)
    assert motors[2].gain == 1.5


@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(0, 2))
@settings(max_examples=50, deadline=None)
def test_speeds_there_and_back(seed, n_joints, n_more):
    """Joint speeds come back from the motor speeds, and power is the same on both sides."""
    rng = np.random.default_rng(seed)
    joints = tuple(f"j{k}" for k in range(n_joints))
    T = rng.uniform(20.0, 100.0, size=(n_joints + n_more, n_joints))
    T[:n_joints] += np.diag(rng.uniform(300.0, 500.0, n_joints))
    motors = tuple(
        Motor(f"m{k}", tuple(zip(joints, (float(x) for x in row), strict=True)))
        for k, row in enumerate(T)
    )
    transmission = Transmission(motors)
    assert transmission_fault(transmission, joints) is None
    np.testing.assert_array_equal(transmission.matrix(joints), T)
    v = rng.normal(size=n_joints)
    np.testing.assert_allclose(transmission.to_joints(joints) @ (T @ v), v, atol=1e-10)
    turned = transmission.matrix(joints[::-1])
    np.testing.assert_array_equal(turned, T[:, ::-1])


def test_the_inverse_keeps_exact_zeros():
    """A joint that a motor has no part in does not depend on it, not even by rounding."""
    robot = apply_overlay(tx40(), parse_overlay(TX40))
    inverse = robot.transmission.to_joints(robot.joint_names)
    assert np.count_nonzero(inverse) == 7
    np.testing.assert_allclose(inverse[5], [0, 0, 0, 0, -1 / 45, 1 / 32], atol=1e-16)


THREE = (
    "[motor.a]\nratio = {j1 = 10}\n[motor.b]\nratio = {j2 = 10}\n[motor.c]\nratio = {slide = 9}\n"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("motor = 3", "key motor is a number; it must be a table"),
        ("[motor]\na = 3", "key motor.a is a number; it must be a table"),
        ("[motor.a]\nratios = {j1 = 1}", "key motor.a.ratios is not known (did you mean 'ratio'?)"),
        ("[motor.a]\nratio = 3", "key motor.a.ratio is a number; it must be a table"),
        ("[motor.a]\nratio = {}", "key motor.a.ratio is empty; name the joints that it drives"),
        ("[motor.a]\nratio = {j1 = 0}", "key motor.a.ratio.j1 is 0.0; it must be a number from"),
        ("[motor.a]\nratio = {j1 = nan}", "key motor.a.ratio.j1 is not finite"),
        ("[motor.a]\ntorque_constant = 0", "key motor.a.torque_constant is 0.0; it must be"),
        ("[motor.a]\ngain = -1", "key motor.a.gain is -1.0; it must be positive"),
        ("[motor.a]\nterms = ['x']", "key motor.a.terms[0] is 'x', which is no term"),
        ("[motor.a]\nratio = {j3 = 1}", "motor 'a' drives 'j3', which is no moving joint"),
        ("[motor.a]\ngain = 2", "motor 'a' drives 'a', which is no moving joint"),
        ("[motor.a]\nratio = {other = 1}", "it only follows joint 'slide'; name that one"),
        (
            "[motor.a]\nratio = {j1 = 10}\n[motor.b]\nratio = {j2 = 10}",
            "no motor drives joint slide; where motors are stated, each joint that moves needs one",
        ),
        (
            "[motor.a]\nratio = {j1 = 10}\n[motor.b]\nratio = {j2 = 10, slide = 3}",
            "2 motors cannot drive 3 joints: j1, j2, slide",
        ),
        (
            THREE + "[motor.j1]\nratio = {j1 = 3}",
            "motor 'j1' has the name of a joint, so that its columns in a log could be",
        ),
        (
            THREE + "[[coupling]]\nname='a'\ndirection={j1=1}\nterms=['viscous']",
            "a motor and a coupling are named 'a'; rename one",
        ),
        ("[joint.j1]\nmotor_zero = 1.0", "joint 'j1' has a motor_zero, but no motor is stated"),
        ("[joint.j1]\nmotor_zero = 'x'", "key joint.j1.motor_zero is text"),
        ("torque = 'joint'", "key torque is 'joint'; it must be one of motor, link"),
        ("[joint.j1]\ntorque = 1", "key joint.j1.torque is a number; it must be one of motor"),
        (
            "[motor.a]\nratio={j1=1,j2=2}\n[motor.b]\nratio={j2=1}\n[motor.c]\nratio={slide=1}\n"
            "[locked]\nj2 = 0.5",
            "motor 'a' drives j1, j2, of which j2 is locked; leave it out of the motor's ratio",
        ),
    ],
)
def test_bad_motors_are_refused(text, expected):
    """What a motor cannot be is one line that says which key, or which motors and joints."""
    with pytest.raises(OverlayError) as caught:
        apply_overlay(arm(), parse_overlay(text))
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_singular_transmission_is_refused_with_the_motion_that_turns_no_motor():
    """Two motors on the same sum of joints leave a motion that none of them sees."""
    text = THREE.replace("{j1 = 10}", "{j1 = 10, j2 = 20}").replace(
        "{j2 = 10}", "{j1 = 5, j2 = 10}"
    )
    with pytest.raises(OverlayError) as caught:
        apply_overlay(arm(), parse_overlay(text))
    words = str(caught.value)
    assert "the transmission is singular: moving j1 by 1, j2 by -0.5 turns no motor" in words
    assert words.endswith("correct the ratios of motors a, b")


def test_an_all_but_singular_transmission_is_refused_with_its_condition_number():
    """Ratios that differ in the sixth digit are a slip, and the number says how bad it is."""
    text = THREE.replace("{j1 = 10}", "{j1 = 10, j2 = 10}").replace(
        "{j2 = 10}", "{j1 = 10, j2 = 10.0001}"
    )
    with pytest.raises(OverlayError, match=r"condition number is 4e\+05.*ratios of j1, j2"):
        apply_overlay(arm(), parse_overlay(text))


def test_units_do_not_make_a_transmission_singular():
    """A spindle in rad/m beside geared joints is well conditioned."""
    text = THREE.replace("{slide = 9}", "{slide = 62831.9}").replace("{j1 = 10}", "{j1 = 0.01}")
    assert apply_overlay(arm(), parse_overlay(text)).transmission is not None


def test_motors_of_locked_joints_are_gone():
    """A motor that drives a locked joint only is not asked for."""
    robot = apply_overlay(arm(), parse_overlay(THREE + "[locked]\nslide = 0.1"))
    assert robot.transmission.motor_names == ("a", "b")


def test_link_side_torque_has_neither_rotor_nor_motor_friction():
    """A torque at the link leaves Coulomb friction and an offset: of all joints, or of some."""
    robot = arm()
    at_motor = default_kinds("motor")
    kinds = lambda terms, joint: tuple(t.kind for t in terms if t.owner == joint)  # noqa: E731
    assert default_terms(robot) == Model(robot).terms
    assert kinds(default_terms(robot, "link"), "j1") == ("coulomb", "offset")
    some = default_terms(robot, {"j2": "link"})
    assert (kinds(some, "j1"), kinds(some, "j2")) == (at_motor, ("coulomb", "offset"))
    overlay = parse_overlay('torque = "link"\n[joint.j1]\ntorque = "motor"')
    terms = terms_from_overlay(robot, overlay)
    assert (kinds(terms, "j1"), kinds(terms, "slide")) == (at_motor, ("coulomb", "offset"))
    assert kinds(terms_from_overlay(robot, overlay, torque="motor"), "slide") == at_motor
    only = parse_overlay('[joint.j1]\ntorque = "motor"')
    terms = model_of(robot, overlay=only, torque="link").terms
    assert (kinds(terms, "j1"), kinds(terms, "j2")) == (at_motor, ("coulomb", "offset"))
    stated = parse_overlay('torque = "link"\nterms = ["viscous"]\n[joint.j1]\nterms = ["offset"]')
    terms = terms_from_overlay(robot, stated)
    assert (kinds(terms, "j1"), kinds(terms, "j2")) == (("offset",), ("viscous",))


def test_where_torque_is_measured_is_checked():
    """A side that does not exist, a joint that does not, and terms beside it are refused."""
    with pytest.raises(ModelError, match="torque is measured at 'joint'; it can be at motor or"):
        default_terms(arm(), "joint")
    with pytest.raises(Exception, match="has no joint 'j9'"):
        default_terms(arm(), {"j9": "link"})
    with pytest.raises(ModelError, match="terms and torque are both given"):
        model_of(arm(), terms=(), torque="link")
    with pytest.raises(ModelError, match="terms are given twice"):
        model_of(arm(), terms=(), overlay=parse_overlay(THREE + "[joint.j1]\nterms = ['offset']"))


def test_motors_and_sides():
    """Motors of link-side joints have no terms; a motor across both sides has to be told."""
    text = 'torque = "link"\n' + THREE
    model = model_of(arm(), overlay=parse_overlay(text))
    assert {t.name for t in model.terms} == {
        f"{j}.f{x}" for j in ("j1", "j2", "slide") for x in "co"
    }
    assert model.robot.transmission.link_side == ("j1", "j2", "slide")
    mixed = THREE.replace("{j2 = 10}", "{j1 = 10, j2 = 10}") + '[joint.j1]\ntorque = "link"'
    with pytest.raises(ModelError, match="motor 'b' drives j1, j2, whose torques are measured on"):
        model_of(arm(), overlay=parse_overlay(mixed))
    told = mixed.replace("j1 = 10, j2 = 10}\n", "j1 = 10, j2 = 10}\nterms = ['viscous']\n")
    assert "b.fv" in {t.name for t in model_of(arm(), overlay=parse_overlay(told)).terms}


def test_terms_at_the_top_are_the_motors():
    """With motors, the terms of every joint are those of every motor; a joint's own are on top."""
    text = 'terms = ["viscous"]\n' + THREE + "[joint.j1]\nterms = ['coulomb']"
    model = model_of(arm(), overlay=parse_overlay(text))
    assert [t.name for t in model.terms] == ["j1.fc", "a.fv", "b.fv", "c.fv"]


def test_a_later_overlay_keeps_motors_that_it_does_not_state():
    """Motors stay with the robot when another overlay says nothing of them."""
    robot = apply_overlay(arm(), parse_overlay(THREE))
    again = apply_overlay(robot, parse_overlay("gravity = [0, 0, -1.6]"))
    assert again.transmission == robot.transmission
    assert replace(robot, name="x").transmission == robot.transmission
