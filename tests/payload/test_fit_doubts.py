"""Bodies that do not explain the wrench, or cannot be real, are doubted; good ones are not."""

from dataclasses import replace

import numpy as np
import pytest

from steelyard.errors import WeighingError
from steelyard.payload._fit_doubts import implausible_body
from steelyard.payload.on_sensor import weigh_on_sensor
from steelyard.payload.payload_estimate import PayloadValue
from steelyard.robot.inertia import from_com
from steelyard.robot.principal_body import principal_body
from steelyard.signals.frame_motion import Wrench
from tests.helpers.frame_motions import free_motion, measured, random_body, still_poses

BIAS = np.array([3.0, -2.0, 1.0, 0.1, -0.2, 0.05])
DOUBTS = {"poor-fit", "implausible-density", "implausible-centre", "turning-differs"}


def codes(*recordings, **options) -> set[str]:
    """The codes of the warnings."""
    estimate = weigh_on_sensor(recordings, **options)
    return {finding.code for finding in estimate.findings if finding.level == "warning"}


def recording(seed: int = 0, mass: float = 1.5, **options):
    """A motion and the wrench of a body."""
    rng = np.random.default_rng([9, seed])
    motion = free_motion(seed, duration_s=8.0, **options)
    return motion, measured(motion, random_body(rng, mass), rng, bias=BIAS)


@pytest.mark.parametrize("mass", [0.05, 0.3, 3.0])
def test_good_data_are_not_doubted(mass):
    """Light and heavy bodies, slow and fast, at rest, with white and with filtered noise."""
    from scipy.signal import lfilter

    for seed in range(3):
        for fastest_hz in (0.15, 0.8):
            motion, wrench = recording(seed, mass, fastest_hz=fastest_hz)
            assert not codes((motion, wrench)) & DOUBTS
        rng = np.random.default_rng(seed)
        motion = still_poses(rng.normal(size=(12, 3)) * 1.5, 40)
        assert not codes((motion, measured(motion, random_body(rng, mass), rng))) & DOUBTS
    motion = free_motion(7, rate_hz=500.0)
    exact = measured(motion, random_body(rng, mass), rng, force_noise=0.0, torque_noise=0.0)
    white = rng.normal(size=(len(motion), 6)) * ([0.2] * 3 + [0.01] * 3)
    noise = lfilter([0.3], [1.0, -0.7], white, axis=0)
    filtered = Wrench("sensor", exact.force + noise[:, :3], exact.torque + noise[:, 3:])
    assert not codes((motion, filtered)) & DOUBTS
    assert not codes((motion, exact)) & DOUBTS


@pytest.mark.parametrize("delay", [10, 30])
def test_late_wrench_is_doubted(delay):
    """A wrench that is late by 0.1 s and more leaves a residual that noise does not explain."""
    for seed in range(3):
        motion, wrench = recording(seed)
        late = Wrench("sensor", *(np.roll(x, delay, 0) for x in (wrench.force, wrench.torque)))
        estimate = weigh_on_sensor([(motion, late)])
        (words,) = [one.words for one in estimate.findings if one.code == "poor-fit"]
        for word in ("N mm", "deg/s", "axes", "clocks"):
            assert word in words


def test_other_units_of_an_imu_are_doubted():
    """Without an orientation to compare with, degrees and g leave a poor fit."""
    motion, wrench = recording(1)
    imu = replace(motion, R_world_frame=None)
    degrees = replace(
        imu,
        angular_velocity=np.degrees(imu.angular_velocity),
        angular_acceleration=np.degrees(imu.angular_acceleration),
    )
    assert "poor-fit" in codes((degrees, wrench))
    in_g = replace(imu, proper_acceleration=imu.proper_acceleration / 9.81)
    estimate = weigh_on_sensor([(in_g, wrench)])
    (words,) = [one.words for one in estimate.findings if one.code == "poor-fit"]
    assert "not about 9.8" in words


def test_different_payloads_at_rest_are_doubted():
    """Two logs of single poses with different payloads, whose noise no sample shows."""
    rng = np.random.default_rng(5)
    used = []
    for mass in (1.0, 2.5):
        motion = still_poses(rng.normal(size=(12, 3)) * 1.5, 1)
        used.append((motion, measured(motion, random_body(rng, mass), rng, bias=BIAS)))
    assert "poor-fit" in codes(*used)
    assert "poor-fit" not in codes(used[1])


