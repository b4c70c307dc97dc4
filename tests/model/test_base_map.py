"""Base parameters against the papers' tables and against the regressor itself."""

from __future__ import annotations

import numpy as np
import pytest
from combinations import parsed
from paper_robots import panda, puma_arm, tx40_model, wam
from robot_files import dataset, example_urdfs
from wam_paper import TABLE_3, TABLE_6

from steelyard import Robot
from steelyard.errors import ModelError, RobotError
from steelyard.model.base_map import (
    BaseMap,
    _is_large,
    base_map,
    column_order,
    paper_labels,
    sampled_regressor,
    write_combination,
)
from steelyard.model.dependent_columns import (
    RANK_TOLERANCE,
    ZERO_TOLERANCE,
    clean_coefficients,
    independent_columns,
    snap,
    unit_columns,
)
from steelyard.model.kernels import torque_regressor
from steelyard.model.model import Model
from steelyard.model.random_states import random_states
from steelyard.model.terms import joint_terms
from steelyard.testing.random_robots import random_robot


def test_wam_gives_the_69_combinations_of_table_3():
    """Sousa and Cortesão (2014): 69 of 98, every combination with the printed coefficients."""
    model = Model(wam())
    base = base_map(model, "sousa")
    assert (base.rank, len(model.columns)) == (69, 98)
    ours = [parsed(text) for text in base.combinations("papers")]
    printed = [parsed(text) for text in TABLE_3.split(";")]
    assert len(printed) == 69
    assert sorted(map(sorted, (d.items() for d in ours))) == sorted(
        map(sorted, (d.items() for d in printed))
    )


def test_wam_agrees_with_the_published_table_file():
    """The authors' own file of Table 6 has the same combinations."""
    rows = [line.split()[0] for line in TABLE_6.strip().splitlines()]
    ours = [parsed(text) for text in base_map(Model(wam()), "sousa").combinations("papers")]
    assert len(rows) == 69
    assert all(parsed(row) in ours for row in rows)


def test_printed_combination_reads_like_the_paper():
    """Equal factors are grouped, in the order of the columns."""
    base = base_map(Model(wam()), "sousa")
    assert base.combination(4, "papers") == (
        "L_2xx - L_2zz + L_3zz - 1.1 l_3y + 0.300475 (m_3 + m_4 + m_5 + m_6 + m_7)"
    )


def test_published_ranks():
    """Ranks of Gautier and Khalil (1992): 15; Gautier and Venture (2013): 60 of 86 and 61 of 87;
    Gaz et al.: 43 + 21.
    """
    assert base_map(Model(puma_arm(), ())).rank == 15
    for separate, n_columns, rank in ((False, 86, 60), (True, 87, 61)):
        model = tx40_model(separate_coupling_inertia=separate)
        assert (len(model.columns), base_map(model).rank) == (n_columns, rank)
    robot = panda()
    friction = joint_terms(robot.joint_names, ("viscous", "coulomb", "offset"))
    assert base_map(Model(robot, ())).rank == 43
    assert base_map(Model(robot, friction)).rank == 64


def test_ur10_rank():
    """UR10 from its URDF: 40 with drive inertia, and 58 with its 18 friction columns."""
    robot = Robot.from_urdf(dataset("ur10_unisa") / "ur10_robot.urdf")
    inertial = Model(robot, joint_terms(robot.joint_names, ("drive_inertia",)))
    assert base_map(inertial).rank == 40
    assert base_map(Model(robot)).rank == 58


@pytest.mark.parametrize("order", ["sousa", "pinocchio"])
def test_base_parameters_reproduce_every_torque(order):
    """W theta = W_b K theta on fresh states, and the rank is the SVD's, for 100 robots."""
    rng = np.random.default_rng(11)
    for k in range(100):
        robot = random_robot(
            rng, int(rng.integers(1, 8)), floating_base=k % 5 == 0, mimic=0.2 if k % 3 else 0.0
        )
        model = Model(robot)
        base = base_map(model, order)
        q, v, a = random_states(rng, robot, 40)
        W = torque_regressor(model, q, v, a).reshape(-1, len(model.columns))
        error = W - W[:, list(base.independent)] @ base.K
        size = np.linalg.norm(W, axis=0)
        assert np.all(np.linalg.norm(error, axis=0) <= 1e-9 * np.maximum(size, size.max() * 1e-6))
        scaled = W / np.where(size > 0, size, 1.0)
        singular = np.linalg.svd(scaled, compute_uv=False)
        assert base.rank == np.count_nonzero(singular > 1e-8 * singular[0])


