"""What an identification can do: show itself, write files, predict, plot."""

from __future__ import annotations

import copy
import pickle
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from given_signals import FEW, QUICK
from small_arm import URDF, arm_log

from steelyard.errors import (
    EstimationError,
    LogError,
    ModelError,
    ResultError,
    RobotError,
    SignalError,
)
from steelyard.findings import Finding
from steelyard.identification.identify import Identification, identify
from steelyard.identification.outputs import FILES
from steelyard.logs.log import Log
from steelyard.logs.reading import read_log
from steelyard.logs.writer_csv import write_csv
from steelyard.model.model import Model
from steelyard.robot.robot import Robot
from steelyard.signals.motion import Motion

LONG = "fore & <arm> of a robot with long names"
ARM = URDF.replace('"fore"', f'"{LONG.replace("&", "&amp;").replace("<", "&lt;")}"')
JOINTS = ("shoulder", "elbow")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A robot file, a training log and a held-out log."""
    folder = tmp_path_factory.mktemp("arm")
    (folder / "arm.urdf").write_text(ARM, encoding="utf-8")
    robot = Robot.from_urdf_text(ARM)
    for name, seed in (("train", 1), ("test", 2)):
        write_csv(arm_log(robot, seed, name=name), folder / f"{name}.csv")
    return folder


@pytest.fixture(scope="module")
def found(folder) -> Identification:
    """From paths alone."""
    return identify(
        str(folder / "arm.urdf"), folder / "train.csv", validate_on=[folder / "test.csv"], **FEW
    )


@pytest.fixture(scope="module")
def plain(folder) -> Identification:
    """By a method that gives base parameters only, without held-out log."""
    return identify(folder / "arm.urdf", folder / "train.csv", method="wls", **QUICK)


def with_findings(found: Identification, findings: list[Finding]) -> Identification:
    return replace(found, estimate=replace(found.estimate, findings=tuple(findings)))


def test_paths_frames_and_arrays_give_the_same(folder, plain):
    """A robot and a log are the same whether read before, read by identify, or in memory."""
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    log = read_log(folder / "train.csv")
    tables = [
        np.column_stack([log.signal(joint, quantity) for joint in JOINTS])
        for quantity in ("position", "torque")
    ]
    columns = {"time": log.time, "q": tables[0], "tau": tables[1], "joint_names": JOINTS}
    frame = pl.read_csv(folder / "train.csv")
    for given in (
        log,
        [str(folder / "train.csv")],
        Log.from_arrays(log.time, *tables, joints=JOINTS),
        columns,
        frame,
        iter([pd.DataFrame(frame.to_dict(as_series=False))]),
    ):
        again = identify(Robot.from_urdf(folder / "arm.urdf"), given, method="wls", **QUICK)
        np.testing.assert_array_equal(again.estimate.beta, plain.estimate.beta)


def test_repr_is_short_and_tells_the_most(found, plain):
    """Robot, method, data, three errors, mass, warnings and the next calls, in 25 lines."""
    text = repr(found)
    overall = found.validation.overall
    assert len(text) < 2000
    assert "'small arm' (2 joints, 2 moving links) by the method 'entropic'" in text
    errors = re.findall(r"([\d.]+)% (outside the dead band|on all)", text)
    score = overall.prediction
    shown = (score.relative_error, score.relative_error_all, score.relative_error_unfiltered)
    assert [float(error) for error, _ in errors[:3]] == [round(100 * x, 2) for x in shown]
    standard = found.estimate.standard
    assert standard is not None
    mass = sum(standard.theta[k] for k in found.model.first_column_of_body)
    assert f"{mass:.4g} kg in all moving links, without the base; robot file: 4 kg" in text
    assert ".to_urdf('identified.urdf')" in text
    assert "on the data that was used" in repr(plain)
    assert "to_urdf" not in repr(plain)


def test_repr_stays_short_whatever_it_shows(found):
    """Many long warnings and a long name of the robot fit in 25 lines of 100 columns."""
    many = [Finding("warning", f"code-{k}", f"{k} " + "long words " * 80) for k in range(9)]
    many.append(Finding("warning", "one-word", "x" * 3000))
    crowded = with_findings(found, [*many, Finding("info", "note", "not a warning")])
    robot = replace(found.model.robot, name="n" * 200)
    crowded = replace(crowded, model=replace(found.model, robot=robot))
    lines = repr(crowded).splitlines()
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 100
    assert "warnings  10:" in repr(crowded)
    assert "and 7 more in .findings" in repr(crowded)


class Tables(HTMLParser):
    """The cells of all tables; tags must be closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        if tag != "br":
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def test_notebook_table(found, plain):
    """Names are escaped; masses have their interval and its kind, joints their friction."""
    hostile = with_findings(found, [Finding("warning", "x", "<script>alert(1)</script>")])
    text = hostile._repr_html_()
    assert "<script>" not in text
    rows = {row[0]: row for row in Tables(text).rows}
    assert set(rows) == {"link", "upper", LONG, "joint", *JOINTS}
    by_name = {one.name: one for one in found.estimate.standard_parameters(found.level)}
    mass = by_name[f"{LONG}.m"]
    assert float(rows[LONG][1]) == pytest.approx(mass.value, rel=1e-3)
    assert rows[LONG][3] == mass.interval_kind
    assert float(rows[LONG][4]) == 1.5
    viscous = by_name["elbow.fv"]
    cell = rows["elbow"][rows["joint"].index("viscous friction fv")]
    value, half = (float(x) for x in re.findall(r"[\d.]+", cell)[:2])
    assert value == pytest.approx(viscous.value, abs=0.51 * 10 ** -len(str(value).split(".")[1]))
    assert half == pytest.approx(0.5 * (viscous.upper - viscous.lower), rel=0.05)
    assert "base parameters only" in plain._repr_html_()


