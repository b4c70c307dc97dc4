"""Columns that the user names, and files without a header line."""

from __future__ import annotations

import gzip
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.errors import LogError
from steelyard.logs.log import Log
from steelyard.logs.reading import read_log
from steelyard.logs.writer_csv import write_csv

TABLE = "Zeit,PosElbow,TauElbow[N*m],tau_raw1,tau_raw2\n0,90,1,2,3\n5,180,2,3,4\n"


def write(folder: Path, text: str, name: str = "a.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def refusal(path: Path, columns: object) -> str:
    with pytest.raises(LogError) as caught:
        read_log(path, columns=columns)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_columns_by_signal(tmp_path: Path) -> None:
    """A column is taken as the stated signal, in the stated unit or its own."""
    columns = {
        "time[ms]": "Zeit",
        "elbow.position[deg]": "PosElbow",
        "elbow.torque": "TauElbow",
        "tau*": "tau_raw*",
    }
    log = read_log(write(tmp_path, TABLE), columns=columns)
    np.testing.assert_allclose(log.time, [0, 0.005])
    np.testing.assert_allclose(log.signal("elbow", "position"), [math.pi / 2, math.pi])
    assert log.units["elbow", "torque"] == "N*m"
    np.testing.assert_array_equal(log.signal("#2", "torque"), [3, 4])
    assert log.columns["#2", "torque"] == "tau_raw2"
    assert log.ignored == ()


def test_a_stated_column_goes_before_others(tmp_path: Path) -> None:
    """Where a signal has a column by its own name and a stated one, the stated one is used."""
    path = write(tmp_path, "time,t2,q1,tau1,cur1\n0,0,1,2,3\n1,2,1,2,4\n")
    log = read_log(path, columns={"tau1": "cur1", "time": "t2"})
    np.testing.assert_array_equal(log.signal("#1", "torque"), [3, 4])
    np.testing.assert_array_equal(log.time, [0, 2])
    assert log.ignored == ("time", "tau1")


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"elbow.position": "PosElbw"}, r"no column is named 'PosElbw' \(did you mean 'PosElbow'"),
        ({"elbow": "PosElbow"}, "'elbow' is not a signal"),
        ({"sec": "PosElbow"}, "'sec' is not a signal"),
        ({"position": "PosElbow"}, "'position' is not a signal"),
        ({"elbow.position[kg]": "PosElbow"}, "'kg' is not a unit of position"),
        ({"elbow.torque[mN*m]": "TauElbow"}, r"states its unit, \[N\*m\]"),
        ({"a.torque": "tau_raw1", "b.torque": "tau_raw1"}, "a column holds one signal"),
        ({"a.torque": "tau_raw1", "a.tau": "tau_raw2"}, "both give the torque of 'a'"),
        ({"tau*[N*m]": "tau_raw*", "*.position[N*m]": "Pos*"}, "is not a unit of position"),
        ({"tau*": "tau_raw"}, r"one \* on both sides"),
        ({"tau*": "tau_roh*"}, r"no column is named like 'tau_roh\*'"),
        ({"*.torque": "tau_raw*", "time": "Zeit[s]"}, "no column is named 'Zeit"),
        ({"elbow.position": "PosElbow"}, "no time column.*--map time=COLUMN"),
        ({"elbow.position": 3}, "named by texts, not by a int"),
        ("time", "names by signal"),
        (7, "names by signal"),
        (["time", "a.q"], "has a header line, 'Zeit'.*--map"),
    ],
)
def test_mappings_that_are_refused(columns: object, words: str, tmp_path: Path) -> None:
    """A mapping that does not fit the file is refused in one line that says why."""
    assert re.search(words, refusal(write(tmp_path, TABLE), columns))


def test_no_header_line(tmp_path: Path) -> None:
    """A file that starts with numbers is named as such, and read under given names."""
    path = write(tmp_path, "0,0.1,9,1\n0.001,0.2,9,2\n0.002,,9,x\n")
    words = refusal(path, None)
    assert "has no header line: its first line is numbers, '0', '0.1', '9', '1'" in words
    assert "name its columns (4) with --columns time,elbow.position,..." in words
    log = read_log(path, columns=["time", "e.position[deg]", "e.torque", ""])
    np.testing.assert_allclose(log.signal("e", "position"), np.deg2rad([0.1, 0.2, math.nan]))
    assert len(log) == 3
    skipped = read_log(path, columns=["time", "e.q", "", "e.tau"]).skipped
    assert skipped is not None
    assert skipped.reason == "line 3, column 'e.tau': 'x' is not a number"
    assert "2 columns are named, but its first line has 4 numbers" in refusal(path, ["time", "e.q"])
    blanks = write(tmp_path, "0 0.1 1\n1 0.2 2\n", "b.csv")
    assert "its first line is numbers, '0', '0.1', '1'" in refusal(blanks, None)
    assert len(read_log(blanks, columns=["time", "e.q", "e.tau"])) == 2
    np.savez(tmp_path / "c.npz", time=np.arange(3.0))
    assert "have names" in refusal(tmp_path / "c.npz", ["time"])


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_any_log_without_its_header(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A log whose header is cut off, or replaced, and named again is the same log."""
    values = st.floats(allow_nan=False, allow_infinity=False, width=32)
    n = data.draw(st.integers(2, 4))
    signals = {
        (joint, quantity): np.array(data.draw(st.lists(values, min_size=n, max_size=n)))
        for joint in ("a", "#3", "arm/b.c")
        for quantity in ("position", "torque")
    }
    log = Log(np.arange(float(n)), signals)
    folder = tmp_path_factory.mktemp("cut")
    write_csv(log, folder / "a.csv")
    header, _, rest = (folder / "a.csv").read_text().partition("\n")
    (folder / "cut.csv.gz").write_bytes(gzip.compress(rest.encode()))
    names = header.split(",")
    assert read_log(folder / "cut.csv.gz", columns=names).content_hash == log.content_hash
    titles = [f"c{k}" for k in range(len(names))]
    (folder / "renamed.csv").write_text(",".join(titles) + "\n" + rest)
    columns = dict(zip(names, titles, strict=True))
    assert read_log(folder / "renamed.csv", columns=columns).content_hash == log.content_hash


def test_tables_by_quantity(tmp_path: Path) -> None:
    """In NPZ files a quantity alone names a table, before one that has its name by itself."""
    table = np.arange(6.0).reshape(3, 2)
    np.savez(tmp_path / "a.npz", time=np.arange(3.0), q=table, tau=table, tau_raw=10 * table)
    log = read_log(tmp_path / "a.npz", columns={"torque[mN*m]": "tau_raw"})
    np.testing.assert_allclose(log.signal("#2", "torque"), [0.01, 0.03, 0.05])
    assert log.ignored == ("tau",)
    assert "no column is named 'tauraw' (did you mean 'tau_raw'?)" in refusal(
        tmp_path / "a.npz", {"torque": "tauraw"}
    )
