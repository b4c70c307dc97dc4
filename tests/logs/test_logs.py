"""Logs: the header schema, the readers, the writer, and what they refuse."""

from __future__ import annotations

import gzip
import io
import math
import re
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.errors import LogError
from steelyard.logs import reader_csv, reader_npz
from steelyard.logs.columns import parse_column
from steelyard.logs.log import Log
from steelyard.logs.reading import read_log
from steelyard.logs.writer_csv import write_csv

GOOD = "time,elbow.position,elbow.torque\n0,0.1,1\n0.001,0.2,2\n0.002,0.3,3\n"


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refusal(path: Path) -> str:
    """The message with which a file is refused: one line, and it names the file."""
    with pytest.raises(LogError) as caught:
        read_log(path)
    message = str(caught.value)
    assert "\n" not in message
    assert path.name in message or path.name.split(".")[0] in message
    return message


# --- header schema ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "joint", "quantity", "factor", "unit"),
    [
        ("elbow.position", "elbow", "position", 1.0, ""),
        ("elbow.position[deg]", "elbow", "position", math.pi / 180, "rad"),
        ("left.arm.elbow.q[rad]", "left.arm.elbow", "position", 1.0, "rad"),
        ("elbow.dq[deg/s]", "elbow", "velocity", math.pi / 180, "rad/s"),
        ("elbow.v [rpm]", "elbow", "velocity", 2 * math.pi / 60, "rad/s"),
        ("elbow.ddq[rad/s²]", "elbow", "acceleration", 1.0, "rad/s^2"),
        ("elbow.a[deg/s2]", "elbow", "acceleration", math.pi / 180, "rad/s^2"),
        ("lift.pos[mm]", "lift", "position", 1e-3, "m"),
        ("lift.effort[kN]", "lift", "torque", 1e3, "N"),
        ("elbow.tau[N.m]", "elbow", "torque", 1.0, "N*m"),
        ("elbow.Torque[mN*m]", "elbow", "torque", 1e-3, "N*m"),
        ("elbow.tau[N·m]", "elbow", "torque", 1.0, "N*m"),
        ("elbow.current[mA]", "elbow", "current", 1e-3, "A"),
        ("arm[0].position[rad]", "arm[0]", "position", 1.0, "rad"),
        ("time[us]", "", "time", 1e-6, "s"),
        ("Time", "", "time", 1.0, "s"),
    ],
)
def test_column_names(column: str, joint: str, quantity: str, factor: float, unit: str) -> None:
    """A column name gives joint, quantity and unit, through aliases and dotted joint names."""
    found = parse_column(column, "file")
    assert found is not None
    assert (found.joint, found.quantity, found.unit) == (joint, quantity, unit)
    assert found.factor == pytest.approx(factor, rel=1e-15)


@pytest.mark.parametrize("column", ["elbow", "temperature", "elbow.temp", ".position", ""])
def test_unknown_columns(column: str) -> None:
    """A name outside the schema gives None."""
    assert parse_column(column, "file") is None


@pytest.mark.parametrize("column", ["elbow.position[N*m]", "elbow.torque[rad]", "time[h]"])
def test_unit_of_another_quantity(column: str) -> None:
    """A unit that does not belong to the quantity is refused, with the ones that do."""
    with pytest.raises(LogError, match="the units are"):
        parse_column(column, "file")


def test_units_are_converted(tmp_path: Path) -> None:
    """Values are converted from the file's units to SI units."""
    path = write(
        tmp_path / "a.csv",
        "time[ms],e.position[deg],e.velocity[rpm],e.torque[mN*m],l.position[mm],l.torque[kN]\n"
        "0,90,60,1500,250,0.5\n1,180,-60,0,0,1\n",
    )
    log = read_log(path)
    np.testing.assert_allclose(log.time, [0, 1e-3])
    np.testing.assert_allclose(log.signal("e", "position"), [math.pi / 2, math.pi])
    np.testing.assert_allclose(log.signal("e", "velocity"), [2 * math.pi, -2 * math.pi])
    np.testing.assert_allclose(log.signal("e", "torque"), [1.5, 0])
    np.testing.assert_allclose(log.signal("l", "position"), [0.25, 0])
    np.testing.assert_allclose(log.signal("l", "torque"), [500, 1000])
    assert log.units["e", "torque"] == "N*m"
    assert log.units["l", "torque"] == "N"


