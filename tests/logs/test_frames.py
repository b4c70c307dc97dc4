"""Logs from data frames and arrays: the same as from a CSV file with these columns."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_arm import URDF, arm_log

from steelyard.errors import LogError
from steelyard.logs.any_log import as_log, check_logs
from steelyard.logs.log import Log
from steelyard.logs.reading import read_log
from steelyard.logs.several import checked_logs
from steelyard.logs.writer_csv import write_csv
from steelyard.robot.robot import Robot

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

TIME = np.arange(5) / 100.0
NAN = float("nan")


@pytest.fixture(scope="module")
def csv_file(tmp_path_factory) -> Path:
    """A log in a file, in degrees, with one missing torque."""
    path = tmp_path_factory.mktemp("log") / "run.csv"
    write_csv(arm_log(Robot.from_urdf_text(URDF), 1), path)
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[0] = lines[0].replace("elbow.position[rad]", "elbow.position[deg]")
    cells = lines[5].split(",")
    lines[5] = ",".join([*cells[:-1], ""])
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def same(one: Log, other: Log) -> None:
    """The same signals, bit for bit, with the same units."""
    assert one.content_hash == other.content_hash
    assert dict(one.units) == dict(other.units)
    assert dict(one.columns) == dict(other.columns)
    assert one.ignored == other.ignored


def small(**changed: Any) -> dict[str, Any]:
    """Columns of one joint, some of them changed; None leaves a column out."""
    columns = {"time": TIME, "j.position": TIME, "j.torque": 2.0 * TIME, **changed}
    return {name: values for name, values in columns.items() if values is not None}


def read_pandas(path: Path) -> Any:
    """A pandas frame whose numbers are the file's to the last digit."""
    return pd.DataFrame(pl.read_csv(path).to_dict(as_series=False))


@pytest.mark.parametrize("read", [read_pandas, pl.read_csv], ids=["pandas", "polars"])
def test_a_frame_is_the_log_of_its_file(csv_file, read):
    """Columns, units and missing values mean what they mean in the file."""
    from_file = read_log(csv_file)
    assert "[deg]" in "".join(from_file.columns.values())
    assert np.isnan(list(from_file.signals.values())[-1]).sum() == 1
    frame = read(csv_file)
    same(Log.from_frame(frame), from_file)
    same(as_log(frame), from_file)
    same(Log.from_frame({name: np.asarray(frame[name]) for name in frame.columns}), from_file)


def test_paths_frames_and_logs_may_be_mixed(csv_file):
    """Each of several is read in its turn, and named."""
    frame = read_pandas(csv_file)
    logs = list(checked_logs([csv_file, str(csv_file), frame, pl.from_dict(small()), small()]))
    assert [log.name for log in logs] == ["run", "run", "log", "log", "log"]
    assert logs[3].content_hash == logs[4].content_hash


@pytest.mark.parametrize("frame_of", [pd.DataFrame, pl.DataFrame, dict])
def test_joints_by_number(frame_of):
    """Names of other programs, such as q1, are known as in a file."""
    log = Log.from_frame(frame_of({"t": TIME, "q1": TIME, "tau1": TIME, "comment": ["x"] * 5}))
    assert set(log.signals) == {("#1", "position"), ("#1", "torque")}
    assert log.ignored == ("comment",)


def test_columns_may_be_named():
    """A name that is not recognised is given a meaning, with a unit, as in read_log."""
    frame = pd.DataFrame({"Zeit": 1000 * TIME, "PosElbow": 90 * TIME, "elbow.torque": TIME})
    log = Log.from_frame(
        frame, name="run", columns={"time[ms]": "Zeit", "elbow.position[deg]": "PosElbow"}
    )
    np.testing.assert_allclose(log.time, TIME)
    np.testing.assert_allclose(log.signal("elbow", "position"), np.radians(90 * TIME))
    assert log.name == "run"
    with pytest.raises(LogError, match="the columns have names"):
        Log.from_frame(frame, columns=["time", "q1", "tau1"])  # type: ignore[arg-type]


