"""Terms that enter the model because left-out parts of a log are predicted better with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from small_arm import URDF, true_theta

from steelyard.diagnosis.admitted_terms import classes_to_admit
from steelyard.diagnosis.signal_choice import choose_signals
from steelyard.diagnosis.signal_ways import SignalChoice
from steelyard.diagnosis.term_admission import admit_terms
from steelyard.errors import ModelError
from steelyard.estimators.result_file import read_result
from steelyard.identification.identify import identify
from steelyard.logs.log import Log
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.model.term_kinds import TERM_CLASSES
from steelyard.model.terms import Term, joint_term
from steelyard.regression.equation import Equation
from steelyard.robot.robot import Robot
from steelyard.signals.motion import Motion
from steelyard.signals.processing import Processing
from steelyard.signals.term_speeds import with_history

ARM = Robot.from_urdf_text(URDF)
PLAIN = Model(ARM)
RATE, SECONDS = 200.0, 40.0
BACK = Term("asymmetric", "elbow", (("elbow", -1.0),))
LAWS = {
    "travel": ({}, 0.02),
    "load": ({"shoulder.fl": 0.15}, 0.0),
    "stribeck": ({"elbow.fs": 0.5}, 0.0),
    "rising": ({"elbow.fr": 0.5}, 0.0),
    "asymmetric": ({"elbow.fa": 0.4}, 0.0),
    "spring": ({"elbow.ks": 0.6}, 0.0),
    "counterbalance": ({"elbow.bs": 1.5, "elbow.bc": -1.0}, 0.0),
}
"""Parameters of each law, and the travel of the elbow's friction."""
SYMBOLS = {"fl": "load_coulomb", "fs": "stribeck", "fr": "rising", "ks": "spring", "bs": "sine"}


def robot_with(law: str) -> tuple[Model, np.ndarray]:
    """The arm with a law more, and its true parameters."""
    if law == "plain":
        return PLAIN, true_theta(PLAIN)
    values, travel = LAWS[law]
    terms = [
        replace(one, travel=travel) if travel and one.name == "elbow.fc" else one
        for one in PLAIN.terms
    ]
    for name in values:
        owner, _, symbol = name.rpartition(".")
        if symbol == "fa":
            terms.append(BACK)
            continue
        kind = {**SYMBOLS, "bc": "cosine"}[symbol]
        term = joint_term(kind, owner)
        terms.append(replace(term, speed=0.4) if term.speed else term)
    model = Model(ARM, tuple(terms))
    theta = true_theta(model)
    for name, value in values.items():
        theta[model.column_names.index(name)] = value
    return model, theta


def moved(seed: int) -> Motion:
    """Sums of sines without a common period: no part of the motion is a copy of another."""
    rng = np.random.default_rng(seed)
    time = np.arange(int(SECONDS * RATE)) / RATE
    w = 2.0 * np.pi * rng.uniform(0.1, 0.7, (5, 1, 2))
    size, phase = rng.uniform(0.2, 0.5, (5, 1, 2)), rng.uniform(0.0, 2.0 * np.pi, (5, 1, 2))
    angle = w * time[:, None] + phase
    return Motion(
        time,
        np.sum(size * np.sin(angle), axis=0),
        np.sum(size * w * np.cos(angle), axis=0),
        np.sum(-size * w**2 * np.sin(angle), axis=0),
    )


def torque_of(model: Model, theta: np.ndarray, motion: Motion) -> np.ndarray:
    """Torques without noise, friction with its history."""
    friction = with_history(model, motion).friction
    return torque(model, theta, motion.q, motion.v, motion.a, friction)


def recorded(law: str, seed: int = 1) -> Log:
    """A log of the arm with a law, with noise of 0.05 N m and 1e-5 rad."""
    motion = moved(seed)
    rng = np.random.default_rng([seed, 7])
    tau = torque_of(*robot_with(law), motion)
    tau = tau + 0.05 * rng.normal(size=tau.shape)
    q = motion.q + 1e-5 * rng.normal(size=tau.shape)
    signals = {
        (joint, quantity): values[:, j].copy()
        for j, joint in enumerate(ARM.joint_names)
        for quantity, values in (("position", q), ("torque", tau))
    }
    units = {key: {"position": "rad", "torque": "N*m"}[key[1]] for key in signals}
    return Log(motion.time, signals, name=f"{law} {seed}", units=units)


def admitted(law: str, **options):
    """What a log of this law admits, with a filter of 20 Hz."""
    processing = Processing(cutoff_hz=20.0, torque_filter="same", dead_band="rest")
    return admit_terms(PLAIN, recorded(law), SignalChoice(processing, processing, {}), **options)


@pytest.mark.parametrize("law", LAWS)
def test_the_law_that_a_robot_has_is_admitted(law):
    """Each law alone enters the model, at its joint, and at no other."""
    found = admitted(law)
    same = {"spring", "counterbalance"} if law in ("spring", "counterbalance") else {law}
    assert {one.what for one in found.admitted} <= same
    joints = {name.rpartition(".")[0] for name in LAWS[law][0]} or {"elbow"}
    assert {one.owner for one in found.admitted} == joints
    assert all(one.after < 0.95 * one.before for one in found.admitted)
    assert [one.code for one in found.findings] == [one.finding.code for one in found.admitted]
    named = {name for one in found.admitted for name in one.names}
    assert named <= {term.name for term in found.model.terms}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_plain_friction_stays_plain(seed):
    """Coulomb and viscous friction ask for nothing else: the model is the one that was given."""
    processing = Processing(cutoff_hz=20.0, torque_filter="same", dead_band="rest")
    signals = SignalChoice(processing, processing, {})
    found = admit_terms(PLAIN, recorded("plain", seed), signals)
    assert found.admitted == ()
    assert found.model.terms == PLAIN.terms
    assert found.findings == ()


