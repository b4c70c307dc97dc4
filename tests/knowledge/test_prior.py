"""Priors: every source, what is refused, and a repair that knows no frame."""

from __future__ import annotations

import json

import numpy as np
import pytest
from reframed import with_other_frames
from robot_files import dataset
from seeds import every
from small_arm import write_arm

from steelyard._files.json_data import RESULT_SCHEMA
from steelyard.errors import PriorError, RobotError, SteelyardError
from steelyard.estimators.estimator import DEFAULT_METHOD
from steelyard.estimators.registry import estimator_named
from steelyard.identification._arguments import prior_for_method
from steelyard.knowledge.prior import (
    body_spacing,
    checked_prior,
    floor_moments,
    prior_from_file,
    prior_from_geometry,
    prior_from_mass,
    prior_from_robot,
    prior_from_values,
    second_moment,
    strictly_physical,
)
from steelyard.model.model import Model
from steelyard.robot.inertia import from_com, is_physical, to_com, transform
from steelyard.robot.robot import Robot
from steelyard.testing.random_robots import random_body, random_pose, random_robot

NAMES = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
FLAT_PLATE = from_com(2.0, [0.1, 0.2, 0.0], np.diag([0.01, 0.02, 0.03]))
ROD = from_com(1.0, [0.0, 0.0, 0.3], np.diag([0.03, 0.03, 0.0]))
POINT_MASS = from_com(1.5, [0.1, -0.2, 0.05], np.zeros((3, 3)))
TRIANGLE = from_com(2.0, [0.1, 0.0, 0.0], np.diag([0.01, 0.01, 0.05]))
NEGATIVE_MOMENT = from_com(2.0, [0.0, 0.0, 0.1], np.diag([-0.01, 0.02, 0.02]))
BROKEN = {
    "a flat plate": FLAT_PLATE,
    "a rod": ROD,
    "a point mass": POINT_MASS,
    "a broken triangle inequality": TRIANGLE,
    "a negative moment": NEGATIVE_MOMENT,
}


@pytest.fixture
def model(tmp_path):
    """The small arm."""
    return Model(Robot.from_urdf(write_arm(tmp_path)))


def table(model, **changes):
    """Values by name of all bodies as the file states them, with changes by link."""
    theta = model.prior_theta()
    for body, first in zip(model.mechanism.bodies, model.first_column_of_body, strict=True):
        if body.name in changes:
            theta[first : first + 10] = changes[body.name]
    values = zip(model.column_names, theta, strict=True)
    return {name: float(x) for name, x in values if name.split(".")[0] in ("upper", "fore")}


def test_the_robot_file_as_a_prior(model):
    """Its inertials, every body trusted alike, nothing to say."""
    prior = prior_from_robot(model)
    assert np.array_equal(prior.theta, model.prior_theta())
    assert prior.trust.tolist() == [1.0, 1.0]
    assert prior.findings == ()
    assert prior.source == "the robot file"


def test_a_table_as_a_prior(model):
    """The same numbers; a body that it leaves out is open, and terms may be given."""
    whole = prior_from_values(model, table(model))
    assert np.array_equal(whole.theta, prior_from_robot(model).theta)
    some = {k: v for k, v in table(model).items() if k.startswith("fore")}
    part = prior_from_values(model, {**some, "elbow.fv": 0.3})
    assert part.trust.tolist() == [0.0, 1.0]
    assert part.theta[model.column_names.index("elbow.fv")] == 0.3
    assert [finding.code for finding in part.findings] == ["no-prior"]
    assert "upper" in part.findings[0].words


@pytest.mark.parametrize("form", ["csv", "csv with header", "json"])
def test_a_file_as_a_prior(model, tmp_path, form):
    """Lines, a table with other columns, or an object."""
    values = table(model)
    path = tmp_path / "prior.txt"
    if form == "json":
        path.write_text(json.dumps(values), encoding="utf-8")
    elif form == "csv":
        lines = [f"{name},{value!r}" for name, value in values.items()]
        path.write_text("\n".join(lines), encoding="utf-8")
    else:
        lines = [f"kg,{value!r},{name}" for name, value in values.items()]
        path.write_text("\n".join(["unit,value,name", *lines]), encoding="utf-8-sig")
    assert np.array_equal(prior_from_file(model, path).theta, model.prior_theta())


