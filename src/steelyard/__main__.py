"""The start of ``steelyard`` and ``python -m steelyard``, where Ctrl-C shows no traceback either.

Importing takes a fifth of a second. An exception in the middle of an import may reach the user as
another one, or be swallowed by a library, so that Ctrl-C ends the process there and then.
"""

import os
import signal
import sys

INTERRUPTED = 130


def main() -> int:
    """Run the command line."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _end)
    from steelyard.cli import main as run

    return run()


def _end(*_: object) -> None:
    os.write(2, b"steelyard: interrupted\n")
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
