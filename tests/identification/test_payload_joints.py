"""Payloads at the flange from joint torques."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from weighing_runs import LINK, PROCESSING, WeighingRuns, true_values

from steelyard.errors import EstimationError, LogError, ResultError, RobotError, WeighingError
from steelyard.estimators.result_file import read_result
from steelyard.identification.identify import identify
from steelyard.identification.payload import weigh_payload_joints
from steelyard.model.model import Model
from steelyard.payload.intervals import VALUE_NAMES
from steelyard.robot.inertia import is_physical, transform
from steelyard.robot.robot import Robot

WORLD = WeighingRuns(duration_s=10.0)
CHANGED = {"elbow_pitch": (0.4, 1.5, 1.0), "wrist_pitch": (0.1, 0.4, -0.3)}


@pytest.fixture(scope="module")
def arm():
    """The arm identified without payload, from a log that no payload test uses otherwise."""
    _, empty, _ = WORLD.drawn(1.0, 100)
    return identify(
        WORLD.robot, empty, method="wls", processing=PROCESSING, certify=False, compare_terms=False
    )


def weighed(world, mass, seed, **options):
    phi, empty, loaded = world.drawn(mass, seed)
    options.setdefault("processing", PROCESSING)
    return phi, weigh_payload_joints(world.robot, loaded, empty=empty, **options)


def scaled(log, joint, gain):
    """The log with the torque of a joint times a gain."""
    signals = dict(log.signals)
    signals[joint, "torque"] = gain * signals[joint, "torque"]
    return replace(log, signals=signals)


def inside(estimate, phi):
    """Whether each interval holds the true value."""
    return [
        value.lower <= true <= value.upper
        for value, true in zip(estimate.values, true_values(phi), strict=True)
    ]


def test_exact_torques_give_the_body():
    """Without noise, mass, centre of mass and inertia are those of the simulated body."""
    phi, found = weighed(replace(WORLD, noise=0.0), 2.0, 0)
    assert found.frame == LINK
    values = dict(zip(VALUE_NAMES, true_values(phi), strict=True))
    assert abs(found.value("m").value - 2.0) < 2e-3
    for name in ("cx", "cy", "cz"):
        assert abs(found.value(name).value - values[name]) < 2e-4
    for name in ("Ixx_com", "Iyy_com", "Izz_com"):
        assert abs(found.value(name).value - values[name]) < 2e-4
    json.dumps(found.to_dict(), allow_nan=False)


def test_intervals_hold_the_truth():
    """Bodies of 0.1 to 5 kg and random shape: pooled 95 % intervals hold at least 93 %."""
    held = []
    for mass in (0.1, 0.5, 2.0, 5.0):
        phi, found = weighed(WORLD, mass, 0)
        assert found.interval_covariance == "cluster"
        assert is_physical(found.phi)
        assert found.optimum_reached
        held += inside(found, phi)
        assert abs(found.body.mass - mass) < 0.06
    assert np.mean(held) >= 0.93


def test_a_known_arm_replaces_the_logs_without_payload(arm, tmp_path):
    """With an earlier result the intervals hold the truth too, and are wider than with logs."""
    phi, empty, loaded = WORLD.drawn(2.0, 3)
    found = weigh_payload_joints(WORLD.robot, loaded, arm=arm)
    assert np.mean(inside(found, phi)) >= 0.9
    together = weigh_payload_joints(WORLD.robot, loaded, empty=empty, processing=PROCESSING)
    width = found.value("m").upper - found.value("m").lower
    assert width > together.value("m").upper - together.value("m").lower
    exact = replace(arm.estimate.spreads[-1], covariance=0.0 * arm.estimate.spread.covariance)
    sure = replace(arm, estimate=replace(arm.estimate, spreads=(exact,)))
    blind = weigh_payload_joints(WORLD.robot, loaded, arm=sure)
    assert blind.value("m").sigma < 0.9 * found.value("m").sigma
    arm.save(tmp_path / "arm")
    for given in (tmp_path / "arm", read_result(tmp_path / "arm" / "result.json")):
        stored = weigh_payload_joints(WORLD.robot, loaded, arm=given)
        np.testing.assert_allclose(stored.phi, found.phi, atol=1e-4)
        assert np.mean(inside(stored, phi)) >= 0.9


def test_friction_that_changes_with_the_load_is_not_mass():
    """Changed friction is estimated and named; left out, it is a warning and biases the body."""
    world = replace(WORLD, friction=CHANGED)
    phi, empty, loaded = world.drawn(2.0, 1)
    given = {"empty": empty, "processing": PROCESSING}
    found = weigh_payload_joints(world.robot, loaded, **given)
    assert np.mean(inside(found, phi)) >= 0.9
    said = {finding.code: finding for finding in found.findings}
    assert said["friction-changed"].level == "info"
    assert "elbow_pitch, wrist_pitch" in said["friction-changed"].words
    for joint, changes in CHANGED.items():
        for symbol, change in zip(("fv", "fc", "fo"), changes, strict=True):
            value = found.value(f"change of {joint}.{symbol}")
            assert value.lower - 0.1 * abs(change) <= change <= value.upper + 0.1 * abs(change)
    blind = weigh_payload_joints(world.robot, loaded, friction="none", **given)
    said = {finding.code: finding for finding in blind.findings}
    assert said["friction-changed"].level == "warning"
    assert np.mean(inside(blind, phi)) < 0.9
    _, same = weighed(WORLD, 2.0, 1, friction="none")
    assert not [finding for finding in same.findings if finding.code == "friction-changed"]


def test_gains_scale_the_payload_as_stated():
    """A joint's torque times 1.02 changes the mass by 2 % of its share; shares add up to 1."""
    _, empty, loaded = WORLD.drawn(2.0, 2)
    given = {"friction": "none", "processing": PROCESSING}
    found = weigh_payload_joints(WORLD.robot, loaded, empty=empty, **given)
    joints = WORLD.robot.joint_names
    shares = {joint: found.value(f"gain share of {joint}").value for joint in joints}
    assert abs(sum(shares.values()) - 1.0) < 1e-9
    largest = max(joints, key=lambda joint: abs(shares[joint]))
    more = weigh_payload_joints(
        WORLD.robot, scaled(loaded, largest, 1.02), empty=scaled(empty, largest, 1.02), **given
    )
    change = (more.body.mass - found.body.mass) / found.body.mass
    assert abs(change - 0.02 * shares[largest]) < 0.1 * abs(change)
    words = next(f.words for f in found.findings if f.code == "gains-scale-the-payload")
    assert f"{largest} {shares[largest]:+.2f} %" in words


