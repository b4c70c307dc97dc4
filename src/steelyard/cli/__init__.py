"""The command line: parse, call the library, print.

Exit codes: 0 success, 1 negative result (each command says which), 2 bad input (one line on
standard error, no traceback), 130 interrupted, 141 standard output was closed by its reader.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from steelyard.cli.output import one_line, print_document
from steelyard.cli.parser import build_parser
from steelyard.errors import InputRefusedError, SteelyardError, SteelyardWarning

BAD_INPUT, INTERRUPTED, NO_READER = 2, 130, 141
COLLECTED_AT = (100_000, 20, 10)
"""New objects, and collections of younger ones, after which Python looks for cycles."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    argv = sys.argv[1:] if argv is None else list(argv)
    _replace_unencodable()
    _end_quickly()
    try:
        with _collecting_seldom():
            code = run(argv)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # what is still buffered would fail again when the interpreter closes the stream
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NO_READER
    except KeyboardInterrupt:
        print("steelyard: interrupted", file=sys.stderr)
        return INTERRUPTED


def run(argv: Sequence[str]) -> int:
    """Parse and run; bad input gives one line and exit code 2."""
    as_json = "--json" in argv
    try:
        arguments = build_parser().parse_args(argv)
        with warnings.catch_warnings():
            # every command prints its findings itself
            warnings.simplefilter("ignore", SteelyardWarning)
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


def refuse(message: str, as_json: bool) -> int:
    """Print what is wrong with the input, as one line and, with --json, as one object."""
    print(f"steelyard: error: {one_line(message)}", file=sys.stderr)
    if as_json:
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


def _replace_unencodable() -> None:
    """Print a question mark for characters that the terminal's encoding lacks, such as ²."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