# --- Log -------------------------------------------------------------------------------


def test_log_answers_by_name(tmp_path: Path) -> None:
    """A log has its joints, their quantities, its name and its source."""
    path = write(tmp_path / "run one.csv", GOOD)
    log = read_log(path)
    assert (log.name, log.source) == ("run one", str(path))
    assert read_log(path, name="other").name == "other"
    assert log.joints == ("elbow",)
    assert log.quantities("elbow") == ("position", "torque")
    assert len(log) == 3
    assert log.duration_s == pytest.approx(0.002)
    with pytest.raises(LogError, match=r"has only position, torque.*'elbow.velocity' is needed"):
        log.signal("elbow", "velocity")
    with pytest.raises(LogError, match="is not in the log"):
        log.signal("wrist", "position")


def test_log_is_frozen() -> None:
    """Neither the arrays nor the mapping of a log can be changed."""
    log = Log(np.arange(3.0), {("e", "position"): np.arange(3)})
    with pytest.raises(ValueError, match="read-only"):
        log.signal("e", "position")[0] = 1.0
    with pytest.raises(TypeError):
        log.signals["e", "torque"] = np.zeros(3)  # type: ignore[index]


def test_log_accepts_read_only_and_strided_arrays() -> None:
    """Arrays that cannot be written, and columns of a table, are taken as they are."""
    table = np.arange(12.0).reshape(4, 3)
    table.setflags(write=False)
    log = Log(table[:, 0], {("e", "position"): table[:, 1]})
    np.testing.assert_array_equal(log.signal("e", "position"), [1, 4, 7, 10])


@pytest.mark.parametrize(
    ("time", "signals", "message"),
    [
        ([0.0], {}, "one sample"),
        ([], {}, "no samples"),
        ([0.0, 2.0, 1.0, 0.5], {}, r"backwards at row 3: 1.0 s after 2.0 s \(2 such rows\)"),
        ([0.0, 1.0, 1.0], {}, "repeats at row 3: 1.0 s after 1.0 s"),
        ([0.0, math.nan, 1.0], {}, "not finite in 1 rows, first in row 2"),
        ([0.0, 1.0], {("e", "position"): np.zeros(3)}, "has 3 samples, but time has 2"),
        ([0.0, 1.0], {("e", "position"): np.zeros((2, 1))}, "one value per sample"),
        ([0.0, 1.0], {("e", "jerk"): np.zeros(2)}, "the quantities are position"),
        ([0.0, 1.0], {("e", "position"): np.array(["a", "b"])}, "not numeric"),
    ],
)
def test_log_refuses(
    time: list[float], signals: dict[tuple[str, str], np.ndarray], message: str
) -> None:
    """A log with invalid times, shapes or quantities is refused."""
    with pytest.raises(LogError, match=message):
        Log(np.array(time), signals)


# --- CSV -------------------------------------------------------------------------------

names = st.text(
    st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters=",;[]\"'# "),
    min_size=1,
    max_size=8,
).filter(lambda name: name.strip() == name and "\x85" not in name)
numbers = st.floats(-1e60, 1e60) | st.sampled_from([np.nan, np.inf, -np.inf])


