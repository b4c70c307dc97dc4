"""Tests of the maps between our ten parameters and those of other programs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from steelyard.errors import ModelError
from steelyard.robot.conventions import (
    IDYNTREE_ORDER,
    SOUSA_ORDER,
    DrakeInertia,
    MjcfFullInertial,
    MjcfInertial,
    UrdfInertial,
    figaroh_names,
    from_drake,
    from_figaroh,
    from_idyntree,
    from_mjcf,
    from_mjcf_full,
    from_mujoco_sysid,
    from_mujoco_sysid_pi,
    from_pinocchio,
    from_sousa,
    from_urdf,
    from_vech,
    quaternion_from_rotation,
    rotation_from_quaternion,
    rotation_from_rpy,
    to_drake,
    to_figaroh,
    to_idyntree,
    to_mjcf,
    to_mjcf_full,
    to_mujoco_sysid,
    to_mujoco_sysid_pi,
    to_pinocchio,
    to_sousa,
    to_urdf,
    to_vech,
)
from steelyard.robot.inertia import PARAMETERS, from_com, inertia_origin, to_com

Array = NDArray[np.float64]
N_BODIES = 300
NAMED = np.array(PARAMETERS)


def random_bodies(seed: int) -> Array:
    """Bodies (300, 10) of six point masses, from the integrals themselves."""
    rng = np.random.default_rng(seed)
    m = 10.0 ** rng.uniform(-2, 2, (N_BODIES, 1)) * rng.uniform(0.1, 1, (N_BODIES, 6))
    size = 10.0 ** rng.uniform(-1.5, 0, (N_BODIES, 1, 1))
    r = size * (rng.normal(size=(N_BODIES, 6, 3)) + rng.uniform(-3, 3, (N_BODIES, 1, 3)))
    x, y, z = np.moveaxis(r, -1, 0)
    f = [x**0, x, y, z, y**2 + z**2, -x * y, x**2 + z**2, -x * z, -y * z, x**2 + y**2]
    return np.stack([(m * g).sum(axis=-1) for g in f], axis=-1)


def same(a: Array, b: Array, tolerance: float = 1e-12) -> bool:
    """Whether bodies agree relative to their own mass, first moment and inertia."""
    for part in (slice(0, 1), slice(1, 4), slice(4, 10)):
        size = np.abs(b[..., part]).max(axis=-1, keepdims=True)
        if not (np.abs(a - b)[..., part] <= tolerance * size).all():
            return False
    return True


def text(values: Array) -> str:
    """Numbers as an XML attribute, with every digit."""
    return " ".join(repr(float(value)) for value in np.atleast_1d(values))


def test_every_map_has_its_inverse() -> None:
    """Conversion to another convention and back keeps the body, for hundreds of bodies at once."""
    bodies = random_bodies(0)
    angles = np.random.default_rng(1).uniform(-4, 4, (N_BODIES, 3))
    assert np.array_equal(from_pinocchio(to_pinocchio(bodies)), bodies)
    assert np.array_equal(from_sousa(to_sousa(bodies)), bodies)
    assert np.array_equal(from_idyntree(to_idyntree(bodies)), bodies)
    assert np.array_equal(from_mujoco_sysid_pi(to_mujoco_sysid_pi(bodies)), bodies)
    assert all(np.array_equal(from_figaroh(to_figaroh(b, "j"), "j"), b) for b in bodies)
    assert same(from_mujoco_sysid(to_mujoco_sysid(bodies)), bodies, 1e-9)
    assert same(from_urdf(to_urdf(bodies)), bodies)
    assert same(from_urdf(to_urdf(bodies, angles)), bodies)
    assert same(from_mjcf(to_mjcf(bodies)), bodies)
    assert same(from_mjcf_full(to_mjcf_full(bodies)), bodies)
    assert same(from_drake(to_drake(bodies)), bodies)


def test_every_map_takes_any_leading_axes() -> None:
    """A body alone, a row and a grid of bodies give the same numbers."""
    grid = random_bodies(2)[:6].reshape(2, 3, 10)
    for there, back in (
        (to_sousa, from_sousa), (to_idyntree, from_idyntree), (to_urdf, from_urdf),
        (to_mjcf, from_mjcf), (to_mjcf_full, from_mjcf_full), (to_drake, from_drake),
        (to_mujoco_sysid, from_mujoco_sysid), (to_mujoco_sysid_pi, from_mujoco_sysid_pi),
    ):  # fmt: skip
        whole = back(there(grid))
        assert whole.shape == grid.shape
        assert np.allclose(back(there(grid[1, 2])), whole[1, 2], rtol=1e-13, atol=1e-16)


def test_massless_links_stay_zero() -> None:
    """A massless body stays ten zeros in every convention that can represent it."""
    nothing = np.zeros(10)
    for body in (
        from_urdf(to_urdf(nothing)), from_mjcf(to_mjcf(nothing)), from_drake(to_drake(nothing)),
        from_mjcf_full(to_mjcf_full(nothing)), from_sousa(to_sousa(nothing)),
    ):  # fmt: skip
        assert np.array_equal(body, nothing)


def test_pinocchio_has_our_order() -> None:
    """Pinocchio's dynamic parameters of a body are ours, built from mass, lever and inertia."""
    pin = pytest.importorskip("pinocchio")
    for phi in random_bodies(3):
        mass, com, inertia_com = to_com(phi)
        theirs = pin.Inertia(float(mass), com, inertia_com).toDynamicParameters()
        assert same(from_pinocchio(theirs), phi)
        assert same(pin.Inertia.FromDynamicParameters(to_pinocchio(phi)).toDynamicParameters(), phi)