def test_summary_has_every_link_and_joint(found, plain):
    """Mass and centre of mass of each link, terms of each joint, with kinds; all findings."""
    text = found.summary()
    names = [one.name for one in found.estimate.standard_parameters()]
    terms = [name.split(".") for name in names if name.split(".")[0] in JOINTS]
    assert max(map(len, text.splitlines())) <= 110
    for owner in ("upper", LONG, *JOINTS):
        assert len(re.findall(rf"^{re.escape(owner)} ", text, re.MULTILINE)) >= 1
    for symbol in {symbol for _, symbol in terms}:
        assert len(re.findall(rf" {symbol} +-?[\d.]", text)) == 2
    theta = dict(zip(found.model.column_names, found.estimate.standard.theta, strict=True))
    shown = re.search(r"^upper +m +([\d.]+) .* kg +(\w[\w ]+)$", text, re.MULTILINE)
    assert shown is not None
    assert float(shown[1]) == pytest.approx(theta["upper.m"], rel=1e-3)
    assert shown[2] in ("feasible range", "mostly prior", "confidence", "prior only")
    com = theta["upper.mx"] / theta["upper.m"]
    assert float(re.search(r"cx +(-?[\d.]+)", text)[1]) == pytest.approx(com, rel=1e-3)
    joined = re.sub(r"\s+", " ", text)
    assert all(finding.words in joined for finding in found.findings)
    assert all(name in plain.summary() for name in plain.estimate.base.names)


def test_save_writes_all_files(found, tmp_path):
    """It is write_outputs; a reader opens the result."""
    paths = found.save(tmp_path / "out")
    own = {
        "identified_robot": "arm.identified.urdf",
        "joint_terms": "arm.identified.joints.json",
    }
    assert {kind: path.name for kind, path in paths.items()} == FILES | own
    assert all(path.stat().st_size > 0 for path in paths.values())


def pinocchio_torque(path: Path, q, v, a) -> np.ndarray:
    """Torques (n, 2) of the rigid bodies in a URDF file, by Pinocchio."""
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromUrdf(str(path))
    order = [model.getJointId(joint) - 1 for joint in JOINTS]
    data = model.createData()
    rows = []
    for sample in zip(q, v, a, strict=True):
        states = [np.empty(2) for _ in range(3)]
        for state, values in zip(states, sample, strict=True):
            state[order] = values
        rows.append(pin.rnea(model, data, *states)[order])
    return np.array(rows)


def test_the_written_file_and_friction_predict_as_the_estimate(found, tmp_path):
    """Pinocchio on the URDF, plus drive inertia, friction and offset by hand, is predict."""
    path = found.to_urdf(tmp_path / "new.urdf")
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 50, 2))
    terms = dict(zip(found.model.column_names, found.estimate.standard.theta, strict=True))
    expected = pinocchio_torque(path, q, v, a)
    for k, joint in enumerate(JOINTS):
        Ia, fv, fc, fo = (terms[f"{joint}.{symbol}"] for symbol in ("Ia", "fv", "fc", "fo"))
        expected[:, k] += Ia * a[:, k] + fv * v[:, k] + fc * np.sign(v[:, k]) + fo
    torques = found.predict(q, v, a)
    assert torques.shape == (50, 2)
    np.testing.assert_allclose(torques, expected, atol=1e-6 * np.abs(expected).max())
    motion = Motion(np.arange(50.0), q, v, a)
    np.testing.assert_array_equal(found.predict(motion), torques)
    np.testing.assert_array_equal(found.predict(q[0], v[0], a[0]), torques[:1])
    assert not np.allclose(pinocchio_torque(found_source(found), q, v, a), expected, rtol=0.01)


