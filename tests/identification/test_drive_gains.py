"""Drive gains from runs without and with a known payload."""

from __future__ import annotations

import gc
import json
import weakref
from dataclasses import replace

import numpy as np
import pytest
from payload_runs import PAYLOAD, PROCESSING, PayloadRuns
from scipy.optimize import least_squares

from steelyard.cli import main
from steelyard.errors import EstimationError, LogError
from steelyard.identification._gain_fit import fit_gains
from steelyard.identification.drive_gains import compress_motors, identify_gains, with_unit_gains
from steelyard.identification.runs import compress_run
from steelyard.knowledge.overlay.toml_file import parse_overlay
from steelyard.knowledge.payload import Payload
from steelyard.logs.writer_csv import write_csv
from steelyard.model.base_map import base_map
from steelyard.model.kernels import torque, torque_regressor
from steelyard.model.model import Model
from steelyard.payload.joint_columns import PAYLOAD_COLUMNS, PayloadColumns
from steelyard.regression.regression import merge
from steelyard.robot.inertia import from_com
from steelyard.robot.transmission import Motor, Transmission
from steelyard.signals.motion import Measurements
from steelyard.signals.prepare import prepare
from steelyard.signals.processing import Processing

RAW = Processing(cutoff_hz=None, decimate=1, dead_band=None)
WORLD = PayloadRuns(duration_s=10.0, rate_hz=100.0)
CONSTANTS = (2.0, 3.0, 5.0, 0.5, 0.25, 0.1)


def test_exact_torques_give_exact_gains():
    """Without noise the gains are exact up to the error of differentiating positions."""
    quiet = replace(WORLD, noise=0.0)
    truth, empty, loaded = quiet.drawn(1)
    found = identify_gains(quiet.robot, empty, loaded, PAYLOAD, processing=PROCESSING)
    np.testing.assert_allclose([gain.gain for gain in found.gains], truth, rtol=2e-3)
    assert tuple(gain.name for gain in found.gains) == quiet.robot.joint_names


def test_intervals_hold_the_truth():
    """In 10 runs of six joints, 95 % intervals miss a gain no more often than chance allows."""
    inside = []
    for seed in range(10):
        truth, empty, loaded = WORLD.drawn(seed)
        found = identify_gains(WORLD.robot, empty, loaded, PAYLOAD, processing=PROCESSING)
        assert found.kind == "cluster"
        inside += [g.lower <= t <= g.upper for g, t in zip(found.gains, truth, strict=True)]
    # 60 draws: 95 % less three standard deviations of their mean
    assert np.mean(inside) >= 0.86


def test_noise_does_not_pull_gains_towards_zero():
    """With noise of 30 % the linear form underestimates the gains; Gauss-Newton does not."""
    world = replace(WORLD, noise=0.3)
    model = Model(with_unit_gains(world.robot))
    base = base_map(model)
    ours, linear = [], []
    for seed in range(6):
        truth, empty, loaded = world.drawn(100 + seed)
        runs = [
            compress_motors(model, base, prepare(log, model, PROCESSING), log.name, payload)
            for log, payload in ((empty, None), (loaded, PAYLOAD))
        ]
        ours.append(1.0 / fit_gains(runs, PAYLOAD).inverse_gain / truth)
        linear.append(linear_gains(merge(runs)) / truth)
    sharp = slice(1, 5)  # the joints on which the payload has much torque
    ours, linear = np.array(ours)[:, sharp], np.array(linear)[:, sharp]
    assert abs(ours.mean() - 1.0) < 3.0 * ours.std() / np.sqrt(ours.size)
    assert linear.mean() - 1.0 < -5.0 * linear.std() / np.sqrt(linear.size)


def linear_gains(regression):
    """g of min |W beta + p - g y|, each motor by itself."""
    gains = []
    for rows in regression.group_factors:
        columns = np.column_stack([rows[:, :-11], -rows[:, -1]])
        torque = rows[:, -11:-1] @ PAYLOAD.inertial
        gains.append(np.linalg.lstsq(columns, -torque, rcond=None)[0][-1])
    return np.array(gains)


