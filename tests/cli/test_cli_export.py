"""``export``: formats, the robot file of a result found again and checked, refusals in one line."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
from pathlib import Path

import pytest
from exact_links import exact_violators
from small_arm import LINK, URDF, arm_log, write_arm

from steelyard._files.result_seal import sealed
from steelyard.cli import main
from steelyard.export.formats import FORMATS
from steelyard.logs.writer_csv import write_csv
from steelyard.robot.robot import Robot

TOOL = (
    LINK.format(name="tool", mass="0.3")
    + '<joint name="flange" type="fixed"><parent link="fore"/><child link="tool"/>'
    '<origin xyz="0.2 0 0"/></joint></robot>'
)
TEXT = URDF.replace("</robot>", TOOL)
QUICK = (
    *("--resamples", "20", "--no-ranges", "--threads", "1", "--no-term-comparison"),
    *("--gamma", "10", "--cutoff-hz", "10", "--friction-width", "0"),
)


def run(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    capsys.readouterr()
    code = main([str(part) for part in argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def refusal(capsys: pytest.CaptureFixture[str], folder: Path, *argv: object) -> str:
    """The one line with which a command is refused; nothing in the folder changes."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    code, _, err = run(capsys, *argv)
    assert code == 2, err
    assert err.startswith("steelyard: error: ")
    assert err.count("\n") == 1
    code, out, _ = run(capsys, *argv, "--json")
    assert code == 2
    assert json.loads(out)["error"]
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return err


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder with a robot file, a log, and what ``identify -o out`` writes."""
    folder = tmp_path_factory.mktemp("export")
    write_arm(folder, TEXT)
    write_csv(arm_log(Robot.from_urdf(folder / "arm.urdf"), 1), folder / "run.csv")
    argv = ["identify", str(folder / "arm.urdf"), str(folder / "run.csv")]
    assert main([*argv, "-o", str(folder / "out"), *QUICK]) == 0
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch) -> Path:
    """A copy of that folder to work in, as the working folder; the result names its robot file."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    edit_result(tmp_path, lambda document: document["robot"].update(source="arm.urdf"))
    return tmp_path


def edit_result(folder: Path, change) -> None:
    """Change the result file."""
    path = folder / "out" / "result.json"
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(sealed(document)))


# --- what identify -o writes ------------------------------------------------------------------


def test_identify_writes_the_robot_file_and_its_certificate_says_so(capsys, folder):
    """The file is physical, its terms are beside it, and verify checks both files' claims."""
    out = folder / "out"
    data = (out / "arm.identified.urdf").read_bytes()
    assert exact_violators(data) == set()
    sidecar = json.loads((out / "arm.identified.joints.json").read_text())
    digest = hashlib.sha256(data).hexdigest()
    assert sidecar["robot_file"] == {"name": "arm.identified.urdf", "sha256": digest}
    result = json.loads((out / "result.json").read_text())
    values = {entry["name"]: entry["value"] for entry in result["standard"]["parameters"]}
    symbols = {"drive_inertia": "Ia", "viscous": "fv", "coulomb": "fc", "offset": "fo"}
    for joint in sidecar["joints"]:
        assert [term["kind"] for term in joint["terms"]] == list(symbols)
        for term in joint["terms"]:
            assert term["value"] == values[f"{joint['name']}.{symbols[term['kind']]}"]
    assert result["robot"]["sha256"] == hashlib.sha256(TEXT.encode()).hexdigest()
    certificate = json.loads((out / "certificate.json").read_text())
    assert certificate["files"] == [
        {"name": "arm.identified.urdf", "format": "urdf", "sha256": digest, "links": 3}
    ]
    code, text, _ = run(capsys, "verify", out / "certificate.json")
    assert code == 0
    assert "arm.identified.urdf: unchanged, and its 3 links with an inertial are exactly" in text


