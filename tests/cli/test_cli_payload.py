"""The command line of payloads: what is asked of the library, printed, written and refused."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from types import ModuleType

import jsonschema
import numpy as np
import pytest
from weighed_payload import opened, weighed, without_inertia

from steelyard.cli import main
from steelyard.findings import Finding
from steelyard.identification import payload_outputs
from steelyard.payload.payload_file import payload_document, read_payload, read_payload_schema

URDF = """<robot name="r"><link name="base"/><link name="flange"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="revolute"><parent link="base"/><child link="flange"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="9" velocity="9"/></joint></robot>"""
LOG = "time,j.position,j.torque\n0,0,0\n0.01,0,0\n0.02,0,0\n"


class Stand:
    """What the commands asked for, and what they get."""

    def __init__(self) -> None:
        self.estimate = weighed()
        self.robot, self.logs, self.frame, self.asked = None, [], None, {}

    def ft(self, robot, logs, frame, **asked):
        self.robot, self.logs, self.frame, self.asked = robot, list(logs), frame, asked
        return self.estimate

    def joints(self, robot, loaded, *, empty, frame, **asked):
        self.robot, self.logs, self.frame, self.asked = robot, list(loaded), frame, asked
        self.asked["empty"] = None if empty is None else [log.name for log in empty]
        return self.estimate


@pytest.fixture
def stand(monkeypatch, tmp_path) -> Stand:
    """The two functions replaced; a robot and logs in the working directory; no figures."""
    found = Stand()
    module = ModuleType("steelyard.identification.payload")
    module.weigh_payload_ft, module.weigh_payload_joints = found.ft, found.joints
    monkeypatch.setitem(sys.modules, "steelyard.identification.payload", module)
    monkeypatch.setattr(payload_outputs, "render_payload_page", lambda estimate: "<page>")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.urdf").write_text(URDF, encoding="utf-8")
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(LOG, encoding="utf-8")
    return found


def test_ft_passes_every_option_on(stand):
    """Robot, logs and each choice arrive as they were given."""
    words = "payload ft r.urdf a.csv b.csv --sensor flange --poses p.csv --axes base --sign by-body"
    more = "--quaternion w-first --rotation --no-bias --solver manifold --inertia needed --at-rest"
    names = "--wrench-columns ft --motion-columns tcp --twist-axes base --interpolation cubic"
    last = "--kinematics twist --level 0.9 --gravity 0 0 -1.6 --cutoff-hz 7 --budget-s 0.5"
    mounting = "--mounting 0.1 0.2 0.3 0 0 1.5707963267948966"
    assert main(f"{words} {more} {names} {last} {mounting}".split()) == 0
    assert stand.robot.name == "r"
    assert stand.robot.gravity.tolist() == [0.0, 0.0, -1.6]
    assert [log.name for log in stand.logs] == ["a", "b"]
    assert stand.frame == "flange"
    assert stand.asked.pop("processing").cutoff_hz == 7.0
    turned = [[0, -1, 0, 0.1], [1, 0, 0, 0.2], [0, 0, 1, 0.3], [0, 0, 0, 1]]
    assert stand.asked.pop("mounting") == pytest.approx(np.array(turned))
    assert stand.asked == {
        "source": "twist",
        "poses": "p.csv",
        "interpolation": "cubic",
        "axes": "base",
        "sign": "by-body",
        "quaternion": "w-first",
        "twist_axes": "base",
        "columns": "tcp",
        "wrench_columns": "ft",
        "at_rest": True,
        "gravity": None,
        "keep_angles": True,
        "static": False,
        "rotation": True,
        "bias": False,
        "solver": "manifold",
        "budget_s": 0.5,
        "level": 0.9,
    }


def test_ft_without_a_robot(stand, capsys):
    """A first file with the ending of a log is a log; options about robots are refused then."""
    assert main(["payload", "ft", "a.csv", "--sensor", "tool"]) == 0
    assert stand.robot is None
    assert len(stand.logs) == 1
    assert stand.asked["mounting"] is None
    assert main(["payload", "ft", "a.csv", "--sensor", "tool", "--gravity", "0", "9.8", "0"]) == 0
    assert stand.asked["gravity"] == [0.0, 9.8, 0.0]
    capsys.readouterr()
    for option in ("--lock j=0", "--keep-angles", "--overlay x.toml", "--kinematics joints"):
        assert main(f"payload ft a.csv --sensor tool {option}".split()) == 2
        assert option.split()[0] in capsys.readouterr().err
    assert main(["payload", "ft", "r.urdf", "--sensor", "tool"]) == 2
    assert "no log is given" in capsys.readouterr().err


def test_joints_needs_to_know_the_arm(stand, capsys):
    """Either logs without the payload or a result, and not both."""
    assert (
        main(["payload", "joints", "r.urdf", "a.csv", "--empty", "b.csv", "--frame", "flange"]) == 0
    )
    assert stand.asked["empty"] == ["b"]
    assert stand.asked["arm"] is None
    assert stand.asked["terms"] is not None
    assert stand.asked["processing"] is None
    assert stand.asked["friction"] == "estimate"
    assert main(["payload", "joints", "r.urdf", "a.csv", "--arm", "result.json"]) == 0
    assert str(stand.asked["arm"]) == "result.json"
    assert stand.frame is None
    assert stand.asked["terms"] is None
    capsys.readouterr()
    for words in ("", " --empty b.csv --arm result.json"):
        assert main(f"payload joints r.urdf a.csv{words}".split()) == 2
        assert "--empty" in capsys.readouterr().err


def test_json_is_one_object_of_the_schema(stand, capsys):
    """With --json, wherever it stands, standard output is the content of payload.json."""
    for words in (
        "payload ft a.csv --sensor tool --json",
        "payload joints r.urdf a.csv --empty b.csv --json",
    ):
        assert main(words.split()) == 0
        document = json.loads(capsys.readouterr().out)
        jsonschema.validate(document, read_payload_schema())
        assert document == payload_document(stand.estimate)


def test_files_are_written_and_named(stand, capsys, tmp_path):
    """All four files are in the folder, and the output names them."""
    assert main(["payload", "ft", "a.csv", "--sensor", "tool", "-o", "out"]) == 0
    printed = capsys.readouterr().out
    for name in ("payload.json", "report.html", "payload.urdf", "payload.xml"):
        assert (tmp_path / "out" / name).is_file()
        assert name in printed
    assert read_payload("out/payload.json").phi.tolist() == stand.estimate.phi.tolist()


def test_no_input_is_overwritten(stand, capsys, tmp_path):
    """A robot file of the name of an output, in the output folder, stays."""
    (tmp_path / "payload.urdf").write_text(URDF, encoding="utf-8")
    assert main(["payload", "ft", "payload.urdf", "a.csv", "--sensor", "flange", "-o", "."]) == 2
    assert "would overwrite an input" in capsys.readouterr().err
    assert (tmp_path / "payload.urdf").read_text(encoding="utf-8") == URDF


def test_people_read_values_kinds_and_what_to_record(stand, capsys):
    """The tables have every value; open inertia is explained, with exit code 0."""
    stand.estimate = without_inertia(weighed())
    assert main(["payload", "ft", "a.csv", "--sensor", "tool"]) == 0
    printed = capsys.readouterr().out
    for words in ("centre of mass, x", "feasible range", "any value", "bias of force x", "mm"):
        assert words in printed
    assert "record a motion that turns the payload" in printed
    assert "this payload was not weighed" in printed


def test_many_values_do_not_hide_the_body(stand, capsys):
    """Friction changes of many joints are counted, not listed; the edge is a footnote."""
    edge = tuple(replace(value, at_boundary=True) for value in weighed().values)
    others = tuple(replace(weighed().others[0], name=f"change {k}") for k in range(20))
    stand.estimate = replace(weighed(), values=edge, others=others)
    assert main(["payload", "ft", "a.csv", "--sensor", "tool"]) == 0
    printed = capsys.readouterr().out
    assert "20 more values" in printed
    assert "change 3" not in printed
    assert "* the body is at the edge" in printed


@pytest.mark.parametrize(
    ("level", "code", "says", "exit_code"),
    [
        (None, "", "Verdict: usable.", 0),
        ("info", "static-motion", "Verdict: usable.", 0),
        ("warning", "frozen", "Verdict: usable with care: warnings say why (frozen).", 0),
        ("warning", "poor-fit", "Verdict: do not use: 40 % of what the payload causes", 1),
        ("severe", "time-unit", "Verdict: do not use: the log is wrong (time-unit).", 1),
    ],
)
def test_a_verdict_is_printed(stand, capsys, level, code, says, exit_code):
    """In one sentence, from what was found and how well the body fits."""
    findings = () if level is None else (Finding(level, code, "what is wrong"),)
    stand.estimate = replace(weighed(), findings=findings, relative_error=0.4)
    assert main(["payload", "ft", "a.csv", "--sensor", "tool"]) == exit_code
    assert says in " ".join(capsys.readouterr().out.split())


def test_an_open_mass_is_a_negative_answer(stand, capsys):
    """Exit code 1 where mass or centre of mass are not determined."""
    stand.estimate = opened(weighed(), "cz")
    assert main(["payload", "ft", "a.csv", "--sensor", "tool"]) == 1


def test_what_is_not_to_be_used_is_written_only_if_asked_for(stand, tmp_path, capsys):
    """A note says which files are not written, and which option writes them."""
    stand.estimate = opened(weighed(), "cz")
    weigh = ["payload", "ft", "a.csv", "--sensor", "tool"]
    assert main([*weigh, "-o", "out"]) == 1
    printed = " ".join(capsys.readouterr().out.split())
    assert "payload.urdf and payload.xml are not written" in printed
    assert "--write-anyway" in printed
    assert not (tmp_path / "out" / "payload.urdf").exists()
    assert main([*weigh, "-o", "out", "--write-anyway"]) == 1
    assert (tmp_path / "out" / "payload.urdf").exists()
    assert main([*weigh, "--write-anyway"]) == 2
    assert "give -o" in capsys.readouterr().err


@pytest.mark.parametrize("level", ["0", "1", "nan"])
def test_a_wrong_level_is_refused(stand, capsys, level):
    """The level of an interval is between 0 and 1."""
    assert main(f"payload ft a.csv --sensor tool --level {level}".split()) == 2
    assert "--level" in capsys.readouterr().err
