"""The URDF writer changes only the numbers of inertials, and they are physical as written."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from xml.etree import ElementTree
from xml.parsers import expat

import numpy as np
import pytest
from exact_links import exact_violators
from robot_files import example_urdfs, readable_urdfs
from small_arm import URDF, write_arm

from steelyard.errors import ModelError, RobotError
from steelyard.export._digits import file_decimal, kept_or_decimal, physical_texts
from steelyard.export._xml_source import SetAttribute, apply_edits, read_document
from steelyard.export.physical import NearestUrdf, nearest_urdf, unphysical_links
from steelyard.export.urdf import WrittenBody, rewrite_inertials, write_inertials
from steelyard.model.right_angles import with_right_angles
from steelyard.robot.formats.urdf_digits import exactly_physical
from steelyard.robot.inertia import from_com, is_physical, to_com, transform
from steelyard.robot.parts import TurnedJoint
from steelyard.robot.physical_links import check_links
from steelyard.robot.robot import Robot

BODY = from_com(2.0, [0.1, -0.2, 0.3], [[0.3, 0.01, 0.02], [0.01, 0.4, -0.03], [0.02, -0.03, 0.5]])


def inertial_spans(data: bytes) -> dict[str, tuple[int, int]]:
    """Byte range of the first <inertial> of every link, from expat's positions."""
    spans: dict[str, tuple[int, int]] = {}
    path: list[str] = []
    link, start = "", 0

    def begin(tag: str, attributes: dict[str, str]) -> None:
        nonlocal link, start
        if path == ["robot"] and tag == "link":
            link = attributes["name"]
        if path == ["robot", "link"] and tag == "inertial":
            start = parser.CurrentByteIndex
        path.append(tag)

    def end(tag: str) -> None:
        path.pop()
        if path == ["robot", "link"] and tag == "inertial":
            spans.setdefault(link, (start, parser.CurrentByteIndex))

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = begin, end
    parser.Parse(data, True)
    return spans


def outside(data: bytes, links: set[str]) -> list[bytes]:
    """The pieces of a file between the inertials of these links."""
    pieces, at = [], 0
    for start, end in sorted(span for name, span in inertial_spans(data).items() if name in links):
        pieces.append(data[at:start])
        at = end
    return [*pieces, data[at:]]


@cache
def fixed(path: Path) -> NearestUrdf:
    """The repaired file, computed once for all tests."""
    return nearest_urdf(path)


def inertial_of(data: bytes, link: str = "upper") -> np.ndarray:
    found = Robot.from_urdf_text(data).link(link).inertial
    assert found is not None
    return found


# --- the nearest physical file ----------------------------------------------------------------


def test_real_files_are_fixed_and_the_rest_stays():
    """Every broken file of example-robot-data becomes physical, the rest of it byte for byte.

    Unphysical links without a mass are refused by name and stay unchanged, as do physical files.
    """
    n_fixed = 0
    for path in readable_urdfs():
        data = path.read_bytes()
        bad = exact_violators(data)
        nearest = fixed(path)
        refused = set(nearest.refused)
        assert {repair.link for repair in nearest.repairs} == bad - refused
        assert exact_violators(nearest.data) == refused
        assert outside(nearest.data, bad - refused) == outside(data, bad - refused)
        if not bad - refused:
            assert nearest.data == data
        verdicts = check_links(Robot.from_urdf_text(nearest.data, mimics=False))
        assert {v.link for v in verdicts if v.violations} == refused
        before = {v.link: v.mass for v in check_links(Robot.from_urdf_text(data, mimics=False))}
        assert {v.link: v.mass for v in verdicts} == before
        for repair in nearest.repairs:
            assert {change.what.split()[0] for change in repair.changes} == {"inertia"}
            assert 0.0 < repair.relative <= 1.0 + 1e-5
        n_fixed += len(nearest.repairs)
    assert n_fixed >= 50


def test_pinocchio_accepts_what_was_fixed(tmp_path):
    """Pinocchio reads each fixed file, and its inertias about the centre of mass are physical."""
    pin = pytest.importorskip("pinocchio")
    for path in readable_urdfs():
        nearest = fixed(path)
        if not nearest.repairs:
            continue
        out = tmp_path / "fixed.urdf"
        out.write_bytes(nearest.data)
        model, before = pin.buildModelFromUrdf(str(out)), pin.buildModelFromUrdf(str(path))
        assert model.nv == before.nv
        for new, old in zip(model.inertias, before.inertias, strict=True):
            assert new.mass == old.mass
            assert is_physical(np.asarray(new.toDynamicParameters()))


