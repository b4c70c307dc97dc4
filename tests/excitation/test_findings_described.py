"""Every warning and note about a motion is explained on the page about designs."""

from __future__ import annotations

import ast

from project import ROOT

SOURCES = (
    *(ROOT / "src" / "steelyard" / "excitation").rglob("*.py"),
    ROOT / "src" / "steelyard" / "cli" / "design.py",
    ROOT / "src" / "steelyard" / "cli" / "motion_options.py",
    ROOT / "src" / "steelyard" / "identification" / "motion_outputs.py",
)


def test_every_code_is_described():
    """The codes are the second argument of each finding that is made."""
    codes = set()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = getattr(getattr(node, "func", None), "id", "")
            makes = isinstance(node, ast.Call) and name in ("Finding", "_beyond")
            if makes and isinstance(node.args[1], ast.Constant):
                codes.add(node.args[1].value)
    assert {"first-round-cut", "no-ground", "beyond-limit", "earlier-result"} <= codes
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    assert sorted(code for code in codes if f"`{code}`" not in text) == []