def test_verify_reports_a_changed_robot_file(capsys, folder):
    """Changed by a byte: exit code 1. Not there: it is not checked, and that is said."""
    out = folder / "out"
    robot = out / "arm.identified.urdf"
    robot.write_bytes(robot.read_bytes() + b"\n")
    code, text, _ = run(capsys, "verify", out / "certificate.json")
    assert code == 1
    assert '"arm.identified.urdf" has changed since the certificate was made' in text
    robot.unlink()
    code, text, _ = run(capsys, "verify", out / "certificate.json")
    assert code == 0
    assert "arm.identified.urdf: not beside the certificate, so it was not checked" in text


def test_verify_checks_the_digits_whatever_the_hash_says(capsys, folder):
    """A certificate for an unphysical file, with its right hash, is invalid; so is a bad name."""
    out = folder / "out"
    robot, path = out / "arm.identified.urdf", out / "certificate.json"
    data = robot.read_bytes().replace(b'izz="', b'izz="9')
    robot.write_bytes(data)
    certificate = json.loads(path.read_text())
    certificate["files"][0]["sha256"] = hashlib.sha256(data).hexdigest()
    path.write_text(json.dumps(certificate))
    code, text, _ = run(capsys, "verify", path)
    assert code == 1
    assert '"arm.identified.urdf" is not exactly physical in "upper", "fore", "tool"' in text
    for name in ("../arm.urdf", "/etc/passwd", "..", ""):
        certificate["files"][0]["name"] = name
        path.write_text(json.dumps(certificate))
        assert "must be a plain name" in refusal(capsys, folder, "verify", path)


def test_the_other_files_are_written_where_the_robot_file_cannot_be(capsys, folder):
    """A base that is not physical is not the estimate's: a warning says so, by link."""
    bad = LINK.format(name="ground", mass="4").replace('izz="0.025"', 'izz="0.9"')
    (folder / "arm.urdf").write_text(TEXT.replace('<link name="ground"/>', bad))
    out = folder / "bad"
    code, text, _ = run(capsys, "identify", "arm.urdf", "run.csv", "-o", out, *QUICK, "--json")
    assert code == 0
    findings = json.loads((out / "result.json").read_text())["findings"]
    assert json.loads(text)["findings"] == findings
    (finding,) = [one for one in findings if one["code"] == "robot-file-not-written"]
    assert finding["level"] == "warning"
    assert "link 'ground' of the file is not physical" in finding["words"]
    assert not list(out.glob("*.identified.*"))
    assert "files" not in json.loads((out / "certificate.json").read_text())


# --- export -----------------------------------------------------------------------------------


def test_export_gives_what_identify_wrote(capsys, folder):
    """The URDF and its sidecar are the same bytes; the default name is beside the result."""
    out = folder / "out"
    names = ("arm.identified.urdf", "arm.identified.joints.json")
    first = [(out / name).read_bytes() for name in names]
    for name in names:
        (out / name).unlink()
    code, text, err = run(capsys, "export", "out/result.json", "--to", "urdf")
    assert (code, err) == (0, "")
    assert text.splitlines()[1:] == [f"wrote {Path('out') / name}" for name in names]
    assert [(out / name).read_bytes() for name in names] == first
    code, text, _ = run(capsys, "export", "out/result.json", "--to", "urdf", "--json")
    document = json.loads(text)
    assert document["files"] == [str(Path("out") / name) for name in names]
    assert {one["link"] for one in document["changes"] if one["link"]} == {"upper", "fore"}


@pytest.mark.parametrize("one", FORMATS, ids=lambda one: one.name)
def test_every_format_is_written(capsys, folder, one):
    """With its own ending, or to the file that is named."""
    code, _, err = run(capsys, "export", "out/result.json", "--to", one.name)
    assert (code, err) == (0, "")
    path = folder / "out" / f"arm.identified{one.suffix}"
    data = path.read_bytes()
    run(capsys, "export", "out/result.json", "--to", one.name, "-o", "named.file")
    assert (folder / "named.file").read_bytes() == data


