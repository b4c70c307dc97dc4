"""Compiled entries of a payload stream: what Python calls, with all arrays in one pool.

For each kind of source, one function takes several samples, and one takes a single sample. See
`steelyard.payload._stream_loops` for what they do, and `steelyard.payload._stream_pool` for the
pool. Imported on first use: Numba takes a while to load.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from numba import types

from steelyard.conic.jit import jit
from steelyard.payload._stream_loops import (
    absorb_frame_samples,
    absorb_sensor_samples,
    absorb_torque_samples,
)
from steelyard.payload._stream_pool import NAMES

TIME, CLOCK, GATE, WEIGHT, BLOCK, ROWS, WORK, KIN = map(
    NAMES.index, ("time", "clock", "gate", "weight", "block", "rows", "work", "kin")
)
MOTION, Q, V, A, MEASURED = map(NAMES.index, ("motion", "q", "v", "a", "measured"))
NUMBERS, GRAVITY, T_BODY_FRAME, STATE, OWN = map(
    NAMES.index, ("numbers", "gravity", "T_body_frame", "state", "own")
)
WRENCH, REST, DEAD_BAND = map(NAMES.index, ("wrench", "rest", "dead_band"))
TERM_WEIGHT, TERM_NUMBERS, KNOTS, VALUES = map(
    NAMES.index, ("term_weight", "term_numbers", "knots", "values")
)
COUNTS, TREE, BODY, TERM_ENTRIES = map(NAMES.index, ("counts", "tree", "body", "term_entries"))

CALLED = "74095c7962c8"
"""Of the files that are called from here, so that Numba's cache on disk follows their changes."""
SIGNAL = types.Array(types.float64, 1, "A", readonly=True, aligned=False)
"""Any array of floats in one dimension is converted to it, without a copy."""
FLOAT_BLOCK, INTEGER_BLOCK = types.Array(types.float64, 1, "C"), types.Array(types.int64, 1, "C")


@cache
def sample_call(function: Callable[..., Any], n_signals: int) -> Callable[..., Any]:
    """A function for one sample, compiled here for signals of any layout and for nothing else.

    Other arguments raise TypeError: no control loop waits for a compiler.
    """
    signature = (types.float64, *n_signals * [SIGNAL], FLOAT_BLOCK, INTEGER_BLOCK)
    function.compile(signature)  # type: ignore[attr-defined]
    function.disable_compile()  # type: ignore[attr-defined]
    return function


@jit
def table(block, integers, k):  # type: ignore[no-untyped-def]
    """Array number k of the pool, (rows, columns), of which a block holds the values."""
    begin, rows, columns = integers[3 * k], integers[3 * k + 1], integers[3 * k + 2]
    return block[begin : begin + rows * columns].reshape((rows, columns))


@jit
def row(block, integers, k):  # type: ignore[no-untyped-def]
    """Array number k of the pool, which has one dimension."""
    begin = integers[3 * k]
    return block[begin : begin + integers[3 * k + 1] * integers[3 * k + 2]]


@jit
def put(signal, floats, integers, k, start):  # type: ignore[no-untyped-def]
    """Copy a signal (width,) into array number k, from its column ``start``."""
    begin = integers[3 * k] + start
    for i in range(signal.shape[0]):
        floats[begin + i] = signal[i]


@jit
def frame_samples(time, motion, wrench, begin, floats, integers):  # type: ignore[no-untyped-def]
    """Wrenches in a frame whose motion is given."""
    return absorb_frame_samples(
        time, motion, wrench, begin, row(floats, integers, CLOCK), row(integers, integers, COUNTS),
        table(floats, integers, GATE), row(floats, integers, WEIGHT),
        table(floats, integers, BLOCK), table(floats, integers, ROWS), row(floats, integers, WORK),
        row(floats, integers, KIN),
    )  # fmt: skip


