"""Folders that an attacker forged: every hash is made honest again, and verify still says no."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from exact_second import resealed
from given_signals import FEW
from killed_writer import killed_at
from small_arm import LINK, URDF, arm_log, write_arm

from steelyard import read_result
from steelyard._files.result_seal import sealed
from steelyard.certificates.robot_binding import ClaimedRobot
from steelyard.certificates.verify import Verification, verify
from steelyard.cli import main
from steelyard.errors import ChangedFilesWarning, ResultError
from steelyard.identification.identify import identify
from steelyard.knowledge.overlay.read_robot import read_robot
from steelyard.robot.robot import Robot

TOOL = (
    LINK.format(name="tool", mass="0.3")
    + '<joint name="flange" type="fixed"><parent link="fore"/><child link="tool"/>'
    '<origin xyz="0.2 0 0"/></joint></robot>'
)
TEXT = URDF.replace("</robot>", TOOL)
NAME = "arm.identified.urdf"
SECOND = (
    '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="9" iyz="0" izz="1"/>'
    "</inertial>"
)


@dataclass(frozen=True)
class Made:
    """Two folders that identify wrote, of the same robot and different logs."""

    robot: Path
    first: Path
    second: Path


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Made:
    """Both identified with a tool that a fixed joint holds."""
    place = tmp_path_factory.mktemp("made")
    path = write_arm(place, TEXT)
    robot = Robot.from_urdf(path)
    for seed in (1, 2):
        found = identify(robot, arm_log(robot, seed), threads=1, **FEW)
        found.save(place / f"out{seed}")
    return Made(path, place / "out1", place / "out2")


@pytest.fixture
def folder(made, tmp_path) -> Path:
    """A copy of the first folder, to be forged."""
    shutil.copytree(made.first, tmp_path / "out")
    return tmp_path / "out"


def honest(folder: Path) -> None:
    """Compute every hash again, as a careful forger would."""

    def sha256(name: str) -> str:
        return hashlib.sha256((folder / name).read_bytes()).hexdigest()

    if (folder / NAME).exists():
        joints = read(folder, "arm.identified.joints.json")
        joints["robot_file"]["sha256"] = sha256(NAME)
        write(folder, "arm.identified.joints.json", joints)
    certificate = read(folder, "certificate.json")
    for entry in certificate.get("files", []):
        entry["sha256"] = sha256(entry["name"])
    if "files" not in certificate:
        certificate["hashes"].pop("files", None)
    write(folder, "certificate.json", resealed(certificate))
    result = read(folder, "result.json")
    result["files"] = {name: sha256(name) for name in result["files"]}
    write(folder, "result.json", sealed(result))


def read(folder: Path, name: str) -> dict:
    """A JSON file."""
    return json.loads((folder / name).read_text())


def write(folder: Path, name: str, document: dict) -> None:
    """A JSON file."""
    (folder / name).write_text(json.dumps(document))


def edit(folder: Path, old: str, new: str, name: str = NAME) -> None:
    """Replace a text once."""
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new, 1))


def known(made: Made, folder: Path) -> Verification:
    """The verdict with result and robot."""
    return verify(folder / "certificate.json", result=folder / "result.json", robot=made.robot)


# --- honest -----------------------------------------------------------------------------------


def test_an_honest_folder_is_confirmed(made, folder):
    """Every file is named; so is it after the forger's hashes alone, and without the robot."""
    for _ in range(2):
        verdict = known(made, folder)
        said = " / ".join(verdict.details["confirmed"])
        assert verdict.valid, verdict.words
        for name in (NAME, "arm.identified.joints.json"):
            assert f'"{name}" is what these parameters and the robot file give' in said
        for name in ("parameters.csv", "standard_parameters.csv"):
            assert f'"{name}" has the numbers of the result' in said
        assert "6 files beside the result are those written with it" in said
        alone = verify(folder / "certificate.json", result=folder / "result.json")
        assert alone.valid
        assert f'"{NAME}" is what these parameters and its own links give' in " / ".join(
            alone.details["confirmed"]
        )
        honest(folder)


def test_digits_of_another_version_are_no_difference(made, folder):
    """Numbers to 1e-9, and another layout of the XML."""
    text = (folder / NAME).read_text()
    mass = text.partition('mass value="')[2].partition('"')[0]
    edit(folder, f'mass value="{mass}"', f'mass   value="{float(mass) * (1 + 2e-10)!r}"')
    edit(folder, "</robot>", "\n<!-- layout -->\n</robot>")
    honest(folder)
    assert known(made, folder).valid
    edit(folder, f"{float(mass) * (1 + 2e-10)!r}", f"{float(mass) * (1 + 5e-9)!r}")
    honest(folder)
    assert "value of <mass>" in known(made, folder).words


