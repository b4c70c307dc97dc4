"""Constraints in the overlay, and boxes from collision geometry."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest
from project import DOCS
from robot_files import example_urdfs
from seeds import every

from steelyard import Model, Robot
from steelyard.errors import OverlayError, RobotError
from steelyard.knowledge._collision_boxes import boxes_from_collision
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
from steelyard.knowledge.overlay import _constraint_tables
from steelyard.knowledge.overlay.constraints import constraints_from_overlay
from steelyard.knowledge.overlay.toml_file import parse_overlay
from steelyard.robot.rotations import rotation_rpy


def test_the_documented_example_is_read_key_by_key():
    """The example in the documentation says what it seems to say."""
    text = _constraint_tables.__doc__.split("\n\n", 1)[1]
    overlay = parse_overlay(textwrap.dedent(text))
    assert overlay.com_boxes == "collision"
    assert overlay.constraints == Constraints(
        consistency="full",
        margin=0.0,
        second_moment=1e4,
        nonnegative_terms=True,
        total_mass=(20.0, 27.0),
        massless=("tool_frame",),
        equal=(("left_thigh", "right_thigh"),),
        known_links=("camera",),
        mass={"forearm": (1.0, 2.5)},
        mass_sums=(MassSum(("upper_arm", "forearm"), (4.0, 6.0)),),
        com={"forearm": Box((-0.1, -0.1, 0.0), (0.1, 0.1, 0.4))},
        inside={"forearm": Ellipsoid((0, 0, 0.2), (0.2, 0.2, 0.3))},
        symmetric={"forearm": SymmetryPlane("y"), "upper_arm": SymmetryPlane("x", 0.1)},
        mirrored=(Mirrored("left_foot", "right_foot", "y"),),
        fixed={"elbow.fo": 0.0},
        bounds={"elbow.fv": (0.1, 5.0), "coulomb": (0.0, 20.0)},
        known_part={"wrist": (0.5, 0, 0, 0.05, 0.006, 0, 0.006, 0, 0, 0.001)},
        second_moments={"base": 2e4},
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "com.a = { cylinder = { start = [0, 0, 0], end = [0, 0, 0.4], radius = 0.1 } }",
            {"com": {"a": Cylinder((0, 0, 0), (0, 0, 0.4), 0.1)}},
        ),
        (
            "com.a = { ellipsoid = { centre = [0, 0, 0.2], radii = [0.1, 0.1, 0.2] } }",
            {"com": {"a": Ellipsoid((0, 0, 0.2), (0.1, 0.1, 0.2))}},
        ),
        (
            "com.a.hull = [[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.4]]",
            {"com": {"a": Hull(((0, 0, 0), (0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.4)))}},
        ),
        (
            "inside.a.box = { lower = [0, 0, 0], upper = [1, 1, 1] }",
            {"inside": {"a": Box((0, 0, 0), (1, 1, 1))}},
        ),
        ("second_moment = inf", {"second_moment": None}),
        ("total_mass = [-inf, 3]", {"total_mass": (None, 3.0)}),
        ("mass.a = [3, inf]", {"mass": {"a": (3.0, None)}}),
        ("mass.a = [3, 2]", {"mass": {"a": (3.0, 2.0)}}),
        ("nonnegative_terms = false", {"nonnegative_terms": False}),
        ("fixed = { 'a.m' = 1, b.c.m = 2 }", {"fixed": {"a.m": 1.0, "b.c.m": 2.0}}),
        ("", {}),
    ],
)
def test_keys(text, expected):
    """Every other form of a key says the same as the constraints in Python."""
    assert parse_overlay("[constraints]\n" + text).constraints == Constraints(**expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mas = 1", "key constraints.mas is not known (did you mean 'mass'?); the keys of constra"),
        ("consistency = 'fulll'", "constraints.consistency is 'fulll' (did you mean 'full'?)"),
        ("consistency = 4", "key constraints.consistency is a number; it must be one of full, so"),
        ("margin = -1", "key constraints: margin is -1; it must not be negative"),
        ("margin = 'x'", "key constraints.margin is text; it must be a number"),
        ("second_moment = -1", "second_moment is -1; it must be positive"),
        ("nonnegative_terms = 1", "key constraints.nonnegative_terms is a number; it must be true"),
        ("total_mass = 3", "key constraints.total_mass is a number; it must be an array of a low"),
        ("total_mass = [3]", "key constraints.total_mass is an array of 1; it must be [lower, up"),
        ("total_mass = [nan, 3]", "key constraints.total_mass[0] is not finite"),
        ("total_mass = [inf, 3]", "key constraints.total_mass[0] is not finite"),
        ("mass = [1, 2]", "key constraints.mass is an array; it must be a table"),
        ("mass.a = ['1', 2]", "key constraints.mass.a[0] is text"),
        ("mass.'a b' = [true, 2]", "key constraints.mass.'a b'[0] is true or false"),
        ("massless = 'a'", "key constraints.massless is text; it must be an array of names"),
        ("massless = [1]", "key constraints.massless[0] must be text"),
        ("equal = ['a']", "key constraints.equal[0] is text; it must be an array of names"),
        ("equal = [['a']]", "equal has the group a; name two or more bodies"),
        ("com_boxes = 'visual'", "key constraints.com_boxes is 'visual'; it must be one of coll"),
        ("com_boxes = true", "key constraints.com_boxes is true or false; it must be one of coll"),
        ("[constraints.mass_sum]\nx = 1", "write each one as [[constraints.mass_sum]]"),
        ("[[constraints.mass_sum]]\nbodies = ['a']", "constraints.mass_sum[0] has no range; it"),
        ("[[constraints.mass_sum]]\nbody = ['a']", "key constraints.mass_sum[0].body is not known"),
        ("mass_sum = [{bodies = [], range = [1, 2]}]", "a mass sum names no body"),
        ("com.a = {}", "key constraints.com.a has 0 regions; it must have one: box, cylinder"),
        ("com.a = {bax = 1}", "key constraints.com.a.bax is not known (did you mean 'box'?)"),
        ("com.a.box = 1", "key constraints.com.a.box is a number; it must be a table"),
        ("com.a.box = {lower = [0,0,0]}", "constraints.com.a.box has no upper; it needs lower"),
        ("com.a.box = {lower = [0,0], upper = [1,1,1]}", "com.a.box.lower is an array of 2; it mu"),
        ("com.a.box = {lower = [2,0,0], upper = [1,1,1]}", "key constraints.com.a: a box has its"),
        ("com.a.cylinder = {start=[0,0,0], end=[0,0,1], radius=-1}", "cylinder has the radius -1"),
        ("com.a.hull = [[0,0,0]]", "key constraints.com.a: a hull needs at least 4 points, not 1"),
        ("com.a.hull = [[0,0]]", "key constraints.com.a.hull[0] is an array of 2"),
        ("inside.a.hull = []", "key constraints.inside.a.hull is not known"),
        ("inside.a.ellipsoid = {centre=[0,0,0], radii=[0,1,1]}", "has the radii 0, 1, 1 m"),
        ("symmetric.a = 'w'", "key constraints.symmetric.a is 'w'; it must be one of x, y, z"),
        ("symmetric.a = {offset = 1}", "constraints.symmetric.a has no axis"),
        ("symmetric.a = {axis = 'x', offset = inf}", "constraints.symmetric.a.offset is not fini"),
        ("mirrored = [{bodies = ['a'], axis = 'x'}]", "mirrored[0].bodies names 1; it must name"),
        ("mirrored = [{bodies = ['a', 'a'], axis = 'x'}]", "'a' cannot mirror itself"),
        ("fixed.elbow.fo = 'x'", "key constraints.fixed.elbow.fo is text; it must be a number"),
        ('fixed."a\\nb" = "x"', "key constraints.fixed.'a\\nb' is text"),
        ("bounds.elbow.fo = 3", "key constraints.bounds.elbow.fo is a number; it must be an arr"),
        ("known_part.a = [1, 2]", "key constraints.known_part.a is an array of 2; it must be one"),
        ("second_moments.a = 0", "second_moments of 'a' is 0; it must be positive"),
    ],
)
def test_bad_constraints(text, expected):
    """What does not fit is refused in one line with its key."""
    text = text if text.startswith("[") else "[constraints]\n" + text
    with pytest.raises(OverlayError) as caught:
        parse_overlay(text)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_constraints_that_are_no_table():
    """The whole part must be a table."""
    with pytest.raises(OverlayError, match="key constraints is a number; it must be a table"):
        parse_overlay("constraints = 1")


BODY = (
    '<inertial><mass value="1"/>'
    '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
)


def urdf(path, **links):
    """A chain of hinged links with these contents; names with an underscore are merged."""
    text = ['<robot name="r"><link name="base"/>']
    last = "base"
    for name, content in links.items():
        kind = "fixed" if "_" in name else "continuous"
        text.append(f'<link name="{name}">{content}</link>')
        text.append(
            f'<joint name="j_{name}" type="{kind}"><parent link="{last}"/><child link="{name}"/>'
            '<origin xyz="0 0 1" rpy="0 0 1.5707963267948966"/></joint>'
        )
        last = last if "_" in name else name
    path.write_text("".join(text) + "</robot>")
    return path


def collision(shape, xyz="0 0 0", rpy="0 0 0"):
    """A collision element."""
    return f'<collision><origin xyz="{xyz}" rpy="{rpy}"/><geometry>{shape}</geometry></collision>'


@every("seed", range(5))
def test_boxes_hold_the_primitives_and_touch_them(tmp_path, seed):
    """The box around turned primitives is the box around points on their surfaces."""
    rng = np.random.default_rng(seed)
    text, points = "", []
    for kind in ("box", "cylinder", "sphere"):
        xyz, rpy = rng.normal(size=3), rng.uniform(-3, 3, size=3)
        angle = np.linspace(0, 2 * np.pi, 721)
        if kind == "box":
            size = rng.uniform(0.1, 2, size=3)
            shape = f'<box size="{size[0]} {size[1]} {size[2]}"/>'
            local = 0.5 * size * np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).T.reshape(-1, 3)
        elif kind == "cylinder":
            radius, length = rng.uniform(0.1, 2, size=2)
            shape = f'<cylinder radius="{radius}" length="{length}"/>'
            ring = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
            local = np.vstack(
                [np.column_stack([ring, np.full(721, z)]) for z in (-0.5 * length, 0.5 * length)]
            )
        else:
            radius = rng.uniform(0.1, 2)
            shape = f'<sphere radius="{radius}"/>'
            local = radius * np.vstack([np.eye(3), -np.eye(3)]) @ rotation_rpy(*rpy)
        numbers = [" ".join(map(repr, map(float, v))) for v in (xyz, rpy)]
        text += collision(shape, *numbers)
        points.append(local @ rotation_rpy(*rpy).T + xyz)
    box = boxes_from_collision(urdf(tmp_path / "r.urdf", a=text)).boxes["a"]
    points = np.vstack(points)
    assert np.allclose(box.lower, points.min(axis=0), atol=1e-4)
    assert np.allclose(box.upper, points.max(axis=0), atol=1e-4)


def test_meshes_are_not_opened_and_are_reported(tmp_path):
    """A link with a mesh, or with nothing, has no box, and the answer says why."""
    path = urdf(
        tmp_path / "r.urdf",
        a=collision('<mesh filename="file:///nowhere.stl"/>') + collision('<sphere radius="1"/>'),
        b=collision('<sphere radius="1"/>'),
        c="",
        d="<collision/>",
    )
    found = boxes_from_collision(path)
    assert dict(found.boxes) == {"b": Box((-1, -1, -1), (1, 1, 1))}
    assert found.skipped["a"] == "its <collision> in line 1 is a mesh"
    assert found.skipped["c"] == found.skipped["base"] == "it has no <collision>"
    assert found.skipped["d"] == "its <collision> in line 1 has no geometry"


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ('<sphere radius="nan"/>', "link 'a': radius is 'nan'; it must be a finite number"),
        ('<sphere radius="-1"/>', "link 'a': the radius of its <sphere> in line 1 is -1; it must"),
        ('<box size="1 -2 3"/>', "link 'a': the size of its <box> in line 1 is -2; it must not"),
        ('<box size="1 2"/>', "link 'a': box size is '1 2'; it must be 3 numbers"),
        ('<cylinder radius="1"/>', "link 'a': <cylinder> in line 1 has no 'length'"),
    ],
)
def test_bad_geometry(tmp_path, shape, expected):
    """Numbers of primitives are checked, and the message says whose they are."""
    with pytest.raises(RobotError) as caught:
        boxes_from_collision(urdf(tmp_path / "r.urdf", a=collision(shape)))
    assert expected in str(caught.value)
    (tmp_path / "m.xml").write_text("<mujoco/>")
    with pytest.raises(RobotError, match="collision geometry is read from URDF files only"):
        boxes_from_collision(tmp_path / "m.xml")


def test_boxes_of_merged_bodies(tmp_path):
    """A body's box is around those of its links; a merged link with mass needs one."""
    path = urdf(
        tmp_path / "r.urdf",
        a=BODY + collision('<box size="2 4 6"/>'),
        a_tool=BODY + collision('<box size="1 0.5 0.5"/>', xyz="5 0 0"),
        a_frame="",
        b=BODY + collision('<sphere radius="1"/>'),
        b_tool=BODY,
        c=BODY + collision('<sphere radius="1"/>'),
        d=BODY + collision('<mesh filename="x.stl"/>'),
    )
    model = Model(Robot.from_urdf(path))
    overlay = parse_overlay(
        "[constraints]\ncom_boxes = 'collision'\n"
        "com.c.box = { lower = [0, 0, 0], upper = [1, 1, 1] }\nmass.a = [1, 2]"
    )
    constraints, notes = constraints_from_overlay(model, overlay)
    assert constraints.mass == {"a": (1.0, 2.0)}
    assert set(constraints.com) == {"a", "c"}
    # the tool stands 1 m up and is turned by a right angle: its x axis is the body's y axis
    assert np.allclose(constraints.com["a"].lower, (-1, -2, -3))
    assert np.allclose(constraints.com["a"].upper, (1, 5.5, 3))
    assert constraints.com["c"] == Box((0, 0, 0), (1, 1, 1))
    assert notes == (
        "there is no box for the centre of mass of 'b': link 'b_tool': it has no <collision>",
        "there is no box for the centre of mass of 'd': link 'd': its <collision> in line 1 is a "
        "mesh",
    )
    names = [block.words for block in blocks(model, constraints)]
    assert "the centre of mass of 'a' is in its box along x" in names


