"""Files are written whole or not at all, and only where a file may be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from steelyard._files.access import made_folder, whole_file, write_files, write_text
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