def test_the_table_has_units_and_intervals(capsys, folder):
    """It is the one that identify writes, but for the ranges of centres of mass."""
    run(capsys, "export", "out/result.json", "--to", "csv", "-o", "table.csv")
    new = list(csv.DictReader((folder / "table.csv").read_text().splitlines()))
    written = (folder / "out" / "standard_parameters.csv").read_text()
    old = list(csv.DictReader(written.splitlines()))
    assert [row["name"] for row in new] == [row["name"] for row in old]
    for ours, theirs in zip(new, old, strict=True):
        if not ours["name"].endswith((".cx", ".cy", ".cz")):
            assert ours == theirs
    assert any(row["lower"] for row in new)


def test_drake_and_lump_reach_the_file(capsys, folder):
    """The rotor tags on request; the tool emptied or kept; every change is listed."""
    argv = ("export", "out/result.json", "--to", "urdf", "-o", "x.urdf")
    assert run(capsys, *argv, "--drake", "--attached", "lump")[0] == 0
    text = (folder / "x.urdf").read_text()
    assert text.count("drake:rotor_inertia") == 2
    robot = Robot.from_urdf(folder / "x.urdf")
    assert not robot.link("tool").inertial.any()
    _, out, _ = run(capsys, *argv, "--verbose")
    assert "upper, mass value: 2.5 -> " in out
    assert "shoulder, dynamics damping: not stated -> " in out
    assert Robot.from_urdf(folder / "x.urdf").link("tool").inertial[0] == 0.3


def test_the_robot_file_is_found_beside_the_result(capsys, folder):
    """If it is not at the recorded path; --robot names another place."""
    (folder / "arm.urdf").rename(folder / "out" / "arm.urdf")
    assert run(capsys, "export", "out/result.json", "--to", "csv")[0] == 0
    # a changed file at the recorded place does not hide the right one
    (folder / "arm.urdf").write_text(TEXT.replace("1.5", "1.6"))
    assert run(capsys, "export", "out/result.json", "--to", "urdf")[0] == 0
    (folder / "out" / "arm.urdf").rename(folder / "moved.urdf")
    argv = ("export", "out/result.json", "--to", "urdf", "--robot", "moved.urdf")
    assert run(capsys, *argv)[0] == 0
    assert (folder / "out" / "moved.identified.urdf").exists()


# --- refusals ---------------------------------------------------------------------------------


def test_a_robot_file_that_is_not_there(capsys, folder):
    """Named, with where it was looked for."""
    (folder / "arm.urdf").unlink()
    err = refusal(capsys, folder, "export", "out/result.json", "--to", "urdf")
    assert "robot file 'arm.urdf' of the result is not there, nor" in err
    edit_result(folder, lambda document: document["robot"].update(source=None))
    err = refusal(capsys, folder, "export", "out/result.json", "--to", "urdf")
    assert "does not say which file its robot was read from; give it with --robot" in err


def test_the_result_of_another_robot(capsys, folder):
    """Other joints, or another geometry."""
    argv = ("export", "out/result.json", "--to", "urdf", "--robot", "other.urdf")
    (folder / "other.urdf").write_text(TEXT.replace("elbow", "knee"))
    assert "result is for joints shoulder, elbow" in refusal(capsys, folder, *argv)
    (folder / "other.urdf").write_text(TEXT.replace('xyz="0.3 0 0"', 'xyz="0.4 0 0"'))
    assert "another geometry or gravity" in refusal(capsys, folder, *argv, "--accept-changed")


def test_a_file_changed_since(capsys, folder):
    """Refused unless accepted; a result without a hash is used, with a note."""
    changed = TEXT.replace('value="1.5"', 'value="1.6"')
    (folder / "arm.urdf").write_text(changed)
    argv = ("export", "out/result.json", "--to", "urdf", "-o", "x.urdf")
    err = refusal(capsys, folder, *argv)
    assert "'arm.urdf' is not the file that the result was made with, or has changed since" in err
    code, out, _ = run(capsys, *argv, "--accept-changed")
    assert code == 0
    assert "note: 'arm.urdf' has changed since the result was made" in out
    assert (folder / "x.urdf").read_bytes() == (folder / "out/arm.identified.urdf").read_bytes()
    edit_result(folder, lambda document: document["robot"].pop("sha256"))
    code, out, _ = run(capsys, *argv)
    assert code == 0
    assert "note: the result does not record the hash of its robot file" in out


