"""The template engine of all pages: every text is escaped, and a missing name is an error."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from steelyard.report.numbers import duration, percent, significant

if TYPE_CHECKING:
    from jinja2 import Environment


def template_environment() -> Environment:
    """An environment that loads the templates of this package."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(_template),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(percent=percent, significant=significant, duration=duration)
    return environment


def _template(name: str) -> str:
    return files("steelyard.report").joinpath("templates", name).read_text("utf-8")
