"""Weighing a body on a force/torque sensor."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from steelyard.errors import EstimationError, WeighingError
from steelyard.payload.body_rows import wrench_regressor
from steelyard.payload.intervals import derived_values
from steelyard.payload.on_sensor import weigh_on_sensor
from steelyard.report.payload_notes import NO_PAYLOAD, payload_notes
from steelyard.signals.frame_motion import Wrench
from tests.helpers.frame_motions import free_motion, measured, random_body, still_poses

BIAS = np.array([3.0, -2.0, 1.0, 0.1, -0.2, 0.05])


def inside(values, truth) -> list[bool]:
    """Whether each value's interval holds the truth."""
    return [v.lower <= x <= v.upper for v, x in zip(values, truth, strict=True)]


@pytest.fixture(scope="module")
def fast():
    """A body of 2 kg on a fast motion."""
    rng = np.random.default_rng(3)
    motion, phi = free_motion(1), random_body(rng, 2.0)
    return motion, phi, measured(motion, phi, rng, bias=BIAS)


def test_exact_data_give_the_exact_body():
    """Without noise body, bias and rotation come back to 1e-7."""
    rng = np.random.default_rng(0)
    motion, phi = free_motion(2, duration_s=5.0), random_body(rng, 1.0)
    turn = np.array([0.03, -0.02, 0.04])
    R = Rotation.from_rotvec(turn).as_matrix()
    wrench = measured(
        motion, phi, rng, force_noise=0.0, torque_noise=0.0, bias=BIAS, R_frame_sensor=R
    )
    estimate = weigh_on_sensor([(motion, wrench)], rotation=True)
    np.testing.assert_allclose(estimate.phi, phi, atol=1e-7)
    others = [value.value for value in estimate.others]
    np.testing.assert_allclose(others, [*BIAS, *turn], atol=1e-6)


def test_weights_are_those_of_generalised_least_squares(fast):
    """The body is that of one dense least squares with the rows divided by their true noise."""
    motion, _, wrench = fast
    n = len(motion)
    weight = np.tile(np.repeat([1 / 0.2, 1 / 0.01], 3), n)
    X = np.column_stack([np.tile(np.eye(6), (n, 1)), wrench_regressor(motion).reshape(-1, 10)])
    y = np.column_stack([wrench.force, wrench.torque]).reshape(-1)
    dense = np.linalg.lstsq(X * weight[:, None], y * weight, rcond=None)[0]
    estimate = weigh_on_sensor([(motion, wrench)])
    sigma = np.array([estimate.value(name).sigma for name in ("m", "mx", "Ixx", "bias_fx")])
    ours = np.array([estimate.phi[0], estimate.phi[1], estimate.phi[4], estimate.others[0].value])
    # the noise is estimated, so the weights differ by a few percent
    assert (np.abs(ours - dense[[6, 7, 10, 0]]) < 0.1 * sigma).all()


def test_intervals_hold_the_truth_as_often_as_they_say():
    """Intervals of 95 % hold between 92 and 98 % of the true values and biases, pooled."""
    held = []
    for seed in range(24):
        rng = np.random.default_rng([5, seed])
        motion, phi = free_motion(seed, duration_s=8.0, rate_hz=50.0), random_body(rng, 2.0)
        wrench = measured(motion, phi, rng, bias=BIAS)
        estimate = weigh_on_sensor([(motion, wrench)])
        truth = derived_values(phi)[0]
        pairs = [*zip(estimate.values, truth, strict=True)]
        pairs += [*zip(estimate.others, BIAS, strict=True)]
        held += [v.lower <= x <= v.upper for v, x in pairs if not v.at_boundary]
    assert 0.92 < np.mean(held) < 0.98


def test_autocorrelated_noise_widens_the_intervals():
    """With noise of low bandwidth the intervals grow, and still hold the truth."""
    from scipy.signal import lfilter

    held, ratio = [], []
    for seed in range(8):
        rng = np.random.default_rng([6, seed])
        motion, phi = free_motion(seed, duration_s=20.0, rate_hz=50.0), random_body(rng, 2.0)
        white = measured(motion, phi, rng, force_noise=0.0, torque_noise=0.0)
        keep = 0.9
        noise = lfilter([np.sqrt(1 - keep**2)], [1.0, -keep], rng.normal(size=(1000, 6)), axis=0)
        wrench = Wrench(
            "sensor", white.force + 0.2 * noise[:, :3], white.torque + 0.01 * noise[:, 3:]
        )
        estimate = weigh_on_sensor([(motion, wrench)])
        plain = weigh_on_sensor([(motion, measured(motion, phi, rng))])
        ratio.append(estimate.value("m").sigma / plain.value("m").sigma)
        held += inside(estimate.values, derived_values(phi)[0])
    assert np.median(ratio) > 2.0
    assert np.mean(held) > 0.9


