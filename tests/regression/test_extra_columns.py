"""Extra columns and mixed rows go through the same compression as everything else."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from experiments import chain_experiment, multisine_motion

from steelyard.errors import RegressionError
from steelyard.estimators.least_squares import ols, wls
from steelyard.model.base_map import base_map
from steelyard.model.kernels import torque_regressor
from steelyard.model.model import Model
from steelyard.regression.compress import compress, compress_stream
from steelyard.regression.extra_columns import ExtraColumns
from steelyard.regression.factor_file import read_regression, write_regression
from steelyard.regression.fewer_terms import with_fewer_terms
from steelyard.regression.regression import merge
from steelyard.regression.row_mixing import RowMixing, motor_rows
from steelyard.robot.transmission import Motor, Transmission
from steelyard.signals.motion import Measurements

# three joints: the second row leaves the first joint out, the third mixes all
MIXING = RowMixing(("a", "b", "c"), np.array([[2.0, 0, 0], [0, 0.5, -0.25], [1.0, 3.0, 0.1]]))


def made_up(motion):
    """Two columns that no model has."""
    return np.stack([np.sin(3.0 * motion.q), motion.v * np.cos(motion.time)[:, None]], axis=2)


EXTRA = ExtraColumns(("sine", "swing"), made_up)


def dense(model, motion, tau, weights):
    """[W extra tau] (n_samples, n_rows, n_base + 3) of rows mixed by ``weights``, as one array."""
    W = torque_regressor(model, motion.q, motion.v, motion.a)[
        :, :, list(base_map(model).independent)
    ]
    rows = np.concatenate([W, made_up(motion), tau[:, :, None]], axis=2)
    return np.einsum("mj,njc->nmc", weights, rows)


def least_squares(rows):
    """Solution and residual square of [A b]."""
    solution, *_ = np.linalg.lstsq(rows[:, :-1], rows[:, -1], rcond=None)
    left = rows[:, -1] - rows[:, :-1] @ solution
    return solution, float(left @ left)


# one joint as it is, the others not at all
ONE = RowMixing(("a",), np.array([[1.0, 0, 0]]))


@pytest.mark.parametrize("mixing", [None, MIXING, ONE], ids=["channels", "mixed", "one left out"])
def test_factors_give_the_dense_least_squares(mixing):
    """Each factor has the least-squares solution of all its samples, without missing torques."""
    world = chain_experiment(0, n_samples=2500)
    rng = np.random.default_rng(0)
    tau = world.tau + rng.normal(size=world.tau.shape)
    tau[rng.random(tau.shape) < 0.05] = np.nan
    measurements = Measurements(world.model.channels, tau)
    regression = compress(world.model, world.motion, measurements, extra=EXTRA, mixing=mixing)
    assert regression.extra == ("sine", "swing")
    weights = np.eye(3) if mixing is None else mixing.weights
    for g, (group, factor) in enumerate(
        zip(regression.groups, regression.group_factors, strict=True)
    ):
        used = weights[g] != 0.0
        there = ~np.isnan(tau[:, used]).any(axis=1)
        assert regression.counts[:, g].sum() == there.sum()
        rows = dense(world.model, world.motion, np.nan_to_num(tau), weights)[there, g]
        others = sorted(set(range(base_map(world.model).rank)) - set(group.columns))
        assert not rows[:, others].any()
        n_base = rows.shape[1] - 3
        rows = rows[:, [*group.columns, n_base, n_base + 1, n_base + 2]]
        one, two = least_squares(factor), least_squares(rows)
        np.testing.assert_allclose(one[0], two[0], rtol=1e-7, atol=1e-9)
        assert np.isclose(one[1], two[1], rtol=1e-10)


def test_the_columns_of_the_model_are_not_touched():
    """Extra columns do not change the factor of the model's own columns."""
    world = chain_experiment(1, n_samples=700)
    measurements = world.measured(np.zeros(1))
    plain = compress(world.model, world.motion, measurements)
    more = compress(world.model, world.motion, measurements, extra=EXTRA)
    assert plain.extra == ()
    for one, two in zip(plain.factors, more.factors, strict=True):
        n = one.shape[1] - 1
        assert two.shape[1] == n + 3
        size = np.abs(one).max()
        np.testing.assert_allclose(
            np.abs(two[:, :n, :n]), np.abs(one[:, :n, :n]), atol=1e-13 * size
        )


