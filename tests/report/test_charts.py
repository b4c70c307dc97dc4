"""Charts as data, and as SVG."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from steelyard.report._chart_svg import svg_of_charts, text_width
from steelyard.report._ticks import minor_ticks, ticks
from steelyard.report.charts import Axis, Bars, Chart, Curve, Dots, Rows, Rule, envelope, span

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg):
    """Texts of a figure, with their attributes."""
    return [(one.text, one.attrib) for one in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def paths(svg, color):
    """Numbers in the paths that are drawn in this colour."""
    found = [
        one.attrib["d"]
        for one in ElementTree.fromstring(svg).iter(f"{SVG}path")
        if color in (one.attrib.get("stroke"), one.attrib.get("fill"))
    ]
    return [[list(map(float, re.findall(r"-?[\d.]+", part))) for part in re.split("M", d) if part]
            for d in found]  # fmt: skip


@pytest.mark.parametrize("n_samples", [0, 1, 5, 1400, 1401, 20_000, 20_011])
def test_an_envelope_keeps_every_peak(n_samples):
    """The shown rows are in order, few, and have the extremes of any window of the samples."""
    rng = np.random.default_rng(n_samples)
    values = rng.standard_normal(n_samples)
    rows = envelope(values, 700)
    assert (np.diff(rows) >= 0).all()
    assert len(rows) <= max(3 * 700, 2)
    if n_samples > 1400:
        for window in np.array_split(np.arange(n_samples), 300):
            near = rows[(rows >= window[0] - 60) & (rows <= window[-1] + 60)]
            assert values[near].min() <= values[window].min()
            assert values[near].max() >= values[window].max()
    if n_samples:
        assert (rows[0], rows[-1]) == (0, n_samples - 1)


def test_an_envelope_has_the_gaps_of_its_curve():
    """Rows without a value stay without; one sample among them is not lost."""
    values = np.full(10_000, np.nan)
    values[:3000] = 1.0
    values[5555] = 7.0
    shown = values[envelope(values, 100)]
    assert np.isnan(shown).sum() > 100
    assert 7.0 in shown


@pytest.mark.parametrize("seed", range(200))
def test_ticks_are_round_and_inside(seed):
    """Two to some ticks between the ends, in order, each text is the value."""
    rng = np.random.default_rng(seed)
    log = bool(rng.integers(2))
    low = 10.0 ** rng.uniform(-6, 6) if log else rng.normal() * 10.0 ** rng.uniform(-6, 6)
    high = low * 10.0 ** rng.uniform(0.05, 9) if log else low + 10.0 ** rng.uniform(-3, 3)
    axis = Axis(low, high, log=log)
    found = ticks(axis, 5)
    values = [value for value, _ in found]
    slack = 1e-9 * (high - low)
    assert 2 <= len(found) <= 9
    assert all(low - slack <= value <= high + slack for value in values)
    assert values == sorted(values)
    assert len({text for _, text in found}) == len(found)
    power = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹−", "-0123456789-")
    for value, text in found:
        read = re.sub("10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)", r"1e\1", text).translate(power).replace("·1e", "e")
        assert float(read) == pytest.approx(value, rel=1e-5, abs=1e-9)
    assert all(low <= value <= high for value in minor_ticks(axis))


def test_widths_of_texts_are_not_too_small():
    """At least as wide as the letters in a wide font are; measured with Matplotlib."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    font = FontProperties(family="DejaVu Sans")
    for text in ("shoulder_pitch", "upper_arm_roll", "−0.25", "100", "Wrist MW 2", "fer_link7"):
        assert TextPath((0, 0), text, 8.5, prop=font).get_extents().x1 <= text_width(text)
    assert text_width("ロボット") == pytest.approx(4 * 8.5)


def a_chart(**changes):
    """A curve with a gap on a linear axis."""
    x, y = np.linspace(0.0, 10.0, 101), np.linspace(-3.0, 5.0, 101)
    y[40:50] = np.nan
    parts = {"x": Axis(0.0, 10.0, "s", label_at_end=True), "y": Axis(-3.0, 5.0, "N m")}
    return Chart((Curve(x, y, "#123456", 1.0),), **{**parts, "title": "a", **changes})