@jit
def frame_sample(  # type: ignore[no-untyped-def]
    time, proper, spin, spin_rate, force, torque, floats, integers
):
    """The same for one sample; returns whether it was taken."""
    floats[integers[3 * TIME]] = time
    put(proper, floats, integers, MOTION, 0)
    put(spin, floats, integers, MOTION, 3)
    put(spin_rate, floats, integers, MOTION, 6)
    put(force, floats, integers, MEASURED, 0)
    put(torque, floats, integers, MEASURED, 3)
    motion, measured = table(floats, integers, MOTION), table(floats, integers, MEASURED)
    taken, _ = frame_samples(row(floats, integers, TIME), motion, measured, 0, floats, integers)
    return taken == 1


@jit
def sensor_samples(time, q, v, a, wrench, begin, floats, integers):  # type: ignore[no-untyped-def]
    """Wrenches in a frame that is fixed to a robot's body."""
    return absorb_sensor_samples(
        time, q, v, a, wrench, begin, row(floats, integers, CLOCK),
        row(integers, integers, COUNTS), table(floats, integers, GATE),
        row(floats, integers, WEIGHT), table(floats, integers, BLOCK),
        table(floats, integers, ROWS), row(floats, integers, WORK),
        table(integers, integers, TREE), table(floats, integers, NUMBERS),
        row(floats, integers, GRAVITY), integers[integers[3 * BODY]],
        table(floats, integers, T_BODY_FRAME), table(floats, integers, STATE),
        row(floats, integers, KIN), row(floats, integers, OWN),
    )  # fmt: skip


@jit
def sensor_sample(time, q, v, a, force, torque, floats, integers):  # type: ignore[no-untyped-def]
    """The same for one sample; returns whether it was taken."""
    floats[integers[3 * TIME]] = time
    put(q, floats, integers, Q, 0)
    put(v, floats, integers, V, 0)
    put(a, floats, integers, A, 0)
    put(force, floats, integers, MEASURED, 0)
    put(torque, floats, integers, MEASURED, 3)
    taken, _ = sensor_samples(
        row(floats, integers, TIME), table(floats, integers, Q), table(floats, integers, V),
        table(floats, integers, A), table(floats, integers, MEASURED), 0, floats, integers,
    )  # fmt: skip
    return taken == 1


@jit
def torque_samples(time, q, v, a, tau, begin, floats, integers):  # type: ignore[no-untyped-def]
    """Joint torques minus those of a known arm."""
    return absorb_torque_samples(
        time, q, v, a, tau, begin, row(floats, integers, CLOCK),
        row(integers, integers, COUNTS), table(floats, integers, GATE),
        row(floats, integers, WEIGHT), table(floats, integers, BLOCK),
        table(floats, integers, ROWS), row(floats, integers, WORK),
        table(integers, integers, TREE), table(floats, integers, NUMBERS),
        row(floats, integers, GRAVITY), integers[integers[3 * BODY]],
        table(floats, integers, T_BODY_FRAME), table(floats, integers, STATE),
        row(floats, integers, KIN), row(floats, integers, OWN), table(floats, integers, WRENCH),
        row(floats, integers, REST), row(floats, integers, DEAD_BAND),
        table(integers, integers, TERM_ENTRIES), row(floats, integers, TERM_WEIGHT),
        table(floats, integers, TERM_NUMBERS), table(floats, integers, KNOTS),
        table(floats, integers, VALUES),
    )  # fmt: skip


@jit
def torque_sample(time, q, v, a, tau, floats, integers):  # type: ignore[no-untyped-def]
    """The same for one sample; returns whether it was taken."""
    floats[integers[3 * TIME]] = time
    put(q, floats, integers, Q, 0)
    put(v, floats, integers, V, 0)
    put(a, floats, integers, A, 0)
    put(tau, floats, integers, MEASURED, 0)
    taken, _ = torque_samples(
        row(floats, integers, TIME), table(floats, integers, Q), table(floats, integers, V),
        table(floats, integers, A), table(floats, integers, MEASURED), 0, floats, integers,
    )  # fmt: skip
    return taken == 1
