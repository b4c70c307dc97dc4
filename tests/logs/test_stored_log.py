"""Logs that are not held in memory: the same content, read some rows at a time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from steelyard.errors import LogError
from steelyard.logs import reading, stored_log
from steelyard.logs.log import Log
from steelyard.logs.stored_log import StoredLog

N = 1003
RNG = np.random.default_rng(4)
TIME = np.cumsum(RNG.uniform(0.009, 0.011, N))
Q, TAU = RNG.normal(size=(N, 2)), RNG.normal(size=(N, 2))
Q[500, 1] = np.nan
FORCE = RNG.normal(size=(N, 3))


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every log is a long one, of blocks of 64 rows."""
    monkeypatch.setattr(reading, "MOST_VALUES", 100)
    monkeypatch.setattr(reading, "BLOCK_ROWS", 100)
    monkeypatch.setattr(stored_log, "BLOCK_ROWS", 64)


def same_rows(log: StoredLog, whole: Log, begin: int, end: int) -> None:
    """The rows read are those of the log in memory, to the last bit."""
    part = log.read(begin, end)
    np.testing.assert_array_equal(part.time, whole.time[begin:end])
    assert part.signals.keys() == whole.signals.keys()
    for key, values in whole.signals.items():
        np.testing.assert_array_equal(part.signals[key], values[begin:end])
    assert part.frame_signals.keys() == whole.frame_signals.keys()
    for key, values in whole.frame_signals.items():
        np.testing.assert_array_equal(part.frame_signals[key], values[begin:end])
    assert (part.units, part.columns, part.ignored) == (whole.units, whole.columns, whole.ignored)


def check_same(path: Path) -> StoredLog:
    """A file is the same log in memory and in blocks."""
    log, whole = reading.read_any_log(path), reading.read_log(path)
    assert isinstance(log, StoredLog)
    assert (len(log), log.duration_s) == (len(whole), whole.duration_s)
    assert log.content_hash == whole.content_hash
    for begin, end in ((0, len(whole)), (0, 2), (63, 65), (200, 777), (len(whole) - 2, len(whole))):
        same_rows(log, whole, begin, end)
    return log


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_tables_of_an_npz_file(tmp_path: Path, save: object) -> None:
    """Tables, also of columns one after the other and of small numbers, compressed or not."""
    names = np.array(["shoulder", "elbow"])
    columns_first, small = np.asfortranarray(Q), TAU.astype("f4")
    path = tmp_path / "log.npz"
    save(path, time=TIME, joint_names=names, position=columns_first, torque=small)  # type: ignore[operator]
    check_same(path)


def test_columns_of_an_npz_file(tmp_path: Path) -> None:
    """One array for each column, in units that are converted, a wrench, and one to ignore."""
    path = tmp_path / "log.npz"
    arrays = {"elbow.position[deg]": Q[:, 0], "elbow.torque": TAU[:, 0], "wrist.force": FORCE}
    np.savez(path, time=TIME, comment=np.arange(N), **arrays)
    log = check_same(path)
    assert log.start.ignored == ("comment",)


def test_a_text_file_with_seconds_and_nanoseconds(tmp_path: Path) -> None:
    """Time counts from the first row of the file, in every block."""
    path = tmp_path / "log.csv"
    stamps = 1_700_000_000_000_000_000 + np.round(1e9 * TIME).astype(np.int64)
    lines = ["secs,nsecs,elbow.position,elbow.torque"]
    lines += [
        f"{at // 10**9},{at % 10**9},{q:.6f},{u:.6f}"
        for at, q, u in zip(stamps.tolist(), Q[:, 0], TAU[:, 0], strict=True)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    log = check_same(path)
    assert log.duration_s == pytest.approx(TIME[-1] - TIME[0], abs=1e-6)


def test_rows_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    """What was skipped in the file is known of the log as a whole."""
    path = tmp_path / "log.csv"
    lines = ["time,elbow.position,elbow.torque"]
    lines += [f"{t:.6f},{q:.6f},{u:.6f}" for t, q, u in zip(TIME, Q[:, 0], TAU[:, 0], strict=True)]
    lines[700] = "interrupted"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    log = check_same(path)
    assert log.selection().skipped == reading.read_log(path).skipped
    assert log.read(0, 10).skipped is None


@pytest.mark.parametrize("row", [10, 128, 900])
def test_stamps_that_run_backwards_are_refused(tmp_path: Path, row: int) -> None:
    """Within a block, and from one block to the next."""
    time = TIME.copy()
    time[row] = time[row - 1] - 0.001
    path = tmp_path / "log.npz"
    np.savez(path, time=time, **{"elbow.position": Q[:, 0], "elbow.torque": TAU[:, 0]})
    with pytest.raises(LogError, match="time runs backwards at row"):
        reading.read_any_log(path)


def test_arrays_of_different_lengths_are_refused(tmp_path: Path) -> None:
    """The message names the array and both lengths."""
    path = tmp_path / "log.npz"
    np.savez(path, time=TIME, **{"elbow.position": Q[:-3, 0], "elbow.torque": TAU[:, 0]})
    with pytest.raises(LogError, match=r"'elbow.position' has 1000 samples, but '.*' has 1003"):
        reading.read_any_log(path)


def test_the_selection_reaches_from_start_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight windows with gaps between them, at most as many numbers as stated."""
    path = tmp_path / "log.npz"
    np.savez(path, time=TIME, **{"elbow.position": Q[:, 0], "elbow.torque": TAU[:, 0]})
    log = reading.read_any_log(path)
    assert isinstance(log, StoredLog)
    for most in (900, 10**6):
        monkeypatch.setattr(stored_log, "SELECTED_VALUES", most)
        chosen = log.selection()
        assert (chosen.time[0], chosen.time[-1]) == (TIME[0], TIME[-1])
        assert np.count_nonzero(np.diff(chosen.time) > 0.1) == 7
        assert 3 * len(chosen) <= most
        assert len(chosen) <= 0.8 * N