def test_any_order_of_columns_gives_the_same_rank_and_row_space():
    """Random orders choose other columns but span the same combinations."""
    rng = np.random.default_rng(4)
    model = Model(panda())
    first = base_map(model)
    for _ in range(10):
        other = base_map(model, rng.permutation(len(model.columns)))
        assert other.rank == first.rank
        change = np.linalg.lstsq(first.K.T, other.K.T, rcond=None)[0]
        assert np.allclose(first.K.T @ change, other.K.T, atol=1e-8)


def test_base_columns_are_first_from_the_left():
    """No base column depends on the columns before it, and every other one does."""
    rng = np.random.default_rng(8)
    model = Model(random_robot(rng, 4))
    base = base_map(model, "pinocchio")
    q, v, a = random_states(rng, model.robot, 60)
    W = torque_regressor(model, q, v, a).reshape(-1, len(model.columns))
    W = W / np.maximum(np.linalg.norm(W, axis=0), 1e-12)
    for i in range(W.shape[1]):
        grew = np.linalg.matrix_rank(W[:, : i + 1], tol=1e-8) > (
            np.linalg.matrix_rank(W[:, :i], tol=1e-8) if i else 0
        )
        assert grew == (i in base.independent)


def test_real_robots_have_clean_base_maps():
    """Real robots up to 12 joints: W = W_b K, and K has exact zeros."""
    rng = np.random.default_rng(1)
    seen = 0
    for path in example_urdfs():
        try:
            model = Model(Robot.from_urdf(path))
        except RobotError:
            continue
        if model.nv > 12:
            continue
        base = base_map(model)
        q, v, a = random_states(rng, model.robot, 100)
        W = torque_regressor(model, q, v, a).reshape(-1, len(model.columns))
        error = np.linalg.norm(W - W[:, list(base.independent)] @ base.K)
        assert error <= 1e-9 * np.linalg.norm(W), path.name
        assert np.mean(base.K == 0.0) > 0.5, path.name
        seen += 1
    assert seen >= 20


def test_fates():
    """Parameters of the WAM's first links are identifiable alone, in a combination, or never."""
    base = base_map(Model(wam()))
    fate = {f.name: f for f in base.fates()}
    assert fate["joint_1.fv"].kind == "alone"
    assert fate["link_2.Ixy"].kind == "alone"
    assert fate["link_1.m"].kind == "never"
    assert fate["joint_1.Ia"].kind == "combination"
    assert fate["joint_1.Ia"].words == "only in link_1.Iyy + joint_1.Ia + link_2.Izz"
    assert "combination" in {fate[f"link_{k}.m"].kind for k in (3, 4, 5, 6, 7)}


def test_fates_of_every_kind_in_words():
    """A column in no row of K, alone in one, with others in one, and in several rows."""
    columns = Model(puma_arm(), ()).columns[:5]
    K = np.array([[1.0, 0, 0, 0, 0], [0, 1, -2, 0, 0.5], [0, 0, 0, 0, 3]])
    base = BaseMap(columns, (0, 1, 4), K, (4, 3, 2, 1, 0), "")
    n = base._names
    assert [(one.name, one.kind, one.words) for one in base.fates()] == [
        (n[0], "alone", "identifiable alone"),
        (n[1], "combination", f"only in {n[1]} + 0.5 {n[4]} - 2 {n[2]}"),
        (n[2], "combination", f"only in {n[1]} + 0.5 {n[4]} - 2 {n[2]}"),
        (n[3], "never", "it has no effect on any torque"),
        (n[4], "combination", f"only in the combinations of {n[1]}, {n[4]}"),
    ]
    assert base.rank == 3
    assert base.names == (n[0], n[1], n[4])
    assert base.units == tuple(columns[k].unit for k in (0, 1, 4))
    assert base.combinations() == tuple(base.combination(k) for k in range(3))


def test_labels_of_papers():
    """Bodies are counted from one; terms have the number of the body before them; labels that
    would occur twice are names instead.
    """
    model = Model(puma_arm())
    labels = paper_labels(model.columns)
    assert len(labels) == len(set(labels))
    first, second = model.first_column_of_body[:2]
    assert labels[first : first + 10] == [
        "m_1", "l_1x", "l_1y", "l_1z", "L_1xx", "L_1xy", "L_1yy", "L_1xz", "L_1yz", "L_1zz",
    ]  # fmt: skip
    assert labels[first + 10 : second] == ["Ia_1", "fv_1", "fc_1", "fo_1"]
    assert labels[second] == "m_2"
    twice = [*model.columns[:11], model.columns[10]]
    assert paper_labels(twice)[10:] == [model.columns[10].name] * 2