@settings(max_examples=60, deadline=None)
@given(data=st.data(), joints=st.lists(names, min_size=1, max_size=3, unique=True))
def test_csv_round_trip(
    data: st.DataObject, joints: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A written log reads back bitwise, with the same names and units, gzip or not."""
    n = data.draw(st.integers(2, 5))
    stamps = data.draw(
        st.lists(st.floats(-1e9, 1e9), min_size=n, max_size=n, unique=True).map(sorted)
    )
    signals = {
        (joint, quantity): np.array(data.draw(st.lists(numbers, min_size=n, max_size=n)))
        for joint in joints
        for quantity in ("position", "torque")
    }
    log = Log(np.array(stamps), signals, units={(joints[0], "position"): "rad"})
    path = tmp_path_factory.mktemp("csv") / data.draw(st.sampled_from(["a.csv", "a.csv.gz"]))
    write_csv(log, path)
    again = read_log(path)
    np.testing.assert_array_equal(again.time, log.time)
    assert set(again.signals) == set(log.signals)
    for key, values in log.signals.items():
        np.testing.assert_array_equal(again.signals[key], values)
    assert dict(again.units) == dict(log.units)


def test_write_is_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed write leaves the old file as it was and no temporary file."""
    path = write(tmp_path / "a.csv", "old")
    log = Log(np.arange(3.0), {("e", "position"): np.zeros(3)})

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(LogError, match="No space left"):
        write_csv(log, path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]


def test_write_refuses(tmp_path: Path) -> None:
    """Another extension, or a folder that is not there, is a clear error."""
    log = Log(np.arange(3.0), {("e", "position"): np.zeros(3)})
    with pytest.raises(LogError, match=r"\.csv or \.csv\.gz"):
        write_csv(log, tmp_path / "a.txt")
    with pytest.raises(LogError, match="No such file"):
        write_csv(log, tmp_path / "absent" / "a.csv")


@pytest.mark.parametrize(
    "content",
    [
        GOOD.replace("\n", "\r\n"),
        "\ufeff" + GOOD,
        "# " + GOOD,
        GOOD.replace(",", ";"),
        GOOD.replace(",", "\t"),
        GOOD + "\n\n",
        '"time","elbow.position","elbow.torque"\n0,0.1,1\n"0.001","0.2","2"\n0.002, 0.3 ,3',
        "elbow.torque,time,elbow.position\n1,0,0.1\n2,0.001,0.2\n3,0.002,0.3\n",
    ],
    ids=["crlf", "bom", "comment", "semicolon", "tab", "blank end", "quotes", "reordered"],
)
def test_csv_dialects(content: str, tmp_path: Path) -> None:
    """Line ends, byte order marks, separators, quotes and column order do not matter."""
    log = read_log(write(tmp_path / "a.csv", content))
    np.testing.assert_array_equal(log.time, [0, 0.001, 0.002])
    np.testing.assert_array_equal(log.signal("elbow", "position"), [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(log.signal("elbow", "torque"), [1, 2, 3])


def test_ignored_columns_are_reported(tmp_path: Path) -> None:
    """Columns outside the schema are listed, and may hold text."""
    path = write(
        tmp_path / "a.csv", 'time,mode,e.position,temp\n0,idle,1,20\n1,"a, b",2,\n2,run,3,21\n'
    )
    log = read_log(path)
    assert log.ignored == ("mode", "temp")
    np.testing.assert_array_equal(log.signal("e", "position"), [1, 2, 3])


def test_empty_cells_are_missing(tmp_path: Path) -> None:
    """An empty cell, nan and inf are kept as samples that were not measured."""
    path = write(tmp_path / "a.csv", "time,e.q,e.tau\n0,,1\n1,nan,2\n2,3,-inf\n")
    log = read_log(path)
    np.testing.assert_array_equal(log.signal("e", "position"), [math.nan, math.nan, 3])
    np.testing.assert_array_equal(log.signal("e", "torque"), [1, 2, -math.inf])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("time,e.position\n", "a header and no samples"),
        ("time,e.position\n0,1\n", "only one sample"),
        ("stamp,e.position\n0,1\n1,2\n", "no time column; the columns are 'stamp', 'e.position'"),
        ("time,a,b\n0,1,2\n1,1,2\n", "no column is named like elbow.position"),
        ("time,e.q,e.position\n0,1,2\n", "'e.q' and 'e.position' both give the position of 'e'"),
        ("time,t,e.position\n0,0,2\n", "'time' and 't' both give time"),
        ("time,e.q\n0,1\n1,2,3\n", "line 3 has 3 cells, but the header has 2"),
        ("time,e.q\n0,1\n\n1\n", "line 4 has 1 cells, but the header has 2"),
        ("time,e.q\n0,1\n1,abc\n", "line 3, column 'e.q': 'abc' is not a number; 1 of 2 rows"),
        ("time,e.q\n0,1\n,2\n", "line 3, column 'time': is empty"),
        ("time;e.q\n0;1\n1;2,5\n", "line 3, column 'e.q': '2,5' is not a number; decimals"),
        ("time,e.q\n0,1\n1,1_0\n", "line 3, column 'e.q': '1_0' is not a number"),
        ("time,e.q\n0,1\n1,0x10\n", "line 3, column 'e.q': '0x10' is not a number"),
        ("time,e.q\n0,1\n2,1\n3,1\n1,1\n2,1\n", "backwards at row 4: 1.0 s after 3.0 s"),
        ("time,e.q\n0,1\nnan,1\n", "line 3, column 'time': is empty or not finite"),
        ("time,e.q[furlong]\n0,1\n1,1\n", "'furlong' is not a unit of position"),
        ("time,e.q\n0,1\n1,\xff\n".encode("latin-1"), r"'\\udcff' is not a number"),
        ("time,\xb0.q\n0,1\n1,1\n".encode("latin-1"), r"header is not UTF-8 text \(byte 0xb0\)"),
        ("time,e.q\n0,1\n1,2\n".encode("utf-16"), "binary file|not UTF-8"),
        (b"\x7fELF\0\0\0\0" * 100, "binary file"),
        (",".join(["time", *(f"j{k}.q" for k in range(10_000))]), "10001 columns; at most 10000"),
    ],
)
def test_csv_refusals(content: str | bytes, message: str, tmp_path: Path) -> None:
    """Every broken table is refused in one line that says where and what."""
    assert re.search(message, refusal(write(tmp_path / "bad.csv", content)))


def test_missing_files(tmp_path: Path) -> None:
    """A missing file, a folder and an unknown extension have different messages."""
    assert "no such file" in refusal(tmp_path / "absent.csv")
    (tmp_path / "folder.csv").mkdir()
    assert "is a directory" in refusal(tmp_path / "folder.csv")
    assert ".csv, .tsv, .txt, .dat, .csv.gz" in refusal(write(tmp_path / "a.xlsx", b"PK"))
    assert "is empty" in refusal(write(tmp_path / "a.npz", b""))
    with pytest.raises(LogError, match=r"cannot be read|no such file"):
        read_log("a\0b.csv")


def test_damaged_gzip(tmp_path: Path) -> None:
    """A gzip file that ends early or is scrambled is refused, not half read."""
    packed = gzip.compress(GOOD.encode() * 200)
    assert "damaged" in refusal(write(tmp_path / "cut.csv.gz", packed[:-20]))
    assert "damaged" in refusal(write(tmp_path / "mixed.csv.gz", packed[:40] + b"x" * 40))


def test_gzip_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small archive that decompresses beyond the limit is refused while it is read."""
    monkeypatch.setattr(reader_csv, "MAX_FILE_BYTES", 1_000_000)
    rows = "".join(f"{k},0,0\n" for k in range(300_000))
    packed = gzip.compress(f"time,e.q,e.tau\n{rows}".encode())
    assert "more than 976.6 KiB when decompressed" in refusal(write(tmp_path / "b.csv.gz", packed))


def test_value_cap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both parsers limit the number of values."""
    monkeypatch.setattr(reader_csv, "MAX_VALUES", 20)
    rows = "".join(f"{k},0,0\n" for k in range(30))
    assert "more than 20 numbers" in refusal(write(tmp_path / "a.csv", f"time,e.q,e.tau\n{rows}"))
    assert "more than 20 numbers" in refusal(
        write(tmp_path / "b.csv", f"time,e.q,e.tau\n-1,,\n{rows}")
    )


# --- NPZ -------------------------------------------------------------------------------


def npz(path: Path, **arrays: object) -> Path:
    np.savez(path, **arrays)  # type: ignore[arg-type]
    return path


def zip_member(path: Path, name: str, content: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return path


def npy_header(shape: str, descr: str = "'<f8'") -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"
    text = text.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def test_npz_columns(tmp_path: Path) -> None:
    """Arrays named like CSV columns read like them, integers and other byte orders too."""
    path = npz(
        tmp_path / "a.npz",
        **{
            "time[ms]": np.arange(3),
            "e.position[deg]": np.array([0, 90, 180], dtype=">f4"),
            "e.tau": np.ones(3),
            "note": np.array("hello"),
        },
    )
    log = read_log(path)
    np.testing.assert_allclose(log.time, [0, 1e-3, 2e-3])
    np.testing.assert_allclose(log.signal("e", "position"), [0, math.pi / 2, math.pi])
    assert log.ignored == ("note",)


@pytest.mark.parametrize("order", ["C", "F"])
def test_npz_tables(tmp_path: Path, order: str) -> None:
    """Arrays per quantity with joint names beside give the same log, in any memory order."""
    q, tau = np.random.default_rng(0).normal(size=(2, 5, 2))
    path = npz(
        tmp_path / "a.npz",
        time=np.arange(5.0),
        joint_names=np.array(["b", "a"]),
        **{"position[deg]": np.array(q, order=order), "efforts": np.array(tau, order=order)},
        target=q,
    )
    log = read_log(path)
    assert log.joints == ("b", "a")
    np.testing.assert_allclose(log.signal("a", "position"), np.deg2rad(q[:, 1]))
    np.testing.assert_array_equal(log.signal("b", "torque"), tau[:, 0])
    assert log.units["a", "position"] == "rad"
    assert log.ignored == ("target",)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (
            {"time": np.arange(3.0), "q": np.zeros((3, 2)), "tau": np.zeros((3, 1))},
            "'tau' has 1 columns, but the first table has 2 joints",
        ),
        (
            {"time": np.arange(3.0), "q": np.zeros((3, 2)), "tau": np.zeros((2, 3))},
            "are its rows and columns exchanged?",
        ),
        (
            {"time": np.arange(3.0), "position": np.zeros((3, 2)), "joint_names": np.array(["a"])},
            "has 2 columns, but 'joint_names' has 1 joints",
        ),
        (
            {
                "time": np.arange(3.0),
                "q": np.zeros((3, 2)),
                "position": np.zeros((3, 2)),
                "joint_names": np.array(["a", "b"]),
            },
            "both give the position of 'a'",
        ),
        (
            {"time": np.arange(3.0), "q": np.zeros((3, 1)), "joint_names": np.array([1])},
            "must be a 1-D array of text",
        ),
        (
            {"time": np.arange(3.0), "q": np.zeros((3, 2)), "joint_names": np.array(["a", "a"])},
            "names a joint twice",
        ),
        ({"q": np.zeros((3, 1)), "joint_names": np.array(["a"])}, "no time column"),
        ({"e.position": np.zeros(3)}, "no time column"),
        ({"time": np.arange(3.0), "e.position": np.zeros((3, 1))}, "one value per sample"),
        ({"time": np.arange(3.0), "e.position": np.array(["a", "b", "c"])}, "not numeric"),
        ({"time": np.arange(3.0), "e.position": np.array([None] * 3)}, "Python objects"),
        ({"time": np.arange(3.0), "e.position": np.zeros(2)}, "has 2 samples"),
    ],
)
def test_npz_refusals(arrays: dict[str, np.ndarray], message: str, tmp_path: Path) -> None:
    """Arrays that do not form a log are refused by name."""
    assert message in refusal(npz(tmp_path / "bad.npz", **arrays))