def test_the_fit_is_the_least_squares_of_the_samples():
    """On the factors or on all samples with another solver, the gains are the same."""
    truth, empty, loaded = WORLD.drawn(3)
    model = Model(with_unit_gains(WORLD.robot))
    base = base_map(model)
    runs, tables = [], []
    for log, payload in ((empty, None), (loaded, PAYLOAD)):
        done = prepare(log, model, RAW)
        motion = done.motion
        runs.append(compress_motors(model, base, done, log.name, payload))
        W = torque_regressor(model, motion.q, motion.v, motion.a)[:, :, list(base.independent)]
        p = PAYLOAD.torque(model, motion) * (payload is not None)
        assert done.measurements.channels == model.channels
        columns = PayloadColumns(model, PAYLOAD.link)(motion) * (payload is not None)
        tables.append((W, p, columns, done.measurements.tau))
    W, p, P, y = (np.concatenate(parts) for parts in zip(*tables, strict=True))
    own = []
    for m in range(6):
        A = np.column_stack([W[:, m], P[:, m]])
        A = A[:, np.abs(A).max(axis=0) > 0]
        left = y[:, m] - A @ np.linalg.lstsq(A, y[:, m], rcond=None)[0]
        own.append(np.sqrt(left @ left / (len(left) - np.linalg.matrix_rank(A))))
    scale = np.linalg.norm(W.reshape(-1, W.shape[2]), axis=0)

    def residuals(x):
        model_torque = W @ (x[:-6] / scale) + p
        return ((y - x[-6:] * model_torque) / own).ravel()

    def jacobian(x):
        J = np.zeros((len(y), 6, len(x)))
        J[:, :, :-6] = -x[-6:, None] * W / scale
        J[:, range(6), range(len(x) - 6, len(x))] = -(W @ (x[:-6] / scale) + p)
        return (J / np.array(own)[:, None]).reshape(-1, len(x))

    flat = W.reshape(-1, W.shape[2]) / scale
    start = np.concatenate(
        [np.linalg.lstsq(flat, (truth * y - p).ravel(), rcond=None)[0], 1.0 / truth]
    )
    best = least_squares(residuals, start, jacobian, xtol=1e-15, ftol=1e-15, gtol=1e-12)
    fit = fit_gains(runs, PAYLOAD)
    np.testing.assert_allclose(fit.inverse_gain, best.x[-6:], rtol=1e-4)


def test_the_payloads_torque_is_what_it_adds():
    """A payload on a link behind a fixed joint adds the torque of that mass in that place."""
    robot = WORLD.robot
    model = Model(robot)
    motion = prepare(WORLD.exact[0], model, RAW).motion
    loaded = tuple(
        replace(link, inertial=link.inertial + PAYLOAD.inertial, inertia_com=None)
        if link.name == PAYLOAD.link
        else link
        for link in robot.links
    )
    heavier = Model(replace(robot, links=loaded))
    more = torque(heavier, heavier.prior_theta(), motion.q, motion.v, motion.a)
    less = torque(model, model.prior_theta(), motion.q, motion.v, motion.a)
    np.testing.assert_allclose(PAYLOAD.torque(model, motion), more - less, atol=1e-11)


def test_gains_of_motors_behind_a_coupled_wrist():
    """With coupled gears the gains are those of the motors, not of the joints."""
    names = WORLD.robot.joint_names
    ratios = [{name: 50.0 + 10 * k} for k, name in enumerate(names)]
    ratios[5] = {names[4]: -40.0, names[5]: 80.0}
    motors = tuple(Motor(f"m{k}", tuple(ratio.items())) for k, ratio in enumerate(ratios))
    T = Transmission(motors).matrix(names)
    _, *exact = replace(WORLD, noise=0.0).drawn(0)
    truth = np.random.default_rng(2).uniform(0.8, 1.25, 6)
    logs = []
    for log, clean in zip(exact, WORLD.exact, strict=True):
        tau = np.column_stack([clean.signal(name, "torque") for name in names])
        at_motors = tau @ np.linalg.inv(T) / truth
        signals = {key: x for key, x in log.signals.items() if key[1] == "position"}
        for k, motor in enumerate(motors):
            signals[motor.name, "current"] = at_motors[:, k] / 0.07
        logs.append(replace(log, signals=signals, units={}))
    lines = [
        f"[motor.{m.name}]\nratio = {{ {', '.join(f'{j} = {r}' for j, r in m.ratio)} }}\n"
        for m in motors
    ]
    # the arm's friction and rotors sit at its joints: those of the last one need terms there
    lines[5] += "terms = ['viscous']\n"
    own = f"[joint.{names[5]}]\nterms = ['drive_inertia', 'viscous', 'coulomb', 'offset']\n"
    text = own + "".join(line + "torque_constant = 0.07\ngain = 3.0\n" for line in lines)
    found = identify_gains(
        WORLD.robot, *logs, PAYLOAD, overlay=parse_overlay(text), processing=PROCESSING
    )
    np.testing.assert_allclose([gain.gain for gain in found.gains], truth, rtol=3e-3)
    assert {gain.unit for gain in found.gains} == {""}
    open_text = own + "".join(lines)
    found = identify_gains(
        WORLD.robot, *logs, PAYLOAD, overlay=parse_overlay(open_text), processing=PROCESSING
    )
    np.testing.assert_allclose([gain.gain for gain in found.gains], 0.07 * truth, rtol=3e-3)
    assert {gain.unit for gain in found.gains} == {"N m/A"}