START = pd.Timestamp("2026-03-29 00:59:59.98")  # summer time starts in between
DATES = START + pd.to_timedelta(10 * np.arange(5), unit="ms")


@pytest.mark.parametrize(
    "index",
    [
        DATES,
        DATES.tz_localize("UTC").tz_convert("Europe/Berlin"),
        DATES.as_unit("ms"),
        DATES.rename("stamp"),
        pd.Index(TIME, name="time"),
        pd.Index(1000 * TIME, name="time[ms]"),
        pd.Index((10_000 * np.arange(5)).astype(int), name="t[us]"),
    ],
    ids=["dates", "with time zone", "in ms", "named", "numbers", "unit", "integers"],
)
def test_time_may_be_the_index(index):
    """Dates count from the first; numbers of an index with the name of time are time."""
    log = Log.from_frame(pd.DataFrame(small(time=None), index=index))
    np.testing.assert_allclose(log.time, TIME, atol=1e-15)


def test_durations():
    """A TimedeltaIndex keeps its start; a column of dates or durations is time as well."""
    spans = pd.to_timedelta(500 + 10 * np.arange(5), unit="ms")
    log = Log.from_frame(pd.DataFrame(small(time=None), index=spans))
    np.testing.assert_allclose(log.time, 0.5 + TIME)
    for column in (spans, DATES, DATES.tz_localize("Europe/Berlin", nonexistent="shift_forward")):
        shift = 0.5 if column is spans else 0.0
        log = Log.from_frame(pd.DataFrame(small(time=column)))
        if column is spans or column is DATES:
            np.testing.assert_allclose(log.time, shift + TIME, atol=1e-15)
    series = pl.Series(DATES.to_numpy())
    for column in (series, series.dt.replace_time_zone("UTC"), series - series[0]):
        log = Log.from_frame(pl.DataFrame(small(**{"time[ms]": column, "time": None})))
        np.testing.assert_allclose(log.time, TIME, atol=1e-15)


def test_a_column_of_time_goes_before_the_index():
    """A frame may have both."""
    log = Log.from_frame(pd.DataFrame(small(time=TIME + 3.0), index=DATES))
    np.testing.assert_array_equal(log.time, TIME + 3.0)