def test_orders_of_columns():
    """Sousa's takes inertia, first moments and mass of each body; terms stay where they are."""
    model = Model(puma_arm())
    assert column_order(model, "pinocchio") == tuple(range(len(model.columns)))
    found = [model.columns[k].symbol for k in column_order(model, "sousa")]
    assert found[:14] == [
        *("Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz", "mx", "my", "mz", "m", "Ia", "fv", "fc", "fo")
    ]
    assert found[14:28] == found[:14]


def test_base_maps_are_read_only_and_kept():
    """The same model gives the same object, whose K nobody can change."""
    model = Model(puma_arm(), ())
    base = base_map(model)
    assert base_map(model) is base
    assert base.sequence == column_order(model, "sousa")
    with pytest.raises(ValueError, match="read-only"):
        base.K[0, 0] = 2.0
    own = base.K[:, list(base.independent)]
    assert own.tolist() == np.eye(base.rank).tolist()


def test_base_maps_of_large_robots_are_read_only(monkeypatch):
    """Found link by link, they are kept as well, and nobody can change their K."""
    monkeypatch.setattr("steelyard.model.base_map.LINKWISE_FROM", 1)
    model = Model(random_robot(np.random.default_rng(8), 3, fixed=0.0), ())
    base = base_map(model)
    assert base_map(model) is base
    with pytest.raises(ValueError, match="read-only"):
        base.K[0, 0] = 2.0


