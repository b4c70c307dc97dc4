"""BLAS and LAPACK on one thread: matrices here are small, and threads of theirs would only slow
each other down and change the last digits.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any


def one_blas_thread() -> AbstractContextManager[Any]:
    """Within it, the BLAS of NumPy and that of SciPy use one thread each."""
    return _libraries().limit(limits=1, user_api="blas")  # type: ignore[no-any-return]


@cache
def _libraries() -> Any:
    """The loaded libraries with threads: to look for them takes milliseconds, so once is enough."""
    import scipy.linalg  # noqa: F401  its BLAS is another than NumPy's, and has to be there first
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
