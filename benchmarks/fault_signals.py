"""Faults of single signals: values that a sensor, a drive or a recorder got wrong.

Each function is a fault as `fault_codes` defines it; ``KINDS`` gives them their sizes and says what
the user did.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from fault_codes import FaultKind, Given, given, late, one_joint, rows_of, with_column
from fault_recordings import Recording

from steelyard.robot.parts import Limits

SLIPS = 20
"""Slips and jumps of an encoder in one log."""
JUMP_ROWS = 5
"""Samples after which an encoder that jumped is right again."""
GEAR, COUNTS_PER_RAD, TURNS_PER_RAD = 100.0, 4096 / (2 * np.pi), 1 / (2 * np.pi)


def position_outliers(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """4 samples of 253 rad or more, or 40 samples that are off by less than that."""
    joint = one_joint(clean, rng)
    rows = rng.choice(len(clean.time), size=4 if size > 100.0 else 40, replace=False)
    q = clean.q.copy()
    q[rows, joint] = size if size > 100.0 else q[rows, joint] + size
    return given(clean, q=q)


def torque_spikes(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """30 single samples of one torque are off by ± size."""
    joint = one_joint(clean, rng)
    rows = rng.choice(len(clean.time), size=30, replace=False)
    tau = clean.tau.copy()
    tau[rows, joint] += size * rng.choice([-1.0, 1.0], size=30)
    return given(clean, tau=tau)


def huge_positions(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """A share ``size`` of one joint's positions is 1e300."""
    joint = one_joint(clean, rng)
    rows = rng.choice(len(clean.time), size=round(size * len(clean.time)), replace=False)
    q = clean.q.copy()
    q[rows, joint] = 1e300
    return given(clean, q=q)


