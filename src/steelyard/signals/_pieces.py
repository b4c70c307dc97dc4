"""Pieces of a log: filters and derivatives start anew where nothing was recorded for too long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import SignalError, listed
from steelyard.logs.log import Log
from steelyard.signals._timebase import HOLE_PERIODS, TimeBase, onto_grid, time_base
from steelyard.signals.processing import Processing

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Key = tuple[str, str]


@dataclass(frozen=True, eq=False)
class Piece:
    """Part of a log between two holes, on a uniform time base.

    rows : of the log. even : joint and quantity -> (n_samples,) on the grid, short gaps bridged.
    missing : joint and quantity -> (n_rows,) samples that were not measured.
    left_out : joint and quantity -> (n_rows,) samples that are wrong, and were interpolated.
    """

    rows: slice
    base: TimeBase
    even: Mapping[Key, Array]
    missing: Mapping[Key, Mask]
    left_out: Mapping[Key, Mask] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.base.grid)

    def columns(self, joints: tuple[str, ...], quantity: str) -> Array:
        """One quantity of all joints (n_samples, n_joints)."""
        return np.column_stack([self.even[joint, quantity] for joint in joints])


def pieces_of(
    log: Log,
    used: Mapping[Key, Array],
    names: Mapping[Key, str],
    processing: Processing,
    left_out: Mapping[Key, Mask] | None = None,
) -> tuple[Piece, ...]:
    """The pieces of a log, in the order of time.

    used : joint and quantity -> (n_samples,), with NaN where it was not measured.
    names : how each is called in messages. left_out : see `Piece`; the log is not cut there.
    """
    out = []
    for rows in piece_rows(log, used, names, processing.max_gap_s):
        base = time_base(log.time[rows], processing, log.name)
        missing = {key: ~np.isfinite(values[rows]) for key, values in used.items()}
        even = {
            key: onto_grid(base, values[rows], missing[key], processing, log.name)
            for key, values in used.items()
        }
        wrong = {key: mask[rows] for key, mask in (left_out or {}).items() if mask[rows].any()}
        out.append(Piece(rows, base, even, missing, wrong))
    return tuple(out)


def piece_rows(
    log: Log, used: Mapping[Key, Array], names: Mapping[Key, str], max_gap_s: float
) -> list[slice]:
    """Rows of each piece: it starts and ends where every used signal is present.

    Missing samples that span at most ``max_gap_s`` stay inside a piece, to be interpolated, and so
    do stamps at most that far, or three periods, apart; the log is cut at longer ones.
    """
    time, n = log.time, len(log)
    present = np.ones(n, dtype=bool)
    inside = np.ones(n, dtype=bool)
    slow: dict[str, float] = {}
    for key, values in used.items():
        missing = ~np.isfinite(values)
        if missing.all():
            raise SignalError(f"log '{log.name}': {names[key]} is NaN or infinite in all {n} rows")
        present &= ~missing
        spans = []
        for first, end in gaps(missing):
            if first > 0 and end < n and time[end] - time[first - 1] > max_gap_s:
                inside[first:end] = False
                spans.append(float(time[end] - time[first - 1]))
        if spans:
            slow[names[key]] = float(np.median(spans))
    step = np.diff(time)
    holes = step > max(HOLE_PERIODS * float(np.median(step)), max_gap_s)
    starts = np.flatnonzero(inside & np.concatenate([[True], ~inside[:-1] | holes]))
    ends = np.flatnonzero(inside & np.concatenate([~inside[1:] | holes, [True]])) + 1
    rows = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        good = np.flatnonzero(present[start:end])
        if len(good) >= 2:
            rows.append(slice(start + int(good[0]), start + int(good[-1]) + 1))
    if not rows and present.sum() >= 2:
        raise SignalError(
            f"log '{log.name}': no two neighbouring rows have every used signal: between samples "
            f"of {listed(tuple(slow))} there are typically {max(slow.values()):.3g} s, and gaps "
            f"longer than {max_gap_s:g} s are not interpolated. If they were sampled at a lower "
            f"rate, give --max-gap-s {1.5 * max(slow.values()):.2g} (max_gap_s)"
        )
    if not rows:
        raise SignalError(
            f"log '{log.name}': fewer than two rows have every used signal: they "
            "were recorded on rows of their own. Write one file for each set of stamps, and join "
            "them by time (--poses FILE of payload ft; join_logs in Python)"
        )
    return rows


def gaps(missing: Mask) -> list[tuple[int, int]]:
    """Gaps of neighbouring missing samples, as indices (first, last + 1)."""
    edge = np.flatnonzero(np.diff(np.concatenate([[False], missing, [False]]).astype(np.int8)))
    return list(zip(edge[::2].tolist(), edge[1::2].tolist(), strict=True))
