"""Solve many small conic problems in parallel, in helper processes.

The solver holds the interpreter lock, so that threads gain nothing. Helpers are separate processes
(`steelyard.estimators.parallel.worker`) that get arrays through a pipe. Unlike with fork or
`multiprocessing`, nothing of the caller's program is run or copied in them, so that a script needs
no ``__main__`` guard and threads of the caller do no harm. This process solves problems too, and
starts helpers only if the first problems show that they are worth it. The answers do not depend on
which process solves a problem.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from threading import Lock, Thread
from time import perf_counter, sleep
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from steelyard.estimators.parallel._messages import receive, send

Array = NDArray[np.float64]
Shared = Mapping[str, NDArray[np.generic]]
Solver = Callable[[Array], Array]
Job = Callable[[Shared], Solver]

PROBED = 3
"""Problems that are solved before helpers may be started."""

WORTH_S = 0.6
"""Smallest work (s) for each helper: starting one takes 0.3 to 0.4 s of a processor."""

AHEAD = 2
"""Messages queued for a helper, since this process hands out no work while it solves."""


def job_name(job: Job) -> str:
    """How a helper finds a job: its module and its name there."""
    return f"{job.__module__}:{job.__name__}"


def job_named(name: str) -> Job:
    """The job of that name; must be a function of this package."""
    module, _, function = name.partition(":")
    if module.partition(".")[0] != __name__.partition(".")[0]:
        raise ValueError(f"'{name}' is not a job")
    found: Job = getattr(import_module(module), function)
    return found


class Workers:
    """Up to ``threads`` processes, this one included. Use it in a ``with`` statement.

    note : why there were fewer helpers than requested, or None.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.note: str | None = None
        self._helpers: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Kill the helpers and wait for them to end."""
        for helper in self._helpers:
            helper.kill()
        for helper in self._helpers:
            helper.wait()
            for stream in (helper.stdin, helper.stdout):
                if stream is not None:
                    # closing flushes, which fails if the process has ended
                    with contextlib.suppress(OSError):
                        stream.close()
        self._helpers = []

    def run(self, job: Job, shared: Shared, tasks: Array, done: Callable[[int], None]) -> Array:
        """Answers (n_tasks, n_answer) to tasks (n_tasks, n_task), in their order.

        job : a module-level function of this package that makes a solver from ``shared``, the
            arrays that all tasks use. done : called with the number of answers so far.
        """
        from threadpoolctl import threadpool_limits

        # the same memory order as in a helper, since it can change the last digits
        shared = {name: np.ascontiguousarray(array) for name, array in shared.items()}
        solve = job(shared)
        board = _Board(tasks)
        feeders: list[Thread] = []
        start = perf_counter()
        own = 0
        try:
            with threadpool_limits(limits=1, user_api="blas"):
                while not board.complete:
                    taken = board.take(1)
                    if not taken:  # helpers have the rest; tasks of a helper that dies come back
                        sleep(0.005)
                    for index in taken:
                        board.put([index], solve(tasks[index])[None, :])
                        own += 1
                    done(board.count)
                    if own == PROBED and not feeders:
                        left_s = (perf_counter() - start) / own * board.left
                        feeders = self._feeders(job, shared, board, left_s)
        except BaseException:
            board.stop()
            self.close()  # ends feeder threads that wait for an answer
            raise
        finally:
            for feeder in feeders:
                feeder.join()
        return board.answers()

    def _feeders(self, job: Job, shared: Shared, board: _Board, left_s: float) -> list[Thread]:
        """Start helpers as far as the remaining work is worth it, and a thread for each."""
        wanted = min(self.threads - 1, int(left_s / WORTH_S))
        while len(self._helpers) < wanted:
            helper = self._start()
            if helper is None:
                break
            self._helpers.append(helper)
        feeders = [
            Thread(target=self._feed, args=(helper, job, shared, board), daemon=True)
            for helper in self._helpers
        ]
        for feeder in feeders:
            feeder.start()
        return feeders

    def _start(self) -> subprocess.Popen[bytes] | None:
        if getattr(sys, "frozen", False) or not sys.executable:
            self.note = (
                "this Python cannot start helper processes: intervals were computed in one process"
            )
            return None
        # import the same modules as this process, from any working folder
        home = str(Path(__file__).resolve().parents[3])
        one = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        paths = os.pathsep.join([*(path for path in sys.path if path), home])
        try:
            return subprocess.Popen(
                [sys.executable, "-P", "-m", "steelyard.estimators.parallel.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, **one, "PYTHONPATH": paths},
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        except OSError as failure:
            self.note = f"no helper process could be started ({failure.strerror or failure})"
            return None

    def _feed(
        self, helper: subprocess.Popen[bytes], job: Job, shared: Shared, board: _Board
    ) -> None:
        """Send tasks to one helper and receive its answers, until no task is left."""
        assert helper.stdin is not None
        assert helper.stdout is not None
        pending: deque[list[int]] = deque()
        try:
            send(helper.stdin, {"job": np.array(job_name(job)), **shared})
            while True:
                while len(pending) < AHEAD:
                    indices = board.take(max(1, min(4, board.left // (8 * self.threads))))
                    if not indices:
                        break
                    pending.append(indices)
                    send(helper.stdin, {"tasks": board.tasks[indices]})
                if not pending:
                    return
                answers = receive(helper.stdout)["answers"]
                board.put(pending.popleft(), np.asarray(answers, dtype=float))
        except (OSError, EOFError, ValueError, KeyError):
            for indices in pending:
                board.give_back(indices)
            if not board.stopped:
                self.note = "a helper process ended early; its work was done without it"
            helper.kill()


class _Board:
    """Open tasks and the answers so far; thread-safe."""

    def __init__(self, tasks: Array) -> None:
        self.tasks = tasks
        self.stopped = False
        self._open = deque(range(len(tasks)))
        self._answers: dict[int, Array] = {}
        self._lock = Lock()

    @property
    def count(self) -> int:
        """Number of answered tasks."""
        return len(self._answers)

    @property
    def left(self) -> int:
        """Number of tasks that no process has taken."""
        return len(self._open)

    @property
    def complete(self) -> bool:
        """Whether every task is answered."""
        return self.count == len(self.tasks)

    def take(self, n: int) -> list[int]:
        """Take up to n open tasks; returns their indices."""
        with self._lock:
            if self.stopped:
                return []
            return [self._open.popleft() for _ in range(min(n, len(self._open)))]

    def give_back(self, indices: list[int]) -> None:
        """Return tasks that were taken and not answered."""
        with self._lock:
            self._open.extendleft(reversed(indices))

    def put(self, indices: list[int], answers: Array) -> None:
        """Store the answers to tasks."""
        with self._lock:
            self._answers.update(zip(indices, answers, strict=True))

    def stop(self) -> None:
        """Hand out no more tasks."""
        with self._lock:
            self.stopped = True

    def answers(self) -> Array:
        """All answers, in the order of the tasks."""
        return np.array([self._answers[index] for index in range(len(self.tasks))])
