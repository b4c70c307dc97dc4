"""steelyard rehearse: would a motion recover what is needed?"""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest
from small_arm import write_arm

from steelyard.cli import main
from steelyard.excitation.files.motion_file import read_motion
from steelyard.excitation.files.motion_points import csv_text, motion_points
from steelyard.excitation.motions.fourier import multisine
from steelyard.robot.robot import Robot

QUICK = ["--controller", "ideal", "--resamples", "20", "--rate-hz", "100", "--threads", "1"]


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
    plan = motion_points(multisine(robot, period_s=5.0, share=0.9, seed=2), robot, rate_hz=50.0)
    (path.parent / "plan.csv").write_text(csv_text(plan))
    return path


def test_friction_is_recovered_and_a_mass_is_not(arm):
    """Tables, coverage and held-out error for people; what torques determine only in combinations
    is not recovered: exit code 1, and the reason.
    """
    code, out, err = run(
        "rehearse", arm, "--motion", arm.parent / "plan.csv", "--need", "upper.m", "--need",
        "elbow.fc", *QUICK,
    )  # fmt: skip
    assert (code, err) == (1, "")
    assert "Not recovered: upper.m. Torques determine them only in combinations" in out
    assert re.search(r"elbow\.fc .* yes", out)
    assert "true base parameters lie inside their 95 % intervals" in out
    assert "Held-out motion: the estimate beats the baseline" in out


def test_the_motion_that_is_designed_is_written_and_the_output_says_how_to_read_it(arm, tmp_path):
    """-o writes what design writes; noise, seed and both labels of base parameters are printed."""
    path = tmp_path / "motion.json"
    code, out, err = run(
        "rehearse", arm, "-o", path, "--period", "4", "--harmonics", "2", "--rounds", "1",
        "--budget", "10min", *QUICK,
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert read_motion(path).holds
    for words in (
        f"wrote {path}",
        "How to read it",
        "Seed 0; log at 100 Hz",
        "Torque noise (rms, N m or N), assumed to be 1% of each joint's torque range: shoulder ",
        "'mostly from the prior' is said by identify",
    ):
        assert words in out


def test_wrong_input_is_refused_before_any_work(arm):
    """Names, files and tolerances."""
    for options, message in (
        (["--need", "elbow.fcc"], "did you mean 'elbow.fc'"),
        (["--motion", "none.json"], "no such file"),
        (["--tolerance", "0"], "--tolerance is 0; it must be positive"),
        (["--motion", arm.parent / "plan.csv", "-o", "out"], "leave one of them out"),
        (["-o", arm], "would overwrite an input"),
    ):
        code, out, err = run("rehearse", arm, *options)
        assert (code, out) == (2, "")
        assert message in err
        assert err.count("\n") == 1


def test_a_motion_beyond_the_limits_is_refused(arm):
    """A given motion is held to the limits of the robot, and the joint is named."""
    code, _, err = run(
        "rehearse", arm, "--motion", arm.parent / "plan.csv", "--velocity", "0.01", *QUICK
    )
    assert code == 2
    assert "velocity of joint '" in err
    assert "its limit is 0.01" in err
