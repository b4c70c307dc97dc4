"""The command line: exit codes, one JSON object, one-line errors, files whole or not at all."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable
from fractions import Fraction
from importlib import import_module
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import numpy as np
import pytest
from given_signals import FEW_FITS, FIXED
from project import SOURCES
from robot_files import example_urdfs
from small_arm import URDF, write_arm, write_run

from steelyard._files.result_seal import sealed
from steelyard.cli import demo, main
from steelyard.cli.output import one_line
from steelyard.cli.parser import build_parser
from steelyard.estimators.result_file import read_schema
from steelyard.identification.identify import identify
from steelyard.logs.reading import read_log
from steelyard.model.model import Model
from steelyard.robot.robot import Robot
from steelyard.signals.processing import Processing
from steelyard.simulation.builtin_arm import builtin_arm

BEATS = "beats the baseline (file's inertials, no friction)"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A robot file, two logs, and the default result for the first: its files, what is printed."""
    folder = tmp_path_factory.mktemp("arm")
    paths = {
        "robot": write_arm(folder),
        "train": write_run(folder, 1, "train.csv"),
        "test": write_run(folder, 2, "test.csv"),
        "out": folder / "out",
        "printed": folder / "printed.json",
    }
    argv = ["identify", str(paths["robot"]), str(paths["train"]), "-o", str(paths["out"]), "--json"]
    printed, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
        assert main(argv) == 0
    assert errors.getvalue() == ""
    paths["printed"].write_text(printed.getvalue(), encoding="utf-8")
    paths["result"] = paths["out"] / "result.json"
    return paths


def flat(value: object, place: str = "") -> dict[str, object]:
    """The values of a document by their places."""
    inner: Iterable[tuple[object, object]]
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    else:
        return {place: value}
    return {k: v for key, one in inner for k, v in flat(one, f"{place}/{key}").items()}


def run(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    capsys.readouterr()
    code = main([str(part) for part in argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def result_file(capsys: pytest.CaptureFixture[str], path: Path, *argv: object) -> Path:
    """The result of a quick identification as a file; faster than -o, which draws the report."""
    code, out, _ = run(capsys, "identify", *argv, *FEW_FITS, "--json")
    assert code in (0, 1)
    path.write_text(out, encoding="utf-8")
    return path


def run_process(*argv: object, **changes: object) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    return subprocess.run(
        [sys.executable, "-m", "steelyard", *map(str, argv)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        check=False,
        **changes,  # type: ignore[call-overload]
    )


def refusal(capsys: pytest.CaptureFixture[str], *argv: object) -> str:
    """The one-line error of a command, the same with and without --json."""
    code, out, err = run(capsys, *argv)
    assert code == 2
    assert out == ""
    assert err.startswith("steelyard: error: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    assert "Traceback" not in err
    code, out, err_json = run(capsys, *argv, "--json")
    assert code == 2
    assert err_json == err
    document = json.loads(out)
    assert one_line(document["error"]) == err.removeprefix("steelyard: error: ").rstrip("\n")
    return err


# --- bad input ------------------------------------------------------------------------------


def with_mass(text: str) -> str:
    return URDF.replace('<mass value="2.5"/>', text)


LAUGHS = (
    '<!DOCTYPE lolz [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {x} "{10 * f"&{y};"}">' for y, x in zip("abcdefgh", "bcdefghi"))
    + ']><robot name="&i;"/>'
)


@pytest.mark.parametrize("command", ["check", "identify", "simulate"])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "does not exist"),
        ("", "is empty"),
        ("not XML at all", "is not XML"),
        ("<robot><link></robot>", "is not XML"),
        (LAUGHS, "entities are refused"),
        ("<robot>" + 200_000 * "<a>", "nested deeper than 200"),
        (with_mass('<mass value="nan"/>'), "link 'upper': mass is 'nan'"),
        (with_mass('<mass value="1,5"/>'), "link 'upper': mass is '1,5'.*decimals with a point"),
        (with_mass('<mass value="heavy"/>'), "link 'upper': mass is 'heavy'"),
        (with_mass('<mass value="inf"/>'), "link 'upper': mass is 'inf'"),
        (with_mass("<mass/>"), "link 'upper'.*states no mass"),
        (with_mass(""), "link 'upper'.*states no mass"),
        (URDF.replace('xyz="0 1 0"', 'xyz="0 0 0"'), "joint 'shoulder': its axis is 0 0 0"),
        ('<robot name="r" xmlns:xacro="x"><xacro:arm/></robot>', "run: xacro"),
        ("<mujoco/>".replace("mujoco", "sdf"), "<sdf>, not <robot>"),
    ],
    ids=lambda value: None if value is None else re.sub(r"\W+", "-", value)[:30],
)
def test_bad_robot_files(capsys, tmp_path, files, command, text, words):
    """Every command refuses an invalid robot file in one line that names the file."""
    path = tmp_path / "bad.urdf"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    rest = {"check": [], "identify": [files["train"]], "simulate": ["-o", tmp_path / "log.csv"]}
    message = refusal(capsys, command, path, *rest[command])
    assert "bad.urdf" in message
    assert re.search(words, message)


def edited(edit: Callable[[list[list[str]]], list[list[str]]]) -> Callable[[Path, Path], None]:
    """A writer of the good log with its cells changed; row 0 is the header."""

    def write(good: Path, path: Path) -> None:
        rows = [line.split(",") for line in good.read_text().splitlines()]
        path.write_text("\n".join(",".join(row) for row in edit(rows)) + "\n")

    return write


def set_back(rows: list[list[str]]) -> list[list[str]]:
    return rows[:40] + rows[20:]


def set_cells(first: int, last: int, column: int, text: str) -> Callable[..., list[list[str]]]:
    def edit(rows: list[list[str]]) -> list[list[str]]:
        for row in rows[first:last]:
            row[column] = text
        return rows

    return edit


def rename(rows: list[list[str]]) -> list[list[str]]:
    rows[0] = [name.replace("elbow", "knee") for name in rows[0]]
    return rows


def huge_npz(good: Path, path: Path) -> None:
    """A file of a few hundred bytes whose header claims 700 GiB of doubles."""
    count = 700 * 2**30 // 8
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({count},), }}".encode()
    header += b" " * (63 - (len(header) + 10) % 64) + b"\n"
    array = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("time.npy", array)
    path.write_bytes(stream.getvalue())
    assert len(stream.getvalue()) < 400


