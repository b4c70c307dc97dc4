"""``diff``: words, exit codes and JSON."""

from __future__ import annotations

import json

import pytest
from small_arm import URDF, write_arm

from steelyard.cli import main

HAND = """
  <link name="hand"><inertial><origin xyz="0 0 0.05"/><mass value="0.5"/>
    <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/></inertial></link>
  <joint name="mount" type="fixed"><parent link="fore"/><child link="hand"/>
    <origin xyz="0.2 0 0"/></joint></robot>"""
WITH_HAND = URDF.replace("</robot>", HAND)


def run(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    capsys.readouterr()
    code = main([str(part) for part in argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_equal_files(capsys, tmp_path):
    """Written otherwise but equal in meaning: one line, code 0."""
    first = write_arm(tmp_path)
    other = URDF.replace('value="2.5"', 'value="2.50"').replace("<link", "\n<!-- a link --><link")
    second = write_arm(tmp_path, other, "other.urdf")
    code, out, err = run(capsys, "diff", first, second)
    assert (code, err) == (0, "")
    assert "no difference in 3 links and 2 joints" in out
    code, out, _ = run(capsys, "diff", first, second, "--json")
    assert code == 0
    assert json.loads(out)["equal"] is True


def test_what_changed_is_told_with_meaning(capsys, tmp_path):
    """Mass, centre of mass, friction: one line for each link and joint; code 1.

    The forearm's axes are turned by 4 degrees about x, across its heaviest axis, nearly y.
    """
    first = write_arm(tmp_path)
    k = URDF.index('<link name="fore"')
    fore = (
        URDF[k:]
        .replace('"0.1 0.02 0.03"/>', '"0.1 0.02 0.042" rpy="0.06981317 0 0"/>', 1)
        .replace('value="1.5"', 'value="1.21"')
    )
    text = URDF[:k] + fore.replace('effort="50"/>', 'effort="50"/><dynamics friction="0.7"/>', 1)
    second = write_arm(tmp_path, text, "other.urdf")
    code, out, err = run(capsys, "diff", first, second)
    assert (code, err) == (1, "")
    assert "1 of 3 links and 1 of 2 joints that both have differ" in out
    assert "link 'fore': mass 1.50 -> 1.21 kg, centre of mass moved 12 mm (x 0, y 0, z 12)" in out
    assert "heaviest axis turned 4.0 deg" in out
    assert "joint 'shoulder': friction 0 -> 0.700 N m" in out
    assert "all links together, the base included: mass 4.00 -> 3.71 kg" in out
    code, out, _ = run(capsys, "diff", first, second, "--json")
    document = json.loads(out)
    assert code == 1
    assert document["equal"] is False
    (link,) = document["links"]
    assert link["com_distance_mm"] == pytest.approx(12.0)
    assert link["heaviest_axis_deg"] == pytest.approx(4.0, abs=0.03)
    assert link["before"]["mass"] == 1.5
    (joint,) = document["joints"]
    assert joint["changes"] == [{"what": "friction", "before": 0.0, "after": 0.7, "unit": "N m"}]
    assert run(capsys, "diff", first, second, "--digits", "1")[0] == 1


def test_mass_lumped_into_the_moving_link_leaves_the_body(capsys, tmp_path):
    """A hand emptied into the forearm: both links differ, the body is unchanged.

    Fore: 1.5 kg at (0.1, 0.02, 0.03); hand: 0.5 kg at (0.2, 0, 0.05). Together 2 kg at
    (0.125, 0.015, 0.035), and moments about it by the parallel-axis theorem.
    """
    first = write_arm(tmp_path, WITH_HAND)
    k = WITH_HAND.index('<link name="fore"')
    fore = (
        WITH_HAND[k:]
        .replace('"0.1 0.02 0.03"', '"0.125 0.015 0.035"', 1)
        .replace('value="1.5"', 'value="2.0"')
        .replace(
            'ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0" izz="0.025"',
            'ixx="0.0213" ixy="0.00175" ixz="-0.00075" iyy="0.0349" iyz="0.00015" izz="0.0299"',
            1,
        )
        .replace('value="0.5"', 'value="0"')
        .replace('ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"',
                 'ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"')
    )  # fmt: skip
    second = write_arm(tmp_path, WITH_HAND[:k] + fore, "lumped.urdf")
    code, out, _ = run(capsys, "diff", first, second)
    assert code == 1
    assert "link 'fore': mass 1.50 -> 2.00 kg" in out
    assert "link 'hand': inertial vanishes, mass was 0.5 kg" in out
    assert "body 'fore' (fore + hand): unchanged" in out
    assert "all links together" not in out
    document = json.loads(run(capsys, "diff", first, second, "--json")[1])
    assert [body["equal"] for body in document["bodies"]] == [True]


def test_angles_are_compared_as_written(capsys, tmp_path):
    """1.5708 in place of pi/2, which other commands turn onto the right angle, is a difference."""
    paths = [
        write_arm(tmp_path, URDF.replace('0.3 0 0"/><axis', f'{roll} 0 0"/><axis'), name)
        for roll, name in (("1.5707963267948966", "exact.urdf"), ("1.5708", "rounded.urdf"))
    ]
    code, out, _ = run(capsys, "diff", *paths)
    assert code == 1
    assert out.count("origin turned 0.00021 deg") == 2


def test_other_robots_are_called_so(capsys, tmp_path):
    """Links of other names: listed, with a hint."""
    first = write_arm(tmp_path)
    text = URDF.replace('"fore"', '"lower"').replace('"upper"', '"arm"')
    second = write_arm(tmp_path, text, "other.urdf")
    code, out, _ = run(capsys, "diff", first, second)
    assert code == 1
    assert "links only in a: 'upper', 'fore'" in out
    assert "these are different robots, or their links were renamed" in out


def test_urdf_against_mjcf(capsys, tmp_path):
    """Files of both formats are compared; MuJoCo's conversion keeps the bodies."""
    mujoco = pytest.importorskip("mujoco")
    first, second = write_arm(tmp_path), tmp_path / "arm.xml"
    mujoco.mj_saveLastXML(str(second), mujoco.MjModel.from_xml_string(URDF))
    text = second.read_text().replace('<joint name="elbow"', '<joint name="elbow" armature="0.2"')
    second.write_text(text)
    code, out, _ = run(capsys, "diff", first, second, "--digits", "4")
    assert code == 1
    assert "0 of 2 links and 2 of 2 joints that both have differ" in out
    assert "armature none -> 0.2 kg m²" in out


def test_bad_input(capsys, tmp_path):
    """A missing file, no robot and impossible digits: one line and code 2, also as JSON."""
    first, broken = write_arm(tmp_path), write_arm(tmp_path, "<robot", "broken.urdf")
    for argv in (
        ("diff", first, tmp_path / "missing.urdf"),
        ("diff", broken, first),
        ("diff", first, first, "--digits", "0"),
        ("diff", first, first, "--digits", "many"),
        ("diff", first),
    ):
        code, _, err = run(capsys, *argv)
        assert code == 2
        assert err.startswith("steelyard: error: ")
        assert err.count("\n") == 1
        code, out, _ = run(capsys, *argv, "--json")
        assert code == 2
        assert json.loads(out)["error"]