def test_an_output_that_is_an_input(capsys, folder):
    """Under its own name, under another, and where the sidecar would be one."""
    argv = ("export", "out/result.json", "--to", "urdf", "-o")
    assert "would overwrite an input" in refusal(capsys, folder, *argv, "arm.urdf")
    assert "would overwrite an input" in refusal(capsys, folder, *argv, "out/result.json")
    (folder / "link.urdf").symlink_to("arm.urdf")
    assert "would overwrite an input" in refusal(capsys, folder, *argv, "link.urdf")
    (folder / "out" / "result.json").rename(folder / "out" / "x.joints.json")
    argv = ("export", "out/x.joints.json", "--to", "urdf", "-o", "out/x.urdf")
    assert "would overwrite an input" in refusal(capsys, folder, *argv)
    assert "is a folder" in refusal(capsys, folder, *argv[:-1], "out")


def test_an_unknown_format(capsys, folder):
    """The formats are listed."""
    err = refusal(capsys, folder, "export", "out/result.json", "--to", "urfd")
    assert "no format 'urfd' (did you mean 'urdf'?); the formats are urdf, " in err
    err = refusal(capsys, folder, "export", "out/result.json", "--to", "csv", "--drake")
    assert "--drake is given, but only --to urdf uses it" in err


def test_bodies_of_several_links(capsys, folder):
    """Refused on request; and where the rest of the body would not be physical."""
    argv = ("export", "out/result.json", "--to", "urdf")
    err = refusal(capsys, folder, *argv, "--attached", "refuse")
    assert "body 'fore' consists of several links with inertials, 'fore', 'tool'" in err

    def lighter(document):
        for entry in document["standard"]["parameters"]:
            if entry["name"] == "fore.m":
                entry["value"] = 0.2

    edit_result(folder, lighter)
    err = refusal(capsys, folder, *argv)
    assert "the rest of body 'fore', without 'tool', is not physical" in err


def test_a_method_without_physical_parameters(capsys, folder):
    """Base parameters alone, or parameters that are not proven to be physical, are no robot."""
    edit_result(folder, lambda document: document["standard"].update(feasible=False))
    for name in ("urdf", "yaml"):
        err = refusal(capsys, folder, "export", "out/result.json", "--to", name)
        assert "gives no physical standard parameters; identify with 'entropic'" in err
    edit_result(folder, lambda document: document.update(standard=None))
    for one in FORMATS:
        if one.name in ("urdf", "yaml", "csv"):
            err = refusal(capsys, folder, "export", "out/result.json", "--to", one.name)
            assert "standard parameters" in err


def test_damaged_standard_parameters(capsys, folder):
    """A stranger's result gives one line, not a traceback."""
    edit_result(folder, lambda document: document["standard"]["parameters"].pop())
    err = refusal(capsys, folder, "export", "out/result.json", "--to", "urdf")
    assert "standard parameters of the result are not complete" in err
    edit_result(folder, lambda document: document["standard"].update(parameters=[{"value": "x"}]))
    err = refusal(capsys, folder, "export", "out/result.json", "--to", "urdf")
    assert "are damaged" in err
    edit_result(folder, lambda document: document["robot"].pop("gravity"))
    assert run(capsys, "export", "out/result.json", "--to", "csv")[0] == 2


def test_an_emptied_link_behind_a_locked_joint_is_noted(capsys, folder):
    """It moves in the file, where simulators want it to have a mass."""
    argv = ("identify", "arm.urdf", "run.csv", "--lock", "elbow=0", "-o", "locked", *QUICK)
    assert run(capsys, *argv)[0] in (0, 1)  # the elbow moves in the log
    argv = ("export", "locked/result.json", "--to", "urdf", "--write-anyway")
    assert "emptied" not in run(capsys, *argv)[1]
    out = run(capsys, *argv, "--attached", "lump")[1]
    assert "note: link 'fore' is emptied, but joint 'elbow', which was locked, moves it" in out


