"""Tests of the ten inertial parameters, their matrix forms and physical consistency."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from steelyard.errors import ModelError
from steelyard.robot.inertia import (
    PARAMETER_UNITS,
    PARAMETERS,
    from_com,
    from_log_cholesky,
    from_origin,
    from_pseudo_inertia,
    inertia_origin,
    is_physical,
    log_cholesky,
    margin,
    pseudo_inertia,
    skew,
    to_com,
    transform,
    violations,
    violations_about_com,
)

Array = NDArray[np.float64]
N_BODIES = 400


def phi_of_points(masses: Array, points: Array) -> Array:
    """phi (..., 10) of point masses (..., k) at (..., k, 3), from the integrals themselves."""
    x, y, z = np.moveaxis(points, -1, 0)
    integrals = [
        np.ones_like(x), x, y, z,
        y**2 + z**2, -x * y, x**2 + z**2, -x * z, -y * z, x**2 + y**2,
    ]  # fmt: skip
    return np.stack([(masses * f).sum(axis=-1) for f in integrals], axis=-1)


def random_bodies(seed: int, n_points: int = 6) -> Array:
    """Bodies (400, 10) of a few point masses, from grams to tonnes and millimetres to metres."""
    rng = np.random.default_rng(seed)
    masses = 10.0 ** rng.uniform(-3, 3, (N_BODIES, 1)) * rng.uniform(0.1, 1, (N_BODIES, n_points))
    size = 10.0 ** rng.uniform(-2, 0, (N_BODIES, 1, 1))
    offset = size * rng.uniform(-3, 3, (N_BODIES, 1, 3))
    return phi_of_points(masses, offset + size * rng.normal(size=(N_BODIES, n_points, 3)))


def random_poses(seed: int, n: int = N_BODIES) -> Array:
    """Poses (n, 4, 4), from Gaussian matrices made orthogonal."""
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.normal(size=(n, 3, 3)))
    T = np.tile(np.eye(4), (n, 1, 1))
    T[:, :3, :3] = Q * np.linalg.det(Q)[:, None, None]
    T[:, :3, 3] = rng.normal(size=(n, 3))
    return T


def box(mass: float, x: float, y: float, z: float) -> Array:
    """Inertia (3, 3) of a solid box about its centre."""
    return np.diag([y * y + z * z, x * x + z * z, x * x + y * y]) * mass / 12.0


def relative_difference(a: Array, b: Array) -> float:
    """Largest difference of a group of like units, relative to the size of that group."""
    worst = 0.0
    for part in (slice(0, 1), slice(1, 4), slice(4, 10)):
        size = np.abs(b[..., part]).max(axis=-1) + 1e-300
        worst = max(worst, float((np.abs(a - b)[..., part].max(axis=-1) / size).max()))
    return worst


def test_ten_names_with_ten_units() -> None:
    """Names and units pair up, in Pinocchio's order."""
    units = dict(zip(PARAMETERS, PARAMETER_UNITS, strict=True))
    assert list(units) == ["m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz"]
    assert (units["m"], units["mz"], units["Ixx"], units["Iyz"]) == ("kg", "kg m", "kg m²", "kg m²")


def test_skew_is_the_cross_product() -> None:
    """S(a) b is a × b, batched."""
    a, b = np.random.default_rng(0).normal(size=(2, 50, 3))
    assert np.allclose((skew(a) @ b[..., None])[..., 0], np.cross(a, b), atol=1e-15)


def test_pseudo_inertia_is_the_second_moment_of_mass() -> None:
    """J of point masses is the sum of m (r, 1)(r, 1)ᵀ, and converts back to phi."""
    rng = np.random.default_rng(1)
    masses, points = rng.uniform(0.1, 2, (N_BODIES, 5)), rng.normal(size=(N_BODIES, 5, 3))
    r1 = np.concatenate([points, np.ones((N_BODIES, 5, 1))], axis=-1)
    J = np.einsum("nk,nki,nkj->nij", masses, r1, r1)
    phi = phi_of_points(masses, points)
    assert np.allclose(pseudo_inertia(phi), J, rtol=1e-13, atol=1e-13)
    assert relative_difference(from_pseudo_inertia(J), phi) < 1e-13


