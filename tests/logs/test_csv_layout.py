"""Text tables as programs write them: separators, headers, comments, units, endings."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np
import pytest

from steelyard.errors import LogError
from steelyard.logs.reading import read_log

Q = np.array([0.25, -1.5, 3e-5, 2.0])
TAU = np.array([-1.0, 22.5, 3.0, 0.0])
TIME = np.array([0.0, 0.001, 0.002, 0.003])
NAMES = ["time", "e.position", "e.torque"]
ROWS = [[repr(float(x)) for x in row] for row in zip(TIME, Q, TAU, strict=True)]


def check(path: Path, content: str, **options: object) -> None:
    """The file holds the log of this test, and nothing was skipped."""
    path.write_bytes(gzip.compress(content.encode()) if path.suffix == ".gz" else content.encode())
    log = read_log(path, **options)  # type: ignore[arg-type]
    np.testing.assert_array_equal(log.time, TIME)
    np.testing.assert_array_equal(log.signal("e", "position"), Q)
    np.testing.assert_array_equal(log.signal("e", "torque"), TAU)
    assert log.skipped is None


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", " ", "     ", " | ", " \t ", ", "])
@pytest.mark.parametrize("ending", [".csv", ".txt", ".dat", ".tsv", ".txt.gz", ".dat.gz"])
def test_separators(separator: str, ending: str, tmp_path: Path) -> None:
    """Every separator is recognised in every text file, with a header and with named columns."""
    lines = [separator.join(cells) for cells in (NAMES, *ROWS)]
    check(tmp_path / f"a{ending}", "\n".join(lines))
    check(tmp_path / f"b{ending}", "\n".join(lines[1:]), columns=NAMES)


@pytest.mark.parametrize(
    "above",
    [
        "# time e.position e.torque",
        "# time, e.position, e.torque",
        "% time\te.position\te.torque",
        "time e.position   e.torque",
        "# arm 7, recorded on Monday\n#\n# time e.position e.torque",
        "recorded on Monday\n\ntime;e.position;e.torque",
        "time [s]  e.position [rad]  e.torque [Nm]",
        "time e.position e.torque\n[ms] [deg] [mNm]",
    ],
)
def test_headers_above_blanks(above: str, tmp_path: Path) -> None:
    """The header may be a comment, be separated in another way, and have lines above it."""
    in_units = "mNm" in above  # in a line of their own
    factor = np.array([1e-3, np.pi / 180, 1e-3]) if in_units else np.ones(3)
    path = tmp_path / "a.dat"
    path.write_text("\n".join([above, *("  ".join(row) for row in ROWS)]))
    log = read_log(path)
    np.testing.assert_allclose(log.time, TIME * factor[0])
    np.testing.assert_allclose(log.signal("e", "position"), Q * factor[1])
    np.testing.assert_allclose(log.signal("e", "torque"), TAU * factor[2])
    assert log.skipped is None


def test_savetxt(tmp_path: Path) -> None:
    """What numpy.savetxt writes is read, with and without a header."""
    text = io.StringIO()
    np.savetxt(text, np.column_stack([TIME, Q, TAU]), header=" ".join(NAMES))
    check(tmp_path / "a.txt", text.getvalue())
    text = io.StringIO()
    np.savetxt(text, np.column_stack([TIME, Q, TAU]))
    check(tmp_path / "b.txt", text.getvalue(), columns=NAMES)


def test_drawn_table(tmp_path: Path) -> None:
    """Bars around a table belong to it; the line below its header is named as skipped."""
    rows = [f"| {' | '.join(row)} |" for row in (NAMES, *ROWS)]
    check(tmp_path / "a.txt", "\n".join(rows))
    (tmp_path / "b.txt").write_text("\n".join([rows[0], "|---|---|---|", *rows[1:]]))
    log = read_log(tmp_path / "b.txt")
    np.testing.assert_array_equal(log.signal("e", "torque"), TAU)
    assert log.skipped is not None
    assert log.skipped.lines == (2,)


def test_trailing_separator(tmp_path: Path) -> None:
    """A separator behind the last number of a row is no column."""
    rows = [",".join(NAMES), *(",".join(row) + "," for row in ROWS)]
    check(tmp_path / "a.csv", "\n".join(rows))


def test_text_and_empty_cells(tmp_path: Path) -> None:
    """Columns that are ignored may hold text, and any cell but the time may be empty."""
    rows = ["time;mode;e.position;e.torque", "0;idle;;1", "1;run;2;", "2;run; 3 ;4"]
    (tmp_path / "a.txt").write_text("\n".join(rows))
    log = read_log(tmp_path / "a.txt")
    np.testing.assert_array_equal(log.signal("e", "position"), [np.nan, 2, 3])
    np.testing.assert_array_equal(log.signal("e", "torque"), [1, np.nan, 4])


@pytest.mark.parametrize("separator", [";", "\t", " "])
def test_decimal_commas(separator: str, tmp_path: Path) -> None:
    """Decimal commas are refused with the hint that decimals need a point."""
    lines = [separator.join(NAMES), *(separator.join(row).replace(".", ",") for row in ROWS)]
    (tmp_path / "a.txt").write_text("\n".join(lines))
    with pytest.raises(LogError, match="line 2, column 'time': '0,0' is not a number; decimals"):
        read_log(tmp_path / "a.txt")


def test_numbers_alone(tmp_path: Path) -> None:
    """A file without a header is named as such, whatever separates its numbers."""
    (tmp_path / "a.txt").write_text("\n".join("  ".join(row) for row in ROWS))
    with pytest.raises(LogError, match=r"no header line: its first line is numbers, '0.0', '0.25'"):
        read_log(tmp_path / "a.txt")
    with pytest.raises(LogError, match="2 columns are named, but its first line has 3 numbers"):
        read_log(tmp_path / "a.txt", columns=["time", "e.q"])