def test_urdf_agrees_with_the_reader_of_pinocchio(tmp_path: Path) -> None:
    """A URDF with our numbers, turned inertial frame included, reads back as the body."""
    pin = pytest.importorskip("pinocchio")
    angles = np.random.default_rng(4).uniform(-3, 3, (40, 3))
    for phi, rpy in zip(random_bodies(5), angles, strict=False):
        urdf = to_urdf(phi, rpy)
        tensor = " ".join(
            f'{key}="{float(value)!r}"'
            for key, value in zip(
                ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), urdf.inertia, strict=True
            )
        )
        path = tmp_path / "robot.urdf"
        path.write_text(
            '<robot name="r"><link name="base"/><link name="arm"><inertial>'
            f'<origin xyz="{text(urdf.xyz)}" rpy="{text(urdf.rpy)}"/>'
            f'<mass value="{text(urdf.mass)}"/><inertia {tensor}/></inertial></link>'
            '<joint name="j" type="revolute"><parent link="base"/><child link="arm"/>'
            '<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
            "</robot>"
        )
        theirs = pin.buildModelFromUrdf(str(path)).inertias[1].toDynamicParameters()
        assert same(theirs, phi, 1e-10)


def test_urdf_frame_turns_the_tensor() -> None:
    """A quarter turn about z swaps ixx with iyy and flips ixy, by hand."""
    inertia = np.array([1.0, 0.1, 0.2, 2.0, 0.3, 2.5])
    stated = UrdfInertial(np.array(2.0), np.zeros(3), np.array([0.0, 0.0, np.pi / 2]), inertia)
    turned = to_urdf(from_urdf(stated)).inertia
    assert np.allclose(turned, [2.0, -0.1, -0.3, 1.0, 0.2, 2.5], atol=1e-15)


