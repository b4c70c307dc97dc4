"""A regression as a file: NPZ with a versioned JSON header and the hash of its model."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard._files.access import whole_file
from steelyard._files.json_data import finite
from steelyard._files.json_text import parse_json
from steelyard._files.limits import MAX_LOG_VALUES as MAX_VALUES
from steelyard._files.npz import Archive, open_npz
from steelyard.errors import RegressionError, one_line, shown
from steelyard.model.base_map import BaseMap
from steelyard.model.model import Column, Model
from steelyard.regression.equation import TORQUE, Equation
from steelyard.regression.pooled import PooledBlocks
from steelyard.regression.regression import Regression, RowGroup
from steelyard.signals.run_record import RunRecord, runs_as_json, runs_from_json

FORMAT = "steelyard.regression/1"
POOLED_FORMAT = "steelyard.regression/2"
"""With factors of time blocks over all channels, for robots with very many columns."""
LARGEST_FACTOR = 1e100
"""Largest number of a factor, whose square is still far from overflow."""


def write_regression(path: str | Path, regression: Regression) -> None:
    """Write a ``.npz`` file, whole or not at all."""
    base = regression.base
    header = {
        "format": FORMAT if regression.pooled is None else POOLED_FORMAT,
        "model_hash": regression.model_hash,
        "columns": [[c.owner, c.symbol, c.unit, c.kind] for c in base.columns],
        "independent": list(base.independent),
        "sequence": list(base.sequence),
        "groups": [[group.name, list(group.columns)] for group in regression.groups],
        "block_s": regression.block_s,
        "keys": [list(key) for key in regression.keys],
        "extra": list(regression.extra),
        "equation": regression.equation.as_json(),
        "record": finite(runs_as_json(regression.runs)),
    }
    arrays: dict[str, Any] = {
        "header": np.frombuffer(json.dumps(header, allow_nan=False).encode(), dtype=np.uint8),
        "K": base.K,
        "counts": regression.counts,
    }
    for g, factors in enumerate(regression.factors):
        arrays[f"factors_{g}"] = factors
    if regression.pooled is not None:  # older files have none
        arrays["pooled_weights"] = regression.pooled.weights
        arrays["pooled_factors"] = regression.pooled.factors
    packed = io.BytesIO()
    np.savez_compressed(packed, **arrays)
    with whole_file(path, RegressionError) as stream:
        stream.write(packed.getbuffer())


def read_regression(path: str | Path, model: Model | None = None) -> Regression:
    """Read a regression; with ``model`` given, one of another model is refused."""
    with open_npz(path, RegressionError, MAX_VALUES) as archive:
        regression = _parse(archive)
    if model is not None and model.hash != regression.model_hash:
        raise RegressionError(
            f"'{path}': belongs to another model than robot '{model.robot.name}' with these "
            "terms: geometry, gravity or columns differ"
        )
    return regression


def _parse(archive: Archive) -> Regression:
    where = archive.where
    try:
        header = parse_json(archive.load("header").tobytes(), where, RegressionError)
        if header["format"] not in (FORMAT, POOLED_FORMAT):
            raise RegressionError(
                f"{where}: its format is {shown(str(header['format']))}, not '{FORMAT}' or "
                f"'{POOLED_FORMAT}'"
            )
        columns = tuple(Column(*map(str, entry)) for entry in header["columns"])
        independent = tuple(int(i) for i in header["independent"])
        sequence = tuple(int(i) for i in header["sequence"])
        groups = tuple(
            RowGroup(str(name), tuple(int(i) for i in members))
            for name, members in header["groups"]
        )
        keys = tuple((str(run), int(k)) for run, k in header["keys"])
        K = _numbers(archive, "K")
        counts = _numbers(archive, "counts", "iu").astype(np.int64)
        factors = tuple(_numbers(archive, f"factors_{g}") for g in range(len(groups)))
        pooled = None
        if header["format"] == POOLED_FORMAT:
            pooled = PooledBlocks(
                _numbers(archive, "pooled_weights"),
                _numbers(archive, "pooled_factors"),
            )
        base = BaseMap(columns, independent, K, sequence, str(header["model_hash"]))
        block_s = float(header["block_s"])
        extra = tuple(str(name) for name in header.get("extra", ()))  # older files have none
        equation = _equation_of(header.get("equation"), where)
        runs = _runs_of(header["record"], f"{where}: its record")
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as failure:
        reason = one_line(failure) or type(failure).__name__
        raise RegressionError(f"{where}: is not a regression file ({reason})") from None
    regression = Regression(
        base, groups, block_s, keys, factors, counts, runs, extra, equation, pooled
    )
    _check(regression, where)
    return regression


def _numbers(archive: Archive, name: str, kinds: str = "fiu") -> NDArray[np.float64]:
    """An array of real numbers; ``kinds`` of NumPy types that it may have."""
    member = archive.members.get(name)
    if member is None:
        raise RegressionError(f"{archive.where}: has no array {shown(name)}")
    if member.dtype.kind not in kinds:
        what = "whole numbers" if "f" not in kinds else "real numbers"
        raise RegressionError(
            f"{archive.where}: array {shown(name)} is of dtype {member.dtype}; it must hold {what}"
        )
    return np.array(archive.load(name), dtype=float)


def _equation_of(given: Mapping[str, Any] | None, where: str) -> Equation:
    """What the rows state; files of earlier versions have torques."""
    if given is None:
        return TORQUE
    try:
        return Equation(given["name"], given["interval_s"])
    except RegressionError as failure:
        raise RegressionError(f"{where}: {failure}") from None


def _runs_of(record: object, where: str) -> tuple[RunRecord, ...]:
    """The runs that a file records; early files have a single run, or merged records."""
    if isinstance(record, dict) and "processing" in record:
        return (RunRecord.from_json(record, where, RegressionError),)
    if isinstance(record, dict) and isinstance(record.get("merged"), list):
        return tuple(run for part in record["merged"] for run in _runs_of(part, where))
    return runs_from_json(record, where, RegressionError)


def _check(regression: Regression, where: str) -> None:
    """Refuse arrays of inconsistent shapes, and numbers that are not finite."""
    base, n_blocks = regression.base, len(regression.keys)
    n_columns = len(base.columns)
    sizes = [len(group.columns) + len(regression.extra) + 1 for group in regression.groups]
    fits = (
        base.K.shape == (base.rank, n_columns)
        and sorted(base.sequence) == list(range(n_columns))
        and all(0 <= i < n_columns for i in base.independent)
        and regression.counts.shape == (n_blocks, len(regression.groups))
        and bool(np.all(regression.counts >= 0))
        and n_blocks > 0
        and 0.0 < regression.block_s < LARGEST_FACTOR
        and all(0 <= i < base.rank for group in regression.groups for i in group.columns)
        and _pooled_fits(regression)
        and all(
            factors.shape == (n_blocks if regression.pooled is None else 1, n, n)
            for factors, n in zip(regression.factors, sizes, strict=True)
        )
    )
    if not fits:
        raise RegressionError(
            f"{where}: its arrays have inconsistent shapes, counts or indices, or its time blocks "
            "no length"
        )
    pooled = () if regression.pooled is None else (regression.pooled.factors,)
    for array in (base.K, *regression.factors, *pooled):
        largest = float(np.max(np.abs(array), initial=0.0))
        if not largest <= LARGEST_FACTOR:
            words = f"up to {largest:g}" if np.isfinite(largest) else "that are not finite"
            raise RegressionError(
                f"{where}: holds numbers {words}; at most {LARGEST_FACTOR:g} is read"
            )


def _pooled_fits(regression: Regression) -> bool:
    """Whether pooled blocks, if there are any, have the right shapes and positive weights."""
    pooled, n = regression.pooled, regression.base.rank + 1
    if pooled is None:
        return True
    return (
        pooled.weights.shape == (len(regression.groups),)
        and bool(np.all(pooled.weights > 0.0))
        and bool(np.isfinite(pooled.weights).all())
        and pooled.factors.shape == (len(regression.keys), n, n)
        and not regression.extra
    )