# --- forged -----------------------------------------------------------------------------------


def damping(made: Made, folder: Path) -> None:
    edit(folder, 'damping="0.', 'damping="4.')


def friction_gone(made: Made, folder: Path) -> None:
    edit(folder, "<dynamics ", "<dynamic ")


def second_inertial(made: Made, folder: Path) -> None:
    edit(folder, "</inertial>", f"</inertial>{SECOND}")


def link_twice(made: Made, folder: Path) -> None:
    edit(folder, "</robot>", LINK.format(name="fore", mass="9") + "</robot>")


def another_run(made: Made, folder: Path) -> None:
    shutil.copy(made.second / NAME, folder / NAME)


def the_original(made: Made, folder: Path) -> None:
    shutil.copy(made.robot, folder / NAME)


def unlisted(made: Made, folder: Path) -> None:
    certificate = read(folder, "certificate.json")
    del certificate["files"]
    write(folder, "certificate.json", certificate)
    result = read(folder, "result.json")
    result["files"] = {}
    write(folder, "result.json", result)
    damping(made, folder)


def moved_between_links(made: Made, folder: Path) -> None:
    """The body's sum stays: its links swap what they have."""
    text = (folder / NAME).read_text()
    start = [text.index("<inertial>", text.index(f'link name="{one}"')) for one in ("fore", "tool")]
    own = [text[at : text.index("</inertial>", at)] for at in start]
    text = text.replace(own[0], "@").replace(own[1], own[0]).replace("@", own[1])
    (folder / NAME).write_text(text)


def limit(made: Made, folder: Path) -> None:
    edit(folder, 'velocity="3"', 'velocity="30"')


def joint_terms(made: Made, folder: Path) -> None:
    joints = read(folder, "arm.identified.joints.json")
    joints["joints"][0]["terms"][0]["value"] *= 10.0
    write(folder, "arm.identified.joints.json", joints)


def table(made: Made, folder: Path) -> None:
    edit(folder, "\nupper.m,", "\nupper.m,9", "standard_parameters.csv")


def base_table(made: Made, folder: Path) -> None:
    shutil.copy(made.second / "parameters.csv", folder / "parameters.csv")


def result_of_another_run(made: Made, folder: Path) -> None:
    for name in ("result.json", "certificate.json"):
        shutil.copy(made.second / name, folder / name)


def other_format(made: Made, folder: Path) -> None:
    """A URDF is called something whose digits nobody checks."""
    certificate = read(folder, "certificate.json")
    certificate["files"][0] |= {"format": "sdf", "links": 0}
    write(folder, "certificate.json", certificate)
    damping(made, folder)


def gravity(made: Made, folder: Path) -> None:
    result = read(folder, "result.json")
    result["robot"]["gravity"] = [0.0, 0.0, -1.6]
    write(folder, "result.json", result)


def unit(made: Made, folder: Path) -> None:
    result = read(folder, "result.json")
    result["model"]["columns"][0]["unit"] = "g"
    write(folder, "result.json", result)


def another_ending(made: Made, folder: Path) -> None:
    """What a file is called does not matter."""
    damping(made, folder)
    (folder / NAME).rename(folder / "arm.robot")
    (folder / "arm.identified.joints.json").unlink()
    certificate, result = read(folder, "certificate.json"), read(folder, "result.json")
    certificate["files"][0]["name"] = "arm.robot"
    result["files"] = {}
    write(folder, "certificate.json", certificate)
    write(folder, "result.json", result)


def hidden_by_a_comment(made: Made, folder: Path) -> None:
    """Its first element is far behind, and the certificate does not list it."""
    unlisted(made, folder)
    (folder / NAME).write_text(f"<!-- {'x' * 10**6} -->{(folder / NAME).read_text()}")