@pytest.mark.parametrize("frame_of", [pd.DataFrame, pl.DataFrame, dict])
def test_nanoseconds_since_1970_keep_their_digits(frame_of):
    """They have more digits than a float, and count from the first."""
    stamps = 1_700_000_000_000_000_000 + 1001 * np.arange(5)
    log = Log.from_frame(frame_of(small(**{"time[ns]": stamps, "time": None})))
    np.testing.assert_allclose(log.time, 1.001e-6 * np.arange(5), rtol=1e-12)


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([1.0, NAN, 3.0, 4.0, 5.0]),
        pd.Series([1, 2, 3, 4, 5]).astype("float32").where([True, False, True, True, True]),
        pd.Series([1, None, 3, 4, 5], dtype="Int64"),
        pd.Series([1, None, 3, 4, 5], dtype="Float64"),
        pd.Series([1, None, 3.0, np.int8(4), Decimal(5)], dtype=object),
        pd.Series([1, pd.NA, 3, 4, 5], dtype=object),
        pd.Series([1.0, None, 3.0, 4.0, 5.0], dtype="category"),
        pl.Series([1, None, 3, 4, 5]),
        pl.Series([1, None, 3, 4, 5], dtype=pl.UInt8),
        pl.Series([1.0, None, 3.0, 4.0, 5.0], dtype=pl.Float32),
        pl.Series([1, None, 3, 4, 5], dtype=pl.Decimal(10, 2)),
        [1, None, 3, 4, 5],
        np.ma.masked_array([1, 2, 3, 4, 5], mask=[0, 1, 0, 0, 0]),
        np.array([1, NAN, 3, 4, 5], dtype="float16"),
        np.array([1, NAN, 3, 4, 5], dtype=">f8"),
    ],
    ids=str,
)
def test_every_kind_of_number(values):
    """Missing is NaN, whatever the library calls it, and a number is its value."""
    expected = [1.0, NAN, 3.0, 4.0, 5.0]
    tables: list[Any] = [small(**{"j.torque": values})]
    if isinstance(values, pd.Series):
        tables.append(pd.DataFrame(tables[0]))
    if isinstance(values, pl.Series):
        tables.append(pl.DataFrame(tables[0]))
    for table in tables:
        np.testing.assert_array_equal(Log.from_frame(table).signal("j", "torque"), expected)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["1.5", "2", "3", "4", "x"], "text|row 1: '1.5' \\(str\\) is not a number"),
        ([True, False, True, True, True], "True and False"),
        ([1.0, True, 2.0, 3.0, 4.0], None),
        ([1j, 2j, 3j, 4j, 5j], "no numbers \\(dtype complex128\\)"),
        (DATES.to_numpy(), "dates or durations"),
    ],
)
def test_what_is_no_number_is_refused(values, words):
    """In one line that names the column, in every kind of table."""
    for frame_of in (pd.DataFrame, dict):
        column = pd.Series(values, dtype=object) if words is None else values
        table = frame_of(small(**{"j.torque": column}))
        with pytest.raises(
            LogError, match=rf"log 'log': column 'j.torque'.*({words or 'bool'})"
        ) as e:
            Log.from_frame(table)
        assert "\n" not in str(e.value)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pl.Series(["a", "b", "c", "d", "e"]), "row 1: 'a'"),
        (pl.Series(["1", "2", "3", "4", "5"], dtype=pl.Categorical), "row 1: '1'"),
        (pl.Series([True, None, True, True, True]), "row 1: 'True'"),
        (pl.Series([True] * 5), "True and False"),
        (pl.Series([[1.0]] * 5), "j.torque"),
    ],
)
def test_polars_columns_that_are_no_numbers(column, words):
    """Refused as those of pandas are."""
    with pytest.raises(LogError, match=words):
        Log.from_frame(pl.DataFrame(small(**{"j.torque": column})))


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pd.DataFrame(small(time=None)), "no time column; the columns are 'j.position'"),
        (pd.DataFrame(np.zeros((5, 3))), "no time column; the columns are '0', '1', '2'"),
        (pd.DataFrame({"time": TIME, "x": TIME}), "no column is named like"),
        (pd.DataFrame(np.zeros((5, 3)), columns=["time", "q1", "q1"]), "both give the position"),
        (pd.DataFrame(small(time=[0.0, 1.0, 1.0, 2.0, 3.0])), "time stamp repeats at row 3"),
        (pd.DataFrame(small(time=[0.0, NAN, 1.0, 2.0, 3.0])), "time is missing.*row 2"),
        (pd.DataFrame(small(time=None), index=[pd.NaT] * 5), "time is missing .*5 rows"),
        (pd.DataFrame(small(time=DATES[::-1])), "time runs backwards at row 2"),
        (pd.DataFrame(small()).iloc[:0], "no samples"),
        (pl.DataFrame(small()).lazy(), "a LazyFrame has no values yet; pass frame.collect"),
        (small(**{"j.torque": TIME[:3]}), "j.torque has 3 samples, but time has 5"),
        (small(**{"j.torque[furlong]": TIME, "j.torque": None}), "is not a unit of torque"),
        (small(**{"j.torque": [[1.0], [2.0, 3.0]]}), "cannot be read as numbers"),
        ({"time": TIME, "q": np.zeros((5, 2)), "joint_names": ["a"]}, "has shape .*1 names"),
    ],
)
def test_a_wrong_frame_is_refused_in_one_line(frame, words):
    """With the words that a wrong file gets."""
    with pytest.raises(LogError, match=words) as refused:
        as_log(frame)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (7, "logs are needed, not a int; pass a path, a data frame or a Log"),
        (np.zeros((5, 3)), "not an array.*Log.from_arrays"),
        ("no_such.csv", "'no_such.csv': no such file"),
        (["no_such.csv"], "'no_such.csv': no such file"),
        (b"run.csv", "logs are needed, not a bytes"),
    ],
)
def test_what_are_no_logs_is_refused_before_anything_is_read(given, words):
    """A path of no file, too."""
    with pytest.raises(LogError, match=words):
        check_logs(given)


