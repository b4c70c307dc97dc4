"""The command line: parse, call the library, print.

Exit codes: 0 success, 1 negative result (each command says which), 2 bad input, or an answer that
could not be printed (one line on standard error, no traceback), 130 interrupted, 141 standard
output was closed by its reader, 143 terminated.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from steelyard.cli.output import one_line, print_document
from steelyard.cli.parser import build_parser
from steelyard.errors import (
    ChangedFilesWarning,
    InputRefusedError,
    SteelyardError,
    SteelyardWarning,
)

BAD_INPUT, INTERRUPTED, NO_READER, TERMINATED = 2, 130, 141, 143
COLLECTED_AT = (100_000, 20, 10)
"""New objects, and collections of younger ones, after which Python looks for cycles."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    argv = sys.argv[1:] if argv is None else list(argv)
    _open_streams()
    _end_quickly()
    code = 0
    with _signals():
        try:
            with _collecting_seldom():
                code = run(argv)
            sys.stdout.flush()
        except BrokenPipeError:
            _print_no_more()
            return NO_READER
        except KeyboardInterrupt:
            terminated = signal.SIGTERM in _received
            _say(f"steelyard: {'terminated' if terminated else 'interrupted'}")
            return TERMINATED if terminated else INTERRUPTED
        except OSError as error:
            _print_no_more()
            if code != BAD_INPUT:  # which has said why
                _say(f"steelyard: error: standard output: {error.strerror or error}")
            return BAD_INPUT
    return code


class _Ended(KeyboardInterrupt):
    """A signal came. Where a KeyboardInterrupt itself passes through exec(), as in the making of a
    dataclass, Python ends by a signal instead of with the exit code.
    """


_received: list[int] = []
"""Signals that came while a command ran."""


@contextmanager
def _signals() -> Iterator[None]:
    """Ctrl-C and SIGTERM end the command by an exception, so that temporary files are removed."""
    _received.clear()
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are handled in the main thread
        return

    def interrupt(number: int, _: object) -> None:
        _received.append(number)
        raise _Ended

    before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # as in the background of a script
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _say(line: str) -> None:
    """A line on standard error, if anybody can read it."""
    with suppress(OSError):
        print(line, file=sys.stderr, flush=True)


def _print_no_more() -> None:
    """What is still buffered would fail again when the interpreter closes the stream."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _open_streams() -> None:
    """Write to nowhere where a stream was closed, and a question mark for characters that the
    terminal's encoding lacks, such as ².
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def run(argv: Sequence[str]) -> int:
    """Parse and run; bad input gives one line and exit code 2."""
    as_json = "--json" in argv
    try:
        arguments = build_parser().parse_args(argv)
        with warnings.catch_warnings():
            # every command prints its findings itself
            warnings.simplefilter("ignore", SteelyardWarning)
            warnings.simplefilter("always", ChangedFilesWarning)
            warnings.showwarning = _print_warning
            return int(arguments.run(arguments))
    except SystemExit as stop:  # --help and --version
        return stop.code if isinstance(stop.code, int) else 0
    except SteelyardError as error:
        return refuse(_with_findings(error), as_json)
    except BrokenPipeError:
        raise
    except OSError as error:
        where = f"'{error.filename}': " if error.filename is not None else ""
        return refuse(f"{where}{error.strerror or error}", as_json)
    except MemoryError:
        return refuse("there is not enough memory for this input", as_json)
    except Exception as failure:
        # a defect of Steelyard: the user gets one line, the traceback only on request
        if os.environ.get("STEELYARD_TRACEBACK"):
            raise
        return refuse(
            f"internal error ({type(failure).__name__}: {failure}); please report it; "
            "STEELYARD_TRACEBACK=1 shows the traceback",
            as_json,
        )


def _print_warning(message: Warning | str, *_: object, **__: object) -> None:
    """A warning as one line."""
    _say(f"steelyard: warning: {one_line(str(message))}")


def refuse(message: str, as_json: bool) -> int:
    """Print what is wrong with the input, as one line and, with --json, as one object."""
    if _received:  # some libraries make another error of the one that a signal raised in them
        raise _Ended
    _say(f"steelyard: error: {one_line(message)}")
    if as_json:
        with suppress(OSError):  # of a full disk, which has been said, or a closed pipe, see main
            print_document({"error": message})
    return BAD_INPUT


def _with_findings(error: SteelyardError) -> str:
    """The message, and what was found in the input besides what it says itself."""
    told = "severe" if isinstance(error, InputRefusedError) else None
    others = [one for one in error.findings if one.level != told]
    return "; ".join([str(error), *(f"{one.level}: {one.sentence} [{one.code}]" for one in others)])


@contextmanager
def _collecting_seldom() -> Iterator[None]:
    """Look for unreachable cycles seldom: imports make many objects and none of these, and the
    search takes a sixth of the time until a command begins its work.
    """
    before = gc.get_threshold()
    gc.set_threshold(*COLLECTED_AT)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _end_quickly() -> None:
    """Look for no cycles while the process ends, which would take a third of a second; what is in
    some goes with the process.
    """
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)