def test_inertia_origin_is_the_tensor_of_pinocchio() -> None:
    """The tensor about the origin is the angular block of Pinocchio's 6×6 inertia."""
    pin = pytest.importorskip("pinocchio")
    for phi in random_bodies(2)[:100]:
        expected = pin.Inertia.FromDynamicParameters(phi).matrix()[3:, 3:]
        assert np.allclose(inertia_origin(phi), expected, rtol=1e-12, atol=1e-14 * expected.max())


def test_com_form_agrees_with_pinocchio_both_ways() -> None:
    """Mass, centre of mass and the inertia about it are those of Pinocchio."""
    pin = pytest.importorskip("pinocchio")
    bodies = random_bodies(3)
    mass, com, inertia_com = to_com(bodies)
    assert relative_difference(from_com(mass, com, inertia_com), bodies) < 1e-13
    for i, phi in enumerate(bodies[:200]):
        body = pin.Inertia.FromDynamicParameters(phi)
        assert mass[i] == pytest.approx(body.mass, rel=1e-15)
        assert np.allclose(com[i], body.lever, rtol=1e-13, atol=1e-15)
        size = inertia_origin(phi).max()
        assert np.allclose(inertia_com[i], body.inertia, rtol=0, atol=1e-13 * size)
        again = from_com(body.mass, body.lever, body.inertia)
        assert relative_difference(again, phi) < 1e-13


def test_com_of_a_massless_body_is_the_origin() -> None:
    """Zero mass gives a zero centre of mass and an unchanged inertia, without a warning."""
    phi = np.zeros((2, 10))
    phi[1, 4:] = [1, 0, 2, 0, 0, 3]
    mass, com, inertia = to_com(phi)
    assert not mass.any()
    assert not com.any()
    assert not inertia[0].any()
    assert np.array_equal(inertia[1], np.diag([1.0, 2.0, 3.0]))


def test_transform_agrees_with_pinocchio() -> None:
    """Moving a body to another frame is Pinocchio's action of SE(3) on inertias."""
    pin = pytest.importorskip("pinocchio")
    bodies, poses = random_bodies(4), random_poses(5)
    moved = transform(bodies, poses)
    for phi, T, got in zip(bodies, poses, moved, strict=True):
        expected = pin.SE3(T) * pin.Inertia.FromDynamicParameters(phi)
        assert relative_difference(got, expected.toDynamicParameters()) < 1e-12


def test_transform_moves_the_points() -> None:
    """Transforming a body is the same as transforming its point masses."""
    rng = np.random.default_rng(6)
    masses, points = rng.uniform(0.1, 2, (N_BODIES, 5)), rng.normal(size=(N_BODIES, 5, 3))
    T = random_poses(7)
    moved_points = points @ np.swapaxes(T[:, :3, :3], 1, 2) + T[:, None, :3, 3]
    got = transform(phi_of_points(masses, points), T)
    assert relative_difference(got, phi_of_points(masses, moved_points)) < 1e-13


def test_transform_is_a_group_action() -> None:
    """Identity does nothing, poses compose, and the inverse pose undoes a pose."""
    bodies, A, B = random_bodies(8), random_poses(9), random_poses(10)
    assert relative_difference(transform(bodies, np.eye(4)), bodies) < 1e-14
    assert relative_difference(transform(transform(bodies, A), B), transform(bodies, B @ A)) < 1e-13
    moved = transform(bodies, A)
    back = transform(moved, np.linalg.inv(A))
    size = np.abs(moved[:, 4:]).max(axis=1)
    assert (np.abs(back - bodies)[:, 4:].max(axis=1) <= 1e-13 * size).all()
    assert (np.abs(back - bodies)[:, :4].max(axis=1) <= 1e-13 * np.abs(moved).max(axis=1)).all()