@pytest.mark.parametrize("command", ["identify", "validate"])
@pytest.mark.parametrize(
    ("name", "write", "words"),
    [
        ("gone.csv", None, "no such file"),
        ("bad.xls", edited(lambda rows: rows), "unknown kind of log.*csv"),
        ("bad.csv", lambda good, path: path.write_text(""), "is empty"),
        ("bad.csv", edited(lambda rows: rows[:1]), "a header and no samples"),
        ("bad.csv", edited(lambda rows: rows[:2]), "only one sample"),
        ("bad.csv", edited(rename), "lacks joints.*: elbow; in the log but not.*: knee"),
        ("bad.csv", edited(set_back), "time runs backwards at row 40"),
        ("bad.csv", edited(set_cells(30, 60, 2, "n/a")), r"line 31.*torque.*'n/a'.*30 of"),
        ("bad.csv", edited(set_cells(1, None, 1, "nan")), "shoulder.position.*all 1001 rows"),
        ("bad.csv", edited(set_cells(1, None, 2, "nan")), "shoulder.torque"),
        ("bad.npz", huge_npz, "700 GiB"),
        ("bad.npz", lambda good, path: path.write_bytes(b"PK nonsense"), "bad.npz"),
        ("bad.csv", lambda good, path: path.write_bytes(bytes(range(256))), "bad.csv"),
    ],
    ids=lambda value: re.sub(r"\W+", "-", value)[:30] if isinstance(value, str) else "",
)
def test_bad_logs(capsys, tmp_path, files, command, name, write, words):
    """A log that cannot be used is refused in one line: what, where, what to do."""
    path = tmp_path / name
    if write is not None:
        write(files["train"], path)
    result = [files["result"]] if command == "validate" else []
    message = refusal(capsys, command, files["robot"], *result, path)
    assert re.search(words, message)


@pytest.mark.parametrize("command", ["identify", "validate"])
def test_a_damaged_row_is_skipped_and_named(capsys, tmp_path, files, command):
    """One row that cannot be read: it is left out, and a warning says where."""
    path = tmp_path / "damaged.dat"
    edited(set_cells(30, 31, 2, "n/a"))(files["train"], path)
    given = [files["result"]] if command == "validate" else []
    options = ["--method", "ols", *FIXED] if command == "identify" else []
    code, out, err = run(capsys, command, files["robot"], *given, path, *options)
    assert (code, err) == (0, "")
    assert re.search(r"1 of 1001 rows cannot be read and is skipped \(line 31\)", out)


@pytest.mark.parametrize("command", ["identify", "validate"])
def test_a_log_with_a_hole_is_cut(capsys, tmp_path, files, command):
    """Half a second without positions: the log is cut there, and a note says where."""
    path = tmp_path / "hole.csv"
    edited(set_cells(40, 90, 1, "nan"))(files["train"], path)
    given = [files["result"]] if command == "validate" else []
    options = ["--method", "ols", *FIXED] if command == "identify" else []
    code, out, err = run(capsys, command, files["robot"], *given, path, *options)
    assert (code, err) == (0, "")
    assert re.search(r"cut into 2 pieces where nothing was recorded: 0.38 to 0.89 s", out)