@pytest.mark.parametrize(("times", "doubted"), [(3.0, False), (6.0, True)])
def test_small_residuals_are_doubted_far_above_the_noise(times, doubted):
    """A slow force that leaves 7 % of the force unexplained, at 3 and 6 times its noise."""
    for seed in range(3):
        rng = np.random.default_rng([3, seed])
        motion = free_motion(seed, duration_s=8.0)
        body = random_body(rng, 1.5)
        exact = measured(motion, body, rng, force_noise=0.0, torque_noise=0.0)
        left = 0.07 * np.sqrt(np.mean(exact.force**2))
        slow = np.sqrt(2.0) * np.sin(2.0 * np.pi * motion.time[:, None] * [1.1, 1.3, 1.5])
        white, small = rng.normal(size=(2, *slow.shape))
        force = exact.force + left * (np.sqrt(1.0 - times**-2) * slow + white / times)
        wrench = Wrench("sensor", force, exact.torque + 1e-3 * small)
        assert ("poor-fit" in codes((motion, wrench))) == doubted


@pytest.mark.parametrize(
    ("factor", "code"), [(-1.0, "torque-sign"), (1000.0, "torque-unit"), (-1000.0, "torque-unit")]
)
def test_sign_and_unit_of_the_torque_are_named(factor, code):
    """The first moment that the force shows is that of the torque, or the torque is wrong."""
    for seed in range(3):
        motion, wrench = recording(seed, rate_hz=200.0)
        wrong = Wrench("sensor", wrench.force, factor * wrench.torque)
        with pytest.raises(WeighingError) as caught:
            weigh_on_sensor([(motion, wrong)])
        assert caught.value.code == code


def test_torque_in_newton_millimetres_at_rest_puts_the_centre_too_far():
    """At rest the force shows no lever; a centre of mass tens of metres away is doubted."""
    rng = np.random.default_rng(6)
    motion = still_poses(rng.normal(size=(12, 3)) * 1.5, 40)
    wrench = measured(motion, from_com(2.0, np.array([0.05, 0.0, 0.08]), 0.01 * np.eye(3)), rng)
    assert "implausible-centre" in codes(
        (motion, Wrench("sensor", wrench.force, 1000.0 * wrench.torque))
    )


@pytest.mark.parametrize(
    ("edge", "doubted"), [(0.002, True), (0.01, True), (0.05, False), (0.1, False), (3.0, True)]
)
def test_density_of_a_cube(edge, doubted):
    """A cube of 1 kg: 1 mm to 10 mm are denser than osmium, and 3 m is lighter than air."""
    size = edge**2 / 6.0
    body = principal_body(from_com(1.0, np.zeros(3), size * np.eye(3)), "payload")
    names = ("m", "cx", "cy", "cz", "Ixx_com", "Ixy_com", "Iyy_com", "Ixz_com", "Iyz_com")
    of = dict.fromkeys((*names, "Izz_com"), 0.0) | dict.fromkeys(
        ("Ixx_com", "Iyy_com", "Izz_com"), size
    )
    values = [
        PayloadValue(name, "", x, 0.01 * x, 0.98 * x, 1.02 * x, "confidence")
        for name, x in of.items()
    ]
    found = {finding.code for finding in implausible_body(body, values, "check it")}
    assert found == ({"implausible-density"} if doubted else set())
    vague = [replace(value, kind="not determined") for value in values]
    assert implausible_body(body, vague, "check it") == ()


@pytest.mark.parametrize("inertia", [0.0, 2e-5])
def test_a_payload_that_no_body_is_needs_no_user(inertia):
    """A point mass that is measured well: no density explains it, and the payload is not to be
    used; the box has at least 25,000 kg/m³.
    """
    rng = np.random.default_rng(3)
    motion = free_motion(3, duration_s=20.0, fastest_hz=1.5)
    point = from_com(1.2, np.array([0.0, 0.0, 0.05]), inertia * np.eye(3))
    found = weigh_on_sensor([(motion, measured(motion, point, rng))])
    assert found.verdict.level == "do not use"
    assert found.verdict.reasons[0].code == "implausible-density"
    assert "no material" in found.verdict.sentence


def test_an_inertia_that_is_hardly_known_is_said_to_be():
    """The same point in a slow motion: intervals hold real bodies, the value itself does not. Mass
    and centre of mass can be used with care; those of a cube are usable.
    """
    motion = free_motion(3, duration_s=8.0, fastest_hz=0.15)
    levels = {}
    for name, inertia in (("point", 0.0), ("cube", 0.05)):
        rng = np.random.default_rng(3)
        body = from_com(1.2, np.array([0.0, 0.0, 0.05]), inertia * np.eye(3))
        found = weigh_on_sensor([(motion, measured(motion, body, rng))])
        density = found.box.density
        levels[name] = found.verdict.level
        warned = {one.code for one in found.findings if one.level == "warning"}
        assert ("poorly-known-inertia" in warned) == (density is None or density > 25_000.0)
    assert levels == {"point": "usable with care", "cube": "usable"}