@pytest.mark.parametrize("form", ["diaginertia", "fullinertia"])
def test_mjcf_agrees_with_the_compiler_of_mujoco(form: str) -> None:
    """MJCF with our numbers compiles to the body, in either form of the inertia."""
    mujoco = pytest.importorskip("mujoco")
    for phi in random_bodies(6)[:60]:
        principal, full = to_mjcf(phi), to_mjcf_full(phi)
        attributes = (
            f'quat="{text(principal.quat)}" diaginertia="{text(principal.diaginertia)}"'
            if form == "diaginertia"
            else f'fullinertia="{text(full.fullinertia)}"'
        )
        model = mujoco.MjModel.from_xml_string(
            f'<mujoco><worldbody><body><joint/><inertial pos="{text(full.pos)}" '
            f'mass="{text(full.mass)}" {attributes}/></body></worldbody></mujoco>'
        )
        compiled = MjcfInertial(
            model.body_mass[1], model.body_ipos[1], model.body_iquat[1], model.body_inertia[1]
        )
        # MuJoCo's own diagonalisation of fullinertia is good to about 1e-9.
        assert same(from_mjcf(compiled), phi, 1e-7)
        assert np.allclose(
            principal.diaginertia, np.sort(model.body_inertia[1])[::-1], rtol=1e-6, atol=1e-12
        )


def test_mjcf_full_order_by_hand() -> None:
    """fullinertia is xx yy zz xy xz yz about the centre of mass, with unscaled quaternions."""
    com = np.array([0.1, 0.2, 0.3])
    body = from_mjcf_full(MjcfFullInertial(np.array(2.0), com, np.array([4, 5, 6, 0.1, 0.2, 0.3])))
    tensor = np.array([[4, 0.1, 0.2], [0.1, 5, 0.3], [0.2, 0.3, 6]])
    assert same(body, from_com(2.0, com, tensor))
    turned = MjcfInertial(np.array(2.0), com, np.array([2.0, 0, 0, 2.0]), np.array([4.0, 5.0, 6.0]))
    assert same(from_mjcf(turned), from_com(2.0, com, np.diag([5.0, 4.0, 6.0])))


def test_mujoco_sysid_theta_by_its_definition() -> None:
    """theta = (alpha, d, s12, s23, s13, t) builds U entry by entry, and J = U Uᵀ is the body."""
    for theta in np.random.default_rng(7).normal(size=(100, 10)):
        alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3 = theta
        U = np.exp(alpha) * np.array(
            [
                [np.exp(d1), s12, s13, t1],
                [0, np.exp(d2), s23, t2],
                [0, 0, np.exp(d3), t3],
                [0, 0, 0, 1],
            ]
        )
        J = U @ U.T
        phi = from_mujoco_sysid(theta)
        assert phi[0] == pytest.approx(J[3, 3])
        assert np.allclose(phi[1:4], J[:3, 3], rtol=1e-13, atol=1e-14 * J[3, 3])
        assert np.allclose(
            inertia_origin(phi), np.trace(J[:3, :3]) * np.eye(3) - J[:3, :3], rtol=1e-12
        )


def test_mujoco_sysid_agrees_with_the_toolbox() -> None:
    """mujoco.sysid's own theta, pi and pseudo-inertia of a MuJoCo body are ours."""
    sysid = pytest.importorskip("mujoco.sysid")
    modifier = getattr(sysid, "model_modifier", None)
    if modifier is None:
        pytest.skip("mujoco.sysid is there without the libraries of mujoco[sysid]")
    mujoco = pytest.importorskip("mujoco")
    for phi in random_bodies(8)[:40]:
        full = to_mjcf_full(phi)
        xml = (
            f'<mujoco><worldbody><body name="b"><joint/><inertial pos="{text(full.pos)}" '
            f'mass="{text(full.mass)}" fullinertia="{text(full.fullinertia)}"/></body>'
            "</worldbody></mujoco>"
        )
        pi = modifier.pi_from_body(mujoco.MjSpec.from_string(xml), "b")
        assert same(from_mujoco_sysid_pi(pi), phi, 1e-7)
        theta = modifier.theta_inertia_from_body(mujoco.MjSpec.from_string(xml), "b")
        assert same(from_mujoco_sysid(theta), phi, 1e-7)
        assert same(from_mujoco_sysid_pi(modifier.pi_from_theta(to_mujoco_sysid(phi))), phi, 1e-9)


