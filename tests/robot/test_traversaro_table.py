"""Table I of Traversaro et al. (2016): which of its printed rows a physical body can have."""

from __future__ import annotations

import numpy as np
import pytest
from project import DOCS
from traversaro_table import Row, rows

from steelyard.conic.blocks import linear_block
from steelyard.conic.problem import conic_problem
from steelyard.conic.solver import solve
from steelyard.knowledge.physical_blocks import full_consistency
from steelyard.robot.inertia import to_com, violations

VERDICTS = {
    # time, kind: rule that is broken, smallest principal moment or second moment (kg m²)
    ("10", "free"): ("inertia_positive_definite", -0.56454),
    ("10", "physical"): ("triangle_inequality", -6.1e-5),
    ("5", "free"): ("inertia_positive_definite", -0.07979),
    ("5", "physical"): ("triangle_inequality", -2.0e-4),
    ("2", "free"): ("inertia_positive_definite", -0.01093),
    ("2", "physical"): ("inertia_positive_definite", -3.9e-4),
    ("1", "free"): ("inertia_positive_definite", -3.37e-3),
    ("1", "physical"): ("triangle_inequality", -1.8e-5),
    ("0.5", "free"): ("triangle_inequality", -3.26e-3),
    ("0.5", "physical"): ("triangle_inequality", -5.9e-4),
}


def smallest(row: Row, rule: str) -> float:
    """Smallest principal moment about the centre of mass, or smallest second moment."""
    moments = np.linalg.eigvalsh(to_com(row.phi)[2])
    second = 0.5 * moments.sum() - moments
    return float(moments[0] if rule == "inertia_positive_definite" else second.min())


def roundings_away(row: Row) -> float:
    """By how many half units of its last digits a row has to change to be physical."""
    order = (0, 1, 2, 3, 4, 5, 7, 6, 8, 9)
    half = np.array([0.5 * 10.0 ** -len(row.texts[k].split(".")[1]) for k in order])
    A = np.hstack([np.vstack([np.eye(10), -np.eye(10)]), np.tile(half, 2)[:, None]])
    blocks = [
        full_consistency(None, 0),
        linear_block(None, range(11), A, np.concatenate([-row.phi, row.phi])),
    ]
    problem = conic_problem(11, blocks, np.append(half, 1.0), c=np.eye(11)[10])
    return float(solve(problem).theta[10])


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row.time_s} s {row.kind}")
def test_every_row_breaks_a_rule_by_its_printed_digits(row):
    """The exact verdict, and the rule and its amount that Steelyard reports."""
    rule, amount = VERDICTS[row.time_s, row.kind]
    assert not row.is_physical()
    assert row.breaks_definition_1() == (rule == "inertia_positive_definite")
    assert [one.rule for one in violations(row.phi)] == [rule]
    assert smallest(row, rule) == pytest.approx(amount, rel=0.02)


def test_rounding_explains_four_of_the_physical_rows_only():
    """All unconstrained rows, and the physical one at 2 s, fail beyond their rounding."""
    beyond = {(row.time_s, row.kind) for row in rows() if roundings_away(row) > 1.0}
    assert beyond == {(row.time_s, "free") for row in rows()} | {("2", "physical")}


def test_the_page_prints_the_table_with_its_verdicts():
    """docs/manifold.md has every row, with its rule, amount and distance in roundings."""
    text = (DOCS / "manifold.md").read_text(encoding="utf-8")
    for row in rows():
        rule, _ = VERDICTS[row.time_s, row.kind]
        words = "not positive definite" if rule.startswith("inertia") else "triangle inequality"
        kind = "none" if row.kind == "free" else "manifold"
        line = (
            f"| {row.time_s} s | {kind} | {words} | {smallest(row, rule):.2g} "
            f"| {roundings_away(row):.2g} |"
        )
        assert line in text, line
