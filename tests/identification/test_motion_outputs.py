"""Files of a motion: written together, and what is proven of interpolated points."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from stand_in_motion import stand_in

from steelyard.errors import ResultError, SignalError
from steelyard.excitation.files.motion_file import read_motion
from steelyard.excitation.files.motion_points import motion_points
from steelyard.excitation.files.sent_points import interpolated
from steelyard.identification.motion_outputs import (
    CSV,
    FILE_NAMES,
    JSON,
    check_destination,
    motion_files,
    save_motion,
    single_file,
    slower_name,
    write_motion,
)
from steelyard.model.model import Model
from steelyard.testing.random_robots import random_robot


@pytest.fixture(scope="module")
def case() -> tuple:
    """A robot and a motion of it."""
    model = Model(random_robot(np.random.default_rng(4), 2))
    return model, stand_in(model, period_s=3.0)


def codes(files) -> list[str]:
    """Codes of the findings about interpolated points."""
    found = [finding.code for finding in files.designed.findings]
    return [code for code in found if code.startswith("interpolated")]


def test_points_that_are_dense_enough_are_proven_for_quintic_and_cubic_splines(case):
    """At 200 Hz both splines stay within limits that the motion uses to 90 %."""
    model, designed = case
    for way in ("quintic", "cubic"):
        files = motion_files(model, designed, interpolation=way, only=())
        assert codes(files) == ["interpolated-points-proven"] * 2
        assert all(proof.holds for proof in files.proofs)
        assert files.contents == {}


def test_sparse_points_are_found_to_exceed_the_limits(case):
    """Where the spline between few points is faster than the motion, a warning says by how much,
    and dense samples of the spline confirm it.
    """
    model, designed = case
    tight = replace(
        designed.limits,
        velocity=1.0001 * designed.extremes.velocity,
        acceleration=1.0001 * designed.extremes.acceleration,
    )
    designed = replace(designed, limits=tight)
    for name in (CSV, "joint_trajectory.yaml"):
        with pytest.raises(SignalError, match="does not keep the limits: the") as refusal:
            motion_files(model, designed, rate_hz=4.0, only=(name,))
        named = float(re.search(r"send ([0-9.]+) points", str(refusal.value))[1])
        assert 4.0 < named < 200.0
        # the rate that is named is enough, and not much more than enough
        assert name in motion_files(model, designed, rate_hz=named, only=(name,)).contents
        with pytest.raises(SignalError, match="does not keep the limits"):
            motion_files(model, designed, rate_hz=0.7 * named, only=(name,))
    files = motion_files(model, designed, rate_hz=4.0, only=())
    assert codes(files)[0] == "interpolated-points-beyond-limits"
    warning = next(f for f in files.designed.findings if f.code == codes(files)[0])
    assert warning.level == "warning"
    assert "--rate-hz" in warning.words
    points = motion_points(designed.trajectory, model.robot, rate_hz=4.0, limits=tight).sent
    spline = interpolated(points, "quintic", "positions")
    time = np.linspace(0.0, spline.duration_s, 5001)
    order = [tight.joints.index(name) for name in spline.joints]
    over = np.abs(spline.derivative(time, 2)).max(axis=0) / tight.acceleration[order]
    assert over.max() > 1.0


def test_linear_interpolation_proves_positions_and_speeds_only(case):
    """The note says what is not proven; it is no warning."""
    model, designed = case
    files = motion_files(model, designed, interpolation="linear", only=())
    assert codes(files) == ["interpolated-points-partly-proven"] * 2
    words = [f.words for f in files.designed.findings if f.code.startswith("interpolated")]
    assert all("position and velocity proven within limits, acceleration not" in w for w in words)


def test_all_files_are_replaced_or_none(case, tmp_path):
    """If one file cannot be written, the others are not either."""
    model, designed = case
    files = motion_files(model, designed, only=(CSV, JSON))
    assert set(files.contents) == {CSV, JSON}
    folder = tmp_path / "motion"
    written = write_motion(files, folder)
    assert {path.name for path in folder.iterdir()} == {CSV, JSON}
    assert written[CSV].read_bytes() == files.contents[CSV]
    (folder / JSON).unlink()
    (folder / JSON).mkdir()
    (folder / CSV).write_text("mine")
    with pytest.raises(ResultError, match="it is a folder"):
        write_motion(files, folder)
    assert (folder / CSV).read_text() == "mine"


def test_an_ending_chooses_the_file(tmp_path):
    """A folder that exists is a folder, whatever its name."""
    (tmp_path / "run.v2").mkdir()
    assert single_file(tmp_path / "run.v2") is None
    assert single_file(tmp_path / "motion") is None
    assert single_file(tmp_path / "a.CSV") == CSV
    assert single_file(tmp_path / "a.yml") == "joint_trajectory.yaml"
    assert slower_name("motion.csv", 0.3) == "motion_30_percent.csv"
    with pytest.raises(SignalError, match=r"the endings are \.csv"):
        single_file(tmp_path / "motion.bag")


def test_a_motion_is_saved_in_one_call(case, tmp_path):
    """As one file by its ending; a folder gets every file that there is."""
    model, designed = case
    written = save_motion(designed, tmp_path / "motion.json")
    assert written == {JSON: tmp_path / "motion.json"}
    assert read_motion(tmp_path / "motion.json").holds
    everything = motion_files(model, replace(designed, settings=designed.settings))
    assert set(everything.contents) == set(FILE_NAMES)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("plain", "is a file; give the name of a folder"),
        ("plain/deeper/folder", "is a file; give the name of a folder"),
        ("taken", "motion.csv': cannot be written \\(it is a folder\\)"),
        ("inputs", "would overwrite an input"),
        ("none/motion.csv", "there is no such folder"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_anything_is_made(
    case, tmp_path, place, message
):
    """Files in the way of folders, folders in the way of files, and inputs among the outputs."""
    (tmp_path / "plain").write_text("mine")
    (tmp_path / "taken" / CSV).mkdir(parents=True)
    (tmp_path / "inputs").mkdir()
    log = tmp_path / "inputs" / CSV
    log.write_text("mine")
    check_destination(tmp_path / "taken" / CSV)  # a folder, whatever its name
    with pytest.raises(ResultError, match=message):
        check_destination(tmp_path / place, [log])
    assert log.read_text() == "mine"
    assert not (tmp_path / "none").exists()
