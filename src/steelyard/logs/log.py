"""A log: named, unit-checked measured signals with time stamps, as recorded."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard._files.frozen_mapping import frozen_mapping
from steelyard.errors import LogError, described, listed, quoted_list, shown
from steelyard.logs.columns import QUANTITIES, split_unit
from steelyard.logs.description import Key, LogDescription
from steelyard.logs.frame_columns import FRAME_QUANTITIES, frame_column_name, frame_signal
from steelyard.logs.frames import FrameLike, describe_frame
from steelyard.logs.skipped_rows import SkippedRows

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Log:
    """Measured signals by joint and quantity, in SI units, on the recorded time stamps.

    time : (n_samples,) s, finite and strictly increasing. Where many rows have the stamp of the row
        before, as stamps that were rounded to a coarse step, they are spread to the next one.
    signals : (joint, quantity) -> (n_samples,) in rad, rad/s, rad/s², N m, or m, m/s,
        m/s², N for a sliding joint, or A; quantity is one of ``QUANTITIES``. NaN or
        infinity marks a sample that was not measured.
    units : (joint, quantity) -> SI unit, where the file states one; used to check that a
        revolute joint is not given in metres.
    ignored : columns of the file that are not in the schema.
    columns : (joint, quantity) -> name of the column in the file, where it is known.
    source : path of the file, or None.
    frame_signals : (frame, quantity) -> (n_samples, n_axes) of frames, in SI units; the quantities
        and the order of their axes are in ``FRAME_QUANTITIES``. The frame ``""`` is the one that
        the columns do not name.
    incomplete : (frame, quantity) -> the axes that the file lacks, of quantities of frames of which
        it has other axes; their columns are among ``ignored``.
    motion_rate_hz : rate (Hz) at which joints or poses were sampled, where it is lower than that of
        ``time``, onto which they were interpolated; None where nothing was.
    skipped : rows of the file that could not be used and were left out; None where none were.

    A joint of which the file gives only a number is named ``#1``, ``#2``, ...

    Rows are counted from 1 in messages: row 1 is the first sample.
    """

    time: Array
    signals: Mapping[Key, Array]
    name: str = "log"
    source: str | None = None
    units: Mapping[Key, str] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()
    columns: Mapping[Key, str] = field(default_factory=dict)
    frame_signals: Mapping[Key, Array] = field(default_factory=dict)
    incomplete: Mapping[Key, tuple[str, ...]] = field(default_factory=dict)
    motion_rate_hz: float | None = None
    skipped: SkippedRows | None = None

    def __post_init__(self) -> None:
        where = f"log '{self.name}'"
        time = _read_only(self.time, f"{where}: time")
        time = without_ties(time)
        check_time(time, where)
        signals: dict[Key, Array] = {}
        for (joint, quantity), values in self.signals.items():
            if quantity not in QUANTITIES:
                raise LogError(
                    f"{where}: '{quantity}' of joint '{joint}' is not a quantity; "
                    f"the quantities are {', '.join(QUANTITIES)}"
                )
            array = _read_only(values, f"{where}: {joint}.{quantity}")
            if len(array) != len(time):
                raise LogError(
                    f"{where}: {joint}.{quantity} has {len(array)} samples, "
                    f"but time has {len(time)}"
                )
            signals[joint, quantity] = array
        object.__setattr__(self, "time", time)
        object.__setattr__(self, "signals", frozen_mapping(signals))
        object.__setattr__(self, "units", frozen_mapping(self.units))
        object.__setattr__(self, "ignored", tuple(self.ignored))
        object.__setattr__(self, "columns", frozen_mapping(self.columns))
        object.__setattr__(self, "incomplete", frozen_mapping(self.incomplete))
        framed = {
            key: _checked(key, values, len(time), where)
            for key, values in self.frame_signals.items()
        }
        object.__setattr__(self, "frame_signals", frozen_mapping(framed))

    @staticmethod
    def from_description(content: LogDescription) -> Log:
        """The log that a reader describes."""
        return Log(**{entry.name: getattr(content, entry.name) for entry in fields(content)})

    @staticmethod
    def from_frame(
        frame: FrameLike | Mapping[str, ArrayLike],
        *,
        name: str = "log",
        columns: Mapping[str, str] | None = None,
        count_rows: bool = False,
    ) -> Log:
        """The log in a pandas or polars data frame, or in arrays by column name.

        Columns are named as in the header of a CSV file: ``time``, ``elbow.position[deg]``,
        ``elbow.torque``. Time may also be the index of a pandas frame. The frame is not changed.

        columns : which column holds which signal, for names that are not recognised:
            ``{"elbow.position[deg]": "PosElbow"}``.
        count_rows : whether the number of each row is its time, where the frame has no time: for
            tables of poses at rest.
        """
        return Log.from_description(describe_frame(frame, name, columns, count_rows=count_rows))

    @staticmethod
    def from_arrays(
        time: ArrayLike,
        q: ArrayLike,
        tau: ArrayLike,
        *,
        joints: Sequence[str],
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
        name: str = "log",
    ) -> Log:
        """The log of arrays (n_samples, n_joints), copied; NaN where nothing was measured.

        time : (n_samples,) s. q, v, a : positions, and velocities and accelerations if they were
            measured, in rad or m. tau : torques in N m, or forces in N.
        joints : the name of each column's joint, such as ``robot.joint_names``.
        """
        where = f"log '{name}'"
        given = {"position": q, "velocity": v, "acceleration": a, "torque": tau}
        signals: dict[Key, Array] = {}
        names = _joint_names(joints, where)
        for quantity, values in given.items():
            if values is not None:
                table = _table(values, len(names), f"{where}: {quantity}")
                signals |= {(joint, quantity): table[:, k] for k, joint in enumerate(names)}
        return Log(np.array(time), signals, name)

    def __repr__(self) -> str:
        count = f"{len(self)} samples in {self.duration_s:.6g} s"
        found = list(dict.fromkeys(quantity for _, quantity in self.signals))
        parts = [f"{', '.join(found)} of {listed(self.joints)}"] if found or not self.frames else []
        for frame in self.frames[:4]:
            words = ", ".join(one.replace("_", " ") for one in self.frame_quantities(frame))
            parts.append(f"{words} of {f'frame {frame}' if frame else 'a frame without a name'}")
        parts += [f"{len(self.frames) - 4} more frames"] if len(self.frames) > 4 else []
        return f"<Log '{self.name}': {count}; {'; '.join(parts)}>"

    def __len__(self) -> int:
        return len(self.time)

    @property
    def joints(self) -> tuple[str, ...]:
        """Joint names, in the order of their first column."""
        return tuple(dict.fromkeys(joint for joint, _ in self.signals))

    @property
    def duration_s(self) -> float:
        """Time from the first to the last sample (s)."""
        return float(self.time[-1] - self.time[0])

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of time and signals in SI units, independent of the log's name.

        Two copies of a recording have the same hash, also in files of different formats.
        """
        digest = hashlib.sha256(plain_bytes(self.time))
        for key, values in sorted(self.signals.items(), key=lambda item: item[0]):
            digest.update(signal_mark(key))
            digest.update(plain_bytes(values))
        for key, values in sorted(self.frame_signals.items(), key=lambda one: one[0]):
            digest.update(signal_mark(key, of_frame=True))
            digest.update(plain_bytes(values))
        return digest.hexdigest()

    def quantities(self, joint: str) -> tuple[str, ...]:
        """The quantities that are recorded of this joint."""
        return tuple(quantity for name, quantity in self.signals if name == joint)

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of the frames, in the order of their first column; "" for one without a name."""
        return tuple(dict.fromkeys(frame for frame, _ in self.frame_signals))

    def frame_quantities(self, frame: str) -> tuple[str, ...]:
        """The quantities that are recorded of this frame."""
        return tuple(quantity for name, quantity in self.frame_signals if name == frame)

    def frame_signal(self, frame: str, quantity: str) -> Array:
        """The samples (n_samples, n_axes) of one quantity of one frame, in SI units.

        Columns without a frame's name stand for any frame that has none of its own.
        """
        for name in (frame, ""):
            if (name, quantity) in self.frame_signals:
                return self.frame_signals[name, quantity]
        raise LogError(self.lacks_of_frame(frame, quantity))

    def has_frame_signal(self, frame: str, quantity: str) -> bool:
        """Whether :meth:`frame_signal` finds this quantity."""
        return any((name, quantity) in self.frame_signals for name in (frame, ""))

    def lacks_of_frame(self, frame: str, quantity: str) -> str:
        """What to say where this quantity of a frame is not in the log."""
        wanted = [frame_column_name(frame, quantity, one) for one in FRAME_QUANTITIES[quantity]]
        words = f"log '{self.name}': no {quantity.replace('_', ' ')} of frame '{frame}'"
        there = {}
        for name in self.ignored[:1000]:
            found = frame_signal(split_unit(name)[0])
            if found is not None and found[:2] in ((frame, quantity), ("", quantity)):
                there[found[2]] = name
        if there:
            gone = [one for one in FRAME_QUANTITIES[quantity] if one not in there]
            return (
                f"{words}: the log has {quoted_list(there.values())}, but no column has "
                f"{', '.join(gone)}; name it, as with --map "
                f"{frame_column_name(frame, quantity, gone[0] if gone else 'x')}=COLUMN"
            )
        has = [name or "(without a name)" for name, one in self.frame_signals if one == quantity]
        others = f"; frames that have one: {listed(has)}" if has else ""
        named = [name for name, one in self.frame_signals if one == quantity and name]
        if named and quantity not in ("force", "torque"):
            others += f" (to take it: --motion-columns {named[0]}, columns={named[0]!r} in Python)"
        return (
            f"{words}; columns named {listed(wanted)} are needed{others}; columns of another name "
            f"can be given with --map {wanted[0]}=COLUMN"
        )

    def signal(self, joint: str, quantity: str) -> Array:
        """The samples (n_samples,) of one quantity of one joint, in SI units."""
        if (joint, quantity) in self.signals:
            return self.signals[joint, quantity]
        raise LogError(self.lacks(joint, quantity))

    def lacks(self, joint: str, quantity: str) -> str:
        """What to say where this signal is not in the log."""
        found = self.quantities(joint)
        has = f"has only {', '.join(found)}" if found else "is not in the log"
        also = f"; ignored columns: {quoted_list(self.ignored)}" if self.ignored else ""
        return (
            f"log '{self.name}': no {quantity} of joint '{joint}', which {has}; a column named "
            f"'{joint}.{quantity}' is needed{also}"
        )


def signal_mark(key: Key, *, of_frame: bool = False) -> bytes:
    """What the content hash has before the samples of a signal."""
    mark = "\0\0" if of_frame else "\0"
    return f"{mark}{key[0]}\0{key[1]}\0".encode("utf-8", "surrogatepass")


def plain_bytes(values: Array) -> bytes:
    """The samples as bytes, the same on every machine: one form of NaN, and no -0.0."""
    plain = np.where(np.isnan(values), np.nan, values + 0.0)
    return plain.astype("<f8").tobytes()


def _joint_names(joints: Sequence[str], where: str) -> tuple[str, ...]:
    if isinstance(joints, str) or not all(isinstance(joint, str) for joint in joints):
        raise LogError(f"{where}: joints must be a list of names, not {described(joints)}")
    double = [joint for k, joint in enumerate(joints) if joint in joints[:k]]
    if double:
        raise LogError(f"{where}: joint {shown(double[0])} is named twice")
    return tuple(joints)


def _table(values: ArrayLike, n_joints: int, what: str) -> Array:
    """A copy of the columns of all joints."""
    try:
        table = np.array(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise LogError(f"{what} is not an array of numbers") from None
    if table.ndim == 1 and n_joints == 1:
        table = table[:, None]
    if table.ndim != 2 or table.shape[1] != n_joints:
        turned = "; are its rows and columns exchanged?" if table.shape[:1] == (n_joints,) else ""
        raise LogError(
            f"{what} has shape {table.shape}; (n_samples, {n_joints}) is needed, one column per "
            f"joint{turned}"
        )
    return table


def _checked(key: Key, values: object, n_samples: int, where: str) -> Array:
    """The samples of a frame's quantity, read-only; refuses what does not fit."""
    frame, quantity = key
    what = f"{where}: {quantity} of frame {shown(frame)}"
    if quantity not in FRAME_QUANTITIES:
        raise LogError(f"{what} is not a quantity; the quantities are {listed(FRAME_QUANTITIES)}")
    array = np.asarray(values)
    needed = (n_samples, len(FRAME_QUANTITIES[quantity]))
    if array.dtype.kind not in "fiub":
        raise LogError(f"{what} is not numeric (dtype {array.dtype})")
    if array.shape != needed:
        raise LogError(f"{what} has shape {array.shape}; {needed} is needed")
    array = np.ascontiguousarray(array, dtype=float).view()
    array.setflags(write=False)
    return array


