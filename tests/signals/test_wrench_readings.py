"""Forces that pull a floating robot down: signs of forces and accelerometers, quaternions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from humanoid import humanoid, humanoid_log

from steelyard.errors import SignalError
from steelyard.logs.log import Log
from steelyard.signals.prepare import prepare
from steelyard.signals.processing import Processing
from steelyard.signals.sensing import BaseMotion, Sensing
from steelyard.simulation.floating_log import BaseSensors

PROCESSING = Processing(cutoff_hz=None, decimate=1, dead_band=None)
FEET = ("left_foot", "right_foot")
W_FIRST, X_FIRST = [3, 0, 1, 2], [0, 1, 2, 3]


def words_of(log: Log, sensing: Sensing | None = None) -> dict[str, str]:
    done = prepare(log, humanoid(), replace(PROCESSING, sensing=sensing))
    return {one.code: one.words for one in done.findings}


def changed(log: Log, **frames: np.ndarray | None) -> Log:
    """The log with other quantities of its torso."""
    whole = dict(log.frame_signals) | {("torso", name): x for name, x in frames.items()}
    return replace(log, frame_signals={key: x for key, x in whole.items() if x is not None})


def imu_log(seed: int) -> Log:
    return humanoid_log(seed, 2.0, feet=FEET, base=BaseSensors("imu", force_noise=0.5))


def test_an_accelerometer_of_opposite_sign_is_named() -> None:
    """With an IMU, forces that pull down may be those of an accelerometer that shows gravity."""
    log = imu_log(5)
    assert "wrench-sign" not in words_of(log)
    proper = log.frame_signals["torso", "proper_acceleration"]
    words = words_of(changed(log, proper_acceleration=-proper))["wrench-sign"]
    assert "--wrench-sign by-robot" in words
    assert "accelerometer have the opposite sign" in words


def test_an_orientation_tells_the_sign_of_the_accelerometer() -> None:
    """Beside an orientation, an accelerometer that shows gravity downward is warned of."""
    log = imu_log(6)
    quaternion = humanoid_log(6, 2.0).frame_signals["torso", "quaternion"]
    oriented = changed(log, quaternion=quaternion)
    imu = Sensing(BaseMotion("imu"))
    assert not {"wrench-sign", "accelerometer-downward"} & set(words_of(oriented, imu))
    proper = log.frame_signals["torso", "proper_acceleration"]
    words = words_of(changed(oriented, proper_acceleration=-proper), imu)
    assert "accelerometer of frame 'torso'" in words["accelerometer-downward"]
    assert "accelerometer" in words["wrench-sign"]


@pytest.mark.parametrize("seed", [11, 12, 13])
@pytest.mark.parametrize("feet", [(), FEET])
def test_quaternions_in_another_order_are_refused(seed: int, feet: tuple[str, ...]) -> None:
    """Four numbers in the other order than stated are refused with the order that fits."""
    log = humanoid_log(seed, 2.0, **({"feet": feet} if feet else {}))
    q = log.frame_signals["torso", "quaternion"]
    for order, numbers, other in (
        ("x-first", q[:, W_FIRST], "w-first"),
        ("w-first", q[:, X_FIRST], "x-first"),
    ):
        stated = Sensing(BaseMotion("pose", quaternion_order=order))
        with pytest.raises(SignalError, match=f"--base-quaternion {other}"):
            words_of(changed(log, quaternion=numbers), stated)
        right = Sensing(BaseMotion("pose", quaternion_order=other))
        assert not {"wrench-sign", "wrench-axes"} & set(
            words_of(changed(log, quaternion=numbers), right)
        )


def test_an_upright_base_leaves_both_causes_open() -> None:
    """Where the base hardly turns, forces that pull down may be of a quaternion read w-last."""
    log = humanoid_log(14, 2.0)
    n = len(log)
    still = changed(
        log, quaternion=np.tile([1.0, 0.0, 0.0, 0.0], (n, 1)), position=np.zeros((n, 3))
    )
    force = np.tile([0.0, 0.0, 15 * 9.81], (n, 1))
    words = words_of(changed(still, force=force))["wrench-sign"]
    assert "--base-quaternion" in words
    assert "--wrench-sign by-robot" in words


@pytest.mark.parametrize("kind", ["twist", "imu"])
def test_an_angular_acceleration_of_another_unit_or_sign_is_refused(kind: str) -> None:
    """Where the log has one, it must be the derivative of the angular velocity."""
    log = humanoid_log(15, 2.0, base=BaseSensors("twist", gyro_noise=1e-3, force_noise=0.5))
    alpha = log.frame_signals["torso", "angular_acceleration"]
    if kind == "imu":
        other = humanoid_log(15, 2.0, base=BaseSensors("imu", gyro_noise=1e-3, force_noise=0.5))
        log = changed(other, angular_acceleration=alpha)
    filtered = replace(PROCESSING, cutoff_hz=12.0)
    codes = {one.code for one in prepare(log, humanoid(), filtered).findings}
    assert "turning-differs" not in codes
    for factor, words in ((180.0 / np.pi, r"deg/s\^2"), (-1.0, "sign appears to be the opposite")):
        with pytest.raises(SignalError, match=f"angular acceleration of frame 'torso'.*{words}"):
            prepare(changed(log, angular_acceleration=factor * alpha), humanoid(), filtered)
    shuffled = changed(log, angular_acceleration=np.roll(alpha, 1, axis=1))
    done = prepare(shuffled, humanoid(), filtered)
    assert (
        "angular acceleration" in {one.code: one.words for one in done.findings}["turning-differs"]
    )