def test_mujoco_accepts_what_was_fixed():
    """MuJoCo, which refuses a broken triangle inequality, compiles the fixed files.

    Meshes are left out, and balanceinertia is off, since MuJoCo would hide the fault with it.
    """
    mujoco = pytest.importorskip("mujoco")
    n_cured = 0
    for path in readable_urdfs():
        nearest = fixed(path)
        if not nearest.repairs:
            continue
        before, after = (compiles(mujoco, x) for x in (path.read_bytes(), nearest.data))
        assert "A + B >= C" not in after
        if after:
            # a moving link without an inertial; or, in iCub, one whose stated inertia is rounding
            # noise, below MuJoCo's smallest inertia
            (name,) = re.findall(r"Element name '(.*?)'", after)
            repaired = name in {repair.link for repair in nearest.repairs}
            assert not repaired or np.abs(inertia_com(path, name)).max() < 1e-15
        n_cured += bool(before) and not after
    assert n_cured >= 12


def inertia_com(path: Path, link: str) -> np.ndarray:
    """The inertia about the centre of mass that a file states for a link."""
    found = Robot.from_urdf_text(path.read_bytes(), mimics=False).link(link).inertia_com
    assert found is not None
    return found


def compiles(mujoco, data: bytes) -> str:
    """MuJoCo's complaint about a URDF without its shapes, empty if there is none."""
    root = ElementTree.fromstring(data)
    for link in root.findall("link"):
        for tag in ("visual", "collision"):
            for element in link.findall(tag):
                link.remove(element)
    options = ElementTree.SubElement(ElementTree.SubElement(root, "mujoco"), "compiler")
    options.attrib.update(fusestatic="false", strippath="false", balanceinertia="false")
    try:
        mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))
    except ValueError as error:
        return str(error)
    return ""


def test_links_unphysical_in_the_last_digit_change_by_rounding_only():
    """A plate that is unphysical in its 17th digit is changed there only, not to the floor."""
    plate = 'ixx="0.1" ixy="0" ixz="0" iyy="0.7" iyz="0" izz="0.80000000000000016"'
    data = re.sub(r'ixx="[^/]*', plate, URDF, count=1).encode()
    assert unphysical_links(data) == ("upper",)
    assert not any(v.violations for v in check_links(Robot.from_urdf_text(data)))
    nearest = nearest_urdf(data)
    (repair,) = nearest.repairs
    assert repair.violations == ()
    assert repair.distance < 1e-15
    assert unphysical_links(nearest.data) == ()
    assert nearest.data == data.replace(b"0.80000000000000016", b"0.8")


def test_a_number_too_small_for_any_float_is_refused():
    """1e-999999999 would take forever in exact arithmetic; it is refused, with its link."""
    data = URDF.replace('ixz="0"', 'ixz="-1e-999999999"', 1).encode()
    with pytest.raises(ModelError, match=r"link 'upper'.*'-1e-999999999', too small"):
        nearest_urdf(data)
    for zero in ("0e999999999", "-0.0e-99999999999999999999"):
        data = URDF.replace('ixz="0"', f'ixz="{zero}"', 1).encode()
        assert nearest_urdf(data).data == data


# --- what is kept -----------------------------------------------------------------------------


