"""Many small conic problems at once, in processes that help this one.

The solver holds the interpreter lock, so that threads gain nothing. Helpers are processes of their
own (`steelyard.estimators.parallel.worker`), which get arrays through a pipe: nothing of the
caller's program is run or copied in them, as forking or `multiprocessing` would, so that a script
needs no guard and threads of the caller do no harm. This process works too, and starts helpers only
where the first problems show that there is enough to do. Who solves a problem does not change its
answer.
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
"""Problems that are solved before helpers are thought of."""

WORTH_S = 0.6
"""Work for each helper, at least: starting one takes 0.3 to 0.4 s of a processor."""

AHEAD = 2
"""Pieces that a helper has before it: while this process solves, it hands out nothing."""


def job_name(job: Job) -> str:
    """How a helper finds a job: its module and its name there."""
    return f"{job.__module__}:{job.__name__}"


def job_named(name: str) -> Job:
    """The job of that name; only functions of this package are jobs."""
    module, _, function = name.partition(":")
    if module.partition(".")[0] != __name__.partition(".")[0]:
        raise ValueError(f"'{name}' is no job")
    found: Job = getattr(import_module(module), function)
    return found


class Workers:
    """Up to ``threads`` processes, this one included. Use it in a ``with`` statement.

    note : why there were fewer helpers than wanted, or None.
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
        """End the helpers, at once, and wait for them."""
        for helper in self._helpers:
            helper.kill()
        for helper in self._helpers:
            helper.wait()
            for stream in (helper.stdin, helper.stdout):
                if stream is not None:
                    # closing flushes, which a process that is gone refuses
                    with contextlib.suppress(OSError):
                        stream.close()
        self._helpers = []

    def run(self, job: Job, shared: Shared, tasks: Array, done: Callable[[int], None]) -> Array:
        """Answers (n_tasks, n_answer) to tasks (n_tasks, n_task), in their order.

        job : a module-level function of this package that makes a solver of what all its tasks
            share. done : called with how many are answered.
        """
        from threadpoolctl import threadpool_limits

        # as they arrive at a helper: the order in memory can change the last digits
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
                    if not taken:  # helpers have the rest; they give it back if they die
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
            self.close()  # a feeder that waits for an answer sees the end of it
            raise
        finally:
            for feeder in feeders:
                feeder.join()
        return board.answers()

    def _feeders(self, job: Job, shared: Shared, board: _Board, left_s: float) -> list[Thread]:
        """A thread for each helper that is worth having."""
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
            self.note = "this Python cannot start another: intervals were computed in one process"
            return None
        # the same modules as here, whatever the folder
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
            self.note = f"no helping process could be started ({failure.strerror or failure})"
            return None

    def _feed(
        self, helper: subprocess.Popen[bytes], job: Job, shared: Shared, board: _Board
    ) -> None:
        """Hand pieces of work to one helper and take its answers, until there is none left."""
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
                self.note = "a helping process ended early; its work was done without it"
            helper.kill()


class _Board:
    """Which tasks are open, and the answers so far; for several threads."""

    def __init__(self, tasks: Array) -> None:
        self.tasks = tasks
        self.stopped = False
        self._open = deque(range(len(tasks)))
        self._answers: dict[int, Array] = {}
        self._lock = Lock()

    @property
    def count(self) -> int:
        """Tasks that are answered."""
        return len(self._answers)

    @property
    def left(self) -> int:
        """Tasks that nobody has taken."""
        return len(self._open)

    @property
    def complete(self) -> bool:
        """Whether every task is answered."""
        return self.count == len(self.tasks)

    def take(self, n: int) -> list[int]:
        """Up to n open tasks."""
        with self._lock:
            if self.stopped:
                return []
            return [self._open.popleft() for _ in range(min(n, len(self._open)))]

    def give_back(self, indices: list[int]) -> None:
        """Tasks that were taken and not answered."""
        with self._lock:
            self._open.extendleft(reversed(indices))

    def put(self, indices: list[int], answers: Array) -> None:
        """Answers to tasks."""
        with self._lock:
            self._answers.update(zip(indices, answers, strict=True))

    def stop(self) -> None:
        """Let nobody take another task."""
        with self._lock:
            self.stopped = True

    def answers(self) -> Array:
        """All of them, in the order of the tasks."""
        return np.array([self._answers[index] for index in range(len(self.tasks))])