def test_the_frame_only_expresses_the_body():
    """At the flange, the hand or the tool, it is the same body in other axes."""
    _, empty, loaded = WORLD.drawn(5.0, 0)
    given = {"empty": empty, "processing": PROCESSING}
    tool = weigh_payload_joints(WORLD.robot, loaded, **given)
    flange = weigh_payload_joints(WORLD.robot, loaded, frame="flange", **given)
    (hand,) = (body for body in Model(WORLD.robot).mechanism.bodies if body.name == "hand")
    T = dict(hand.links)
    T_flange_tool = np.linalg.inv(T["flange"]) @ T["tool"]
    np.testing.assert_allclose(flange.phi, transform(tool.phi, T_flange_tool), atol=2e-5)


def planar_arm():
    """Two parallel horizontal axes: a payload's parameters across the plane do no work."""
    bar = (
        '<inertial><origin xyz="0.2 0 0"/><mass value="2"/><inertia ixx="0.01" ixy="0" ixz="0" '
        'iyy="0.03" iyz="0" izz="0.03"/></inertial>'
    )
    joint = (
        '<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/>'
        '<origin xyz="{3} 0 0"/><axis xyz="0 1 0"/>'
        '<limit lower="-3" upper="3" velocity="2" effort="50"/></joint>'
    )
    return Robot.from_urdf_text(
        f'<robot name="planar"><link name="base"/><link name="upper">{bar}</link>'
        f'<link name="lower">{bar}</link>{joint.format("first", "base", "upper", 0)}'
        f"{joint.format('second', 'upper', 'lower', 0.4)}</robot>"
    )


def test_what_the_arm_cannot_tell_is_labelled():
    """A planar arm tells mass and centre of mass in its plane; the rest is labelled so."""
    from steelyard.excitation.motions.fourier import multisine
    from steelyard.simulation.simulate import Controller, Sensors, simulate

    robot = planar_arm()
    model = Model(robot)
    theta = model.prior_theta()
    phi = np.array([1.5, 0.15, 0.045, -0.06, 0.01, -0.002, 0.03, 0.001, 0.0, 0.03])
    logs = []
    for seed, extra in ((1, 0.0), (2, 1.0)):
        values = theta.copy()
        last = model.first_column_of_body[1]
        values[last : last + 10] += extra * phi
        logs.append(
            simulate(
                model,
                values,
                multisine(robot, period_s=10.0, seed=seed),
                duration_s=10.0,
                rate_hz=100.0,
                controller=Controller("ideal"),
                sensors=Sensors(torque_noise=0.05, encoder_step=1e-5),
                seed=seed,
                name=f"run{seed}",
            )
        )
    found = weigh_payload_joints(robot, logs[1], empty=logs[0], processing=PROCESSING)
    kinds = {value.name: value.kind for value in found.values}
    for name in ("m", "mx", "mz", "Iyy"):
        assert kinds[name] == "confidence", name
        assert found.value(name).lower <= phi[VALUE_INDEX[name]] <= found.value(name).upper
    for name in ("cy", "my", "Ixx_com", "Ixy_com", "Iyz", "Izz"):
        assert kinds[name] != "confidence", name
        assert found.value(name).sigma is None
    assert is_physical(found.phi)
    assert any(finding.code == "payload-partly-determined" for finding in found.findings)


