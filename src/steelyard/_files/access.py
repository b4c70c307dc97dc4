"""Writing files atomically, and reading files up to a size limit."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from steelyard.errors import SteelyardError, shown_path, size_words

LONGEST_NAME = 255
"""Bytes of a file name, without folder, that usual file systems allow."""
NO_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Flags that Windows, or all others, do not have."""


@contextmanager
def whole_file(path: str | Path, error: type[SteelyardError]) -> Iterator[BinaryIO]:
    """A binary stream whose content replaces ``path`` once all of it has been written.

    If writing fails, an existing file stays as it was, and ``error`` is raised; so it is for a
    path that is a folder, a device or a pipe, which must not be replaced by a file.
    """
    path = Path(path)
    temporary = None
    try:
        refuse_special(path, error)
        handle, temporary = tempfile.mkstemp(prefix=".steelyard.", dir=path.parent)
        with os.fdopen(handle, "wb") as stream:
            yield stream
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
        temporary = None
    except OSError as failure:
        reason = failure.strerror or str(failure)
        raise error(f"{shown_path(path)}: cannot be written ({reason})") from None
    finally:
        if temporary is not None:
            os.unlink(temporary)


def write_files(files: Mapping[Path, bytes], error: type[SteelyardError]) -> None:
    """Write files that belong together: all are replaced, or none if one cannot be written."""
    with ExitStack() as stack:
        streams = {path: stack.enter_context(whole_file(path, error)) for path in files}
        for path, stream in streams.items():
            stream.write(files[path])
            stream.flush()


def made_folder(path: str | Path, error: type[SteelyardError]) -> Path:
    """The folder, created if it is missing; raises ``error`` if nothing can be written to it."""
    folder = Path(path)
    where = shown_path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise error(f"{where} is a file; give the name of a folder") from None
    except (OSError, ValueError) as failure:
        reason = getattr(failure, "strerror", None) or str(failure)
        raise error(f"{where}: the folder cannot be created ({reason})") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise error(f"{where}: nothing can be written to this folder (Permission denied)")
    return folder


def text_bytes(text: str) -> bytes:
    """A text in UTF-8; what is not valid Unicode, as in some file names, is escaped."""
    return text.encode(errors="backslashreplace")


def write_text(path: str | Path, text: str, error: type[SteelyardError]) -> None:
    """Write a text file (UTF-8) atomically."""
    with whole_file(path, error) as stream:
        stream.write(text_bytes(text))


def open_regular(path: str | Path, error: type[SteelyardError]) -> BinaryIO:
    """A regular file, opened for reading; a folder, pipe or device is refused with ``error``.

    Opening a pipe waits for its writer, and a device may never end: what kind a file is, is looked
    up before and, since it may be exchanged in between, after opening it without waiting.
    """
    where = shown_path(path)
    try:
        _refuse_irregular(os.stat(path), where, error)
        handle = os.open(path, os.O_RDONLY | NO_WAITING)
        try:
            _refuse_irregular(os.fstat(handle), where, error)
            return os.fdopen(handle, "rb")
        except BaseException:
            os.close(handle)
            raise
    except FileNotFoundError:
        raise error(f"{where} does not exist: there is no such file") from None
    except (OSError, ValueError) as failure:
        reason = getattr(failure, "strerror", None) or str(failure)
        raise error(f"{where} cannot be read: {reason}") from None


def _refuse_irregular(found: os.stat_result, where: str, error: type[SteelyardError]) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise error(f"{where} is a folder, not a file")
    if not stat.S_ISREG(found.st_mode):
        raise error(f"{where} is not a regular file")


def read_capped(path: str | Path, max_bytes: int, error: type[SteelyardError]) -> bytes:
    """The content of a regular file of at most ``max_bytes``; raises ``error`` otherwise."""
    where = shown_path(path)
    with open_regular(path, error) as stream:
        try:
            data = stream.read(max_bytes + 1)
        except OSError as failure:
            raise error(f"{where} cannot be read: {failure.strerror or failure}") from None
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


def refuse_special(path: Path, error: type[SteelyardError]) -> None:
    """Refuse a path that cannot become a file, before anything is written."""
    where = shown_path(path)
    if "\0" in str(path):
        raise error(f"{where}: cannot be written (a file name must not contain a zero byte)")
    try:
        name = os.path.basename(os.fsencode(path))
    except UnicodeEncodeError as failure:
        wrong = repr(failure.object[failure.start])[1:-1]
        raise error(f"{where}: cannot be written (no file name can contain {wrong})") from None
    if len(name) > LONGEST_NAME:
        raise error(f"{where}: cannot be written (the name is longer than {LONGEST_NAME} bytes)")
    if path.is_dir():
        raise error(f"{where}: cannot be written (it is a folder)")
    if path.exists() and not path.is_file():
        raise error(f"{where}: cannot be written (it is not a regular file)")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
