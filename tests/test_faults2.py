"""The second fault matrix: its faults and properties are what they say, its figures follow from its
runs.
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

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
MODULES = ("properties", "makers", "recordings", "kinds", "sizes", "runs")
SHORT_S = 4.0


@pytest.fixture(scope="module")
def matrix() -> Iterator[SimpleNamespace]:
    """Its modules, and a clean case of the demo's arm, whose unseen motion is the first again."""
    pytest.importorskip("mujoco")
    pytest.importorskip("pinocchio")  # with which the robot files come
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        loaded = {name: importlib.import_module(f"faults2_{name}") for name in MODULES}
        of_arm = importlib.import_module("fault_recordings")
        patch.setattr(of_arm, "SECONDS", SHORT_S)
        patch.setattr(loaded["recordings"], "SECONDS", (SHORT_S, SHORT_S))
        patch.setattr(loaded["recordings"], "UNSEEN_S", SHORT_S)
        clean = of_arm.recordings(of_arm.robot_named("arm"), (), 0, of_arm.MOTIONS[:1])[0]
        case = loaded["recordings"].Case(
            loaded["properties"].urdf_of("arm"), clean, loaded["properties"].without_noise(clean)
        )
        yield SimpleNamespace(**loaded, campaign=importlib.import_module("faults2"), clean=case)


@pytest.fixture(scope="module")
def panda(matrix: SimpleNamespace) -> object:
    """A clean recording that MuJoCo made, without noise."""
    return matrix.properties.without_noise(matrix.recordings.simulated("panda", 0, unseen=False)[0])