LAYOUTS = {
    "plain": lambda text: text.encode(),
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "byte order mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "single quotes": lambda text: text.replace('"', "'").encode(),
    "declaration": lambda text: b'<?xml version="1.0" encoding="utf-8"?>\n' + text.encode(),
    "Latin-1": lambda text: (
        '<?xml version="1.0" encoding="iso-8859-1"?><!-- Größe -->' + text
    ).encode("latin-1"),
    "UTF-8 everywhere": lambda text: text.replace("fore", "à la … 腕").encode(),
    "UTF-16 LE": lambda text: b"\xff\xfe" + text.encode("utf-16-le"),
    "UTF-16 BE": lambda text: b"\xfe\xff" + text.replace("fore", "\U0001f9be").encode("utf-16-be"),
    "comments": lambda text: text.replace(
        '<mass value="2.5"/>',
        "<!-- <mass value='9'/> <inertial> -- -->".replace("-- --", "--")
        + '<mass\n value="2.5" ></mass><?note <mass value="3"/> ?>',
    ).encode(),
    "attribute order": lambda text: text.replace(
        'ixx="0.02" ixy="0.001"', 'extra="a>b ixx=\'7\'" ixy =\t"0.001"\n  ixx= "0.02"'
    ).encode(),
    "CDATA": lambda text: text.replace("<inertial>", "<inertial><![CDATA[<mass/>]]>").encode(),
    "references": lambda text: (
        text.replace('value="2.5"', 'value="&#50;.5"')
        .replace('xyz="0.1 0.02 0.03"', 'xyz="0.&#49; 0.02 0.03"')
        .encode()
    ),
    "repeated": lambda text: text.replace(
        "</inertial></link>",
        '<mass value="77"/></inertial><inertial><mass value="8"/></inertial></link>',
    ).encode(),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_are_kept(layout):
    """In every layout the new body is written and the bytes around it stay."""
    data = LAYOUTS[layout](URDF)
    assert write_inertials(data, {}) == data
    unchanged = {name: inertial_of(data, name) for name in ("upper",)}
    assert write_inertials(data, unchanged) == data
    out = write_inertials(data, {"upper": BODY})
    assert out != data
    np.testing.assert_allclose(inertial_of(out), BODY, rtol=1e-11, atol=1e-13)
    assert outside(out, {"upper"}) == outside(data, {"upper"})
    numbers = re.compile(rb"[-+0-9.e\x00]+|&#\d+;")
    start, end = inertial_spans(data)["upper"]
    start_out, end_out = inertial_spans(out)["upper"]
    assert numbers.sub(b"", out[start_out:end_out]) == numbers.sub(b"", data[start:end])
    # and back again
    back = write_inertials(out, unchanged)
    np.testing.assert_allclose(inertial_of(back), inertial_of(data), rtol=1e-11, atol=1e-13)


def test_a_file_whose_elements_cannot_be_located_is_refused():
    """If the scanner and the parser find different elements, nothing is written."""
    text = '<?xml version="1.0" encoding="cp500"?>'
    data = text.encode("ascii") + URDF.encode("cp500")
    with pytest.raises(RobotError):
        write_inertials(data, {"upper": BODY})
    document = read_document(URDF.encode(), "URDF text")
    with pytest.raises(ValueError, match="plain attribute value"):
        apply_edits(document, [SetAttribute(document.root, "name", '"><joint/>')])


def test_numbers_that_mean_the_same_keep_their_text():
    """A mass written 2.50e0 and a centre 0.10 stay so when only the inertia changes."""
    data = URDF.replace('value="2.5"', 'value="2.50e0"').replace("0.1 0.02 0.03", "0.10  .02 3e-2")
    mass, com, inertia = to_com(inertial_of(data.encode()))
    out = rewrite_inertials(data.encode(), {"upper": from_com(mass, com, 2.0 * inertia)})
    assert {change.what for change in out.changes} == {
        f"inertia {entry}" for entry in ("ixx", "ixy", "iyy", "izz")
    }
    text = out.data.decode()
    assert 'value="2.50e0"' in text
    assert '"0.10  .02 3e-2"' in text
    assert 'ixx="0.04" ixy="0.002" ixz="0" iyy="0.06" iyz="0" izz="0.05"' in text


def test_only_some_numbers_of_a_triple_change_in_their_spacing():
    """If only y changes, the text of x and z and the spacing stay."""
    data = URDF.replace("0.1 0.02 0.03", " 0.10\t0.02   0.030 ", 1).encode()
    mass, com, inertia = to_com(inertial_of(data))
    out = write_inertials(
        data, {"upper": WrittenBody(float(mass), com + np.array([0.0, 0.5, 0.0]), inertia)}
    )
    assert out == data.replace(b"0.10\t0.02   0.030", b"0.10\t0.52   0.030", 1)


# --- frames, missing elements -----------------------------------------------------------------


def test_stated_axes_are_kept():
    """With rpy the inertia is written in the file's axes, and reads back in the link frame."""
    rng = np.random.default_rng(5)
    for _ in range(30):
        rpy = " ".join(f"{x:.6g}" for x in rng.uniform(-3, 3, 3))
        origin = f'<origin rpy="{rpy}" xyz="0.1 0.02 0.03"/>'
        data = URDF.replace('<origin xyz="0.1 0.02 0.03"/>', origin, 1).encode()
        assert write_inertials(data, {"upper": inertial_of(data)}) == data
        out = write_inertials(data, {"upper": BODY})
        assert f'rpy="{rpy}"'.encode() in out
        np.testing.assert_allclose(inertial_of(out), BODY, rtol=1e-10, atol=1e-12)


def test_right_angles_give_exact_zeros():
    """A diagonal inertia, rotated by a right angle, is written with exact zeros."""
    origin = '<origin xyz="0 0 0" rpy="1.5707963267948966 0 0"/>'
    data = URDF.replace('<origin xyz="0.1 0.02 0.03"/>', origin, 1).encode()
    out = write_inertials(data, {"upper": from_com(1.0, np.zeros(3), np.diag([0.1, 0.2, 0.25]))})
    assert b'ixx="0.1" ixy="0" ixz="0" iyy="0.25" iyz="0" izz="0.2"' in out


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_missing_origin_is_added_in_the_style_of_the_file(line_end):
    """An <origin> is added before the first child, indented like it, if the centre is not zero."""
    inertia = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
    text = (
        '<robot name="r">\n  <link name="a">\n    <inertial>\n      <mass value="1"/>\n'
        f"      {inertia}\n    </inertial>\n  </link>\n</robot>\n"
    ).replace("\n", line_end)
    centred = WrittenBody(1.0, [0, 0, 0], np.eye(3))
    assert write_inertials(text.encode(), {"a": centred}) == text.encode()
    out = write_inertials(text.encode(), {"a": WrittenBody(1.0, [0, 0.5, 0], np.eye(3))}).decode()
    origin = f'      <origin xyz="0 0.5 0" rpy="0 0 0"/>{line_end}'
    assert out == text.replace("      <mass", origin + "      <mass")


def test_a_missing_xyz_is_added():
    """An <origin> without xyz gets one, and keeps the rest."""
    data = URDF.replace('<origin xyz="0.1 0.02 0.03"/>', '<origin rpy="0 0 1"/>', 1).encode()
    out = write_inertials(data, {"upper": BODY})
    assert b'<origin xyz="0.1 -0.2 0.3" rpy="0 0 1"/>' in out
    np.testing.assert_allclose(inertial_of(out), BODY, rtol=1e-11)


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ('  <link name="a"/>\n', '  <link name="a">\n{}\n  </link>\n'),
        ('  <link name="a" />\n', '  <link name="a">\n{}\n  </link>\n'),
        ('  <link name="a"></link>\n', '  <link name="a">\n{}\n  </link>\n'),
        (
            '  <link name="a">\n    <visual/>\n  </link>\n',
            '  <link name="a">\n{}\n    <visual/>\n  </link>\n',
        ),
    ],
)
def test_a_missing_inertial_is_added_only_when_asked(link, expected):
    """A link without inertial is refused by name, or given one in the file's indentation."""
    text = f'<robot name="r">\n{link}</robot>\n'
    body = WrittenBody(1.0, [0.0, 0.0, 0.1], np.diag([0.1, 0.2, 0.25]))
    with pytest.raises(RobotError, match="link 'a' has no <inertial>"):
        write_inertials(text.encode(), {"a": body})
    assert write_inertials(text.encode(), {"a": np.zeros(10)}) == text.encode()
    out = write_inertials(text.encode(), {"a": body}, add_missing=True).decode()
    block = "\n".join(
        [
            "    <inertial>",
            '      <origin xyz="0 0 0.1" rpy="0 0 0"/>',
            '      <mass value="1"/>',
            '      <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.25"/>',
            "    </inertial>",
        ]
    )
    assert out == f'<robot name="r">\n{expected.format(block)}</robot>\n'


