"""Paths of the project: sources, documentation, and data beside it."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src"
DOCS = ROOT / "docs"
EXAMPLES = ROOT / "examples"
HELPERS = ROOT / "tests" / "helpers"
BESIDE = ROOT.parent / "shared"
"""Papers and recorded logs, if they are available."""