def quick(matrix: SimpleNamespace, kind: object, size: float) -> object:
    """A case of the demo's arm with a fault."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matrix.sizes, "clean_case", lambda robot, seed: matrix.clean)
        return matrix.sizes.quick_case(kind, "arm", 0, size)


def test_the_matrix_is_as_it_was_fixed(matrix) -> None:
    """Kinds, codes and seeds; each kind has sizes on the robots that it harms, within its bound."""
    kinds, properties = matrix.kinds, matrix.properties
    first = importlib.import_module("fault_kinds")
    names = [kind.name for kind in kinds.KINDS]
    assert len(set(names)) == len(names) == 30
    assert not set(names) & {kind.name for kind in first.KINDS}
    assert set(kinds.NEW_CODES) <= {code for kind in kinds.KINDS for code in kind.expected}
    assert not set(kinds.NEW_CODES) & {*kinds.CODES, *matrix.runs.GENERAL_ALARMS}
    assert len(kinds.FIGURE_SEEDS) == 10
    assert len(kinds.CLEAN_FIGURE_SEEDS) == 300
    seeds = [*kinds.FIGURE_SEEDS, *kinds.TUNING_SEEDS, *kinds.CALIBRATION_SEEDS]
    assert len(set(seeds)) == len(seeds)
    assert not set(kinds.CLEAN_FIGURE_SEEDS) & set(kinds.CLEAN_TUNING_SEEDS)
    assert len(properties.SIMULATED_BY_MUJOCO) == 2
    assert set(kinds.sizes()) >= {(name, robot) for name in names for robot in ("panda", "arm")}
    assert len([pair for pair in kinds.sizes() if pair[1] == "ur10"]) >= 25
    for (name, _), (low, high) in kinds.sizes().items():
        assert 0.0 < low < high <= kinds.kind_named(name).largest
    for kind in kinds.KINDS:
        drawn = [kinds.size_of(kind, "arm", seed) for seed in kinds.FIGURE_SEEDS]
        low, high = kinds.sizes()[kind.name, "arm"]
        assert len(set(drawn)) == 10
        assert low <= min(drawn) < max(drawn) <= high


def test_every_fault_changes_what_it_is_about_and_nothing_else(matrix) -> None:
    """Logs, files and robots: the same again for the same seed, more for a larger size."""
    clean = matrix.clean
    for kind in matrix.kinds.KINDS:
        low, high = matrix.kinds.sizes()[kind.name, "arm"]
        one, again, larger = (quick(matrix, kind, size) for size in (low, low, high))
        assert kind.what.strip(), kind.name
        assert (one.urdf != clean.urdf) == (kind.file is not None), kind.name
        assert (one.unseen is not clean.unseen) == kind.lasting, kind.name
        assert one.urdf == again.urdf
        np.testing.assert_array_equal(one.training.tau, again.training.tau)
        np.testing.assert_array_equal(one.training.q, again.training.q)
        if kind.file is None:
            small, large = (
                max(np.abs(x.training.tau - clean.training.tau).max() / 10.0,
                    np.abs(x.training.q - clean.training.q).max())
                for x in (one, larger)
            )  # fmt: skip
            assert 0.0 < small < large, kind.name
        if kind.lasting:
            assert np.abs(one.unseen.tau - clean.unseen.tau).max() > 0.0, kind.name


def test_delays_of_polled_joints_and_of_encoders(matrix) -> None:
    """Joint k is k times as late as the first is not; noise stays where it is."""
    clean = matrix.clean.training
    ramp = np.multiply.outer(clean.time, np.ones(7))
    ramp = replace(clean, true_tau=ramp, tau=ramp, motion=replace(clean.motion, q=ramp), q=ramp)
    rng = np.random.default_rng
    late = ramp.tau - matrix.makers.polled(ramp, rng(0), 0.002)["tau"]
    np.testing.assert_allclose(late[50:], np.tile(0.002 * np.arange(7), (len(late) - 50, 1)))
    late = ramp.q - matrix.makers.position_late(ramp, rng(0), 0.01)["q"]
    np.testing.assert_allclose(late[50:].sum(axis=1), 0.01)
    assert np.count_nonzero(late.any(axis=0)) == 1


def test_lengths_and_twists_in_the_file(matrix) -> None:
    """One placement differs by the length, or by the angle."""
    made, of = matrix.makers, matrix.properties
    urdf = of.urdf_of("panda")
    before = of.robot_of(urdf)
    for make, size in ((made.link_length, 0.04), (made.link_twist, 3.0)):
        after = of.robot_of(make(urdf, np.random.default_rng(1), size))
        poses = [
            (b.placement, a.placement)
            for b, a in zip(before.joints, after.joints, strict=True)
            if not np.allclose(b.placement, a.placement)
        ]
        assert len(poses) == 1
        b, a = poses[0]
        turned = np.degrees(np.arccos((np.trace(b[:3, :3].T @ a[:3, :3]) - 1.0) / 2.0))
        expected = (size, 0.0) if make is made.link_length else (0.0, size)
        tilted = np.degrees(np.arccos((b[:3, :3].T @ a[:3, :3])[2, 2]))  # every axis is z
        assert tilted == pytest.approx(expected[1], abs=1e-4)
        assert (np.linalg.norm(a[:3, 3] - b[:3, 3]), turned) == pytest.approx(expected, abs=1e-6)


def test_gravity_turns_with_a_base_that_rocks(matrix) -> None:
    """Torques are those of Pinocchio under turned gravity, and the tilt follows the moment."""
    pin = pytest.importorskip("pinocchio")
    of, clean = matrix.properties, matrix.clean.training
    rocking = np.radians(2.0)
    with_it = of.with_property(clean, of.Property(rocking=rocking))
    gravity = of.rocking_gravity(clean, clean.motion, rocking)
    np.testing.assert_allclose(np.linalg.norm(gravity, axis=1), 9.81, rtol=1e-9)
    tilts = np.arccos(np.clip(gravity @ clean.robot.gravity / 9.81**2, -1.0, 1.0))
    assert np.sqrt(np.mean(tilts**2)) == pytest.approx(rocking, rel=1e-3)
    robot = of.pinocchio_model(clean)
    data = robot.createData()
    for row in (100, 900, 1700):
        torques = []
        for g in (gravity[row], clean.robot.gravity):
            robot.gravity.linear = g
            torques.append(
                pin.rnea(robot, data, *(x[row] for x in (clean.motion.q, 0 * clean.motion.v,
                                                         0 * clean.motion.a))).copy()
            )  # fmt: skip
        np.testing.assert_allclose(
            with_it.true_tau[row] - clean.true_tau[row], torques[0] - torques[1], atol=1e-9
        )


def test_mujoco_obeys_the_truth_with_and_without_a_property(matrix, panda) -> None:
    """The motors carry links, drives, friction and the spring; the motion differs with it."""
    of, joint = matrix.properties, 3
    stiffness = 0.5 * of.size_of_torque(panda)[joint]
    given = of.Property(load=lambda t, q, v: matrix.makers.only(joint, stiffness * q[:, joint], 7))
    sprung = of.without_noise(matrix.recordings.simulated("panda", 0, given, unseen=False)[0])
    assert np.abs(sprung.motion.q - panda.motion.q).max() > 1e-4
    for recording, more in ((panda, 0.0), (sprung, stiffness * sprung.motion.q[:, joint])):
        rest = recording.true_tau - recording.torque_of(recording.theta)
        rest[:, joint] -= more
        v = recording.motion.v
        moving = np.abs(v) > 5 * of.STILL
        size = np.sqrt(np.mean(recording.true_tau**2, axis=0))
        share = np.abs(np.where(moving, rest, 0.0)) / size
        assert np.sqrt(np.mean(share**2, axis=0)).max() < 0.003


def test_a_stiff_gear_is_no_gear(matrix, panda) -> None:
    """A stiff one changes no torque, a soft one does."""
    of = matrix.properties
    joint, rms = 1, np.sqrt(np.mean(of.gear_torque(panda)[:, 1] ** 2))
    stiff, soft = (
        matrix.recordings.simulated(
            "panda", 0, of.Property(gear=of.Gear(joint, rms / turn)), unseen=False
        )[0]
        for turn in (1e-5, 2e-3)
    )
    stiff, soft = (np.std(one.true_tau - panda.tau, axis=0) for one in (stiff, soft))
    np.testing.assert_array_less(stiff, 0.005 * np.std(panda.tau, axis=0))
    assert stiff[joint] < 0.2 * soft[joint]


def test_the_plain_fit_finds_the_truth_and_sees_a_fault(matrix) -> None:
    """Its error is small on the clean log, and rises with the size of a fault."""
    kind = matrix.kinds.kind_named("cross-talk")
    sizes = matrix.kinds.sizes()[kind.name, "arm"]
    before, small, large = (
        matrix.sizes.error_of(kind, case)
        for case in (matrix.clean, *(quick(matrix, kind, size) for size in sizes))
    )
    assert before < small < 0.3 * large < 0.3


def test_advice_is_what_the_command_line_makes_of_it(matrix) -> None:
    """An option that is printed changes the result; one that is no option is refused."""
    case, runs = matrix.clean, matrix.runs
    log = case.training.log()
    joint = case.training.model.channels[1]
    plain = runs.by_command(case.urdf, log, "")
    shifted = runs.by_command(case.urdf, log, f"--torque-delay {joint}=0.02")
    errors = [runs.unseen_error(found, case.unseen) for found in (plain, shifted)]
    assert errors[1] > 1.02 * errors[0]
    assert runs.by_command(case.urdf, log, "--no-such-option") is None


def test_which_options_are_tried(matrix) -> None:
    """Those of one name together; not patterns, nor what was corrected, nor notes."""
    Said = matrix.runs.Said
    said = [
        Said("warning", "delay", option="--torque-delay a=0.1"),
        Said("warning", "friction-removed", option="--torque link"),
        Said("warning", "delay", option="--torque-delay b=0.2"),
        Said("warning", "delay", option="--torque-delay c=0.3", corrected=True),
        Said("info", "attached-kept", option="--attached lump"),
        Said("warning", "torque-scale", option="--map JOINT.torque=COLUMN"),
    ]
    expected = ["--torque-delay a=0.1 --torque-delay b=0.2", "--torque link"]
    assert matrix.runs.options_of(said) == expected


def test_what_a_run_counts_as(matrix) -> None:
    """Named alone or beside two rivals, misnamed, noticed, silent; harm and advice; the figures."""
    Run, Said = matrix.runs.Run, matrix.runs.Said

    def run(*said, **fields):
        values = {"error": 0.5, "clean_error": 0.1, "plain": 0.4, "plain_clean": 0.1}
        return Run(
            "arm", 0, "spring", 0.1, tuple(said), **{**values, "verdict": "usable", **fields}
        )

    runs = {
        "named": run(Said("warning", "delay", rivals=("spring", "backlash"))),
        "misnamed": run(Said("warning", "delay", rivals=("spring", "backlash", "brake"))),
        "noticed": run(Said("warning", "poor-fit")),
        "silent": run(Said("info", "delay"), Said("warning", "link-differs-from-prior")),
        "traceback": run(traceback="KeyError", error=None),
    }
    assert {name: one.outcome for name, one in runs.items()} == {name: name for name in runs}
    admitted = run(Said("info", "spring"), error=0.1)
    assert (admitted.outcome, admitted.advised, admitted.harm) == ("named", True, 1.0)
    assert run(refusal="no").outcome == run(verdict="usable with care").outcome == "noticed"
    assert run(error=None, refusal="no").harm == pytest.approx(4.0)
    told = run(Said("warning", "spring"), advice={"--x": 0.5001, "--y": 0.6, "--z": None})
    assert told.advice_ratios == {"--x": 1.0, "--y": pytest.approx(1.2)}
    for one in (*runs.values(), told):
        assert Run.from_dict(json.loads(json.dumps(one.to_dict()))) == one
    clean = [
        Run(matrix.runs.MUJOCO, seed, matrix.runs.CLEAN, said=said, allowed="stribeck")
        for seed, said in enumerate(
            [(), (Said("warning", "stribeck"),), (Said("info", "delay", corrected=True),)]
        )
    ]
    assert [one.false_alarm for one in clean] == [False, False, True]
    found = matrix.campaign.figures([*runs.values(), admitted, told, *clean])
    assert (found["harmful"], found["plain_harmful"], found["runs"]) == (6.0, 7.0, 10.0)
    assert (found["silent_wrong"], found["misnamed"]) == (1 / 6, 1 / 6)
    assert (found["named"], found["plain_named"]) == (2 / 6, 3 / 7)
    assert (found["false_alarms"], found["advised"]) == (1 / 3, 0.0)
    assert (found["advice_harm"], found["advice_refused"]) == (pytest.approx(1.2), 1.0)
    assert "spring" in "\n".join(matrix.campaign.table([*runs.values(), *clean]))
