"""Files are written whole or not at all, and only where a file may be."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from killed_writer import killed_at

from steelyard._files.access import (
    made_folder,
    read_capped,
    whole_file,
    write_files,
    write_text,
)
from steelyard.errors import ResultError


def contents(folder: Path) -> dict[str, bytes]:
    """Every regular file of a folder, hidden ones too."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_a_pipe_or_a_link_to_one_is_not_replaced_by_a_file(tmp_path):
    """Renaming over a device such as /dev/null would destroy it for the whole machine."""
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link):
        with (
            pytest.raises(ResultError, match="not a regular file"),
            whole_file(path, ResultError) as stream,
        ):
            stream.write(b"content")
    assert pipe.is_fifo()
    assert link.is_symlink()
    assert contents(tmp_path) == {}


@pytest.mark.parametrize("name", ["folder", "a\0b", "x" * 256, "missing/file"])
def test_a_path_that_cannot_be_a_file_is_refused_in_one_line(tmp_path, name):
    """With the error of the caller, and no temporary file stays."""
    (tmp_path / "folder").mkdir()
    with (
        pytest.raises(ResultError, match="cannot be written") as refused,
        whole_file(tmp_path / name, ResultError) as stream,
    ):
        stream.write(b"content")
    assert "\n" not in str(refused.value)
    assert contents(tmp_path) == {}


def test_a_name_of_the_longest_length_is_written(tmp_path):
    """The temporary file beside it has a short name of its own."""
    write_files({tmp_path / ("x" * 255): b"content"}, ResultError)
    assert contents(tmp_path) == {"x" * 255: b"content"}


def test_of_files_that_belong_together_none_is_written_if_one_cannot_be(tmp_path):
    """Whichever it is; files that were there stay as they were."""
    (tmp_path / "old").write_bytes(b"old")
    (tmp_path / "folder").mkdir()
    good = {tmp_path / "old": b"new", tmp_path / "other": b"other"}
    bad = {tmp_path / "folder": b""}
    for files in (good | bad, bad | good):
        with pytest.raises(ResultError, match="folder"):
            write_files(files, ResultError)
        assert contents(tmp_path) == {"old": b"old"}
    write_files(good, ResultError)
    assert contents(tmp_path) == {"old": b"new", "other": b"other"}


def test_a_file_is_no_folder_to_write_to(tmp_path):
    """The caller's error says so, instead of one of the operating system."""
    (tmp_path / "file").write_bytes(b"")
    for name in ("file", "file/below", "a\0b"):
        with pytest.raises(ResultError, match="folder"):
            made_folder(tmp_path / name, ResultError)
    assert made_folder(tmp_path / "a" / "b", ResultError).is_dir()


@pytest.mark.parametrize("name", ["a\ud800.png", "a\udfff"])
@pytest.mark.parametrize("inside", [False, True])
def test_names_that_no_file_can_have_are_refused(name, inside, tmp_path):
    """Half of a surrogate pair, in the name or in that of a folder: one line, nothing written."""
    path = tmp_path / name / "file.txt" if inside else tmp_path / name
    with pytest.raises(ResultError, match=r"no file name can contain \\ud") as refused:
        write_text(path, "x", ResultError)
    assert str(refused.value).isprintable()
    assert list(tmp_path.iterdir()) == []


# --- killed, interrupted ------------------------------------------------------------------------

OLD = {"a": b"old a", "b": b"old b", "c": b"old c"}
NEW = {"a": b"new a", "b": b"new b", "d": b"new d"}


@pytest.mark.parametrize("step", range(12))
def test_killed_at_any_step(tmp_path, step):
    """All old, all new, or readers refuse what may be of two runs; the next run repairs it."""
    for name, data in OLD.items():
        (tmp_path / name).write_bytes(data)
    new = {tmp_path / name: data for name, data in NEW.items()}
    killed = killed_at(step, new, aside=(tmp_path / "c",))
    there = {name: data for name, data in contents(tmp_path).items() if not name.startswith(".")}
    done = {**NEW, "c.earlier": OLD["c"]}
    assert killed == (step < 10)  # mark, set one aside, replace three, unmark: and four removals
    mixed = there not in (OLD, done)
    for name in there.keys() - {"c.earlier"}:
        if mixed:
            with pytest.raises(ResultError, match="may have files of two runs"):
                read_capped(tmp_path / name, 100, ResultError)
    write_files(new, ResultError, aside=[tmp_path / "c"])
    assert contents(tmp_path) == done
    assert read_capped(tmp_path / "a", 100, ResultError) == b"new a"


def test_what_another_command_does_not_replace_stays_marked(tmp_path):
    """A payload written into the folder of a killed identification does not make it whole."""
    old = {tmp_path / name: data for name, data in OLD.items()}
    write_files(old, ResultError)
    assert killed_at(2, {tmp_path / name: data for name, data in NEW.items()})
    write_files({tmp_path / "a": b"x", tmp_path / "other": b"y"}, ResultError)
    assert read_capped(tmp_path / "a", 100, ResultError) == b"x"
    with pytest.raises(ResultError, match="may have files of two runs"):
        read_capped(tmp_path / "b", 100, ResultError)


def test_files_of_a_killed_writer_are_removed_by_the_next(tmp_path):
    """Not those of one that is still writing."""
    script = (
        "import os, signal, sys\nfrom steelyard._files.access import whole_file\n"
        "from steelyard.errors import ResultError\n"
        "with whole_file(sys.argv[1], ResultError) as stream:\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "a")], check=False)
    assert len(contents(tmp_path)) == 1
    with whole_file(tmp_path / "b", ResultError) as stream:
        assert len(contents(tmp_path)) == 1  # its own
        stream.write(b"b")
        write_text(tmp_path / "c", "c", ResultError)
        assert len(contents(tmp_path)) == 2
    assert contents(tmp_path) == {"b": b"b", "c": b"c"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_waits_until_all_files_are_replaced(tmp_path, monkeypatch, number):
    """Then it is handled as before."""
    seen: list[int] = []
    before = signal.signal(number, lambda number, _: seen.append(len(contents(tmp_path))))
    replace = os.replace

    def interrupted(*names):
        signal.raise_signal(number)
        replace(*names)

    monkeypatch.setattr(os, "replace", interrupted)
    try:
        write_files({tmp_path / name: data for name, data in NEW.items()}, ResultError)
    finally:
        signal.signal(number, before)
    assert contents(tmp_path) == NEW
    assert seen
    assert set(seen) == {3}
