"""Regressions are read back unchanged from a file, and untrusted files do no harm."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments import chain_experiment

from steelyard.errors import RegressionError
from steelyard.estimators.least_squares import wls
from steelyard.model.model import Model
from steelyard.regression.compress import compress
from steelyard.regression.factor_file import read_regression, write_regression
from steelyard.regression.regression import merge
from steelyard.signals.processing import Processing
from steelyard.signals.run_record import RunRecord

RECORD = RunRecord("run", Processing(cutoff_hz=5.0, dead_band={"j0": 0.1}), cutoff_hz=5.0)


@pytest.fixture
def world():
    """A small experiment."""
    return chain_experiment(0, n_samples=400)


@pytest.fixture
def regression(world):
    """Its noisy regression, with a record."""
    noise = np.random.default_rng(0).normal(size=world.tau.shape)
    return compress(world.model, world.motion, world.measured(noise), record=RECORD)


def test_a_regression_is_read_back_bitwise(tmp_path, world, regression):
    """Factors, base parameters, keys and record are the same, and so is the estimate."""
    path = tmp_path / "run.npz"
    write_regression(path, regression)
    again = read_regression(path, world.model)
    assert all(np.array_equal(a, b) for a, b in zip(regression.factors, again.factors, strict=True))
    assert np.array_equal(regression.base.K, again.base.K)
    assert again.base.combinations() == regression.base.combinations()
    assert (again.keys, again.block_s) == (regression.keys, regression.block_s)
    assert again.runs == (RECORD,)
    assert np.array_equal(wls(again).beta, wls(regression).beta)
    both = merge([regression, again])
    assert both.n_rows == 2 * regression.n_rows
    assert both.runs == (RECORD, RECORD)


def rewritten(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """The file with another header."""
    with np.load(path) as archive:
        arrays = dict(archive)
    header = json.loads(arrays["header"].tobytes())
    change(header)
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(path, **arrays)


def test_records_of_early_files_are_read(tmp_path, regression):
    """A record that is a single run, merged records, or none, is read as runs."""
    path = tmp_path / "run.npz"
    one = RECORD.as_json()
    for record, n_runs in ((one, 1), ({"merged": [one, {"runs": [one]}, {}]}, 2), ({}, 0)):
        write_regression(path, regression)
        rewritten(path, lambda header, record=record: header.update(record=record))
        assert read_regression(path).runs == (RECORD,) * n_runs


def test_a_damaged_record_is_refused(tmp_path, regression):
    """Errors in the record of a run are reported in one line, with their place."""
    path = tmp_path / "run.npz"
    for record, words in (
        ([], r"its record: is a list; it must be an object"),
        ({"runs": {}}, r"'runs' must be a list"),
        ({"runs": [{}]}, r"run 1: does not say how its signals were processed"),
        (
            {"runs": [RECORD.as_json() | {"duration_s": "long"}]},
            r"run 1: 'duration_s' holds 'long'",
        ),
    ):
        write_regression(path, regression)
        rewritten(path, lambda header, record=record: header.update(record=record))
        with pytest.raises(RegressionError, match=words):
            read_regression(path)


def test_another_model_is_refused(tmp_path, world, regression):
    """The hash binds a file to geometry, gravity and columns."""
    path = tmp_path / "run.npz"
    write_regression(path, regression)
    with pytest.raises(RegressionError, match="belongs to another model"):
        read_regression(path, Model(world.model.robot, ()))


def test_invalid_files_are_refused(tmp_path, regression):
    """Not an archive, no header, wrong format, wrong shapes, NaN: one clear line each."""
    path = tmp_path / "bad.npz"
    with pytest.raises(RegressionError, match="no such file"):
        read_regression(path)
    path.write_bytes(b"PK nonsense")
    with pytest.raises(RegressionError, match="not a readable NPZ"):
        read_regression(path)
    np.savez(path, a=np.zeros(3))
    with pytest.raises(RegressionError, match="not a regression file"):
        read_regression(path)
    np.savez(path, header=np.array(["x"], dtype=object))
    with pytest.raises(RegressionError, match="Python objects"):
        read_regression(path)
    good = tmp_path / "good.npz"
    write_regression(good, regression)
    with np.load(good) as archive:
        arrays = dict(archive)

    def altered(**changes):
        np.savez(path, **(arrays | changes))
        return pytest.raises(RegressionError)

    header = json.loads(arrays["header"].tobytes())
    with altered(counts=arrays["counts"][:-1]) as failure:
        read_regression(path)
    assert "inconsistent shapes" in str(failure.value)
    with altered(factors_0=np.full_like(arrays["factors_0"], np.nan)) as failure:
        read_regression(path)
    assert "not finite" in str(failure.value)
    old = json.dumps(header | {"format": "steelyard.regression/0"}).encode()
    with altered(header=np.frombuffer(old, dtype=np.uint8)) as failure:
        read_regression(path)
    assert "steelyard.regression/0" in str(failure.value)


def test_nothing_is_left_behind_by_a_failed_write(tmp_path, regression):
    """A folder that does not exist gives an error and no file."""
    with pytest.raises(RegressionError, match="cannot be written"):
        write_regression(tmp_path / "nowhere" / "run.npz", regression)
    assert list(tmp_path.iterdir()) == []
