"""Column names of other programs: what is recognised, what is not, and what is refused."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.errors import LogError
from steelyard.logs.columns import ALIASES, QUANTITY_OF, parse_column
from steelyard.logs.foreign_names import AMBIGUOUS, marked_number, written_number
from steelyard.logs.header import parse_header
from steelyard.logs.reading import read_log


@pytest.mark.parametrize(
    ("column", "joint", "quantity"),
    [
        ("q1", "#1", "position"),
        ("qd1", "#1", "velocity"),
        ("dq1", "#1", "velocity"),
        ("qdd1", "#1", "acceleration"),
        ("ddq1", "#1", "acceleration"),
        ("tau1", "#1", "torque"),
        ("Position7", "#7", "position"),
        ("q_01", "#1", "position"),
        ("position_0", "#0", "position"),
        ("pos_0", "#0", "position"),
        ("vel_0", "#0", "velocity"),
        ("effort_0", "#0", "torque"),
        ("torque_0", "#0", "torque"),
        ("current_0", "#0", "current"),
        ("actual_q_3", "#3", "position"),
        ("joint_positions_2", "#2", "position"),
        ("joint1_pos", "joint1", "position"),
        ("joint_1_position", "joint_1", "position"),
        ("j12_tau", "j12", "torque"),
        ("/joint_states/shoulder_pan_joint/position", "shoulder_pan_joint", "position"),
        ("/ur/joint_states/elbow/effort", "elbow", "torque"),
        ("/joint_states/position[0]", "#0", "position"),
        ("/joint_states/position.0", "#0", "position"),
        ("/joint_states/effort/4", "#4", "torque"),
        ("joint_states.position[2]", "#2", "position"),
        ("elbow/effort", "elbow", "torque"),
        ("arm/elbow/position", "arm/elbow", "position"),
    ],
)
def test_names_of_other_programs(column: str, joint: str, quantity: str) -> None:
    """A name that another program writes gives joint (or its number) and quantity."""
    found = parse_column(column, "file")
    assert found is not None
    assert (found.joint, found.quantity, found.factor) == (joint, quantity, 1.0)


@pytest.mark.parametrize(
    "column", ["q1[deg]", "position[0][deg]", "/joint_states/position[0][deg]"]
)
def test_units_behind_numbers(column: str) -> None:
    """A unit may follow a number, also one in brackets."""
    found = parse_column(column, "file")
    assert found is not None
    assert (found.quantity, found.unit) == ("position", "rad")


@pytest.mark.parametrize(
    "column",
    [
        "v1", "a1", "i1", "force_0", "N/A", "m/s", "tau_model1", "target_positions_1", "temp1",
        "elbow.q1", "target.position[0]", "e.position[2]", "/position", "joint_states/position",
        "/joint_states/header/stamp", "elbow_position", "q", "q1234567890", "q²", "q١", "joint1",
        "joint_1_temperature", "1", "#1", "q-1",
    ],
)  # fmt: skip
def test_names_that_are_not_taken(column: str) -> None:
    """What may be something else is ignored, not guessed."""
    assert parse_column(column, "file") is None


def test_numbers_of_joints() -> None:
    """Only a marked number, or a name that is nothing but a number, is one."""
    assert [marked_number(name) for name in ("#0", "#12", "1", "#", "#1a")] == [
        0,
        12,
        None,
        None,
        None,
    ]
    names = ("joint1", "Joint_07", "j-2", "axis3", "panda_joint1", "joint", "elbow", "#1")
    assert [written_number(name) for name in names] == [1, 7, 2, 3, None, None, None, None]


STYLES = ("{word}{n}", "{word}_{n}", "/joint_states/{word}[{n}]", "joint_states.{word}.{n}",
          "joint_{n}_{word}", "j{n}_{word}")  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(
    word=st.sampled_from(sorted(set(QUANTITY_OF) - AMBIGUOUS)),
    number=st.integers(0, 999_999_999),
    style=st.sampled_from(STYLES),
    upper=st.booleans(),
)
def test_every_spelling_with_every_number(word: str, number: int, style: str, upper: bool) -> None:
    """Every spelling of a quantity, with any number, in any style, is that quantity."""
    found = parse_column(style.format(word=word.upper() if upper else word, n=number), "file")
    assert found is not None
    assert found.quantity == QUANTITY_OF[word]
    assert number in (marked_number(found.joint), written_number(found.joint))


header_texts = st.one_of(
    st.text(max_size=12),
    st.from_regex(
        r"(q|qd|tau|position|joint_|/joint_states/|#|time|sec|nsec)[\[_./]?[0-9]{0,12}\]?"
    ),
    st.sampled_from(["time", "t", "q1", "tau1", "e.position", "sec", "nsec", "1", "nan", "*", ""]),
)


@settings(max_examples=300, deadline=None)
@given(
    names=st.lists(header_texts, min_size=1, max_size=8), mapped=st.lists(header_texts, max_size=4)
)
def test_any_header_is_read_or_refused(names: list[str], mapped: list[str]) -> None:
    """A header of any text, under any mapping, gives columns or one error of one line."""
    columns = dict(zip(mapped[::2], mapped[1::2]))
    words = ""
    try:
        found, ignored = parse_header(names, "file", columns)
    except LogError as error:
        found, ignored, words = (), tuple(names), f"{error}"
    assert "\n" not in words
    assert words.startswith("file: ") == (not found)
    keys = [(one.joint, one.quantity) for one in found if one is not None]
    assert len(set(keys)) == len(keys)
    assert len(keys) + len(ignored) == len(names)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["time", "q1", "q01"], "'q1' and 'q01' both give the position of '#1'"),
        (["time", "q1", "q1"], "'q1' and 'q1' both give .*; give them different names"),
        (["time", "q1", "position_1"], "choose one with --map '#1.position=q1'"),
        (["t", "__time", "q1"], "'t' and '__time' both give time; choose one with --map time=t"),
        (["time", "q" + 5000 * "9"], "no column is named like"),
        (["time", "\x1b[31mq\n1"], "no column is named like"),
        (
            ["time", "elbow.postion"],
            "'elbow.postion' looks like a position: name it with --map JOINT.position=elbow.pos",
        ),
        (["tiem", "q1"], r"'tiem' is not \(did you mean 'time'\?\)"),
        (["sec", "q1"], "no time column"),
        (["sec", "nsec", "nanosec", "q1"], "both give time"),
    ],
)
def test_headers_that_are_refused(names: list[str], words: str) -> None:
    """What is ambiguous or not there is refused in one line, with what to do."""
    with pytest.raises(LogError, match=words) as caught:
        parse_header(names, "file")
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_a_million_columns(tmp_path: Path) -> None:
    """A header of a million names is refused at once."""
    path = tmp_path / "a.csv"
    path.write_text(",".join(f"q{k}" for k in range(10**6)) + "\n")
    with pytest.raises(LogError, match="the header is longer than 2 MiB"):
        read_log(path)


def test_seconds_and_nanoseconds(tmp_path: Path) -> None:
    """A stamp in two columns keeps its nanoseconds, and counts from its first second."""
    path = tmp_path / "a.csv"
    path.write_text(
        "header.stamp.sec,header.stamp.nanosec,q1\n"
        "1700000000,999999000,1\n1700000001,0,2\n1700000001,1000,3\n"
    )
    log = read_log(path)
    np.testing.assert_allclose(np.diff(log.time), 1e-6, rtol=1e-9)
    assert 0.0 <= log.time[0] < 1.0
    path.write_text("time,sec,nsec,q1\n0,5,0,1\n1,5,0,2\n")
    assert read_log(path).ignored == ("sec", "nsec")


def test_plotjuggler_export(tmp_path: Path) -> None:
    """A table that PlotJuggler writes from JointState messages reads like our own."""
    path = tmp_path / "a.csv"
    path.write_text(
        "__time,/joint_states/elbow/position,/joint_states/elbow/effort,/joint_states/header/seq\n"
        "0.5,0.1,1,7\n0.6,0.2,2,8\n"
    )
    log = read_log(path)
    np.testing.assert_array_equal(log.time, [0.5, 0.6])
    np.testing.assert_array_equal(log.signal("elbow", "torque"), [1, 2])
    assert log.ignored == ("/joint_states/header/seq",)
    assert log.columns["elbow", "position"] == "/joint_states/elbow/position"


@pytest.mark.parametrize("seed", range(5))
def test_numbered_arrays(seed: int, tmp_path: Path) -> None:
    """Tables without names, single arrays with numbers, and a CSV table give the same log."""
    rng = np.random.default_rng(seed)
    n_joints = random.Random(seed).randint(1, 5)
    time, q, tau = np.arange(6.0), rng.normal(size=(6, n_joints)), rng.normal(size=(6, n_joints))
    word = random.Random(seed).choice(ALIASES["torque"][:3])
    np.savez(tmp_path / "tables.npz", times=time, q=q, **{word: tau})  # type: ignore[arg-type]
    single = {f"q{k + 1}": q[:, k] for k in range(n_joints)}
    single |= {f"{word}{k + 1}": tau[:, k] for k in range(n_joints)}
    np.savez(tmp_path / "single.npz", t=time, **single)  # type: ignore[arg-type]
    lines = [",".join(["time", *single])]
    lines += [",".join(map(repr, map(float, row))) for row in np.c_[time, q, tau]]
    (tmp_path / "table.csv").write_text("\n".join(lines))
    logs = [read_log(tmp_path / name) for name in ("tables.npz", "single.npz", "table.csv")]
    assert logs[0].joints == tuple(f"#{k + 1}" for k in range(n_joints))
    assert len({log.content_hash for log in logs}) == 1


def test_one_array_for_one_joint(tmp_path: Path) -> None:
    """An array of a quantity with one value per sample is that of the only joint."""
    np.savez(tmp_path / "a.npz", time=np.arange(3.0), position=np.ones(3), torque=np.ones((3, 1)))
    log = read_log(tmp_path / "a.npz")
    assert log.joints == ("#1",)
    assert log.quantities("#1") == ("position", "torque")