def found_source(found: Identification) -> Path:
    assert found.model.robot.source is not None
    return Path(found.model.robot.source)


def test_a_log_is_predicted_at_the_times_of_its_prepared_run(found, folder):
    """A path, a log and a prepared run give the torques of the validation."""
    held_out = found.validation
    assert held_out is not None
    path = folder / "test.csv"
    run = found.prepare(path)
    np.testing.assert_array_equal(run.motion.time, held_out.first.motion.time)
    compared = np.isfinite(held_out.predicted)
    assert compared.mean() > 0.5
    for given in (path, str(path), read_log(path), run, run.motion):
        torques = found.predict(given)
        np.testing.assert_array_equal(torques[compared], held_out.predicted[compared])


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ((np.zeros((5, 2)),), SignalError, "positions alone give no torque"),
        ((np.zeros((5, 2)), np.zeros((5, 2))), SignalError, "are needed together"),
        ((np.zeros((5, 3)),) * 3, SignalError, r"q has shape \(5, 3\).*shoulder, elbow"),
        ((np.zeros((5, 2)), np.zeros((4, 2)), np.zeros((5, 2))), SignalError, "5, 4 and 5 samples"),
        (("q", "v", "a"), SignalError, "are needed together"),
        (([["x", "y"]], [[0, 0]], [[0, 0]]), SignalError, "q is not an array of numbers"),
        ((7,), SignalError, "a motion is needed, not a int"),
        (("no_such.csv",), LogError, "no such file"),
        (
            ({"time": [0, 1], **{f"{joint}.position": [0, 1] for joint in JOINTS}},),
            LogError,
            "no torque",
        ),
    ],
)
def test_what_cannot_be_predicted_is_refused(found, given, error, words):
    """In one line."""
    with pytest.raises(error, match=words) as refused:
        found.predict(*given)
    assert "\n" not in str(refused.value)


def test_the_file_is_not_written_where_it_cannot_be_right(found, plain, folder, tmp_path):
    """Nothing is written, nothing is left behind, and the robot file stays as it is."""
    source = (folder / "arm.urdf").read_bytes()
    link = tmp_path / "link.urdf"
    link.symlink_to(folder / "arm.urdf")
    mjcf = tmp_path / "arm.xml"
    mjcf.write_text("<mujoco/>", encoding="utf-8")
    out = tmp_path / "new.urdf"

    def from_file(path: Path | None) -> Identification:
        robot = replace(found.model.robot, source=None if path is None else str(path))
        return replace(found, model=replace(found.model, robot=robot))

    unphysical = replace(found.estimate.standard, theta=-found.estimate.standard.theta)
    for one, path, error, words in (
        (found, folder / "arm.urdf", ResultError, "would overwrite an input"),
        (found, link, ResultError, "would overwrite an input"),
        (plain, out, EstimationError, "the method 'wls' gives no physical mass"),
        (from_file(mjcf), out, RobotError, "has changed since"),
        (from_file(tmp_path / "gone.urdf"), out, RobotError, "is not there any more"),
        (found, tmp_path / "no_folder" / "new.urdf", ResultError, "cannot be written"),
        (
            replace(found, estimate=replace(found.estimate, standard=unphysical)),
            out,
            ModelError,
            "'upper'|mass",
        ),
    ):
        with pytest.raises(error, match=words) as refused:
            one.to_urdf(path)
        assert "\n" not in str(refused.value)
    assert (folder / "arm.urdf").read_bytes() == source
    assert {path.name for path in tmp_path.iterdir()} == {"link.urdf", "arm.xml"}


