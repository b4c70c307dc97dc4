"""The page of a weighed payload."""

from __future__ import annotations

import base64
import html
import re
from dataclasses import replace

import numpy as np
import pytest
from page_tags import parsed
from weighed_payload import opened, weighed, without_inertia

from steelyard.export.payload_texts import payload_mjcf, payload_urdf
from steelyard.payload.payload_estimate import PayloadValue
from steelyard.report import payload_page
from steelyard.report._payload_figures import (
    VIEWS,
    DrawnBody,
    body_figure,
    com_label,
    extent,
    room,
)
from steelyard.report.payload_notes import KIND_SIGNS, payload_notes
from steelyard.report.payload_page import channel_rows, render_payload_page, value_row
from steelyard.robot.inertia import from_com
from steelyard.robot.principal_body import equivalent_box, point_masses, principal_body


@pytest.fixture
def no_figures(monkeypatch):
    """Pages without figures, which take time, where they are not the subject."""
    monkeypatch.setattr(payload_page, "figures", lambda estimate: [])


def test_the_verdict_comes_first():
    """The sentence of the terminal, before the numbers, in the colour of its level."""
    page = render_payload_page(opened(weighed(), "cz"))
    words = "Do not use: the logs do not determine cz of the payload."
    assert '<div class="verdict do-not-use">' in page
    assert page.index(words) < page.index('<div class="tiles">')
    assert '<div class="verdict usable">' in render_payload_page(weighed())


def test_the_page_shows_the_body_its_values_and_how_to_use_it():
    """Two views, every value and channel, both snippets as text; nothing is loaded or run."""
    estimate = weighed()
    text = render_payload_page(estimate)
    tags = parsed(text)
    words = "".join(tags.text)
    assert len(tags.images) == 2
    for source in tags.images:
        assert base64.b64decode(source.partition(",")[2]).decode().count("<svg") == 1
    for value in (*estimate.values, *estimate.others):
        assert value_row(value).label in words
        assert value_row(value).interval in words
    for name, _, _ in estimate.channels:
        assert name in words
    assert payload_urdf(estimate) in words
    assert payload_mjcf(estimate) in words
    assert "Everything was determined" in words
    assert "This payload was not weighed" in words
    assert tags.scripts == 0
    assert not re.search(r"""(src|href)=["']?(https?:|//)""", text)


def test_what_is_open_is_named_with_what_to_record(no_figures):
    """Static data: the inertia is named as open, with its advice; the kinds differ by sign."""
    text = render_payload_page(without_inertia(weighed()))
    words = " ".join("".join(parsed(text).text).split())
    assert "inertia NOT determined" in words
    assert "Everything was determined" not in words
    assert "record a motion that turns the payload" in words
    assert text.count(KIND_SIGNS["feasible range"]) > 3
    assert text.count(KIND_SIGNS["not determined"]) > 3
    assert len(set(KIND_SIGNS.values())) == len(KIND_SIGNS)


@pytest.mark.parametrize(
    ("names", "mode", "says"),
    [
        (("cz",), "ft", "more orientations, at least three"),
        (("cz",), "joints", "several horizontal axes"),
        (("Izz_com",), "ft", "turn the payload faster"),
        (("rotation_x",), "ft", "rotation of the sensor is found"),
        (("bias_fz",), "ft", "--no-bias"),
    ],
)
def test_each_open_value_has_its_own_advice(names, mode, says):
    """One kind of value open gives one sentence, and none if all is determined."""
    turned = PayloadValue("rotation_x", "rad", 0.05, 0.01, 0.03, 0.07, "confidence")
    estimate = replace(weighed(), mode=mode, others=(*weighed().others, turned))
    assert payload_notes(estimate) == ()
    notes = payload_notes(opened(estimate, *names))
    assert len(notes) == 1
    assert says in notes[0]


def test_a_fit_that_is_not_optimal_says_so(no_figures):
    """The page does not call optimal what is not, and says by how much."""
    page = render_payload_page(replace(weighed(), optimum_reached=False, excess=0.02))
    assert "NOT optimal" in page
    assert "2 % above" in page
    assert ">physical, optimal<" not in page


def test_a_flat_fit_is_not_called_a_measured_shape(no_figures):
    """At the edge of what is physical the page says so, and that no solid is that dense."""
    flat = weighed(from_com(1.2, [0.0, 0.0, 0.06], np.diag([0.004, 0.0025, 0.0015 + 1e-9])))
    page = render_payload_page(flat)
    assert "No solid is as dense" in page
    assert "inertia determined" in page
    edge = tuple(replace(value, at_boundary=True) for value in flat.values)
    page = render_payload_page(replace(flat, values=edge))
    assert "inertia at the edge" in page
    assert "inertia determined" not in page
    assert "No solid is as dense" not in render_payload_page(weighed())


