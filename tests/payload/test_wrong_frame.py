"""Wrenches and orientations in other axes than stated are named."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from steelyard.errors import WeighingError
from steelyard.payload.on_sensor import weigh_on_sensor
from steelyard.payload.wrong_frame import check_frame
from steelyard.signals.frame_motion import FrameMotion, Wrench
from tests.helpers.frame_motions import free_motion, measured, random_body, still_poses

BIAS = np.array([3.0, -2.0, 1.0, 0.1, -0.2, 0.05])
MOTIONS = ("fast", "slow", "still")


def recording(kind: str, seed: int = 0, bias=BIAS) -> tuple[FrameMotion, Wrench]:
    """A body of 0.5 to 3 kg, measured as it should be."""
    rng = np.random.default_rng([3, seed])
    if kind == "still":
        motion = still_poses(rng.normal(size=(12, 3)) * 1.5, 40)
    else:
        motion = free_motion(seed, duration_s=10.0, fastest_hz=0.8 if kind == "fast" else 0.15)
    return motion, measured(motion, random_body(rng, rng.uniform(0.5, 3.0)), rng, bias=bias)


def turned(wrench: Wrench, R: np.ndarray, sign: float = 1.0) -> Wrench:
    """The wrench in axes turned by R (3, 3) or (n_samples, 3, 3)."""
    R = np.broadcast_to(R, (len(wrench), 3, 3))
    parts = (sign * np.einsum("nij,nj->ni", R, part) for part in (wrench.force, wrench.torque))
    return Wrench(wrench.frame, *parts)


def reoriented(motion: FrameMotion, R: np.ndarray) -> FrameMotion:
    """What is computed of the motion if its orientations are taken for R (n_samples, 3, 3)."""
    in_world = np.einsum("nij,nj->ni", motion.R_world_frame, motion.proper_acceleration)
    period = motion.time[1] - motion.time[0]
    if motion.angular_velocity.any():
        S = np.einsum("nji,njk->nik", R, np.gradient(R, period, axis=0))
        omega = np.stack([S[:, 2, 1], S[:, 0, 2], S[:, 1, 0]], 1)
    else:
        omega = np.zeros_like(in_world)
    return replace(
        motion,
        R_world_frame=R,
        proper_acceleration=np.einsum("nji,nj->ni", R, in_world),
        angular_velocity=omega,
        angular_acceleration=np.gradient(omega, period, axis=0),
    )


def code_of(motion: FrameMotion, wrench: Wrench, bias: bool = True) -> tuple[str, str]:
    """The code and the words with which weighing is refused."""
    with pytest.raises(WeighingError) as caught:
        weigh_on_sensor([(motion, wrench)], bias=bias)
    return caught.value.code, str(caught.value)


@pytest.mark.parametrize("kind", MOTIONS)
def test_right_axes_are_not_doubted(kind):
    """A wrench in the axes of the frame is never refused, whatever the mass."""
    for seed in range(15):
        assert check_frame([recording(kind, seed)], bias=True, rotation=False) == ()
    for mass in (0.05, 0.1):
        rng = np.random.default_rng(1)
        motion = recording(kind)[0]
        light = measured(motion, random_body(rng, mass), rng)
        assert check_frame([(motion, light)], bias=True, rotation=False) == ()


@pytest.mark.parametrize("kind", MOTIONS)
@pytest.mark.parametrize("bias", [np.zeros(6), BIAS])
def test_wrench_in_the_axes_of_the_base_is_named(kind, bias):
    """The wrench in the base's axes is refused, also where a bias would explain its force."""
    for seed in range(4):
        motion, wrench = recording(kind, seed, bias)
        code, words = code_of(motion, turned(wrench, motion.R_world_frame))
        assert code == "wrench-in-base-axes"
        assert "base's axes" in words


@pytest.mark.parametrize("kind", MOTIONS)
@pytest.mark.parametrize("bias", [np.zeros(6), BIAS])
def test_wrench_in_the_axes_of_the_sensor_is_named_where_base_is_stated(kind, bias):
    """A wrench that was in the frame's axes, and was turned into them once more, is refused."""
    for seed in range(4):
        motion, wrench = recording(kind, seed, bias)
        R_frame_world = np.swapaxes(motion.R_world_frame, 1, 2)
        code, words = code_of(motion, turned(wrench, R_frame_world))
        assert code == "wrench-in-sensor-axes"
        assert "axes='sensor'" in words