def test_a_sampled_regressor_has_enough_rows():
    """Four times as many rows as columns and 20 states more, at least 30 states and the rows that
    are asked for; of large models, half of that.
    """
    rng = np.random.default_rng(0)
    small = Model(random_robot(rng, 2, fixed=0.0), ())
    assert (small.nv, len(small.columns)) == (2, 20)
    assert sampled_regressor(small, 0).shape == (2 * 60, 20)
    assert sampled_regressor(small, 0, least_rows=121).shape == (2 * 61, 20)
    assert sampled_regressor(small, 0, least_rows=120).shape == (2 * 60, 20)
    floating = Model(random_robot(rng, 1, fixed=0.0, floating_base=True), ())
    n_columns = len(floating.columns)
    n_states = max(30, 4 * n_columns // floating.nv + 20)
    assert sampled_regressor(floating, 0).shape == (floating.nv * n_states, n_columns)
    assert not np.array_equal(sampled_regressor(small, 0), sampled_regressor(small, 1))
    large = Model(random_robot(rng, 60, fixed=0.0, chain=False), ())
    assert len(large.columns) == 600
    assert sampled_regressor(large, 0).shape == (60 * 30, 600)


@pytest.mark.parametrize(
    ("n_links", "chain", "large"),
    [(23, True, False), (24, True, True), (59, False, False), (60, False, True)],
)
def test_large_models_by_links_and_columns(n_links, chain, large):
    """From 24 joints in a row, or 600 columns, base parameters are found link by link."""
    model = Model(random_robot(np.random.default_rng(2), n_links, fixed=0.0, chain=chain), ())
    assert len(model.columns) == 10 * n_links
    assert _is_large(model) == large


def test_gravity_direction_changes_what_is_identifiable():
    """A first joint along gravity hides the first moments of its link; a wall mount does not."""
    rows = [{}, {"alpha": np.pi / 2}]
    upright = Robot.from_dh(rows, convention="modified")
    wall = Robot.from_dh(rows, convention="modified", gravity=(9.81, 0.0, 0.0))
    names = {name for name in base_map(Model(wall, ())).names}
    assert "link_1.mx" in names
    assert "link_1.mx" not in base_map(Model(upright, ())).names


def test_snapping_finds_the_short_decimal():
    """0.30047500000000013 becomes 0.300475; one third is unchanged."""
    values = np.array([0.30047500000000013, -1.1000000000000003, 1.0 / 3.0, 0.0, 3.6e-3 + 1e-16])
    snapped = snap(values, np.full(5, 1e-12))
    assert snapped.tolist() == [0.300475, -1.1, 1.0 / 3.0, 0.0, 0.0036]


def test_snapping_leaves_other_numbers():
    """Of random numbers hardly any is near a short decimal, and none moves by more than allowed."""
    values = np.random.default_rng(0).uniform(-2.0, 2.0, size=20_000)
    snapped = snap(values, np.full(len(values), 1e-12))
    assert np.mean(snapped != values) <= 3e-3
    assert np.max(np.abs(snapped - values)) <= 1e-12


@pytest.mark.parametrize("places", range(13))
def test_snapping_uses_decimals_a_thousand_times_coarser_than_the_slack(places):
    """Of finer ones, any number would have one within its slack. Within it the value moves, beyond
    it stays; zero is no decimal of a small number.
    """
    step = 10.0**-places
    short = 7.0 * step  # one digit, which coarser decimals do not have
    for share, used in ((0.8e-3, True), (1.2e-3, False)):
        slack = share * step
        for near in (0.9, -0.9):
            value = short + near * slack
            found = float(snap(np.array([value]), np.array([slack]))[0])
            assert (abs(found - short) <= 1e-15 * short) == used
            assert used or found == value
    far = np.array([short + 1.1 * 0.8e-3 * step])
    assert snap(far, np.array([0.8e-3 * step])) == far
    small = np.array([0.5e-3 * step, -0.5e-3 * step])
    assert np.all(snap(small, np.full(2, 0.8e-3 * step)) != 0.0)


def test_snapping_takes_the_fewest_places():
    """A coarse decimal within the slack is preferred to a finer one that is nearer."""
    values = np.array([2.0005, 2.450004, -3.0, 0.0, 1.0])
    assert snap(values, np.array([9e-4, 9e-6, 1e-4, 1e-4, 1e-4])).tolist() == [2, 2.45, -3, 0, 1]


def test_coefficients_of_odd_angles_are_not_rounded_away():
    """100 + 4e-10 is no rounding error of 100, where columns are of size one; 100 + 4e-14 is."""
    one, two = np.array([1.0, 0.0]), np.array([1.0, 0.01]) / np.hypot(1.0, 0.01)
    for away, kept in ((4e-10, True), (4e-14, False)):
        factors = np.array([-100.0 - away, 100.0 + 3.0 * away])
        W = np.column_stack([one, two, factors[0] * one + factors[1] * two])
        scale = np.linalg.norm(W, axis=0)
        found = clean_coefficients(W / scale, scale, [0, 1], np.array([2]))[:, 0]
        assert found == pytest.approx(factors, abs=2e-11, rel=0)
        assert (found.tolist() == [-100.0, 100.0]) != kept


def test_coefficients_are_judged_in_units_of_their_columns():
    """A coefficient between columns of size one that is below 1e-10 is zero, above it is not; also
    where the columns have other sizes.
    """
    for sizes in ((1.0, 1.0), (1e3, 1e-3), (1e-3, 1e3)):
        for unit, kept in ((0.5e-10, False), (2e-10, True), (-2e-10, True)):
            W = np.array([[1.0, 0.0, unit], [0.0, 1.0, 1.0]]) * (sizes[0], sizes[0], sizes[1])
            scale = np.linalg.norm(W, axis=0)
            found = clean_coefficients(W / scale, scale, [0, 1], np.array([2]))[:, 0]
            assert (found[0] != 0.0) == kept
            assert found[1] == pytest.approx(sizes[1] / sizes[0], rel=1e-12)


def test_columns_are_independent_where_more_than_rounding_is_left():
    """2e-9 of a column that others do not explain makes it independent, 0.5e-9 does not; before and
    after 32 columns, and in the given order.
    """
    n = 40
    for first in (1, 33):
        for left, counts in ((2e-9, True), (0.5e-9, False)):
            W = np.eye(n + 1)[:, : n - 1]
            column = W[:, :first].sum(axis=1) / np.sqrt(first)
            column[n] = left
            W = np.column_stack([W[:, :first], column, W[:, first:]])
            chosen = independent_columns(W, range(W.shape[1]))
            assert chosen == tuple(k for k in range(W.shape[1]) if counts or k != first)
    W = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    assert independent_columns(W, [0, 1, 2]) == (0,)
    assert independent_columns(W, [2, 1, 0]) == (1,)
    assert independent_columns(W, []) == ()


def test_columns_of_rounding_become_zero():
    """1e-10 of the largest column of the same unit is the limit; other units do not matter."""
    model = Model(puma_arm(), ())
    units = [column.unit for column in model.columns]
    rng = np.random.default_rng(5)
    W = rng.normal(size=(50, len(units)))
    W /= np.linalg.norm(W, axis=0)
    for unit, size in (("kg", 1e8), ("kg m", 1.0), ("kg m²", 1e-6)):
        W[:, [own == unit for own in units]] *= size
    own = [k for k, name in enumerate(units) if name == "kg m²"]
    W[:, own[0]] *= 0.5 * ZERO_TOLERANCE
    W[:, own[1]] *= 2.0 * ZERO_TOLERANCE
    unit_W, scale = unit_columns(model, W)
    norms = np.linalg.norm(unit_W, axis=0)
    assert norms[own[0]] == 0.0
    assert scale[own[0]] == 1.0
    others = [k for k in range(len(units)) if k != own[0]]
    assert norms[others] == pytest.approx(1.0, rel=1e-12)
    assert np.allclose(unit_W[:, others] * scale[others], W[:, others], rtol=1e-14, atol=0)
    assert ZERO_TOLERANCE == 1e-10


def test_coefficients_are_found_where_columns_nearly_depend_on_each_other():
    """Decimals of three places come back exactly from columns of condition 1e4; at 1e5, where
    rounding alone would hide many, from almost all: the solution is refined once.
    """
    for condition, largest in ((1e4, 0.0), (1e5, 0.05)):
        wrong = 0
        for seed in range(20):
            rng = np.random.default_rng(seed)
            U, V = (np.linalg.qr(rng.normal(size=(n, 12)))[0] for n in (60, 12))
            independent = U * np.geomspace(1.0, 1.0 / condition, 12) @ V.T
            K = np.round(rng.normal(size=(12, 8)), 3)
            W = np.hstack([independent, independent @ K])
            scale = np.linalg.norm(W, axis=0)
            found = clean_coefficients(W / scale, scale, range(12), np.arange(12, 20))
            wrong += np.count_nonzero(found != K)
        assert wrong <= largest * 20 * K.size


def test_combination_writer_groups_factors():
    """Signs and equal factors are written as in papers."""
    assert write_combination(["a", "b", "c", "d"], [1.0, -1.0, 0.5, 0.5]) == "a - b + 0.5 (c + d)"
    assert write_combination(["a", "b"], [1.0, -0.25]) == "a - 0.25 b"
    # factors of one are terms of their own; a leading minus stays
    assert write_combination(["a", "b", "c"], [-1.0, -1.0, 1.0]) == "- a - b + c"
    assert write_combination(["a", "b", "c"], [2.0, -2.0, 2.0]) == "2 (a + c) - 2 b"
    assert write_combination(["a"], [1.0 / 3.0]) == "0.3333333333 a"


def test_unknown_orders_are_refused():
    """An order must be known, or name every column once."""
    model = Model(puma_arm(), ())
    with pytest.raises(ModelError, match="no column order 'drake'"):
        base_map(model, "drake")
    with pytest.raises(ModelError, match="each of the 30 columns once"):
        base_map(model, [0, 0, 1])


def one_by_one(W: np.ndarray, columns) -> tuple[int, ...]:
    """Gram-Schmidt with one re-orthogonalisation, one column after the other."""
    basis: list[np.ndarray] = []
    chosen = []
    for index in columns:
        rest = W[:, index].copy()
        for _ in range(2):
            for own in basis:
                rest = rest - own * (own @ rest)
        if np.linalg.norm(rest) > RANK_TOLERANCE:
            basis.append(rest / np.linalg.norm(rest))
            chosen.append(index)
    return tuple(chosen)


@pytest.mark.parametrize("chain", [True, False])
def test_base_of_many_joints_is_that_of_one_dense_decomposition(chain):
    """30 joints: the rank is that of an SVD, the base columns are those found one by one, and all
    torques follow from them on other states.
    """
    rng = np.random.default_rng(3)
    model = Model(random_robot(rng, 30, chain=chain, fixed=0.0))
    base = base_map(model)
    W, _ = unit_columns(model, sampled_regressor(model, seed=8))
    s = np.linalg.svd(W, compute_uv=False)
    assert base.rank == np.count_nonzero(s > 1e-11 * s[0])
    sampled, _ = unit_columns(model, sampled_regressor(model.with_widths({}), seed=0))
    assert base.independent == one_by_one(sampled, base.sequence)
    theta = rng.normal(size=len(model.columns))
    plain = sampled_regressor(model, seed=9)
    tau = plain @ theta
    predicted = plain[:, list(base.independent)] @ (base.K @ theta)
    assert np.max(np.abs(predicted - tau)) <= 1e-9 * np.max(np.abs(tau))