# --- files that cannot be written, and damaged results ------------------------------------------


def test_a_robot_file_is_not_written_without_its_terms(capsys, folder):
    """If the second of the two files cannot be written, the first is not either."""
    (folder / "two.joints.json").mkdir()
    line = refusal(capsys, folder, "export", "out/result.json", "--to", "urdf", "-o", "two.urdf")
    assert "two.joints.json" in line


@pytest.mark.parametrize("value", ["2.0", True, None, 10**400, float("nan")])
@pytest.mark.parametrize("to", ["urdf", "csv"])
def test_a_parameter_that_is_no_number_is_refused(capsys, folder, value, to):
    """A text, a truth value, nothing, NaN, and an integer that no float can hold."""
    edit_result(folder, lambda document: document["standard"]["parameters"][0].update(value=value))
    assert "damaged" in refusal(capsys, folder, "export", "out/result.json", "--to", to)


@pytest.mark.parametrize("to", ["urdf", "csv"])
def test_parameters_in_another_order_are_refused(capsys, folder, to):
    """Their values would go to the wrong links."""

    def swap(document):
        parameters = document["standard"]["parameters"]
        parameters[0], parameters[10] = parameters[10], parameters[0]

    edit_result(folder, swap)
    assert "order" in refusal(capsys, folder, "export", "out/result.json", "--to", to)


def test_a_credible_range_of_a_mass_does_not_go_below_zero(folder):
    """Also where feasible ranges, to which it is cut, were not computed."""
    with (folder / "out" / "standard_parameters.csv").open() as stream:
        rows = {row["name"]: row for row in csv.DictReader(stream)}
    for name in ("upper.m", "fore.m", "upper.Ixx", "fore.Izz"):
        assert float(rows[name]["credible_lower"]) >= 0.0


def test_the_folder_of_identify_stands_for_its_result(capsys, folder):
    """As in compare; the file is written into that folder."""
    assert run(capsys, "export", "out", "--to", "csv")[0] == 0
    assert (folder / "out" / "arm.identified.csv").exists()
    assert "result.json" in refusal(capsys, folder, "export", ".", "--to", "csv")


@pytest.mark.parametrize(
    ("to", "words"),
    [
        ("urdf", "damping (viscous friction) of 2 joints, friction (Coulomb friction) of 2 joints"),
        ("mjcf", "armature (drive inertia) of 2 joints, damping (viscous friction) of 2 joints"),
        ("sdf", "damping (viscous friction) of 2 joints, friction (Coulomb friction) of 2 joints"),
    ],
)
def test_the_command_says_what_the_file_states_of_the_joints(capsys, folder, to, words):
    """Terms by their names in the file, counted by joint; a term of rounding size is none."""
    code, out, _ = run(capsys, "export", "out", "--to", to, "-o", "new")
    assert code == 0
    assert f"note: besides inertials the file states {words}" in out
    assert ("the JSON file beside it has all terms" in out) == (to == "urdf")

    def shrink(document):
        for entry in document["standard"]["parameters"]:
            if entry["name"] in ("elbow.fv", "elbow.fc", "elbow.Ia"):
                entry["value"] = 1e-17

    edit_result(folder, shrink)
    code, out, _ = run(capsys, "export", "out", "--to", to, "-o", "new")
    assert code == 0
    assert "damping (viscous friction) of 1 joint," in out


def test_an_absurd_mass_in_a_result_is_refused_by_name(capsys, folder):
    """1e300 kg is physical for a mathematician, and still no robot."""

    def spoil(document):
        (mass,) = [one for one in document["standard"]["parameters"] if one["name"] == "upper.m"]
        mass["value"] = 1e300

    edit_result(folder, spoil)
    for to in ("urdf", "mjcf", "sdf", "yaml"):
        line = refusal(capsys, folder, "export", "out", "--to", to, "-o", "new")
        assert "'upper.m' is 1e+300 kg, which no robot has" in line