def test_a_curve_is_where_its_axes_say():
    """Its ends are the corners of the frame, and between two ticks it is proportional."""
    svg = svg_of_charts([a_chart()], 5.0, 2.0)
    first, second = paths(svg, "#123456")[0]
    frame = ElementTree.fromstring(svg).find(f".//{SVG}rect").attrib
    left, top, width, height = (float(frame[key]) for key in ("x", "y", "width", "height"))
    assert first[:2] == pytest.approx([10 * left, 10 * (top + height)], abs=0.6)
    assert second[-2:] == pytest.approx([10 * (left + width), 10 * top], abs=0.6)
    assert len(first) == 2 * 40
    assert len(second) == 2 * 51
    steps = np.diff(np.array(first).reshape(-1, 2), axis=0)
    assert steps == pytest.approx(np.tile([width / 10, -height / 10], (39, 1)), abs=1.01)


def test_dots_and_bars_on_a_logarithmic_axis():
    """A tenfold value is one step to the right; what is not finite is left out."""
    values = np.array([1.0, 10.0, 100.0, np.nan])
    rows = Rows(("a", "b", "c", "d"))
    y = rows.places.astype(float)
    chart = Chart(
        (
            Dots(values, y, "o", "#111111", "#111111"),
            Bars(y, np.ones(4), values, "#222222", 2.0),
            Rule(10.0, "#444444", 1.0),
            Rule(9.0, "#555555", 1.0, vertical=False),
        ),
        Axis(0.5, 200.0, log=True),
        rows,
    )
    svg = svg_of_charts([chart], 5.0, 2.0)
    dots, bars = paths(svg, "#111111")[0], paths(svg, "#222222")[0]
    x = [dot[0] for dot in dots]
    assert len(x) == len(bars) == 3
    assert x[2] - x[1] == pytest.approx(x[1] - x[0], abs=0.03)
    assert [bar[2] for bar in bars] == pytest.approx(x, abs=0.01)
    assert paths(svg, "#444444")[0][0][0] == pytest.approx(x[1], abs=0.01)
    assert not paths(svg, "#555555")  # outside of the chart
    heights = [dot[1] for dot in dots]
    assert np.diff(heights) == pytest.approx(heights[1] - heights[0], abs=0.02)


@pytest.mark.parametrize("across", [1, 3])
def test_no_text_leaves_the_figure_or_meets_another(across):
    """Texts of many charts stay inside, with the widths that a wide font has, and apart."""
    names = tuple(f"joint_number_{k}" for k in range(4))
    charts = [a_chart(), a_chart(y=Rows(names), x=Axis(1e-7, 30.0, "kg", log=True))] * 3
    charts = [*charts, a_chart(y=Rows(names, shown=False))]
    svg = svg_of_charts(charts, 3.0 * across, 1.3 * -(-7 // across), across)
    view = [float(n) for n in ElementTree.fromstring(svg).attrib["viewBox"].split()]
    boxes = []
    for text, how in texts(svg):
        if "x" not in how:
            continue
        width, x, y = text_width(text), float(how["x"]), float(how["y"])
        left = x - {"start": 0.0, "middle": 0.5, "end": 1.0}[how["text-anchor"]] * width
        assert left >= 0.0
        assert left + width <= view[2]
        assert 8.0 <= y <= view[3]
        boxes.append((left, left + width, y - 7.0, y))
    for k, (left, right, top, bottom) in enumerate(boxes):
        for other in boxes[:k]:
            apart = left >= other[1] or right <= other[0] or top >= other[3] or bottom <= other[2]
            assert apart


def test_strange_names_are_text():
    """Markup is escaped, and characters that XML forbids are replaced."""
    name = '</text><script>"&\x00\x1b\ud800ロ'
    shown = [text for text, _ in texts(svg_of_charts([a_chart(title=name)], 5.0, 2.0))]
    assert '</text><script>"&' + 3 * "\N{REPLACEMENT CHARACTER}" + "ロ" in shown


@pytest.mark.parametrize("values", [[], [np.nan], [2.0, 2.0], [0.0], [-1.0, 4.0]])
def test_a_span_has_room_for_its_values(values):
    """Also where there are none, or where all are alike."""
    low, high = span([np.array(values, dtype=float)], 0.05)
    assert low < high
    assert all(low < v < high for v in values if np.isfinite(v))