@pytest.mark.parametrize("mixing", [None, MIXING], ids=["channels", "mixed"])
def test_chunks_do_not_change_a_single_bit(mixing):
    """Factors do not depend on the sizes of chunks or the number of threads."""
    world = chain_experiment(2, n_samples=4000)
    measurements = world.measured(np.zeros(1))

    def made(chunks, threads=1):
        return compress_stream(
            world.model, chunks, block_s=8.0, threads=threads, extra=EXTRA, mixing=mixing
        )

    whole = made([(world.motion, measurements)])
    cuts = np.sort(np.random.default_rng(1).choice(np.arange(1, 4000), size=29, replace=False))
    pieces = [slice(i, j) for i, j in pairwise([0, *cuts, 4000])]
    streamed = made((world.motion[p], measurements[p]) for p in pieces)
    for other in (streamed, made([(world.motion, measurements)], threads=2)):
        assert other.keys == whole.keys
        assert np.array_equal(other.counts, whole.counts)
        assert all(np.array_equal(a, b) for a, b in zip(whole.factors, other.factors, strict=True))


def test_extra_columns_are_made_part_by_part():
    """The function of the columns never sees more than a time block."""
    world = chain_experiment(3, n_samples=3000)
    lengths = []

    def seen(motion):
        lengths.append(len(motion))
        return made_up(motion)

    extra = ExtraColumns(("sine", "swing"), seen)
    compress(world.model, world.motion, world.measured(np.zeros(1)), extra=extra)
    assert sum(lengths) == 3000
    assert max(lengths) <= 3000 // 32 + 1


def test_merge_is_the_union_in_any_order():
    """Regressions with the same extra columns and rows merge; others are refused."""
    model = chain_experiment(4).model
    rng = np.random.default_rng(3)
    parts, plain = [], []
    for k, n_samples in enumerate((400, 900, 3000)):
        motion = multisine_motion(rng, 3, n_samples, 100.0, run=f"run {k}")
        tau = Measurements(model.channels, rng.normal(size=(n_samples, 3)))
        parts.append(compress(model, motion, tau, extra=EXTRA, mixing=MIXING))
        plain.append(compress(model, motion, tau))
    one = merge(parts)
    other = merge([parts[2], merge([parts[1], parts[0]])])
    assert one.extra == other.extra == ("sine", "swing")
    assert [group.name for group in one.groups] == ["a", "b", "c"]
    for a, b in zip(one.group_factors, other.group_factors, strict=True):
        assert np.abs(a.T @ a - b.T @ b).max() <= 1e-13 * np.abs(a.T @ a).max()
    with pytest.raises(RegressionError, match=r"different extra columns .*: sine, swing, and none"):
        merge([parts[0], plain[1]])
    motion = multisine_motion(rng, 3, 400, 100.0, run="other")
    tau = Measurements(model.channels, rng.normal(size=(400, 3)))
    with pytest.raises(RegressionError, match=r"different torque rows .*: a, b, c, and joint_1"):
        merge([parts[0], compress(model, motion, tau, extra=EXTRA)])


def test_a_file_keeps_extra_columns(tmp_path):
    """Extra columns are read back bitwise; older files without them still load."""
    world = chain_experiment(5, n_samples=300)
    measurements = world.measured(np.zeros(1))
    path = tmp_path / "run.npz"
    regression = compress(world.model, world.motion, measurements, extra=EXTRA, mixing=MIXING)
    write_regression(path, regression)
    again = read_regression(path, world.model)
    assert (again.extra, again.groups) == (regression.extra, regression.groups)
    assert all(np.array_equal(a, b) for a, b in zip(regression.factors, again.factors, strict=True))
    write_regression(path, compress(world.model, world.motion, measurements))
    with np.load(path) as archive:
        arrays = dict(archive)
    header = json.loads(arrays["header"].tobytes())
    assert header.pop("extra") == []
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(path, **arrays)
    assert read_regression(path, world.model).extra == ()


