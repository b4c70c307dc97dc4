"""The report: complete, offline, and safe against markup in names."""

from __future__ import annotations

import base64
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from given_signals import FEW, GIVEN
from hypothesis import given
from hypothesis import strategies as st
from small_arm import URDF, arm_log

from steelyard.errors import ResultError
from steelyard.estimators.estimate import ParameterEstimate
from steelyard.identification.identify import Identification, identify
from steelyard.model.model import Model
from steelyard.report._figures import LONGEST_SHOWN_S, STRETCHES, shown_rows, torque_chart
from steelyard.report.content import (
    FOREST_WIDTH,
    STRENGTH_SIGNS,
    JointError,
    Reference,
    Report,
    TorqueRun,
    fate_table,
    parameter_row,
    strength,
)
from steelyard.report.numbers import duration, percent, significant, with_half_width
from steelyard.report.page import render_report, write_report
from steelyard.report.processing import processing_rows
from steelyard.robot.robot import Robot
from steelyard.testing.random_robots import random_robot
from steelyard.validation.scores import Score

VOID = {"meta", "img", "br", "line", "circle", "path"}
HOSTILE = "<script>alert('x')</script>&\"$a_1$ [red]"


class Page(HTMLParser):
    """Tags, attributes and text of a page; fails where tags do not nest."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def report_on(found: Identification, **changes: object) -> Report:
    """A report on an identification, with other torques."""
    model = found.model
    time = np.linspace(0.0, 5.0, 300)
    rng = np.random.default_rng(0)
    torques = rng.normal(size=(300, model.nv))
    given_changes = {
        "run": TorqueRun("held-out run", True, time, torques, torques + 0.1),
        "errors": tuple(JointError(name, 0.05, 0.7) for name in model.channels),
        "errors_on": "data that was not used",
        "prediction": Score("prediction", (), 600, 0.1, 0.0123, 0.0234, 0.0345),
        "baseline": Score("prior", (), 600, 1.0, 0.456, 0.467, 0.478),
        "signals": found.signals,
        **changes,
    }
    return Report(model, found.estimate, **given_changes)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def report() -> Report:
    robot = Robot.from_urdf_text(URDF)
    return report_on(identify(robot, [arm_log(robot, 1)], n_resamples=20))


@pytest.fixture(scope="module")
def html(report: Report) -> str:
    return render_report(report)


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def test_every_base_parameter_is_there(report, page):
    """The page has name, value and combination of each base parameter."""
    for k, name in enumerate(report.estimate.base.names):
        assert name in page.text
        assert report.estimate.base.combination(k) in page.text
    assert len([a for a in page.all("svg") if a.get("class") == "forest"]) == len(
        report.estimate.base.names
    )


def test_the_mass_in_the_file_stands_beside_the_identified_one(html):
    """The table of bodies has the mass that the robot file states, in the column before ours."""
    table = html.split('<section id="standard">')[1].split("</table>")[0]
    rows = re.findall(
        r'<tr><td class="parameter">(\w+) · .*?<td class="num">(.*?)</td>', table, re.S
    )
    masses = re.findall(r'<link name="(\w+)">.*?<mass value="([\d.]+)"', URDF, re.S)
    assert dict(rows) == {name: f"{float(mass):g}" for name, mass in masses}


def test_every_section_is_there(page):
    """Summary, torques, errors, parameters, fates and signals are sections of the page."""
    ids = {attributes.get("id") for _, attributes in page.tags}
    assert ids >= {"summary", "torques", "errors", "parameters", "fates", "processing"}
    assert "1.23 %" in page.text


def test_the_three_held_out_errors_are_shown(page):
    """Of the estimate and of the baseline: near standstill left out, all samples, unfiltered."""
    assert "robot file, no friction" in page.text
    for row in (
        "outside the dead band 1.23 % 45.6 %",
        "on all samples 2.34 % 46.7 %",
        "on all with unfiltered torque 3.45 % 47.8 %",
    ):
        assert row in page.text


def test_findings_are_shown_in_full(report):
    """The page has the text of every finding."""
    from steelyard.findings import Finding

    findings = (Finding("warning", "a", "first thing"), Finding("info", "b", "second <b>thing</b>"))
    html = render_report(replace(report, estimate=replace(report.estimate, findings=findings)))
    assert "First thing." in Page(html).text
    assert "Second <b>thing</b>." in Page(html).text


def test_nothing_is_loaded_from_elsewhere(html, page):
    """No script, no link, no import; every image is inside the page, and the page says so."""
    assert not page.all("script")
    assert not page.all("link")
    assert not page.all("iframe")
    assert all(str(image["src"]).startswith("data:image/svg+xml") for image in page.all("img"))
    assert "http" not in re.sub(r"data:image[^\"]*", "", html.replace("http-equiv", ""))
    assert "url(" not in html
    assert "@import" not in html
    policies = [a["content"] for a in page.all("meta") if "http-equiv" in a]
    assert policies == ["default-src 'none'; img-src data:; style-src 'unsafe-inline'"]


def test_figures_are_xml_without_scripts(page):
    """Each inlined figure parses as SVG, and holds neither script nor reference to a file."""
    sources = [str(image["src"]) for image in page.all("img")]
    assert len(sources) == 6  # a torque figure per joint, errors, masses, terms of joints, prior
    for source in sources:
        svg = base64.b64decode(source.split(",", 1)[1]).decode()
        root = ElementTree.fromstring(svg)
        assert root.tag.endswith("svg")
        assert "<script" not in svg
        for element in root.iter():
            for key, value in element.attrib.items():
                if key.endswith("href"):
                    assert value.startswith("#")


def test_hostile_names_are_only_text(tmp_path):
    """Markup in the names of robot, links, joints, runs and files stays text, in every place."""
    text = URDF
    for name in ("small arm", "upper", "fore", "shoulder", "elbow"):
        quoted = f"{HOSTILE} {name}".replace("&", "&amp;").replace("<", "&lt;")
        text = text.replace(f'"{name}"', '"' + quoted.replace('"', "&quot;") + '"')
    robot = replace(Robot.from_urdf_text(text), source=f"{HOSTILE}.urdf")
    assert HOSTILE in robot.name
    found = identify(robot, [arm_log(robot, 1, name=f"{HOSTILE} run")], **FEW)
    run = TorqueRun(f"{HOSTILE} held", True, np.arange(9.0), np.ones((9, 2)), np.ones((9, 2)))
    errors = tuple(JointError(name, 0.1, None) for name in found.model.channels)
    reference = Reference(f"{HOSTILE} truth", found.estimate.beta)
    report = Report(found.model, found.estimate, run=run, errors=errors, reference=reference)
    path = tmp_path / "report.html"
    write_report(path, report)
    html = path.read_text(encoding="utf-8")
    page = Page(html)
    assert not page.all("script")
    assert "<script" not in html
    allowed = {"class", "id", "src", "alt", "title", "colspan", "style", "width", "height"}
    for tag, attributes in page.tags:
        if tag not in {"meta", "html", "svg", "line", "circle", "path"}:
            assert set(attributes) <= allowed
    for name in (robot.name, *robot.joint_names, f"{HOSTILE} run", f"{HOSTILE} truth"):
        assert " ".join(name.split()) in page.text


@pytest.mark.parametrize("n_joints", [1, 9])
def test_small_and_large_robots_have_a_report(n_joints):
    """One joint, or a tree of many with sliding ones, gives a figure for each channel."""
    robot = random_robot(np.random.default_rng(n_joints), n_joints)
    report = report_on(identify(robot, [arm_log(robot, 1)], **FEW))
    page = Page(render_report(report))
    assert len(page.all("img")) == n_joints + 4  # and errors, masses, terms of joints, prior
    assert len(fate_table(report)[1]) == n_joints


def test_a_report_needs_neither_run_nor_errors(report):
    """Without torques to show, the sections about them are left out and the rest stays."""
    bare = Report(report.model, report.estimate)
    page = Page(render_report(bare))
    about = [str(image["alt"]).split()[0] for image in page.all("img")]
    assert about == ["Mass", "Parameters", "Error"]  # the last on the weight of the prior
    ids = {attributes.get("id") for _, attributes in page.tags}
    assert "torques" not in ids
    assert "parameters" in ids


def test_what_the_data_leave_open_is_said(report):
    """A parameter without a value is called "not determined", and shows no number."""
    robot = report.model.robot
    log = arm_log(robot, 1)
    still = {key: np.zeros(len(log)) if key == ("elbow", "position") else values
             for key, values in log.signals.items()}  # fmt: skip
    found = identify(
        robot,
        [replace(log, signals=still)],
        **{**FEW, "processing": replace(GIVEN, still_joints="keep")},
    )
    text = Page(render_report(Report(found.model, found.estimate))).text
    assert "not determined" in text
    assert "nan" not in text.lower().split()


def test_the_same_result_gives_the_same_report(report, html):
    """Rendering twice gives the same bytes: no dates, no random names."""
    assert render_report(report) == html


def test_the_page_is_written_whole_or_not_at_all(tmp_path, report):
    """A missing folder is refused in one line, and no file is left."""
    with pytest.raises(ResultError, match="cannot be written"):
        write_report(tmp_path / "nowhere" / "report.html", report)
    assert list(tmp_path.iterdir()) == []


def test_fates_fill_one_row_per_body(report):
    """The ten parameters of each link and the terms of its joint are in one row, each once."""
    symbols, rows = fate_table(report)
    assert symbols[:3] == ["m", "mx", "my"]
    assert [label for label, _ in rows] == ["upper · shoulder", "fore · elbow"]
    cells = [cell for _, row in rows for cell in row if cell]
    assert len(cells) == len(report.model.columns)
    kinds = {fate.name: fate.kind for fate in report.estimate.fates()}
    for cell in cells:
        assert kinds[cell["words"].split(" ")[0]] == cell["kind"]


def test_units_of_channels_follow_the_joints():
    """Sliding joints carry forces, turning ones torques, a floating base both."""
    rng = np.random.default_rng(3)
    robot = random_robot(rng, 6, prismatic=0.5, floating_base=True)
    units = dict(zip(Model(robot).channels, Model(robot).channel_units, strict=True))
    assert [units[f"base.{axis}"] for axis in ("fx", "fz", "nx", "nz")] == ["N", "N", "N m", "N m"]
    for joint in robot.free_joints:
        assert units[joint.name] == ("N" if joint.kind == "prismatic" else "N m")


def test_what_was_done_to_the_signals_is_told(report, page):
    """The report states the cutoff, decimation and dead band of the record, and how chosen."""
    (record,) = report.estimate.runs
    assert report.signals.chosen is not None
    told = dict(processing_rows(record, report.model.terms, report.signals))
    assert significant(record.cutoff_hz) in told["low-pass"]
    assert f"one sample in {record.decimation}" in told["kept"]
    for step in ("low-pass", "torque", "friction", "dead band"):
        assert "chosen by prediction of left-out parts" in told[step]
        assert told[step] in page.text


def test_what_was_given_is_told_as_given(report):
    """Options that the user gave, or that a record does not explain, are not told as chosen."""
    (record,) = report.estimate.runs
    terms = report.model.with_widths({"shoulder": 0.0, "elbow": 0.03}).terms
    given = replace(report.signals, asked=record.processing, shares=None)
    given_band = replace(record.dead_band, asked=0.1, speeds={"elbow": 0.1}, samples={"elbow": 7})
    told = dict(processing_rows(replace(record, dead_band=given_band), terms, given))
    assert told["low-pass"].endswith("(as given)")
    assert "chosen" not in told["torque"]
    assert told["friction"] == "grows linearly up to elbow 0.03 rad/s or m/s"
    assert told["dead band"] == "elbow 0.1 rad/s or m/s (as given); torques left out: elbow 7"
    tenth = replace(given_band, asked="tenth")
    words = dict(processing_rows(replace(record, dead_band=tenth), (), None))["dead band"]
    assert "a tenth of the rms speed" in words
    nothing = replace(given, chosen=None, asked=replace(record.processing, cutoff_hz="auto"))
    assert dict(processing_rows(record, (), nothing))["low-pass"].endswith(
        "(chosen from the positions)"
    )
    assert dict(processing_rows(record))["friction"] == "no Coulomb friction"


def test_pieces_of_a_log_are_told(report):
    """Where a log was cut, the pieces that were used are listed."""
    (record,) = report.estimate.runs
    cut = replace(record.time, holes=1, starts_s=(0.0, 4.5), ends_s=(3.5, 9.99))
    told = dict(processing_rows(replace(record, time=cut)))
    assert told["time base"].endswith("1 gaps; used in 2 pieces: 0 to 3.5 s, 4.5 to 9.99 s")
    assert "pieces" not in dict(processing_rows(record))["time base"]


def parameter(value: float, lower: float, upper: float) -> ParameterEstimate:
    return ParameterEstimate("a", "a", "kg", value, 1.0, 1.0, None, lower, upper, "confidence")


@pytest.mark.parametrize(
    ("value", "lower", "upper", "expected"),
    [
        (1.0, 0.95, 1.05, "well"),
        (-1.0, -1.05, -0.95, "well"),
        (1.0, 0.5, 1.5, "roughly"),
        (1.0, -0.5, 2.5, "barely"),
        (math.nan, math.nan, math.nan, "open"),
    ],
)
def test_how_well_a_parameter_is_told(value, lower, upper, expected):
    """Within ten per cent, roughly, with zero in the interval, or not determined."""
    assert strength(parameter(value, lower, upper)) == expected


def test_the_small_plot_is_in_units_of_the_value():
    """Zero is at a quarter of the axis and the value at half of it, for either sign; the rest is
    clipped.
    """
    for sign in (1.0, -1.0):
        row = parameter_row(parameter(2.0 * sign, 2.0 * sign - 1.0, 2.0 * sign + 1.0), sign)
        assert row.mid_x == FOREST_WIDTH / 2
        assert (row.low_x, row.high_x) == (0.375 * FOREST_WIDTH, 0.625 * FOREST_WIDTH)
        assert row.reference_x == 0.375 * FOREST_WIDTH
        assert not row.cut_low
        assert not row.cut_high
    wide = parameter_row(parameter(1.0, -9.0, 11.0), None)
    assert wide.cut_low
    assert wide.cut_high
    assert (wide.low_x, wide.high_x) == (0.0, FOREST_WIDTH)


@given(
    value=st.floats(-1e6, 1e6, allow_nan=False),
    half=st.floats(1e-9, 1e5, allow_nan=False),
)
def test_values_are_rounded_to_their_interval(value, half):
    """Rounding a value for a table moves it by less than a twentieth of its interval."""
    shown, shown_half = with_half_width(value, half)
    assert abs(float(shown) - value) <= 0.0500001 * half + 1e-12 * abs(value)
    assert abs(float(shown_half) - half) <= 0.0500001 * half + 0.5 * (half >= 10)


def test_numbers_as_people_read_them():
    """Per cent, digits and durations at the edges of their ranges."""
    assert with_half_width(1.23456, 0.0123) == ("1.235", "0.012")
    assert with_half_width(math.nan, 1.0) == ("?", "?")
    assert with_half_width(2.0, 0.0) == ("2", "0")
    assert percent(0.01234) == "1.23 %"
    assert percent(None) == "?"
    assert percent(math.inf) == "?"
    assert percent(0.0) == "0 %"
    assert percent(25.0) == "2500 %"
    assert significant(2420.4, 3) == "2420"
    assert significant(1.5e7, 3) == "1.5e+07"
    assert duration(30.0) == "30 s"
    assert duration(600.0) == "10 min"


def test_long_runs_are_cut_and_thinned():
    """A figure shows the first part of a long run, with no more points than it can show."""
    short = np.linspace(0.0, 10.0, 500)
    assert len(short[shown_rows(short)]) == 500
    long = np.linspace(100.0, 700.0, 600_000)
    shown = long[shown_rows(long)]
    assert shown[-1] - shown[0] <= LONGEST_SHOWN_S
    curve = torque_chart("a", "N m", long, np.sin(long), np.sin(long)).marks[-1]
    assert STRETCHES < len(curve.x) <= 3 * STRETCHES


def test_strengths_differ_in_shape_and_in_brightness_or_hue(html):
    """Each strength has a sign of its own, and colours that are told apart without red and green.

    Full protanopia and deuteranopia as by Viénot, Brettel and Mollon (1999), in linear light.
    """
    signs = [STRENGTH_SIGNS[name] for name in ("well", "roughly", "barely", "prior")]
    assert len(set(signs)) == 4
    legend = html.split('<section id="parameters">')[1].split("</div>")[0]
    assert re.findall(r'<span class="t-\w+">(.)</span>', legend) == signs
    style = html.split("</style>")[0]
    shown = dict(re.findall(r"--(roughly|prior|predicted): (#\w{6});", style.split("@media")[0]))
    codes = [int(shown["roughly"][k : k + 2], 16) for k in (1, 3, 5)]
    others = [int(shown["prior"][k : k + 2], 16) for k in (1, 3, 5)]
    linear = (np.array([codes, others]) / 255.0) ** 2.2
    protan = np.array([[0.1124, 0.8876, 0.0], [0.1124, 0.8876, 0.0], [0.004, -0.004, 1.0]])
    deutan = np.array([[0.2928, 0.7072, 0.0], [0.2928, 0.7072, 0.0], [-0.0223, 0.0223, 1.0]])
    for seen in (np.eye(3), protan, deutan):
        first, second = linear @ seen.T
        assert np.linalg.norm(first - second) > 0.3


def test_options_of_the_table_of_measurements_are_not_broken(html):
    """On a narrow screen a line ends before an option, not after its hyphens."""
    table = html.split("<h3>What to measure</h3>")[1].split("</table>")[0]
    assert re.findall(r'<span class="nowrap">\((.*?)\)</span>', table)
    assert "(--" not in re.sub(r'<span class="nowrap">.*?</span>', "", table)


def test_torques_left_out_by_the_dead_band_are_listed_once(report):
    """The row of missing torques has only those that the log does not have."""
    (run,) = report.estimate.runs
    channels = list(run.torque_samples_missing)
    band = replace(run.dead_band, asked="tenth", samples={channels[0]: 30, channels[1]: 40})
    for missing, words in (
        ((30, 40), "none besides those left out above"),
        ((30, 47), f"{channels[1]} 7"),
    ):
        given = replace(
            run,
            dead_band=band,
            torque_samples_missing=dict(zip(channels, missing, strict=True)),
        )
        assert dict(processing_rows(given))["missing torques"] == words