def test_the_figure_shows_everything_and_cuts_nothing_off(found, plain, tmp_path):
    """Torques of each joint, errors and masses; every text is inside; pyplot knows nothing."""
    from matplotlib._pylab_helpers import Gcf
    from matplotlib.figure import SubFigure
    from matplotlib.legend import Legend

    bare = replace(plain, first_run=None)
    for one, n_axes in ((found, 4), (plain, 3), (bare, 1)):
        figure = one.plot()
        assert len(figure.axes) == n_axes
        parts = [*figure.axes, *figure.findobj(Legend)]
        parts += [text for part in figure.findobj(SubFigure) for text in part.texts]
        assert len(parts) >= 2
        for part in parts:
            box = part.get_tightbbox()
            assert figure.bbox.x0 - 1 <= box.x0 <= box.x1 <= figure.bbox.x1 + 1, part
            assert figure.bbox.y0 - 1 <= box.y0 <= box.y1 <= figure.bbox.y1 + 1, part
    assert not Gcf.figs
    masses = found.plot().axes[-1]
    marks = {float(line.get_xdata()[0]) for line in masses.lines if len(line.get_xdata()) == 1}
    theta = dict(zip(found.model.column_names, found.estimate.standard.theta, strict=True))
    assert {theta["upper.m"], theta[f"{LONG}.m"], 2.5, 1.5} <= marks
    for ending, start in (("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")):
        path = tmp_path / f"found.{ending}"
        found.plot(path)
        assert path.read_bytes().startswith(start)
    with pytest.raises(ResultError, match=r"found.bmp': a figure is saved as png, svg, pdf"):
        found.plot(tmp_path / "found.bmp")


def test_the_title_of_the_figure(found):
    """Robot, name of the log and what it was used for; a nameless table is called log, once."""
    assert found.plot().subfigs[0].get_suptitle() == "Torques of small arm: test (held out)"


def test_a_figure_of_strange_names(found, tmp_path):
    """Letters that the font lacks, and a dollar, are no reason for a warning or an error."""
    robot = replace(found.model.robot, name="$robot_ \u30ed\u30dc" + "t" * 190)
    strange = replace(found, model=replace(found.model, robot=robot))
    strange.plot(tmp_path / "strange.png")
    assert "ttt…" in str(strange.plot().subfigs[0].get_suptitle())


def test_every_noun_has_a_short_repr(found, folder):
    """One or two lines, with its name, instead of all of its numbers."""
    log = read_log(folder / "test.csv")
    run = found.first_run
    assert run is not None
    for noun in (
        found.estimate,
        found.estimate.standard,
        found.estimate.base,
        found.regression,
        found.model,
        found.model.robot,
        found.fit,
        found.validation,
        found.certificate,
        run,
        run.motion,
        run.measurements,
        log,
    ):
        text = repr(noun)
        assert text.startswith(f"<{type(noun).__name__}")
        assert len(text) < 200
        assert "\n" not in text
    assert repr(log) == "<Log 'test': 1001 samples in 10 s; position, torque of shoulder, elbow>"


def test_a_robot_file_that_is_gone_is_not_replaced_by_one_without_shapes(
    folder, found, tmp_path, monkeypatch
):
    """A relative path and another working folder are enough for it: the user must hear of it."""
    monkeypatch.chdir(folder)
    moved = replace(
        found, model=replace_robot(found, replace(found.model.robot, source="arm.urdf"))
    )
    assert moved.to_urdf(tmp_path / "here.urdf").read_text().count("<!--") == 0
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RobotError, match="not there any more"):
        moved.to_urdf(tmp_path / "there.urdf")
    assert not (tmp_path / "there.urdf").exists()
    assert moved.to_mjcf(tmp_path / "there.xml").exists()  # needs no URDF


def replace_robot(found: Identification, robot: Robot) -> Model:
    return Model(robot, found.model.terms)


def test_an_unknown_rule_for_attached_links_is_refused(found, tmp_path):
    """Instead of being taken for the usual one."""
    with pytest.raises(ModelError, match="'nope'; it must be one of keep, lump, refuse"):
        found.to_urdf(tmp_path / "arm.urdf", attached="nope")
    assert not (tmp_path / "arm.urdf").exists()


def test_results_can_be_pickled_and_copied(found, folder):
    """As for helper processes; the copy predicts the same."""
    expected = found.predict(folder / "test.csv")
    for copied in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert copied.summary() == found.summary()
        np.testing.assert_array_equal(copied.predict(folder / "test.csv"), expected)


def test_saving_to_a_file_or_over_a_folder_leaves_nothing(found, folder, tmp_path):
    """One error of Steelyard, and no half of the files."""
    with pytest.raises(ResultError, match="is a file"):
        found.save(folder / "arm.urdf")
    (tmp_path / "report.html").mkdir()
    with pytest.raises(ResultError, match=r"report\.html"):
        found.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_complex_positions_are_refused(found):
    """Their imaginary part would be dropped."""
    with pytest.raises(SignalError, match="not an array of numbers"):
        found.predict(np.array([[1j, 0.0]]), np.zeros((1, 2)), np.zeros((1, 2)))
