"""Smoothed values and derivatives of uniformly sampled signals, with one filter for all of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import SignalError
from steelyard.signals._timebase import is_uniform
from steelyard.signals.derivatives import differentiate
from steelyard.signals.filters import low_pass
from steelyard.signals.processing import Processing

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Smoothing:
    """The low-pass filter and the derivative that are applied to every signal of a recording.

    rate_hz : samples per second. cutoff_hz : of the low-pass filter, None for none; its order and
    the derivative are those of ``processing``, whose own cutoff is not used. name : of the
    recording, for messages.
    """

    rate_hz: float
    cutoff_hz: float | None = None
    processing: Processing = field(default_factory=Processing)
    name: str = "log"

    @staticmethod
    def at(
        time: Array, cutoff_hz: float | None, processing: Processing | None, name: str
    ) -> Smoothing:
        """The smoothing of signals at these times (n_samples,) s; refuses uneven ones."""
        if len(time) < 2 or not bool(np.all(np.diff(time) > 0.0)) or not is_uniform(time):
            raise SignalError(
                f"log '{name}': derivatives need at least two even, increasing time stamps; "
                "prepare_frame resamples others"
            )
        rate = (len(time) - 1) / float(time[-1] - time[0])
        return Smoothing(rate, cutoff_hz, processing or Processing(), name)

    def filtered(self, x: Array) -> Array:
        """``x`` (n_samples, ...) through the low-pass filter."""
        if self.cutoff_hz is None:
            return x
        order = self.processing.filter_order
        return low_pass(x, self.cutoff_hz, order, self.rate_hz, self.name)

    def derivatives(self, x: Array, highest: int) -> list[Array]:
        """The smoothed ``x`` (n_samples, ...) and its derivatives, up to the second.

        NaN at the ends, where the stencil of the derivative does not fit.
        """
        smooth, period = self.filtered(x), 1.0 / self.rate_hz
        return [
            differentiate(smooth, period, order, self.processing) for order in range(highest + 1)
        ]