def encoder_slips(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """Steps of ± size in one joint's position, which stay."""
    joint = one_joint(clean, rng)
    steps = np.zeros(len(clean.time))
    rows = rng.choice(np.arange(1, len(steps)), size=SLIPS, replace=False)
    steps[rows] = size * rng.choice([-1.0, 1.0], size=SLIPS)
    return given(clean, q=with_column(clean.q, joint, clean.q[:, joint] + np.cumsum(steps)))


def encoder_jumps(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """Steps of ± size in one joint's position, each taken back after a few samples."""
    joint = one_joint(clean, rng)
    column = clean.q[:, joint].copy()
    for row in rng.choice(len(column) - JUMP_ROWS, size=SLIPS, replace=False):
        column[row : row + JUMP_ROWS] += size * rng.choice([-1.0, 1.0])
    return given(clean, q=with_column(clean.q, joint, column))


def torque_clipped(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """One torque saturates at a share ``size`` of its largest."""
    joint = one_joint(clean, rng)
    return given(clean, tau=with_column(clean.tau, joint, clipped(clean.tau[:, joint], size)))


def position_clipped(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """One position saturates at a share ``size`` of its range to either side of the middle."""
    joint = one_joint(clean, rng)
    column = clean.q[:, joint]
    middle = 0.5 * (column.min() + column.max())
    return given(clean, q=with_column(clean.q, joint, middle + clipped(column - middle, size)))


def clipped(column: np.ndarray, share: float) -> np.ndarray:
    """The column cut off at this share of its largest size."""
    end = share * np.abs(column).max()
    return np.clip(column, -end, end)


def torque_frozen(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """One torque keeps its value for ``size`` seconds."""
    joint = one_joint(clean, rng)
    column = frozen(clean, clean.tau[:, joint], rng, size)
    return given(clean, tau=with_column(clean.tau, joint, column))


def position_frozen(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """One position keeps its value for ``size`` seconds."""
    joint = one_joint(clean, rng)
    return given(clean, q=with_column(clean.q, joint, frozen(clean, clean.q[:, joint], rng, size)))


def frozen(
    clean: Recording, column: np.ndarray, rng: np.random.Generator, seconds: float
) -> np.ndarray:
    """The column standing still for this time, from a row that is drawn."""
    n = rows_of(clean, seconds)
    start = int(rng.integers(len(column) - n))
    out = column.copy()
    out[start : start + n] = out[start]
    return out


def positions_held(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """All positions are updated only every ``size`` rows."""
    return given(clean, q=held(clean.q, size))


def torques_held(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """All torques are updated only every ``size`` rows."""
    return given(clean, tau=held(clean.tau, size))


def held(table: np.ndarray, rows: float) -> np.ndarray:
    """Each row the first of its group of ``rows``."""
    every = int(rows)
    return table[(np.arange(len(table)) // every) * every]


def rows_repeated(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """A share ``size`` of the rows repeats the row before, under a new time stamp."""
    row = np.arange(len(clean.time))
    lost = rng.random(len(row)) < size
    lost[0] = False
    row = np.maximum.accumulate(np.where(lost, 0, row))
    return given(clean, q=clean.q[row], tau=clean.tau[row])


def positions_quantised(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """All positions are rounded to multiples of ``size``."""
    return given(clean, q=np.round(clean.q / size) * size)


def torques_quantised(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """All torques are rounded to multiples of ``size``."""
    return given(clean, tau=np.round(clean.tau / size) * size)


def torque_dead(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """One torque is zero in the last share ``size`` of the log."""
    joint = one_joint(clean, rng)
    return given(clean, tau=with_column(clean.tau, joint, dead(clean.tau[:, joint], size)))


def position_dead(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """One position is zero in the last share ``size`` of the log."""
    joint = one_joint(clean, rng)
    return given(clean, q=with_column(clean.q, joint, dead(clean.q[:, joint], size)))


def dead(column: np.ndarray, share: float) -> np.ndarray:
    """The column with zeros in its last share."""
    out = column.copy()
    out[round((1.0 - share) * len(column)) :] = 0.0
    return out


def samples_missing(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """A share ``size`` of one torque is NaN, in bursts of a tenth of a second."""
    joint = one_joint(clean, rng)
    n = rows_of(clean, 0.1)
    gone = np.repeat(rng.random(len(clean.time) // n + 1) < size, n)[: len(clean.time)]
    return given(
        clean, tau=with_column(clean.tau, joint, np.where(gone, np.nan, clean.tau[:, joint]))
    )


def torque_copied(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """The torque of one joint stands in the column of another, too."""
    source, target = rng.choice(clean.q.shape[1], size=2, replace=False)
    return given(clean, tau=with_column(clean.tau, int(target), clean.tau[:, int(source)]))


def torque_unsigned(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """Sizes of torques without sign: of one joint (size 1), or of all (size 2)."""
    joint = one_joint(clean, rng)
    if size > 1.0:
        return given(clean, tau=np.abs(clean.tau))
    return given(clean, tau=with_column(clean.tau, joint, np.abs(clean.tau[:, joint])))


def torque_drift(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """The zero of one torque drifts evenly, in the whole log by ``size`` times its rms."""
    joint = one_joint(clean, rng)
    column = clean.tau[:, joint]
    drift = size * np.sqrt(np.mean(column**2)) * np.linspace(0.0, 1.0, len(column))
    return given(clean, tau=with_column(clean.tau, joint, column + drift))


def degrees(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """All positions in degrees, with a file that states limits (size 1) or none (size 2)."""
    robot = clean.robot
    if size > 1.0:
        robot = replace(
            robot, joints=tuple(replace(joint, limits=Limits()) for joint in robot.joints)
        )
    return Given(robot, clean.log(q=np.degrees(clean.q)))


def degrees_of_one(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """Positions of one joint in degrees."""
    joint = one_joint(clean, rng)
    return given(clean, q=with_column(clean.q, joint, np.degrees(clean.q[:, joint])))


def positions_scaled(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """All positions multiplied by ``size``."""
    return given(clean, q=size * clean.q)


def velocity_late(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """Velocities are recorded too, ``size`` seconds late."""
    return given(clean, v=late(clean.v, rows_of(clean, size)))


def velocity_scaled(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """Velocities are recorded too, multiplied by ``size``."""
    return given(clean, v=size * clean.v)


KINDS = (
    FaultKind(
        "position-outliers",
        "Kept rows in which the bus delivered garbage for one encoder.",
        ("outliers",),
        position_outliers,
        (253.0, 0.5),
        "rad",
    ),
    FaultKind(
        "torque-spikes",
        "Kept single wild samples of a torque sensor with a loose cable.",
        ("outliers",),
        torque_spikes,
        (500.0, 100.0),
        "N m",
    ),
    FaultKind(
        "huge-positions",
        "Took a driver's code for 'no value' (1e300) for positions.",
        ("outliers",),
        huge_positions,
        (0.5, 0.01),
        "share of samples",
    ),
    FaultKind(
        "encoder-slips",
        "Recorded with an encoder that loses counts, and keeps what it lost.",
        ("slips",),
        encoder_slips,
        (0.037, 0.3, 3.5),
        "rad",
    ),
    FaultKind(
        "encoder-jumps",
        "Recorded with an encoder that jumps and finds its place again.",
        ("slips", "outliers"),
        encoder_jumps,
        (0.037, 0.3),
        "rad",
    ),
    FaultKind(
        "torque-clipped",
        "Set the range of a torque channel too small.",
        ("clipping",),
        torque_clipped,
        (0.4, 0.7),
        "share of the largest",
    ),
    FaultKind(
        "position-clipped",
        "Recorded an encoder beyond the range of its channel.",
        ("clipping",),
        position_clipped,
        (0.5, 0.8),
        "share of the range",
    ),
    FaultKind(
        "torque-frozen",
        "Did not notice that one torque stopped being updated.",
        ("frozen", "held-samples", "dead-channel"),
        torque_frozen,
        (10.0, 2.0),
        "s",
    ),
    FaultKind(
        "position-frozen",
        "Did not notice that one position stopped being updated.",
        ("frozen", "held-samples", "dead-channel"),
        position_frozen,
        (10.0, 2.0),
        "s",
    ),
    FaultKind(
        "positions-held",
        "Wrote positions of a slow bus into a fast log, without interpolation.",
        ("held-samples",),
        positions_held,
        (10.0, 25.0),
        "rows",
    ),
    FaultKind(
        "torques-held",
        "Wrote torques of a slow bus into a fast log, without interpolation.",
        ("held-samples",),
        torques_held,
        (10.0, 50.0),
        "rows",
    ),
    FaultKind(
        "rows-repeated",
        "Logged the last known state whenever a message was lost.",
        ("held-samples", "dropped-rows"),
        rows_repeated,
        (0.1, 0.5),
        "share of rows",
    ),
    FaultKind(
        "positions-quantised",
        "Exported positions with two decimals, or fewer.",
        ("quantised",),
        positions_quantised,
        (0.01, 0.05),
        "rad",
    ),
    FaultKind(
        "torques-quantised",
        "Exported torques as whole numbers.",
        ("quantised",),
        torques_quantised,
        (1.0, 5.0),
        "N m",
    ),
    FaultKind(
        "torque-dead",
        "Did not notice that a torque channel died, or was never connected.",
        ("dead-channel", "constant-torque", "frozen"),
        torque_dead,
        (0.5, 1.0),
        "share of the log",
        ("never changes", "is zero in all"),
    ),
    FaultKind(
        "position-dead",
        "Did not notice that a position channel died, or was never connected.",
        ("dead-channel", "frozen"),
        position_dead,
        (0.5, 1.0),
        "share of the log",
        ("never moves", "does not move"),
    ),
    FaultKind(
        "samples-missing",
        "Recorded a torque channel with dropouts.",
        ("missing-samples", "dead-channel"),
        samples_missing,
        (0.3, 0.8),
        "share of samples",
    ),
    FaultKind(
        "torque-copied",
        "Exported the same torque twice, under the names of two joints.",
        ("copied-channel",),
        torque_copied,
    ),
    FaultKind(
        "torque-unsigned",
        "Recorded sizes of torques (or of currents) without their sign.",
        ("unsigned-torque",),
        torque_unsigned,
        (1.0, 2.0),
        "1: one joint, 2: all",
    ),
    FaultKind(
        "torque-drift",
        "Recorded before a torque sensor had warmed up.",
        ("torque-drift",),
        torque_drift,
        (0.5, 2.0),
        "of the torque's rms",
    ),
    FaultKind(
        "degrees",
        "Recorded positions in degrees without saying so.",
        ("position-unit", "beyond-limits"),
        degrees,
        (1.0, 2.0),
        "1: file with limits, 2: without",
    ),
    FaultKind(
        "degrees-of-one-joint",
        "Recorded one joint's position in degrees.",
        ("position-unit", "beyond-limits"),
        degrees_of_one,
    ),
    FaultKind(
        "positions-scaled",
        "Recorded positions of the motors before the gears, encoder counts, or turns.",
        ("position-unit", "beyond-limits"),
        positions_scaled,
        (GEAR, COUNTS_PER_RAD, TURNS_PER_RAD),
        "times",
    ),
    FaultKind(
        "velocity-late",
        "Recorded the drive's velocity, which its filter delays.",
        ("velocity-lags",),
        velocity_late,
        (0.01, 0.04),
        "s",
    ),
    FaultKind(
        "velocity-scaled",
        "Recorded velocities in degrees per second, in turns per minute, or with the wrong sign.",
        ("velocity-factor",),
        velocity_scaled,
        (180 / np.pi, 30 / np.pi, -1.0),
        "times",
    ),
)
