"""Single samples far from their neighbours: they are left out before anything else is done.

Positions: a jump that is taken back within a few samples, see `steelyard.signals.steps`. Torques
and velocities: samples far from the median of five. Any signal: values that no robot reaches, such
as the codes of drivers for "no value".
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from steelyard.findings import Finding
from steelyard.signals.steps import Steps, least_change, never_jumps, steps_of, whole_turns

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Key = tuple[str, str]

UNREACHED = 1e9
"""Larger values, in SI units, are codes for "no value"."""
LONGEST_BURST = 10
"""Samples after which a jump that was not taken back is no outlier."""
TAKEN_BACK = 0.3
"""Share of a jump that may be left when it is taken back."""
NOISES = 20.0
"""A torque is an outlier beyond this many times the noise around the median of five."""
TAIL, TAILS = 98.0, 8.0
"""It is also more than ``TAILS`` times the ``TAIL``-th percentile of that noise."""
SHARE, SHARE_AT_REST = 0.25, 2.0
"""It is also more than this share of the span of the torque; friction jumps where a joint turns."""
AT_ENDS = 4.0
"""The same of the first two and last two samples, which have neighbours on one side only."""
SLOW = 0.2
"""A joint may turn back where its steps are below this share of their median."""

TOGGLES = 2.5
"""It is also more than this many steps of the signal's resolution."""


def outlier_mask(
    stamps: Array,
    values: Array,
    quantity: str,
    *,
    turning: bool = True,
    position: Array | None = None,
) -> Mask:
    """Which samples (n_samples,) of a signal are outliers.

    stamps : (n_samples,) time in periods. turning : whether positions are angles, whose jumps by
    whole turns are no outliers. position : (n_samples,) of the joint whose torque this is: where
    it turns back, friction may jump for a sample.
    """
    known = np.isfinite(values)
    far = known & (np.abs(np.where(known, values, 0.0)) > UNREACHED)
    usable = known & ~far
    if np.count_nonzero(usable) < 8:
        return far
    if quantity != "position":
        far[usable] = _spikes(values[usable], None if position is None else position[usable])
        return far
    if never_jumps(stamps[usable], values[usable]):
        return far
    steps = steps_of(stamps, values, usable)
    if steps is not None:
        for first, last in bursts(steps, values, turning=turning):
            rows = slice(steps.rows[first + 1], steps.rows[last] + 1)
            far[rows] |= usable[rows]
    return far


def jumps(steps: Steps, q: Array, *, turning: bool) -> NDArray[np.int64]:
    """Indices of steps that are too large, of angles without those by whole turns."""
    large = steps.too_large
    if turning and len(large):
        large = large[whole_turns(np.diff(q[steps.rows])[large], np.diff(steps.rows)[large]) == 0.0]
    return large


def bursts(steps: Steps, q: Array, *, turning: bool) -> list[tuple[int, int]]:
    """Pairs of steps, up and down again, between which a position (n_samples,) is wrong."""
    large = jumps(steps, q, turning=turning)
    found, k = [], 0
    while k + 1 < len(large):
        for other in range(k + 1, len(large)):
            first, last = int(large[k]), int(large[other])
            if last - first > LONGEST_BURST:
                break
            left = float(np.sum(steps.excess[first : last + 1]))
            if abs(left) <= TAKEN_BACK * abs(float(steps.excess[first])):
                found.append((first, last))
                k = other
                break
        k += 1
    return found


def left_out(
    time: Array, signals: Mapping[Key, Array], turning: set[str]
) -> tuple[dict[Key, Array], dict[Key, Mask]]:
    """The signals with NaN in the place of outliers, and the masks of those that have some.

    signals : joint and quantity -> (n_samples,). turning : joints whose positions are angles.
    """
    stamps = in_periods(time)
    kept, masks = dict(signals), {}
    for (joint, quantity), values in signals.items():
        q = signals.get((joint, "position"))
        mask = outlier_mask(stamps, values, quantity, turning=joint in turning, position=q)
        if mask.any() and not mask.all():
            masks[joint, quantity] = mask
            kept[joint, quantity] = np.where(mask, np.nan, values)
    return kept, masks


def in_periods(time: Array) -> Array:
    """Time stamps (n_samples,) in median periods."""
    return np.asarray((time - time[0]) / float(np.median(np.diff(time))))


def outlier_findings(name: str, time: Array, masks: Mapping[Key, Mask]) -> tuple[Finding, ...]:
    """A warning about the samples of a log that are left out as outliers."""
    if not masks:
        return ()
    counts = {key: int(np.count_nonzero(mask)) for key, mask in masks.items()}
    rows = np.flatnonzero(np.any(np.array(list(masks.values())), axis=0))
    worst = sorted(counts, key=lambda key: -counts[key])
    words = ", ".join(
        f"{counts[key]} of the {key[1]} of '{key[0]}' (first at {_first(time, masks[key]):.6g} s)"
        for key in worst[:4]
    )
    more = f", and of {len(worst) - 4} more signals" if len(worst) > 4 else ""
    return (
        Finding(
            "warning",
            "outliers",
            f"log '{name}': single samples are far from their neighbours and left out: {words}"
            f"{more}; look for a loose cable, or a driver's code for 'no value'",
            joints=tuple(dict.fromkeys(joint for joint, _ in worst)),
            span_s=(float(time[rows[0]]), float(time[rows[-1]])),
            size=float(sum(counts.values())),
            unit="samples",
        ),
    )


def _first(time: Array, mask: Mask) -> float:
    return float(time[int(np.argmax(mask))])


def _near_rest(q: Array) -> Mask:
    """Samples (n_samples,) of a position within two of which it rests or turns back."""
    step = np.diff(np.where(np.isfinite(q), q, np.nan))
    size = np.abs(step)
    known = np.isfinite(size)
    usual = float(np.median(size[known])) if known.any() else 0.0
    slow = ~(size > SLOW * usual)
    slow[1:] |= np.sign(step[1:]) != np.sign(step[:-1])
    near = np.ones(len(q) + 4, bool)
    near[3:-2] = slow
    return np.asarray(near[:-4] | near[1:-3] | near[2:-2] | near[3:-1] | near[4:])


def _spikes(x: Array, position: Array | None) -> Mask:
    """Samples (n,) far from the median of the five around them."""
    away = np.abs(x - median_of_five(x))
    low, high = np.percentile(x, [1.0, 99.0])
    span = float(high - low)
    if not np.max(away) > SHARE * span:
        return np.zeros(len(x), bool)
    noise, tail = 1.4826 * float(np.median(away)), float(np.percentile(away, TAIL))
    # a coarse signal toggles between two values
    limit = max(NOISES * noise, TAILS * tail, TOGGLES * least_change(away))
    share = np.full(len(x), SHARE)
    if position is not None:
        share[_near_rest(position)] = SHARE_AT_REST
    share[:2] = share[-2:] = AT_ENDS
    limits = np.maximum(limit, share * span)
    return np.asarray((away > limits) & (limits > 0.0))


def median_of_five(x: Array) -> Array:
    """The median of each sample (n,), its two neighbours before and its two after."""
    wide = np.concatenate([x[2:0:-1], x, x[-2:-4:-1]])
    a, b, c, d, e = (wide[k : k + len(x)] for k in range(5))
    # the median of five is the median of c, the larger of two minima, the smaller of two maxima
    low = np.maximum(np.minimum(a, b), np.minimum(d, e))
    high = np.minimum(np.maximum(a, b), np.maximum(d, e))
    return np.asarray(np.maximum(np.minimum(low, high), np.minimum(np.maximum(low, high), c)))