def test_rotation_of_three_degrees_is_recovered():
    """A sensor that is turned by 3 degrees is found within its intervals, with its bias."""
    held = []
    for seed in range(8):
        rng = np.random.default_rng([7, seed])
        motion, phi = free_motion(seed, duration_s=10.0), random_body(rng, 2.0)
        axis = rng.normal(size=3)
        turn = np.radians(3.0) * axis / np.linalg.norm(axis)
        R = Rotation.from_rotvec(turn).as_matrix()
        wrench = measured(motion, phi, rng, bias=BIAS, R_frame_sensor=R)
        estimate = weigh_on_sensor([(motion, wrench)], rotation=True)
        held += inside(estimate.others, [*BIAS, *turn])
        assert estimate.value("rotation_x").sigma < np.radians(0.1)
    assert np.mean(held) > 0.88


def test_two_recordings_are_better_than_one(fast):
    """A second recording with the same bias reduces the standard deviations."""
    motion, phi, wrench = fast
    other = free_motion(9)
    second = measured(other, phi, np.random.default_rng(4), bias=BIAS)
    one = weigh_on_sensor([(motion, wrench)])
    two = weigh_on_sensor([(motion, wrench), (other, second)])
    assert [run.name for run in two.runs] == ["run 1", "run 9"]
    smaller = [b.sigma < a.sigma for a, b in zip(one.values, two.values, strict=True)]
    assert np.mean(smaller) > 0.8


def test_static_poses_give_mass_and_centre_and_no_inertia():
    """Poses at rest determine mass and centre of mass; the inertia is not determined, and named."""
    rng = np.random.default_rng(1)
    phi = random_body(rng, 2.0)
    motion = still_poses(rng.normal(size=(8, 3)) * 1.5)
    recording = (motion, measured(motion, phi, rng, bias=BIAS))
    estimate = weigh_on_sensor([recording])
    assert estimate.static
    assert "static-motion" in {finding.code for finding in estimate.findings}
    truth = derived_values(phi)[0]
    assert all(value.kind == "confidence" for value in estimate.values[:4])
    np.testing.assert_allclose([v.value for v in estimate.values[:4]], truth[:4], atol=5e-3)
    for value in estimate.values[4:10]:
        assert value.kind == "not determined"
        assert value.sigma is value.lower is value.upper is None
    with pytest.raises(WeighingError, match="too slow") as caught:
        weigh_on_sensor([recording], static=False)
    assert caught.value.code == "static-motion"


def test_static_can_be_stated(fast):
    """With static=True the inertia is left out, also where the motion would determine it."""
    motion, _, wrench = fast
    estimate = weigh_on_sensor([(motion, wrench)], static=True)
    assert estimate.static
    assert estimate.value("Ixx_com").kind == "not determined"
    assert not weigh_on_sensor([(motion, wrench)], static=False).static


def test_thin_body_in_slow_motion_is_labelled():
    """A flat body on a slow motion ends at the boundary: labelled values, and still physical."""
    rng = np.random.default_rng(2)
    phi = random_body(rng, 0.3, 0.01)
    motion = free_motion(5, fastest_hz=0.3)
    estimate = weigh_on_sensor([(motion, measured(motion, phi, rng))])
    assert "on-the-boundary" in {finding.code for finding in estimate.findings}
    assert any(value.at_boundary for value in estimate.values[4:10])
    assert not estimate.value("m").at_boundary or estimate.value("m").sigma > 0.0
    assert estimate.optimum_reached


def test_empty_sensor_is_named():
    """Without a payload the mass is not told from zero, and its centre is not determined."""
    rng = np.random.default_rng(2)
    motion = free_motion(5)
    for seed in range(3):
        nothing = 1e-9 * random_body(rng, 1.0)
        wrench = measured(motion, nothing, np.random.default_rng(seed), bias=BIAS)
        estimate = weigh_on_sensor([(motion, wrench)])
        assert "no-payload" in {finding.code for finding in estimate.findings}
        assert estimate.value("m").value < 0.01
        assert estimate.value("cx").kind == "not determined"
    light = weigh_on_sensor([(motion, measured(motion, random_body(rng, 0.05), rng))])
    assert "no-payload" not in {finding.code for finding in light.findings}