def _read_only(values: object, what: str) -> Array:
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise LogError(f"{what} is not numeric (dtype {array.dtype})")
    if array.ndim != 1:
        raise LogError(f"{what} has shape {array.shape}; one value per sample is needed")
    # contiguous, so that a column does not keep the whole table alive
    array = np.ascontiguousarray(array, dtype=float).view()
    array.setflags(write=False)
    return array


TIES, FEWEST_TIES = 0.005, 20
"""Share of rows, and their number, that have the stamp of the row before in a log of stamps that
were rounded to a coarse step; fewer are rows that repeat."""


def without_ties(time: Array) -> Array:
    """Stamps (n_samples,) of which many are equal, spread evenly to the next other one."""
    if not np.isfinite(time).all():
        return time
    step = np.diff(time)
    ties = int(np.count_nonzero(step == 0.0))
    if ties < max(FEWEST_TIES, TIES * len(time)) or not np.all(step >= 0.0):
        return time
    first = np.flatnonzero(np.concatenate([[True], step > 0.0]))
    count = np.diff(np.append(first, len(time)))
    if len(first) < 3:
        return time
    taken = np.append(np.diff(time[first]), 0.0)
    taken[-1] = count[-1] * float(time[first[-1]] - time[0]) / float(first[-1])
    place = np.arange(len(time)) - np.repeat(first, count)
    spread = time + np.repeat(taken / count, count) * place
    spread.setflags(write=False)
    return np.asarray(spread)


def check_time(time: Array, where: str) -> None:
    """Refuse time stamps that are missing, repeated or run backwards, naming the row."""
    if len(time) < 2:
        count = "no samples" if len(time) == 0 else "only one sample"
        raise LogError(f"{where}: {count}; at least two are needed")
    bad = np.flatnonzero(~np.isfinite(time))
    if len(bad):
        raise LogError(
            f"{where}: time is missing or not finite in {len(bad)} rows, first in row {bad[0] + 1}"
        )
    step = np.diff(time)
    for rows, what, how in (
        (np.flatnonzero(step < 0), "time runs backwards", "split it into runs, or sort it"),
        (np.flatnonzero(step == 0), "the time stamp repeats", "remove the repeated rows"),
    ):
        if len(rows):
            row = int(rows[0])
            raise LogError(
                f"{where}: {what} at row {row + 2}: {float(time[row + 1])!r} s after "
                f"{float(time[row])!r} s ({len(rows)} such rows); {how}"
            )
