"""What cannot be made into the motion of a frame is refused, by name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from moving_frames import full_log, moving_frame
from seeds import every

from steelyard.errors import LogError, RobotError, SignalError
from steelyard.signals.frame_from_poses import frame_motion_from_poses
from steelyard.signals.frame_from_twist import frame_motion_from_twist
from steelyard.signals.prepared_frame import prepare_frame
from steelyard.signals.processing import Processing

TIME = np.arange(0.0, 12.0, 0.005)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": "camera"}, "source of the motion: 'camera'"),
        ({"source": "pose", "quaternion_order": "wxyz"}, "order of the quaternion"),
        ({"source": "pose", "wrench_axes": "tool"}, "axes of the wrench"),
        ({"source": "twist", "twist_axes": "world"}, "axes of the twist"),
        ({"source": "pose", "mounting": np.ones((4, 4))}, "is no pose"),
        ({"source": "pose", "mounting": np.eye(3)}, r"must be a \(4, 4\) matrix"),
        ({"source": "pose", "gravity": (0, 0, np.nan)}, "gravity"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message):
    """With what would."""
    log = full_log(moving_frame(np.random.default_rng(3), TIME))
    with pytest.raises((SignalError, RobotError), match=message):
        prepare_frame(log, None, "tool", **options)


@pytest.mark.parametrize(
    ("source", "gone", "message"),
    [
        ("pose", "quaternion", "direction of gravity is not known"),
        ("twist", "quaternion", "direction of gravity is not known"),
        ("twist", "angular_velocity", "no angular velocity of frame 'tool'"),
        ("twist", "linear_velocity", "no linear velocity of frame 'tool'"),
        ("imu", "proper_acceleration", "no proper acceleration of frame 'tool'"),
        ("pose", "force", "no force of frame 'tool'"),
        ("pose", "torque", "no torque of frame 'tool'"),
    ],
)
def test_quantities_that_a_source_needs_are_named(source, gone, message):
    """Where the log lacks one."""
    log = full_log(moving_frame(np.random.default_rng(3), TIME))
    signals = {key: values for key, values in log.frame_signals.items() if key[1] != gone}
    with pytest.raises(LogError, match=message):
        prepare_frame(replace(log, frame_signals=signals), None, "tool", source=source)


def test_huge_numbers_are_refused():
    """By row and column."""
    log = full_log(moving_frame(np.random.default_rng(3), TIME))
    force = log.frame_signals["tool", "force"].copy()
    force[7, 1] = 1e300
    signals = dict(log.frame_signals) | {("tool", "force"): force}
    with pytest.raises(SignalError, match=r"wrench.force_y is 1e\+300 in row 8 \(1 such rows\)"):
        prepare_frame(replace(log, frame_signals=signals), None, "tool", source="pose")


def test_quaternions_far_from_unit_norm_are_refused():
    """Columns in degrees, or of something else."""
    log = full_log(moving_frame(np.random.default_rng(3), TIME))
    signals = dict(log.frame_signals) | {("tool", "quaternion"): np.zeros((len(TIME), 4))}
    with pytest.raises(
        SignalError, match="log 'run': the quaternion of frame 'tool': row 1 has no"
    ):
        prepare_frame(replace(log, frame_signals=signals), None, "tool", source="pose")


SPOILT = (
    lambda rng, x: np.where(rng.random(x.shape) < 0.1, np.nan, x),
    lambda rng, x: np.where(np.arange(len(x))[:, None] < rng.integers(len(x)), np.inf, x),
    lambda rng, x: np.full_like(x, 1e200),
    lambda rng, x: np.zeros_like(x),
    lambda rng, x: np.full_like(x, np.nan),
    lambda rng, x: x * rng.choice([-1.0, 1.0], size=(len(x), 1)),
    lambda rng, x: rng.normal(size=x.shape),
    lambda rng, x: None,
)
"""What may have happened to the columns of a quantity; None takes them away."""


@every("seed", range(80))
def test_hostile_logs_give_a_motion_or_a_refusal(seed):
    """Never another exception, a warning, or infinite numbers."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([2, 3, 20, 100, 400]))
    stamps = np.arange(n) / 100.0
    if seed % 3:
        stamps = np.cumsum(rng.uniform(0.001, 1.0, n)) * float(rng.choice([1e-6, 1.0, 1e3]))
    log = full_log(moving_frame(rng, stamps))
    signals = {key: values.copy() for key, values in log.frame_signals.items()}
    for key in list(signals):
        if rng.random() < 0.2:
            spoilt = SPOILT[int(rng.integers(len(SPOILT)))](rng, signals.pop(key))
            signals |= {} if spoilt is None else {key: spoilt}
    processing = Processing(
        cutoff_hz=(None, "auto", 3.0)[seed % 3], derivative=("central5", "savgol")[seed % 2]
    )
    source = ("pose", "twist", "imu")[int(rng.integers(3))]
    try:
        log = replace(log, frame_signals=signals)
        prepared = prepare_frame(
            log, None, "tool", processing, source=source, at_rest=rng.random() < 0.2
        )
    except (LogError, SignalError) as error:
        prepared, refusal = None, str(error)
    if prepared is None:
        assert "\n" not in refusal
        assert "log '" in refusal
        return
    assert not np.isinf(prepared.motion.proper_acceleration).any()
    assert np.isfinite(prepared.motion.time).all()
    assert len(prepared.motion) == len(prepared.wrench)


def test_arrays_are_checked():
    """Shapes, even stamps, and what a twist needs."""
    q = np.tile([0.0, 0.0, 0.0, 1.0], (5, 1))
    time = np.arange(5.0)
    with pytest.raises(SignalError, match="even, increasing time stamps"):
        frame_motion_from_poses(time[::-1], q)
    with pytest.raises(SignalError, match="5 quaternions for 4 time stamps"):
        frame_motion_from_poses(time[:4], q)
    with pytest.raises(SignalError, match=r"positions have shape \(4, 3\)"):
        frame_motion_from_poses(time, q, np.ones((4, 3)))
    with pytest.raises(SignalError, match="linear velocity or acceleration of frame"):
        frame_motion_from_twist(time, q, np.ones((5, 3)))
