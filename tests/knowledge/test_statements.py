"""Numbers in the words of conditions: what was typed is exact, what was computed is short."""

from __future__ import annotations

import pytest

from steelyard.knowledge.statements import shown_number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2.0, "2"),
        (0.25, "0.25"),
        (2.000000000001, "2.000000000001"),
        (134.11928571428572, "134.119"),
    ],
)
def test_typed_numbers_are_exact_and_computed_ones_short(value, text):
    """Nobody types seventeen digits."""
    assert shown_number(value) == text
