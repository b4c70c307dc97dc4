"""``check --fix``: exit codes, output, written files and refusals."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from robot_files import example_urdfs
from small_arm import URDF, write_arm

from steelyard.cli import main
from steelyard.export.physical import unphysical_links

BROKEN = URDF.replace('izz="0.025"', 'izz="0.9"', 1)
NO_MASS = BROKEN.replace('value="1.5"', 'value="0"')


def run(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    capsys.readouterr()
    code = main([str(part) for part in argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def refusal(capsys: pytest.CaptureFixture[str], *argv: object) -> str:
    """The one line with which a command is refused, with and without --json."""
    code, out, err = run(capsys, *argv)
    assert code == 2
    assert err.startswith("steelyard: error: ")
    assert err.count("\n") == 1
    code, out, _ = run(capsys, *argv, "--json")
    assert code == 2
    assert json.loads(out)["error"]
    return err


def test_fix_writes_the_nearest_file_and_says_what_changed(capsys, tmp_path):
    """The bad link is listed with the size of its change; code 0, and a second check passes.

    Moments 0.02, 0.03 (nearly) and 0.9 become physical by a change of 0.85 / sqrt(3).
    """
    path, out_path = write_arm(tmp_path, BROKEN), tmp_path / "fixed.urdf"
    code, out, err = run(capsys, "check", path, "--fix", out_path)
    assert (code, err) == (0, "")
    assert re.search(r"upper +0\.4907 kg m² +54\.\d+ %", out)
    assert "1 link repaired, all links exactly physical" in out
    assert path.read_text() == BROKEN
    assert unphysical_links(out_path) == ()
    fixed = out_path.read_text()
    start, end = BROKEN.index("<inertia "), BROKEN.index("/>", BROKEN.index("<inertia "))
    assert fixed.startswith(BROKEN[:start])
    assert fixed.endswith(BROKEN[end:])
    assert run(capsys, "check", out_path)[0] == 0
    code, out, _ = run(capsys, "check", path, "--fix", out_path, "--verbose")
    assert re.search(r"upper, inertia izz: 0\.9 -> 0\.6\d+", out)


def test_fix_as_json(capsys, tmp_path):
    """The object has the verdict on the input and, beside it, every number that changed."""
    path, out_path = write_arm(tmp_path, BROKEN), tmp_path / "fixed.urdf"
    code, out, _ = run(capsys, "check", path, "--fix", out_path, "--json")
    assert code == 0
    document = json.loads(out)
    assert document["bad_links"] == 1
    fixed = document["fixed"]
    assert fixed["path"] == str(out_path)
    assert fixed["physical"] is True
    assert fixed["not_repaired"] == []
    (repair,) = fixed["repairs"]
    assert repair["link"] == "upper"
    assert repair["rules"] == ["triangle_inequality"]
    assert repair["distance"] == pytest.approx(0.4907, rel=1e-3)
    written = {change["what"]: change["after"] for change in repair["changes"]}
    assert f'izz="{written["inertia izz"]}"' in out_path.read_text()
    assert {change["before"] for change in repair["changes"]} >= {"0.9", "0.02"}


def test_what_cannot_be_repaired_is_named_and_the_rest_is(capsys, tmp_path):
    """A massless link is left unchanged, with advice; the others are repaired; exit code 1."""
    path, out_path = write_arm(tmp_path, NO_MASS), tmp_path / "fixed.urdf"
    code, out, _ = run(capsys, "check", path, "--fix", out_path)
    assert code == 1
    assert "not repaired: link 'fore' has no mass but an inertia" in out
    assert "1 link repaired, 1 not; the file is not physical" in out
    assert unphysical_links(out_path) == ("fore",)
    code, out, _ = run(capsys, "check", path, "--fix", out_path, "--json")
    assert code == 1
    fixed = json.loads(out)["fixed"]
    assert not fixed["physical"]
    assert [entry["link"] for entry in fixed["not_repaired"]] == ["fore"]
    assert [entry["link"] for entry in fixed["repairs"]] == ["upper"]


def test_a_physical_file_is_copied(capsys, tmp_path):
    """A physical file is copied byte for byte."""
    path, out_path = write_arm(tmp_path, URDF.replace("\n", "\r\n")), tmp_path / "fixed.urdf"
    code, out, _ = run(capsys, "check", path, "--fix", out_path)
    assert code == 0
    assert "exact copy" in out
    assert out_path.read_bytes() == path.read_bytes()


def test_the_input_is_never_overwritten(capsys, tmp_path):
    """Its own name, another spelling of it and links to it are refused."""
    path = write_arm(tmp_path, BROKEN)
    soft, hard = tmp_path / "soft.urdf", tmp_path / "hard.urdf"
    try:
        soft.symlink_to(path)
        os.link(path, hard)
    except OSError:
        pytest.skip("this system has no links for this user")
    for name in (path, tmp_path / "." / "arm.urdf", soft, hard):
        assert "is the file that is checked" in refusal(capsys, "check", path, "--fix", name)
    assert path.read_text() == BROKEN


def test_fix_refuses_what_it_cannot_write(capsys, tmp_path):
    """Several files, MJCF, a folder, a missing folder and a broken input: code 2, no file."""
    path, out_path = write_arm(tmp_path, BROKEN), tmp_path / "fixed.urdf"
    before = sorted(tmp_path.iterdir())
    assert "one file; 2 were given" in refusal(capsys, "check", path, path, "--fix", out_path)
    mjcf = tmp_path / "arm.xml"
    mjcf.write_text("<mujoco/>")
    assert "is MJCF, and --fix writes URDF only" in refusal(
        capsys, "check", mjcf, "--fix", out_path
    )
    mjcf.unlink()
    assert "is a folder" in refusal(capsys, "check", path, "--fix", tmp_path)
    assert "not a regular file" in refusal(capsys, "check", path, "--fix", os.devnull)
    gone = tmp_path / "gone" / "fixed.urdf"
    assert "cannot be written" in refusal(capsys, "check", path, "--fix", gone)
    assert "does not exist" in refusal(capsys, "check", tmp_path / "no.urdf", "--fix", out_path)
    loop = write_arm(tmp_path, BROKEN.replace('child link="fore"', 'child link="upper"'), "l.urdf")
    assert "two joints" in refusal(capsys, "check", loop, "--fix", out_path)
    loop.unlink()
    assert sorted(tmp_path.iterdir()) == before


def test_a_failed_write_leaves_what_was_there(capsys, tmp_path, monkeypatch):
    """If the output cannot be replaced, the old file stays intact and no temporary file is left."""
    path, out_path = write_arm(tmp_path, BROKEN), tmp_path / "fixed.urdf"
    out_path.write_text("precious")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert "No space left" in refusal(capsys, "check", path, "--fix", out_path)
    monkeypatch.undo()
    assert out_path.read_text() == "precious"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["arm.urdf", "fixed.urdf"]


def test_real_files_through_the_command_line(capsys, tmp_path):
    """Broken files of example-robot-data are fixed with code 0, or 1 where a mass is missing.

    Every third of them: that each one is fixed is a test of the export.
    """
    code, out, _ = run(capsys, "check", *example_urdfs(), "--json")
    broken = [entry for entry in json.loads(out)["files"] if entry.get("not_physical")]
    assert len(broken) >= 18
    out_path = tmp_path / "fixed.urdf"
    massless = [
        entry for entry in broken if any(link["mass"] <= 0.0 for link in entry["not_physical"])
    ]
    codes = set()
    for entry in (*massless[:1], *broken[::3]):
        code, out, err = run(capsys, "check", entry["path"], "--fix", out_path, "--json")
        assert err == ""
        fixed = json.loads(out)["fixed"]
        no_mass = {link["link"] for link in entry["not_physical"] if link["mass"] <= 0.0}
        assert code == (1 if no_mass else 0)
        codes.add(code)
        assert {link["link"] for link in fixed["not_repaired"]} == no_mass
        assert set(unphysical_links(out_path)) == no_mass
        again, out, _ = run(capsys, "check", out_path, "--json")
        assert again == code
        assert Path(json.loads(out)["files"][0]["path"]) == out_path
    assert codes == {0, 1}
