"""Names of links in tables are never formulas of a spreadsheet."""

from __future__ import annotations

import pytest

from steelyard._files.csv_cells import FORMULA_STARTS, cell_of, text_of


@pytest.mark.parametrize("text", ["=cmd|' /C calc'!A0.m", "+1", "-x", "@sum", "'=x", "''=x"])
def test_a_text_that_looks_like_a_formula_is_marked_and_read_back(text):
    """No cell begins like a formula, and the text can be had again."""
    assert not cell_of(text).startswith(FORMULA_STARTS)
    assert text_of(cell_of(text)) == text


@pytest.mark.parametrize("text", ["upper.m", "", "'quoted'", "kg m²", "a=b"])
def test_other_texts_are_as_they_are(text):
    """A name with an apostrophe, too."""
    assert cell_of(text) == text
    assert text_of(text) == text