def test_empty_sensor_with_a_noisy_torque_is_named():
    """Noise of 0.2 N m hides everything: the mass may be zero, and the interval says so."""
    motion = free_motion(5)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        wrench = measured(motion, 1e-9 * random_body(rng, 1.0), rng, torque_noise=0.2, bias=BIAS)
        estimate = weigh_on_sensor([(motion, wrench)])
        assert "no-payload" in {finding.code for finding in estimate.findings}
        assert estimate.value("m").lower <= 0.0
        assert payload_notes(estimate) == (NO_PAYLOAD,)


def test_missing_samples_are_left_out(fast):
    """Samples with NaN in the wrench change nothing but their number."""
    motion, _, wrench = fast
    force = wrench.force.copy()
    force[100:300, 1] = np.nan
    estimate = weigh_on_sensor([(motion, replace(wrench, force=force))])
    assert estimate.runs[0].n_samples == len(motion) - 200
    assert estimate.phi[0] == pytest.approx(2.0, rel=2e-3)


def test_short_recording_says_that_intervals_assume_independence():
    """With fewer samples than blocks are needed, the covariance is the classical one, and named."""
    rng = np.random.default_rng(8)
    phi = random_body(rng, 2.0)
    motion = still_poses(rng.normal(size=(6, 3)) * 1.5, 1)
    estimate = weigh_on_sensor([(motion, measured(motion, phi, rng))])
    assert estimate.interval_covariance == "classical"
    assert "no-cluster-covariance" in {finding.code for finding in estimate.findings}


def test_recordings_that_do_not_fit_together_are_refused(fast):
    """No recording, other lengths, other frames and no usable sample are refused by name."""
    motion, _, wrench = fast
    with pytest.raises(EstimationError, match="no recording"):
        weigh_on_sensor([])
    short = Wrench("sensor", wrench.force[:-1], wrench.torque[:-1])
    with pytest.raises(EstimationError, match="2000 samples of motion and 1999"):
        weigh_on_sensor([(motion, short)])
    with pytest.raises(EstimationError, match="'flange', 'sensor'"):
        weigh_on_sensor([(motion, replace(wrench, frame="flange"))])
    with pytest.raises(EstimationError, match="no sample"):
        weigh_on_sensor([(motion, replace(wrench, force=wrench.force * np.nan))])


def test_both_solvers_weigh_alike(fast):
    """The solver on the manifold gives the same body, and is named in the result."""
    motion, _, wrench = fast
    by_sdp, by_manifold = (
        weigh_on_sensor([(motion, wrench)], solver=solver) for solver in ("sdp", "manifold")
    )
    assert by_manifold.solver == "manifold"
    assert by_manifold.optimum_reached
    np.testing.assert_allclose(by_manifold.phi, by_sdp.phi, rtol=1e-5, atol=1e-8)


def test_result_can_be_written(fast):
    """The estimate is plain JSON."""
    motion, _, wrench = fast
    assert json.dumps(weigh_on_sensor([(motion, wrench)]).to_dict())


@pytest.fixture(scope="module")
def slow():
    """A body of 2 kg on a motion that hardly shows its inertia: least squares is no body."""
    rng = np.random.default_rng(3)
    motion, phi = free_motion(4, duration_s=20.0, rate_hz=50.0), random_body(rng, 2.0)
    wrench = measured(motion, phi, rng, bias=BIAS, torque_noise=1.0, force_noise=2.0)
    return motion, wrench


def newton_euler_rows(motion) -> np.ndarray:
    """Wrench (n, 6) on a body about the origin of its frame, for each of its ten parameters, from
    Newton and Euler's equations (Traversaro et al. 2016, eqs 1-4), force before moment.
    """
    a, w, dw = motion.proper_acceleration, motion.angular_velocity, motion.angular_acceleration
    n = len(a)
    rows = np.zeros((n, 6, 10))
    rows[:, :3, 0] = a
    for k, axis in enumerate(np.eye(3)):
        across = np.broadcast_to(axis, (n, 3))
        # m c = e_k: the force of its turning about the origin, and the moment of its acceleration
        rows[:, :3, 1 + k] = np.cross(dw, across) + np.cross(w, np.cross(w, across))
        rows[:, 3:, 1 + k] = np.cross(across, a)
    for k, (i, j) in enumerate(((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))):
        unit = np.zeros((3, 3))
        unit[i, j] = unit[j, i] = 1.0
        rows[:, 3:, 4 + k] = dw @ unit + np.cross(w, w @ unit)
    return rows


