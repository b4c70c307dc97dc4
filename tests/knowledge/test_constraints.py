"""Constraints against clouds of point masses, a rank-one decomposition, and CVXPY."""

from __future__ import annotations

import cvxpy
import numpy as np
import pytest
from clouds import in_ball, parameters, pendulums
from robot_files import example_urdfs
from seeds import every

from steelyard import Robot
from steelyard.conic._equations import meet_equations
from steelyard.conic.blocks import matrix_of
from steelyard.conic.problem import conic_problem
from steelyard.conic.settle import failing, rounded
from steelyard.conic.solver import solve
from steelyard.errors import ModelError
from steelyard.knowledge.constraint_blocks import blocks, moment_weights
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
from steelyard.knowledge.overlay.read_robot import read_robot
from steelyard.knowledge.physical_blocks import sousa_matrix
from steelyard.model.model import Model
from steelyard.model.typical_sizes import default_bound, parameter_scale
from steelyard.robot.inertia import from_pseudo_inertia, pseudo_inertia, transform
from steelyard.testing.random_robots import random_pose, random_robot, random_rotation

CUBE = tuple((x, y, z) for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0))


@pytest.fixture(scope="module")
def model():
    """Two bodies l1, l2 with friction."""
    return Model(pendulums(2))


def margins(model, constraints, phi, names=None):
    """Margins by block name, for bodies with these parameters (one for both, or two)."""
    theta = np.zeros(len(model.columns))
    for first, body in zip(model.first_column_of_body, np.broadcast_to(phi, (2, 10)), strict=True):
        theta[first : first + 10] = body
    found = {block.words: block.margin(theta) for block in blocks(model, constraints)}
    return found if names is None else [m for name, m in found.items() if names in name]


def hold(model, constraints, phi, names, slack=1e-12):
    """Whether all blocks with these words hold."""
    found = margins(model, constraints, phi, names)
    assert found
    return min(found) >= -slack


def test_a_body_of_points_is_physical_and_one_with_a_negative_point_is_not(model):
    """Any cloud passes both consistency conditions; a cloud with negative spread fails the full
    one.
    """
    rng = np.random.default_rng(0)
    for _ in range(50):
        points = rng.normal(size=(5, 3)) + rng.normal(size=3)
        phi = parameters(rng.random(5), points)
        for consistency in ("full", "sousa"):
            assert hold(model, Constraints(consistency), phi, "is physical")
        J = pseudo_inertia(phi)
        u = np.linalg.eigh(J)[1][:, 0]
        worse = from_pseudo_inertia(J - 1.01 * np.linalg.eigvalsh(J)[0] * np.outer(u, u))
        assert not hold(model, Constraints("full"), worse, "is physical")
        assert margins(model, Constraints("none"), worse, "is physical") == []


