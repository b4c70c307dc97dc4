"""Rows of a text table that cannot be read: skipped, counted and named, or the file refused."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.diagnosis.checked_log import check_log
from steelyard.errors import LogError
from steelyard.logs import reader_csv
from steelyard.logs.log import Log
from steelyard.logs.reader_csv import open_csv
from steelyard.logs.reading import read_log
from steelyard.logs.skipped_rows import skipped_findings, wild_stamps
from steelyard.simulation.builtin_arm import builtin_arm

HEADER = "time,e.q,e.tau"
ROWS = [f"{k / 1000:.3f},{0.25 * k},{-0.5 * k}" for k in range(300)]


def table(path: Path, rows: list[str], end: str = "\n") -> Log:
    """The log in these lines below a header."""
    (path / "a.csv").write_text("\n".join([HEADER, *rows]) + end)
    return read_log(path / "a.csv")


def lines_of(log: Log) -> tuple[int, ...]:
    """The lines that were skipped, of 301 or more."""
    assert log.skipped is not None
    assert log.skipped.n_skipped == len(log.skipped.lines)
    return log.skipped.lines


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("0.1,2", "line 102 has 2 cells, but the header has 3 columns"),
        ("--- restarted ---", "line 102 has 1 cells"),
        (HEADER, "line 102, column 'time': 'time' is not a number"),
        ("1e154,1,2", "line 102, column 'time': is 1e\\+154"),
        ("4e5,1,2", "line 102: time is 400000.0 before 0.101, in this row alone"),
        ("0.05,1,2", "line 102: time is 0.05 after 0.099, in this row alone"),
        (",1,2", "line 102, column 'time': is empty"),
        ("inf,1,2", "line 102, column 'time': is empty or not finite"),
        ("0.1,1e154,2", "line 102, column 'e.q': is 1e\\+154, and at most 1e\\+60 in SI units"),
        ('0.1,"1,2', "line 102 has 2 cells"),
        ("0.1,0x7f,2", "line 102, column 'e.q': '0x7f' is not a number"),
    ],
)
def test_one_row(bad: str, reason: str, tmp_path: Path) -> None:
    """A row that cannot be used is left out and named with its line, all others are read."""
    log = table(tmp_path, [*ROWS[:100], bad, *ROWS[101:]])
    assert lines_of(log) == (102,)
    assert log.skipped is not None
    assert log.skipped.n_rows == 300
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(log.skipped.reason)
    np.testing.assert_array_equal(log.time * 1000, np.delete(np.arange(300.0), 100))
    np.testing.assert_array_equal(log.signal("e", "position"), np.delete(np.arange(300), 100) / 4)


@pytest.mark.parametrize("cut", ["0.3", "0.300", "0.300,75.0,", "0.300,75.0,-", "0.300,75.0,-1"])
def test_last_line_cut_short(cut: str, tmp_path: Path) -> None:
    """A last line that ends within a row is no sample, unless it ends with an empty cell."""
    rows = [f"{k / 1000:.3f},{0.25 * k},{-0.5 * k - 1000}" for k in range(300)]
    log = table(tmp_path, [*rows, cut], end="")
    if cut.endswith(","):
        assert len(log) == 301
        assert np.isnan(log.signal("e", "torque")[-1])
    else:
        assert lines_of(log) == (302,)
        np.testing.assert_array_equal(log.signal("e", "torque"), -0.5 * np.arange(300) - 1000)


def test_no_line_break_at_the_end(tmp_path: Path) -> None:
    """A last line without a line break is a sample."""
    log = table(tmp_path, ROWS, end="")
    assert len(log) == 300
    assert log.skipped is None


def test_wild_first_and_last_row(tmp_path: Path) -> None:
    """The first and the last stamp are no time where they are a million periods from all others."""
    assert lines_of(table(tmp_path, ["-9e9,1,1", *ROWS])) == (2,)
    assert lines_of(table(tmp_path, ["7,1,1", *ROWS])) == (2,)
    assert lines_of(table(tmp_path, [*ROWS, "1e9,1,1"])) == (302,)
    assert lines_of(table(tmp_path, [*ROWS, "0.1,1,1"])) == (302,)
    assert lines_of(table(tmp_path, [*ROWS[:-1], "5e5,1,1", ROWS[-1]])) == (301,)
    assert len(table(tmp_path, [*ROWS, "900,1,1"])) == 301


def test_clock_that_is_set_back(tmp_path: Path) -> None:
    """Time that runs backwards for more than one row is refused as before."""
    with pytest.raises(LogError, match=r"backwards at row 201: 0\.1 s after 0\.199 s"):
        table(tmp_path, [*ROWS[:200], *ROWS[100:]])


@pytest.mark.parametrize("n_bad", [10, 11])
def test_many(n_bad: int, tmp_path: Path) -> None:
    """More rows than a handful and than one in a hundred make the file unusable."""
    rows = list(ROWS)
    for k in range(n_bad):
        rows[7 * k + 3] = "x,1,2"
    if n_bad == 10:
        assert lines_of(table(tmp_path, rows)) == tuple(7 * k + 5 for k in range(10))
    else:
        words = "line 5, column 'time': 'x' is not a number; 11 of 300 rows cannot be read, which"
        with pytest.raises(LogError, match=words):
            table(tmp_path, rows)


def test_a_hundredth_of_a_long_log(tmp_path: Path) -> None:
    """In a long log a hundredth of the rows may be damaged; ten of their lines are named."""
    rows = [f"{k},1,2" for k in range(5000)]
    rows[::100] = ["?"] * 50
    log = table(tmp_path, rows)
    assert log.skipped is not None
    assert (log.skipped.n_skipped, log.skipped.n_rows, len(log)) == (50, 5000, 4950)
    assert log.skipped.lines == tuple(range(2, 1000, 100))
    (finding,) = skipped_findings(log.skipped, "a")
    assert "50 of 5000 rows" in finding.words
    assert "902 and 40 more" in finding.words


@settings(max_examples=40, deadline=None)
@given(
    data=st.data(),
    block=st.integers(40, 4000),
    bad=st.sets(st.integers(0, 199), max_size=6),
    wild=st.sets(st.integers(0, 99), max_size=4),
)
def test_blocks(
    data: st.DataObject,
    block: int,
    bad: set[int],
    wild: set[int],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Rows and what was skipped do not depend on where the file is cut into blocks."""
    rows = [f"{k},{k},{2 * k}" for k in range(200)]
    wild = {2 * k for k in wild} - bad
    for k in wild:
        rows[k] = f"{data.draw(st.sampled_from(['1e154', '1e99', 'nan', '']))},0,0"
    for k in bad:
        rows[k] = data.draw(st.sampled_from(["", "#", "x", "1,2", "1,2,3,4", "a,1,1"]))
    blank = {k for k in bad if rows[k] in ("", "#")}
    path = tmp_path_factory.mktemp("blocks") / "a.csv"
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader_csv, "BLOCK_BYTES", block)
        parts = list(open_csv(path).blocks())
    values = np.concatenate([one.values for one in parts])
    good = [k for k in range(200) if k not in bad | wild]
    np.testing.assert_array_equal(values, np.outer(good, [1, 1, 2]))
    assert parts[-1].skipped.lines == tuple(sorted(k + 2 for k in (bad | wild) - blank))
    assert parts[-1].skipped.n_rows == 200 - len(blank)