def test_unconstrained_least_squares_stands_beside_the_physical_body(slow):
    """It is NumPy's, on rows from Newton and Euler's equations; it fits better than the body, by
    as much as the relative errors say, and what no body can have of it is named.
    """
    motion, wrench = slow
    found = weigh_on_sensor([(motion, wrench)])
    n = len(motion)
    rows = newton_euler_rows(motion)
    X = np.concatenate([np.tile(np.eye(6), (n, 1, 1)), rows], axis=2)
    y = np.column_stack([wrench.force, wrench.torque])
    weight = np.zeros(6)
    for part in (slice(0, 3), slice(3, 6)):
        own, values = X[:, part].reshape(-1, 16), y[:, part].ravel()
        solution, _, rank, _ = np.linalg.lstsq(own, values, rcond=1e-10)
        weight[part] = 1.0 / np.sqrt(np.sum((values - own @ solution) ** 2) / (len(values) - rank))
    A, b = (weight[:, None] * X).reshape(-1, 16), (weight * y).ravel()
    free = np.linalg.lstsq(A, b, rcond=None)[0]
    beside = found.unconstrained
    np.testing.assert_allclose(beside.phi, free[6:], rtol=1e-5, atol=1e-7)
    bias = np.linalg.lstsq(A[:, :6], b - A[:, 6:] @ found.phi, rcond=None)[0]
    loaded = np.linalg.norm(b - A[:, :6] @ bias)
    assert beside.relative_error == pytest.approx(np.linalg.norm(b - A @ free) / loaded, rel=1e-6)
    assert beside.relative_error < found.relative_error
    inertia = np.array([[free[10], free[11], free[13]], [0, free[12], free[14]], [0, 0, free[15]]])
    inertia = inertia + np.triu(inertia, 1).T
    m, c = free[6], free[7:10] / free[6]
    about_com = inertia - m * (c @ c * np.eye(3) - np.outer(c, c))
    for name, value in (
        ("m", m), ("cx", c[0]), ("cz", c[2]), ("mx", free[7]), ("Ixz", free[13]),
        ("Ixx_com", about_com[0, 0]), ("Iyz_com", about_com[1, 2]), ("Izz_com", about_com[2, 2]),
    ):  # fmt: skip
        assert beside.value(name) == pytest.approx(value, rel=1e-4, abs=1e-8)
    moments = np.linalg.eigvalsh(about_com)
    assert moments[0] < 0.0 or moments[2] > moments[0] + moments[1]
    assert beside.broken
    assert np.linalg.eigvalsh(0.5 * np.trace(about_com) * np.eye(3) - about_com)[0] < 0.0


def test_a_physical_least_squares_breaks_nothing(fast):
    """On a fast motion it is the body itself."""
    motion, _, wrench = fast
    found = weigh_on_sensor([(motion, wrench)])
    np.testing.assert_allclose(found.unconstrained.phi, found.phi, rtol=1e-9, atol=1e-12)
    assert found.unconstrained.broken == ()


def test_a_budget_ends_the_steps_on_the_manifold(slow):
    """Without time the body is physical and poorer, and says so; with time it is the optimum."""
    motion, wrench = slow
    best = weigh_on_sensor([(motion, wrench)])
    short = weigh_on_sensor([(motion, wrench)], solver="manifold", budget_s=1e-9)
    long = weigh_on_sensor([(motion, wrench)], solver="manifold", budget_s=60.0)
    assert not short.optimum_reached
    assert short.excess > 0.0
    (said,) = [one.words for one in short.findings if one.code == "optimum-not-reached"]
    assert "the budget was over after 0 steps on the manifold" in said
    assert inertia_is_physical(short.phi)
    assert long.optimum_reached
    np.testing.assert_allclose(long.phi, best.phi, rtol=1e-3, atol=1e-4)
    with pytest.raises(EstimationError, match="the solver 'sdp' cannot be stopped early"):
        weigh_on_sensor([(motion, wrench)], budget_s=1.0)
    with pytest.raises(EstimationError, match="positive number of seconds"):
        weigh_on_sensor([(motion, wrench)], solver="manifold", budget_s=0.0)


def inertia_is_physical(phi: np.ndarray) -> bool:
    """Whether the 4×4 pseudo-inertia has no negative eigenvalue, up to rounding."""
    xx, xy, yy, xz, yz, zz = phi[4:]
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    J = np.zeros((4, 4))
    J[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    J[:3, 3] = J[3, :3] = phi[1:4]
    J[3, 3] = phi[0]
    return bool(np.linalg.eigvalsh(J)[0] > -1e-12 * np.trace(J))
