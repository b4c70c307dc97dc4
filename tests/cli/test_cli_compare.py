"""``compare``: tables that fit the terminal, JSON, and refusals."""

from __future__ import annotations

import json

import pytest
from small_arm import URDF, arm_log

from steelyard._files.result_seal import sealed
from steelyard.cli import main
from steelyard.estimators.result_file import write_result
from steelyard.identification.identify import identify
from steelyard.identification.outputs import document_of
from steelyard.robot.robot import Robot
from steelyard.signals.processing import Processing

ARM = Robot.from_urdf_text(URDF)
PROCESSING = Processing(cutoff_hz=10.0, dead_band=0.1, torque_filter="none")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Folders with results of two logs; the second has another method and held-out errors."""
    root = tmp_path_factory.mktemp("results")
    test = arm_log(ARM, 3)
    for name, seed, method, held_out in (("a", 1, "wls", ()), ("b", 2, "ols", test)):
        found = identify(
            ARM,
            arm_log(ARM, seed),
            validate_on=held_out,
            method=method,
            processing=PROCESSING,
            compare_terms=False,
            friction_width=0.0,
        )
        (root / name).mkdir()
        write_result(root / name / "result.json", document_of(found))
    (root / "empty").mkdir()
    return root


def run(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    capsys.readouterr()
    code = main([str(part) for part in argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize("width", [60, 80, 160])
def test_tables_fit_the_terminal(capsys, folders, monkeypatch, width):
    """Folders and files are taken; no line of a table is wider than the terminal."""
    monkeypatch.setenv("COLUMNS", str(width))
    code, out, err = run(capsys, "compare", folders / "a", folders / "b" / "result.json")
    assert (code, err) == (0, "")
    tables = [line for line in out.splitlines() if line.startswith(" ")]
    assert max(map(len, tables)) <= width
    assert "Base parameters; B - A in joint standard deviations" in out
    assert ("±" in " ".join(tables)) is (width >= 100)
    assert "method" in out
    assert "held-out, all samples" in out
    assert "no standard parameters: links are not compared" in out
    assert out.splitlines()[-1].startswith("The results ")


def test_as_json(capsys, folders):
    """One object with every pair of numbers; the same numbers as in the files."""
    code, out, _ = run(capsys, "compare", folders / "a", folders / "b", "--json")
    assert code == 0
    document = json.loads(out)
    stored = [json.loads((folders / name / "result.json").read_text()) for name in "ab"]
    assert document["same_model"] is True
    assert document["n_compared"] == len(stored[0]["estimate"]["parameters"])
    for k, pair in enumerate(document["base"]):
        assert [pair["a"], pair["b"]] == [s["estimate"]["parameters"][k]["value"] for s in stored]
    assert {"what": "method", "a": "wls", "b": "ols"} in document["settings"]
    training = document["errors"][0]
    assert [training["a"], training["b"]] == [s["estimate"]["relative_error"] for s in stored]
    assert document["same_held_out"] is None


def test_bad_input(capsys, folders, tmp_path):
    """No result in a folder, no such file, other JSON, other robots: one line and code 2."""
    text = (folders / "a" / "result.json").read_text()
    for name in ("shoulder", "elbow", "upper", "fore"):
        text = text.replace(name, f"x{name}")
    (tmp_path / "other.json").write_text(json.dumps(sealed(json.loads(text))))
    (tmp_path / "list.json").write_text("[]")
    for other, words in (
        (folders / "empty", "has no result.json; give a folder that identify -o wrote"),
        (tmp_path / "missing.json", "missing.json"),
        (tmp_path / "list.json", "is not a result file"),
        (tmp_path / "other.json", "no parameter in common"),
    ):
        code, _, err = run(capsys, "compare", folders / "a", other)
        assert code == 2
        assert err.startswith("steelyard: error: ")
        assert err.count("\n") == 1
        assert words in err
        code, out, _ = run(capsys, "compare", folders / "a", other, "--json")
        assert code == 2
        assert json.loads(out)["error"]
