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
from numbers import Real
from operator import gt
from typing import Any

import numpy as np
from numpy import ndarray
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import EstimationError, SignalError, listed
from steelyard.findings import Finding
from steelyard.payload._block_memory import BlockMemory, ChangeFound, noise_variance
from steelyard.payload._change_test import ChangeTest
from steelyard.payload._stream_body import (
    com_sigma,
    compile_fit,
    free_fit,
    mass_change,
    physical_fit,
    weak_prior,
)
from steelyard.payload.stream_results import PayloadChange, PayloadSnapshot
from steelyard.payload.stream_sources import Signal, StreamSource

Array = NDArray[np.float64]
FLOAT = np.dtype(np.float64)
FLOATS = (float, np.float64)
WINDOW_BLOCKS = (2, 8)
"""Lengths, in blocks, of the windows in which a change is looked for."""
CONFIRM_BLOCKS = 4
"""Blocks after the first sign of a change until it is reported, with the new mass."""
DELAY_BLOCKS = WINDOW_BLOCKS[-1] + CONFIRM_BLOCKS
SETTLED_BLOCKS = 2
"""Blocks with the new payload alone that a report waits for, as far as the ring reaches."""
UNDER_WAY = 0.6
"""Share of the threshold above which a change that was found is still under way."""
SETTLING_BLOCKS = 20
"""Blocks that the reference needs before a change from it can be seen."""

GLITCH = 50.0
"""Standard deviations beyond which a few samples in a row are left out."""
GATE_BLOCKS = 4
"""How often, in blocks, the gate for such samples is renewed."""
CERTAIN = 4.0
"""Standard deviations by which a mass must be negative to be doubted."""
ROUNDING = 0.1
"""How much of a block's length may be lost where it is added to a time."""


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
            number = isinstance(value, Real) and not isinstance(value, bool)
            if not (number and np.isfinite(value) and value > 0.0):
                raise EstimationError(f"{field.name} is {value!r}; a positive number is needed")
        if self.bias_time_constant_s < self.time_constant_s:
            raise EstimationError(
                f"bias_time_constant_s is {self.bias_time_constant_s:g} s; it must be at least "
                f"time_constant_s, {self.time_constant_s:g} s"
            )