def test_a_result_as_a_prior(model, tmp_path):
    """Its standard parameters; a result without any is refused with the reason."""
    entries = [{"name": name, "value": value} for name, value in table(model).items()]
    path = tmp_path / "result.json"
    path.write_text(
        json.dumps({"schema": RESULT_SCHEMA, "standard": {"parameters": entries}}), encoding="utf-8"
    )
    assert np.array_equal(prior_from_file(model, path).theta, model.prior_theta())
    path.write_text(json.dumps({"schema": RESULT_SCHEMA, "standard": None}), encoding="utf-8")
    with pytest.raises(PriorError, match="without standard parameters"):
        prior_from_file(model, path)


def test_a_part_of_a_body_is_refused(model):
    """Nine parameters are not a body; the tenth is named."""
    values = table(model)
    del values["fore.Ixz"]
    with pytest.raises(PriorError, match=r"'fore' 9 of its ten parameters; fore\.Ixz"):
        prior_from_values(model, values)


def test_wrong_names_are_refused_with_the_right_one(model):
    """A slip of the keyboard, a column of no body, and the source is named."""
    with pytest.raises(PriorError, match=r"the drawing: .*fore\.Ixz") as refusal:
        prior_from_values(model, {**table(model), "fore.Ixzz": 1.0}, source="the drawing")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("name", ["nobody.cx", "fore.colour", "cx"])
def test_only_derived_values_of_bodies_are_skipped_in_a_file(model, tmp_path, name):
    """Centres of mass that identify writes beside the parameters are; a name that only looks like
    one is refused.
    """
    path = tmp_path / "prior.json"
    path.write_text(json.dumps({**table(model), "fore.cx": 0.3, "fore.Ixx_com": 0.1}), "utf-8")
    assert np.array_equal(prior_from_file(model, path).theta, model.prior_theta())
    path.write_text(json.dumps({**table(model), name: 0.3}), "utf-8")
    with pytest.raises(PriorError, match=name):
        prior_from_file(model, path)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e200])
def test_numbers_that_are_none_are_named(model, value):
    """NaN, infinity, and what overflows."""
    with pytest.raises(PriorError, match=r"fore\.Ixx"):
        prior_from_values(model, {**table(model), "fore.Ixx": value})


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00\xff\xfe\x81" * 100,
        b"[" * 100_000,
        b'{"a": ' * 50_000,
        b'{"fore.m": 1e999}',
        b'{"fore.m": ' + b"9" * 6000 + b"}",
        b'{"fore.m": [1, 2]}',
        b'{"fore.m": true}',
        b'{"fore.m": null}',
        b"[1, 2, 3]",
        b"fore.m",
        b"fore.m,one",
        b"fore.m,1\nfore.m,2",
        b"name,mass\nfore.m,1",
        b'{"schema": "steelyard/result/1"}',
        b"\x1b[31mfore.m\x1b[0m,1",
        "łøñg ☃,1".encode(),
    ],
)
def test_strangers_files_get_one_clear_line(model, tmp_path, content):
    """Whatever a file holds, one PriorError without control characters."""
    path = tmp_path / "prior.csv"
    path.write_bytes(content)
    with pytest.raises(PriorError) as refusal:
        prior_from_file(model, path)
    words = str(refusal.value)
    assert words.isprintable()
    assert len(words) < 2000


def test_a_file_that_is_not_there(model, tmp_path):
    """Its name is in the message."""
    with pytest.raises(PriorError, match=r"missing\.csv"):
        prior_from_file(model, tmp_path / "missing.csv")


