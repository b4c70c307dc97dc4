"""How loops are compiled: when they are first called, and cached on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on first call; cache the result on disk if a folder can be written.

    Compiled loops release the interpreter lock.
    """
    return _cached(function)


def outer(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `jit`, but division by zero gives inf or NaN, as in NumPy; for loops of `inner` ones."""
    return _cached(function, error_model="numpy")


def inner(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile for calls from `outer` loops only, as part of which it is cached."""
    options: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return numba.njit(  # type: ignore[no-any-return]
        function, nogil=True, error_model="numpy", **options
    )


def _cached(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    try:
        return numba.njit(function, cache=True, nogil=True, **options)  # type: ignore[no-any-return]
    except RuntimeError:  # no writable cache folder: compile in every process instead
        return numba.njit(function, nogil=True, **options)  # type: ignore[no-any-return]
