"""Writing files atomically, and reading files up to a size limit."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from steelyard.errors import SteelyardError, shown_path, size_words


@contextmanager
def whole_file(path: str | Path, error: type[SteelyardError]) -> Iterator[BinaryIO]:
    """A binary stream whose content replaces ``path`` once all of it has been written.

    If writing fails, an existing file stays as it was, and ``error`` is raised.
    """
    path = Path(path)
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "wb") as stream:
            yield stream
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
        temporary = None
    except OSError as failure:
        reason = failure.strerror or str(failure)
        raise error(f"'{path}': cannot be written ({reason})") from None
    finally:
        if temporary is not None:
            os.unlink(temporary)


def write_text(path: str | Path, text: str, error: type[SteelyardError]) -> None:
    """Write a text file (UTF-8) atomically."""
    with whole_file(path, error) as stream:
        # text may contain a file name that is not valid UTF-8, which is escaped
        stream.write(text.encode(errors="backslashreplace"))


def read_capped(path: str | Path, max_bytes: int, error: type[SteelyardError]) -> bytes:
    """The content of a regular file of at most ``max_bytes``; raises ``error`` otherwise."""
    where = shown_path(path)
    try:
        path = Path(path)
        if path.is_dir():
            raise error(f"{where} is a folder, not a file")
        if path.exists() and not path.is_file():
            raise error(f"{where} is not a regular file")
        with path.open("rb") as stream:
            data = stream.read(max_bytes + 1)
    except FileNotFoundError:
        raise error(f"{where} does not exist: there is no such file") from None
    except (OSError, ValueError) as failure:
        reason = getattr(failure, "strerror", None) or str(failure)
        raise error(f"{where} cannot be read: {reason}") from None
    if len(data) > max_bytes:
        raise error(f"{where} is larger than {size_words(max_bytes)}, the limit")
    return data


def refuse_overwriting(
    outputs: Iterable[str | Path], inputs: Iterable[str | Path], error: type[SteelyardError]
) -> None:
    """Raise ``error`` if an output is one of the inputs, even under another name."""
    given = [Path(path) for path in inputs]
    for output in map(Path, outputs):
        for path in given:
            if output.exists() and path.exists() and output.samefile(path):
                raise error(f"'{output}': would overwrite an input; choose another name or folder")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