def test_transform_keeps_mass_moments_and_verdict() -> None:
    """Mass, principal moments about the centre of mass and the sign of margin are invariant."""
    bodies = random_bodies(11)
    bodies[::2, 4] += 4.0 * np.abs(bodies[::2, 4:]).max(axis=1)
    moved = transform(bodies, random_poses(12))
    assert np.allclose(moved[:, 0], bodies[:, 0], rtol=1e-14)
    size = np.abs(moved[:, 4:]).max(axis=1)
    difference = np.linalg.eigvalsh(to_com(moved)[2]) - np.linalg.eigvalsh(to_com(bodies)[2])
    assert (np.abs(difference).max(axis=1) <= 1e-12 * size).all()
    assert np.array_equal(margin(moved) > 0, margin(bodies) > 0)
    assert np.array_equal(is_physical(moved), is_physical(bodies))
    assert 0 < np.count_nonzero(margin(bodies) > 0) < N_BODIES


@pytest.mark.parametrize(
    "spoil",
    [
        lambda T: T * np.array([[1.001], [1], [1], [1]]),
        lambda T: T @ np.diag([1, 1, -1, 1]),
        lambda T: T.T,
        lambda T: T * np.nan,
    ],
    ids=["stretched", "mirrored", "transposed", "nan"],
)
def test_transform_refuses_matrices_that_are_not_poses(spoil: object) -> None:
    """A stretched, mirrored, transposed or NaN matrix is refused: it would change the body."""
    T = spoil(random_poses(13, 1)[0])  # type: ignore[operator]
    with pytest.raises(ModelError, match="not the pose of a frame"):
        transform(random_bodies(13)[0], T)


def test_log_cholesky_agrees_with_pinocchio() -> None:
    """Pinocchio converts our log-Cholesky parameters back to the same body."""
    pin = pytest.importorskip("pinocchio")
    bodies = random_bodies(14)
    for phi, x in zip(bodies, log_cholesky(bodies), strict=True):
        theirs = pin.Inertia.FromLogCholeskyParameters(pin.LogCholeskyParameters(x))
        assert relative_difference(theirs.toDynamicParameters(), phi) < 1e-9
        assert relative_difference(from_log_cholesky(x), phi) < 1e-9


def test_every_log_cholesky_vector_is_a_physical_body() -> None:
    """Any ten numbers give a physical body, and are recovered from it."""
    x = np.random.default_rng(15).normal(size=(N_BODIES, 10))
    phi = from_log_cholesky(x)
    assert is_physical(phi).all()
    # The inverse divides by the pivots, the smallest of which are e^-4 here, squared.
    assert np.allclose(log_cholesky(phi), x, rtol=0, atol=1e-7)


@pytest.mark.parametrize(
    ("phi", "why"),
    [
        (np.zeros(10), "boundary"),
        (from_com(1.0, [0.1, 0, 0], np.zeros((3, 3))), "boundary"),
        (from_com(1.0, [0.1, 0, 0], np.diag([0.0, 1.0, 1.0])), "boundary"),
        (from_com(1.0, [0.1, 0, 0], np.diag([0.1, 0.2, 0.3])), "boundary"),
        (from_com(1.0, [0.1, 0, 0], np.diag([0.1, 0.2, 0.4])), "triangle"),
        (from_com(-1.0, [0.1, 0, 0], np.diag([1.0, 1.0, 1.0])), "negative mass"),
        (np.full(10, np.nan), "not finite"),
    ],
)
def test_log_cholesky_refuses_what_is_not_strictly_physical(phi: Array, why: str) -> None:
    """The error names the body, its index in the array, and what is wrong with it."""
    bodies = random_bodies(16)[:3].copy()
    bodies[1] = phi
    with pytest.raises(ModelError, match=rf"forearm\[1\].*{why}.*log-Cholesky"):
        log_cholesky(bodies, "forearm")
    with pytest.raises(ModelError, match=rf"link 'forearm'.*{why}.*log-Cholesky"):
        log_cholesky(phi, "forearm")


def test_bodies_of_points_and_massless_bodies_are_physical() -> None:
    """Bodies of positive masses break no rule: solid, flat, a rod, a point, and massless."""
    for n_points in (6, 3, 2, 1):
        bodies = random_bodies(17 + n_points, n_points)
        assert is_physical(bodies).all()
        assert all(violations(phi) == () for phi in bodies[:100])
    assert violations(np.zeros(10)) == ()
    assert is_physical(np.zeros(10))


