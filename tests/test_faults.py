"""The fault campaign of `benchmarks/run.py faults`: its faults are what they say, and which kinds
still come through in silence.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from steelyard import Model
from steelyard.simulation import likely_truth
from steelyard.simulation.builtin_arm import arm_urdf

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
MODULES = ("codes", "recordings", "signals", "clocks", "mixups", "loads", "kinds", "runs")
RNG = np.random.default_rng


@pytest.fixture(scope="module")
def faults() -> Iterator[SimpleNamespace]:
    """The campaign's modules, and a clean recording of the built-in arm."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        loaded = {name: importlib.import_module(f"fault_{name}") for name in MODULES}
        loaded["campaign"] = importlib.import_module("faults")
        of_arm = loaded["recordings"]
        clean = of_arm.recordings(
            of_arm.robot_named("arm"), of_arm.siblings_of("arm"), 0, of_arm.MOTIONS[:1]
        )[0]
        yield SimpleNamespace(**loaded, clean=clean)


def torques(given) -> np.ndarray:
    return table(given, "torque")


def positions(given) -> np.ndarray:
    return table(given, "position")


def table(given, quantity: str) -> np.ndarray:
    names = given.robot.joint_names
    return np.column_stack([given.log.signal(joint, quantity) for joint in names])


def test_the_matrix_is_as_it_was_fixed(faults) -> None:
    """Kinds, the two that cannot be told, tolerance, seeds and prior error do not move."""
    kinds = faults.kinds.KINDS
    assert len({kind.name for kind in kinds}) == len(kinds) == 67
    assert [kind.name for kind in kinds if kind.untellable] == ["slight-torque-scale", "payload"]
    assert all(kind.mistake.endswith(".") for kind in kinds)
    assert {code for kind in kinds for code in kind.expected} == set(faults.codes.CODES)
    assert not set(faults.codes.GENERAL_ALARMS) & set(faults.codes.CODES)
    assert faults.kinds.TOLERANCE == 1.1
    assert len(faults.kinds.FRESH_SEEDS) == 20
    assert len(faults.kinds.FRESH_CLEAN_SEEDS) == 200
    assert not set(faults.kinds.FRESH_SEEDS) & set(faults.kinds.TUNING_SEEDS)
    assert not set(faults.kinds.FRESH_CLEAN_SEEDS) & set(faults.kinds.TUNING_CLEAN_SEEDS)
    assert likely_truth.MASS_ERROR == (0.05, 0.15)
    assert (likely_truth.SHIFT_M, likely_truth.STRETCH) == (0.015, 0.08)
    assert (faults.recordings.FRICTION, faults.recordings.NOISE) == (2.0, 0.005)


def test_every_fault_changes_the_input_and_nothing_else(faults) -> None:
    """Each size gives another robot or log, the same for the same seed; the clean one stays."""
    clean, before = faults.clean, faults.clean.log().content_hash
    for kind in faults.kinds.KINDS:
        if kind.refusal == ("backwards",):
            continue  # no log can be made of it
        seen = set()
        for seed in range(len(kind.sizes)):
            made = faults.kinds.faulty(kind, clean, seed)
            again = faults.kinds.faulty(kind, clean, seed)
            assert made.log.content_hash == again.log.content_hash, kind.name
            assert made.log.content_hash != before or made.robot is not clean.robot, kind.name
            seen.add((made.log.content_hash, made.robot.links[2].inertial.tobytes(), seed))
        assert len(seen) == len(kind.sizes)
    assert clean.log().content_hash == before


@pytest.mark.parametrize(("seconds", "rows"), [(0.002, 1), (0.008, 4), (0.02, 10)])
def test_delays_shift_by_whole_samples(faults, seconds: float, rows: int) -> None:
    """2, 8 and 20 ms are 1, 4 and 10 samples, of all torques, of one, and of positions."""
    clean, clocks = faults.clean, faults.clocks
    all_late = torques(clocks.torque_late(clean, RNG(0), seconds))
    np.testing.assert_array_equal(all_late[rows:], clean.tau[:-rows])
    np.testing.assert_array_equal(
        positions(clocks.position_late(clean, RNG(0), seconds))[rows:], clean.q[:-rows]
    )
    one = torques(clocks.torque_late_of_one(clean, RNG(0), seconds))
    late = np.flatnonzero((one != clean.tau).any(axis=0))
    assert len(late) == 1
    np.testing.assert_array_equal(one[:, late], all_late[:, late])