@pytest.mark.parametrize("kind", MOTIONS)
@pytest.mark.parametrize("turn", [(180.0, "z"), (90.0, "z"), (-90.0, "z"), (180.0, "x")])
def test_another_base_than_stated_is_named(kind, turn):
    """Base axes of Universal Robots, half a turn from base_link, and others: angle and axis."""
    degrees, axis = turn
    Q = Rotation.from_euler(axis, degrees, degrees=True).as_matrix()
    for seed in range(4):
        motion, wrench = recording(kind, seed)
        R = motion.R_world_frame
        # recorded in axes that are turned by Q, and taken for the base's
        wrong = turned(wrench, np.swapaxes(R, 1, 2) @ Q.T @ R)
        with pytest.raises(WeighingError, match="against the base that was stated") as caught:
            weigh_on_sensor([(motion, wrong)], axes="base")
        assert caught.value.code == "wrench-in-other-base-axes"
        sign = "-" if degrees < 0.0 else ""
        assert f"turned by {abs(degrees):.0f} degrees about {sign}{axis}" in str(caught.value)


@pytest.mark.parametrize("kind", MOTIONS)
def test_the_right_base_is_not_doubted(kind):
    """Also with bodies whose force hardly tells one base from another."""
    for seed in range(10):
        given = recording(kind, seed)
        assert check_frame([given], bias=True, rotation=False, axes="base") == ()


def test_slow_point_mass_at_the_origin_in_base_axes_is_named():
    """A constant force without torque, which a bias explains fully, is still recognised."""
    motion = still_poses(np.random.default_rng(0).normal(size=(12, 3)) * 1.5, 40)
    phi = np.array([1.0] + 9 * [0.0])
    wrench = measured(motion, phi, np.random.default_rng(1))
    assert code_of(motion, turned(wrench, motion.R_world_frame))[0] == "wrench-in-base-axes"


@pytest.mark.parametrize("kind", MOTIONS)
def test_constant_turn_is_named_with_its_angle_and_axis(kind):
    """A wrench in axes turned by a large angle is refused with angle and axis."""
    turns = ((178.0, "x"), (-90.0, "y"), (45.0, "z"))
    for seed, (degrees, axis) in enumerate(turns):
        motion, wrench = recording(kind, seed)
        turn = np.radians(degrees) * np.eye(3)["xyz".index(axis)]
        R_frame_sensor = Rotation.from_rotvec(turn).as_matrix()
        code, said = code_of(motion, turned(wrench, R_frame_sensor.T))
        assert code == "wrong-frame"
        angle, about = re.search(r"turned by (\d+) degrees about (-?[xyz]);", said).groups()
        assert abs(int(angle) - abs(degrees)) <= 1
        assert about == (axis if degrees > 0.0 else f"-{axis}")


@pytest.mark.parametrize("kind", MOTIONS)
def test_sign_is_named(kind):
    """The wrench by the body on the sensor gives a negative mass and is refused."""
    motion, wrench = recording(kind, 1)
    code, words = code_of(motion, turned(wrench, np.eye(3), -1.0))
    assert code == "negative-mass"
    assert "by the body on the sensor" in words
    code, words = code_of(motion, turned(wrench, motion.R_world_frame, -1.0))
    assert code == "wrench-in-base-axes"
    assert "sign" in words


@pytest.mark.parametrize("kind", MOTIONS)
def test_quaternion_order_and_inverse_are_named(kind):
    """Quaternions read in the wrong order, and inverted orientations, are recognised."""
    for seed in range(3):
        motion, wrench = recording(kind, seed)
        x, y, z, w = Rotation.from_matrix(motion.R_world_frame).as_quat().T
        read = np.stack([w, x, y, z], 1)  # w, x, y, z of the file taken for x, y, z, w
        code, words = code_of(reoriented(motion, Rotation.from_quat(read).as_matrix()), wrench)
        assert code == "quaternion-order"
        assert "appear to be w, x, y, z" in words
        read = np.stack([y, z, w, x], 1)  # x, y, z, w of the file taken for w, x, y, z
        code, words = code_of(reoriented(motion, Rotation.from_quat(read).as_matrix()), wrench)
        assert code == "quaternion-order"
        assert "appear to be x, y, z, w" in words
        inverse = np.ascontiguousarray(motion.R_world_frame.transpose(0, 2, 1))
        assert code_of(reoriented(motion, inverse), wrench)[0] == "orientation-inverted"


