"""The samples of a payload stream as triangular factors of fixed size, with forgetting.

Recent samples are blocks in a ring; what is older is the reference, one factor. See
`steelyard.payload._stream_loops` for the factors.
"""

from __future__ import annotations

from math import exp, isfinite

import numpy as np
from numpy.typing import NDArray

from steelyard.payload._stream_body import N_BODY

Array = NDArray[np.float64]
ENOUGH = 50.0
REPEATED = 1e-3


class BlockMemory:
    """A reference and a ring of the newest blocks.

    n : columns of the factors. n_ring : blocks in the full ring. windows : lengths, in blocks, in
    which a change is looked for. time_constant_s, bias_time_constant_s : of forgetting.

    reference : (n, n). reference_blocks : how many blocks of the present payload it holds.
    """

    def __init__(
        self,
        n: int,
        n_ring: int,
        windows: tuple[int, ...],
        time_constant_s: float,
        bias_time_constant_s: float,
    ) -> None:
        self.time_constant_s = time_constant_s
        self.bias_time_constant_s = bias_time_constant_s
        self.reference = np.zeros((n, n))
        self.reference_samples = 0.0
        self.reference_blocks = 0
        self._statistics = np.zeros(len(windows))
        self._reference_time = np.nan
        # reference and ring together, kept so that nobody has to fold the ring
        self._all = np.zeros((n, n))
        self._all_samples = 0.0
        self._all_time = np.nan
        self._windows = np.array(windows, dtype=np.int64)
        self._ring = np.zeros((n_ring, n, n))
        self._ends = np.zeros(n_ring)
        self._samples = np.zeros(n_ring)
        self._n_filled = 0
        self._newest = -1
        self._window = np.zeros((n, n))
        self._together = np.zeros((n, n))
        self._copy = np.zeros((n, n))
        self._work = np.zeros(n)

    @property
    def full(self) -> bool:
        """Whether the ring is full, so that a window can be compared with the reference."""
        return self._n_filled == len(self._ring)

    def push(self, block: Array, end_s: float, n_samples: int) -> None:
        """Take a block whose last sample is at ``end_s``; the oldest joins the reference."""
        if self.full:
            oldest = (self._newest + 1) % len(self._ring)
            self.reference_samples = self.add(
                self.reference,
                self._reference_time,
                self.reference_samples,
                self._ring[oldest],
                self._ends[oldest],
                self._samples[oldest],
            )
            self._reference_time = self._ends[oldest]
            self.reference_blocks += 1
            self._n_filled -= 1
        self._newest = (self._newest + 1) % len(self._ring)
        self._ring[self._newest] = block
        self._ends[self._newest] = end_s
        self._samples[self._newest] = n_samples
        self._n_filled += 1
        self._all_samples = self.add(
            self._all, self._all_time, self._all_samples, block, end_s, float(n_samples)
        )
        self._all_time = end_s

    def add(
        self, S: Array, time_s: float, samples: float, block: Array, end_s: float, n_samples: float
    ) -> float:
        """Make S, as it was at ``time_s``, forget until ``end_s`` and take in a block.

        samples, n_samples : how many S and the block hold, each counted with its weight. Returns
        how many S holds then.
        """
        from steelyard.payload._stream_loops import fold, forget

        passed = max(end_s - time_s, 0.0) if isfinite(time_s) else 0.0
        keep = exp(-0.5 * passed / self.time_constant_s)
        forget(S, keep, exp(-0.5 * passed / self.bias_time_constant_s))
        self._copy[:] = block
        fold(S, self._copy, len(S), True, self._work)
        return samples * keep * keep + n_samples

    def whole(self, block: Array, end_s: float, n_samples: int) -> tuple[Array, float]:
        """The factor of all samples with an unfinished block, and how many they are by weight."""
        S, samples = self._all.copy(), self._all_samples
        if n_samples:
            samples = self.add(S, self._all_time, samples, block, end_s, float(n_samples))
        return S, samples

    def _gather(self) -> None:
        """Make the factor of reference and ring anew."""
        self._all[:] = self.reference
        self._all_time, self._all_samples = self._reference_time, self.reference_samples
        for k in self._oldest_first():
            self._all_samples = self.add(
                self._all, self._all_time, self._all_samples,
                self._ring[k], self._ends[k], self._samples[k],
            )  # fmt: skip
            self._all_time = self._ends[k]

    def compare(self) -> list[float]:
        """Compare the newest blocks with the reference: a statistic of change for each window.

        See `_stream_loops.change_statistics`.
        """
        from steelyard.payload._stream_loops import change_statistics

        change_statistics(
            self.reference, self._ring, self._newest, self._windows, self._window, self._together,
            self._copy, self._work, self._statistics,
        )  # fmt: skip
        return self._statistics.tolist()

    def set_gate(self, S: Array, weak: Array, largest: float, gate: Array) -> None:
        """See `_stream_loops.set_gate`."""
        from steelyard.payload._stream_loops import set_gate

        set_gate(S, weak, largest, gate, self._copy, self._work)

    def divide(self) -> tuple[Array, Array, float]:
        """Factors before and after the most likely time of a change, and that time (s).

        From here on, the memory holds only what came after the change, and what the samples before
        it say of the bias. The two blocks at the change, which may hold samples of both payloads,
        are dropped.
        """
        from steelyard.payload._stream_loops import fold, gain_of_two_bodies

        order = self._oldest_first()
        n = len(self.reference)
        afters = np.zeros((len(order) + 1, n, n))
        for k in reversed(range(len(order))):
            afters[k] = afters[k + 1]
            self._copy[:] = self._ring[order[k]]
            fold(afters[k], self._copy, n, True, self._work)
        befores = [self.reference.copy()]
        for index in order[:-1]:
            S = befores[-1].copy()
            self._copy[:] = self._ring[index]
            fold(S, self._copy, n, True, self._work)
            befores.append(S)
        gains = [
            gain_of_two_bodies(befores[k], afters[k], self._together, self._copy, self._work)
            for k in range(1, len(order) - 1)
        ]
        first = 1 + int(np.argmax(gains))
        before = befores[first - 1]
        self.reference[:] = before
        self.reference[:N_BODY] = 0.0
        self.reference[-1] = 0.0
        self.reference_samples = 0.0
        self.reference_blocks = 0
        self._reference_time = self._ends[order[first]]
        self._n_filled = len(order) - first - 1
        self._gather()
        after = self.reference.copy()
        fold(after, afters[first + 1], n, True, self._work)
        return before, after, float(self._ends[order[first - 1]])

    def _oldest_first(self) -> list[int]:
        """Indices of the blocks in the ring."""
        return [(self._newest - k) % len(self._ring) for k in reversed(range(self._n_filled))]


def noise_variance(S: Array, samples: float, n_channels: int) -> float:
    """Variance of the noise of a factor's samples, in units of the stated noise.

    It is that of the residual. With fewer than `ENOUGH` residuals more than unknowns, the stated
    noise is the least; and it stands in for a residual that is less than `REPEATED` of it, which
    is no noise: readings that repeat, as those of a coarse sensor at rest.
    """
    freedom = samples * n_channels - (len(S) - 1)
    found = float(S[-1, -1] ** 2) / max(freedom, 1.0)
    if found < REPEATED**2 or freedom < ENOUGH:
        return max(found, 1.0)
    return found