def test_wild_stamps() -> None:
    """Of two rows out of order, the one that is farther from its neighbours is wrong."""

    def found(*stamps: float) -> list[int]:
        return sorted(wild_stamps(np.array(stamps), at_start=True, at_end=True))

    assert found(0, 1, 2, 3.5, 3, 4, 5) == [3]
    assert found(0, 1, 2, 3, 2.5, 4, 5) == [4]
    assert found(0, 1, 2, 0, 1, 2) == []
    assert found(0, 1, 1, 2, 3) == []
    assert found(0, 1, 9, 2, 3, -9, 4) == [2, 5]


def test_stamps_in_seconds_and_nanoseconds(tmp_path: Path) -> None:
    """A wild stamp is recognised in two columns as well."""
    rows = [f"1700000000,{k * 1_000_000},1,2" for k in range(50)]
    rows[20] = "5,20000000,1,2"
    (tmp_path / "a.csv").write_text("\n".join(["sec,nsec,e.q,e.tau", *rows]))
    log = read_log(tmp_path / "a.csv")
    assert lines_of(log) == (22,)
    np.testing.assert_allclose(log.time, np.delete(np.arange(50), 20) / 1000, atol=1e-12)


def test_bytes_of_a_crash(tmp_path: Path) -> None:
    """Zeros and bytes that are no text at the end of a file, as after a crash, are one row."""
    content = "\n".join([HEADER, *ROWS]).encode() + b"\n0.3,\xff\xfe" + b"\0" * 5000
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(content))
    assert lines_of(read_log(tmp_path / "a.csv.gz")) == (302,)


def test_hash_and_findings(tmp_path: Path) -> None:
    """What was skipped is a finding of the check, and does not change the content's hash."""
    robot = builtin_arm()
    names = ",".join(f"{joint}.{what}" for joint in robot.joint_names for what in ("q", "tau"))
    rng = np.random.default_rng(0)
    time = np.arange(400) / 100
    values = np.sin(time[:, None] * rng.uniform(1, 2, 14)) + 1e-3 * rng.normal(size=(400, 14))
    rows = [",".join(map(repr, map(float, row))) for row in np.column_stack([time, values])]
    (tmp_path / "a.csv").write_text("\n".join([f"time,{names}", *rows]) + "\n")
    (tmp_path / "b.csv").write_text("\n".join([f"time,{names}", *rows, "4.0,1"]))
    whole, cut = read_log(tmp_path / "a.csv"), read_log(tmp_path / "b.csv")
    assert whole.content_hash == cut.content_hash
    told = [one for one in check_log(cut, robot).findings if one.code == "rows-skipped"]
    assert [(one.level, one.size, one.unit) for one in told] == [("warning", 1, "rows")]
    assert "1 of 401 rows cannot be read and is skipped (line 402)" in told[0].words
    assert not [one for one in check_log(whole, robot).findings if one.code == "rows-skipped"]
