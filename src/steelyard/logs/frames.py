"""A log from a table in memory: a data frame, or arrays by column name.

Columns are named as in the header of a CSV file; see :mod:`steelyard.logs.columns`. Neither pandas
nor polars is imported: a frame is what has ``columns`` and gives each of them by its name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import LogError, described, one_line, shown
from steelyard.logs._assembly import assemble
from steelyard.logs.columns import LogColumn, parse_column, parse_table, split_unit
from steelyard.logs.description import LogDescription
from steelyard.logs.frame_columns import component_names
from steelyard.logs.header import parse_header
from steelyard.logs.renaming import check_column_names

Array = NDArray[np.float64]
JOINT_NAMES = "joint_names"
EXACT_INTEGERS = 2**53
"""Integers up to this size are exact as 64-bit floats."""


class FrameLike(Protocol):
    """A data frame of pandas or polars, or of another library with the same habits."""

    @property
    def columns(self) -> Any:
        """The names of the columns."""
        ...

    def __getitem__(self, name: Any, /) -> Any:
        """One column."""
        ...


@dataclass(frozen=True, eq=False)
class _Source:
    """A column of a table: its name, and its values as the table gives them."""

    name: str
    values: Any


def is_frame(given: object) -> bool:
    """Whether this is a table with named columns: a data frame, or arrays by name."""
    kind = type(given)
    return isinstance(given, Mapping) or (hasattr(kind, "columns") and hasattr(kind, "__getitem__"))


def describe_frame(
    frame: FrameLike | Mapping[str, ArrayLike],
    name: str = "log",
    columns: Mapping[str, str] | None = None,
    *,
    count_rows: bool = False,
) -> LogDescription:
    """The signals of a frame or of arrays by name, as :meth:`steelyard.Log.from_frame` needs them.

    Values are copied. Time is a column, or the index of a pandas frame if that holds dates or
    durations or is named like a time column. Dates count from the first one. count_rows : whether
    the number of each row is its time, where there is none.
    """
    where = f"log '{name}'"
    _refuse_others(frame, where)
    check_column_names(columns)
    if columns is not None and not isinstance(columns, Mapping):
        raise LogError(f"{where}: the columns have names; columns must be a mapping of names")
    sources = list(_sources(frame, where))
    found, ignored = parse_header(
        [one.name for one in sources], where, columns, count_rows=count_rows
    )
    pairs = zip(sources, found, strict=True)
    used = (_values(one, column, where) for one, column in pairs if column is not None)
    return assemble(used, name, None, ignored)


def _refuse_others(frame: object, where: str) -> None:
    if hasattr(type(frame), "collect"):
        raise LogError(f"{where}: a {type(frame).__name__} has no values yet; pass frame.collect()")
    if not is_frame(frame):
        raise LogError(
            f"{where}: a data frame or a mapping of column names to arrays is needed, not "
            f"{described(frame)}"
        )


def _sources(frame: Any, where: str) -> Iterator[_Source]:
    if isinstance(frame, Mapping):
        yield from _from_mapping(frame, where)
        return
    names = list(frame.columns)
    single = {name for name, count in Counter(names).items() if count == 1}
    index = _time_index(frame)
    if index is not None and not any(_is_time(str(name), where) for name in names):
        yield index
    for name in names:
        yield _Source(str(name), frame[name] if name in single else None)


def _from_mapping(arrays: Mapping[Any, Any], where: str) -> Iterator[_Source]:
    """One column for each array; those of all joints for a table (n_samples, n_joints)."""
    joints = _stated_names(arrays.get(JOINT_NAMES), where)
    for key, values in arrays.items():
        components = _components(str(key), values)
        if components:
            yield from components
            continue
        table = parse_table(str(key))
        if table is None and not (key == JOINT_NAMES and joints is not None):
            yield _Source(str(key), values)
        if table is None:
            continue
        quantity, unit = table
        whole = _array(values, f"{where}: {shown(str(key))}")
        whole = whole[:, None] if whole.ndim == 1 else whole
        stated = list(range(1, 1 + whole.shape[-1]) if whole.ndim else ())
        stated = stated if joints is None else joints
        if whole.ndim != 2 or whole.shape[1] != len(stated):
            counted = "" if joints is None else f"; '{JOINT_NAMES}' has {len(stated)} names"
            raise LogError(
                f"{where}: {shown(str(key))} has shape {whole.shape}; (n_samples, n_joints) is "
                f"needed{counted}"
            )
        for k, joint in enumerate(stated):
            column = f"{quantity}_{joint}" if joints is None else f"{joint}.{quantity}"
            yield _Source(column if unit is None else f"{column}[{unit}]", whole[:, k])


def _components(name: str, values: Any) -> list[_Source]:
    """The columns of a table (n_samples, n_axes) of a frame's quantity; none of anything else."""
    if not isinstance(values, np.ndarray) or values.ndim != 2:
        return []
    bare, unit = split_unit(name)
    names = component_names(bare, unit, values.shape[1]) or ()
    return [_Source(one, values[:, k]) for k, one in enumerate(names)]


