"""BLAS runs on one thread where that is asked for, and as before afterwards."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from threadpoolctl import threadpool_info, threadpool_limits

from steelyard.conic.blas_threads import one_blas_thread


def threads_of_blas() -> list[int]:
    """Threads of each loaded BLAS; both have to be loaded."""
    scipy.linalg.cholesky(np.linalg.inv(np.eye(2)))
    return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]


def test_one_thread_within_and_as_many_as_before_after() -> None:
    """For every BLAS of the process, also when one such part is inside another."""
    threads_of_blas()
    for _ in range(2):  # the libraries are looked for once
        with threadpool_limits(2, user_api="blas"):
            before = threads_of_blas()  # one of another package may know one thread only
            assert max(before) == 2
            with one_blas_thread():
                assert set(threads_of_blas()) == {1}
                with one_blas_thread():
                    assert set(threads_of_blas()) == {1}
                assert set(threads_of_blas()) == {1}
            assert threads_of_blas() == before