@pytest.mark.parametrize("words", BROKEN)
def test_a_prior_that_is_not_physical_is_repaired_or_refused(model, words):
    """By default repaired, with the body, what is wrong and by how much it moved."""
    values = table(model, fore=BROKEN[words])
    with pytest.raises(PriorError, match=r"'fore'.*repair 'floor-moments'") as refusal:
        prior_from_values(model, values, repair="none")
    assert "'upper'" not in str(refusal.value)
    prior = prior_from_values(model, values)
    (finding,) = prior.findings
    assert (finding.level, finding.code) == ("warning", "prior-repaired")
    assert "'fore'" in finding.words
    first = model.first_column_of_body[1]
    inertias = [to_com(phi)[2] for phi in (BROKEN[words], prior.theta[first : first + 10])]
    moved = np.linalg.norm(inertias[1] - inertias[0])
    assert f"its inertia was moved by {moved:.3g} kg m²" in finding.words
    assert strictly_physical(prior.theta[first : first + 10], 0.3)
    # what was right stays to the last bit
    assert np.array_equal(prior.theta[:10], model.prior_theta()[:10])
    assert prior.trust.tolist() == [1.0, 1.0]


def test_many_broken_bodies():
    """A refusal names four and counts the rest; a repair names each."""
    model = Model(random_robot(np.random.default_rng(0), 7, chain=True, fixed=0.0))
    theta = model.prior_theta()
    for first in model.first_column_of_body:
        theta[first : first + 10] = ROD
    with pytest.raises(PriorError, match="and 3 more"):
        checked_prior(model, theta, "a drawing", repair="none")
    (finding,) = checked_prior(model, theta, "a drawing", repair="floor-moments").findings
    assert all(f"'{body.name}'" in finding.words for body in model.mechanism.bodies)
    assert finding.words.count("its inertia was moved by") == 7


@pytest.mark.parametrize("mass", [-1.0, 0.0])
def test_a_body_without_mass_but_with_inertia_cannot_be_repaired(model, mass):
    """Nothing is kept of it, and that is said; without a repair it is refused."""
    phi = from_com(1.0, [0.1, 0.0, 0.0], np.diag([0.01, 0.01, 0.015]))
    phi[0] = mass
    values = table(model, fore=phi)
    with pytest.raises(PriorError, match="'fore'"):
        prior_from_values(model, values, repair="none")
    prior = prior_from_values(model, values)
    assert prior.trust.tolist() == [1.0, 0.0]
    assert "no prior is left for fore" in prior.findings[0].words
    first = model.first_column_of_body[1]
    assert not prior.theta[first : first + 10].any()


def test_a_massless_body_is_open(model):
    """Ten zeros: nothing is assumed of it."""
    prior = prior_from_values(model, table(model, fore=np.zeros(10)))
    assert prior.trust.tolist() == [1.0, 0.0]
    assert prior.findings[0].code == "no-prior"


def test_a_prior_of_another_size_is_refused(model):
    """One number for each column, no fewer."""
    with pytest.raises(PriorError, match=r"a drawing must give a number for each of 28 columns"):
        checked_prior(model, np.ones(27), "a drawing", repair="none")


def test_an_unknown_repair_is_refused(model):
    """With those that there are."""
    with pytest.raises(PriorError, match="floor-moments"):
        prior_from_robot(model, repair="polish")
    with pytest.raises(PriorError, match="none"):
        prior_from_robot(model, repair=None)


@pytest.mark.parametrize(
    ("folder", "file", "bodies"),
    [
        ("kinova_gen3_chiha", "gen3.urdf", 2),
        ("staubli_tx40_figaroh", "tx40_mdh_modified.urdf", 1),
    ],
)
def test_real_files_that_are_not_physical_are_accepted(folder, file, bodies):
    """Two robot files of recorded data serve as priors without options, with a warning."""
    model = Model(Robot.from_urdf(dataset(folder) / file))
    prior = prior_for_method(model, estimator_named(DEFAULT_METHOD), None, None)
    (finding,) = [f for f in prior.findings if f.code == "prior-repaired"]
    assert finding.words.count("its inertia was moved by") == bodies
    length = body_spacing(model, prior.theta)
    for first in model.first_column_of_body:
        assert strictly_physical(prior.theta[first : first + 10], length)
    with pytest.raises(PriorError, match="floor-moments"):
        prior_for_method(model, estimator_named(DEFAULT_METHOD), None, "none")


