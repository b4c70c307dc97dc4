"""A helper process: ``python -m steelyard.estimators.parallel.worker``, started by `workers`.

Reads a job and its tasks from standard input, writes answers to standard output, and ends when its
input ends. It ignores interrupts (Ctrl-C), which the process that started it handles.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from steelyard.estimators.parallel.workers import Solver


def serve(source: IO[bytes], sink: IO[bytes]) -> None:
    """Answer until the input ends."""
    import numpy as np

    from steelyard.estimators.parallel._messages import receive, send
    from steelyard.estimators.parallel.workers import job_named

    solve: Solver | None = None
    while True:
        try:
            message = receive(source)
        except EOFError:
            return
        if "job" in message:
            solve = job_named(str(message.pop("job")))(message)
        elif solve is not None:
            tasks = np.asarray(message["tasks"], dtype=float)
            send(sink, {"answers": np.array([solve(task) for task in tasks])})


def main() -> None:
    """Serve the process at the other end of the pipes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # what a library prints must not mix with the answers
    sink = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    with contextlib.suppress(BrokenPipeError):
        serve(sys.stdin.buffer, sink)


if __name__ == "__main__":
    main()