def test_currents_of_joints_give_constants():
    """Without motors and constants, the gains of currents are constants at the joints."""
    truth, *logs = replace(WORLD, noise=0.01).drawn(4)
    logs = [
        replace(
            log,
            units={},
            signals={
                (joint, "current" if quantity == "torque" else quantity): x
                for (joint, quantity), x in log.signals.items()
            },
        )
        for log in logs
    ]
    found = identify_gains(WORLD.robot, *logs, PAYLOAD, processing=PROCESSING)
    assert {gain.unit for gain in found.gains} == {"N m/A"}
    assert all(abs(g.gain / t - 1.0) < 0.1 for g, t in zip(found.gains, truth, strict=True))
    mixed = [logs[0], WORLD.drawn(4)[2]]
    with pytest.raises(LogError, match="is a current in one log and a torque in another"):
        identify_gains(WORLD.robot, *mixed, PAYLOAD, processing=PROCESSING)


def test_a_gain_that_the_payload_does_not_tell_has_no_value():
    """A payload of two grams determines no gain above the noise, and the words say so."""
    light = Payload.of("tool", 0.002, (0.0, 0.0, 0.05), np.zeros((3, 3)))
    world = replace(WORLD, payload=light, noise=0.05)
    _, empty, loaded = world.drawn(1)
    found = identify_gains(world.robot, empty, loaded, light, processing=PROCESSING)
    lost = [gain for gain in found.gains if gain.gain is None]
    assert lost
    assert all(gain.words.startswith("the payload") for gain in lost)
    assert any(finding.code == "gain-not-told" for finding in found.findings)
    json.dumps(found.to_dict(), allow_nan=False)


def test_an_uncertain_mass_widens_all_gains():
    """The mass's standard deviation adds to that of each gain, in proportion."""
    _, empty, loaded = WORLD.drawn(5)
    sure = identify_gains(WORLD.robot, empty, loaded, PAYLOAD, processing=PROCESSING)
    unsure = identify_gains(
        WORLD.robot, empty, loaded, replace(PAYLOAD, mass_sigma=0.1), processing=PROCESSING
    )
    for one, two in zip(sure.gains, unsure.gains, strict=True):
        assert one.gain == two.gain
        assert np.isclose(two.sigma**2, one.sigma**2 + (0.05 * one.gain) ** 2)
    level = identify_gains(WORLD.robot, empty, loaded, PAYLOAD, processing=PROCESSING, level=0.5)
    for one, two in zip(sure.gains, level.gains, strict=True):
        assert one.lower < two.lower < two.gain < two.upper < one.upper


@pytest.mark.parametrize("noise", [0.0, 0.02])
@pytest.mark.parametrize("known", [PAYLOAD, Payload.of("tool", 2.0)])
def test_exchanged_logs_are_named(noise, known):
    """Without and with the payload exchanged: refused, whether or not more than its mass is known.
    Torques of the opposite sign are the other cause that the message names.
    """
    world = replace(WORLD, noise=noise)
    _, empty, loaded = world.drawn(2)
    with pytest.raises(EstimationError, match="Are the logs without and with"):
        identify_gains(world.robot, loaded, empty, known, processing=PROCESSING)
    turned = [
        replace(
            log,
            signals={
                key: -values if key[1] == "torque" else values
                for key, values in log.signals.items()
            },
        )
        for log in (empty, loaded)
    ]
    with pytest.raises(EstimationError, match="or do torques have the opposite sign"):
        identify_gains(world.robot, *turned, known, processing=PROCESSING)