FORGED: list[tuple[Callable[[Made, Path], None], str]] = [
    (damping, "damping of <dynamics>"),
    (friction_gone, "0 <dynamics>, not 1"),
    (second_inertial, "has 2 <inertial>"),
    (link_twice, "is there twice"),
    (another_run, "is not what these parameters"),
    (the_original, "is not what these parameters"),
    (unlisted, "damping of <dynamics>"),
    (moved_between_links, "is not what these parameters"),
    (limit, 'velocity of <limit> in line 8 is "30", not "3"'),
    (joint_terms, '"arm.identified.joints.json" is not what'),
    (table, '"standard_parameters.csv" does not have the numbers of the result: "upper.m"'),
    (base_table, '"parameters.csv" does not have the numbers of the result'),
    (result_of_another_run, "is not what these parameters"),
    (other_format, "damping of <dynamics>"),
    (gravity, "what the result says of its robot is not true of it: gravity"),
    (unit, "what the result says of its robot is not true of it: columns"),
    (another_ending, "damping of <dynamics>"),
    (hidden_by_a_comment, "was not compared: it is no URDF"),
]


@pytest.mark.parametrize(("forge", "words"), FORGED, ids=lambda x: getattr(x, "__name__", ""))
def test_forged_folders(made, folder, forge, words, capsys):
    """Each is named, in Python and with exit code 1."""
    forge(made, folder)
    honest(folder)
    verdict = known(made, folder)
    assert not verdict.valid
    assert any(words in problem for problem in verdict.details["problems"])
    argv = ["verify", str(folder / "certificate.json"), "--result", str(folder)]
    assert main([*argv, "--robot", str(made.robot)]) == 1
    assert words in capsys.readouterr().out
    if forge not in (limit, moved_between_links, table, base_table, gravity, unit):
        assert main(argv) == 1  # so it is without the robot, but for what only that states


def verdict_of_the_result(made: Made, folder: Path) -> None:
    result = read(folder, "result.json")
    result["verdict"]["level"] = "do not use"
    write(folder, "result.json", result)


def other_bodies_that_claim_less(made: Made, folder: Path) -> None:
    """Physical parameters that no log has seen, and a certificate that says no more than that."""
    certificate = read(folder, "certificate.json")
    certificate |= {"kind": "feasible", "base_parameters": None}
    certificate["numbers"] = {"theta": certificate["numbers"]["theta"]}
    write(folder, "certificate.json", resealed(certificate))
    result = read(folder, "result.json")
    result["certificate"] |= {"kind": "feasible", "value": None, "gap": None}
    result["certificate"]["hashes"] |= resealed(certificate)["hashes"]
    result["certificate"]["hashes"].pop("files")
    write(folder, "result.json", result)


@pytest.mark.parametrize(
    ("forge", "words"),
    [
        (verdict_of_the_result, "nor were the verdict, errors, intervals and findings"),
        (other_bodies_that_claim_less, "not that they fit any data"),
    ],
)
def test_what_rests_on_logs_is_no_proof(made, folder, forge, words):
    """It cannot be computed again without them: a caution says so."""
    forge(made, folder)
    honest(folder)
    verdict = known(made, folder)
    assert verdict.valid
    assert any(words in caution for caution in verdict.details["cautions"])


def test_words_of_another_version(made, folder):
    """Formulas for people are no numbers, but another text is said."""
    joints = read(folder, "arm.identified.joints.json")
    joints["joints"][0]["terms"][0]["torque"] = "value * 1000"
    write(folder, "arm.identified.joints.json", joints)
    honest(folder)
    verdict = known(made, folder)
    assert verdict.valid
    assert "its formulas or explanations are not those" in " / ".join(verdict.details["cautions"])


def test_too_many_files_are_not_compared_in_part(made, folder):
    """A forger could hide one behind a hundred right ones."""
    for k in range(100):
        shutil.copy(folder / NAME, folder / f"a{k}.identified.urdf")
    assert "at most 100 are read" in known(made, folder).words


@pytest.mark.parametrize("attached", ["keep", "lump"])
def test_every_way_to_write_the_file_is_known(made, tmp_path, attached):
    """Links kept or emptied, a locked joint, joints turned: with the robot and without."""
    turned = TEXT.replace('rpy="0.3 0 0"', 'rpy="1.5708 0 0"')
    path = write_arm(tmp_path, turned)
    robot = read_robot(path).lock({"elbow": 0.5})
    assert robot.turned
    found = identify(robot, arm_log(robot, 1), attached=attached, threads=1, **FEW)
    found.save(tmp_path / "out", write_anyway=True)
    claimed = ClaimedRobot(read_robot(path, keep_angles=True).lock({"elbow": 0.5}))
    for given in (claimed, None):
        verdict = verify(
            tmp_path / "out/certificate.json", result=tmp_path / "out/result.json", robot=given
        )
        assert verdict.valid, verdict.words
        assert '"arm.identified.urdf" is what' in " / ".join(verdict.details["confirmed"])


