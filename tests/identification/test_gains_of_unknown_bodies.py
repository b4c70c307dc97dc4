"""Drive gains from a payload of which only the mass, or part of the rest, is known."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from payload_runs import PROCESSING, PayloadRuns

from steelyard.cli import main
from steelyard.errors import EstimationError
from steelyard.identification._gain_fit import fit_gains
from steelyard.identification._gain_payload import PayloadForm
from steelyard.identification.drive_gains import compress_motors, identify_gains, with_unit_gains
from steelyard.knowledge.payload import Payload
from steelyard.logs.writer_csv import write_csv
from steelyard.model.base_map import base_map
from steelyard.model.model import Model
from steelyard.robot.inertia import from_com, is_physical, to_com
from steelyard.signals.prepare import prepare

WORLD = PayloadRuns(duration_s=10.0, rate_hz=100.0)
COM = (0.02, -0.01, 0.06)
INERTIA = np.diag([0.004, 0.005, 0.003])
ONLY_MASS = Payload.of("tool", 2.0)


def gains_of(world, seed, payload, **options):
    truth, empty, loaded = world.drawn(seed, **options)
    found = identify_gains(world.robot, empty, loaded, payload, processing=PROCESSING)
    return truth, found


def test_exact_torques_give_exact_gains_and_body():
    """Without noise, the mass alone gives the gains, the centre of mass and the inertia."""
    truth, found = gains_of(replace(WORLD, noise=0.0), 1, ONLY_MASS)
    np.testing.assert_allclose([gain.gain for gain in found.gains], truth, rtol=2e-3)
    values = {value.name: value.value for value in found.payload}
    np.testing.assert_allclose([values[f"c{axis}"] for axis in "xyz"], COM, atol=1e-4)
    np.testing.assert_allclose(
        [values[f"I{axis}{axis}_com"] for axis in "xyz"], np.diag(INERTIA), atol=1e-4
    )


def test_intervals_hold_the_truth_and_agree():
    """Two pairs of runs of an arm, four times, with only the mass known: 95 % intervals hold gains
    and body, and those of the two pairs overlap.
    """
    worlds = (WORLD, replace(WORLD, motions=(3, 4)))
    true_values = [*COM, 0.004, 0.0, 0.005, 0.0, 0.0, 0.003]
    inside, of_body, agree = [], [], []
    for seed in range(4):
        pair = []
        for k, world in enumerate(worlds):
            truth, found = gains_of(world, seed, ONLY_MASS, noise_seed=2 * seed + k)
            assert found.kind == "cluster"
            inside += [g.lower <= t <= g.upper for g, t in zip(found.gains, truth, strict=True)]
            of_body += [
                v.lower <= t <= v.upper for v, t in zip(found.payload, true_values, strict=True)
            ]
            pair.append(found.gains)
        agree += [
            max(a.lower, b.lower) <= min(a.upper, b.upper) for a, b in zip(*pair, strict=True)
        ]
    # the gains of a run share the error of the scale: the room of eight independent draws
    assert np.mean(inside) >= 0.85
    assert np.mean(of_body) >= 0.85
    assert np.mean(agree) >= 0.9


def test_a_point_at_the_origin_would_give_other_gains():
    """Taken for a point at the frame's origin, the payload gives intervals without the truth."""
    point = Payload.of("tool", 2.0, np.zeros(3), np.zeros((3, 3)))
    truth, found = gains_of(WORLD, 5, point)
    assert np.mean([not g.lower <= t <= g.upper for g, t in zip(found.gains, truth)]) > 0.3


@pytest.mark.parametrize(
    ("com", "inertia", "shown"),
    [(COM, None, "Ixx_com"), (None, INERTIA, "cx"), (COM, INERTIA, None)],
    ids=["com known", "inertia known", "all known"],
)
def test_what_is_stated_is_used(com, inertia, shown):
    """A stated centre of mass or inertia is not estimated, and narrows the intervals."""
    payload = Payload.of("tool", 2.0, com, inertia)
    truth, found = gains_of(WORLD, 3, payload)
    names = [value.name for value in found.payload]
    assert (names[0] if names else None) == shown
    assert not {"m", "cx" if com else "Ixx_com"} & set(names)
    _, wide = gains_of(WORLD, 3, ONLY_MASS)
    width = [g.upper - g.lower for g in found.gains]
    widest = [g.upper - g.lower for g in wide.gains]
    assert np.mean(np.array(width) / np.array(widest)) < (0.7 if com else 1.02)
    assert np.mean([g.lower <= t <= g.upper for g, t in zip(found.gains, truth, strict=True)]) > 0.6
    assert any(f.code == "payload-estimated" for f in found.findings) == bool(names)


