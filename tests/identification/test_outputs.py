"""What `identify` returns in Python is what the command line writes to its files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from given_signals import FEW, GIVEN
from small_arm import URDF, arm_log

from steelyard._files.result_seal import file_hashes, sealed
from steelyard.cli import main
from steelyard.errors import EstimationError, LogError
from steelyard.identification import runs
from steelyard.identification.identify import Identification, identify, with_certificate
from steelyard.identification.outputs import (
    FILES,
    document_of,
    leftovers,
    report_of,
    with_robot_file_finding,
    write_outputs,
)
from steelyard.identification.robot_file import file_names, robot_files
from steelyard.logs.reading import read_log
from steelyard.logs.writer_csv import write_csv
from steelyard.model.model import Model
from steelyard.robot.robot import Robot
from steelyard.signals.prepare import prepare

QUICK = {"n_resamples": 20, "ranges": False, "threads": 1}
PLAIN = {"method": "wls", "processing": GIVEN}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A robot file, a training log and a held-out log."""
    folder = tmp_path_factory.mktemp("arm")
    (folder / "arm.urdf").write_text(URDF, encoding="utf-8")
    robot = Robot.from_urdf_text(URDF)
    for name, seed in (("train", 1), ("test", 2)):
        write_csv(arm_log(robot, seed, name=name), folder / f"{name}.csv")
    return folder


@pytest.fixture(scope="module")
def found(folder) -> Identification:
    """The identification by the library."""
    robot, train, test = from_files(folder)
    return identify(robot, train, validate_on=test, level=0.9, **QUICK)


def others(folder: Path) -> list[Path]:
    """All files but the result."""
    return [path for path in folder.iterdir() if path.name != FILES["result"]]


def from_files(folder: Path):
    """Robot and logs, read anew."""
    robot = Robot.from_urdf(folder / "arm.urdf")
    return robot, read_log(folder / "train.csv"), read_log(folder / "test.csv")


def test_the_library_gives_what_the_command_line_writes(folder, found, tmp_path):
    """Validation, certificate and findings are those of result.json; every file is the same."""
    robot, train, test = (folder / name for name in ("arm.urdf", "train.csv", "test.csv"))
    argv = ["identify", str(robot), str(train), "--validate-on", str(test), "--level", "0.9"]
    argv += ["-o", str(tmp_path / "cli"), "--resamples", "20", "--no-ranges", "--threads", "1"]
    assert main(argv) == 0
    result = json.loads((tmp_path / "cli" / "result.json").read_text())
    assert found.validation is not None
    assert found.certificate is not None
    assert found.validation.to_dict() == result["validation"]
    assert found.certificate.summary() == result["certificate"]
    assert [finding.as_json() for finding in found.findings] == result["findings"]
    hashes = file_hashes({path.name: path.read_bytes() for path in others(tmp_path / "cli")})
    assert sealed({**document_of(found), "files": hashes}) == result
    written = write_outputs(found, tmp_path / "library")
    names = {kind: path.name for kind, path in written.items()}
    assert names == {**FILES, **file_names(robot)}
    for path in written.values():
        assert path.read_bytes() == (tmp_path / "cli" / path.name).read_bytes(), path.name


def test_a_certificate_can_be_made_later(folder):
    """Without certify there is none; with_certificate makes the same as identify."""
    robot, train, test = from_files(folder)
    bare = identify(robot, train, validate_on=test, certify=False, **FEW)
    assert bare.certificate is None
    later = with_certificate(bare).certificate
    assert later is not None
    at_once = identify(robot, train, validate_on=test, **FEW).certificate
    assert at_once is not None
    assert later.document == at_once.document


def test_without_held_out_logs_the_report_shows_the_first_run(folder, monkeypatch, tmp_path):
    """It is prepared once, with all of its torques; predictions are blank in the dead band."""
    prepared = []

    def counted(log, *how, **more):
        prepared.append(log.name)
        return prepare(log, *how, **more)

    monkeypatch.setattr(runs, "prepare", counted)
    robot, train, test = from_files(folder)
    found = identify(robot, [train, test], **PLAIN)
    run = report_of(found).run
    assert found.validation is None
    assert found.first_run is not None
    assert run is not None
    assert (run.name, run.held_out) == ("train", False)
    used = found.first_run.measurements.tau
    assert np.isfinite(run.measured).all()
    assert np.isnan(used).any()
    assert np.array_equal(np.isnan(run.predicted), np.isnan(used))
    assert np.nanstd(run.predicted - run.measured) < 0.5 * np.nanstd(run.measured)
    assert set(write_outputs(found, tmp_path)) == {"result", "parameters", "report"}
    assert prepared == ["train", "test"]