def test_small_turn_is_a_finding():
    """A sensor that is 4 degrees askew is weighed, with a finding that names the angle."""
    motion, wrench = recording("fast", 2)
    R = Rotation.from_rotvec([0.0, np.radians(4.0), 0.0]).as_matrix()
    estimate = weigh_on_sensor([(motion, turned(wrench, R.T))])
    (finding,) = (f for f in estimate.findings if f.code == "sensor-turned")
    angle = float(finding.words.split("turned by ")[1].split(" ")[0])
    assert abs(angle - 4.0) < 0.3
    with_rotation = weigh_on_sensor([(motion, turned(wrench, R.T))], rotation=True)
    assert "sensor-turned" not in {f.code for f in with_rotation.findings}
    assert with_rotation.value("rotation_y").value == pytest.approx(np.radians(4.0), abs=2e-3)


def test_imu_without_orientation_still_finds_turns():
    """Where the orientation is not known, turns and signs are found, and nothing is guessed."""
    motion, wrench = recording("fast", 1)
    alone = replace(motion, R_world_frame=None)
    assert check_frame([(alone, wrench)], bias=True, rotation=False) == ()
    R = Rotation.from_rotvec([np.pi / 2, 0.0, 0.0]).as_matrix()
    assert code_of(alone, turned(wrench, R))[0] == "wrong-frame"


@pytest.mark.parametrize("kind", MOTIONS)
def test_wrong_gravity_is_named(kind):
    """Another direction of gravity, or none, is named; axes that were stated are not suggested."""
    for seed in range(3):
        motion, wrench = recording(kind, seed)
        up = np.einsum("nji,j->ni", motion.R_world_frame, np.array([0.0, 0.0, 9.81]))
        along_x = np.einsum("nji,j->ni", motion.R_world_frame, np.array([-9.81, 0.0, 0.0]))
        sideways = replace(motion, proper_acceleration=motion.proper_acceleration - up + along_x)
        with pytest.raises(WeighingError, match=re.escape("--gravity 0 0 -9.81")) as caught:
            weigh_on_sensor([(sideways, wrench)], axes="sensor")
        assert caught.value.code == "wrong-gravity"
        weightless = replace(motion, proper_acceleration=motion.proper_acceleration - up)
        with pytest.raises(WeighingError, match="gravity") as caught:
            weigh_on_sensor([(weightless, wrench)], axes="sensor")
        assert caught.value.code in ("wrong-gravity", "no-gravity")


def words_of(motion: FrameMotion, wrench: Wrench, axes) -> str:
    """The words with which weighing is refused, or those of all findings."""
    try:
        estimate = weigh_on_sensor([(motion, wrench)], axes=axes)
    except WeighingError as error:
        return str(error)
    return "\n".join(finding.words for finding in estimate.findings)


@pytest.mark.parametrize("axes", ["sensor", "base"])
def test_stated_axes_are_not_suggested(axes):
    """Of a wrench in random axes, whatever is said, it is not to state what was stated."""
    for seed in range(4):
        motion, wrench = recording("fast", seed)
        wrong = turned(wrench, Rotation.random(len(wrench), random_state=seed).as_matrix())
        assert f"--axes {axes}" not in words_of(motion, wrong, axes)
    motion, wrench = recording("fast")
    if axes == "sensor":
        wrong = turned(wrench, motion.R_world_frame)
    else:
        wrong = turned(wrench, np.swapaxes(motion.R_world_frame, 1, 2))
    other = "base" if axes == "sensor" else "sensor"
    with pytest.raises(WeighingError, match=f"--axes {other}"):
        weigh_on_sensor([(motion, wrong)], axes=axes)


def test_bias_that_was_denied_is_named():
    """Turned about the vertical only, a bias is no turn of the axes."""
    rng = np.random.default_rng(3)
    motion = still_poses(np.linspace(-1.5, 1.5, 12)[:, None] * np.array([0.0, 0.0, 1.0]), 20)
    wrench = measured(motion, random_body(rng, 1.2), rng, bias=BIAS)
    assert code_of(motion, wrench, bias=False)[0] == "sensor-biased"


def test_clock_of_the_wrench_is_mentioned():
    """A wrench that is late by seconds gives no body; words name the clocks where nothing fits."""
    for seed in range(6):
        motion, wrench = recording("fast", seed)
        late = Wrench("sensor", *(np.roll(x, 150, 0) for x in (wrench.force, wrench.torque)))
        assert "clocks" in words_of(motion, late, "sensor")
