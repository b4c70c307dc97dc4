"""Changes of bodies that were moved by known vectors and turned by known angles."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from seeds import every

from steelyard.robot._difference_words import moved_mm, percent, told_apart
from steelyard.robot.inertia import from_com, transform
from steelyard.robot.inertial_changes import (
    InertialChange,
    inertial_change,
    inertial_of,
    inertial_of_link,
)
from steelyard.robot.parts import Link
from steelyard.testing.random_robots import random_pose, random_rotation

SPHERE = np.diag([0.02, 0.02, 0.02])
ROD = np.diag([1e-6, 0.02, 0.02])
DISC = np.diag([0.01, 0.01, 0.02])


def phi_of(mass: float, com: np.ndarray, inertia_com: np.ndarray) -> np.ndarray:
    """The ten parameters by the parallel-axis theorem, entry by entry."""
    about = inertia_com + mass * (com @ com * np.eye(3) - np.outer(com, com))
    xx, xy, yy, xz, yz, zz = about[(0, 0, 1, 0, 1, 2), (0, 1, 1, 2, 2, 2)]
    return np.array([mass, *(mass * com), xx, xy, yy, xz, yz, zz])


def drawn(rng: np.random.Generator) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Mass, centre, axes and distinct principal moments (ascending) of a physical body."""
    mass = float(np.exp(rng.uniform(-3.0, 3.0)))
    spread = np.sort(rng.uniform(0.5, 1.0, size=3)) * np.array([1.0, 1.5, 2.5])
    moments = (
        mass * 0.01 * np.sort([spread[1] + spread[2], spread[0] + spread[2], spread[:2].sum()])
    )
    return mass, rng.uniform(-0.5, 0.5, size=3), random_rotation(rng), moments


def change_of(before: tuple, after: tuple, stated: bool) -> InertialChange:
    """The change between two bodies (mass, com, inertia), with their stated inertia or without."""
    bodies = [inertial_of(phi_of(*body), body[2] if stated else None) for body in (before, after)]
    return inertial_change("body", *bodies)


@every("seed", range(200))
@pytest.mark.parametrize("stated", [True, False])
def test_known_motions_are_found(seed, stated):
    """A body moved by a vector and turned about an axis across its heaviest one: the distance,
    the angle and the untouched mass are found.
    """
    rng = np.random.default_rng(seed)
    mass, com, axes, moments = drawn(rng)
    inertia = axes @ np.diag(moments) @ axes.T
    way, angle = rng.normal(scale=0.02, size=3), rng.uniform(0.5, 89.5)
    mix = rng.uniform(0, 2 * np.pi)
    across = np.cos(mix) * axes[:, 0] + np.sin(mix) * axes[:, 1]
    R = Rotation.from_rotvec(np.deg2rad(angle) * across).as_matrix()
    found = change_of((mass, com, inertia), (mass, com + way, R @ inertia @ R.T), stated)
    assert not found.mass_differs
    assert found.com_differs
    assert found.inertia_differs
    assert found.com_distance == pytest.approx(np.linalg.norm(way), rel=1e-9)
    assert found.com_moved == pytest.approx(way, abs=1e-12)
    assert found.heaviest_axis_deg == pytest.approx(angle, abs=1e-6)
    assert found.before is not None
    assert found.after is not None
    assert found.before.moments == pytest.approx(moments, rel=1e-9)
    assert found.after.moments == pytest.approx(moments, rel=1e-9)


@every("seed", range(50))
def test_a_turn_about_the_heaviest_axis_turns_the_lightest(seed):
    """Turned about its heaviest axis, a body keeps that axis; its lightest one turns."""
    rng = np.random.default_rng(seed)
    mass, com, axes, moments = drawn(rng)
    inertia = axes @ np.diag(moments) @ axes.T
    angle = rng.uniform(1.0, 89.0)
    R = Rotation.from_rotvec(np.deg2rad(angle) * axes[:, 2]).as_matrix()
    found = change_of((mass, com, inertia), (mass, com, R @ inertia @ R.T), True)
    assert found.heaviest_axis_deg == pytest.approx(0.0, abs=1e-5)
    if moments[1] - moments[0] > 0.051 * moments[2]:
        assert found.lightest_axis_deg == pytest.approx(angle, abs=1e-6)
    assert not found.com_differs


@every("seed", range(100))
def test_the_comparison_is_symmetric(seed):
    """Exchanged, two bodies differ as much, and the centre of mass moves back."""
    rng = np.random.default_rng(seed)
    bodies = []
    for _ in range(2):
        mass, com, axes, moments = drawn(rng)
        bodies.append((mass, com, axes @ np.diag(moments) @ axes.T))
    forth, back = change_of(*bodies, True), change_of(*bodies[::-1], True)
    assert forth.inertia_relative == back.inertia_relative
    assert forth.heaviest_axis_deg == pytest.approx(back.heaviest_axis_deg)
    assert forth.com_moved == pytest.approx(-back.com_moved)
    assert forth.differs
    assert back.differs


@every("seed", range(100))
def test_rounding_is_no_difference(seed):
    """A body that went through another frame and back, and one written with 9 digits, is equal;
    one with another sixth digit is not, unless four digits are compared.
    """
    rng = np.random.default_rng(seed)
    mass, com, axes, moments = drawn(rng)
    phi = phi_of(mass, com, axes @ np.diag(moments) @ axes.T)
    T = random_pose(rng, reach_m=3.0)
    there_and_back = transform(transform(phi, T), np.linalg.inv(T))
    written = np.array([float(f"{value:.9g}") for value in phi])
    for other in (there_and_back, written):
        assert not inertial_change("body", inertial_of(phi), inertial_of(other)).differs
    heavier = inertial_of(phi * (1.0 + 1e-5))
    assert inertial_change("body", inertial_of(phi), heavier).mass_differs
    assert not inertial_change("body", inertial_of(phi), heavier, digits=4).differs