def test_the_matrix_of_the_papers_condition_is_kinetic_energy():
    """[w -v]ᵀ M [w -v] of the 6×6 matrix is the sum of m |v + w × r|² over a cloud of points."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        masses, points = rng.random(6), rng.normal(size=(6, 3))
        w, v = rng.normal(size=(2, 3))
        matrix = sousa_matrix(parameters(masses, points))
        twist = np.concatenate([w, -v])
        energy = masses @ np.sum((v + np.cross(w, points)) ** 2, axis=1)
        assert twist @ matrix @ twist == pytest.approx(energy)
        assert np.array_equal(matrix, matrix.T)


def test_the_papers_condition_lets_the_triangle_inequality_fail(model):
    """Principal moments 1, 1, 3 pass the 6×6 condition and fail the 4×4 one."""
    phi = np.array([1.0, 0, 0, 0, 1.0, 0, 1.0, 0, 0, 3.0])
    assert hold(model, Constraints("sousa"), phi, "is physical")
    assert not hold(model, Constraints("full"), phi, "is physical")


def random_region(rng, kind):
    """A region, and whether a point is in it by its definition."""
    centre = rng.normal(size=3)
    if kind == "box":
        half = rng.uniform(0.2, 1.0, size=3)
        region = Box(tuple(centre - half), tuple(centre + half))
        return region, lambda c: np.max(np.abs(c - centre) / half)
    if kind == "ellipsoid":
        radii = rng.uniform(0.2, 1.0, size=3)
        return Ellipsoid(tuple(centre), tuple(radii)), lambda c: np.linalg.norm(
            (c - centre) / radii
        )
    if kind == "cylinder":
        R, half, radius = random_rotation(rng), rng.uniform(0.2, 1.0), rng.uniform(0.2, 1.0)
        along = half * R[:, 2]
        region = Cylinder(tuple(centre - along), tuple(centre + along), radius)

        def depth(c):
            local = R.T @ (c - centre)
            return max(np.hypot(local[0], local[1]) / radius, abs(local[2]) / half)

        return region, depth
    # an affine image of the octahedron |a|_1 <= 1
    M = rng.normal(size=(3, 3)) + 2 * np.eye(3)
    corners = np.concatenate([centre + M.T, centre - M.T, centre + 0.1 * rng.normal(size=(1, 3))])
    region = Hull(tuple(tuple(p) for p in corners))
    return region, lambda c: np.abs(np.linalg.solve(M, c - centre)).sum()


@pytest.mark.parametrize("kind", ["box", "ellipsoid", "cylinder", "hull"])
def test_centre_of_mass_regions(model, kind):
    """The blocks hold exactly for the clouds whose centre of mass is in the region."""
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(60):
        region, depth = random_region(rng, kind)
        masses, points = rng.random(4) + 0.01, rng.normal(size=(4, 3))
        middle = np.array(getattr(region, "centre", np.zeros(3)))
        points += rng.uniform(0, 1.5) * (middle - masses @ points / masses.sum())
        com = masses @ points / masses.sum()
        if abs(depth(com) - 1.0) < 1e-6:
            continue
        expected = depth(com) < 1.0
        inside += expected
        given = Constraints(com={"l1": region})
        assert hold(model, given, parameters(masses, points), "centre of mass") == expected
    assert inside >= 3


def test_a_cube_has_six_faces(model):
    """A hull's flat faces come once each, and a point of it may be inside."""
    hull = Hull((*CUBE, (0.5, 0.5, 0.5)))
    assert hull.half_spaces.shape == (6, 4)
    given = Constraints(com={"l1": hull})
    for x, expected in ((0.999, True), (1.001, False), (-0.001, False)):
        phi = parameters([2.0], [(x, 0.5, 0.5)])
        assert hold(model, given, phi, "hull") == expected


def rank_one_parts(J, Q):
    """Vectors p_i with J = sum p_i p_iᵀ and p_iᵀ Q p_i all equal to trace(J Q) / rank.

    Sturm and Zhang 2003, Proposition 3: any two parts with values on either side of the mean
    can be turned into one that has the mean.
    """
    values, vectors = np.linalg.eigh(J)
    parts = [np.sqrt(v) * u for v, u in zip(values, vectors.T, strict=True) if v > 1e-12]
    mean = np.sum(J * Q) / len(parts)
    done = []
    while len(parts) > 1:
        parts.sort(key=lambda p: p @ Q @ p)
        low, high = parts[0], parts[-1]
        a, b, c = high @ Q @ high - mean, 2 * low @ Q @ high, low @ Q @ low - mean
        if a < 1e-13 or c > -1e-13:
            break
        t = (-b + np.sqrt(b * b - 4 * a * c)) / (2 * a)
        done.append((low + t * high) / np.hypot(1, t))
        parts = [*parts[1:-1], (t * low - high) / np.hypot(1, t)]
    return np.array(done + parts)


def test_every_cloud_inside_an_ellipsoid_meets_the_trace_condition(model):
    """It holds for all clouds inside, and fails for a point outside."""
    rng = np.random.default_rng(2)
    for _ in range(50):
        centre, radii = rng.normal(size=3), rng.uniform(0.05, 1.0, size=3)
        given = Constraints(inside={"l1": Ellipsoid(tuple(centre), tuple(radii))})
        phi = parameters(rng.random(6), centre + radii * in_ball(rng, 6))
        assert hold(model, given, phi, "inside its ellipsoid")
        u = rng.normal(size=3)
        outside = centre + 1.01 * radii * u / np.linalg.norm(u)
        assert not hold(model, given, parameters([1.0], [outside]), "inside its ellipsoid")