def test_another_folder_than_the_certificate(made, folder):
    """Files beside the result count, wherever the certificate is."""
    damping(made, folder)
    honest(folder)
    shutil.copy(folder / "certificate.json", folder.parent / "certificate.json")
    assert not known(made, folder).valid
    verdict = verify(
        folder.parent / "certificate.json", result=folder / "result.json", robot=made.robot
    )
    assert "damping of <dynamics>" in verdict.words


# --- changed without care, and of earlier versions ----------------------------------------------


@pytest.mark.parametrize("key", ["verdict", "validation", "findings", "record", "certificate"])
def test_everything_in_a_result_is_sealed(folder, key):
    """The verdict and its numbers, too."""
    result = read(folder, "result.json")
    result[key] = {"usable": True}
    write(folder, "result.json", result)
    with pytest.raises(ResultError, match=r"was changed after it was written|is damaged"):
        read_result(folder / "result.json")
    if key == "verdict":
        verdict = verify(folder / "certificate.json", result=folder / "result.json")
        assert "do not match their hash" in verdict.words


def test_the_list_of_files_is_sealed(made, folder):
    """Changed, or removed while its hash is there; without both, a caution says so."""
    certificate = read(folder, "certificate.json")
    changed = json.loads(json.dumps(certificate))
    changed["files"][0]["sha256"] = "0" * 64
    assert "the hash of the files does not match" in verify(changed).words
    del changed["files"]
    assert "its list of files was removed" in verify(changed).words
    del changed["hashes"]["files"]
    verdict = verify(changed)
    assert verdict.valid
    assert verdict.details["cautions"][0].startswith("it lists no robot file")


def test_files_of_earlier_versions_are_read(made, folder):
    """They verify, and what they do not seal is said."""
    certificate, result = read(folder, "certificate.json"), read(folder, "result.json")
    del certificate["hashes"]["files"], result["hashes"]["document"], result["files"]
    write(folder, "certificate.json", certificate)
    write(folder, "result.json", result)
    assert read_result(folder / "result.json").method == "entropic"
    verdict = known(made, folder)
    assert verdict.valid, verdict.words
    said = " / ".join(verdict.details["cautions"])
    for words in (
        "the hash of the result covers its parameters alone",
        "its list of files is covered by no hash",
        "does not name the files that were written with it",
    ):
        assert words in said


@pytest.mark.parametrize("name", ["report.html", NAME, "parameters.csv", "certificate.json"])
def test_a_folder_of_two_runs_is_reported_by_every_reader(made, folder, name, capsys):
    """A warning in one line for those that read the result; invalid for verify."""
    shutil.copy(made.second / name, folder / name)
    with pytest.warns(ChangedFilesWarning, match=name):
        read_result(folder / "result.json")
    verdict = verify(folder / "certificate.json", result=folder / "result.json")
    assert f'were not written with it: "{name}"' in " / ".join(verdict.details["problems"])
    main(["export", str(folder), "--to", "csv", "-o", str(folder.parent / "x.csv")])
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("steelyard: warning: ")
    assert name in said[0]
    (folder / name).unlink()
    read_result(folder / "result.json")  # what is not there is no other run's


def test_killed_between_two_files_of_a_folder(made, folder, capsys):
    """At every step: the old run, the new one, or verify and export say what has happened."""
    new = {folder / path.name: path.read_bytes() for path in sorted(made.second.iterdir())}
    new[folder / "result.json"] = new.pop(folder / "result.json")
    argv = ["verify", str(folder / "certificate.json"), "--result", str(folder)]
    step = 0
    while killed_at(step, new):
        same = [data == path.read_bytes() for path, data in new.items()]
        whole = all(same) or not any(same)
        code = main([*argv, "--robot", str(made.robot)])
        said = capsys.readouterr()
        refused = code == 2 and "may have files of two runs" in said.err
        assert refused or (whole and code == 0)
        assert main(["export", str(folder), "--to", "csv", "-o", str(folder / "x.csv")]) == code
        capsys.readouterr()
        shutil.rmtree(folder)
        shutil.copytree(made.first, folder)
        step += 1
    assert step > len(new)
    assert known(made, folder).valid


@pytest.mark.parametrize("name", ["../x", "a/b", "..", "a" * 300])
def test_names_of_files_are_plain(folder, name):
    """A stranger's result opens nothing outside of its folder."""
    result = read(folder, "result.json")
    result["files"] = {name: "0" * 64}
    write(folder, "result.json", sealed(result))
    with pytest.raises(ResultError, match="must be a plain name"):
        read_result(folder / "result.json")