def test_a_joint_that_never_moves(capsys, tmp_path, files):
    """identify names the joint that never moves and what to do; validate accepts such a log."""
    path = tmp_path / "still.csv"
    edited(set_cells(1, None, 3, "0.5"))(files["test"], path)
    message = refusal(capsys, "identify", files["robot"], path)
    found = re.search(r"joint 'elbow' never moves.*lock it with (--lock \S+), record", message)
    assert found
    options = [*found[1].split(), "--method", "ols", *FIXED]
    code, _, _ = run(capsys, "identify", files["robot"], path, *options)
    assert code in (0, 1)
    code, _, _ = run(capsys, "validate", files["robot"], files["result"], path)
    assert code in (0, 1)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ([], "required: COMMAND.*steelyard --help"),
        (["weigh"], "invalid choice: 'weigh'"),
        (["check"], "required: FILE"),
        (["identify", "{robot}"], "required: LOG"),
        (["identify", "{robot}", "{train}", "--magic"], "unrecognized arguments: --magic"),
        (["identify", "{robot}", "{train}", "--meth", "ols"], "unrecognized arguments: --meth"),
        (["identify", "{robot}", "{train}", "--method", "svd"], "invalid choice: 'svd'"),
        (["identify", "{robot}", "{train}", "--cutoff-hz", "fast"], "'fast' is neither a number"),
        (["identify", "{robot}", "{train}", "--cutoff-hz", "-5"], "cutoff_hz is -5.0"),
        (["identify", "{robot}", "{train}", "--cutoff-hz", "80"], "80 Hz"),
        (["identify", "{robot}", "{train}", "--decimate", "0"], "decimate is 0"),
        (["identify", "{robot}", "{train}", "--trim-s", "6", "6"], "fewer than two"),
        (["identify", "{robot}", "{train}", "--dead-band", "slow"], "--dead-band is 'slow'"),
        (["identify", "{robot}", "{train}", "--friction-width", "none"], "--friction-width is 'n"),
        (["identify", "{robot}", "{train}", "--friction-width", "knee=1"], "knee.*shoulder, elbow"),
        (["identify", "{robot}", "{train}", "--dead-band", "knee=1"], "knee.*shoulder, elbow"),
        (["identify", "{robot}", "{train}", "--dead-band", "9"], "can be used"),
        (["identify", "{robot}", "{train}", "--level", "95"], "--level is 95.*0.95"),
        (["identify", "{robot}", "{train}", "--threads", "0"], "threads is 0"),
        (["identify", "{robot}", "{train}", "--gravity", "0", "0", "nan"], "gravity is"),
        (["identify", "{robot}", "{train}", "--gravity", "0", "0", "-1e300"], "gravity is"),
        (["identify", "{robot}", "{train}", "--gravity", "0", "-inf", "-9.81E+0"], "gravity is"),
        (["identify", "{robot}", "{train}", "--overlay", "gone.toml"], "gone.toml.*not exist"),
        (["identify", "{robot}", "{train}", "-o", "{train}"], "train.csv"),
        (["identify", "{train}", "{robot}"], "train.csv' is not XML"),
        (["validate", "{robot}", "gone.json", "{test}"], "gone.json.*no such file"),
        (["validate", "{robot}", "{robot}", "{test}"], "is not JSON"),
        (["validate", "{robot}", "{result}", "{test}", "--gravity", "0", "9", "0"], "gravity"),
        (["simulate", "{robot}", "-o", "log.txt"], "written as .csv"),
        (["simulate", "{robot}", "-o", "no/such/folder/log.csv"], "cannot be written"),
        (["simulate", "{robot}", "-o", "x.csv", "--set", "elbow.fx=1"], "no column 'elbow.fx'"),
        (["simulate", "{robot}", "-o", "x.csv", "--set", "elbo.fv=1"], "mean 'elbow.fv'.*shoulder"),
        (["simulate", "{robot}", "-o", "x.csv", "--set", "elbow.fv"], "NAME=VALUE"),
        (["simulate", "{robot}", "-o", "x.csv", "--friction", "-1", "0"], "shoulder.fv is -1"),
        (["simulate", "{robot}", "-o", "x.csv", "--rate-hz", "0"], "rate_hz is 0"),
        (["simulate", "{robot}", "-o", "x.csv", "--torque-noise", "-1"], "torque_noise"),
        (["simulate", "{robot}", "-o", "x.csv", "--share", "2"], "share is 2"),
        (["simulate", "{robot}", "gone.csv", "-o", "x.csv"], "no such file"),
        (["demo", "-o", "{train}"], "train.csv"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_command_lines(capsys, tmp_path, monkeypatch, files, argv, words):
    """Wrong arguments give one line and exit code 2, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    message = refusal(capsys, *(part.format(**files) for part in argv))
    assert re.search(words, message)
    assert list(tmp_path.iterdir()) == []


def test_a_result_of_another_robot_is_refused(capsys, tmp_path, files):
    """A result is bound to the geometry it was obtained with."""
    longer = write_arm(tmp_path, URDF.replace('xyz="0.3 0 0"', 'xyz="0.31 0 0"'))
    message = refusal(capsys, "validate", longer, files["result"], files["test"])
    assert "another geometry" in message


# --- identify and validate ------------------------------------------------------------------


def test_identify_prints_exactly_the_result_as_json(files):
    """With --json, standard output is the result document: valid, and the same as the file."""
    printed = files["printed"].read_text(encoding="utf-8")
    jsonschema.validate(json.loads(printed), read_schema())
    assert printed == files["result"].read_text(encoding="utf-8")


def test_identify_gives_what_the_library_gives(files):
    """The numbers of the command line are those of one library call."""
    found = identify(Robot.from_urdf(files["robot"]), [read_log(files["train"])])
    parameters = json.loads(files["result"].read_text())["estimate"]["parameters"]
    assert [p["predicts_with"] for p in parameters] == found.estimate.beta.tolist()


def test_identify_writes_its_files(files):
    """The folder holds result, tables, report, certificate, robot file, and no partial files."""
    assert sorted(path.name for path in files["out"].iterdir()) == [
        "arm.identified.joints.json",
        "arm.identified.urdf",
        "certificate.json",
        "parameters.csv",
        "report.html",
        "result.json",
        "standard_parameters.csv",
    ]
    document = json.loads(files["result"].read_text())
    table = (files["out"] / "parameters.csv").read_text().splitlines()
    names = [p["name"] for p in document["estimate"]["parameters"]]
    assert [line.split(",")[0] for line in table] == ["name", *names]
    assert names[0] in (files["out"] / "report.html").read_text()


def test_identify_shows_tables(capsys, files):
    """The printed tables have every base parameter, every joint, and the condition number."""
    argv = ("identify", files["robot"], files["train"], "--validate-on", files["test"])
    code, out, _ = run(capsys, *argv, *FEW_FITS, *FIXED)
    assert code == 0
    document = json.loads(files["result"].read_text())
    for parameter in document["estimate"]["parameters"]:
        assert parameter["name"] in out
    for words in ("shoulder", "elbow", "condition number", BEATS):
        assert words in out


def test_identify_takes_its_options(capsys, files):
    """Each option of the processing arrives in the record of the result."""
    argv = [
        *("--method", "ols", "--cutoff-hz", "12", "--filter-order", "3"),
        *("--torque-filter", "none", "--derivative", "savgol", "--savgol-window", "9"),
        *("--savgol-order", "3", "--trim-s", "0.5", "0.25", "--decimate", "2"),
        *("--max-gap-s", "0.1", "--interpolation", "cubic", "--sample-rate-hz", "100"),
        *("--dead-band", "elbow=0.1", "--still-joints", "keep", "--level", "0.9"),
        *("--friction-width", "elbow=0.02", "--friction-width", "shoulder=0"),
        *("--threads", "1", "--gravity", "0", "-9.81", "0"),
    ]
    code, _, said = run(capsys, "identify", files["robot"], files["train"], *argv, "--json")
    assert code == 2
    assert "gravity is turned by" in said
    argv += ["--accept", "gravity-direction"]
    code, out, _ = run(capsys, "identify", files["robot"], files["train"], *argv, "--json")
    document = json.loads(out)
    assert (code, document["verdict"]["level"]) == (1, "do not use")
    recorded = document["record"]["runs"][0]
    expected = Processing(
        velocity="differentiate",
        acceleration="differentiate",
        cutoff_hz=12.0,
        filter_order=3,
        torque_filter="none",
        derivative="savgol",
        savgol_window=9,
        savgol_order=3,
        trim_s=(0.5, 0.25),
        decimate=2,
        max_gap_s=0.1,
        interpolation="cubic",
        sample_rate_hz=100.0,
        still_joints="keep",
        dead_band={"elbow": 0.1},
    )
    assert recorded["processing"] == expected.as_record()
    assert recorded["dead_band"]["speeds"] == {"elbow": 0.1}
    assert {t["owner"]: t.get("width", 0.0) for t in document["model"]["terms"]
            if t["kind"] == "coulomb"} == {"shoulder": 0.0, "elbow": 0.02}  # fmt: skip
    assert document["estimate"]["method"] == "ols"
    assert document["estimate"]["interval_level"] == 0.9
    assert document["robot"]["gravity"] == [0.0, -9.81, 0.0]


def test_a_preset_is_the_papers_processing(capsys, files):
    """The preset has no dead band, and single options override it."""
    argv = ("--preset", "sousa2014", "--trim-s", "1", "1", "--json")
    code, out, _ = run(capsys, "identify", files["robot"], files["train"], *FEW_FITS, *argv)
    assert code == 0
    recorded = json.loads(out)["record"]["runs"][0]
    expected = {**Processing.sousa2014().as_record(), "trim_s": [1.0, 1.0]}
    assert recorded["processing"] == expected
    assert recorded["dead_band"]["asked"] is None
    assert set(recorded["dead_band"]["samples"].values()) == {0}


def test_an_overlay_changes_terms(capsys, tmp_path, files):
    """An overlay's terms make the model, and validation works with the same overlay."""
    overlay = tmp_path / "arm.toml"
    overlay.write_text('terms = ["viscous"]\ngravity = [0.0, 0.0, -9.81]\n', encoding="utf-8")
    argv = (files["robot"], files["train"], "--overlay", overlay, *FIXED)
    result = result_file(capsys, tmp_path / "result.json", *argv)
    document = json.loads(result.read_text())
    assert {term["kind"] for term in document["model"]["terms"]} == {"viscous"}
    code, _, _ = run(capsys, "validate", files["robot"], result, files["test"])
    assert code == 0


def test_validate_says_yes(capsys, files):
    """A good result beats the file's inertials: code 0, and errors per joint."""
    code, out, _ = run(capsys, "validate", files["robot"], files["result"], files["test"])
    assert code == 0
    assert BEATS in out
    code, out, err = run(
        capsys, "validate", files["robot"], files["result"], files["test"], files["train"], "--json"
    )
    document = json.loads(out)
    assert (code, err) == (0, "")
    assert [entry["run"] for entry in document["runs"]] == ["test", "train"]
    channels = document["overall"]["prediction"]["channels"]
    assert [channel["name"] for channel in channels] == ["shoulder", "elbow"]
    rows = [entry["prediction"]["n_rows"] for entry in document["runs"]]
    assert document["overall"]["prediction"]["n_rows"] == sum(rows)


def test_validate_says_no(capsys, tmp_path, files):
    """Parameters that predict worse than the file's inertials: code 1, in words and as data."""
    document = json.loads(files["result"].read_text())
    for parameter in document["estimate"]["parameters"]:
        parameter["predicts_with"] *= -3.0
    worse = tmp_path / "worse.json"
    worse.write_text(json.dumps(sealed(document)), encoding="utf-8")
    code, out, _ = run(capsys, "validate", files["robot"], worse, files["test"])
    assert code == 1
    assert "does not beat the baseline (file's inertials, no friction)" in out
    code, out, _ = run(capsys, "validate", files["robot"], worse, files["test"], "--json")
    assert code == 1
    assert json.loads(out)["overall"]["beats_prior"] is False


def test_validate_processes_as_the_result_records(capsys, tmp_path, files):
    """Without options, held-out logs go through the recorded processing, not the default."""
    same = ("--cutoff-hz", "7", "--decimate", "3", "--dead-band", "0.5")
    argv = (files["robot"], files["train"], "--torque-filter", "same", *same)
    result = result_file(capsys, tmp_path / "result.json", *argv)

    def rows(*options: str) -> int:
        command = ("validate", files["robot"], result, files["test"], "--json", *options)
        return int(json.loads(run(capsys, *command)[1])["overall"]["prediction"]["n_rows"])

    assert rows() == rows(*same)
    assert rows() < rows("--dead-band", "0")
    assert rows("--decimate", "1") > 2 * rows()


def test_a_result_worse_than_the_file_is_said(capsys, tmp_path, files):
    """identify warns, and returns 1, where the file's inertials predict held-out data better."""
    wrong = tmp_path / "wrong.csv"
    rows = [line.split(",") for line in files["test"].read_text().splitlines()]
    for row in rows[1:]:
        row[2], row[4] = (repr(-float(cell)) for cell in (row[2], row[4]))
    wrong.write_text("\n".join(",".join(row) for row in rows), encoding="utf-8")
    argv = ("identify", files["robot"], files["train"], "--validate-on", wrong, "--json")
    code, out, _ = run(capsys, *argv, *FEW_FITS, *FIXED)
    assert code == 1
    codes = [finding["code"] for finding in json.loads(out)["findings"]]
    assert "worse-than-prior" in codes


def test_the_same_log_twice_is_refused(capsys, tmp_path, files):
    """Two files with the same data are named; a copy does not narrow any interval."""
    copy = tmp_path / "copy.csv"
    copy.write_bytes(files["train"].read_bytes())
    message = refusal(capsys, "identify", files["robot"], files["train"], copy)
    assert re.search(r"'train' \(.*train.csv\) and 'copy' \(.*copy.csv\) have the same", message)


@pytest.mark.parametrize("command", ["validate", "identify"])
def test_a_test_on_the_training_log_is_a_fit(capsys, files, command):
    """validate reports a log that was used for the estimate, in words and as data."""
    robot, train = files["robot"], files["train"]
    argv = {
        "validate": ("validate", robot, files["result"], train),
        "identify": ("identify", robot, train, "--validate-on", train, *FEW_FITS, *FIXED),
    }[command]
    code, out, _ = run(capsys, *argv)
    assert code == 0
    assert "data that was not used" not in out
    assert "log 'train' was used for the estimate: its error is a fit, not a test" in out
    document = json.loads(run(capsys, *argv, "--json")[1])
    validation = document if command == "validate" else document["validation"]
    assert validation["runs"][0]["used_for_the_estimate"] is True
    assert "used-for-the-estimate" in [finding["code"] for finding in document["findings"]]


def test_the_report_does_not_call_training_data_held_out(capsys, tmp_path, files):
    """The report, too, says whether a log was used for the estimate."""
    for log, words in ((files["train"], "a fit, not a test"), (files["test"], "was not used")):
        argv = ("identify", files["robot"], files["train"], "--validate-on", log, "-o", tmp_path)
        assert run(capsys, *argv, *FEW_FITS, *FIXED)[0] == 0
        text = (tmp_path / "report.html").read_text(encoding="utf-8")
        assert ("not used for the estimate" in text) == (log == files["test"])
        assert words in text


def test_validate_says_what_was_done_to_the_signals(capsys, files):
    """Each run has its record; the cutoff is that of the estimate unless an option sets it."""
    recorded = json.loads(files["result"].read_text())["record"]["runs"][0]
    assert recorded["processing"]["cutoff_hz"] == recorded["cutoff_hz"]
    argv = ("validate", files["robot"], files["result"], files["test"], "--json")

    def record(*options: str) -> dict[str, object]:
        return json.loads(run(capsys, *argv, *options)[1])["runs"][0]["record"]

    found = record()
    assert found["cutoff_hz"] == recorded["cutoff_hz"]
    assert found["cutoff_choice"] is None
    assert found["samples_out"] > 0
    assert set(found["dead_band"]["samples"]) == {"shoulder", "elbow"}
    assert record("--cutoff-hz", "auto")["cutoff_choice"] is not None
    assert record("--cutoff-hz", "9")["cutoff_hz"] == 9.0


def test_a_test_is_the_same_in_both_commands(capsys, tmp_path, files):
    """identify --validate-on and validate give the same errors on the same log."""
    argv = (files["robot"], files["train"], "--validate-on", files["test"], *FIXED)
    result = result_file(capsys, tmp_path / "result.json", *argv)
    within = json.loads(result.read_text())["validation"]
    argv = ("validate", files["robot"], result, files["test"], "--json")
    folder = ("validate", files["robot"], tmp_path, files["test"], "--json")
    for command in (argv, folder):
        document = json.loads(run(capsys, *command)[1])
        assert document.pop("verdict")["level"] == "usable"
        assert document == within


def test_a_result_states_the_joints_that_its_overlay_locked(capsys, tmp_path, files):
    """validate locks them without the overlay; for a result without the record it is needed."""
    overlay = tmp_path / "arm.toml"
    overlay.write_text("[locked]\nelbow = 0.5\n", encoding="utf-8")
    argv = (files["robot"], files["train"], "--overlay", overlay, *FIXED)
    code, out, _ = run(capsys, "identify", *argv, *FEW_FITS)
    assert code in (0, 1)  # the elbow moves in the log
    assert "warning: log 'train': joint 'elbow' is locked or fixed" in out
    result = result_file(capsys, tmp_path / "result.json", *argv)
    code, out, _ = run(capsys, "validate", files["robot"], result, files["test"])
    assert code in (0, 1)
    assert "elbow at 0.5" in out
    document = json.loads(result.read_text(encoding="utf-8"))
    del document["robot"]["locked"], document["robot"]["turned"]  # as before these were recorded
    result.write_text(json.dumps(sealed(document)), encoding="utf-8")
    message = refusal(capsys, "validate", files["robot"], result, files["test"])
    assert "is for joints shoulder, but" in message
    assert "give the same robot file and --overlay" in message


def test_errors_say_what_they_cover(capsys, tmp_path, files):
    """The last line and the report say how torques were filtered and how many were left out."""
    options = ("--cutoff-hz", "9", "--torque-filter", "same", "--dead-band", "tenth")
    argv = ("--validate-on", files["test"], *options, *FEW_FITS, "-o", tmp_path)
    code, out, _ = run(capsys, "identify", files["robot"], files["train"], *argv)
    assert code == 0
    document = json.loads((tmp_path / "result.json").read_text())
    (record,) = document["record"]["runs"]
    left_out = sum(record["dead_band"]["samples"].values()) / (2 * record["samples_out"])
    covered = f"torque low-passed at 9 Hz; {100 * left_out:.2g} % of torques left out by the dead"
    assert covered in out
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert covered in report
    assert "measured, filtered" in report
    options = ("--torque-filter", "none", "--dead-band", "none", "--friction-width", "0")
    argv = ("--cutoff-hz", "9", *options, *FEW_FITS, "-o", tmp_path)
    code, out, _ = run(capsys, "identify", files["robot"], files["train"], *argv)
    assert re.search(r"ENTROPIC: relative error \S+ % \(torque not filtered\),", out)
    assert "measured, filtered" not in (tmp_path / "report.html").read_text(encoding="utf-8")


# --- check ----------------------------------------------------------------------------------


def test_check_says_which_rule_and_by_how_much(capsys, tmp_path):
    """An unphysical link is listed with the violated rule and the amount; exit code 1."""
    bad = write_arm(tmp_path, URDF.replace('izz="0.025"', 'izz="0.9"', 1), "bad.urdf")
    code, out, err = run(capsys, "check", bad)
    assert (code, err) == (1, "")
    assert re.search(r"upper +2.5 +no principal moment above the sum of the others +0.85", out)
    assert "fore" not in out
    code, out, _ = run(capsys, "check", bad, "--json")
    (entry,) = json.loads(out)["files"]
    (link,) = entry["not_physical"]
    assert link["link"] == "upper"
    assert link["violations"][0]["rule"] == "triangle_inequality"
    assert link["violations"][0]["amount"] == pytest.approx(0.85)


def test_check_is_content_with_a_physical_arm(capsys, files):
    """A physical file gives code 0; links without inertial are only notes."""
    code, out, _ = run(capsys, "check", files["robot"])
    assert code == 0
    assert "ground" not in out
    code, out, _ = run(capsys, "check", files["robot"], "--verbose")
    assert code == 0
    assert "without inertial: ground" in out


def test_what_a_file_says_twice_is_noted(capsys, tmp_path, files):
    """A second mass element, which is ignored, is a note of check and a finding of identify."""
    twice = '<mass value="2.5"/><mass value="7"/>'
    path = write_arm(tmp_path, URDF.replace('<mass value="2.5"/>', twice))
    code, out, _ = run(capsys, "check", path)
    assert code == 0
    assert "note: link 'upper' has 2 <mass> elements" in out
    code, out, _ = run(capsys, "identify", path, files["train"], *FEW_FITS, *FIXED, "--json")
    assert code == 0
    (note,) = [f for f in json.loads(out)["findings"] if f["code"] == "robot-file"]
    assert "'upper' has 2 <mass>" in note["words"]


def test_check_judges_tiny_inertias_as_stated(capsys, tmp_path):
    """An inertia of 1e-15 kg m² far from the origin is judged by its own digits."""
    tiny = '<inertia ixx="1e-15" ixy="0" ixz="0" iyy="1e-15" iyz="0" izz="9e-15"/>'
    text = re.sub(r"<inertia [^>]*/>", tiny, URDF, count=1).replace("0.1 0.02 0.03", "5 5 5", 1)
    code, out, _ = run(capsys, "check", write_arm(tmp_path, text), "--json")
    assert code == 1
    (link,) = json.loads(out)["files"][0]["not_physical"]
    assert link["violations"][0]["amount"] == pytest.approx(7e-15)


def test_check_goes_on_after_a_file_it_cannot_read(capsys, tmp_path, files):
    """All files are checked; one that cannot be read gives exit code 2."""
    code, out, err = run(capsys, "check", tmp_path / "gone.urdf", files["robot"])
    assert code == 2
    assert "gone.urdf" in err
    assert err.count("\n") == 1
    assert "nothing unphysical" in out


def exact_violators(path: Path) -> set[str]:
    """Links whose stated digits are unphysical, in rational arithmetic.

    A second moment about the centre of mass, tr(I)/2 1 - I, is positive semidefinite if and
    only if none of its principal minors is negative; turning the axes changes nothing.
    """
    found = set()
    for link in ElementTree.parse(path).getroot().iter("link"):
        inertial = link.find("inertial")
        if inertial is None:
            continue
        mass = Fraction(inertial.find("mass").attrib["value"])
        entries = {k: Fraction(v.strip()) for k, v in inertial.find("inertia").attrib.items()}
        inertia = [[entries["i" + "".join(sorted(a + b))] for b in "xyz"] for a in "xyz"]
        half = sum(inertia[i][i] for i in range(3)) / 2
        second = [[half * (i == j) - inertia[i][j] for j in range(3)] for i in range(3)]
        negative = any(
            determinant([[second[i][j] for j in rows] for i in rows]) < 0
            for size in (1, 2, 3)
            for rows in combinations(range(3), size)
        )
        empty = mass == 0 and not any(entries.values())
        if not empty and (mass <= 0 or negative):
            found.add(link.attrib["name"])
    return found


def determinant(matrix: list[list[Fraction]]) -> Fraction:
    if len(matrix) == 1:
        return matrix[0][0]
    minors = [[row[:j] + row[j + 1 :] for row in matrix[1:]] for j in range(len(matrix))]
    return sum(
        ((-1) ** j * matrix[0][j] * determinant(minor) for j, minor in enumerate(minors)),
        Fraction(0),
    )


def test_check_agrees_with_exact_arithmetic_on_real_robots(capsys):
    """Over all of example-robot-data, the links listed are those that exact arithmetic finds.

    56 links with a mass in 18 files and two massless feet with an inertia in another; exact
    arithmetic also sees breaches below the rounding of a 64-bit float.
    """
    paths = example_urdfs()
    code, out, err = run(capsys, "check", *paths, "--json")
    assert "Traceback" not in err
    document = json.loads(out)
    unread = [Path(entry["path"]).name for entry in document["files"] if "error" in entry]
    assert code == (2 if unread else 1)
    assert len(unread) <= 1
    for entry in document["files"]:
        if "error" in entry:
            continue
        ours = {link["link"] for link in entry["not_physical"]}
        exact = exact_violators(Path(entry["path"]))
        assert ours <= exact
        assert not {name for name in exact - ours if not barely(Path(entry["path"]), name)}
    assert document["bad_links"] >= 50


def barely(path: Path, name: str) -> bool:
    """Whether a link breaks a rule by no more than the rounding of its numbers."""
    from steelyard.robot.inertia import ROUNDING

    link = next(x for x in ElementTree.parse(path).getroot().iter("link") if x.get("name") == name)
    entries = {k: float(v) for k, v in link.find("inertial").find("inertia").attrib.items()}
    inertia = np.array([[entries["i" + "".join(sorted(a + b))] for b in "xyz"] for a in "xyz"])
    moments = np.linalg.eigvalsh(inertia)
    excess = moments[2] - moments[1] - moments[0]
    return bool(excess <= 10 * ROUNDING * np.abs(inertia).sum())


def test_check_reads_mjcf(capsys, tmp_path):
    """An MJCF file is recognised by its first element, whatever its name."""
    pytest.importorskip("mujoco")
    path = tmp_path / "arm.xml"
    path.write_text(
        "<!-- <robot/> --><mujoco><worldbody><body name='a'><joint name='j'/>"
        "<inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/></body></worldbody></mujoco>"
    )
    code, out, _ = run(capsys, "check", path, "--json")
    assert code == 0
    assert json.loads(out)["files"][0]["n_links"] == 2


# --- simulate, demo, info -------------------------------------------------------------------


def test_simulate_writes_a_log_that_identify_reads(capsys, tmp_path, files):
    """identify recovers the values of --friction and --set."""
    log = tmp_path / "log.csv"
    argv = ("--friction", "0.5", "0.2", "--set", "elbow.fc=0.9", "--duration-s", "10")
    noise = ("--torque-noise", "0.01", "--rate-hz", "100", "--controller", "ideal", "--json")
    code, out, _ = run(capsys, "simulate", files["robot"], "-o", log, *argv, *noise)
    assert code == 0
    document = json.loads(out)
    assert document["n_samples"] == 1001
    assert document["parameters"]["elbow.fc"] == 0.9
    code, out, _ = run(capsys, "identify", files["robot"], log, *FEW_FITS, *FIXED, "--json")
    found = {p["name"]: p["value"] for p in json.loads(out)["estimate"]["parameters"]}
    assert found["shoulder.fv"] == pytest.approx(0.5, rel=0.1)
    assert found["elbow.fc"] == pytest.approx(0.9, rel=0.1)


def test_simulate_follows_a_motion_file(capsys, tmp_path, files):
    """The positions of a motion file come back in the log, at another rate."""
    log = tmp_path / "log.csv"
    argv = ("simulate", files["robot"], files["test"], "-o", log)
    assert run(capsys, *argv, "--rate-hz", "200", "--controller", "ideal")[0] == 0
    asked, followed = read_log(files["test"]), read_log(log)
    assert followed.duration_s == pytest.approx(asked.duration_s)
    for joint in ("shoulder", "elbow"):
        np.testing.assert_allclose(
            followed.signal(joint, "position")[::2], asked.signal(joint, "position"), atol=1e-9
        )


def test_simulate_repeats_itself(capsys, tmp_path, files):
    """The same seed gives the same bytes, another seed others."""
    contents = []
    for k, seed in enumerate((5, 5, 6)):
        log = tmp_path / f"{k}.csv"
        argv = ("--torque-noise", "0.1", "--duration-s", "1", "--rate-hz", "50", "--seed", seed)
        assert run(capsys, "simulate", files["robot"], "-o", log, *argv)[0] == 0
        contents.append(log.read_bytes())
    assert contents[0] == contents[1] != contents[2]


def test_demo_goes_all_the_way(capsys, monkeypatch, tmp_path):
    """The demo writes its files and finds nearly every true parameter inside its interval.

    The files hold exactly what was identified, with the default options: ``identify`` gives the
    same from them.
    """
    options = {}

    def recording(robot, logs, **given):
        options.update(given)
        return identify(robot, logs, **given)

    monkeypatch.setattr(import_module("steelyard.identification.identify"), "identify", recording)
    code, out, err = run(capsys, "demo", "-o", tmp_path / "demo", "--json")
    assert (code, err) == (0, "")
    document = json.loads(out)
    jsonschema.validate(document["result"], read_schema())
    names = sorted(path.name for path in (tmp_path / "demo").iterdir())
    # the hand's rest without flange and tool may not be physical, which a finding says
    codes = [finding["code"] for finding in document["result"]["findings"]]
    own = ["arm.identified.joints.json", "arm.identified.urdf"]
    assert [name for name in names if ".identified." in name] == (
        [] if "robot-file-not-written" in codes else own
    )
    assert [name for name in names if name not in own] == [
        "arm.urdf",
        "certificate.json",
        "held_out.csv",
        "log.csv",
        "parameters.csv",
        "report.html",
        "result.json",
        "standard_parameters.csv",
    ]
    coverage = document["coverage"]
    assert coverage["total"] == len(document["result"]["estimate"]["parameters"])
    # one log: intervals of parameters that depend on each other miss together
    assert coverage["inside"] >= 0.85 * coverage["total"]
    assert document["result"]["validation"]["overall"]["beats_prior"] is True
    del options["validate_on"]
    assert options == {"processing": Processing(), "level": 0.95}
    folder = tmp_path / "demo"
    (trained,) = document["result"]["record"]["runs"]
    assert read_log(folder / "log.csv").content_hash == trained["content_sha256"]
    written, built_in = Model(Robot.from_urdf(folder / "arm.urdf")), Model(builtin_arm())
    assert written.hash == built_in.hash
    assert written.prior_theta().tolist() == built_in.prior_theta().tolist()
    argv = ("validate", folder / "arm.urdf", folder / "result.json", folder / "held_out.csv")
    code, out, _ = run(capsys, *argv, "--json")
    assert code == 0
    # one sum over samples, in another order
    again, first = (
        flat(x) for x in (json.loads(out)["overall"], document["result"]["validation"]["overall"])
    )
    assert again.keys() == first.keys()
    for place, value in first.items():
        same = pytest.approx(value, rel=1e-12) if isinstance(value, float) else value
        assert again[place] == same, place


@pytest.mark.parametrize(
    ("called", "found", "words"),
    [
        (".venv/bin/steelyard", None, ".venv/bin/steelyard"),
        (".venv/bin/steelyard", "/usr/bin/steelyard", ".venv/bin/steelyard"),
        ("/opt/my tools/steelyard", None, "'/opt/my tools/steelyard'"),
        ("/usr/bin/steelyard", "/usr/bin/steelyard", "steelyard"),
        ("/x/steelyard/__main__.py", None, f"{shlex.quote(sys.executable)} -m steelyard"),
    ],
)
def test_the_demo_ends_with_a_command_that_can_be_pasted(monkeypatch, called, found, words):
    """The next command names the program as the shell finds it, and the files of the demo."""
    monkeypatch.setattr(sys, "argv", [called, "demo"])
    monkeypatch.setattr(demo.shutil, "which", lambda name: found)
    names = {"robot": "arm.urdf", "log": "log.csv", "held_out": "held_out.csv"}
    inputs = {kind: Path("demo") / name for kind, name in names.items()}
    assert demo.next_command(inputs) == (
        f"{words} identify demo/arm.urdf demo/log.csv --validate-on demo/held_out.csv -o out"
    )
    argv = shlex.split(demo.next_command(inputs))
    build_parser().parse_args(argv[argv.index("identify") :])


def test_a_narrow_terminal_gets_a_narrow_table(capsys, monkeypatch, files):
    """Below 120 columns combinations follow the table; COLUMNS sets the width of a pipe."""
    combined = json.loads(files["result"].read_text())["estimate"]["parameters"]
    longest = max((p["combination"] for p in combined), key=len)
    for columns, wide in (("80", False), ("200", True)):
        monkeypatch.setenv("COLUMNS", columns)
        code, out, _ = run(capsys, "identify", files["robot"], files["train"], *FEW_FITS, *FIXED)
        assert code == 0
        lines = out.splitlines()
        (head,) = [line for line in lines if line.split()[:2] == ["parameter", "value"]]
        assert ("combination" in head) == wide
        assert len(head) <= int(columns)
        assert ("Parameters that are combinations:" in out) != wide
        assert longest in " ".join(out.split())


def test_info_tells_versions_without_compiling(capsys):
    """Versions of what is needed, what is optional, and where compiled code is kept."""
    import numpy

    code, out, _ = run(capsys, "info", "--json")
    assert code == 0
    document = json.loads(out)
    assert document["needed"]["numpy"] == numpy.__version__
    assert set(document["optional"]) == {"mujoco", "pin"}
    assert document["threads"] >= 1
    code, out, _ = run(capsys, "info")
    assert code == 0
    assert "numba" in out


def test_info_tests_itself_when_asked(capsys):
    """The self-test compares two kernels and says so."""
    code, out, _ = run(capsys, "info", "--self-test", "--json")
    assert code == 0
    assert json.loads(out)["self_test"]["passed"] is True


# --- the process ----------------------------------------------------------------------------


LIGHT = ("numba", "scipy", "matplotlib", "jinja2", "mujoco", "pinocchio")
NEEDLESS = tuple(
    f"scipy.{one}" for one in ("interpolate", "signal", "stats", "optimize", "spatial")
)
"""What an identification with all defaults does without, each a tenth of a second and more."""
WHOLE = ["identify", "{robot}", "{train}", "--validate-on", "{test}", "-o", "{folder}"]


@pytest.mark.parametrize(
    ("argv", "heavy"),
    [
        (["--help"], LIGHT),
        (["info"], LIGHT),
        (["check", "{robot}"], (*LIGHT, "steelyard.export.physical")),
        (["identify", "-h"], LIGHT),
        (WHOLE, (*NEEDLESS, "matplotlib", "pinocchio", "mujoco")),
    ],
)
def test_commands_load_nothing_heavy_that_they_do_not_need(files, tmp_path, argv, heavy):
    """--help, info and check start without Numba and SciPy; identify without most of SciPy."""
    code = (
        "import atexit, gc, sys\n"
        "atexit.register(lambda: print('frozen', gc.get_freeze_count() > 0, file=sys.stderr))\n"
        "from steelyard.cli import main\n"
        f"code = main({[part.format(**files, folder=tmp_path) for part in argv]!r})\n"
        f"found = sorted(set({heavy!r}) & set(sys.modules))\n"
        "sys.exit(f'loaded {found}, code {code}' if found or code else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # exit handlers still run, and no search for cycles delays the end
    assert done.stderr.splitlines()[-1] == "frozen True"


def test_the_module_runs(files):
    """python -m steelyard is the same command, with the same exit codes."""
    assert run_process("check", files["robot"]).returncode == 0
    done = run_process("check", "gone.urdf")
    assert done.returncode == 2
    assert done.stderr.startswith("steelyard: error: 'gone.urdf'")
    assert run_process("--version").stdout.startswith("steelyard 0")


def test_a_closed_pipe_ends_quietly(files):
    """A closed pipe gives exit code 141 and no error message."""
    process = subprocess.Popen(
        [sys.executable, "-m", "steelyard", "check", *(60 * [str(files["robot"])]), "--verbose"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    errors = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(120) == 141
    assert errors == ""


def test_a_terminal_without_unicode_is_served(files):
    """An ASCII-only standard output gets question marks, not a traceback."""
    argv = ("identify", files["robot"], files["train"], *FEW_FITS, *FIXED)
    done = subprocess.run(
        [sys.executable, "-m", "steelyard", *argv],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(SOURCES), "PYTHONIOENCODING": "ascii"},
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"shoulder.fv" in done.stdout


def test_an_interrupt_is_one_line(capsys, monkeypatch, files):
    """Ctrl-C gives code 130 and one line."""
    from steelyard.cli import check

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(check, "read_robot", interrupted)
    code, _, err = run(capsys, "check", files["robot"])
    assert (code, err) == (130, "steelyard: interrupted\n")


def test_what_is_not_visible_is_escaped():
    """An error is one line without control characters, whatever a file is called."""
    assert one_line("a\nb\x1b[2Jc\u202ed") == "a b\\x1b[2Jc\\u202ed"


def test_outputs_do_not_overwrite_inputs(tmp_path, capsys):
    """A motion that is also the output, and a robot named like a result, are refused."""
    urdf = tmp_path / "result.json"
    urdf.write_text(URDF)
    log = tmp_path / "log.csv"
    assert main(["simulate", str(urdf), "-o", str(log), "--duration-s", "3"]) == 0
    before = log.read_bytes()
    assert main(["simulate", str(urdf), str(log), "-o", str(log)]) == 2
    assert "would overwrite an input" in capsys.readouterr().err
    assert log.read_bytes() == before
    assert main(["identify", str(urdf), str(log), "-o", str(tmp_path)]) == 2
    assert urdf.read_text() == URDF


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_fifo_is_no_result(tmp_path, capsys):
    """A pipe given as a result is refused, not waited for."""
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(URDF)
    assert main(["validate", str(urdf), str(pipe), "log.csv"]) == 2
    assert "not a regular file" in capsys.readouterr().err


def test_a_defect_is_one_line_too(monkeypatch, capsys):
    """An unexpected exception gives one line, one JSON object and exit code 2."""
    import steelyard.cli.info as info

    def broken(arguments):
        raise ZeroDivisionError("by surprise")

    monkeypatch.setattr(info, "run", broken)
    monkeypatch.delenv("STEELYARD_TRACEBACK", raising=False)
    assert main(["info", "--json"]) == 2
    out, err = capsys.readouterr()
    assert "internal error (ZeroDivisionError: by surprise)" in err
    assert "error" in json.loads(out)


def test_constraints_on_the_command_line(capsys, tmp_path):
    """Constraints on masses and on the total mass hold, and contradictions are named."""
    files = {"robot": write_arm(tmp_path), "train": write_run(tmp_path, 1, "train.csv")}
    argv = ["identify", files["robot"], files["train"], *FEW_FITS, *FIXED, "--no-ranges", "--json"]
    code, out, _ = run(capsys, *argv, "--mass", "fore=1.9:2", "--total-mass", "3", "4")
    assert code == 0
    values = {p["name"]: p["value"] for p in json.loads(out)["standard"]["parameters"]}
    assert 1.9 <= values["fore.m"] <= 2.0
    assert 3.0 <= values["fore.m"] + values["upper.m"] <= 4.0
    code, _, err = run(capsys, *argv, "--mass", "fore=5:6", "--total-mass", "3", "4")
    assert code == 2
    assert "fore" in err
    assert run(capsys, *argv, "--mass", "fore")[0] == 2


def test_a_command_leaves_the_collector_as_it_was(monkeypatch, capsys):
    """It collects seldom while it runs, and as before afterwards, also if it fails."""
    import gc

    from steelyard import cli

    during = []
    before = gc.get_threshold()
    monkeypatch.setattr(cli, "run", lambda argv: during.append(gc.get_threshold()) or 0)
    assert cli.main([]) == 0
    assert during == [cli.COLLECTED_AT]
    assert gc.get_threshold() == before

    def stop(argv):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "run", stop)
    assert cli.main([]) == cli.INTERRUPTED
    assert gc.get_threshold() == before


# --- interrupted, and nowhere to write ----------------------------------------------------------

START = """
import signal, sys
class Interrupting:
    def find_spec(self, name, *_):
        if name == {module!r}:
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
sys.argv = ["steelyard", "check", {robot!r}]
from steelyard.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    "module", ["steelyard.cli", "numpy", "numpy.linalg", "steelyard.robot.robot", "rich.console"]
)
def test_ctrl_c_during_an_import(files, module):
    """One line and 130, whatever is being imported."""
    done = subprocess.run(
        [sys.executable, "-c", START.format(module=module, robot=str(files["robot"]))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (130, "steelyard: interrupted\n")
    assert done.stdout == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("json_option", [[], ["--json"]])
@pytest.mark.parametrize("command", ["check", "info"])
def test_an_answer_that_cannot_be_printed_is_none(files, command, json_option):
    """A full disk: one line and 2, not the 1 of a negative answer."""
    argv = [command, *([str(files["robot"])] if command == "check" else []), *json_option]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "steelyard", *argv],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("steelyard: error: ")
    assert "No space left on device" in line


def test_terminated_while_a_file_is_written(files, tmp_path):
    """SIGTERM removes the temporary file; one line, 143."""
    script = (
        "import os, signal, sys\nimport steelyard._files.access as access\n"
        "access._lock = lambda _: os.kill(os.getpid(), signal.SIGTERM)\n"
        "from steelyard.cli import main\nsys.exit(main(sys.argv[1:]))\n"
    )
    argv = ["check", str(files["robot"]), "--fix", str(tmp_path / "fixed.urdf")]
    done = subprocess.run(
        [sys.executable, "-c", script, *argv], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (143, "steelyard: terminated\n")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_that_a_library_made_another_error_of(monkeypatch, capsys):
    """It is 130 all the same, and no internal error."""
    import signal

    from steelyard import cli

    def wrapped():
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise ImportError("a part failed to import") from None

    monkeypatch.setattr(cli, "build_parser", wrapped)
    before = signal.getsignal(signal.SIGINT)
    assert cli.main(["check", "--json"]) == 130
    assert capsys.readouterr() == ("", "steelyard: interrupted\n")
    assert signal.getsignal(signal.SIGINT) is before