def test_values_are_shown_in_units_for_people():
    """Metres become mm and radians degrees; digits follow the interval, or the value's own."""
    com = PayloadValue("cx", "m", 0.0123456, 1e-4, 0.0121, 0.0125, "confidence")
    assert value_row(com).value == "12.35"
    assert (value_row(com).interval, value_row(com).unit) == ("12.10 to 12.50", "mm")
    turned = PayloadValue(
        "rotation_z", "rad", np.radians(3.0), 0.01, 0.0, np.radians(6), "confidence"
    )
    assert (value_row(turned).value, value_row(turned).unit) == ("3.0", "°")
    wide = PayloadValue("Ixx_com", "kg m²", 0.00123456, None, 0.0, 2.0, "feasible range")
    assert value_row(wide).value == "0.001235"
    assert value_row(replace(wide, lower=None, upper=None)).interval == "any value"


def test_bars_of_residuals_compare_within_a_unit():
    """The largest rms of each unit has the full bar; zeros divide nothing."""
    rows = channel_rows([("a", 0.2, "N"), ("b", 0.1, "N"), ("c", 0.01, "N m"), ("d", 0.0, "s")])
    assert [share for *_, share in rows] == [100.0, 50.0, 100.0, 0.0]


def drawn(phi, *intervals) -> DrawnBody:
    """A body with these intervals of its centre of mass."""
    body = principal_body(phi)
    near = tuple((c - 0.01, c + 0.01) for c in body.com)
    return DrawnBody(equivalent_box(body), intervals or near, True)


BODIES = {
    **{f"random {seed}": weighed(seed=seed).phi for seed in range(6)},
    "point": from_com(1.0, [0.0, 0.0, 0.0], np.zeros((3, 3))),
    "far": from_com(2.0, [-3.0, 1.0, 0.5], np.diag([0.1, 0.2, 0.25])),
    "small": from_com(0.01, [1e-4, 0.0, -1e-4], 1e-9 * np.eye(3)),
}


@pytest.mark.parametrize("name", BODIES)
def test_everything_is_inside_the_picture(name):
    """The box, which holds six point masses of the body, and the axes are inside the drawn room."""
    phi = BODIES[name]
    body = drawn(phi)
    step, low, high = room(body)
    places = 1000.0 * point_masses(principal_body(phi))[1]
    assert (places >= low - 1e-6).all()
    assert (places <= high + 1e-6).all()
    assert (low <= 0.0).all()
    assert (high >= step).all()
    assert 1 <= (high - low).max() / step <= 12
    for view in VIEWS:
        left, right, bottom, top = extent(body, view)
        across, up = view.matrix[:2] @ places.T
        assert left < across.min() <= across.max() < right
        assert bottom < up.min() <= up.max() < top
        assert view.matrix @ view.matrix.T == pytest.approx(np.eye(3))


def test_open_and_huge_intervals_are_drawn():
    """An interval without ends, or of kilometres, neither fails nor shrinks the body to a dot."""
    phi = BODIES["random 0"]
    for intervals in ((None, None, None), ((-1e3, 1e3), (0.0, 0.1), None)):
        body = drawn(phi, *intervals)
        assert room(body)[0] <= 2000.0
        assert body_figure(body, VIEWS[0]).count("<svg") == 1
    assert "z open" in com_label(drawn(phi, (0.0, 1.0), (0.0, 1.0), None))


def test_a_box_of_which_nothing_is_known_is_not_drawn():
    """Where every inertia fits, the picture shows the centre of mass only; the page says why."""
    inertia = [value.name for value in weighed().values if value.name.endswith("_com")]
    nothing = opened(weighed(), *inertia)
    assert not payload_page.box_drawn(nothing)
    assert payload_page.box_drawn(opened(weighed(), *inertia[1:]))
    page = render_payload_page(nothing)
    assert "No equivalent box is drawn" in page
    body = replace(drawn(nothing.phi), box_drawn=False)
    assert body.corners == pytest.approx(1000.0 * body.box.centre[None])
    assert len(body_figure(body, VIEWS[0])) < len(body_figure(drawn(nothing.phi), VIEWS[0]))


def test_a_payload_without_mass_has_a_page():
    """Nothing is drawn, and nothing fails."""
    page = render_payload_page(weighed(np.zeros(10)))
    assert "nothing to draw" in page
    assert parsed(page).images == []


def test_names_of_strangers_are_text(no_figures):
    """Tags in the frame's name, in findings and in names of runs are not tags of the page."""
    estimate = weighed(frame="<script>alert(1)</script>")
    run = replace(estimate.runs[0], name="<img src=x>")
    page = render_payload_page(replace(estimate, runs=(run,)))
    tags = parsed(page)
    assert tags.scripts == 0
    assert tags.images == []
    assert html.escape("<img src=x>") in page