VALUE_INDEX = {"m": 0, "mx": 1, "mz": 3, "Iyy": 6}


def test_exchanged_logs_are_refused():
    """With loaded and empty logs exchanged the mass is negative, which is refused by that name."""
    _, empty, loaded = WORLD.drawn(2.0, 0)
    with pytest.raises(WeighingError, match="exchange them") as caught:
        weigh_payload_joints(WORLD.robot, empty, empty=loaded, processing=PROCESSING)
    assert caught.value.code == "negative-mass"


def test_wrong_gravity_is_a_poor_fit():
    """Residuals that follow the motion are doubted; those of noise are not, for any mass."""
    for mass in (0.3, 2.0):
        _, empty, loaded = WORLD.drawn(mass, 1)
        codes = []
        for gravity in (WORLD.robot.gravity, (0.0, 0.0, 0.0), (9.81, 0.0, 0.0)):
            robot = replace(WORLD.robot, gravity=gravity)
            found = weigh_payload_joints(robot, loaded, empty=empty, processing=PROCESSING)
            codes.append({one.code for one in found.findings if one.level == "warning"})
        assert not codes[0] & {"poor-fit", "implausible-density", "implausible-centre"}
        assert "poor-fit" in codes[1]
        assert "poor-fit" in codes[2]


def test_bad_input_is_named(arm):
    """Missing, repeated and foreign logs, links and results are refused with what to do."""
    _, empty, loaded = WORLD.drawn(2.0, 0)
    robot = WORLD.robot

    def refused(error, words, *logs, **options):
        with pytest.raises(error, match=words):
            weigh_payload_joints(robot, *logs, **options)

    refused(EstimationError, "give logs without it \\(empty\\), or an earlier result", loaded)
    refused(EstimationError, "not both", loaded, empty=empty, arm=arm)
    refused(LogError, "no log with the payload", [], empty=empty)
    refused(LogError, "no log without the payload", loaded, empty=[])
    refused(LogError, "have the same content", loaded, empty=loaded)
    refused(EstimationError, "'base', which does not move", loaded, empty=empty, frame="base")
    refused(RobotError, "no link 'tol' .did you mean 'tool'", loaded, empty=empty, frame="tol")
    refused(EstimationError, "friction is 'some'", loaded, empty=empty, friction="some")
    refused(EstimationError, "level is 95", loaded, empty=empty, level=95)
    refused(EstimationError, "states its own", loaded, arm=arm, terms=arm.model.terms)
    _, own, _ = WORLD.drawn(1.0, 100)
    refused(LogError, "was made from the log 'empty'", own, arm=arm)
    with pytest.raises(ResultError, match="is for joints"):
        weigh_payload_joints(robot.lock({"upper_arm_roll": 0.0}), loaded, arm=arm)
    heavier = replace(robot, gravity=np.array([0.0, 0.0, -1.6]))
    with pytest.raises(ResultError, match="another geometry or gravity"):
        weigh_payload_joints(heavier, loaded, arm=arm)
    fixed = replace(PROCESSING, cutoff_hz=5.0)
    with pytest.raises(EstimationError, match="no joint that carries link 'tool' moves"):
        weigh_payload_joints(robot, standing(loaded), empty=empty, processing=fixed)


def standing(log):
    """The log with all positions held at their first value."""
    signals = {
        key: np.full_like(values, values[0]) if key[1] == "position" else values
        for key, values in log.signals.items()
    }
    return replace(log, signals=signals)


def test_what_is_wrong_with_the_signals_is_told():
    """A torque that stands still for a part of the loaded log, with its joint; once."""
    _, empty, loaded = WORLD.drawn(2.0, 0)
    joint = WORLD.robot.joint_names[0]
    signals = dict(loaded.signals)
    tau = signals[joint, "torque"].copy()
    tau[len(tau) // 3 : len(tau) // 2] = tau[len(tau) // 3]
    signals[joint, "torque"] = tau
    spoiled = replace(loaded, signals=signals)
    found = weigh_payload_joints(WORLD.robot, spoiled, empty=empty, processing=PROCESSING)
    assert [one.joints for one in found.findings if one.code == "frozen"] == [(joint,)]