def test_a_missing_inertial_in_a_file_of_one_line():
    """Without line breaks there is no indentation to follow."""
    out = write_inertials(
        b'<robot name="r"><link name="a"/></robot>',
        {"a": WrittenBody(1.0, [0, 0, 0], np.zeros((3, 3)))},
        add_missing=True,
    )
    assert out.startswith(b'<robot name="r"><link name="a"><inertial><origin xyz="0 0 0"')
    assert b"\n" not in out


def test_massless_links_are_written_as_zeros():
    """Ten zeros make mass and inertia zero; the stated centre of mass stays."""
    out = write_inertials(URDF.encode(), {"upper": np.zeros(10)})
    assert not inertial_of(out).any()
    assert outside(out, {"upper"}) == outside(URDF.encode(), {"upper"})
    assert b'<origin xyz="0.1 0.02 0.03"/><mass value="0"/>' in out


def test_what_cannot_be_written_is_refused(tmp_path):
    """Unknown links, unphysical bodies and invalid files are refused by name."""
    path = write_arm(tmp_path)
    with pytest.raises(RobotError, match=r"no link 'uper' \(did you mean 'upper'\?\)"):
        write_inertials(path, {"uper": BODY})
    with pytest.raises(ModelError, match=r"link 'fore' breaks the triangle.*nearest_physical"):
        write_inertials(path, {"fore": WrittenBody(1.0, np.zeros(3), np.diag([1.0, 1.0, 3.0]))})
    with pytest.raises(ModelError, match="link 'fore' has negative mass"):
        write_inertials(path, {"fore": -BODY})
    with pytest.raises(ModelError, match="not finite"):
        write_inertials(path, {"fore": np.full(10, np.nan)})
    with pytest.raises(ModelError, match=r"\(3,\) and \(3, 3\)"):
        write_inertials(path, {"fore": WrittenBody(1.0, np.zeros(2), np.eye(3))})
    with pytest.raises(RobotError, match="does not exist"):
        write_inertials(tmp_path / "gone.urdf", {})
    with pytest.raises(RobotError, match="entities are refused"):
        write_inertials(b'<!DOCTYPE r [<!ENTITY a "1">]><robot name="r"/>', {})


