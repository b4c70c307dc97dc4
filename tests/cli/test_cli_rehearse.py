"""steelyard rehearse: would a motion recover what is needed?"""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path

import pytest
from small_arm import write_arm

from steelyard.cli import main
from steelyard.excitation.fourier import multisine
from steelyard.excitation.motion_points import csv_text, motion_points
from steelyard.robot.robot import Robot

QUICK = ["--resamples", "20", "--rate-hz", "100", "--threads", "1"]


def run(*argv: object) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(word) for word in argv])
    return code, out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def arm(tmp_path_factory) -> Path:
    """The small arm as a file, and a motion of it beside."""
    path = write_arm(tmp_path_factory.mktemp("arm"))
    robot = Robot.from_urdf(path)
    plan = motion_points(multisine(robot, period_s=8.0, share=0.9, seed=2), robot, rate_hz=50.0)
    (path.parent / "plan.csv").write_text(csv_text(plan))
    return path


def test_a_designed_motion_recovers_friction(arm):
    """Exit code 0, tables for people, and what was assumed as notes."""
    code, out, err = run(
        "rehearse", arm, "--period", "6", "--harmonics", "3", "--rounds", "1", "--budget", "10min",
        "--need", "elbow.fc", *QUICK,
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert "Everything that is needed would be recovered" in out
    assert "true base parameters lie inside their 95 % intervals" in out
    assert "Held-out motion: the estimate beats the baseline" in out


def test_what_torques_do_not_determine_is_not_recovered(arm):
    """The mass of a link is known only in combinations: exit code 1, and the reason."""
    code, out, _ = run(
        "rehearse", arm, "--motion", arm.parent / "plan.csv", "--need", "upper.m", "--need",
        "elbow.fv", "--json", *QUICK,
    )  # fmt: skip
    document = json.loads(out)
    assert code == 1
    assert document["met"] is False
    assert document["missed"] == ["upper.m"]
    by_name = {one["name"]: one for one in document["parameters"]}
    assert by_name["upper.m"]["determined"] is False
    assert by_name["elbow.fv"]["recovered"] is True


def test_wrong_input_is_refused_before_any_work(arm):
    """Names, files and tolerances."""
    for options, message in (
        (["--need", "elbow.fcc"], "did you mean 'elbow.fc'"),
        (["--motion", "none.json"], "no such file"),
        (["--tolerance", "0"], "--tolerance is 0; it must be positive"),
    ):
        code, out, err = run("rehearse", arm, *options)
        assert (code, out) == (2, "")
        assert message in err
        assert err.count("\n") == 1
