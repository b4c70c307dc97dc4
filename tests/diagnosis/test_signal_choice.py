"""Filters and friction widths that are chosen by the prediction of left-out parts of a log."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from given_signals import GIVEN
from small_arm import URDF, true_theta

from steelyard.diagnosis.friction_width import SHARES
from steelyard.diagnosis.signal_choice import _Search, choose_signals, signal_findings
from steelyard.diagnosis.signal_ways import Way
from steelyard.errors import EstimationError
from steelyard.excitation.motions.fourier import multisine
from steelyard.identification.identify import identify
from steelyard.logs.log import Log
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.model.terms import joint_terms
from steelyard.regression.equation import TORQUE
from steelyard.robot.robot import Robot
from steelyard.signals.prepare import prepare
from steelyard.signals.processing import Processing

RATE = 100.0
ARM = Robot.from_urdf_text(URDF)


def recorded(
    share: float = 0.0, *, noise: float = 0.02, jitter: float = 1e-5, seed: int = 1
) -> Log:
    """Positions, velocities and torques of an arm whose friction saturates at a share of its speed.

    jitter : noise of the positions, rad; velocities have none.
    """
    rng = np.random.default_rng(1)
    motion = multisine(ARM, period_s=5.0, seed=1).evaluate(np.arange(1000) / RATE)
    model = Model(ARM)
    speeds = np.sqrt(np.mean(motion.v**2, axis=0))
    model = model.with_widths(dict(zip(ARM.joint_names, share * speeds, strict=True)))
    tau = torque(model, true_theta(model), motion.q, motion.v, motion.a)
    tau = tau + 0.02 * rng.normal(size=tau.shape)
    q = motion.q + jitter * rng.normal(size=tau.shape)
    signals = {}
    for k, joint in enumerate(ARM.joint_names):
        signals[joint, "position"] = q[:, k]
        signals[joint, "velocity"] = motion.v[:, k]
        signals[joint, "torque"] = tau[:, k]
    return Log(motion.time, signals, "arm")


def renamed(log: Log, names: dict[str, str]) -> Log:
    return replace(log, signals={(names[j], x): y for (j, x), y in log.signals.items()})


def test_nothing_is_compared_where_everything_is_given():
    """The processing comes back as it is, and nothing is said."""
    choice = choose_signals(Model(ARM), recorded(), GIVEN, widths={"elbow": 0.1})
    assert choice.processing == GIVEN
    assert choice.widths == {"elbow": 0.1}
    assert (choice.chosen, choice.trials, choice.reason) == (None, (), "")
    assert signal_findings(choice) == ()


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_the_width_of_friction_is_found(share):
    """A friction that jumps keeps sign(v); one that saturates at a fifth of the speed is seen."""
    choice = choose_signals(Model(ARM), recorded(share), Processing())
    assert choice.chosen is not None
    for name, found in choice.shares.items():
        assert found == (0.0 if share == 0.0 else pytest.approx(share, abs=0.1)), name
        assert bool(choice.widths[name]) == bool(share)
    by_share = {
        trial.way.share: trial.score
        for trial in choice.trials
        if replace(trial.way, share=0.0) == replace(choice.chosen.way, share=0.0, dead_band=False)
    }
    assert set(by_share) == set(SHARES)
    if share:
        assert by_share[share] < 0.9 * by_share[0.0]
    else:
        assert by_share[0.0] < 0.9 * by_share[0.4]


@pytest.mark.parametrize("distorted", [0.0, 3.0])
def test_the_cutoff_does_not_jump_with_the_proposal(distorted):
    """The error grows as noise does that a filter lets through, and below 3 Hz as it distorts: of
    proposals within a factor of two, cutoffs are within 1.3 and no worse than the tolerance.
    """

    def error(cutoff_hz):
        return 1.0 + 0.02 * (cutoff_hz / 18.0) ** 5 + 0.01 * (distorted / cutoff_hz) ** 4

    def squares(way, *, outside_band=False):
        return np.full((3, 1), error(way.cutoff_hz)), np.ones((3, 1))

    ways = SimpleNamespace(squares=squares, speeds={}, equation=TORQUE)
    search = _Search(ways, Processing(), Processing(), None, (0.1, 400.0))
    found = [
        search._best_cutoff(Way(proposed, "same", 0.0)).cutoff_hz
        for proposed in np.geomspace(4.0, 8.0, 41)
    ]
    assert max(found) < 1.3 * min(found)
    assert max(abs(np.diff(np.log(found)))) < 0.05
    assert all(error(one) < 1.02 * error(6.0) for one in found)


def test_only_what_was_left_open_is_changed():
    """Each option that is given stays as it is; "auto" becomes a value."""
    log, model = recorded(), Model(ARM)
    for given in ({"cutoff_hz": 12.0}, {"torque_filter": "none"}, {"dead_band": 0.05},
                  {"dead_band": None}):  # fmt: skip
        choice = choose_signals(model, log, Processing(**given))
        for name, value in given.items():
            assert getattr(choice.processing, name) == value
            assert not choice.compared(name)
        for name in {"cutoff_hz", "torque_filter", "dead_band"} - given.keys():
            assert getattr(choice.processing, name) != "auto"
            assert choice.compared(name)
    choice = choose_signals(model, log, replace(GIVEN, dead_band="auto"), widths={})
    assert choice.processing.dead_band in (None, "tenth")
    assert {trial.way.dead_band for trial in choice.trials} == {True, False}


def test_a_dead_band_that_is_given_keeps_the_sign():
    """Torques for which the width matters are left out, so that friction keeps width 0."""
    choice = choose_signals(Model(ARM), recorded(0.2), Processing(dead_band="tenth"))
    assert choice.shares is None
    assert choice.widths == {}


def test_without_coulomb_friction_there_is_no_width():
    """Neither widths nor a dead band are compared for a model without Coulomb terms."""
    model = Model(ARM, joint_terms(ARM.joint_names, ("viscous",)))
    choice = choose_signals(model, recorded(), replace(GIVEN, dead_band="auto"))
    assert choice.trials == ()
    choice = choose_signals(model, recorded(), Processing())
    assert {(trial.way.share, trial.way.dead_band) for trial in choice.trials} == {(0.0, False)}


@pytest.mark.parametrize("jitter", [1e-6, 3e-3])
def test_a_measured_velocity_that_is_better_is_used(jitter):
    """With noisy positions a clean velocity predicts better, and is taken unless it was refused."""
    choice = choose_signals(Model(ARM), recorded(jitter=jitter), Processing())
    codes = [finding.code for finding in signal_findings(choice)]
    assert codes[0] == "signals-chosen"
    assert ("measured-signals-used" in codes) == (jitter > 1e-4)
    assert choice.processing.takes_measured("velocity") == (jitter > 1e-4)
    asked = Processing(velocity="differentiate")
    choice = choose_signals(Model(ARM), recorded(jitter=jitter), asked)
    assert choice.processing.velocity == "differentiate"
    assert {trial.way.velocity for trial in choice.trials} == {"differentiate"}


def test_a_measured_acceleration_competes_too():
    """It is tried with differentiated and with measured velocities; a wrong one is not taken."""
    log = recorded()
    a = multisine(ARM, period_s=5.0, seed=1).evaluate(log.time).a
    signals = dict(log.signals)
    for k, joint in enumerate(ARM.joint_names):
        signals[joint, "acceleration"] = 3.0 * a[:, k]
    choice = choose_signals(Model(ARM), replace(log, signals=signals), Processing())
    tried = {(one.way.velocity, one.way.acceleration) for one in choice.trials}
    kinds = ("differentiate", "if-measured")
    assert tried == {(v, a) for v in kinds for a in kinds}
    assert choice.processing.acceleration == "differentiate"
    # a log without them is differentiated
    other = prepare(log, ARM, replace(choice.processing, acceleration="if-measured"))
    assert set(other.record.acceleration_from.values()) == {"second derivative of the position"}


def test_numbered_joints_are_the_same_choice():
    """A log that only numbers its joints gives the same trials, measured velocity included."""
    log = recorded()
    numbered = renamed(log, {"shoulder": "#1", "elbow": "#2"})
    one, two = (choose_signals(Model(ARM), each, Processing()) for each in (log, numbered))
    assert one == two
    assert any(trial.way.velocity == "if-measured" for trial in one.trials)


def test_a_short_log_is_not_compared():
    """Too few time blocks: the usual ways are used, and a finding says why."""
    log = recorded()
    short = Log(log.time[:150], {key: x[:150] for key, x in log.signals.items()}, "short")
    choice = choose_signals(Model(ARM), short, Processing(cutoff_hz=2.0, trim_s=(0.1, 0.1)))
    assert choice.chosen is None
    assert "2 time blocks" in choice.reason
    (finding,) = signal_findings(choice)
    assert finding.code == "signals-not-compared"
    assert choice.reason in finding.words
    usual = {"velocity": "differentiate", "acceleration": "differentiate"}
    assert choice.processing == replace(
        choice.asked, torque_filter="same", dead_band="rest", **usual
    )
    assert set(choice.widths.values()) <= {0.0}


def test_the_choice_is_plain_json():
    """Everything that was tried, and what was chosen, as plain values."""
    choice = choose_signals(Model(ARM), recorded(0.2), Processing())
    document = json.loads(json.dumps(choice.as_json(), allow_nan=False))
    options = ("cutoff_hz", "torque_filter", "dead_band", "velocity", "acceleration")
    assert document["asked"] == dict.fromkeys(options, "auto")
    assert document["chosen"]["score"] == choice.chosen.score
    assert document["chosen"] in document["trials"]
    assert len(document["trials"]) == len(choice.trials)
    assert document["widths"] == choice.widths
    assert document["shares"] == choice.shares


def test_identify_uses_what_was_chosen():
    """Model and records have the chosen widths and filters, and the finding says so."""
    log = recorded(0.2)
    found = identify(ARM, log, method="wls")
    choice = found.signals
    assert {t.owner: t.width for t in found.model.terms if t.kind == "coulomb"} == choice.widths
    (run,) = found.estimate.runs
    assert run.processing == choice.processing
    assert "signals-chosen" in [finding.code for finding in found.findings]
    given = identify(ARM, log, method="wls", processing=GIVEN, friction_width={"elbow": 0.3})
    assert {t.owner: t.width for t in given.model.terms if t.kind == "coulomb"} == {
        "shoulder": 0.0,
        "elbow": 0.3,
    }
    assert "signals-chosen" not in [finding.code for finding in given.findings]


@pytest.mark.parametrize(
    ("width", "words"),
    [
        ({"knee": 0.1}, "given for knee, but Coulomb friction acts on shoulder, elbow"),
        (-1.0, "'shoulder' is -1.0; it must be >= 0"),
        ("wide", "friction_width is 'wide'; it must be a speed or 'auto'"),
    ],
)
def test_wrong_widths_are_refused(width, words):
    """In one line that names the joint."""
    with pytest.raises(EstimationError, match=words):
        identify(ARM, recorded(), method="wls", friction_width=width)