# --- exact on the digits ----------------------------------------------------------------------


def boundary_bodies(rng: np.random.Generator, n: int) -> np.ndarray:
    """Bodies (n, 10) of one to four point masses: thin, flat, tiny, far away."""
    bodies = []
    for k in range(n):
        size, far = 10.0 ** rng.uniform(-6, 1), 10.0 ** rng.uniform(-3, 1)
        points = size * rng.normal(size=(1 + k % 4, 3)) + far * rng.normal(size=3)
        masses = 10.0 ** rng.uniform(-3, 2) * rng.dirichlet(np.ones(len(points)))
        bodies.append(sum(from_com(m, p, np.zeros((3, 3))) for m, p in zip(masses, points)))
    return np.array(bodies)


def test_bodies_on_the_boundary_are_physical_as_written():
    """Points, rods and plates, also far from the origin, are physical as written and close."""
    rng = np.random.default_rng(6)
    origin = '<origin xyz="0.1 0.02 0.03" rpy="0.3 -1.2 2"/>'
    data = URDF.replace('<origin xyz="0.1 0.02 0.03"/>', origin, 1).encode()
    for phi in boundary_bodies(rng, 300):
        out = rewrite_inertials(data, {"upper": phi})
        assert unphysical_links(out.data) == ()
        assert exact_violators(out.data) == set()
        back = inertial_of(out.data)
        assert back[0] == pytest.approx(phi[0], rel=1e-11)
        np.testing.assert_allclose(back[1:4], phi[1:4], atol=1e-11 * np.abs(phi[1:4]).max())
        np.testing.assert_allclose(back[4:], phi[4:], atol=2e-11 * np.abs(phi[4:]).max())
        assert out.moved["upper"] <= 1e-10 * np.abs(phi[4:]).max()


