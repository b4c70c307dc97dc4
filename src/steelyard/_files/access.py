"""Writing files atomically, and reading files up to a size limit."""

from __future__ import annotations

import os
import signal
import stat
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from steelyard.errors import SteelyardError, shown_path, size_words

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

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
    with _saying_why(path, error), _temporary(path, error) as (stream, temporary):
        yield stream
        _replace(stream, temporary, path)


def write_files(
    files: Mapping[Path, bytes], error: type[SteelyardError], *, aside: Iterable[Path] = ()
) -> None:
    """Write files that belong together: all are replaced, or none if one cannot be written.

    Replacing is one step for each file, and a process can be killed between two of them. So a
    folder that gets several says which before the first step, in a file called ``UNFINISHED``,
    until the last is done. Every reader of the package refuses the files that are named there.

    aside : files of an earlier run that get the ending ``EARLIER``, if they are there.
    """
    with ExitStack() as stack:
        made: dict[Path, tuple[BinaryIO, str]] = {}
        for path, data in files.items():
            stack.enter_context(_saying_why(path, error))
            made[path] = stack.enter_context(_temporary(path, error))
            made[path][0].write(data)
            made[path][0].flush()
        retired = [path for path in aside if path.is_file()]
        with _uninterrupted():
            marked = _marked(files, retired, error)
            for path in retired:
                with _saying_why(path, error):
                    os.replace(path, path.with_name(path.name + EARLIER))
            for path, (stream, temporary) in made.items():
                with _saying_why(path, error):
                    _replace(stream, temporary, path)
            _unmark(marked, {path.name for path in (*files, *retired)}, error)


EARLIER = ".earlier"
"""Ending by which nobody takes a file of an earlier run for a new one."""
UNFINISHED = ".steelyard.unfinished"
"""Names, one in a line, of files in its folder that may be of two runs."""
TEMPORARY = ".steelyard.tmp."
"""How the names of files begin that are still being written."""
MOST_UNFINISHED = 100_000
"""Bytes of the list of names that are read."""


@contextmanager
def _saying_why(path: Path, error: type[SteelyardError]) -> Iterator[None]:
    try:
        yield
    except OSError as failure:
        reason = failure.strerror or str(failure)
        raise error(f"{shown_path(path)}: cannot be written ({reason})") from None


@contextmanager
def _temporary(path: Path, error: type[SteelyardError]) -> Iterator[tuple[BinaryIO, str]]:
    """A stream to a new file in the folder of ``path``, and its name; removed at the end."""
    refuse_special(path, error)
    _remove_abandoned(path.parent)
    handle, temporary = tempfile.mkstemp(prefix=TEMPORARY, dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            _lock(stream)
            yield stream, temporary
    finally:
        with suppress(FileNotFoundError):  # it has become the file
            os.unlink(temporary)


def _replace(stream: BinaryIO, temporary: str, path: Path) -> None:
    stream.flush()
    os.chmod(temporary, 0o666 & ~_umask())
    if fcntl is None:
        stream.close()  # Windows renames no open file
    os.replace(temporary, path)


def _lock(stream: BinaryIO) -> bool:
    """Whether this process has the file locked now, until it closes it or ends."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # another has it, or the file system knows no locks
        return False
    return True


def _remove_abandoned(folder: Path) -> None:
    """Remove temporary files of processes that were killed: their locks went with them."""
    with suppress(OSError):
        for path in folder.glob(f"{TEMPORARY}*"):
            if fcntl is None:
                os.unlink(path)  # Windows refuses while a process has it open
                continue
            with open(path, "rb") as stream:
                if _lock(stream):
                    os.unlink(path)


def _marked(
    files: Iterable[Path], retired: Iterable[Path], error: type[SteelyardError]
) -> dict[Path, Path]:
    """Say in each folder which of its files are being replaced, if these are several."""
    names: dict[Path, list[str]] = {}
    for path in (*files, *retired):
        names.setdefault(path.parent, []).append(path.name)
    marked = {}
    for folder, own in names.items():
        if len(own) > 1:
            marked[folder] = folder / UNFINISHED
            _write_names(marked[folder], {*_unfinished(folder), *own}, error)
    return marked


def _unmark(marked: Mapping[Path, Path], done: set[str], error: type[SteelyardError]) -> None:
    """Nothing is unfinished any more but what a killed run left and this one has not replaced."""
    for folder, path in marked.items():
        left = {name for name in _unfinished(folder) - done if (folder / name).exists()}
        if left:
            _write_names(path, left, error)
        else:
            path.unlink(missing_ok=True)


def _write_names(path: Path, names: set[str], error: type[SteelyardError]) -> None:
    with whole_file(path, error) as stream:
        stream.write(b"\n".join(os.fsencode(name) for name in sorted(names)))


def _unfinished(folder: Path) -> set[str]:
    """Names of the files in this folder that may be of two runs."""
    try:
        with open(folder / UNFINISHED, "rb") as stream:
            return {os.fsdecode(name) for name in stream.read(MOST_UNFINISHED).split(b"\n")}
    except (OSError, ValueError):
        return set()


def refuse_unfinished(path: Path, error: type[SteelyardError]) -> None:
    """Refuse a file that was being replaced with others when a run was killed."""
    if path.name in _unfinished(path.parent):
        raise error(
            f"{shown_path(path)}: its folder may have files of two runs: one was interrupted while "
            "it replaced them; run the command that writes them again (their names are in "
            f"{UNFINISHED})"
        )


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM wait until the end, where they are handled as usual."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are handled in the main thread
        return
    waiting: list[int] = []
    before = {
        one: signal.signal(one, lambda number, _: waiting.append(number))
        for one in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, signal.SIG_DFL if handler is None else handler)
        for number in waiting:
            signal.raise_signal(number)


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
        refuse_unfinished(Path(path), error)
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