def test_numbers_that_shape_a_law_are_found():
    """The travel, the speed and the direction that are found are those of the robot."""
    travel = admitted("travel").admitted[0].travel
    assert 0.4 <= travel / 0.02 <= 2.5
    speed = admitted("stribeck").admitted[0].speed
    assert 0.4 <= speed / 0.4 <= 2.5
    backward = next(t for t in admitted("asymmetric").model.terms if t.kind == "asymmetric")
    assert backward.direction == (("elbow", -1.0),)


def test_only_the_classes_that_were_asked_for_are_tried():
    """A spring is not admitted if only friction may be; of nothing to try, the reason is told.
    Rising friction, which is Stribeck friction with another sign, is tried alone as well.
    """
    assert [one.what for one in admitted("rising", classes=("rising",)).admitted] == ["rising"]
    assert admitted("stribeck", classes=("rising",)).admitted == ()
    assert admitted("spring", classes=("travel", "load")).admitted == ()
    assert admitted("spring", classes=()).reason == "none was to be tried"
    energy = admitted("load", equation=Equation("energy", None))
    assert (energy.admitted, energy.reason) == ((), "rows of energy are not of single joints")


def test_joints_that_share_a_law_count_together(monkeypatch):
    """Stribeck friction of the shoulder that is too weak to enter alone enters with the elbow's."""
    weak = {"shoulder.fs": 0.03}
    monkeypatch.setitem(LAWS, "stribeck", (weak, 0.0))
    assert admitted("stribeck").admitted == ()
    monkeypatch.setitem(LAWS, "stribeck", ({**weak, "elbow.fs": 0.03}, 0.0))
    found = admitted("stribeck").admitted
    assert {(one.what, one.owner) for one in found} == {
        ("stribeck", "shoulder"),
        ("stribeck", "elbow"),
    }


def test_a_log_with_few_independent_parts_gets_no_terms():
    """After a filter of 0.3 Hz, 40 s have 5 independent parts, which is told and admits nothing."""
    processing = Processing(cutoff_hz=0.3, torque_filter="same", dead_band="rest")
    found = admit_terms(PLAIN, recorded("load"), SignalChoice(processing, processing, {}))
    assert found.admitted == ()
    assert found.reason == "5 time blocks with torque values are too few to compare terms"


def test_the_width_is_chosen_again_beside_stribeck_friction(monkeypatch):
    """Without the law, friction that rises to its peak within 0.05 rad/s looks like a jump; with
    it, the width is found.
    """
    model, theta = robot_with("stribeck")
    model = model.with_widths({"elbow": 0.05})
    theta[model.column_names.index("elbow.fs")] = 1.0
    monkeypatch.setitem(globals(), "robot_with", lambda law: (model, theta))
    log = recorded("stribeck")
    before = choose_signals(PLAIN, log, Processing())
    found = admit_terms(PLAIN.with_widths(before.widths), log, before)
    assert [one.what for one in found.admitted] == ["stribeck"]
    assert before.widths["elbow"] == 0.0
    assert found.signals.widths["elbow"] == pytest.approx(0.05, rel=0.5)
    widths = {term.width for term in found.model.jumping_terms if term.owner == "elbow"}
    assert widths == {found.signals.widths["elbow"]}


def test_the_option_lists_the_valid_classes():
    """Auto is all, none is none; any other word is refused with the valid ones."""
    assert classes_to_admit("auto") == TERM_CLASSES
    assert classes_to_admit("none") == ()
    assert classes_to_admit(["stribeck", "load"]) == ("load", "stribeck")
    with pytest.raises(ModelError, match=r"'springs' \(did you mean 'spring'"):
        classes_to_admit(["springs"])


def test_identify_admits_and_predicts_better(tmp_path):
    """The plain call finds the parameter of the law, says so, and predicts another motion with half
    the error or less; a result that is read again has the same terms.
    """
    model, theta = robot_with("load")
    other = moved(5)
    tau = torque_of(model, theta, other)
    errors = {}
    for admit in ("none", "auto"):
        found = identify(
            ARM, recorded("load"), admit=admit, n_resamples=0, ranges=False, certify=False
        )
        errors[admit] = np.linalg.norm(found.predict(other) - tau)
    assert errors["auto"] < 0.5 * errors["none"]
    assert "load-friction" in {one.code for one in found.findings}
    value = {one.name: one.value for one in found.estimate.parameters(0.95)}["shoulder.fl"]
    # the load is that of the file's links, which are a tenth too light
    assert value == pytest.approx(1.1 * 0.15, rel=0.1)
    found.save(tmp_path)
    read = read_result(tmp_path / "result.json")
    assert read.terms == found.model.terms
    told = read.document["record"]["admission"]["admitted"]
    assert [one["class"] for one in told] == ["load"]
    assert told[0]["left_out_error_after"] < told[0]["left_out_error_before"]
