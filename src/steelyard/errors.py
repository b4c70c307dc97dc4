"""The errors that Steelyard raises, and helpers for their messages.

Every message says what is wrong, where (link, joint, row, time), by how much,
and what to do about it. The command line prints the message as one line and
exits with code 2; a traceback is a bug.

Text of strangers (names in files, names of files, messages of other libraries) enters a message
in one place, the constructor of `SteelyardError`, which keeps it to one line of bounded length
without control characters.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from typing import Any


class SteelyardError(Exception):
    """Base of every error that Steelyard raises on purpose.

    The message is one line of printable characters, whatever it quotes, see :func:`printable`.

    findings : what was found in the input before, if anything (:class:`steelyard.Finding`).
    """

    findings: tuple[Any, ...] = ()

    def __init__(self, message: object = "") -> None:
        super().__init__(printable(str(message)))


class SteelyardWarning(UserWarning):
    """A finding of level "warning", issued by :func:`steelyard.identify`."""


class ChangedFilesWarning(SteelyardWarning):
    """Files in the folder of a result are not those that were written with it."""


class InputRefusedError(SteelyardError):
    """What was found in the input would make a result useless; ``findings`` says what."""


class RobotError(SteelyardError):
    """A robot description cannot be read, or is not a valid robot."""


class OverlayError(SteelyardError):
    """A TOML overlay cannot be read, or does not fit the robot."""


class ModelError(SteelyardError):
    """A term, a column or a parameter does not fit the model."""


class LogError(SteelyardError):
    """A log cannot be read, or does not fit the robot."""


class SignalError(SteelyardError):
    """A signal cannot be processed as asked."""


class RegressionError(SteelyardError):
    """Factors cannot be formed, merged, saved or loaded."""


class EstimationError(SteelyardError):
    """An estimate cannot be computed from the given data and options."""


class WeighingError(EstimationError):
    """A payload cannot be weighed from these recordings.

    code : short and stable, for programs, as that of a finding.
    """

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


class PriorError(SteelyardError):
    """The prior parameters are not physical, or not complete."""


class CollisionError(SteelyardError):
    """Links are too close to each other, the ground or an obstacle."""


class SimulationError(SteelyardError):
    """The simulated robot cannot follow the trajectory, or the simulation diverged."""


class ResultError(SteelyardError):
    """A result file cannot be read, or belongs to another model."""


class MissingDependencyError(SteelyardError):
    """An optional library is needed, but not installed."""

    def __init__(self, library: str, extra: str, purpose: str) -> None:
        self.library = library
        self.extra = extra
        super().__init__(
            f"{purpose} needs {library}, which is not installed: pip install 'steelyard[{extra}]'"
        )


LONGEST_NAME = 200


LONGEST_TEXT = 60


LONGEST_PATH = 500


LONGEST_REASON = 300


LONGEST_LIST = 20


LONGEST_MESSAGE = 20_000
"""Characters of a message; what a log has wrong may fill some thousands."""


def printable(text: str) -> str:
    """``text`` on one line: line breaks, control characters and halves of characters as escapes.

    A terminal would run the escapes of a hostile name, and a line break would forge a second line.
    """
    cut = text if len(text) <= LONGEST_MESSAGE else text[:LONGEST_MESSAGE] + "..."
    if cut.isprintable():
        return cut
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in cut)


def shown(text: str, longest: int = LONGEST_TEXT) -> str:
    """``text`` in quotes, on one line and cut to a readable length."""
    cut = text if len(text) <= longest else text[:longest] + "..."
    return f"'{cut}'" if cut.isprintable() else repr(cut)


def shown_path(path: object) -> str:
    """A path in quotes and on one line; paths are cut later than other text."""
    return shown(str(path), LONGEST_PATH)


def one_line(reason: object) -> str:
    """Another library's message on one line, without terminal control characters."""
    text = "; ".join(line.strip() for line in str(reason).splitlines() if line.strip())
    return "".join(c if c.isprintable() else "?" for c in text[:LONGEST_REASON])


def quoted_list(names: Iterable[str]) -> str:
    """Texts from a file in quotes, separated by commas and cut like :func:`listed`."""
    return listed(shown(name) for name in names)


def listed(names: Iterable[str]) -> str:
    """Names separated by commas; a long list is cut and ends with how many more there are."""
    names = list(names)
    if not names:
        return "none"
    text = ", ".join(names[:LONGEST_LIST])
    more = len(names) - LONGEST_LIST
    return f"{text} and {more} more" if more > 0 else text


def did_you_mean(name: str, valid: Iterable[str]) -> str:
    """``" (did you mean 'x'?)"`` with the closest valid name, or an empty text."""
    # Matching takes time per name, and a hostile file may have a million of them.
    close = get_close_matches(name[:LONGEST_TEXT], list(islice(valid, 1000)), n=1)
    return f" (did you mean {shown(close[0])}?)" if close else ""


def is_name(text: str) -> bool:
    """Whether ``text`` can name a link or joint: printable, one line, not too long."""
    return bool(text.strip()) and text.isprintable() and len(text) <= LONGEST_NAME


def size_words(n_bytes: int) -> str:
    """A size for a message, in the largest binary unit that fits."""
    size, unit = float(n_bytes), "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{size:.4g} {unit}"


def described(value: object) -> str:
    """A wrong argument, for a message: "the str 'arm'" or "a list"."""
    kind = type(value).__name__
    return f"the {kind} {shown(value)}" if isinstance(value, str) else f"a {kind}"
