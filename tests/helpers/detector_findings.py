"""The findings that the detectors of raw signals can give, read from their source."""

from __future__ import annotations

import ast
from pathlib import Path

from steelyard.signals import recorded


def detector_findings() -> list[tuple[str, str]]:
    """The expression of the level, and the code, of each finding that has its code as a text."""
    found = []
    for path in sorted(Path(recorded.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in ("Finding", "finding") and isinstance(node.args[1], ast.Constant):
                found.append((ast.unparse(node.args[0]), node.args[1].value))
    return found