def test_the_trace_condition_is_exact(model):
    """Every body that is physical and meets it is the body of points inside the ellipsoid."""
    rng = np.random.default_rng(3)
    tried = 0
    for _ in range(200):
        centre, radii = rng.normal(size=3), rng.uniform(0.2, 1.0, size=3)
        ellipsoid = Ellipsoid(tuple(centre), tuple(radii))
        L = np.tril(rng.normal(size=(4, 4)))
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = np.diag(0.7 * radii), centre
        phi = from_pseudo_inertia(T @ L @ L.T @ T.T)
        if not hold(model, Constraints(inside={"l1": ellipsoid}), phi, "inside its", slack=0.0):
            continue
        tried += 1
        Q = np.diag([*(-1 / radii**2), 1.0])
        shift = np.eye(4)
        shift[:3, 3] = -centre
        parts = rank_one_parts(pseudo_inertia(phi), shift.T @ Q @ shift)
        masses = parts[:, 3] ** 2
        points = parts[:, :3] / parts[:, 3:]
        assert np.allclose(parameters(masses, points), phi, rtol=1e-7, atol=1e-9)
        assert np.max(np.linalg.norm((points - centre) / radii, axis=1)) <= 1 + 1e-7
    assert tried >= 30


def test_the_box_condition_is_necessary_and_says_so(model):
    """Every cloud in a box meets it; a cloud with a point far outside does not."""
    rng = np.random.default_rng(4)
    for _ in range(50):
        centre, half = rng.normal(size=3), rng.uniform(0.05, 1.0, size=3)
        given = Constraints(inside={"l1": Box(tuple(centre - half), tuple(centre + half))})
        points = centre + half * rng.uniform(-1, 1, size=(6, 3))
        phi = parameters(rng.random(6), points)
        assert hold(model, given, phi, "necessary condition")
        corners = centre + half * rng.choice([-1.0, 1.0], size=(6, 3))
        assert hold(model, given, parameters(rng.random(6), corners), "necessary condition")
        k = rng.integers(3)
        points[0, k] = centre[k] + 20 * half[k]
        phi = parameters([0.2, *rng.uniform(0.1, 0.3, size=5)], points)
        assert not hold(model, given, phi, "necessary condition")


@pytest.mark.parametrize("axis", ["x", "y", "z"])
@pytest.mark.parametrize("offset", [0.0, 0.3])
def test_symmetric_clouds(model, axis, offset):
    """A cloud and its mirror image together are symmetric; the cloud alone is not."""
    rng = np.random.default_rng(5)
    k = "xyz".index(axis)
    given = Constraints(symmetric={"l1": SymmetryPlane(axis, offset)})
    for _ in range(10):
        masses, points = rng.random(4), rng.normal(size=(4, 3))
        image = points.copy()
        image[:, k] = 2 * offset - points[:, k]
        both = parameters([*masses, *masses], [*points, *image])
        assert hold(model, given, both, "symmetric")
        assert not hold(model, given, parameters(masses, points), "symmetric", slack=1e-3)
        lopsided = parameters([*masses, *masses[::-1]], [*points, *image])
        assert not hold(model, given, lopsided, "symmetric", slack=1e-4)


def test_copies_and_mirror_images(model):
    """Equal bodies have equal parameters; mirror images those of the mirrored cloud."""
    rng = np.random.default_rng(6)
    masses, points = rng.random(4), rng.normal(size=(4, 3))
    phi = parameters(masses, points)
    given = Constraints(equal=(("l1", "l2"),))
    assert hold(model, given, phi, "are equal", slack=0.0)
    assert not hold(model, given, np.array([phi, 1.01 * phi]), "are equal")
    for k, axis in enumerate("xyz"):
        image = parameters(masses, points * np.where(np.arange(3) == k, -1, 1))
        given = Constraints(mirrored=(Mirrored("l1", "l2", axis),))
        assert hold(model, given, np.array([phi, image]), "mirror images", slack=0.0)
        assert not hold(model, given, phi, "mirror images")


