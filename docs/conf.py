"""Sphinx configuration: MyST pages, furo, and pages made from examples and modules."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path.insert(0, str(DOCS))

import docstrings  # noqa: E402
import generated_pages  # noqa: E402

import steelyard  # noqa: E402

project = "Steelyard"
author = "The Steelyard authors"
copyright = author
release = version = steelyard.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "generated"]
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
default_role = "code"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_type_aliases = {name: name for name in ("Array", "ArrayLike", "IntArray")}
autodoc_default_options = {"members": True, "ignore-module-all": True}
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = "Steelyard"
html_copy_source = False


def setup(app: Sphinx) -> None:
    """Write the generated pages before Sphinx looks for sources; tidy docstrings."""
    generated_pages.write_examples(ROOT / "examples", DOCS / "examples")
    generated_pages.write_registries(DOCS / "generated")
    generated_pages.write_api(
        ROOT / "src" / "steelyard",
        DOCS / "api",
        home=steelyard._HOME,
        table=DOCS / "architecture.md",
    )
    app.connect("autodoc-process-docstring", docstrings.process)
    app.connect("html-page-context", fold_navigation, priority=400)  # before the theme's


def fold_navigation(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """Let the sidebar of a page unfold only the branch that the page is in.

    All modules on each of hundreds of pages took a third of the time of a build.
    """
    whole = context.get("toctree")
    if whole is not None:
        context["toctree"] = lambda **options: whole(**{**options, "collapse": True})
