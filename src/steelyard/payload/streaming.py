"""Weighing a payload sample by sample, in a control loop: what does the gripper hold now?

    stream = PayloadStream(RobotWrenches(model, "tool"))
    ...
    change = stream.update(time, q, v, a, force, torque)     # in every cycle
    now = stream.estimate()                                  # whenever it is needed

The samples of the last ``time_constant_s`` are kept as a triangular factor of fixed size. They go
through short blocks of ``block_s``; a block becomes part of the reference when it is
`DELAY_BLOCKS` blocks old. A change of the payload is a recent window of blocks that another body
explains much better than the reference's body does, with the same bias (a generalised likelihood
ratio; see `steelyard.payload._change_test` for its threshold). After a change, the reference keeps
what it says of the bias and forgets the body.

Forgetting: what is known of the body, given the bias, is forgotten with ``time_constant_s``; what
is known of the bias with the longer ``bias_time_constant_s``. A robot that stands still cannot
distinguish weight from bias. The bias that it found while it moved is then kept, so that a body
that is picked up at rest is weighed correctly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import exp

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import EstimationError, SignalError, listed
from steelyard.payload._change_test import ChangeTest
from steelyard.payload._stream_body import N_BODY, FreeFit, com_sigma, free_fit, physical_fit
from steelyard.payload.stream_sources import Signal, StreamSource
from steelyard.robot.principal_body import PrincipalBody

Array = NDArray[np.float64]
WINDOW_BLOCKS = (2, 8)
"""Lengths, in blocks, of the windows in which a change is looked for."""
CONFIRM_BLOCKS = 4
"""Blocks after the first sign of a change until it is reported, with the new mass."""
DELAY_BLOCKS = WINDOW_BLOCKS[-1] + CONFIRM_BLOCKS
SETTLING_BLOCKS = 20
"""Blocks that the reference needs before a change from it can be seen."""


@dataclass(frozen=True)
class StreamSettings:
    """How a payload stream remembers and decides.

    time_constant_s : with which samples are forgotten; older ones weigh exp(-age / time constant).
    bias_time_constant_s : the same for the bias of the channels; as long as it may be taken as
        constant. Equal to time_constant_s, this is least squares with exponential weights.
    block_s : length of a block. Changes are looked for at the end of each; a change is reported
        within about six blocks.
    false_alarms_per_hour : that the threshold is made for.
    learning_s : how long the noise is watched before the first change can be reported.
    """

    time_constant_s: float = 5.0
    bias_time_constant_s: float = 600.0
    block_s: float = 0.05
    false_alarms_per_hour: float = 0.1
    learning_s: float = 5.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not (np.isfinite(value) and value > 0.0):
                raise EstimationError(f"{field.name} is {value}; a positive number is needed")
        if self.bias_time_constant_s < self.time_constant_s:
            raise EstimationError(
                f"bias_time_constant_s is {self.bias_time_constant_s:g} s; it must be at least "
                f"time_constant_s, {self.time_constant_s:g} s"
            )


@dataclass(frozen=True, eq=False)
class PayloadSnapshot:
    """The payload at one time.

    time : s, of the last sample. body : physical, in the axes of ``frame``; phi : its ten
    parameters (10,).
    mass_sigma : kg. com_sigma : (3,) m. phi_sigma : (10,). Standard deviations without the
        conditions that a body is physical, autocorrelation of the residuals included. A large one
        says that the motion has not determined the value yet; what it says nothing about is near
        a sphere of water.
    effective_samples : number of samples, each counted with its weight.
    bias : (n_channels,) of the channels, N m or N.
    """

    time: float
    frame: str
    body: PrincipalBody
    phi: Array
    mass_sigma: float
    com_sigma: Array
    phi_sigma: Array
    effective_samples: float
    bias: Array

    def __repr__(self) -> str:
        mass = f"{self.body.mass:.4g} kg (sigma {self.mass_sigma:.2g})"
        return f"<PayloadSnapshot at '{self.frame}', {self.time:.3f} s: {mass}>"


@dataclass(frozen=True)
class PayloadChange:
    """A change of the payload.

    time : s, when it happened, to about a block. reported : s, when this was known.
    mass_before, mass_after : kg. sigma : kg, standard deviation of their difference.
    statistic, threshold : that were compared.
    """

    time: float
    reported: float
    mass_before: float
    mass_after: float
    sigma: float
    statistic: float
    threshold: float

    @property
    def mass_change(self) -> float:
        """kg, positive when something was picked up."""
        return self.mass_after - self.mass_before


class PayloadStream:
    """The payload on a robot, from samples as they come. It changes with every update.

    All arrays have a fixed size; streams share nothing, so that several can run side by side. One
    stream is for one thread.
    """

    def __init__(self, source: StreamSource, settings: StreamSettings | None = None) -> None:
        self.source = source
        self.settings = settings or StreamSettings()
        self._absorb = source.absorber()
        self._signals = source.signals
        self._one = self._arrays(1)
        self._one_time = np.zeros(1)
        self._slots = tuple(
            (self._one[signal.array][0, signal.start : signal.stop], (signal.width,))
            for signal in self._signals
        )
        n = N_BODY + len(source.channels) + 1
        self._clock = np.array([-np.inf, -np.inf])
        self._counts = np.zeros(2, dtype=np.int64)
        self._block = np.zeros((n, n))
        self._reference = np.zeros((n, n))
        self._reference_time = np.nan
        self._reference_blocks = 0
        self._reference_samples = 0.0
        self._ring = np.zeros((DELAY_BLOCKS, n, n))
        self._ring_ends = np.zeros(DELAY_BLOCKS)
        self._ring_samples = np.zeros(DELAY_BLOCKS)
        self._n_ring = 0
        self._newest = -1
        self._windows = np.array(WINDOW_BLOCKS, dtype=np.int64)
        self._statistics = np.zeros(len(WINDOW_BLOCKS))
        self._scratch = (np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n)), np.zeros(n))
        block_s = self.settings.block_s
        self._test = ChangeTest(
            self._windows * block_s, block_s, self.settings.false_alarms_per_hour
        )
        self._blocks_since_sign = 0
        self._last_change: PayloadChange | None = None
        self._compile()

    @property
    def time(self) -> float:
        """Time (s) of the last sample; minus infinity before the first."""
        return float(self._clock[0])

    @property
    def skipped(self) -> int:
        """Number of samples that were left out, since a value was not finite."""
        return int(self._counts[1])

    @property
    def watching(self) -> bool:
        """Whether a change would be reported: the noise is known and the reference is there."""
        learnt = self._test.watched_s >= self.settings.learning_s
        return learnt and self._reference_blocks >= SETTLING_BLOCKS

    @property
    def last_change(self) -> PayloadChange | None:
        """The last change of the payload that was reported."""
        return self._last_change

    def update(self, time: float, *signals: Array) -> PayloadChange | None:
        """Take one sample; returns a change of the payload when one is found.

        time : s, after that of the last sample. signals : arrays (width,) of floats, in the order
        of ``source.signals``. A sample with a value that is not finite is left out and counted.
        """
        slots = self._slots
        if len(signals) != len(slots):
            raise SignalError(f"a sample has {len(signals)} signals; {self._needed()}")
        for (slot, shape), signal in zip(slots, signals):
            if signal.shape != shape:
                raise SignalError(
                    f"a signal of the sample at {time} s has shape {signal.shape}; {self._needed()}"
                )
            slot[:] = signal
        self._one_time[0] = time
        taken, _ = self._absorb(
            self._one_time, self._one, 0, self._clock, self._counts, self._block
        )
        if taken:
            return None
        changes = self._take(self._one_time, self._one)
        return changes[0] if changes else None

    def update_many(self, time: ArrayLike, *signals: ArrayLike) -> tuple[PayloadChange, ...]:
        """Take several samples, time (n_samples,) s and signals (n_samples, width).

        The same as `update` for each of them, and quicker.
        """
        times = np.ascontiguousarray(time, dtype=float)
        if times.ndim != 1 or len(signals) != len(self._signals):
            raise SignalError(
                f"time has shape {times.shape} and there are {len(signals)} signals; "
                f"{self._needed()}, each (n_samples, width)"
            )
        arrays = self._arrays(len(times))
        for signal, values in zip(self._signals, signals, strict=True):
            given = np.asarray(values, dtype=float)
            if given.shape != (len(times), signal.width):
                raise SignalError(
                    f"signal {signal.name} has shape {given.shape}, not "
                    f"{(len(times), signal.width)}"
                )
            arrays[signal.array][:, signal.start : signal.stop] = given
        return tuple(self._take(times, arrays))

    def estimate(self) -> PayloadSnapshot:
        """The payload now."""
        whole, samples = self._whole()
        if samples <= 0.0:
            raise EstimationError(
                "there is no sample to estimate a payload from: "
                f"{self.skipped} were left out since a value was not finite"
            )
        fit = free_fit(whole, self.source.sigma)
        body = physical_fit(fit)
        phi = body.phi
        variance = self._variance(whole, samples)
        covariance = variance * self._test.inflation(variance) * fit.covariance
        return PayloadSnapshot(
            time=self.time,
            frame=self.source.frame,
            body=body,
            phi=phi,
            mass_sigma=float(np.sqrt(covariance[0, 0])),
            com_sigma=com_sigma(phi, covariance),
            phi_sigma=np.sqrt(np.diag(covariance)),
            effective_samples=samples,
            bias=fit.bias_with(phi),
        )

    def _compile(self) -> None:
        """Have the loops compiled here: it takes seconds, which no control loop has."""
        nothing = np.zeros(0), self._arrays(0)
        self._absorb(*nothing, 0, self._clock, self._counts, self._block)
        self._folded(self._block, np.nan, 0.0, self._block, 0.0, 0.0)
        self._compare()

    def _take(self, time: Array, arrays: Sequence[Array]) -> list[PayloadChange]:
        changes: list[PayloadChange] = []
        begin = 0
        while True:
            begin, failed = self._absorb(
                time, arrays, begin, self._clock, self._counts, self._block
            )
            if failed or (begin < len(time) and not np.isfinite(time[begin])):
                raise SignalError(
                    f"the sample at {time[begin]} s does not come after the last one, at "
                    f"{self.time} s; give samples in the order of time"
                )
            if begin == len(time):
                return changes
            change = self._end_block(float(time[begin]))
            if change is not None:
                changes.append(change)

    def _end_block(self, next_time: float) -> PayloadChange | None:
        """Put the block into the ring, look for a change, and start a block at ``next_time``."""
        change = None
        if self._counts[0] > 0:
            self._push()
            if self._n_ring == DELAY_BLOCKS:
                change = self._look()
        self._block[:] = 0.0
        self._counts[0] = 0
        self._clock[1] = next_time + self.settings.block_s
        return change

    def _push(self) -> None:
        if self._n_ring == DELAY_BLOCKS:
            oldest = (self._newest + 1) % DELAY_BLOCKS
            self._reference_samples = self._folded(
                self._reference,
                self._reference_time,
                self._reference_samples,
                self._ring[oldest],
                self._ring_ends[oldest],
                self._ring_samples[oldest],
            )
            self._reference_time = self._ring_ends[oldest]
            self._reference_blocks += 1
            self._n_ring -= 1
        self._newest = (self._newest + 1) % DELAY_BLOCKS
        self._ring[self._newest] = self._block
        self._ring_ends[self._newest] = self._clock[0]
        self._ring_samples[self._newest] = self._counts[0]
        self._n_ring += 1

    def _folded(
        self, S: Array, time: float, samples: float, block: Array, end: float, n_samples: float
    ) -> float:
        """Make S, as it was at ``time``, forget until ``end`` and take in a block; new samples."""
        from steelyard.payload._stream_loops import fold, forget

        passed = max(end - time, 0.0) if np.isfinite(time) else 0.0
        keep = exp(-0.5 * passed / self.settings.time_constant_s)
        forget(S, keep, exp(-0.5 * passed / self.settings.bias_time_constant_s))
        _, _, copy, work = self._scratch
        copy[:] = block
        fold(S, copy, len(S), True, work)
        return samples * keep * keep + n_samples

    def _ages(self) -> list[int]:
        """Indices of the blocks in the ring, the oldest first."""
        return [(self._newest - k) % DELAY_BLOCKS for k in reversed(range(self._n_ring))]

    def _whole(self) -> tuple[Array, float]:
        """The factor of all samples up to now, and how many they are by their weights."""
        S, time, samples = self._reference.copy(), self._reference_time, self._reference_samples
        for k in self._ages():
            samples = self._folded(
                S, time, samples, self._ring[k], self._ring_ends[k], self._ring_samples[k]
            )
            time = self._ring_ends[k]
        if self._counts[0]:
            samples = self._folded(S, time, samples, self._block, self.time, float(self._counts[0]))
        return S, samples

    def _variance(self, S: Array, samples: float) -> float:
        """Variance of the residual, in units of that of one sample's noise."""
        rows = samples * len(self.source.channels)
        return float(S[-1, -1] ** 2) / max(rows - (len(S) - 1), 1.0)

    def _look(self) -> PayloadChange | None:
        """Compare the newest blocks with the reference, and decide."""
        if self._reference_blocks < SETTLING_BLOCKS:
            return None
        self._compare()
        variance = self._variance(self._reference, self._reference_samples)
        thresholds = self._test.thresholds(variance)
        above = self._statistics > thresholds
        if self._blocks_since_sign:
            self._blocks_since_sign += 1
            if self._blocks_since_sign <= CONFIRM_BLOCKS:
                return None
            self._blocks_since_sign = 0
            return self._changed(thresholds) if above.any() else None
        if above.any() and self.watching:
            self._blocks_since_sign = 1
            return None
        self._test.watch(self._statistics, thresholds, self.settings.block_s)
        return None

    def _compare(self) -> None:
        """The statistics of change of the newest blocks."""
        from steelyard.payload._stream_loops import change_statistics

        window, together, copy, work = self._scratch
        change_statistics(
            self._reference, self._ring, self._newest, self._windows, window, together, copy,
            work, self._statistics,
        )  # fmt: skip

    def _changed(self, thresholds: Array) -> PayloadChange:
        """Find the time of the change, and forget the body from before it."""
        ages = self._ages()
        before, after, first = self._split(ages)
        variance = self._variance(self._reference, self._reference_samples)
        scale = variance * self._test.inflation(variance)
        old, new = (free_fit(S, self.source.sigma) for S in (before, after))
        worst = int(np.argmax(self._statistics / thresholds))
        change = PayloadChange(
            time=float(self._ring_ends[ages[first - 1]]),
            reported=self.time,
            mass_before=float(old.phi[0]),
            mass_after=float(new.phi[0]),
            sigma=_sigma_of_difference(old, new, scale),
            statistic=float(self._statistics[worst]),
            threshold=float(thresholds[worst]),
        )
        self._last_change = change
        self._reference[:] = _bias_only(before)
        self._reference_blocks = 0
        self._reference_samples = 0.0
        self._reference_time = self._ring_ends[ages[first]]
        self._n_ring = len(ages) - first - 1
        return change

    def _split(self, ages: Sequence[int]) -> tuple[Array, Array, int]:
        """Factors before and after the most likely time of change, and the first block after it.

        The block that holds the change is in neither: the one before the first after the change,
        and the first after it.
        """
        from steelyard.payload._stream_loops import fold, gain_of_two_bodies

        _, together, copy, work = self._scratch
        n = len(self._block)
        afters = np.zeros((len(ages) + 1, n, n))
        for k in reversed(range(len(ages))):
            afters[k] = afters[k + 1]
            copy[:] = self._ring[ages[k]]
            fold(afters[k], copy, n, True, work)
        befores = [self._reference.copy()]
        for k in ages[:-1]:
            S = befores[-1].copy()
            copy[:] = self._ring[k]
            fold(S, copy, n, True, work)
            befores.append(S)
        gains = [
            gain_of_two_bodies(befores[k], afters[k], together, copy, work)
            for k in range(1, len(ages) - 1)
        ]
        first = 1 + int(np.argmax(gains))
        before, after = befores[first - 1], _bias_only(befores[first - 1])
        copy[:] = afters[first + 1]
        fold(after, copy, n, True, work)
        return before, after, first

    def _arrays(self, n_samples: int) -> tuple[Array, ...]:
        widths: dict[int, int] = {}
        for signal in self._signals:
            widths[signal.array] = max(widths.get(signal.array, 0), signal.stop)
        return tuple(np.zeros((n_samples, widths[k])) for k in range(len(widths)))

    def _needed(self) -> str:
        return "needed are " + listed(_words(signal) for signal in self._signals)


def _bias_only(S: Array) -> Array:
    """What a factor says of the bias, the body being free; without its residual."""
    out = S.copy()
    out[:N_BODY] = 0.0
    out[-1] = 0.0
    return out


def _sigma_of_difference(old: FreeFit, new: FreeFit, scale: float) -> float:
    return float(np.sqrt(scale * (old.covariance[0, 0] + new.covariance[0, 0])))


def _words(signal: Signal) -> str:
    return f"{signal.name} ({signal.width},) {signal.unit}"