def test_what_is_left_of_a_merged_body_is_physical():
    """J_total - J_known is psd for a body that contains the known links, in any pose."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        T = random_pose(rng)
        tool = parameters(rng.random(5), rng.normal(size=(5, 3)))
        model = Model(pendulums(2, tool=("l1", tool, T), camera=("l1", 0.1 * tool, np.eye(4))))
        rest = parameters(rng.random(5), rng.normal(size=(5, 3)))
        seen = transform(tool, T) + 0.1 * tool
        given = Constraints(known_links=("tool", "camera"))
        assert hold(model, given, seen + rest, "unknown rest of 'l1'")
        assert not hold(model, given, seen - rest, "unknown rest of 'l1'")
        # each known link by itself would leave a physical rest; both together do not
        part = Constraints(known_part={"l1": tuple(0.5 * rest)}, known_links=("tool", "camera"))
        assert hold(model, part, seen + rest, "unknown rest of 'l1'")
        assert not hold(model, part, seen + 0.4 * rest, "unknown rest of 'l1'")


def test_ranges_sums_and_values(model):
    """Masses, their sums, fixed values and ranges of terms, at and beyond their ends."""
    theta = np.zeros(len(model.columns))
    index = {name: i for i, name in enumerate(model.column_names)}
    given = blocks(
        model,
        Constraints(
            mass={"l1": (1.0, 2.0)},
            total_mass=(None, 5.0),
            mass_sums=(MassSum(("l1", "l2"), (3.0, None)),),
            fixed={"j1.fo": 0.25, "l2.Ixy": 0.0},
            bounds={"viscous": (0.1, 0.5), "j1.Ia": (None, 0.2)},
            second_moment=1e4,
            second_moments={"l1": 3.0},
        ),
    )
    words = {block.words: block for block in given}

    def at(name, **values):
        for key, value in values.items():
            theta[index[key.replace("__", ".")]] = value
        return words[name].margin(theta)

    assert at("the mass of 'l1' is at least 1", l1__m=1.25) == pytest.approx(0.25)
    assert at("the mass of 'l1' is at most 2", l1__m=2.5) == pytest.approx(-0.5)
    assert at("the total mass is at most 5", l1__m=2, l2__m=2) == pytest.approx(1.0)
    assert at("the mass of l1, l2 together is at least 3", l2__m=0.5) == pytest.approx(-0.5)
    assert at("'j1.fo' is 0.25", j1__fo=0.25) == 0.0
    assert at("'l2.Ixy' is 0", l2__Ixy=0.1) == pytest.approx(-0.1)
    for joint in ("j1", "j2"):
        assert at(f"'{joint}.fv' is at least 0.1", **{f"{joint}__fv": 0.05}) < 0
        assert at(f"'{joint}.fv' is at most 0.5", **{f"{joint}__fv": 0.4}) > 0
    assert at("'j1.Ia' is at most 0.2", j1__Ia=0.3) == pytest.approx(-0.1)
    assert at("'j2.fc' is at least 0", j2__fc=-1.0) == -1.0
    # trace of J: m + (Ixx + Iyy + Izz) / 2
    theta[:] = 0.0
    assert at("the second moment of 'l1' is at most 3", l1__m=2, l1__Ixx=4) == pytest.approx(-1)
    assert at("the second moment of 'l2' is at most 10000") == pytest.approx(1e4)


def test_the_margin_is_kept_from_the_upper_end_of_a_sum(model):
    """Strict inequalities of Sousa and Cortesão (2014): sums stay a margin below their limit, and
    their lower limit, or an equation, has none.
    """
    sums = (MassSum(("l1", "l2"), (3.0, 4.0)), MassSum(("l1",), (2.0, 2.0)))
    given = blocks(model, Constraints(margin=0.125, total_mass=(None, 5.0), mass_sums=sums))
    theta = np.zeros(len(model.columns))
    theta[[model.column_names.index(f"{name}.m") for name in ("l1", "l2")]] = 2.0, 1.5
    found = {block.words: block.margin(theta) for block in given}
    together = "the mass of l1, l2 together is at "
    assert {words: slack for words, slack in found.items() if words.startswith("the mass of")} == {
        f"{together}least 3": 0.5,
        f"{together}most 3.875": 0.375,
        "the mass of l1 together is 2": 0.0,
    }
    assert found["the total mass is at most 4.875"] == 1.375


def test_equal_ends_are_an_equation_and_massless_bodies_have_no_place(model):
    """A range without width is an equation; regions and copies of a massless body are void."""
    given = blocks(
        model,
        Constraints(
            mass={"l1": (2.0, 2.0)}, total_mass=(2.0, 2.0), massless=("l2",),
            com={"l2": Box((1, 1, 1), (2, 2, 2)), "l1": Box((0, 0.5, 0), (0, 0.5, 1))},
            inside={"l2": Ellipsoid((1, 1, 1), (0.1, 0.1, 0.1))},
            symmetric={"l2": SymmetryPlane("x")},
        ),
    )  # fmt: skip
    kinds = {block.words: (block.kind, block.band) for block in given}
    assert kinds["the mass of 'l1' is 2"] == ("zero", False)
    assert kinds["the total mass is 2"] == ("nonnegative", True)
    assert kinds["'l2' is massless"] == ("zero", False)
    assert [name for name in kinds if "'l2'" in name] == ["'l2' is massless"]
    assert kinds["the centre of mass of 'l1' is in its box along x"] == ("zero", False)
    assert kinds["the centre of mass of 'l1' is in its box along y"] == ("nonnegative", True)
    assert kinds["the centre of mass of 'l1' is in its box along z"] == ("nonnegative", False)
    names = [b.words for b in blocks(model, Constraints(massless=("l2",), equal=(("l1", "l2"),)))]
    assert "'l1' is massless" in names
    assert "'l1' is physical" not in names


def test_fixed_values_reach_the_copies(model):
    """A value fixed for one of two copies is fixed for the other, mirrored where they are."""
    given = Constraints(fixed={"l2.my": 0.5, "l2.m": 2.0}, mirrored=(Mirrored("l1", "l2", "y"),))
    phi = np.zeros((2, 10))
    phi[:, 0], phi[0, 2], phi[1, 2] = 2.0, -0.5, 0.5
    found = margins(model, given, phi)
    copies = [name for name in found if "its copy" in name]
    assert len(copies) == 2
    assert all(found[name] == 0.0 for name in copies)


@every("seed", range(20))
def test_equations_are_met_on_rounded_numbers(seed):
    """Values and copies hold to the last bit, other equations within a billionth, in rationals.

    The third body is free, so that the total can be met whatever the copies are.
    """
    model = Model(pendulums(3))
    rng = np.random.default_rng(seed)
    copies = [
        {"equal": (("l1", "l2"),)},
        {"mirrored": (Mirrored("l1", "l2", "z"),)},
        {"mirrored": (Mirrored("l2", "l1", "y"),), "fixed": {"l1.mz": 0.3, "j2.fo": 0.1}},
        {"equal": (("l2", "l1"),), "fixed": {"l1.Ixx": 0.7, "j1.fo": -0.1}},
    ]
    constraints = Constraints(
        total_mass=(9.9, 9.9),
        symmetric={"l1": SymmetryPlane("x", 0.1), "l3": SymmetryPlane("y", -0.3)},
        com={"l2": Box((-1, 0.3, -1), (1, 0.3, 1))},
        **copies[seed % 4],
    )
    given = [b for b in blocks(model, constraints) if b.band or b.kind == "zero"]
    theta = rounded(rng.normal(size=len(model.columns)))
    assert len(failing(given, theta)) == len(given)
    met = meet_equations(theta, given)
    assert failing(given, met) == ()
    assert np.array_equal(meet_equations(met, given), met)
    untouched = [i for i, c in enumerate(model.columns) if c.kind in ("viscous", "coulomb")]
    assert np.array_equal(met[untouched], theta[untouched])


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: Constraints("ful"), "consistency is 'ful' (did you mean 'full'?); it must be"),
        (lambda: Constraints(margin=-1), "margin is -1; it must not be negative"),
        (lambda: Constraints(margin=float("nan")), "margin is nan; it must be finite"),
        (lambda: Constraints(mass={"a": (float("nan"), 1)}), "mass of 'a' has a limit that is not"),
        (lambda: Constraints(mass={"a": 3}), "mass of 'a' is '3'; a range is a lower and an upper"),
        (lambda: Constraints(mass={"a": ("x", 1)}), "a limit of mass of 'a' is 'x', which is not"),
        (lambda: Constraints(mass={"a": (np.inf, None)}), "is inf; it must be finite"),
        (lambda: Constraints(fixed={"a.m": np.inf}), "fixed of 'a.m' is inf; it must be finite"),
        (lambda: Constraints(second_moment=0), "second_moment is 0; it must be positive"),
        (lambda: Constraints(equal=(("a",),)), "equal has the group a; name two or more bodies"),
        (lambda: Constraints(equal=(("a", "a"),)), "equal has the group a, a; name two or more"),
        (lambda: Constraints(equal=("ab",)), "must be a sequence of names, not 'ab'"),
        (lambda: Constraints(massless="l1"), "massless must be a sequence of names, not 'l1'"),
        (lambda: Constraints(com={"a": SymmetryPlane("x")}), "com of 'a' is a SymmetryPlane; it"),
        (lambda: Constraints(inside={"a": Hull(CUBE)}), "inside of 'a' is a Hull; it must be one"),
        (lambda: Constraints(known_part={"a": (1, 2)}), "known_part of 'a' has 2 numbers"),
        (lambda: Constraints(mass_sums=(("a", (1, 2)),)), "mass_sums holds a tuple, not a MassSum"),
        (lambda: MassSum((), (1, 2)), "a mass sum names no body"),
        (lambda: Mirrored("a", "a", "x"), "'a' cannot mirror itself"),
        (lambda: Mirrored("a", "b", "w"), "has the axis 'w'; it must be one of x, y, z"),
        (lambda: SymmetryPlane("xy"), "has the axis 'xy'"),
        (lambda: Box((0, 1, 0), (1, 0, 1)), "lower corner 1 above its upper corner 0 along y"),
        (lambda: Box((0, 1), (1, 2)), "a box's lower corner has 2 entries"),
        (lambda: Box((0, 0, np.nan), (1, 2, 3)), "a box's lower corner is nan; it must be finite"),
        (lambda: Ellipsoid((0, 0, 0), (1, -1, 1)), "has the radii 1, -1, 1 m; all must be positiv"),
        (lambda: Cylinder((0, 0, 0), (0, 0, 1), -2), "a cylinder has the radius -2 m; it must be"),
        (lambda: Cylinder((0, 0, 1), (0, 0, 1), 2), "starts where it ends, so that it has no axis"),
        (lambda: Hull(CUBE[:3]), "a hull needs at least 4 points, not 3"),
        (lambda: Hull(CUBE[:4]), "the 4 points of a hull lie in a plane"),
        (lambda: Hull(((0, 0, 0),) * 5), "the 5 points of a hull lie in a line"),
        (lambda: Hull(((0, 0, 0), (1, 1, 1), (2, 2, 2), (3, 3, 3))), "lie in a line"),
    ],
)
def test_bad_data(make, expected):
    """What cannot be meant is refused when it is said, in one line."""
    with pytest.raises(ModelError) as caught:
        make()
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"mass": {"l11": (1, 2)}}, "mass names the body 'l11', which is none of l1, l2 (did you"),
        ({"com": {"tool": Box((0, 0, 0), (1, 1, 1))}}, "fixed joints merge into the body 'l1'"),
        ({"massless": ("base",)}, "massless names the link 'base', which never moves"),
        ({"inside": {"x": Box((0, 0, 0), (1, 1, 1))}}, "inside names the body 'x'"),
        ({"symmetric": {"x": SymmetryPlane("x")}}, "symmetric names the body 'x'"),
        ({"equal": (("l1", "x"),)}, "equal names the body 'x'"),
        ({"mirrored": (Mirrored("l1", "x", "y"),)}, "mirrored names the body 'x'"),
        ({"known_part": {"x": (1.0,) * 10}}, "known_part names the body 'x'"),
        ({"known_links": ("l2",)}, "known_links names 'l2', which has no inertial in its file"),
        ({"known_links": ("x",)}, "known_links names the body 'x'"),
        ({"second_moments": {"x": 1}}, "second_moments names the body 'x'"),
        (
            {"fixed": {"j1.f": 0}},
            "the parameter 'j1.f', which the model does not have (did",
        ),
        ({"fixed": {"tool.m": 1}}, "fixed joints merge the link into the body 'l1': 'l1.m'"),
        ({"bounds": {"rigid_body": (0, 1)}}, "bounds names the parameter 'rigid_body'"),
        ({"mass": {"l1": (0, 0)}}, "the mass of 'l1' is set to 0; list the body in massless"),
        ({"fixed": {"l1.m": 0.0}}, "the mass of 'l1' is set to 0; list the body in massless"),
    ],
)
def test_names_that_do_not_fit(given, expected):
    """Wrong names are refused with the names that fit, merged links with their body's."""
    model = Model(pendulums(2, tool=("l1", parameters([1.0], [(0, 0, 1)]), np.eye(4))))
    with pytest.raises(ModelError) as caught:
        blocks(model, Constraints(**given))
    assert expected in str(caught.value)