def test_mixed_up_columns(faults) -> None:
    """Exchanged, reversed and shifted columns; signs, gains and zeros of one joint."""
    clean, mixups = faults.clean, faults.mixups
    first, second = faults.codes.two_joints(clean, RNG(3))
    joint = faults.codes.one_joint(clean, RNG(3))
    both = mixups.joints_swapped(clean, RNG(3), 1.0)
    for got, true in ((torques(both), clean.tau), (positions(both), clean.q)):
        np.testing.assert_array_equal(got[:, [first, second]], true[:, [second, first]])
        rest = [k for k in range(7) if k not in (first, second)]
        np.testing.assert_array_equal(got[:, rest], true[:, rest])
    swapped = mixups.torques_swapped(clean, RNG(3), 1.0)
    np.testing.assert_array_equal(torques(swapped), torques(both))
    np.testing.assert_array_equal(positions(swapped), clean.q)
    turned = mixups.joints_reversed(clean, RNG(3), 1.0)
    np.testing.assert_array_equal(torques(turned)[:, 0], clean.tau[:, 6])
    shifted = mixups.joints_shifted(clean, RNG(3), 1.0)
    np.testing.assert_array_equal(positions(shifted)[:, 1], clean.q[:, 0])
    gained = torques(mixups.torque_gain(clean, RNG(3), 1.2))
    np.testing.assert_array_equal(gained[:, joint], 1.2 * clean.tau[:, joint])
    moved = positions(mixups.position_offset(clean, RNG(3), 10.0)) - clean.q
    np.testing.assert_allclose(moved[:, joint], np.pi / 18)
    assert np.count_nonzero(moved.any(axis=0)) == 1


def test_turned_axis_is_both_signs(faults) -> None:
    """The file with the axis turned has, at the opposite position, the opposite torque."""
    clean = faults.clean
    joint = faults.codes.one_joint(clean, RNG(5))
    flipped = Model(faults.mixups.axis_sign(clean, RNG(5), 1.0).robot)
    motion = clean.motion
    sign = np.where(np.arange(7) == joint, -1.0, 1.0)
    prior = clean.model.prior_theta()
    kernels = importlib.import_module("steelyard.model.kernels")
    np.testing.assert_allclose(
        kernels.torque(flipped, prior, sign * motion.q, sign * motion.v, sign * motion.a) * sign,
        clean.torque_of(prior),
        atol=1e-9,
    )


def test_loads_against_pinocchio(faults) -> None:
    """Gravity, a tilted base, a payload and a push are those of Pinocchio on the same robot."""
    pin = pytest.importorskip("pinocchio")
    loads, rows = faults.loads, slice(0, 10000, 777)
    clean = replace(faults.clean, theta=faults.clean.model.prior_theta())
    q, v, a = (one[rows] for one in (clean.motion.q, clean.motion.v, clean.motion.a))
    robot = pin.buildModelFromXML(arm_urdf())
    data = robot.createData()

    def each(compute):
        return np.array([compute(*state) for state in zip(q, v, a, strict=True)])

    gravity = each(lambda q, v, a: pin.computeGeneralizedGravity(robot, data, q))
    given = loads.gravity_removed(clean, RNG(0), 1.0)
    np.testing.assert_allclose(clean.tau[rows] - torques(given)[rows], gravity, atol=1e-9)
    given = loads.base_tilted(clean, RNG(0), 180.0)
    np.testing.assert_allclose(torques(given)[rows] - clean.tau[rows], -2 * gravity, atol=1e-9)

    def inverse(q, v, a):
        return pin.rnea(robot, data, q, v, a)

    without = each(inverse)
    force = torques(loads.touched(clean, RNG(0), 30.0)) - clean.tau
    ball = pin.Inertia(2.0, np.array(loads.PAYLOAD_AT_M), 0.4 * 2.0 * 0.05**2 * np.eye(3))
    robot.inertias[robot.njoints - 1] += ball
    data = robot.createData()
    given = loads.payload(clean, RNG(0), 2.0)
    np.testing.assert_allclose(
        torques(given)[rows] - clean.tau[rows], each(inverse) - without, atol=1e-9
    )

    pushed = np.flatnonzero(force.any(axis=1))
    assert len(pushed) == faults.codes.rows_of(clean, loads.CONTACT_S)
    direction = RNG(0).normal(size=3)
    direction *= 30.0 / np.linalg.norm(direction)
    frame = robot.getFrameId(clean.model.mechanism.bodies[-1].name)
    for row in pushed[::300]:
        J = pin.computeFrameJacobian(robot, data, clean.motion.q[row], frame, pin.LOCAL)
        np.testing.assert_allclose(force[row], -J[:3].T @ direction, atol=1e-9)


