"""LAPACK's triangular-pentagonal QR, called so that other threads can run meanwhile.

SciPy's own wrappers hold the interpreter lock; a foreign call through the address that
``scipy.linalg.cython_lapack`` publishes does not.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
PANEL = 16


@cache
def _dtpqrt() -> Callable[..., Any]:
    """The routine dtpqrt as a ctypes function."""
    from scipy.linalg import cython_lapack

    capsule = cython_lapack.__pyx_capi__["dtpqrt"]
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    address_of = ctypes.pythonapi.PyCapsule_GetPointer
    address_of.restype, address_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = address_of(capsule, name_of(capsule))
    integer = ctypes.POINTER(ctypes.c_int)
    pointer = ctypes.c_void_p
    # m, n, l, nb, a, lda, b, ldb, t, ldt, work, info
    signature = ctypes.CFUNCTYPE(
        None, integer, integer, integer, integer, pointer, integer, pointer, integer,
        pointer, integer, pointer, integer,
    )  # fmt: skip
    return signature(address)


def absorb_rows(
    R: Array, rows_address: int, n_rows: int, leading: int, work: Array, *, trapezoid: int = 0
) -> None:
    """R becomes the triangular factor of [R; B]; B is overwritten.

    R : (n, n) in Fortran order, upper triangular; it may be the last rows and columns of a larger
        matrix.
    rows_address : where B (n_rows, n) starts, column by column, ``leading`` doubles apart.
    work : at least 2 * PANEL * n doubles.
    trapezoid : number of rows at the end of B that are upper trapezoidal, at most n.
    """
    n = R.shape[0]
    panel = min(PANEL, n)
    info = ctypes.c_int(0)
    c = ctypes.c_int
    _dtpqrt()(
        c(n_rows), c(n), c(trapezoid), c(panel),
        R.ctypes.data, c(R.strides[1] // 8), rows_address, c(leading),
        work.ctypes.data, c(panel), work.ctypes.data + 8 * panel * n, info,
    )  # fmt: skip
    if info.value != 0:  # only an illegal argument can do this: a defect, not bad data
        raise ValueError(f"dtpqrt refused argument {-info.value}")