@pytest.mark.parametrize("words", BROKEN)
def test_the_repair_knows_no_frame(words):
    """Moved and repaired is repaired and moved; mass and centre of mass stay."""
    phi = BROKEN[words]
    fixed = floor_moments(phi, 0.3)
    assert np.allclose(to_com(fixed)[0], to_com(phi)[0], rtol=1e-12)
    assert np.allclose(to_com(fixed)[1], to_com(phi)[1], atol=1e-12)
    assert is_physical(fixed)
    assert strictly_physical(fixed, 0.3)
    rng = np.random.default_rng(0)
    for _ in range(20):
        T = random_pose(rng)
        assert np.allclose(floor_moments(transform(phi, T), 0.3), transform(fixed, T), atol=1e-12)


def test_the_repair_raises_to_a_share_of_the_sum():
    """The flat direction of a plate gets 1 % of the sum of its second moments, no more."""
    fixed = second_moment(floor_moments(FLAT_PLATE, 0.3))
    before = second_moment(FLAT_PLATE)
    assert np.allclose(np.diag(before), [0.02, 0.01, 0.0], atol=1e-12)
    assert np.allclose(fixed, np.diag([0.02, 0.01, 0.0003]), atol=1e-12)


@every("seed", range(5))
def test_physical_bodies_are_left_alone(seed):
    """Bit for bit, even with the repair asked for."""
    model = Model(random_robot(np.random.default_rng(seed), 4))
    assert np.array_equal(
        prior_from_robot(model, repair="floor-moments").theta, model.prior_theta()
    )


@pytest.mark.parametrize("words", BROKEN)
def test_a_repaired_robot_is_the_same_in_any_frames(words):
    """The whole way: a robot with other link frames, its prior repaired, moved back."""
    rng = np.random.default_rng(3)
    robot = random_robot(rng, 4, chain=True, fixed=0.0)
    model = Model(robot)
    theta = model.prior_theta()
    first = model.first_column_of_body[1]
    theta[first : first + 10] = BROKEN[words]
    fixed = checked_prior(model, theta, "a drawing", repair="floor-moments")
    assert fixed.findings
    for k in range(5):
        other, T_old_new = with_other_frames(robot, np.random.default_rng(k))
        there = Model(other)
        moved = np.zeros(len(theta))
        names = [body.name for body in there.mechanism.bodies]
        for name, first in zip(names, there.first_column_of_body, strict=True):
            own = slice(first, first + 10)
            moved[own] = transform(theta[own], np.linalg.inv(T_old_new[name]))
        again = checked_prior(there, moved, "a drawing", repair="floor-moments")
        for name, first in zip(names, there.first_column_of_body, strict=True):
            own = slice(first, first + 10)
            back = transform(again.theta[own], T_old_new[name])
            assert np.allclose(back, fixed.theta[own], rtol=1e-9, atol=1e-10)


GEOMETRY = """
<robot name="solids"><link name="ground"/>
  <link name="upper">
    <collision><origin xyz="0.1 0 0" rpy="0 1.5707963267948966 0"/>
      <geometry><cylinder radius="0.05" length="0.4"/></geometry></collision>
    <collision><origin xyz="0.3 0 0.1"/><geometry><sphere radius="0.1"/></geometry></collision>
  </link>
  <link name="fore">
    <collision><origin xyz="0 0.1 0" rpy="0 0 0.5"/>
      <geometry><box size="0.1 0.2 0.3"/></geometry></collision>
  </link>
  <link name="hand"><collision><geometry>{hand}</geometry></collision></link>
  <joint name="a" type="revolute"><parent link="ground"/><child link="upper"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="b" type="revolute"><parent link="upper"/><child link="fore"/><axis xyz="0 1 0"/>
    <origin xyz="0.4 0 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="c" type="{joint}"><parent link="fore"/><child link="hand"/><axis xyz="0 1 0"/>
    <origin xyz="0 0 0.3"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
</robot>"""