class PayloadStream:
    """The payload on a robot, from samples as they come. It changes with every update.

    All arrays have a fixed size; streams share nothing, so that several can run side by side. One
    stream is for one thread.
    """

    def __init__(self, source: StreamSource, settings: StreamSettings | None = None) -> None:
        self.source = source
        self.settings = settings or StreamSettings()
        self._signals = source.signals
        self._shapes = tuple((signal.width,) for signal in self._signals)
        absorber = source.absorber()
        pool = absorber.pool
        self._take_one, self._take_many = absorber.one, absorber.many
        self._pool = pool.floats, pool.integers
        self._one_time = pool.views["time"]
        self._one = tuple(pool.views[name] for name in absorber.inputs)
        self._clock, self._counts = pool.views["clock"], pool.views["counts"]
        self._gate, self._block = pool.views["gate"], pool.views["block"]
        self._weak = weak_prior(source.sigma)
        n = len(self._block)
        chosen = self.settings
        self._memory = BlockMemory(
            n,
            DELAY_BLOCKS,
            WINDOW_BLOCKS,
            chosen.time_constant_s,
            chosen.bias_time_constant_s,
        )
        windows_s = [chosen.block_s * k for k in WINDOW_BLOCKS]
        self._test = ChangeTest(windows_s, chosen.block_s, chosen.false_alarms_per_hour)
        self._blocks_since_sign = 0
        self._blocks_to_gate = 0
        self._last_change: PayloadChange | None = None
        self._compile()

    @property
    def time(self) -> float:
        """Time (s) of the last sample; minus infinity before the first."""
        return float(self._clock[0])

    @property
    def skipped(self) -> int:
        """Number of samples that were left out: not finite, above 1e9, or a glitch."""
        return int(self._counts[1])

    @property
    def glitches(self) -> int:
        """Number of the samples that were left out since they were far from those around them.

        The first samples of a large change of the payload are among them.
        """
        return int(self._counts[3])

    @property
    def watching(self) -> bool:
        """Whether a change would be reported: the noise is known and the reference is there."""
        learnt = self._test.watched_s >= self.settings.learning_s
        return learnt and self._memory.reference_blocks >= SETTLING_BLOCKS

    @property
    def last_change(self) -> PayloadChange | None:
        """The last change of the payload that was reported."""
        return self._last_change

    def update(self, time: float, *signals: ArrayLike) -> PayloadChange | None:
        """Take one sample; returns a change of the payload when one is found.

        time : s, after that of the last sample. signals : arrays (width,) of numbers, in the order
        of ``source.signals``. A sample with a value that is not finite, or larger than any sensor
        shows (1e9 in SI units), is left out and counted, and so is a glitch: up to three samples
        in a row that are more than `GLITCH` standard deviations from what those before them say.
        """
        # floats and arrays of floats, the usual case in a control loop, need no conversion
        usual = type(time) in FLOATS and len(signals) == len(self._shapes)
        for signal, shape in zip(signals, self._shapes):
            if type(signal) is not ndarray or signal.dtype is not FLOAT or signal.shape != shape:
                usual = False
        sample = (time, *signals) if usual else self._sample(time, signals)
        if self._take_one(*sample, *self._pool):
            return None
        changes = self._take(self._one_time, self._one)
        return changes[0] if changes else None

    def update_many(self, time: ArrayLike, *signals: ArrayLike) -> tuple[PayloadChange, ...]:
        """Take several samples, time (n_samples,) s and signals (n_samples, width).

        The same as `update` for each of them, and quicker.
        """
        times = np.ascontiguousarray(self._numbers(time, "time"))
        if times.ndim != 1 or len(signals) != len(self._signals):
            raise SignalError(
                f"time has shape {times.shape} and there are {len(signals)} signals; "
                f"{self._needed()}, each (n_samples, width)"
            )
        arrays = self._arrays(len(times))
        for signal, values in zip(self._signals, signals, strict=True):
            given = self._numbers(values, f"signal {signal.name}")
            if given.shape != (len(times), signal.width):
                raise SignalError(
                    f"signal {signal.name} has shape {given.shape}, not "
                    f"{(len(times), signal.width)}"
                )
            arrays[signal.array][:, signal.start : signal.stop] = given
        return tuple(self._take(times, arrays))

    def estimate(self) -> PayloadSnapshot:
        """The payload now.

        Its ``doubt`` says if the samples need a negative mass; a control loop gets no exception.
        """
        whole, samples = self._memory.whole(self._block, self.time, int(self._counts[0]))
        if samples <= 0.0:
            raise EstimationError(
                "there is no sample to estimate a payload from: "
                f"{self.skipped} were left out since a value was not finite or above 1e9"
            )
        variance = noise_variance(whole, samples, len(self.source.channels))
        fit = free_fit(whole / self._scale(variance), self.source.sigma)
        covariance = fit.covariance
        body = physical_fit(fit)
        phi = body.phi
        mass_sigma = float(np.sqrt(covariance[0, 0]))
        return PayloadSnapshot(
            time=self.time,
            frame=self.source.frame,
            body=body,
            phi=phi,
            mass_sigma=mass_sigma,
            com_sigma=com_sigma(phi, covariance),
            phi_sigma=np.sqrt(np.diag(covariance)),
            effective_samples=samples,
            bias=fit.bias_with(phi),
            doubt=_doubt(self.source.frame, float(fit.phi[0]), mass_sigma),
        )

    def _compile(self) -> None:
        """Have the loops compiled here: it takes seconds, which no control loop has."""
        self._take_many(np.zeros(0), *self._arrays(0), 0, *self._pool)
        self._memory.add(self._block, np.nan, 0.0, self._block, 0.0, 0.0)
        self._memory.compare()
        self._memory.set_gate(self._block, self._weak, GLITCH, np.zeros_like(self._gate))
        compile_fit()

    def _take(self, time: Array, arrays: Sequence[Array]) -> list[PayloadChange]:
        changes: list[PayloadChange] = []
        begin = 0
        while True:
            begin, failed = self._take_many(time, *arrays, begin, *self._pool)
            if failed or (begin < len(time) and not np.isfinite(time[begin])):
                raise SignalError(
                    f"the sample at {time[begin]} s does not come after the last one, at "
                    f"{self.time} s; give samples in the order of time"
                )
            if begin == len(time):
                return changes
            self._check_resolution(float(time[begin]))
            change = self._end_block(float(time[begin]))
            if change is not None:
                changes.append(change)

    def _check_resolution(self, time: float) -> None:
        """Refuse a time beside which the length of a block is lost in rounding."""
        block_s = self.settings.block_s
        if not abs((time + block_s) - time - block_s) <= ROUNDING * block_s:
            raise SignalError(
                f"a sample has the time {time:g}, beside which a block of {block_s:g} s is lost in "
                "rounding; give the time in seconds (stamps in nanoseconds are divided by 1e9)"
            )

    def _end_block(self, next_time: float) -> PayloadChange | None:
        """Put the block into the ring, look for a change, and start a block at ``next_time``."""
        change = None
        if self._counts[0] > 0:
            self._memory.push(self._block, self.time, int(self._counts[0]))
            if self._memory.full and self._memory.reference_blocks >= SETTLING_BLOCKS:
                change = self._look()
            self._blocks_to_gate -= 1
            if self._blocks_to_gate <= 0 or change is not None:
                self._set_gate()
        self._block[:] = 0.0
        self._counts[0] = 0
        self._clock[1] = next_time + self.settings.block_s
        return change

    def _set_gate(self) -> None:
        """What is known at the end of a block says which samples of the next are glitches."""
        self._blocks_to_gate = GATE_BLOCKS
        S, samples = self._memory.whole(self._block, self.time, 0)
        variance = noise_variance(S, samples, len(self.source.channels))
        self._memory.set_gate(S, self._weak, GLITCH * max(variance, 1.0) ** 0.5, self._gate)

    def _look(self) -> PayloadChange | None:
        """Compare the newest blocks with the reference, and decide."""
        memory = self._memory
        statistics = memory.compare()
        variance = noise_variance(
            memory.reference, memory.reference_samples, len(self.source.channels)
        )
        thresholds = self._test.thresholds(variance)
        above = any(map(gt, statistics, thresholds))
        if self._blocks_since_sign:
            self._blocks_since_sign += 1
            if self._blocks_since_sign <= CONFIRM_BLOCKS:
                return None
            found = memory.find_change(UNDER_WAY * max(thresholds)) if above else None
            if found and found.blocks_after < SETTLED_BLOCKS and found.first > SETTLED_BLOCKS:
                return None
            self._blocks_since_sign = 0
            return self._changed(found, statistics, thresholds, variance) if found else None
        if above and self.watching:
            self._blocks_since_sign = 1
            return None
        self._test.watch(statistics, thresholds, self.settings.block_s)
        return None

    def _changed(
        self,
        found: ChangeFound,
        statistics: list[float],
        thresholds: list[float],
        variance: float,
    ) -> PayloadChange:
        """Weigh both payloads, and forget the one from before the change."""
        statistic, threshold = max(zip(statistics, thresholds), key=lambda pair: pair[0] / pair[1])
        scale = self._scale(variance)
        mass_before, mass_after, sigma = mass_change(
            found.before / scale, found.after / scale, self.source.sigma
        )
        self._memory.divide(found)
        self._last_change = PayloadChange(
            time=found.time,
            reported=self.time,
            mass_before=mass_before,
            mass_after=mass_after,
            sigma=sigma,
            statistic=statistic,
            threshold=threshold,
        )
        return self._last_change

    def _scale(self, variance: float) -> float:
        """Noise that rows must be divided by, so that their covariance is that of the estimate.

        Divided before the weak priors are added: what the samples say nothing about is then as
        uncertain as the priors, whatever the noise.
        """
        return float(np.sqrt(variance * self._test.inflation(variance)))

    def _sample(self, time: float, signals: Sequence[ArrayLike]) -> tuple[Any, ...]:
        """Time and signals of a sample as a float and arrays of floats (width,), checked."""
        if len(signals) != len(self._shapes):
            raise SignalError(f"a sample has {len(signals)} signals; {self._needed()}")
        if not isinstance(time, Real) or isinstance(time, bool):
            raise SignalError(f"the time of a sample is {time!r}; a number of seconds is needed")
        arrays = []
        for signal, shape in zip(signals, self._shapes, strict=True):
            array = self._numbers(signal, "a signal of a sample")
            if array.shape != shape:
                raise SignalError(
                    f"a signal of the sample at {time} s has shape {array.shape}; {self._needed()}"
                )
            arrays.append(array)
        return float(time), *arrays

    def _arrays(self, n_samples: int) -> tuple[Array, ...]:
        widths: dict[int, int] = {}
        for signal in self._signals:
            widths[signal.array] = max(widths.get(signal.array, 0), signal.stop)
        return tuple(np.zeros((n_samples, widths[k])) for k in range(len(widths)))

    def _numbers(self, values: ArrayLike, what: str) -> Array:
        """Lists and arrays of real numbers as an array of floats."""
        try:
            given = np.asarray(values)
        except ValueError:
            raise SignalError(f"{what} is a list of unequal rows; {self._needed()}") from None
        if given.dtype.kind not in "iuf":
            raise SignalError(
                f"{what} holds {given.dtype.name}, not real numbers; {self._needed()}"
            )
        return given.astype(float, copy=False)

    def _needed(self) -> str:
        return "needed are " + listed(_words(signal) for signal in self._signals)


def _doubt(frame: str, mass: float, sigma: float) -> Finding | None:
    """What speaks against the samples: mass, kg, is that of least squares without conditions."""
    if mass >= -CERTAIN * sigma:
        return None
    return Finding(
        "warning",
        "negative-mass",
        f"what is measured at frame '{frame}' gives a mass of {mass:.3g} kg (standard deviation "
        f"{sigma:.2g} kg): check the sign (the wrench must act on the body: a body at rest shows a "
        "force upwards), the direction of gravity, and whether the bias or the arm without its "
        "payload has changed",
    )


def _words(signal: Signal) -> str:
    return f"{signal.name} ({signal.width},) {signal.unit}"
