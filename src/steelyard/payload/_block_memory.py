"""The samples of a payload stream as triangular factors of fixed size, with forgetting.

Recent samples are blocks in a ring; what is older is the reference, one factor. See
`steelyard.payload._stream_loops` for the factors.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, isfinite

import numpy as np
from numpy.typing import NDArray

from steelyard.payload._stream_body import N_BODY

Array = NDArray[np.float64]
ENOUGH = 50.0
REPEATED = 1e-3


@dataclass(frozen=True, eq=False)
class ChangeFound:
    """Where in the ring, from its oldest block, a change is.

    first, last : blocks from which on the payload is another one, and from which on it is settled.
    before, after : factors (n, n) without the blocks of the change. time : s, of the change.
    blocks_after : number of blocks in ``after``.
    """

    first: int
    last: int
    before: Array
    after: Array
    time: float
    blocks_after: int


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

    def find_change(self, threshold: float) -> ChangeFound:
        """The most likely time of a change between blocks of the full ring, and when it was over.

        threshold : of the statistic. Blocks after the change that another body explains much
        better than the blocks before them, above the threshold, are still part of it: a body that
        is lifted becomes heavy gradually.
        """
        from steelyard.payload._stream_loops import fold

        order = self._oldest_first()
        n = len(self.reference)
        afters = np.zeros((len(order) + 1, n, n))
        for k in reversed(range(len(order))):
            afters[k] = afters[k + 1]
            self._copy[:] = self._ring[order[k]]
            fold(afters[k], self._copy, n, True, self._work)
        befores = self._cumulated(self.reference, order)
        gains = self._gains(befores, afters, range(1, len(order) - 1))
        first = last = 1 + int(np.argmax(gains))
        known = befores[first - 1].copy()
        known[:N_BODY] = 0.0
        known[-1] = 0.0
        while last + 2 < len(order):
            befores_again = self._cumulated(known, order[last + 1 :])
            splits = range(1, len(order) - last - 1)
            gains = self._gains(befores_again, afters[last + 1 :], splits)
            if max(gains) <= threshold:
                break
            last += 1 + int(np.argmax(gains))
        return ChangeFound(
            first=first,
            last=last,
            before=befores[first - 1],
            after=afters[last + 1],
            time=float(self._ends[order[first - 1]]),
            blocks_after=len(order) - last - 1,
        )

    def _cumulated(self, S: Array, order: list[int]) -> list[Array]:
        """S, and S with one block after the other, without the last one."""
        from steelyard.payload._stream_loops import fold

        out = [S.copy()]
        for index in order[:-1]:
            self._copy[:] = self._ring[index]
            out.append(out[-1].copy())
            fold(out[-1], self._copy, len(S), True, self._work)
        return out

    def _gains(
        self, befores: list[Array], afters: NDArray[np.float64], splits: range
    ) -> list[float]:
        """What a body of its own gains for the blocks after each split."""
        from steelyard.payload._stream_loops import gain_of_two_bodies

        return [
            gain_of_two_bodies(befores[k], afters[k], self._together, self._copy, self._work)
            for k in splits
        ]

    def divide(self, found: ChangeFound) -> None:
        """Keep only what came after a change, and what the samples before it say of the bias.

        The blocks from ``found.first - 1`` to ``found.last``, which may hold samples of both
        payloads, are dropped.
        """
        order = self._oldest_first()
        self.reference[:] = found.before
        self.reference[:N_BODY] = 0.0
        self.reference[-1] = 0.0
        self.reference_samples = 0.0
        self.reference_blocks = 0
        self._reference_time = self._ends[order[found.last]]
        self._n_filled = found.blocks_after
        self._gather()

    def _oldest_first(self) -> list[int]:
        """Indices of the blocks in the ring."""
        return [(self._newest - k) % len(self._ring) for k in reversed(range(self._n_filled))]


def noise_variance(S: Array, samples: float, n_channels: int) -> float:
    """Variance of the noise of a factor's samples, in units of the stated noise.

    It is that of the residual. With fewer than `ENOUGH` residuals more than unknowns, the stated
    noise is the least; and it stands in for a residual that is less than `REPEATED` of it, which
    is no noise: readings that repeat, as those of a coarse sensor at rest.
    """
    freedom = float(samples) * n_channels - (len(S) - 1)
    found = float(S[-1, -1] ** 2) / max(freedom, 1.0)
    if found < REPEATED**2 or freedom < ENOUGH:
        return max(found, 1.0)
    return found