def test_the_body_is_physical_where_least_squares_is_not():
    """A point mass with noise has an impossible least-squares inertia; the estimate is physical."""
    point = Payload.of("tool", 2.0, COM, np.zeros((3, 3)))
    world = replace(WORLD, payload=point)
    model = Model(with_unit_gains(world.robot))
    base = base_map(model)
    edges = []
    for seed in range(3):
        _, empty, loaded = world.drawn(seed)
        runs = [
            compress_motors(model, base, prepare(log, model, PROCESSING), log.name, payload)
            for log, payload in ((empty, None), (loaded, ONLY_MASS))
        ]
        found = fit_gains(runs, ONLY_MASS)
        pi = PayloadForm(ONLY_MASS).pi(found.unknown)
        assert pi[0] == 2.0
        assert is_physical(pi, tolerance=1e-7)
        edges.append(found.at_boundary)
    assert all(edges)


@pytest.mark.parametrize("known", ["mass", "com", "inertia"])
def test_slopes_are_those_of_finite_differences(known):
    """d pi / d u is what a small step of u changes."""
    form = PayloadForm(
        Payload.of(
            "tool", 1.3, COM if known == "com" else None, INERTIA if known == "inertia" else None
        )
    )
    u = np.random.default_rng(1).normal(size=form.size)
    slope = form.slope(u)
    for k in range(form.size):
        step = 1e-6 * np.eye(form.size)[k]
        difference = (form.pi(u + step) - form.pi(u - step)) / 2e-6
        np.testing.assert_allclose(slope[:, k], difference, atol=1e-8)


def test_a_known_inertia_moves_with_its_centre():
    """With the inertia known, every centre of mass gives a body with that inertia about it."""
    form = PayloadForm(Payload.of("tool", 1.3, None, INERTIA))
    mass, com, inertia = to_com(form.pi(np.array([0.1, 0.2, -0.3])))
    assert mass == 1.3
    np.testing.assert_allclose(com, [0.1, 0.2, -0.3])
    np.testing.assert_allclose(inertia, INERTIA, atol=1e-12)


def test_a_payload_that_is_not_known_has_no_torque():
    """The torque of a payload with an unknown part is refused by name."""
    with pytest.raises(EstimationError, match="its centre of mass is not stated"):
        ONLY_MASS.torque(Model(WORLD.robot), None)
    with pytest.raises(EstimationError, match="its inertia is not stated"):
        Payload.of("tool", 2.0, COM).torque(Model(WORLD.robot), None)
    np.testing.assert_array_equal(
        Payload.of("tool", 2.0, COM).inertial, from_com(2.0, COM, np.zeros((3, 3)))
    )


def test_command_without_centre_of_mass(tmp_path, capsys):
    """Without --com and --inertia the command shows what it estimated of the payload."""
    from steelyard.simulation.builtin_arm import arm_urdf

    (tmp_path / "arm.urdf").write_text(arm_urdf(), encoding="utf-8")
    truth, empty, loaded = WORLD.drawn(8)
    for name, log in (("empty", empty), ("loaded", loaded)):
        write_csv(log, tmp_path / f"{name}.csv")
    command = [
        *("gains", str(tmp_path / "arm.urdf"), "--lock", "upper_arm_roll=0"),
        *("--empty", str(tmp_path / "empty.csv"), "--loaded", str(tmp_path / "loaded.csv")),
        *("--payload", "tool", "--mass", "2", "--torque-filter", "none"),
    ]
    assert main(command) == 0
    assert "Estimated with the gains" in capsys.readouterr().out
    assert main([*command, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [entry["name"] for entry in document["payload"]][:3] == ["cx", "cy", "cz"]
    for entry, true in zip(document["gains"], truth, strict=True):
        assert abs(entry["gain"] / true - 1.0) < 0.1