def test_a_printed_plate_is_flat_not_broken() -> None:
    """Decimal plates with Izz = Ixx + Iyy, turned and far from the origin, break no rule."""
    rng = np.random.default_rng(18)
    tenths = rng.integers(1, 100, (N_BODIES, 2)) / 10.0
    inertia = np.zeros((N_BODIES, 3, 3))
    inertia[:, 0, 0], inertia[:, 1, 1] = tenths.T
    inertia[:, 2, 2] = np.round(tenths.sum(axis=1), 1)
    assert (inertia[:, 2, 2] > tenths[:, 0] + tenths[:, 1]).any(), "no rounding occurred"
    inertia[0] = np.diag([0.1, 0.7, 0.8])
    assert 0.8 - 0.7 - 0.1 > 8e-17
    plates = from_com(1.0, rng.normal(size=(N_BODIES, 3)), inertia)
    assert is_physical(plates).all()
    assert is_physical(transform(plates, random_poses(19))).all()


@pytest.mark.parametrize("distance", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("n_points", [1, 2])
def test_points_and_rods_on_the_diagonals_of_the_frame_are_physical(
    distance: float, n_points: int
) -> None:
    """Far along (±1, ±1, ±1) the products of inertia cancel the moments in a plain sum: the size
    of rounding is that of their absolute values.
    """
    rng = np.random.default_rng(31)
    for signs in np.array(np.meshgrid(*3 * ([-1.0, 1.0],))).reshape(3, -1).T:
        masses = rng.uniform(0.1, 3.0, (50, n_points))
        along = distance * rng.uniform(0.9, 1.1, (50, n_points))
        bodies = phi_of_points(masses, along[..., None] * signs)
        assert is_physical(bodies).all()
        assert all(violations(phi) == () for phi in bodies)


@pytest.mark.parametrize("place", [(0.0, 0.0, 0.0), (0.2, -0.1, 0.3)])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e4])
def test_rounding_is_a_share_of_the_moments(place: tuple[float, ...], size: float) -> None:
    """What is 0.5e-12 of the moments about the centre and the origin, together, is rounding; three
    times that breaks a rule, and keeps a body from having log-Cholesky parameters.
    """
    for moments, slope in (
        ((0.4, 0.6, 1.0), (0.0, 0.0, 1.0)),  # a plate, its largest moment larger
        ((0.0, 1.0, 1.0), (-1.0, 0.0, 0.0)),  # a rod, its smallest moment negative
    ):
        for share, physical in ((0.5e-12, True), (1.5e-12, False)):
            flat = from_com(1.0, np.array(place), size * np.diag(moments))
            sizes = size * sum(moments) + np.abs(inertia_origin(flat)).sum()
            moved = size * np.array(moments) + share * sizes * np.array(slope)
            phi = from_com(1.0, np.array(place), np.diag(moved))
            assert (violations(phi) == ()) == physical
            assert bool(is_physical(phi)) == physical
    for share, inside in ((-0.5e-12, False), (-1.5e-12, True)):
        flat = from_com(1.0, np.array(place), size * np.diag([0.4, 0.6, 1.0]))
        sizes = 2.0 * size + np.abs(inertia_origin(flat)).sum()
        phi = from_com(1.0, np.array(place), np.diag([0.4, 0.6, 1.0 + share * sizes / size]) * size)
        if inside:
            assert np.isfinite(log_cholesky(phi)).all()
        else:
            with pytest.raises(ModelError, match="on the boundary of the physical set"):
                log_cholesky(phi)


def test_bodies_without_mass_are_measured_by_their_largest_parameter() -> None:
    """Of first moments and inertias, whichever is larger, of either sign; both are in the words."""
    for at, other in ((1, 4), (3, 9), (2, 5), (6, 3), (7, 1), (8, 2)):
        phi = np.zeros(10)
        phi[at], phi[other] = -0.75, 0.5
        (found,) = violations(phi, "hand")
        assert (found.rule, found.amount) == ("massless_with_inertia", 0.75)
        moment, inertia = (0.75, 0.5) if at < 4 else (0.5, 0.75)
        assert f"up to {moment} kg m and an inertia of up to {inertia} kg m²" in found.words
        assert not is_physical(phi)
    assert is_physical(np.array([np.zeros(10), phi])).tolist() == [True, False]


