"""Tests of properties over many random cases; a failing test names the case."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any


def every(name: str, values: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test for each value of its argument ``name``; a failure says for which."""
    cases = tuple(values)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def each(*arguments: Any, **fixtures: Any) -> None:
            for value in cases:
                try:
                    test(*arguments, **{name: value}, **fixtures)
                except BaseException as failure:
                    failure.add_note(f"with {name} = {value!r}")
                    raise

        signature = inspect.signature(test)
        kept = [p for p in signature.parameters.values() if p.name != name]
        each.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return each

    return decorate