def test_estimators_of_base_parameters_refuse_extra_columns():
    """Estimators of base parameters refuse a regression with extra columns."""
    world = chain_experiment(6, n_samples=400)
    measurements = world.measured(np.random.default_rng(0).normal(size=world.tau.shape))
    regression = compress(world.model, world.motion, measurements, extra=EXTRA)
    for estimate in (ols, wls):
        with pytest.raises(RegressionError, match="extra columns, sine, swing, that an estimator"):
            estimate(regression)


def test_fewer_terms_keep_extra_columns():
    """The narrower regression is that of the narrower model; mixed rows are refused."""
    world = chain_experiment(7, n_samples=600)
    measurements = world.measured(np.zeros(1))
    narrow = Model(world.model.robot, world.model.terms[:-3])
    whole = compress(world.model, world.motion, measurements, extra=EXTRA)
    one = with_fewer_terms(whole, world.model, narrow)
    two = compress(narrow, world.motion, measurements, extra=EXTRA)
    assert (one.extra, one.groups) == (two.extra, two.groups)
    for a, b in zip(one.group_factors, two.group_factors, strict=True):
        assert np.abs(a.T @ a - b.T @ b).max() <= 1e-12 * np.abs(b.T @ b).max()
    mixed = compress(world.model, world.motion, measurements, mixing=MIXING)
    with pytest.raises(RegressionError, match="cannot be reduced to fewer terms"):
        with_fewer_terms(mixed, world.model, narrow)


def test_motor_rows_are_torques_of_motors():
    """Power is the same at the motors and at the joints, whatever the gears mix."""
    rng = np.random.default_rng(4)
    motors = (
        Motor("m1", (("x", 50.0),)),
        Motor("m2", (("y", 40.0),)),
        Motor("m3", (("y", -20.0), ("z", 80.0))),
    )
    transmission = Transmission(motors)
    rows = motor_rows(transmission, ("x", "y", "z"))
    assert rows.names == ("m1", "m2", "m3")
    assert [[j for j, _ in rows.parts(m)] for m in range(3)] == [[0], [1, 2], [2]]
    tau, v = rng.normal(size=(2, 3))
    v_motor = transmission.matrix(("x", "y", "z")) @ v
    assert np.isclose((rows.weights @ tau) @ v_motor, tau @ v)


def test_wrong_extra_columns_and_rows_are_refused():
    """Invalid names, shapes and numbers each give a clear one-line error."""
    world = chain_experiment(8, n_samples=60)
    measurements = world.measured(np.zeros(1))

    def refused(text, **options):
        with pytest.raises(RegressionError, match=text):
            compress(world.model, world.motion, measurements, **options)

    with pytest.raises(RegressionError, match="unique names, not x, x"):
        ExtraColumns(("x", "x"), made_up)
    with pytest.raises(RegressionError, match="unique names, not none"):
        ExtraColumns((), made_up)
    refused("have shape .* not", extra=ExtraColumns(("x",), made_up))
    nan = ExtraColumns(("x",), lambda motion: np.full((*motion.v.shape, 1), np.nan))
    refused("column 'x' is not a finite number at time 0 s", extra=nan)
    refused("weights for 2 torques, but the model has 3", mixing=RowMixing(("a",), np.ones((1, 2))))
    with pytest.raises(RegressionError, match="2 mixed rows have shape"):
        RowMixing(("a", "b"), np.ones((1, 3)))
    with pytest.raises(RegressionError, match="finite numbers"):
        RowMixing(("a",), np.full((1, 3), np.inf))