def test_bad_payloads_and_runs_are_refused():
    """Invalid payloads, payloads on a link that never moves, and missing logs are refused."""
    with pytest.raises(EstimationError, match="mass is 0 kg; it must be positive"):
        Payload("tool", np.zeros(10))
    for heavy in (1e10, 1e308, np.inf):
        with pytest.raises(EstimationError, match=r"and at most 1e\+09 kg"):
            Payload.of("tool", heavy, (0.0, 0.1, 0.0))
    with pytest.raises(EstimationError, match="breaks the triangle inequality"):
        Payload.of("tool", 1.0, inertia_com=np.diag([1.0, 0.1, 0.1]))
    with pytest.raises(EstimationError, match="mass_sigma is -1"):
        Payload.of("tool", 1.0, mass_sigma=-1.0)
    np.testing.assert_array_equal(
        Payload.of("tool", 2.0, (0.0, 0.1, 0.0)).inertial,
        from_com(2.0, (0, 0.1, 0), np.zeros((3, 3))),
    )
    _, empty, loaded = WORLD.drawn(6)
    with pytest.raises(EstimationError, match="on link 'base', which does not move"):
        identify_gains(WORLD.robot, empty, loaded, Payload.of("base", 1.0), processing=PROCESSING)
    with pytest.raises(Exception, match=r"has no link 'tol' \(did you mean 'tool'"):
        identify_gains(WORLD.robot, empty, loaded, Payload.of("tol", 1.0), processing=PROCESSING)
    with pytest.raises(LogError, match="there is no log with the payload"):
        identify_gains(WORLD.robot, empty, [], PAYLOAD, processing=PROCESSING)
    with pytest.raises(LogError, match="have the same content"):
        identify_gains(WORLD.robot, empty, empty, PAYLOAD, processing=PROCESSING)
    with pytest.raises(EstimationError, match="level is 95"):
        identify_gains(WORLD.robot, empty, loaded, PAYLOAD, level=95.0)
    two = Transmission((Motor("a", (("x", 1.0),)), Motor("b", (("x", 1.0),))))
    with pytest.raises(EstimationError, match="2 motors drive 6 joints"):
        with_unit_gains(replace(WORLD.robot, transmission=two))


def test_missing_torques_are_left_out():
    """NaN in the torque of a joint removes these rows of that joint, and of no other."""
    _, empty, _ = WORLD.drawn(7)
    model = Model(with_unit_gains(WORLD.robot))
    done = prepare(empty, model, RAW)
    tau = np.array(done.measurements.tau)
    tau[10:30, 2] = np.nan
    done = replace(done, measurements=Measurements(done.measurements.channels, tau))
    counts = compress_motors(model, base_map(model), done, "run", None).counts.sum(axis=0)
    assert counts.tolist() == [len(tau)] * 2 + [len(tau) - 20] + [len(tau)] * 3


def test_logs_are_taken_one_at_a_time():
    """The next log of a generator is read only after the previous one is freed."""
    _, *logs = WORLD.drawn(9)
    alive = []

    def given(log, n):
        for k in range(n):
            gc.collect()
            assert [reference() for reference in alive] == [None] * len(alive)
            part = slice(k * 500, (k + 1) * 500)
            signals = {key: x[part].copy() for key, x in log.signals.items()}
            # of the same name, so that the second gets another one on the way
            cut = replace(log, time=log.time[part].copy(), signals=signals, name="run")
            alive.append(weakref.ref(cut))
            yield cut
            del cut

    found = identify_gains(
        WORLD.robot, given(logs[0], 2), given(logs[1], 2), PAYLOAD, processing=PROCESSING
    )
    assert len(alive) == 4
    assert [run.has_payload for run in found.runs] == [False, False, True, True]


