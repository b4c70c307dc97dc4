"""Offsets of slides that cannot be told from weight are left out by default."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from gantry import GANTRY, TRUE_RAM, gantry_log
from given_signals import FEW
from seeds import every

from steelyard.identification.identify import identify
from steelyard.knowledge.overlay.apply import apply_overlay
from steelyard.knowledge.overlay.model import model_of
from steelyard.knowledge.overlay.toml_file import parse_overlay
from steelyard.model.base_map import base_map
from steelyard.model.model import Model
from steelyard.model.terms import default_terms
from steelyard.model.weight_offsets import weight_offsets
from steelyard.model.wider import with_default_terms
from steelyard.robot.robot import Robot
from steelyard.testing.random_robots import random_robot


@pytest.fixture(scope="module")
def gantry() -> Robot:
    return Robot.from_urdf_text(GANTRY)


def names(terms) -> set[str]:
    return {term.name for term in terms}


@pytest.mark.parametrize(
    ("gravity", "expected"),
    [
        ((0.0, 0.0, -9.81), {"z.fo"}),
        ((0.0, 0.0, 0.0), set()),
        ((9.81, 0.0, 0.0), {"x.fo"}),
        ((0.0, -5.0, -8.0), {"y.fo", "z.fo"}),
    ],
)
def test_the_slides_that_feel_gravity(gantry, gravity, expected):
    """Those whose axis is not horizontal, whichever way the gantry is mounted."""
    robot = replace(gantry, gravity=gravity)
    assert names(weight_offsets(robot, default_terms(robot))) == expected
    assert names(default_terms(robot)) - names(model_of(robot).terms) == expected


def test_a_slide_that_tilts_keeps_its_offset():
    """Behind a hinge with a horizontal axis, weight changes with the angle and the offset stays."""
    text = GANTRY.replace('name="y" type="prismatic"', 'name="y" type="revolute"')
    robot = Robot.from_urdf_text(text)
    assert weight_offsets(robot, default_terms(robot)) == ()
    # about a vertical axis the slide stays upright
    upright = Robot.from_urdf_text(text.replace('axis xyz="0 1 0"', 'axis xyz="0 0 1"'))
    assert names(weight_offsets(upright, default_terms(upright))) == {"z.fo"}


def test_without_drive_inertia_mass_and_offset_are_told_apart(gantry):
    """A sensor at the link: m (a + g) and a constant are two columns of their own."""
    assert names(model_of(gantry, torque="link").terms) >= {"z.fo"}


@pytest.mark.parametrize(
    "text",
    [
        '[joint.z]\nterms = ["drive_inertia", "offset"]',
        'terms = ["drive_inertia", "viscous", "coulomb", "offset"]',
    ],
)
def test_stated_offsets_are_kept(gantry, text):
    """In the overlay, for one joint or all; and as an argument."""
    overlay = parse_overlay(text)
    assert "z.fo" in names(model_of(gantry, overlay=overlay).terms)
    assert "z.fo" in names(model_of(gantry, terms=default_terms(gantry)).terms)
    other = parse_overlay('[joint.x]\nterms = ["viscous"]')
    assert "z.fo" not in names(model_of(gantry, overlay=other).terms)


def test_the_offset_of_a_motor_is_left_out_too(gantry):
    """With motors stated, the term belongs to the one that drives the slide."""
    motors = "".join(f"[motor.m{j}]\nratio = {{ {j} = 200.0 }}\n" for j in "xyz")
    overlay = parse_overlay(motors)
    terms = default_terms(apply_overlay(gantry, overlay))
    assert names(terms) - names(model_of(gantry, overlay=overlay).terms) == {"mz.fo"}
    stated = parse_overlay(motors + 'terms = ["drive_inertia", "offset"]\n')
    assert stated.motors  # the key belongs to the last motor
    assert "mz.fo" in names(model_of(gantry, overlay=stated).terms)


@every("seed", range(12))
def test_nothing_that_torques_determine_is_lost(seed):
    """On random trees with slides, the model without these offsets has as many base parameters."""
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 1 + seed % 4, prismatic=0.7)
    model, full = model_of(robot), Model(robot)
    assert base_map(model).rank == base_map(full).rank
    assert weight_offsets(robot, model.terms) == ()
    wide = with_default_terms(model)
    assert names(wide.terms) == names(model.terms)


def test_the_ram_of_a_gantry_has_its_weight(gantry):
    """The file says 4 kg; the force of the slide says 4.37 kg, and so does the result."""
    quick = {**FEW, "n_resamples": 40, "certify": False}
    log = gantry_log(gantry)
    found = identify(gantry, log, threads=1, **quick)
    (ram,) = [p for p in found.estimate.parameters() if p.name == "ram.m"]
    assert ram.combination == "ram.m"
    assert ram.lower <= TRUE_RAM <= ram.upper
    assert ram.upper - ram.lower < 0.05
    (finding,) = [f for f in found.findings if f.code == "offset-left-out"]
    assert finding.level == "info"
    assert "the offset of z was left out" in finding.words
    # stated, it has the size of the other slides' offsets, which are zero, and takes no weight
    stated = identify(gantry, log, threads=1, terms=default_terms(gantry), **quick)
    mass = stated.estimate.standard.theta[stated.model.column_names.index("ram.m")]
    assert mass == pytest.approx(TRUE_RAM, abs=0.025)
    (ram,) = [p for p in stated.estimate.parameters() if p.name == "ram.m"]
    assert "z.fo" in ram.combination
    assert "offset-left-out" not in [f.code for f in stated.findings]