def test_npz_never_unpickles(tmp_path: Path) -> None:
    """An object array is refused from its header; its pickle is never opened."""
    bomb = b"cos\nsystem\n(S'touch pwned'\ntR."
    path = zip_member(tmp_path / "a.npz", "time.npy", npy_header("(1,)", "'|O'") + bomb)
    assert "never loaded" in refusal(path)


def test_npz_huge_claim(tmp_path: Path) -> None:
    """A file of some two hundred bytes that claims 700 GiB is refused before allocation."""
    path = zip_member(tmp_path / "a.npz", "time.npy", npy_header("(93952409600,)"))
    assert path.stat().st_size < 300
    message = refusal(path)
    assert "claims shape (93952409600,)" in message
    assert "700 GiB" in message


@pytest.mark.parametrize("shape", ["(3,)", "(100000,)", "(0,)", "(1000000, 0)"])
def test_npz_claim_against_content(shape: str, tmp_path: Path) -> None:
    """A shape that does not match the bytes in the archive is refused."""
    path = zip_member(tmp_path / "a.npz", "time.npy", npy_header(shape) + bytes(8 * 2))
    assert "but the file holds 16 bytes" in refusal(path)


def test_npz_wrong_directory_sizes(tmp_path: Path) -> None:
    """A zip directory that claims more bytes than the archive has is refused."""
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("time.npy", npy_header("(2,)") + struct.pack("<2d", 0, 1))
        archive.writestr("e.position.npy", npy_header("(1000,)") + bytes(8))
    raw = path.read_bytes()
    real, claimed = struct.pack("<I", 128 + 8), struct.pack("<I", 128 + 8000)
    assert raw.count(real) == 2
    assert re.search("cut short|damaged|CRC", refusal(write(path, raw.replace(real, claimed))))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("time.npy", b"not an array", "is not a NumPy array"),
        ("time.npy", b"\x93NUMPY\x09\x00" + bytes(200), "is not a NumPy array|version"),
        ("time.npy", b"\x93NUMPY\x03\x00" + bytes(200), "version"),
        ("time.npy", npy_header("(-5,)"), "claims shape|is not a NumPy array"),
        ("time.npy", npy_header("(2,)", "'|V0'"), "claims shape|is not a NumPy array"),
        ("time.npy", npy_header("(__import__('os'),)"), "is not a NumPy array"),
    ],
)
def test_npz_bad_headers(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    """A member that is not an array, or has an invalid header, is refused by name."""
    assert re.search(message, refusal(zip_member(tmp_path / "a.npz", name, content)))


def test_npz_not_a_zip(tmp_path: Path) -> None:
    """A file that is not an archive, and a truncated one, are refused."""
    assert "not a readable NPZ" in refusal(write(tmp_path / "a.npz", b"hello world" * 10))
    buffer = io.BytesIO()
    np.savez(buffer, time=np.arange(1000.0))
    assert "not a readable NPZ" in refusal(write(tmp_path / "b.npz", buffer.getvalue()[:4000]))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_npz_other_compression(method: int, tmp_path: Path) -> None:
    """Archives with other compression methods than NumPy's are refused."""
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("time.npy", npy_header("(2,)") + bytes(16))
    assert "compressed in a way" in refusal(path)


def test_npz_name_that_is_not_text(tmp_path: Path) -> None:
    """A member whose name is not the text that it claims to be is refused."""
    path = zip_member(tmp_path / "a.npz", "é.npy", npy_header("(2,)") + bytes(16))
    broken = path.read_bytes().replace("é".encode(), b"\xc3\xc3")
    assert "damaged" in refusal(write(path, broken))


def test_npz_total_cap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit applies to the sum of all arrays."""
    monkeypatch.setattr(reader_npz, "MAX_VALUES", 10)
    path = npz(tmp_path / "a.npz", **{"time": np.arange(6.0), "e.position": np.zeros(6)})
    assert "12 numbers; at most 10" in refusal(path)


@settings(max_examples=150, deadline=None)
@given(cut=st.integers(0, 700), flip=st.integers(0, 700), value=st.integers(0, 255))
def test_damaged_npz_is_read_or_refused(
    cut: int, flip: int, value: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A damaged archive either reads as some log or is refused; nothing else is raised."""
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer, **{"time": np.arange(4.0), "e.position": np.arange(4.0), "e.tau": np.ones(4)}
    )
    raw = bytearray(buffer.getvalue())
    if flip < len(raw):
        raw[flip] = value
    path = tmp_path_factory.mktemp("npz") / "a.npz"
    path.write_bytes(bytes(raw[: len(raw) - cut % 50]))
    try:
        n_samples = len(read_log(path))
    except LogError:
        n_samples = 4
    assert n_samples == 4