def test_pinocchio_reads_the_same_bodies():
    """A body written in the axes of the file is the same body to Pinocchio."""
    pin = pytest.importorskip("pinocchio")
    rng = np.random.default_rng(7)
    for _ in range(20):
        A = rng.normal(size=(3, 3))
        S = A @ A.T
        phi = from_com(rng.uniform(0.1, 9), rng.normal(size=3), np.trace(S) * np.eye(3) - S)
        phi = transform(phi, np.eye(4))
        origin = f'<origin xyz="1 2 3" rpy="{rng.uniform(-3, 3):.4g} 0.2 0.1"/>'
        data = URDF.replace('<origin xyz="0.1 0.02 0.03"/>', origin, 1).encode()
        model = pin.buildModelFromXML(write_inertials(data, {"upper": phi}).decode())
        theirs = np.asarray(model.inertias[1].toDynamicParameters())
        np.testing.assert_allclose(theirs, phi, rtol=1e-9, atol=1e-9)


def test_digits():
    """Texts are short, exactly physical, and refused if rounding does not explain the fault."""
    assert [file_decimal(x) for x in (0.1, -0.0, 1e-20, 1 / 3)] == [
        "0.1",
        "0",
        "1e-20",
        "0.333333333333",
    ]
    third = file_decimal(1 / 3)
    assert not exactly_physical("1", [third, "0", "0", third, "0", "0.666666666667"])
    written = physical_texts("1", np.diag([1 / 3, 1 / 3, 2 / 3]), None, 0.0, "plate")
    assert exactly_physical("1", written.texts)
    assert written.moved < 1e-15
    assert exactly_physical("0", 6 * ["0"])
    assert not exactly_physical("0", ["1e-9", "0", "0", "0", "0", "0"])
    assert not exactly_physical("-1", 6 * ["0"])
    with pytest.raises(ModelError, match=r"link 'plate'.*not physical"):
        physical_texts("1", np.diag([1.0, 1.0, 2.0 + 1e-6]), None, 0.0, "plate")
    with pytest.raises(ModelError, match=r"link 'plate'.*not physical"):
        physical_texts("-1", np.zeros((3, 3)), None, 0.0, "plate")


def test_rounding_noise_is_written_as_zero_except_on_the_diagonal():
    """A product of inertia of rounding errors is 0, in new texts and beside stated ones; the moment
    of a thin rod about its axis, which is as small, is a sum of squares and stays.
    """
    small = 3e-18
    rod = np.array([[1.0, small, 0.0], [small, 1.0, -small], [0.0, -small, 2.0 * small]])
    written = physical_texts("1", rod, None, 1e-16, "rod")
    assert written.texts == ("1", "0", "0", "1", "0", "6e-18")
    stated = ("1", "0.5", "0", "1", "0", "6e-18")
    written = physical_texts("1", rod, stated, 1e-16, "rod")
    assert written.texts == ("1", "0", "0", "1", "0", "6e-18")
    assert kept_or_decimal("0.5", small, 1e-16) == "0"
    assert kept_or_decimal("0.5", small) == "3e-18"


def test_turned_angles_are_written_and_listed():
    """With a turned robot, its angles are written with all digits, and nothing else changes."""
    (path,) = [path for path in example_urdfs() if path.stem == "xarm7"]
    robot = with_right_angles(Robot.from_urdf(path))
    assert robot.turned
    written = rewrite_inertials(path, {}, turned=robot.turned)
    again = Robot.from_urdf_text(written.data)
    for joint, wanted in zip(again.joints, robot.joints, strict=True):
        assert joint.placement.tobytes() == wanted.placement.tobytes()
    assert [change.joint for change in written.changes] == [t.joint for t in robot.turned]
    assert {(change.link, change.what) for change in written.changes} == {(None, "origin rpy")}
    old, new = path.read_text().splitlines(), written.data.decode().splitlines()
    differing = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
    assert len(differing) == len(robot.turned)
    for (a, b), change in zip(differing, written.changes, strict=True):
        assert a.replace(change.before, change.after) == b
        assert "1.5707963267948966" in change.after
    assert write_inertials(path, {}) == path.read_bytes()


def test_turned_angles_belong_to_their_file():
    """Angles that the file does not have are refused."""
    turned = [TurnedJoint("elbow", (1.5708, 0.0, 0.0), (np.pi / 2, 0.0, 0.0))]
    for name in ("elbow", "knee"):
        with pytest.raises(RobotError, match=rf"joint '{name}' does not have the angles 1.5708"):
            write_inertials(URDF.encode(), {}, turned=[replace(turned[0], joint=name)])