@every("seed", range(20))
def test_the_rounding_of_a_far_body_is_no_difference(seed):
    """A small body 20 m from its origin loses digits of its inertia when only its ten parameters
    are known; that is no difference, to nine digits.
    """
    rng = np.random.default_rng(seed)
    mass, _, axes, moments = drawn(rng)
    inertia = 1e-6 * axes @ np.diag(moments) @ axes.T
    far = 20.0 * random_rotation(rng)[0]
    T = random_pose(rng)
    phi = phi_of(mass, far, inertia)
    other = transform(transform(phi, T), np.linalg.inv(T))
    assert np.abs(inertial_of(other).inertia_com - inertia).max() > 1e-9 * np.abs(inertia).max()
    assert not inertial_change("body", inertial_of(phi), inertial_of(other), digits=9).differs


@pytest.mark.parametrize(
    ("inertia", "heaviest", "lightest"),
    [
        (SPHERE, None, None),
        (ROD, None, 30.0),
        (DISC, 30.0, None),
        (np.zeros((3, 3)), None, None),
        (np.diag([0.0196, 0.0198, 0.02]), None, None),
        (np.diag([1e-6, 0.0195, 0.02]), None, 30.0),
    ],
    ids=["sphere", "rod", "disc", "point", "nearly a sphere", "nearly a rod"],
)
def test_axes_that_do_not_exist_have_no_angle(inertia, heaviest, lightest):
    """A sphere and a point have no axis, a rod only its own, a disc only its normal; the same
    where moments differ by a few per cent.
    """
    R = Rotation.from_rotvec([0.0, np.deg2rad(30.0), 0.0]).as_matrix()
    com = np.array([0.1, 0.2, 0.3])
    found = change_of((1.0, com, inertia), (1.0, com, R @ inertia @ R.T), True)
    for angle, expected in (
        (found.heaviest_axis_deg, heaviest),
        (found.lightest_axis_deg, lightest),
    ):
        assert angle == (None if expected is None else pytest.approx(expected, abs=1e-9))
    assert found.differs == (inertia[0, 0] != inertia[2, 2])
    if lightest is not None:
        assert "lightest axis turned 30.0 deg" in found.words


def test_point_masses_are_told_apart():
    """A point mass that moves by 12 mm and loses weight is described, without any inertia."""
    point = np.zeros((3, 3))
    found = change_of((2.7, np.zeros(3), point), (2.41, np.array([0.012, 0, 0]), point), True)
    assert found.words == "mass 2.70 -> 2.41 kg, centre of mass moved 12 mm (x 12, y 0, z 0)"
    assert found.inertia_relative == 0.0


def test_bodies_without_mass():
    """An inertial of zeros is none; no inertial, appearing and vanishing ones are told."""
    zeros, stated = Link("frame", np.zeros(10)), Link("frame", from_com(0.5, np.zeros(3), SPHERE))
    nothing, body = inertial_of_link(Link("frame")), inertial_of_link(stated)
    assert nothing is None
    assert inertial_of_link(zeros) is None
    assert not inertial_change("frame", nothing, nothing).differs
    appears, vanishes = inertial_change("frame", None, body), inertial_change("frame", body, None)
    assert appears.appears
    assert not appears.vanishes
    assert appears.words == "inertial appears, mass 0.5 kg"
    assert vanishes.vanishes
    assert vanishes.words == "inertial vanishes, mass was 0.5 kg"


def test_a_massless_body_with_inertia_has_no_centre():
    """Zero mass with an inertia, which some files state, is compared without a centre of mass."""
    massless = inertial_of(from_com(0.0, np.zeros(3), SPHERE))
    found = inertial_change("rotor", massless, inertial_of(from_com(0.1, np.zeros(3), SPHERE)))
    assert massless.com is None
    assert found.com_moved is None
    assert found.mass_differs
    assert not found.inertia_differs


def test_numbers_that_are_not_finite_differ():
    """A body with NaN is equal to nothing, and no axis is computed."""
    bad = inertial_of(np.full(10, np.nan))
    found = inertial_change("body", bad, bad)
    assert found.differs
    assert found.heaviest_axis_deg is None


@pytest.mark.parametrize(
    ("before", "after", "texts"),
    [
        (2.7, 2.41, ("2.70", "2.41")),
        (2.7, 2.70001, ("2.70000", "2.70001")),
        (100.0, 0.4, ("100.0", "0.4")),
        (0.0, 12.5, ("0", "12.5")),
        (1e-6, 2e-6, ("1e-06", "2e-06")),
        (1e9, 1.5e9, ("1e+09", "1.5e+09")),
        (0.0, 0.0, ("0", "0")),
    ],
)
def test_numbers_are_printed_so_that_they_differ(before, after, texts):
    """Both numbers get as many places as it takes to see the difference."""
    assert told_apart(before, after) == texts


def test_short_numbers():
    """Per cent to two digits, distances in mm without exponents."""
    assert [percent(x) for x in (0.0123, 0.5, 12.0, 1e-7)] == ["1.2 %", "50 %", "1200 %", "1e-05 %"]
    assert moved_mm(np.array([1.2345, 1e-5, -0.5])) == "1330 mm (x 1230, y 0, z -500)"