def random_constraints(rng):
    """Constraints of every kind that leave room for a body near l1's and l2's frames."""
    return Constraints(
        consistency=str(rng.choice(["full", "sousa"])),
        mass={"l1": (0.5, float(rng.uniform(1, 3)))},
        total_mass=(None, float(rng.uniform(3, 5))),
        com={
            "l1": Cylinder((0, 0, -0.5), tuple(rng.uniform(0.2, 0.5, size=3)), 0.2),
            "l2": Hull(tuple(map(tuple, rng.uniform(-1, 1, size=(12, 3))))),
        },
        inside={
            "l1": Ellipsoid(tuple(rng.normal(size=3) * 0.1), (0.6, 0.8, 0.7)),
            "l2": Box((-1, -1, -1), (1, 1.5, 2)),
        },
        symmetric={"l2": SymmetryPlane("y", float(rng.uniform(-0.05, 0.05)))},
        bounds={"viscous": (0.1, 2.0), "coulomb": (None, 3.0), "offset": (-1.0, 1.0)},
        fixed={"j1.Ia": 0.2},
        second_moment=float(rng.uniform(20, 60)),
    )


def written_out(rng, model, given, x):
    """The same constraints in CVXPY, from the definitions and on J."""
    index = {name: i for i, name in enumerate(model.column_names)}
    out = []
    for first, name in zip(model.first_column_of_body, ("l1", "l2"), strict=True):
        m, h, (xx, xy, yy, xz, yz, zz) = (
            x[first], x[first + 1 : first + 4], [x[first + 4 + k] for k in range(6)]
        )  # fmt: skip
        inertia = cvxpy.bmat([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        sigma = 0.5 * (xx + yy + zz) * np.eye(3) - inertia
        column = cvxpy.reshape(h, (3, 1), order="F")
        J = cvxpy.bmat([[sigma, column], [column.T, cvxpy.reshape(m, (1, 1), order="F")]])
        if given.consistency == "full":
            out.append(0.5 * (J + J.T) >> 0)
        else:
            S = cvxpy.bmat([[0, -h[2], h[1]], [h[2], 0, -h[0]], [-h[1], h[0], 0]])
            D = cvxpy.bmat([[inertia, S.T], [S, m * np.eye(3)]])
            out.append(0.5 * (D + D.T) >> 0)
        out.append(cvxpy.trace(J) <= given.second_moment)
        if name == "l1":
            start, end = np.array(given.com["l1"].start), np.array(given.com["l1"].end)
            along = (end - start) / np.linalg.norm(end - start)
            local = h - m * start
            out += [local @ along >= 0, local @ along <= m * np.linalg.norm(end - start)]
            out.append(cvxpy.norm(local - along * (local @ along)) <= 0.2 * m)
            ball = given.inside["l1"]
            weights = 1 / np.array(ball.radii) ** 2
            centre = np.array(ball.centre)
            spread = cvxpy.diag(sigma) - 2 * cvxpy.multiply(centre, h) + m * centre**2
            out.append(weights @ spread <= m)
            out += [m >= 0.5, m <= given.mass["l1"][1]]
        else:
            points = np.array(given.com["l2"].points)
            share = cvxpy.Variable(len(points), nonneg=True)
            out += [points.T @ share == h, cvxpy.sum(share) == m]
            box = given.inside["l2"]
            low, high = np.array(box.lower), np.array(box.upper)
            for i in range(3):
                out.append((low[i] + high[i]) * h[i] - sigma[i, i] - low[i] * high[i] * m >= 0)
                for j in range(i):
                    for p, s in ((low[i], 1), (high[i], -1)):
                        for q, t in ((low[j], 1), (high[j], -1)):
                            product = sigma[i, j] - p * h[j] - q * h[i] + p * q * m
                            out.append(s * t * product >= 0)
            d = given.symmetric["l2"].offset
            out += [h[1] == d * m, xy == -d * h[0], yz == -d * h[2]]
    out.append(x[index["l1.m"]] + x[index["l2.m"]] <= given.total_mass[1])
    for joint in ("j1", "j2"):
        out += [x[index[f"{joint}.fv"]] >= 0.1, x[index[f"{joint}.fv"]] <= 2.0]
        out += [x[index[f"{joint}.fc"]] >= 0.0, x[index[f"{joint}.fc"]] <= 3.0]
        out += [x[index[f"{joint}.Ia"]] >= 0.0, cvxpy.abs(x[index[f"{joint}.fo"]]) <= 1.0]
    out.append(x[index["j1.Ia"]] == 0.2)
    return out


@every("seed", range(6))
def test_the_same_optimum_as_written_out_for_cvxpy(model, seed):
    """A random linear objective has the same smallest value in both."""
    rng = np.random.default_rng(seed)
    given = random_constraints(rng)
    n = len(model.columns)
    c = rng.normal(size=n)
    c[[i for i, column in enumerate(model.columns) if column.kind == "drive_inertia"]] = 1.0
    ours = solve(conic_problem(n, blocks(model, given), parameter_scale(model), c=c))
    assert ours.status == "solved"
    x = cvxpy.Variable(n)
    oracle = cvxpy.Problem(cvxpy.Minimize(c @ x), written_out(rng, model, given, x))
    oracle.solve(solver="CLARABEL")
    assert oracle.status == "optimal"
    assert c @ ours.theta == pytest.approx(oracle.value, rel=1e-6, abs=1e-6)


def test_the_entries_of_a_block_are_those_of_its_matrix(model):
    """A physical block holds the pseudo-inertia itself."""
    rng = np.random.default_rng(8)
    phi = rng.normal(size=10)
    theta = np.zeros(len(model.columns))
    theta[:10] = phi
    block = next(b for b in blocks(model, Constraints()) if b.words == "'l1' is physical")
    assert np.allclose(matrix_of(block.entries(theta)), pseudo_inertia(phi), atol=1e-15)


@pytest.mark.parametrize(
    "name",
    ["double_pendulum_simple", "tiago_dual", "ur5_robot", "g1_29dof_with_hand_rev_1_0", "panda"],
)
def test_real_robots_have_a_tenth_of_the_default_bound(name):
    """The largest bodies of 71 robot files, in masses of all bodies and in mean masses: none has
    more than a tenth of the bound, which leaves room for files that are wrong by ten.
    """
    path = next(path for path in example_urdfs() if path.stem == name)
    model = Model(read_robot(path, keep_angles=True), ())
    bound, length = default_bound(model)
    theta, weights = model.prior_theta(), moment_weights(length)
    largest = max(weights @ theta[k : k + 10] for k in model.first_column_of_body)
    assert 0.0 < largest < 0.1 * bound


def test_the_default_bound_is_generous_and_scales_with_the_robot():
    """25 times all masses together; ten tonnes where the file states no mass."""
    rng = np.random.default_rng(0)
    model = Model(random_robot(rng, 3, chain=True))
    masses = model.prior_theta()[list(model.first_column_of_body)]
    assert default_bound(model)[0] == pytest.approx(25.0 * masses.sum())
    bare = Robot.from_dh([{}, {"a": 0.4}], convention="modified")
    assert default_bound(Model(bare))[0] == 1e4
    theta = model.prior_theta()
    bounds = [block for block in blocks(model, Constraints()) if "second moment" in block.words]
    assert len(bounds) == 3
    assert all(block.margin(theta) > 0 for block in bounds)
    assert all(block.margin(1000.0 * theta) < 0 for block in bounds)
