"""Regressions survive a file, and strangers' files do no harm."""

from __future__ import annotations

import json

import numpy as np
import pytest
from experiments import chain_experiment

from steelyard.errors import RegressionError
from steelyard.estimators.least_squares import wls
from steelyard.model.model import Model
from steelyard.regression.compress import compress
from steelyard.regression.factor_file import read_regression, write_regression
from steelyard.regression.regression import merge


@pytest.fixture
def world():
    """A small experiment."""
    return chain_experiment(0, n_samples=400)


@pytest.fixture
def regression(world):
    """Its noisy regression, with a record."""
    noise = np.random.default_rng(0).normal(size=world.tau.shape)
    return compress(world.model, world.motion, world.measured(noise), record={"cutoff_hz": 5.0})


def test_every_bit_comes_back(tmp_path, world, regression):
    """Factors, base parameters, keys and record are the same, and so is the estimate."""
    path = tmp_path / "run.npz"
    write_regression(path, regression)
    again = read_regression(path, world.model)
    assert all(np.array_equal(a, b) for a, b in zip(regression.factors, again.factors, strict=True))
    assert np.array_equal(regression.base.K, again.base.K)
    assert again.base.combinations() == regression.base.combinations()
    assert (again.keys, again.block_s) == (regression.keys, regression.block_s)
    assert again.record == {"cutoff_hz": 5.0}
    assert np.array_equal(wls(again).beta, wls(regression).beta)
    assert merge([regression, again]).n_rows == 2 * regression.n_rows


def test_another_model_is_refused(tmp_path, world, regression):
    """The hash binds a file to geometry, gravity and columns."""
    path = tmp_path / "run.npz"
    write_regression(path, regression)
    with pytest.raises(RegressionError, match="belongs to another model"):
        read_regression(path, Model(world.model.robot, ()))


def test_strangers_files_are_refused(tmp_path, regression):
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
    assert "do not fit together" in str(failure.value)
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