def solids(tmp_path, hand='<sphere radius="0.05"/>', joint="fixed"):
    """A model with primitive geometry."""
    path = tmp_path / "solids.urdf"
    path.write_text(GEOMETRY.format(hand=hand, joint=joint), encoding="utf-8")
    return Model(Robot.from_urdf(path))


def test_uniform_solids_by_hand(tmp_path):
    """A box with a ball fixed to it: volumes, centres and moments from the textbook."""
    model = solids(tmp_path)
    first = model.first_column_of_body[1]
    prior = prior_from_geometry(model, density=1000.0)
    mass, com, inertia = to_com(prior.theta[first : first + 10])
    box, ball = 6.0, 1000.0 * 4.0 / 3.0 * np.pi * 0.05**3
    assert mass == pytest.approx(box + ball)
    centre = (box * np.array([0.0, 0.1, 0.0]) + ball * np.array([0.0, 0.0, 0.3])) / (box + ball)
    assert np.allclose(com, centre)
    c, s = np.cos(0.5), np.sin(0.5)
    R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    own = box / 12.0 * np.diag([0.2**2 + 0.3**2, 0.1**2 + 0.3**2, 0.1**2 + 0.2**2])
    expected = R @ own @ R.T + 0.4 * ball * 0.05**2 * np.eye(3)
    for m, p in ((box, [0.0, 0.1, 0.0]), (ball, [0.0, 0.0, 0.3])):
        r = np.array(p) - centre
        expected += m * (r @ r * np.eye(3) - np.outer(r, r))
    assert np.allclose(inertia, expected)


def test_uniform_solids_are_mujocos(tmp_path):
    """A cylinder across and a sphere, against MuJoCo's inertia from geometry."""
    mujoco = pytest.importorskip("mujoco")
    prior = prior_from_geometry(solids(tmp_path), density=700.0)
    spec = """<mujoco><worldbody><body name="upper"><freejoint/>
        <geom type="cylinder" size="0.05 0.2" pos="0.1 0 0" euler="0 90 0" density="700"/>
        <geom type="sphere" size="0.1" pos="0.3 0 0.1" density="700"/>
        </body></worldbody></mujoco>"""
    theirs = mujoco.MjModel.from_xml_string(spec)
    mass, com, inertia = to_com(prior.theta[:10])
    assert mass == pytest.approx(theirs.body_mass[1])
    assert np.allclose(com, theirs.body_ipos[1])
    assert np.allclose(np.sort(np.linalg.eigvalsh(inertia)), np.sort(theirs.body_inertia[1]))


def test_a_total_mass_sets_the_density(tmp_path):
    """18 kg in all, shared by volume."""
    model = solids(tmp_path)
    by_mass = prior_from_geometry(model, total_mass=18.0)
    assert by_mass.theta[list(model.first_column_of_body)].sum() == pytest.approx(18.0)
    by_density = prior_from_geometry(model, density=1.0)
    ratio = by_mass.theta[0] / by_density.theta[0]
    assert np.allclose(by_mass.theta, ratio * by_density.theta)
    assert "18 kg" in by_mass.source


def test_a_mesh_leaves_its_body_open(tmp_path):
    """Meshes are never opened; the other bodies have their prior."""
    model = solids(tmp_path, '<mesh filename="hand.stl"/>', joint="revolute")
    prior = prior_from_geometry(model, density=1000.0)
    assert prior.trust.tolist() == [1.0, 1.0, 0.0]
    assert "hand" in prior.findings[0].words


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"density": 1.0, "total_mass": 1.0},
        {"density": 0.0},
        {"total_mass": -1.0},
        {"density": float("nan")},
        {"total_mass": float("inf")},
    ],
)
def test_geometry_needs_one_positive_number(tmp_path, given):
    """A density or a mass, not both, neither nonsense."""
    with pytest.raises(PriorError, match="density"):
        prior_from_geometry(solids(tmp_path), **given)