def test_without_constraints_and_without_a_file():
    """No overlay means the default constraints; boxes need a file."""
    model = Model(Robot.from_dh([{}, {"a": 1.0}], convention="modified"))
    assert constraints_from_overlay(model, None) == (Constraints(), ())
    assert constraints_from_overlay(model, parse_overlay("")) == (Constraints(), ())
    with pytest.raises(OverlayError, match="needs a robot that was read from a URDF file"):
        constraints_from_overlay(model, parse_overlay("constraints.com_boxes = 'collision'"))


def test_boxes_of_real_robots():
    """Boxes of published files hold the centres of mass that they state, nearly always."""
    inside = total = 0
    for path in example_urdfs():
        try:
            robot = Robot.from_urdf(path)
        except RobotError:
            continue
        inertials = {link.name: link.inertial for link in robot.links}
        for name, box in boxes_from_collision(path).boxes.items():
            phi = inertials.get(name)
            if phi is not None and phi[0] > 0:
                total += 1
                com = phi[1:4] / phi[0]
                slack = 0.02
                inside += bool(
                    np.all(com >= np.array(box.lower) - slack)
                    and np.all(com <= np.array(box.upper) + slack)
                )
    assert total > 20
    assert inside >= 0.8 * total


def test_the_page_says_the_same_twice():
    """The Python and the TOML on the documentation page are the same constraints."""
    page = (DOCS / "constraints.md").read_text(encoding="utf-8")
    python = page.split("```python\n")[1].split("```")[0]
    toml = page.split("```toml\n")[1].split("```")[0]
    said: dict = {}
    exec(python, said)
    assert parse_overlay(toml).constraints == said["constraints"]
    keys = [key for key in _constraint_tables._READERS if f"`{key}" not in page]
    assert [key for key in keys if f"constraints.{key}" not in page] == []