def test_idyntree_agrees_with_the_library() -> None:
    """iDynTree's asVector and fromVector use our iDynTree order, about the origin."""
    idyntree = pytest.importorskip("idyntree.bindings")
    for phi in random_bodies(9)[:100]:
        vector = idyntree.Vector10()
        for i, value in enumerate(to_idyntree(phi)):
            vector.setVal(i, float(value))
        theirs = idyntree.SpatialInertia()
        theirs.fromVector(vector)
        mass, com, _ = to_com(phi)
        assert theirs.getMass() == pytest.approx(float(mass), rel=1e-14)
        assert np.allclose(theirs.getCenterOfMass().toNumPy(), com, rtol=1e-12)
        tensor = theirs.getRotationalInertiaWrtFrameOrigin().toNumPy()
        assert np.allclose(tensor, inertia_origin(phi), rtol=1e-12, atol=1e-12 * tensor.max())
        assert same(from_idyntree(theirs.asVector().toNumPy()), phi)


def test_drake_by_its_definition() -> None:
    """Unit inertia is the inertia about the origin divided by mass: xx yy zz xy xz yz."""
    bodies = random_bodies(10)
    drake = to_drake(bodies)
    mass, com, inertia_com = to_com(bodies)
    square = (com**2).sum(axis=-1)
    for column, (i, j) in enumerate([(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]):
        shift = square * (i == j) - com[:, i] * com[:, j]
        expected = inertia_com[:, i, j] / mass + shift
        assert np.allclose(drake.unit_inertia[:, column], expected, rtol=1e-9, atol=1e-12)
    assert np.array_equal(drake.mass, mass)
    assert np.allclose(drake.com, com, rtol=1e-15)


def test_drake_agrees_with_the_library() -> None:
    """A pydrake SpatialInertia from DrakeInertia has the body's central inertia, and is valid."""
    tree = pytest.importorskip("pydrake.multibody.tree")
    for phi in random_bodies(11)[:100]:
        ours = to_drake(phi)
        spatial = tree.SpatialInertia(
            float(ours.mass), ours.com, tree.UnitInertia(*ours.unit_inertia)
        )
        assert spatial.IsPhysicallyValid()
        _, com, inertia_com = to_com(phi)
        about_com = spatial.Shift(com).CalcRotationalInertia().CopyToFullMatrix3()
        assert np.allclose(about_com, inertia_com, rtol=0, atol=1e-11 * inertia_origin(phi).max())
        unit = spatial.get_unit_inertia()
        theirs = DrakeInertia(
            np.array(spatial.get_mass()),
            spatial.get_com(),
            np.concatenate([unit.get_moments(), unit.get_products()]),
        )
        assert same(from_drake(theirs), phi)


def test_drake_refuses_inertia_without_mass() -> None:
    """A massless body with inertia has no unit inertia: refused, not made NaN."""
    bodies = random_bodies(12)[:3]
    bodies[1, 0] = 0.0
    with pytest.raises(ModelError, match="1 of 3 bodies have zero mass"):
        to_drake(bodies)


def test_sousa_order_by_name() -> None:
    """Eq 13 of Sousa and Cortesão: L, then l, then m."""
    assert " ".join(NAMED[list(SOUSA_ORDER)]) == "Ixx Ixy Ixz Iyy Iyz Izz mx my mz m"
    assert to_sousa(np.arange(10.0)).tolist() == [4, 5, 7, 6, 8, 9, 1, 2, 3, 0]
    assert from_sousa(np.arange(10.0)).tolist() == [9, 6, 7, 8, 0, 1, 3, 2, 4, 5]


def test_idyntree_order_is_mass_moment_vech() -> None:
    """Eq 3 of Traversaro et al.: m, m c, vech(I_B), the same as iDynTree's vector."""
    assert " ".join(NAMED[list(IDYNTREE_ORDER)]) == "m mx my mz Ixx Ixy Ixz Iyy Iyz Izz"
    for phi in random_bodies(13)[:20]:
        expected = np.concatenate([phi[:4], to_vech(inertia_origin(phi))])
        assert np.array_equal(to_idyntree(phi), expected)


def test_vech_by_hand() -> None:
    """vech reads the upper triangle by rows, and converts back to a symmetric matrix."""
    matrix = np.array([[1.0, 2, 3], [2, 4, 5], [3, 5, 6]])
    assert to_vech(matrix).tolist() == [1, 2, 3, 4, 5, 6]
    assert np.array_equal(from_vech([1, 2, 3, 4, 5, 6]), matrix)


def test_figaroh_names_a_body_by_its_joint() -> None:
    """FIGAROH's keys are parameter_joint in our order; a missing one is named."""
    assert figaroh_names("elbow")[5:8] == ("Ixy_elbow", "Iyy_elbow", "Ixz_elbow")
    parameters = to_figaroh(np.arange(10.0), "elbow")
    assert parameters["m_elbow"] == 0.0
    assert parameters["Iyy_elbow"] == 6.0
    del parameters["Ixz_elbow"]
    with pytest.raises(ModelError, match=r"'elbow' lack Ixz_elbow; there are m_elbow"):
        from_figaroh(parameters, "elbow")


def test_figaroh_agrees_with_the_library() -> None:
    """FIGAROH's standard parameters of a Pinocchio model are the bodies of that model."""
    parameter = pytest.importorskip("figaroh.identification.parameter")
    pin = pytest.importorskip("pinocchio")
    model = pin.buildSampleModelManipulator()
    bodies = random_bodies(14)
    for i in range(1, model.njoints):
        model.inertias[i] = pin.Inertia.FromDynamicParameters(bodies[i])
    theirs = parameter.get_standard_parameters(model, {})
    assert list(theirs) == [key for name in model.names[1:] for key in figaroh_names(name)]
    for i, name in enumerate(list(model.names)[1:], start=1):
        assert same(from_figaroh(theirs, name), bodies[i])
    reordered = parameter.reorder_inertial_parameters(np.arange(10.0))
    assert reordered == to_sousa(np.arange(10.0)).tolist()


def test_rotations_agree_with_scipy() -> None:
    """rpy and w x y z quaternions are those of SciPy's Rotation, half turns included."""
    Rotation = pytest.importorskip("scipy.spatial.transform").Rotation
    rng = np.random.default_rng(15)
    angles = rng.uniform(-4, 4, (200, 3))
    R = Rotation.from_euler("xyz", angles).as_matrix()
    assert np.allclose(rotation_from_rpy(angles), R, atol=1e-14)
    quat = rng.normal(size=(200, 4))
    quat[:4] = [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0]]
    quat[4:8] = quat[:4] + 1e-9 * rng.normal(size=(4, 4))
    R = Rotation.from_quat(quat[:, [1, 2, 3, 0]]).as_matrix()
    assert np.allclose(rotation_from_quaternion(quat), R, atol=1e-14)
    again = quaternion_from_rotation(R)
    assert (again[:, 0] >= 0).all()
    assert np.allclose(rotation_from_quaternion(again), R, atol=1e-14)


def test_nonsense_is_refused() -> None:
    """A zero quaternion, five inertia numbers and a ten-entry pi are refused."""
    with pytest.raises(ModelError, match="quaternion"):
        rotation_from_quaternion(np.zeros(4))
    with pytest.raises(ModelError, match=r"six numbers.*\(5,\)"):
        from_vech(np.zeros(5))
    with pytest.raises(ModelError, match=r"13 entries.*\(10,\)"):
        from_mujoco_sysid_pi(np.zeros(10))
