"""The loop over time blocks: its limits, what it refuses, and that nothing of it is left behind."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from experiments import chain_experiment

from steelyard.errors import RegressionError
from steelyard.model.base_map import base_map
from steelyard.model.model import Model
from steelyard.model.term_signals import TermSignals
from steelyard.model.terms import joint_terms
from steelyard.regression import compress as compression
from steelyard.regression import regression as regressions
from steelyard.regression.compress import (
    Accumulator,
    block_length,
    compress,
    compress_stream,
    factor_bytes,
    most_blocks,
    row_maker,
)
from steelyard.regression.equation import TORQUE, Equation
from steelyard.regression.extra_columns import ExtraColumns
from steelyard.regression.regression import RowGroup, check_finite, joined, merge, triangle
from steelyard.regression.row_mixing import RowMixing

EXTRA = ExtraColumns(("sine",), lambda motion: np.sin(motion.q)[:, :, None])


def gram(R):
    """RᵀR."""
    return R.T @ R


def test_filtered_friction_is_that_of_the_same_terms_in_all_chunks():
    """Chunks with other terms, with none after some, and with some after none are refused; so are
    signals that are no numbers. With the law itself as the signal nothing changes.
    """
    world = chain_experiment(1, n_joints=2, n_samples=100)
    measured = world.measured(np.zeros(1))
    names = tuple(term.name for term in world.model.jumping_terms)
    assert len(names) == 2
    law = TermSignals(names, np.sign(world.motion.v))

    def of(*signals):
        """The regression of two chunks with these signals each."""
        cuts = [slice(0, 50), slice(50, 100)]
        chunks = []
        for cut, signal in zip(cuts, signals, strict=True):
            friction = None if signal is None else signal[cut]
            chunks.append((replace(world.motion[cut], friction=friction), measured[cut]))
        return compress_stream(world.model, chunks, block_s=1.0)

    one = TermSignals(names[:1], law.values[:, :1])
    single, both = names[0], ", ".join(names)
    for first, second, now, before in (
        (law, one, single, both),
        (one, law, both, single),
        (law, None, "none", both),
        (None, law, both, "none"),
    ):
        words = (
            f"the friction of {now} comes filtered, but in earlier chunks that of {before}: filter"
        )
        with pytest.raises(RegressionError, match=words):
            of(first, second)
    broken = TermSignals(names, np.where(np.arange(100)[:, None] == 70, np.nan, law.values))
    with pytest.raises(RegressionError, match="run 'run': the filtered friction is not a number"):
        of(broken, broken)
    plain, given = of(None, None), of(law, law)
    for a, b in zip(plain.factors, given.factors, strict=True):
        assert np.array_equal(a, b)
    other = of(TermSignals(names, 0.5 * law.values), TermSignals(names, 0.5 * law.values))
    assert not np.allclose(other.factors[0], plain.factors[0])


def test_groups_are_joined_step_by_step_from_so_many_parameters_on(monkeypatch):
    """The same factors either way; with extra columns never, which are refused in words."""
    world = chain_experiment(2, n_samples=400)
    measured = world.measured(np.random.default_rng(0).normal(size=world.tau.shape))
    regression = compress(world.model, world.motion, measured)
    more = compress(world.model, world.motion, measured, extra=EXTRA)
    rank = regression.base.rank
    assert regressions.STAIRCASE_FROM == 200
    weights = np.array([0.5, 2.0, 3.0])
    rows = {}
    for least, in_steps in ((rank + 1, False), (rank, True), (0, True)):
        monkeypatch.setattr(regressions, "STAIRCASE_FROM", least)
        block = regression.block_rows(3, weights)
        rows[in_steps] = block
        n_rows = sum(factors.shape[1] for factors in regression.factors)
        # all groups' own rows, or a triangle that is kept and that nobody can change
        assert block.shape == ((rank + 1 if in_steps else n_rows), rank + 1)
        again = regression.block_rows(3, weights)
        assert (again is block) == in_steps
        assert block.flags.writeable != in_steps
        if in_steps:
            assert np.array_equal(block, np.triu(block))
            other = regression.block_rows(3, 2.0 * weights)
            assert gram(other) == pytest.approx(4.0 * gram(block))
            assert regression.block_rows(3, weights) is not block
        whole = regression.system(weights)
        assert np.array_equal(whole, np.triu(whole))
        rows[in_steps, "all"] = whole
        with pytest.raises(RegressionError, match="extra columns, sine, that an estimator"):
            more.block_rows(3, weights)
        with pytest.raises(RegressionError, match="extra columns, sine, that an estimator"):
            more.system(weights)
    size = np.max(np.abs(gram(rows[True])))
    assert gram(rows[True]) == pytest.approx(gram(rows[False]), abs=1e-12 * size)
    size = np.max(np.abs(gram(rows[True, "all"])))
    assert gram(rows[True, "all"]) == pytest.approx(gram(rows[False, "all"]), abs=1e-12 * size)


def groups_of(n_columns: int, n_groups: int) -> list[RowGroup]:
    return [RowGroup(f"j{g}", tuple(range(n_columns))) for g in range(n_groups)]


@pytest.mark.parametrize(
    ("n_columns", "n_groups", "n_extra", "most"),
    [
        (199, 1, 0, 64),
        (200, 1, 0, 24),
        # 512 MB: 2^26 doubles
        (1023, 4, 0, 16),
        (1023, 2, 0, 24),
        (1022, 4, 1, 16),
        (1023, 5, 0, 12),
        (8191, 1, 0, 2),
        (8192, 4, 0, 2),
    ],
)
def test_as_many_blocks_as_memory_holds(n_columns, n_groups, n_extra, most):
    """64, or 24 of many columns, or what 512 MB of factors can hold, and two at least."""
    groups = groups_of(n_columns, n_groups)
    assert factor_bytes(groups, n_extra) == 8 * n_groups * (n_columns + n_extra + 1) ** 2
    assert most_blocks(groups, n_extra) == most


def test_lengths_of_blocks_are_powers_of_two():
    """A duration of exactly so many blocks has them; nothing at all has blocks of a second."""
    assert block_length(64.0) == 1.0
    assert block_length(64.1) == 2.0
    assert block_length(24.0, most=24) == 1.0
    assert block_length(0.0) == 1.0
    assert block_length(0.0, 0.25) == 0.25


def test_the_shortest_blocks_of_a_stream_hold_an_interval():
    """1/64 s, or the power of two above the time over which rows are correlated."""
    world = chain_experiment(1, n_joints=2, n_samples=10)
    base = base_map(world.model)

    def first(equation, block_s=None):
        rows = row_maker(world.model, base, equation)
        return Accumulator(world.model, base, block_s, rows).block_s

    assert first(TORQUE) == 1.0 / 64.0
    assert first(TORQUE, 0.3) == 0.3
    for interval_s in (1 / 16, 0.1, 0.02):
        equation = Equation("energy", interval_s)
        found = first(equation)
        assert equation.correlation_s > 0.0
        assert found >= equation.correlation_s
        assert found / 2.0 < max(equation.correlation_s, 1.0 / 64.0)


def test_pieces_are_short_where_rows_are_long(monkeypatch):
    """A thousand samples, or what 48 MB hold, and a hundred at least."""
    world = chain_experiment(1, n_joints=2, n_samples=10)
    base = base_map(world.model)
    rows = row_maker(world.model, base, TORQUE)
    width = sum(len(group.columns) + 1 for group in rows.groups)
    assert (compression.PIECE, compression.LEAST_PIECE) == (1000, 100)
    assert compression.MAX_PIECE_BYTES == 48 * 2**20
    for n_samples, piece in ((5000, 1000), (1000, 1000), (700, 700), (100, 100), (30, 100)):
        monkeypatch.setattr(compression, "MAX_PIECE_BYTES", 8 * width * n_samples + 5)
        assert Accumulator(world.model, base, None, rows).piece == piece


def test_a_fixed_grid_may_have_sixteen_times_as_many_blocks(monkeypatch):
    """One more is refused, with the number; of two runs twice as many."""
    world = chain_experiment(1, n_joints=2, n_samples=130)
    measured = world.measured(np.zeros(1))
    monkeypatch.setattr(compression, "most_blocks", lambda *_: 4)
    motion = replace(world.motion, time=np.arange(130) / 128.0)
    parts = {n: (motion[:n], measured[:n]) for n in (64, 65, 130)}
    assert len(compress_stream(world.model, [parts[64]], block_s=1 / 128).keys) == 64
    with pytest.raises(
        RegressionError, match=r"^65 time blocks of 0.0078125 s are too many to keep"
    ):
        compress_stream(world.model, [parts[65]], block_s=1 / 128)
    other = (replace(motion[:64], run="other"), measured[:64])
    assert len(compress_stream(world.model, [parts[64], other], block_s=1 / 128).keys) == 128
    # without a grid blocks are joined until there are few enough
    assert 2 <= len(compress_stream(world.model, [parts[130]]).keys) <= 4


def test_an_accumulator_keeps_no_factors():
    """Memory holds the factors once: those of the blocks are given away."""
    world = chain_experiment(1, n_joints=2, n_samples=100)
    base = base_map(world.model)
    one = Accumulator(world.model, base, 0.25, row_maker(world.model, base, TORQUE))
    with ThreadPoolExecutor(1) as pool:
        one.add(world.motion, world.measured(np.zeros(1)), pool)
        found = one.finish((), pool)
    assert len(found.keys) == 4
    assert all(factor.size == 0 for block in one.blocks.values() for factor in block.factors)
    assert all(block.waiting == [] for block in one.blocks.values())


def test_rows_are_made_for_the_model_of_the_base_parameters():
    """Base parameters of another model, and extra columns of energy, are refused."""
    world = chain_experiment(1, n_joints=2, n_samples=60)
    model = world.model
    other = Model(model.robot, joint_terms(model.robot.joint_names, ("viscous",)))
    with pytest.raises(RegressionError, match="the base parameters belong to another model"):
        row_maker(model, base_map(other), TORQUE)
    mixing = RowMixing(("a",), np.ones((1, 2)))
    for extra, mixed in ((EXTRA, None), (None, mixing)):
        row_maker(model, base_map(model), TORQUE, extra, mixed)
        with pytest.raises(RegressionError, match=r"^rows of energy have no extra columns"):
            row_maker(model, base_map(model), Equation("energy"), extra, mixed)


def test_numbers_whose_squares_overflow_are_refused():
    """In any group, by its name; large ones are not."""
    groups = tuple(groups_of(1, 2))
    large, too_large = np.full((1, 2, 2), 1e150), np.full((1, 2, 2), 1e155)
    check_finite(groups, (large, large))
    with pytest.raises(RegressionError, match="the motion of 'j1' is too large to work with"):
        check_finite(groups, (large, too_large))


def test_a_single_sample_is_compressed():
    """It has no duration; its block is that of the shortest."""
    world = chain_experiment(1, n_joints=2, n_samples=60)
    found = compress(world.model, world.motion[3:4], world.measured(np.zeros(1))[3:4])
    assert found.n_rows == 2
    assert found.keys == (("run", 1),)
    assert found.block_s == 1.0 / 64.0


def test_a_run_is_split_by_its_duration_and_correlation():
    """4 s into 64 blocks; into fewer where residuals are correlated for longer."""
    world = chain_experiment(1, n_joints=2, n_samples=401)
    measured = world.measured(np.zeros(1))

    def of(**options):
        return compress(world.model, world.motion, measured, **options).block_s

    assert of() == 1 / 16
    assert of(correlation_s=0.3) == 0.5
    assert of(correlation_s=0.01) == 1 / 16
    assert of(block_s=0.3, correlation_s=1.0) == 0.3
    energy = Equation("energy", 0.2)
    assert of(equation=energy) >= energy.correlation_s > 1 / 16


def test_grids_that_do_not_fit_are_not_merged():
    """Lengths that differ by a power of two are, on the coarser grid; nothing is refused."""
    world = chain_experiment(1, n_joints=2, n_samples=400)
    measured = world.measured(np.zeros(1))

    def of(block_s, run):
        return compress(world.model, replace(world.motion, run=run), measured, block_s=block_s)

    for short in (0.25, 0.5, 1.0):
        found = merge([of(short, "a"), of(1.0, "b")])
        assert found.block_s == 1.0
        assert found.keys == tuple((run, k) for run in "ab" for k in range(4))
        assert found.counts.tolist() == [[100, 100]] * 8
    with pytest.raises(RegressionError, match=r"blocks of 0.3 s do not fit into blocks of 1 s"):
        merge([of(0.3, "a"), of(1.0, "b")])
    with pytest.raises(RegressionError, match="there is nothing to merge"):
        merge([])
    one = of(1.0, "a")
    assert merge([one]) is one


@pytest.mark.parametrize("n_rows", [1, 3, 4, 9])
def test_a_factor_is_square_and_triangular(n_rows):
    """With zeros below where there are fewer rows than columns."""
    rows = np.random.default_rng(n_rows).normal(size=(n_rows, 4))
    R = triangle(rows)
    assert R.shape == (4, 4)
    assert np.array_equal(R, np.triu(R))
    assert gram(R) == pytest.approx(gram(rows))
    assert not R[n_rows:].any()
    both = joined([R, triangle(2.0 * rows)])
    assert both.shape == (4, 4)
    assert gram(both) == pytest.approx(5.0 * gram(rows))
    assert joined([R]) is R