def test_the_first_run_need_not_be_kept(folder):
    """Then the report has no torques to show, and its errors come from the factors."""
    robot, train, _ = from_files(folder)
    found = identify(robot, train, keep_first_run=False, **PLAIN)
    assert found.first_run is None
    report = report_of(found)
    assert report.run is None
    assert {error.name for error in report.errors} == {"shoulder", "elbow"}


def test_no_held_out_log_is_no_validation(folder):
    """An empty list or iterator of logs to validate on is the same as none."""
    robot, train, _ = from_files(folder)
    for none in ((), [], iter([])):
        assert identify(robot, train, validate_on=none, **PLAIN).validation is None


def test_bad_arguments_are_refused_before_any_log_is_read(folder):
    """An invalid level or held-out log is refused before any long computation."""
    robot, _, _ = from_files(folder)

    def unread():
        raise AssertionError("a log was read")
        yield

    with pytest.raises(EstimationError, match=r"level is 95.*0\.95"):
        identify(robot, unread(), level=95.0)
    with pytest.raises(LogError, match=r"logs are needed, not .*read_log"):
        identify(robot, unread(), validate_on=7)  # type: ignore[arg-type]
    for missing in ("no_test.csv", ["no_test.csv"], (folder / "no_test.csv",)):
        with pytest.raises(LogError, match=r"no_test.csv': no such file"):
            identify(robot, unread(), validate_on=missing)


def test_files_of_an_earlier_estimate_are_named(folder, found, tmp_path):
    """A method without constraints leaves the certificate of an earlier one behind."""
    write_outputs(found, tmp_path)
    robot, train, _ = from_files(folder)
    plain = identify(robot, train, **PLAIN)
    left = leftovers(tmp_path, write_outputs(plain, tmp_path).values())
    assert sorted(path.name for path in left) == [
        "arm.identified.joints.json",
        "arm.identified.urdf",
        "certificate.json",
        "standard_parameters.csv",
    ]


def test_the_robot_file_is_written_only_for_the_file_that_was_read(folder, found, tmp_path):
    """Not for one that has changed since or is missing, nor for a robot that is in no file."""
    files = robot_files(found)
    assert not files.findings
    assert [name for name, _ in files.content.values()] == list(file_names("arm.urdf").values())
    copy = tmp_path / "copy.urdf"
    copy.write_text(URDF, encoding="utf-8")
    again = robot_files(found, robot_file=copy)
    assert again.content["identified_robot"] == (
        "copy.identified.urdf",
        files.content["identified_robot"][1],
    )
    copy.write_text(URDF.replace("2.5", "2.6"), encoding="utf-8")
    changed = robot_files(found, robot_file=copy)
    missing = robot_files(found, robot_file=tmp_path / "none.urdf")
    for none, words in ((changed, "has changed since"), (missing, "is not there any more")):
        assert none.content == {}
        assert none.certified is None
        assert none.findings
        assert (none.findings[0].level, none.findings[0].code) == (
            "warning",
            "robot-file-not-written",
        )
        assert words in none.findings[0].words
    robot = replace(found.model.robot, source=None)
    nowhere = robot_files(replace(found, model=Model(robot, found.model.terms)))
    assert nowhere.findings
    assert nowhere.findings[0].level == "info"
    paths = write_outputs(found, tmp_path, robot_file=tmp_path / "none.urdf")
    assert set(paths) == set(FILES)
    findings = json.loads(paths["result"].read_text())["findings"]
    assert findings[-1]["code"] == "robot-file-not-written"


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("é" * 300, "é" * 50),
        ("../x y", "x_y"),
        ("..", "robot"),
        ("", "robot"),
        (".hidden", "hidden"),
    ],
)
def test_a_new_robot_file_has_a_plain_name_in_the_folder(found, name, stem):
    """Whatever the robot is called: not hidden, not too long, in no other folder."""
    robot = replace(found.model.robot, source=None, name=name)
    files = robot_files(replace(found, model=Model(robot, found.model.terms)))
    assert files.content["identified_robot"][0] == f"{stem}.identified.urdf"


def test_a_link_that_was_emptied_but_moves_in_the_file_is_reported_once(folder, tmp_path):
    """Simulators refuse such a file, so that the user must hear of it when it is written."""
    robot = Robot.from_urdf(folder / "arm.urdf").lock({"elbow": 0.5})
    log = arm_log(robot, 1)
    found = identify(robot, log, attached="lump", **FEW)
    found = with_robot_file_finding(found, robot_files(found))
    document = json.loads(write_outputs(found, tmp_path)["result"].read_text())
    words = [one["words"] for one in document["findings"] if one["code"] == "emptied-link-moves"]
    assert len(words) == 1
    assert "'fore'" in words[0]