def test_friction_that_is_removed(faults) -> None:
    """Viscous and Coulomb friction of the true parameters, and no offsets."""
    clean = faults.clean
    value = dict(zip(clean.model.column_names, clean.theta, strict=True))
    expected = np.column_stack(
        [
            value[f"{joint}.fv"] * v + value[f"{joint}.fc"] * np.sign(v)
            for joint, v in zip(clean.model.channels, clean.motion.v.T, strict=True)
        ]
    )
    given = faults.loads.friction_removed(clean, RNG(0), 0.8)
    np.testing.assert_allclose(clean.tau - torques(given), 0.8 * expected, atol=1e-9)


def test_other_robot_scales_as_similar_bodies_do(faults) -> None:
    """Of a robot 1.4 times as large, gravity's torque is 1.4⁴ times as large."""
    clean = replace(faults.clean, theta=faults.clean.model.prior_theta())
    larger = Model(faults.mixups.other_robot(clean, RNG(0), 1.0).robot)
    scaled = replace(clean, model=larger, theta=larger.prior_theta())
    ratio = 1.4**4 * faults.loads.gravity_torque(clean, clean.robot.gravity)
    gravity = faults.loads.gravity_torque(scaled, clean.robot.gravity)
    np.testing.assert_allclose(gravity, ratio, atol=1e-9)


def test_clocks(faults) -> None:
    """A drifting clock and a slow filter on a ramp; glued gaps, bursts and jitter."""
    ramp = np.repeat(faults.clean.time[:, None], 7, axis=1)
    clean, clocks = replace(faults.clean, tau=ramp, q=ramp), faults.clocks
    drifted = clocks.clock_drift(clean, RNG(0), 0.005)
    np.testing.assert_allclose(torques(drifted)[:, 0], 1.005 * drifted.log.time)
    keep = np.exp(-2 * np.pi * 2.0 / 500.0)
    behind = ramp[-1] - torques(clocks.torque_filtered(clean, RNG(0), 2.0))[-1]
    np.testing.assert_allclose(behind, keep / (1 - keep) / 500.0, rtol=1e-6)
    glued = clocks.gap_glued(clean, RNG(0), 0.2)
    steps = np.diff(positions(glued)[:, 0])
    assert len(glued.log) == len(clean.time) - 3 * 100
    np.testing.assert_allclose(np.sort(steps)[-3:], 0.202)
    np.testing.assert_allclose(np.sort(steps)[:-3], 0.002)
    np.testing.assert_allclose(np.diff(glued.log.time), 0.002)
    burst = clocks.stamps_in_bursts(clean, RNG(0), 10.0).log.time
    np.testing.assert_allclose(np.diff(burst)[:9], clocks.WRITE_S)
    np.testing.assert_allclose(burst[10] - burst[0], 0.02)
    jittered = clocks.stamps_jittered(clean, RNG(0), 0.001).log.time
    assert np.std(jittered - clean.time) == pytest.approx(0.001, rel=0.2)