def test_the_frame_stays_as_it_is():
    """It is not changed, may be read-only, and the log does not change with it."""
    columns = small()
    for values in columns.values():
        values.setflags(write=False)
    frame = pd.DataFrame(small(time=None), index=pd.Index(TIME.copy(), name="time"))
    before = frame.copy(deep=True)
    logs = [Log.from_frame(frame), Log.from_frame(columns), Log.from_frame(pl.DataFrame(columns))]
    pd.testing.assert_frame_equal(frame, before)
    frame.iloc[:, :] = 7.0
    for log in logs:
        np.testing.assert_array_equal(log.signal("j", "torque"), 2.0 * TIME)


def test_tables_of_all_joints():
    """Arrays (n_samples, n_joints) by quantity, with names of joints or without, in any unit."""
    q = np.arange(10.0).reshape(5, 2)
    log = Log.from_frame({"time": TIME, "position[deg]": q, "tau": q, "joint_names": ["a", "b"]})
    np.testing.assert_allclose(log.signal("b", "position"), np.radians(q[:, 1]))
    np.testing.assert_array_equal(log.signal("a", "torque"), q[:, 0])
    assert Log.from_frame({"time": TIME, "q": q, "tau": q}).joints == ("#1", "#2")
    assert Log.from_frame({"time": TIME, "q": TIME, "tau": TIME}).joints == ("#1",)


def test_a_log_of_arrays(csv_file):
    """Log.from_arrays has the signals of its columns, copied."""
    log = read_log(csv_file)
    tables = {
        quantity: np.column_stack([log.signal(joint, quantity) for joint in log.joints])
        for quantity in ("position", "torque")
    }
    made = Log.from_arrays(
        log.time, tables["position"], tables["torque"], joints=log.joints, name="mine"
    )
    assert made.content_hash == log.content_hash
    assert made.name == "mine"
    tables["torque"][:] = 0.0
    assert np.nanmax(np.abs(made.signal("elbow", "torque"))) > 0.0
    one = Log.from_arrays(TIME, TIME, TIME, joints=["j"], v=TIME[:, None], a=TIME)
    assert one.quantities("j") == ("position", "velocity", "acceleration", "torque")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"q": np.zeros((2, 5))}, r"position has shape \(2, 5\).*rows and columns exchanged"),
        ({"tau": np.zeros((5, 3))}, r"torque has shape \(5, 3\); \(n_samples, 2\) is needed"),
        ({"tau": np.zeros((4, 2))}, "a.torque has 4 samples, but time has 5"),
        ({"v": "fast"}, "velocity is not an array of numbers"),
        ({"joints": "ab"}, "joints must be a list of names, not the str 'ab'"),
        ({"joints": ["a", "a"]}, "joint 'a' is named twice"),
    ],
)
def test_wrong_arrays_are_refused(change, words):
    """By quantity, with the shape that is needed."""
    zeros = np.zeros((5, 2))
    given = {"time": TIME, "q": zeros, "tau": zeros, "joints": ["a", "b"], **change}
    with pytest.raises(LogError, match=words):
        Log.from_arrays(**given)


@pytest.mark.parametrize("names", [5, "ab", [1, 2], [["a"], ["b"]]])
def test_joint_names_that_are_no_list_of_names_are_refused(names):
    """A text would be taken apart into letters."""
    table = {"time": np.arange(3.0), "position": np.zeros((3, 2)), "joint_names": names}
    with pytest.raises(LogError, match="'joint_names' must be a list of names"):
        Log.from_frame(table)


def test_a_single_number_is_no_table():
    """The message says which shape is needed."""
    with pytest.raises(LogError, match=r"shape \(\); \(n_samples, n_joints\) is needed"):
        Log.from_frame({"time": np.arange(3.0), "position": 2.0})