def test_only_the_upper_triangle_is_read() -> None:
    """from_origin takes xx, xy, xz, yy, yz, zz of the tensor; shapes broadcast."""
    tensor = np.array([[1.0, 2.0, 3.0], [np.nan, 4.0, 5.0], [np.nan, np.nan, 6.0]])
    phi = from_origin([7.0, 8.0], [9.0, 10.0, 11.0], tensor)
    assert phi.tolist() == [[m, 9, 10, 11, 1, 2, 4, 3, 5, 6] for m in (7.0, 8.0)]


@pytest.mark.parametrize(("stretch", "last", "fits"), [
    (4e-7, 0.0, True), (6e-7, 0.0, False), (0.0, 0.9e-9, True), (0.0, 1.1e-9, False),
    (-4e-7, -0.9e-9, True), (-6e-7, 0.0, False), (0.0, -1.1e-9, False),
])  # fmt: skip
def test_poses_may_have_the_rounding_of_a_file(stretch: float, last: float, fits: bool) -> None:
    """R Rᵀ may differ from 1 by 1e-6, the last row from 0, 0, 0, 1 by 1e-9; the message says by how
    much they do.
    """
    phi = random_bodies(30)[0]
    for row in range(4):
        T = np.eye(4)
        T[:3, :3] *= 1.0 + stretch
        T[3, row] += last
        if fits:
            assert relative_difference(transform(phi, T), phi) < 1e-5
        else:
            with pytest.raises(ModelError, match=r"not the pose of a frame: R Rᵀ differs"):
                transform(phi, T)


def test_each_rule_is_named_and_measured() -> None:
    """Each broken rule is found, with its amount, in words that name the link."""
    com = np.array([0.1, -0.2, 0.3])
    cases = {
        "mass": (from_com(-2.0, com, np.diag([1.0, 1.0, 1.0])), 2.0, "-2 kg"),
        "inertia_positive_definite": (
            from_com(2.0, com, np.diag([-0.25, 1.0, 1.0])), 0.25, "-0.25 kg m²",
        ),
        "triangle_inequality": (from_com(2.0, com, np.diag([1.0, 1.0, 2.5])), 0.5, "0.5 kg m²"),
        "massless_with_inertia": (np.array([0, 0, 3.0, 0, 1, 0, 1, 0, 0, 1]), 3.0, "3 kg m "),
        "not_finite": (np.array([1, 0, np.inf, 0, np.nan, 0, 1, 0, 0, 1]), 2.0, "my, Ixx"),
    }  # fmt: skip
    for rule, (phi, amount, words) in cases.items():
        (found,) = violations(phi, "elbow")
        assert found.rule == rule
        assert found.amount == pytest.approx(amount, rel=1e-12)
        assert "'elbow'" in found.words
        assert words in found.words
        assert not is_physical(phi)


def test_several_rules_can_break_at_once() -> None:
    """Negative mass does not hide a bad inertia."""
    rules = [v.rule for v in violations(from_com(-1.0, np.zeros(3), np.diag([1.0, 1.0, 3.0])))]
    assert rules == ["mass", "triangle_inequality"]


def test_tolerance_accepts_violations_up_to_its_size() -> None:
    """A violation of 0.5 kg m² is accepted with a tolerance of 0.51 and not of 0.49."""
    phi = from_com(2.0, np.zeros(3), np.diag([1.0, 1.0, 2.5]))
    assert violations(phi, tolerance=0.51) == ()
    assert is_physical(phi, 0.51)
    assert len(violations(phi, tolerance=0.49)) == 1
    assert not is_physical(phi, 0.49)