def test_signals(faults) -> None:
    """Counts and values of spikes, slips, held, quantised, clipped, frozen and dead samples."""
    clean, signals = faults.clean, faults.signals
    spikes = torques(signals.torque_spikes(clean, RNG(0), 500.0)) - clean.tau
    np.testing.assert_allclose(np.abs(spikes[spikes != 0.0]), np.full(30, 500.0))
    wild = positions(signals.position_outliers(clean, RNG(0), 253.0))
    assert np.count_nonzero(wild == 253.0) == 4
    huge = positions(signals.huge_positions(clean, RNG(0), 0.5))
    assert np.count_nonzero(huge == 1e300) == len(clean.time) // 2
    slipped = positions(signals.encoder_slips(clean, RNG(0), 0.037)) - clean.q
    steps = np.diff(slipped, axis=0)
    np.testing.assert_allclose(np.abs(steps[np.abs(steps) > 1e-9]), np.full(20, 0.037))
    held = positions(signals.positions_held(clean, RNG(0), 10.0))
    np.testing.assert_array_equal(held[9::10], clean.q[:-1:10])
    assert np.count_nonzero(np.diff(held[:, 1])) <= len(held) // 10
    rounded = torques(signals.torques_quantised(clean, RNG(0), 5.0))
    np.testing.assert_array_equal(np.mod(rounded, 5.0), 0.0)
    assert np.abs(rounded - clean.tau).max() <= 2.5
    cut = torques(signals.torque_clipped(clean, RNG(0), 0.4))
    joint = faults.codes.one_joint(clean, RNG(0))
    end = 0.4 * np.abs(clean.tau[:, joint]).max()
    assert np.count_nonzero(np.abs(cut[:, joint]) == end) > 10
    stuck = torques(signals.torque_frozen(clean, RNG(0), 10.0))[:, joint]
    assert np.count_nonzero(np.diff(stuck) == 0.0) >= 4999
    dead = torques(signals.torque_dead(clean, RNG(0), 0.5))[:, joint]
    assert np.count_nonzero(dead == 0.0) == pytest.approx(len(dead) / 2, abs=1)
    late = signals.velocity_late(clean, RNG(0), 0.01)
    np.testing.assert_array_equal(table(late, "velocity")[5:], clean.v[:-5])


def test_upper_bound_is_that_of_clopper_and_pearson(faults) -> None:
    """At the bound, as few or fewer have a probability of 5 %."""
    from scipy.stats import binom

    assert faults.campaign.upper_bound(0, 100) == pytest.approx(1 - 0.05 ** (1 / 100))
    for count, total in ((1, 20), (7, 300), (19, 20)):
        bound = faults.campaign.upper_bound(count, total)
        assert binom.cdf(count, total, bound) == pytest.approx(0.05)
    assert faults.campaign.upper_bound(5, 5) == 1.0
    assert faults.campaign.upper_bound(0, 0) is None


def test_what_a_run_counts_as(faults) -> None:
    """Silent, noticed, named, misnamed, refused, harmless, traceback; and the figures of them."""

    def run(**fields):
        values = {"error": 0.5, "clean_error": 0.1, **fields}
        return faults.runs.FaultRun("arm", 0, "torque-late", 0.002, "alone", **values)

    runs = {
        "silent": run(codes=("link-differs-from-prior",), verdict="usable"),
        "noticed": run(codes=("poor-fit",)),
        "named": run(codes=("outliers", "delay")),
        "misnamed": run(codes=("outliers",), error=0.1),
        "refused": run(refusal="no", error=None),
        "harmless": run(error=0.109),
        "traceback": run(traceback="KeyError", error=None),
    }
    assert {name: one.outcome for name, one in runs.items()} == {name: name for name in runs}
    assert run(verdict="usable with care").outcome == "noticed"
    assert run(error=np.nan).outcome == "silent"
    for one in runs.values():
        assert faults.runs.FaultRun.from_dict(json.loads(json.dumps(one.to_dict()))) == one
    clean = faults.runs.FaultRun("random", 9000, faults.runs.CLEAN, 0.0, "alone")
    alarm = replace(clean, codes=("delay",))
    found = faults.campaign.figures([*runs.values(), clean, alarm])
    assert (found["silent_wrong"], found["harmful"], found["runs"]) == (1.0, 5.0, 9.0)
    assert found["named"] == found["misnamed"] == pytest.approx(1 / 6)
    assert (found["false_alarms"], found["tracebacks"]) == (0.5, 1.0)


def test_only_lines_of_the_same_source_are_continued(faults, tmp_path: Path) -> None:
    """Lines of another version, and one that was cut off, are done again."""
    path = tmp_path / "runs.jsonl"
    lines = [{"source": "old", "kind": "a"}, {"source": "new", "kind": "b"}]
    path.write_text("\n".join(json.dumps(line) for line in lines) + '\n{"source": "ne')
    assert list(faults.campaign.stored(path, "new")) == [{"kind": "b"}]
