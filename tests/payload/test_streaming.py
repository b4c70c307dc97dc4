"""A payload stream against batch least squares, and its detection of changes in simulation."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from seeds import every
from streamed_arm import (
    BIAS,
    TOOL,
    TORQUE_SIGMA,
    WRENCH_SIGMA,
    StreamedArm,
    body_wrench,
    frame_motion,
    held,
    picked_up,
)

from steelyard.errors import EstimationError, SignalError, SteelyardError
from steelyard.payload.stream_sources import FrameWrenches, JointTorques, RobotWrenches
from steelyard.payload.streaming import DELAY_BLOCKS, PayloadStream, StreamSettings
from steelyard.robot.inertia import from_com, violations

ONE_KILO = from_com(1.0, [0.02, -0.01, 0.08], np.diag([2e-3, 2.2e-3, 1e-3]))
AND_A_HALF = from_com(1.5, [0.02, -0.01, 0.10], np.diag([3e-3, 3.2e-3, 2e-3]))
NOTHING = np.zeros(10)
EQUAL = StreamSettings(time_constant_s=2.0, bias_time_constant_s=2.0)


def wrench_signals(samples):
    """The signals of a stream of wrenches on a robot."""
    return samples.q, samples.v, samples.a, samples.wrench[:, :3], samples.wrench[:, 3:]


def torque_signals(samples):
    """The signals of a stream of joint torques."""
    return samples.q, samples.v, samples.a, samples.tau


def wrench_stream(arm, settings=None):
    return PayloadStream(RobotWrenches(arm.model, TOOL), settings)


def torque_stream(arm, settings=None):
    return PayloadStream(JointTorques(arm.model, arm.theta, TOOL, TORQUE_SIGMA), settings)


def block_weights(time, settings):
    """Weight of each sample at the end: exponential, constant within a block."""
    weights, start, last = np.zeros(len(time)), 0, len(time) - 1
    for i in range(1, len(time) + 1):
        if i == len(time) or time[i] >= time[start] + settings.block_s:
            weights[start:i] = np.exp(-(time[last] - time[i - 1]) / settings.time_constant_s)
            start = i
    return weights


def batch_rows(samples):
    """Rows (n, 6, 16) and right-hand side (n, 6) of body and bias, whitened, by definition."""
    motion = frame_motion(StreamedArm(0).model, TOOL, samples.q, samples.v, samples.a)
    body = np.stack([body_wrench(unit, *motion) for unit in np.eye(10)], axis=2)
    bias = np.broadcast_to(np.eye(6), (len(samples.time), 6, 6))
    rows = np.concatenate([body, bias], axis=2) / WRENCH_SIGMA[:, None]
    return rows, samples.wrench / WRENCH_SIGMA


@every("n_samples", (3950, 4001))
def test_estimate_is_batch_least_squares_with_the_same_weights(n_samples):
    """Body, bias and number of samples are those of one weighted least squares over all samples."""
    arm = StreamedArm(1)
    moves = list(arm.moves(4.5, held(ONE_KILO)))
    stream = wrench_stream(arm, EQUAL)
    time = np.concatenate([move.time for move in moves])[:n_samples]
    parts = [np.concatenate(part)[:n_samples] for part in zip(*map(wrench_signals, moves))]
    stream.update_many(time, *parts)
    found = stream.estimate()
    weights = block_weights(time, EQUAL)
    rows, right = zip(*map(batch_rows, moves), strict=True)
    rows, right = np.concatenate(rows)[:n_samples], np.concatenate(right)[:n_samples]
    root = np.sqrt(weights)[:, None]
    x = np.linalg.lstsq(
        (root[:, :, None] * rows).reshape(-1, 16), (root * right).ravel(), rcond=None
    )[0]
    assert np.allclose(found.phi, x[:10], rtol=0, atol=1e-6)
    assert np.allclose(found.bias, x[10:], rtol=0, atol=1e-5)
    assert found.effective_samples == pytest.approx(weights.sum(), rel=1e-12)


def test_forgetting_the_body_alone_is_process_noise_on_the_body():
    """Body and bias forgotten at different rates: the information filter in covariance form."""
    from steelyard.payload._stream_loops import forget

    rng = np.random.default_rng(4)
    S = np.linalg.qr(rng.normal(size=(40, 17)), mode="r")
    before = S.copy()
    forget(S, 0.8, 0.95)
    P = np.linalg.inv(before[:16, :16].T @ before[:16, :16])
    slope = P[:10, 10:] @ np.linalg.inv(P[10:, 10:])
    alone = P[:10, :10] - slope @ P[10:, :10]
    P_bias = P[10:, 10:] / 0.95**2
    expected = np.block(
        [[alone / 0.8**2 + slope @ P_bias @ slope.T, slope @ P_bias], [P_bias @ slope.T, P_bias]]
    )
    assert np.allclose(np.linalg.inv(S[:16, :16].T @ S[:16, :16]), expected, rtol=1e-9)
    x = [np.linalg.solve(one[:16, :16], one[:16, 16]) for one in (before, S)]
    assert np.allclose(x[0], x[1], rtol=1e-9)
    assert S[16, 16] == pytest.approx(0.8 * before[16, 16])


@every("which", ("wrench", "torque"))
def test_pick_up_and_release_are_found_within_half_a_second(which):
    """0.5 kg more and less, in motion, each reported once, with the masses before and after."""
    arm = StreamedArm(11)
    stream, signals = {
        "wrench": (wrench_stream(arm), wrench_signals),
        "torque": (torque_stream(arm), torque_signals),
    }[which]
    changes, times = [], (9.3, 14.7, 19.2)
    bodies = (ONE_KILO, AND_A_HALF, ONE_KILO, AND_A_HALF)

    def payload(time):
        return np.array(bodies)[np.searchsorted(times, time, side="right")]

    for move in arm.moves(23.0, payload):
        changes += stream.update_many(move.time, *signals(move))
    assert len(changes) == 3
    for change, time, change_kg in zip(changes, times, (0.5, -0.5, 0.5), strict=True):
        assert abs(change.time - time) <= 0.06
        assert time < change.reported <= time + 0.5
        assert abs(change.mass_change - change_kg) < 5.0 * change.sigma < 0.5
        assert change.statistic > change.threshold
    assert stream.last_change is changes[-1]
    found = stream.estimate()
    assert abs(found.body.mass - 1.5) < 4.0 * found.mass_sigma < 0.05
    assert np.all(np.abs(found.body.com - [0.02, -0.01, 0.10]) < 4.0 * found.com_sigma)


def test_no_false_detection_with_autocorrelated_noise_and_wrong_friction():
    """In a minute with rests, slow noise and 5 % error of friction, nothing is reported."""
    arm = StreamedArm(12, coloured=0.5, friction_error=0.05)
    wrenches, torques = wrench_stream(arm), torque_stream(arm)
    for k, move in enumerate(arm.moves(50.0, held(ONE_KILO))):
        samples = arm.still(10.0, held(ONE_KILO)) if k == 15 else move
        assert wrenches.update_many(samples.time, *wrench_signals(samples)) == ()
        assert torques.update_many(samples.time, *torque_signals(samples)) == ()
    assert wrenches.watching
    assert torques.watching
    for stream in (wrenches, torques):
        found = stream.estimate()
        assert abs(found.body.mass - 1.0) < 4.0 * found.mass_sigma


def test_statistic_is_chi_square_with_white_noise():
    """Its mean and variance in motion are near those of chi-square with ten degrees of freedom."""
    arm = StreamedArm(13)
    stream = wrench_stream(arm)
    for move in arm.moves(40.0, held(ONE_KILO), rest_s=(0.0, 0.01)):
        stream.update_many(move.time, *wrench_signals(move))
    mean, square = np.array(stream._test.mean), np.array(stream._test.square)
    assert np.all(np.abs(mean - 10.0) < 1.5)
    assert np.all(np.abs(square - mean**2 - 20.0) < 10.0)


def test_bias_is_kept_at_rest_and_through_a_pick_up():
    """After a minute at rest a body that is picked up at rest is weighed with the old bias."""
    arm = StreamedArm(14)
    stream = wrench_stream(arm)
    # without a longer memory of the bias it is no longer known at the end
    forgetful = wrench_stream(arm, StreamSettings(bias_time_constant_s=5.0))
    for move in arm.moves(8.0, held(NOTHING)):
        for one in (stream, forgetful):
            one.update_many(move.time, *wrench_signals(move))
    assert np.all(np.abs(stream.estimate().bias - BIAS) < 0.1 * WRENCH_SIGMA)
    time = arm.time + 40.2
    rest = arm.still(43.0, picked_up(NOTHING, ONE_KILO, time))
    (change,) = stream.update_many(rest.time, *wrench_signals(rest))
    forgetful.update_many(rest.time, *wrench_signals(rest))
    assert time < change.reported <= time + 0.5
    found = stream.estimate()
    assert abs(found.body.mass - 1.0) < 4.0 * found.mass_sigma < 0.02
    assert np.all(np.abs(found.bias - BIAS) < 0.1 * WRENCH_SIGMA)
    assert forgetful.estimate().mass_sigma > 10.0 * found.mass_sigma


@every("which", ("wrench", "torque"))
def test_size_of_a_pick_up_at_rest_before_any_motion(which):
    """What is weight and what is bias is not known, but the difference of the masses is."""
    for seed in range(2):
        arm = StreamedArm(200 + seed)
        time = arm.time + 7.03
        rest = arm.still(8.0, picked_up(ONE_KILO, AND_A_HALF, time))
        if which == "wrench":
            changes = wrench_stream(arm).update_many(rest.time, *wrench_signals(rest))
        else:
            changes = torque_stream(arm).update_many(rest.time, *torque_signals(rest))
        (change,) = changes
        assert time < change.reported <= time + 0.5
        assert abs(change.mass_change - 0.5) < 4.0 * change.sigma < 0.06


@every("duration_s", (0.1, 0.2, 0.3))
def test_mass_after_a_gradual_change_is_that_of_its_end(duration_s):
    """A body that becomes heavy while it is lifted is one change, weighed after it."""
    arm = StreamedArm(30)
    stream, changes = wrench_stream(arm), ()
    begin = 8.21

    def lifted(time):
        share = np.clip((time - begin) / duration_s, 0.0, 1.0).round(2)
        return ONE_KILO + share[:, None] * (AND_A_HALF - ONE_KILO)

    for move in arm.moves(11.0, lifted):
        changes += stream.update_many(move.time, *wrench_signals(move))
    (change,) = changes
    assert abs(change.mass_before - 1.0) < 0.01
    assert abs(change.mass_after - 1.5) < 5.0 * change.sigma < 0.05
    assert change.reported <= begin + duration_s + 0.5


def test_one_by_one_is_the_same_as_many_at_once():
    """update, update_many and streams side by side give the same numbers, bit by bit."""
    arm = StreamedArm(15)
    moves = list(arm.moves(9.0, picked_up(ONE_KILO, AND_A_HALF, 7.0)))
    single, many, other = wrench_stream(arm), wrench_stream(arm), torque_stream(arm)
    found = []
    for move in moves:
        for s in range(len(move.time)):
            change = single.update(move.time[s], *(part[s] for part in wrench_signals(move)))
            other.update(move.time[s], *(part[s] for part in torque_signals(move)))
            found += [] if change is None else [change]
    together = [many.update_many(move.time, *wrench_signals(move)) for move in moves]
    assert len(found) == 1
    assert found == [change for changes in together for change in changes]
    assert np.array_equal(single.estimate().phi, many.estimate().phi)
    assert np.array_equal(single.estimate().bias, many.estimate().bias)


def test_memory_does_not_grow():
    """A stream holds the same number of bytes after one second and after twenty."""
    arm = StreamedArm(16)
    stream = torque_stream(arm)
    sizes = []
    for move in arm.moves(20.0, held(ONE_KILO)):
        stream.update_many(move.time, *torque_signals(move))
        holders = (stream, stream._memory, stream._test)
        arrays = [value for one in holders for value in vars(one).values()]
        arrays += stream._pool
        sizes.append(sum(a.nbytes for a in arrays if isinstance(a, np.ndarray)))
    assert len(set(sizes)) == 1
    assert sizes[0] > DELAY_BLOCKS * 17 * 17 * 8


def test_samples_that_are_not_finite_are_left_out_and_counted():
    """NaN and infinity in any signal: as if the sample had been dropped."""
    arm = StreamedArm(17)
    move = next(arm.moves(1.0, held(ONE_KILO)))
    signals = [np.array(part) for part in wrench_signals(move)]
    bad = np.arange(55, 65)  # inside a block: one that starts with them would be shorter
    for k, s in enumerate(bad):
        signals[k % 5][s, k % 3] = np.nan if k % 2 else np.inf
    stream, without = wrench_stream(arm), wrench_stream(arm)
    stream.update_many(move.time, *signals)
    keep = np.setdiff1d(np.arange(len(move.time)), bad)
    without.update_many(move.time[keep], *(part[keep] for part in wrench_signals(move)))
    assert (stream.skipped, without.skipped) == (10, 0)
    assert np.allclose(stream.estimate().phi, without.estimate().phi, rtol=0, atol=1e-9)


@every("size", (1.1e9, 1e100, 1e154, 1.7e308))
def test_samples_that_no_sensor_shows_are_left_out_and_counted(size):
    """A value above 1e9 in any signal: as if the sample had been dropped."""
    arm = StreamedArm(17)
    move = next(arm.moves(1.0, held(ONE_KILO)))
    stream, without = wrench_stream(arm), wrench_stream(arm)
    signals = [np.array(part) for part in wrench_signals(move)]
    bad = np.arange(55, 65)
    for k, s in enumerate(bad):
        signals[k % 5][s, k % 3] = size if k % 2 else -size
    stream.update_many(move.time, *signals)
    keep = np.setdiff1d(np.arange(len(move.time)), bad)
    without.update_many(move.time[keep], *(part[keep] for part in wrench_signals(move)))
    assert (stream.skipped, without.skipped) == (10, 0)
    assert np.allclose(stream.estimate().phi, without.estimate().phi, rtol=0, atol=1e-9)


def test_values_at_the_edge_of_what_is_taken_give_an_estimate_or_an_error():
    """Samples of 1e9 in all signals never end in an exception of arithmetic."""
    rng = np.random.default_rng(0)
    for sigma in (1e-12, 1.0, 1e12):
        stream = PayloadStream(FrameWrenches(force_sigma=sigma, torque_sigma=sigma))
        for k in range(300):
            stream.update(0.01 * k, *(1e9 * rng.choice([-1.0, 0.0, 1.0], (5, 3))))
            if k % 50 == 0:
                try:
                    stream.estimate()
                except SteelyardError as error:
                    assert "no physical payload" in str(error)  # noqa: PT017
        assert stream.skipped == 0


def test_bad_samples_are_refused():
    """Time that does not increase, and wrong shapes, are errors that say what is needed."""
    stream = PayloadStream(FrameWrenches())
    zero = np.zeros(3)
    with pytest.raises(EstimationError, match="there is no sample"):
        stream.estimate()
    stream.update(1.0, *5 * [zero])
    for time in (1.0, 0.9, np.nan, np.inf):
        with pytest.raises(SignalError, match=r"does not come after the last one, at 1\.0 s"):
            stream.update(time, *5 * [zero])
    with pytest.raises(SignalError, match=r"3 signals; needed are proper_acceleration \(3,\) m/s"):
        stream.update(1.1, zero, zero, zero)
    with pytest.raises(SignalError, match=r"has shape \(1,\); needed"):
        stream.update(1.1, zero, zero, zero, zero, np.zeros(1))
    with pytest.raises(SignalError, match=r"signal torque has shape \(2, 4\), not \(2, 3\)"):
        stream.update_many([1.1, 1.2], *4 * [np.zeros((2, 3))], np.zeros((2, 4)))
    with pytest.raises(SignalError, match="does not come after"):
        stream.update_many([1.1, 1.3, 1.2], *5 * [np.zeros((3, 3))])
    assert stream.time == 1.3
    stream.update(1.4, *5 * [zero])


@every("times", ((1.76e18, 1.76e18 + 1e6), (0.0, 1e308), (-1e308, 0.0)))
def test_times_that_are_not_seconds_are_refused(times):
    """Nanoseconds, and times so large that a block has no length, end in an error at once."""
    stream = PayloadStream(FrameWrenches())
    with pytest.raises(SignalError, match="give the time in seconds"):
        stream.update_many(times, *5 * [np.zeros((2, 3))])


def test_unix_time_and_a_jump_of_years_are_taken():
    """The seconds since 1970, and a jump that is many empty blocks long, are times as others."""
    stream = PayloadStream(FrameWrenches())
    stream.update_many([0.0, 0.001, 1.76e9, 1.76e9 + 0.001], *5 * [np.zeros((4, 3))])
    assert stream.time == 1.76e9 + 0.001
    assert stream.estimate().effective_samples == 2.0


def test_lists_and_integers_are_taken_as_arrays():
    """Lists, tuples and arrays of integers give what arrays of floats give."""
    sample = [[0, 0, 10], [0, 1, 0], [0, 0, 0], [1, 2, 20], [0, 0, 1]]
    kinds = (list, tuple, np.array, lambda part: np.array(part, dtype=np.float32))
    found = []
    for kind in (lambda part: np.array(part, dtype=float), *kinds):
        stream = PayloadStream(FrameWrenches())
        stream.update(np.float64(0.0), *map(kind, sample))
        stream.update(1, *map(kind, sample))
        found.append(stream.estimate().phi)
    assert all(np.array_equal(one, found[0]) for one in found)


def test_layout_of_an_array_does_not_matter():
    """Columns of a table, read-only and unaligned arrays are taken as they are, one by one."""
    rng = np.random.default_rng(3)
    table = rng.normal(size=(15, 200)) + np.repeat([0.0, 0.0, 10.0, 0.0, 0.0], 3)[:, None]
    bytes_ = np.zeros(8 * 3 + 1, dtype=np.uint8)
    unaligned = bytes_[1:].view(float)
    assert not unaligned.flags.aligned
    streams = [PayloadStream(FrameWrenches()) for _ in range(3)]
    for k in range(table.shape[1]):
        column = table[:, k].reshape(5, 3)
        read_only = np.array(column)
        read_only.flags.writeable = False
        unaligned[:] = column[4]
        streams[0].update(0.01 * k, *map(np.array, column))
        streams[1].update(0.01 * k, *(table[3 * i : 3 * i + 3, k] for i in range(5)))
        streams[2].update(0.01 * k, *read_only[:4], unaligned)
    first, *others = (stream.estimate().phi for stream in streams)
    assert all(np.array_equal(first, other) for other in others)


@every("time", (Fraction(1, 3), np.float32(0.25), np.int64(1), 1))
def test_time_may_be_any_real_number(time):
    """Fractions, integers and short floats are seconds, too; truth values are not."""
    stream = PayloadStream(FrameWrenches())
    stream.update(time, *5 * [np.zeros(3)])
    assert stream.time == float(time)
    with pytest.raises(SignalError, match="a number of seconds is needed"):
        stream.update(True, *5 * [np.zeros(3)])


@every("wrong", (["a", "b", "c"], "abc", None, [None] * 3, [1j, 0, 0], np.zeros(3, complex)))
def test_what_is_not_real_numbers_is_refused(wrong):
    """Text, complex numbers and nothing, one by one and many at once."""
    stream = PayloadStream(FrameWrenches())
    zero = np.zeros(3)
    with pytest.raises(SignalError, match="not real numbers; needed are proper_acc"):
        stream.update(0.0, *4 * [zero], wrong)
    with pytest.raises(SignalError, match=r"signal torque holds .*, not real numbers"):
        stream.update_many([0.0], *4 * [[zero]], [wrong])
    for time in ("x", None, 1j, [0.0]):
        with pytest.raises(SignalError, match="a number of seconds is needed"):
            stream.update(time, *5 * [zero])
    with pytest.raises(SignalError, match=r"time holds .*, not real numbers"):
        stream.update_many(["x"], *5 * [[zero]])
    with pytest.raises(SignalError, match="unequal rows"):
        stream.update(0.0, *4 * [zero], [0.0, [1.0, 2.0], 3.0])


def test_settings_are_checked():
    """Times and rates are positive, and the bias is not forgotten sooner than the body."""
    with pytest.raises(EstimationError, match="block_s is 0"):
        StreamSettings(block_s=0.0)
    for wrong in ("5", None, 5j, True):
        with pytest.raises(EstimationError, match=r"time_constant_s is .*; a positive number is"):
            StreamSettings(time_constant_s=wrong)
    for rare in (1e-12, 1e-320):
        PayloadStream(FrameWrenches(), StreamSettings(false_alarms_per_hour=rare))
    with pytest.raises(EstimationError, match="time_constant_s is nan"):
        StreamSettings(time_constant_s=np.nan)
    with pytest.raises(EstimationError, match="at least time_constant_s, 5 s"):
        StreamSettings(bias_time_constant_s=1.0)


def at_rest(n, wrench):
    """Time and signals of a sensor at rest with its z axis upward."""
    up = np.tile([0.0, 0.0, 9.81], (n, 1))
    zero = np.zeros((n, 3))
    return 0.002 * np.arange(n), up, zero, zero, wrench[:, :3], wrench[:, 3:]


@every("n_samples", (1, 2, 3))
def test_few_samples_determine_nothing(n_samples):
    """Weight and bias are the same thing at rest: the mass may be tens of kilograms."""
    stream = PayloadStream(FrameWrenches())
    wrench = np.tile([0.1, 0.2, 7.0, 0.01, 0.02, 0.03], (n_samples, 1))
    stream.update_many(*at_rest(n_samples, wrench))
    found = stream.estimate()
    assert 10.0 < found.mass_sigma < 60.0
    assert np.all(found.phi_sigma > 0.0)


@every("weight", (0.0, 24.5))
def test_readings_that_repeat_are_not_free_of_noise(weight):
    """Ten seconds of one and the same reading, zero or not: the weight may be bias."""
    stream = PayloadStream(FrameWrenches())
    changes = stream.update_many(
        *at_rest(5000, np.tile([0.0, 0.0, weight, 0.0, 0.0, 0.0], (5000, 1)))
    )
    assert changes == ()
    assert 10.0 < stream.estimate().mass_sigma < 60.0


@every("share", (0.01, 0.1, 1.0, 30.0))
def test_sigma_follows_the_noise_and_not_what_was_stated(share):
    """The stated noise may be wrong: errors of the mass are as large as its sigma says."""
    rng = np.random.default_rng(7)
    arm = StreamedArm(19)
    errors = []
    for move in arm.moves(8.0, held(ONE_KILO)):
        noise = share * WRENCH_SIGMA * rng.standard_normal(move.wrench.shape)
        motion = frame_motion(arm.model, TOOL, move.q, move.v, move.a)
        wrench = body_wrench(ONE_KILO, *motion) + noise
        stream = PayloadStream(FrameWrenches())
        stream.update_many(move.time, *motion, wrench[:, :3], wrench[:, 3:])
        found = stream.estimate()
        errors.append((found.phi[:4] - ONE_KILO[:4]) / found.phi_sigma[:4])
    assert 0.3 < np.sqrt(np.mean(np.square(errors))) < 1.6


def test_a_wrench_of_the_wrong_sign_is_doubted():
    """The force by the body on the sensor gives a negative mass, which the snapshot says."""
    arm = StreamedArm(20)
    right, flipped, empty = wrench_stream(arm), wrench_stream(arm), wrench_stream(arm)
    for move in arm.moves(4.0, held(ONE_KILO)):
        q, v, a, force, torque = wrench_signals(move)
        right.update_many(move.time, q, v, a, force, torque)
        flipped.update_many(move.time, q, v, a, -force, -torque)
    for move in StreamedArm(21).moves(4.0, held(NOTHING)):
        empty.update_many(move.time, *wrench_signals(move))
    assert right.estimate().doubt is None
    assert empty.estimate().doubt is None
    doubt = flipped.estimate().doubt
    assert doubt.code == "negative-mass"
    assert "frame 'tool' gives a mass of -0.999 kg" in doubt.words
    assert "doubted: negative-mass" in repr(flipped.estimate())


@pytest.mark.parametrize(("which", "length"), [(2, 1), (3, 2), (4, 3)])
def test_a_glitch_is_left_out_and_counted(which, length):
    """1000 N, 1000 N m or an acceleration of 1e8 in up to three samples: no change, the same
    estimate.
    """
    arm = StreamedArm(22)
    stream, without = wrench_stream(arm), wrench_stream(arm)
    bad = slice(57, 57 + length)
    for k, move in enumerate(arm.moves(9.0, held(ONE_KILO))):
        signals = [np.array(part) for part in wrench_signals(move)]
        keep = np.ones(len(move.time), dtype=bool)
        keep[bad] = False
        if k > 0:
            signals[which][bad, 0] += 1e8 if which == 2 else 1000.0
        assert stream.update_many(move.time, *signals) == ()
        without.update_many(move.time[keep], *(part[keep] for part in wrench_signals(move)))
    assert stream.watching
    assert stream.skipped == stream.glitches == k * length
    assert without.glitches == 0
    assert np.allclose(stream.estimate().phi, without.estimate().phi, rtol=0, atol=1e-4)


def test_a_large_change_is_no_glitch():
    """Of a body of 12 kg that is picked up, only the first three samples are left out."""
    arm = StreamedArm(23)
    stream, changes = wrench_stream(arm), ()
    for move in arm.moves(9.0, picked_up(NOTHING, 12.0 * ONE_KILO, 7.0)):
        changes += stream.update_many(move.time, *wrench_signals(move))
    assert len(changes) == 1
    assert abs(changes[0].mass_after - 12.0) < 4.0 * changes[0].sigma < 1.0
    assert stream.skipped == stream.glitches <= 4


def test_dropped_samples_and_long_gaps_are_fine():
    """Half of the samples, and a pause of a minute, leave the estimate right."""
    arm = StreamedArm(18)
    stream, rng = wrench_stream(arm), np.random.default_rng(0)
    for k, move in enumerate(arm.moves(20.0, held(ONE_KILO))):
        keep = rng.random(len(move.time)) < 0.5
        time = move.time[keep] + (60.0 if k > 5 else 0.0)
        assert stream.update_many(time, *(part[keep] for part in wrench_signals(move))) == ()
        found = stream.estimate()
        assert not violations(found.phi, "payload")
    assert abs(found.body.mass - 1.0) < 4.0 * found.mass_sigma < 0.02