def test_gains_do_not_depend_on_the_order_of_runs():
    """Runs in any order, or merged in any order, give the same gains and the same spread."""
    _, empty, loaded = WORLD.drawn(10)
    model = Model(with_unit_gains(WORLD.robot))
    base = base_map(model)
    runs = [
        compress_motors(model, base, prepare(log, model, PROCESSING), log.name, payload)
        for log, payload in ((empty, None), (loaded, PAYLOAD))
    ]
    assert [regression.extra for regression in runs] == [PAYLOAD_COLUMNS] * 2
    fit = fit_gains(runs, PAYLOAD)
    for other in (
        fit_gains(runs[::-1], PAYLOAD),
        fit_gains([merge(runs)], PAYLOAD),
        fit_gains([merge(runs[::-1])], PAYLOAD),
    ):
        np.testing.assert_allclose(other.inverse_gain, fit.inverse_gain, rtol=1e-9)
        np.testing.assert_allclose(other.covariance, fit.covariance, rtol=1e-6, atol=1e-12)
        assert (other.kind, other.n_blocks, other.n_rows) == (fit.kind, fit.n_blocks, fit.n_rows)


def test_a_short_run_keeps_its_own_time_blocks():
    """A short run beside a longer one keeps blocks for its own length, unlike when merged."""
    _, empty, _ = replace(WORLD, duration_s=20.0).drawn(11)
    _, _, loaded = WORLD.drawn(11)
    model = Model(with_unit_gains(WORLD.robot))
    base = base_map(model)
    runs = [
        compress_motors(model, base, prepare(log, model, PROCESSING), log.name, payload)
        for log, payload in ((empty, None), (loaded, PAYLOAD))
    ]
    assert [regression.block_s for regression in runs] == [0.5, 0.25]
    found = identify_gains(WORLD.robot, empty, loaded, PAYLOAD, processing=PROCESSING)
    assert found.n_blocks == sum(len(regression.keys) for regression in runs)
    merged = fit_gains([merge(runs)], PAYLOAD)
    assert merged.n_blocks < found.n_blocks
    np.testing.assert_allclose(
        merged.inverse_gain, fit_gains(runs, PAYLOAD).inverse_gain, rtol=1e-9
    )


def test_a_fit_needs_the_payloads_column():
    """Regressions without the payload column, and an empty list, are refused."""
    _, empty, _ = WORLD.drawn(12)
    model = Model(with_unit_gains(WORLD.robot))
    done = prepare(empty, model, PROCESSING)
    with pytest.raises(EstimationError, match="this regression has none"):
        fit_gains([compress_run(model, base_map(model), done, 1)], PAYLOAD)
    with pytest.raises(EstimationError, match="no regression"):
        fit_gains([], PAYLOAD)
    with pytest.raises(EstimationError, match="without motors has no drive gains"):
        compress_motors(Model(WORLD.robot), base_map(model), done, "run", None)


def test_command(tmp_path, capsys):
    """The command prints gains and lines for the overlay, or one JSON object."""
    from steelyard.simulation.builtin_arm import arm_urdf

    (tmp_path / "arm.urdf").write_text(arm_urdf(), encoding="utf-8")
    (tmp_path / "lock.toml").write_text("[locked]\nupper_arm_roll = 0.0\n", encoding="utf-8")
    truth, empty, loaded = WORLD.drawn(8)
    for name, log in (("empty", empty), ("loaded", loaded)):
        write_csv(log, tmp_path / f"{name}.csv")
    command = [
        *("gains", str(tmp_path / "arm.urdf"), "--overlay", str(tmp_path / "lock.toml")),
        *("--empty", str(tmp_path / "empty.csv"), "--loaded", str(tmp_path / "loaded.csv")),
        *("--payload", "tool", "--mass", "2", "--com", "0.02", "-0.01", "0.06"),
        *("--inertia", "0.004", "0", "0", "0.005", "0", "0.003", "--torque-filter", "none"),
    ]
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "[motor.wrist_pitch]\ngain = " in printed
    assert main([*command, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    gains = {entry["name"]: entry["gain"] for entry in document["gains"]}
    for joint, true in zip(WORLD.robot.joint_names, truth, strict=True):
        assert abs(gains[joint] / true - 1.0) < 0.15
    assert [run["payload"] for run in document["runs"]] == [False, True]
    assert main([*command[:-2], "--mass-sigma", "-1"]) == 2
    assert "mass_sigma is -1" in capsys.readouterr().err
