"""Solve many small problems in parallel, in threads: compiled loops release the interpreter lock.

The answers do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blas_threads import one_blas_thread

Array = NDArray[np.float64]
Solver = Callable[[Array], Array]

AHEAD = 2
"""Problems queued for each thread."""


def solve_all(
    solve: Solver, tasks: Array, threads: int, done: Callable[[int], None] | None = None
) -> Array:
    """Answers (n_tasks, n_answer) to tasks (n_tasks, n_task), in their order.

    solve : from one task to its answer; called from several threads.
    done : called from this thread with the number of answers so far.
    """
    answers: dict[int, Array] = {}

    def tell() -> None:
        if done is not None:
            done(len(answers))

    with one_blas_thread():
        if threads <= 1 or len(tasks) <= 1:
            for index, task in enumerate(tasks):
                answers[index] = solve(task)
                tell()
        else:
            _in_threads(solve, tasks, threads, answers, tell)
    return np.array([answers[index] for index in range(len(tasks))])


def _in_threads(
    solve: Solver,
    tasks: Array,
    threads: int,
    answers: dict[int, Array],
    tell: Callable[[], None],
) -> None:
    """Fill in the answers; the first error, or an interrupt, ends the work."""
    open_tasks = iter(range(len(tasks)))
    running: dict[Future[Array], int] = {}
    with ThreadPoolExecutor(min(threads, len(tasks))) as pool:
        try:
            while True:
                while len(running) < AHEAD * threads:
                    index = next(open_tasks, None)
                    if index is None:
                        break
                    running[pool.submit(solve, tasks[index])] = index
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    answers[running.pop(future)] = future.result()
                tell()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