def _stated_names(names: Any, where: str) -> list[Any] | None:
    """The joint names beside tables; refuses what is no list of names."""
    if names is None:
        return None
    given = None if isinstance(names, str | bytes) else np.asarray(names, dtype=object)
    if given is None or given.ndim != 1 or not all(isinstance(name, str) for name in given):
        raise LogError(f"{where}: '{JOINT_NAMES}' must be a list of names, not {described(names)}")
    return list(given)


def _time_index(frame: Any) -> _Source | None:
    """The index of a pandas frame, if it is time."""
    index = getattr(frame, "index", None)
    if index is None or callable(index) or not hasattr(index, "dtype"):
        return None
    name = index.name if isinstance(getattr(index, "name", None), str) else "time"
    if _kind(index) in ("M", "m"):
        return _Source("time", index)
    named = index.name is not None and _is_time(name, "the index")
    return _Source(name, index) if named else None


def _is_time(name: str, where: str) -> bool:
    column = parse_column(name, where)
    return column is not None and column.quantity == "time"


def _values(source: _Source, column: LogColumn, where: str) -> tuple[str, LogColumn, Array]:
    """The column's name, meaning and values; dates and durations are in seconds."""
    what = f"{where}: column {shown(source.name)}"
    array = _array(source.values, what)
    if array.ndim != 1:
        raise LogError(f"{what} has shape {array.shape}; one value per sample is needed")
    kind, is_time = array.dtype.kind, column.is_time
    if kind in "Mm":
        if not is_time:
            raise LogError(f"{what} holds dates or durations, not numbers (dtype {array.dtype})")
        return source.name, replace(column, factor=1.0), _seconds(array)
    if kind in "iu" and is_time and len(array) and _largest(array) > EXACT_INTEGERS:
        # nanoseconds since 1970 have more digits than a float
        array = array - array[0]
    if kind in "iuf":
        return source.name, column, np.array(array, dtype=float)
    if kind == "O":
        return source.name, column, _from_objects(array, source.values, what)
    held = "True and False" if kind == "b" else "text" if kind in "US" else "no numbers"
    raise LogError(f"{what} holds {held} (dtype {array.dtype}); numbers are needed")


def _array(values: Any, what: str) -> NDArray[Any]:
    """The values as an array of any type; a masked value is NaN."""
    try:
        if isinstance(values, np.ma.MaskedArray):
            return np.where(np.ma.getmaskarray(values), np.nan, np.ma.getdata(values))
        if _kind(values) == "M":  # with a time zone, pandas would give objects
            return np.asarray(values, dtype="datetime64[ns]")
        return np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
    except (TypeError, ValueError, OverflowError) as error:
        raise LogError(f"{what} cannot be read as numbers ({one_line(error)})") from None


def _kind(values: Any) -> str | None:
    """The letter of a column's dtype, such as "M" for dates; None where it has none."""
    return getattr(getattr(values, "dtype", None), "kind", None)


def _largest(integers: NDArray[Any]) -> int:
    return max(abs(int(integers.min())), abs(int(integers.max())))


def _seconds(stamps: NDArray[Any]) -> Array:
    """Seconds (n,) of durations, or since the first of dates; NaN where they are missing."""
    known = stamps[~np.isnat(stamps)]
    passed = stamps - known[0] if stamps.dtype.kind == "M" and len(known) else stamps
    if passed.dtype.kind == "M":
        return np.full(len(stamps), np.nan)
    whole = passed.astype("timedelta64[ns]")
    return np.where(np.isnat(whole), np.nan, whole.astype(np.int64) * 1e-9)


def _from_objects(array: NDArray[Any], values: Any, what: str) -> Array:
    """Numbers of a column of Python objects; refuses the first that is none, by row."""
    lost = np.asarray(values.isna()) if hasattr(values, "isna") else [x is None for x in array]
    out = np.full(len(array), np.nan)
    for row, value in enumerate(array):
        if lost[row] or value is None:
            continue
        try:
            if isinstance(value, str | bytes | bool | np.bool_):
                raise TypeError
            out[row] = float(value)
        except (TypeError, ValueError, OverflowError):
            raise LogError(
                f"{what}, row {row + 1}: {shown(str(value))} ({type(value).__name__}) is not a "
                "number; convert the column to numbers"
            ) from None
    return out