def test_tiny_inertia_is_seen_about_the_centre_of_mass() -> None:
    """An inertia of -1e-20 kg m² is rounding far from the origin, but a violation in a file."""
    inertia = np.diag([-1.4e-20, 0.0, 1.4e-20])
    assert violations(from_com(0.27, [0.1, 0.0, 0.0], inertia)) == ()
    (found,) = violations_about_com(0.27, inertia, "ankle")
    assert found.rule == "inertia_positive_definite"
    assert found.amount == pytest.approx(1.4e-20)


def test_mass_too_small_for_a_centre_is_not_physical() -> None:
    """A centre of mass that overflows is reported as a violation, without an exception."""
    phi = np.array([1e-310, 1.0, 0, 0, 1, 0, 1, 0, 0, 1])
    assert [v.rule for v in violations(phi)] == ["not_finite"]
    assert not is_physical(phi)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.floats(-10, 10, width=32), min_size=10, max_size=10))
def test_verdict_words_and_margin_agree(values: list[float]) -> None:
    """is_physical, violations and the eigenvalues of the pseudo-inertia agree."""
    phi = np.array(values, dtype=float)
    physical = bool(is_physical(phi))
    assert physical == (violations(phi) == ())
    # Near the boundary the two differ by rounding, and a tiny mass has its centre far away.
    if phi[0] == 0.0 or abs(phi[0]) > 1e-2:
        if margin(phi) > 1e-7:
            assert physical
        if margin(phi) < -1e-7:
            assert not physical


def test_margin_matches_pinocchio_and_marks_nan() -> None:
    """margin is the smallest eigenvalue of Pinocchio's pseudo-inertia; NaN stays NaN."""
    pin = pytest.importorskip("pinocchio")
    bodies = random_bodies(20)[:50]
    for phi, value in zip(bodies, margin(bodies), strict=True):
        J = pin.PseudoInertia.FromDynamicParameters(phi).toMatrix()
        assert value == pytest.approx(np.linalg.eigvalsh(J)[0], abs=1e-13 * np.abs(J).max())
    bodies[3, 5] = np.nan
    assert np.flatnonzero(np.isnan(margin(bodies))).tolist() == [3]


def test_verdict_agrees_with_idyntree() -> None:
    """iDynTree finds the same bodies physically consistent, inside and outside the set."""
    idyntree = pytest.importorskip("idyntree.bindings")
    rng = np.random.default_rng(21)
    verdicts = []
    for _ in range(N_BODIES):
        mass, com = rng.uniform(-0.5, 2), rng.normal(size=3)
        R = random_poses(int(rng.integers(1 << 30)), 1)[0, :3, :3]
        inertia = R @ np.diag(rng.uniform(-0.2, 1, 3)) @ R.T
        phi = from_com(mass, com, inertia)
        theirs = idyntree.SpatialInertia()
        vector = idyntree.Vector10()
        for i, value in enumerate(phi[[0, 1, 2, 3, 4, 5, 7, 6, 8, 9]]):
            vector.setVal(i, float(value))
        theirs.fromVector(vector)
        assert bool(is_physical(phi)) == theirs.isPhysicallyConsistent()
        verdicts.append(bool(is_physical(phi)))
    assert 40 < sum(verdicts) < N_BODIES - 40


def test_a_solid_box_is_inside_the_set() -> None:
    """A textbook box, far from the origin, is strictly physical and keeps its moments."""
    phi = transform(from_com(3.0, np.zeros(3), box(3.0, 0.1, 0.2, 0.4)), random_poses(22, 1)[0])
    assert violations(phi) == ()
    assert margin(phi) > 0
    moments = np.linalg.eigvalsh(to_com(phi)[2])
    assert np.allclose(moments, [0.0125, 0.0425, 0.05], rtol=1e-12)


def test_wrong_shapes_are_refused() -> None:
    """Nine parameters, or a batch where one body is wanted, are refused with the shape."""
    with pytest.raises(ModelError, match=r"\(3, 9\).*Ixx, Ixy, Iyy"):
        pseudo_inertia(np.zeros((3, 9)))
    with pytest.raises(ModelError, match=r"\(3, 3\); a pose is"):
        transform(np.zeros(10), np.eye(3))
    with pytest.raises(ModelError, match=r"one body.*\(2, 10\)"):
        violations(np.zeros((2, 10)))
