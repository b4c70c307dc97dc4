"""Second-order sections over samples, compiled."""

from __future__ import annotations

import numpy as np

from steelyard.conic.jit import jit


@jit
def run_sections(sections, steady, x, backward):  # type: ignore[no-untyped-def]
    """Filter x (n_samples, n_signals) in place, from its steady state at the first sample.

    sections : (n, 6) b0 b1 b2 1 a1 a2. steady : (n, 2) state of each for a constant input of one.
    backward : whether time runs from the last sample to the first.
    """
    n_samples, n_signals = x.shape
    state = np.empty((len(sections), 2, n_signals))
    first = n_samples - 1 if backward else 0
    for s in range(len(sections)):
        for c in range(n_signals):
            state[s, 0, c] = steady[s, 0] * x[first, c]
            state[s, 1, c] = steady[s, 1] * x[first, c]
    for k in range(n_samples):
        row = x[n_samples - 1 - k if backward else k]
        for s in range(len(sections)):
            b0, b1, b2 = sections[s, 0], sections[s, 1], sections[s, 2]
            a1, a2 = sections[s, 4], sections[s, 5]
            for c in range(n_signals):
                value = row[c]
                out = b0 * value + state[s, 0, c]
                state[s, 0, c] = b1 * value - a1 * out + state[s, 1, c]
                state[s, 1, c] = b2 * value - a2 * out
                row[c] = out