def test_geometry_needs_geometry(model, tmp_path):
    """A URDF without solids, a robot without a file, a solid of negative size."""
    with pytest.raises(PriorError, match=r"no body has boxes.*'upper' \(.*'fore' \("):
        prior_from_geometry(model, density=1.0)
    nowhere = Model(random_robot(np.random.default_rng(0), 2))
    with pytest.raises(PriorError, match="URDF file"):
        prior_from_geometry(nowhere, density=1.0)
    with pytest.raises((PriorError, RobotError), match="radius"):
        prior_from_geometry(solids(tmp_path, '<sphere radius="-1"/>'), density=1.0)


@every("seed", range(5))
def test_a_mass_alone_gives_solid_ellipsoids(seed):
    """From a joint to the next, a third as wide as long: m a²/5 along each half axis, the centre
    in the middle, masses in proportion to lengths.
    """
    model = Model(random_robot(np.random.default_rng(seed), 5, chain=True, fixed=0.0))
    prior = prior_from_mass(model, 18.0)
    tips = np.asarray(model.mechanism.rest_position)[1:]
    lengths, masses = [], []
    for first, tip in zip(model.first_column_of_body, tips, strict=False):
        mass, com, _ = to_com(prior.theta[first : first + 10])
        sigma = second_moment(prior.theta[first : first + 10])
        half = np.sqrt(5.0 * np.linalg.eigvalsh(sigma)[-1] / mass)
        assert np.allclose(np.linalg.eigvalsh(sigma)[:2], mass * (half / 3.0) ** 2 / 5.0)
        assert np.allclose(com, 0.5 * tip)
        if np.linalg.norm(tip) > 0.3:
            along = tip / np.linalg.norm(tip)
            assert 2.0 * half == pytest.approx(np.linalg.norm(tip), rel=1e-6)
            assert along @ sigma @ along == pytest.approx(mass * half**2 / 5.0)
        lengths.append(2.0 * half)
        masses.append(mass)
    assert np.allclose(np.array(masses) / masses[0], np.array(lengths) / lengths[0])


@every("seed", range(5))
def test_a_mass_alone(seed):
    """Bodies that are physical, weigh that much together, and the more the longer they are."""
    model = Model(random_robot(np.random.default_rng(seed), 5))
    prior = prior_from_mass(model, 18.0)
    masses = prior.theta[list(model.first_column_of_body)]
    assert masses.sum() == pytest.approx(18.0)
    assert (masses > 0.0).all()
    assert (prior.trust == 1.0).all()
    doubled = prior_from_mass(model, 36.0)
    assert np.allclose(doubled.theta, 2.0 * prior.theta)
    with pytest.raises(PriorError, match="positive"):
        prior_from_mass(model, 0.0)


@every("seed", range(20))
def test_random_damage_is_refused_or_repaired(seed):
    """Whatever ten numbers a body has: an error of ours, or a strictly physical body."""
    rng = np.random.default_rng(seed)
    model = Model(random_robot(rng, 2, chain=True, fixed=0.0))
    theta = model.prior_theta()
    damage = 10.0 ** rng.uniform(-12, 12) * rng.normal(size=10)
    theta[:10] = damage if seed % 2 else random_body(rng) + 0.3 * rng.normal(size=10)
    try:
        prior = checked_prior(model, theta, "damage", repair="floor-moments")
    except SteelyardError:
        return
    if prior.trust[0]:
        assert np.linalg.eigvalsh(second_moment(prior.theta[:10]))[0] > 0.0
        assert prior.theta[0] == pytest.approx(theta[0])


def test_the_gen3_of_the_recordings():
    """Two bodies of its published URDF are not physical; both are named and repaired."""
    model = Model(Robot.from_urdf(dataset("kinova_gen3_chiha") / "gen3.urdf"))
    with pytest.raises(PriorError) as refusal:
        prior_from_robot(model, repair="none")
    for name in ("shoulder_link", "spherical_wrist_1_link"):
        assert name in str(refusal.value)
    prior = prior_from_robot(model)
    changed = np.any(prior.theta != model.prior_theta())
    assert changed
    assert np.allclose(
        prior.theta[list(model.first_column_of_body)],
        model.prior_theta()[list(model.first_column_of_body)],
    )
